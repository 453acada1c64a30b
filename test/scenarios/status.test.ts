/**
 * A running service, seen from outside. The public status: faults of what the service needs, an incident, maintenance, their
 * end, and nothing of what the service knows of its operator and customers. For the operator: traces in a collector, lines of the
 * log, and metrics.
 */
import { readdirSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, test, vi } from "vitest";
import type { FetchBody } from "../../schemas/fetch.ts";
import { type CollectedSpan, type OtlpCollector, otlpCollector } from "../harness/otlp-collector.ts";
import { type FaultyUpstreams, faultyUpstreams, sirenOf } from "../harness/faulty-upstreams.ts";
import { scenario } from "../harness/scenario.ts";
import { type FetchResult, SETUPS } from "../harness/service.ts";
import { type ExpectedState, type ExpectedStates, statusLog, type StatusLog } from "../harness/status-log.ts";
import { article, type Page } from "../harness/web.ts";

/** Several rounds of reports, on a busy machine. */
const MAX_NOTICED_MS = 50_000;
/** Between two rounds: a state that lasts for one of them is looked at twice. */
const PERIOD_S = 2;
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

const TIER_COMPONENTS = { archive: "archive", proxy_render: "paid_tiers" } as const;
/** States of each component under the faults, one after the other or at once. */
const FAULTS: ExpectedStates = {
  archive: [{ status: "major_outage", reasons: ["tier_errors"], metrics: { success_rate: 0 } }],
  paid_tiers: [{ status: "major_outage", reasons: ["tier_errors"], metrics: { success_rate: 0 } }],
  fetch: [amongThem("partial_outage", "low_success_rate")],
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
/** More than a twentieth of the fetches that are counted by then. */
const SLOW_FETCHES = 10;
/**
 * Documents of the French source: so many usual ones that a field they all have is a field of the source; so many that cannot be read that more than a
 * tenth is unreadable and less than 85 % succeed; so many without the field that it drifts; and so many usual ones that it does no more.
 */
const [USUAL_DOCUMENTS, UNREADABLE_DOCUMENTS, CHANGED_DOCUMENTS, RESTORED_DOCUMENTS] = [100, 19, 46, 40];
/** On a busy machine some get no slot of the source in time. */
const SLOTLESS = 35;

/** Asks one after the other in each of two rows: in a longer queue each would wait for its slot. */
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

/** As `expect.poll`, which tests of two setups that run at the same time cannot use. */
const eventually = <T>(
  look: () => T | Promise<T>,
  check: (seen: T) => void,
  wait = { timeout: MAX_NOTICED_MS, interval: 200 },
): Promise<void> => vi.waitFor(async () => check(await look()), wait);
/** For a pause that an upstream asked for: 10 s, doubled each time. */
const PAUSED = { timeout: 100_000, interval: 1_000 };

const isNull = (seen: unknown): void => expect(seen).toBeNull();

// Beside each other, since both wait for fetches that take a minute. The tests of one setup run in their order.
const IN_ORDER = { concurrent: false, timeout: 180_000 };
describe.concurrent.each(SETUPS)("seen from outside, $setup", ({ start }) => {
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
      TRAWL_STATUS_PERIOD_S: String(PERIOD_S),
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
      TRAWL_LOG_LEVEL: "debug",
    };
  });
  const read = async (path: string) => (await service.call("GET", path, { key: null })).json;
  const fetchAll = (origins: readonly string[], path: string, more: Partial<FetchBody> = {}) =>
    Promise.all(origins.map((origin) => service.fetch({ url: origin + path, ...more })));

  /** Waits until each component has shown these states since a look at the status; default from now on. */
  async function become(expected: ExpectedStates, from = shown.length()): Promise<void> {
    await eventually(
      () => shown.missing(expected, from),
      (missing) => expect(missing).toEqual([]),
    );
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

  /** Ten fetches that succeed and eighteen that do not, in this order: the worst of them all is not worse than the end. */
  async function failFetches(): Promise<void> {
    const well = sites.site({ "*": { body: article("A page") } }, `${SECRET}-well`).origin;
    // On a busy machine a fetch may run out of time.
    for (let n = 0, fetched = 0; fetched < 10; n++) {
      expect(n).toBeLessThan(20);
      const answer = await service.fetch({ url: `${well}/${n}` }).catch(() => null);
      if (answer?.error === null) fetched++;
    }
    // After three failures a site is not asked any more, so there are several.
    const blocked = Array.from(
      { length: 9 },
      (_, n) => sites.site({ "*": { status: 403 } }, `${SECRET}-site-${n}`).origin,
    );
    for (const name of ["a", "b"]) {
      const asked = blocked.map((origin) => service.fetch({ url: `${origin}/${SECRET}/${name}` }));
      const answers = await Promise.allSettled(asked);
      const errors = answers.map((answer) => (answer.status === "fulfilled" ? answer.value.error : "late"));
      expect(errors.filter((error) => error !== "all_tiers_failed" && error !== "late")).toEqual([]);
    }
  }

  const searchAll = (key: string, name: string, count: number): Promise<readonly unknown[]> =>
    Promise.all(
      Array.from({ length: count }, async (_, n) => {
        const body = { query: `${SECRET} ${name} ${n}` };
        return (await service.call("POST", "/v1/search", { key, body })).json.error;
      }),
    );

  /** So many filers, and so many French companies, have been asked about. */
  let filers = 0;
  let asked_companies = 0;
  const factsOf = (key: string, ciks: readonly string[]): Promise<readonly unknown[]> =>
    Promise.all(
      ciks.map(
        async (cik) => (await service.call("GET", `/v1/filings/companies/${cik}/facts`, { key })).json.error,
      ),
    );

  /** The share of slots of the filing system that came after more than five seconds. */
  async function shareOfLongWaits(): Promise<number> {
    const waits = "trawl_filings_slot_wait_seconds";
    const all = await service.meter(`${waits}_count`);
    return (all - (await service.meter(`${waits}_bucket`, 'le="5"'))) / all;
  }

  /** Companies that the French source does not know. */
  const askFrench = (count: number): Promise<readonly unknown[]> =>
    inTwoRows(
      Array.from({ length: count }, () => sirenOf(asked_companies++)),
      (siren) => service.call("GET", `/v1/companies/fr_siren:${siren}`),
    );
  const statusOf = async (id: string): Promise<string> => (await read(`/v1/status/components/${id}`)).status;
  /** Until the fields of so many documents were compared: each node compares those that it read, in groups. */
  const compared = (documents: number): Promise<void> =>
    eventually(
      () => service.meter("trawl_company_documents_compared_total", 'source="recherche_entreprises"'),
      (count) => expect(count).toBeGreaterThanOrEqual(documents),
    );
  const checkGleif = async (): Promise<string | null> => {
    const body = { sources: ["gleif"] };
    return (
      await service.call("POST", "/v1/ops/companies/sources/check", { body, key: service.operator_key })
    ).json.checks[0].problem;
  };

  test("faults bring each component to its state, and no secret is seen", IN_ORDER, async () => {
    // Which components there are is known with the first round of the status.
    await eventually(seriesNames, (names) => {
      first = names;
      expect(names.join()).toContain("trawl_component_status");
    });
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
        await askFrench(USUAL_DOCUMENTS);
        upstreams.fail("french_companies");
        await askFrench(UNREADABLE_DOCUMENTS);
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
    const secrets = [SECRET, key, prefix, service.key, "127.0.0.1", "10.0.0.7", ".test", "/tmp/", "://"];
    for (const path of paths) {
      const text = (await service.call("GET", path, { key: null })).bytes.toString();
      expect([path, secrets.filter((secret) => text.includes(secret))]).toEqual([path, []]);
      // As a word: a short name may be part of an id.
      expect([path, text.split(/[^\w.-]+/).includes(hostname())]).toEqual([path, false]);
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
    await eventually(find, (spans) => expect(isWhole(spans)).toBe(true));
    return find();
  }

  test(
    "a trace goes from the caller through actors, tiers and stores to the origin, and no further",
    IN_ORDER,
    async () => {
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
    },
  );

  test(
    "an item of a job is a trace of its own, and no line has what a callback's address hides",
    IN_ORDER,
    async () => {
      const site = sites.site({ "*": { body: article("An item") } }, "item");
      const callback_url = `http://127.0.0.1:9/hook?token=${SECRET}-token`;
      const body = { idempotency_key: "traced", items: [{ url: `${site.origin}/` }], callback_url };
      const { json } = await service.call("POST", "/v1/batch/fetch", { body });
      const { job_id } = json;
      const ended = (): Record<string, any> | undefined =>
        logged().find((line) => line["msg"] === "A fetch has ended" && line["job_id"] === job_id);
      await eventually(ended, (line) => expect(line).toBeDefined());
      const { trace_id, index } = ended()!;
      expect(index).toBe(0);
      const spans = await trace((found) => found.some(({ parent_id }) => parent_id === ""), trace_id);
      expect(spans.filter(({ parent_id }) => parent_id === "")).toMatchObject([
        { name: "job item fetch", attributes: { "trawl.job_id": job_id } },
      ]);
      expect(service.stderr()).not.toContain(`${SECRET}-token`);
      expect(service.stderr()).not.toContain(service.key);
    },
  );

  test("every query of the dashboards and alerts finds series", IN_ORDER, async () => {
    const folder = "ops/monitoring/";
    const dashboards = readdirSync(`${folder}dashboards`).map((name) => `dashboards/${name}`);
    const queries = ["alerts.yml", ...dashboards].map((name) => readFileSync(`${folder}${name}`, "utf8"));
    const named = queries.flatMap((text) => text.match(/\b(?:trawl|nodejs|process)_[a-z_0-9]+/g) ?? []);
    const missing = async (): Promise<readonly string[]> => {
      const text = (await service.call("GET", "/metrics", { key: null })).bytes.toString();
      const series = new Set(text.split("\n").map((line) => /^[a-z_0-9]+/.exec(line)?.[0]));
      return [...new Set(named)].filter((name) => !series.has(name)).toSorted();
    };
    await eventually(missing, (names) => expect(names).toEqual([]));
  });

  // As long as a busy machine makes requests wait, some steps go on.
  test("what works again is operational again, step by step", { ...IN_ORDER, timeout: 420_000 }, async () => {
    upstreams.mend();
    await service.trawl("incident", "resolve", notices.incident, "--message", "Found");
    await service.trawl("maintenance", "complete", notices.maintenance, "--message", "Done");
    const origins = Array.from({ length: 8 }, (_, n) => `http://kept-${n}.test:${sites.port}`);
    // On a busy machine a fetch may run out of time.
    const fetchCopies = async (tier: "archive" | "proxy_render", name: string, wanted: number) => {
      const options: Partial<FetchBody> = { tiers: [tier], include_html: false };
      let copies = 0;
      for (let n = 0; copies < wanted; n++) {
        const asked = origins.map((origin) =>
          service.fetch({ url: `${origin}/${tier}/${name}/${n}`, ...options }),
        );
        const fetched = await Promise.allSettled(asked);
        copies += fetched.filter((one) => one.status === "fulfilled" && one.value.error === null).length;
        expect(n).toBeLessThan(Math.max(4, wanted / 4));
      }
    };
    // The pauses of ten seconds are over by then, or the next request finds out later.
    const works = async (path: string): Promise<unknown> =>
      (await service.call("GET", path)).json.error ?? null;
    const company = async () => (await service.call("GET", `/v1/companies/lei:${upstreams.lei}`)).json;
    // In each component the failures become few beside what succeeds.
    await Promise.all([
      ...(["archive", "proxy_render"] as const).map(async (tier) => {
        // The first call of each node tries whether its tier works again.
        for (let n = 0; n < 4; n++)
          await fetchAll([origins[0]!], `/try/${tier}/${n}`, { tiers: [tier], include_html: false });
        // Beside some twenty failures.
        for (const [status, wanted] of [
          ["partial_outage", 8],
          ["degraded", 24],
        ] as const) {
          await fetchCopies(tier, status, wanted);
          await become({ [TIER_COMPONENTS[tier]]: [{ status, reasons: ["tier_errors"] }] });
        }
      }),
      (async () => {
        expect(new Set(await searchAll(service.key, "mended", 24))).toEqual(new Set([null]));
      })(),
      (async () => {
        await eventually(() => works("/v1/filings/companies/9000001/facts"), isNull, PAUSED);
        // How many waited for more than five seconds is the machine's to say.
        const failed = filers / 5;
        for (let well = 0; well < 7 * failed || (await shareOfLongWaits()) > 0.05; well += 10)
          await inTwoRows(upstreams.ciks.slice(filers, (filers += 10)), (cik) => factsOf(service.key, [cik]));
      })(),
      (async () => {
        await eventually(checkGleif, isNull, PAUSED);
        const isKnown = (record: any): void => expect(record.names?.legal).toBe("Alpina Maschinenbau AG");
        await eventually(company, isKnown, PAUSED);
      })(),
      (async () => {
        // A document that came before must not be compared after those that lack fields.
        await compared(USUAL_DOCUMENTS - SLOTLESS);
        upstreams.fail("french_fields");
        await askFrench(CHANGED_DOCUMENTS);
        await become({ company_recherche_entreprises: [amongThem("degraded", "schema_drift")] });
        upstreams.mend();
        // How many got no slot in time is the machine's to say.
        do await askFrench(RESTORED_DOCUMENTS);
        while ((await statusOf("company_recherche_entreprises")) !== "operational");
      })(),
    ]);
    for (const [msg, path] of [
      ["A filing operation has ended", "/v1/filings/companies/9000001/facts"],
      ["A refresh of a company has ended", `/v1/companies/lei:${upstreams.lei}?refresh=true`],
    ] as const) {
      const { headers } = await service.call("GET", path);
      const fields = { msg, request_id: headers["x-request-id"], trace_id: expect.any(String) };
      const line = expect.objectContaining({ ...fields, node: expect.any(String) });
      await eventually(logged, (lines) => expect(lines).toContainEqual(line));
    }
    for (const { error } of await slow) expect(error).toBeNull();
    await become({ fetch: [amongThem("degraded", "high_latency")] }, 0);
    // Until the failures and the slow ones are few beside what succeeds.
    const isWell = async (id: string): Promise<boolean> => (await statusOf(id)) === "operational";
    for (let n = 0; !((await isWell("fetch")) && (await isWell("archive"))); n++)
      await fetchCopies("archive", `more-${n}`, 24);
    for (let n = 0; !(await isWell("paid_tiers")); n++) await fetchCopies("proxy_render", `more-${n}`, 24);
    const well = [{ status: "operational", reasons: [] }];
    await become(Object.fromEntries([...Object.keys(FAULTS), "api"].map((id) => [id, well])));
    const summary = { status: "operational", description: "All systems are operational" };
    await eventually(
      () => read("/v1/status/summary"),
      (seen) => expect(seen).toMatchObject(summary),
    );
  });

  test("every series was there from the start", IN_ORDER, async () => {
    const before = new Set(first);
    const later = (await seriesNames()).filter((name) => name.startsWith("trawl_") && !before.has(name));
    expect(later).toEqual([]);
  });
});
