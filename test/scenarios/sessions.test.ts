/**
 * Sessions over HTTP: a login by one fetch serves the next one, on the direct and the browser route, single, in a batch and in a crawl; in no
 * other project. What a site's cookie says is looked for in every place that it could reach.
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
import { article, type Pages, prose, redirect } from "../harness/web.ts";

const SECRET = `c${randomBytes(12).toString("hex")}`;
/** In clear in the stores, which shows that the search sees what is there. */
const SEEN = `seen${randomBytes(12).toString("hex")}`;

const site_pages: Pages = {
  "/login": ({ body }) => ({
    status: 303,
    headers: { Location: "/", ...(body === "word=lamp" && { "Set-Cookie": `sid=${SECRET}; Path=/` }) },
  }),
  "/form": { body: "<title>Form</title><form method=post action=/login><input name=word></form>" },
  "/": ({ headers }) => ({
    body: article(headers["cookie"]?.includes(`sid=${SECRET}`) ? "Account" : "Log in"),
  }),
};

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

  test.runIf(OWN_ROUTES.length > 1)("logs in by the steps of a form", async () => {
    const site = sites.site(site_pages);
    const session_id = await create();
    const actions: FetchBody["actions"] = [
      { type: "type", selector: "[name=word]", text: "lamp" },
      { type: "press", selector: "[name=word]", key: "Enter" },
    ];
    expect(await fetch({ url: `${site.origin}/form`, session_id, actions })).toMatchObject({
      title: "Account",
    });
    expect(await fetch({ url: `${site.origin}/`, session_id, tiers: ["direct"] })).toMatchObject({
      title: "Account",
    });
  });

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
    const jobs = client({
      ...service,
      call: (method, path, more = {}) => service.call(method, path, { key: keys.first, ...more }),
    });
    for (const { json } of [batch, crawl]) {
      await jobs.finished(json.job_id);
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
    const session_id = await create({ label: SEEN });
    await logIn(site.origin, session_id, "direct");
    const debugged = await fetch({ url: `${site.origin}/`, session_id }, keys.first, {
      "x-service-debug": "1",
    });
    const link = new URL(debugged.debug_url!);
    const page = await service.call("GET", link.pathname + link.search, { key: null });
    const metrics = await service.call("GET", "/metrics", { key: null });
    const places: Record<string, string> = {
      "the debug page": page.bytes.toString(),
      "the metrics": metrics.bytes.toString(),
      "the log": service.stderr() + service.stdout(),
      "the answers": shown.join("\n"),
    };
    expect(page.status).toBe(200);
    const base64 = Buffer.from(SECRET).toString("base64").replace(/=+$/, "");
    for (const [place, text] of Object.entries(places))
      expect([place, text.includes(SECRET), text.includes(base64)]).toEqual([place, false, false]);
    const engines = await Promise.all(
      (["bus", "documents", "blobs"] as const).map((name) => engineFolder(name)),
    );
    const data = service.environment["TRAWL_DATA_DIR"]!;
    const folders = setup === "embedded" ? [data] : [data, ...engines.filter((one) => one !== null)];
    const found = folders.flatMap((folder) => foundIn(folder, { SECRET, base64, "what is in clear": SEEN }));
    expect(found).toEqual(expect.arrayContaining([expect.stringMatching(/^what is in clear in /)]));
    expect(found.filter((line) => !line.startsWith("what is in clear"))).toEqual([]);
  });
});
