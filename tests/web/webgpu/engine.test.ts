// The C++ tests of targets (tests/cases, tests/webgpu), compiled to WebAssembly, on the page's runner in Chromium with a
// software GPU: the table of ops against the oracle, and models that train as on the CPU. Needs build/wasm's test_page.
import { afterAll, beforeAll, test } from 'vitest';
import { type Chromium, launchChromium } from '../lib/browsers.ts';
import { passes } from '../lib/test_page.ts';
import { bundled } from './bundled.ts';

const kPatience = 1_200_000;

let browser: Chromium;
let options: { file: string };
beforeAll(async () => {
  browser = await launchChromium({ gpu: 'software' });
  options = await bundled(`${import.meta.dirname}/module_options.ts`);
});
afterAll(() => browser?.close());

// The table of ops in parts that take minutes: a software GPU takes up to seconds to compile a product's shader, of which each case
// of them has several. What no part names is the last one.
const kParts: [string, string[], number][] = [
  ['products', ['matmul', 'conv1d', 'linear'], 110],
  ['recurrent layers', ['lstm', 'gru'], 27],
  ['attention', ['attention'], 16],
  ['train steps', ['train'], 8],
];
const named = kParts.flatMap(([, names]) => names);
test.each(kParts)('the table of ops: %s', { timeout: kPatience }, (_, names, atLeast) =>
  passes(browser, options.file, names.map((name) => `*/${name}*__webgpu`).join(':'), atLeast),
);
test('the table of ops: all others', { timeout: kPatience }, () =>
  passes(browser, options.file, `*__webgpu-${named.map((name) => `*/${name}*`).join(':')}`, 269),
);
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
