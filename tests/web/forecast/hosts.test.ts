// Kinds of hosts: without isolation headers, without service workers, below a path, and gone.
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { launchFirefox } from '../lib/browsers.ts';
import { engineLine, kSite, kSlow, openSite, serveSite, train, verdict } from './site.ts';

const kShort = '#/forecast?data=seattle-weather&target=temp_max&horizon=1&epochs=2';

test('without isolation headers the service worker brings threads, below any path', async () => {
  const site = await openSite({ server: { isolated: false, base: '/some/where/' } });
  try {
    expect(await engineLine(site.page)).toMatch(/[2-9]\d* threads/);
    expect(await site.page.evaluate(() => crossOriginIsolated)).toBe(true);
    expect(site.errors).toEqual([]);
    expect(site.browser.outside).toEqual([]);
  } finally {
    await site.close();
  }
});

test(
  'without service workers either it trains on one thread and says why',
  async () => {
    const site = await openSite({
      address: kShort,
      server: { isolated: false },
      browser: { context: { serviceWorkers: 'block' } },
    });
    try {
      expect(await engineLine(site.page)).toMatch(/1 thread.*not cross-origin isolated/is);
      await train(site.page);
      expect(await verdict(site.page)).toMatch(/LSTM/);
    } finally {
      await site.close();
    }
  },
  3 * kSlow,
);

test(
  'with the server gone the page loads and trains',
  async () => {
    const site = await openSite();
    try {
      const { page, server } = site;
      await engineLine(page);
      await server.close();
      await page.reload();
      await engineLine(page);
      await page.getByRole('button', { name: /Weather in Seattle/ }).click();
      await page.getByText('More settings').click();
      await page.getByLabel('Epochs at most').fill('2');
      await train(page);
      expect(await verdict(page)).toMatch(/LSTM/);
      expect(site.browser.outside).toEqual([]);
    } finally {
      await site.close();
    }
  },
  3 * kSlow,
);

test(
  'Firefox: the whole way',
  async () => {
    const server = await serveSite();
    const firefox = await launchFirefox();
    try {
      const page = (await firefox.newPage()) as unknown as import('puppeteer-core').Page;
      await page.goto(server.url + kShort);
      await page.waitForSelector('.plan', { timeout: kSlow });
      await page.click('button[type=submit]');
      await page.waitForSelector('.verdict', { timeout: 2 * kSlow });
      expect(await page.$eval('.verdict', (element) => element.textContent)).toMatch(/LSTM/);
      // Firefox asks for its own settings, whatever a page does.
      expect(firefox.outside.filter((host) => !host.endsWith('.services.mozilla.com:443'))).toEqual([]);
    } finally {
      await firefox.close();
      await server.close();
    }
  },
  4 * kSlow,
);

test(
  'a new version of the site is there at the next load, and then offline too',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tabgrad-site-'));
    await cp(kSite, folder, { recursive: true });
    const edit = async (name: string, from: RegExp, to: string) => {
      const before = await readFile(join(folder, name), 'utf8');
      const after = before.replace(from, to);
      expect(after).not.toBe(before);
      await writeFile(join(folder, name), after);
    };
    const site = await openSite({ folder });
    try {
      const { page, server } = site;
      const description = () => page.locator('meta[name=description]').getAttribute('content');
      await engineLine(page);
      await edit('index.html', /content="Train a small/, 'content="New: train a small');
      await edit('sw.js', /[0-9a-f]{16}/, '0123456789abcdef');
      await page.reload();
      expect(await description()).toMatch(/^New/);
      await expect
        .poll(() => page.evaluate(() => caches.keys()), { timeout: kSlow })
        .toEqual([expect.stringContaining('0123456789abcdef')]);
      await page.reload();
      await engineLine(page);
      await server.close();
      await page.reload();
      expect(await description()).toMatch(/^New/);
      await engineLine(page);
    } finally {
      await site.close();
      await rm(folder, { recursive: true });
    }
  },
  3 * kSlow,
);
