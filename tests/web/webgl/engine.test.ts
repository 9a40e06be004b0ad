// The C++ tests of targets, compiled to WebAssembly, on the page's WebGL2 runner in Chromium with a software GPU: the table of ops
// against the oracle, also for smaller devices, and models that train as on the CPU. Needs build/wasm's test_page.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Chromium, launchChromium, launchFirefox } from '../lib/browsers.ts';
import { kPatience, passes } from '../lib/test_page.ts';
import { bundled } from '../webgpu/bundled.ts';

let browser: Chromium;
let options: { file: string };
beforeAll(async () => {
  browser = await launchChromium({ gpu: 'software' });
  options = await bundled(`${import.meta.dirname}/../webgpu/module_options.ts`);
});
afterAll(async () => {
  await browser?.close();
  expect(browser?.outside).toEqual([]);
});

test('the table of ops', { timeout: kPatience }, () => passes(browser, options.file, '*__webgl', 400));
test('nothing fused, Programs through their bytes', { timeout: kPatience }, () =>
  passes(browser, options.file, '*__webgl_nofuse', 400),
);
// What needs a larger texture is refused, with numbers: cases whose own tensors are larger.
test('textures of 64 × 64', { timeout: kPatience }, () => passes(browser, options.file, '*__webgl_64_texels', 400, 32));
test('four outputs a pass', { timeout: kPatience }, () => passes(browser, options.file, '*__webgl_4_outputs', 400));
test('one output a pass', { timeout: kPatience }, () => passes(browser, options.file, '*__webgl_1_output', 400));
test.each(['lstm', 'gru', 'transformer'])('%s trains as on the CPU, 200 steps', { timeout: kPatience }, (kind) =>
  passes(browser, options.file, `*ForecasterParity.*/${kind}_webgl`, 1),
);
test('GPT tiny trains as on the CPU', { timeout: kPatience }, () =>
  passes(browser, options.file, '*GptParity.*/tiny_webgl', 2),
);

// Firefox needs a display for WebGL, and an X server is not among the toolchain's packages: tests/web/README.md.
test.skipIf(!process.env.DISPLAY)('Firefox: ops, and training as on the CPU', { timeout: kPatience }, async () => {
  const firefox = await launchFirefox({ gpu: 'software', display: process.env.DISPLAY! });
  try {
    await passes(
      firefox,
      options.file,
      '*lstm_*__webgl:*gru_after_6*__webgl:*matmul_1x40*__webgl:*softmax*__webgl',
      30,
    );
    await passes(firefox, options.file, '*GptParity.*/tiny_webgl', 1);
    expect(firefox.outside).toEqual([]);
  } finally {
    await firefox.close();
  }
});
