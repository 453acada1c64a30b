/**
 * The filing system's limiter on several nodes, while its owner node is killed, stopped or cut off: the filing system
 * never sees more than ten requests in any second, and none during a pause.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ClusterOf, clusterOf, type NodeOf } from "../harness/cluster-of.ts";
import { type Edgar, edgar, worstSecond } from "../harness/edgar.ts";
import { engines } from "../harness/engines.ts";

const found = await engines("bus", "documents", "blobs");
const missing = Object.values(found).includes(null);
const FOLDER = "/Archives/edgar/data/9000001/000900000124000007/";
const WORKERS = 3;

describe.skipIf(missing)("the limiter of a cluster", () => {
  let upstream: Edgar;
  let cluster: ClusterOf;
  beforeAll(async () => {
    upstream = await edgar();
    cluster = (await clusterOf(["gateway", "worker", "worker", "worker"], {
      environment: upstream.environment,
    }))!;
    await cluster.settled();
  });
  afterAll(async () => {
    await cluster?.close();
    await upstream?.close();
  });

  /** The node that grants slots. */
  async function ownerNode(): Promise<NodeOf> {
    for (;;) {
      const holder = await cluster.ownerOf("filings", "default");
      if (holder?.isRunning()) return holder;
      await sleep(100);
    }
  }

  async function fetched(path: string): Promise<{ status: number; error: string | null }> {
    const { status, json } = await cluster.call("POST", "/v1/fetch", { url: upstream.urls.www + path });
    return { status, error: json.error ?? null };
  }

  let documents = 0;
  /** Callers that fetch one new document after the other, and repeat what may be repeated. */
  function traffic(callers: number) {
    let isOver = false;
    const counts = { fetched: 0, refused: 0, others: [] as string[] };
    const caller = async (): Promise<void> => {
      while (!isOver) {
        const path = `${FOLDER}many-${documents++}.htm`;
        upstream.serve("www", path, `<p>${path}</p>`, { type: "text/html" });
        for (;;) {
          const { status, error } = await fetched(path);
          if (status === 200 && error === null) counts.fetched += 1;
          else if (status === 503 || status === 504 || error === "rate_limited") counts.refused += 1;
          else counts.others.push(`${status} ${error}`);
          if (status === 200 || isOver) break;
          await sleep(200);
        }
      }
    };
    const done = Promise.all(Array.from({ length: callers }, caller));
    return {
      counts,
      async end() {
        isOver = true;
        await done;
      },
    };
  }

  /** Resolves when so many more have started, with the moments of all starts since. */
  async function starts(more: number, since = upstream.starts.length): Promise<readonly number[]> {
    while (upstream.starts.length < since + more) await sleep(50);
    return upstream.starts.slice(since).map(({ mono_ms }) => mono_ms);
  }

  const longestPause = (moments_ms: readonly number[]): number =>
    Math.max(...moments_ms.slice(1).map((at, n) => at - moments_ms[n]!));

  test("after kill -9 of its owner node another node continues, and the rate holds", async () => {
    const load = traffic(16);
    const since = upstream.starts.length;
    await starts(30);
    const killed = await ownerNode();
    await killed.kill();
    await starts(60);
    await load.end();
    const moments = upstream.starts.slice(since).map(({ mono_ms }) => mono_ms);
    expect(worstSecond(moments)).toBeLessThanOrEqual(10);
    expect(load.counts.others).toEqual([]);
    expect(load.counts.fetched).toBeGreaterThan(60);
    console.log(
      `owner node killed: longest pause ${Math.round(longestPause(moments))} ms, worst second ${worstSecond(moments)}`,
    );
    await cluster.add("worker");
    await cluster.settled();
  }, 180_000);

  test("an owner node that is paused for longer than its lease and resumes keeps the rate together with the new owner", async () => {
    const load = traffic(16);
    const since = upstream.starts.length;
    await starts(20);
    const stopped = await ownerNode();
    stopped.pause();
    await sleep(6_000);
    stopped.resume();
    await starts(60);
    await load.end();
    const moments = upstream.starts.slice(since).map(({ mono_ms }) => mono_ms);
    expect(worstSecond(moments)).toBeLessThanOrEqual(10);
    expect(load.counts.others).toEqual([]);
    await cluster.settled();
  }, 180_000);

  test("an owner node without the document store grants nothing", async () => {
    const load = traffic(8);
    await starts(10);
    const cut = await ownerNode();
    cut.links.documents.cut();
    await sleep(1_000);
    const since = upstream.starts.length;
    await sleep(2_000);
    // A grant that was taken from the ledger before may still start.
    expect(upstream.starts.length - since).toBeLessThanOrEqual(1);
    cut.links.documents.heal();
    await starts(10);
    await load.end();
    await cluster.settled();
  }, 180_000);

  test("when its owner node dies during a pause, the next owner keeps the pause", async () => {
    upstream.fail("throttled_429", { times: 1, retry_after: "300" });
    const path = `${FOLDER}turned-away.htm`;
    expect(await fetched(path)).toEqual({ status: 200, error: "filings_unavailable" });
    const since = upstream.starts.length;
    await (await ownerNode()).kill();
    await cluster.settled();
    for (let n = 0; n < 10; n++)
      expect(await fetched(`${FOLDER}silent-${n}.htm`)).toEqual({
        status: 200,
        error: "filings_unavailable",
      });
    expect(upstream.starts.length).toBe(since);
    expect(cluster.nodes.filter((node) => node.isRunning() && node.roles === "worker")).toHaveLength(
      WORKERS - 1,
    );
  }, 180_000);
});
