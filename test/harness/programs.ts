/** Programs of other people for tests that want the real thing: found or not, started on loopback, ended with the test. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect } from "node:net";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** The first of these programs that exists: names are searched on PATH and in sbin, paths are used as they are. */
export function findProgram(...names: readonly string[]): string | null {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin"];
  const paths = names.flatMap((name) =>
    name.includes("/") ? [name] : folders.map((folder) => join(folder, name)),
  );
  return paths.find((path) => existsSync(path)) ?? null;
}

const MAX_READY_MS = 20_000;
const LOOK_EVERY_MS = 25;

export interface Program {
  readonly close: () => Promise<void>;
}

/** Starts it and waits until it listens. */
export async function program(
  path: string,
  words: readonly string[],
  port: number,
  cwd?: string,
): Promise<Program> {
  const child = spawn(path, words, { stdio: ["ignore", "ignore", "pipe"], ...(cwd && { cwd }) });
  let stderr = "";
  child.stderr.on("data", (bytes: Buffer) => (stderr = `${stderr}${bytes.toString()}`.slice(-2_000)));
  for (const until_ms = Date.now() + MAX_READY_MS; !(await listens(port)); await sleep(LOOK_EVERY_MS)) {
    if (child.exitCode !== null || Date.now() > until_ms) {
      await ended(child);
      throw new Error(`Cannot start "${path}": it does not listen on ${port}\n${stderr}`);
    }
  }
  return { close: () => ended(child) };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("connect", () => (socket.destroy(), resolve(true))).on("error", () => resolve(false));
  });
}
