/**
 * Chromium's sandbox (Linux): whether the browser runs in it, and as which user. A service that is root runs the browser as
 * an unprivileged user with directories of its own, in its sandbox or not. A browser is tried once before its first page,
 * because only the kernel knows whether it grants what a sandbox needs (user namespaces, which containers and AppArmor may
 * refuse).
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import type { Chromium, Executable } from "./chromium.ts";

export type SandboxSetting = "auto" | "required" | "off";

/** `why`: the reason why there is none. */
export type SandboxState = { readonly is_on: true } | { readonly is_on: false; readonly why: string };

export interface SandboxedChromium extends Chromium {
  /** Whether the browser runs in its sandbox. Tries it when it was not tried yet. */
  readonly sandbox: () => Promise<SandboxState>;
  /** Without its sandbox the browser does not run. */
  readonly is_required: boolean;
  /** Removes the directories of the unprivileged user. */
  readonly close: () => Promise<void>;
}

export interface SandboxOptions {
  /** Default: required for root, else auto. */
  readonly setting?: SandboxSetting | undefined;
  /** A folder that only this process's user may write to. */
  readonly folder: string;
  /** Default: this process is root. */
  readonly is_root?: boolean;
}

/** Id of no account, outside of the ranges that Debian and systemd assign users from. */
const UNPRIVILEGED_ID = 60_999;
const TRIAL_MS = 15_000;
const TRIAL_CHARS = 300;

const OFF = "TRAWL_CHROMIUM_SANDBOX is off";
const RELAXED =
  "Allow user namespaces, or set TRAWL_CHROMIUM_SANDBOX=auto (without the sandbox where there is none) or off";

/**
 * Where the browser from npm is unpacked. The data folder of a service that is root is closed to the unprivileged user; in
 * /var/cache only root can write.
 */
export const programFolder = (data_folder: string, is_root = process.getuid?.() === 0): string =>
  is_root && process.platform === "linux" ? "/var/cache/trawl-chromium" : data_folder;

export function sandboxed(
  chromium: Chromium,
  { setting: given, folder, is_root = process.getuid?.() === 0 }: SandboxOptions,
): SandboxedChromium {
  const setting = given ?? (is_root ? "required" : "auto");
  let home: Promise<string> | undefined;
  let opening: Promise<{ readonly executable: Executable; readonly state: SandboxState }> | undefined;

  /** The program as it starts under the browser's user. */
  async function underItsUser(program: Executable): Promise<Executable> {
    if (!is_root || process.platform !== "linux") return program;
    home ??= newHome();
    return {
      path: await asUnprivileged(program.path, folder),
      env: { ...program.env, HOME: await home, TMPDIR: await home },
    };
  }

  async function open(): Promise<{ executable: Executable; state: SandboxState }> {
    const program = await underItsUser(await chromium.ready());
    const within = { executable: { ...program, sandbox: true }, state: { is_on: true } } as const;
    const without = (why: string) => ({
      executable: { ...program, sandbox: false },
      state: { is_on: false, why } as const,
    });
    if (setting === "off") return without(OFF);
    // Elsewhere the sandbox needs nothing from an operator.
    if (process.platform !== "linux") return within;
    const why = await tryOnce(program, { folder, is_root, flags: [] });
    if (why === null) return within;
    if (setting === "required")
      throw new Error(`The browser does not run in its sandbox: ${why}. ${RELAXED}`);
    const why_not_without = await tryOnce(program, { folder, is_root, flags: ["--no-sandbox"] });
    if (why_not_without !== null) throw new Error(`The browser does not run: ${why_not_without}`);
    return without(why);
  }

  const opened = () =>
    (opening ??= open().catch((problem: unknown) => {
      opening = undefined;
      throw problem;
    }));

  return {
    ...chromium,
    ready: async () => (await opened()).executable,
    sandbox: async () => (await opened()).state,
    is_required: setting === "required",
    async close() {
      if (home) await rm(await home, { recursive: true, force: true });
    },
  };
}

async function newHome(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), "trawl-browser-"));
  await chown(home, UNPRIVILEGED_ID, UNPRIVILEGED_ID);
  return home;
}

/**
 * A script that root runs instead of the program: the profile that Playwright made becomes the unprivileged user's, and so
 * does the process. setpriv (util-linux) runs the program under the same process id.
 */
async function asUnprivileged(program: string, folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const script = join(folder, "as-unprivileged.sh");
  const id = UNPRIVILEGED_ID;
  const lines = [
    "#!/bin/sh",
    'for word; do case "$word" in --user-data-dir=*)',
    `  chown ${id}:${id} "\${word#--user-data-dir=}" || exit 1`,
    "esac; done",
    `exec setpriv --reuid=${id} --regid=${id} --clear-groups --inh-caps=-all -- ${quoted(program)} "$@"`,
  ];
  await writeFile(script, `${lines.join("\n")}\n`, { mode: 0o700 });
  await chmod(script, 0o700);
  return script;
}

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

interface TrialOptions {
  readonly folder: string;
  readonly is_root: boolean;
  readonly flags: readonly string[];
}

/** Runs a script in an empty page. Null: it did; else the line in which the browser complained. */
async function tryOnce(
  { path, env }: Executable,
  { folder, is_root, flags }: TrialOptions,
): Promise<string | null> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // Not below the folder as root: the unprivileged user cannot reach it there.
  const profile = await mkdtemp(join(is_root ? tmpdir() : folder, "trawl-trial-"));
  const words = ["--headless", "--disable-gpu", `--user-data-dir=${profile}`, "--remote-debugging-pipe"];
  try {
    // A group of its own, so that no process of it stays.
    const child = spawn(path, [...words, ...flags], {
      env,
      detached: true,
      stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"],
    });
    const ended = once(child, "close");
    let complaints = "";
    (child.stdio[2] as Duplex).on(
      "data",
      (bytes: Buffer) => (complaints = (complaints + bytes.toString()).slice(-10_000)),
    );
    const timer = setTimeout(() => kill(child.pid), TRIAL_MS);
    const isRun = await Promise.race([
      runScript(child.stdio[3] as Duplex, child.stdio[4] as Duplex),
      ended.then(() => false),
    ]);
    clearTimeout(timer);
    kill(child.pid);
    await ended;
    if (isRun) return null;
    const lines = complaints.trim().split("\n");
    const worst = lines.find((line) => /FATAL|sandbox|setpriv|not found|denied/i.test(line)) ?? lines.at(-1);
    return (worst || "it did not start").slice(0, TRIAL_CHARS);
  } catch (problem) {
    return String(problem).slice(0, TRIAL_CHARS);
  } finally {
    await rm(profile, { recursive: true, force: true });
  }
}

interface DevToolsAnswer {
  readonly id?: number;
  readonly result?: { targetId?: string; sessionId?: string; result?: { value?: unknown } };
}

/** Opens a page and runs a script in it, by the DevTools protocol over a pipe. --dump-dom ends in no headless shell of npm. */
function runScript(into: Duplex, from: Duplex): Promise<boolean> {
  const send = (message: object): void => void into.write(`${JSON.stringify(message)}\0`);
  return new Promise((resolve) => {
    let rest = "";
    into.on("error", () => {});
    from.on("error", () => {});
    from.on("data", (bytes: Buffer) => {
      const messages = (rest + bytes.toString()).split("\0");
      rest = messages.pop()!;
      for (const text of messages) {
        const { id, result } = JSON.parse(text) as DevToolsAnswer;
        if (id === 1)
          send({
            id: 2,
            method: "Target.attachToTarget",
            params: { targetId: result?.targetId, flatten: true },
          });
        if (id === 2)
          send({
            id: 3,
            method: "Runtime.evaluate",
            params: { expression: "6 * 7" },
            sessionId: result?.sessionId,
          });
        if (id === 3) resolve(result?.result?.value === 42);
      }
    });
    send({ id: 1, method: "Target.createTarget", params: { url: "about:blank" } });
  });
}

function kill(group: number | undefined): void {
  try {
    if (group !== undefined) process.kill(-group, "SIGKILL");
  } catch {
    // It has ended.
  }
}
