/** A batch job while its nodes die, drain and join: nothing is lost, nothing settled twice. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JobStatus } from "../../schemas/jobs.ts";
import { type ClusterOf, clusterOf } from "../harness/cluster-of.ts";
import { engines } from "../harness/engines.ts";
import { article, type Site, type Web, web } from "../harness/web.ts";

const run = promisify(execFile);
const found = await engines("bus", "documents", "blobs");
const missing = Object.values(found).includes(null);
const ITEMS = 500;
const SITES = 30;

describe.skipIf(missing)("a job whose nodes die", () => {
  let sites: Web;
  let cluster: ClusterOf;
  beforeAll(async () => {
    sites = await web();
    cluster = (await clusterOf(["gateway", "worker", "worker"], {
      environment: { TRAWL_DNS_SERVERS: sites.dns, TRAWL_POLITE_DELAY_MS: "50" },
    }))!;
    await cluster.settled();
  });
  afterAll(async () => {
    await cluster?.close();
    await sites?.close();
  });

  test("finishes every item once, and repeats at most the items in flight", async () => {
    const pages: Site[] = Array.from({ length: SITES }, () => sites.site({ "*": { body: article("Page") } }));
    const items = Array.from({ length: ITEMS }, (_, n) => ({ url: `${pages[n % SITES]!.origin}/${n}` }));
    const created = await cluster.insist("POST", "/v1/batch/fetch", { items, idempotency_key: "nodes" });
    const { job_id } = created.json;
    const read = async (): Promise<JobStatus> => (await cluster.insist("GET", `/v1/jobs/${job_id}`)).json;
    const reached = async (done: number): Promise<void> => {
      await expect
        .poll(async () => (await read()).counts.done, { timeout: 60_000, interval: 200 })
        .toBeGreaterThan(done);
    };

    await reached(60);
    // First the node that has the job itself, then the other one while the third is new.
    const holder = await cluster.ownerOf("job", job_id);
    await holder!.kill();
    await cluster.add("worker");
    await reached(200);
    const other = cluster.nodes.find((node) => node.roles === "worker" && node.isRunning())!;
    await cluster.add("worker");
    expect(await other.stop()).toBe(0);

    await expect
      .poll(async () => (await read()).status, { timeout: 120_000, interval: 500 })
      .toBe("completed");
    expect((await read()).counts).toMatchObject({ total: ITEMS, done: ITEMS, failed: 0, cancelled: 0 });
    const { stdout } = await run(
      process.execPath,
      ["--disable-warning=ExperimentalWarning", "ops/main.ts", "job", "verify", job_id, "--json"],
      { env: { ...cluster.environment } },
    );
    expect(JSON.parse(stdout)).toMatchObject({ problems: [], ahead: 0, results: ITEMS });
    const asked = pages
      .flatMap(({ arrivals }) => arrivals)
      .filter(({ path }) => path !== "/robots.txt").length;
    // Four of each site in flight at the one kill; a node that drains finishes what it has.
    expect(asked - ITEMS).toBeLessThanOrEqual(4 * SITES);
  }, 240_000);
});
