// npm run bench:curve: GPT presets on each target of one browser, sides taking turns; speed against the baseline, with parity.
//
//   --host NAME       writes bench/results/curve-web-NAME-DATE.json (schema in bench/README.md)
//   --targets LIST    of wasm, wasm-threads, wasm-single, webgpu, webgl (default wasm,wasm-single); the first is the baseline
//   --presets LIST    default tiny,small,medium,large,xl
//   --oracle LIST     presets held against the double-precision oracle (default tiny; minutes from medium up; '' for none);
//                     the gradients of the others are held against the baseline's
//   --gpu KIND        none, software or hardware (default: none, or software with a GPU among the targets)
//   --seconds N       of timing for each row (default 3)   --steps N at least (default 30; slow rows stop at 10 × N seconds)
//   --minutes N       for everything (default 60)
//   --build-only      makes build/bench-curve for the bundle    --from FILE --cpu TEXT  reads what the bundle's browse.py wrote
//
// Exits with 1 if a target's gradients or losses are further off than BENCHMARKS §5 S2 allows.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hostName, kElsewhere, parse, fail, positive, words } from '../cli.ts';
import { kPresets } from '../../../packages/tabgrad/src/bench/jobs.ts';
import { kOwnWorker } from '../config.ts';
import { elsewhere, kOwnSource, runBench } from '../run.ts';
import { curveFrom } from '../from_page.ts';
import { curveTable } from './table.ts';

const kTargets = ['wasm', 'wasm-threads', 'wasm-single', 'webgpu', 'webgl'];
const kResults = join(import.meta.dirname, '../../results');

const values = parse(import.meta.filename, {
  host: { type: 'string' },
  targets: { type: 'string', default: 'wasm,wasm-single' },
  presets: { type: 'string', default: 'tiny,small,medium,large,xl' },
  oracle: { type: 'string', default: 'tiny' },
  gpu: { type: 'string' },
  seconds: { type: 'string', default: '3' },
  steps: { type: 'string', default: '30' },
  minutes: { type: 'string', default: '60' },
  ...kElsewhere,
});

const host = hostName(values.host);
const names = kPresets.map((preset) => preset.name);
const targets = words('targets', values.targets, kTargets);
const presets = words('presets', values.presets, names);
const oracle = words('oracle', values.oracle, names);
if (targets.length === 0 || presets.length === 0) fail('at least one target and one preset are needed');
const gpu = values.gpu ?? (targets.some((name) => name.startsWith('webg')) ? 'software' : 'none');
if (gpu !== 'none' && gpu !== 'software' && gpu !== 'hardware') fail(`--gpu ${gpu}: none, software or hardware`);
const seconds = positive('seconds', values.seconds);

const measured = await runBench({
  name: 'bench-curve',
  config: {
    sides: targets.map((backend) => ({ id: backend, worker: kOwnWorker, backend })),
    jobs: kPresets.filter((p) => presets.includes(p.name)).map((preset) => ({ bench: 'gpt', preset })),
    peakSeconds: 0.3,
    seconds,
    mostSeconds: 10 * seconds,
    steps: positive('steps', values.steps),
    pause: 20, // our own threads sleep a millisecond after their last task
    lossSteps: 200,
    lossSeconds: 10 * seconds,
    oracle,
    gradients: presets,
  },
  gpu,
  isolated: true,
  workers: { own: kOwnSource },
  minutes: positive('minutes', values.minutes),
  ...elsewhere(values),
});
if (!measured) process.exit(0);

const curve = curveFrom(measured);
console.log(curveTable(curve));
if (host) {
  const name = `curve-web-${host}-${curve.date.slice(0, 10)}.json`;
  await mkdir(kResults, { recursive: true });
  await writeFile(join(kResults, name), `${JSON.stringify(curve, null, 1)}\n`);
  console.log(`\nwritten: bench/results/${name}`);
}
process.exitCode = curve.rows.some((row) => row.parity_failed) ? 1 : 0;
