/**
 * Keeps this program's TypeScript without its types, and V8's compiled code, in node_modules/.cache/trawl: a start takes half
 * the CPU time. Loaded with --import, so that the first module of the program comes from it. An entry is used only if it
 * was made from the same source by the same Node. Where the folder cannot be written nothing is kept.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import * as module from "node:module";
import { fileURLToPath } from "node:url";

const home = new URL("..", import.meta.url);
const folder = fileURLToPath(new URL("node_modules/.cache/trawl/", home));
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
  for (const part of ["actors", "cluster", "gateway", "ops", "schemas"]) {
    const root = fileURLToPath(new URL(part, home));
    for (const name of readdirSync(root, { recursive: true }))
      if (name.endsWith(".ts")) stripped(`${root}/${name}`);
  }
}

if (module.registerHooks && module.stripTypeScriptTypes) {
  try {
    mkdirSync(folder, { recursive: true });
  } catch {
    // It cannot be written.
  }
  module.enableCompileCache(`${folder}v8`);
  module.registerHooks({
    // Of a module by its place, which Node would look for on the disk several times. Not of require(), which tries several.
    resolve(specifier, context, next) {
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
