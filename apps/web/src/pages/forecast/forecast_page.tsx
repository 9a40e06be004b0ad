// The page "Forecast": from a file to a judged forecast. Without data it invites to open some; with data it is a workbench.

import { useEffect } from 'preact/hooks';
import { Alert } from '../../components/alert';
import { engineState, startEngine } from '../../engine/engine';
import { table } from './data/table';
import { Start } from './start';
import { startPage } from './controller';
import { Workbench } from './workbench';

export function ForecastPage() {
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
      {table.value ? <Workbench open={table.value} /> : <Start />}
    </>
  );
}
