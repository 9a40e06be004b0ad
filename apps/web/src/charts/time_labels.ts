// Labels of a time axis. Times are seconds on the file's own clock, shown as they are written: no time zone is applied.

const kDay = 86400;
const kMonths = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** One label a tick; `increment` is the distance of ticks in seconds. What is larger than a tick stands below the first of its kind. */
export function timeLabels(ticks: number[], increment: number): string[] {
  let before = '';
  return ticks.map((tick) => {
    const date = new Date(tick * 1000);
    const year = String(date.getUTCFullYear());
    const month = kMonths[date.getUTCMonth()]!;
    const day = `${date.getUTCDate()} ${month}`;
    if (increment >= 365 * kDay) return year;
    const [label, context] =
      increment >= 28 * kDay
        ? [month, year]
        : increment >= kDay
          ? [day, year]
          : [date.toISOString().slice(11, increment >= 60 ? 16 : 19), `${day} ${year}`];
    const text = context === before ? label : `${label}\n${context}`;
    before = context;
    return text;
  });
}

/** A point for the readout: "2015-09-03", "2015-09-03 14:00". */
export function pointLabel(seconds: number): string {
  const text = new Date(seconds * 1000).toISOString();
  const clock = text.slice(11, 19);
  return clock === '00:00:00'
    ? text.slice(0, 10)
    : `${text.slice(0, 10)} ${clock.endsWith(':00') ? clock.slice(0, 5) : clock}`;
}
