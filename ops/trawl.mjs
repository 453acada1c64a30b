#!/usr/bin/env node
// The trawl command on the pinned Node: puts the flags and main.ts before the arguments and lets node.mjs do the rest. Where ../trawl has started it
// with these flags on that Node already, it goes on in this process.
import { fileURLToPath } from "node:url";

const main = new URL("main.ts", import.meta.url);
const cache = new URL("code-cache.mjs", import.meta.url);
if (process.execArgv.includes(`--import=${fileURLToPath(cache)}`)) {
  const { installMissing } = await import("./install.mjs");
  installMissing(fileURLToPath(new URL("..", import.meta.url)), process);
  await import(main.href);
} else {
  const flags = ["--disable-warning=ExperimentalWarning", `--import=${cache.href}`];
  process.argv.splice(2, 0, ...flags, fileURLToPath(main));
  await import("./node.mjs");
}
