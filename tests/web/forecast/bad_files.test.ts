// Files that cannot be forecast: the page says where and what to do, and goes on working.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { drop, engineLine, openSite, type Site } from './site.ts';

let site: Site;
beforeAll(async () => {
  site = await openSite();
  await engineLine(site.page);
});
afterAll(() => site?.close());

/** After each bad file a good one is read. */
afterEach(async () => {
  const { page } = site;
  await drop(
    page,
    'good.csv',
    daily(200, (i) => String(20 + Math.sin(i / 3))),
  );
  await page.getByRole('heading', { name: 'good.csv', exact: true }).waitFor();
  await page.locator('.plan').waitFor();
});

function daily(rows: number, value: (row: number) => string): string {
  const day = (i: number) => new Date(Date.UTC(2020, 0, 1 + i)).toISOString().slice(0, 10);
  return `date,units\n${Array.from({ length: rows }, (_, i) => `${day(i)},${value(i)}`).join('\n')}\n`;
}

async function complaint(name: string, content: string | Uint8Array): Promise<string> {
  await drop(site.page, name, content);
  const alert = site.page.getByRole('alert').filter({ hasText: name });
  await alert.waitFor();
  return alert.innerText();
}

test('a ragged row', async () => {
  expect(await complaint('ragged.csv', 'date,a,b\n2020-01-01,1,2\n2020-01-02,1\n2020-01-03,1,2\n')).toMatch(
    /row 3|line 3/,
  );
});

test('an empty file', async () => {
  expect(await complaint('empty.csv', '')).toMatch(/empty/i);
});

test('a header without rows', async () => {
  expect(await complaint('header.csv', 'date,units\n')).toMatch(/row/);
});

test('a binary file', async () => {
  const png = Uint8Array.of(
    137,
    80,
    78,
    71,
    13,
    10,
    26,
    10,
    0,
    0,
    0,
    13,
    73,
    72,
    68,
    82,
    0,
    0,
    1,
    0,
    0,
    255,
    254,
    3,
    200,
    0,
  );
  expect(await complaint('picture.csv', png)).toBeTruthy();
});

test('an open quote', async () => {
  expect(await complaint('quote.csv', 'date,a\n2020-01-01,"1\n2020-01-02,2\n')).toMatch(/quote/);
});

test('markup in a file name and in cells stays text', async () => {
  const name = '<img src=x onerror=alert(1)>.csv';
  expect(await complaint(name, 'a\n')).toContain(name);
  await drop(site.page, name, daily(200, String).replace('units', '<b>units</b>'));
  await site.page.getByRole('heading', { name, exact: true }).waitFor();
  expect(await site.page.locator('main img, main b').count()).toBe(0);
});

test('numbers too large to compute with', async () => {
  const { page } = site;
  await drop(
    page,
    'huge.csv',
    daily(300, (i) => (i % 2 ? '1e308' : '-1e308')),
  );
  const said = page.getByRole('alert').or(page.locator('.data .notices'));
  await page.getByRole('heading', { name: 'huge.csv', exact: true }).or(said).first().waitFor();
  if (
    await page
      .locator('.plan')
      .isVisible()
      .catch(() => false)
  ) {
    await page.getByRole('button', { name: 'Train', exact: true }).click();
  }
  await page.getByRole('alert').first().waitFor();
});

test('a link that names a text column as target', async () => {
  const { page, server } = site;
  await page.goto(`${server.url}#/forecast?data=seattle-weather&target=weather`);
  await page.reload();
  await page.getByRole('alert').filter({ hasText: 'weather' }).waitFor();
  await page.getByLabel('Target').selectOption('temp_max');
  await page.locator('.plan').waitFor();
});

test('a horizon longer than the data', async () => {
  const { page } = site;
  await page.getByLabel('Horizon').fill('5000');
  const alert = page.locator('.settings').getByRole('alert');
  await alert.waitFor();
  expect(await alert.innerText()).toMatch(/horizon/i);
  await page.getByLabel('Horizon').fill('');
  await alert.filter({ hasText: 'is not a number' }).waitFor();
  await page.getByLabel('Horizon').fill('4');
  await page.locator('.plan').waitFor();
});
