/**
 * What can be seen of a running service from outside. The public status: an archive that fails, an incident, and nothing of what
 * the service knows of its operator and customers. For the operator: traces in a collector, and lines of the log.
 */
import { readdirSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import { type CollectedSpan, type OtlpCollector, otlpCollector } from "../harness/otlp-collector.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article } from "../harness/web.ts";

/** Two rounds of reports, on a busy machine. */
const MAX_NOTICED_MS = 50_000;
/** Spans of a fetch by name and kind: 1 internal, 2 server, 3 client. */
const STEPS = [
  "POST /v1/fetch 2",
  "fetch.get 3",
  "fetch.get 2",
  "fetch work before completed 1",
  "robots.check 2",
  "domain.acquire 3",
  "domain.acquire 2",
  "tier.direct.fetch 3",
  "documents.put 3",
  "object_storage.put 3",
  "GET 3",
];
/** Seeded in names of hosts, projects and keys, in addresses of providers and in errors. */
const SECRET = "hidden";

describe.each(SETUPS)("seen from outside, $setup", ({ start }) => {
  let collector: OtlpCollector;
  afterAll(() => collector?.close());
  const { sites, service } = scenario(start, async (web) => {
    collector = await otlpCollector();
    const failing = web.site({ "*": { status: 500, body: `${SECRET} at 10.0.0.7` } }, `${SECRET}-archive`);
    return {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
      TRAWL_LOG_LEVEL: "debug",
      TRAWL_ARCHIVE_URL: failing.origin,
      TRAWL_SEARXNG_URLS: `${failing.origin}/`,
      TRAWL_FALLBACK_SEARCH_URL: `${failing.origin}/search`,
      TRAWL_FALLBACK_SEARCH_KEY: `${SECRET}-fallback-key`,
    };
  });
  const read = async (path: string) => (await service.call("GET", path, { key: null })).json;

  /** The component once its status is this. */
  async function component(id: string, status: string): Promise<any> {
    for (const began_ms = performance.now(); ; await sleep(1_000)) {
      const now = await read(`/v1/status/components/${id}`);
      if (now.status === status || performance.now() - began_ms > MAX_NOTICED_MS) return now;
    }
  }

  test(
    "the public status shows a failing archive and an incident, and no secret",
    { timeout: 120_000 },
    async () => {
      await service.trawl("project", "create", `${SECRET}-project`);
      const named = ["--project", `${SECRET}-project`, "--label", `${SECRET}-label`];
      const { key, prefix } = await service.trawl("key", "create", ...named);
      // After three failures a site is not asked any more, so there are several.
      const blocked = Array.from({ length: 7 }, (_, n) =>
        sites.site({ "*": { status: 403 } }, `${SECRET}-site-${n}`),
      );
      const fetches = blocked.flatMap(({ origin }) =>
        ["/a", "/b"].map((path) => service.fetch({ url: `${origin}/${SECRET}${path}` }, { key })),
      );
      for (const { error } of await Promise.all(fetches)) expect(error).toBe("all_tiers_failed");
      for (let n = 0; n < 3; n++)
        await service.call("POST", "/v1/search", { key, body: { query: `${SECRET} query ${n}` } });
      const said = ["--message", "We look at it", "--components", "batch_jobs"];
      const { id } = await service.trawl("incident", "open", "Searches fail", ...said);

      expect(await component("archive", "major_outage")).toMatchObject({
        reasons: ["tier_errors"],
        metrics: { success_rate: 0 },
      });
      expect(await component("batch_jobs", "degraded")).toMatchObject({
        reasons: ["incident"],
        incidents: [{ id, updates: [{ message: "We look at it" }] }],
      });
      const status = await read("/v1/status");
      // The archive is not essential.
      expect(status.status).not.toBe("operational");
      expect(status.components.map((each: { id: string }) => each.id)).toContain("storage");
      const { components } = await read("/v1/status/history?hours=1");
      expect(components["archive"].statuses).toContain("major_outage");

      const paths = [
        "/v1/status",
        "/v1/status/summary",
        "/v1/status/history",
        "/v1/status/history?hours=168",
        "/status",
        ...status.components.map((each: { id: string }) => `/v1/status/components/${each.id}`),
      ];
      const secrets = [
        SECRET,
        key,
        prefix,
        service.key,
        hostname(),
        "127.0.0.1",
        "10.0.0.7",
        ".test",
        "/tmp/",
        "://",
      ];
      for (const path of paths) {
        const text = (await service.call("GET", path, { key: null })).bytes.toString();
        expect([path, secrets.filter((secret) => text.includes(secret))]).toEqual([path, []]);
      }
    },
  );

  /** The lines of the log, as objects. */
  const logged = (): Record<string, any>[] =>
    service
      .stderr()
      .split("\n")
      .filter((line) => line.startsWith("{") && line.endsWith("}"))
      .map((line) => JSON.parse(line) as Record<string, any>);
  /** The spans of a trace once they are there; they are sent every 5 s. */
  async function trace(isWhole: (spans: readonly CollectedSpan[]) => boolean, trace_id: string) {
    const find = () => collector.spans.filter((span) => span.trace_id === trace_id);
    await expect.poll(() => isWhole(find()), { timeout: MAX_NOTICED_MS, interval: 200 }).toBe(true);
    return find();
  }

  test("a trace goes from the caller through actors, tiers and stores to the origin, and no further", async () => {
    const callers = [1, 2, 3, 4].map((n) => ({
      site: sites.site({ "*": { body: article(`Page ${n}`) } }, `traced-${n}`),
      trace_id: `0af7651916cd43dd8448eb211c80319${n}`,
    }));
    const answers = await Promise.all(
      callers.map(({ site, trace_id }) =>
        service.fetch(
          { url: `${site.origin}/?token=${SECRET}` },
          { headers: { traceparent: `00-${trace_id}-b7ad6b7169203331-01`, tracestate: "vendor=1" } },
        ),
      ),
    );
    for (const [n, { site, trace_id }] of callers.entries()) {
      const { request_id } = answers[n]!;
      const orphans = (found: readonly CollectedSpan[]): readonly CollectedSpan[] => {
        const ids = new Set(["b7ad6b7169203331", ...found.map(({ span_id }) => span_id)]);
        return found.filter(({ parent_id }) => !ids.has(parent_id));
      };
      const missing = (found: readonly CollectedSpan[]): readonly string[] => {
        const names = new Set(found.map(({ name, kind }) => `${name} ${kind}`));
        return STEPS.filter((step) => !names.has(step));
      };
      // The nodes send their spans at different times.
      const isWhole = (found: readonly CollectedSpan[]): boolean =>
        orphans(found).length === 0 && missing(found).length === 0;
      const spans = await trace(isWhole, trace_id);
      const [top] = spans.filter(({ name }) => name === "POST /v1/fetch");
      expect(top).toMatchObject({
        parent_id: "b7ad6b7169203331",
        kind: 2,
        attributes: { "http.response.status_code": 200, "trawl.request_id": request_id },
      });
      // Nothing of the other requests that ran meanwhile.
      const asked = spans.flatMap(({ attributes }) => attributes["server.address"] ?? []);
      expect(new Set(asked)).toEqual(new Set([site.host]));
      expect(JSON.stringify(spans)).not.toContain(SECRET);
      for (const { headers } of site.arrivals) {
        expect(Object.keys(headers)).not.toContain("traceparent");
        expect(Object.keys(headers)).not.toContain("tracestate");
      }
      const line = { node: expect.any(String), request_id, trace_id };
      expect(logged()).toContainEqual(expect.objectContaining({ ...line, msg: "request", status: 200 }));
      expect(logged()).toContainEqual(
        expect.objectContaining({ ...line, msg: "A fetch has ended", tier: "direct", error: null }),
      );
    }
  });

  test("an item of a job is a trace of its own, and no line has what a callback's address hides", async () => {
    const site = sites.site({ "*": { body: article("An item") } }, "item");
    const callback_url = `http://127.0.0.1:9/hook?token=${SECRET}-token`;
    const body = { idempotency_key: "traced", items: [{ url: `${site.origin}/` }], callback_url };
    const { json } = await service.call("POST", "/v1/batch/fetch", { body });
    const { job_id } = json;
    const ended = (): Record<string, any> | undefined =>
      logged().find((line) => line["msg"] === "A fetch has ended" && line["job_id"] === job_id);
    await expect.poll(ended, { timeout: MAX_NOTICED_MS, interval: 200 }).toBeDefined();
    const { trace_id, index } = ended()!;
    expect(index).toBe(0);
    const spans = await trace((found) => found.some(({ parent_id }) => parent_id === ""), trace_id);
    expect(spans.filter(({ parent_id }) => parent_id === "")).toMatchObject([
      { name: "job item fetch", attributes: { "trawl.job_id": job_id } },
    ]);
    expect(service.stderr()).not.toContain(`${SECRET}-token`);
    expect(service.stderr()).not.toContain(service.key);
  });

  test("every query of the dashboards and alerts finds series", async () => {
    const folder = "ops/monitoring/";
    const dashboards = readdirSync(`${folder}dashboards`).map((name) => `dashboards/${name}`);
    const queries = ["alerts.yml", ...dashboards].map((name) => readFileSync(`${folder}${name}`, "utf8"));
    const named = queries.flatMap((text) => text.match(/\b(?:trawl|nodejs|process)_[a-z_0-9]+/g) ?? []);
    const missing = async (): Promise<readonly string[]> => {
      const text = (await service.call("GET", "/metrics", { key: null })).bytes.toString();
      const series = new Set(text.split("\n").map((line) => /^[a-z_0-9]+/.exec(line)?.[0]));
      return [...new Set(named)].filter((name) => !series.has(name)).toSorted();
    };
    // Their first request makes them; the filing system is off, and no company was asked for.
    const later = [
      "trawl_company_slot_wait_seconds_bucket",
      "trawl_filings_answers_total",
      "trawl_filings_requests_total",
    ];
    await expect.poll(missing, { timeout: MAX_NOTICED_MS, interval: 500 }).toEqual(later);
  });
});
