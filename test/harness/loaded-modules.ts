/** Loaded with --import: writes the URL of each module that this process loads to a file of its own in LOADED_MODULES. */
import { appendFileSync } from "node:fs";
import { registerHooks } from "node:module";

registerHooks({
  load(url, context, nextLoad) {
    appendFileSync(`${process.env["LOADED_MODULES"]!}/${process.pid}`, `${url}\n`);
    return nextLoad(url, context);
  },
});
