// The page "Dispatch": what a launch costs through this browser's WebGPU, by five methods and split by stage, and what fusing launches
// is worth.

import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { browserHead, type Dispatch, dispatchOf, kPresets, loadSide, measureDispatch, ownRemote } from 'tabgrad/bench';
import { Alert } from '../../components/alert';
import { textOf } from '../../engine/engine';
import { saveAs } from '../../lib/download';
import { pageTitle, roundNumber } from '../../lib/format';
import { address } from '../../shell/routes';
import '../speed/speed.css';

type State =
  | { state: 'idle' }
  | { state: 'measuring'; doing: string }
  | { state: 'done'; result: Dispatch }
  | { state: 'failed'; error: string };

const now = signal<State>({ state: 'idle' });

const kRepeats = 500;
const kRounds = 50;
const kSeconds = 0.3;
const kPreset = kPresets[0]!;
/** For tests on software GPUs, which take minutes for a preset. */
const kMicro = { name: 'micro', layers: 1, width: 16, heads: 1, context: 16, batch: 1 };

/** part: of all repeats and seconds; below 1 for tests. */
async function measure(part: number): Promise<void> {
  const say = (doing: string) => (now.value = { state: 'measuring', doing });
  say('Starting …');
  const remote = ownRemote('dispatch', 'webgpu');
  try {
    const { about, error } = await loadSide(remote, 'webgpu', 0);
    if (!about) throw new Error(`${error} Launches cannot be timed here.`);
    const many = (count: number) => Math.max(5, Math.round(part * count));
    const plan = {
      repeats: many(kRepeats),
      rounds: many(kRounds),
      preset: part < 1 ? kMicro : kPreset,
      seconds: part * kSeconds,
    };
    const measured = await measureDispatch(remote, plan, about.software, say);
    const head = await browserHead(about.software ? 'software' : 'hardware');
    now.value = { state: 'done', result: dispatchOf(head, about, plan.preset, measured) };
  } catch (error) {
    now.value = { state: 'failed', error: textOf(error) };
  } finally {
    remote.end();
  }
}

export default function DispatchPage() {
  useEffect(() => {
    document.title = pageTitle('Dispatch', null);
  }, []);
  const state = now.value;
  const part = Number(address.value.query.part);
  return (
    <div class="speed">
      <section class="intro">
        <h1>What does a launch cost?</h1>
        <p class="lead">
          Every operation on a GPU is a launch, and small models are made of small ones. This measures what one costs
          here, where the time goes, and what it is worth to fuse launches.
        </p>
      </section>
      {state.state === 'failed' && <Alert tone="error">{state.error}</Alert>}
      {state.state === 'measuring' ? (
        <div class="measuring" role="status">
          <progress aria-label="Measuring" />
          <p>{state.doing}</p>
        </div>
      ) : (
        <div class="actions">
          <button type="button" class="primary" onClick={() => void measure(part > 0 && part < 1 ? part : 1)}>
            {state.state === 'done' ? 'Measure again' : 'Measure'}
          </button>
          <p class="hint">It takes about half a minute.</p>
        </div>
      )}
      {state.state === 'done' && <Shown result={state.result} />}
    </div>
  );
}

function Shown({ result }: { result: Dispatch }) {
  const { gpu, targets, rows, replay, ablation } = result;
  return (
    <section aria-label="Results">
      <h2>Microseconds a launch</h2>
      <p class="hint">
        {targets[0]!.about!.device}
        {gpu === 'software' && (
          <span class="wrong"> – a software GPU: a program on the CPU, these are no times of a GPU</span>
        )}
        ; the timer’s smallest step is {roundNumber(1000 * result.timer_resolution_ms)} µs.
      </p>
      <div class="wide" tabIndex={0} role="region" aria-label="Microseconds a launch">
        <table>
          <thead>
            <tr>
              <th scope="col" class="text">
                method
              </th>
              <th scope="col">median</th>
              <th scope="col">mean</th>
              <th scope="col">p10 to p90</th>
              <th scope="col" class="text">
                of which
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.method}>
                <th scope="row" class="text">
                  {row.method}
                </th>
                <td>{roundNumber(row.us_median)}</td>
                <td>{roundNumber(row.us_mean)}</td>
                <td>
                  {roundNumber(row.us_p10)} to {roundNumber(row.us_p90)}
                </td>
                <td class="text">
                  {Object.entries(row.stages_us)
                    .filter(([, value]) => value >= 0.05)
                    .map(([stage, value]) => `${stage} ${roundNumber(value)}`)
                    .join(', ')}
                </td>
              </tr>
            ))}
            <tr>
              <th scope="row" class="text">
                replay of {replay.launches}
              </th>
              <td>{roundNumber(replay.us_median)}</td>
              <td>–</td>
              <td>
                {roundNumber(replay.us_p10)} to {roundNumber(replay.us_p90)}
              </td>
              <td class="text">a Program of the engine, as in training</td>
            </tr>
          </tbody>
        </table>
      </div>
      <p>
        A launch that is waited for costs {roundNumber(result.single_op_over_sequential)} times one of many: what a
        benchmark of single operations measures is mostly the wait.
      </p>
      <Ablation {...ablation} />
      <div class="actions">
        <button type="button" onClick={() => save(result)}>
          Save as file
        </button>
      </div>
    </section>
  );
}

function Ablation({ preset, rows }: Dispatch['ablation']) {
  return (
    <div class="figure">
      <h3>What fusing is worth, a language model of size {preset}</h3>
      <div class="wide" tabIndex={0} role="region" aria-label="What fusing is worth">
        <table>
          <thead>
            <tr>
              <th scope="col" class="text">
                fused
              </th>
              <th scope="col" class="text">
                step
              </th>
              <th scope="col">launches</th>
              <th scope="col">ms</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ entry, variant, launches, ms }) => (
              <tr key={`${entry} ${variant}`}>
                <th scope="row" class="text">
                  {variant}
                </th>
                <td class="text">{entry === 'decode' ? 'writing a token' : 'training'}</td>
                <td>{launches}</td>
                <td>{roundNumber(ms)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

function save(result: Dispatch): void {
  saveAs('dispatch.json', 'application/json', new TextEncoder().encode(`${JSON.stringify(result, null, 1)}\n`));
}
