/**
 * The service that the soak loads: one process on embedded engines, or a cluster of processes on engines of its own (`npm run engines`), whose nodes are
 * killed and drained one at a time while the others answer.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { sqliteDocuments } from "../cluster/adapters/documents/documents.sqlite.ts";
import { setRate } from "../actors/business/accounts/keys.ts";
import { clusterOf, type NodeOf } from "../test/harness/cluster-of.ts";
import { freePort } from "../test/harness/free-port.ts";
import { programWords } from "../test/harness/program-words.ts";
import { answering, cpuSeconds, ownResidentMb, residentMb } from "./harness.ts";

type Environment = Readonly<Record<string, string>>;
type Fault = readonly [name: string, inject: () => Promise<void>];

export interface SoakService {
  readonly url: string;
  /** An account admin key. */
  readonly key: string;
  /** Memory of all its processes, without its engines. */
  readonly residentMb: () => number;
  /** Memory of its main processes: without readers and browsers. */
  readonly mainMb: () => number;
  /** How often a process has been started: memory is compared between two starts. */
  readonly starts: () => number;
  /** kill -9 of a process, and its successor; resolves when the service is whole again. */
  readonly kill: () => Promise<void>;
  /** SIGTERM to a process, and its successor; resolves when the service is whole again. */
  readonly drain: () => Promise<void>;
  /** Faults that only this kind of service has; each lasts for `away_ms`. */
  readonly faults: (away_ms: number) => readonly Fault[];
  /** Ends it; resolves with the CPU seconds of all its processes. */
  readonly close: () => Promise<number>;
}

/** The default of a project would refuse a part of `--rate 180`. */
const MAX_RATE_RPS = 10_000;
const KEY = "ak_soak_0123456789abcdef";

export async function singleService(settings: Environment): Promise<SoakService> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const folder = mkdtempSync(join(tmpdir(), "trawl-soak-"));
  const environment = {
    PATH: process.env["PATH"],
    MALLOC_ARENA_MAX: "2",
    PORT: String(port),
    TRAWL_DATA_DIR: folder,
    TRAWL_ADMIN_KEY: KEY,
    TRAWL_EGRESS_ALLOW: "127.0.0.0/8",
    TRAWL_ARCHIVE_URL: "none",
    TRAWL_CHROMIUM_PATH: "none",
    ...settings,
  };
  let program: ChildProcess;
  let starts = 0;
  let cpu_s = 0;

  async function start(): Promise<void> {
    const words = [...programWords(), "start"];
    program = spawn(process.execPath, words, { env: environment, stdio: ["ignore", "ignore", "inherit"] });
    starts++;
    await answering(`${url}/ready`);
  }
  async function end(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    cpu_s += cpuSeconds(program.pid!);
    const ended = once(program, "exit");
    program.kill(signal);
    await ended;
  }

  await start();
  const documents = sqliteDocuments(join(folder, "documents.sqlite"));
  await setRate(documents, "default", MAX_RATE_RPS);
  await documents.close();
  return {
    url,
    key: KEY,
    residentMb: () => residentMb(program.pid!),
    mainMb: () => ownResidentMb(program.pid!),
    starts: () => starts,
    kill: async () => (await end("SIGKILL"), start()),
    drain: async () => (await end("SIGTERM"), start()),
    faults: () => [],
    async close() {
      await end("SIGTERM");
      rmSync(folder, { recursive: true });
      return cpu_s;
    },
  };
}

const ROLES = ["gateway", "worker", "worker", "browser"] as const;
const MAX_SETTLED_MS = 60_000;

/** Throws where an engine is missing. */
export async function clusterService(settings: Environment): Promise<SoakService> {
  // That a node listens is a line of the level info.
  const environment = { ...settings, TRAWL_CHROMIUM_PATH: "", TRAWL_LOG_LEVEL: "info" };
  const cluster = await clusterOf(ROLES, { own: ["documents", "blobs"], environment });
  if (cluster === null) throw new Error("Cannot run: engines are missing; npm run engines -- --install-only");
  let starts = ROLES.length;
  let cpu_s = 0;
  let turn = 0;
  const running = (): readonly NodeOf[] => cluster.nodes.filter((node) => node.isRunning());

  /** Another one of the workers and browser nodes each time: without its only gateway the cluster answers nothing. */
  async function replace(end: (node: NodeOf) => Promise<unknown>): Promise<void> {
    const nodes = running().filter(({ roles }) => roles !== "gateway");
    const node = nodes[turn++ % nodes.length]!;
    cpu_s += cpuSeconds(node.pid);
    await end(node);
    await cluster!.add(node.roles);
    starts++;
    await cluster!.settled(MAX_SETTLED_MS);
  }

  await cluster.settled(MAX_SETTLED_MS);
  await answering(`${cluster.url}/ready`);
  return {
    url: cluster.url,
    key: cluster.key,
    residentMb: () => running().reduce((sum, { pid }) => sum + residentMb(pid), 0),
    mainMb: () => running().reduce((sum, { pid }) => sum + ownResidentMb(pid), 0),
    starts: () => starts,
    kill: () => replace((node) => node.kill()),
    drain: () => replace((node) => node.stop()),
    faults: (away_ms) => [
      [
        "a worker is cut off its document store",
        async () => {
          const worker = running().find(({ roles }) => roles === "worker")!;
          worker.links.documents.cut();
          await sleep(away_ms);
          worker.links.documents.heal();
        },
      ],
      [
        "NATS is killed and started again",
        async () => {
          await cluster.bus.kill();
          await cluster.bus.restart();
          await cluster.settled(MAX_SETTLED_MS);
        },
      ],
    ],
    async close() {
      for (const { pid } of running()) cpu_s += cpuSeconds(pid);
      await cluster.close();
      return cpu_s;
    },
  };
}
