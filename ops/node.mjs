#!/usr/bin/env node
// Runs its arguments on the pinned Node, whichever Node started this file; installs first what is missing (install.mjs).
// Plain JavaScript for old Nodes. Not prestart: ignore-scripts skips it. Not .bin/node: npm before 11.6 leaves it out.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { installMissing } from "./install.mjs";

const { platform, arch, env } = process;
const windows = platform === "win32";
const apple = platform === "darwin" && arch === "arm64";
const home = fileURLToPath(new URL("..", import.meta.url));
const pinned = `${apple ? "node-bin" : "node"}-${windows ? "win" : platform}-${arch}/bin/node${windows ? ".exe" : ""}`;

installMissing(home, process);

/** Null: there is no package for this platform. */
function pinnedNode() {
  try {
    return createRequire(import.meta.url).resolve(pinned);
  } catch {
    return null;
  }
}

/** npm and npx put the pinned Node first on PATH: the user's own is the first other one. */
function usersNode() {
  const ours = pinnedNode();
  const isOurs = (path) => ours !== null && realpathSync(path) === realpathSync(ours);
  const own = { path: process.execPath, version: process.versions.node };
  if (!isOurs(own.path)) return own;
  const places = (env.PATH ?? "")
    .split(delimiter)
    .map((folder) => join(folder, windows ? "node.exe" : "node"));
  const path = places.find((place) => existsSync(place) && !isOurs(place));
  if (path === undefined) return own;
  const { stdout } = spawnSync(path, ["-p", "process.versions.node"], { encoding: "utf8" });
  return { path, version: (stdout ?? "").trim() };
}

/** TRAWL_NODE=system: the Node that is here, from 22. Any other value, or none: the pinned one, with which uWebSockets.js runs. */
function binary() {
  if (env.TRAWL_NODE === "system") {
    const { path, version } = usersNode();
    if (Number(version.split(".")[0]) >= 22) return path;
    process.stderr.write(`TRAWL_NODE=system needs Node 22 or later; this is ${version}\n`);
    process.exit(2);
  }
  return pinnedNode() ?? process.execPath;
}

// Of glibc: by default each thread that allocates may have memory of its own (ops/decisions/0134-memory-under-load.md).
const limited = { MALLOC_ARENA_MAX: "2", ...env };
const child = spawn(binary(), process.argv.slice(2), { stdio: "inherit", env: limited });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => (signal ? process.kill(process.pid, signal) : process.exit(code ?? 1)));
