/** The command line of the program itself, for tests and benches that start it. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const ROOT = new URL("../..", import.meta.url).pathname;

/** Words between `node` and the name of the command, as `npm start` has it. `checkout`: a folder; default: this one. */
export const programWords = (checkout = ROOT): readonly string[] => {
  const code_cache = resolve(checkout, "ops/code-cache.mjs");
  return [
    "--disable-warning=ExperimentalWarning",
    // The earliest versions have no code cache.
    ...(existsSync(code_cache) ? [`--import=${pathToFileURL(code_cache).href}`] : []),
    resolve(checkout, "ops/main.ts"),
  ];
};
