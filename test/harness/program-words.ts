/** The command line of the program itself, for tests and benches that start it. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const ROOT = new URL("../..", import.meta.url).pathname;

/** What follows `node` and stands before the name of the command, as `npm start` has it. `checkout`: a folder; default: this one. */
export const programWords = (checkout = ROOT): readonly string[] => {
  const code_cache = resolve(checkout, "ops/code-cache.mjs");
  return [
    "--disable-warning=ExperimentalWarning",
    // Of the earliest versions there is none.
    ...(existsSync(code_cache) ? [`--import=${pathToFileURL(code_cache).href}`] : []),
    resolve(checkout, "ops/main.ts"),
  ];
};
