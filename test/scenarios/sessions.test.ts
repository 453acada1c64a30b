/**
 * Sessions over HTTP: a login by one fetch serves the next one, on the direct and the browser route, single, in a batch and in a crawl; in no
 * other project. What a site's cookie and a secret of the session say is looked for in every place that they could reach.
 */
import { randomBytes } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { beforeAll, describe, expect, test } from "vitest";
import type { FetchBody } from "../../schemas/fetch.ts";
import { engineFolder } from "../harness/engines.ts";
import { foundIn } from "../harness/files-below.ts";
import { chromium_path, OWN_ROUTES } from "../harness/installed-browser.ts";
import { client } from "../harness/jobs-client.ts";
import { createKeys } from "../harness/project-keys.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article, type Pages, prose, redirect } from "../harness/web.ts";

const SECRET = `c${randomBytes(12).toString("hex")}`;
/** The session's password, typed by a step. */
const PASSWORD = `p${randomBytes(12).toString("hex")}`;
/** In clear in the stores, which shows that the search sees what is there. */
const SEEN = `seen${randomBytes(12).toString("hex")}`;

/** The steps of a form that is sent with the session's secret "word". */
const typing: NonNullable<FetchBody["actions"]> = [
  { type: "type", selector: "[name=word]", secret: "word" },
  { type: "press", selector: "[name=word]", key: "Enter" },
];

const site_pages: Pages = {
  "/login": ({ body }) => ({
    status: 303,
    headers: {
      Location: "/",
      ...(body.replace(PASSWORD, "lamp") === "word=lamp" && { "Set-Cookie": `sid=${SECRET}; Path=/` }),
    },
  }),
  "/form": { body: "<title>Form</title><form method=post action=/login><input name=word></form>" },
  "/ask": { body: "<title>Ask</title><form action=/told><input name=word></form>" },
  "/told": ({ path }) => ({ body: `${article("Told")}<a href="${path}">${path}</a>` }),
  "/": ({ headers }) => ({
    body: article(headers["cookie"]?.includes(`sid=${SECRET}`) ? "Account" : "Log in"),
  }),
};

const POLL = { timeout: 60_000, interval: 100 };

describe.each(SETUPS)("a session, $setup", ({ setup, start }) => {
  const { sites, service } = scenario(start, () => ({
    TRAWL_LOG_LEVEL: "debug",
    ...(chromium_path !== null && { TRAWL_CHROMIUM_PATH: chromium_path }),
  }));
  const keys = { first: "", second: "" };
  beforeAll(async () => {
    await createKeys(service, keys, "--debug");
  });
  const shown: string[] = [];
  const fetch = async (body: FetchBody, key = keys.first, headers: Record<string, string> = {}) => {
    const answer = await service.fetch({ allow_archive: false, ...body }, { key, headers });
    shown.push(JSON.stringify(answer.answer));
    return answer;
  };
  const call = async (method: string, path: string, body?: object, key = keys.first) => {
    const answer = await service.call(method, path, { key, ...(body && { body }) });
    shown.push(answer.bytes.toString());
    return answer;
  };
  const jobsOf = () =>
    client({
      ...service,
      call: (method, path, more = {}) => service.call(method, path, { key: keys.first, ...more }),
    });
  const create = async (body: object = {}): Promise<string> =>
    (await call("POST", "/v1/sessions", body)).json.session_id;
  const logIn = async (origin: string, session_id: string, tier: "direct" | "browser") =>
    fetch({ url: `${origin}/login`, session_id, tiers: [tier], method: "POST", body: "word=lamp" });

  test.each(OWN_ROUTES)("that logged in by the route %s is logged in on every route", async (tier) => {
    const site = sites.site(site_pages);
    const session_id = await create();
    expect(await logIn(site.origin, session_id, tier)).toMatchObject({ title: "Account", cached: false });
    for (const other of OWN_ROUTES)
      expect(await fetch({ url: `${site.origin}/`, session_id, tiers: [other] })).toMatchObject({
        title: "Account",
        tier: other,
        cached: false,
      });
    expect(await fetch({ url: `${site.origin}/` })).toMatchObject({ title: "Log in" });
  });

  test("begins with the cookies that it is given, on every route, and refuses one that no site may set", async () => {
    const site = sites.site(site_pages);
    const { hostname } = new URL(site.origin);
    const cookie = { name: "sid", value: SECRET, domain: hostname, http_only: true };
    const session_id = await create({ cookies: [cookie] });
    for (const tier of OWN_ROUTES)
      expect(await fetch({ url: `${site.origin}/`, session_id, tiers: [tier] })).toMatchObject({
        title: "Account",
      });
    expect((await call("GET", `/v1/sessions/${session_id}`)).json.cookies).toBe(1);
    const refused = await call("POST", "/v1/sessions", { cookies: [cookie, { ...cookie, domain: ".com" }] });
    expect([refused.status, refused.json.detail[0].loc]).toEqual([422, ["body", "cookies", 1]]);
    const abroad = await call("POST", "/v1/sessions", { country: "ch" });
    expect([abroad.status, abroad.json.detail]).toMatchObject([
      422,
      [{ loc: ["body", "country"], type: "country_not_available" }],
    ]);
  });

  test.runIf(OWN_ROUTES.length > 1)("keeps what pages put into localStorage, for their origin", async () => {
    const counting = `<title>none</title><p>${prose(12)}</p><script>
      localStorage.visits = Number(localStorage.visits ?? 0) + 1;
      document.title = localStorage.visits + " " + localStorage.length;
    </script>`;
    const [site, other] = [sites.site({ "/": { body: counting } }), sites.site({ "/": { body: counting } })];
    const session_id = await create();
    const titleAt = async (origin: string, more: object = { session_id }) =>
      (await fetch({ url: `${origin}/`, render: "always", cache_ttl_s: 0, ...more })).title;
    const titles = [await titleAt(site.origin), await titleAt(site.origin), await titleAt(other.origin)];
    expect(titles).toEqual(["1 1", "2 1", "1 1"]);
    expect(await titleAt(site.origin)).toBe("3 1");
    expect(await titleAt(site.origin, {})).toBe("1 1");
    expect((await call("GET", `/v1/sessions/${session_id}`)).json.cookies).toBe(0);
  });

  test("holds secrets: shows their names, replaces and removes them, and says what it does not take", async () => {
    const origin = "https://login.shop.test:8443";
    const named = (name: string, of: string | null = null) => ({ name, origin: of });
    const word = { value: PASSWORD };
    const created = await call("POST", "/v1/sessions", { secrets: { word, pin: { value: "4711" } } });
    expect([created.status, created.json.secrets]).toEqual([201, [named("word"), named("pin")]]);
    const path = `/v1/sessions/${created.json.session_id}`;
    const change = (secrets: object, key = keys.first) => call("PATCH", path, { secrets }, key);
    const changed = await change({ pin: null, word: { value: PASSWORD, origin: `${origin}/` } });
    expect([changed.status, changed.json.secrets]).toEqual([200, [named("word", origin)]]);
    expect((await call("GET", path)).json.secrets).toEqual([named("word", origin)]);
    expect((await change({ word: null }, keys.second)).status).toBe(404);
    const many = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`s${n}`, word]));
    const wrong: [object, (string | number)[]][] = [
      [{ "1st": word }, ["1st"]],
      [{ word: { value: "abc" } }, ["word", "value"]],
      [{ word: { value: `${PASSWORD}\n` } }, ["word", "value"]],
      [{ word: { value: PASSWORD.repeat(50) } }, ["word", "value"]],
      [{ word: { value: PASSWORD, origin: `${origin}/in` } }, ["word", "origin"]],
      [many, []],
    ];
    for (const [secrets, loc] of wrong) {
      const { status, json } = await change(secrets);
      expect([status, json.detail[0].loc]).toEqual([422, ["body", "secrets", ...loc]]);
    }
    const { status, json } = await call("POST", "/v1/sessions", { secrets: { ...many, word } });
    expect([status, json.detail[0].loc]).toEqual([422, ["body", "secrets"]]);
    expect((await call("GET", path)).json.secrets).toEqual([named("word", origin)]);
    expect((await call("DELETE", path)).status).toBe(204);
    expect((await change({ word })).status).toBe(404);
  });

  test("is asked at once for a secret that it does not have", async () => {
    const site = sites.site(site_pages);
    const url = `${site.origin}/form`;
    const session_id = await create({ secrets: { other: { value: PASSWORD } } });
    const options = { session_id, actions: typing };
    const requests: [string, object, (string | number)[]][] = [
      ["/v1/fetch", { url, ...options }, ["actions"]],
      ["/v1/fetch", { url, actions: typing }, ["actions"]],
      ["/v1/fetch", { url, session_id, actions: [{ ...typing[0]!, text: "a" }] }, ["actions"]],
      ["/v1/batch/fetch", { idempotency_key: url, items: [{ url, ...options }] }, ["items", 0, "actions"]],
      ["/v1/crawl", { url, fetch: options }, ["fetch", "actions"]],
      ["/v1/monitors", { url, every_s: 86_400, fetch: options }, ["fetch", "actions"]],
    ];
    for (const [path, body, loc] of requests) {
      const { status, json } = await call("POST", path, body);
      expect([path, status, json.detail?.[0].loc]).toEqual([path, 422, ["body", ...loc]]);
    }
    expect(site.hits("/form")).toBe(0);
    const gone = { session_id: "ses_0000000000000000", actions: typing };
    expect(await fetch({ url, ...gone })).toMatchObject({ error: "session_not_found" });
  });

  test.runIf(OWN_ROUTES.length > 1)(
    "types its secret: in a fetch, a batch, a crawl and a monitor",
    async () => {
      const site = sites.site(site_pages);
      const url = `${site.origin}/form`;
      const session_id = await create({ secrets: { word: { value: PASSWORD } } });
      const options = { session_id, actions: typing };
      expect(await fetch({ url, ...options })).toMatchObject({
        title: "Account",
        actions: [{ ok: true }, { ok: true }],
      });
      expect(await fetch({ url: `${site.origin}/`, session_id, tiers: ["direct"] })).toMatchObject({
        title: "Account",
      });
      const batch = await call("POST", "/v1/batch/fetch", {
        idempotency_key: `secret ${url}`,
        items: [{ url, ...options, project_ref: SEEN, archive: true }],
      });
      const crawl = await call("POST", "/v1/crawl", { url, limit: 1, sitemap: "skip", fetch: options });
      const monitor = await call("POST", "/v1/monitors", { url, every_s: 86_400, fetch: options });
      for (const { json } of [batch, crawl]) {
        await jobsOf().finished(json.job_id);
        const { json: job } = await call("GET", `/v1/jobs/${json.job_id}?include=items`);
        expect(job.items).toMatchObject([{ status: "done", result: { title: "Account" } }]);
      }
      const seen = async () => (await call("GET", `/v1/monitors/${monitor.json.id}`)).json;
      await expect.poll(async () => (await seen()).checks, POLL).toBe(1);
      expect((await seen()).last_check).toMatchObject({ outcome: "first", error: null });
      const sent = site.arrivals.filter(({ path }) => path === "/login").map(({ body }) => body);
      expect(sent).toEqual(Array.from({ length: 4 }, () => `word=${PASSWORD}`));
      await call("PATCH", `/v1/sessions/${session_id}`, { secrets: { word: null } });
      await call("POST", `/v1/monitors/${monitor.json.id}/run`);
      await expect.poll(async () => (await seen()).checks, POLL).toBe(2);
      expect((await seen()).last_check).toMatchObject({ outcome: "failed", error: "action_failed" });
      await call("DELETE", `/v1/monitors/${monitor.json.id}`);
    },
  );

  test.each(OWN_ROUTES)("sends a cookie to no other site, by the route %s", async (tier) => {
    const there = sites.site({ "*": { body: article("There") } });
    const site = sites.site({ ...site_pages, "/away": redirect(`${there.origin}/x`) });
    const session_id = await create();
    await logIn(site.origin, session_id, "direct");
    await fetch({ url: `${site.origin}/away`, session_id, tiers: [tier] });
    expect(there.arrivals.map(({ headers }) => headers["cookie"])).toEqual(
      there.arrivals.map(() => undefined),
    );
    expect(there.hits("/x")).toBe(1);
  });

  test("serves items of a batch and pages of a crawl", async () => {
    const site = sites.site(site_pages);
    const session_id = await create();
    await logIn(site.origin, session_id, "direct");
    const url = `${site.origin}/`;
    const batch = await call("POST", "/v1/batch/fetch", {
      idempotency_key: `batch ${url}`,
      items: [{ url, session_id, tiers: ["direct"], project_ref: SEEN }],
    });
    const crawl = await call("POST", "/v1/crawl", {
      idempotency_key: `crawl ${url}`,
      url,
      limit: 1,
      sitemap: "skip",
      fetch: { session_id, tiers: ["direct"] },
    });
    for (const { json } of [batch, crawl]) {
      await jobsOf().finished(json.job_id);
      const { json: job } = await call("GET", `/v1/jobs/${json.job_id}?include=items`);
      expect(job.items).toMatchObject([{ status: "done", result: { title: "Account" } }]);
    }
  });

  test("is of its project, shows no cookie, and ends", async () => {
    const site = sites.site(site_pages);
    const url = `${site.origin}/`;
    const created = await call("POST", "/v1/sessions", { label: "Shop", ttl_s: 60, accept_language: "de" });
    expect([created.status, created.json]).toMatchObject([
      201,
      { label: "Shop", cookies: 0, last_used_at: null, accept_language: "de" },
    ]);
    const { session_id } = created.json;
    await logIn(site.origin, session_id, "direct");
    expect(site.arrivals.find(({ path }) => path === "/login")!.headers["accept-language"]).toBe("de");
    const path = `/v1/sessions/${session_id}`;
    expect((await call("GET", path)).json).toMatchObject({ cookies: 1, last_used_at: expect.any(String) });
    const { json: listed } = await call("GET", "/v1/sessions");
    expect(listed.sessions.map((one: { session_id: string }) => one.session_id)).toContain(session_id);
    expect((await call("GET", "/v1/sessions", undefined, keys.second)).json.sessions).toEqual([]);
    expect((await call("GET", path, undefined, keys.second)).status).toBe(404);
    expect((await call("DELETE", path, undefined, keys.second)).status).toBe(404);
    expect(await fetch({ url, session_id }, keys.second)).toMatchObject({ error: "session_not_found" });
    expect(await fetch({ url, session_id })).toMatchObject({ title: "Account" });
    expect((await call("DELETE", path)).status).toBe(204);
    expect(await fetch({ url, session_id })).toMatchObject({ error: "session_not_found", status: null });
    expect(await fetch({ url, session_id: "ses_0000000000000000" })).toMatchObject({
      error: "session_not_found",
    });
  });

  test.each<[Record<string, unknown>, string]>([
    [{ session_id: "other" }, "session_id"],
    [{ session_id: "ses_0000000000000000", cookies: [{ name: "a", value: "1" }] }, "cookies"],
    [{ session_id: "ses_0000000000000000", headers: { Cookie: "a=1" } }, "cookies"],
  ])("is refused with the name of the field: %j", async (options, field) => {
    const { status, json } = await call("POST", "/v1/fetch", { url: "http://www.shop.test/", ...options });
    expect([status, json.detail[0].loc]).toEqual([422, ["body", field]]);
  });

  test("is in nothing that is answered, logged, measured, stored or shown to an operator", async () => {
    const site = sites.site(site_pages);
    const session_id = await create({ label: SEEN, secrets: { word: { value: PASSWORD } } });
    await logIn(site.origin, session_id, "direct");
    const debug = { "x-service-debug": "1" };
    const debugged = await fetch({ url: `${site.origin}/`, session_id }, keys.first, debug);
    // The site puts the secret into its address and its page.
    const asking = { url: `${site.origin}/ask`, session_id, actions: typing, archive: true };
    const told = await fetch({ ...asking, formats: ["markdown", "links"] }, keys.first, debug);
    const archived = await service.call("GET", `/v1/requests/${told.request_id}.warc.gz`, {
      key: keys.first,
    });
    const story = new URL(told.debug_url!);
    const typed = await service.call("GET", story.pathname + story.search, { key: null });
    const link = new URL(debugged.debug_url!);
    const page = await service.call("GET", link.pathname + link.search, { key: null });
    const metrics = await service.call("GET", "/metrics", { key: null });
    const places: Record<string, string> = {
      "the debug page": page.bytes.toString(),
      "the debug page of a typed secret": typed.bytes.toString(),
      ...(archived.status === 200 && { "the archive": gunzipSync(archived.bytes).toString() }),
      "the metrics": metrics.bytes.toString(),
      "the log": service.stderr() + service.stdout(),
      "the answers": shown.join("\n"),
    };
    expect(page.status).toBe(200);
    const seen = [told.title, told.final_url, site.arrivals.at(-1)!.path];
    const isTyped = ["Told", `${site.origin}/told?word=***`, `/told?word=${PASSWORD}`];
    expect(seen).toEqual(OWN_ROUTES.length > 1 ? isTyped : seen);
    expect(places["the archive"] ?? "").toContain(OWN_ROUTES.length > 1 ? "/told?word=***" : "");
    const planted = Object.fromEntries(
      Object.entries({ SECRET, PASSWORD }).flatMap(([name, value]) => [
        [name, value],
        [`${name} in base64`, Buffer.from(value).toString("base64").replace(/=+$/, "")],
      ]),
    );
    for (const [place, text] of Object.entries(places))
      for (const [name, value] of Object.entries(planted))
        expect([place, name, text.includes(value)]).toEqual([place, name, false]);
    const engines = await Promise.all(
      (["bus", "documents", "blobs"] as const).map((name) => engineFolder(name)),
    );
    const data = service.environment["TRAWL_DATA_DIR"]!;
    const folders = setup === "embedded" ? [data] : [data, ...engines.filter((one) => one !== null)];
    const found = folders.flatMap((folder) => foundIn(folder, { ...planted, "what is in clear": SEEN }));
    expect(found).toEqual(expect.arrayContaining([expect.stringMatching(/^what is in clear in /)]));
    expect(found.filter((line) => !line.startsWith("what is in clear"))).toEqual([]);
  });
});
