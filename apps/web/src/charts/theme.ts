// Colours of charts: read from the page's tokens (styles/tokens.css), which follow the light or dark preference.

import { signal } from '@preact/signals';

export type Ink = 'truth' | 'model' | 'second' | 'muted' | 'run1' | 'run2' | 'run3' | 'run4';

/** For other runs in the picture of one. */
export const kRunInks: Ink[] = ['run1', 'run2', 'run3', 'run4'];

export interface ChartTheme {
  ink: Record<Ink, string>;
  band: string;
  grid: string;
  text: string;
  shade: string;
  font: string;
}

function read(): ChartTheme {
  const style = getComputedStyle(document.documentElement);
  const token = (name: string) => style.getPropertyValue(name).trim();
  return {
    ink: {
      truth: token('--ink'),
      model: token('--accent'),
      second: token('--second'),
      muted: token('--chart-muted'),
      run1: token('--run-1'),
      run2: token('--run-2'),
      run3: token('--run-3'),
      run4: token('--run-4'),
    },
    band: token('--band'),
    grid: token('--line'),
    text: token('--muted'),
    shade: token('--shade'),
    font: `12px ${getComputedStyle(document.body).fontFamily}`,
  };
}

export const chartTheme = signal<ChartTheme>(read());
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => (chartTheme.value = read()));
