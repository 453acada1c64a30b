/** Several nodes as an operator has them: one joins, one drains, one dies, and the bus goes away. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { request } from "undici";
import { sha256Of } from "../../cluster/ports/blobs.ts";
import { type Called, type ClusterOf, clusterOf } from "../harness/cluster-of.ts";
import { engines } from "../harness/engines.ts";
import { article, type Site, type Web, web } from "../harness/web.ts";

const found = await engines("bus", "documents", "blobs");
const missing = Object.values(found).includes(null);

/** A client that was told 429 asks again so often. */
const RATE_AGAIN_MS = 250;

describe.skipIf(missing)("nodes", () => {
  let sites: Web;
  let cluster: ClusterOf;
  const modules = mkdtempSync(join(tmpdir(), "trawl-modules-"));
  beforeAll(async () => {
    sites = await web();
    const filings = sites.site({}).origin;
    cluster = (await clusterOf(["gateway", "worker", "worker"], {
      environment: {
        TRAWL_DNS_SERVERS: sites.dns,
        TRAWL_POLITE_DELAY_MS: "20",
        TRAWL_STATUS_PERIOD_S: "2",
        TRAWL_S3_SMALL_BODIES: "shared",
        TRAWL_FILINGS_IDENTITY: "Tests of Trawl tests@trawl.test",
        TRAWL_FILINGS_WWW_URL: filings,
        TRAWL_FILINGS_DATA_URL: filings,
        TRAWL_FILINGS_SEARCH_URL: filings,
        NODE_OPTIONS: `--import=${new URL("../harness/loaded-modules.ts", import.meta.url).href}`,
        LOADED_MODULES: modules,
      },
    }))!;
    await cluster.settled();
  });
  afterAll(async () => {
    await cluster?.close();
    await sites?.close();
    rmSync(modules, { recursive: true });
  });

  const ask = (url: string) => cluster.call("POST", "/v1/fetch", { url });
  const insist = (url: string) => cluster.insist("POST", "/v1/fetch", { url });
  const many = (count: number): Site[] =>
    Array.from({ length: count }, (_, n) => sites.site({ "*": { body: article(`Page ${n}`) } }));
  const whole = { status: 200, json: { error: null } };

  /** The components of the public status by their ids. */
  const shown = async (): Promise<Readonly<Record<string, string>>> => {
    const { components } = (await cluster.call("GET", "/v1/status")).json;
    return Object.fromEntries(
      components.map(({ id, status, reasons }: any) => [id, [status, ...reasons].join(" ")]),
    );
  };
  const drawn = { timeout: 80_000, interval: 600 };

  test("share the work and report their state", async () => {
    const pages = many(12);
    const answers = await Promise.all(pages.map(({ origin }) => ask(`${origin}/`)));
    for (const answer of answers) expect(answer).toMatchObject(whole);
    const reports = await cluster.settled();
    const [gateway, ...workers] = ["gateway", "worker", "worker"].map((role, n) => ({
      role,
      ...cluster.nodes[n]!,
    }));
    for (const { name, role } of [gateway!, ...workers])
      expect(reports.find(({ node }) => node === name)!.roles).toEqual([role]);
    for (const { name } of workers)
      expect(reports.find(({ node }) => node === name)!.partitions.length).toBeGreaterThan(8);
    for (const { status_url } of cluster.nodes)
      expect((await request(`${status_url}/ready`)).statusCode).toBe(200);
  });

  test("store small bodies together, and each of them is read alone", async () => {
    const uploads = async (kind: string): Promise<number> => {
      const pages = cluster.nodes.map(async ({ status_url }) => {
        const text = await (await request(`${status_url}/metrics`)).body.text();
        return Number(
          new RegExp(`^trawl_object_storage_uploads_total\\{kind="${kind}"\\} (\\d+)`, "m").exec(text)![1],
        );
      });
      return (await Promise.all(pages)).reduce((sum, count) => sum + count, 0);
    };
    const digests: string[] = [];
    const before = (await uploads("single")) + (await uploads("shared"));
    const fetchMany = async (): Promise<number> => {
      const answers = await Promise.all(many(12).map(({ origin }) => insist(`${origin}/`)));
      digests.push(...answers.map(({ json }) => json.sha256));
      return uploads("shared");
    };
    // Each node must have seen by then that all of them read such bodies.
    await expect.poll(fetchMany, drawn).toBeGreaterThan(0);
    expect((await uploads("single")) + (await uploads("shared")) - before).toBeLessThan(digests.length);
    for (const sha256 of digests.slice(-12)) {
      const url = `${cluster.url}/v1/bodies/${sha256}`;
      const headers = { authorization: `Bearer ${cluster.key}` };
      const body = Buffer.from(await (await request(url, { headers })).body.arrayBuffer());
      expect(sha256Of(body)).toBe(sha256);
      const part = await request(url, { headers: { ...headers, range: "bytes=5-20" } });
      expect(Buffer.from(await part.body.arrayBuffer()).equals(body.subarray(5, 21))).toBe(true);
    }
  });

  test("without the role worker load none of what runs fetches and filings, reads documents or drives a browser", async () => {
    // The gateway has asked for both; a worker has run them.
    const { json } = await cluster.insist("GET", "/v1/filings/companies/9000001/submissions");
    expect(json.error).toBe("unknown_identifier");
    const ONLY_ON_WORKERS = {
      "operations and parsers of filings":
        /actors\/sources\/filings\/(?:operations|adapters|service|filings\.actor|index-page|submissions\.ts|ticker-lists)/,
      "runs of fetches": /actors\/crawl\/fetch\/(?:pipeline|assess|alternates\/|feature\/open-worker)/,
      "routes to pages": /actors\/crawl\/tiers\/(?:adapters\/transport|tier\.actor)/,
      politeness: /actors\/crawl\/domain\/(?:actor|robots\.actor)/,
      "reader pools": /ops\/extraction\.ts|workers\.processes\.ts/,
    };
    // Documents are read in the readers alone; a node detects encodings from the first document on that none could read.
    // cheerio and pdf.js run in the readers, and in nodes with a browser; the others where traces have a collector. prom-client loads their API.
    // The SDK of /mcp comes with its first request.
    // A node loads only the connections of undici (cluster/adapters/parts.undici.ts).
    const NOWHERE =
      /actors\/reading\/extract\.ts|node_modules\/(?:undici\/(?:index\.js|lib\/(?:cache|mock|web)\/)|(?:cheerio|jschardet|pdfjs-dist|@hyzyla|zod|@modelcontextprotocol|@opentelemetry\/(?:sdk-trace|core|resources|exporter-trace-otlp-proto))\/)/;
    const NOT_ON_GATEWAYS =
      /node_modules\/(?:playwright(?:-core)?|htmlparser2|stdnum)\/|actors\/reading\/(?:article|markdown)\/(?!dates|month-names)|actors\/reading\/(?:content\/(?:pdf|feed|filing-text))\.ts/;
    const urls = cluster.nodes.map(({ pid }) => readFileSync(join(modules, String(pid)), "utf8").split("\n"));
    const loadedBy = (node: number) =>
      Object.entries(ONLY_ON_WORKERS).flatMap(([what, of]) =>
        urls[node]!.some((url) => of.test(url)) ? [what] : [],
      );
    expect([0, 1, 2].map(loadedBy)).toEqual([[], Object.keys(ONLY_ON_WORKERS), Object.keys(ONLY_ON_WORKERS)]);
    expect(urls.flat().filter((url) => NOWHERE.test(url))).toEqual([]);
    expect(urls[0]!.filter((url) => NOT_ON_GATEWAYS.test(url))).toEqual([]);
  });

  test("join and drain without a failed request", async () => {
    const pages = many(40);
    let over = false;
    const answers: Called[] = [];
    const callers = pages.map(async ({ origin }) => {
      for (let n = 0; !over; n++) {
        let answer = await ask(`${origin}/${n}`);
        // While the rates of the project move to another node, the gateway admits no more than its last share.
        while (answer.status === 429) {
          await setTimeout(RATE_AGAIN_MS);
          answer = await ask(`${origin}/${n}`);
        }
        answers.push(answer);
      }
    });
    const joined = await cluster.add("worker");
    await cluster.settled();
    const drained_ms = performance.now();
    expect(await cluster.nodes[1]!.stop()).toBe(0);
    const reports = await cluster.settled();
    expect(reports.find(({ node }) => node === joined.name)!.partitions.length).toBeGreaterThan(8);
    over = true;
    await Promise.all(callers);
    expect(answers.length).toBeGreaterThan(40);
    expect(answers.filter(({ status, json }) => status !== 200 || json.error !== null)).toEqual([]);
    const timesAskedFor = pages.flatMap(({ host, arrivals }) =>
      [...Map.groupBy(arrivals, ({ path }) => path)].map(([path, all]) => ({
        url: `${host}${path}`,
        after_drain_ms: all.map(({ at_ms }) => Math.round(at_ms - drained_ms)),
      })),
    );
    expect(timesAskedFor.filter(({ after_drain_ms }) => after_drain_ms.length > 1)).toEqual([]);
  });

  test("take over the partitions of a killed node within its lease and half a second", async () => {
    const [, , victim] = cluster.nodes;
    const pages = many(30);
    const asked = pages.map(({ origin }) => insist(`${origin}/slow`));
    // The first of them has left, the others are under way.
    await Promise.race(pages.map((site) => site.reached("/slow")));
    await victim!.kill();
    const began = performance.now();
    await cluster.settled();
    const took_ms = performance.now() - began;
    for (const answer of await Promise.all(asked)) expect(answer).toMatchObject(whole);
    // The lease of 3 s, half a second, and asking around.
    expect(took_ms).toBeLessThan(5_000);
  });

  test("answer 503 while the bus is away, and resume by themselves when it is back", async () => {
    await cluster.add("worker");
    await cluster.settled();
    const gateway = cluster.nodes[0]!;
    const ready = async () => (await request(`${gateway.status_url}/ready`)).statusCode;
    await cluster.bus.kill();
    await expect.poll(ready, { timeout: 6_000, interval: 200 }).toBe(503);
    const [site] = many(1);
    const refused = await ask(`${site!.origin}/away`);
    expect(refused.status).toBe(503);
    await cluster.bus.restart();
    expect(await insist(`${site!.origin}/away`)).toMatchObject(whole);
    await expect.poll(ready, { timeout: 10_000 }).toBe(200);
    await cluster.settled();
  });

  test("cut off from the bus, a node starts no request, and the other nodes take over", async () => {
    const all = await cluster.nodeDirectory.partitions();
    const victim = cluster.nodes.at(-1)!;
    victim.links.bus.cut();
    const began = performance.now();
    await expect
      .poll(
        async () => (await cluster.nodeDirectory.nodes(300)).flatMap(({ partitions }) => partitions).length,
        {
          timeout: 15_000,
        },
      )
      .toBe(all);
    expect(performance.now() - began).toBeLessThan(8_000);
    for (const answer of await Promise.all(many(10).map(({ origin }) => insist(`${origin}/`))))
      expect(answer).toMatchObject(whole);
    victim.links.bus.heal();
    await cluster.settled();
  });

  test("own their partitions again after the bus lost everything, while they run", async () => {
    const epochs = async () =>
      (await cluster.settled()).flatMap(({ partitions }) => partitions.map(({ epoch }) => epoch));
    const before = Math.max(...(await epochs()));
    const asked = many(10).map(({ origin }) => insist(`${origin}/slow`));
    await cluster.nodeDirectory.wipe();
    const began = performance.now();
    await expect.poll(async () => Math.min(...(await epochs())), { timeout: 15_000 }).toBeGreaterThan(before);
    // Half a second for the server's files, a lease of 3 s, one round, and asking around on a busy machine.
    expect(performance.now() - began).toBeLessThan(10_500);
    for (const answer of await Promise.all(asked)) expect(answer).toMatchObject(whole);
  });

  test("cut off from the document store, a worker is lag and a stalled scheduler in the public status, until it is back", async () => {
    const answered = Promise.withResolvers<void>();
    const page = async () => (await answered.promise, { body: article("Held") });
    const pages = Array.from({ length: 12 }, () => sites.site({ "*": page, "/robots.txt": { status: 404 } }));
    const jobs: string[] = [];
    for (const [n, { origin }] of pages.entries()) {
      const items = [1, 2, 3, 4, 5, 6].map((item) => ({ url: `${origin}/${item}` }));
      const created = await cluster.insist("POST", "/v1/batch/fetch", {
        idempotency_key: `held-${n}`,
        items,
      });
      expect(created).toMatchObject({ status: 202 });
      jobs.push(created.json.job_id);
    }
    // Whichever of its items comes first.
    const begun = () =>
      pages.filter(({ arrivals }) => arrivals.some(({ path }) => path !== "/robots.txt")).length;
    // A busy node that owns most of the sites sends eight requests and waits for their pages (actors/crawl/fetch/page-backlog.ts).
    await expect.poll(begun, { timeout: 60_000 }).toBeGreaterThanOrEqual(8);
    const ownersOf = async (shard_by: string, keys: readonly string[]) =>
      new Set(await Promise.all(keys.map((key) => cluster.ownerOf(shard_by, key))));
    const ofSites = await ownersOf(
      "domain",
      pages.map(({ origin }) => new URL(origin).hostname),
    );
    const worker = [...(await ownersOf("job", jobs))].find((owner) => ofSites.has(owner))!;
    worker.links.documents.cut();
    // Domains and jobs on that worker cannot store what comes now.
    answered.resolve();
    await expect.poll(shown, drawn).toMatchObject({
      fetch: expect.stringContaining("queue_lag"),
      batch_jobs: "degraded scheduler_stalled",
    });
    worker.links.documents.heal();
    await expect.poll(shown, drawn).toMatchObject({
      fetch: expect.not.stringContaining("queue_lag"),
      batch_jobs: "operational",
      storage: "operational",
    });
  }, 240_000);

  test("without a worker, a gateway says so within five seconds and goes on with the next one", async () => {
    const gateway = cluster.nodes[0]!;
    const ready = async () => {
      const answer = await request(`${gateway.status_url}/ready`);
      return { status: answer.statusCode, json: await answer.body.json() };
    };
    const [site] = many(1);
    for (const node of cluster.nodes) if (node.roles === "worker" && node.isRunning()) await node.kill();
    const began = performance.now();
    expect(await ask(`${site!.origin}/none`)).toMatchObject({
      status: 503,
      json: { detail: "no worker is available, try again" },
    });
    expect(performance.now() - began).toBeLessThan(5_500);
    await expect
      .poll(ready, { timeout: 5_000 })
      .toMatchObject({ status: 503, json: { checks: { partitions: "unavailable", bus: "ok" } } });
    // A store is away when it did not answer twice.
    const { documents, blobs, bus } = gateway.links;
    for (const link of [documents, blobs]) link.cut();
    await expect.poll(shown, drawn).toMatchObject({
      api: "major_outage database_unreachable",
      fetch: "major_outage no_workers",
      batch_jobs: expect.stringMatching(/^major_outage no_workers/),
      storage: "major_outage database_unreachable object_storage_unreachable",
    });
    bus.cut();
    await expect.poll(shown, drawn).toMatchObject({
      api: "major_outage database_unreachable cache_unreachable",
      storage: "major_outage database_unreachable cache_unreachable object_storage_unreachable",
    });
    for (const link of [documents, blobs, bus]) link.heal();
    await cluster.add("worker");
    expect(await insist(`${site!.origin}/none`)).toMatchObject(whole);
    await expect.poll(ready, { timeout: 20_000 }).toMatchObject({ status: 200 });
    await expect
      .poll(shown, drawn)
      .toMatchObject({ api: "operational", batch_jobs: "operational", storage: "operational" });
    expect((await shown())["fetch"]).not.toContain("no_workers");
  }, 240_000);
});

test.skipIf(missing)(
  "a cluster of 256 partitions shares them, and those of a killed node are taken over",
  async () => {
    const sites = await web();
    onTestFinished(() => sites.close());
    const cluster = (await clusterOf(["gateway", "worker", "worker"], {
      environment: { TRAWL_DNS_SERVERS: sites.dns, TRAWL_POLITE_DELAY_MS: "20", TRAWL_PARTITIONS: "256" },
    }))!;
    onTestFinished(() => cluster.close());
    const fetchAll = async (): Promise<void> => {
      const pages = Array.from({ length: 12 }, (_, n) => sites.site({ "*": { body: article(`Page ${n}`) } }));
      for (const answer of await Promise.all(
        pages.map(({ origin }) => cluster.insist("POST", "/v1/fetch", { url: `${origin}/` })),
      ))
        expect(answer).toMatchObject({ status: 200, json: { error: null } });
    };
    const reports = await cluster.settled();
    expect(reports.flatMap(({ partitions }) => partitions)).toHaveLength(256);
    await fetchAll();
    await cluster.nodes.at(-1)!.kill();
    await fetchAll();
    await cluster.settled();
  },
);
