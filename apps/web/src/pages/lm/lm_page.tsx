// The page "Language model": from a text to a model that writes like it. Without a text or a model it invites to open one.

import { useEffect } from 'preact/hooks';
import { Alert } from '../../components/alert';
import { engineState, startEngine } from '../../engine/engine';
import { startPage } from './controller';
import { Start } from './text/start';
import { model, text } from './text/text';
import { Workbench } from './workbench';

export function LmPage() {
  useEffect(startPage, []);
  const engine = engineState.value;
  return (
    <>
      {engine.state === 'failed' && (
        <Alert tone="error" title="The engine stopped">
          <p>{engine.error}</p>
          <p>
            <button type="button" onClick={() => void startEngine(0)}>
              Start it again
            </button>
          </p>
        </Alert>
      )}
      {text.value || model.value ? <Workbench /> : <Start />}
    </>
  );
}
