/**
 * Helpers of benches: a program started as its own process tree, the CPU seconds the whole tree used (children that
 * ended included), a running service with a key without limits, and a machine described in one line.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, release, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Agent, request } from "undici";
import { createKey } from "../actors/business/accounts/keys.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import { sqliteDocuments } from "../cluster/adapters/documents/documents.sqlite.ts";
import type { ClusterOf } from "../test/harness/cluster-of.ts";
import { programWords } from "../test/harness/program-words.ts";
import type { Project } from "../schemas/accounts.ts";

const TICKS_PER_S = Number(execFileSync("getconf", ["CLK_TCK"]).toString());

/** User and system seconds of a process alone. */
export const ownCpuSeconds = (pid: number): number => {
  const fields = statOf(pid);
  return fields ? (Number(fields[11]) + Number(fields[12])) / TICKS_PER_S : 0;
};

/** User and system seconds of a process, of what it waited for, and of everything that lives below it. */
export function cpuSeconds(pid: number): number {
  const fields = statOf(pid);
  if (!fields) return 0;
  const own = [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0) / TICKS_PER_S;
  return childrenOf(pid).reduce((sum, child) => sum + cpuSeconds(child), own);
}

/** Resident megabytes of a process alone. */
export const ownResidentMb = (pid: number): number => (Number(statOf(pid)?.[21] ?? 0) * 4_096) / 2 ** 20;

/** Resident megabytes of a process and everything below it. */
export const residentMb = (pid: number): number =>
  childrenOf(pid).reduce((sum, child) => sum + residentMb(child), ownResidentMb(pid));

/** Memory of a process alone, with pages that several processes share counted once among them (Linux from 4.14). */
export function ownProportionalMb(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, "latin1");
    return Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0) / 1_024;
  } catch {
    // It has just ended.
    return 0;
  }
}

/** Memory of a process and everything below it, with pages that they share counted once. */
export const proportionalMb = (pid: number): number =>
  childrenOf(pid).reduce((sum, child) => sum + proportionalMb(child), ownProportionalMb(pid));

/** The fields of /proc/<pid>/stat behind the command's name: index 0 is the state. */
function statOf(pid: number): readonly string[] | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return null;
  }
}

function childrenOf(pid: number): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && statOf(Number(name))?.[1] === String(pid))
    .map(Number);
}

export interface StartedService {
  readonly pid: number;
  readonly child: ChildProcess;
  readonly stop: () => Promise<void>;
}

/** Where a program's log goes: nowhere, or into a pipe that this process reads, as that of a service under systemd or in a container. */
type LogTo = "nowhere" | "pipe";

/**
 * A program on one core. It does not outlive this process, however that ends: left behind it would share its port
 * with the program of the next run. `folder`: where it runs.
 */
export function pinned(
  core: number,
  args: readonly string[],
  env: Record<string, string> = {},
  folder = ".",
  log: LogTo = "nowhere",
): StartedService {
  const inSameLife = ["setpriv", "--pdeathsig", "TERM"] as const;
  const onCore = ["taskset", "-c", String(core)] as const;
  const [command, ...words] = [...inSameLife, ...onCore, process.execPath, ...args];
  const child = spawn(command, words, {
    // The program prints for people.
    stdio: ["ignore", "ignore", log === "pipe" ? "pipe" : "ignore"],
    env: { ...process.env, ...env },
    cwd: folder,
  });
  child.stderr?.resume();
  return {
    pid: child.pid!,
    child,
    stop: async () => {
      if (child.exitCode !== null) return;
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await ended;
    },
  };
}

const answers = (url: string): Promise<boolean> =>
  fetch(url).then(
    (reply) => reply.ok,
    () => false,
  );

export async function answering(url: string): Promise<void> {
  for (let tries = 0; tries < 1_200; tries++) {
    if (await answers(url)) return;
    await sleep(50);
  }
  throw new Error(`Cannot reach "${url}"`);
}

/** CPU time of all cores: seconds in which they were busy, and all seconds, since the machine was started. */
export function machineCpu(): { readonly busy_s: number; readonly all_s: number } {
  const line = readFileSync("/proc/stat", "latin1").split("\n")[0]!;
  // user, nice, system, idle, iowait, irq, softirq, steal; guests are in user.
  const ticks = line.split(/\s+/).slice(1, 9).map(Number);
  const all = ticks.reduce((sum, each) => sum + each, 0);
  return { busy_s: (all - ticks[3]! - ticks[4]!) / TICKS_PER_S, all_s: all / TICKS_PER_S };
}

/** How requests to hosts kept a delay; about the same number of requests for each host. */
export function politenessOf(
  sent: readonly { readonly domain: string; readonly at_ms: number }[],
  delay_ms: number,
) {
  const by_host = [...Map.groupBy(sent, ({ domain }) => domain).values()].map((all) =>
    all.map(({ at_ms }) => at_ms).toSorted((a, b) => a - b),
  );
  const gaps_ms = by_host.flatMap((times) => times.slice(1).map((at_ms, n) => at_ms - times[n]!));
  const spans_ms = by_host.map((times) => times.at(-1)! - times[0]!);
  const rates = by_host.map((times, n) => ((times.length - 1) * delay_ms) / spans_ms[n]!);
  const ideal_ms = (sent.length / by_host.length - 1) * delay_ms;
  return {
    pages: sent.length,
    hosts: by_host.length,
    ideal_ms,
    smallest_gap_ms: Math.min(...gaps_ms),
    median_gap_ms: median(gaps_ms),
    largest_gap_ms: Math.max(...gaps_ms),
    span_of_a_host_ms: { median: median(spans_ms), most: Math.max(...spans_ms) },
    rate_of_ideal: Number(median(rates).toFixed(3)),
    slowest_host_of_ideal: Number(Math.min(...rates).toFixed(3)),
  };
}

/** Requests that a server answered to wrk. */
export interface Load {
  readonly requests: number;
  /** Requests a second of the server's CPU. */
  readonly per_cpu_s: number;
  /** Requests a second of the clock: the server shares the machine with wrk. */
  readonly per_s: number;
}

/** POST requests from core 0, by default 64 at once, to the server that is this process. Throws when an answer is no 2xx. Needs wrk. */
export function loadByWrk(
  pid: number,
  ask: {
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
    readonly seconds: number;
    readonly connections?: number;
  },
): Load {
  const folder = mkdtempSync(join(tmpdir(), "trawl-wrk-"));
  const script = join(folder, "post.lua");
  const file = join(folder, "body");
  writeFileSync(file, ask.body);
  const lines = Object.entries(ask.headers).map(([name, value]) => `wrk.headers["${name}"] = "${value}"`);
  const read = `wrk.body = io.open("${file}"):read("*all")`;
  writeFileSync(script, [`wrk.method = "POST"`, read, ...lines].join("\n"));
  const before = cpuSeconds(pid);
  const words = [
    "-c",
    "0",
    "wrk",
    "-t1",
    `-c${ask.connections ?? 64}`,
    `-d${ask.seconds}s`,
    "-s",
    script,
    ask.url,
  ];
  const text = execFileSync("taskset", words).toString();
  const used_s = cpuSeconds(pid) - before;
  rmSync(folder, { recursive: true });
  if (/Non-2xx|Socket errors/.test(text)) throw new Error(`Cannot measure ${ask.url}:\n${text}`);
  const requests = Number(/(\d+) requests in/.exec(text)![1]);
  return {
    requests,
    per_cpu_s: requests / used_s,
    per_s: Number(/Requests\/sec:\s+([\d.]+)/.exec(text)![1]),
  };
}

export interface Service extends StartedService {
  /** Folder of its data. */
  readonly folder: string;
  readonly url: string;
  readonly key: string;
}

/** The whole service as `npm start` runs it, on one core, with a project that no rate limits. Throws when it does not start. */
export async function service(
  core: number,
  port: number,
  env: Record<string, string> = {},
  /** Options of Node. */
  flags: readonly string[] = [],
  /** Folder of this or another checkout. */
  checkout = ".",
  log: LogTo = "nowhere",
): Promise<Service> {
  const folder = mkdtempSync(join(tmpdir(), "trawl-bench-"));
  const settings = {
    PORT: String(port),
    TRAWL_DATA_DIR: folder,
    TRAWL_EGRESS_ALLOW: "127.0.0.0/8",
    TRAWL_POLITE_DELAY_MS: "0",
    TRAWL_POLITE_CONCURRENCY: "64",
    // As ops/node.mjs starts it.
    MALLOC_ARENA_MAX: "2",
    ...env,
  };
  const url = `http://127.0.0.1:${port}`;
  if (await answers(`${url}/health`))
    throw new Error(`Cannot start at "${url}": another service answers there`);
  const started = pinned(core, [...flags, ...programWords(checkout), "start"], settings, checkout, log);
  const ended = once(started.child, "exit").then(([code]) => {
    throw new Error(`Cannot start at "${url}": the service ended with ${code}`);
  });
  // When it is stopped later, that is no error.
  ended.catch(() => {});
  await Promise.race([answering(`${url}/health`), ended]);
  const documents = sqliteDocuments(join(folder, "documents.sqlite"));
  const key = await keyWithoutLimits(documents);
  return {
    ...started,
    folder,
    url,
    key,
    stop: async () => {
      await started.stop();
      rmSync(folder, { recursive: true });
    },
  };
}

/** A key of a project of its own that no limit of requests concerns. Closes the documents. */
export async function keyWithoutLimits(documents: Documents): Promise<string> {
  const project = (await documents.get("projects", "default"))!.value as Project;
  const unlimited: Project = { ...project, name: "bench", rate_limit_rps: 10_000_000 };
  await documents.put("projects", "bench", unlimited, 0, { tag: unlimited.customer });
  const { key } = await createKey(documents, { project: "bench", role: "standard" }, Date.now());
  await documents.close();
  return key;
}

const MAX_TRIES = 60;
const AGAIN_MS = 500;

/**
 * Fetches a page anew by the plain route. As a client should: 503 is tried again. On a machine with much else to do the service may
 * have more pages to read than it reads soon. Throws where the answer's error is neither null nor `expected`.
 */
export async function fetchPage(
  { url, key }: Pick<Service, "url" | "key">,
  dispatcher: Agent,
  page: string,
  expected: string | null = null,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    const reply = await request(`${url}/v1/fetch`, {
      method: "POST",
      dispatcher,
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ url: page, cache_ttl_s: 0, include_html: false, tiers: ["direct"] }),
    });
    const answer = (await reply.body.json()) as { error?: string | null };
    if (answer.error === null || answer.error === expected) return;
    if (reply.statusCode !== 503 || tries === MAX_TRIES)
      throw new Error(`Cannot fetch "${page}": ${reply.statusCode} ${JSON.stringify(answer)}`);
    await sleep(AGAIN_MS);
  }
}

/** Settings of one node of a cluster: straight to the engines, when links are not what is measured. */
export function unlinked({ environment }: Pick<ClusterOf, "environment">): Record<string, string> {
  const { TRAWL_BUS, TRAWL_DOCUMENTS, S3_ENDPOINT } = environment as Record<string, string>;
  return {
    TRAWL_BUS: TRAWL_BUS!,
    TRAWL_DOCUMENTS: TRAWL_DOCUMENTS!,
    ...(S3_ENDPOINT && { S3_ENDPOINT }),
  };
}

export const machine = (): string =>
  `${cpus().length} × ${cpus()[0]!.model}, ${release()}, Node ${process.version}, load ${loadavg()[0]!.toFixed(1)}`;

export const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]!;
