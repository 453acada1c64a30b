/** Full-text search: the question as the upstream wants it, both dates always in it, and what it answers to hits. */
import type { FilingHit } from "../../schemas/filings.ts";
import { easternDate } from "./eastern.ts";
import {
  type Checked,
  folderPath,
  indexPath,
  readDate,
  readForms,
  readFrom,
  readQuery,
} from "./identifiers.ts";

export interface FullText {
  readonly q: string;
  readonly forms: readonly string[] | null;
  readonly range: string;
  readonly startdt: string;
  readonly enddt: string;
  readonly from: number;
}

interface Asked {
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

const wrong = (message: string): Checked<never> => ({ kind: "wrong", message });

/** The upstream ignores a date when the other is missing, so both are worked out here. A named range wins over dates. */
export function readFullText(asked: Asked, now_ms: number): Checked<FullText> {
  const q = readQuery(asked.q);
  if (q.kind === "wrong") return q;
  const forms = asked.forms === undefined ? null : readForms(asked.forms);
  if (forms?.kind === "wrong") return forms;
  const from = readFrom(asked.from ?? "0");
  if (from.kind === "wrong") return from;
  const { startdt, enddt, dateRange } = asked;
  for (const [field, date] of [
    ["startdt", startdt],
    ["enddt", enddt],
  ] as const) {
    const read = date === undefined ? null : readDate(field, date);
    if (read?.kind === "wrong") return read;
  }
  const common = { q: q.value, forms: forms?.value ?? null, from: from.value };
  const today = easternDate(now_ms);
  const named = (range: string, start: string): Checked<FullText> => ({
    kind: "sound",
    value: { ...common, range, startdt: start, enddt: today },
  });
  const isDated = startdt !== undefined || enddt !== undefined;
  switch (dateRange ?? (isDated ? "custom" : "all")) {
    case "all":
      return named("all", FIRST_DAY);
    case "10y":
    case "5y":
    case "1y":
      return named(dateRange!, yearsBefore(today, YEARS[dateRange!]!));
    case "30d":
      return named("30d", new Date(Date.parse(today) - 30 * DAY_MS).toISOString().slice(0, 10));
    case "custom":
      if (startdt === undefined || enddt === undefined)
        return wrong("dateRange custom needs startdt and enddt");
      if (startdt > enddt) return wrong("startdt is after enddt");
      return { kind: "sound", value: { ...common, range: "custom", startdt, enddt } };
    default:
      return wrong("dateRange must be all, 10y, 5y, 1y, 30d or custom");
  }
}

/** 29 February becomes 28 where the year has none. */
function yearsBefore(date: string, years: number): string {
  const year = String(Number(date.slice(0, 4)) - years).padStart(4, "0");
  const then = `${year}${date.slice(4)}`;
  return readDate("", then).kind === "sound" ? then : `${year}-02-28`;
}

/** Equal questions have equal paths: what a cached answer is found by. */
export function fullTextPath({ q, forms, startdt, enddt, from }: FullText): string {
  const query = new URLSearchParams({ q: q.replaceAll(/\s+/gu, " "), dateRange: "custom", startdt, enddt });
  if (forms) query.set("forms", forms.toSorted().join(","));
  if (from > 0) query.set("from", String(from));
  return `/LATEST/search-index?${query.toString()}`;
}

export interface FullTextFound {
  readonly total: number;
  readonly total_relation: string;
  readonly hits: readonly FilingHit[];
}

type Json = Readonly<Record<string, unknown>>;
const record = (value: unknown): Json =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
const said = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null);
const texts = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).filter((one) => typeof one === "string" && one !== "") as string[];

/** Null: it is no answer of a search. */
export function readFound(value: unknown, www_url: string): FullTextFound | null {
  const { hits } = record(value);
  const { total, hits: list } = record(hits);
  if (!Array.isArray(list)) return null;
  // Older answers had the number alone.
  const counted = typeof total === "number" ? total : record(total)["value"];
  if (typeof counted !== "number") return null;
  return {
    total: counted,
    total_relation: said(record(total)["relation"]) ?? "eq",
    hits: list.map((hit) => hitOf(record(hit), www_url)),
  };
}

function hitOf(hit: Json, www_url: string): FilingHit {
  const source = record(hit["_source"]);
  const id = said(hit["_id"]) ?? "";
  const colon = id.indexOf(":");
  const accession = said(source["adsh"]) ?? (colon < 0 ? null : id.slice(0, colon));
  const document = colon < 0 ? null : said(id.slice(colon + 1));
  const ciks = texts(source["ciks"])
    .map(Number)
    .filter((cik) => Number.isSafeInteger(cik) && cik > 0);
  const [cik] = ciks;
  const filing = accession !== null && /^\d{10}-\d{2}-\d{6}$/.test(accession) ? accession : null;
  return {
    accession,
    ciks,
    display_names: texts(source["display_names"]),
    form: said(source["form"]),
    root_forms: texts(source["root_forms"] ?? source["root_form"]),
    file_type: said(source["file_type"]),
    file_description: said(source["file_description"]),
    file_date: said(source["file_date"]),
    period_ending: said(source["period_ending"]),
    document,
    url:
      cik === undefined || filing === null || document === null || document.includes("/")
        ? null
        : `${www_url}${folderPath(cik, filing)}${encodeURIComponent(document)}`,
    index_url: cik === undefined || filing === null ? null : `${www_url}${indexPath(cik, filing)}`,
    score: typeof hit["_score"] === "number" ? hit["_score"] : null,
  };
}
