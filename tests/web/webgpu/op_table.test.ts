// The table of ops (tests/cases), compiled to WebAssembly, on the page's runner in Chromium with a software GPU, against the oracle.
// Needs build/wasm's test_page.
//
// Two browsers at once: nearly all of the time is the software GPU compiling products' shaders, on one core each.
import { expect, test } from 'vitest';
import { launchChromium } from '../lib/browsers.ts';
import { kPatience, passes } from '../lib/test_page.ts';
import { bundled } from './bundled.ts';

const kProducts = ['matmul', 'conv1d', 'linear'].map((name) => `*/${name}*__webgpu`);

test.concurrent.each([
  ['products', kProducts.join(':'), 110],
  ['all others', `*__webgpu:*__webgpu_workgroups-${kProducts.join(':')}`, 400],
])('%s', { timeout: kPatience }, async (_, filter, atLeast) => {
  const [browser, options] = await Promise.all([
    launchChromium({ gpu: 'software' }),
    bundled(`${import.meta.dirname}/module_options.ts`),
  ]);
  try {
    await passes(browser, options.file, filter, atLeast);
    expect(browser.outside).toEqual([]);
  } finally {
    await browser.close();
  }
});
