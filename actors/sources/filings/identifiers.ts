/**
 * The names callers use for filers and filings: CIK, accession number, document name, form types, dates, ticker, company
 * name, ISIN, and the words of a full-text search. Each is checked before any request is sent. A parser returns the value
 * in its normal form, or the message that says what is wrong with it.
 */

export type ParseResult<T> =
  | { readonly kind: "valid"; readonly value: T }
  | { readonly kind: "invalid"; readonly message: string };

const valid = <T>(value: T): ParseResult<T> => ({ kind: "valid", value });
const invalid = (message: string): { readonly kind: "invalid"; readonly message: string } => ({
  kind: "invalid",
  message,
});

const MAX_CIK = 9_999_999_999;

export function parseCik(cik: string | number): ParseResult<number> {
  if (typeof cik === "number") {
    return Number.isInteger(cik) && cik >= 1 && cik <= MAX_CIK
      ? valid(cik)
      : invalid("cik must be an integer or a string of 1 to 10 digits");
  }
  return /^[0-9]{1,10}$/.test(cik) && Number(cik) > 0
    ? valid(Number(cik))
    : invalid("cik must be 1 to 10 digits, not all zero");
}

export const padCik = (cik: number): string => String(cik).padStart(10, "0");

/** With its dashes: 0000320193-24-000123. */
export function parseAccession(accession: string): ParseResult<string> {
  const digits = /^([0-9]{10})-([0-9]{2})-([0-9]{6})$|^([0-9]{10})([0-9]{2})([0-9]{6})$/.exec(accession);
  return digits === null
    ? invalid("accession must be 18 digits, with or without dashes (10-2-6)")
    : valid(
        digits
          .slice(1)
          .filter((part) => part !== undefined)
          .join("-"),
      );
}

export const withoutDashes = (accession: string): string => accession.replaceAll("-", "");

/** A name that cannot leave the folder, end the path, or be decoded to another name on the way. */
export const parseDocumentName = (document: string): ParseResult<string> =>
  /^(?!\.{1,2}$)[!$&'()+,\-.0-9;=@A-Z_a-z~]{1,255}$/.test(document)
    ? valid(document)
    : invalid("document must be a file name in the filing's folder");

const MAX_FORMS = 30;
const MAX_FORM_CHARS = 20;

/** Forms as they are compared: upper case, inner spaces collapsed. Their names are whole: 10-K is not 10-K/A. */
export const formKey = (form: string): string => form.trim().replaceAll(/ +/g, " ").toUpperCase();

export function parseForms(forms: string): ParseResult<readonly string[]> {
  const items = forms.split(",");
  for (const item of items) {
    const form = item.trim();
    if (!/^[A-Za-z0-9 ./-]+$/.test(form) || form.length > MAX_FORM_CHARS)
      return invalid(`forms must be comma-separated form types: "${form.slice(0, 100)}"`);
  }
  if (items.length > MAX_FORMS) return invalid(`forms must have at most ${MAX_FORMS} form types`);
  return valid([...new Set(items.map(formKey))]);
}

export function parseDate(field: string, date: string): ParseResult<string> {
  const parts = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/.exec(date);
  const at = parts && new Date(`${date}T00:00:00Z`);
  // Date parses 31 February as a day in March, or not at all.
  return at && !Number.isNaN(at.getTime()) && at.toISOString().startsWith(date)
    ? valid(date)
    : invalid(`${field} must be a date YYYY-MM-DD`);
}

export interface Ticker {
  /** In upper case; dots, slashes and spaces become dashes: BRK-B. Nothing else is changed. */
  readonly symbol: string;
  /** As in `SWX:NESN`; null: the caller named none. */
  readonly exchange: string | null;
  /** Trimmed and in upper case, otherwise as the caller sent it: company registers look up listings by it. */
  readonly original: string;
}

const MAX_TICKER_CHARS = 15;

export function parseTicker(ticker: string): ParseResult<Ticker> {
  const original = ticker.trim().toUpperCase();
  const parts = /^(?:([A-Z]{2,10}):)?([A-Z0-9]+(?:[-./ ][A-Z0-9]+)*)$/.exec(original);
  // Upper case can be longer than its original, and ASCII where the original is not, so the original is checked.
  const isPlain = /^[ -~]*$/.test(ticker.trim()) && ticker.trim().length <= MAX_TICKER_CHARS;
  if (parts === null || !isPlain) return invalid("ticker is malformed");
  return valid({ symbol: parts[2]!.replaceAll(/[./ ]/g, "-"), exchange: parts[1] ?? null, original });
}

const MAX_NAME_CHARS = 200;

export function parseName(name: string): ParseResult<string> {
  const trimmed = name.trim();
  if (Array.from(trimmed).length > MAX_NAME_CHARS)
    return invalid(`name must be at most ${MAX_NAME_CHARS} characters`);
  return /[\p{L}\p{N}]/u.test(trimmed) ? valid(trimmed) : invalid("name has no letters or digits");
}

export function parseIsin(isin: string): ParseResult<string> {
  const code = isin.trim().toUpperCase();
  if (!/^[A-Z]{2}[A-Z0-9]{9}[0-9]$/.test(code) || !/^[ -~]*$/.test(isin))
    return invalid("isin must be 12 characters: 2 letters, 9 letters or digits, 1 digit");
  return hasCheckDigit(code) ? valid(code) : invalid("isin check digit is wrong");
}

/** ISO 6166: letters become two digits, then Luhn's sum. */
function hasCheckDigit(code: string): boolean {
  const digits = Array.from(code, (char) => String(Number.parseInt(char, 36))).join("");
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i]);
    const twice = i % 2 === 1 ? digit * 2 : digit;
    sum += twice > 9 ? twice - 9 : twice;
  }
  return sum % 10 === 0;
}

const MAX_QUERY_CHARS = 1_000;

export function parseQuery(q: string | undefined): ParseResult<string> {
  const trimmed = q?.trim() ?? "";
  if (trimmed === "") return invalid("q must not be empty");
  if (Array.from(trimmed).length > MAX_QUERY_CHARS)
    return invalid(`q must be at most ${MAX_QUERY_CHARS} characters`);
  return trimmed.split('"').length % 2 === 0 ? invalid("q has an unclosed quote") : valid(trimmed);
}

/** The last page begins here: the filing system shows 10,000 hits in pages of 100. */
const MAX_FROM = 9_900;

export const parseFrom = (from: string): ParseResult<number> =>
  /^[0-9]{1,5}$/.test(from) && Number(from) <= MAX_FROM
    ? valid(Number(from))
    : invalid(`from must be 0 to ${MAX_FROM} (upstream shows 10000 hits)`);

/** The folder of a filing below the www base, with a slash at its end. The CIK of any co-registrant leads there. */
export const folderPath = (cik: number, accession: string): string =>
  `/Archives/edgar/data/${cik}/${withoutDashes(accession)}/`;

export const indexPath = (cik: number, accession: string): string =>
  `${folderPath(cik, accession)}${accession}-index.htm`;

/** The path of the index page beside the folder. */
export const flatIndexPath = (cik: number, accession: string): string =>
  `/Archives/edgar/data/${cik}/${accession}-index.html`;
