// tabgrad/runtime: runs compiled Programs on the page's GPU through WebGPU or WebGL2, without WebAssembly.

export { readProgram } from '../program/read.ts';
export type * from '../program/program.ts';
export { DeviceLost, type Runner, type Values } from './runner.ts';
export { openDevice, useDevice, type WebGpuDevice } from './webgpu_device.ts';
export { loadWebGpu } from './webgpu.ts';
export { openWebGl, type WebGlDevice } from './webgl_device.ts';
export { loadWebGl } from './webgl.ts';
export { readSafetensors, type Tensors } from './safetensors.ts';
export { Training, type TrainingEvent, type TrainingPlan } from './training.ts';
