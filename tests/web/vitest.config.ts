import { defineConfig } from 'vitest/config';

// Browsers on two cores: files run one after another, and a test says itself when it needs longer.
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ['**/*.test.ts'],
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
  },
});
