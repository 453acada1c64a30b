/**
 * Chromium's sandbox (Linux): whether the browser runs in it, and as which user. As root Chromium has none, so there it runs
 * as an unprivileged user with directories of its own. A browser is tried once before its first page, because only the kernel
 * knows whether it grants what a sandbox needs (user namespaces, which containers and AppArmor may refuse).
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Chromium, Executable } from "./chromium.ts";

export type SandboxSetting = "auto" | "required" | "off";

/** `why`: the reason why there is none. */
export type SandboxState = { readonly is_on: true } | { readonly is_on: false; readonly why: string };

export interface SandboxedChromium extends Chromium {
  /** Whether the browser runs in its sandbox. Tries it when it was not tried yet. */
  readonly sandbox: () => Promise<SandboxState>;
  /** Removes the directories of the unprivileged user. */
  readonly close: () => Promise<void>;
}

export interface SandboxOptions {
  readonly setting: SandboxSetting;
  /** A folder that only this process's user may write to. */
  readonly folder: string;
  /** Default: this process is root. */
  readonly is_root?: boolean;
}

/** Of no account and outside of the ranges that Debian and systemd assign users from. */
const UNPRIVILEGED_ID = 60_999;
const TRIAL_MS = 15_000;
const TRIAL_CHARS = 300;

const OFF = "TRAWL_CHROMIUM_SANDBOX is off";
/** Seen with @sparticuz/chromium (headless shell for AWS Lambda): its processes crash in the sandbox, and the browser waits for them for ever. */
const NOT_NPM = "The Chromium from npm does not work in a sandbox";

export function sandboxed(
  chromium: Chromium,
  { setting, folder, is_root = process.getuid?.() === 0 }: SandboxOptions,
): SandboxedChromium {
  let home: Promise<string> | undefined;
  let opening: Promise<{ readonly executable: Executable; readonly state: SandboxState }> | undefined;

  /** The program as it starts in a sandbox. */
  async function inSandbox(program: Executable): Promise<Executable> {
    if (!is_root) return { ...program, sandbox: true };
    home ??= newHome();
    return {
      path: await asUnprivileged(program.path, folder),
      env: { ...program.env, HOME: await home, TMPDIR: await home },
      sandbox: true,
    };
  }

  async function open(): Promise<{ executable: Executable; state: SandboxState }> {
    const program = await chromium.ready();
    const without = { ...program, sandbox: false };
    if (setting === "off") return { executable: without, state: { is_on: false, why: OFF } };
    // Elsewhere the sandbox needs nothing from an operator.
    if (process.platform !== "linux")
      return { executable: { ...program, sandbox: true }, state: { is_on: true } };
    const why =
      chromium.from === "npm"
        ? NOT_NPM
        : await inSandbox(program).then(
            (executable) => tryOnce(executable, folder, is_root),
            (problem: unknown) => String(problem).slice(0, TRIAL_CHARS),
          );
    if (why === null) return { executable: await inSandbox(program), state: { is_on: true } };
    if (setting === "required") throw new Error(`The browser does not run in its sandbox: ${why}`);
    return { executable: without, state: { is_on: false, why } };
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

/** Renders an empty page. Null: it did; else the last line of what the browser complained. */
async function tryOnce({ path, env }: Executable, folder: string, is_root: boolean): Promise<string | null> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // Not below the folder as root: the unprivileged user cannot reach it there.
  const profile = await mkdtemp(join(is_root ? tmpdir() : folder, "trawl-trial-"));
  const words = ["--headless", "--disable-gpu", `--user-data-dir=${profile}`, "--dump-dom", "about:blank"];
  try {
    // A group of its own, so that no process of it stays.
    const child = spawn(path, words, { env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    let complaints = "";
    child.stdout.on("data", (bytes: Buffer) => (output += bytes.toString()));
    child.stderr.on("data", (bytes: Buffer) => (complaints = (complaints + bytes.toString()).slice(-10_000)));
    const timer = setTimeout(() => kill(child.pid), TRIAL_MS);
    await once(child, "close").finally(() => clearTimeout(timer));
    kill(child.pid);
    if (output.includes("<html")) return null;
    const lines = complaints.trim().split("\n");
    const worst = lines.find((line) => /FATAL|sandbox|setpriv|not found|denied/i.test(line)) ?? lines.at(-1);
    return (worst || "it did not start").slice(0, TRIAL_CHARS);
  } catch (problem) {
    return String(problem).slice(0, TRIAL_CHARS);
  } finally {
    await rm(profile, { recursive: true, force: true });
  }
}

function kill(group: number | undefined): void {
  try {
    if (group !== undefined) process.kill(-group, "SIGKILL");
  } catch {
    // It has ended.
  }
}
