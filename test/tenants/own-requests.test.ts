/**
 * A caller's own request: header fields, cookies, a POST. Over HTTP, on the direct and the browser route, single and
 * as items of a job. A secret of each kind is looked for in every place that it could reach: other origins, answers, bodies,
 * stores, logs, debug pages, metrics, the ledger.
 */
import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { FetchBody } from "../../schemas/fetch.ts";
import { engineFolder } from "../harness/engines.ts";
import { foundIn } from "../harness/files-below.ts";
import { chromium_path, OWN_ROUTES } from "../harness/installed-browser.ts";
import { client } from "../harness/jobs-client.ts";
import { createKeys } from "../harness/project-keys.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { type Arrival, article, type Page, redirect, type Site } from "../harness/web.ts";

const word = (what: string): string => `${what}${randomBytes(12).toString("hex")}`;
const PLANTED = { header: word("h"), cookie: word("c"), body: word("b"), typed: word("t") };
/** In clear in the stores, which shows that the search sees what is there. */
const SEEN = word("seen");

const isKnown = ({ headers }: Arrival): boolean =>
  headers["x-api-key"] === PLANTED.header && (headers["cookie"] ?? "").includes(`sid=${PLANTED.cookie}`);
const behindLogin = (arrival: Arrival): Page =>
  isKnown(arrival) ? { body: article("Behind the login") } : { status: 401, body: article("Log in") };
const OWN = {
  headers: { "X-Api-Key": PLANTED.header, Referer: "https://from.example/" },
  cookies: [{ name: "sid", value: PLANTED.cookie }],
} satisfies Partial<FetchBody>;

const FORM = '<title>Form</title><input id="word">';
const TYPED: FetchBody["actions"] = [
  { type: "type", selector: "#word", text: PLANTED.typed },
  { type: "evaluate", script: `document.title === "${PLANTED.typed}"` },
];
/** Where there is nothing to type into: a failed step says nothing of it either. */
const TYPED_ANYWHERE: FetchBody["actions"] = TYPED.map((step) => ({ ...step, timeout_ms: 100 }));

describe.each(SETUPS)("a caller's own request, $setup", ({ setup, start }) => {
  const { sites, service } = scenario(start, () => ({
    TRAWL_LOG_LEVEL: "debug",
    ...(chromium_path !== null && { TRAWL_CHROMIUM_PATH: chromium_path }),
  }));
  const keys = { first: "", second: "" };
  beforeAll(async () => {
    await createKeys(service, keys, "--debug");
  });
  const shown: string[] = [];
  const fetch = async (project: keyof typeof keys, body: FetchBody, headers: Record<string, string> = {}) => {
    const result = await service.fetch({ allow_archive: false, ...body }, { key: keys[project], headers });
    shown.push(JSON.stringify(result.answer));
    return result;
  };
  const sent = ({ arrivals }: Site, path?: string) =>
    arrivals
      .filter((arrival) => arrival.path !== "/robots.txt" && (path === undefined || arrival.path === path))
      .map(({ headers }) => [headers["x-api-key"] ?? null, headers["cookie"] ?? null]);

  describe.each(OWN_ROUTES)("by the route %s", (tier) => {
    const tiers = [tier];

    test("goes to the origin that was asked, with redirects there", async () => {
      const site = sites.site({ "/": redirect("/account"), "/account": behindLogin });
      const answer = await fetch("first", { url: `${site.origin}/`, tiers, ...OWN });
      expect(answer).toMatchObject({ error: null, title: "Behind the login", tier, cached: false });
      const own = [PLANTED.header, `sid=${PLANTED.cookie}`];
      expect(sent(site, "/account")).toEqual([own]);
      expect(site.arrivals.find(({ path }) => path === "/account")!.headers["referer"]).toBe(
        "https://from.example/",
      );
      expect(sent(site, "/robots.txt")).toEqual([]);
      expect(site.arrivals.filter(({ path }) => path === "/robots.txt").every((one) => !isKnown(one))).toBe(
        true,
      );
    });

    test("does not leave it: not with a redirect", async () => {
      const there = sites.site({ "*": { body: article("Elsewhere") } });
      const site = sites.site({
        "/": redirect(`${there.origin}/end`),
      });
      const away = await fetch("first", { url: `${site.origin}/`, tiers, ...OWN });
      expect(away).toMatchObject({ error: null, final_url: `${there.origin}/end` });
      expect(sent(there)).toEqual(sent(there).map(() => [null, null]));
    });

    test("does not come back with a later hop", async () => {
      let home = "";
      const there = sites.site({ "/end": () => redirect(`${home}/home`) });
      const site = sites.site({ "/": redirect(`${there.origin}/end`), "/home": { body: article("Home") } });
      home = site.origin;
      const answer = await fetch("first", { url: `${site.origin}/`, tiers, ...OWN });
      expect(answer).toMatchObject({ error: null, final_url: `${site.origin}/home` });
      expect([sent(there, "/end"), sent(site, "/home")]).toEqual([[[null, null]], [[null, null]]]);
    });

    test("of a cookie with a domain goes to the hosts of the domain", async () => {
      const www = sites.site({ "/": behindLogin }, `www.shop-${tier}-${setup.length}`);
      const site = sites.site({ "/": redirect(`${www.origin}/`) }, `shop-${tier}-${setup.length}`);
      await fetch("first", {
        url: `${site.origin}/`,
        tiers,
        cookies: [
          { name: "wide", value: PLANTED.cookie, domain: site.host },
          { name: "sid", value: PLANTED.cookie },
        ],
      });
      expect([sent(site, "/"), sent(www, "/")]).toEqual([
        [[null, expect.stringMatching(/wide=.*sid=|sid=.*wide=/)]],
        [[null, `wide=${PLANTED.cookie}`]],
      ]);
    });

    test("as a POST is sent once, with its body, and its redirect is a GET", async () => {
      const site = sites.site({
        "/login": ({ method, body }) =>
          method === "POST" && body === `password=${PLANTED.body}`
            ? { ...redirect("/in", 302), headers: { Location: "/in", "Set-Cookie": "in=1; Path=/" } }
            : { status: 401, body: "no" },
        "/in": ({ headers, method }) => ({ body: article(`${method} ${headers["cookie"] ?? "without"}`) }),
        "/thin": { body: "<title>Thin</title>" },
        "/broken": { status: 500, body: "broken" },
      });
      const post = { method: "POST", body: `password=${PLANTED.body}` } as const;
      const answer = await fetch("first", { url: `${site.origin}/login`, tiers, ...post });
      expect(answer).toMatchObject({ error: null, title: "GET in=1", final_url: `${site.origin}/in` });
      const [login] = site.arrivals.filter(({ path }) => path === "/login");
      expect(login!.headers["content-type"]).toBe("application/x-www-form-urlencoded");
      expect(site.hits("/login")).toBe(1);
      // Neither a thin page nor a failure is a reason to send it by another route.
      expect(await fetch("first", { url: `${site.origin}/thin`, ...post })).toMatchObject({ error: null });
      expect(await fetch("first", { url: `${site.origin}/broken`, ...post })).toMatchObject({
        error: "all_tiers_failed",
        status: 500,
      });
      expect([site.hits("/thin"), site.hits("/broken")]).toEqual([1, 1]);
    });

    test("as a POST does not take its body to another origin", async () => {
      const there = sites.site({ "*": { body: article("Elsewhere") } });
      const site = sites.site({ "/": redirect(`${there.origin}/end`, 307) });
      const answer = await fetch("first", {
        url: `${site.origin}/`,
        tiers,
        method: "POST",
        body: PLANTED.body,
      });
      expect(answer).toMatchObject({ error: "all_tiers_failed" });
      expect(answer.attempts).toMatchObject([{ tier, reason: "redirect_with_body" }]);
      expect(there.hits("/end")).toBe(0);
    });
  });

  test("has an answer of its own: not shared, and kept only where the caller says so", async () => {
    const site = sites.site({ "/": behindLogin, "/kept": behindLogin });
    const [url, kept] = [`${site.origin}/`, `${site.origin}/kept`];
    const both = await Promise.all([fetch("first", { url, ...OWN }), fetch("first", { url, ...OWN })]);
    expect(both.map(({ cached }) => cached)).toEqual([false, false]);
    expect(site.hits("/")).toBe(2);
    expect(await fetch("first", { url })).toMatchObject({ error: "http_401", cached: false });
    const privately = { url: kept, ...OWN, cache_private: true };
    const seen: [boolean, string | null][] = [];
    for (const project of ["first", "first", "second", "second"] as const) {
      const { cached, title } = await fetch(project, privately);
      seen.push([cached, title]);
    }
    const title = "Behind the login";
    expect(seen).toEqual([
      [false, title],
      [true, title],
      [false, title],
      [true, title],
    ]);
    expect(await fetch("first", { ...privately, headers: { "X-Api-Key": "guessed" } })).toMatchObject({
      error: "http_401",
    });
    expect(await fetch("second", { url: kept })).toMatchObject({ error: "http_401", cached: false });
  });

  test("is found by no search", async () => {
    const words = `herring${randomBytes(6).toString("hex")}`;
    const site = sites.site({ "/": { body: article(words) } });
    await fetch("first", { url: `${site.origin}/`, ...OWN, cache_private: true });
    const { json } = await service.call("POST", "/v1/search", { key: keys.first, body: { query: words } });
    expect(json.results).toEqual([]);
  });

  test("does not take a route of a third party", async () => {
    const site = sites.site({ "/": behindLogin });
    const answer = await fetch("first", {
      url: `${site.origin}/`,
      ...OWN,
      tiers: ["archive", "proxy", "proxy_render"],
    });
    expect(answer).toMatchObject({ error: "no_tier_allowed" });
  });

  test.each<[string, Partial<FetchBody>, string, RegExp]>([
    ["Host", { headers: { Host: "x" } }, "headers", /"Host" is set by the service/],
    ["a field of the connection", { headers: { "transfer-encoding": "x" } }, "headers", /set by the service/],
    ["a proxy's field", { headers: { "Proxy-Authorization": "x" } }, "headers", /set by the service/],
    ["an option's field", { headers: { "User-Agent": "x" } }, "headers", /option "user_agent"/],
    ["a broken value", { headers: { "X-A": "a\r\nX-B: b" } }, "headers", /characters that are not allowed/],
    [
      "too many fields",
      { headers: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`x-${n}`, "1"])) },
      "headers",
      /more than 50/,
    ],
    [
      "cookies twice",
      { headers: { Cookie: "a=1" }, cookies: [{ name: "b", value: "2" }] },
      "cookies",
      /too$/,
    ],
    [
      "a foreign domain",
      { cookies: [{ name: "a", value: "1", domain: "other.test" }] },
      "cookies",
      /is not that of the url/,
    ],
    [
      "a public suffix",
      { cookies: [{ name: "a", value: "1", domain: "test" }] },
      "cookies",
      /is not that of the url/,
    ],
    ["a body of a GET", { body: "x" }, "body", /"method": "POST"/],
  ])("is refused with %s", async (_, options, field, message) => {
    const body = { url: "http://www.shop.test/", ...options };
    const single = await service.call("POST", "/v1/fetch", { key: keys.first, body });
    const expected = { msg: expect.stringMatching(message), type: "value_error" };
    expect([single.status, single.json.detail]).toEqual([422, [{ loc: ["body", field], ...expected }]]);
    const batch = await service.call("POST", "/v1/batch/fetch", {
      key: keys.first,
      body: { idempotency_key: `refused ${field}`, items: [body] },
    });
    expect([batch.status, batch.json.detail]).toEqual([
      422,
      [{ loc: ["body", "items", 0, field], ...expected }],
    ]);
  });

  test("of an item of a job is sent, and shown without its values", async () => {
    const site = sites.site({
      "/item": behindLogin,
      "/post": ({ body }) => ({ body: article(body.slice(0, 1)) }),
      "/form": { body: FORM },
    });
    const jobs = client(service);
    const created = await jobs.create([
      { url: `${site.origin}/item`, project_ref: SEEN, ...OWN },
      { url: `${site.origin}/post`, method: "POST", body: PLANTED.body },
      { url: `${site.origin}/form`, actions: TYPED },
    ]);
    await jobs.finished(created.json.job_id);
    const { json, bytes } = await service.call("GET", `/v1/jobs/${created.json.job_id}?include=items`);
    shown.push(bytes.toString());
    expect(json.items).toMatchObject([
      {
        status: "done",
        result: { title: "Behind the login" },
        input: { headers: { "X-Api-Key": "***" }, cookies: [{ name: "sid", value: "***" }] },
      },
      { status: "done", result: { title: "b" }, input: { body: "***", method: "POST" } },
      OWN_ROUTES.length > 1
        ? {
            status: "done",
            result: { title: "Form", actions: [{ ok: true }, { ok: true }] },
            input: { actions: [{ text: "***" }, { script: "***" }] },
          }
        : { status: "failed" },
    ]);
  });

  test("is in nothing that is answered, logged, measured, stored or shown to an operator", async () => {
    const site = sites.site({ "/": behindLogin });
    const debugged = await fetch(
      "first",
      { url: `${site.origin}/`, project_ref: SEEN, ...OWN, actions: TYPED_ANYWHERE },
      { "x-service-debug": "1" },
    );
    const link = new URL(debugged.debug_url!);
    const page = await service.call("GET", link.pathname + link.search, { key: null });
    const requests = await service.call("GET", "/v1/requests?limit=500", { key: keys.first });
    const metrics = await service.call("GET", "/metrics", { key: null });
    const places: Record<string, string> = {
      "the debug page": page.bytes.toString(),
      "the requests": requests.bytes.toString(),
      "the metrics": metrics.bytes.toString(),
      "the log": service.stderr() + service.stdout(),
      "the answers": shown.join("\n"),
    };
    expect([page.status, requests.status]).toEqual([200, 200]);
    expect(places["the debug page"]).toContain("X-Api-Key");
    expect(shown.length).toBeGreaterThan(10);
    const variants = Object.entries(PLANTED).flatMap(([what, secret]) => [
      [what, secret] as const,
      [`${what} in base64`, Buffer.from(secret).toString("base64").replace(/=+$/, "")] as const,
    ]);
    for (const [place, text] of Object.entries(places))
      for (const [what, secret] of variants)
        expect([place, what, text.includes(secret)]).toEqual([place, what, false]);
    const engines = await Promise.all(
      (["bus", "documents", "blobs"] as const).map((name) => engineFolder(name)),
    );
    const data = service.environment["TRAWL_DATA_DIR"]!;
    const folders = setup === "embedded" ? [data] : [data, ...engines.filter((one) => one !== null)];
    const found = folders.flatMap((folder) =>
      foundIn(folder, { ...Object.fromEntries(variants), "what is in clear": SEEN }),
    );
    expect(found).toEqual(expect.arrayContaining([expect.stringMatching(/^what is in clear in /)]));
    expect(found.filter((line) => !line.startsWith("what is in clear"))).toEqual([]);
  });
});
