// The page "Speed": one button measures how fast this browser trains on each of its targets, over model size. Others' results,
// from files and links, lie beside it.

import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { type Curve, kPresets } from 'tabgrad/bench';
import { Alert } from '../../components/alert';
import { FileInput, PageDrop } from '../../components/file_drop';
import { textOf } from '../../engine/engine';
import { saveAs } from '../../lib/download';
import { pageTitle, roughDuration } from '../../lib/format';
import { formatAddress } from '../../shell/address';
import { address } from '../../shell/routes';
import { kPlan, measure, measuring, type Plan, stop } from './measure';
import { fromFile, packed, unpacked } from './share';
import { type Shown, SpeedChart } from './speed_chart';
import { SpeedTable } from './speed_table';
import './speed.css';

export const kPageName = 'speed';

/** Results of others. */
const others = signal<Shown[]>([]);
const error = signal<string | null>(null);
const linked = signal(false);

async function attempt(what: () => Promise<void>): Promise<void> {
  error.value = null;
  try {
    await what();
  } catch (problem) {
    error.value = textOf(problem);
  }
}

const nameOf = ({ runtime, date }: Curve, file: string) => `${file || runtime || 'a result'}, ${date.slice(0, 10)}`;

const openFiles = (files: File[]) =>
  attempt(async () => {
    for (const file of files) {
      const curve = await fromFile(file);
      others.value = [...others.peek(), { name: nameOf(curve, file.name.replace(/\.json$/, '')), curve }];
    }
  });

/** For tests: sizes, targets and seconds can be set in the address. */
function planFrom({ sizes, targets, seconds }: Record<string, string>): Plan {
  const list = (text: string | undefined, known: string[]) => text?.split(',').filter((word) => known.includes(word));
  const each = Number(seconds);
  return {
    ...kPlan,
    presets:
      list(
        sizes,
        kPresets.map(({ name }) => name),
      ) ?? kPlan.presets,
    targets: list(targets, kPlan.targets) ?? kPlan.targets,
    ...(each > 0
      ? {
          seconds: each,
          mostSeconds: 4 * each,
          steps: 5,
          lossSeconds: each,
          peakSeconds: each / 10,
          budgetSeconds: 600,
        }
      : {}),
  };
}

export default function SpeedPage() {
  const { query } = address.value;
  useEffect(() => {
    document.title = pageTitle('Speed', null);
  }, []);
  useEffect(() => {
    const words = query.result;
    if (words)
      void attempt(async () => {
        const curve = await unpacked(words);
        others.value = [{ name: nameOf(curve, ''), curve }];
      });
  }, [query.result]);
  const now = measuring.value;
  const mine: Shown[] = now.state === 'done' ? [{ name: 'this browser', curve: now.curve }] : [];
  const shown = [...mine, ...others.value];
  return (
    <div class="speed">
      <PageDrop onFiles={(files) => void openFiles(files)} onOver={() => {}} />
      <section class="intro">
        <h1>How fast does this browser train?</h1>
        <p class="lead">
          Whole training steps of small language models on every target that this browser has, side by side: a curve
          over model size, with the same results checked on each.
        </p>
      </section>
      {error.value !== null && (
        <Alert tone="error" onDismiss={() => (error.value = null)}>
          {error.value}
        </Alert>
      )}
      {now.state === 'failed' && <Alert tone="error">{now.error}</Alert>}
      {now.state === 'measuring' ? (
        <Progress part={now.part} doing={now.doing} />
      ) : (
        <div class="actions">
          <button type="button" class="primary" onClick={() => void measure(planFrom(query))}>
            {now.state === 'done' ? 'Measure again' : 'Measure'}
          </button>
          <label class="as-button">
            <FileInput accept=".json,application/json" many onFiles={(files) => void openFiles(files)} />
            <span>Open results</span>
          </label>
          <p class="hint">
            It takes {roughDuration(kPlan.budgetSeconds)} and keeps all cores busy; other tabs and runs under way would
            slow it.
          </p>
        </div>
      )}
      {shown.length > 0 && (
        <section aria-label="Results">
          <h2>Speed over model size</h2>
          <SpeedChart results={shown} />
          {shown.map((result) => (
            <Result key={result.name} result={result} mine={result === mine[0]} />
          ))}
        </section>
      )}
    </div>
  );
}

function Progress({ part, doing }: { part: number; doing: string }) {
  return (
    <div class="measuring" role="status">
      <progress aria-label="Measuring" value={part} max={1} />
      <p>{doing}</p>
      <button type="button" onClick={stop}>
        Stop
      </button>
    </div>
  );
}

function Result({ result, mine }: { result: Shown; mine: boolean }) {
  const { name, curve } = result;
  const cores = curve.cores > 0 ? `, ${curve.cores} cores` : '';
  return (
    <div class="figure">
      <h3>{mine ? 'This browser' : name}</h3>
      <p class="hint">
        {curve.runtime === 'native' ? `Native, ${curve.cpu}` : curve.runtime}
        {cores}, {curve.date.slice(0, 10)}. A step: {curve.step}. Speedups are against {curve.baseline}.
      </p>
      <ul class="targets">
        {curve.targets.map(({ id, about, error: problem, peak_gflops: peak, cost }) => (
          <li key={id}>
            <strong>{id}</strong>: {about?.device ?? problem}
            {about?.software && <span class="wrong"> – a software GPU: a program on the CPU, not drawn</span>}
            {about && peak !== null && `; at most ${Math.round(peak).toLocaleString('en-US')} GFLOP/s`}
            {cost && `; a launch takes at least ${Number(cost.overhead_us.toPrecision(2))} µs`}
          </li>
        ))}
      </ul>
      <SpeedTable name={name} curve={curve} />
      {mine ? (
        <div class="actions">
          <button type="button" onClick={() => save(curve)}>
            Save as file
          </button>
          <button type="button" onClick={() => void attempt(() => putIntoAddress(curve))}>
            {linked.value ? 'Link is in the address' : 'Make a link'}
          </button>
          <p class="hint">The link holds the result itself; nothing is sent anywhere.</p>
        </div>
      ) : (
        <div class="actions">
          <button
            type="button"
            class="quiet"
            onClick={() => (others.value = others.peek().filter((o) => o !== result))}
          >
            Remove
          </button>
        </div>
      )}
    </div>
  );
}

function save(curve: Curve): void {
  const json = new TextEncoder().encode(`${JSON.stringify(curve, null, 1)}\n`);
  saveAs(`curve-${curve.date.slice(0, 10)}.json`, 'application/json', json);
}

async function putIntoAddress(curve: Curve): Promise<void> {
  const result = await packed(curve);
  history.replaceState(history.state, '', formatAddress({ page: kPageName, query: { result } }));
  linked.value = true;
  await navigator.clipboard?.writeText(location.href).catch(() => {}); // else it is copied from the address bar
}
