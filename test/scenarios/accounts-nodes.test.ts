/** One key on four gateways of a real cluster: the last units of its quota, and the rows of a gateway that is killed. */
import { setTimeout as sleep } from "node:timers/promises";
import { request } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createKey, createProject, setRate } from "../../actors/accounts/keys.ts";
import { readSpend } from "../../actors/accounts/request-spend.ts";
import { systemClock } from "../../cluster/adapters/time/clock.system.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { recoverPending } from "../../gateway/pending-requests.ts";
import { readConfig } from "../../ops/config.ts";
import { openDocuments } from "../../ops/stores.ts";
import { type LedgerBatch, rowsOf } from "../../schemas/ledger-batch.ts";
import { type Called, type ClusterOf, clusterOf } from "../harness/cluster-of.ts";
import { engines } from "../harness/engines.ts";
import { article, gate, type Web, web } from "../harness/web.ts";

const found = await engines("bus", "documents", "blobs");
const missing = Object.values(found).includes(null);
const UNITS = 10;
const RACING = 500;
const PROJECT = "racing";

describe.skipIf(missing)("a key on four gateways", () => {
  let sites: Web;
  let cluster: ClusterOf;
  let documents: Documents;
  beforeAll(async () => {
    sites = await web();
    cluster = (await clusterOf(Array(4).fill("gateway,worker"), {
      environment: { TRAWL_DNS_SERVERS: sites.dns, TRAWL_POLITE_DELAY_MS: "5" },
    }))!;
    await cluster.settled();
    documents = await openDocuments(readConfig(cluster.environment));
    // Its requests per second do not keep any of the racing requests from asking for a unit.
    await createProject(documents, { name: PROJECT, customer: "default" }, Date.now());
    await setRate(documents, PROJECT, 10_000);
  }, 120_000);
  afterAll(async () => {
    await documents?.close();
    await cluster?.close();
    await sites?.close();
  });

  const newKey = async (fetch: number | null) =>
    (await createKey(documents, { project: PROJECT, role: "standard", quotas: { fetch } }, Date.now())).key;
  async function call(key: string, path: string, body?: object): Promise<Called> {
    const answer = await request(`${cluster.url}${path}`, {
      method: body ? "POST" : "GET",
      headers: { authorization: `Bearer ${key}` },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: answer.statusCode, json: await answer.body.json() };
  }
  const rowsOfKey = async (key: string) => {
    const batches = await documents.list("ledger", { limit: 1_000 });
    const rows = batches.flatMap(({ value }) => rowsOf(value as LedgerBatch));
    return rows.filter((row) => row.key === key.slice(0, 10));
  };

  test(`runs exactly ${UNITS} of ${RACING} requests that race for its last units, single calls and items of a job`, async () => {
    const page = sites.site({ "*": { body: article("Quota") } });
    const key = await newKey(UNITS);
    const items = Array.from({ length: 20 }, (_, n) => ({ url: `${page.origin}/item-${n}` }));
    const job = call(key, "/v1/batch/fetch", { idempotency_key: "race", items });
    const single = Array.from({ length: RACING - items.length }, async (_, n) => {
      for (;;) {
        const { status } = await call(key, "/v1/fetch", { url: `${page.origin}/single-${n % 50}` });
        if (status !== 503) return status;
        await sleep(100);
      }
    });
    const answers = await Promise.all(single);
    const created = await job;
    const ran = async () => {
      if (created.status !== 202) return 0;
      const { json } = await call(key, `/v1/jobs/${created.json.job_id}?include=items`);
      if (json.status !== "completed") return null;
      return json.items.filter(({ error }: { error: string | null }) => error !== "key_quota_exhausted")
        .length;
    };
    await expect.poll(ran, { timeout: 60_000, interval: 200 }).not.toBeNull();
    const answered = answers.filter((status) => status === 200).length;
    expect(answers.filter((status) => status !== 200 && status !== 429)).toEqual([]);
    const together = answered + (await ran())!;
    expect(together).toBe(UNITS);
    await expect.poll(async () => (await rowsOfKey(key)).length, { timeout: 10_000 }).toBe(UNITS);
  }, 90_000);

  test("kill -9 of a gateway leaves every request that reached a site exactly one row", async () => {
    const hold = gate();
    const slow = sites.site({ "*": async () => (await hold.opened, { body: article("Slow") }) });
    const visited = () =>
      new Set(slow.arrivals.map(({ path }) => path).filter((path) => path !== "/robots.txt"));
    const key = await newKey(null);
    const calls = Array.from({ length: 40 }, (_, n) =>
      call(key, "/v1/fetch", { url: `${slow.origin}/${n}` }).then(
        ({ status }) => status,
        () => "broken" as const,
      ),
    );
    await expect.poll(() => visited().size, { timeout: 20_000 }).toBeGreaterThan(0);
    await cluster.nodes[3]!.kill();
    hold.open();
    const answers = await Promise.all(calls);
    const spentBy = (request_id: string) => readSpend(documents, request_id);
    await recoverPending({ documents, clock: systemClock(), log: silentTelemetry().log, spentBy }, 0);
    const rows = await rowsOfKey(key);
    const ids = new Set(rows.map(({ request_id }) => request_id));
    expect(ids.size).toBe(rows.length);
    expect(rows.length).toBeGreaterThanOrEqual(answers.filter((status) => status === 200).length);
    // Calls of the killed gateway broke: those that were sent to actors have the row of an interrupted request.
    expect(rows.length).toBeLessThanOrEqual(calls.length);
    expect(rows.length).toBeGreaterThanOrEqual(visited().size);
  }, 90_000);
});
