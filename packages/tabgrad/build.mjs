// Fills dist/: JavaScript and types from src/, and the engine's three builds from build/wasm*, which `tools/build wasm`,
// `tools/build wasm-relaxed` and `tools/build wasm-single` make. The runtime for exported Programs is held to its size.
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { bundle } from './bundle.mjs';
import { generate } from './generate.mjs';

const here = import.meta.dirname;
const kRuntimeBytes = 20_000; // compressed
const builds = { threads: 'wasm', relaxed: 'wasm-relaxed', single: 'wasm-single' };

rmSync(join(here, 'dist'), { recursive: true, force: true });
generate();
execFileSync('npx', ['tsc', '-p', here], { stdio: 'inherit' });
await bundle(join(here, 'dist/worker.js'), join(here, 'dist/worker.js'));
await bundle(join(here, 'dist/runtime/index.js'), join(here, 'dist/runtime.js'), { minify: true });
const size = gzipSync(readFileSync(join(here, 'dist/runtime.js')), { level: 9 }).length;
console.log(`dist/runtime.js: ${size} bytes compressed, of at most ${kRuntimeBytes}`);
if (size > kRuntimeBytes) process.exit(1);
mkdirSync(join(here, 'dist/engine'));
for (const [name, preset] of Object.entries(builds)) {
  const from = resolve(here, '../../build', preset, 'bin');
  if (!existsSync(join(from, 'tabgrad.wasm'))) {
    console.error(`${from} holds no tabgrad.wasm: run tools/build ${preset} tabgrad_module`);
    process.exit(1);
  }
  for (const suffix of ['mjs', 'wasm'])
    copyFileSync(join(from, `tabgrad.${suffix}`), join(here, 'dist/engine', `${name}.${suffix}`));
}
