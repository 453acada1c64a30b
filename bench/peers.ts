/** Other crawlers beside ours: each in bench/peers with a manifest of its own, installed when a bench first asks for it. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";

export interface Result {
  readonly pages: number;
  readonly cpu_s: number;
  readonly wall_s: number;
  readonly rss_mb: number;
}

/** Fetches the addresses on core 1, 64 at once, and prints one JSON line at its end. Null: it could not be installed here. */
export type Peer = (addresses: readonly string[]) => Result | null;

const quietly = { stdio: "ignore" } as const;

function installed(folder: string, sign: string, install: () => void): boolean {
  if (existsSync(`${folder}/${sign}`)) return true;
  try {
    install();
    return true;
  } catch {
    return false;
  }
}

function run(command: readonly string[], addresses: readonly string[]): Result {
  const out = execFileSync("taskset", ["-c", "1", ...command], {
    input: addresses.join("\n"),
    maxBuffer: 2 ** 24,
    stdio: ["pipe", "pipe", "ignore"],
  });
  return JSON.parse(out.toString().trim().split("\n").at(-1)!) as Result;
}

/** A peer from npm. `flags` of its program. */
export function npmPeer(name: string, ...flags: readonly string[]): Peer {
  const folder = `bench/peers/${name}`;
  const ready = installed(folder, "node_modules", () =>
    execFileSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: folder, ...quietly }),
  );
  return (addresses) => (ready ? run([process.execPath, `${folder}/main.mjs`, ...flags], addresses) : null);
}

/** A peer from PyPI. */
export function pythonPeer(name: string, ...flags: readonly string[]): Peer {
  const folder = `bench/peers/${name}`;
  const ready = installed(folder, "venv/ready", () => {
    execFileSync("python3", ["-m", "venv", `${folder}/venv`], quietly);
    execFileSync(`${folder}/venv/bin/pip`, ["install", "-q", "-r", `${folder}/requirements.txt`], quietly);
    execFileSync("touch", [`${folder}/venv/ready`]);
  });
  return (addresses) =>
    ready ? run([`${folder}/venv/bin/python`, `${folder}/main.py`, ...flags], addresses) : null;
}
