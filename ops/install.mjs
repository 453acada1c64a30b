// Installs packages when node_modules is missing or differs from package-lock.json, as it does after a pull that changed a
// package. Plain JavaScript for any Node. It compares package-lock.json with npm's record of what it installed.
import { spawnSync } from "node:child_process";
import { existsSync, lstatSync, readFileSync } from "node:fs";

/** What npm should install, as a sentence; null when everything is there. */
export function missingPackages(home) {
  if (!existsSync(`${home}/package-lock.json`)) return null; // A published package, which npm installed with its own.
  const record = `${home}/node_modules/.package-lock.json`;
  if (!existsSync(record)) return "Installing packages, once";
  const wanted = packagesOf(`${home}/package-lock.json`);
  const installed = packagesOf(record);
  // Images are installed with --omit=dev or --omit=optional, and other platforms' packages are left out everywhere.
  const hasDev = Object.values(installed).some(({ dev }) => dev);
  for (const [path, { version, integrity, optional, devOptional, dev, peer, link }] of Object.entries(
    wanted,
  )) {
    if (path === "" || link) continue;
    const found = installed[path];
    const mayBeMissing = optional || peer || devOptional || (dev && !hasDev);
    if (found ? found.version !== version || found.integrity !== integrity : !mayBeMissing)
      return `Installing packages: "${path}" is not as package-lock.json has it`;
  }
  return null;
}

function packagesOf(path) {
  return JSON.parse(readFileSync(path, "utf8")).packages;
}

/** Runs npm where something is missing; ends the process when npm fails. */
export function installMissing(home, { execPath, env, platform }) {
  const sentence = missingPackages(home);
  if (sentence === null) return;
  if (lstatSync(`${home}/node_modules`, { throwIfNoEntry: false })?.isSymbolicLink()) {
    // npm would empty the folder behind the link, which another checkout uses.
    process.stderr.write(
      `${sentence.replace("Installing packages", "Not installing into a linked node_modules")}\n`,
    );
    return;
  }
  process.stderr.write(`${sentence}\n`);
  const ci = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
  const stdio = ["inherit", 2, "inherit"]; // npm's messages are not the command's output: standard error
  const { status } = env.npm_execpath
    ? spawnSync(execPath, [env.npm_execpath, ...ci], { cwd: home, stdio })
    : spawnSync("npm", ci, { cwd: home, stdio, shell: platform === "win32" });
  if (status !== 0) process.exit(status || 1);
}
