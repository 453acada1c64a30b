/** Every way in which a fetch may fail, three times by one project, and what a second project gets of that site afterwards. */
import { describe, expect, test } from "vitest";
import { Domain } from "../../schemas/domain.ts";
import type { FetchRequest } from "../../schemas/fetch.ts";
import { answer, failure, HTML, oneService, running, type Scripted } from "../harness/fetch-harness.ts";

const FIRST = "first";
const SECOND = "second";

/** Routes that serve the second project, and fail the first as the row says. */
interface Cause {
  readonly cause: string;
  /** The routes of the first project's fetches; those that are missing are not configured. */
  readonly routes: Partial<Record<"direct" | "browser" | "archive" | "proxy" | "proxy_render", Scripted>>;
  readonly request?: Partial<FetchRequest>;
  /** Whom three such fetches close the domain for. */
  readonly closes: "nobody" | "its own project" | "everybody";
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
    closes: "its own project",
  })),
  {
    cause: "a block, with routes shut by a budget of nothing",
    routes: { direct: () => answer("no", 403), proxy: fine },
    spending: true,
    closes: "its own project",
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

describe("three failed fetches of one project", () => {
  test.each(CAUSES)("$cause: close the domain for $closes", async ({ routes, request, spending, closes }) => {
    let isSecond = false;
    const serving =
      (scripted: Scripted): Scripted =>
      (asked) =>
        isSecond ? answer(HTML) : scripted(asked);
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
    for (let n = 0; n < 3; n++) await running(clock, get({ project: FIRST, cache_ttl_s: 0, ...request }));

    isSecond = true;
    const asked = async (project: string, url = "http://example.org/open") => {
      const { error } = await running(clock, get({ project, url, cache_ttl_s: 0 }));
      return error;
    };
    // The second project first: its success ends the skip of the first.
    const own = closes === "its own project" ? await asked(FIRST) : null;
    expect([closes, own, await asked(SECOND)]).toEqual([
      closes,
      closes === "its own project" ? "domain_unavailable" : null,
      closes === "everybody" ? "domain_unavailable" : null,
    ]);
  });
});

describe("a skipped domain", () => {
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
    for (let n = 0; n < 3; n++) await get(FIRST);
    await clock.advance(600_001);
    // The fourth failure closes the domain for 30 minutes.
    expect((await get(FIRST)).error).toBe("all_tiers_failed");
    open();
    expect((await get(SECOND)).error).toBe("domain_unavailable");
    await clock.advance(600_001);
    expect((await get(FIRST)).error).toBe("domain_unavailable");
    expect((await get(SECOND)).error).toBeNull();
    expect((await view()).skips).toEqual([]);
    expect((await get(FIRST)).error).toBeNull();
  });
});
