import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  isBlocking,
  type RouteHints,
  nextStep,
  type Outcome,
  routesOf,
  type Step,
  type Tried,
  NO_HINTS,
  type RouteOptions,
} from "../../../../actors/crawl/fetch/ladder.ts";
import { type Tier, TIERS } from "../../../../schemas/tier-table.ts";

const AUTO: RouteOptions = {
  render: "auto",
  tiers: null,
  allow_archive: true,
  allow_paid: true,
  min_text_chars: 500,
};
const page = (text_chars: number): Outcome => ({ kind: "page", text_chars, html: true });
const unreadable: Outcome = { kind: "unreadable" };
const file: Outcome = { kind: "page", text_chars: 0, html: false };
const blocked: Outcome = { kind: "blocked", status: 403 };
const gone: Outcome = { kind: "definitive", status: 404 };
const off: Outcome = { kind: "unavailable", reason: "not_configured" };
const nothing: Outcome = { kind: "unavailable", reason: "not_found" };
const noHost: Outcome = { kind: "no_host", dead: false };
const deadHost: Outcome = { kind: "no_host", dead: true };
const broke: Outcome = { kind: "unavailable", reason: "budget_exhausted" };
const failed: Outcome = { kind: "unavailable", reason: "failed" };
const tooLarge: Outcome = { kind: "final", error: "too_large" };

const tried = (...attempts: readonly (readonly [Tier, Outcome])[]): Tried[] =>
  attempts.map(([tier, outcome]) => ({ tier, outcome }));
const route = (tier: Tier): Step => ({ kind: "route", tier });
const answer = (error: string | null, best: number | null) => ({ kind: "answer", error, best });

describe("which routes a request may take", () => {
  test.each<[string, Partial<RouteOptions>, readonly Tier[]]>([
    ["auto takes them all", {}, TIERS],
    ["never takes no browser", { render: "never" }, ["direct", "archive", "proxy"]],
    ["always takes browsers only", { render: "always" }, ["browser", "proxy_render"]],
    ["without the premium ones", { allow_paid: false }, ["direct", "browser", "archive"]],
    ["without the archive", { allow_archive: false }, ["direct", "browser", "proxy", "proxy_render"]],
    ["the allowlist keeps ladder order", { tiers: ["proxy", "direct"] }, ["direct", "proxy"]],
    ["an empty allowlist leaves none", { tiers: [] }, []],
    ["an allowlist against the flags leaves none", { tiers: ["proxy"], allow_paid: false }, []],
    ["an allowlist against render leaves none", { tiers: ["direct"], render: "always" }, []],
    ["a window of the caller's is of the browser", { view: {} }, ["browser"]],
    ["steps in a page are of the browser", { own: { is_post: true, has_actions: true } }, ["browser"]],
  ])("%s", (_, options, routes) => {
    expect(routesOf({ ...AUTO, ...options })).toEqual(routes);
  });
});

describe("what comes next", () => {
  test.each<[string, Partial<RouteOptions>, Tried[], unknown]>([
    ["begins at the bottom", {}, [], route("direct")],
    ["begins with the browser when it must render", { render: "always" }, [], route("browser")],
    ["says no_tier_allowed when nothing is left", { tiers: [] }, [], answer("no_tier_allowed", null)],
    ["returns a page that is long enough", {}, tried(["direct", page(500)]), answer(null, 0)],
    [
      "takes no other route to what cannot be read",
      {},
      tried(["direct", unreadable]),
      answer("unreadable_document", 0),
    ],
    [
      "returns thin text when the rendered page cannot be read",
      {},
      tried(["direct", page(9)], ["browser", unreadable]),
      answer(null, 0),
    ],
    ["never calls a file thin", {}, tried(["direct", file]), answer(null, 0)],
    ["takes thin text to the browser", {}, tried(["direct", page(499)]), route("browser")],
    ["takes the rendered page", {}, tried(["direct", page(9)], ["browser", page(900)]), answer(null, 1)],
    [
      "returns the longer of two thin ones",
      {},
      tried(["direct", page(90)], ["browser", page(80)]),
      answer(null, 0),
    ],
    [
      "prefers the rendered one when longer",
      {},
      tried(["direct", page(8)], ["browser", page(80)]),
      answer(null, 1),
    ],
    [
      "returns thin text when no browser may be used",
      { render: "never" },
      tried(["direct", page(9)]),
      answer(null, 0),
    ],
    [
      "never takes thin text to the archive or beyond",
      {},
      tried(["direct", page(9)], ["browser", blocked]),
      answer(null, 0),
    ],
    [
      "returns thin text when there is no browser",
      {},
      tried(["direct", page(9)], ["browser", off]),
      answer(null, 0),
    ],
    ["returns a thin rendering as it is", { render: "always" }, tried(["browser", page(9)]), answer(null, 0)],
    [
      "returns a thin archived copy as it is",
      { tiers: ["archive", "proxy"] },
      tried(["archive", page(9)]),
      answer(null, 0),
    ],
    ["the next route when blocked", {}, tried(["direct", blocked]), route("browser")],
    [
      "the route after one that is not configured",
      {},
      tried(["direct", blocked], ["browser", off]),
      route("archive"),
    ],
    [
      "the route after an archive that has nothing",
      {},
      tried(["direct", blocked], ["browser", blocked], ["archive", nothing]),
      route("proxy"),
    ],
    [
      "the last route",
      {},
      tried(["direct", blocked], ["browser", blocked], ["archive", nothing], ["proxy", blocked]),
      route("proxy_render"),
    ],
    [
      "gives up at the top",
      {},
      tried(
        ["direct", blocked],
        ["browser", blocked],
        ["archive", nothing],
        ["proxy", blocked],
        ["proxy_render", off],
      ),
      answer("all_tiers_failed", null),
    ],
    [
      "gives up where the premium routes are switched off",
      { allow_paid: false, allow_archive: false },
      tried(["direct", blocked], ["browser", blocked]),
      answer("all_tiers_failed", null),
    ],
    ["looks for a gone page in the archive", {}, tried(["direct", gone]), route("archive")],
    [
      "returns the archived copy of a gone page",
      {},
      tried(["direct", gone], ["archive", page(900)]),
      answer(null, 1),
    ],
    [
      "says 404 when nothing is archived",
      {},
      tried(["direct", gone], ["archive", nothing]),
      answer("http_404", 0),
    ],
    [
      "says 404 at once without the archive",
      { allow_archive: false },
      tried(["direct", gone]),
      answer("http_404", 0),
    ],
    ["says 401 as it is", {}, tried(["direct", { kind: "definitive", status: 401 }]), answer("http_401", 0)],
    [
      "believes the browser's 404 after a block",
      { allow_archive: false },
      tried(["direct", blocked], ["browser", gone]),
      answer("http_404", 1),
    ],
    [
      "asks only the archive about a host that does not exist",
      {},
      tried(["direct", noHost]),
      route("archive"),
    ],
    [
      "gives up on a host that does not exist",
      {},
      tried(["direct", noHost], ["archive", nothing]),
      answer("all_tiers_failed", null),
    ],
    [
      "says domain_dead of a host seen missing before",
      {},
      tried(["direct", deadHost], ["archive", nothing]),
      answer("domain_dead", null),
    ],
    [
      "serves the archived copy of a dead host",
      {},
      tried(["direct", deadHost], ["archive", page(900)]),
      answer(null, 1),
    ],
    ["stops at what no route can change", {}, tried(["direct", tooLarge]), answer("too_large", null)],
    [
      "stops there also half-way up",
      {},
      tried(["direct", blocked], ["browser", tooLarge]),
      answer("too_large", null),
    ],
  ])("%s", (_, options, attempts, step) => {
    expect(nextStep({ ...AUTO, ...options }, NO_HINTS, attempts)).toEqual(step);
  });

  test("begins where the domain has learned to, and tries the cheaper ones last", () => {
    const hints = { ...NO_HINTS, start: "browser" } as const;
    expect(nextStep(AUTO, hints, [])).toEqual(route("browser"));
    const all = tried(["browser", blocked], ["archive", nothing], ["proxy", off], ["proxy_render", off]);
    expect(nextStep(AUTO, hints, all)).toEqual(route("direct"));
  });

  test("ignores a learned start the request does not allow", () => {
    expect(nextStep({ ...AUTO, render: "never" }, { ...NO_HINTS, start: "browser" }, [])).toEqual(
      route("direct"),
    );
  });
});

describe("a host that only premium routes serve", () => {
  const required = { ...NO_HINTS, premium: "required" } as const;
  const live = { allow_archive: false };
  test.each<[string, Partial<RouteOptions>, Tried[], unknown]>([
    ["is looked for in the archive first", {}, [], route("archive")],
    ["is then asked through premium routes", {}, tried(["archive", nothing]), route("proxy")],
    ["is not asked from our own addresses", live, [], route("proxy")],
    ["nor after those have failed", live, tried(["proxy", blocked]), route("proxy_render")],
    [
      "fails when they do",
      live,
      tried(["proxy", blocked], ["proxy_render", blocked]),
      answer("all_tiers_failed", null),
    ],
    ["needs allow_paid", { ...live, allow_paid: false }, [], answer("premium_route_required", null)],
    ["needs them in tiers", { tiers: ["direct", "browser"] }, [], answer("premium_route_required", null)],
    ["may still be had from the archive", { allow_paid: false }, [], route("archive")],
    ["or not", { allow_paid: false }, tried(["archive", nothing]), answer("premium_route_required", null)],
    ["is rendered elsewhere when it must be", { render: "always" }, [], route("proxy_render")],
    ["says no_tier_allowed first", { tiers: [] }, [], answer("no_tier_allowed", null)],
    ["needs money", live, tried(["proxy", broke], ["proxy_render", broke]), answer("budget_exhausted", null)],
    [
      "needs money for the one that is there",
      live,
      tried(["proxy", off], ["proxy_render", broke]),
      answer("budget_exhausted", null),
    ],
    [
      "is not out of money when one was tried",
      live,
      tried(["proxy", failed], ["proxy_render", broke]),
      answer("all_tiers_failed", null),
    ],
  ])("%s", (_, options, attempts, step) => {
    expect(nextStep({ ...AUTO, ...options }, required, attempts)).toEqual(step);
  });

  test("is another thing than a host that was not seen so: without money every route has failed", () => {
    const all = tried(
      ["direct", blocked],
      ["browser", blocked],
      ["archive", nothing],
      ["proxy", broke],
      ["proxy_render", broke],
    );
    expect(nextStep(AUTO, NO_HINTS, all)).toEqual(answer("all_tiers_failed", null));
  });
});

test("a block is 403, 429, 451 and every 5xx", () => {
  const statuses = [200, 301, 400, 401, 402, 403, 404, 410, 418, 429, 451, 500, 503, 520, 599];
  expect(statuses.filter(isBlocking)).toEqual([403, 429, 451, 500, 503, 520, 599]);
});

test("every run ends, takes no route twice, and none that was not allowed", () => {
  const outcome = fc.oneof(
    fc.nat(1_000).map(page),
    fc.constantFrom<Outcome>(file, blocked, gone, off, broke, nothing, noHost, tooLarge),
  );
  const options = fc.record<RouteOptions>({
    render: fc.constantFrom("auto", "never", "always"),
    tiers: fc.option(fc.subarray([...TIERS])),
    allow_archive: fc.boolean(),
    allow_paid: fc.boolean(),
    min_text_chars: fc.nat(1_000),
  });
  const hint_cases = fc.record<RouteHints>({
    start: fc.option(fc.constantFrom(...TIERS)),
    premium: fc.constantFrom("unknown", "required", "refused"),
  });
  fc.assert(
    fc.property(
      options,
      hint_cases,
      fc.array(outcome, { minLength: 5, maxLength: 5 }),
      (asked, hints, outcomes) => {
        const attempts_made: Tried[] = [];
        let step = nextStep(asked, hints, attempts_made);
        for (; step.kind === "route"; step = nextStep(asked, hints, attempts_made)) {
          expect(routesOf(asked)).toContain(step.tier);
          expect(attempts_made.map(({ tier }) => tier)).not.toContain(step.tier);
          attempts_made.push({ tier: step.tier, outcome: outcomes[attempts_made.length]! });
        }
        expect(step.error !== null || attempts_made[step.best!]!.outcome.kind === "page").toBe(true);
      },
    ),
    { numRuns: 2_000 },
  );
});
