/**
 * Dates as pages write them, to the form ArticleMeta has: UTC with Z when a zone is given, no zone when there is a time
 * without one, and as short as they were otherwise. Two numbers that could be day and month either way are no date
 * unless the page's language decides. The present is an argument.
 */

import { foldedMonth, MONTH_NAMES, OWN_MONTHS } from "./month-names.ts";

const DAY_MS = 86_400_000;
/** There are no earlier web pages: an earlier date is a default value. */
const MIN_YEAR = 1995;
/** How far ahead a date may be: clocks differ, and articles are dated in other time zones. */
const AHEAD_MAX_MS = 2 * DAY_MS;
const DATE_CHARS_MAX = 200;

/** Names that CLDR does not have: without umlauts, Austrian, abbreviations of the press, and the Greek of every day. */
const MORE_NAMES: readonly string[] = [
  "janner jaen janv ene γεναρη", "fevr febr φλεβαρη", "maerz mrz mrt μαρτη", "avr abr apr απριλη", "mai μαη", "juin giu ιουνη",
  "juil lug ιουλη", "aout ago", "sept set σεπτεμβρη", "okt oct οκτωβρη", "nov νοεμβρη", "dez dic δεκεμβρη",
]; // prettier-ignore
const MONTHS: ReadonlyMap<string, number> = new Map(
  [MORE_NAMES, MONTH_NAMES].flatMap((table) =>
    table.flatMap((names, i) => names.split(" ").map((name) => [name, i + 1] as const)),
  ),
);
const MONTHS_OF: ReadonlyMap<string, number> = new Map(
  OWN_MONTHS.split(", ").map((entry) => {
    const [language, name, month] = entry.split(" ");
    return [`${language} ${name}`, Number(month)];
  }),
);
/** Months of the Solar Hijri calendar, in its order. */
const PERSIAN_MONTHS = "فروردین اردیبهشت خرداد تیر مرداد شهریور مهر آبان آذر دی بهمن اسفند".split(" ");
/** Many Persian pages have the Arabic yeh for their own. */
const withPersianYeh = (text: string): string => text.replaceAll("ي", "ی");

/** The month that a word names, in the page's language first. */
function monthOf(word: string, language: string | null): number | undefined {
  // Catalan and French write the preposition at the name: "d’abril".
  const name = foldedMonth(word).replace(/^d['’]/, "");
  const own = language === null ? undefined : MONTHS_OF.get(`${language.split("-")[0]} ${name}`);
  // In Hebrew the month has a preposition as its first letter.
  return own ?? MONTHS.get(name) ?? (name.startsWith("ב") ? MONTHS.get(name.slice(1)) : undefined);
}

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
  /(\d{1,2})[:.h](\d{2})(?::(\d{2})(?:[.,]\d{1,9})?)?\s*(a\.?m\.?|p\.?m\.?|[πμ]\.?μ\.?|ص|م(?!\p{L})|d[eu]\.|sa\b|ch\b|öö|ös)?\s*(?:\(?(?<![a-z])(z|utc|gmt|[ecmp][sd]t|cet|cest|bst|mez|mesz|jst|aest)\b)?\s*([+-]\d{2}:?\d{2}|[+-]\d{2}(?!\d))?/iu;
const SECOND_HALF = /^(?:p|μ|م|du|ch|ös)/i;
/** In Chinese, Japanese and Korean the half of the day stands before the hour, and minutes may be left out. */
const ASIAN_TIME =
  /(오전|오후|午前|午後|上午|下午|早上|凌晨|中午|晚上|傍晚)?(?:(?<!\s)\s+)?(?<!\d)(\d{1,2})\s*(?:[:：]\s*(\d{2})(?:[:：](\d{2}))?|[時时点點시](?:\s*(\d{1,2})\s*[分분])?)(?!\d)/;
const ASIAN_SECOND_HALF = /오후|午後|下午|中午|晚上|傍晚/;

const hourOf = (hour: number, isSecondHalf: boolean): number =>
  hour <= 12 ? (hour % 12) + (isSecondHalf ? 12 : 0) : hour;

function timeOf(text: string): Pick<Parts, "time" | "zone"> {
  const asian = ASIAN_TIME.exec(text);
  if (asian && (asian[1] !== undefined || !/[:：]/.test(asian[0]))) {
    const [, half, hours, minutes, seconds, told] = asian;
    const hour = half ? hourOf(Number(hours), ASIAN_SECOND_HALF.test(half)) : Number(hours);
    const minute = Number(minutes ?? told ?? 0);
    return hour > 23 || minute > 59 ? {} : { time: { hour, minute, second: Number(seconds ?? 0) % 60 } };
  }
  const found = TIME.exec(text);
  if (!found) return {};
  const [, hours, minutes, seconds, half, name, offset] = found;
  const hour = half ? hourOf(Number(hours), SECOND_HALF.test(half)) : Number(hours);
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

/** English is written everywhere, and its bare tag says nothing of the order. */
const AMBIGUOUS = /^en(?:-ca)?$/i;

type Order = "day" | "month" | "year";
const ORDERS_MAX = 500;
const orders = new Map<string, Order>();

/** The part that a language writes first in a date of three numbers, by CLDR. */
function firstOf(language: string): Order {
  const known = orders.get(language);
  if (known) return known;
  let first: Order = "day";
  try {
    const format = new Intl.DateTimeFormat(language, {
      calendar: "gregory",
      year: "numeric",
      month: "numeric",
      day: "numeric",
    });
    const { type } = format.formatToParts(0).find((part) => /^(?:day|month|year)$/.test(part.type))!;
    first = type as Order;
  } catch {
    // No language: the day, as in most.
  }
  if (orders.size < ORDERS_MAX) orders.set(language, first);
  return first;
}

function dayMonth(
  a: number,
  b: number,
  separator: string,
  language: string | null,
): [day: number, month: number] | null {
  if (a > 12) return [a, b];
  if (b > 12) return [b, a];
  if (a === b) return [a, b];
  if (separator === "." || separator === " | ") return [a, b];
  if (language === null || AMBIGUOUS.test(language)) return null;
  return firstOf(language) === "month" ? [b, a] : [a, b];
}

const ISO = /^(\d{4})[-/.](\d{1,2})(?:[-/.](\d{1,2}))?(?!\d)/;
const COMPACT = /^((?:19|20)\d{2})(\d{2})(\d{2})(?:T?(\d{2})(\d{2})(\d{2})?)?(Z)?$/;
const YEAR_FIRST = /(?<![\d./-])((?:19|20)\d{2})([-/.])\s?(\d{1,2})\2\s?(\d{1,2})(?!\d)/;
const NUMBERS = /(?<![\d./-])(\d{1,2})([./-]| \| )\s?(\d{1,2})\2\s?((?:19|20|25)\d{2})(?!\d)/;
const SHORT_YEAR =
  /^[^\d]*(?<![./-])(\d{1,2})([./-])\s?(\d{1,2})\2\s?'?(\d{1,2})(?![\d./-])([^\d]*(?:\d{1,2}[:.]\d{2}[^\d]*)?)$/;
const SHORT_YEAR_CHARS = 60;
/**
 * A month's name, with the vowel signs and joined marks of its script. The look-ahead says nothing new: without it V8 writes the
 * class out again for each way to get there, and compiles one of the patterns below for 70 ms instead of 3.
 */
const NAME = "(?=\\S)[\\p{L}\\p{M}'’]{3,20}";
const YEAR = "((?:19|20|25)\\d{2})(?!\\d)";
const DAY_NAME_YEAR = new RegExp(
  `(?<!\\d)(\\d{1,2})(?:st|nd|rd|th|er|º|°|\\.)?\\s*(?:de |of |di |d'|-)?\\s*(?:${NAME}\\s*/\\s*)?(${NAME})\\.?[,،]?(?: de| del|-)?\\s*${YEAR}`,
  "u",
);
const NAME_DAY_YEAR = new RegExp(
  `(?<!\\p{L})(${NAME})\\.?\\s+(\\d{1,2})(?:st|nd|rd|th)?\\.?[,،]?\\s+(?:at\\s+)?${YEAR}`,
  "u",
);
/** Hungarian, Lithuanian, Mongolian, Basque, and Latvian with the day before the month. */
const YEAR_NAME_DAY = new RegExp(
  `(?<!\\d)((?:19|20)\\d{2})(?:\\.|\\(e\\)ko| m\\.| он(?:ы)?)?[,]?\\s+(${NAME})\\s+(\\d{1,2})(?!\\d)`,
  "u",
);
const YEAR_DAY_NAME = new RegExp(`(?<!\\d)((?:19|20)\\d{2})\\. ?gada (\\d{1,2})\\. ?(${NAME})`, "u");
const VIETNAMESE = /(?<!\d)(\d{1,2})\s*tháng\s*(\d{1,2}),?\s*(?:năm\s*)?((?:19|20)\d{2})(?!\d)/i;
const NAME_YEAR = new RegExp(`(?<!\\p{L})(${NAME})\\.?[,،]?\\s+(?:de\\s+)?${YEAR}`, "u");
const PERSIAN = /(?<!\d)(\d{1,2})\s+(\p{L}{2,8})[,،]?\s+(1[34]\d{2})(?!\d)/u;
const ASIAN =
  /(令和|平成|昭和|民國|民国)?(?:(?<!\s)\s+)?(\d{1,4}|元)\s*[年년]\s*(\d{1,2})\s*[月월](?:\s*(\d{1,2})\s*[日일号號])?/;
/** The year before the first of an era. */
const ERAS: Readonly<Record<string, number>> = { 令和: 2018, 平成: 1988, 昭和: 1925, 民國: 1911, 民国: 1911 };
/** The Buddhist calendar of Thailand is ahead by so many years. */
const BUDDHIST_YEARS = 543;
const yearOf = (text: string): number => {
  const year = Number(text);
  return year >= 2_500 ? year - BUDDHIST_YEARS : year;
};

/** Zeros of the decimal digits of other scripts. */
const ZEROS = [
  0x660, 0x6f0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xe50, 0xed0, 0xf20, 0x1040, 0x17e0, 0x1810, 0xff10,
]; // prettier-ignore

const withAsciiDigits = (text: string): string =>
  text.replace(/(?![0-9])\p{Nd}/gu, (digit) => {
    const point = digit.codePointAt(0)!;
    const zero = ZEROS.find((each) => point >= each && point <= each + 9);
    return zero === undefined ? digit : String(point - zero);
  });

/** The first day of a Persian year is the 20th or 21st of March. */
function fromPersian(year: number, month: number, day: number): Parts {
  const format = new Intl.DateTimeFormat("en-u-ca-persian", {
    month: "numeric",
    day: "numeric",
    timeZone: "UTC",
  });
  let first = Date.UTC(year + 621, 2, 19);
  while (format.format(first) !== "1/1" && first < Date.UTC(year + 621, 2, 23)) first += DAY_MS;
  const days = (month <= 7 ? (month - 1) * 31 : 186 + (month - 7) * 30) + day - 1;
  const at = new Date(first + days * DAY_MS);
  return { year: at.getUTCFullYear(), month: at.getUTCMonth() + 1, day: at.getUTCDate() };
}

/** "12.3.24", where nothing else in the text is a number but a time. */
function shortYear(text: string, language: string | null, now_ms: number): Parts | null {
  const found = text.length <= SHORT_YEAR_CHARS ? SHORT_YEAR.exec(text) : null;
  if (!found) return null;
  const [a, b, c] = [Number(found[1]), Number(found[3]), Number(found[4])];
  const separator = found[2]!;
  const isYearFirst = language !== null && firstOf(language) === "year" && !AMBIGUOUS.test(language);
  const last = isYearFirst ? found[1]! : found[4]!;
  if (last.length !== 2) return null;
  const century = Number(last) <= new Date(now_ms).getUTCFullYear() % 100 ? 2_000 : 1_900;
  const rest = timeOf(found[5]!);
  if (isYearFirst) return { year: century + a, month: b, day: c, ...rest };
  const order = dayMonth(a, b, separator, language);
  return order && { year: century + c, month: order[1], day: order[0], ...rest };
}

/** Tries one reader after another, the surer before the others; a list, so it is one function. */
function partsOf(raw: string, language: string | null, now_ms: number): Parts | null {
  const text = withAsciiDigits(raw.trim());
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
  const after = (match: RegExpExecArray): string =>
    text.slice(match.index + match[0].length, match.index + match[0].length + 40);
  const rest = (match: RegExpExecArray): Pick<Parts, "time" | "zone"> => timeOf(after(match));
  found = DAY_NAME_YEAR.exec(text);
  let month = found && monthOf(found[2]!, language);
  if (found && month) return { year: yearOf(found[3]!), month, day: Number(found[1]), ...rest(found) };
  found = NAME_DAY_YEAR.exec(text);
  month = found && monthOf(found[1]!, language);
  if (found && month) return { year: yearOf(found[3]!), month, day: Number(found[2]), ...rest(found) };
  found = YEAR_NAME_DAY.exec(text);
  month = found && monthOf(found[2]!, language);
  if (found && month) return { year: Number(found[1]), month, day: Number(found[3]), ...rest(found) };
  found = YEAR_DAY_NAME.exec(text);
  month = found && monthOf(found[3]!, language);
  if (found && month) return { year: Number(found[1]), month, day: Number(found[2]), ...rest(found) };
  found = VIETNAMESE.exec(text);
  if (found)
    return { year: Number(found[3]), month: Number(found[2]), day: Number(found[1]), ...rest(found) };
  found = PERSIAN.exec(text);
  const persian = found ? PERSIAN_MONTHS.indexOf(withPersianYeh(found[2]!)) + 1 : 0;
  if (found && persian > 0)
    return { ...fromPersian(Number(found[3]), persian, Number(found[1])), ...rest(found) };
  found = YEAR_FIRST.exec(text);
  if (found)
    return { year: Number(found[1]), month: Number(found[3]), day: Number(found[4]), ...rest(found) };
  found = NUMBERS.exec(text);
  if (found) {
    const order = dayMonth(Number(found[1]), Number(found[3]), found[2]!, language);
    return order && { year: yearOf(found[4]!), month: order[1], day: order[0], ...rest(found) };
  }
  found = ASIAN.exec(text);
  if (found) {
    const [, era, counted, months, days] = found;
    const year = (era ? ERAS[era]! : 0) + (counted === "元" ? 1 : Number(counted));
    const day = days === undefined ? undefined : Number(days);
    return { year, month: Number(months), day, ...(day === undefined ? {} : rest(found)) };
  }
  // "Thu Jan 05 10:00:00 +0000 2023"
  found = /(?<!\p{L})(\p{L}{3,9})\s+(\d{1,2})\s+(\d{1,2}:\d{2}:\d{2})\s+(\S{1,6}\s+)?((?:19|20)\d{2})$/u.exec(
    text,
  );
  month = found && monthOf(found[1]!, language);
  if (found && month)
    return {
      year: Number(found[5]),
      month,
      day: Number(found[2]),
      ...timeOf(`${found[3]} ${found[4] ?? ""}`),
    };
  const short = shortYear(text, language, now_ms);
  if (short) return short;
  found = NAME_YEAR.exec(text);
  month = found && monthOf(found[1]!, language);
  if (found && month) return { year: yearOf(found[2]!), month };
  return null;
}

/** A date, alone or in a short text; null when there is none, or when it is too early or in the future. */
export function parseDate(text: string, language: string | null, now_ms: number): string | null {
  if (text.length > DATE_CHARS_MAX) return null;
  const parts = partsOf(text, language, now_ms);
  return parts && written(parts, now_ms);
}

const IN_PATH = /\/((?:19|20)\d{2})[/-](\d{1,2})[/-](\d{1,2})(?=[/_-]|$)/;
const IN_NAME = /[/_-]((?:19|20)\d{2})(\d{2})(\d{2})(?=[/_.-]|$)/;

/** A day in an address: /2023/01/05/, /2023-01-05-title, _20230105. A month alone is not enough. */
export function dateInUrl(url: string, now_ms: number): string | null {
  const found = IN_PATH.exec(url) ?? IN_NAME.exec(url);
  return found && written({ year: Number(found[1]), month: Number(found[2]), day: Number(found[3]) }, now_ms);
}
