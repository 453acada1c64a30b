/**
 * Checks which values of a model's answer the page bears out. A value stays when the quote given for it stands in the text that was sent, and
 * the value follows from the quote; every other value is null, whatever the model was told by whom.
 */
import { typeOf, takesNull, type ValueSchema } from "../../../../schemas/extract-schema.ts";
import { memberAt } from "../../../lib/json-pointer.ts";
import { parseDate } from "../../../reading/article/dates.ts";
import { numberIn } from "../../../reading/data/number-in.ts";

export interface Quote {
  /** A JSON Pointer (RFC 6901) into the values. */
  readonly path: string;
  readonly quote: string;
}

export interface Proven {
  readonly data: unknown;
  readonly evidence: Quote[];
  readonly errors: { readonly path: string; readonly reason: "missing" | "no_evidence" }[];
}

export interface Source {
  /** As it was sent to the model. */
  readonly text: string;
  /** Absolute addresses of the page's links. */
  readonly links: ReadonlySet<string>;
  readonly language: string | null;
  readonly now_ms: number;
}

export const QUOTE_CHARS = 300;
const ERRORS_MAX = 100;
const AHEAD_MS = 50 * 365 * 86_400_000;

/** Writes alike what pages and models write with different characters. */
export const plain = (text: string): string =>
  text
    .normalize("NFKC")
    .replace(/[\u00ad\u200b-\u200f\u2060\ufeff]/g, "")
    .replace(/[‘’‚′]/g, "'")
    .replace(/[“”„«»″]/g, '"')
    .replace(/[\u2010-\u2015\u2212]/g, "-")
    .replace(/\s+/g, " ")
    .trim();

interface Proof extends Omit<Source, "text"> {
  readonly text: string;
  readonly quotes: ReadonlyMap<string, string>;
  readonly evidence: Quote[];
  readonly errors: Proven["errors"];
}

/** `data` fits the schema with null allowed for each value. */
export function provenBy(
  data: unknown,
  schema: ValueSchema,
  quotes: readonly Quote[],
  source: Source,
): Proven {
  const proof: Proof = {
    ...source,
    text: plain(source.text),
    quotes: new Map(quotes.map(({ path, quote }) => [path, plain(quote)])),
    evidence: [],
    errors: [],
  };
  const proven = valueOf(data, schema, "", "", proof);
  return { data: proven, evidence: proof.evidence, errors: proof.errors };
}

/** `asked` is the value's place in the answer, `at` that in what is left of it. */
function valueOf(value: unknown, schema: ValueSchema, asked: string, at: string, proof: Proof): unknown {
  if (value === null || value === undefined) return null;
  const type = typeOf(schema);
  if (type === "object") return objectOf(value as Record<string, unknown>, schema, asked, at, proof);
  if (type === "array") return itemsOf(value as unknown[], schema.items!, asked, at, proof);
  const quote = proof.quotes.get(asked) ?? "";
  if (!isProven(value, schema, quote, proof)) {
    fail(at, "no_evidence", proof);
    return null;
  }
  proof.evidence.push({ path: at, quote });
  return value;
}

function objectOf(
  value: Record<string, unknown>,
  { properties = {}, required = [] }: ValueSchema,
  asked: string,
  at: string,
  proof: Proof,
): Record<string, unknown> {
  const values = Object.entries(properties).map(([name, inner]) => {
    const before = proof.errors.length;
    const place = memberAt(at, name);
    const proven = valueOf(value[name], inner, memberAt(asked, name), place, proof);
    const isTold = proof.errors.length > before;
    if (proven === null && !isTold && required.includes(name) && !takesNull(inner))
      fail(place, "missing", proof);
    return [name, proven];
  });
  return Object.fromEntries(values) as Record<string, unknown>;
}

/** Items of which nothing is proven are left out. */
function itemsOf(
  values: readonly unknown[],
  schema: ValueSchema,
  asked: string,
  at: string,
  proof: Proof,
): unknown[] {
  const kept: unknown[] = [];
  values.forEach((value, index) => {
    const errors: Proven["errors"] = [];
    const proven = valueOf(value, schema, `${asked}/${index}`, `${at}/${kept.length}`, { ...proof, errors });
    if (isEmpty(proven)) {
      fail(at, "no_evidence", proof);
      return;
    }
    kept.push(proven);
    for (const { path, reason } of errors) fail(path, reason, proof);
  });
  return kept;
}

const isEmpty = (value: unknown): boolean =>
  value === null || (typeof value === "object" && Object.values(value).every(isEmpty));

function fail(path: string, reason: "missing" | "no_evidence", { errors }: Proof): void {
  const isTold = errors.some((error) => error.path === path && error.reason === reason);
  if (!isTold && errors.length < ERRORS_MAX) errors.push({ path, reason });
}

function isProven(value: unknown, schema: ValueSchema, quote: string, proof: Proof): boolean {
  if (schema.format === "uri") return typeof value === "string" && proof.links.has(value);
  if (quote === "" || quote.length > QUOTE_CHARS || !proof.text.includes(quote)) return false;
  // A choice among the caller's own words, and yes or no, are conclusions.
  if (schema.enum !== undefined || typeof value === "boolean") return true;
  if (typeof value === "number") return numbersIn(quote).has(value);
  if (typeof value !== "string" || plain(value) === "") return false;
  const isDate = schema.format === "date" || schema.format === "date-time";
  return holds(quote, value) || (isDate && sameDay(value, quote, proof));
}

const holds = (quote: string, value: string): boolean =>
  quote.toLowerCase().includes(plain(value).toLowerCase());

/** A time of day that the quote does not have is not proven by it. */
const sameDay = (value: string, quote: string, { language, now_ms }: Proof): boolean =>
  /^\d{4}-\d\d-\d\d$/.test(value) && parseDate(quote, language, now_ms + AHEAD_MS)?.slice(0, 10) === value;

/** Digits with what stands between digits; groups of three may stand apart. */
const NUMBER = /[-+]?\d{1,3}(?: \d{3})+(?:[.,]\d+)?(?!\d)|[-+]?\d(?:[.,']?\d){0,40}/g;

/** Each number of a text, under both conventions of decimals. */
function numbersIn(text: string): ReadonlySet<number> {
  const values = (text.match(NUMBER) ?? []).flatMap((token) => {
    // A dash between two numbers is no sign.
    const unsigned = token.replace(/^[-+]/, "");
    return [token, unsigned].flatMap((one) => [numberIn(one, "en"), numberIn(one, "de")]);
  });
  return new Set(values.filter((value) => value !== null));
}
