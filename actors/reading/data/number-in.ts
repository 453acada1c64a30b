/** The first number in a text as pages write it: `1,234.50 USD`, `1.234,50 €`, `1 234,5`, `CHF 1’234.–`, `−3`. */

const CHARS_MAX = 1_000;
/** A sign, and digits with what stands between digits. */
const NUMBER = /[-+−]?\d(?:[.,'’\u00a0\u202f ]?\d){0,40}/;
const EXACT = /^[-+]?\d{1,40}(?:\.\d{1,40})?(?:e[-+]?\d{1,3})?$/i;

/**
 * Null: there is none. One sign followed by three digits may be either: `1.234` is what the language of the page makes of it, and
 * thousands where the page does not say its language.
 */
export function numberIn(text: string, language: string | null): number | null {
  const short = text.slice(0, CHARS_MAX).trim();
  if (EXACT.test(short) && !/^[-+]?\d{1,3}\.\d{3}$/.test(short)) return finite(Number(short));
  const found = NUMBER.exec(short)?.[0];
  if (found === undefined) return null;
  const sign = found.startsWith("-") || found.startsWith("−") ? -1 : 1;
  const digits = found.replace(/[-+−'’\u00a0\u202f ]/g, "");
  const mark = decimalMark(digits, language);
  const [whole, ...rest] = mark === null ? [digits] : digits.split(mark);
  const value = Number(`${whole!.replace(/[.,]/g, "")}${rest.length > 0 ? `.${rest.join("")}` : ""}`);
  return finite(sign * value);
}

const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);

/** The sign before the decimals; null: there are none. */
function decimalMark(digits: string, language: string | null): "." | "," | null {
  const last = Math.max(digits.lastIndexOf("."), digits.lastIndexOf(","));
  if (last < 0) return null;
  const mark = digits[last] as "." | ",";
  const other = mark === "." ? "," : ".";
  if (digits.includes(other)) return mark;
  if (digits.indexOf(mark) !== last) return null;
  const isGroup = digits.length - last - 1 === 3 && last <= 3 && digits[0] !== "0";
  return isGroup && markOf(language) !== mark ? null : mark;
}

/** The decimal sign of a language. */
function markOf(language: string | null): string | null {
  try {
    const parts = language === null ? [] : new Intl.NumberFormat(language).formatToParts(1.5);
    return parts.find(({ type }) => type === "decimal")?.value ?? null;
  } catch {
    return null;
  }
}
