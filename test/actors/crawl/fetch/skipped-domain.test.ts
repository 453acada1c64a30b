/** Every way in which a fetch may fail, three times by each of two projects, and what a third project gets of that origin afterwards. */
import { describe, expect, test } from "vitest";
import { Domain } from "../../../../schemas/domain.ts";
import type { FetchRequest } from "../../../../schemas/fetch.ts";
import { answer, failure, HTML, oneService, running, type Scripted } from "../../../harness/fetch-harness.ts";

const FIRST = "first";
const SECOND = "second";
const THIRD = "third";

/** Routes that serve the third project, and fail the first two as the row says. */
interface Cause {
  readonly cause: string;
  /** The routes of the first projects' fetches; those that are missing are not configured. */
  readonly routes: Partial<Record<"direct" | "browser" | "archive" | "proxy" | "proxy_render", Scripted>>;
  readonly request?: Partial<FetchRequest>;
  /** Whom three such fetches of each of two projects close the origin for. */
  readonly closes: "nobody" | "these projects" | "everybody";
  readonly spending?: boolean;
}

const fine: Scripted = () => answer(HTML);
const refused: Scripted = () => failure("network_refused");
const redirected =
  (location: string, reason: string): Scripted =>
  () => ({
    ...(failure(reason) as Extract<ReturnType<typeof failure>, { kind: "failed" }>),
    redirects: [{ url: "http://example.org/", status: 302, location }],
  });

const CAUSES: readonly Cause[] = [
  // Nothing was sent to the site.
  { cause: "a route that is not configured", routes: {}, request: { tiers: ["proxy"] }, closes: "nobody" },
  { cause: "no route is allowed", routes: {}, request: { tiers: [] }, closes: "nobody" },
  {
    cause: "an archive without a copy",
    routes: { archive: () => failure("archive_not_found") },
    request: { tiers: ["archive"] },
    closes: "nobody",
  },
  {
    cause: "an archive that is down",
    routes: { archive: () => failure("archive_unreachable") },
    request: { tiers: ["archive"] },
    closes: "nobody",
  },
  {
    cause: "a proxy that is down",
    routes: { proxy: () => failure("proxy_unreachable") },
    request: { tiers: ["proxy"] },
    closes: "nobody",
  },
  {
    cause: "a rendering service without money",
    routes: { proxy_render: () => failure("provider_out_of_money", 402) },
    request: { tiers: ["proxy_render"] },
    closes: "nobody",
  },
  {
    cause: "a rendering service that does not answer",
    routes: { proxy_render: () => failure("timeout") },
    request: { tiers: ["proxy_render"] },
    closes: "nobody",
  },
  {
    cause: "a browser that crashes",
    routes: { browser: () => failure("browser_crashed") },
    request: { tiers: ["browser"] },
    closes: "nobody",
  },
  {
    cause: "a budget of nothing",
    routes: { proxy: fine },
    request: { tiers: ["proxy"] },
    spending: true,
    closes: "nobody",
  },
  { cause: "a name server that fails", routes: { direct: () => failure("dns_error") }, closes: "nobody" },
  {
    cause: "a sub-host that does not exist",
    routes: { direct: () => failure("dns_nxdomain") },
    request: { url: "http://nowhere.example.org/" },
    closes: "nobody",
  },
  {
    cause: "no way to the network",
    routes: { direct: () => failure("network_unreachable") },
    closes: "nobody",
  },
  {
    cause: "a private destination",
    routes: {
      direct: () => ({
        kind: "refused",
        refusal: {
          error: "blocked_destination",
          step: "egress",
          reason: "x",
          retry_after_s: null,
          detail: null,
        },
        redirects: [],
        final_url: null,
        ms: 0,
      }),
    },
    closes: "nobody",
  },
  {
    cause: "time that runs out",
    routes: {
      direct: ({ signal }) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => resolve(failure("timeout")), { once: true });
        }),
    },
    request: { hard_deadline: true, deadline_ms: Date.UTC(2026, 10, 21) + 500 },
    closes: "nobody",
  },
  // The site answered: its redirects lead nowhere, or elsewhere.
  {
    cause: "a redirect loop",
    routes: { direct: () => failure("too_many_redirects", 302) },
    closes: "nobody",
  },
  {
    cause: "a redirect to another site that refuses connections",
    routes: { direct: redirected("http://elsewhere.example/", "network_refused") },
    closes: "nobody",
  },
  {
    cause: "a redirect to a name that does not exist",
    routes: { direct: redirected("http://nowhere.example/", "dns_nxdomain") },
    closes: "nobody",
  },
  {
    cause: "a redirect to another site that answers 403",
    routes: {
      direct: () => ({ ...(answer("no", 403) as object), final_url: "http://elsewhere.example/" }) as never,
    },
    closes: "nobody",
  },
  {
    cause: "a page larger than max_bytes",
    routes: { direct: () => failure("too_large") },
    request: { max_bytes: 1 },
    closes: "nobody",
  },
  { cause: "a page that is not there", routes: { direct: () => answer(HTML, 404) }, closes: "nobody" },
  {
    cause: "a port where nothing listens",
    routes: { direct: refused },
    request: { url: "http://example.org:8081/" },
    closes: "nobody",
  },
  {
    cause: "a block, and then an archived copy",
    routes: { direct: () => answer("no", 403), archive: fine },
    closes: "nobody",
  },
  // The site was reached, by fewer routes than there are.
  ...(
    [
      ["tiers", { tiers: ["direct"] }],
      ["render", { render: "never" }],
      ["allow_paid", { allow_paid: false }],
    ] satisfies [string, Partial<FetchRequest>][]
  ).map(([field, request]): Cause => ({
    cause: `a block, with routes shut by ${field}`,
    routes: { direct: () => answer("no", 403), browser: () => answer("no", 403), proxy_render: refused },
    request,
    closes: "these projects",
  })),
  {
    cause: "a block, with routes shut by a budget of nothing",
    routes: { direct: () => answer("no", 403), proxy: fine },
    spending: true,
    closes: "these projects",
  },
  // Every route to the site was taken.
  { cause: "a connection that is refused", routes: { direct: refused }, closes: "everybody" },
  {
    cause: "a connection that is reset",
    routes: { direct: () => failure("network_reset") },
    closes: "everybody",
  },
  { cause: "a connection that times out", routes: { direct: () => failure("timeout") }, closes: "everybody" },
  { cause: "a broken certificate", routes: { direct: () => failure("tls_error") }, closes: "everybody" },
  { cause: "a block", routes: { direct: () => answer("no", 403) }, closes: "everybody" },
  {
    cause: "a block, and no archived copy",
    routes: { direct: () => answer("no", 403), archive: () => failure("archive_not_found") },
    request: { allow_archive: false },
    closes: "everybody",
  },
  {
    cause: "a block on every route",
    routes: { direct: () => answer("no", 403), proxy: () => answer("no", 403) },
    closes: "everybody",
  },
];

describe("three failed fetches of each of two projects", () => {
  test.each(CAUSES)("$cause: close the origin for $closes", async ({ routes, request, spending, closes }) => {
    let isServed = false;
    const serving =
      (scripted: Scripted): Scripted =>
      (asked) =>
        isServed ? answer(HTML) : scripted(asked);
    const { direct = fine, ...others } = routes;
    const { clock, get } = await oneService(
      {
        direct: serving(direct),
        ...Object.fromEntries(Object.entries(others).map(([tier, scripted]) => [tier, serving(scripted)])),
      },
      spending
        ? {
            prices: { proxy: 2_000 },
            spending: { reserve: async () => false, settle: async () => {} },
          }
        : {},
    );
    for (const project of [FIRST, SECOND])
      for (let n = 0; n < 3; n++) await running(clock, get({ project, cache_ttl_s: 0, ...request }));

    isServed = true;
    const asked = async (project: string, url = "http://example.org/open") => {
      const { error } = await running(clock, get({ project, url, cache_ttl_s: 0 }));
      return error;
    };
    // The third project last: its success would end the skips of the others.
    expect([closes, await asked(FIRST), await asked(THIRD)]).toEqual([
      closes,
      closes === "nobody" ? null : "domain_unavailable",
      closes === "everybody" ? "domain_unavailable" : null,
    ]);
  });
});

describe("failed fetches of one project", () => {
  /** Paths below /shut always answer 403. */
  const site = async () => {
    let isDown = false;
    const { clock, get, ask } = await oneService({
      direct: ({ url }) => {
        const [body, status] = isDown || url.includes("/shut") ? ["no", 403] : [HTML, 200];
        return { ...(answer(body, status) as object), final_url: url } as never;
      },
    });
    const errors = async (project: string, ...urls: string[]) => {
      const all: (string | null)[] = [];
      for (const url of urls) all.push((await running(clock, get({ project, url, cache_ttl_s: 0 }))).error);
      return all;
    };
    return { errors, down: () => (isDown = true), view: () => ask(Domain, "example.org", "view", null) };
  };
  const shut = ["a", "b", "c"].map((name) => `http://www.example.org/shut/${name}`);
  const FAILED = ["all_tiers_failed", "all_tiers_failed", "all_tiers_failed"];
  const UNAVAILABLE = ["domain_unavailable"];

  test("of paths that always answer 403 close the origin for it alone, and no other origin", async () => {
    const { errors } = await site();
    expect(await errors(FIRST, ...shut)).toEqual(FAILED);
    expect(await errors(FIRST, "http://www.example.org/", "http://other.example.org/")).toEqual([
      "domain_unavailable",
      null,
    ]);
    expect(await errors(SECOND, "http://www.example.org/")).toEqual([null]);
    // Any success ends every skip of the origin.
    expect(await errors(FIRST, "http://www.example.org/")).toEqual([null]);
  });

  test("of the address that last succeeded close the origin for everybody", async () => {
    const { errors, down } = await site();
    const page = "http://www.example.org/page";
    expect(await errors(SECOND, "http://www.example.org/", page)).toEqual([null, null]);
    down();
    expect(await errors(FIRST, page, page, page)).toEqual(FAILED);
    expect(await errors(SECOND, page)).toEqual(UNAVAILABLE);
    expect(await errors(SECOND, "https://www.example.org/shut")).toEqual(["all_tiers_failed"]);
  });

  test("of an address that succeeded before another one did do not", async () => {
    const { errors, down } = await site();
    const page = "http://www.example.org/page";
    expect(await errors(SECOND, page, "http://www.example.org/")).toEqual([null, null]);
    down();
    expect(await errors(FIRST, page, page, page, page)).toEqual([...FAILED, ...UNAVAILABLE]);
    expect(await errors(SECOND, page)).toEqual(["all_tiers_failed"]);
  });

  test("count at the origin where a redirect ended, not at the one that redirects", async () => {
    const { clock, get, ask } = await oneService({
      direct: () => ({ ...(answer("no", 403) as object), final_url: "http://www.example.org/shut" }) as never,
    });
    for (let n = 0; n < 3; n++) await running(clock, get({ project: FIRST, url: "http://example.org/" }));
    const { skips } = await ask(Domain, "example.org", "view", null);
    expect(skips).toMatchObject([{ origin: "http://www.example.org", project: FIRST, failures: 3 }]);
  });
});

describe("a skipped origin", () => {
  const blocked = async () => {
    let isOpen = false;
    let visits = 0;
    const service = await oneService({
      direct: () => (visits++, isOpen ? answer(HTML) : answer("no", 403)),
      browser: () => failure("browser_unavailable"),
    });
    const get = (project: string, options: Partial<FetchRequest> = {}) =>
      running(service.clock, service.get({ project, cache_ttl_s: 0, ...options }));
    return {
      ...service,
      get,
      visits: () => visits,
      open: () => (isOpen = true),
      view: () => service.ask(Domain, "example.org", "view", null),
    };
  };

  test("of one project answers another that asks for the same page at the same time", async () => {
    const { get, open, visits } = await blocked();
    for (let n = 0; n < 3; n++) await get(FIRST, { tiers: ["direct"] });
    open();
    const before = visits();
    const both = await Promise.all([get(FIRST), get(SECOND)]);
    expect(both.map(({ error }) => error)).toEqual(["domain_unavailable", null]);
    expect(visits()).toBe(before + 1);
  });

  test("is tried by one fetch of another project after ten minutes, robots.txt included, and then open to all", async () => {
    const { get, open, clock, view } = await blocked();
    for (const project of [FIRST, SECOND]) for (let n = 0; n < 3; n++) await get(project);
    await clock.advance(600_001);
    // The fourth failure of each closes the origin for 30 minutes.
    for (const project of [FIRST, SECOND]) expect((await get(project)).error).toBe("all_tiers_failed");
    open();
    expect((await get(THIRD)).error).toBe("domain_unavailable");
    await clock.advance(600_001);
    expect((await get(FIRST)).error).toBe("domain_unavailable");
    expect((await get(THIRD)).error).toBeNull();
    expect((await view()).skips).toEqual([]);
    expect((await get(FIRST)).error).toBeNull();
  });
});
