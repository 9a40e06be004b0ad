// npm run bench:dispatch: what a launch costs through a browser's WebGPU, and what fusing is worth (BENCHMARKS §3).
//
//   --host NAME      writes bench/results/dispatch-web-NAME-DATE.json (schema in bench/README.md)
//   --browser NAME   chromium (default) or firefox (on the root's software driver only)
//   --gpu KIND       software (default) or hardware
//   --repeats N      of the single launch (default 500)    --rounds N  of the other methods (default 50)
//   --preset NAME    whose train and decode steps are run with parts of the fusing (default tiny)
//   --seconds N      of replay and of each of those (default 0.3)
//   --build-only     makes build/bench-dispatch for the bundle    --from FILE --cpu TEXT  reads what the bundle's browse.py wrote
//
// Where the browser has no WebGPU, or cannot wait for it inside WebAssembly, it says "not supported" and why, and exits with 0.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { kPresets } from '../../../packages/tabgrad/src/bench/jobs.ts';
import { hostName, kElsewhere, parse, positive, words } from '../cli.ts';
import { elsewhere, kOwnSource, runBench } from '../run.ts';
import { dispatchFrom } from '../from_page.ts';
import { dispatchConfig, dispatchTable } from './result.ts';

const kResults = join(import.meta.dirname, '../../results');

const values = parse(import.meta.filename, {
  host: { type: 'string' },
  browser: { type: 'string', default: 'chromium' },
  gpu: { type: 'string', default: 'software' },
  repeats: { type: 'string', default: '500' },
  rounds: { type: 'string', default: '50' },
  preset: { type: 'string', default: 'tiny' },
  seconds: { type: 'string', default: '0.3' },
  minutes: { type: 'string', default: '15' },
  ...kElsewhere,
});
const host = hostName(values.host);
const [gpu] = words('gpu', values.gpu, ['software', 'hardware']);
const [browser] = words('browser', values.browser, ['chromium', 'firefox']);
const [preset] = words(
  'preset',
  values.preset,
  kPresets.map(({ name }) => name),
);

const measured = await runBench({
  name: 'bench-dispatch',
  config: dispatchConfig({
    repeats: positive('repeats', values.repeats),
    rounds: positive('rounds', values.rounds),
    preset: kPresets.find(({ name }) => name === preset)!,
    seconds: positive('seconds', values.seconds),
  }),
  browser: browser!,
  gpu: gpu!,
  isolated: true,
  workers: { own: kOwnSource },
  minutes: positive('minutes', values.minutes),
  ...elsewhere(values),
});
if (!measured) process.exit(0);

const result = dispatchFrom(measured);
if (!result) {
  console.log(`${measured.browser}: not supported: ${measured.sides[0]!.error}`);
  process.exit(0);
}
console.log(dispatchTable(result));
if (host) {
  const name = `dispatch-web-${host}-${result.date.slice(0, 10)}.json`;
  await mkdir(kResults, { recursive: true });
  await writeFile(join(kResults, name), `${JSON.stringify(result, null, 1)}\n`);
  console.log(`\nwritten: bench/results/${name}`);
}
