/**
 * What can be seen of a running service from outside. The public status: faults of what the service needs, an incident, maintenance, their
 * end, and nothing of what the service knows of its operator and customers. For the operator: traces in a collector, lines of the
 * log, and metrics.
 */
import { readdirSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import type { FetchBody } from "../../schemas/fetch.ts";
import { type CollectedSpan, type OtlpCollector, otlpCollector } from "../harness/otlp-collector.ts";
import { type FaultyUpstreams, faultyUpstreams, sirenOf } from "../harness/faulty-upstreams.ts";
import { scenario } from "../harness/scenario.ts";
import { type FetchResult, SETUPS } from "../harness/service.ts";
import { type ExpectedState, type ExpectedStates, statusLog, type StatusLog } from "../harness/status-log.ts";
import { article, type Page } from "../harness/web.ts";

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

/** Such reasons are among those of the component. */
const amongThem = (status: string, ...reasons: readonly string[]): ExpectedState => ({
  status,
  reasons: expect.arrayContaining([...reasons]),
});

/** On a busy machine more requests fail than the fault makes fail. */
const DEGRADED_OR_WORSE = expect.stringMatching(/^(?:degraded|partial_outage|major_outage)$/) as string;

/** What the faults make of each component, one after the other or at once. */
const FAULTS: ExpectedStates = {
  archive: [{ status: "major_outage", reasons: ["tier_errors"], metrics: { success_rate: 0 } }],
  paid_tiers: [{ status: "major_outage", reasons: ["tier_errors"], metrics: { success_rate: 0 } }],
  fetch: [{ status: "partial_outage", reasons: ["low_success_rate"] }],
  search: [
    // A fallback is configured.
    {
      ...amongThem("partial_outage", "engines_unavailable"),
      metrics: { engines_healthy_share: 0, fallback_available: 1 },
    },
    amongThem(expect.any(String), "low_success_rate"),
    { ...amongThem("degraded", "engines_reduced"), metrics: { engines_healthy_share: 0.333 } },
  ],
  filings: [amongThem(DEGRADED_OR_WORSE, "filings_backoff", "low_success_rate", "throttled")],
  company_gleif: [amongThem("partial_outage", "canary_failed", "source_backoff")],
  company_recherche_entreprises: [amongThem(DEGRADED_OR_WORSE, "low_success_rate", "parse_failures")],
  batch_jobs: [{ status: "degraded", reasons: ["incident"] }],
  storage: [{ status: "maintenance", reasons: ["maintenance"], metrics: { database_ok: 1 } }],
};
/** A minute is the limit, and two redirected answers of this length are more than one. */
const SLOW_MS = 31_000;
/** Of the fetches that are counted by then, more than a twentieth. */
const SLOW_FETCHES = 10;

/** One after the other in each of two rows: in a longer queue each would wait for its slot. */
async function inTwoRows<T>(
  items: readonly T[],
  ask: (item: T) => Promise<unknown>,
): Promise<readonly unknown[]> {
  const row = async (first: number): Promise<unknown[]> => {
    const answers: unknown[] = [];
    for (let n = first; n < items.length; n += 2) answers.push(await ask(items[n]!));
    return answers;
  };
  return (await Promise.all([row(0), row(1)])).flat();
}

describe.each(SETUPS)("seen from outside, $setup", ({ start }) => {
  let collector: OtlpCollector;
  let upstreams: FaultyUpstreams;
  let shown: StatusLog;
  afterAll(async () => {
    shown?.close();
    await collector?.close();
    await upstreams?.close();
  });
  const { sites, service } = scenario(start, async (web) => {
    collector = await otlpCollector();
    upstreams = await faultyUpstreams(web, SECRET);
    return {
      ...upstreams.environment,
      TRAWL_FILINGS_RPS: "4",
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
      TRAWL_LOG_LEVEL: "debug",
    };
  });
  const read = async (path: string) => (await service.call("GET", path, { key: null })).json;
  const fetchAll = (origins: readonly string[], path: string, more: Partial<FetchBody> = {}) =>
    Promise.all(origins.map((origin) => service.fetch({ url: origin + path, ...more })));

  /** Waits until each component has shown these states since a look at the status; default from now on. */
  async function become(expected: ExpectedStates, from = shown.length()): Promise<void> {
    const wait = { timeout: MAX_NOTICED_MS, interval: 500 };
    await expect.poll(() => shown.missing(expected, from), wait).toEqual([]);
  }
  /** Series of /metrics by name and labels. */
  async function seriesNames(): Promise<readonly string[]> {
    const text = (await service.call("GET", "/metrics", { key: null })).bytes.toString();
    const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    return lines.map((line) => line.slice(0, line.lastIndexOf(" ")));
  }

  let first: readonly string[];
  let notices: { readonly incident: string; readonly maintenance: string };
  let slow: Promise<readonly FetchResult[]>;

  /** Twelve fetches that fail and ten that do not. */
  async function failFetches(): Promise<void> {
    // After three failures a site is not asked any more, so there are several.
    const blocked = Array.from(
      { length: 6 },
      (_, n) => sites.site({ "*": { status: 403 } }, `${SECRET}-site-${n}`).origin,
    );
    const well = sites.site({ "*": { body: article("A page") } }, `${SECRET}-well`).origin;
    const failed = [
      ...(await fetchAll(blocked, `/${SECRET}/a`)),
      ...(await fetchAll(blocked, `/${SECRET}/b`)),
    ];
    for (const { error } of failed) expect(error).toBe("all_tiers_failed");
    for (let n = 0; n < 10; n++) expect((await service.fetch({ url: `${well}/${n}` })).error).toBeNull();
  }

  const searchAll = (key: string, name: string, count: number): Promise<readonly unknown[]> =>
    Promise.all(
      Array.from({ length: count }, async (_, n) => {
        const body = { query: `${SECRET} ${name} ${n}` };
        return (await service.call("POST", "/v1/search", { key, body })).json.error;
      }),
    );

  /** So many filers have been asked about. */
  let filers = 0;
  const factsOf = (key: string, ciks: readonly string[]): Promise<readonly unknown[]> =>
    Promise.all(
      ciks.map(
        async (cik) => (await service.call("GET", `/v1/filings/companies/${cik}/facts`, { key })).json.error,
      ),
    );

  /** Of the slots of the filing system, those that came after more than five seconds. */
  async function shareOfLongWaits(): Promise<number> {
    const waits = "trawl_filings_slot_wait_seconds";
    const all = await service.meter(`${waits}_count`);
    return (all - (await service.meter(`${waits}_bucket`, 'le="5"'))) / all;
  }

  /** Companies that the French source does not know. */
  const askFrench = (from: number, count: number): Promise<readonly unknown[]> =>
    inTwoRows(
      Array.from({ length: count }, (_, n) => sirenOf(from + n)),
      (siren) => service.call("GET", `/v1/companies/fr_siren:${siren}`),
    );
  async function frenchHealth(): Promise<{ readonly requests: number; readonly success_rate: number }> {
    const { sources } = (await service.call("GET", "/v1/companies/sources")).json;
    return sources.find(({ name }: { name: string }) => name === "recherche_entreprises").health;
  }
  const checkGleif = async (): Promise<string | null> => {
    const body = { sources: ["gleif"] };
    return (await service.call("POST", "/v1/ops/companies/sources/check", { body })).json.checks[0].problem;
  };

  test("faults bring each component to its state, and no secret is seen", { timeout: 120_000 }, async () => {
    first = await seriesNames();
    shown = statusLog(() => read("/v1/status"));
    // They are answered in the background of what follows.
    const after = async (page: Page): Promise<Page> => (
      await sleep(SLOW_MS, undefined, { ref: false }),
      page
    );
    const pages = {
      "/": () => after({ status: 302, headers: { location: "/further" } }),
      "/further": () => after({ body: article("Slow") }),
    };
    slow = fetchAll(
      Array.from({ length: SLOW_FETCHES }, () => sites.site(pages).origin),
      "/",
    );
    slow.catch(() => {});
    await service.trawl("project", "create", `${SECRET}-project`);
    const named = ["--project", `${SECRET}-project`, "--label", `${SECRET}-label`];
    const { key, prefix } = await service.trawl("key", "create", ...named);

    upstreams.fail("archive", "rendering", "gleif");
    await Promise.all([
      failFetches(),
      (async () => {
        expect(new Set(await searchAll(key, "well", 18))).toEqual(new Set([null]));
        upstreams.fail("search");
        expect(await searchAll(key, "broken", 2)).not.toContain(null);
      })(),
      (async () => {
        // More than five seconds at four a second, if the machine sends them at once; those that would wait for more than ten are refused.
        do await factsOf(key, upstreams.ciks.slice(filers, (filers += 24)));
        while ((await shareOfLongWaits()) < 0.07);
        upstreams.fail("filings");
        const failing = upstreams.ciks.slice(filers, (filers += filers / 4));
        expect(await factsOf(key, failing)).not.toContain(null);
      })(),
      (async () => {
        await service.call("GET", `/v1/companies/lei:${upstreams.lei}`, { key });
        expect([await checkGleif(), await checkGleif()]).not.toContain(null);
      })(),
      (async () => {
        await askFrench(0, 17);
        upstreams.fail("french_companies");
        await askFrench(17, 4);
      })(),
    ]);
    const said = ["--message", "We look at it"];
    const incident = await service.trawl(
      "incident",
      "open",
      "Jobs wait",
      ...said,
      "--components",
      "batch_jobs",
    );
    const ends = new Date(Date.now() + 3_600_000).toISOString();
    const window = ["--from", new Date().toISOString(), "--to", ends, "--components", "storage"];
    const maintenance = await service.trawl("maintenance", "schedule", "New disks", ...said, ...window);
    notices = { incident: incident.id, maintenance: maintenance.id };

    await become(FAULTS, 0);
    expect(await read("/v1/status/components/batch_jobs")).toMatchObject({
      incidents: [{ id: incident.id, updates: [{ message: "We look at it" }] }],
    });
    const status = await read("/v1/status");
    // A major outage of a component that is not essential.
    expect(status.status).toBe("partial_outage");
    expect(status.components).toContainEqual(expect.objectContaining({ id: "api", status: "operational" }));
    const { components } = await read("/v1/status/history?hours=1");
    for (const [id, [worst]] of Object.entries(FAULTS))
      expect([id, components[id].statuses]).toEqual([id, expect.arrayContaining([worst!.status])]);

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
  });

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
    await expect.poll(missing, { timeout: MAX_NOTICED_MS, interval: 500 }).toEqual([]);
  });

  test("what works again is operational again", { timeout: 240_000 }, async () => {
    upstreams.mend();
    await service.trawl("incident", "resolve", notices.incident, "--message", "Found");
    await service.trawl("maintenance", "complete", notices.maintenance, "--message", "Done");
    const origins = Array.from({ length: 8 }, (_, n) => `http://kept-${n}.test:${sites.port}`);
    // On a busy machine a fetch may run out of time.
    const fetchCopies = async (tier: "archive" | "proxy_render", name: string, wanted: number) => {
      const options: Partial<FetchBody> = { tiers: [tier], include_html: false };
      let copies = 0;
      for (let n = 0; copies < wanted; n++) {
        const fetched = await fetchAll(origins, `/${tier}/${name}/${n}`, options);
        copies += fetched.filter(({ error }) => error === null).length;
        expect(n).toBeLessThan(wanted / 4);
      }
    };
    // The pauses of ten seconds are over by then, or the next request finds out later.
    const works = async (path: string): Promise<unknown> =>
      (await service.call("GET", path)).json.error ?? null;
    const soon = { timeout: MAX_NOTICED_MS, interval: 1_000 };
    const company = async () => (await service.call("GET", `/v1/companies/lei:${upstreams.lei}`)).json;
    // In each component the failures become few beside what succeeds.
    await Promise.all([
      (async () => {
        for (const tier of ["archive", "proxy_render"] as const) {
          // The first call of each node tries whether its tier works again.
          for (let n = 0; n < 4; n++)
            await fetchAll([origins[0]!], `/try/${tier}/${n}`, { tiers: [tier], include_html: false });
          await fetchCopies(tier, "kept", 72);
        }
      })(),
      (async () => {
        expect(new Set(await searchAll(service.key, "mended", 24))).toEqual(new Set([null]));
      })(),
      (async () => {
        await expect.poll(() => works("/v1/filings/companies/9000001/facts"), soon).toBeNull();
        // How many waited for more than five seconds is the machine's to say.
        const failed = filers / 5;
        for (let well = 0; well < 7 * failed || (await shareOfLongWaits()) > 0.05; well += 10)
          await inTwoRows(upstreams.ciks.slice(filers, (filers += 10)), (cik) => factsOf(service.key, [cik]));
      })(),
      (async () => {
        await expect.poll(checkGleif, soon).toBeNull();
        await expect.poll(async () => (await company()).names?.legal, soon).toBe("Alpina Maschinenbau AG");
      })(),
      (async () => {
        const isWell = ({ requests, success_rate }: Awaited<ReturnType<typeof frenchHealth>>): boolean =>
          requests > 40 && success_rate > 0.86;
        for (let n = 21; !isWell(await frenchHealth()); n += 10) await askFrench(n, 10);
      })(),
    ]);
    for (const [msg, path] of [
      ["A filing operation has ended", "/v1/filings/companies/9000001/facts"],
      ["A refresh of a company has ended", `/v1/companies/lei:${upstreams.lei}?refresh=true`],
    ] as const) {
      const { headers } = await service.call("GET", path);
      const fields = { msg, request_id: headers["x-request-id"], trace_id: expect.any(String) };
      await expect
        .poll(logged, soon)
        .toContainEqual(expect.objectContaining({ ...fields, node: expect.any(String) }));
    }
    for (const { error } of await slow) expect(error).toBeNull();
    await become({ fetch: [amongThem("degraded", "high_latency")] }, 0);
    await fetchCopies("archive", "more", 48);
    const well = [{ status: "operational", reasons: [] }];
    await become(Object.fromEntries([...Object.keys(FAULTS), "api"].map((id) => [id, well])));
    await expect
      .poll(() => read("/v1/status/summary"), soon)
      .toMatchObject({ status: "operational", description: "All systems are operational" });
  });

  test("every series was there from the start", async () => {
    const before = new Set(first);
    const later = (await seriesNames()).filter((name) => name.startsWith("trawl_") && !before.has(name));
    expect(later).toEqual([]);
  });
});
