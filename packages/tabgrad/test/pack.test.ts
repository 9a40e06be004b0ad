// The tarball that people install: what is in it, and that a strict TypeScript project can use its types.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const kPackage = join(import.meta.dirname, '..');

test('npm pack gives an installable package with types', () => {
  const project = mkdtempSync(join(tmpdir(), 'tabgrad-pack-'));
  const options = { cwd: kPackage, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] } as const;
  const packed = JSON.parse(
    execFileSync('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', project], options),
  );
  const [{ filename, files }] = Object.values(packed) as [{ filename: string; files: { path: string }[] }];
  const names = files.map((file) => file.path);
  expect(names).toEqual(expect.arrayContaining(['README.md', 'dist/index.js', 'dist/index.d.ts', 'dist/worker.js']));
  for (const build of ['relaxed', 'threads', 'single'])
    expect(names).toEqual(expect.arrayContaining([`dist/engine/${build}.mjs`, `dist/engine/${build}.wasm`]));
  expect(names.filter((name: string) => /test|\.(cc|tsx)$/.test(name))).toEqual([]);

  const installed = join(project, 'node_modules/tabgrad');
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['-xzf', join(project, filename), '-C', installed, '--strip-components=1']);
  writeFileSync(
    join(project, 'use.ts'),
    `import { createEngine, type Progress, type RunResult } from 'tabgrad';
const engine = createEngine();
const { threads }: { threads: number } = await engine.call('init', { threads: 0, autosaveSeconds: 5 });
engine.on('event', (event) => {
  if (event.event === 'progress') { const progress: Progress = event.progress; console.log(progress.loss, threads); }
  if (event.event === 'ended') { const result: RunResult = event.result; console.log(result.verdict); }
});
// @ts-expect-error: there is no such call
await engine.call('fly', {});
`,
  );
  const flags = ['--strict', '--noEmit', '--target', 'es2022', '--module', 'esnext', '--moduleResolution', 'bundler'];
  const tsc = join(kPackage, '../../node_modules/.bin/tsc');
  expect(execFileSync(tsc, [...flags, '--types', '', 'use.ts'], { cwd: project, encoding: 'utf8' })).toBe('');
});
