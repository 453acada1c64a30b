/**
 * Keeps this program's TypeScript without its types, V8's compiled code, and typebox in a few modules, in
 * node_modules/.cache/trawl (of an installed package in the user's cache): a start takes less than half the CPU time. Loaded with --import, so that the first module of the
 * program comes from it. An entry is used only if it was made from the same source by the same Node. Where the folder cannot
 * be written nothing is kept. Compiled code is kept for each set of V8's flags, so this file sets those of the service, too.
 */
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import * as module from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { env } from "node:process";
import { isMainThread } from "node:worker_threads";

const home = new URL("..", import.meta.url);
/** Compiled code of an installed package is kept in the user's cache: its own folders may belong to somebody else. Null: the user has no home. */
function cacheFolder() {
  const isInstalled = home.pathname.includes("/node_modules/");
  if (!isInstalled) return fileURLToPath(new URL("node_modules/.cache/trawl/", home));
  try {
    return join(env.XDG_CACHE_HOME || join(homedir(), ".cache"), "trawl/");
  } catch {
    // Processes that read documents have no HOME, and the user, such as the one of a container, may be in no list of users.
    return null;
  }
}
const folder = cacheFolder();
/**
 * A heap that may become so large grows up to fourfold by V8's own rule between two collections of old objects, a smaller one (of a process that
 * reads documents) by 30 to 100 %. Under load most of the main process was garbage (ops/decisions/0134-memory-under-load.md).
 */
const FOURFOLD_FROM_BYTES = 2 * 2 ** 30;
const GROWING_PERCENT = 100;
const hashOf = (text) => createHash("sha256").update(text).digest("base64url");
let isFilled = false;

/** A module without its types, from the cache where it is there; the first one that is not fills the cache. */
function stripped(path) {
  const source = readFileSync(path, "utf8");
  const entry = `${folder}${hashOf(path)}.mjs`;
  const mark = `\n//${hashOf(process.version + source)}`;
  try {
    const kept = readFileSync(entry, "utf8");
    if (kept.endsWith(mark)) return kept;
  } catch {
    // There is none.
  }
  const code = module.stripTypeScriptTypes(source) + mark;
  try {
    writeFileSync(`${entry}.${process.pid}`, code);
    renameSync(`${entry}.${process.pid}`, entry);
    fill();
  } catch {
    // The folder cannot be written, or the disk is full.
  }
  return code;
}

/** All modules of the program: processes that read documents load theirs without the right to write. */
function fill() {
  if (isFilled) return;
  isFilled = true;
  for (const part of ["actors", "cluster", "gateway", "node", "ops", "records", "schemas"]) {
    const root = fileURLToPath(new URL(part, home));
    for (const name of readdirSync(root, { recursive: true }))
      if (name.endsWith(".ts")) stripped(`${root}/${name}`);
  }
}

/** A bundle that another process began so long ago and did not finish is begun anew. */
const STALE_BUNDLE_MS = 60_000;

/** The folder of typebox's bundle, which has its version; null: typebox is not installed. */
function bundleFolder() {
  try {
    const { version } = JSON.parse(readFileSync(new URL("node_modules/typebox/package.json", home), "utf8"));
    return `${folder}typebox-${version}/`;
  } catch {
    return null;
  }
}

/**
 * typebox comes as 683 modules, a quarter of a start's CPU time. Nothing is made where there is no bundler (--omit=dev). In a process of its own: the bundler
 * would leave 110 MB in the allocator of this one.
 */
function bundleTypes(made) {
  if (!existsSync(new URL("node_modules/rolldown/package.json", home))) return;
  const making = `${made.slice(0, -1)}.making`;
  try {
    if (existsSync(making) && Date.now() - statSync(making).mtimeMs > STALE_BUNDLE_MS)
      rmSync(making, { recursive: true });
    mkdirSync(making);
  } catch {
    return; // Another process makes it, or the folder cannot be written.
  }
  const program = fileURLToPath(new URL("./bundle-types.mjs", import.meta.url));
  const giveUp = () => rmSync(making, { recursive: true, force: true });
  try {
    const { spawn } = process.getBuiltinModule("node:child_process");
    spawn(process.execPath, [program, fileURLToPath(home), making, made], {
      stdio: "ignore",
      env: { ...env, NODE_OPTIONS: "" },
    }).on("error", giveUp);
  } catch {
    giveUp(); // This process may start no other.
  }
}

const isGiven = process.execArgv.some((flag) => flag.startsWith("--heap-growing-percent"));
if (isMainThread && !isGiven && getHeapStatistics().heap_size_limit >= FOURFOLD_FROM_BYTES)
  setFlagsFromString(`--heap-growing-percent=${GROWING_PERCENT}`);

if (folder !== null && module.registerHooks && module.stripTypeScriptTypes) {
  try {
    mkdirSync(folder, { recursive: true });
  } catch {
    // It cannot be written.
  }
  const made = bundleFolder();
  const bundle = made !== null && existsSync(made) ? pathToFileURL(made) : null;
  if (made !== null && bundle === null && isMainThread) bundleTypes(made);
  module.enableCompileCache(`${folder}v8`);
  module.registerHooks({
    // Of a module by its place, which Node would look for on the disk several times. Not of require(), which tries several.
    resolve(specifier, context, next) {
      if (bundle !== null && /^typebox(?:\/\w+)?$/.test(specifier))
        return { url: new URL(`${specifier.split("/").at(-1)}.mjs`, bundle).href, shortCircuit: true };
      const isPlace = /^\.\.?\/.*\.(?:ts|mjs|js)$/.test(specifier) && context.conditions.includes("import");
      if (!isPlace || !context.parentURL?.startsWith("file:")) return next(specifier, context);
      return { url: new URL(specifier, context.parentURL).href, shortCircuit: true };
    },
    load(url, context, next) {
      if (!url.startsWith(home.href) || !url.endsWith(".ts") || url.includes("/node_modules/"))
        return next(url, context);
      return { format: "module", source: stripped(fileURLToPath(url)), shortCircuit: true };
    },
  });
}
