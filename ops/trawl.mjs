#!/usr/bin/env node
// The trawl command on the pinned Node: puts the flag and main.ts before the arguments and lets node.mjs do the rest.
import { fileURLToPath } from "node:url";

const main = fileURLToPath(new URL("main.ts", import.meta.url));
process.argv.splice(2, 0, "--disable-warning=ExperimentalWarning", main);
await import("./node.mjs");
