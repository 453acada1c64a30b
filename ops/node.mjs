#!/usr/bin/env node
// Runs its arguments on the pinned Node, whichever Node started this file; installs first when nothing is installed.
// Plain JavaScript for old Nodes. Not prestart: ignore-scripts skips it. Not .bin/node: npm before 11.6 leaves it out.
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const { platform, arch, env } = process;
const windows = platform === "win32";
const apple = platform === "darwin" && arch === "arm64";
const home = fileURLToPath(new URL("..", import.meta.url));
const pinned = `${apple ? "node-bin" : "node"}-${windows ? "win" : platform}-${arch}/bin/node${windows ? ".exe" : ""}`;

if (!existsSync(`${home}/node_modules/.package-lock.json`)) {
  const ci = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
  process.stderr.write("Installing what is missing, once\n");
  const stdio = ["inherit", 2, "inherit"]; // what npm says is not the command's answer: standard error
  const { status } = env.npm_execpath
    ? spawnSync(process.execPath, [env.npm_execpath, ...ci], { cwd: home, stdio })
    : spawnSync("npm", ci, { cwd: home, stdio, shell: windows });
  if (status !== 0) process.exit(status ?? 1);
}

function binary() {
  try {
    return createRequire(import.meta.url).resolve(pinned);
  } catch {
    return process.execPath; // no package for this platform: the Node that is here must do
  }
}

const child = spawn(binary(), process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => (signal ? process.kill(process.pid, signal) : process.exit(code ?? 1)));
