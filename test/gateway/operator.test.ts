/** GET /v1/ops/nodes and POST /v1/ops/log-level, and the commands that use them, over a socket. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import type { NodeReport } from "../../cluster/ports/node-directory.ts";
import { listenNode } from "../../gateway/adapters/http.node.ts";
import type { Listening } from "../../gateway/http.ts";
import { operatorRoutes } from "../../gateway/routes/operator.ts";
import { trawl } from "../../ops/cli.ts";
import { readConfig } from "../../ops/config.ts";
import type { Terminal } from "../../ops/terminal.ts";
import { gatewayHarness, NOON_MS } from "../harness/gateway-harness.ts";

const domain = (name: string, requests: number, mean_ms: number, more: object = {}) => ({
  domain: name,
  requests,
  failures: 0,
  mean_ms,
  waiting: 0,
  in_flight: 0,
  is_paused: false,
  slowed: [],
  ...more,
});
const node = (name: string, more: Partial<NodeReport> = {}): NodeReport => ({
  node: name,
  version: "0.1.0",
  roles: ["worker"],
  tiers: [],
  address: null,
  status_address: "http://127.0.0.1:9",
  started_ms: NOON_MS - 90_000,
  draining: false,
  clock_skew_ms: null,
  partitions: [{ partition: 1, epoch: 1 }],
  active_actors: 7,
  background_works: 2,
  pending_asks: 1,
  ...more,
});
const NODES = [
  node("a", {
    domains: [
      domain("busy.test", 900, 40),
      domain("slow.test", 5, 8_000, { waiting: 12, slowed: ["https://www.slow.test"] }),
    ],
    jobs: [
      {
        job_id: "01a1",
        project: "default",
        kind: "fetch",
        created_ms: NOON_MS - 300_000,
        total: 50,
        finished: 20,
        in_flight: 0,
        waits_for: "the operator, who paused it",
      },
      {
        job_id: "01a2",
        project: "default",
        kind: "fetch",
        created_ms: NOON_MS - 60_000,
        total: 9,
        finished: 0,
        in_flight: 0,
        waits_for: "busy sites and retries, until 2026-11-23T12:00:10.000Z",
        waits_for_sites: ["busy.test", "shut.test"],
      },
    ],
  }),
  // A domain that has moved, on the node where it was asked less.
  node("b", {
    draining: true,
    domains: [domain("busy.test", 3, 40), domain("shut.test", 0, 0, { is_paused: true })],
  }),
];

async function operated() {
  const levels: string[] = [];
  const routes = operatorRoutes({
    reports: async () => NODES,
    partitions: 64,
    setLogLevel: async (level) => {
      levels.push(level);
      return ["a", "b"];
    },
  });
  const gateway = await gatewayHarness({ more: routes });
  const { admit, failed, operator } = gateway;
  const listening = await listenNode(admit, { host: "127.0.0.1", port: 0, shared: false, failed });
  const run = async (words: readonly string[], terminal?: Terminal) => {
    const output = { out: "", err: "", code: 0 };
    output.code = await trawl(words, {
      environment: { TRAWL_URL: `http://127.0.0.1:${listening.port}`, TRAWL_KEY: operator },
      config: () => readConfig({ TRAWL_URL: `http://127.0.0.1:${listening.port}`, TRAWL_KEY: operator }),
      openDocuments: async () => memoryDocuments(),
      openNodeDirectory: () => Promise.reject(new Error("not here")),
      now: () => NOON_MS,
      out: (line) => void (output.out += `${line}\n`),
      err: (line) => void (output.err += `${line}\n`),
      starting: () => Promise.reject(new Error("not here")),
      version: "0.0.0",
      ...(terminal && { terminal: () => terminal }),
    });
    return output;
  };
  return { ...gateway, listening, levels, run };
}

const column = (text: string): string[] =>
  text
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((line) => line.split(" ", 1)[0]!);

describe("the operator", () => {
  let world: Awaited<ReturnType<typeof operated>>;
  let listening: Listening;
  beforeAll(async () => {
    world = await operated();
    ({ listening } = world);
  });
  afterAll(() => listening.close(0));

  test("alone may ask: other keys are refused", async () => {
    const { call, key, operator } = world;
    const body = { level: "debug" };
    for (const [method, path, more] of [
      ["GET", "/v1/ops/nodes", {}],
      ["POST", "/v1/ops/log-level", { body }],
    ] as const) {
      expect((await call(method, path, { key: null, ...more })).status).toBe(401);
      for (const role of ["standard", "account_admin"] as const) {
        const refused = await call(method, path, { key: await key({ role }), ...more });
        expect([refused.status, refused.json.detail.error]).toEqual([403, "operator_only"]);
      }
    }
    expect((await call("GET", "/v1/ops/nodes", { key: operator })).json.nodes).toHaveLength(2);
    expect((await call("POST", "/v1/ops/log-level", { key: operator, body: { level: "loud" } })).status).toBe(
      422,
    );
  });

  test("sets the log level of all nodes", async () => {
    expect(await world.run(["log-level", "debug"])).toMatchObject({ code: 0, err: "Level debug on a, b\n" });
    expect(world.levels).toEqual(["debug"]);
    expect((await world.run(["log-level", "loud"])).code).toBe(2);
  });

  test("sees the version and commit of a single process, which no NATS knows", async () => {
    const { code, out, err } = await world.run(["nodes"]);
    expect([code, err, column(out)]).toEqual([0, "", ["a", "b"]]);
    expect(JSON.parse((await world.run(["nodes", "--json"])).out)).toMatchObject({
      nodes: [{ node: "a", version: "0.1.0", waiting: 0 }, { node: "b" }],
      queues: [],
      unowned: [],
    });
  });

  test("sees the busiest, slowest and most waited for domains of all nodes, each once", async () => {
    const { run } = world;
    const listed = async (...words: string[]) => column((await run(["domains", ...words])).out);
    expect(await listed()).toEqual(["busy.test", "slow.test", "shut.test"]);
    expect(await listed("--by", "slowest", "--limit", "1")).toEqual(["slow.test"]);
    expect(await listed("--by", "waiting", "--limit", "1")).toEqual(["slow.test"]);
    expect((await run(["domains"])).out).toContain("900");
  });

  test("sees which jobs wait, and for what: also for which paused domain, which another node may own", async () => {
    const { out } = await world.run(["jobs"]);
    const [, first, second] = out.split("\n");
    expect(first).toMatch(/^01a1 +default +fetch +5 min +20\/50 +0 +the operator, who paused it$/);
    expect(second).toMatch(/^01a2 +default +fetch +60 s +0\/9 +0 +shut\.test, paused by the operator$/);
  });

  test("gets all of it once where the output is no terminal", async () => {
    const piped = { screen: null } as unknown as Terminal;
    const { out, code } = await world.run(["top"], piped);
    expect(code).toBe(0);
    for (const words of ["worker (draining)", "busy.test", "shut.test", "paused", "01a1"])
      expect(out).toContain(words);
    expect(out).not.toContain("\u001B");
  });

  test("watches it on a terminal, in its size, until Ctrl-C, which brings back what stood there", async () => {
    let written = "";
    let interrupt = (): void => {};
    let frames = 0;
    const terminal = {
      screen: { rows: () => 12, columns: () => 40, write: (text: string) => void (written += text) },
      onInterrupt(call: () => void) {
        interrupt = call;
        return { [Symbol.dispose]() {} };
      },
      sleep: async () => void (++frames === 2 && interrupt()),
    } as unknown as Terminal;
    expect((await world.run(["top"], terminal)).code).toBe(0);
    expect(written.startsWith("\u001B[?1049h")).toBe(true);
    expect(written.endsWith("\u001B[?1049l")).toBe(true);
    const drawn = written.split("\u001B[H").slice(1);
    expect(drawn).toHaveLength(2);
    const lines = drawn[0]!.split("\u001B[J", 1)[0]!.split("\r\n");
    expect(lines.length).toBeLessThanOrEqual(11);
    for (const line of lines) expect(line.replace("\u001B[K", "").length).toBeLessThanOrEqual(40);
  });
});
