/** trawl nodes, drain and cluster rebuild over a node directory of the test. */
import { describe, expect, test } from "vitest";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import type { NodeReport, QueueReport, NodeDirectory } from "../../cluster/ports/node-directory.ts";
import { trawl } from "../../ops/cli.ts";
import { readConfig } from "../../ops/config.ts";

const NOW_MS = Date.UTC(2026, 0, 1);
const partitionsOf = (count: number) => ({ partitions: async () => count });
const BUS = { TRAWL_BUS: "nats://127.0.0.1:4222" };

const report = (node: string, partitions: readonly number[], more: Partial<NodeReport> = {}): NodeReport => ({
  node,
  version: "0.1.0",
  roles: ["worker"],
  tiers: [],
  address: "http://127.0.0.1:8",
  status_address: "http://127.0.0.1:9",
  started_ms: NOW_MS - 90_000,
  draining: false,
  clock_skew_ms: null,
  partitions: partitions.map((partition) => ({ partition, epoch: 100 + partition })),
  active_actors: 7,
  background_works: 0,
  pending_asks: 0,
  ...more,
});

const idle = { attempts: 0, successes: 0, infrastructure_failures: 0, p95_ms: null };

const queue = (partition: number, more: Partial<QueueReport> = {}): QueueReport => ({
  stream: "work",
  partition,
  epoch: 100 + partition,
  waiting: 0,
  unacknowledged: 0,
  ...more,
});

function shell(nodeDirectory: Partial<NodeDirectory>, environment: Record<string, string> = BUS) {
  const documents = memoryDocuments();
  const run = async (...words: string[]) => {
    const output = { out: "", err: "", code: 0 };
    output.code = await trawl(words, {
      environment,
      config: () => readConfig(environment),
      openDocuments: async () => ({ ...documents, close: async () => {} }),
      openNodeDirectory: async () =>
        ({ cluster: "trawl", close: async () => {}, ...nodeDirectory }) as NodeDirectory,
      now: () => NOW_MS,
      out: (line) => void (output.out += `${line}\n`),
      err: (line) => void (output.err += `${line}\n`),
      starting: () => Promise.reject(new Error("Nothing is started here")),
      version: "0.1.0",
    });
    return output;
  };
  return { run, documents };
}

const half = (odd: number) => Array.from({ length: 32 }, (_, n) => 2 * n + odd);

describe("trawl nodes", () => {
  const nodes = async () => [
    report("a", half(0), {
      commit: "d86a7ba61f99",
      tiers: [
        { ...idle, tier: "direct", capacity: 1_000, in_use: 3, waiting: 0, breaker: "closed" },
        { ...idle, tier: "archive", capacity: 4, in_use: 4, waiting: 9, breaker: "open" },
      ],
    }),
    report("b", half(1), { roles: ["gateway", "worker"], draining: true, clock_skew_ms: 310 }),
  ];

  test("lists the partitions of each node and its backlog", async () => {
    const queues = async () => [
      queue(0, { waiting: 3, unacknowledged: 1 }),
      queue(0, { stream: "sync", unacknowledged: 1 }),
      queue(1, { waiting: 5 }),
      // Left by a node that has stopped.
      queue(2, { epoch: 5, waiting: 9 }),
    ];
    const { run } = shell({ nodes, queues, ...partitionsOf(64) });
    const { out, err, code } = await run("nodes");
    expect([code, err]).toEqual([0, ""]);
    const [head, a, b] = out.split("\n").map((line) => line.split(/ {2,}/));
    expect(head).toEqual([
      "NODE",
      "VERSION",
      "ROLES",
      "TIERS",
      "UP",
      "CLOCK",
      "PARTITIONS",
      "WAITING",
      "AT WORK",
      "AWAKE",
      "SERVES",
      "STATUS",
    ]);
    expect(a).toEqual([
      "a",
      "0.1.0 d86a7ba61f99",
      "worker",
      "direct 3/1000 archive 4/4+9 (open)",
      "90 s",
      "-",
      "32",
      "3",
      "2",
      "7",
      "http://127.0.0.1:8",
      "http://127.0.0.1:9",
    ]);
    expect(b).toEqual([
      "b",
      "0.1.0",
      "gateway,worker (draining)",
      "-",
      "90 s",
      "+310 ms",
      "32",
      "5",
      "0",
      "7",
      "http://127.0.0.1:8",
      "http://127.0.0.1:9",
    ]);
    const json = JSON.parse((await run("nodes", "--json")).out);
    expect(json).toMatchObject({
      unowned: [],
      nodes: [{ node: "a", waiting: 3, unacknowledged: 2 }, { node: "b" }],
    });
    expect(json.nodes[0].partitions[1]).toEqual({ partition: 2, epoch: 102 });
    expect(json.queues).toHaveLength(4);
  });

  test("names partitions without an owner", async () => {
    const queues = async () => [queue(1, { epoch: 0, waiting: 4 }), queue(2, { waiting: 3 })];
    const { run } = shell({ nodes: async () => [report("a", half(0))], queues, ...partitionsOf(64) });
    expect((await run("nodes")).err).toMatch(
      /^Owned by no node: 1, 3, 5,.*; 4 messages wait for an owner\n$/,
    );
  });
});

describe("trawl drain", () => {
  test("needs a cluster", async () => {
    const { run } = shell({}, {});
    expect(await run("drain", "a")).toMatchObject({
      code: 1,
      err: expect.stringContaining("TRAWL_BUS is memory"),
    });
  });

  test("waits until the node is gone", async () => {
    let left = 3;
    const { run } = shell({
      drain: async (node) => node === "a",
      nodes: async () => (left-- > 0 ? [report("a", [])] : []),
    });
    expect(await run("drain", "a", "--json")).toMatchObject({
      code: 0,
      out: '{"node":"a","stopped":true}\n',
    });
    expect(left).toBe(-1);
  });

  test("names the nodes there are", async () => {
    const { run } = shell({ drain: async () => false, nodes: async () => [report("a", [])] });
    const output = await run("drain", "b");
    expect(output).toMatchObject({ code: 1, err: 'There is no node "b"; there are: a\n' });
  });
});

describe("trawl cluster rebuild", () => {
  test("empties the bus", async () => {
    const { run } = shell({ nodes: async () => [], wipe: async () => ["trawl-WORK"] });
    expect(await run("cluster", "rebuild")).toMatchObject({
      code: 0,
      err: "Removed trawl-WORK. Start the nodes.\n",
    });
  });

  test("lets the documents move to a cluster of another name", async () => {
    const { run, documents } = shell({ nodes: async () => [], wipe: async () => [] });
    const settings = { "the cluster's name in TRAWL_BUS": "former" };
    await documents.put("cluster", "settings", { id: "x", settings }, 0);
    expect(await run("cluster", "rebuild")).toMatchObject({
      code: 0,
      err: expect.stringContaining('belonged to the cluster "former"'),
    });
    expect(await documents.get("cluster", "settings")).toBeNull();
  });

  test("divides the keys into another number of partitions, while no node runs", async () => {
    let running: readonly NodeReport[] = [];
    let wiped = 0;
    const wipe = async () => [`${++wiped}`];
    const { run, documents } = shell({ nodes: async () => running, wipe });
    const divide = (count: string, ...more: string[]) =>
      run("cluster", "rebuild", "--partitions", count, ...more);
    expect((await divide("100")).err).toContain("--partitions must be a power of two from 64 to 4096");
    expect((await divide("256")).err).toContain("no node has run with these documents yet");
    await documents.put("cluster", "main", { generation: 3, store_id: "x" }, 0);
    running = [report("a", [])];
    expect((await divide("256", "--force")).err).toContain("while nodes run: a");
    expect([wiped, (await documents.get("cluster", "main"))?.version]).toEqual([0, 1]);
    running = [];
    expect(await divide("256")).toMatchObject({ code: 0 });
    expect([wiped, (await documents.get("cluster", "main"))?.value]).toEqual([
      1,
      { generation: 3, store_id: "x", partitions: 256 },
    ]);
  });

  test("while nodes run says how to go on, and does it with --force", async () => {
    let wiped = 0;
    const { run } = shell({
      nodes: async () => [report("a", [])],
      wipe: async () => {
        wiped++;
        return ["trawl-WORK"];
      },
    });
    const refused = await run("cluster", "rebuild");
    expect([refused.code, wiped]).toEqual([1, 0]);
    expect(refused.err).toMatch(/while nodes run: a\. Stop them with trawl drain.*--force/);
    expect(await run("cluster", "rebuild", "--force", "--json")).toMatchObject({
      code: 0,
      out: '{"removed":["trawl-WORK"],"nodes":["a"],"moved_from":null}\n',
    });
    expect(wiped).toBe(1);
  });
});
