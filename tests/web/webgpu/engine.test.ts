// The C++ tests of targets (tests/cases, tests/webgpu), compiled to WebAssembly, on the page's runner in Chromium with a
// software GPU: the table of ops against the oracle, and models that train as on the CPU. Needs build/wasm's test_page.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Chromium, launchChromium } from '../lib/browsers.ts';
import { runModule } from '../lib/run_module.ts';
import { bundled } from './bundled.ts';

const kProgram = process.env.TABGRAD_TEST_PAGE ?? `${import.meta.dirname}/../../../build/wasm/bin/test_page.mjs`;

let browser: Chromium;
let options: { file: string };
beforeAll(async () => {
  browser = await launchChromium({ gpu: 'software' });
  options = await bundled(`${import.meta.dirname}/module_options.ts`);
});
afterAll(() => browser?.close());

async function passes(filter: string, atLeast: number): Promise<void> {
  const args = [`--gtest_filter=${filter}`, '--gtest_brief=1'];
  const run = await runModule(browser, kProgram, args, { moreOptions: options.file, timeout: 580_000 });
  const text = run.lines.join('\n');
  expect(run.exit, text).toBe(0);
  expect(text).not.toContain('SKIPPED');
  expect(Number(/\[ {2}PASSED {2}\] (\d+) tests?/.exec(text)?.[1])).toBeGreaterThanOrEqual(atLeast);
}

test('the table of ops', { timeout: 600_000 }, () => passes('*__webgpu', 100));
test.each(['lstm', 'gru', 'transformer'])('%s trains as on the CPU, 200 steps', { timeout: 600_000 }, (kind) =>
  passes(`*ForecasterParity.*/${kind}`, 1),
);
test('GPT tiny trains as on the CPU', { timeout: 600_000 }, () => passes('*GptParity.*/tiny', 2));
