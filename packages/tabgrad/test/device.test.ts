// Which device a run gets, and why.
import { expect, test } from 'vitest';
import { chooseDevice } from '../src/device.ts';
import { Page } from '../src/wasm/page.ts';

const kGpu = { device: 'webgpu', name: 'NVIDIA H200', software: false } as const;
const kInfo = { description: '4 threads', threads: 4, gpus: [kGpu], gpuReason: '' };
const kWebGl = { ...kInfo, gpus: [{ ...kGpu, device: 'webgl' as const }], gpuReason: 'This browser has no WebGPU.' };
const kLarge = { flopsPerStep: 1e9, launchesPerStep: 80 };
const kSmall = { flopsPerStep: 2e6, launchesPerStep: 80 };

test('a large model goes to the GPU, a small one to the CPU, with the reason', () => {
  expect(chooseDevice('auto', kInfo, kLarge)).toEqual({ device: 'webgpu', description: 'NVIDIA H200', reason: '' });
  const small = chooseDevice('auto', kInfo, kSmall);
  expect(small).toMatchObject({ device: 'wasm', description: '4 threads' });
  expect(small.reason).toMatch(/small/);
});

test('what is asked for is done where it can be', () => {
  expect(chooseDevice('webgpu', kInfo, null)).toMatchObject({ device: 'webgpu', reason: '' });
  expect(chooseDevice('wasm', kInfo, kLarge)).toMatchObject({ device: 'wasm', reason: '' });
  const none = { ...kInfo, gpus: [], gpuReason: 'This browser has no WebGPU.' };
  for (const choice of ['auto', 'webgpu'] as const) {
    expect(chooseDevice(choice, none, null)).toMatchObject({ device: 'wasm', reason: 'This browser has no WebGPU.' });
  }
});

test('a program that imitates a GPU is used only when asked for', () => {
  const imitated = { ...kInfo, gpus: [{ ...kGpu, name: 'swiftshader', software: true }] };
  expect(chooseDevice('auto', imitated, kLarge)).toMatchObject({ device: 'wasm' });
  expect(chooseDevice('auto', imitated, kLarge).reason).toMatch(/software/);
  expect(chooseDevice('webgpu', imitated, null)).toMatchObject({ device: 'webgpu' });
});

test('without WebGPU it is WebGL2, with the reason; each where it is asked for', () => {
  expect(chooseDevice('auto', kWebGl, kLarge)).toEqual({
    device: 'webgl',
    description: 'NVIDIA H200',
    reason: 'This browser has no WebGPU.',
  });
  expect(chooseDevice('webgpu', kWebGl, null)).toMatchObject({ device: 'wasm', reason: 'This browser has no WebGPU.' });
  const both = { ...kInfo, gpus: [...kInfo.gpus, ...kWebGl.gpus] };
  expect(chooseDevice('auto', both, kLarge)).toMatchObject({ device: 'webgpu', reason: '' });
  expect(chooseDevice('webgl', both, null)).toMatchObject({ device: 'webgl', reason: '' });
});

test('the engine learns the limits of WebGL2, which is asked once', () => {
  const memory = new WebAssembly.Memory({ initial: 1 });
  let asked = 0;
  const page = new Page({}, () => {
    asked += 1;
    return { drawBuffers: 6, textureUnits: 32, textureSize: 8192 };
  });
  expect([page.webGlLimits(memory, 64), page.webGlLimits(memory, 64)]).toEqual([1, 1]);
  expect([...new Int32Array(memory.buffer, 64, 3)]).toEqual([6, 32, 8192]);
  expect(asked).toBe(1);
  expect(new Page({}, () => null).webGlLimits(memory, 0)).toBe(0);
  expect(new Int32Array(memory.buffer)[0]).toBe(0);
});
