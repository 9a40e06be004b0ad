// What goes wrong around a run: a second tab, full storage, an engine that ends. Each is said where it happens, and the page
// goes on.
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { button, engineLine, kSlow, openSite, train, verdict, waitForSteps } from './site.ts';

const kShort = '#/forecast?data=seattle-weather&target=temp_max&horizon=1&epochs=3&patience=0';
const kLong = '#/forecast?data=us-births&target=births&horizon=2&epochs=500&patience=0';

test(
  'a run is open in one tab only',
  async () => {
    const site = await openSite({ address: kLong });
    try {
      await train(site.page);
      await site.page.getByText(/Saved at step/).waitFor();
      const second = await site.browser.newPage();
      await second.goto(site.server.url);
      await second.getByRole('button', { name: 'Go on with LSTM on births' }).click();
      const alert = second.getByRole('alert');
      await alert.waitFor();
      expect(await alert.innerText()).toMatch(/another tab/);
      await second.getByRole('button', { name: /Weather in Seattle/ }).click();
      await second.locator('.plan').waitFor();
    } finally {
      await site.close();
    }
  },
  2 * kSlow,
);

test(
  'with the storage full a run trains on and says that it cannot be kept',
  async () => {
    const site = await openSite();
    try {
      const { page, server, browser } = site;
      await engineLine(page);
      const devtools = await browser.context.newCDPSession(page);
      await devtools.send('Storage.overrideQuotaForOrigin', { origin: server.origin, quotaSize: 1000 });
      await page.goto(server.url + kShort);
      await train(page);
      await verdict(page);
      expect(await page.locator('.training .notices').innerText()).toMatch(/storage is full/);
    } finally {
      await site.close();
    }
  },
  2 * kSlow,
);

/** Lets a test end the engine's worker as a browser does that is out of memory. */
function rememberWorker(page: Page): Promise<unknown> {
  return page.addInitScript(() => {
    const Original = globalThis.Worker;
    globalThis.Worker = class extends Original {
      constructor(url: string | URL, options?: WorkerOptions) {
        super(url, options);
        Object.assign(globalThis, { lastWorker: this });
      }
    };
  });
}

test(
  'when the engine ends by itself, what was saved is told, and it can be started again',
  async () => {
    const site = await openSite({ address: kLong, prepare: rememberWorker });
    try {
      const { page } = site;
      await train(page);
      await waitForSteps(page, 5);
      await button(page, 'Pause').click();
      await page.getByText(/Saved at step/).waitFor();
      await page.evaluate(() =>
        (globalThis as unknown as { lastWorker: Worker }).lastWorker.dispatchEvent(new Event('error')),
      );
      await page.getByText('The engine stopped').waitFor();
      expect(await page.getByRole('alert').filter({ hasText: 'The run ended early' }).innerText()).toMatch(
        /saved at step \d+/,
      );
      await button(page, 'Start it again').click();
      await engineLine(page);
      await button(page, 'Other data').click();
      await page.getByRole('button', { name: 'Go on with LSTM on births' }).click();
      await waitForSteps(page, 10);
      await button(page, 'Stop and judge').click();
      expect(await verdict(page)).toMatch(/LSTM/);
    } finally {
      await site.close();
    }
  },
  3 * kSlow,
);
