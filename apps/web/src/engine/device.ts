// Where the person wants runs to be computed: a choice of this device's, that addresses carry beside the settings.

import { signal } from '@preact/signals';
import type { DeviceChoice } from './types';

const kChoices: DeviceChoice[] = ['auto', 'webgpu', 'webgl', 'wasm'];
/** Names of the ways to a GPU, for people. */
export const kWays = { webgpu: 'GPU', webgl: 'GPU through WebGL2' } as const;

export const deviceChoice = signal<DeviceChoice>('auto');

/** A link from anywhere can hold anything. */
export function deviceFrom(text: string | undefined): DeviceChoice {
  return kChoices.find((choice) => choice === text) ?? 'auto';
}

/** What of an address is about the engine rather than a page's settings, as it is to stand there now. */
export function engineQuery({ threads }: Record<string, string>): Record<string, string> {
  const device = deviceChoice.value;
  return { ...(threads ? { threads } : {}), ...(device === 'auto' ? {} : { device }) };
}
