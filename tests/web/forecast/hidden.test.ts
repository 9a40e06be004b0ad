// A tab in the background trains on at its speed. In Firefox, whose headless tabs are truly hidden; Chromium's are not.
//
// Needs a machine that is not overloaded: with ten processes a core, a hidden Firefox tab got 0.41 of a core where a visible one got
// 0.55, for the same steps per second of processor time. The load is printed beside the ratio.
import { loadavg } from 'node:os';
import type { Page } from 'puppeteer-core';
import { expect, test } from 'vitest';
import { launchFirefox } from '../lib/browsers.ts';
import { kSlow, serveSite } from './site.ts';

const kAddress = '#/forecast?data=us-births&target=births&horizon=7&epochs=200&patience=0';
/** Short turns of visible and hidden, since other work on the machine comes and goes. */
const kTurns = 12;
const kSeconds = 1;

function median(values: number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

test(
  'steps a second in a hidden tab',
  async () => {
    const server = await serveSite();
    const firefox = await launchFirefox();
    try {
      const page = (await firefox.newPage()) as unknown as Page;
      await page.goto(server.url + kAddress);
      await page.waitForSelector('.plan', { timeout: kSlow });
      await page.click('button[type=submit]');
      const steps = () =>
        page.evaluate(() => {
          const row = [...document.querySelectorAll('.training .stats div')].find((div) =>
            /^step/.test(div.textContent ?? ''),
          );
          return Number(row?.querySelector('dd')?.textContent?.split(' of ')[0]?.replaceAll(',', '') ?? 0);
        });
      await page.waitForFunction(() => /step\d/.test(document.querySelector('.training .stats')?.textContent ?? ''));
      const rate = async () => {
        const [before, start] = [await steps(), performance.now()];
        await new Promise((done) => setTimeout(done, kSeconds * 1000));
        return ((await steps()) - before) / ((performance.now() - start) / 1000);
      };
      const other = (await firefox.newPage()) as unknown as Page;
      const visible: number[] = [];
      const hidden: number[] = [];
      for (let turn = 0; turn < kTurns; turn++) {
        await page.bringToFront();
        expect(await page.evaluate(() => document.visibilityState)).toBe('visible');
        visible.push(await rate());
        await other.bringToFront();
        expect(await page.evaluate(() => document.visibilityState)).toBe('hidden');
        hidden.push(await rate());
      }
      const ratio = median(
        hidden.map((rate, turn) => (2 * rate) / (visible[turn]! + (visible[turn + 1] ?? visible[turn]!))),
      );
      const rates = `visible ${visible.map(Math.round)}, hidden ${hidden.map(Math.round)}`;
      console.log(`steps/s ${rates}: ratio ${ratio.toFixed(2)} at load ${loadavg()[0]!.toFixed(1)}`);
      expect(ratio).toBeGreaterThanOrEqual(0.8);
    } finally {
      await firefox.close();
      await server.close();
    }
  },
  4 * kSlow,
);
