// The C++ tests of targets for browsers with a GPU (build/wasm's test_page), on the page's runners.
import { expect } from 'vitest';
import type { TestBrowser } from './browsers.ts';
import { runModule } from './run_module.ts';

/** Of a test: software GPUs take long, and all cores of a small machine may be busy. */
export const kPatience = 2_400_000;

const kProgram = process.env.TABGRAD_TEST_PAGE ?? `${import.meta.dirname}/../../../build/wasm/bin/test_page.mjs`;

/** moreOptions: the file that gives the program its runners. At most `skipped` tests may find that they do not apply. */
export async function passes(
  browser: TestBrowser,
  moreOptions: string,
  filter: string,
  atLeast: number,
  skipped = 0,
): Promise<void> {
  const args = [`--gtest_filter=${filter}`, '--gtest_brief=1'];
  const run = await runModule(browser, kProgram, args, { moreOptions, timeout: kPatience - 20_000 });
  const text = run.lines.join('\n');
  for (const line of run.lines) if (line.includes('largest difference')) console.log(line);
  expect(run.exit, text).toBe(0);
  const count = (what: string) => Number(new RegExp(`\\[ *${what} *\\] (\\d+) tests?`).exec(text)?.[1] ?? 0);
  expect(count('SKIPPED'), text).toBeLessThanOrEqual(skipped);
  expect(count('PASSED')).toBeGreaterThanOrEqual(atLeast);
}
