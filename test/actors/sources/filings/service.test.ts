/** The answers of the filing system where the company register, several documents and time come in. */
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Register, RegisterAnswer } from "../../../../actors/sources/filings/register.ts";
import type { CallerContext } from "../../../../actors/sources/filings/results.ts";
import { tasks } from "../../../../actors/sources/filings/adapters/reader-tasks.ts";
import { filingsService } from "../../../../actors/sources/filings/service.ts";
import { inlineWorkers } from "../../../../cluster/adapters/workers/workers.inline.ts";
import { SILENT_LOG } from "../../../../cluster/ports/log.ts";
import { memoryBlobs } from "../../../../cluster/adapters/blobs/blobs.memory.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import type { SourceRequest } from "../../../../schemas/filing-source.ts";
import type { SourceAnswer } from "../../../../schemas/upstream.ts";

const LIST = "/files/company_tickers_exchange.json";
const OTHER_LIST = "/files/company_tickers.json";
const AT = "2026-01-02T00:00:00.000Z";

interface ServedDocument {
  readonly content: unknown;
  readonly cached?: boolean;
  readonly retrieved_at?: string;
}

const filer = (cik: number, files: readonly object[] = []) => ({
  cik: String(cik),
  name: `Filer ${cik}`,
  tickers: [],
  exchanges: [],
  filings: { recent: { accessionNumber: ["a"], filingDate: ["2024-01-01"], form: ["10-K"] }, files },
});

/** An upstream of a few documents, by path; what is not there is missing, what is a failure fails. */
function serviceHarness(register: Register = async () => ({ kind: "unknown" })) {
  const clock = virtualClock(Date.UTC(2026, 0, 2));
  const blobs = memoryBlobs();
  const requests: SourceRequest[] = [];
  const discarded: string[] = [];
  const served = new Map<string, ServedDocument | Extract<SourceAnswer, { kind: "failed" }>>([
    [
      LIST,
      {
        content: {
          fields: ["cik", "name", "ticker", "exchange"],
          data: [
            [1, "Harbour Lights Inc.", "HLI", "Nasdaq"],
            [2, "Siemens Lamps AG/ADR", "SMLPY", "OTC"],
            [3, "Nordic Buoys AB", "NBUOF", null],
            [4, "NORDIC BUOYS AB/ADR", "NBUOY", "OTC"],
          ],
        },
      },
    ],
    [OTHER_LIST, { content: { 0: { cik_str: 1, ticker: "HLI", title: "Harbour Lights Inc." } } }],
  ]);
  let reads = 0;
  const service = filingsService({
    register,
    clock,
    documents: memoryDocuments(),
    blobs: {
      ...blobs,
      async get(sha256) {
        reads++;
        return blobs.get(sha256);
      },
    },
    ask: async () => {
      throw new Error("No document is read in this test");
    },
    readers: inlineWorkers(tasks),
    log: SILENT_LOG,
    www_url: "https://www.filings.test",
    source: {
      async get(ask): Promise<SourceAnswer> {
        requests.push(ask);
        const found = served.get(ask.path);
        const url = `https://${ask.host}.filings.test${ask.path}`;
        if (!found) return { kind: "missing", url, status: 404, requests: 1 };
        if ("kind" in found) return found;
        const content = Buffer.from(JSON.stringify(found.content));
        const { sha256, bytes } = await blobs.put(content);
        return {
          kind: "got",
          url,
          final_url: url,
          redirects: [],
          status: 200,
          headers: {},
          content_type: "application/json",
          sha256,
          bytes,
          retrieved_at: found.retrieved_at ?? AT,
          cached: found.cached ?? false,
          revalidated: false,
          requests: 1,
        };
      },
      async discard({ path }) {
        discarded.push(path);
      },
    },
  });
  const caller: CallerContext = {
    project: "default",
    lane: "sync",
    deadline_ms: clock.now() + 60_000,
    id: "req",
  };
  return { service, caller, served, asks: requests, discarded, clock, reads: () => reads };
}

const failing = (more: object = {}): Extract<SourceAnswer, { kind: "failed" }> => ({
  kind: "failed",
  error: "filings_unavailable",
  message: "It pauses",
  retry_after_s: 10,
  status: null,
  redirects: [],
  requests: 0,
  ...more,
});

describe("a filer on no list is looked up in the company register", () => {
  const known = (
    names: readonly string[],
    us_cik: number | null = null,
  ): Extract<RegisterAnswer, { kind: "known" }> => ({
    kind: "known",
    company: { id: "cmp_1", name: names[0]!, country: "DE", listings: ["SMLP.DE"], lei: null, isins: [] },
    listing: "SMLP.DE",
    names,
    us_cik,
  });
  const resolve = async (answer: RegisterAnswer, named: object) => {
    const asked: unknown[] = [];
    const { service, caller, served } = serviceHarness(async (question) => {
      asked.push(question);
      return answer;
    });
    served.set("/submissions/CIK0000000009.json", { content: filer(9) });
    return { asked, answer: (await service.resolve(named, caller)).answer };
  };

  test("and answered with the register's filer", async () => {
    const { asked, answer } = await resolve(known(["Siemens Lamps AG"], 9), { ticker: "smlp.de" });
    expect(asked).toEqual([{ by: "listing", listing: "SMLP.DE" }]);
    expect(answer).toMatchObject({ cik: 9, title: "Filer 9", error: null });
  });

  test("by a listing: a hint with the form asked for, and the filers of its name", async () => {
    const { answer } = await resolve(known(["Siemens Lamps AG"]), { ticker: "XETR:SMLP" });
    expect(answer).toMatchObject({
      error: "not_registered_filer",
      cik: null,
      hint: {
        company: { id: "cmp_1", name: "Siemens Lamps AG", country: "DE" },
        listing: "XETR:SMLP",
        filer_candidates: [{ cik: 2, tickers: ["SMLPY"] }],
      },
    });
    expect(answer.message).toContain("Siemens Lamps AG");
  });

  test("by a plain ticker: the hint has the listing at the home market", async () => {
    const { asked, answer } = await resolve(known(["Siemens Lamps AG"]), { ticker: "smlp" });
    expect(asked).toEqual([{ by: "listing", listing: "SMLP" }]);
    expect(answer).toMatchObject({ error: "not_registered_filer", hint: { listing: "SMLP.DE" } });
  });

  test.each([
    [["Siemens Lamps AG"], { cik: 2, error: null }],
    [["Lampen der Nordsee AG", "Siemens Lamps"], { cik: 2, error: null }],
    [
      ["Nordic Buoys AB"],
      { cik: null, error: "not_registered_filer", hint: { filer_candidates: [{ cik: 3 }, { cik: 4 }] } },
    ],
    [
      ["Nobody GmbH"],
      { cik: null, error: "not_registered_filer", hint: { listing: "SMLP.DE", filer_candidates: [] } },
    ],
  ])("by ISIN: %j is the only filer of its names, or a hint", async (names, expected) => {
    const { asked, answer } = await resolve(known(names), { isin: "DE000BAY0017" });
    expect(asked).toEqual([{ by: "isin", isin: "DE000BAY0017" }]);
    expect(answer).toMatchObject(expected);
  });

  test("by name, when no title fits", async () => {
    const { asked, answer } = await resolve(known(["Lampen der Nordsee AG"]), { name: "Lampen der Nordsee" });
    expect(asked).toEqual([{ by: "name", name: "Lampen der Nordsee" }]);
    expect(answer).toMatchObject({ error: "not_registered_filer", hint: { filer_candidates: [] } });
  });

  test("and is unknown when it is not there either", async () => {
    const { answer } = await resolve({ kind: "unknown" }, { ticker: "NESN.SW" });
    expect(answer).toMatchObject({ error: "unknown_identifier" });
    expect(answer).not.toHaveProperty("hint");
  });

  test("also for items that name their filer by ISIN", async () => {
    const { service, caller } = serviceHarness(async () => known(["Nordic Buoys AB"]));
    const { answer } = await service.latest({ isin: "DE000BAY0017" }, {}, caller);
    expect(answer).toMatchObject({
      error: "not_registered_filer",
      accession: null,
      hint: { listing: "SMLP.DE" },
    });
  });

  test("but a wrong check digit is refused without a request", async () => {
    const { asked, answer } = await resolve(known(["x"]), { isin: "DE000BAY0018" });
    expect([asked, answer.message]).toEqual([[], "isin check digit is wrong"]);
  });
});

describe("the lists", () => {
  test("are not asked for within a minute, and not parsed again while they are the same", async () => {
    const { service, caller, asks, clock, reads } = serviceHarness();
    await Promise.all(["HLI", "hli", "SMLPY"].map(async (ticker) => service.resolve({ ticker }, caller)));
    expect(reads()).toBe(1);
    const before = asks.length;
    await clock.advance(59_000);
    const { answer } = await service.resolve({ name: "harbour" }, caller);
    expect([answer.cik, answer.cached, asks.length]).toEqual([1, true, before]);
    await clock.advance(2_000);
    await service.resolve({ ticker: "HLI" }, caller);
    expect([asks.length, reads()]).toEqual([before + 1, 1]);
  });

  test("are both looked at, an hour old at most, before a ticker is unknown", async () => {
    const { service, caller, asks, served } = serviceHarness();
    served.set(OTHER_LIST, { content: { 0: { cik_str: 7, ticker: "NEW", title: "New Co" } } });
    expect((await service.resolve({ ticker: "NEW" }, caller)).answer).toMatchObject({
      cik: 7,
      exchanges: [null],
    });
    expect(asks.map(({ path, cache_ttl_s }) => [path, cache_ttl_s])).toEqual([
      [LIST, null],
      [LIST, 3_600],
      [OTHER_LIST, 3_600],
    ]);
  });

  test("that cannot be read fail a ticker; a CIK is found by its submissions", async () => {
    const { service, caller, served } = serviceHarness();
    served.set(LIST, failing({ paused: true }));
    served.set("/submissions/CIK0000000009.json", { content: filer(9), cached: true });
    expect(await service.resolve({ ticker: "HLI" }, caller)).toMatchObject({
      answer: { error: "filings_unavailable", retry_after_s: 10 },
      is_busy: true,
    });
    expect((await service.resolve({ cik: "9" }, caller)).answer).toMatchObject({ cik: 9, cached: true });
  });

  test("that cannot be parsed are discarded, and requested again", async () => {
    const { service, caller, served, discarded } = serviceHarness();
    const list = served.get(LIST)!;
    served.set(LIST, { content: { fields: [], data: [] } });
    expect((await service.resolve({ ticker: "HLI" }, caller)).answer).toMatchObject({
      error: "filings_unavailable",
      retry_after_s: 60,
    });
    expect(discarded).toEqual([LIST]);
    served.set(LIST, list);
    expect((await service.resolve({ ticker: "HLI" }, caller)).answer).toMatchObject({ cik: 1, error: null });
  });
});

describe("an answer of several documents", () => {
  const PAGE = "CIK0000000009-submissions-001.json";
  const entry = { name: PAGE, filingCount: 1, filingFrom: "2001-01-01", filingTo: "2002-01-01" };
  const page = { accessionNumber: ["b"], filingDate: ["2001-06-01"], form: ["8-K"] };

  test("is cached when all of them are, and as old as the oldest", async () => {
    const { service, caller, served } = serviceHarness();
    const sendAsk = async (first: Partial<ServedDocument>, second: Partial<ServedDocument>) => {
      served.set("/submissions/CIK0000000009.json", { content: filer(9, [entry]), ...first });
      served.set(`/submissions/${PAGE}`, { content: page, ...second });
      const { answer, bodies } = await service.submissions({ cik: "9" }, {}, caller);
      return [answer.cached, answer.retrieved_at, bodies.length];
    };
    const old = "2025-12-31T00:00:00.000Z";
    expect(await sendAsk({}, { cached: true, retrieved_at: old })).toEqual([false, old, 2]);
    expect(await sendAsk({ cached: true, retrieved_at: old }, {})).toEqual([false, old, 2]);
    expect(await sendAsk({ cached: true }, { cached: true })).toEqual([true, AT, 2]);
  });

  test("takes an older page as it was, while its entry is what it was", async () => {
    const { service, caller, served, asks } = serviceHarness();
    served.set("/submissions/CIK0000000009.json", { content: filer(9, [entry]) });
    served.set(`/submissions/${PAGE}`, { content: page });
    const age = async () => {
      asks.length = 0;
      await service.submissions({ cik: "9" }, {}, caller);
      return asks.find(({ path }) => path.endsWith(PAGE))!.cache_ttl_s;
    };
    expect(await age()).toBeNull();
    expect(await age()).toBe(365 * 24 * 60 * 60);
    served.set("/submissions/CIK0000000009.json", { content: filer(9, [{ ...entry, filingCount: 2 }]) });
    expect(await age()).toBeNull();
    expect(await age()).toBe(365 * 24 * 60 * 60);
  });

  test("fails when one of its pages fails, with the reason of the page", async () => {
    const { service, caller, served } = serviceHarness();
    served.set("/submissions/CIK0000000009.json", { content: filer(9, [entry]) });
    const resultOf = async (more: object) => {
      served.set(`/submissions/${PAGE}`, failing(more));
      const { answer, is_busy } = await service.submissions({ cik: "9" }, {}, caller);
      return [answer.error, answer.filings, is_busy ?? false];
    };
    expect(await resultOf({})).toEqual(["filings_unavailable", [], false]);
    expect(await resultOf({ paused: true })).toEqual(["filings_unavailable", [], true]);
    expect(await resultOf({ error: "rate_limited" })).toEqual(["rate_limited", [], true]);
    expect(await resultOf({ error: "too_large", retry_after_s: null })).toEqual([
      "filings_unavailable",
      [],
      false,
    ]);
  });
});

describe("a document that is refused", () => {
  const named = { cik: 1, accession: "0000000001-24-000001", document: "a.htm", max_bytes: 2 };
  const path = "/Archives/edgar/data/1/000000000124000001/a.htm";

  test.each([
    ["which came just now", { content: "long", cached: false }, false],
    ["which the cache had", { content: "long", cached: true }, true],
    ["whose size the cache knew", failing({ error: "too_large", retry_after_s: null }), true],
    ["whose size the upstream told", failing({ error: "too_large", requests: 1 }), false],
  ])("%s", async (_, answered, cached) => {
    const { service, caller, served } = serviceHarness();
    served.set(path, answered);
    const { answer } = await service.document(named, caller);
    expect(answer).toMatchObject({ error: "too_large", cached });
    expect(answer.attempts.length).toBe(cached ? 0 : 1);
  });
});

test("the bodies of an answer are those of its documents", async () => {
  const { service, caller, served } = serviceHarness();
  served.set("/submissions/CIK0000000009.json", { content: filer(9) });
  const { answer, bodies } = await service.submissions({ cik: "9" }, {}, caller);
  const sha256 = createHash("sha256")
    .update(JSON.stringify(filer(9)))
    .digest("hex");
  expect(answer).toMatchObject({ sha256, body_url: `/v1/bodies/${sha256}` });
  expect(bodies).toEqual([{ sha256, content_type: "application/json" }]);
});
