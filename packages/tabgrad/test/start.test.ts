import { expect, test } from 'vitest';
import type { BuildChoice } from '../src/wasm/features.ts';
import { startBuild } from '../src/wasm/start.ts';

const kThreads: BuildChoice = { build: 'relaxed', threads: 8, reason: '' };

test('the chosen build, when it starts', async () => {
  const { engine, choice } = await startBuild(kThreads, ({ build }) => Promise.resolve(build));
  expect(engine).toBe('relaxed');
  expect(choice).toBe(kThreads);
});

test('threads that never come: one thread, and why', async () => {
  const load = ({ build }: BuildChoice) => (build === 'single' ? Promise.resolve(build) : new Promise<never>(() => {}));
  const { engine, choice } = await startBuild(kThreads, load, 10);
  expect(engine).toBe('single');
  expect(choice).toMatchObject({ build: 'single', threads: 1 });
  expect(choice.reason).toContain('no 8 threads (they did not start within 0.01 s)');
});

test('memory refused to threads: one thread, and why', async () => {
  const { choice } = await startBuild(kThreads, ({ build }) =>
    build === 'single' ? Promise.resolve(build) : Promise.reject(new RangeError('could not allocate memory')),
  );
  expect(choice.reason).toContain('could not allocate memory');
});

test('what keeps the single build from starting is said', async () => {
  const load = () => Promise.reject(new Error('failed to fetch'));
  await expect(startBuild(kThreads, load)).rejects.toThrow('failed to fetch');
});
