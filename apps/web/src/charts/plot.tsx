// A chart: uPlot on a canvas with a legend that reads out the values under the cursor, moved by mouse or arrow keys.
//
// Does: follows size, theme and data. Does not: know what is drawn (the charts beside this file do).
//
// For those who do not see it, `summary` says what it shows, and a table beside the chart holds the values.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { shortNumber } from '../lib/format';
import { type ChartSpec, optionsFor } from './options';
import { chartTheme } from './theme';

interface Props {
  spec: ChartSpec;
  data: uPlot.AlignedData;
  summary: string;
  height: number;
  /** A point of the x axis for the readout. */
  nameX: (x: number) => string;
}

const kPageSteps = 20; // of Page Up and Page Down

export function Plot({ spec, data, summary, height, nameX }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const index = useSignal<number | null>(null);
  const theme = chartTheme.value;
  const structure = JSON.stringify([spec, height]);

  useEffect(() => {
    const element = host.current!;
    const options = optionsFor(spec, theme, element.clientWidth, height);
    options.hooks!.setCursor = [(u) => (index.value = u.cursor.idx ?? null)];
    const made = new uPlot(options, data, element);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [structure, theme]);

  useEffect(() => {
    if (plot.current && plot.current.data !== data && !document.hidden) plot.current.setData(data);
  }, [data]);

  const move = (event: KeyboardEvent) => {
    const last = data[0].length - 1;
    const from = index.value ?? (event.key === 'ArrowLeft' ? last + 1 : -1);
    const targets: Record<string, number> = {
      ArrowRight: from + 1,
      ArrowLeft: from - 1,
      PageDown: from + kPageSteps,
      PageUp: from - kPageSteps,
      Home: 0,
      End: last,
    };
    const target = targets[event.key];
    if (target === undefined || !plot.current || last < 0) return;
    event.preventDefault();
    const at = Math.min(last, Math.max(0, target));
    plot.current.setCursor({ left: plot.current.valToPos(data[0][at]!, 'x'), top: 0 });
    index.value = at;
  };

  return (
    <div class="chart">
      <Readout spec={spec} data={data} index={index.value} nameX={nameX} />
      <div
        ref={host}
        class="chart-canvas"
        style={{ height: `${height}px` }}
        role="application"
        aria-roledescription="chart"
        aria-label={`${summary} Arrow keys read single points.`}
        tabIndex={0}
        onKeyDown={move}
        onBlur={() => plot.current?.setCursor({ left: -10, top: -10 })}
      />
    </div>
  );
}

function Readout({ spec, data, index, nameX }: Pick<Props, 'spec' | 'data' | 'nameX'> & { index: number | null }) {
  const valid = index !== null && index < data[0].length ? index : null;
  const at = (line: number) => (valid === null ? null : (data[line + 1]?.[valid] ?? null));
  const value = (text: string) => <span class="readout-value">{text}</span>;
  return (
    <p class="readout" aria-live="polite">
      {spec.lines.map((line, i) =>
        line.edge ? null : (
          <span key={line.label} class={`key key-${line.ink}${line.points ? ' key-points' : ''}`}>
            {line.label} {at(i) !== null && value(shortNumber(at(i)))}
          </span>
        ),
      )}
      {spec.bands?.map((band) => (
        <span key={band.label} class="key key-band">
          {band.label} {at(band.low) !== null && value(`${shortNumber(at(band.low))} to ${shortNumber(at(band.high))}`)}
        </span>
      ))}
      {valid !== null && <span class="readout-x">{nameX(data[0][valid]!)}</span>}
    </p>
  );
}
