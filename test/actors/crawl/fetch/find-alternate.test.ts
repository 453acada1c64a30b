/**
 * Open copies searched for by whole fetches, over a web made of a table (allow_alternates, alternate_*): every source
 * true and false, the rules of each host, and never around a paywall.
 */
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { domainActor } from "../../../../actors/crawl/domain/actor.ts";
import { robotsActor } from "../../../../actors/crawl/domain/robots.actor.ts";
import { fetchActor } from "../../../../actors/crawl/fetch/actor.ts";
import { loadPages } from "../../../../actors/crawl/fetch/page-store.ts";
import { fetchPipeline } from "../../../../actors/crawl/fetch/pipeline.ts";
import type { Sources } from "../../../../actors/crawl/fetch/alternates/lookup.ts";
import { hostProfileActor } from "../../../../actors/crawl/fetch/host-profile.actor.ts";
import { fetchService } from "../../../../actors/crawl/fetch/service.ts";
import { destination } from "../../../../actors/lib/web/destination.ts";
import { taskOf } from "../../../../actors/reading/document-task.ts";
import { tasks } from "../../../../actors/reading/extract.ts";
import type { Transport } from "../../../../actors/lib/web/transport.ts";
import { directTransport } from "../../../../actors/crawl/tiers/adapters/transport.direct.ts";
import { memoryBlobs } from "../../../../cluster/adapters/blobs/blobs.memory.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { fakeEgress, type FakeWeb } from "../../../../cluster/adapters/egress/egress.fake.ts";
import { seededRandom } from "../../../../cluster/adapters/time/random.seeded.ts";
import { embedded } from "../../../../cluster/embedded.ts";
import type { FetchRequest } from "../../../../schemas/fetch.ts";
import { writePdf } from "../../reading/content/pdf-writer.ts";
import { CHALLENGE, prose } from "../../../harness/web.ts";
import { silentTelemetry } from "../../../../cluster/adapters/telemetry/telemetry.silent.ts";
import { DEFAULT_REQUEST } from "../../../harness/fetch-request.ts";
import { SAME_SECRETS } from "../../../harness/secrets.ts";
import { type Tier } from "../../../../schemas/tier-table.ts";

const PAGE = "https://www.news.example/a/ferry";
const NOW_MS = Date.UTC(2026, 10, 21);
const html = { "Content-Type": "text/html; charset=utf-8" };
const xml = { "Content-Type": "application/rss+xml" };
const json = { "Content-Type": "application/json" };

const STORY = prose(30, "the ferry");
const ANOTHER = "Nobody at the bakery on Mill Street knew who had ordered nine hundred rolls. ".repeat(20);
const LEAD = prose(5, "the ferry");
const WALL = '<div class="paywall"><p>Subscribe to continue reading this article.</p></div>';
const pageOf = (body: string, { title = "Ferry makes its last crossing", head = "" } = {}) => ({
  status: 200,
  headers: html,
  body: `<!doctype html><html lang="en"><head><title>${title}</title>${head}</head><body><article><h1>${title}</h1>${body}</article></body></html>`,
});
const TEASER = pageOf(
  `<p>${LEAD}</p><p>The <a href="https://www.supremecourt.gov/opinions/1.pdf">judgment</a> fell on Tuesday.</p>${WALL}`,
  { head: '<link rel="alternate" type="application/rss+xml" href="/rss">' },
);
const WHOLE = pageOf(`<p>${STORY}</p>`);
const feedOf = (item: string) => ({
  status: 200,
  headers: xml,
  body: `<rss version="2.0" xmlns:content="c"><channel><title>News</title>${item}</channel></rss>`,
});
const itemOf = (body: string, link = PAGE) =>
  `<item><title>Ferry makes its last crossing</title><link>${link}</link><author>Ada</author><pubDate>Sat, 21 Nov 2026 08:00:00 GMT</pubDate><content:encoded><![CDATA[<p>${body}</p>]]></content:encoded></item>`;

type Results = readonly string[];

/** A whole service but for its sockets; `www.news.example` answers what the web says, others too. */
async function oneService(
  web: FakeWeb,
  sources: Partial<Omit<Sources, "search">> & { results?: Results } = {},
  routes: Partial<Record<Tier, Transport>> = {},
) {
  const clock = virtualClock(NOW_MS);
  const documents = memoryDocuments();
  const telemetry = silentTelemetry();
  const { metrics, log } = telemetry;
  const egress = fakeEgress(web, clock);
  const queries: string[] = [];
  /** Documents being read in real time: the clock stands still meanwhile. */
  let reading = 0;
  const { results, ...others } = sources;
  const page = await tasks.page();
  const read = { page, large_page: page, pdf: await tasks.pdf(), office: await tasks.office() };
  const direct = directTransport({ egress, clock, destination: destination({ allow: [], own: [] }) });
  const { ask } = embedded(
    [
      domainActor({ min_delay_ms: 500, max_concurrency: 2, lease_ms: 60_000 }),
      hostProfileActor(),
      robotsActor({ egress, clock, crawler_name: "trawl", user_agent: "trawl" }),
      fetchActor({
        runFetch: fetchPipeline({
          clock,
          documents,
          blobs: memoryBlobs(),
          metrics,
          log,
          routes: { direct, ...routes },
          extract: async (task) => {
            reading++;
            const value = await read[taskOf(task)](task, () => 0).finally(() => reading--);
            return { kind: "done", value };
          },
          sources: {
            user_agent: "trawl/1",
            ...(results && {
              search: async (_, query) => (queries.push(query), { urls: results, cost_micros: 5_000 }),
            }),
            ...others,
          },
        }),
        deriveFormats: async () => null,
        reread: async (answer) => answer,
        loadStored: (digest, project) => loadPages(documents, digest, project),
        now: () => clock.now(),
      }),
    ],
    { clock, random: seededRandom(1), documents },
  );
  const pages = fetchService({ secrets: SAME_SECRETS, documents, ask, clock, metrics, log });
  let asked = 0;
  const get = async (overrides: Partial<FetchRequest> = {}) => {
    let done = false;
    const work = pages.fetch({
      ...DEFAULT_REQUEST,
      fetch_id: `f${asked++}`,
      url: PAGE,
      min_text_chars: 200,
      deadline_ms: clock.now() + 150_000,
      ...overrides,
    });
    void work.finally(() => (done = true)).catch(() => {});
    while (!done) {
      if (reading > 0) await new Promise((resolve) => setImmediate(resolve));
      else await clock.advance(100);
    }
    const answer = await work;
    const tried = answer.attempts.filter(({ tier }) => tier === "source");
    return { ...answer, tried: tried.map(({ reason, detail }) => [reason, detail] as const) };
  };
  const asks = (host: string) => egress.hits.filter(({ url }) => new URL(url).hostname === host);
  return { get, egress, asks, queries, clock };
}

describe("a publisher's feed", () => {
  const web = (feed: FakeWeb[string]): FakeWeb => ({ [PAGE]: TEASER, "https://www.news.example/rss": feed });

  test("gives the whole text of a page that is a teaser", async () => {
    const { get } = await oneService(web(feedOf(itemOf(STORY))));
    const answer = await get();
    expect(answer).toMatchObject({ error: null, cost_usd: "0", cached: false });
    expect(answer.attempts.map(({ tier, reason }) => [tier, reason])).toEqual([
      ["direct", "paywall"],
      ["source", "alternate_publisher_feed"],
    ]);
    expect(answer.tried).toEqual([["alternate_publisher_feed", "https://www.news.example/rss"]]);
    expect(answer.record).toMatchObject({
      tier: "source",
      status: 200,
      final_url: "https://www.news.example/rss",
      alternate_of: PAGE,
      alternate_source: "publisher_feed",
      match_score: 1,
      content_kind: "html",
      content_type: "text/html; charset=utf-8",
      body_kind: "origin",
      title: "Ferry makes its last crossing",
      paywall: "none",
      text_complete: true,
      meta: { author: "Ada", published_at: "2026-11-21T08:00:00Z" },
      primary_sources: [
        { url: "https://www.supremecourt.gov/opinions/1.pdf", kind: "court", text: "judgment" },
      ],
    });
    expect(answer.record.text).toBe(STORY);
  });

  test("answers from the cache every request that takes a copy, and no other", async () => {
    const { get, egress } = await oneService(web(feedOf(itemOf(STORY))));
    const first = await get();
    const visits = egress.hits.length;
    const again = await get();
    expect(again).toMatchObject({ cached: true, attempts: [], record: first.record });
    expect(egress.hits.length).toBe(visits);
    for (const overrides of [
      { allow_alternates: false },
      { tiers: ["direct"] },
    ] satisfies Partial<FetchRequest>[]) {
      const own = await get(overrides);
      expect(own).toMatchObject({
        cached: false,
        record: { tier: "direct", paywall: "hard", alternate_of: null },
      });
      expect(own.tried).toEqual([]);
    }
    // The teaser that was read in between has not taken its place.
    expect(await get()).toMatchObject({ cached: true, record: { tier: "source" } });
  });

  test.each<[string, FakeWeb[string], string, string | null]>([
    ["has only the teaser", feedOf(itemOf(LEAD)), "rejected_short", "https://www.news.example/rss"],
    [
      "has a wall of its own",
      feedOf(itemOf(`${LEAD}</p>${WALL}<p>`)),
      "rejected_paywall",
      "https://www.news.example/rss",
    ],
    [
      "has other stories",
      feedOf("<item><title>Tunnel opens</title><link>https://www.news.example/b</link></item>"),
      "not_found",
      "https://www.news.example/rss",
    ],
    [
      "has one of the same title about something else",
      feedOf(itemOf(ANOTHER, "https://www.news.example/b")),
      "rejected_mismatch",
      "https://www.news.example/rss",
    ],
    ["is a page", pageOf("<p>x</p>"), "not_found", "https://www.news.example/rss"],
    ["is not there", { status: 404 }, "not_found", "https://www.news.example/rss"],
    ["is refused", { status: 403 }, "rejected_status", "https://www.news.example/rss"],
    [
      "is endless",
      {
        status: 200,
        headers: xml,
        body: (function* () {
          for (;;) yield Buffer.alloc(65_536, "<a>");
        })(),
      },
      "rejected_too_large",
      "https://www.news.example/rss",
    ],
    [
      "hangs",
      { ...feedOf(itemOf(STORY)), after_ms: 3_600_000 },
      "rejected_timeout",
      "https://www.news.example/rss",
    ],
    [
      "breaks off",
      { status: 200, headers: xml, body: "<rss>", breaks: "network_reset" },
      "rejected_unreachable",
      "https://www.news.example/rss",
    ],
  ])("that %s leaves the teaser, with the reason in attempts", async (_, feed, outcome, detail) => {
    const { get } = await oneService(web(feed));
    const answer = await get();
    expect(answer.tried).toEqual([[`alternate_publisher_feed_${outcome}`, detail]]);
    expect(answer).toMatchObject({
      error: null,
      record: {
        tier: "direct",
        paywall: "hard",
        text_complete: false,
        alternate_of: null,
        alternate_source: null,
        match_score: null,
      },
    });
    expect(answer.record.primary_sources).toHaveLength(1);
  });

  test("is recognised by title and lead when its addresses differ", async () => {
    const { get } = await oneService(web(feedOf(itemOf(STORY, "https://feeds.example/1"))));
    expect((await get()).record).toMatchObject({ alternate_source: "publisher_feed", match_score: 1 });
  });

  test("is requested under its own host's rules", async () => {
    const rules = "User-agent: *\nDisallow: /rss";
    const { get, asks } = await oneService({
      ...web(feedOf(itemOf(STORY))),
      "https://www.news.example/robots.txt": {
        status: 200,
        headers: { "Content-Type": "text/plain" },
        body: rules,
      },
    });
    const answer = await get();
    expect(answer.tried).toEqual([
      ["alternate_publisher_feed_rejected_robots", "https://www.news.example/rss"],
    ]);
    expect(asks("www.news.example").map(({ url }) => new URL(url).pathname)).toEqual([
      "/robots.txt",
      "/a/ferry",
    ]);
  });

  test("is not guessed at: a page of which nothing is known costs its site no visit more", async () => {
    for (const answer of [{ status: 403 }, { status: 404, headers: html, body: "<title>Not here</title>" }]) {
      const { get, egress } = await oneService({ [PAGE]: answer });
      expect((await get()).tried).toEqual([]);
      expect(egress.hits.map(({ url }) => new URL(url).pathname)).toEqual(["/robots.txt", "/a/ferry"]);
    }
    const { get, egress } = await oneService({
      [PAGE]: WHOLE,
      "https://www.news.example/robots.txt": { status: 200, body: "User-agent: *\nDisallow: /" },
    });
    expect(await get()).toMatchObject({ error: "robots_disallowed", tried: [] });
    expect(egress.hits).toHaveLength(1);
  });

  test("is read once for many pages, politely", async () => {
    const pages = Object.fromEntries(
      Array.from({ length: 5 }, (_, n) => [`https://www.news.example/a/${n}`, TEASER]),
    );
    const { get, asks } = await oneService({ ...pages, "https://www.news.example/rss": feedOf("") });
    for (const url of Object.keys(pages)) await get({ url });
    expect(asks("www.news.example").filter(({ url }) => url.endsWith("/rss"))).toHaveLength(1);
    const starts = asks("www.news.example").map(({ at_ms }) => at_ms);
    for (const [n, at_ms] of starts.slice(1).entries())
      expect(at_ms - starts[n]!).toBeGreaterThanOrEqual(500);
  });

  test("of a missing page is the one its 404 page declares", async () => {
    const gone = {
      ...pageOf("<p>Not here</p>", {
        head: '<link rel="alternate" type="application/rss+xml" href="https://feeds.example/news">',
      }),
      status: 404,
    };
    const { get } = await oneService({ [PAGE]: gone, "https://feeds.example/news": feedOf(itemOf(STORY)) });
    expect(await get()).toMatchObject({
      error: null,
      record: { alternate_source: "publisher_feed", status: 200, served_from_archive_because: null },
    });
  });
});

describe("the Guardian's API", () => {
  const url = "https://www.theguardian.com/world/2026/nov/20/last-crossing";
  const guardian = { url: "https://api.guardian.example", key: "secret-key" };
  const item = (id = "world/2026/nov/20/last-crossing", body = `<p>${STORY}</p>`) => ({
    status: 200,
    headers: json,
    body: JSON.stringify({
      response: {
        status: "ok",
        content: {
          id,
          webTitle: "The last crossing",
          webPublicationDate: "2026-11-20T10:00:00Z",
          fields: { headline: "The last crossing", byline: "Ada Keeper", body },
        },
      },
    }),
  });
  const question = `${guardian.url}/world/2026/nov/20/last-crossing?show-fields=headline%2Cbyline%2Cbody&api-key=secret-key`;
  const blocked: FakeWeb = { [url]: { status: 403, headers: html, body: "no" } };

  test("gives the article, and its key is seen nowhere", async () => {
    const { get } = await oneService({ ...blocked, [question]: item() }, { guardian });
    const answer = await get({ url });
    expect(answer).toMatchObject({
      error: null,
      record: {
        tier: "source",
        alternate_source: "guardian_api",
        match_score: 1,
        final_url: "https://api.guardian.example/world/2026/nov/20/last-crossing",
        title: "The last crossing",
        meta: { author: "Ada Keeper", published_at: "2026-11-20T10:00:00Z" },
        text: STORY,
      },
    });
    expect(JSON.stringify(answer)).not.toContain("secret-key");
  });

  test.each<[string, FakeWeb[string], string]>([
    ["another item", item("world/2026/nov/20/other"), "rejected_unreadable"],
    ["no JSON", { status: 200, body: "<html>" }, "rejected_unreadable"],
    [
      "an item without a body",
      { status: 200, body: '{"response":{"status":"ok","content":{"id":"x","fields":{}}}}' },
      "rejected_unreadable",
    ],
    ["next to nothing", item(undefined, "<p>Live</p>"), "rejected_short"],
    ["that the key is wrong", { status: 401, body: "{}" }, "rejected_status"],
    [
      "elsewhere",
      { status: 302, headers: { Location: "http://127.0.0.1/?api-key=secret-key" } },
      "rejected_blocked_destination",
    ],
  ])("that has %s is not accepted", async (_, reply, outcome) => {
    const { get } = await oneService({ ...blocked, [question]: reply }, { guardian });
    const answer = await get({ url });
    expect(answer.tried.at(-1)).toEqual([
      `alternate_guardian_api_${outcome}`,
      "https://api.guardian.example/world/2026/nov/20/last-crossing",
    ]);
    expect(answer.error).toBe("all_tiers_failed");
    expect(JSON.stringify(answer)).not.toContain("secret-key");
  });

  test("is not asked about others' pages, nor about the Guardian's that are no articles", async () => {
    const { get, asks } = await oneService(
      { [PAGE]: { status: 410 }, "https://www.theguardian.com/world": { status: 410 } },
      { guardian },
    );
    await get();
    await get({ url: "https://www.theguardian.com/world" });
    expect(asks("api.guardian.example")).toEqual([]);
  });
});

describe("open access", () => {
  const unpaywall = { url: "https://register.example/v2", email: "ops@trawl.example" };
  const question = "https://register.example/v2/10.1234/tide.5?email=ops%40trawl.example";
  const paper = (more: object = {}) => ({
    status: 200,
    headers: json,
    body: JSON.stringify({
      doi: "10.1234/Tide.5",
      title: "Ferry makes its last crossing",
      is_oa: true,
      best_oa_location: {
        url: "https://repo.example/1",
        url_for_pdf: null,
        url_for_landing_page: "https://repo.example/1",
      },
      oa_locations: [
        {
          url: "https://repo.example/1.pdf",
          url_for_pdf: "https://repo.example/1.pdf",
          url_for_landing_page: null,
        },
      ],
      ...more,
    }),
  });
  const teaser = pageOf(`<p>${LEAD}</p>${WALL}`, {
    head: '<meta name="citation_doi" content="10.1234/tide.5">',
  });
  const feeds: FakeWeb = { "https://www.news.example/robots.txt": { status: 404 } };

  test("gives the copy in a repository", async () => {
    const { get } = await oneService(
      { ...feeds, [PAGE]: teaser, [question]: paper(), "https://repo.example/1": WHOLE },
      { unpaywall },
    );
    expect(await get()).toMatchObject({
      error: null,
      record: {
        alternate_source: "open_access",
        match_score: 1,
        final_url: "https://repo.example/1",
        text: expect.stringContaining(STORY),
      },
    });
  });

  test("gives a PDF with the title on its first page, if the landing page has no text", async () => {
    const lines = (STORY.match(/.{1,80}(?: |$)/g) ?? []).slice(0, 30);
    const pdf = writePdf({
      title: "untitled",
      pages: [{ lines: ["Ferry makes its last crossing", ...lines] }],
    });
    const { get } = await oneService(
      {
        ...feeds,
        [PAGE]: teaser,
        [question]: paper(),
        "https://repo.example/1": pageOf(`<p>${STORY}</p>`, { title: "Repository of tides" }),
        "https://repo.example/1.pdf": {
          status: 200,
          headers: { "Content-Type": "application/pdf" },
          body: pdf,
        },
      },
      { unpaywall },
    );
    const answer = await get();
    expect(answer.tried.slice(-2)).toEqual([
      ["alternate_open_access_rejected_title", "https://repo.example/1"],
      ["alternate_open_access", "https://repo.example/1.pdf"],
    ]);
    expect(answer.record).toMatchObject({
      content_kind: "pdf",
      paywall: null,
      text_complete: null,
      pdf_page_count: 1,
    });
    const without = await get({ accept_pdf: false, cache_ttl_s: 0 });
    expect(without.tried.map(([reason]) => reason)).not.toContain("alternate_open_access");
  });

  test("is found by the DOI in the address when the page could not be read", async () => {
    const url = "https://pub.example/doi/full/10.1234/tide.5";
    const { get } = await oneService(
      { [url]: { status: 403 }, [question]: paper(), "https://repo.example/1": WHOLE },
      { unpaywall },
    );
    expect((await get({ url })).record).toMatchObject({
      alternate_source: "open_access",
      primary_sources: [{ url: "https://doi.org/10.1234/tide.5", kind: "doi", text: null }],
    });
  });

  test.each<[string, FakeWeb[string], readonly string[]]>([
    ["knows no open copy", paper({ is_oa: false }), ["not_found"]],
    ["answers about another paper", paper({ doi: "10.9/x" }), ["rejected_unreadable"]],
    [
      "calls it otherwise",
      paper({ title: "Tunnels of the northern sea" }),
      ["rejected_title", "rejected_title"],
    ],
    [
      "leads to a wall",
      paper({ oa_locations: [], best_oa_location: { url: "https://pub.example/sold" } }),
      ["rejected_paywall"],
    ],
    [
      "leads to a pirate",
      paper({ oa_locations: [], best_oa_location: { url: "https://sci-hub.example/x" } }),
      ["rejected_unreachable"],
    ],
    [
      "leads into an archive",
      paper({ oa_locations: [], best_oa_location: { url: "https://web.archive.org/x" } }),
      ["rejected_others_page"],
    ],
    [
      "leads home",
      paper({ oa_locations: [], best_oa_location: { url: "http://127.0.0.1/x" } }),
      ["rejected_blocked_destination"],
    ],
    ["does not know it", { status: 404 }, ["not_found"]],
    ["wants an address", { status: 422 }, ["rejected_status"]],
  ])("that %s leaves the teaser", async (_, reply, outcomes) => {
    const { get } = await oneService(
      {
        ...feeds,
        [PAGE]: teaser,
        [question]: reply,
        "https://repo.example/1": pageOf(`<p>${STORY}</p>`, { title: "Repository of tides" }),
        "https://repo.example/1.pdf": pageOf(`<p>${STORY}</p>`, { title: "Repository of tides" }),
        "https://pub.example/sold": pageOf(`<p>${STORY} …</p>${WALL}`),
        "https://web.archive.org/x": WHOLE,
      },
      { unpaywall },
    );
    const answer = await get();
    const tried = answer.tried.filter(([reason]) => reason.startsWith("alternate_open_access"));
    expect(tried.map(([reason]) => reason)).toEqual(outcomes.map((each) => `alternate_open_access_${each}`));
    expect(answer.record).toMatchObject({ tier: "direct", paywall: "hard" });
  });
});

describe("syndication", () => {
  const web: FakeWeb = { [PAGE]: pageOf(`<p>${LEAD}</p>${WALL}`) };

  test("finds the same story on another site, and reports the query and the cost", async () => {
    const { get, queries } = await oneService(
      {
        ...web,
        "https://other.example/tunnel": pageOf(`<p>${ANOTHER}</p>`),
        "https://wire.example/ferry": pageOf(`<p>${STORY}</p>`, { title: "Last ferry leaves" }),
      },
      {
        results: [
          PAGE,
          "https://other.example/tunnel",
          "https://wire.example/ferry",
          "https://wire.example/2",
        ],
      },
    );
    const answer = await get();
    expect(queries).toEqual(["Ferry makes its last crossing"]);
    expect(answer.tried.slice(-3)).toEqual([
      ["syndication_candidates_2", null],
      ["alternate_syndication_rejected_mismatch", "https://other.example/tunnel"],
      ["alternate_syndication", "https://wire.example/ferry"],
    ]);
    expect(answer).toMatchObject({
      error: null,
      cost_usd: "0.005000",
      record: {
        alternate_source: "syndication",
        match_score: 1,
        final_url: "https://wire.example/ferry",
        title: "Last ferry leaves",
      },
    });
  });

  test("belongs to the project whose search found it: another project searches itself", async () => {
    const { get, queries } = await oneService(
      { ...web, "https://wire.example/ferry": pageOf(`<p>${STORY}</p>`) },
      { results: ["https://wire.example/ferry"] },
    );
    await get({ project: "one" });
    expect((await get({ project: "one" })).cached).toBe(true);
    expect(queries).toHaveLength(1);
    expect((await get({ project: "two" })).cached).toBe(false);
    expect(queries).toHaveLength(2);
  });

  test.each<[string, FakeWeb, string]>([
    ["is sold as well", { "https://wire.example/f": pageOf(`<p>${STORY} …</p>${WALL}`) }, "rejected_paywall"],
    [
      "is a challenge",
      {
        "https://wire.example/f": {
          status: 200,
          headers: { ...html, ...CHALLENGE.headers },
          body: CHALLENGE.body as string,
        },
      },
      "rejected_challenge",
    ],
    ["is the teaser again", { "https://wire.example/f": pageOf(`<p>${LEAD}</p>`) }, "rejected_short"],
    [
      "leads back to the page",
      {
        "https://wire.example/f": {
          status: 301,
          headers: { Location: "https://www.news.example/amp/ferry" },
        },
        "https://www.news.example/amp/ferry": WHOLE,
      },
      "rejected_same_site",
    ],
    [
      "leads into an archive",
      {
        "https://wire.example/f": { status: 301, headers: { Location: "https://archive.ph/x" } },
        "https://archive.ph/x": WHOLE,
      },
      "rejected_others_page",
    ],
    [
      "leads to a private address",
      { "https://wire.example/f": { status: 301, headers: { Location: "http://10.0.0.1/" } } },
      "rejected_blocked_destination",
    ],
    [
      "is closed by its own robots.txt",
      {
        "https://wire.example/robots.txt": { status: 200, body: "User-agent: trawl\nDisallow: /" },
        "https://wire.example/f": WHOLE,
      },
      "rejected_robots",
    ],
    ["is not there", { "https://wire.example/": WHOLE }, "not_found"],
    ["is down", {}, "rejected_unreachable"],
    ["hangs", { "https://wire.example/f": { ...WHOLE, after_ms: 3_600_000 } }, "rejected_timeout"],
    [
      "is data",
      {
        "https://wire.example/f": {
          status: 200,
          headers: { "Content-Type": "application/octet-stream" },
          body: Buffer.from([0, 1, 2]),
        },
      },
      "rejected_unreadable",
    ],
  ])("does not believe a copy that %s", async (_, more, outcome) => {
    const { get } = await oneService({ ...web, ...more }, { results: ["https://wire.example/f"] });
    const answer = await get();
    const [reason, detail] = answer.tried.at(-1)!;
    expect(reason).toBe(`alternate_syndication_${outcome}`);
    expect(detail).toMatch(/^http/);
    expect(answer.record).toMatchObject({ tier: "direct", paywall: "hard" });
  });

  test("never requests a page that its host disallows", async () => {
    const { get, asks } = await oneService(
      {
        ...web,
        "https://wire.example/robots.txt": { status: 200, body: "User-agent: *\nDisallow: /" },
        "https://wire.example/f": WHOLE,
      },
      { results: ["https://wire.example/f"] },
    );
    await get();
    expect(asks("wire.example").map(({ url }) => new URL(url).pathname)).toEqual(["/robots.txt"]);
  });

  test("does not search for a page with too few words to recognise a copy", async () => {
    const short = pageOf(`<p>The ferry left its berth.</p>${WALL}`);
    const { get, queries } = await oneService({ [PAGE]: short }, { results: ["https://wire.example/f"] });
    await get();
    expect(queries).toEqual([]);
    const blocked = await oneService({ [PAGE]: { status: 403 } }, { results: ["https://wire.example/f"] });
    await blocked.get();
    expect(blocked.queries).toEqual([]);
  });

  test("knows a page that is gone by what was stored of it", async () => {
    let here = true;
    const { get, queries, clock } = await oneService(
      { [PAGE]: () => (here ? WHOLE : { status: 410 }), "https://wire.example/f": WHOLE },
      { results: ["https://wire.example/f"] },
    );
    await get();
    here = false;
    await clock.advance(25 * 3_600_000);
    expect(await get()).toMatchObject({
      error: null,
      record: { alternate_source: "syndication", match_score: 1 },
    });
    expect(queries).toHaveLength(1);
  });

  test("is settled with in vain once, and then the teaser answers from the cache", async () => {
    const { get, queries } = await oneService(web, { results: [] });
    expect((await get()).tried.at(-1)).toEqual(["syndication_candidates_0", null]);
    expect(await get()).toMatchObject({ cached: true, record: { paywall: "hard" } });
    expect(queries).toHaveLength(1);
  });

  test("is searched for when only a request without copies has read the teaser", async () => {
    const { get } = await oneService(
      { ...web, "https://wire.example/f": WHOLE },
      { results: ["https://wire.example/f"] },
    );
    expect(await get({ allow_alternates: false })).toMatchObject({ record: { tier: "direct" } });
    expect(await get({ allow_alternates: false })).toMatchObject({ cached: true });
    expect(await get()).toMatchObject({ cached: false, record: { tier: "source" } });
  });

  test("ends with the deadline of the caller, which then gets the teaser", async () => {
    const slow = (host: string): FakeWeb => ({
      [`https://${host}.example/f`]: { ...WHOLE, after_ms: 30_000 },
    });
    const { get, clock } = await oneService(
      { ...web, ...slow("a"), ...slow("b") },
      { results: ["https://a.example/f", "https://b.example/f"] },
    );
    const began_ms = clock.now();
    const answer = await get({ deadline_ms: began_ms + 8_000, hard_deadline: true });
    expect(clock.now() - began_ms).toBeLessThan(9_000);
    expect(answer).toMatchObject({ error: null, record: { tier: "direct", paywall: "hard" } });
    expect(answer.tried.at(-1)![0]).toBe("alternate_syndication_rejected_timeout");
  });

  test("ends after a minute in any case", async () => {
    const names = ["a", "b", "c", "d", "e"];
    const { get, clock } = await oneService(
      {
        ...web,
        ...Object.fromEntries(
          names.map((name) => [`https://${name}.example/f`, { ...WHOLE, after_ms: 3_600_000 }]),
        ),
      },
      { results: names.map((name) => `https://${name}.example/f`) },
    );
    const began_ms = clock.now();
    expect(await get()).toMatchObject({ error: null, record: { tier: "direct" } });
    expect(clock.now() - began_ms).toBeLessThan(66_000);
  });
});

describe("Common Crawl", () => {
  const common_crawl = { index_url: "https://index.cc.example", data_url: "https://data.cc.example" };
  const file = "crawl-data/CC-MAIN-2026-47/segments/1/warc/a.warc.gz";
  const record = (body: string, { uri = PAGE, status = "200 OK", fields = "" } = {}) => {
    const http = `HTTP/1.1 ${status}\r\nContent-Type: text/html; charset=utf-8\r\nX-Crawl-Content-Encoding: gzip\r\n${fields}\r\n${body}`;
    const block = Buffer.from(http);
    return gzipSync(
      Buffer.concat([
        Buffer.from(
          `WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: ${uri}\r\nContent-Length: ${block.length}\r\n\r\n`,
        ),
        block,
        Buffer.from("\r\n\r\n"),
      ]),
    );
  };
  const OFFSET = 1_000;
  const capture = (packed: Buffer, more: object = {}) =>
    JSON.stringify({
      urlkey: "example,news)/a/ferry",
      timestamp: "20261110120000",
      url: PAGE,
      mime: "text/html",
      status: "200",
      filename: file,
      offset: String(OFFSET),
      length: String(packed.length),
      ...more,
    });
  const captures = (crawl: string) =>
    `https://index.cc.example/${crawl}-index?url=${encodeURIComponent(PAGE)}&output=json`;
  const web = (packed: Buffer, more: FakeWeb = {}, line = capture(packed)): FakeWeb => ({
    [PAGE]: { status: 410, headers: html, body: "gone" },
    "https://index.cc.example/collinfo.json": {
      status: 200,
      headers: json,
      body: JSON.stringify([{ id: "CC-MAIN-2026-47" }, { id: "CC-MAIN-2026-43" }, { id: "CC-MAIN-2026-38" }]),
    },
    [captures("CC-MAIN-2026-47")]: { status: 404, body: '{"message": "No Captures found"}' },
    [captures("CC-MAIN-2026-43")]: {
      status: 200,
      body: `${capture(packed, { timestamp: "20261001120000", status: "301" })}\n${line}\n`,
    },
    [`https://data.cc.example/${file}`]: ({ headers }) => {
      const range = Object.fromEntries(headers)["Range"];
      if (range !== `bytes=${OFFSET}-${OFFSET + packed.length - 1}`) return { status: 416 };
      return { status: 206, headers: { "Content-Type": "application/octet-stream" }, body: packed };
    },
    ...more,
  });
  const story = WHOLE.body;

  test("gives a batch the newest capture of a page that is gone, with its time", async () => {
    const { get } = await oneService(web(record(story)), { common_crawl });
    const answer = await get({ lane: "batch" });
    expect(answer.tried.filter(([reason]) => reason.includes("common_crawl"))).toEqual([
      ["alternate_common_crawl_not_found", captures("CC-MAIN-2026-47")],
      ["alternate_common_crawl", `https://data.cc.example/${file}`],
    ]);
    expect(answer).toMatchObject({
      error: null,
      record: {
        tier: "source",
        alternate_source: "common_crawl",
        match_score: 1,
        archived_at: "2026-11-10T12:00:00.000Z",
        alternate_of: PAGE,
        text: expect.stringContaining(STORY),
        content_type: "text/html; charset=utf-8",
      },
    });
  });

  test("is for batches only, also from the cache and for a caller that shares a run with one", async () => {
    const { get, asks } = await oneService(web(record(story)), { common_crawl });
    expect(await get()).toMatchObject({ error: "http_410" });
    expect(asks("index.cc.example")).toEqual([]);
    const [batch, sync] = await Promise.all([get({ lane: "batch" }), get()]);
    expect(batch.record.alternate_source).toBe("common_crawl");
    expect(sync).toMatchObject({ error: "http_410", record: { tier: "direct" } });
    expect(await get()).toMatchObject({ error: "http_410" });
    expect(await get({ lane: "batch" })).toMatchObject({
      cached: true,
      record: { alternate_source: "common_crawl" },
    });
  });

  test("is never asked about a page that is sold", async () => {
    const { get, asks } = await oneService({ ...web(record(story)), [PAGE]: TEASER }, { common_crawl });
    expect(await get({ lane: "batch" })).toMatchObject({ record: { tier: "direct", paywall: "hard" } });
    expect(asks("index.cc.example")).toEqual([]);
  });

  const range = (reply: FakeWeb[string]): FakeWeb => ({ [`https://data.cc.example/${file}`]: reply });
  const packed = record(story);
  test.each<[string, FakeWeb, string]>([
    [
      "a record of another page",
      web(record(story, { uri: "https://www.news.example/b" })),
      "rejected_mismatch",
    ],
    ["a record of a redirect", web(record(story, { status: "301 Moved" })), "rejected_mismatch"],
    [
      "a body that is still coded",
      web(record(story, { fields: "Content-Encoding: br\r\n" })),
      "rejected_unreadable",
    ],
    [
      "what is no gzip",
      web(packed, range({ status: 206, body: "x".repeat(packed.length) })),
      "rejected_unreadable",
    ],
    ["the whole file", web(packed, range({ status: 200, body: packed })), "rejected_status"],
    [
      "more than was asked for",
      web(packed, range({ status: 206, body: Buffer.alloc(packed.length + 1) })),
      "rejected_too_large",
    ],
    ["a bomb", web(gzipSync(Buffer.alloc(40 * 2 ** 20))), "rejected_unreadable"],
    [
      "a capture of two years ago",
      web(packed, {}, capture(packed, { timestamp: "20241110120000" })),
      "rejected_too_old",
    ],
    ["a teaser", web(record(TEASER.body)), "rejected_paywall"],
    [
      "a capture in another folder",
      web(packed, {}, capture(packed, { filename: "crawl-data/../../etc/passwd.warc.gz" })),
      "not_found",
    ],
    [
      "a capture of another address",
      web(packed, {}, capture(packed, { url: "https://www.news.example/b" })),
      "not_found",
    ],
    ["lines that are no JSON", web(packed, {}, "<html>"), "not_found"],
    [
      "a list of crawls that is none",
      web(packed, { "https://index.cc.example/collinfo.json": { status: 200, body: "[{}]" } }),
      "rejected_unreadable",
    ],
  ])("does not believe %s", async (_, all, outcome) => {
    const { get } = await oneService(all, { common_crawl });
    const answer = await get({ lane: "batch", max_bytes: 1_000_000 });
    expect(answer.tried.at(-1)![0]).toBe(`alternate_common_crawl_${outcome}`);
    expect(answer.error).toBe("http_410");
  });
});

describe("never around a paywall", () => {
  const feed: FakeWeb = { "https://www.news.example/rss": feedOf("") };
  const taken: string[] = [];
  const route =
    (tier: Tier): Transport =>
    async () => (
      taken.push(tier),
      { kind: "failed", reason: "timeout", status: null, redirects: [], final_url: null, detail: null, ms: 1 }
    );
  const others = { archive: route("archive"), proxy: route("proxy"), proxy_render: route("proxy_render") };

  test("a refusal that is a wall is taken to no archive and to no premium route", async () => {
    const { get } = await oneService({ ...feed, [PAGE]: { ...TEASER, status: 403 } }, {}, others);
    taken.length = 0;
    const answer = await get();
    expect(taken).toEqual([]);
    expect(answer.attempts.map(({ tier, reason }) => `${tier} ${reason}`)).toEqual([
      "direct http_403",
      "browser not_configured",
      "archive archive_blocked_paywall",
      "proxy paywall_skip_paid",
      "proxy_render paywall_skip_paid",
      "source alternate_publisher_feed_not_found",
    ]);
    expect(answer).toMatchObject({
      error: "all_tiers_failed",
      premium_routes_tried: false,
      record: { status: 403, primary_sources: [{ kind: "court" }] },
    });
  });

  test("a refusal that is none is", async () => {
    const { get } = await oneService({ ...feed, [PAGE]: { ...WHOLE, status: 403 } }, {}, others);
    taken.length = 0;
    await get();
    expect(taken).toEqual(["archive", "proxy", "proxy_render"]);
  });

  test("a missing page is requested from the archive, even if its 404 page mentions subscriptions", async () => {
    const { get } = await oneService({ ...feed, [PAGE]: { ...TEASER, status: 404 } }, {}, others);
    taken.length = 0;
    await get();
    expect(taken).toEqual(["archive"]);
  });

  test("nothing is looked for when copies are not wanted or routes are named", async () => {
    const { get, egress } = await oneService(
      { ...feed, [PAGE]: TEASER },
      { results: ["https://wire.example/f"] },
    );
    for (const overrides of [
      { allow_alternates: false },
      { tiers: ["direct"] },
    ] satisfies Partial<FetchRequest>[]) {
      const answer = await get({ ...overrides, cache_ttl_s: 0 });
      expect(answer.tried).toEqual([]);
      // A primary source is no copy: it is listed all the same.
      expect(answer.record).toMatchObject({ paywall: "hard", primary_sources: [{ kind: "court" }] });
    }
    expect(egress.hits.map(({ url }) => url)).not.toContain("https://www.news.example/rss");
  });
});
