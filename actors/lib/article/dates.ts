/**
 * Dates as pages write them, to the form ArticleMeta has: UTC with Z when a zone is given, no zone when there is a time
 * without one, and as short as they were otherwise. Two numbers that could be day and month either way are no date
 * unless the page's language decides. The present is an argument.
 */

const DAY_MS = 86_400_000;
/** There are no earlier web pages: an earlier date is a default value. */
const MIN_YEAR = 1995;
/** How far ahead a date may be: clocks differ, and articles are dated in other time zones. */
const AHEAD_MAX_MS = 2 * DAY_MS;
const DATE_CHARS_MAX = 200;

/** Month names and their short forms in English, German, French, Spanish, Italian, Portuguese, Dutch and Swedish. */
const MONTH_NAMES: readonly string[] = [
  "january jan januar jänner janvier janv enero ene gennaio gen janeiro januari",
  "february feb februar février févr fév fevrier febrero febbraio febr fevereiro fev februari",
  "march mar märz mrz maerz mars marzo março marco maart mrt",
  "april apr avril avr abril abr aprile",
  "may mai mayo maggio mag maio mei maj",
  "june jun juni juin junio giugno giu junho",
  "july jul juli juillet juil julio luglio lug julho",
  "august aug août aout agosto ago agos augustus augusti",
  "september sep sept septembre septiembre settembre set setembro",
  "october oct oktober okt octobre octubre ottobre ott outubro out",
  "november nov novembre noviembre novembro",
  "december dec dezember dez décembre déc decembre diciembre dic dicembre dezembro",
];
const MONTHS: ReadonlyMap<string, number> = new Map(
  MONTH_NAMES.flatMap((names, i) => names.split(" ").map((name) => [name, i + 1] as const)),
);

/** Hours from UTC of the unambiguous zone names. */
const ZONES: Readonly<Record<string, number>> = {
  z: 0, utc: 0, gmt: 0, est: -5, edt: -4, cst: -6, cdt: -5, mst: -7, mdt: -6, pst: -8, pdt: -7, cet: 1, cest: 2, bst: 1, mez: 1, mesz: 2, jst: 9, aest: 10,
}; // prettier-ignore

interface Parts {
  year: number;
  month?: number | undefined;
  day?: number | undefined;
  time?: { hour: number; minute: number; second: number } | undefined;
  /** Minutes from UTC. */
  zone?: number | undefined;
}

const TIME =
  /(\d{1,2})[:.h](\d{2})(?::(\d{2})(?:[.,]\d{1,9})?)?\s*(a\.?m\.?|p\.?m\.?)?\s*(?:\(?(?<![a-z])(z|utc|gmt|[ecmp][sd]t|cet|cest|bst|mez|mesz|jst|aest)\b)?\s*([+-]\d{2}:?\d{2}|[+-]\d{2}(?!\d))?/i;

function timeOf(text: string): Pick<Parts, "time" | "zone"> {
  const found = TIME.exec(text);
  if (!found) return {};
  const [, hours, minutes, seconds, half, name, offset] = found;
  let hour = Number(hours);
  if (half && hour <= 12) hour = (hour % 12) + (half.toLowerCase().startsWith("p") ? 12 : 0);
  const minute = Number(minutes);
  const second = Math.min(59, Number(seconds ?? 0));
  if (hour > 23 || minute > 59) return {};
  let zone: number | undefined;
  if (name) zone = ZONES[name.toLowerCase()]! * 60;
  if (offset) {
    const digits = offset.replace(/\D/g, "");
    const [zoneHours, zoneMinutes] = [Number(digits.slice(0, 2)), Number(digits.slice(2) || 0)];
    // "+99:99" is a placeholder that was never filled in: a time without a zone.
    if (zoneHours <= 14 && zoneMinutes <= 59)
      zone = (offset.startsWith("-") ? -1 : 1) * (zoneHours * 60 + zoneMinutes);
  }
  return { time: { hour, minute, second }, zone };
}

const two = (value: number): string => String(value).padStart(2, "0");

function written({ year, month, day, time, zone }: Parts, now_ms: number): string | null {
  if (year < MIN_YEAR || (month !== undefined && (month < 1 || month > 12))) return null;
  if (day !== undefined && (day < 1 || day > new Date(Date.UTC(year, month ?? 1, 0)).getUTCDate()))
    return null;
  const at = Date.UTC(
    year,
    (month ?? 1) - 1,
    day ?? 1,
    time?.hour ?? 0,
    time?.minute ?? 0,
    time?.second ?? 0,
  );
  if (at - (zone ?? 0) * 60_000 > now_ms + AHEAD_MAX_MS) return null;
  if (month === undefined) return String(year);
  if (day === undefined) return `${year}-${two(month)}`;
  if (time === undefined) return `${year}-${two(month)}-${two(day)}`;
  const iso = new Date(at - (zone ?? 0) * 60_000).toISOString().slice(0, 19);
  return zone === undefined ? iso : `${iso}Z`;
}

/** Languages that write the month first; in all others the day comes first. */
const MONTH_FIRST = /^en-(?:us|ph|ca)\b|^en$/i;
const AMBIGUOUS = /^en(?:-ca)?$/i;

function dayMonth(
  a: number,
  b: number,
  separator: string,
  language: string | null,
): [day: number, month: number] | null {
  if (a > 12) return [a, b];
  if (b > 12) return [b, a];
  if (a === b) return [a, b];
  if (separator === ".") return [a, b];
  if (language === null || AMBIGUOUS.test(language)) return null;
  return MONTH_FIRST.test(language) ? [b, a] : [a, b];
}

const ISO = /^(\d{4})[-/.](\d{1,2})(?:[-/.](\d{1,2}))?(?!\d)/;
const COMPACT = /^((?:19|20)\d{2})(\d{2})(\d{2})(?:T?(\d{2})(\d{2})(\d{2})?)?(Z)?$/;
const NUMBERS = /(?<![\d./-])(\d{1,2})([./-])(\d{1,2})\2((?:19|20)\d{2})(?!\d)/;
const DAY_NAME_YEAR =
  /(?<!\d)(\d{1,2})(?:st|nd|rd|th|er|º|°|\.)?\s*(?:de |of |di |d'|-)?\s*(\p{L}{3,10})\.?,?(?: de| del|-)?\s*((?:19|20)\d{2})(?!\d)/u;
const NAME_DAY_YEAR =
  /(?<!\p{L})(\p{L}{3,10})\.?\s+(\d{1,2})(?:st|nd|rd|th)?\.?,?\s+(?:at\s+)?((?:19|20)\d{2})(?!\d)/u;
const NAME_YEAR = /(?<!\p{L})(\p{L}{3,10})\.?,?\s+(?:de\s+)?((?:19|20)\d{2})(?!\d)/u;
const ASIAN = /(\d{4})\s*[年년]\s*(\d{1,2})\s*[月월](?:\s*(\d{1,2})\s*[日일])?/;

function partsOf(raw: string, language: string | null): Parts | null {
  const text = raw.trim();
  let found = ISO.exec(text);
  if (found) {
    const [whole, year, month, day] = found;
    const rest = text.slice(whole.length);
    return {
      year: Number(year),
      month: Number(month),
      day: day === undefined ? undefined : Number(day),
      ...(day === undefined ? {} : timeOf(rest)),
    };
  }
  if (/^\d{10}(?:\d{3})?$/.test(text)) {
    const at = new Date(Number(text.padEnd(13, "0")));
    return {
      year: at.getUTCFullYear(),
      month: at.getUTCMonth() + 1,
      day: at.getUTCDate(),
      time: { hour: at.getUTCHours(), minute: at.getUTCMinutes(), second: at.getUTCSeconds() },
      zone: 0,
    };
  }
  found = COMPACT.exec(text);
  if (found) {
    const [, year, month, day, hour, minute, second, zone] = found;
    return {
      year: Number(year),
      month: Number(month),
      day: Number(day),
      time:
        hour === undefined
          ? undefined
          : { hour: Number(hour), minute: Number(minute), second: Number(second ?? 0) },
      zone: zone === undefined ? undefined : 0,
    };
  }
  if (/^(?:19|20)\d{2}$/.test(text)) return { year: Number(text) };
  const rest = (match: RegExpExecArray): Pick<Parts, "time" | "zone"> =>
    timeOf(text.slice(match.index + match[0].length, match.index + match[0].length + 40));
  found = DAY_NAME_YEAR.exec(text);
  let month = found && MONTHS.get(found[2]!.toLowerCase());
  if (found && month) return { year: Number(found[3]), month, day: Number(found[1]), ...rest(found) };
  found = NAME_DAY_YEAR.exec(text);
  month = found && MONTHS.get(found[1]!.toLowerCase());
  if (found && month) return { year: Number(found[3]), month, day: Number(found[2]), ...rest(found) };
  found = NUMBERS.exec(text);
  if (found) {
    const order = dayMonth(Number(found[1]), Number(found[3]), found[2]!, language);
    return order && { year: Number(found[4]), month: order[1], day: order[0], ...rest(found) };
  }
  found = ASIAN.exec(text);
  if (found)
    return {
      year: Number(found[1]),
      month: Number(found[2]),
      day: found[3] === undefined ? undefined : Number(found[3]),
    };
  found = /(?<!\d)((?:19|20)\d{2})-(\d{2})-(\d{2})(?!\d)/.exec(text);
  if (found)
    return { year: Number(found[1]), month: Number(found[2]), day: Number(found[3]), ...rest(found) };
  // "Thu Jan 05 10:00:00 +0000 2023"
  found = /(?<!\p{L})(\p{L}{3,9})\s+(\d{1,2})\s+(\d{1,2}:\d{2}:\d{2})\s+(\S{1,6}\s+)?((?:19|20)\d{2})$/u.exec(
    text,
  );
  month = found && MONTHS.get(found[1]!.toLowerCase());
  if (found && month)
    return {
      year: Number(found[5]),
      month,
      day: Number(found[2]),
      ...timeOf(`${found[3]} ${found[4] ?? ""}`),
    };
  found = NAME_YEAR.exec(text);
  month = found && MONTHS.get(found[1]!.toLowerCase());
  if (found && month) return { year: Number(found[2]), month };
  return null;
}

/** A date, alone or in a short text; null when there is none, or when it is too early or in the future. */
export function parseDate(text: string, language: string | null, now_ms: number): string | null {
  if (text.length > DATE_CHARS_MAX) return null;
  const parts = partsOf(text, language);
  return parts && written(parts, now_ms);
}

const IN_PATH = /\/((?:19|20)\d{2})[/-](\d{1,2})[/-](\d{1,2})(?=[/_-]|$)/;
const IN_NAME = /[/_-]((?:19|20)\d{2})(\d{2})(\d{2})(?=[/_.-]|$)/;

/** A day in an address: /2023/01/05/, /2023-01-05-title, _20230105. A month alone is not enough. */
export function dateInUrl(url: string, now_ms: number): string | null {
  const found = IN_PATH.exec(url) ?? IN_NAME.exec(url);
  return found && written({ year: Number(found[1]), month: Number(found[2]), day: Number(found[3]) }, now_ms);
}
