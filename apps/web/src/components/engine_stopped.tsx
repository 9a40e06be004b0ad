// Shown while the engine is not running: why, and a way to start it again.

import { engineState, startEngine } from '../engine/engine';
import { Alert } from './alert';

export function EngineStopped() {
  const engine = engineState.value;
  if (engine.state !== 'failed') return null;
  return (
    <Alert tone="error" title="The engine stopped">
      <p>{engine.error}</p>
      <p>
        <button type="button" onClick={() => void startEngine(0)}>
          Start it again
        </button>
      </p>
    </Alert>
  );
}
