/** Other crawlers beside ours: each in bench/peers with a manifest of its own, installed when a bench first asks for it. */
import { execFileSync, type ExecFileSyncOptions } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

export interface Result {
  readonly pages: number;
  readonly cpu_s: number;
  readonly wall_s: number;
  readonly rss_mb: number;
}

/** Fetches the addresses on core 1, 64 at once, and prints one JSON line at its end. Null: it could not be installed here. */
export type Peer = (addresses: readonly string[]) => Result | null;

const HERITRIX = "3.13.0";

/** Standard error is kept for the message of a failure. */
const quietly: ExecFileSyncOptions = { stdio: ["ignore", "ignore", "pipe"], maxBuffer: 2 ** 26 };

/** Programs that are compiled: outside the repository, so that every checkout uses one build of their libraries. */
const BUILT = join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "trawl-peers");

/** Runs `install`; if it fails, prints one line with the reason, and the peer is left out. */
function installed(name: string, install: () => void): boolean {
  try {
    install();
    return true;
  } catch (error) {
    const [reason, ...more] = error instanceof Error ? error.message.trim().split("\n") : [String(error)];
    console.error(`Not measured: ${name}. ${[reason, more.at(-1)].filter(Boolean).join(" ")}`);
    return false;
  }
}

/** The path of a tool chain's program, on PATH or in the folder of its installer. */
function toolChain(program: string, folder: string, advice: string): string {
  const found = [...(process.env["PATH"] ?? "").split(":"), folder].find((place) =>
    existsSync(join(place, program)),
  );
  if (found === undefined) throw new Error(`"${program}" was not found: install ${advice}`);
  return join(found, program);
}

function run(command: readonly string[], addresses: readonly string[]): Result {
  const out = execFileSync("taskset", ["-c", "1", ...command], {
    input: addresses.join("\n"),
    maxBuffer: 2 ** 24,
    stdio: ["pipe", "pipe", "ignore"],
  });
  return JSON.parse(out.toString().trim().split("\n").at(-1)!) as Result;
}

/** Crawls a site from its first address, fetching at most so many pages. */
export type SitePeer = (address: string, limit: number) => Result | null;

const sitePeer =
  (ready: boolean, command: readonly string[]): SitePeer =>
  (address, limit) =>
    ready ? run([...command, address, String(limit)], []) : null;

/** Whether a peer from npm is installed, now or before; if not, one line on standard error says why. */
export function npmReady(name: string): boolean {
  const folder = `bench/peers/${name}`;
  return installed(name, () => {
    if (existsSync(`${folder}/node_modules`)) return;
    execFileSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: folder, ...quietly });
  });
}

/** A peer from npm. `flags` of its program. */
export function npmPeer(name: string, ...flags: readonly string[]): Peer {
  const ready = npmReady(name);
  const words = [process.execPath, `bench/peers/${name}/main.mjs`, ...flags];
  return (addresses) => (ready ? run(words, addresses) : null);
}

/** `site.mjs` of a peer from npm. */
export const npmSitePeer = (name: string): SitePeer =>
  sitePeer(npmReady(name), [process.execPath, `bench/peers/${name}/site.mjs`]);

function pythonReady(name: string): boolean {
  const folder = `bench/peers/${name}`;
  return installed(name, () => {
    if (existsSync(`${folder}/venv/ready`)) return;
    execFileSync("python3", ["-m", "venv", `${folder}/venv`], quietly);
    execFileSync(`${folder}/venv/bin/pip`, ["install", "-q", "-r", `${folder}/requirements.txt`], quietly);
    execFileSync("touch", [`${folder}/venv/ready`]);
  });
}

/** A peer from PyPI. */
export function pythonPeer(name: string, ...flags: readonly string[]): Peer {
  const folder = `bench/peers/${name}`;
  const ready = pythonReady(name);
  return (addresses) =>
    ready ? run([`${folder}/venv/bin/python`, `${folder}/main.py`, ...flags], addresses) : null;
}

/** `site.py` of a peer from PyPI. */
export const pythonSitePeer = (name: string): SitePeer =>
  sitePeer(pythonReady(name), [`bench/peers/${name}/venv/bin/python`, `bench/peers/${name}/site.py`]);

/** `go build` itself does nothing when nothing has changed. `part`: the folder of the program in the peer's. */
function goReady(name: string, part: string, program: string): boolean {
  return installed(name, () => {
    const go = toolChain("go", "/usr/local/go/bin", "Go 1.24 or newer");
    mkdirSync(BUILT, { recursive: true });
    execFileSync(go, ["build", "-buildvcs=false", "-o", program, part], {
      cwd: `bench/peers/${name}`,
      ...quietly,
    });
  });
}

/** A peer from the Go module proxy. */
export function goPeer(name: string): Peer {
  const program = join(BUILT, name);
  const ready = goReady(name, ".", program);
  return (addresses) => (ready ? run([program], addresses) : null);
}

/** The program `site` of a peer from the Go module proxy. */
export function goSitePeer(name: string): SitePeer {
  const program = join(BUILT, `${name}-site`);
  return sitePeer(goReady(name, "./site", program), [program]);
}

/** Heritrix from Maven, 43 MB, with the profile that it brings (`peers/heritrix/run.py`). */
export function heritrixPeer(): SitePeer {
  const folder = join(BUILT, "heritrix");
  const [group, plugin] = [
    "org.archive.heritrix",
    "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy",
  ];
  const ready = installed("heritrix", () => {
    if (existsSync(join(folder, `heritrix-${HERITRIX}`, "lib"))) return;
    const maven = toolChain("mvn", "/usr/share/maven/bin", "Maven and a Java from 17 on");
    mkdirSync(folder, { recursive: true });
    const artifact = `-Dartifact=${group}:heritrix:${HERITRIX}:tar.gz:dist`;
    execFileSync(maven, ["-q", "-B", plugin, artifact, `-DoutputDirectory=${folder}`], quietly);
    execFileSync("tar", ["xzf", `heritrix-${HERITRIX}-dist.tar.gz`], { cwd: folder, ...quietly });
  });
  return sitePeer(ready, ["python3", "bench/peers/heritrix/run.py", join(folder, `heritrix-${HERITRIX}`)]);
}

/** A peer from crates.io. `cargo build` itself does nothing when nothing has changed; its first build takes minutes. */
export function cargoPeer(name: string): Peer {
  const target = join(BUILT, name);
  const ready = installed(name, () => {
    const folder = join(process.env["CARGO_HOME"] || join(homedir(), ".cargo"), "bin");
    const cargo = toolChain("cargo", folder, "Rust 1.88 or newer with cargo, and a C compiler");
    execFileSync(cargo, ["build", "--release", "--locked", "--target-dir", target], {
      cwd: `bench/peers/${name}`,
      ...quietly,
    });
  });
  return (addresses) => (ready ? run([join(target, "release", `trawl-bench-${name}`)], addresses) : null);
}
