/**
 * The parser of a filer's submissions and of the pages of older ones. It also selects the filings of an answer, and the
 * pages that can have matching filings. Rows stay columns, as the filing system sends them, until they are answered.
 */
import type { Filing, FilerDetails, OlderPage } from "../../../schemas/filings.ts";
import { folderPath, formKey, indexPath, padCik } from "./identifiers.ts";

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

/** Parallel arrays: a column that was not sent is empty, all others have `count` cells. */
export interface Rows {
  readonly count: number;
  readonly columns: Readonly<Record<(typeof COLUMNS)[number], readonly unknown[]>>;
}

/** A page of older filings as the filer's submissions describe it. */
export type PageEntry = Omit<OlderPage, "url" | "fetched" | "body_url">;

type Json = Readonly<Record<string, unknown>>;

const isRecord = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const record = (value: unknown): Json => (isRecord(value) ? value : {});
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
/** Text as it was sent; null for "" and for anything that is no text. */
const textOrNull = (value: unknown): string | null =>
  typeof value === "string" && value !== "" ? value : null;
const texts = (value: unknown): string[] => list(value).map((item) => (typeof item === "string" ? item : ""));
const count = (value: unknown): number | null =>
  typeof value === "number" && Number.isSafeInteger(value) ? value : null;
const isTrue = (value: unknown): boolean => value === 1 || value === true || value === "1";

/** Null: these are no columns of filings, or they differ in length. Rows are never shifted. */
export function parseRows(value: unknown): Rows | null {
  if (!isRecord(value) || !Array.isArray(value["accessionNumber"])) return null;
  const rows = value["accessionNumber"].length;
  for (const column of COLUMNS) {
    const cells = value[column];
    const needed = column === "accessionNumber" || column === "filingDate" || column === "form";
    if (
      cells === undefined || cells === null
        ? needed && rows > 0
        : !Array.isArray(cells) || cells.length !== rows
    )
      return null;
  }
  // A row is identified by these three, so all their cells must be text.
  const allText = (name: string): boolean => list(value[name]).every((cell) => typeof cell === "string");
  if (!allText("accessionNumber") || !allText("filingDate") || !allText("form")) return null;
  const columns = Object.fromEntries(COLUMNS.map((column) => [column, list(value[column])]));
  return { count: rows, columns: columns as Rows["columns"] };
}

/** Null: these are no submissions of a filer. */
export function parseSubmissions(
  value: unknown,
): { readonly filer: FilerDetails; readonly recent: Rows; readonly pages: readonly PageEntry[] } | null {
  if (!isRecord(value) || !isRecord(value["filings"])) return null;
  const recent = parseRows(value["filings"]["recent"]);
  const cik = Number(value["cik"]);
  if (recent === null || !Number.isSafeInteger(cik) || cik <= 0) return null;
  const pages = list(value["filings"]["files"]).map(record).map(pageOf);
  if (pages.some((page) => page === null)) return null;
  return { filer: filerOf(value, cik), recent, pages: pages as PageEntry[] };
}

/** The name becomes part of an address, so a name of another form is refused. */
function pageOf({ name, filingCount, filingFrom, filingTo }: Json): PageEntry | null {
  if (typeof name !== "string" || !/^CIK\d{10}-submissions-\d{3,6}\.json$/.test(name)) return null;
  return {
    name,
    filing_count: count(filingCount),
    filing_from: textOrNull(filingFrom),
    filing_to: textOrNull(filingTo),
  };
}

function filerOf(value: Json, cik: number): FilerDetails {
  const name = textOrNull(value["name"]);
  return {
    cik,
    cik_padded: padCik(cik),
    name,
    title: name,
    tickers: texts(value["tickers"]).filter((ticker) => ticker !== ""),
    exchanges: list(value["exchanges"]).map(textOrNull),
    entity_type: textOrNull(value["entityType"]),
    sic: textOrNull(value["sic"]),
    sic_description: textOrNull(value["sicDescription"]),
    category: textOrNull(value["category"]),
    fiscal_year_end: textOrNull(value["fiscalYearEnd"]),
    state_of_incorporation: textOrNull(value["stateOfIncorporation"]),
    ein: textOrNull(value["ein"]),
    lei: textOrNull(value["lei"]),
    website: textOrNull(value["website"]),
    phone: textOrNull(value["phone"]),
    business_address: addressOf(record(value["addresses"])["business"]),
    former_names: list(value["formerNames"])
      .map(record)
      .map((former) => ({
        name: textOrNull(former["name"]),
        from: textOrNull(former["from"]),
        to: textOrNull(former["to"]),
      })),
  };
}

function addressOf(value: unknown): FilerDetails["business_address"] {
  if (!isRecord(value)) return null;
  return {
    street1: textOrNull(value["street1"]),
    street2: textOrNull(value["street2"]),
    city: textOrNull(value["city"]),
    state_or_country: textOrNull(value["stateOrCountry"]),
    zip_code: textOrNull(value["zipCode"]),
    state_or_country_description: textOrNull(value["stateOrCountryDescription"]),
  };
}

/** The filings an answer lists; `forms` null: all forms. */
export interface FilingFilter {
  readonly forms: readonly string[] | null;
  readonly since: string | null;
  readonly until: string | null;
}

const DAY_MS = 24 * 60 * 60_000;
/** Pages were seen with a filing a day newer than they state, and their limits move by a day between two reads. */
const TOLERANCE_DAYS = 3;

const shifted = (date: string, days: number): string => {
  const at_ms = Date.parse(`${date}T00:00:00Z`);
  return Number.isNaN(at_ms) ? date : new Date(at_ms + days * DAY_MS).toISOString().slice(0, 10);
};

/** Whether a page can have filings of this period; a page without dates can have any. */
export function canHold({ filing_from, filing_to }: PageEntry, { since, until }: FilingFilter): boolean {
  if (since !== null && filing_to !== null && shifted(filing_to, TOLERANCE_DAYS) < since) return false;
  return until === null || filing_from === null || shifted(filing_from, -TOLERANCE_DAYS) <= until;
}

/** The order in which pages are read for the latest filing of a form. */
export const newestFirst = (pages: readonly PageEntry[]): readonly PageEntry[] =>
  pages.toSorted((a, b) => (b.filing_to ?? "9").localeCompare(a.filing_to ?? "9"));

/** The place of a row: its document and its position there. */
interface RowRef {
  readonly rows: Rows;
  readonly at: number;
  readonly date: string;
}

export interface Selection {
  /** All matching filings. */
  readonly total: number;
  /** The newest of them, at most `limit`. */
  readonly rows: readonly RowRef[];
}

/** The matching filings of several documents, newest filing date first, otherwise in their order; each accession once. */
export function select(
  documents: readonly Rows[],
  { forms, since, until }: FilingFilter,
  limit: number,
): Selection {
  const wantedForms = forms && new Set(forms);
  // Most filers use a dozen forms, always written the same way.
  const matchesByForm = new Map<string, boolean>();
  const isForm = (form: string): boolean => {
    let matches = matchesByForm.get(form);
    if (matches === undefined)
      matchesByForm.set(form, (matches = wantedForms === null || wantedForms.has(formKey(form))));
    return matches;
  };
  const accessions = new Set<string>();
  const places: RowRef[] = [];
  let isSorted = true;
  let last = "9";
  for (const rows of documents) {
    const { accessionNumber, filingDate, form } = rows.columns;
    for (let at = 0; at < rows.count; at++) {
      const date = filingDate[at] as string;
      if ((since !== null && date < since) || (until !== null && date > until)) continue;
      if (!isForm(form[at] as string)) continue;
      const accession = accessionNumber[at] as string;
      // A filing can be both in the recent list and on a page.
      if (documents.length > 1) {
        if (accessions.has(accession)) continue;
        accessions.add(accession);
      }
      if (date > last) isSorted = false;
      last = date;
      places.push({ rows, at, date });
    }
  }
  const sorted = isSorted
    ? places
    : places.toSorted((a, b) => (a.date < b.date ? 1 : a.date > b.date ? -1 : 0));
  return { total: places.length, rows: sorted.slice(0, limit) };
}

/** A row in the form of the API. Addresses use the requested CIK; those with a co-registrant's lead to the same folder. */
export function filingOf({ rows: { columns }, at }: RowRef, cik: number, www_url: string): Filing {
  const accession = columns.accessionNumber[at] as string;
  const form = columns.form[at] as string;
  const primary = textOrNull(columns.primaryDocument[at]);
  const hasAddress = /^\d{10}-\d{2}-\d{6}$/.test(accession);
  return {
    accession,
    form,
    filing_date: columns.filingDate[at] as string,
    report_date: textOrNull(columns.reportDate[at]),
    acceptance_datetime: textOrNull(columns.acceptanceDateTime[at]),
    act: textOrNull(columns.act[at]),
    file_number: textOrNull(columns.fileNumber[at]),
    film_number: textOrNull(columns.filmNumber[at]),
    // As it was sent, also ",," and "".
    items: typeof columns.items[at] === "string" ? columns.items[at] : null,
    core_type: textOrNull(columns.core_type[at]),
    size: count(columns.size[at]),
    is_xbrl: isTrue(columns.isXBRL[at]),
    is_inline_xbrl: isTrue(columns.isInlineXBRL[at]),
    primary_document: primary,
    primary_document_description: textOrNull(columns.primaryDocDescription[at]),
    // Ownership forms name a styled copy in a sub-folder, and the folder itself has no such file.
    primary_document_url:
      primary === null || primary.includes("/") || !hasAddress
        ? null
        : `${www_url}${folderPath(cik, accession)}${encodeURIComponent(primary)}`,
    index_url: hasAddress ? `${www_url}${indexPath(cik, accession)}` : null,
    is_amendment: formKey(form).endsWith("/A"),
  };
}
