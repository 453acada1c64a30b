/**
 * The parsers of a filing's index page and of its folder's listing. They read what the filing system sends; addresses in
 * the result are always built from the requested CIK.
 */
import { type CheerioAPI, load } from "cheerio/slim";
import { unescaped } from "../../lib/web/url.ts";
import { DomHandler, Parser } from "htmlparser2";
import type { FilingDocument } from "../../../schemas/filings.ts";
import { easternToUtc } from "./eastern.ts";
import { folderPath, parseDocumentName } from "./identifiers.ts";

export interface FilingLocation {
  readonly cik: number;
  readonly accession: string;
  readonly www_url: string;
}

export interface IndexPage {
  readonly form: string | null;
  readonly filing_date: string | null;
  readonly report_date: string | null;
  /** In UTC. */
  readonly accepted: string | null;
  readonly company: string | null;
  readonly documents: readonly FilingDocument[];
}

const SLICE_CHARS = 32 * 1024;
/** Rows beyond this are not read: no filing has so many documents. */
const MAX_ROWS = 20_000;
/** No index page nests like this, and a document tree this deep would exhaust the stack. */
const MAX_DEPTH = 1_000;

const tidy = (text: string): string => text.replaceAll(/\s+/gu, " ").trim();
const textOrNull = (text: string | undefined): string | null => tidy(text ?? "") || null;
const day = (text: string | undefined): string | null =>
  /^\d{4}-\d{2}-\d{2}$/.exec(tidy(text ?? ""))?.[0] ?? null;

/** Null: the page is no index page. */
export function parseIndexPage(html: string, location: FilingLocation): IndexPage | null {
  const $ = parseHtml(html);
  if (!$) return null;
  const form = formOf($);
  const info = infoOf($);
  const rows = rowsOf($);
  if (form === null && info.size === 0 && rows.length === 0) return null;
  return {
    form,
    filing_date: day(info.get("Filing Date")),
    report_date: day(info.get("Period of Report")),
    accepted: easternToUtc(tidy(info.get("Accepted") ?? "")),
    company: companyOf($, location.cik),
    documents: rows.map((row) => documentOf(row, location)).filter((document) => document !== null),
  };
}

/** Null: it nests too deeply. */
function parseHtml(html: string): CheerioAPI | null {
  let depth = 0;
  let isTooDeep = false;
  const tree = new DomHandler();
  const parser = new Parser({
    onopentag(name, attributes) {
      isTooDeep ||= ++depth > MAX_DEPTH;
      if (!isTooDeep) tree.onopentag(name, attributes);
    },
    ontext: (text) => tree.ontext(text),
    onclosetag() {
      depth--;
      if (!isTooDeep) tree.onclosetag();
    },
    onend: () => tree.onend(),
  });
  // In slices, because the parser's own time grows with the square of the depth.
  for (let at = 0; at < html.length && !isTooDeep; at += SLICE_CHARS)
    parser.write(html.slice(at, at + SLICE_CHARS));
  parser.end();
  // cheerio's types come from an older version of the parser, whose trees have the same form.
  return isTooDeep ? null : load(tree.root as unknown as Parameters<typeof load>[0]);
}

/** The tables of documents; everything else on the page is outside of them. */
const TABLES = 'table[summary="Document Format Files" i], table[summary="Data Files" i]';

/** "Form 10-K" stands in the heading of the page. */
function formOf($: CheerioAPI): string | null {
  for (const element of $("strong")) {
    const form = /^\s*Form\s+(.+)$/s.exec($(element).text())?.[1];
    if (form !== undefined && $(element).closest(TABLES).length === 0) return textOrNull(form);
  }
  return null;
}

/** Labels and values, which alternate: "Filing Date", "2024-11-01". */
function infoOf($: CheerioAPI): ReadonlyMap<string, string> {
  const info = new Map<string, string>();
  let label = "";
  for (const element of $('div[class="infoHead"], div[class="info"]')) {
    const text = $(element).text();
    if ($(element).hasClass("infoHead")) label = tidy(text);
    else if (!info.has(label)) info.set(label, text);
  }
  return info;
}

/** The name of the party with this CIK, else of the first party. The links after a party's name have its CIK. */
function companyOf($: CheerioAPI, cik: number): string | null {
  let first: string | null = null;
  let name: string | null = null;
  for (const element of $('span[class="companyName"], a[href*="CIK=" i]')) {
    const node = $(element);
    if (node.is("span")) {
      name = node.text();
      first ??= name;
      continue;
    }
    const linked = /[?&]CIK=0*(\d{1,10})(?:&|$)/i.exec(node.attr("href")!);
    if (name !== null && Number(linked?.[1]) === cik && node.closest(TABLES).length === 0)
      return partyName(name);
  }
  return first === null ? null : partyName(first);
}

interface Row {
  readonly sequence: string;
  readonly description: string;
  readonly href: string | null;
  readonly type: string;
  readonly size: string;
}

/** Rows of at least five cells; shorter ones are headings. */
function rowsOf($: CheerioAPI): readonly Row[] {
  const rows: Row[] = [];
  const tables = $(TABLES);
  const elements = [...tables.children("tr"), ...tables.children("tbody").children("tr")];
  for (const element of elements.slice(0, MAX_ROWS)) {
    const cells = $(element).children("td");
    if (cells.length < 5) continue;
    const textOf = (column: number): string => $.text([cells[column]!]);
    rows.push({
      sequence: textOf(0),
      description: textOf(1),
      href: cells.eq(2).find("a[href]").attr("href") ?? null,
      type: textOf(3),
      size: textOf(4),
    });
  }
  return rows;
}

/** `NVIDIA CORP (Filer) CIK: 0001045810 (see all company filings)` to the name alone. */
const partyName = (text: string): string | null => {
  const withoutCik = tidy(text).replace(/(?:(?<!\s)\s+)?CIK:?\s*\d{10}.*$/, "");
  return textOrNull(
    withoutCik.replace(/(?:(?<!\s)\s+)?\((?:Filer|Filed for|Filed by|Issuer|Reporting|Subject)\)\s*$/i, ""),
  );
};

/** Null: a row of a sub-folder, which has a styled copy of another row's document. */
function documentOf(row: Row, location: FilingLocation): FilingDocument | null {
  const name = fileNameOf(row.href, folderPath(location.cik, location.accession));
  if (name === "elsewhere") return null;
  return {
    sequence: textOrNull(row.sequence),
    description: textOrNull(row.description),
    document: name,
    type: textOrNull(row.type),
    size: sizeOf(row.size),
    url: name === null ? null : addressOf(name, location),
  };
}

const sizeOf = (text: string): number | null => {
  const digits = text.replaceAll(/[\s,]/gu, "");
  return /^\d{1,15}$/.test(digits) ? Number(digits) : null;
};

const addressOf = (name: string, { cik, accession, www_url }: FilingLocation): string =>
  `${www_url}${folderPath(cik, accession)}${encodeURIComponent(name)}`;

/**
 * The file a link leads to; null: it leads to the folder itself; `elsewhere`: it leads to a sub-folder. Links may go
 * through the viewer (`/ix?doc=…`) and name another registrant's CIK.
 */
function fileNameOf(href: string | null, folder: string): string | null {
  if (href === null) return null;
  const url = URL.parse(href, "https://filings.invalid");
  const path = url?.pathname === "/ix" ? (url.searchParams.get("doc") ?? "") : (url?.pathname ?? "");
  // "", Archives, edgar, data, cik, accession, then the name.
  const segments = path.split("/");
  const depth = folder.split("/").length - 1;
  // Pages of the flat form name the complete text file beside the folder: /Archives/edgar/data/320193/x.txt
  const names = segments[depth - 1]?.includes(".") ? segments.slice(depth - 1) : segments.slice(depth);
  if (names.length > 1) return "elsewhere";
  const name = unescaped(names[0] ?? "");
  return name !== "" && parseDocumentName(name).kind === "valid" ? name : null;
}

/** The folder's own listing, which has no types of documents. Null: the value is no such listing. */
export function parseFolderListing(value: unknown, where: FilingLocation): readonly FilingDocument[] | null {
  const listing = (value as { directory?: { item?: unknown } } | null)?.directory?.item;
  if (!Array.isArray(listing)) return null;
  const own = new Set([`${where.accession}-index.html`, `${where.accession}-index-headers.html`]);
  own.add(`${where.accession}-index.htm`);
  return listing.slice(0, MAX_ROWS).flatMap((item: unknown) => {
    const { name, type, size } = (item ?? {}) as { name?: unknown; type?: unknown; size?: unknown };
    if (typeof name !== "string" || type === "folder.gif" || own.has(name)) return [];
    if (parseDocumentName(name).kind === "invalid") return [];
    return [
      {
        sequence: null,
        description: null,
        document: name,
        type: null,
        size: typeof size === "string" ? sizeOf(size) : typeof size === "number" ? size : null,
        url: addressOf(name, where),
      },
    ];
  });
}
