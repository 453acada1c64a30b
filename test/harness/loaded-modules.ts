/** Loaded with --import: writes the URL of each module that this process loads to a file of its own in LOADED_MODULES. */
import { appendFileSync } from "node:fs";
import { registerHooks } from "node:module";
// Its hooks are registered first, so that this one is asked before them and sees what they resolve.
// oxlint-disable-next-line import/no-unassigned-import
import "../../ops/code-cache.mjs";

registerHooks({
  // Not a load hook: that of the cache of compiled code (ops/code-cache.mjs) loads modules by itself.
  resolve(specifier, context, nextResolve) {
    const resolved = nextResolve(specifier, context);
    appendFileSync(`${process.env["LOADED_MODULES"]!}/${process.pid}`, `${resolved.url}\n`);
    return resolved;
  },
});
