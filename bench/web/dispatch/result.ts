// What the page that times launches is told, and its result as tables.
import type { Dispatch, DispatchPlan } from '../../../packages/tabgrad/src/bench/remote.ts';
import { type Config, kOwnWorker } from '../config.ts';

/** Of a page that times launches, and no jobs. */
export function dispatchConfig(dispatch: DispatchPlan): Config {
  return {
    sides: [{ id: 'webgpu', worker: kOwnWorker, backend: 'webgpu' }],
    jobs: [],
    peakSeconds: 0,
    seconds: 0,
    mostSeconds: 0,
    steps: 0,
    pause: 0,
    lossSteps: 0,
    lossSeconds: 0,
    oracle: [],
    gradients: [],
    dispatch,
  };
}

export function dispatchTable(result: Dispatch): string {
  const { about } = result.targets[0]!;
  const number = (value: number) => value.toPrecision(3);
  const line = (cells: (string | number)[]) => `| ${cells.join(' | ')} |`;
  const head = (cells: string[]) => [line(cells), line(cells.map(() => '---'))];
  const { replay, ablation } = result;
  return [
    `${result.runtime}, ${about!.device}${about!.software ? ' (SOFTWARE GPU: not a GPU figure)' : ''}, ${result.cpu}, ${result.date}`,
    `timer's smallest step ${number(1000 * result.timer_resolution_ms)} µs; ${result.kernel}`,
    '',
    ...head(['method', 'µs a launch', 'mean', 'p10', 'p90', 'CV', 'stages, µs']),
    ...result.rows.map((row) =>
      line([
        row.method,
        ...[row.us_median, row.us_mean, row.us_p10, row.us_p90].map(number),
        `${(100 * row.cv).toFixed(0)} %`,
        Object.entries(row.stages_us)
          .map(([stage, us]) => `${stage} ${us.toFixed(2)}`)
          .join(', '),
      ]),
    ),
    line([
      `replay of ${replay.launches}`,
      number(replay.us_median),
      '',
      number(replay.us_p10),
      number(replay.us_p90),
      '',
      'a Program of the engine',
    ]),
    `single-op / sequential: ${result.single_op_over_sequential.toFixed(1)}`,
    '',
    ...head([ablation.preset, 'of', 'launches', 'ms']),
    ...ablation.rows.map(({ variant, entry, launches, ms }) => line([variant, entry, launches, number(ms)])),
  ].join('\n');
}
