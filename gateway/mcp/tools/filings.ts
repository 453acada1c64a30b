/** Tools for the filings of the SEC: filings, filing_document. */
import { Type } from "typebox";
import { type AskApi, withQuery } from "../api.ts";
import { factLine, inline, link, table } from "../markdown.ts";
import { contentOf } from "../tool-errors.ts";
import { type ToolText, ToolError, type Tool, tool } from "../tool.ts";

const TIMEOUT_S = 40;
const LIMIT = 20;

interface FilingsArgs {
  readonly ticker?: string;
  readonly cik?: string;
  readonly name?: string;
  readonly isin?: string;
  readonly query?: string;
  readonly forms?: readonly string[];
  readonly since?: string;
  readonly until?: string;
  readonly limit?: number;
}

const filings = tool({
  name: "filings",
  title: "Find filings of the SEC",
  description:
    "A company's filings with the SEC, newest first (one of ticker, cik, name, isin), or a full-text search in filings (query).",
  input: Type.Object({
    ticker: Type.Optional(Type.String()),
    cik: Type.Optional(Type.String()),
    name: Type.Optional(Type.String()),
    isin: Type.Optional(Type.String()),
    query: Type.Optional(Type.String({ description: 'Words, "phrases", OR, -without' })),
    forms: Type.Optional(Type.Array(Type.String(), { description: "As 10-K, 8-K", maxItems: 20 })),
    since: Type.Optional(Type.String({ description: "YYYY-MM-DD" })),
    until: Type.Optional(Type.String({ description: "YYYY-MM-DD" })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: LIMIT })),
  }),
  async tell(args, { ask }) {
    return args.query === undefined ? tellSubmissions(ask, args) : tellHits(ask, args, args.query);
  },
});

async function tellSubmissions(ask: AskApi, args: FilingsArgs): Promise<ToolText> {
  const { ticker, cik, name, isin, forms, since, until, limit = LIMIT } = args;
  const resolve = withQuery("/v1/filings/companies/resolve", {
    ticker,
    cik,
    name,
    isin,
    timeout_s: TIMEOUT_S,
  });
  const filer = await contentOf(ask, { method: "GET", path: resolve });
  if (filer.cik === null) {
    const rows = filer.candidates.map(({ cik: number, title }: { cik: number; title: string }) => [
      number,
      title,
    ]);
    throw new ToolError(
      "ambiguous",
      `Several filers match. Call again with the cik of one:\n\n${table(["cik", "name"], rows)}`,
    );
  }
  const query = { forms: forms?.join(","), since, until, limit, timeout_s: TIMEOUT_S };
  const list = await contentOf(ask, {
    method: "GET",
    path: withQuery(`/v1/filings/companies/${filer.cik}/submissions`, query),
  });
  const found = list.filings as Record<string, any>[];
  const rows = found.map((filing) => [
    filing["form"],
    filing["filing_date"],
    filing["report_date"],
    filing["accession"],
    filing["primary_document"],
    filing["index_url"] && link("index", filing["index_url"]),
  ]);
  const title = `${inline(String(filer.title))} (CIK ${filer.cik})`;
  const head = ["form", "filed", "period", "accession", "main document", "source"];
  return {
    markdown:
      rows.length === 0
        ? `${title} has no such filing.`
        : `${title}: ${found.length} of ${list.filings_total ?? found.length} filings. Read one with filing_document.\n\n${table(head, rows)}`,
    facts: {
      cik: filer.cik,
      total: list.filings_total,
      filings: found.map(({ form, accession, primary_document }) => ({ form, accession, primary_document })),
      source_url: list.source_url,
    },
  };
}

async function tellHits(
  ask: AskApi,
  { forms, since, until, limit = LIMIT }: FilingsArgs,
  q: string,
): Promise<ToolText> {
  // The full-text search takes both dates or none; it goes back to 2001.
  const dated = since !== undefined || until !== undefined;
  const period = dated && {
    dateRange: "custom",
    startdt: since ?? "2001-01-01",
    enddt: until ?? "2100-01-01",
  };
  const path = withQuery("/v1/filings/search", {
    q,
    forms: forms?.join(","),
    ...period,
    timeout_s: TIMEOUT_S,
  });
  const { hits, total } = await contentOf(ask, { method: "GET", path });
  const shown = (hits as Record<string, any>[]).slice(0, limit);
  const rows = shown.map((hit) => [
    hit["display_names"].join("; "),
    hit["form"],
    hit["file_date"],
    hit["ciks"].join(", "),
    hit["accession"],
    hit["document"] && link(hit["document"], hit["url"] ?? ""),
  ]);
  return {
    markdown: `${shown.length} of ${total ?? shown.length} documents for ${inline(q)}.\n\n${table(["filer", "form", "filed", "cik", "accession", "document"], rows)}`,
    facts: {
      total,
      hits: shown.map(({ ciks, accession, document }) => ({ cik: ciks[0] ?? null, accession, document })),
    },
  };
}

const filingDocument = tool({
  name: "filing_document",
  title: "Read a filing",
  description: "Read a document of a filing. Without `document`: the list of the filing's documents.",
  input: Type.Object({
    cik: Type.String({ description: "As filings gives it" }),
    accession: Type.String({ description: "As 0000320193-24-000123" }),
    document: Type.Optional(Type.String({ description: "A file name of the filing" })),
  }),
  async tell({ cik, accession, document }, { ask }) {
    if (document === undefined) return tellIndex(ask, cik, accession);
    const body = { cik, accession, document, include_html: false, timeout_s: TIMEOUT_S };
    const page = await contentOf(ask, { method: "POST", path: "/v1/filings/documents/fetch", body });
    const about = factLine({ Source: page.final_url, retrieved: page.retrieved_at });
    return {
      head: about,
      markdown: page.text ?? "The document has no text.",
      facts: { url: page.final_url, body_url: page.body_url, request_id: page.request_id },
    };
  },
});

async function tellIndex(ask: AskApi, cik: string, accession: string): Promise<ToolText> {
  const place = `${encodeURIComponent(cik)}/${encodeURIComponent(accession)}`;
  const index = await contentOf(ask, {
    method: "GET",
    path: withQuery(`/v1/filings/index/${place}`, { timeout_s: TIMEOUT_S }),
  });
  const documents = index.documents as Record<string, any>[];
  const rows = documents.map(({ document, type, description, size }) => [document, type, description, size]);
  const about = factLine({
    Source: index.index_url,
    form: index.form,
    filed: index.filing_date,
    filer: index.company,
  });
  return {
    markdown: `${about}\n\n${table(["document", "type", "description", "bytes"], rows)}`,
    facts: {
      accession: index.accession,
      documents: documents.map(({ document }) => document),
      url: index.index_url,
    },
  };
}

export const FILING_TOOLS: readonly Tool[] = [filings, filingDocument];
