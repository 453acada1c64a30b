/**
 * The lists of filers with tickers, parsed, and the directory built from them: filers by ticker, CIK and name. A directory
 * is built once for a pair of lists and then only read, in a reader process (adapters/reader-tasks.ts). Fetching the lists is
 * listed-filers.ts.
 */
import { MAX_CANDIDATES, type FilerCompany } from "../../../schemas/filings.ts";
import { padCik, type Ticker } from "./identifiers.ts";

interface TickerRow {
  readonly cik: number;
  readonly ticker: string;
  readonly title: string;
  readonly exchange: string | null;
}

const MAX_TICKERS = 25;

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Either list: `{fields, data: [[…]]}` with named columns, or an object of rows without exchanges. Rows that are no filers
 * are skipped. Null: the value is neither list, or has no filer.
 */
export function parseTickerList(value: unknown): readonly TickerRow[] | null {
  if (!isRecord(value)) return null;
  const rows: TickerRow[] = [];
  const add = (cik: unknown, ticker: unknown, title: unknown, exchange: unknown): void => {
    if (typeof cik !== "number" || typeof ticker !== "string" || typeof title !== "string") return;
    if (!Number.isSafeInteger(cik) || cik <= 0 || ticker === "") return;
    const listedOn = typeof exchange === "string" && exchange !== "" ? exchange : null;
    rows.push({ cik, ticker: ticker.toUpperCase(), title, exchange: listedOn });
  };
  if (Array.isArray(value["fields"]) && Array.isArray(value["data"])) {
    const [cik, name, ticker, exchange] = ["cik", "name", "ticker", "exchange"].map((field) =>
      (value["fields"] as unknown[]).indexOf(field),
    ) as [number, number, number, number];
    if (cik < 0 || name < 0 || ticker < 0) return null;
    for (const row of value["data"] as unknown[])
      if (Array.isArray(row)) add(row[cik], row[ticker], row[name], row[exchange]);
  } else {
    for (const row of Object.values(value))
      if (isRecord(row)) add(row["cik_str"], row["ticker"], row["title"], null);
  }
  return rows.length === 0 ? null : rows;
}

/** The form in which names are compared: no diacritics, upper case, & as AND, one space between words. */
export function foldName(name: string): string {
  const bare = name
    .normalize("NFKD")
    .replaceAll(/\p{M}+/gu, "")
    .toUpperCase();
  return bare
    .replaceAll("&", " AND ")
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}

/** Folded names by the whole name, its beginning, or any part of it: the positions of the matches, in order. */
export interface NameIndex {
  readonly find: (match: "whole" | "start" | "within", folded: string) => Iterable<number>;
}

/** A question to the directory of filers. */
export type FilerQuestion =
  | { readonly by: "ticker"; readonly symbol: string }
  | { readonly by: "cik"; readonly cik: number }
  | { readonly by: "name"; readonly name: string }
  | { readonly by: "company"; readonly names: readonly string[] };

export interface TickerDirectory {
  readonly byTicker: (symbol: string) => FilerCompany | null;
  readonly byCik: (cik: number) => FilerCompany | null;
  /** At most ten filers whose title is the name; if there are none, begins with it; if there are none, contains it. */
  readonly byName: (name: string) => readonly FilerCompany[];
  /** Filers whose title equals one of these names when both are without legal form and suffixes. */
  readonly byCompany: (names: readonly string[]) => readonly FilerCompany[];
}

/** The second list adds only tickers that the first one lacks. */
export function tickerDirectory(
  lists: readonly (readonly TickerRow[])[],
  indexNames: (folded: readonly string[]) => NameIndex,
): TickerDirectory {
  const tickers = new Map<string, TickerRow>();
  const filers = new Map<number, TickerRow[]>();
  const rows: TickerRow[] = [];
  for (const row of lists.flat()) {
    if (tickers.has(row.ticker)) continue;
    tickers.set(row.ticker, row);
    rows.push(row);
    const companyRows = filers.get(row.cik);
    if (companyRows) companyRows.push(row);
    else filers.set(row.cik, [row]);
  }
  const folded: string[] = [];
  const companies = new Map<string, Set<number>>();
  for (const { title, cik } of rows) {
    folded.push(foldName(title));
    const bare = bareName(title);
    const ciks = companies.get(bare);
    if (ciks) ciks.add(cik);
    else companies.set(bare, new Set([cik]));
  }
  const names = indexNames(folded);

  const byCik = (cik: number): FilerCompany | null => {
    const companyRows = filers.get(cik);
    if (!companyRows) return null;
    const first = companyRows.slice(0, MAX_TICKERS);
    return {
      cik,
      cik_padded: padCik(cik),
      title: first[0]!.title,
      tickers: first.map(({ ticker }) => ticker),
      exchanges: first.map(({ exchange }) => exchange),
    };
  };
  const all = (ciks: Iterable<number>): readonly FilerCompany[] =>
    [...ciks].map(byCik).filter((filer) => filer !== null);

  return {
    byTicker: (symbol) => {
      const row = tickers.get(symbol);
      return row ? byCik(row.cik) : null;
    },
    byCik,
    byName(name) {
      const foldedName = foldName(name);
      for (const match of ["whole", "start", "within"] as const) {
        const ciks = new Set<number>();
        for (const at of names.find(match, foldedName)) {
          if (ciks.add(rows[at]!.cik).size >= MAX_CANDIDATES) break;
        }
        if (ciks.size > 0) return all(ciks);
      }
      return [];
    },
    byCompany: (knownNames) =>
      all(new Set(knownNames.flatMap((name) => [...(companies.get(bareName(name)) ?? [])]))).slice(
        0,
        MAX_CANDIDATES,
      ),
  };
}

/** At most ten filers. */
export function answerOf(directory: TickerDirectory, question: FilerQuestion): readonly FilerCompany[] {
  const one = (filer: FilerCompany | null): readonly FilerCompany[] => (filer ? [filer] : []);
  switch (question.by) {
    case "ticker":
      return one(directory.byTicker(question.symbol));
    case "cik":
      return one(directory.byCik(question.cik));
    case "name":
      return directory.byName(question.name);
    case "company":
      return directory.byCompany(question.names);
  }
}

/** Exchanges whose tickers are on the lists: for these the exchange before a ticker is ignored. */
const LISTED = new Set([
  ..."NYSE NASDAQ CBOE OTC AMEX".split(" "),
  ..."XNYS XASE ARCX XNAS XNCM XNGS XNMS XCBO BATS OTCM OTCQ OTCB PINX XOTC".split(" "),
]);

export const isListedHere = ({ exchange }: Ticker): boolean => exchange === null || LISTED.has(exchange);

/** Legal forms at the end of a folded name. */
const LEGAL_FORMS = new Set(
  (
    "INC INCORPORATED CORP CORPORATION CO COMPANY LTD LIMITED PLC LLC LP LLP NV BV SA SPA AG SE AS ASA AB OYJ KGAA GMBH " +
    "SAB CV PJSC JSC BHD PTY PTE KK"
  ).split(" "),
);

/** The form in which names of different registers are compared: without suffixes such as /ADR, /FI, /DE/ and without legal form. */
export function bareName(name: string): string {
  const words = foldName(
    name.replaceAll(/(?:(?<!\s)\s+)?\/[A-Z]{2,4}\/?\s*$/gi, " ").replaceAll(".", ""),
  ).split(" ");
  while (words.length > 1 && LEGAL_FORMS.has(words.at(-1)!)) words.pop();
  return words.join(" ");
}
