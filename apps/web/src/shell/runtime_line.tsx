// How the engine runs on this device, and why not faster.

import { engineState } from '../engine/engine';

export function RuntimeLine() {
  const engine = engineState.value;
  if (engine.state === 'starting') return <p>Starting the engine …</p>;
  if (engine.state === 'failed') return <p>The engine is not running.</p>;
  const { description, reason, storage } = engine.info;
  return (
    <p>
      Everything is computed on this device: <strong>{description}</strong>. {reason && <>{sentence(reason)} </>}
      {storage ? 'Runs are kept in this browser until you forget them.' : 'Runs are not kept when this page is closed.'}
    </p>
  );
}

function sentence(text: string): string {
  return text[0]!.toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? '' : '.');
}
