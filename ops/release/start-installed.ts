/** Installs a packed @trawl/server in an empty folder, starts it as a stranger would, asks it, and stops it. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Environment } from "../settings-reader.ts";

export interface InstalledService {
  readonly version: string;
  /** Which server carries the API, as a sentence. */
  readonly http_server: string;
  /** The title of a demo page that was fetched. */
  readonly title: string;
}

/** An installed service that runs, with its address and the key of its first project. */
export interface StartedService extends InstalledService {
  readonly url: string;
  readonly key: string;
}

const run = promisify(execFile);
const START_MS = 60_000;
const INSTALL = [
  "install",
  "--ignore-scripts",
  "--no-audit",
  "--no-fund",
  "--prefer-offline",
  "--loglevel=error",
];

/** `packed`: the tarball. Rejects with npm's or the service's output when it does not install, start or answer. */
export async function startInstalled(packed: string, environment: Environment): Promise<InstalledService> {
  const folder = await installed(packed, environment);
  try {
    return await startIn(folder, environment);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** An empty folder in which the package was installed. The caller removes it. */
export async function installed(packed: string, environment: Environment): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "trawl-release-"));
  writeFileSync(join(folder, "package.json"), "{}\n");
  await run("npm", [...INSTALL, packed], { cwd: folder, env: strangersEnvironment(environment) });
  return folder;
}

/** Without the programs of a checkout, which `npm test` and `npm run` put first: npm is to run on the Node that it came with. */
function strangersEnvironment(given: Environment): Environment {
  const folders = (given["PATH"] ?? "").split(delimiter);
  return { ...given, PATH: folders.filter((path) => !path.endsWith("/node_modules/.bin")).join(delimiter) };
}

/** `node`: the program that starts the command; default: the one of PATH. */
export async function startIn(folder: string, given: Environment, node?: string): Promise<InstalledService> {
  const outside = strangersEnvironment(given);
  const PATH = [...(node ? [dirname(node)] : []), outside["PATH"]].join(delimiter);
  const data = mkdtempSync(join(folder, "data-"));
  const environment = { ...outside, PATH, PORT: "0", TRAWL_DATA_DIR: data, TRAWL_DEMO: "on" };
  const service = spawn(join(folder, "node_modules/.bin/trawl"), ["start"], {
    cwd: folder,
    env: environment,
    stdio: ["ignore", "pipe", "pipe"],
  });
  try {
    return await askForDemo(service);
  } finally {
    if (service.exitCode === null && service.kill("SIGTERM")) await once(service, "exit");
  }
}

/** `service`: `trawl start`, with the demo pages and a first key. Rejects with its output when it does not start or answer. */
export async function askForDemo(service: ChildProcess): Promise<StartedService> {
  const { url, key } = await firstRequest(service);
  const ready = (await (await fetch(`${url}/ready`)).json()) as Omit<InstalledService, "title">;
  const page = await fetch(`${url}/v1/fetch`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ url: `${url}/demo/tide-mill` }),
  });
  // A refusal has no title.
  const { title, error } = (await page.json()) as { title?: string | null; error: unknown };
  if (typeof title !== "string")
    throw new Error(`The demo page was not fetched: ${page.status} ${JSON.stringify(error)}`);
  return { version: ready.version, http_server: ready.http_server, title, url, key };
}

/** Output of a service, fit for a log: the first start prints an admin key. */
export const withoutKeys = (printed: string): string =>
  printed.replaceAll(/\b([sao]k_)[0-9A-Za-z_-]{17,200}/g, "$1…");

/** Resolves with the address and the key of the request that the first start prints, which it does once it listens. */
function firstRequest(service: ChildProcess): Promise<{ readonly url: string; readonly key: string }> {
  return new Promise((resolve, reject) => {
    let printed = "";
    const late = AbortSignal.timeout(START_MS);
    late.addEventListener("abort", () =>
      reject(new Error(withoutKeys(`No request to try within ${START_MS} ms: ${printed}`))),
    );
    const look = (text: Buffer): void => {
      printed += text.toString();
      const [, url, key] = /curl (\S+)\/v1\/fetch -H "Authorization: Bearer (\S+)"/.exec(printed) ?? [];
      if (url !== undefined && key !== undefined) resolve({ url, key });
    };
    service.stdout!.on("data", look);
    service.stderr!.on("data", look);
    service.once("exit", (code) =>
      reject(new Error(withoutKeys(`The service ended with ${code}: ${printed}`))),
    );
  });
}
