// The C++ tests of targets (tests/cases, tests/webgpu), compiled to WebAssembly, on the page's runner in Chromium with a
// software GPU: the table of ops against the oracle, and models that train as on the CPU. Needs build/wasm's test_page.
import { afterAll, beforeAll, test } from 'vitest';
import { type Chromium, launchChromium } from '../lib/browsers.ts';
import { passes } from '../lib/test_page.ts';
import { bundled } from './bundled.ts';

let browser: Chromium;
let options: { file: string };
beforeAll(async () => {
  browser = await launchChromium({ gpu: 'software' });
  options = await bundled(`${import.meta.dirname}/module_options.ts`);
});
afterAll(() => browser?.close());

// In parts: a software GPU takes up to seconds to compile a product's shader, of which each case of them has several.
test('the table of ops but products', { timeout: 1_200_000 }, () =>
  passes(browser, options.file, '*__webgpu-*matmul*:*conv1d*', 300),
);
test('products', { timeout: 1_200_000 }, () => passes(browser, options.file, '*matmul*__webgpu:*conv1d*__webgpu', 100));
test.each(['lstm', 'gru', 'transformer'])('%s trains as on the CPU, 200 steps', { timeout: 600_000 }, (kind) =>
  passes(browser, options.file, `*ForecasterParity.*/${kind}_webgpu`, 3),
);
test.each(['tiny', 'small'])('GPT %s trains as on the CPU', { timeout: 1_200_000 }, (preset) =>
  passes(browser, options.file, `*GptParity.*/${preset}_webgpu`, 2),
);
