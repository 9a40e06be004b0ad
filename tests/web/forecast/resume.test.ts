// A run outlives its page: after a reload in mid-run it ends with the numbers of one that was never interrupted.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { button, kSlow, metrics, openSite, type Site, stepsDone, train, verdict, waitForSteps } from './site.ts';

const kAddress =
  '#/forecast?data=seattle-weather&target=temp_max&features=wind&calendar=yearday&horizon=2&epochs=24&patience=0&seed=5';

let site: Site;
beforeAll(async () => {
  site = await openSite({ address: kAddress });
});
afterAll(() => site?.close());

/** All that depends on the weights: the losses of each epoch and the errors on the test part. */
async function outcome(): Promise<string[]> {
  await verdict(site.page);
  return [...(await metrics(site.page)), await site.page.locator('.training > .note').innerText()];
}

let uninterrupted: string[] = [];

test(
  'an uninterrupted run',
  async () => {
    await train(site.page);
    uninterrupted = await outcome();
    expect(uninterrupted.at(-1)).toContain('All 24 epochs are done.');
  },
  3 * kSlow,
);

test(
  'a reload in mid-run leaves a run to go on with, which ends alike',
  async () => {
    const { page } = site;
    await page.goto(`${site.server.url}${kAddress}`);
    await page.reload();
    await train(page);
    await waitForSteps(page, 30);
    await button(page, 'Pause').click(); // saves at once; an autosave would come every few seconds
    await page.getByText(/Saved at step/).waitFor();
    const saved = await stepsDone(page);
    await button(page, 'Continue').click();
    await waitForSteps(page, saved + 5); // lost with the page, and done again
    await page.goto(site.server.url);
    await page.reload();
    await button(page, 'Go on with LSTM on temp_max').click();
    expect(await outcome()).toEqual(uninterrupted);
  },
  3 * kSlow,
);

test('a finished run is opened as it was, and forgotten when asked twice', async () => {
  const { page } = site;
  await page.goto(site.server.url);
  await page.reload();
  const rows = page.locator('.saved li');
  await expect.poll(() => rows.count()).toBe(2);
  await page.getByRole('button', { name: 'Open LSTM on temp_max' }).first().click();
  expect(await outcome()).toEqual(uninterrupted);
  await button(page, 'Other data').click();
  await page.getByRole('button', { name: 'Forget LSTM on temp_max' }).last().click();
  await button(page, 'Forget for good').click();
  await expect.poll(() => rows.count()).toBe(1);
});
