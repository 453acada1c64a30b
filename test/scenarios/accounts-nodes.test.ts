/**
 * A key on four gateways of a real cluster: the last units of its quota, the rows of a gateway that is killed, a document store that
 * is gone, and money that is reserved when nodes are killed.
 */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { request } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AccountSnapshot } from "../../actors/business/accounts/actor.ts";
import { reservedMicros } from "../../actors/business/accounts/budget.ts";
import { createKey, createProject, setRate } from "../../actors/business/accounts/keys.ts";
import { readSpend } from "../../actors/business/accounts/request-spend.ts";
import { systemClock } from "../../cluster/adapters/time/clock.system.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { recoverPending } from "../../gateway/pending-requests.ts";
import { readConfig } from "../../ops/config.ts";
import { openDocuments } from "../../ops/stores.ts";
import { Account, accountKey, monthOf } from "../../schemas/accounts.ts";
import { type LedgerBatch, rowsOf } from "../../schemas/ledger-batch.ts";
import { type Called, type ClusterOf, clusterOf } from "../harness/cluster-of.ts";
import { engines } from "../harness/engines.ts";
import { article, gate, type Web, web } from "../harness/web.ts";

const found = await engines("bus", "documents", "blobs");
const missing = Object.values(found).includes(null);
const UNITS = 10;
const RACING = 500;
const PROJECT = "racing";
/** Time without the document store: GONE_S=10 for longer. */
const GONE_MS = 1_000 * Number(process.env["GONE_S"] ?? 3);
const PROXY_MICROS = 10_000;
const PAID_ATTEMPTS = 12;

describe.skipIf(missing)("a key on four gateways", () => {
  let sites: Web;
  let cluster: ClusterOf;
  let documents: Documents;
  /** A residential network that answers every address with one page, once the test lets it. */
  let proxy: Server;
  let paying = gate();
  let proxied = 0;
  beforeAll(async () => {
    sites = await web();
    proxy = createServer((_asked, answer) => {
      proxied++;
      void paying.opened.then(() => answer.setHeader("content-type", "text/html").end(article("Paid")));
    }).listen(0, "127.0.0.1");
    await once(proxy, "listening");
    cluster = (await clusterOf(Array(4).fill("gateway,worker"), {
      environment: {
        TRAWL_DNS_SERVERS: sites.dns,
        TRAWL_POLITE_DELAY_MS: "5",
        TRAWL_PROXY_URL: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
        TRAWL_PRICES: "proxy=0.01",
      },
    }))!;
    await cluster.settled();
    documents = await openDocuments(readConfig(cluster.environment));
    // Its requests per second do not keep any of the racing requests from asking for a unit.
    await createProject(documents, { name: PROJECT, customer: "default" }, Date.now());
    await setRate(documents, PROJECT, 10_000);
  });
  afterAll(async () => {
    await documents?.close();
    await cluster?.close();
    await sites?.close();
    proxy?.close();
    proxy?.closeAllConnections();
  });

  const newKey = async (fetch: number | null, spend_cap_micros: number | null = null) => {
    const options = { project: PROJECT, role: "standard", quotas: { fetch }, spend_cap_micros } as const;
    return (await createKey(documents, options, Date.now())).key;
  };
  async function call(
    key: string,
    path: string,
    body?: object,
  ): Promise<Called & { readonly request_id: string }> {
    const answer = await request(`${cluster.url}${path}`, {
      method: body ? "POST" : "GET",
      headers: { authorization: `Bearer ${key}` },
      ...(body && { body: JSON.stringify(body) }),
    });
    return {
      status: answer.statusCode,
      json: await answer.body.json(),
      request_id: String(answer.headers["x-request-id"]),
    };
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

  /** The account as the Account actor has stored it. */
  const accountOf = async (name: string) =>
    (await documents.get("account", name))?.value as AccountSnapshot | undefined;
  const keyAccount = (key: string): string => accountKey("default", PROJECT, key.slice(0, 10));
  const running = () => cluster.nodes.filter((node) => node.isRunning());
  const readiness = (): Promise<number[]> =>
    Promise.all(
      running().map(async ({ status_url }) => {
        const { statusCode, body } = await request(`${status_url}/ready`);
        await body.dump();
        return statusCode;
      }),
    );

  test("without the document store answers 503, and counts nothing twice when it is back", async () => {
    const page = sites.site({ "*": { body: article("Gone") } });
    const key = await newKey(10_000);
    const answers: Promise<{ readonly status: number; readonly request_id: string }>[] = [];
    const askFor = async (ms: number) => {
      for (const over_ms = performance.now() + ms; performance.now() < over_ms; await sleep(100))
        for (const path of ["cached", `page-${answers.length}`])
          answers.push(call(key, "/v1/fetch", { url: `${page.origin}/${path}` }));
    };
    await askFor(500);
    for (const { links } of running()) links.documents.cut();
    await askFor(GONE_MS);
    // On a busy machine the first refusal comes later.
    await expect
      .poll(async () => (await call(key, "/v1/fetch", { url: `${page.origin}/gone` })).status, {
        timeout: 20_000,
      })
      .toBe(503);
    for (const { links } of running()) links.documents.heal({ reset: true });
    await expect
      .poll(async () => (await call(key, "/v1/fetch", { url: `${page.origin}/back` })).status, {
        timeout: 20_000,
      })
      .toBe(200);
    // Nodes may find the store again seconds apart.
    await expect.poll(readiness, { timeout: 20_000 }).toEqual(running().map(() => 200));
    const ended = await Promise.all(answers);
    expect(ended.map(({ status }) => status).filter((status) => status !== 200 && status !== 503)).toEqual(
      [],
    );
    const month = monthOf(Date.now());
    const settled = async () => (await accountOf(keyAccount(key)))?.quotas[month]?.settled.fetch;
    // Gateways write rows that waited for the store, and report what they used.
    await expect
      .poll(async () => (await rowsOfKey(key)).length - ((await settled()) ?? 0), { timeout: 20_000 })
      .toBe(0);
    const ids = (await rowsOfKey(key)).map(({ request_id }) => request_id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ended.filter(({ status, request_id }) => status === 200 && !ids.includes(request_id))).toEqual([]);
  }, 90_000);

  test("kill -9 of a gateway leaves every request that reached a site exactly one row", async () => {
    const hold = gate();
    const slow = sites.site({ "*": async () => (await hold.opened, { body: article("Slow") }) });
    const visited = () =>
      new Set(slow.arrivals.map(({ path }) => path).filter((path) => path !== "/robots.txt"));
    const key = await newKey(null);
    const answered: (number | "broken")[] = [];
    const calls = Array.from({ length: 40 }, async (_, n) => {
      const { status } = await call(key, "/v1/fetch", { url: `${slow.origin}/${n}` }).catch(() => ({
        status: "broken" as const,
      }));
      answered.push(status);
      return status;
    });
    await expect
      .poll(() => ({ isVisited: visited().size > 0, answered }), { timeout: 20_000 })
      .toEqual({ isVisited: true, answered: [] });
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

  test("kill -9 of the account's node and of a gateway and worker between reserve and settle exceeds no limit", async () => {
    await cluster.add("gateway,worker");
    await cluster.settled();
    const cap_micros = PAID_ATTEMPTS * PROXY_MICROS;
    const key = await newKey(null, cap_micros);
    const month = monthOf(Date.now());
    const taken = async () => {
      const budget = (await accountOf(keyAccount(key)))?.budget;
      const micros = budget ? (budget.spent[month] ?? 0) + reservedMicros(budget, month) : 0;
      expect(micros).toBeLessThanOrEqual(cap_micros);
      return micros;
    };
    paying = gate();
    proxied = 0;
    const calls = Array.from({ length: 2 * PAID_ATTEMPTS }, (_, n) =>
      call(key, "/v1/fetch", { url: `${sites.site({}, `paid-${n}`).origin}/`, tiers: ["proxy"] }).then(
        ({ status }) => status,
        () => "broken" as const,
      ),
    );
    await expect.poll(() => proxied, { timeout: 20_000 }).toBeGreaterThan(3);
    expect(await taken()).toBeGreaterThan(0);
    const owner = await cluster.ownerOf(Account.shard_by, keyAccount(key));
    await owner!.kill();
    await taken();
    await running().at(-1)!.kill();
    await taken();
    paying.open();
    const answers = await Promise.all(calls);
    await cluster.settled();
    const log = silentTelemetry().log;
    const spentBy = (request_id: string) => readSpend(documents, request_id);
    await recoverPending({ documents, clock: systemClock(), log, spentBy }, 0);
    const rows = await rowsOfKey(key);
    const cost = rows.reduce((sum, { cost_micros }) => sum + cost_micros, 0);
    // Each request that the network got costs money, whoever was told of it.
    expect(await taken()).toBeGreaterThanOrEqual(proxied * PROXY_MICROS);
    expect(cost).toBeLessThanOrEqual(await taken());
    expect(new Set(rows.map(({ request_id }) => request_id)).size).toBe(rows.length);
    expect(rows.length).toBeGreaterThanOrEqual(answers.filter((status) => status === 200).length);
  });
});
