/**
 * A cluster of real processes that can be killed, paused, cut off, drained and joined while it runs: for chaos tests and
 * benches. Each node has links of its own to the three engines (tcp-link.ts); the bus is an engine of its own, to be killed,
 * the others are shared with the run unless they are asked for. Scenarios that only want a service take test/harness/service.ts.
 *
 *   const cluster = await clusterOf(["gateway", "worker", "worker"]);
 *   cluster.nodes[1]!.links.bus.cut();
 *   await cluster.bus.kill();
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { request } from "undici";
import { natsNodeDirectory } from "../../cluster/adapters/nodes/node-directory.nats.ts";
import { partitionOf } from "../../cluster/placement.ts";
import type { NodeReport, NodeDirectory } from "../../cluster/ports/node-directory.ts";
import type { Engine, EngineName, Settings } from "../../ops/engines/engine.ts";
import { engines, ownEngine } from "./engines.ts";
import { secretsFileIn } from "./secrets.ts";
import { type Link, linkTo } from "./tcp-link.ts";
import { freePort } from "./free-port.ts";
import { programWords } from "./program-words.ts";
import { settled } from "./settled.ts";
import { steppedClock } from "./stepped-clock.ts";

type Environment = Readonly<Record<string, string>>;

const ADMIN_KEY = "ak_clusters_0123456789abcdefghi";

export interface NodeOf {
  /** As `trawl nodes` has it. */
  readonly name: string;
  readonly roles: string;
  readonly pid: number;
  /** Where it alone answers /health, /ready and /metrics. */
  readonly status_url: string;
  readonly links: Readonly<Record<EngineName, Link>>;
  /** kill -9. */
  readonly kill: () => Promise<void>;
  /** SIGTERM; resolves with the exit code when it is gone. */
  readonly stop: () => Promise<number | null>;
  /** SIGSTOP and SIGCONT. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** Its wall clock is so far from the system's from now on. Only with `steps_clocks`. */
  readonly setClock: (ahead_s: number) => void;
  readonly isRunning: () => boolean;
  readonly stderr: () => string;
}

/** A response read to its end. */
export interface Called {
  readonly status: number;
  readonly json: any;
}

export interface ClusterOf {
  /** Behind it are all nodes with the role gateway. */
  readonly url: string;
  readonly key: string;
  readonly call: (method: "GET" | "POST", path: string, body?: object) => Promise<Called>;
  /** Calls as a client should: 429, 503 and 504 are tried again; `tries` counts. */
  readonly insist: (
    method: "GET" | "POST",
    path: string,
    body?: object,
  ) => Promise<Called & { readonly tries: number }>;
  /** Engines of this cluster only, unless `own` names more; undefined: the run's. */
  readonly bus: Engine;
  readonly documents: Engine | undefined;
  readonly blobs: Engine | undefined;
  /** In the order they were added, stopped ones included. */
  readonly nodes: readonly NodeOf[];
  /** `checkout`: the folder of the program that the node runs. Default: this one. */
  readonly add: (roles: string, environment?: Environment, checkout?: string) => Promise<NodeOf>;
  readonly nodeDirectory: NodeDirectory;
  /** Resolves when every partition is owned by one of the nodes that run, as many as there should be. */
  readonly settled: (within_ms?: number) => Promise<readonly NodeReport[]>;
  /** The owner of a key's partition by the nodes' reports; undefined: no owner at the moment. */
  readonly ownerOf: (shard_by: string, key: string) => Promise<NodeOf | undefined>;
  /** Settings that the commands of `trawl` need to look at this cluster, past all links. */
  readonly environment: Environment;
  readonly close: () => Promise<void>;
}

export interface ClusterOptions {
  /** Engines of this cluster only, beside the bus. */
  readonly own?: readonly Exclude<EngineName, "bus">[];
  /** For every node. */
  readonly environment?: Environment;
  /** The folder of the program that the first nodes run. Default: this one. */
  readonly checkout?: string;
  /** Nodes run on wall clocks of their own; needs libfaketime. Default: no. */
  readonly steps_clocks?: boolean;
}

const MAX_STARTED_MS = 100_000;
/** Longer than the service takes to answer anything. */
const MAX_ANSWERED_MS = 180_000;
const AGAIN_MS = 300;
let clusters = 0;

/** Null where an engine is missing; test/harness/engines.setup.ts says which. */
export async function clusterOf(
  roles: readonly string[],
  {
    own = [],
    environment: extraEnvironment = {},
    checkout: first_checkout,
    steps_clocks = false,
  }: ClusterOptions = {},
): Promise<ClusterOf | null> {
  const others = (["documents", "blobs"] as const).filter((name) => !own.includes(name));
  // Outside of a test run there are no shared ones: a program that uses this asks for all of its own.
  const shared: Partial<Record<EngineName, Settings | null>> =
    others.length > 0 ? await engines(...others) : {};
  if (others.some((name) => !shared[name])) return null;
  const ownEngines = new Map<EngineName, Engine>();
  for (const name of ["bus", ...own] as const) {
    const engine = await ownEngine(name);
    if (engine) ownEngines.set(name, engine);
    else {
      for (const started of ownEngines.values()) await started.stop();
      return null;
    }
  }
  const bus = ownEngines.get("bus")!;
  const settingsOf = (name: EngineName): Settings => ownEngines.get(name)?.settings ?? shared[name]!;

  const name = `cluster-${process.pid}-${clusters++}`;
  const folder = mkdtempSync(join(tmpdir(), `trawl-${name}-`));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const nodes: NodeOf[] = [];
  let seats = 0;
  const programs = new Set<ChildProcess>();

  const direct: Environment = {
    ...settingsOf("blobs"),
    TRAWL_BUS: `${settingsOf("bus")["TRAWL_BUS"]}/${name}`,
    TRAWL_DOCUMENTS: `${baseOf(settingsOf("documents")["TRAWL_DOCUMENTS"]!)}/${name}?retryWrites=false&directConnection=true`,
    TRAWL_BLOBS: `${settingsOf("blobs")["TRAWL_BLOBS"]}/${name}`,
  };
  const addresses: Record<EngineName, string> = {
    bus: "TRAWL_BUS",
    documents: "TRAWL_DOCUMENTS",
    blobs: "S3_ENDPOINT",
  };
  const environment: Environment = {
    PATH: process.env["PATH"] ?? "",
    HOST: "127.0.0.1",
    PORT: String(port),
    TRAWL_ADMIN_KEY: ADMIN_KEY,
    TRAWL_EGRESS_ALLOW: "127.0.0.0/8",
    TRAWL_EGRESS_ALLOW_PROJECTS: "*",
    TRAWL_ARCHIVE_URL: "none",
    TRAWL_CHROMIUM_PATH: "none",
    TRAWL_WARM_READERS: "off",
    TRAWL_SEARXNG_URLS: "http://127.0.0.1:9/",
    TRAWL_SECRETS_KEY_FILE: secretsFileIn(folder),
    ...extraEnvironment,
    ...direct,
  };

  async function add(nodeRoles: string, more: Environment = {}, checkout?: string): Promise<NodeOf> {
    const seat = seats++;
    const status_port = await freePort();
    const status_url = `http://127.0.0.1:${status_port}`;
    const links = {} as Record<EngineName, Link>;
    const through: Record<string, string> = {};
    for (const [engine, variable] of Object.entries(addresses) as [EngineName, string][]) {
      const [, at] = /:\/\/[^/]*?:(\d+)/.exec(direct[variable]!)!;
      links[engine] = await linkTo(Number(at));
      through[variable] = direct[variable]!.replace(`:${at}`, `:${links[engine].port}`);
    }
    const data = join(folder, String(seat));
    mkdirSync(data, { recursive: true });
    const clock = steps_clocks ? steppedClock(data) : null;
    const program = spawn(process.execPath, [...programWords(checkout), "start"], {
      env: {
        ...environment,
        ...through,
        ...clock?.environment,
        TRAWL_DATA_DIR: data,
        TRAWL_ROLES: nodeRoles,
        TRAWL_STATUS_PORT: String(status_port),
        ...more,
      },
      stdio: ["ignore", "ignore", "pipe"],
    });
    programs.add(program);
    let stderr = "";
    program.stderr.on("data", (text: Buffer) => (stderr += text.toString()));
    const gone = once(program, "exit").finally(() => programs.delete(program));
    const ends_ms = performance.now() + MAX_STARTED_MS;
    let listening: RegExpExecArray | null = null;
    while (!(listening = /"node":"([^"]+)".*"msg":"Listening"/.exec(stderr))) {
      assert(program.exitCode === null, `A node ended while it started:\n${stderr}`);
      assert(performance.now() < ends_ms, `A node does not start:\n${stderr}`);
      await sleep(20);
    }
    const node: NodeOf = {
      name: listening[1]!,
      roles: nodeRoles,
      pid: program.pid!,
      status_url,
      links,
      async kill() {
        program.kill("SIGKILL");
        await gone;
      },
      async stop() {
        program.kill("SIGTERM");
        await gone;
        return program.exitCode;
      },
      pause: () => void program.kill("SIGSTOP"),
      resume: () => void program.kill("SIGCONT"),
      setClock(ahead_s) {
        assert(clock !== null, "The nodes run on the system's clock");
        clock.set(ahead_s);
      },
      isRunning: () => program.exitCode === null && program.signalCode === null,
      stderr: () => stderr,
    };
    nodes[seat] = node;
    return node;
  }

  async function close(): Promise<void> {
    const ended = [...programs].map(async (program) => {
      program.kill("SIGKILL");
      await once(program, "exit");
    });
    await Promise.all(ended);
    await nodeDirectory.close();
    for (const { links } of Object.values(nodes)) for (const link of Object.values(links)) await link.close();
    for (const engine of ownEngines.values()) await engine.stop();
    rmSync(folder, { recursive: true, force: true });
  }

  const call: ClusterOf["call"] = async (method, path, body) => {
    const answer = await request(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${ADMIN_KEY}` },
      ...(body && { body: JSON.stringify(body) }),
      headersTimeout: MAX_ANSWERED_MS,
    });
    return { status: answer.statusCode, json: await answer.body.json() };
  };

  const nodeDirectory = await natsNodeDirectory(direct["TRAWL_BUS"]!);
  try {
    await Promise.all(roles.map((nodeRoles) => add(nodeRoles, {}, first_checkout)));
  } catch (problem) {
    await close();
    throw problem;
  }
  return {
    url,
    key: ADMIN_KEY,
    call,
    async insist(...asked) {
      for (let tries = 1; ; tries++) {
        const answer = await call(...asked);
        if (![429, 503, 504].includes(answer.status)) return { ...answer, tries };
        await sleep(AGAIN_MS);
      }
    },
    bus,
    documents: ownEngines.get("documents"),
    blobs: ownEngines.get("blobs"),
    nodes,
    add,
    nodeDirectory,
    settled: (within_ms) =>
      settled(
        nodeDirectory,
        nodes.filter((node) => node.isRunning() && node.roles.includes("worker")).length,
        within_ms,
      ),
    async ownerOf(shard_by, key) {
      const partition = partitionOf(shard_by, key, await nodeDirectory.partitions());
      // A busy node may report too late to be heard.
      for (let wait_ms = 300; wait_ms < 20_000; wait_ms *= 2) {
        const reports = await nodeDirectory.nodes(wait_ms);
        const holder = reports.find(({ partitions }) =>
          partitions.some((owned) => owned.partition === partition),
        );
        if (holder) return nodes.find(({ name: known }) => known === holder.node);
      }
      return undefined;
    },
    environment,
    close,
  };
}

/** An address without its path and parameters. */
const baseOf = (address: string): string => /^\w+:\/\/[^/?]*/.exec(address)![0];
