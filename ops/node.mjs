#!/usr/bin/env node
// Runs its arguments on the pinned Node, whichever Node started this file; installs first what is missing (install.mjs).
// Plain JavaScript for old Nodes. Not prestart: ignore-scripts skips it. Not .bin/node: npm before 11.6 leaves it out.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { installMissing } from "./install.mjs";

const { platform, arch, env } = process;
const windows = platform === "win32";
const apple = platform === "darwin" && arch === "arm64";
const home = fileURLToPath(new URL("..", import.meta.url));
const pinned = `${apple ? "node-bin" : "node"}-${windows ? "win" : platform}-${arch}/bin/node${windows ? ".exe" : ""}`;

installMissing(home, process);

/** TRAWL_NODE=system: the Node that is here, from 22. Any other value, or none: the pinned one, with which uWebSockets.js runs. */
function binary() {
  const major = Number(process.versions.node.split(".")[0]);
  if (env.TRAWL_NODE === "system") {
    if (major >= 22) return process.execPath;
    process.stderr.write(`TRAWL_NODE=system needs Node 22 or later; this is ${process.versions.node}\n`);
    process.exit(2);
  }
  try {
    return createRequire(import.meta.url).resolve(pinned);
  } catch {
    return process.execPath; // no package for this platform: the Node that is here must do
  }
}

// Of glibc: by default each thread that allocates may have memory of its own (ops/decisions/0134-memory-under-load.md).
const limited = { MALLOC_ARENA_MAX: "2", ...env };
const child = spawn(binary(), process.argv.slice(2), { stdio: "inherit", env: limited });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => (signal ? process.kill(process.pid, signal) : process.exit(code ?? 1)));
