/**
 * Processes, ports, folders and waiting: what running an engine needs of the operating system.
 *
 * An engine is a tree of processes (PostgreSQL is a dozen). Three things make sure that none is left behind: each
 * engine has a process group of its own, it dies when the process that started it dies (Linux), and it counts as
 * dead when the last holder of a pipe, which all of them inherit, is gone.
 */
import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { closeSync, existsSync, openSync } from "node:fs";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { Engine, Program } from "../engine.ts";

const LOOPBACK = "127.0.0.1";
const START_MAX_MS = 60_000;
const ANSWER_MAX_MS = 2_000;
const TRIES = 3;
const TAKEN = /address already in use/i;
const SETPRIV = "/usr/bin/setpriv";

/** A program that dies with its parent, where the system supports that. */
const mortal = (command: readonly string[]): readonly string[] =>
  existsSync(SETPRIV) ? [SETPRIV, "--pdeathsig", "KILL", ...command] : command;

interface Tree {
  /** Resolves when nothing of it is left. */
  readonly exited: Promise<void>;
  ended(): boolean;
  signal(name: NodeJS.Signals): void;
  /** Resolves when no thread of it runs any more, or at once where the system does not say. */
  still(): Promise<void>;
}

/** The third and fifth field of proc_pid_stat(5); null: it is gone, or this is another system. */
async function stateOf(process: string): Promise<{ state: string; group: number } | null> {
  const text = await readFile(`/proc/${process}/stat`, "utf8").catch(() => null);
  if (text === null) return null;
  const [state, , group] = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return { state: state!, group: Number(group) };
}

/** A stop signal reaches the threads of a process one after the other. */
async function stoodStill(group: number): Promise<boolean> {
  const listed = (folder: string) => readdir(folder).catch(() => []);
  for (const process of (await listed("/proc")).filter((name) => /^\d+$/.test(name))) {
    if ((await stateOf(process))?.group !== group) continue;
    for (const thread of await listed(`/proc/${process}/task`)) {
      const threadState = await stateOf(`${process}/task/${thread}`);
      if (threadState && !"TtZX".includes(threadState.state)) return false;
    }
  }
  return true;
}

function launch(command: readonly string[], log: string): Tree {
  const [file, ...args] = mortal(command) as [string, ...string[]];
  const out = openSync(log, "a");
  // A group of its own, or Ctrl-C would reach the engines before us.
  const child = spawn(file, args, { detached: true, stdio: ["ignore", out, out, "pipe"] });
  closeSync(out);
  (child.stdio[3] as NodeJS.ReadableStream).resume();
  let ended = false;
  const over = Promise.withResolvers<void>();
  const end = () => {
    ended = true;
  };
  child.once("exit", end).once("close", over.resolve);
  child.once("error", () => (end(), over.resolve())); // there is no such program
  return {
    exited: over.promise,
    ended: () => ended,
    signal(name) {
      if (child.pid !== undefined && !ended) process.kill(-child.pid, name);
    },
    async still() {
      while (child.pid !== undefined && !ended && !(await stoodStill(child.pid))) await sleep(1);
    },
  };
}

/** The end of a program's output, as one line. */
async function lastWords(log: string): Promise<string> {
  const lines = (await readFile(log, "utf8").catch(() => "")).split("\n").map((line) => line.trim());
  return lines.filter(Boolean).slice(-2).join(" | ").slice(-400) || "it said nothing";
}

/** Runs a command to its end; throws with its last words. */
export async function run(command: readonly string[], log: string, max_ms: number): Promise<void> {
  const [file, ...args] = mortal(command) as [string, ...string[]];
  const out = openSync(log, "a");
  const child = spawn(file, args, { stdio: ["ignore", out, out], timeout: max_ms });
  closeSync(out);
  const end = await new Promise<string | number | null>((resolve) => {
    child.once("error", (problem) => resolve(problem.message));
    child.once("exit", (code, signal) => resolve(signal === null ? code : `stopped by ${signal}`));
  });
  if (end === 0) return;
  throw new Error(`"${command[0]}" ended with ${end}: ${await lastWords(log)}`);
}

/** A folder that names the process it belongs to, so that a later one may clear up after a crash. */
export async function ownFolder(parent: string, prefix: string): Promise<string> {
  for (const name of await readdir(parent)) {
    const owner = name.startsWith(prefix) ? Number(/^(\d+)-/.exec(name.slice(prefix.length))?.[1]) : NaN;
    if (owner > 0 && !alive(owner)) await rm(join(parent, name), { recursive: true, force: true });
  }
  return mkdtemp(join(parent, `${prefix}${process.pid}-`));
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (problem) {
    return (problem as NodeJS.ErrnoException).code === "EPERM";
  }
}

/**
 * Below the range from which systems take the ports of outgoing connections. Inside it, a client that keeps knocking
 * at a killed engine's port can be given that very port for its own end, connect to itself and keep the engine out.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(15_000, 30_000);
    const free = await new Promise<boolean>((resolve) => {
      const probe = createServer()
        .once("error", () => resolve(false))
        .listen(port, LOOPBACK, () => probe.close(() => resolve(true)));
    });
    if (free) return port;
  }
}

/** The first bytes a server sends on a loopback port, optionally after a request. */
export function firstWords(port: number, sent?: Buffer): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const socket = connect(port, LOOPBACK, () => sent && socket.write(sent))
    .setTimeout(ANSWER_MAX_MS, () => socket.destroy(new Error("silence")))
    .once("error", reject)
    .once("close", () => reject(new Error("closed")))
    .once("data", (words) => {
      resolve(words);
      socket.destroy();
    });
  return promise;
}

async function bringUp(program: Program, data: string, port: number, log: string): Promise<Tree> {
  const tree = launch(program.command(data, port), log);
  const since = performance.now();
  while (!tree.ended()) {
    const answers = await program.answers(port).catch(() => false);
    // If the engine has ended, another program answers on its port.
    if (answers && !tree.ended()) return tree;
    if (performance.now() - since > START_MAX_MS) break;
    await sleep(50);
  }
  const late = !tree.ended();
  tree.signal("SIGKILL");
  await tree.exited;
  const problem = late ? `no answer within ${START_MAX_MS / 1_000} s` : "it ended";
  throw new Error(`Cannot start ${program.title}: ${problem}: ${await lastWords(log)}`);
}

/** Starts a program on a free loopback port with fresh data. */
export async function start(program: Program): Promise<Engine> {
  const home = await ownFolder(tmpdir(), `trawl-${program.name}-`);
  const log = join(home, "log");
  const data = join(home, "data");
  let port = 0;
  let tree: Tree | undefined;
  try {
    await program.prepare?.(data);
    for (let tries = 1; tree === undefined; tries++) {
      port = await freePort(); // someone may take it before the engine does: another one, then
      tree = await bringUp(program, data, port, log).catch((problem: unknown) => {
        if (tries === TRIES || !TAKEN.test(String(problem))) throw problem;
        return undefined;
      });
    }
  } catch (problem) {
    await rm(home, { recursive: true, force: true });
    throw problem;
  }

  let running = tree;
  let wanted = true;
  const failed = Promise.withResolvers<void>();
  const watch = (watched: Tree) =>
    void watched.exited.then(() => {
      if (wanted && watched === running) failed.resolve();
    });
  watch(running);

  async function kill(): Promise<void> {
    wanted = false;
    running.signal("SIGKILL");
    await running.exited;
  }
  return {
    name: program.name,
    title: program.title,
    port,
    settings: program.settings(port),
    log,
    failed: failed.promise,
    kill,
    async restart() {
      await kill();
      running = await bringUp(program, data, port, log);
      wanted = true;
      watch(running);
    },
    async pause() {
      running.signal("SIGSTOP");
      await running.still();
    },
    resume: () => running.signal("SIGCONT"),
    async stop() {
      await kill();
      await rm(home, { recursive: true, force: true });
    },
  };
}
