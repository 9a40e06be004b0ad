import { defineConfig } from 'vitest/config';
import { generate } from './generate.mjs';

generate();

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ['test/**/*.test.ts'],
    fileParallelism: false,
    testTimeout: 60_000,
    // A process of its own, which can be told to collect garbage before its memory is measured.
    pool: 'forks',
    execArgv: ['--expose-gc'],
  },
});
