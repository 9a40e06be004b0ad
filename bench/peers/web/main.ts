// npm run bench:peers: the same jobs in tabgrad, TensorFlow.js and jax-js in one Chromium session, sides taking turns.
//
//   --host NAME        writes bench/results/peers-web-NAME-DATE.json (without it: only the table)
//   --backends LIST    wasm,webgl,webgpu (default wasm)        --libraries LIST  tabgrad,tfjs,jax (default all)
//   --bench LIST       lstm,matmul,gpt (default all)           --presets LIST    GPT presets (default small,medium,large,xl)
//   --gpu KIND         none, software or hardware (default: none for wasm alone, else software)
//   --build NAME       tabgrad's threads, relaxed or single WASM build (default: what the package would choose)
//   --single           no cross-origin isolation: one thread for everybody
//   --minutes N        for everything (default 60)
//   --seconds N        of timing for each row (default 3)      --steps N  at least (default 30; slow rows stop at 10 × N seconds)
//   --build-only       makes build/bench-peers for the bundle      --from FILE --cpu TEXT  reads what the bundle's browse.py wrote
//
// Exits with 1 if two sides disagree on a loss or a product: then they did not do the same work and no ratio means anything.
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fail, hostName, kElsewhere, parse, positive, words } from '../../web/cli.ts';
import { type Job, kLstms, kPresets } from '../../../packages/tabgrad/src/bench/jobs.ts';
import { kOwnWorker, type SideConfig } from '../../web/config.ts';
import { elsewhere, kOwnSource, runBench } from '../../web/run.ts';
import { matmulJobs } from './shapes.ts';
import { rowsOf, table } from './table.ts';

const kHere = import.meta.dirname;
const kResults = join(kHere, '../../results');

const kBackends = ['wasm', 'webgl', 'webgpu'] as const;

const values = parse(import.meta.filename, {
  host: { type: 'string' },
  backends: { type: 'string', default: 'wasm' },
  libraries: { type: 'string', default: 'tabgrad,tfjs,jax' },
  bench: { type: 'string', default: 'lstm,matmul,gpt' },
  presets: { type: 'string', default: 'small,medium,large,xl' },
  gpu: { type: 'string' },
  build: { type: 'string' },
  single: { type: 'boolean', default: false },
  seconds: { type: 'string', default: '3' },
  steps: { type: 'string', default: '30' },
  minutes: { type: 'string', default: '60' },
  ...kElsewhere,
});

if (!existsSync(join(kHere, 'node_modules'))) fail('the peers are not installed: npm ci --prefix bench/peers/web');
const host = hostName(values.host);
const backends = words('backends', values.backends, kBackends);
const libraries = words('libraries', values.libraries, ['tabgrad', 'tfjs', 'jax']);
const benches = words('bench', values.bench, ['lstm', 'matmul', 'gpt']);
const presets = words(
  'presets',
  values.presets,
  kPresets.map((p) => p.name),
).map((name) => kPresets.find((p) => p.name === name)!);
const [gpu] = words('gpu', values.gpu ?? (values.backends === 'wasm' ? 'none' : 'software'), [
  'none',
  'software',
  'hardware',
]);
if (values.build) words('build', values.build, ['threads', 'relaxed', 'single']);
const seconds = positive('seconds', values.seconds);

const jobs: Job[] = [];
if (benches.includes('lstm')) jobs.push(...kLstms.map((shape): Job => ({ bench: 'lstm', shape })));
if (benches.includes('gpt')) jobs.push(...presets.map((preset): Job => ({ bench: 'gpt', preset })));
if (benches.includes('matmul')) jobs.push(...matmulJobs(presets));

const ownSide = (backend: string): SideConfig => ({
  id: `tabgrad ${backend}`,
  worker: kOwnWorker,
  backend: backend === 'wasm' && values.build ? `wasm-${values.build}` : backend,
});
// Each peer also at the other thread count worth trying: TensorFlow.js on all cores, jax-js on one (worker.ts).
const kOtherCores = { tfjs: 'x2', jax: '1' };
const sides = libraries.flatMap((library) =>
  backends.flatMap((backend): SideConfig[] => {
    if (library === 'tabgrad') return [ownSide(backend)];
    const side = { id: `${library} ${backend}`, worker: 'peers.js', backend: `${library}/${backend}` };
    if (backend !== 'wasm' || values.single) return [side];
    const told = kOtherCores[library];
    return [side, { ...side, id: `${side.id} (told cores: ${told})`, backend: `${side.backend}@${told}` }];
  }),
);
const jax = JSON.parse(readFileSync(join(kHere, 'node_modules/@jax-js/jax/package.json'), 'utf8')) as {
  version: string;
};

const measured = await runBench({
  name: 'bench-peers',
  config: {
    sides,
    jobs,
    seconds,
    mostSeconds: 10 * seconds,
    steps: positive('steps', values.steps),
    pause: 130,
    lossSteps: 0,
    lossSeconds: 0,
    oracle: [],
    gradients: [],
    peakSeconds: 0,
  },
  gpu: gpu!,
  isolated: !values.single,
  workers: {
    ...(libraries.includes('tabgrad') && { own: kOwnSource }),
    peers: join(kHere, 'worker.ts'),
  },
  files: Object.fromEntries(
    ['', '-simd', '-threaded-simd'].map((kind) => {
      const name = `tfjs-backend-wasm${kind}.wasm`;
      return [`tfjs-wasm/${name}`, join(kHere, 'node_modules/@tensorflow/tfjs-backend-wasm/dist', name)];
    }),
  ),
  define: { JAX_JS_VERSION: JSON.stringify(jax.version) },
  minutes: positive('minutes', values.minutes),
  ...elsewhere(values),
});
if (!measured) process.exit(0);

const rows = rowsOf(measured);
const { config, rows: _, ...about } = measured;
const options = { seconds: config.seconds, steps: config.steps, pause: config.pause };
console.log(table(rows, measured));
if (host) {
  const name = `peers-web-${host}${values.single ? '-single' : ''}-${measured.date.slice(0, 10)}.json`;
  await mkdir(kResults, { recursive: true });
  await writeFile(
    join(kResults, name),
    `${JSON.stringify({ schema: 'tabgrad-peers-web/1', ...about, options, rows }, null, 1)}\n`,
  );
  console.log(`\nwritten: bench/results/${name}`);
}
process.exitCode = rows.some((row) => row.disagrees) ? 1 : 0;
