// Where runs are to be computed: the CPU, the GPU, or what suits the model.

import { deviceChoice, deviceFrom, kWays } from '../engine/device';
import { engineState } from '../engine/engine';
import { SelectField } from './fields';

export function DeviceControl() {
  const engine = engineState.value;
  if (engine.state !== 'ready') return null;
  const { gpus, gpuReason, description } = engine.info;
  const options: [string, string][] = [
    ['auto', 'What suits the model'],
    ['wasm', `CPU: ${description}`],
    ...gpus.map(({ device, name }): [string, string] => [device, `${kWays[device]}: ${name}`]),
  ];
  return (
    <SelectField
      label="Compute on"
      help={gpuReason}
      value={options.some(([choice]) => choice === deviceChoice.value) ? deviceChoice.value : 'auto'}
      options={options}
      onChoose={(text) => (deviceChoice.value = deviceFrom(text))}
    />
  );
}
