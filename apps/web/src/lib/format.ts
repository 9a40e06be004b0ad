// Numbers, times and sizes as people read them. Pure; the same rules as the engine's short_number (src/train/chart.cc), so that
// page and report agree.

/** Four significant digits, thousands apart, no exponent between 1e-4 and 1e9; "–" when there is no value. */
export function shortNumber(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) return value.toExponential(3).replace(/\.?0+e/, 'e');
  if (size >= 1000) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(4)));
}

/** The same of a measured value, which three digits are enough for. */
export function roundNumber(value: number): string {
  return shortNumber(Number(value.toPrecision(3)));
}

export function count(value: number, one: string, many = `${one}s`): string {
  return `${value.toLocaleString('en-US')} ${value === 1 ? one : many}`;
}

export function percent(part: number): string {
  return `${shortNumber(Math.round(part * 1000) / 10)} %`;
}

/** "0:07", "12:40", "1:02:03". */
export function clock(seconds: number): string {
  if (!Number.isFinite(seconds) || seconds < 0) return '–';
  const whole = Math.round(seconds);
  const pad = (n: number) => String(n).padStart(2, '0');
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  return hours > 0 ? `${hours}:${pad(minutes)}:${pad(whole % 60)}` : `${minutes}:${pad(whole % 60)}`;
}

/** "about 7 seconds", "about 3 minutes": for text and screen readers. */
export function roughDuration(seconds: number): string {
  if (!Number.isFinite(seconds) || seconds < 0) return 'an unknown time';
  if (seconds < 1.5) return 'about a second';
  if (seconds < 90) return `about ${count(Math.round(seconds), 'second')}`;
  if (seconds < 5400) return `about ${count(Math.round(seconds / 60), 'minute')}`;
  return `about ${count(Math.round(seconds / 3600), 'hour')}`;
}

export function bytes(value: number): string {
  if (value < 1000) return `${value} bytes`;
  if (value < 1e6) return `${shortNumber(Math.round(value / 1e3))} kB`;
  return `${shortNumber(Math.round(value / 1e5) / 10)} MB`;
}

/** "just now", "5 minutes ago", "yesterday", then a date. Times in milliseconds. */
export function ago(then: number, now: number): string {
  const seconds = Math.max(0, (now - then) / 1000);
  if (seconds < 60) return 'just now';
  if (seconds < 3600) return `${count(Math.floor(seconds / 60), 'minute')} ago`;
  if (seconds < 86400) return `${count(Math.floor(seconds / 3600), 'hour')} ago`;
  if (seconds < 2 * 86400) return 'yesterday';
  return `on ${new Date(then).toISOString().slice(0, 10)}`;
}

/** Of the browser's tab: how far the run under way is, then the page. */
export function pageTitle(page: string, progress: { step: number; steps: number } | null): string {
  const done = progress ? `${Math.floor((100 * progress.step) / Math.max(1, progress.steps))} % · ` : '';
  return `${done}${page} · tabgrad`;
}
