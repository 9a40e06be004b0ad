// The step of a series as the engine writes it ("1 day", "15 minutes", "1 row"): whether it has a clock, and how long n steps are.

const kSeconds: Record<string, number> = { second: 1, minute: 60, hour: 3600, day: 86400, week: 604800 };
// Units that are no multiple of another one.
const kCalendar = ['weekday', 'month', 'year'];

function parse(step: string): { size: number; unit: string } | null {
  const match = /^([\d.]+(?:e[+-]?\d+)?) ([a-z]+?)s?$/.exec(step);
  return match ? { size: Number(match[1]), unit: match[2]! } : null;
}

/** Whether points of the series are dates (else they are row numbers or plain counters). */
export function hasClock(step: string): boolean {
  const parsed = parse(step);
  return parsed !== null && (parsed.unit in kSeconds || kCalendar.includes(parsed.unit));
}

/** How far n steps reach: "12 days", "3 hours"; '' for a series without a clock. */
export function spanOf(steps: number, step: string): string {
  const parsed = parse(step);
  if (!parsed || !hasClock(step) || !Number.isFinite(steps)) return '';
  let size = parsed.size * steps;
  let unit = parsed.unit;
  if (unit in kSeconds) {
    const seconds = size * kSeconds[unit]!;
    // The largest unit of which it is a whole number; weeks only from four on, as people count days below that.
    const whole = (u: string) => seconds >= kSeconds[u]! * (u === 'week' ? 4 : 1) && seconds % kSeconds[u]! === 0;
    unit = ['week', 'day', 'hour', 'minute', 'second'].find(whole) ?? 'second';
    size = seconds / kSeconds[unit]!;
  } else if (unit === 'month' && size >= 24 && size % 12 === 0) {
    unit = 'year';
    size /= 12;
  }
  return `${Number(size.toPrecision(4)).toLocaleString('en-US')} ${unit}${size === 1 ? '' : 's'}`;
}
