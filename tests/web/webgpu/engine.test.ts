// Models that train as on the CPU (tests/webgpu), compiled to WebAssembly, on the page's runner in Chromium with a software GPU. Needs
// build/wasm's test_page.
import { afterAll, beforeAll, test } from 'vitest';
import { type Chromium, launchChromium } from '../lib/browsers.ts';
import { kPatience, passes } from '../lib/test_page.ts';
import { bundled } from './bundled.ts';

let browser: Chromium;
let options: { file: string };
beforeAll(async () => {
  browser = await launchChromium({ gpu: 'software' });
  options = await bundled(`${import.meta.dirname}/module_options.ts`);
});
afterAll(() => browser?.close());

test.each(['lstm', 'gru', 'transformer'])('%s trains as on the CPU, 200 steps', { timeout: kPatience }, (kind) =>
  passes(browser, options.file, `*ForecasterParity.*/${kind}_webgpu`, 3),
);
test('GPT tiny trains as on the CPU', { timeout: kPatience }, () =>
  passes(browser, options.file, '*GptParity.*/tiny_webgpu', 2),
);
// Its gradients are compared natively: the oracle takes minutes for them in WebAssembly.
test('GPT small trains as on the CPU', { timeout: kPatience }, () =>
  passes(browser, options.file, '*GptParity.Losses/small_webgpu', 1),
);
