// The same runner in Node, on Dawn as npm's package `webgpu` brings it. That package is 130 MB, so it is no dependency of
// ours: without it this says so and skips. Try it: npm install --no-save webgpu
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const kRoot = join(import.meta.dirname, '../../..');

function addressOfPackage(): string | null {
  try {
    return createRequire(import.meta.url).resolve(process.env.TABGRAD_NODE_WEBGPU ?? 'webgpu');
  } catch {
    console.log('node.test.ts: npm’s package `webgpu` is not installed, so Node is not tested here');
    return null;
  }
}
const address = addressOfPackage();

test.skipIf(!address)('runs Programs in Node', () => {
  // A process of its own: Dawn's threads do not survive the end of Vitest's.
  const output = execFileSync('node', ['tools/run_ts.mjs', 'tests/web/webgpu/node_run.ts'], {
    cwd: kRoot,
    encoding: 'utf8',
    env: { ...process.env, TABGRAD_NODE_WEBGPU: address! },
  });
  expect(JSON.parse(output.trim().split('\n').at(-1)!)).toEqual({ y: [12, 14, 16, 18], z: [1, 4, 9, 16], lost: true });
});
