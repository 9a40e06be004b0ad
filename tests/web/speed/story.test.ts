// The pages "Speed" and "Dispatch", at sizes for tests and on a software GPU: which is named as one and never drawn.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accessProblems, button, downloaded, drop, engineLine, kSlow, openSite, type Site } from '../forecast/site.ts';

let site: Site;
beforeAll(async () => {
  site = await openSite({
    address: '#/speed?sizes=tiny,small&targets=wasm,wasm-single,webgpu&seconds=0.1',
    browser: { gpu: 'software', context: { acceptDownloads: true, viewport: { width: 1280, height: 900 } } },
  });
});
afterAll(() => site?.close());

const rows = () =>
  site.page
    .getByRole('region', { name: /^Train steps/ })
    .locator('tbody tr')
    .allInnerTexts();
let saved = '';
let link = '';

test(
  'one button measures every target; a software GPU is named in red and not drawn',
  async () => {
    const { page } = site;
    await engineLine(page);
    expect(await accessProblems(page)).toEqual([]);
    await button(page, 'Measure').click();
    await page.getByRole('progressbar', { name: 'Measuring' }).waitFor();
    await page.getByRole('heading', { name: 'Speed over model size' }).waitFor({ timeout: 4 * kSlow });
    const found = await rows();
    expect(found).toHaveLength(5); // the software GPU at the smallest size only
    for (const row of found) expect(row).not.toContain('failed');
    expect(found[0]).toContain('baseline');
    expect(found[2]).toMatch(/webgpu.*no GPU/s);
    const software = page.locator('.targets .wrong');
    expect(await software.allInnerTexts()).toEqual([' – a software GPU: a program on the CPU, not drawn']);
    const chart = page.getByRole('application');
    expect(await chart.getAttribute('aria-label')).toMatch(/against wasm .*wasm-single [\d.]+ times/);
    expect(await chart.getAttribute('aria-label')).not.toContain('webgpu');
    expect(await accessProblems(page)).toEqual([]);
    expect(site.browser.outside).toEqual([]);
    expect(site.errors).toEqual([]);
  },
  5 * kSlow,
);

test('the result is a file with every step, and a link that holds it', async () => {
  const { page } = site;
  const file = await downloaded(page, 'Save as file');
  saved = file.bytes.toString();
  const curve = JSON.parse(saved) as {
    schema: string;
    rows: { target: string; samples_ms: number[]; parity: { gradient_error: number } }[];
  };
  expect(curve.schema).toBe('tabgrad-curve/2');
  expect(curve.rows.every((row) => row.target === 'webgpu' || row.samples_ms.length >= 5)).toBe(true);
  expect(curve.rows[1]!.parity.gradient_error).toBeLessThan(1e-5);
  await button(page, 'Make a link').click();
  await button(page, 'Link is in the address').waitFor();
  link = page.url();
  expect(link.length).toBeLessThan(8000);
});

test('the link shows the same numbers in another browser, and files lie beside them', async () => {
  const other = await openSite({ address: new URL(link).hash });
  try {
    const { page } = other;
    await page.getByRole('heading', { name: 'Speed over model size' }).waitFor();
    const shown = await page
      .getByRole('region', { name: /^Train steps/ })
      .locator('tbody tr')
      .allInnerTexts();
    expect(shown).toEqual(await rows());
    await drop(page, 'mine.json', saved);
    await page.getByRole('heading', { name: /^mine, / }).waitFor();
    expect(await page.getByRole('region', { name: /^Train steps/ }).count()).toBe(2);
    await drop(page, 'not.json', '{"schema": "else"}');
    await page.getByText('not.json is no speed result of this version').waitFor();
    await drop(page, 'evil.json', saved.replaceAll('"wasm-single"', '"<img src=x onerror=alert(1)>"'));
    await page.getByRole('heading', { name: /^evil, / }).waitFor();
    expect(await page.locator('main img').count()).toBe(0);
    expect(other.errors).toEqual([]);
  } finally {
    await other.close();
  }
});

test('360 px, dark: nothing is wider than the screen', async () => {
  const context = { viewport: { width: 360, height: 800 }, colorScheme: 'dark' as const };
  const narrow = await openSite({ address: new URL(link).hash, browser: { context } });
  try {
    await narrow.page.getByRole('heading', { name: 'Speed over model size' }).waitFor();
    expect(await accessProblems(narrow.page)).toEqual([]);
    expect(await narrow.page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  } finally {
    await narrow.close();
  }
});

test(
  'the page Dispatch times launches, and says that this is no GPU',
  async () => {
    const { page } = site;
    await page.goto(`${site.server.url}#/dispatch?part=0.02`);
    await button(page, 'Measure').click();
    await page.getByRole('heading', { name: 'Microseconds a launch' }).waitFor({ timeout: 4 * kSlow });
    await page.getByText('these are no times of a GPU').waitFor();
    const methods = await page
      .getByRole('region', { name: 'Microseconds a launch' })
      .locator('tbody th')
      .allInnerTexts();
    expect(methods.slice(0, 5)).toEqual([
      'single-op',
      'sequential',
      'one command buffer',
      'one pass, dependent',
      'one pass, independent',
    ]);
    expect(methods[5]).toMatch(/^replay of \d+$/);
    const variants = await page
      .getByRole('region', { name: 'What fusing is worth' })
      .locator('tbody tr')
      .allInnerTexts();
    expect(variants.some((row) => /^merging alone\s+training/.test(row))).toBe(true);
    expect(variants.some((row) => /^everything\s+writing a token/.test(row))).toBe(true);
    expect(await accessProblems(page)).toEqual([]);
    const file = await downloaded(page, 'Save as file');
    expect(JSON.parse(file.bytes.toString())).toMatchObject({
      schema: 'tabgrad-dispatch/2',
      gpu: 'software',
      ablation: { preset: 'micro' },
    });
    expect(site.errors).toEqual([]);
  },
  5 * kSlow,
);
