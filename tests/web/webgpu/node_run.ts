// Runs a small Program in Node on npm's package `webgpu`, whose address is in TABGRAD_NODE_WEBGPU, and prints what came out.
import { smallParts, write } from '../../../packages/tabgrad/test/small_program.ts';
import { DeviceLost, loadWebGpu, openDevice, readProgram } from '../../../packages/tabgrad/src/runtime/index.ts';

const { create } = (await import(/* @vite-ignore */ process.env.TABGRAD_NODE_WEBGPU!)) as {
  create(flags: string[]): GPU;
};
// Dawn answers only while something keeps Node awake.
setInterval(() => {}, 100);
const device = await openDevice(create([]));
const runner = await loadWebGpu(readProgram(write(smallParts()), 'small'), device);
runner.write('x', new Float32Array([1, 2, 3, 4]));
runner.write('w', new Float32Array([10, 0, 0, 0]));
runner.setUniform('scale', 2);
runner.run('step');
const y = await runner.read('y');
for (let i = 0; i < 100; ++i) {
  await runner.room();
  runner.run('peek');
}
const z = await runner.read('z');
device.destroy();
const lost = await runner.read('w').then(
  () => false,
  (error) => error instanceof DeviceLost,
);
console.log(JSON.stringify({ y: [...y], z: [...z], lost }));
process.exit(0);
