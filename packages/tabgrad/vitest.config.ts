import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: { root: import.meta.dirname, include: ['test/**/*.test.ts'], fileParallelism: false, testTimeout: 60_000 },
});
