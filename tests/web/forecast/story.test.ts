// From opening the page to files in hand, on a series dropped as a CSV; and that nothing left the machine meanwhile.
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  button,
  downloaded,
  drop,
  engineLine,
  example,
  kSlow,
  metrics,
  openSite,
  type Site,
  stepsDone,
  train,
  verdict,
  waitForSteps,
} from './site.ts';

let site: Site;
beforeAll(async () => {
  site = await openSite({ browser: { context: { acceptDownloads: true } } });
});
afterAll(() => site?.close());

test('the page says how the engine runs', async () => {
  expect(await engineLine(site.page)).toMatch(/\d+ threads?, WebAssembly SIMD/);
});

test('a dropped CSV is read and described', async () => {
  const { page } = site;
  await drop(page, 'weather.csv', example('seattle-weather.csv'));
  await page.getByRole('heading', { name: 'weather.csv', exact: true }).waitFor();
  const found = await page.locator('.data').innerText();
  expect(found).toContain('1,461 rows · one every 1 day · 2012-01-01 to 2015-12-31');
  await page.getByText('6 columns').click();
  expect(await page.getByRole('region', { name: 'Columns' }).innerText()).toMatch(/weather\s+text/);
});

test('settings go into the address, and the plan follows them', async () => {
  const { page } = site;
  await page.getByLabel('Target').selectOption('temp_max');
  await page.getByLabel('wind', { exact: true }).check();
  await page.getByLabel('GRU').check();
  await page.getByLabel('Horizon').fill('3');
  await page.getByText('More settings').click();
  await page.getByLabel('Epochs at most').fill('12');
  await page.getByLabel('Seed').fill('7');
  await expect
    .poll(() => page.locator('.plan').innerText())
    .toMatch(/parameters, [\d,]+ training windows, at most \d+ steps/);
  const hash = new URL(page.url()).hash;
  for (const part of ['target=temp_max', 'features=wind', 'model=gru', 'horizon=3', 'epochs=12', 'seed=7']) {
    expect(hash).toContain(part);
  }
  expect(hash).not.toContain('window='); // a default
});

test(
  'training shows its losses, pauses, continues and stops',
  async () => {
    const { page } = site;
    await train(page);
    await waitForSteps(page, 5);
    await button(page, 'Pause').click();
    await page.getByRole('heading', { name: 'Paused' }).waitFor();
    const paused = await stepsDone(page);
    await page.waitForTimeout(500);
    expect(await stepsDone(page)).toBe(paused);
    await button(page, 'Continue').click();
    await waitForSteps(page, paused + 10);
    expect(await page.locator('.training').innerText()).toMatch(/Validation loss [\d.]+ untrained/);
    if (await button(page, 'Stop and judge').isVisible()) await button(page, 'Stop and judge').click();
    expect(await verdict(page)).toMatch(/GRU/);
    expect(await metrics(page)).toHaveLength(4);
    expect(await page.locator('.result').innerText()).toContain('The next 3 days');
  },
  3 * kSlow,
);

test('report, forecast and model are handed over', async () => {
  const { page } = site;
  const report = await downloaded(page, 'Save report');
  expect(report.name).toMatch(/\.html$/);
  expect(report.bytes.toString()).toContain('temp_max');
  expect(report.bytes.toString()).not.toContain('<script');
  const forecast = await downloaded(page, 'Save forecast');
  expect(forecast.name).toMatch(/\.csv$/);
  expect(forecast.bytes.toString().trim().split('\n')).toHaveLength(1 + 3);
  const model = await downloaded(page, 'Save model');
  expect(model.name).toMatch(/\.zip$/);
  expect(model.bytes.subarray(0, 4).toString('latin1')).toBe('PK\x03\x04');
  expect(model.bytes.includes('weights.safetensors')).toBe(true);
});

test('no request left the origin, and nothing was logged as an error', () => {
  expect(site.browser.outside).toEqual([]);
  expect(site.errors).toEqual([]);
});

test('a shared address brings settings and bundled data back', async () => {
  const { page, server } = site;
  await page.goto(`${server.url}#/forecast?data=co2&target=CO2&model=transformer&horizon=6&lr=0.002`);
  await page.reload();
  await page.getByRole('heading', { name: 'co2-concentration.csv', exact: true }).waitFor();
  await page.getByText('More settings').click();
  expect(await page.getByLabel('Transformer').isChecked()).toBe(true);
  expect(await page.getByLabel('Horizon').inputValue()).toBe('6');
  expect(await page.getByLabel('Learning rate').inputValue()).toBe('0.002');
  await page.locator('.plan').waitFor();
});
