// The table of ops (tests/cases), compiled to WebAssembly, in browsers: against the oracle and bit for bit on 1, 2 and 3 threads.
// Node runs every row (ctest of the WebAssembly presets); here those that depend on the browser's own compiler.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { launchChromium, launchFirefox, type TestBrowser } from '../lib/browsers.ts';
import { runModule } from '../lib/run_module.ts';

const kBuild = `${import.meta.dirname}/../../../build`;
const kRows = ['cpu', 'cpu_nofuse', 'cpu_1_thread', 'cpu_3_threads'];
const kFilter = `--gtest_filter=${kRows.map((row) => `*__${row}`).join(':')}`;

describe.each([
  ['chromium', launchChromium],
  ['firefox', launchFirefox],
])('%s', (_, launch: () => Promise<TestBrowser>) => {
  let browser: TestBrowser;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.close());

  test.each([
    ['wasm', true],
    ['wasm-relaxed', true],
    ['wasm-single', false],
  ])('%s', { timeout: 300_000 }, async (preset, isolated) => {
    const run = await runModule(browser, `${kBuild}/${preset}/bin/test_cases.mjs`, [kFilter, '--gtest_brief=1'], {
      isolated,
      timeout: 300_000,
    });
    const problems = run.lines.filter((line) => !line.startsWith('Note:')).join('\n');
    expect(run.isolated).toBe(isolated);
    expect(problems).toMatch(/\[ {2}PASSED {2}\] \d{3,} tests/);
    expect(run.exit, problems).toBe(0);
  });
});
