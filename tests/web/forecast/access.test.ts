// The page for everybody: axe-core on each of its states in both colour schemes, narrow screens, and the keyboard alone.
import { expect, test } from 'vitest';
import { accessProblems, button, drop, kSlow, openSite, train, verdict, waitForSteps } from './site.ts';

const kShort = '#/forecast?data=seattle-weather&target=temp_max&features=wind&horizon=2&epochs=3';

for (const [width, scheme] of [
  [1280, 'light'],
  [360, 'dark'],
] as const) {
  test(
    `axe-core finds nothing, and nothing is wider than the screen: ${width} px, ${scheme}`,
    async () => {
      const site = await openSite({ browser: { context: { viewport: { width, height: 800 }, colorScheme: scheme } } });
      try {
        const { page } = site;
        const check = async (state: string) => {
          expect(await accessProblems(page), state).toEqual([]);
          expect(await page.evaluate(() => document.documentElement.scrollWidth), state).toBeLessThanOrEqual(width);
        };
        await check('start');
        await drop(page, 'empty.csv', '');
        await page.getByRole('alert').waitFor();
        await check('a bad file');
        await page.goto(site.server.url + kShort);
        await page.locator('.plan').waitFor();
        await page.getByText('More settings').click();
        await page.getByText('6 columns').click();
        await check('data and settings');
        await page.getByLabel('Horizon').fill('5000');
        await page.getByRole('alert').waitFor();
        await check('a wrong setting');
        await page.getByLabel('Horizon').fill('2');
        await train(page);
        await waitForSteps(page, 1);
        await check('training');
        await verdict(page);
        await check('result');
        await button(page, 'Other data').click();
        await page.locator('.saved li').first().waitFor();
        await check('saved runs');
      } finally {
        await site.close();
      }
    },
    4 * kSlow,
  );
}

test(
  'the keyboard alone leads from data to a verdict, and reads the chart',
  async () => {
    const site = await openSite({ address: kShort });
    try {
      const { page } = site;
      await page.locator('.plan').waitFor();
      const tabTo = async (name: string) => {
        for (let i = 0; i < 60; i++) {
          await page.keyboard.press('Tab');
          const focused = await page.evaluate(() => {
            const element = document.activeElement as HTMLElement | null;
            return `${element?.getAttribute('aria-label') ?? ''} ${element?.textContent ?? ''}`;
          });
          if (focused.includes(name)) return;
        }
        throw new Error(`Tab does not lead to ${name}`);
      };
      await tabTo('temp_max over time');
      await page.keyboard.press('ArrowRight');
      expect(await page.locator('.data .readout').innerText()).toMatch(/temp_max 12\.8\s.*2012-01-01/s);
      await tabTo('Train');
      await page.keyboard.press('Enter');
      expect(await verdict(page)).toMatch(/LSTM/);
      expect(await page.locator('[role=status]').allInnerTexts()).toBeTruthy();
    } finally {
      await site.close();
    }
  },
  3 * kSlow,
);

test(
  'the title names the page that is shown',
  async () => {
    const site = await openSite();
    try {
      const { page } = site;
      for (const name of ['Forecast', 'Language model', 'Forecast']) {
        await page.getByRole('navigation').getByRole('link', { name }).click();
        await page.waitForFunction((title) => document.title === title, `${name} · tabgrad`);
      }
    } finally {
      await site.close();
    }
  },
  2 * kSlow,
);
