import { beforeEach, describe, expect, test } from "vitest";
import { domain } from "../../actors/domain/actor.ts";
import { robots } from "../../actors/domain/robots.actor.ts";
import { fetch } from "../../actors/fetch/actor.ts";
import { climb } from "../../actors/fetch/climb.ts";
import { asCachedPage } from "../../actors/fetch/freshness.ts";
import { fetchService } from "../../actors/fetch/service.ts";
import { tasks } from "../../actors/lib/extract.ts";
import type { Extracted } from "../../actors/lib/extracted.ts";
import type { Transport, TransportRequest, Transported } from "../../actors/lib/transport.ts";
import { memoryBodies } from "../../cluster/adapters/bodies.memory.ts";
import { virtualClock } from "../../cluster/adapters/clock.virtual.ts";
import { memoryDocuments } from "../../cluster/adapters/documents.memory.ts";
import { fakeEgress } from "../../cluster/adapters/egress.fake.ts";
import { silentMeters } from "../../cluster/adapters/meters.silent.ts";
import { seededRandom } from "../../cluster/adapters/random.seeded.ts";
import { embedded } from "../../cluster/embedded.ts";
import type { FetchAsk, Tier } from "../../schemas/fetch.ts";

const LONG =
  "The boats come in at dawn, and everybody in the harbour knows what each of them has brought. ".repeat(9);
const HTML = `<html><head><title>Harbour</title></head><body><article><h1>Harbour</h1><p>${LONG}</p></article></body></html>`;

type Scripted = (request: TransportRequest) => Promise<Transported> | Transported;

const answer = (body: string, status = 200, headers: Record<string, string> = {}): Transported => ({
  kind: "page",
  final_url: "http://example.org/",
  redirects: [],
  status,
  headers: new Map(Object.entries({ "content-type": "text/html; charset=utf-8", ...headers })),
  body: Buffer.from(body),
  body_kind: "origin",
  ms: 5,
});
const failure = (reason: string, status: number | null = null): Transported => ({
  kind: "failed",
  reason,
  status,
  redirects: [],
  final_url: null,
  detail: null,
  ms: 5,
});

/** A service without sockets: robots.txt is 404 everywhere, routes do as they are told after entering. */
async function oneService(routes: Partial<Record<Tier, Scripted>>) {
  const clock = virtualClock(Date.UTC(2026, 10, 21));
  const documents = memoryDocuments();
  const bodies = memoryBodies();
  const meters = silentMeters();
  const readPage = await tasks.page();
  const entering =
    (scripted: Scripted): Transport =>
    async (request) => {
      const entry = await request.enter(request.url);
      if (entry.kind === "refused") {
        return { kind: "refused", refusal: entry.refusal, redirects: [], final_url: null, ms: 0 };
      }
      const transported = await scripted(request);
      entry.left({ status: transported.kind === "page" ? transported.status : null, retry_after_s: null });
      return transported;
    };
  const { ask } = embedded(
    [
      domain({ gap_ms: 0, slots: 2, lease_ms: 60_000 }),
      robots({
        egress: fakeEgress({ "http://example.org/robots.txt": { status: 404 } }, clock),
        clock,
        crawler_name: "trawl",
        user_agent: "trawl",
      }),
      fetch({
        climb: climb({
          clock,
          documents,
          bodies,
          meters,
          routes: Object.fromEntries(
            Object.entries(routes).map(([tier, scripted]) => [tier, entering(scripted)]),
          ),
          extract: async (task) => ({ kind: "done", value: (await readPage(task, () => 0)) as Extracted }),
        }),
        stored: async (digest) => asCachedPage((await documents.get("pages", digest))?.value),
        now: () => clock.now(),
      }),
    ],
    { clock, random: seededRandom(1), documents },
  );
  const pages = fetchService({ documents, ask, clock, meters });
  let asked = 0;
  const get = (wishes: Partial<FetchAsk> = {}) =>
    pages.fetch({
      fetch_id: `f${asked++}`,
      url: "http://example.org/",
      render: "auto",
      max_bytes: 15_728_640,
      accept_pdf: true,
      cache_ttl_s: null,
      min_text_chars: 500,
      allow_archive: true,
      allow_alternates: true,
      allow_paid: true,
      tiers: null,
      country: null,
      user_agent: null,
      accept_language: null,
      lane: "sync",
      project: "default",
      deadline_ms: clock.now() + 150_000,
      hard_deadline: false,
      ...wishes,
    });
  return { clock, get, bodies };
}

/** Lets work that waits for nothing but itself come to its end. */
async function running<T>(clock: ReturnType<typeof virtualClock>, work: Promise<T>): Promise<T> {
  let done = false;
  void work.finally(() => (done = true)).catch(() => {});
  for (let turn = 0; turn < 200 && !done; turn++) await clock.advance(10);
  return work;
}

describe("a fetch", () => {
  let visits = 0;
  beforeEach(() => (visits = 0));
  const counted =
    (scripted: Scripted): Scripted =>
    (request) => (visits++, scripted(request));

  test("reads a page once and answers it from the cache afterwards", async () => {
    const { get, clock } = await oneService({ direct: counted(() => answer(HTML)) });
    const first = await running(clock, get());
    expect(first).toMatchObject({ error: null, cached: false, attempts: [{ tier: "direct", reason: "ok" }] });
    expect(first.record).toMatchObject({ title: "Harbour", content_kind: "html", tier: "direct" });
    const again = await running(clock, get());
    expect(again).toMatchObject({ error: null, cached: true, attempts: [] });
    expect(again.record).toEqual(first.record);
    expect(visits).toBe(1);
  });

  test("is one visit for everyone who asks at the same time", async () => {
    const { get, clock } = await oneService({ direct: counted(() => answer(HTML)) });
    const answers = await running(clock, Promise.all([get(), get(), get()]));
    expect(answers.map(({ error }) => error)).toEqual([null, null, null]);
    expect(visits).toBe(1);
  });

  test("is its own visit for who asks something else", async () => {
    const { get, clock } = await oneService({ direct: counted(() => answer(HTML)) });
    await running(
      clock,
      Promise.all([get({ cache_ttl_s: 0 }), get({ cache_ttl_s: 0, max_bytes: 1_000_000 })]),
    );
    expect(visits).toBe(2);
  });

  test("asks the origin about an old page, and keeps it when nothing changed", async () => {
    const { get, clock } = await oneService({
      direct: counted(({ validators }) =>
        validators?.etag === '"a"' ? answer("", 304, { etag: '"a"' }) : answer(HTML, 200, { etag: '"a"' }),
      ),
    });
    const first = await running(clock, get());
    await clock.advance(25 * 3_600_000);
    const second = await running(clock, get());
    expect(second).toMatchObject({
      cached: true,
      revalidated: true,
      cost_usd: "0",
      attempts: [{ tier: "direct", status: 304, reason: "not_modified" }],
    });
    expect(second.record.sha256).toBe(first.record.sha256);
    expect(await running(clock, get())).toMatchObject({ cached: true, revalidated: false });
    expect(visits).toBe(2);
  });

  test("keeps nothing the origin wants kept nowhere", async () => {
    const { get, clock } = await oneService({
      direct: counted(() => answer(HTML, 200, { "cache-control": "no-store" })),
    });
    await running(clock, get());
    await running(clock, get());
    expect(visits).toBe(2);
  });

  test("keeps no failure, and returns a 404 page as it is", async () => {
    const { get, clock } = await oneService({ direct: counted(() => answer(HTML, 404)) });
    const gone = await running(clock, get({ allow_archive: false }));
    expect(gone).toMatchObject({ error: "http_404", record: { status: 404, title: "Harbour" } });
    await running(clock, get({ allow_archive: false }));
    expect(visits).toBe(2);
  });

  test("climbs past a block and says what it tried", async () => {
    const { get, clock } = await oneService({
      direct: () => answer("no", 403),
      browser: () => answer(HTML),
    });
    expect(await running(clock, get())).toMatchObject({
      error: null,
      record: { tier: "browser" },
      attempts: [
        { tier: "direct", status: 403, reason: "http_403" },
        { tier: "browser", status: 200, reason: "ok" },
      ],
    });
  });

  test("says all_tiers_failed with the last status, and which routes are not there", async () => {
    const { get, clock } = await oneService({ direct: () => answer("busy", 503) });
    const failed = await running(clock, get());
    expect(failed).toMatchObject({ error: "all_tiers_failed", record: { status: 503, sha256: null } });
    expect(failed.attempts.map(({ tier, reason }) => `${tier} ${reason}`)).toEqual([
      "direct http_503",
      "browser not_configured",
      "archive not_configured",
      "proxy not_configured",
      "proxy_render not_configured",
    ]);
    expect(failed.premium_routes_tried).toBe(false);
  });

  test("takes thin text to the browser and returns what is longest", async () => {
    const { get, clock } = await oneService({
      direct: () => answer("<p>Loading the page, please wait a little while it comes</p>"),
      browser: () => answer(HTML),
    });
    const { attempts, record } = await running(clock, get());
    expect(attempts.map(({ reason }) => reason)).toEqual(["thin_content", "ok"]);
    expect(record.tier).toBe("browser");
  });

  test("never serves a challenge as a page", async () => {
    const challenge = `<html><title>Just a moment...</title><script>window._cf_chl_opt={}</script></html>`;
    const { get, clock } = await oneService({
      direct: () => answer(challenge, 403, { "cf-mitigated": "challenge" }),
    });
    const answered = await running(clock, get({ tiers: ["direct"] }));
    expect(answered).toMatchObject({ error: "all_tiers_failed", record: { text: "", sha256: null } });
    expect(answered.attempts[0]!.reason).toBe("challenge_cloudflare");
  });

  test("skips a domain after three fetches in which every route failed, until ten minutes are over", async () => {
    const { get, clock } = await oneService({ direct: counted(() => failure("network_reset")) });
    const direct = { tiers: ["direct"] } as const;
    for (let time = 0; time < 3; time++) await running(clock, get({ tiers: [...direct.tiers] }));
    const skipped = await running(clock, get({ tiers: ["direct"] }));
    expect(skipped).toMatchObject({ error: "domain_unavailable", attempts: [{ tier: "politeness" }] });
    expect(skipped.retry_after_s).toBeGreaterThan(590);
    expect(visits).toBe(3);
    await clock.advance(600_000);
    await running(clock, get({ tiers: ["direct"] }));
    expect(visits).toBe(4);
  });

  test("calls a host dead the second time its name is not found", async () => {
    const { get, clock } = await oneService({ direct: counted(() => failure("dns_nxdomain")) });
    expect(await running(clock, get())).toMatchObject({ error: "all_tiers_failed" });
    expect(await running(clock, get())).toMatchObject({ error: "domain_dead" });
    const visited = visits;
    expect(await running(clock, get())).toMatchObject({ error: "domain_dead" });
    expect(visits).toBe(visited);
  });

  test("ends at its own deadline and says so", async () => {
    const { get, clock } = await oneService({
      direct: ({ signal }) =>
        new Promise((resolve) =>
          signal.addEventListener("abort", () => resolve(failure("timeout")), { once: true }),
        ),
    });
    const late = get({ deadline_ms: clock.now() + 5_000, hard_deadline: true });
    await clock.advance(6_000);
    expect(await running(clock, late)).toMatchObject({
      error: "timeout",
      attempts: [{ tier: "direct", reason: "timeout" }, { tier: "request_timeout" }],
    });
  });

  test("gives who joined late and waits longer a climb of their own", async () => {
    let tries = 0;
    const { get, clock } = await oneService({
      direct: ({ signal }) =>
        tries++ === 0
          ? new Promise((resolve) =>
              signal.addEventListener("abort", () => resolve(failure("timeout")), { once: true }),
            )
          : answer(HTML),
    });
    const early = get({ deadline_ms: clock.now() + 5_000, hard_deadline: true });
    await clock.advance(1_000);
    const patient = get({ deadline_ms: clock.now() + 60_000, hard_deadline: true });
    await clock.advance(5_000);
    expect(await running(clock, early)).toMatchObject({ error: "timeout" });
    expect(await running(clock, patient)).toMatchObject({ error: null });
  });

  test("says no_tier_allowed without asking anybody", async () => {
    const { get, clock } = await oneService({ direct: counted(() => answer(HTML)) });
    expect(await running(clock, get({ tiers: [] }))).toMatchObject({
      error: "no_tier_allowed",
      attempts: [],
    });
    expect(visits).toBe(0);
  });

  test("says invalid_url for what is none", async () => {
    const { get, clock } = await oneService({});
    expect(await running(clock, get({ url: "ftp://example.org/" }))).toMatchObject({ error: "invalid_url" });
  });

  test("stores the bytes before it names them, and long texts beside them", async () => {
    const long = HTML.replace(LONG, LONG.repeat(99));
    const { get, clock, bodies } = await oneService({ direct: () => answer(long) });
    const { record } = await running(clock, get());
    expect(record.text).toBeNull();
    expect(await bodies.head(record.text_sha256!)).not.toBeNull();
    expect(await bodies.head(record.sha256!)).toEqual({ bytes: Buffer.byteLength(long) });
  });
});
