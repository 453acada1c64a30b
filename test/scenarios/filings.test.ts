/**
 * /v1/filings as clients see it, against a simulated filing system that serves made-up documents and misbehaves on
 * command. The limiter's own guarantees are tested in test/actors/sources/filings/ and test/actors/sources/upstream/.
 */
import { afterAll, describe, expect, test } from "vitest";
import { type Edgar, edgar, type Wrong } from "../harness/edgar.ts";
import { scenario } from "../harness/scenario.ts";
import { type Service, SETUPS } from "../harness/service.ts";

interface Row {
  readonly accession: string;
  readonly date: string;
  readonly form: string;
  readonly primary?: string;
}

/** Parallel arrays as the upstream sends them. */
const columns = (rows: readonly Row[]) => ({
  accessionNumber: rows.map(({ accession }) => accession),
  filingDate: rows.map(({ date }) => date),
  reportDate: rows.map(() => ""),
  acceptanceDateTime: rows.map(({ date }) => `${date}T08:15:19.000Z`),
  form: rows.map(({ form }) => form),
  items: rows.map(({ form }) => (form === "F-6" ? ",," : "")),
  size: rows.map(() => 1),
  isXBRL: rows.map(() => 0),
  isInlineXBRL: rows.map(() => 0),
  primaryDocument: rows.map(({ primary = "" }) => primary),
});

const padded = (cik: number): string => String(cik).padStart(10, "0");

const filer = (cik: number, recent: readonly Row[], more: object = {}, files: readonly object[] = []) =>
  JSON.stringify({
    cik: padded(cik),
    entityType: "operating",
    name: `Filer ${cik}`,
    tickers: [],
    exchanges: [],
    ...more,
    filings: { recent: columns(recent), files },
  });

const accession = (n: number): string => `0009100000-24-${String(n).padStart(6, "0")}`;

function called(service: Service) {
  const ask = async (method: string, path: string, body?: unknown) => {
    const response = await service.call(method, `/v1/filings${path}`, body === undefined ? {} : { body });
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${response.bytes.toString()}`);
    return response.json;
  };
  return {
    get: async (path: string) => ask("GET", path),
    document: async (body: object) => ask("POST", "/documents/fetch", body),
  };
}

describe.each(SETUPS)("filings, $setup", ({ start }) => {
  let upstream: Edgar;
  const { service } = scenario(start, async () => {
    upstream = await edgar();
    return upstream.environment;
  });
  const { get, document } = called(service);
  afterAll(() => upstream.close());
  /** How many requests the work costs upstream. */
  const asked = async (work: () => Promise<unknown>): Promise<number> => {
    const before = upstream.hits();
    await work();
    return upstream.hits() - before;
  };
  const serveFiler = (cik: number, ...rest: [readonly Row[], object?, (readonly object[])?]): void =>
    upstream.serve("data", `/submissions/CIK${padded(cik)}.json`, filer(cik, ...rest));

  describe("resolve", () => {
    test("finds a ticker on the list, and finds it again without a request", async () => {
      const harbour = await get("/companies/resolve?ticker=hli");
      expect(harbour).toMatchObject({
        cik: 9_000_001,
        cik_padded: "0009000001",
        title: "Harbour Lights Inc.",
        tickers: ["HLI"],
        exchanges: ["Nasdaq"],
        ambiguous: false,
        candidates: [],
        error: null,
        source_url: `${upstream.urls.www}/files/company_tickers_exchange.json`,
      });
      expect(harbour).not.toHaveProperty("hint");
      const again = async () => {
        for (const ticker of ["TWF.A", "TWF-A", "twf%2Fa", "NYSE:TWF.B"])
          expect(await get(`/companies/resolve?ticker=${ticker}`)).toMatchObject({
            cik: 9_000_002,
            tickers: ["TWF-A", "TWF-B"],
            cached: true,
          });
        expect(await get("/companies/resolve?cik=9000001")).toMatchObject({ title: "Harbour Lights Inc." });
      };
      expect(await asked(again)).toBe(0);
      const body = await service.call("GET", harbour.body_url);
      expect([body.status, body.json.fields[0]]).toEqual([200, "cik"]);
    });

    test("reads the other list before a ticker is unknown; a filer that only this list has has no exchange", async () => {
      expect(await get("/companies/resolve?ticker=NEWB")).toMatchObject({
        cik: 9_000_004,
        exchanges: [null],
      });
      const cost = await asked(async () => {
        expect(await get("/companies/resolve?ticker=ZZZZ")).toMatchObject({
          cik: null,
          error: "unknown_identifier",
          message: expect.stringContaining("ZZZZ"),
          retry_after_s: null,
          body_url: null,
        });
      });
      // Both lists are of this hour.
      expect(cost).toBe(0);
    });

    test("distinguishes listings on other exchanges: HLI.TO is not HLI", async () => {
      for (const ticker of ["HLI.TO", "XTSE:HLI"])
        expect(await get(`/companies/resolve?ticker=${ticker}`)).toMatchObject({
          error: "unknown_identifier",
        });
    });

    test("finds names by whole titles, then by beginnings, then by parts", async () => {
      expect(await get("/companies/resolve?name=harbour%20lights%20inc")).toMatchObject({ cik: 9_000_001 });
      expect(await get("/companies/resolve?name=Ferries")).toMatchObject({ cik: 9_000_002 });
      const several = await get("/companies/resolve?name=Harbour");
      expect(several).toMatchObject({ ambiguous: true, cik: null, title: null, tickers: [], error: null });
      expect(several.candidates.map(({ cik }: { cik: number }) => cik)).toEqual([9_000_001, 9_000_003]);
      expect(await get("/companies/resolve?name=Lighthouse")).toMatchObject({ error: "unknown_identifier" });
    });

    test("finds filers without a ticker by their submissions, also persons", async () => {
      serveFiler(9_100_001, [], { entityType: "other", name: "KEEPER ADA L", fiscalYearEnd: null });
      expect(await get("/companies/resolve?cik=9100001")).toMatchObject({
        cik: 9_100_001,
        title: "KEEPER ADA L",
        tickers: [],
        source_url: `${upstream.urls.data}/submissions/CIK0009100001.json`,
      });
      expect(await get("/companies/resolve?cik=9100099")).toMatchObject({ error: "unknown_identifier" });
    });

    test("looks an ISIN up in the company register, which does not know it yet", async () => {
      expect(await get("/companies/resolve?isin=ch0038863350")).toMatchObject({
        error: "unknown_identifier",
        message: expect.stringContaining("CH0038863350"),
      });
    });

    test.each(["", "?ticker=HLI&cik=1", "?name=a&isin=b", "?project_ref=x"])("refuses %j", async (query) => {
      expect((await service.call("GET", `/v1/filings/companies/resolve${query}`)).status).toBe(422);
    });
  });

  describe("a malformed request", () => {
    const filed = { cik: 9_000_001, accession: "0009000001-24-000007", document: "hli-20240928.htm" };
    const CIK = "cik must be 1 to 10 digits, not all zero";
    const ACCESSION = "accession must be 18 digits, with or without dashes (10-2-6)";
    const DOCUMENT = "document must be a file name in the filing's folder";
    const READS: readonly (readonly [path: string, message: string])[] = [
      ...["abc", "-1", "1.5", "0", "0000000000", "12345678901", "CIK320193", "%EF%BC%93", "3%202"].map(
        (cik) => [`/companies/${cik}/submissions`, CIK] as const,
      ),
      ["/companies/x/filings/latest", CIK],
      ["/companies/x/facts", CIK],
      ["/index/x/0009000001-24-000007", CIK],
      ["/companies/resolve?cik=0", CIK],
      ...[
        "0000320193-24-00012",
        "0000320193-2024-000123",
        "00003201932400012",
        "..%2F..",
        "0000320193240001234",
      ].map((text) => [`/index/9000001/${text}`, ACCESSION] as const),
      ["/companies/9000001/submissions?forms=10-K,,8-K", 'forms must be comma-separated form types: ""'],
      ["/companies/9000001/filings/latest?forms=%24", 'forms must be comma-separated form types: "$"'],
      [`/companies/9000001/submissions?forms=${"A,".repeat(30)}A`, "forms must have at most 30 form types"],
      ["/companies/9000001/submissions?since=2024-13-01", "since must be a date YYYY-MM-DD"],
      ["/companies/9000001/submissions?until=24-01-01", "until must be a date YYYY-MM-DD"],
      ["/companies/9000001/submissions?since=2024-01-02&until=2024-01-01", "since is after until"],
      ["/search", "q must not be empty"],
      ["/search?q=%20", "q must not be empty"],
      ["/search?q=%22open", "q has an unclosed quote"],
      [`/search?q=${"x".repeat(1_001)}`, "q must be at most 1000 characters"],
      ["/search?q=a&dateRange=2y", "dateRange must be all, 10y, 5y, 1y, 30d or custom"],
      ["/search?q=a&startdt=2024-01-01", "dateRange custom needs startdt and enddt"],
      ["/search?q=a&startdt=2024-01-02&enddt=2024-01-01", "startdt is after enddt"],
      ["/search?q=a&enddt=soon", "enddt must be a date YYYY-MM-DD"],
      ["/search?q=a&from=9901", "from must be 0 to 9900 (upstream shows 10000 hits)"],
      ["/search?q=a&from=-1", "from must be 0 to 9900 (upstream shows 10000 hits)"],
      ["/companies/resolve?ticker=%24AAPL", "ticker is malformed"],
      ["/companies/resolve?ticker=BRK..B", "ticker is malformed"],
      ["/companies/resolve?ticker=", "ticker is malformed"],
      ["/companies/resolve?name=...", "name has no letters or digits"],
      [`/companies/resolve?name=${"x".repeat(201)}`, "name must be at most 200 characters"],
      [
        "/companies/resolve?isin=US037833100",
        "isin must be 12 characters: 2 letters, 9 letters or digits, 1 digit",
      ],
      ["/companies/resolve?isin=US0378331006", "isin check digit is wrong"],
    ];
    const DOCUMENTS: readonly (readonly [body: object, message: string])[] = [
      [{ ...filed, cik: 0 }, "cik must be an integer or a string of 1 to 10 digits"],
      [{ ...filed, cik: -1 }, "cik must be an integer or a string of 1 to 10 digits"],
      [{ ...filed, cik: 10_000_000_000 }, "cik must be an integer or a string of 1 to 10 digits"],
      [{ ...filed, cik: "x" }, CIK],
      [{ ...filed, accession: "1" }, ACCESSION],
      ...["", ".", "../x", "a/b.htm", "%2e%2e", "a\\b", "?x", "#x", "x".repeat(256)].map(
        (name) => [{ ...filed, document: name }, DOCUMENT] as const,
      ),
    ];

    test("is invalid_identifier, HTTP 200, and no request is sent upstream", async () => {
      const cost = await asked(async () => {
        for (const [path, message] of READS)
          expect({ path, ...(await get(path)) }).toMatchObject({
            path,
            error: "invalid_identifier",
            message,
            cached: false,
            source_url: null,
            body_url: null,
          });
        for (const [body, message] of DOCUMENTS)
          expect(await document(body)).toMatchObject({
            error: "invalid_identifier",
            error_detail: message,
            text: "",
            body_url: null,
            billing_category: "filings",
          });
      });
      expect(cost).toBe(0);
    });

    test.each([
      ["GET", "/companies/9000001/submissions?limit=0"],
      ["GET", "/companies/9000001/submissions?limit=10001"],
      ["GET", "/companies/9000001/submissions?limit=abc"],
      ["GET", "/companies/9000001/submissions?history=maybe"],
      ["GET", "/search?q=a&timeout_s=4"],
      ["GET", "/search?q=a&timeout_s=151"],
      ["POST", "/documents/fetch", { ...filed, cik: 1.5 }],
      ["POST", "/documents/fetch", { ...filed, cik: null }],
      ["POST", "/documents/fetch", { ...filed, cik: true }],
      ["POST", "/documents/fetch", { ...filed, cik: [1] }],
      ["POST", "/documents/fetch", { ...filed, max_bytes: 0 }],
      ["POST", "/documents/fetch", { ...filed, max_bytes: 52_428_801 }],
      ["POST", "/documents/fetch", { cik: 1, accession: "1" }],
    ])("with a wrong parameter is 422: %s %s", async (method, path, body?) => {
      const response = await service.call(method, `/v1/filings${path}`, body === undefined ? {} : { body });
      expect(response.status).toBe(422);
    });
  });

  describe("submissions", () => {
    test("name the filer and its filings, older ones from the pages that can contain them", async () => {
      const all = await get("/companies/9000001/submissions");
      expect(all).toMatchObject({
        cik: 9_000_001,
        name: "Harbour Lights Inc.",
        title: "Harbour Lights Inc.",
        category: "Large accelerated filer",
        fiscal_year_end: "0928",
        lei: null,
        website: null,
        filings_total: 5,
        truncated: false,
        error: null,
        source_url: `${upstream.urls.data}/submissions/CIK0009000001.json`,
      });
      expect(all.filings.map(({ filing_date }: Record<string, unknown>) => filing_date)).toEqual([
        "2024-11-01",
        "2024-08-02",
        "2024-05-03",
        "2003-12-19",
        "2001-01-05",
      ]);
      expect(all.filings[0]).toMatchObject({
        accession: "0009000001-24-000007",
        primary_document_url: `${upstream.urls.www}/Archives/edgar/data/9000001/000900000124000007/hli-20240928.htm`,
        index_url: `${upstream.urls.www}/Archives/edgar/data/9000001/000900000124000007/0009000001-24-000007-index.htm`,
        is_xbrl: true,
        is_amendment: false,
      });
      const [page] = all.files;
      expect(page).toMatchObject({
        name: "CIK0009000001-submissions-001.json",
        filing_count: 2,
        fetched: true,
      });
      for (const body_url of [all.body_url, page.body_url])
        expect((await service.call("GET", body_url)).status).toBe(200);
      expect(await get("/companies/0009000001/submissions")).toMatchObject({
        cached: true,
        filings_total: 5,
      });
    });

    test("are selected by form, time and limit, and the total counts all matches", async () => {
      const chosen = async (query: string) => {
        const { filings, filings_total, truncated, files } = await get(
          `/companies/9000001/submissions?${query}`,
        );
        const forms = filings.map(({ form }: { form: string }) => form).join(" ");
        return [forms, filings_total, truncated, files[0].fetched];
      };
      expect(await chosen("forms=10-k")).toEqual(["10-K 10-K", 2, false, true]);
      expect(await chosen("forms=10-K&limit=1")).toEqual(["10-K", 2, true, true]);
      expect(await chosen("history=false")).toEqual(["10-K 10-Q 4", 3, false, false]);
      expect(await chosen("since=2003-12-22")).toEqual(["10-K 10-Q 4", 3, false, true]);
      // Three days behind the page's own end.
      expect(await chosen("since=2003-12-23")).toEqual(["10-K 10-Q 4", 3, false, false]);
      expect(await chosen("until=2003-12-31&forms=8-K,10-K")).toEqual(["10-K 8-K", 2, false, true]);
    });

    test("may have more than a thousand recent rows", async () => {
      const rows = Array.from({ length: 1_140 }, (_, n) => ({
        accession: accession(n),
        date: "2024-01-02",
        form: "4",
      }));
      serveFiler(9_100_002, rows);
      expect(await get("/companies/9100002/submissions?limit=10000")).toMatchObject({
        filings_total: 1_140,
        truncated: false,
      });
      expect((await get("/companies/9100002/submissions")).filings).toHaveLength(100);
    });

    test("fail when a page is missing, instead of leaving filings out", async () => {
      const files = [
        {
          name: "CIK0009100003-submissions-001.json",
          filingCount: 1,
          filingFrom: "2001-01-01",
          filingTo: "2002-01-01",
        },
      ];
      serveFiler(9_100_003, [{ accession: accession(1), date: "2024-01-02", form: "8-K" }], {}, files);
      expect(await get("/companies/9100003/submissions")).toMatchObject({
        error: "filings_unavailable",
        filings: [],
        filings_total: null,
      });
      expect(await get("/companies/9100003/submissions?history=false")).toMatchObject({ filings_total: 1 });
    });

    test("fail when their columns differ in length, and are requested again the next time", async () => {
      const odd = JSON.parse(
        filer(9_100_004, [{ accession: accession(1), date: "2024-01-02", form: "8-K" }]),
      );
      odd.filings.recent.size = [1, 2];
      upstream.serve("data", "/submissions/CIK0009100004.json", JSON.stringify(odd));
      expect(await get("/companies/9100004/submissions")).toMatchObject({
        error: "filings_unavailable",
        retry_after_s: 60,
      });
      serveFiler(9_100_004, [{ accession: accession(1), date: "2024-01-02", form: "8-K" }]);
      expect(await get("/companies/9100004/submissions")).toMatchObject({ error: null, filings_total: 1 });
    });
  });

  describe("latest", () => {
    test("is the newest filing of its forms, with its company", async () => {
      expect(await get("/companies/9000001/filings/latest")).toMatchObject({
        cik: 9_000_001,
        name: "Harbour Lights Inc.",
        form: "10-K",
        accession: "0009000001-24-000007",
        error: null,
      });
    });

    test("is searched in older pages when the recent list has none", async () => {
      expect(await get("/companies/9000001/filings/latest?forms=8-K")).toMatchObject({
        form: "8-K",
        filing_date: "2001-01-05",
        items: "5",
        primary_document_url: null,
      });
    });

    test("accepts foreign annual reports by default, but no amendments and no other forms", async () => {
      serveFiler(9_100_005, [
        { accession: accession(3), date: "2024-03-03", form: "20-F/A" },
        { accession: accession(2), date: "2024-02-02", form: "10-K405" },
        { accession: accession(1), date: "2024-01-01", form: "20-F", primary: "f20.htm" },
      ]);
      expect(await get("/companies/9100005/filings/latest")).toMatchObject({
        form: "20-F",
        is_amendment: false,
      });
      expect(await get("/companies/9100005/filings/latest?forms=20-F/A,10-K405")).toMatchObject({
        form: "20-F/A",
        is_amendment: true,
      });
    });

    test("of a depositary, and of a company that never filed, is not found", async () => {
      serveFiler(9_100_006, [{ accession: accession(1), date: "2024-01-01", form: "F-6" }]);
      serveFiler(9_100_007, [], { name: "Company Name Three `!#$(),:;=.-;\\|@/{}&'\\WA\\" });
      for (const cik of [9_100_006, 9_100_007])
        expect(await get(`/companies/${cik}/filings/latest`)).toMatchObject({
          error: "not_found",
          accession: null,
          cik,
        });
      // It was found out from what is kept, which costs as much as any other answer from there.
      expect(await get("/companies/9100006/filings/latest")).toMatchObject({
        error: "not_found",
        cached: true,
      });
      expect(await get("/companies/9100006/filings/latest?forms=F-6")).toMatchObject({ items: ",," });
      expect(await get("/companies/9100098/filings/latest")).toMatchObject({ error: "unknown_identifier" });
    });
  });

  describe("an index", () => {
    test("is read from its page, and cached for a year", async () => {
      const path = "/index/9000001/000900000124000007";
      const index = await get(path);
      expect(index).toMatchObject({
        form: "10-K",
        filing_date: "2024-11-01",
        report_date: "2024-09-28",
        accepted: "2024-11-01T10:01:36Z",
        company: "Harbour Lights Inc.",
        is_amendment: false,
        accession: "0009000001-24-000007",
        accession_nodash: "000900000124000007",
        index_source: "index_htm",
        folder_url: `${upstream.urls.www}/Archives/edgar/data/9000001/000900000124000007/`,
        cached: false,
      });
      expect(index.documents).toHaveLength(5);
      const cost = await asked(async () => {
        expect(await get("/index/9000001/0009000001-24-000007")).toMatchObject({ cached: true });
      });
      expect(cost).toBe(0);
    });

    test("is read from the folder's listing where there is no page", async () => {
      const cost = await asked(async () => {
        const index = await get("/index/9000002/0009000002-24-000003");
        expect(index).toMatchObject({
          index_source: "index_json",
          form: null,
          accepted: null,
          company: null,
        });
        expect(index.documents.map((one: { document: string }) => one.document)).toEqual([
          "0009000002-24-000003.txt",
          "twf8k.htm",
        ]);
      });
      expect(cost).toBe(2);
    });

    test("is read from the page beside the folder where there is neither, also rows without names", async () => {
      const index = await get("/index/9000001/0009000001-01-000001");
      expect(index).toMatchObject({ index_source: "index_htm", form: "8-K", filing_date: "2001-01-05" });
      expect(index.documents[0]).toMatchObject({ sequence: "1", document: null, url: null, size: 20_000 });
    });

    test("that does not exist is not_found, and a 403 of S3 starts no pause", async () => {
      expect(await get("/index/9000001/0009000001-99-000001")).toMatchObject({
        error: "not_found",
        message: expect.stringContaining("0009000001-99-000001"),
        documents: [],
      });
      serveFiler(9_100_008, []);
      expect(await get("/companies/9100008/submissions")).toMatchObject({ error: null, filings_total: 0 });
    });
  });

  describe("a document", () => {
    const filed = { cik: "9000001", accession: "000900000124000007" };
    const folder = "/Archives/edgar/data/9000001/000900000124000007/";

    test("is answered in the form of a fetch, with the wrapper in the bytes and not in the text", async () => {
      const page = await document({ ...filed, document: "hliex991.htm" });
      expect(page).toMatchObject({
        url: `${upstream.urls.www}${folder}hliex991.htm`,
        final_url: `${upstream.urls.www}${folder}hliex991.htm`,
        status: 200,
        tier: "direct",
        content_kind: "html",
        body_kind: "origin",
        title: "Harbour Lights reports fourth quarter results",
        cached: false,
        billing_category: "filings",
        pdf_text_pages: null,
        error: null,
        cost_usd: 0,
      });
      expect(page.text).toMatch(/^Harbour Lights Inc\. today announced/);
      expect(page.text).toContain("You’ve exceeded");
      expect(page.html).toContain("<TYPE>EX-99.1");
      expect(page.attempts).toMatchObject([{ tier: "direct", status: 200, reason: "ok" }]);
      const body = await service.call("GET", page.body_url);
      expect(body.bytes.toString()).toMatch(/^<DOCUMENT>\n<TYPE>EX-99\.1/);
      expect(body.bytes.length).toBe(page.bytes);

      const again = await document({ ...filed, document: "hliex991.htm", include_html: false });
      expect(again).toMatchObject({
        cached: true,
        billing_category: "filings_cached",
        text: page.text,
        attempts: [],
      });
      expect(again).not.toHaveProperty("html");
    });

    test("of plain text keeps its lines", async () => {
      upstream.serve(
        "www",
        `${folder}note.txt`,
        "<DOCUMENT>\n<TYPE>CORRESP\n<TEXT>\nTo   the keepers:\n  all lit.\n</TEXT>\n</DOCUMENT>\n",
      );
      expect(await document({ ...filed, document: "note.txt" })).toMatchObject({
        content_kind: "text",
        text: "To   the keepers:\n  all lit.",
        html: null,
      });
    });

    test("of inline XBRL has its tables as lines, without hidden parts", async () => {
      const { text } = await document({ ...filed, document: "hli-20240928.htm" });
      expect(text).toContain("Net income\t$1,234\t$(56)");
      expect(text).not.toContain("0009000001");
    });

    test("that is a PDF is read page by page, unless the request refuses PDFs", async () => {
      const map = await document({ ...filed, document: "map.pdf" });
      expect(map).toMatchObject({ content_kind: "pdf", pdf_page_count: 2, html: null });
      expect(map.pdf_text_pages).toMatchObject([{ page: 1 }, { page: 2, text: "Second sheet" }]);
      expect(await document({ ...filed, document: "map.pdf", accept_pdf: false })).toMatchObject({
        error: "pdf_not_accepted",
        text: "",
        body_url: null,
        cached: true,
        attempts: [],
        billing_category: "filings_cached",
      });
    });

    test("that is too large or missing is an error; the next one works", async () => {
      expect(await document({ ...filed, document: "hli-20240928.htm", max_bytes: 10 })).toMatchObject({
        error: "too_large",
        body_url: null,
      });
      upstream.serve("www", `${folder}big.htm`, "x".repeat(5_000));
      expect(await document({ ...filed, document: "big.htm", max_bytes: 4_999 })).toMatchObject({
        error: "too_large",
      });
      expect(await document({ ...filed, document: "big.htm", max_bytes: 5_000 })).toMatchObject({
        error: null,
      });
      expect(await document({ ...filed, document: "gone.htm" })).toMatchObject({
        error: "not_found",
        status: 403,
      });
    });

    test("is never fetched from outside its folder", async () => {
      const elsewhere = "/Archives/edgar/data/9000001/000900000124000004/x.htm";
      upstream.serve("www", elsewhere, "<p>another filing's");
      upstream.serve("www", `${folder}moved.htm`, "", { status: 302, headers: { Location: elsewhere } });
      expect(await document({ ...filed, document: "moved.htm" })).toMatchObject({
        error: "redirect_not_allowed",
        text: "",
        body_url: null,
      });
    });

    test("is not given from outside its folder by the page cache, where a fetch followed the redirect", async () => {
      const elsewhere = "/Archives/edgar/data/9000001/000900000124000004/y.htm";
      upstream.serve("www", elsewhere, `<p>${"Another filing. ".repeat(60)}</p>`);
      const moved = `${folder}cached.htm`;
      upstream.serve("www", moved, "", { status: 302, headers: { Location: elsewhere } });
      const url = upstream.urls.www + moved;
      expect(await service.fetch({ url })).toMatchObject({ error: null });
      expect(await service.fetch({ url })).toMatchObject({ error: null, cached: true });
      expect(await document({ ...filed, document: "cached.htm" })).toMatchObject({
        error: "redirect_not_allowed",
        text: "",
        body_url: null,
      });
    });
  });

  describe("facts", () => {
    test("are counted, and the whole document is at body_url", async () => {
      const facts = await get("/companies/9000001/facts");
      expect(facts).toMatchObject({
        cik: 9_000_001,
        cik_padded: "0009000001",
        name: "Harbour Lights Inc.",
        taxonomies: { dei: 1, "us-gaap": 2, "ifrs-full": 0 },
        concepts: 3,
        error: null,
      });
      const body = await service.call("GET", facts.body_url);
      expect(body.bytes.length).toBe(facts.bytes);
    });

    test("of a filer without facts are not_found, of an unknown CIK unknown_identifier", async () => {
      expect(await get("/companies/9000002/facts")).toMatchObject({ error: "not_found" });
      expect(await get("/companies/9100001/facts")).toMatchObject({ error: "not_found" });
      expect(await get("/companies/9100097/facts")).toMatchObject({ error: "unknown_identifier" });
    });

    test("that cannot be parsed are filings_unavailable", async () => {
      upstream.serve("data", "/api/xbrl/companyfacts/CIK0009100009.json", '{"cik":9100009}');
      expect(await get("/companies/9100009/facts")).toMatchObject({
        error: "filings_unavailable",
        retry_after_s: 60,
      });
    });
  });

  describe("search", () => {
    const dates = "dateRange=custom&startdt=2024-01-01&enddt=2024-12-31";
    test("sends both dates, and answers hits with their addresses", async () => {
      const hit = {
        _id: "0009000001-24-000007:hliex991.htm",
        _score: 2.5,
        _source: {
          adsh: "0009000001-24-000007",
          ciks: ["0009000001"],
          display_names: ["Harbour Lights Inc.  (HLI)  (CIK 0009000001)"],
          form: "10-K/A",
          root_forms: ["10-K"],
          file_date: "2024-11-01",
        },
      };
      const found = {
        timed_out: false,
        _shards: { failed: 0 },
        hits: { total: { value: 1, relation: "eq" }, hits: [hit] },
      };
      upstream.serve(
        "search",
        `/LATEST/search-index?q=lamps+OR+lights&${dates}&forms=10-K`,
        JSON.stringify(found),
      );
      const answer = await get(
        `/search?q=lamps%20%20OR%20lights&forms=10-k&startdt=2024-01-01&enddt=2024-12-31`,
      );
      expect(answer).toMatchObject({
        query: "lamps  OR lights",
        total: 1,
        total_relation: "eq",
        error: null,
      });
      expect(answer.hits).toMatchObject([
        {
          accession: "0009000001-24-000007",
          ciks: [9_000_001],
          form: "10-K/A",
          document: "hliex991.htm",
          url: `${upstream.urls.www}/Archives/edgar/data/9000001/000900000124000007/hliex991.htm`,
          score: 2.5,
        },
      ]);
      expect(
        await get(`/search?q=lamps%20OR%20lights&forms=10-K&startdt=2024-01-01&enddt=2024-12-31`),
      ).toMatchObject({ cached: true });
    });

    test("without hits is a valid answer; an answer of another form is filings_unavailable", async () => {
      const none = { timed_out: false, hits: { total: { value: 0, relation: "eq" }, hits: [] } };
      upstream.serve("search", `/LATEST/search-index?q=nothing&${dates}&from=9900`, JSON.stringify(none));
      const query = `q=nothing&from=9900&startdt=2024-01-01&enddt=2024-12-31`;
      expect(await get(`/search?${query}`)).toMatchObject({ total: 0, hits: [], error: null });
      upstream.serve("search", `/LATEST/search-index?q=error&${dates}`, '{"error":"x","hits":{}}');
      expect(await get(`/search?q=error&startdt=2024-01-01&enddt=2024-12-31`)).toMatchObject({
        error: "filings_unavailable",
        hits: [],
        total: null,
      });
    });
  });

  test("answers are counted as filings, and towards the fetches of a key", async () => {
    const keyFor = async (category: string) =>
      service.trawl("key", "create", "--project", "default", "--category", category);
    const key = await keyFor("fetch");
    const with_key = { key: key.key as string };
    const path = "/v1/filings/companies/resolve?ticker=HLI";
    expect((await service.call("GET", path, with_key)).status).toBe(200);
    // A gateway tells the account about once a second what it has seen.
    const used = async (): Promise<unknown> =>
      (await service.call("GET", "/v1/quota", with_key)).json.keys[0].requests.fetch.used;
    await expect.poll(used, { timeout: 10_000 }).toBe(1);
    const search = await keyFor("search");
    expect((await service.call("GET", path, { key: search.key })).status).toBe(403);
    expect(await service.meter("trawl_filings_answers_total", 'operation="resolve"')).toBeGreaterThan(0);
  });

  describe("a failing upstream", () => {
    const WRONGS: readonly Wrong[] = [
      "garbage",
      "cut",
      "empty",
      "html",
      "short",
      "reset",
      "gzip_cut",
      "error_500",
      "hung_up",
      "large",
    ];
    test("is a named error; nothing is stored, and the next request works", async () => {
      const one = async (wrong: Wrong, n: number): Promise<unknown> => {
        const cik = 9_200_000 + n;
        serveFiler(cik, [{ accession: accession(1), date: "2024-01-02", form: "8-K" }]);
        upstream.fail(wrong, { where: `CIK${padded(cik)}` });
        const { error, message, retry_after_s } = await get(`/companies/${cik}/submissions?timeout_s=60`);
        return [wrong, error, typeof message, retry_after_s > 0];
      };
      const errors = await Promise.all(WRONGS.map(one));
      expect(errors).toEqual(WRONGS.map((wrong) => [wrong, "filings_unavailable", "string", true]));
      upstream.well();
      const again = await Promise.all(
        WRONGS.map(async (_, n) => get(`/companies/${9_200_000 + n}/submissions`)),
      );
      expect(again.map(({ error, filings_total }) => [error, filings_total])).toEqual(
        WRONGS.map(() => [null, 1]),
      );
    });

    test("that does not answer is a timeout at the requested time", async () => {
      serveFiler(9_200_100, []);
      upstream.fail("hang", { where: "CIK0009200100" });
      const began = performance.now();
      expect(await get("/companies/9200100/submissions?timeout_s=5")).toMatchObject({ error: "timeout" });
      expect(performance.now() - began).toBeLessThan(9_000);
      upstream.well();
      expect(await get("/companies/9200100/submissions")).toMatchObject({ error: null });
    }, 30_000);

    // The last test: its pause lasts.
    test("that throttles with status 200 pauses all requests; stored answers are still used", async () => {
      serveFiler(9_200_101, []);
      upstream.fail("throttled_200", { times: 1, where: "CIK0009200101" });
      expect(await get("/companies/9200101/submissions")).toMatchObject({
        error: "filings_unavailable",
        retry_after_s: expect.any(Number),
      });
      const cost = await asked(async () => {
        expect(await get("/companies/9200102/submissions")).toMatchObject({ error: "filings_unavailable" });
        expect(await get("/companies/resolve?ticker=HLI")).toMatchObject({ error: null, cached: true });
        expect(await get("/companies/9000001/filings/latest")).toMatchObject({ error: null, cached: true });
      });
      expect(cost).toBe(0);
    });
  });
});

describe.each(SETUPS.slice(0, 1))("without an identity, $setup", ({ start }) => {
  test("every operation answers filings_not_configured", async () => {
    const service = await start({});
    try {
      const { get, document } = called(service);
      for (const path of [
        "/companies/resolve?ticker=AAPL",
        "/companies/resolve?ticker=%24",
        "/companies/1/submissions",
        "/companies/x/filings/latest",
        "/companies/1/facts",
        "/index/1/0000000001-24-000001",
        "/search",
      ])
        expect(await get(path)).toMatchObject({ error: "filings_not_configured", retry_after_s: null });
      const filed = { cik: 1, accession: "0000000001-24-000001", document: "x.htm" };
      expect(await document(filed)).toMatchObject({ error: "filings_not_configured", text: "" });
      expect((await service.call("GET", "/v1/filings/companies/resolve")).status).toBe(422);
    } finally {
      await service.close();
    }
  });
});
