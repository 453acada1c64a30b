/** Full-text search: the request to the filing system, always with both dates, and the hits of its answer. */
import type { FilingHit } from "../../../schemas/filings.ts";
import { easternDate } from "./eastern.ts";
import {
  type ParseResult,
  folderPath,
  indexPath,
  parseDate,
  parseForms,
  parseFrom,
  parseQuery,
} from "./identifiers.ts";

export interface FullTextRequest {
  readonly q: string;
  readonly forms: readonly string[] | null;
  readonly range: string;
  readonly startdt: string;
  readonly enddt: string;
  readonly from: number;
}

interface FullTextFields {
  readonly q?: string | undefined;
  readonly forms?: string | undefined;
  readonly dateRange?: string | undefined;
  readonly startdt?: string | undefined;
  readonly enddt?: string | undefined;
  readonly from?: string | undefined;
}

/** Filings are searchable from this day on. */
const FIRST_DAY = "2001-01-01";
const YEARS: Readonly<Record<string, number>> = { "10y": 10, "5y": 5, "1y": 1 };
const DAY_MS = 24 * 60 * 60_000;

const invalid = (message: string): ParseResult<never> => ({ kind: "invalid", message });

/** The filing system ignores a date without the other, so both are always set. A named range wins over dates. */
export function parseFullTextRequest(fields: FullTextFields, now_ms: number): ParseResult<FullTextRequest> {
  const q = parseQuery(fields.q);
  if (q.kind === "invalid") return q;
  const forms = fields.forms === undefined ? null : parseForms(fields.forms);
  if (forms?.kind === "invalid") return forms;
  const from = parseFrom(fields.from ?? "0");
  if (from.kind === "invalid") return from;
  const { startdt, enddt, dateRange } = fields;
  for (const [field, date] of [
    ["startdt", startdt],
    ["enddt", enddt],
  ] as const) {
    const parsed = date === undefined ? null : parseDate(field, date);
    if (parsed?.kind === "invalid") return parsed;
  }
  const common = { q: q.value, forms: forms?.value ?? null, from: from.value };
  const today = easternDate(now_ms);
  const ranged = (range: string, start: string): ParseResult<FullTextRequest> => ({
    kind: "valid",
    value: { ...common, range, startdt: start, enddt: today },
  });
  const isDated = startdt !== undefined || enddt !== undefined;
  switch (dateRange ?? (isDated ? "custom" : "all")) {
    case "all":
      return ranged("all", FIRST_DAY);
    case "10y":
    case "5y":
    case "1y":
      return ranged(dateRange!, yearsBefore(today, YEARS[dateRange!]!));
    case "30d":
      return ranged("30d", new Date(Date.parse(today) - 30 * DAY_MS).toISOString().slice(0, 10));
    case "custom":
      if (startdt === undefined || enddt === undefined)
        return invalid("dateRange custom needs startdt and enddt");
      if (startdt > enddt) return invalid("startdt is after enddt");
      return { kind: "valid", value: { ...common, range: "custom", startdt, enddt } };
    default:
      return invalid("dateRange must be all, 10y, 5y, 1y, 30d or custom");
  }
}

/** 29 February becomes 28 where the year has none. */
function yearsBefore(date: string, years: number): string {
  const year = String(Number(date.slice(0, 4)) - years).padStart(4, "0");
  const then = `${year}${date.slice(4)}`;
  return parseDate("", then).kind === "valid" ? then : `${year}-02-28`;
}

/** Equal requests have equal paths, so they share one cached answer. */
export function fullTextPath({ q, forms, startdt, enddt, from }: FullTextRequest): string {
  const query = new URLSearchParams({ q: q.replaceAll(/\s+/gu, " "), dateRange: "custom", startdt, enddt });
  if (forms) query.set("forms", forms.toSorted().join(","));
  if (from > 0) query.set("from", String(from));
  return `/LATEST/search-index?${query.toString()}`;
}

export interface FullTextResult {
  readonly total: number;
  readonly total_relation: string;
  readonly hits: readonly FilingHit[];
}

type Json = Readonly<Record<string, unknown>>;
const record = (value: unknown): Json =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
const textOrNull = (value: unknown): string | null =>
  typeof value === "string" && value !== "" ? value : null;
const texts = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).filter(
    (item) => typeof item === "string" && item !== "",
  ) as string[];

/** Null: the value is no answer of a search. */
export function parseFullTextAnswer(value: unknown, www_url: string): FullTextResult | null {
  const { hits } = record(value);
  const { total, hits: list } = record(hits);
  if (!Array.isArray(list)) return null;
  // Older answers have a number instead of an object.
  const count = typeof total === "number" ? total : record(total)["value"];
  if (typeof count !== "number") return null;
  return {
    total: count,
    total_relation: textOrNull(record(total)["relation"]) ?? "eq",
    hits: list.map((hit) => hitOf(record(hit), www_url)),
  };
}

function hitOf(hit: Json, www_url: string): FilingHit {
  const source = record(hit["_source"]);
  const id = textOrNull(hit["_id"]) ?? "";
  const colon = id.indexOf(":");
  const accession = textOrNull(source["adsh"]) ?? (colon < 0 ? null : id.slice(0, colon));
  const document = colon < 0 ? null : textOrNull(id.slice(colon + 1));
  const ciks = texts(source["ciks"])
    .map(Number)
    .filter((cik) => Number.isSafeInteger(cik) && cik > 0);
  const [cik] = ciks;
  const filing = accession !== null && /^\d{10}-\d{2}-\d{6}$/.test(accession) ? accession : null;
  return {
    accession,
    ciks,
    display_names: texts(source["display_names"]),
    form: textOrNull(source["form"]),
    root_forms: texts(source["root_forms"] ?? source["root_form"]),
    file_type: textOrNull(source["file_type"]),
    file_description: textOrNull(source["file_description"]),
    file_date: textOrNull(source["file_date"]),
    period_ending: textOrNull(source["period_ending"]),
    document,
    url:
      cik === undefined || filing === null || document === null || document.includes("/")
        ? null
        : `${www_url}${folderPath(cik, filing)}${encodeURIComponent(document)}`,
    index_url: cik === undefined || filing === null ? null : `${www_url}${indexPath(cik, filing)}`,
    score: typeof hit["_score"] === "number" ? hit["_score"] : null,
  };
}
