// A case for each kind of kernel, and a train step (tests/optest/optest_test.cc's suite "Quick"), compiled to WebAssembly, on the page's
// runner in Chromium with a software GPU. engine.test.ts runs all of the table. Needs build/wasm's test_page.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Chromium, launchChromium } from '../lib/browsers.ts';
import { passes } from '../lib/test_page.ts';
import { bundled } from './bundled.ts';

let browser: Chromium;
let options: { file: string };
beforeAll(async () => {
  browser = await launchChromium({ gpu: 'software' });
  options = await bundled(`${import.meta.dirname}/module_options.ts`);
});
afterAll(async () => {
  await browser?.close();
  expect(browser?.outside).toEqual([]);
});

test('every kind of kernel against the oracle', { timeout: 300_000 }, () =>
  passes(browser, options.file, 'Quick/*__webgpu', 24),
);
