// The page "Language model": from a text to a model that writes like it. Without a text or a model it invites to open one.

import { useEffect } from 'preact/hooks';
import { EngineStopped } from '../../components/engine_stopped';
import { startPage } from './controller';
import { Start } from './text/start';
import { model, text } from './text/text';
import { Workbench } from './workbench';

export function LmPage() {
  useEffect(startPage, []);
  return (
    <>
      <EngineStopped />
      {text.value || model.value ? <Workbench /> : <Start />}
    </>
  );
}
