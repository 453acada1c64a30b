/** Batch jobs of the filing system, against a simulated one. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import type { FilingsItem } from "../../schemas/filings.ts";
import type { JobItem, JobStatus } from "../../schemas/jobs.ts";
import { type Edgar, edgar } from "../harness/edgar.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";

let keys = 0;

describe.each(SETUPS)("batch filings, $setup", ({ start }) => {
  let upstream: Edgar;
  const { service } = scenario(start, async () => {
    upstream = await edgar();
    return upstream.environment;
  });
  afterAll(() => upstream.close());

  const create = async (items: readonly object[]) => {
    const response = await service.call("POST", "/v1/batch/filings", {
      body: { items, idempotency_key: `filings-${keys++}` },
    });
    return { status: response.status, json: response.json };
  };
  const run = async (
    items: readonly FilingsItem[],
    within_ms = 60_000,
  ): Promise<JobStatus & { items: JobItem[] }> => {
    const { status, json } = await create(items);
    expect(status).toBe(202);
    for (const began = performance.now(); performance.now() - began < within_ms; await sleep(100)) {
      const job = (await service.call("GET", `/v1/jobs/${json.job_id}?include=items&limit=1000`)).json;
      if (job.finished_at !== null) return job;
    }
    throw new Error("The job is not over");
  };

  test("runs every operation with the answer of its endpoint", async () => {
    const accession = "0009000001-24-000007";
    const job = await run([
      { op: "resolve", ticker: "TWF.B" },
      { op: "submissions", cik: 9_000_001, forms: "10-K", limit: 1, history: true },
      { op: "latest", ticker: "HLI" },
      { op: "facts", cik: "0009000001" },
      { op: "filing", cik: 9_000_001, accession },
      { op: "document", cik: 9_000_001, accession, document: "hliex991.htm" },
      { op: "document", cik: 9_000_001, accession, document: "hliex991.htm", include_html: true },
      { op: "latest", isin: "CH0038863350" },
      { op: "latest", ticker: "ZZZZ" },
      { op: "filing", cik: 9_000_001, accession: "0009000001-99-000001" },
      { op: "document", cik: 9_000_001, accession, document: "map.pdf", accept_pdf: false },
    ]);
    expect(job.counts).toMatchObject({ total: 11, done: 7, failed: 4 });
    const results = job.items.map(({ result }) => result as Record<string, unknown>);
    expect(results).toMatchObject([
      { op: "resolve", cik: 9_000_002, tickers: ["TWF-A", "TWF-B"], error: null },
      { op: "submissions", filings_total: 2, truncated: true, filings: [{ accession }] },
      { op: "latest", cik: 9_000_001, accession, form: "10-K" },
      { op: "facts", concepts: 3 },
      { op: "filing", index_source: "index_htm", company: "Harbour Lights Inc." },
      { op: "document", content_kind: "html", status: 200, error: null },
      { op: "document", html: expect.stringContaining("<TYPE>EX-99.1") },
      { op: "latest", error: "unknown_identifier", accession: null },
      { op: "latest", error: "unknown_identifier" },
      { op: "filing", error: "not_found", documents: [] },
      { op: "document", error: "pdf_not_accepted" },
    ]);
    expect(results[5]).not.toHaveProperty("html");
    expect(job.items.map(({ error }) => error).slice(7)).toEqual([
      "unknown_identifier",
      "unknown_identifier",
      "not_found",
      "pdf_not_accepted",
    ]);
    // Bodies that an item retrieved may be downloaded.
    for (const at of [1, 3, 5]) {
      const body = await service.call("GET", results[at]!["body_url"] as string);
      expect(body.status).toBe(200);
    }
  });

  test.each([
    [
      { op: "report", cik: 1 },
      "op",
      "op must be one of resolve, submissions, latest, facts, filing, document",
    ],
    [{ op: "latest" }, "op", "latest needs exactly one of cik, ticker and isin"],
    [{ op: "latest", cik: 1, ticker: "A" }, "op", "latest needs exactly one of cik, ticker and isin"],
    [{ op: "latest", name: "A" }, "op", "latest needs exactly one of cik, ticker and isin"],
    [
      { op: "resolve", name: "A", isin: "B" },
      "op",
      "resolve needs exactly one of ticker, cik, name and isin",
    ],
    [{ op: "filing", ticker: "A", accession: "1" }, "op", "filing needs cik"],
    [{ op: "filing", cik: 1 }, "accession", "filing needs accession"],
    [{ op: "document", cik: 1, accession: "000900000124000007" }, "document", "document needs document"],
    [{ op: "latest", cik: "x" }, "cik", "cik must be 1 to 10 digits, not all zero"],
    [{ op: "latest", cik: 0 }, "cik", "cik must be an integer or a string of 1 to 10 digits"],
    [{ op: "facts", ticker: "$A" }, "ticker", "ticker is malformed"],
    [{ op: "resolve", isin: "US0378331006" }, "isin", "isin check digit is wrong"],
    [{ op: "resolve", name: "..." }, "name", "name has no letters or digits"],
    [{ op: "submissions", cik: 1, since: "2024-13-01" }, "since", "since must be a date YYYY-MM-DD"],
    [{ op: "submissions", cik: 1, forms: "," }, "forms", 'forms must be comma-separated form types: ""'],
    [
      { op: "document", cik: 1, accession: "000900000124000007", document: "a/b" },
      "document",
      "document must be a file name in the filing's folder",
    ],
    [
      { op: "filing", cik: 1, accession: "1" },
      "accession",
      "accession must be 18 digits, with or without dashes (10-2-6)",
    ],
  ])("refuses %j at creation, and sends no request upstream", async (item, field, message) => {
    const before = upstream.hits();
    const { status, json } = await create([{ op: "latest", ticker: "HLI" }, item]);
    expect([status, json.detail]).toEqual([
      422,
      [{ loc: ["body", "items", 1, field], msg: message, type: "invalid_item" }],
    ]);
    expect(upstream.hits()).toBe(before);
  });

  test.each([
    [{ op: "latest", cik: 1.5 }],
    [{ op: "latest", cik: true }],
    [{ op: "submissions", cik: 1, limit: 10_001 }],
    [{ op: "submissions", cik: 1, history: "maybe" }],
    [{ cik: 1 }],
  ])("refuses %j, whose fields have wrong types", async (item) => {
    const { status, json } = await create([item]);
    expect([status, json.detail[0].loc.slice(0, 3)]).toEqual([422, ["body", "items", 0]]);
  });

  test("requests the documents of each filer once, however often items name it", async () => {
    const FILERS = 12;
    for (let n = 0; n < FILERS; n++) {
      const cik = String(9_300_000 + n).padStart(10, "0");
      const recent = { accessionNumber: [`${cik}-24-000001`], filingDate: ["2024-01-02"], form: ["10-K"] };
      const submissions = {
        cik,
        name: `Filer ${n}`,
        tickers: [],
        exchanges: [],
        filings: { recent, files: [] },
      };
      upstream.serve("data", `/submissions/CIK${cik}.json`, JSON.stringify(submissions));
    }
    const items = Array.from({ length: 60 }, (_, n) => ({ op: "latest", cik: 9_300_000 + (n % FILERS) }));
    const before = upstream.hits("submissions");
    const job = await run(items);
    expect(job.counts).toMatchObject({ done: 60 });
    expect(upstream.hits("submissions") - before).toBe(FILERS);
    expect(upstream.worstSecond()).toBeLessThanOrEqual(10);
    const keyless = (await service.call("GET", "/v1/quota")).json;
    expect(keyless.project.requests.fetch.used).toBeGreaterThanOrEqual(60);
  });

  test("puts items back during a pause, and counts each once", async () => {
    const key = await service.trawl("key", "create", "--project", "default");
    const cik = "0009300100";
    const recent = { accessionNumber: [`${cik}-24-000001`], filingDate: ["2024-01-02"], form: ["10-K"] };
    for (const filer of [cik, "0009300101", "0009300102"])
      upstream.serve(
        "data",
        `/submissions/CIK${filer}.json`,
        JSON.stringify({ cik: filer, name: "Filer", filings: { recent, files: [] } }),
      );
    upstream.fail("throttled_429", { times: 1, where: "CIK000930010" });
    const body = {
      items: [9_300_100, 9_300_101, 9_300_102].map((filer) => ({ op: "latest", cik: filer })),
      idempotency_key: `filings-${keys++}`,
    };
    const { json } = await service.call("POST", "/v1/batch/filings", { body, key: key.key });
    let job: JobStatus;
    const began = performance.now();
    do {
      await sleep(200);
      job = (await service.call("GET", `/v1/jobs/${json.job_id}`)).json;
    } while (job.finished_at === null && performance.now() - began < 60_000);
    expect(job.counts).toMatchObject({ done: 3, failed: 0 });
    // The pause is ten seconds.
    expect(performance.now() - began).toBeGreaterThan(9_000);
    const used = async (): Promise<unknown> =>
      (await service.call("GET", "/v1/quota", { key: key.key })).json.keys[0].requests.fetch.used;
    await expect.poll(used, { timeout: 15_000 }).toBe(3);
  }, 90_000);
});
