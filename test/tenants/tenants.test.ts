/**
 * A second project's view of the first one, for every operation of the OpenAPI document: the operations come from the document,
 * so a new endpoint is asked without a line here. The first project leaves a secret in everything it may write; the second asks
 * with the first one's identifiers.
 */
import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { FetchBody } from "../../schemas/fetch.ts";
import { type ApiDocument, operationsOf, requestOf } from "../harness/openapi-requests.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article, gate, redirect, type Site } from "../harness/web.ts";
import { wholeApi } from "../harness/api-documents.ts";

describe.each(SETUPS)("two projects, $setup", ({ setup, start }) => {
  // A proxy is configured and down.
  const { sites, service } = scenario(start, () => ({ TRAWL_PROXY_URL: "http://127.0.0.1:9" }));
  const secret = `s${randomBytes(12).toString("hex")}`;
  const keys = { first: "", second: "" };
  let document: ApiDocument = { paths: {}, components: { schemas: {} } };
  /** Identifiers of what the first project has, by the name of the parameter that takes them. */
  let given: Record<string, string> = {};
  let site: Site | null = null;
  const door = gate();

  beforeAll(async () => {
    await service.trawl("project", "create", "first");
    await service.trawl("project", "create", "second");
    for (const project of ["first", "second"] as const)
      keys[project] = (await service.trawl("key", "create", "--project", project)).key;
    document = await wholeApi((path) => service.call("GET", path, { key: null }));
    site = sites.site({
      "/": { body: article("Known to the first") },
      "/slow": async () => {
        await door.opened;
        return { body: article("Slow") };
      },
    });
    const key = keys.first;
    const url = `${site.origin}/?token=${secret}`;
    const page = await service.fetch({ url, project_ref: secret }, { key });
    await service.call("POST", "/v1/search", {
      key,
      body: { query: `lighthouse ${secret}`, project_ref: secret },
    });
    const job = await service.call("POST", "/v1/batch/fetch", {
      key,
      body: {
        idempotency_key: secret,
        callback_url: `https://example.org/${secret}`,
        items: [{ url: `${site.origin}/slow?${secret}` }],
      },
    });
    const monitor = await service.call("POST", "/v1/monitors", {
      key,
      body: { url: `${site.origin}/slow?${secret}`, every_s: 3_600, label: secret },
    });
    const sink = await service.call("POST", `/v1/jobs/${job.json.job_id}/sinks`, {
      key,
      body: { type: "webhook", url: `https://client.example/${secret}` },
    });
    // Another page than the one the first fetched: who retrieves the same bytes may download them.
    given = {
      job_id: job.json.job_id,
      monitor_id: monitor.json.id,
      sink_id: sink.json.sink_id,
      sha256: page.sha256!,
      url: `${site.origin}/other`,
      cursor: job.json.job_id,
    };
  });

  test("without a key no operation that needs one does anything", async () => {
    const keyed = operationsOf(document).filter(([, , { security }]) => (security ?? []).length > 0);
    expect(keyed.length).toBeGreaterThan(10);
    for (const [path, method, operation] of keyed) {
      const { target, body } = requestOf(document, path, operation, given);
      const { status } = await service.call(method, target, {
        key: null,
        ...(body !== undefined && { body }),
      });
      expect([operation.operationId, status]).toEqual([operation.operationId, 401]);
    }
  });

  test("no operation shows the second what the first wrote, or breaks", async () => {
    const key = keys.second;
    const answers = new Map<string, number>();
    // The second project knows the identifiers, and nothing is there.
    const of_the_first = new Map<string, number>();
    for (const [path, method, operation] of operationsOf(document)) {
      const { target, body } = requestOf(document, path, operation, given);
      const { status, bytes, headers } = await service.call(method, target, {
        key,
        ...(body !== undefined && { body }),
      });
      answers.set(operation.operationId, status);
      if (/\{(job_id|sha256|monitor_id)\}/.test(path)) of_the_first.set(operation.operationId, status);
      const shown = `${JSON.stringify(headers)}${bytes.toString()}`;
      expect([operation.operationId, shown.includes(secret)]).toEqual([operation.operationId, false]);
      expect([operation.operationId, status === 500]).toEqual([operation.operationId, false]);
    }
    expect(answers.size).toBe(operationsOf(document).length);
    expect(of_the_first.size).toBeGreaterThan(4);
    // Pausing a job is the operator's; all else of another project does not exist.
    expect([...of_the_first].filter(([, status]) => status !== 404)).toEqual([["pauseJob", 403]]);
  });

  test("what the second asked changed nothing of the first: its job runs, its body is there", async () => {
    const key = keys.first;
    const job = await service.call("GET", `/v1/jobs/${given["job_id"]}`, { key });
    expect(job.json).toMatchObject({ counts: { cancelled: 0 }, finished_at: null });
    const { items } = (await service.call("GET", "/v1/jobs", { key })).json;
    const submitted = items.filter(({ monitor_id }: { monitor_id?: string }) => monitor_id === undefined);
    expect(submitted).toHaveLength(1);
    expect((await service.call("GET", `/v1/bodies/${given["sha256"]}`, { key })).status).toBe(200);
    const { json } = await service.call("POST", "/v1/batch/fetch", {
      key: keys.second,
      body: { idempotency_key: secret, items: [{ url: `${site!.origin}/` }] },
    });
    // An idempotency key of another project is another job.
    expect([json.created, json.job_id === given["job_id"]]).toEqual([true, false]);
    door.open();
  });

  test("a page in the shared cache carries nothing of the project that fetched it", async () => {
    const url = `${site!.origin}/shared`;
    const first = await service.fetch({ url, project_ref: secret }, { key: keys.first });
    const again = await service.fetch({ url }, { key: keys.second });
    expect(JSON.stringify(again.answer.json)).not.toContain(secret);
    expect(JSON.stringify(again.answer.json)).not.toContain(first.request_id);
  });

  test("a page that the origin marks private is cached for each project that fetched it", async () => {
    const target = sites.site({ "/": { body: article("Mine"), headers: { "Cache-Control": "private" } } });
    const cached = [];
    for (const key of [keys.first, keys.first, keys.second, keys.second, keys.first])
      cached.push((await service.fetch({ url: `${target.origin}/` }, { key })).cached);
    expect(cached).toEqual([false, true, false, true, true]);
    expect(target.hits("/")).toBe(2);
  });

  test("one request to the site answers two callers with other limits", async () => {
    const arrived = gate();
    const target = sites.site({
      "/": async () => {
        await arrived.opened;
        return { body: article("Large enough", "x ".repeat(4_000)) };
      },
    });
    const url = `${target.origin}/`;
    const small = service.fetch({ url, max_bytes: 500 }, { key: keys.first });
    await target.reached("/");
    const whole = service.fetch({ url }, { key: keys.second });
    // A question of the same actor that is answered after the second caller has joined.
    await service.call("GET", "/v1/quota", { key: keys.second });
    arrived.open();
    expect([(await small).error, (await whole).error]).toEqual(["too_large", null]);
    expect(target.hits("/")).toBe(1);
  });

  test("the built-in search shows a project the pages it was given, and none of another's addresses", async () => {
    const words = `herring${randomBytes(6).toString("hex")}`;
    const target = sites.site({ "/": { body: article(words) } });
    const url = `${target.origin}/?token=${secret}`;
    const found = async (key: string) => {
      const { json } = await service.call("POST", "/v1/search", { key, body: { query: words } });
      return json.results.map((result: { url: string }) => result.url);
    };
    await service.fetch({ url }, { key: keys.first });
    const own = setup === "embedded" ? [url] : [];
    // The first asks first: its answer is not the second's from the cache.
    expect([await found(keys.first), await found(keys.second)]).toEqual([own, []]);
    // It was given the same page, from the cache.
    expect(await service.fetch({ url }, { key: keys.second })).toMatchObject({ cached: true });
    expect(await found(keys.second)).toEqual(own);
  });

  test.each<[string, Partial<FetchBody>, (origin: string) => string]>([
    ["a route that is not configured", { tiers: ["proxy_render"] }, (origin) => `${origin}/page`],
    ["a proxy that is down", { tiers: ["proxy"] }, (origin) => `${origin}/page`],
    ["an archive that is off", { tiers: ["archive"] }, (origin) => `${origin}/page`],
    [
      "paid routes that it does not allow",
      { tiers: ["proxy"], allow_paid: false },
      (origin) => `${origin}/page`,
    ],
    ["a port where nothing listens", {}, (origin) => origin.replace(/:\d+$/, ":9/")],
    ["a sub-host that does not exist", {}, (origin) => `${origin.replace("//", "//nowhere.")}/`],
    ["a redirect loop", {}, (origin) => `${origin}/loop`],
    ["a redirect to a port where nothing listens", {}, (origin) => `${origin}/away`],
  ])("three fetches of the first that fail by %s close the site for no one", async (_, options, urlOf) => {
    const target = sites.site({
      "/page": { body: article("Open") },
      "/loop": redirect("/loop"),
      "/away": redirect("http://127.0.0.1:9/"),
    });
    for (let n = 0; n < 3; n++) {
      const failed = await service.fetch({ url: urlOf(target.origin), ...options }, { key: keys.first });
      expect(failed.error).not.toBeNull();
    }
    const page = await service.fetch({ url: `${target.origin}/page` }, { key: keys.second });
    expect(page).toMatchObject({ error: null, title: "Open" });
  });

  test("three fetches that a site refuses close it for the first, whatever routes it left out", async () => {
    const closedFor = async (options: Partial<FetchBody>) => {
      const target = sites.site({ "/wall": { status: 403, body: "no" }, "/page": { body: article("Open") } });
      for (let n = 0; n < 3; n++)
        await service.fetch({ url: `${target.origin}/wall`, ...options }, { key: keys.first });
      const url = `${target.origin}/page`;
      const first = await service.fetch({ url }, { key: keys.first });
      return [first.error, (await service.fetch({ url }, { key: keys.second })).error];
    };
    expect(await closedFor({})).toEqual(["domain_unavailable", null]);
    expect(await closedFor({ allow_paid: false })).toEqual(["domain_unavailable", null]);
  });
});
