/**
 * What a filing's index page lists, and what its folder listing does: parsed as they are sent, addresses always built
 * from the CIK that was asked for. It fetches nothing.
 */
import { Parser } from "htmlparser2";
import type { YieldToEventLoop } from "../../cluster/ports/event-loop.ts";
import type { FilingDocument } from "../../schemas/filings.ts";
import { easternToUtc } from "./eastern.ts";
import { folderPath, parseDocumentName } from "./identifiers.ts";

interface FilingLocation {
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
/** Links of a longer list are nobody's documents. */
const MAX_ROWS = 20_000;
/** No index page nests like this, and a parser slows down with each level. */
const MAX_DEPTH = 1_000;

const tidy = (text: string): string => text.replaceAll(/\s+/gu, " ").trim();
const textOrNull = (text: string | undefined): string | null => tidy(text ?? "") || null;
const day = (text: string | undefined): string | null =>
  /^\d{4}-\d{2}-\d{2}$/.exec(tidy(text ?? ""))?.[0] ?? null;

/** Null: it is no index page. */
export async function parseIndexPage(
  html: string,
  where: FilingLocation,
  yieldToEventLoop: YieldToEventLoop,
): Promise<IndexPage | null> {
  const page = indexParser(where);
  for (let at = 0; at < html.length; at += SLICE_CHARS) {
    page.write(html.slice(at, at + SLICE_CHARS));
    await yieldToEventLoop();
  }
  return page.end();
}

interface Cell {
  text: string;
  href: string | null;
}

interface Party {
  name: string;
  readonly ciks: Set<number>;
}

function indexParser(where: FilingLocation): { write: (html: string) => void; end: () => IndexPage | null } {
  let form: string | null = null;
  const info = new Map<string, string>();
  const parties: Party[] = [];
  const rows: Cell[][] = [];
  /** Where text goes, and at the end of which element it stops. */
  let into: ((text: string) => void) | null = null;
  let until = 0;
  let depth = 0;
  let too_deep = false;
  let label = "";
  let in_table = false;
  let row: Cell[] | null = null;
  let party: Party | null = null;
  let named = (): string | null => null;

  const collect = (take: (text: string) => void): void => {
    into = take;
    until = depth;
  };

  const parser = new Parser(
    {
      onopentag(name, attributes) {
        if (++depth > MAX_DEPTH) too_deep = true;
        const kind = attributes["class"] ?? "";
        if (name === "table") {
          in_table = /^(Document Format Files|Data Files)$/i.test(tidy(attributes["summary"] ?? ""));
          return;
        }
        if (in_table) {
          if (name === "tr") row = [];
          else if (name === "td" && row) {
            const cell: Cell = { text: "", href: null };
            row.push(cell);
            collect((text) => void (cell.text += text));
          } else if (name === "a" && row?.length) row.at(-1)!.href ??= attributes["href"] ?? null;
          return;
        }
        if (name === "a" && party) {
          const cik = /[?&]CIK=0*(\d{1,10})(?:&|$)/i.exec(attributes["href"] ?? "");
          if (cik) party.ciks.add(Number(cik[1]));
          return;
        }
        if (name === "div" && kind === "infoHead") {
          label = "";
          collect((text) => void (label += text));
        } else if (name === "div" && kind === "info") {
          const of = tidy(label);
          if (!info.has(of)) info.set(of, "");
          collect((text) => void info.set(of, info.get(of)! + text));
        } else if (name === "span" && kind === "companyName") {
          const fresh: Party = { name: "", ciks: new Set() };
          party = fresh;
          parties.push(fresh);
          collect((text) => void (fresh.name += text));
        } else if (name === "strong" && form === null && into === null) {
          let strong = "";
          collect((text) => void (strong += text));
          named = () => textOrNull(/^\s*Form\s+(.+)$/s.exec(strong)?.[1]);
        }
      },
      ontext(text) {
        into?.(text);
      },
      onclosetag(name) {
        if (depth === until) into = null;
        if (name === "strong") form ??= named();
        depth--;
        if (name === "table") in_table = false;
        if (name === "tr" && row) {
          if (row.length >= 5 && rows.length < MAX_ROWS) rows.push(row);
          row = null;
        }
      },
    },
    { decodeEntities: true },
  );

  return {
    write: (html) => {
      if (!too_deep) parser.write(html);
    },
    end() {
      parser.end();
      if (too_deep) return null;
      if (form === null && info.size === 0 && rows.length === 0) return null;
      const asked = parties.find(({ ciks }) => ciks.has(where.cik)) ?? parties[0];
      return {
        form,
        filing_date: day(info.get("Filing Date")),
        report_date: day(info.get("Period of Report")),
        accepted: easternToUtc(tidy(info.get("Accepted") ?? "")),
        company: asked ? partyName(asked.name) : null,
        documents: rows.map((cells) => documentOf(cells, where)).filter((document) => document !== null),
      };
    },
  };
}

/** `NVIDIA CORP (Filer) CIK: 0001045810 (see all company filings)` to the name alone. */
const partyName = (text: string): string | null => {
  const before = tidy(text).replace(/\s*CIK:?\s*\d{10}.*$/, "");
  return textOrNull(before.replace(/\s*\((?:Filer|Filed for|Filed by|Issuer|Reporting|Subject)\)\s*$/i, ""));
};

/** Null: a row of a sub-folder, which holds a styled copy of another row's document. */
function documentOf(cells: readonly Cell[], where: FilingLocation): FilingDocument | null {
  const [sequence, description, link, type, size] = cells as readonly [Cell, Cell, Cell, Cell, Cell];
  const name = fileNameOf(link.href, folderPath(where.cik, where.accession));
  if (name === "elsewhere") return null;
  return {
    sequence: textOrNull(sequence.text),
    description: textOrNull(description.text),
    document: name,
    type: textOrNull(type.text),
    size: sizeOf(size.text),
    url: name === null ? null : addressOf(name, where),
  };
}

const sizeOf = (text: string): number | null => {
  const digits = text.replaceAll(/[\s,]/gu, "");
  return /^\d{1,15}$/.test(digits) ? Number(digits) : null;
};

const addressOf = (name: string, { cik, accession, www_url }: FilingLocation): string =>
  `${www_url}${folderPath(cik, accession)}${encodeURIComponent(name)}`;

/**
 * The file a link leads to: null when it leads to the folder itself, `elsewhere` when to what lies deeper in it. Links
 * may go through the viewer (`/ix?doc=…`) and name another registrant's CIK.
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
  const name = decoded(names[0] ?? "");
  return name !== "" && parseDocumentName(name).kind === "valid" ? name : null;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The folder's own listing, where there is no index page; it knows no types. Null: it is no such listing. */
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
