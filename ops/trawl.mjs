#!/usr/bin/env node
// The trawl command on the pinned Node: puts the flags and main.ts before the arguments and lets node.mjs do the rest.
import { fileURLToPath } from "node:url";

const main = fileURLToPath(new URL("main.ts", import.meta.url));
const cache = new URL("code-cache.mjs", import.meta.url).href;
process.argv.splice(2, 0, "--disable-warning=ExperimentalWarning", `--import=${cache}`, main);
await import("./node.mjs");
