/** Routes that cost money, and archived copies in the place of a page. */
import { describe, expect, test } from "vitest";
import { readPrices } from "../../../../actors/crawl/fetch/prices.ts";
import { fetchService } from "../../../../actors/crawl/fetch/service.ts";
import { spending } from "../../../../actors/business/accounts/spend.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { silentTelemetry } from "../../../../cluster/adapters/telemetry/telemetry.silent.ts";
import type { TransportResult } from "../../../../actors/lib/web/transport.ts";
import { Account, type Customer, type Project } from "../../../../schemas/accounts.ts";
import { EMPTY_ANSWER, Fetch } from "../../../../schemas/fetch.ts";
import { DEFAULT_REQUEST } from "../../../harness/fetch-request.ts";
import { answer, failure, HTML, oneService, running, type Scripted } from "../../../harness/fetch-harness.ts";
import { SAME_SECRETS } from "../../../harness/secrets.ts";

const prices = readPrices(["proxy=0.002", "proxy_render=0.005", "proxy_render.high=0.02"]);
const blocked: Scripted = () => answer("no", 403);
const page: Scripted = () => answer(HTML);
/** Accounts named like the project, each with as much to spend. */
const spendingOf = (micros: (project: string) => number | null) =>
  spending({
    findPayer: async (project) => ({
      key: null,
      project: {} as Project,
      customer: {} as Customer,
      spend_limits: [{ account: project, limit_micros: micros(project) }],
    }),
    documents: memoryDocuments(),
    clock: virtualClock(0),
    log: silentTelemetry().log,
  });
const budget = (micros: number | null) => ({ prices, spending: spendingOf(() => micros) });
const steps = ({ attempts }: { attempts: readonly { tier: string; reason: string }[] }) =>
  attempts.map(({ tier, reason }) => `${tier} ${reason}`);
const noArchive = { allow_archive: false, cache_ttl_s: 0 } as const;

function rendered(detail?: string): TransportResult {
  const made = answer(HTML);
  return made.kind === "page"
    ? { ...made, headers: new Map(), body_kind: "rendered_dom", ...(detail && { detail }) }
    : made;
}
function archived(archived_at: string): TransportResult {
  const made = answer(HTML);
  const final_url = "https://archive.example/web/20261001100000id_/http://example.org/";
  return made.kind === "page" ? { ...made, archived_at, final_url } : made;
}

test.each([
  ["found the page stored", { cached: true, cost_usd: "0" }, 2_000, "0.002000"],
  ["paid again", { cached: false, cost_usd: "0.002000" }, 4_000, "0.004000"],
  ["came without cost by another route", { cached: false, cost_usd: "0" }, 2_000, "0.002000"],
  ["had nothing to repeat", { cached: false, cost_usd: "0.002000" }, 2_000, "0.002000"],
] as const)(
  "a run that was repeated after its node died tells what all of it cost: it %s",
  async (_, told, spent, cost_usd) => {
    const pages = fetchService({
      secrets: SAME_SECRETS,
      ...silentTelemetry(),
      documents: memoryDocuments(),
      clock: virtualClock(),
      ask: (async () => ({ ...EMPTY_ANSWER, ...told })) as never,
      spentBy: async (fetch_id) => (fetch_id === "f" ? spent : 0),
    });
    const request = { ...DEFAULT_REQUEST, url: "http://example.org/", fetch_id: "f", deadline_ms: 1_000 };
    expect((await pages.fetch(request)).cost_usd).toBe(cost_usd);
  },
);

test.each([
  ["the cluster has no route that costs money", true, false],
  ["the request allows none", false, true],
])("what a fetch cost before is not read where %s", async (_, allow_paid, hasPaidRoute) => {
  let reads = 0;
  const pages = fetchService({
    secrets: SAME_SECRETS,
    ...silentTelemetry(),
    documents: memoryDocuments(),
    clock: virtualClock(),
    ask: (async () => EMPTY_ANSWER) as never,
    spentBy: async () => reads++,
    hasPaidRoute: () => hasPaidRoute,
  });
  const request = {
    ...DEFAULT_REQUEST,
    url: "http://example.org/",
    fetch_id: "f",
    allow_paid,
    deadline_ms: 1_000,
  };
  expect((await pages.fetch(request)).cost_usd).toBe("0");
  expect(reads).toBe(0);
});

describe("a host of which one project fetched three blocked paths", () => {
  const service = async () => {
    const isForbidden = (url: string) => url.includes("/forbidden/");
    const it = await oneService(
      { direct: ({ url }) => (isForbidden(url) ? answer("no", 403) : answer(HTML)), proxy: page },
      budget(null),
    );
    const fetched = async (project: string, path: string) => {
      const url = `http://example.org${path}`;
      const { record, cost_usd } = await running(it.clock, it.get({ ...noArchive, project, url }));
      return [record.tier, Number(cost_usd) > 0];
    };
    for (const name of ["a", "b", "c"]) await fetched("first", `/forbidden/${name}`);
    return fetched;
  };

  test("costs another project nothing on a path that is open, and is forgotten then", async () => {
    const fetched = await service();
    expect(await fetched("second", "/open/page")).toEqual(["direct", false]);
    expect(await fetched("second", "/open/other")).toEqual(["direct", false]);
    expect(await fetched("second", "/")).toEqual(["direct", false]);
  });

  test("goes straight to the route that serves the blocked paths, but for every tenth fetch", async () => {
    const fetched = await service();
    for (let n = 0; n < 12; n++) expect(await fetched("second", `/forbidden/${n}`)).toEqual(["proxy", true]);
  });
});

describe("an attempt on a premium route", () => {
  test("costs the price of the list; the routes before it cost nothing", async () => {
    const { get, clock } = await oneService({ direct: blocked, proxy: page }, budget(null));
    const paid = await running(clock, get(noArchive));
    expect(paid).toMatchObject({
      error: null,
      cost_usd: "0.002000",
      premium_routes_tried: true,
      record: { tier: "proxy", body_kind: "origin" },
    });
    expect(steps(paid)).toEqual(["direct http_403", "browser not_configured", "proxy ok"]);
    expect(await running(clock, get({ allow_archive: false }))).toMatchObject({
      cached: true,
      cost_usd: "0",
    });
  });

  test("costs a caller that moved to another node and asked again what it cost; its first ask is answered, too", async () => {
    const { ask, clock } = await oneService({ direct: blocked, proxy: page }, budget(null));
    const fetch_id = "job:7.0";
    const request = { ...DEFAULT_REQUEST, ...noArchive, fetch_id, deadline_ms: clock.now() + 150_000 };
    const asks = [1, 2].map(() => ask(Fetch, "example.org digest", "get", request, { timeout_ms: 170_000 }));
    const [first, again] = await running(clock, Promise.all(asks));
    expect([first!.error, again!.error]).toEqual([null, null]);
    expect([first!.cost_usd, again!.cost_usd]).toEqual(["0", "0.002000"]);
  });

  test("is added to those before it, also when every route failed", async () => {
    const { get, clock } = await oneService(
      { direct: blocked, proxy: blocked, proxy_render: () => failure("timeout") },
      budget(null),
    );
    expect(await running(clock, get(noArchive))).toMatchObject({
      error: "all_tiers_failed",
      cost_usd: "0.007000",
      premium_routes_tried: true,
      record: { status: 403 },
    });
  });

  test.each(["proxy_unavailable", "proxy_busy", "proxy_lost"])(
    "that its tier ends as %s costs nothing, and the next route is taken",
    async (reason) => {
      const routes = { direct: blocked, proxy: () => failure(reason), proxy_render: () => rendered() };
      const { get, clock } = await oneService(routes, budget(20_000));
      const paid = await running(clock, get(noArchive));
      expect(paid).toMatchObject({ error: null, cost_usd: "0.005000", record: { tier: "proxy_render" } });
      expect(steps(paid)).toContain(`proxy ${reason}`);
    },
  );

  test("that no tier has taken counts as not tried", async () => {
    const routes = { direct: blocked, proxy: () => failure("proxy_unavailable") };
    const { get, clock } = await oneService(routes, budget(null));
    expect(await running(clock, get(noArchive))).toMatchObject({
      error: "all_tiers_failed",
      cost_usd: "0",
      premium_routes_tried: false,
    });
  });

  test("reports the difficulty of rendering, and costs the price of it", async () => {
    const { get, clock } = await oneService({ proxy_render: () => rendered("high") }, budget(null));
    const hard = await running(clock, get({ ...noArchive, tiers: ["proxy_render"] }));
    expect(hard).toMatchObject({
      cost_usd: "0.020000",
      attempts: [{ tier: "proxy_render", status: 200, reason: "ok", detail: "high" }],
      record: {
        body_kind: "rendered_dom",
        content_type: "text/html; charset=utf-8",
        headers: {},
        content_kind: "html",
      },
    });
    expect(hard.record.origin_content_type).toBeNull();
  });

  test.each([
    ["provider_over_budget", "0"],
    ["provider_rate_limited", "0"],
    ["provider_bad_answer", "0"],
  ])("that ends as %s costs %s, and is no failure of the page's host", async (reason, cost_usd) => {
    const { get, clock } = await oneService(
      { direct: blocked, proxy_render: () => failure(reason) },
      budget(null),
    );
    expect(await running(clock, get(noArchive))).toMatchObject({
      error: "all_tiers_failed",
      cost_usd,
      premium_routes_tried: true,
      record: { status: 403 },
    });
  });

  test("is in one answer only: callers that joined the run spent nothing", async () => {
    const { get, clock } = await oneService({ direct: blocked, proxy: page }, budget(null));
    const answers = await running(clock, Promise.all([get(noArchive), get(noArchive), get(noArchive)]));
    expect(answers.map(({ cost_usd }) => cost_usd)).toEqual(["0.002000", "0", "0"]);
  });
});

describe("a budget", () => {
  test("that is used up excludes premium routes, with a reason in attempts", async () => {
    let visits = 0;
    const { get, clock } = await oneService(
      { direct: blocked, proxy: () => (visits++, answer(HTML)), proxy_render: page },
      budget(5_000),
    );
    for (let time = 0; time < 2; time++) await running(clock, get(noArchive));
    const broke = await running(clock, get(noArchive));
    expect(broke).toMatchObject({ error: "all_tiers_failed", cost_usd: "0", premium_routes_tried: false });
    expect(steps(broke).slice(2)).toEqual(["proxy budget_exhausted", "proxy_render budget_exhausted"]);
    expect(visits).toBe(2);
  });

  test("is what was spent, not what was set aside", async () => {
    const { get, clock, ask } = await oneService({ proxy_render: () => rendered("low") }, budget(20_000));
    for (let time = 0; time < 4; time++) {
      await running(clock, get({ ...noArchive, tiers: ["proxy_render"] }));
    }
    const spent = await running(clock, ask(Account, "default", "settle", { id: "none", micros: 0 }));
    // The fourth could have cost 0.02 where 0.005 were left.
    expect(spent).toEqual({ spent_micros: 5_000 });
  });

  test("is each project's own: a caller that joined a run without money gets another run", async () => {
    const { get, clock } = await oneService(
      { direct: blocked, proxy: page },
      { prices, spending: spendingOf((project) => (project === "poor" ? 0 : null)) },
    );
    const [poor, rich, richer] = await running(
      clock,
      Promise.all([
        get({ ...noArchive, project: "poor" }),
        get({ ...noArchive, project: "rich" }),
        get({ ...noArchive, project: "rich" }),
      ]),
    );
    expect(poor).toMatchObject({ error: "all_tiers_failed", cost_usd: "0" });
    expect(rich).toMatchObject({ error: null, cost_usd: "0.002000" });
    expect(richer).toMatchObject({ error: null, cost_usd: "0" });
  });

  test("is each key's own: a caller with another key gets another run, and pays for it", async () => {
    const asked: unknown[] = [];
    const real = spendingOf(() => null);
    const { get, clock } = await oneService(
      { direct: blocked, proxy: page },
      {
        prices,
        spending: {
          ...real,
          reserve: async (ask, payer, id, micros) => {
            asked.push(payer.key);
            return payer.key !== "sk_poor000" && real.reserve(ask, payer, id, micros);
          },
        },
      },
    );
    const [poor, rich] = await running(
      clock,
      Promise.all([get({ ...noArchive, key: "sk_poor000" }), get({ ...noArchive, key: "sk_rich000" })]),
    );
    expect(poor).toMatchObject({ error: "all_tiers_failed", cost_usd: "0" });
    expect(rich).toMatchObject({ error: null, cost_usd: "0.002000" });
    expect(asked).toEqual(["sk_poor000", "sk_rich000"]);
  });

  test("without prices reserves nothing", async () => {
    const { get, clock } = await oneService(
      { direct: blocked, proxy: page },
      {
        spending: {
          reserve: async () => Promise.reject(new Error("asked")),
          settle: async () => Promise.reject(new Error("asked")),
        },
      },
    );
    expect(await running(clock, get(noArchive))).toMatchObject({ error: null, cost_usd: "0" });
  });
});

describe("a host that three fetches in a row got through premium routes only", () => {
  async function learnt(micros: number | null = null) {
    let direct = 0;
    const service = await oneService(
      { direct: () => (direct++, answer("no", 403)), proxy: page },
      budget(micros),
    );
    const { get, clock } = service;
    for (let time = 0; time < 3; time++) await running(clock, get(noArchive));
    return { ...service, direct: () => direct };
  }

  test("is asked through them at once", async () => {
    const { get, clock, direct } = await learnt();
    expect(steps(await running(clock, get(noArchive)))).toEqual(["proxy ok"]);
    expect(direct()).toBe(3);
  });

  test.each([
    ["allow_paid false", { allow_paid: false }],
    ["tiers without them", { tiers: ["direct" as const, "browser" as const] }],
  ])("is premium_route_required with %s", async (_, overrides) => {
    const { get, clock, direct } = await learnt();
    const refused = await running(clock, get({ ...noArchive, ...overrides }));
    expect(refused).toMatchObject({
      error: "premium_route_required",
      attempts: [],
      cost_usd: "0",
      premium_routes_tried: false,
    });
    expect(refused.error_detail).toMatch(/premium/);
    expect(direct()).toBe(3);
  });

  test("is budget_exhausted when there is no money", async () => {
    const { get, clock } = await learnt(6_000);
    const broke = await running(clock, get(noArchive));
    expect(broke).toMatchObject({ error: "budget_exhausted", premium_routes_tried: false });
    expect(steps(broke)).toEqual(["proxy budget_exhausted", "proxy_render not_configured"]);
  });

  test("is tried from our own addresses again after a day", async () => {
    const { get, clock, direct } = await learnt();
    await clock.advance(24 * 3_600_000);
    await running(clock, get({ ...noArchive, allow_paid: false }));
    expect(direct()).toBe(4);
  });
});

describe("a host that blocked premium routes three times in a row", () => {
  test("are skipped for six hours, with a reason in attempts", async () => {
    let proxied = 0;
    const { get, clock } = await oneService(
      { direct: blocked, proxy: () => (proxied++, answer("no", 403)) },
      budget(null),
    );
    // Ten minutes and more apart: a domain is skipped after three failures.
    for (let time = 0; time < 3; time++) await running(clock, get(noArchive));
    await clock.advance(11 * 60_000);
    const skipped = await running(clock, get(noArchive));
    expect(skipped).toMatchObject({ error: "all_tiers_failed", cost_usd: "0", premium_routes_tried: false });
    expect(steps(skipped)).toEqual([
      "direct http_403",
      "browser not_configured",
      "proxy premium_skipped_domain_refuses",
      "proxy_render not_configured",
    ]);
    expect(proxied).toBe(3);
    await clock.advance(6 * 3_600_000);
    await running(clock, get(noArchive));
    expect(proxied).toBe(4);
  });
});

describe("an archived copy", () => {
  const at = "2026-10-01T10:00:00.000Z";
  const copy: Scripted = () => archived(at);

  test.each([404, 410])("replaces a page that is gone (%i), with archived_at", async (status) => {
    const { get, clock } = await oneService({ direct: () => answer("gone", status), archive: copy });
    const found = await running(clock, get());
    expect(found).toMatchObject({
      error: null,
      cost_usd: "0",
      record: {
        tier: "archive",
        status: 200,
        archived_at: at,
        served_from_archive_because: "not_found",
        final_url: "https://archive.example/web/20261001100000id_/http://example.org/",
      },
    });
    expect(steps(found)).toEqual([`direct http_${status}`, "archive ok"]);
  });

  test("replaces a page of a host that does not exist", async () => {
    const { get, clock } = await oneService({ direct: () => failure("dns_nxdomain"), archive: copy });
    for (let time = 0; time < 3; time++) {
      expect(await running(clock, get({ cache_ttl_s: 0 }))).toMatchObject({
        error: null,
        record: { tier: "archive", served_from_archive_because: "domain_dead", archived_at: at },
      });
    }
    expect(await running(clock, get({ cache_ttl_s: 0, allow_archive: false }))).toMatchObject({
      error: "domain_dead",
    });
  });

  test("of a page that is only blocked is not used", async () => {
    const { get, clock } = await oneService({ direct: blocked, archive: copy });
    expect(await running(clock, get())).toMatchObject({
      error: null,
      record: { tier: "archive", archived_at: at, served_from_archive_because: null },
    });
  });

  test("is answered from the cache as what it is", async () => {
    const { get, clock } = await oneService({ direct: () => answer("gone", 404), archive: copy });
    const first = await running(clock, get());
    expect((await running(clock, get())).record).toEqual(first.record);
  });

  test.each([
    "archive_not_found",
    "archive_rate_limited",
    "archive_bad_answer",
    "archive_too_large",
    "timeout",
  ])("that cannot be fetched (%s) leaves the page's own status", async (reason) => {
    const { get, clock } = await oneService({
      direct: () => answer("gone", 404),
      archive: () => failure(reason, 429),
    });
    const gone = await running(clock, get());
    expect(gone).toMatchObject({ error: "http_404", record: { status: 404, archived_at: null } });
    expect(steps(gone)).toEqual(["direct http_404", `archive ${reason}`]);
  });

  test("that the archive fails to send does not change the host's last status", async () => {
    const { get, clock } = await oneService({
      direct: blocked,
      archive: () => failure("archive_error", 503),
    });
    expect(await running(clock, get())).toMatchObject({ error: "all_tiers_failed", record: { status: 403 } });
  });
});

describe("a host that blocks and shuts its door behind (Retry-After)", () => {
  const shut: Scripted = () => answer("slow down", 429, { "retry-after": "120" });
  const copy: Scripted = () => archived("2026-10-01T10:00:00.000Z");

  test("is searched for by routes that do not ask its host", async () => {
    const { get, clock } = await oneService({ direct: shut, browser: page, archive: copy });
    const found = await running(clock, get({ cache_ttl_s: 0 }));
    expect(found).toMatchObject({ error: null, record: { tier: "archive" } });
    expect(steps(found)).toEqual(["direct http_429", "politeness domain_busy", "archive ok"]);
    // The next fetch finds the door shut from the beginning.
    expect(await running(clock, get({ cache_ttl_s: 0 }))).toMatchObject({
      error: "domain_busy",
      retry_after_s: 120,
    });
  });

  test("fails with its own error when no other route helps", async () => {
    const { get, clock } = await oneService({ direct: shut, browser: page });
    expect(await running(clock, get(noArchive))).toMatchObject({
      error: "all_tiers_failed",
      record: { status: 429 },
    });
  });
});
