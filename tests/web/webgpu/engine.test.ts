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

// A software GPU takes seconds to compile a product's shader, of which each case of them has several: a few stand for all,
// which the native rows of the table run.
const kProducts = ['3x33x130x33_nn', '3x33x130x33_tt', '1x33x7x130_tn', 'then_bias_gelu', 'of_heads', 'then_softmax'];
test('the table of ops but products', { timeout: 1_200_000 }, () =>
  passes(browser, options.file, '*__webgpu-*matmul*:*conv1d*', 300),
);
test('products', { timeout: 600_000 }, () =>
  passes(browser, options.file, kProducts.map((name) => `*/matmul_${name}__webgpu`).join(':'), kProducts.length),
);
test.each(['lstm', 'gru', 'transformer'])('%s trains as on the CPU, 200 steps', { timeout: 600_000 }, (kind) =>
  passes(browser, options.file, `*ForecasterParity.*/${kind}_webgpu`, 1),
);
test('GPT tiny trains as on the CPU', { timeout: 600_000 }, () =>
  passes(browser, options.file, '*GptParity.*/tiny_webgpu', 2),
);
