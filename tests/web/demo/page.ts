// Behind `make demo`: the training that the shell program just did, once more through the page in headless Chromium; prints how
// far the two loss curves are apart, and leaves a picture.
//
//   node tools/run_ts.mjs tests/web/demo/page.ts RESULT.json PICTURE.png
import { readFileSync } from 'node:fs';
import { openSite, train, verdict } from '../forecast/site.ts';

/**
 * Same seed, same engine, other instructions: only rounding differs. Training doubles such a difference every dozen steps or so,
 * so that the bound can only be for a number of steps; the rest is told.
 */
const kTolerance = 1e-5;
const kSteps = 200;
const kAddress =
  '#/forecast?data=seattle-weather&target=temp_max&features=precipitation,temp_min,wind&calendar=yearday&horizon=1&seed=1';

interface Curves {
  trainLoss: number[];
  validationLoss: number[];
}
type Ended = { event: 'ended'; result: Curves & { device: string; msPerStep: number; steps: number } };

/** The largest relative difference over the first `count` of two curves. */
function farthest(a: number[], b: number[], count: number): number {
  if (a.length !== b.length) return Infinity;
  return Math.max(0, ...a.slice(0, count).map((value, i) => Math.abs(value - b[i]!) / Math.abs(value)));
}

const [, , resultPath, picturePath] = process.argv;
if (!resultPath || !picturePath) throw new Error('usage: page.ts RESULT.json PICTURE.png');
const native = JSON.parse(readFileSync(resultPath, 'utf8')) as { loss: number[]; val_loss: number[]; steps: number };

const site = await openSite({
  browser: { context: { viewport: { width: 1280, height: 900 } } },
  // Keeps what the engine's worker says, before the page sees it.
  prepare: (page) =>
    page.addInitScript(() => {
      const Original = globalThis.Worker;
      globalThis.Worker = class extends Original {
        constructor(url: string | URL, options?: WorkerOptions) {
          super(url, options);
          this.addEventListener('message', ({ data }) => {
            if (data.event === 'ended') Object.assign(globalThis, { ended: data });
          });
        }
      };
    }),
  address: kAddress,
});
try {
  const { page } = site;
  await train(page);
  const said = await verdict(page);
  const { result } = await page.evaluate(() => (globalThis as unknown as { ended: Ended }).ended);
  await page.screenshot({ path: picturePath, fullPage: true });
  console.log(`  ${result.steps} steps of ${result.msPerStep.toFixed(2)} ms, on ${result.device}`);
  console.log(`  ${said}`);
  const epochs = Math.floor(kSteps / (native.steps / native.loss.length));
  const apart = (of: number) =>
    Math.max(
      farthest(native.loss, result.trainLoss, of),
      farthest(native.val_loss, result.validationLoss, of + 1), // the first is from before training
    );
  const [early, all] = [apart(epochs), apart(native.loss.length)];
  console.log(`  loss curves of shell and page: within ${early.toExponential(0)} of each other over ${kSteps} steps`);
  console.log(`  (to the end, where rounding has grown: ${all.toExponential(0)})`);
  console.log(`  picture of the page: ${picturePath}`);
  if (site.browser.outside.length > 0) throw new Error(`the page tried to reach ${site.browser.outside.join(', ')}`);
  if (!(early <= kTolerance)) throw new Error(`the loss curves differ by more than ${kTolerance}`);
} finally {
  await site.close();
}
