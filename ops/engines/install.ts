/**
 * Finds each engine, or installs it into the cache: a folder outside the tree, one subfolder per program and version.
 *
 * A subfolder is built beside and renamed when it is whole, so one that is there is complete, an interrupted build
 * leaves nothing that counts, and of two at the same time one wins. What is left of a crash goes at the next build.
 */
import { constants } from "node:fs";
import { access, mkdir, readFile, rename, rm } from "node:fs/promises";
import { execFile } from "node:child_process";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { ownFolder, run } from "./adapters/process.ts";
import { APART, CONFIGURATION, ferretdb, mongod } from "./documents.ts";
import type { EngineName, Program, Settings } from "./engine.ts";
import { NATS_AT_LEAST, nats } from "./nats.ts";
import { moto, versitygw } from "./s3.ts";

const NATS = { module: "github.com/nats-io/nats-server/v2", version: "2.15.2" };
const FERRETDB = { module: "github.com/FerretDB/FerretDB/v2/cmd/ferretdb", version: "2.7.0" };
const VERSITYGW = { module: "github.com/versity/versitygw/cmd/versitygw", version: "1.8.0" };
const MOTO = "5.2.5";
/** Raise the number when documentdb-install.sh makes something else. */
const DOCUMENTDB = "documentdb-forky-1";
const BUILD_MAX_MS = 20 * 60_000;
export const HOW_TO_INSTALL = "npm run engines -- --install-only";

/** Where to look, and where to install. */
export interface InstallPlace {
  readonly cache: string;
  /** As in the environment variable PATH. */
  readonly path: string;
  /** A MongoDB of one's own, used instead. */
  readonly mongodb_url: string | undefined;
  /** Whether what is missing is installed or only reported. */
  readonly install: boolean;
  log(line: string): void;
}

export type EngineCommand =
  | { readonly kind: "program"; readonly program: Program }
  /** Runs already, elsewhere. */
  | { readonly kind: "external"; readonly title: string; readonly settings: Settings }
  | { readonly kind: "missing"; readonly reason: string };

/** `place` from an environment: TRAWL_ENGINES is the cache, else a folder of the user's. */
export function placeOf(
  env: NodeJS.ProcessEnv,
  home: string,
  install: boolean,
  log: InstallPlace["log"],
): InstallPlace {
  return {
    cache: env["TRAWL_ENGINES"] ?? join(env["XDG_CACHE_HOME"] || join(home, ".cache"), "trawl-engines"),
    path: env["PATH"] ?? "",
    mongodb_url: env["MONGODB_URL"] || undefined,
    install,
    log,
  };
}

export async function find(name: EngineName, place: InstallPlace): Promise<EngineCommand> {
  try {
    return await FINDERS[name](place);
  } catch (problem) {
    return { kind: "missing", reason: problem instanceof Error ? problem.message : String(problem) };
  }
}

const FINDERS: Record<EngineName, (place: InstallPlace) => Promise<EngineCommand>> = {
  async bus(place) {
    const own = await onPath("nats-server", place);
    const version = own && (await versionOf(own));
    if (own && version && atLeast(version, NATS_AT_LEAST))
      return { kind: "program", program: nats(own, version) };
    return { kind: "program", program: nats(await goProgram(NATS, place), NATS.version) };
  },

  async documents(place) {
    if (place.mongodb_url) {
      const settings = { TRAWL_DOCUMENTS: place.mongodb_url };
      return { kind: "external", title: "MongoDB at MONGODB_URL", settings };
    }
    const own = await onPath("mongod", place);
    if (own) return { kind: "program", program: mongod(own, (await versionOf(own)) ?? "of unknown version") };
    const binary = await goProgram(FERRETDB, place);
    const system = await cached(DOCUMENTDB, place, (folder, log) => documentdb(folder, log, place));
    const version = `${FERRETDB.version} over DocumentDB ${await readFile(join(system, "version"), "utf8")}`;
    return { kind: "program", program: ferretdb(binary, system, version) };
  },

  async blobs(place) {
    const [gateway, stand_in] = [
      await goCached(VERSITYGW, place),
      await isThere(join(place.cache, `moto-${MOTO}`)),
    ];
    if (gateway || !stand_in) {
      const binary = gateway ?? (await goProgram(VERSITYGW, place).catch((problem: Error) => problem));
      if (typeof binary === "string")
        return { kind: "program", program: versitygw(binary, VERSITYGW.version) };
      if (!place.install) throw binary;
      place.log(`${binary.message}; trying moto instead`);
    }
    const python = await onPath("python3", place);
    if (!python) throw new Error("versitygw needs Go and moto needs Python 3: neither is on the PATH");
    const packages = await cached(`moto-${MOTO}`, place, (folder, log) =>
      run([python, "-m", "pip", "install", "--target", folder, `moto[server]==${MOTO}`], log, BUILD_MAX_MS),
    );
    return { kind: "program", program: moto(packages, python, MOTO) };
  },
};

interface GoModule {
  readonly module: string;
  readonly version: string;
}

const goName = ({ module }: GoModule): string =>
  module
    .replace(/\/v\d+$/, "")
    .split("/")
    .at(-1)!;
const goFolder = (what: GoModule): string => `${goName(what)}-${what.version}`;

async function goCached(what: GoModule, place: InstallPlace): Promise<string | undefined> {
  const binary = join(place.cache, goFolder(what), goName(what));
  return (await isThere(binary)) ? binary : undefined;
}

/** The binary of a Go module, built by `go install`. */
async function goProgram(what: GoModule, place: InstallPlace): Promise<string> {
  const folder = await cached(goFolder(what), place, async (beside, log) => {
    const go = await onPath("go", place);
    if (!go) throw new Error(`${goName(what)} is built by Go, which is not on the PATH`);
    const source = `${what.module}@v${what.version}`;
    await run(["env", `GOBIN=${beside}`, "CGO_ENABLED=0", go, "install", source], log, BUILD_MAX_MS);
  });
  return join(folder, goName(what));
}

async function documentdb(folder: string, log: string, place: InstallPlace): Promise<void> {
  for (const tool of ["apt-get", "dpkg", "unshare", "bash", "wget", "perl"])
    if (!(await onPath(tool, place)))
      throw new Error(`DocumentDB comes in Debian packages, and "${tool}" is not here`);
  if (process.getuid?.() !== 0) throw new Error("DocumentDB runs in a chroot, which only root can make");
  const script = fileURLToPath(new URL("documentdb-install.sh", import.meta.url));
  await run([...APART, "bash", script, folder, CONFIGURATION], log, BUILD_MAX_MS);
}

/** The folder of that name in the cache, built first when it is missing and may be installed. */
export async function cached(
  name: string,
  place: InstallPlace,
  build: (folder: string, log: string) => Promise<void>,
): Promise<string> {
  const folder = join(place.cache, name);
  if (await isThere(folder)) return folder;
  if (!place.install) throw new Error(`no ${name} in ${place.cache}`);
  await mkdir(place.cache, { recursive: true });
  const beside = await ownFolder(place.cache, ".building-");
  const log = join(place.cache, `${name}.log`);
  await rm(log, { force: true });
  place.log(`installing ${name}, told in ${log}`);
  try {
    await mkdir(join(beside, name));
    await build(join(beside, name), log);
    await rename(join(beside, name), folder).catch(async (problem) => {
      if (!(await isThere(folder))) throw problem; // else someone was faster, and theirs is as good
    });
  } catch (problem) {
    throw new Error(`Cannot install ${name}: ${(problem as Error).message}`, { cause: problem });
  } finally {
    await rm(beside, { recursive: true, force: true });
  }
  return folder;
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

async function onPath(program: string, { path }: InstallPlace): Promise<string | undefined> {
  for (const folder of path.split(delimiter).filter(Boolean)) {
    const file = join(folder, program);
    const runs = access(file, constants.X_OK);
    if (await runs.then(() => true, () => false)) return file; // prettier-ignore
  }
  return undefined;
}

/** The first version number a program names when it is asked. */
async function versionOf(binary: string): Promise<string | undefined> {
  const { stdout } = await promisify(execFile)(binary, ["--version"], { timeout: 10_000 }).catch(() => ({
    stdout: "",
  }));
  return /(\d+\.\d+\.\d+)/.exec(stdout)?.[1];
}

function atLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const [a = 0, b = 0] = version.split(".").map(Number);
  return a > major || (a === major && b >= minor);
}
