/**
 * A worker whose link to NATS is cut, both ways or one: what its callers, on a gateway whose link is whole, are told. The
 * requests are judged by their outcomes; those that the cut node's keys get are answered by their next owner.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { request } from "undici";
import { type ClusterOf, clusterOf, type NodeOf } from "../harness/cluster-of.ts";
import { engines } from "../harness/engines.ts";
import type { Way } from "../harness/tcp-link.ts";
import { article, type Page, type Pages, redirect, type Site, type Web, web } from "../harness/web.ts";

const found = await engines("bus", "documents", "blobs");
const missing = Object.values(found).includes(null);

/** The sites of the cut node are asked for longer than its leases, its presence and two pings of its connection last. */
const UNDER_LOAD_MS = 14_000;
const SITES = 30;
/**
 * Redirects come at these times: many are to be followed when the cut node may send nothing any more and has not given its
 * keys up, which is 1.6 s after the cut at the earliest.
 */
const FIRST_REDIRECT_MS = 1_500;
const STEP_MS = 35;
const FIRST_FETCHES = 45;

interface FetchOutcome {
  readonly status: number;
  readonly retry_after: string | null;
  readonly error: string | null;
}

describe.skipIf(missing)("a worker whose link to NATS is cut", () => {
  let sites: Web;
  let cluster: ClusterOf;
  beforeAll(async () => {
    sites = await web();
    cluster = (await clusterOf(["gateway", "worker", "worker", "worker"], {
      environment: { TRAWL_DNS_SERVERS: sites.dns, TRAWL_POLITE_DELAY_MS: "20" },
    }))!;
    await cluster.settled();
  });
  afterAll(async () => {
    await cluster?.close();
    await sites?.close();
  });

  async function ask(url: string): Promise<FetchOutcome> {
    const { statusCode, headers, body } = await request(`${cluster.url}/v1/fetch`, {
      method: "POST",
      headers: { authorization: `Bearer ${cluster.key}` },
      body: JSON.stringify({ url }),
      headersTimeout: 180_000,
    });
    const answer = (await body.json()) as { error?: string | null };
    const retry_after = headers["retry-after"];
    return {
      status: statusCode,
      retry_after: typeof retry_after === "string" ? retry_after : null,
      error: answer.error ?? null,
    };
  }
  async function askUsage(): Promise<FetchOutcome> {
    const { statusCode, headers, body } = await request(`${cluster.url}/v1/usage`, {
      headers: { authorization: `Bearer ${cluster.key}` },
      headersTimeout: 180_000,
    });
    await body.dump();
    const retry_after = headers["retry-after"];
    return {
      status: statusCode,
      retry_after: typeof retry_after === "string" ? retry_after : null,
      error: null,
    };
  }
  const many = (count: number, pagesOf: (n: number) => Pages): readonly Site[] =>
    Array.from({ length: count }, (_, n) => sites.site(pagesOf(n)));
  const whole: FetchOutcome = { status: 200, retry_after: null, error: null };

  async function whileCut(run: (victim: NodeOf) => Promise<void>): Promise<void> {
    await cluster.settled();
    const victim = cluster.nodes.at(-1)!;
    try {
      await run(victim);
    } finally {
      victim.links.bus.heal();
    }
    await cluster.settled();
  }
  const ownedWithout = async ({ name }: NodeOf): Promise<number> =>
    (await cluster.nodeDirectory.nodes(300))
      .filter(({ node }) => node !== name)
      .flatMap(({ partitions }) => partitions).length;

  test.each<[string, Way | undefined]>([
    ["both ways", undefined],
    ["from NATS to the node", "back"],
    ["from the node to NATS", "there"],
  ])(
    "%s costs no caller of a known site its answer, and usage is answered or refused with Retry-After",
    (_, way) =>
      whileCut(async (victim) => {
        const known = many(SITES, (n) => ({ "*": { body: article(`Page ${n}`) } }));
        for (const told of await Promise.all(known.map(({ origin }) => ask(`${origin}/`))))
          expect(told).toEqual(whole);
        victim.links.bus.cut(way);
        const ends_ms = performance.now() + UNDER_LOAD_MS;
        const refused: FetchOutcome[] = [];
        const usage: FetchOutcome[] = [];
        for (let round = 0; performance.now() < ends_ms; round++) {
          const asked = known.map(({ origin }) => ask(`${origin}/${round}`));
          usage.push(await askUsage());
          const told = await Promise.all(asked);
          refused.push(...told.filter(({ status, error }) => status !== 200 || error !== null));
        }
        expect({ refused: refused.length, first: refused[0] }).toEqual({ refused: 0 });
        const later = { status: 503, retry_after: expect.stringMatching(/^[1-9]/), error: null };
        expect(usage.length).toBeGreaterThan(0);
        expect(usage).toEqual(usage.map(({ status }) => (status === 200 ? whole : later)));
      }),
    90_000,
  );

  test.each<[string, Way | undefined]>([
    ["both ways", undefined],
    ["from NATS to the node", "back"],
  ])(
    "%s while first fetches are under way, ends none of them with 504",
    (_, way) =>
      whileCut(async (victim) => {
        const held = Promise.withResolvers<void>();
        const first = (n: number) => async (): Promise<Page> => {
          await held.promise;
          await sleep(FIRST_REDIRECT_MS + n * STEP_MS);
          return redirect("/end");
        };
        const fresh = many(FIRST_FETCHES, (n) => ({ "/": first(n), "/end": { body: article(`Page ${n}`) } }));
        const asked = fresh.map(({ origin }) => ask(`${origin}/`));
        await Promise.all(fresh.map((site) => site.reached("/")));
        victim.links.bus.cut(way);
        held.resolve();
        await expect.poll(() => ownedWithout(victim), { timeout: 20_000 }).toBe(64);
        // The node's messages of the meantime come now.
        victim.links.bus.heal();
        const refused = (await Promise.all(asked)).filter(({ status }) => status !== 200);
        const retried = { status: 503, retry_after: expect.stringMatching(/^[1-9]/), error: null };
        expect(refused).toEqual(refused.map(() => retried));
      }),
    90_000,
  );
});
