/** The source of filings, against a server that misbehaves as the real filing system was seen to. */
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { FilingSource } from "../../../../actors/sources/filings/source.ts";
import { destination } from "../../../../actors/lib/web/destination.ts";
import { systemClock } from "../../../../cluster/adapters/time/clock.system.ts";
import { undiciEgress } from "../../../../cluster/adapters/egress/egress.undici.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { systemRandom } from "../../../../cluster/adapters/time/random.system.ts";
import type { ActorClient } from "../../../../cluster/actor.ts";
import { embedded } from "../../../../cluster/embedded.ts";
import type { Blobs } from "../../../../cluster/ports/blobs.ts";
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import { readConfig } from "../../../../ops/config.ts";
import { filingsUpstream } from "../../../../actors/sources/filings/feature/upstream.ts";
import { upstreamActors } from "../../../../actors/sources/filings/feature/upstream-actors.ts";
import { openBlobs, openDocuments } from "../../../../ops/stores.ts";
import type { SourceRequest } from "../../../../schemas/filing-source.ts";
import type { SourceAnswer } from "../../../../schemas/upstream.ts";
import { type Edgar, edgar, type Wrong } from "../../../harness/edgar.ts";
import { engines } from "../../../harness/engines.ts";
import { SILENT_METRICS } from "../../../../cluster/ports/metrics.ts";
import { SILENT_LOG } from "../../../../cluster/ports/log.ts";

const { documents: mongo, blobs: s3 } = await engines("documents", "blobs");
const folder = mkdtempSync(join(tmpdir(), "trawl-filings-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Where documents and bodies are kept. */
const STORES: { readonly stores: string; readonly environment: Readonly<Record<string, string>> }[] = [
  { stores: "sqlite and files", environment: {} },
  ...(mongo && s3
    ? [
        {
          stores: "MongoDB and S3",
          environment: {
            ...s3,
            TRAWL_DOCUMENTS: mongo["TRAWL_DOCUMENTS"]!.replace(/\/[^/?]*(?=\?|$)/, `/filings-${process.pid}`),
            TRAWL_BLOBS: `${s3["TRAWL_BLOBS"]}/filings-${process.pid}`,
          },
        },
      ]
    : []),
];

interface UpstreamNode {
  readonly source: FilingSource;
  readonly get: (path: string, rest?: Partial<SourceRequest>) => Promise<SourceAnswer>;
  readonly text: (answer: SourceAnswer) => Promise<string>;
  readonly close: () => Promise<void>;
}

let opened = 0;

/** A node on stores that may be shared with others; each opened source has its own egress and so its own limiter. */
function upstreamNode(
  upstream: Edgar,
  documents: Documents,
  blobs: Blobs,
  environment: Readonly<Record<string, string>> = {},
): UpstreamNode {
  const clock = systemClock();
  const config = readConfig({
    ...upstream.environment,
    TRAWL_FILINGS_RPS: "8",
    TRAWL_FILINGS_EGRESS: `egress-${opened++}`,
    ...environment,
  });
  const random = systemRandom();
  const common = { clock, random, documents, blobs, metrics: SILENT_METRICS, log: SILENT_LOG };
  // The source asks the cluster of its own actors.
  const ask: ActorClient = (...question) => cluster.ask(...question);
  const { hosts, source } = filingsUpstream({ ...common, ask }, config.filings);
  const egress = undiciEgress({ judge: destination({ allow: ["127.0.0.0/8"] }), http2: false });
  const actors = upstreamActors({ ...common, config, hosts, egress }, config.filings);
  const cluster = embedded(actors, { clock, random, documents });
  const HOSTS = { f: "www", A: "www", s: "data", a: "data", L: "search" } as const;
  const KINDS = { f: "tickers", s: "submissions", a: "facts", L: "search" } as const;
  return {
    source,
    get: (path, rest = {}) =>
      source.get({
        host: HOSTS[path[1] as "f"],
        path,
        kind: KINDS[path[1] as "f"] ?? (/index/.test(path) ? "index" : "document"),
        cache_ttl_s: null,
        project: "default",
        lane: "sync",
        deadline_ms: clock.now() + 20_000,
        max_bytes: 52_428_800,
        ...rest,
      }),
    async text(answer) {
      if (answer.kind !== "got") throw new Error(JSON.stringify(answer));
      const pieces = await blobs.get(answer.sha256);
      return Buffer.concat(await Array.fromAsync(pieces!)).toString();
    },
    async close() {
      await cluster.stop(0);
      await egress.close();
    },
  };
}

const digest = (answer: SourceAnswer): string | null => (answer.kind === "got" ? answer.sha256 : null);

const FIXTURES = new URL("../../../fixtures/edgar", import.meta.url).pathname;
const fixture = (name: string): Buffer => readFileSync(join(FIXTURES, name));
const SUBMISSIONS = "/submissions/CIK0009000001.json";
const TICKERS = "/files/company_tickers_exchange.json";
const FOLDER = "/Archives/edgar/data/9000001/000900000124000007/";
const DOCUMENT = `${FOLDER}hliex991.htm`;
const SEARCH = "/LATEST/search-index?q=harbour&dateRange=custom&startdt=2001-01-01&enddt=2026-01-01&from=0";
const NO_HITS = JSON.stringify({
  took: 5,
  timed_out: false,
  _shards: { total: 50, successful: 50, skipped: 0, failed: 0 },
  hits: { total: { value: 0, relation: "eq" }, max_score: null, hits: [] },
});

describe.each(STORES)("with $stores", ({ stores, environment }) => {
  let documents: Documents;
  let blobs: Blobs;
  let upstream: Edgar;
  let node: UpstreamNode;

  beforeAll(async () => {
    const config = readConfig({ TRAWL_DATA_DIR: join(folder, stores.split(" ")[0]!), ...environment });
    documents = await openDocuments(config);
    blobs = await openBlobs(config);
  });
  afterAll(async () => {
    await documents.close();
    await blobs.close();
  });
  beforeEach(async () => {
    upstream = await edgar();
    upstream.serve("search", SEARCH, NO_HITS);
    node = upstreamNode(upstream, documents, blobs);
  });
  afterEach(async () => {
    await node.close();
    await upstream.close();
  });

  test("a document is requested once, as the declared operator, and its bytes are stored unchanged", async () => {
    const answer = await node.get(SUBMISSIONS);
    const bytes = fixture(`data.sec.gov${SUBMISSIONS}`);
    expect(answer).toMatchObject({
      kind: "got",
      url: upstream.urls.data + SUBMISSIONS,
      status: 200,
      content_type: "application/json",
      sha256: createHash("sha256").update(bytes).digest("hex"),
      bytes: bytes.length,
      cached: false,
      requests: 1,
    });
    expect(await node.text(answer)).toBe(bytes.toString());
    expect(upstream.starts[0]!.headers).toMatchObject({ "user-agent": "Trawl tests tests@trawl.test" });
    expect(upstream.starts[0]!.headers["accept-encoding"]).toContain("gzip");
    expect(await node.get(SUBMISSIONS)).toMatchObject({ kind: "got", cached: true, requests: 0 });
    expect(upstream.hits()).toBe(1);
  });

  test("concurrent equal requests cost one upstream request", async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => node.get(DOCUMENT)));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]!.kind).toBe("got");
    expect(upstream.hits()).toBe(1);
  });

  test("seven hundred callers at once are all answered, by one upstream request", async () => {
    upstream.serve("www", DOCUMENT, "<p>All callers want this one.</p>", {
      type: "text/html",
      after_ms: 400,
    });
    const answers = await Promise.all(Array.from({ length: 700 }, () => node.get(DOCUMENT)));
    expect(new Set(answers.map(({ kind }) => kind))).toEqual(new Set(["got"]));
    expect(upstream.hits()).toBe(1);
  });

  test("those that want it smaller wait, and find it kept", async () => {
    const [whole, small] = await Promise.all([node.get(DOCUMENT), node.get(DOCUMENT, { max_bytes: 100 })]);
    expect(whole.kind).toBe("got");
    expect(small).toMatchObject({ kind: "failed", error: "too_large", retry_after_s: null });
    expect(upstream.hits()).toBe(1);
  });

  test("a document older than the caller wants is asked about with If-Modified-Since", async () => {
    const first = await node.get(DOCUMENT);
    const second = await eventually(() => node.get(DOCUMENT, { cache_ttl_s: 1 }), "revalidated");
    expect(second).toMatchObject({ cached: true, revalidated: true, requests: 1 });
    expect(await node.text(second)).toBe(await node.text(first));
    expect(upstream.starts.at(-1)!.headers["if-modified-since"]).toBe("Fri, 01 Nov 2024 06:01:36 GMT");
    // And is fresh again.
    expect(await node.get(DOCUMENT, { cache_ttl_s: 30 })).toMatchObject({ cached: true, requests: 0 });
  });

  test("submissions past their time are read again and compared by their bytes", async () => {
    const first = await node.get(SUBMISSIONS);
    const same = await eventually(() => node.get(SUBMISSIONS, { cache_ttl_s: 1 }), "revalidated");
    expect(same).toMatchObject({ cached: false, revalidated: true, requests: 1 });
    expect(upstream.starts.at(-1)!.headers["if-modified-since"]).toBeUndefined();
    upstream.serve("data", SUBMISSIONS, '{"cik":"0009000001","filings":{}}');
    const other = await eventually(() => node.get(SUBMISSIONS, { cache_ttl_s: 1 }), "cached", false);
    expect(other).toMatchObject({ cached: false, revalidated: false });
    expect(digest(same)).toBe(digest(first));
    expect(digest(other)).not.toBe(digest(first));
  });

  test("cache_ttl_s 0 goes past the cache", async () => {
    await node.get(DOCUMENT);
    expect(await node.get(DOCUMENT, { cache_ttl_s: 0 })).toMatchObject({ cached: false, revalidated: false });
    expect(upstream.starts.at(-1)!.headers["if-modified-since"]).toBeUndefined();
    expect(upstream.hits()).toBe(2);
  });

  test.each([
    ["S3's 403 for an archived document (class C)", `${FOLDER}none.htm`, 403],
    ["the 404 of the data host (class D)", "/submissions/CIK0000000009.json", 404],
  ])("%s means a missing document, and starts no pause", async (_, path, status) => {
    expect(await node.get(path)).toMatchObject({ kind: "missing", status, requests: 1 });
    expect(await node.get(DOCUMENT)).toMatchObject({ kind: "got" });
    expect(await node.get(path)).toMatchObject({ kind: "missing", status });
    expect(upstream.hits(path)).toBe(1);
  });

  const THROTTLED: [Wrong, string][] = [
    ["throttled_429", "page A with 429"],
    ["throttled_403", "page A with 403"],
    ["throttled_200", "page A with 200, as proxies pass it on"],
    ["undeclared", "page B, which has the same title"],
    ["maintenance", "page E with 503"],
    ["bare_429", "429 without a page"],
    ["bare_503", "503 without a page"],
    ["odd_403", "an unknown 403"],
  ];
  test.each(THROTTLED)("%s pauses every request: %s", async (wrong) => {
    upstream.fail(wrong, { times: 1 });
    const turned_away = await node.get(DOCUMENT);
    expect(turned_away).toMatchObject({ kind: "failed", error: "filings_unavailable", retry_after_s: 10 });
    const other = await node.get(SUBMISSIONS);
    expect(other).toMatchObject({ kind: "failed", error: "filings_unavailable" });
    expect(other.kind === "failed" && other.retry_after_s! >= 9).toBe(true);
    expect(upstream.hits()).toBe(1);
    expect(JSON.stringify(turned_away).includes("identity")).toBe(wrong === "undeclared");
    // Another limiter on the same stores knows nothing of that egress, and nothing bad was kept.
    const elsewhere = upstreamNode(upstream, documents, blobs);
    expect(await elsewhere.text(await elsewhere.get(DOCUMENT))).toContain("Harbour Lights reports");
    await elsewhere.close();
  });

  test("Retry-After counts, up to ten minutes; what is kept is still answered", async () => {
    await node.get(DOCUMENT);
    upstream.fail("bare_503", { times: 1, retry_after: "99999" });
    expect(await node.get(SUBMISSIONS)).toMatchObject({ error: "filings_unavailable", retry_after_s: 600 });
    expect(await node.get(DOCUMENT)).toMatchObject({ kind: "got", cached: true });
    // But not beyond its time.
    expect(await node.get(DOCUMENT, { cache_ttl_s: 0 })).toMatchObject({ error: "filings_unavailable" });
    expect(upstream.hits()).toBe(2);
  });

  test("eight turned away at once are one", async () => {
    for (const n of [1, 2, 3, 4, 5, 6, 7, 8])
      upstream.serve("data", `/submissions/CIK000000001${n}.json`, "{}", { after_ms: 900 });
    upstream.fail("throttled_429");
    const asked = [1, 2, 3, 4, 5, 6, 7, 8].map((n) => node.get(`/submissions/CIK000000001${n}.json`));
    for (const answer of await Promise.all(asked))
      expect(answer).toMatchObject({ error: "filings_unavailable", retry_after_s: 10 });
  });

  const AGAIN: [Wrong, string, string][] = [
    ["error_500", SEARCH, "class F"],
    ["error_500", SUBMISSIONS, "a 500"],
    ["hung_up", SUBMISSIONS, "a reset before the head"],
    ["reset", SUBMISSIONS, "a reset in mid-body"],
    ["short", SUBMISSIONS, "a Content-Length that promises more"],
    ["gzip_cut", SUBMISSIONS, "gzip that ends early"],
    ["empty", DOCUMENT, "an empty 200 (class H)"],
    ["empty", SUBMISSIONS, "an empty 200 for JSON"],
    ["garbage", SUBMISSIONS, "garbage"],
    ["html", SUBMISSIONS, "HTML for JSON"],
    ["cut", SUBMISSIONS, "JSON cut off"],
    ["large", SUBMISSIONS, "twenty megabytes"],
  ];
  test.each(AGAIN)("%s for %s is tried once more, and is a named error then: %s", async (wrong, path) => {
    upstream.fail(wrong, { times: 1 });
    expect(await node.get(path, { cache_ttl_s: 0 })).toMatchObject({ kind: "got" });
    // A kept connection that dies is no answer: the same request goes out once more, in a slot of its own.
    const times = wrong === "hung_up" ? 3 : 2;
    upstream.fail(wrong, { times });
    const retry_after_s = /error|hung|reset|short|gzip/.test(wrong) ? 30 : 60;
    const lost = await node.get(path, { cache_ttl_s: 0 });
    expect(lost).toMatchObject({
      kind: "failed",
      error: "filings_unavailable",
      retry_after_s,
      requests: times,
    });
    // Nothing stays in the cache, nothing is paused, and the next request works.
    const next = await node.get(path, { cache_ttl_s: 0 });
    expect(next).toMatchObject({ kind: "got", requests: 1 });
    expect((await node.text(next)).length).toBeGreaterThan(50);
  });

  test("what is larger than it can honestly be is not read to its end", async () => {
    upstream.fail("large", { times: 1 });
    const answer = await node.get(TICKERS);
    expect(answer).toMatchObject({ error: "filings_unavailable", retry_after_s: 60, requests: 1 });
    expect(await node.get(TICKERS)).toMatchObject({ kind: "got" });
  });

  test("a search that answers with an error in a 200 (class G) found nothing out", async () => {
    upstream.serve("search", SEARCH, '{"error":{"reason":"all shards failed"},"hits":{"hits":[]}}');
    expect(await node.get(SEARCH)).toMatchObject({ error: "filings_unavailable", requests: 2 });
  });

  test.each([
    ["timed out", { timed_out: true, hits: { hits: [{}] } }],
    ["lost a shard", { timed_out: false, _shards: { failed: 1 }, hits: { hits: [{}] } }],
  ])("a search that %s is answered and not kept", async (_, body) => {
    upstream.serve("search", SEARCH, JSON.stringify(body));
    expect(await node.get(SEARCH)).toMatchObject({ kind: "got" });
    expect(await node.get(SEARCH)).toMatchObject({ kind: "got", cached: false });
  });

  test.each<Wrong>(["hang", "hang_body"])("%s ends at the caller's deadline", async (wrong) => {
    upstream.fail(wrong, { times: 1 });
    const began = performance.now();
    const answer = await node.get(SUBMISSIONS, { deadline_ms: Date.now() + 1_200, cache_ttl_s: 0 });
    expect(answer).toMatchObject({ kind: "failed", error: "timeout" });
    expect(performance.now() - began).toBeLessThan(2_500);
    expect(await node.get(SUBMISSIONS, { cache_ttl_s: 0 })).toMatchObject({ kind: "got" });
  });

  test("an unreachable upstream is a named error", async () => {
    await upstream.close();
    expect(await node.get(SUBMISSIONS, { cache_ttl_s: 0 })).toMatchObject({
      error: "filings_unavailable",
      retry_after_s: 30,
    });
  });

  test("a caller with more time than the request it joined gets a request of its own", async () => {
    upstream.serve("data", "/submissions/CIK0000000020.json", '{"a":1}', { after_ms: 1_500 });
    const path = "/submissions/CIK0000000020.json";
    const hasty = node.get(path, { deadline_ms: Date.now() + 800 });
    const patient = node.get(path);
    expect(await hasty).toMatchObject({ error: "timeout" });
    expect(await patient).toMatchObject({ kind: "got" });
  });

  describe("robots.txt", () => {
    test("is read once a day for each host, in its own slot, for documents that callers name", async () => {
      upstream.serve("www", "/robots.txt", "User-agent: *\nDisallow: /Archives/edgar/data/9000009/\n");
      const closed = "/Archives/edgar/data/9000009/000900000924000001/x.htm";
      expect(await node.get(DOCUMENT, { cache_ttl_s: 0 })).toMatchObject({ kind: "got", requests: 1 });
      expect(await node.get(closed)).toMatchObject({ error: "robots_disallowed", requests: 0 });
      expect(upstream.starts.map(({ path }) => path)).toEqual(["/robots.txt", DOCUMENT]);
      const [rules, document] = upstream.starts;
      expect(document!.mono_ms - rules!.mono_ms).toBeGreaterThan(50);
      expect(await node.get(SUBMISSIONS, { cache_ttl_s: 0 })).toMatchObject({ kind: "got" });
      expect(upstream.hits("robots.txt")).toBe(1);
    });

    test("that is a throttle page pauses, and disallows nothing", async () => {
      upstream.serve("www", "/robots.txt", fixture("_errors/throttled.html"), { type: "text/html" });
      const answer = await node.get(DOCUMENT, { cache_ttl_s: 0 });
      expect(answer).toMatchObject({ error: "filings_unavailable", retry_after_s: 10 });
      expect(upstream.hits(DOCUMENT)).toBe(0);
    });
  });

  describe("redirects", () => {
    const redirect = (from: string, to: string) =>
      upstream.serve("www", from, "", { status: 302, headers: { Location: to } });

    test("within the system are followed, a slot each", async () => {
      const from = `${FOLDER}old.htm`;
      redirect(from, DOCUMENT);
      const answer = await node.get(from, { within: FOLDER });
      expect(answer).toMatchObject({ kind: "got", final_url: upstream.urls.www + DOCUMENT, requests: 2 });
      expect(answer.kind === "got" && answer.redirects).toEqual([
        { url: upstream.urls.www + from, status: 302, location: DOCUMENT },
      ]);
      const [a, b] = upstream.starts.slice(-2);
      expect(b!.mono_ms - a!.mono_ms).toBeGreaterThan(50);
    });

    test.each([
      ["to another host", "http://elsewhere.test/x.htm"],
      ["out of the filing's folder", "/Archives/edgar/data/9000002/000900000224000001/x.htm"],
      ["out of it by an escape", `${FOLDER}..%2f..%2fx.htm`],
    ])("%s are not", async (_, to) => {
      const from = `${FOLDER}away.htm`;
      redirect(from, to);
      expect(await node.get(from, { within: FOLDER, cache_ttl_s: 0 })).toMatchObject({
        kind: "failed",
        error: "redirect_not_allowed",
        redirects: [{ status: 302, location: to }],
      });
      expect(upstream.hits()).toBe(1);
    });

    test("out of the filing's folder are not, also when the page is cached for a caller without a folder", async () => {
      const from = `${FOLDER}moved.htm`;
      const elsewhere = "/Archives/edgar/data/9000002/000900000224000001/y.htm";
      redirect(from, elsewhere);
      upstream.serve("www", elsewhere, "<p>Elsewhere</p>", { headers: { "Content-Type": "text/html" } });
      expect(await node.get(from)).toMatchObject({ kind: "got", final_url: upstream.urls.www + elsewhere });
      const hits = upstream.hits();
      expect(await node.get(from, { within: FOLDER })).toMatchObject({
        kind: "failed",
        error: "redirect_not_allowed",
        redirects: [{ status: 302, location: elsewhere }],
      });
      expect(await node.get(from)).toMatchObject({ kind: "got", cached: true });
      expect(upstream.hits()).toBe(hits);
    });

    test("in a circle come to an end", async () => {
      const from = `${FOLDER}round.htm`;
      redirect(from, from);
      expect(await node.get(from, { cache_ttl_s: 0 })).toMatchObject({
        error: "filings_unavailable",
        requests: 6,
      });
    });
  });

  test("what turned out to be wrong is forgotten, and only that", async () => {
    const answer = await node.get(SUBMISSIONS, { cache_ttl_s: 0 });
    const place = { host: "data", path: SUBMISSIONS } as const;
    await node.source.discard(place, "0".repeat(64));
    expect(await node.get(SUBMISSIONS)).toMatchObject({ cached: true });
    if (answer.kind === "got") await node.source.discard(place, answer.sha256);
    expect(await node.get(SUBMISSIONS)).toMatchObject({ cached: false });
  });

  test("a body the store lost is asked for again", async () => {
    const answer = await node.get(DOCUMENT);
    // A body leaves S3 in two steps: set aside, then removed.
    if (answer.kind === "got") for (let step = 0; step < 2; step++) await blobs.remove(answer.sha256);
    expect(await node.text(await node.get(DOCUMENT))).toContain("Harbour Lights");
    expect(upstream.hits()).toBe(2);
  });

  test("many distinct documents never start more than ten times in any second", async () => {
    const paths = Array.from(
      { length: 40 },
      (_, n) => `/submissions/CIK00000001${String(n).padStart(2, "0")}.json`,
    );
    for (const path of paths) upstream.serve("data", path, "{}");
    const answers = await Promise.all(paths.map((path) => node.get(path)));
    expect(new Set(answers.map(({ kind }) => kind))).toEqual(new Set(["got"]));
    expect(upstream.worstSecond()).toBeLessThanOrEqual(10);
    expect(upstream.worstSecond()).toBeGreaterThan(5);
  });
});

test("nothing is asked where no operator is declared", async () => {
  const upstream = await edgar();
  const node = upstreamNode(upstream, memoryDocuments(), { head: async () => null } as unknown as Blobs, {
    TRAWL_FILINGS_IDENTITY: "",
  });
  expect(await node.get(SUBMISSIONS)).toMatchObject({ kind: "failed", error: "filings_not_configured" });
  expect(upstream.starts).toEqual([]);
  await node.close();
  await upstream.close();
});

/** Asks until an answer has this; time has to pass before what is kept is old. */
async function eventually(
  ask: () => Promise<SourceAnswer>,
  field: "revalidated" | "cached",
  value = true,
  clock: Clock = systemClock(),
): Promise<SourceAnswer> {
  for (;;) {
    const answer = await ask();
    if (answer.kind === "got" && answer[field] === value) return answer;
    const { promise, resolve } = Promise.withResolvers<void>();
    clock.at(clock.now() + 100, resolve);
    await promise;
  }
}
