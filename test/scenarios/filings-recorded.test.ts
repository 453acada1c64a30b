/**
 * Recorded answers of the real filing system, served in the layout of its own addresses, against answers worked out by
 * an independent program (expected.json beside them). They are not part of this repository; without them one line says so.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { type Edgar, edgar, hasSharedEdgar, SHARED_EDGAR } from "../harness/edgar.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";

interface Filed {
  readonly accession: string;
  readonly form: string;
  readonly filing_date: string;
  readonly report_date?: string;
  readonly primary_document: string;
}

interface Expected {
  readonly submissions: Readonly<
    Record<
      string,
      {
        readonly cik: number;
        readonly name: string;
        readonly tickers: readonly string[];
        readonly exchanges: readonly string[];
        readonly older_pages: readonly (readonly [string, number, string, string, boolean])[];
        readonly all_pages_stored: boolean;
        readonly filings_total: number;
        readonly latest_annual: Filed | null;
        readonly latest_10Q: Filed | null;
        readonly amendments: number;
        readonly primary_in_subfolder: number;
        readonly primary_empty: number;
        readonly count_since_2018: number;
        readonly former_names: number;
      }
    >
  >;
  readonly facts: Readonly<Record<string, { readonly cik: number }>>;
  readonly index: Readonly<Record<string, any>>;
  readonly tickers: any;
  readonly latest_only_in_older_page: Readonly<Record<string, readonly Filed[]>>;
  readonly since_at_page_boundary: Readonly<
    Record<
      string,
      readonly { readonly since: string; readonly filings_total: number; readonly page_read: boolean }[]
    >
  >;
}

describe.skipIf(!hasSharedEdgar).each(SETUPS.slice(0, 1))("recorded filings, $setup", ({ start }) => {
  let upstream: Edgar;
  let expected: Expected;
  const { service } = scenario(start, async () => {
    expected = JSON.parse(readFileSync(join(SHARED_EDGAR, "expected.json"), "utf8")) as Expected;
    upstream = await edgar({ folders: [SHARED_EDGAR] });
    return upstream.environment;
  });
  afterAll(() => upstream.close());
  const get = async (path: string): Promise<any> => {
    const response = await service.call("GET", `/v1/filings${path}`);
    expect(response.status).toBe(200);
    return response.json;
  };
  const document = async (cik: number, accession: string, name: string): Promise<any> =>
    (await service.call("POST", "/v1/filings/documents/fetch", { body: { cik, accession, document: name } }))
      .json;

  test("submissions", async () => {
    for (const filer of Object.values(expected.submissions)) {
      const { cik, name, tickers, exchanges, all_pages_stored } = filer;
      const history = `history=${String(all_pages_stored)}`;
      const answer = await get(`/companies/${cik}/submissions?limit=10000&${history}`);
      expect(answer).toMatchObject({ cik, name, tickers, exchanges, filings_total: filer.filings_total });
      expect(answer.former_names).toHaveLength(filer.former_names);
      expect(
        answer.files.map((page: any) => [page.name, page.filing_count, page.filing_from, page.filing_to]),
      ).toEqual(filer.older_pages.map((page) => page.slice(0, 4)));
      const filings: any[] = answer.filings;
      const count = (fits: (filing: any) => boolean): number => filings.filter(fits).length;
      expect({
        cik,
        amendments: count(({ is_amendment }) => is_amendment),
        primary_in_subfolder: count(({ primary_document }) => primary_document?.includes("/")),
        primary_empty: count(({ primary_document }) => primary_document === null),
        addresses: count(({ primary_document_url }) => primary_document_url !== null),
      }).toEqual({
        cik,
        amendments: filer.amendments,
        primary_in_subfolder: filer.primary_in_subfolder,
        primary_empty: filer.primary_empty,
        addresses: filer.filings_total - filer.primary_in_subfolder - filer.primary_empty,
      });
      const dates = filings.map(({ filing_date }) => filing_date);
      expect(dates).toEqual(dates.toSorted((one, other) => (one < other ? 1 : one > other ? -1 : 0)));
      const since = await get(`/companies/${cik}/submissions?since=2018-01-01&${history}`);
      expect([cik, since.filings_total]).toEqual([cik, filer.count_since_2018]);
      if (!all_pages_stored) continue;
      for (const [forms, latest] of [
        ["", filer.latest_annual],
        ["?forms=10-Q", filer.latest_10Q],
      ] as const) {
        const found = await get(`/companies/${cik}/filings/latest${forms}`);
        expect(found).toMatchObject(latest ?? { error: "not_found" });
      }
    }
  });

  test("filings that only older pages have", async () => {
    for (const [key, filings] of Object.entries(expected.latest_only_in_older_page))
      for (const filed of filings) {
        const forms = encodeURIComponent(filed.form);
        const found = await get(`/companies/${Number(key.slice(3))}/filings/latest?forms=${forms}`);
        expect(found).toMatchObject(filed);
      }
  });

  test("since_at_page_boundary", async () => {
    for (const [key, cases] of Object.entries(expected.since_at_page_boundary))
      for (const { since, filings_total, page_read } of cases) {
        const answer = await get(`/companies/${Number(key.slice(3))}/submissions?since=${since}`);
        expect([key, since, answer.filings_total, answer.files[0].fetched]).toEqual([
          key,
          since,
          filings_total,
          page_read,
        ]);
      }
  });

  test("facts", async () => {
    for (const facts of Object.values(expected.facts))
      expect(await get(`/companies/${facts.cik}/facts`)).toMatchObject(facts);
  });

  test("index pages", async () => {
    for (const [accession, index] of Object.entries(expected.index)) {
      const answer = await get(`/index/${index.requested_cik}/${accession}`);
      expect({
        ...answer,
        documents: answer.documents.map(({ url: _url, ...row }: any) => row),
      }).toMatchObject({
        form: index.form,
        filing_date: index.filing_date,
        report_date: index.report_date,
        accepted: index.accepted_utc,
        company: index.company_of_requested_cik.replace(/ \([^()]*\)$/, ""),
        documents: index.documents,
        index_source: "index_htm",
      });
    }
    expect(await get("/index/1648960/0001213900-24-004875")).toMatchObject({ index_source: "index_json" });
  });

  test("tickers and names", async () => {
    const { collisions, BRK, KMI, name_apple } = expected.tickers;
    for (const { ticker, cik_str } of [...collisions, ...BRK, ...KMI])
      expect([ticker, (await get(`/companies/resolve?ticker=${ticker}`)).cik]).toEqual([ticker, cik_str]);
    for (const [ticker, rows] of [
      ["BRK.B", BRK],
      ["brk/a", BRK],
      ["KMI", KMI],
    ] as const)
      expect(await get(`/companies/resolve?ticker=${encodeURIComponent(ticker)}`)).toMatchObject({
        tickers: rows.map((row: any) => row.ticker),
      });
    expect(await get("/companies/resolve?ticker=T.TO")).toMatchObject({ error: "unknown_identifier" });
    const apple = await get("/companies/resolve?name=apple");
    expect(apple).toMatchObject({ ambiguous: true, cik: null });
    expect(apple.candidates.map(({ cik }: any) => cik)).toEqual(
      name_apple.map(({ cik_str }: any) => cik_str),
    );
    expect(await get("/companies/resolve?name=Apple%20Inc.")).toMatchObject({
      cik: 320_193,
      ambiguous: false,
    });
  });

  test("documents: a PDF page by page, wrappers only in the bytes, all the text of an annual report", async () => {
    const letter = await document(320_193, "0000000000-24-005673", "filename1.pdf");
    expect(letter).toMatchObject({ content_kind: "pdf", bytes: 27_492, error: null });
    expect(letter.pdf_text_pages[0].text).toContain("Division of Corporation Finance");
    const release = await document(796_343, "0000796343-23-000044", "adbeex991q123.htm");
    expect(release.bytes).toBe(232_940);
    expect(release.text).not.toContain("<TYPE>");
    expect(release.text).toContain("Total assets\t$26,667\t$27,165");
    const report = await document(320_193, "0000320193-24-000123", "aapl-20240928.htm");
    expect(report.text).toContain("For the fiscal year ended September 28, 2024");
    expect(report.text).not.toContain("0000320193");
    expect(report.text.length).toBeGreaterThan(200_000);
  });

  test("a search without hits", async () => {
    upstream.serve(
      "search",
      "/LATEST/search-index?q=fordasfsdfsdf&dateRange=custom&startdt=2020-04-19&enddt=2025-04-19",
      readFileSync(
        join(
          SHARED_EDGAR,
          "efts.sec.gov/LATEST/search-index__q=fordasfsdfsdf_dateRange=custom_startdt=2020-04-19_enddt=2025-04-19",
        ),
      ),
    );
    expect(await get("/search?q=fordasfsdfsdf&startdt=2020-04-19&enddt=2025-04-19")).toMatchObject({
      total: 0,
      total_relation: "eq",
      hits: [],
      error: null,
    });
  });
});
