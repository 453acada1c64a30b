/**
 * A filer's submissions and the pages of older ones, to filings: what they say, which pages can hold what is wanted,
 * and which of all filings are answered. Rows stay columns, as they come, until they are asked for. It fetches nothing.
 */
import type { Filing, FilerDetails, OlderPage } from "../../schemas/filings.ts";
import { folderPath, formKey, indexPath, padded } from "./identifiers.ts";

const COLUMNS = [
  "accessionNumber",
  "filingDate",
  "reportDate",
  "acceptanceDateTime",
  "act",
  "form",
  "fileNumber",
  "filmNumber",
  "items",
  "core_type",
  "size",
  "isXBRL",
  "isInlineXBRL",
  "primaryDocument",
  "primaryDocDescription",
] as const;

/** Parallel arrays; a column that was not sent is empty, all others are as long as `count`. */
export interface Rows {
  readonly count: number;
  readonly columns: Readonly<Record<(typeof COLUMNS)[number], readonly unknown[]>>;
}

/** A page of older filings as the filer's submissions list it. */
export type PageEntry = Omit<OlderPage, "url" | "fetched" | "body_url">;

export interface Submissions {
  readonly filer: FilerDetails;
  readonly recent: Rows;
  readonly pages: readonly PageEntry[];
}

type Json = Readonly<Record<string, unknown>>;

const isRecord = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const record = (value: unknown): Json => (isRecord(value) ? value : {});
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
/** Text as it was sent; "" and what is no text are null. */
const said = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null);
const texts = (value: unknown): string[] => list(value).map((one) => (typeof one === "string" ? one : ""));
const count = (value: unknown): number | null =>
  typeof value === "number" && Number.isSafeInteger(value) ? value : null;
const yes = (value: unknown): boolean => value === 1 || value === true || value === "1";

/** Null: it is not the columns of filings, or they are not of one length; rows are never shifted. */
export function readRows(value: unknown): Rows | null {
  if (!isRecord(value) || !Array.isArray(value["accessionNumber"])) return null;
  const rows = value["accessionNumber"].length;
  for (const column of COLUMNS) {
    const sent = value[column];
    const needed = column === "accessionNumber" || column === "filingDate" || column === "form";
    if (
      sent === undefined || sent === null ? needed && rows > 0 : !Array.isArray(sent) || sent.length !== rows
    )
      return null;
  }
  // Nobody else may tell a row by its place, but by these.
  const isTelling = (name: string): boolean => list(value[name]).every((cell) => typeof cell === "string");
  if (!isTelling("accessionNumber") || !isTelling("filingDate") || !isTelling("form")) return null;
  const columns = Object.fromEntries(COLUMNS.map((column) => [column, list(value[column])]));
  return { count: rows, columns: columns as Rows["columns"] };
}

/** Null: it is no filer's submissions. */
export function readSubmissions(value: unknown): Submissions | null {
  if (!isRecord(value) || !isRecord(value["filings"])) return null;
  const recent = readRows(value["filings"]["recent"]);
  const cik = Number(value["cik"]);
  if (recent === null || !Number.isSafeInteger(cik) || cik <= 0) return null;
  const pages = list(value["filings"]["files"]).map(record).map(pageOf);
  if (pages.some((page) => page === null)) return null;
  return { filer: filerOf(value, cik), recent, pages: pages as PageEntry[] };
}

/** A name that is not one of this upstream's leads nowhere: it becomes part of an address. */
function pageOf({ name, filingCount, filingFrom, filingTo }: Json): PageEntry | null {
  if (typeof name !== "string" || !/^CIK\d{10}-submissions-\d{3,6}\.json$/.test(name)) return null;
  return {
    name,
    filing_count: count(filingCount),
    filing_from: said(filingFrom),
    filing_to: said(filingTo),
  };
}

function filerOf(value: Json, cik: number): FilerDetails {
  const name = said(value["name"]);
  return {
    cik,
    cik_padded: padded(cik),
    name,
    title: name,
    tickers: texts(value["tickers"]).filter((ticker) => ticker !== ""),
    exchanges: list(value["exchanges"]).map(said),
    entity_type: said(value["entityType"]),
    sic: said(value["sic"]),
    sic_description: said(value["sicDescription"]),
    category: said(value["category"]),
    fiscal_year_end: said(value["fiscalYearEnd"]),
    state_of_incorporation: said(value["stateOfIncorporation"]),
    ein: said(value["ein"]),
    lei: said(value["lei"]),
    website: said(value["website"]),
    phone: said(value["phone"]),
    business_address: addressOf(record(value["addresses"])["business"]),
    former_names: list(value["formerNames"])
      .map(record)
      .map((former) => ({ name: said(former["name"]), from: said(former["from"]), to: said(former["to"]) })),
  };
}

function addressOf(value: unknown): FilerDetails["business_address"] {
  if (!isRecord(value)) return null;
  return {
    street1: said(value["street1"]),
    street2: said(value["street2"]),
    city: said(value["city"]),
    state_or_country: said(value["stateOrCountry"]),
    zip_code: said(value["zipCode"]),
    state_or_country_description: said(value["stateOrCountryDescription"]),
  };
}

/** What is wanted of a filer's filings; forms null: all. */
export interface Wanted {
  readonly forms: readonly string[] | null;
  readonly since: string | null;
  readonly until: string | null;
}

const DAY_MS = 24 * 60 * 60_000;
/** A page was seen to hold a filing a day younger than it says, and edges move by a day between two readings. */
const TOLERANCE_DAYS = 3;

const shifted = (date: string, days: number): string => {
  const at_ms = Date.parse(`${date}T00:00:00Z`);
  return Number.isNaN(at_ms) ? date : new Date(at_ms + days * DAY_MS).toISOString().slice(0, 10);
};

/** Whether a page can hold filings of this time; one that does not say its own can hold any. */
export function canHold({ filing_from, filing_to }: PageEntry, { since, until }: Wanted): boolean {
  if (since !== null && filing_to !== null && shifted(filing_to, TOLERANCE_DAYS) < since) return false;
  return until === null || filing_from === null || shifted(filing_from, -TOLERANCE_DAYS) <= until;
}

/** Newest first: where the latest of some form is looked for. */
export const newestFirst = (pages: readonly PageEntry[]): readonly PageEntry[] =>
  pages.toSorted((one, other) => (other.filing_to ?? "9").localeCompare(one.filing_to ?? "9"));

/** One row of one document, not yet a filing. */
interface Place {
  readonly rows: Rows;
  readonly at: number;
  readonly date: string;
}

export interface Selection {
  /** All that are wanted. */
  readonly total: number;
  /** The newest of them, at most `limit`. */
  readonly places: readonly Place[];
}

/** Everything wanted of several documents: newest filing date first, otherwise in their order; each accession once. */
export function select(
  documents: readonly Rows[],
  { forms, since, until }: Wanted,
  limit: number,
): Selection {
  const known = forms && new Set(forms);
  // Most filers have a dozen forms, written the same way every time.
  const fits = new Map<string, boolean>();
  const isForm = (form: string): boolean => {
    let fit = fits.get(form);
    if (fit === undefined) fits.set(form, (fit = known === null || known.has(formKey(form))));
    return fit;
  };
  const seen = new Set<string>();
  const places: Place[] = [];
  let is_sorted = true;
  let last = "9";
  for (const rows of documents) {
    const { accessionNumber, filingDate, form } = rows.columns;
    for (let at = 0; at < rows.count; at++) {
      const date = filingDate[at] as string;
      if ((since !== null && date < since) || (until !== null && date > until)) continue;
      if (!isForm(form[at] as string)) continue;
      const accession = accessionNumber[at] as string;
      // The same filing may stand in the recent list and on a page.
      if (documents.length > 1) {
        if (seen.has(accession)) continue;
        seen.add(accession);
      }
      if (date > last) is_sorted = false;
      last = date;
      places.push({ rows, at, date });
    }
  }
  const sorted = is_sorted
    ? places
    : places.toSorted((one, other) => (one.date < other.date ? 1 : one.date > other.date ? -1 : 0));
  return { total: places.length, places: sorted.slice(0, limit) };
}

/** A row as it is answered. Addresses are built from the CIK asked for; a co-registrant's leads to the same place. */
export function filingOf({ rows: { columns }, at }: Place, cik: number, www_url: string): Filing {
  const accession = columns.accessionNumber[at] as string;
  const form = columns.form[at] as string;
  const primary = said(columns.primaryDocument[at]);
  const is_address = /^\d{10}-\d{2}-\d{6}$/.test(accession);
  return {
    accession,
    form,
    filing_date: columns.filingDate[at] as string,
    report_date: said(columns.reportDate[at]),
    acceptance_datetime: said(columns.acceptanceDateTime[at]),
    act: said(columns.act[at]),
    file_number: said(columns.fileNumber[at]),
    film_number: said(columns.filmNumber[at]),
    // As it was sent, ",," and "" among it.
    items: typeof columns.items[at] === "string" ? columns.items[at] : null,
    core_type: said(columns.core_type[at]),
    size: count(columns.size[at]),
    is_xbrl: yes(columns.isXBRL[at]),
    is_inline_xbrl: yes(columns.isInlineXBRL[at]),
    primary_document: primary,
    primary_document_description: said(columns.primaryDocDescription[at]),
    // Ownership forms name a styled copy in a sub-folder; the folder holds no such file.
    primary_document_url:
      primary === null || primary.includes("/") || !is_address
        ? null
        : `${www_url}${folderPath(cik, accession)}${encodeURIComponent(primary)}`,
    index_url: is_address ? `${www_url}${indexPath(cik, accession)}` : null,
    is_amendment: formKey(form).endsWith("/A"),
  };
}
