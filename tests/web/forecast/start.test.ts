// From an empty browser, and from a warm one, to the first loss: what a visitor waits for. Prints the times; the bounds only
// catch what is broken, since test machines are busy (BENCHMARKS C1 asks for 3 s and 1 s on a quiet one).
import { expect, test } from 'vitest';
import { openSite } from './site.ts';

const kAddress = '#/forecast?data=seattle-weather&target=temp_max&horizon=1';
const kBoundSeconds = 20;

declare global {
  interface Window {
    firstLossSeconds: Promise<number>;
  }
}

test('seconds to the first loss', async () => {
  const site = await openSite({
    address: kAddress,
    prepare: (page) =>
      page.addInitScript(() => {
        // Presses Train as soon as it can be pressed.
        window.firstLossSeconds = new Promise((resolve) => {
          let pressed = false;
          new MutationObserver(() => {
            const train = document.querySelector<HTMLButtonElement>('form button[type=submit]:enabled');
            if (train && !pressed && document.querySelector('.plan')) {
              pressed = true;
              train.click();
            }
            if (/step\d/.test(document.querySelector('.training .stats')?.textContent ?? ''))
              resolve(performance.now() / 1000);
          }).observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
        });
      }),
  });
  try {
    const cold = await site.page.evaluate(() => window.firstLossSeconds);
    await site.page.reload();
    const warm = await site.page.evaluate(() => window.firstLossSeconds);
    console.log(`first loss after ${cold.toFixed(2)} s cold, ${warm.toFixed(2)} s warm`);
    expect(cold).toBeLessThan(kBoundSeconds);
    expect(warm).toBeLessThan(kBoundSeconds);
  } finally {
    await site.close();
  }
});
