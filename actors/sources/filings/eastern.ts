/** US Eastern time, in which the filing system states dates and times. Pure functions. */

let format: Intl.DateTimeFormat | null = null;

/** Made when it is first asked for: it takes longer than most modules take to load. */
const eastern = (): Intl.DateTimeFormat =>
  (format ??= new Intl.DateTimeFormat("en-US", {
    timeZone: "America/New_York",
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  }));

/** The local time of an Eastern clock, read as UTC. */
function shownAt(at_ms: number): number {
  const parts = Object.fromEntries(
    eastern()
      .formatToParts(at_ms)
      .map(({ type, value }) => [type, value]),
  );
  return Date.parse(
    `${parts.year}-${parts.month}-${parts.day}T${parts.hour}:${parts.minute}:${parts.second}Z`,
  );
}

/** `2026-03-06 16:11:25` to `2026-03-06T21:11:25Z`; null: the text is no such time. */
export function easternToUtc(text: string): string | null {
  const parts = /^(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2}:\d{2})$/.exec(text.trim());
  const shown_ms = parts ? Date.parse(`${parts[1]}T${parts[2]}Z`) : Number.NaN;
  if (Number.isNaN(shown_ms)) return null;
  // The offset of the guess may not be that of the answer, on the two days of the year when it changes.
  const guess_ms = shown_ms - (shownAt(shown_ms) - shown_ms);
  const at_ms = guess_ms + (shown_ms - shownAt(guess_ms));
  return new Date(at_ms).toISOString().replace(".000Z", "Z");
}

/** The date in Eastern time, YYYY-MM-DD. */
export const easternDate = (now_ms: number): string => new Date(shownAt(now_ms)).toISOString().slice(0, 10);
