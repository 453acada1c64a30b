/** Packages that the launcher installs before the program starts: a checkout of its own, with a program in npm's place that says it was called. */
import { spawnSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";

const OPS = new URL("../../ops/", import.meta.url).pathname;
const folders: string[] = [];
afterEach(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true })));

type Packages = Readonly<Record<string, object>>;

const LOCKED: Packages = {
  "": { name: "trawl" },
  "node_modules/a": { version: "1.0.0", integrity: "sha512-a" },
  "node_modules/tool": { version: "2.0.0", integrity: "sha512-tool", dev: true },
  "node_modules/node-elsewhere": { version: "22.0.0", integrity: "sha512-n", optional: true },
};
const INSTALLED: Packages = {
  "node_modules/a": LOCKED["node_modules/a"]!,
  "node_modules/tool": LOCKED["node_modules/tool"]!,
};

function checkout(locked: Packages, installed: Packages | null): string {
  const home = mkdtempSync(join(tmpdir(), "trawl-install-"));
  folders.push(home);
  mkdirSync(join(home, "ops"));
  for (const name of ["node.mjs", "install.mjs"]) cpSync(join(OPS, name), join(home, "ops", name));
  writeFileSync(join(home, "package-lock.json"), JSON.stringify({ packages: locked }));
  writeFileSync(join(home, "npm.js"), `console.log("npm", process.argv.slice(2).join(" "))`);
  if (installed) {
    mkdirSync(join(home, "node_modules"));
    writeFileSync(join(home, "node_modules/.package-lock.json"), JSON.stringify({ packages: installed }));
  }
  return home;
}

function run(
  home: string,
  program = `console.log("started")`,
  more = {},
): { stdout: string; stderr: string } {
  const env = { PATH: process.env["PATH"] ?? "", npm_execpath: join(home, "npm.js"), ...more };
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [join(home, "ops/node.mjs"), "-e", program],
    { env, encoding: "utf8" },
  );
  expect(status).toBe(0);
  return { stdout, stderr };
}

test.each([
  ["nothing is installed", LOCKED, null, true],
  ["everything is as the lock file has it", LOCKED, INSTALLED, false],
  ["a pull brought a package", { ...LOCKED, "node_modules/b": { version: "1.0.0" } }, INSTALLED, true],
  ["a pull brought another version", { ...LOCKED, "node_modules/a": { version: "1.0.1" } }, INSTALLED, true],
  [
    "other bytes stand under the version",
    { ...LOCKED, "node_modules/a": { version: "1.0.0", integrity: "x" } },
    INSTALLED,
    true,
  ],
  [
    "an image left the packages for development out",
    LOCKED,
    { "node_modules/a": LOCKED["node_modules/a"]! },
    false,
  ],
  ["packages were removed from the lock file", LOCKED, { ...INSTALLED, "node_modules/old": {} }, false],
] as const)("when %s", (_, locked, installed, installs) => {
  const { stdout, stderr } = run(checkout(locked, installed));
  expect(stdout).toBe("started\n");
  expect(stderr.includes("npm ci --no-audit")).toBe(installs);
  expect(stderr === "").toBe(!installs);
});

test("the program has two arenas of glibc, or as many as the environment says", () => {
  const program = "console.log(process.env.MALLOC_ARENA_MAX)";
  const home = checkout(LOCKED, INSTALLED);
  expect(run(home, program).stdout).toBe("2\n");
  expect(run(home, program, { MALLOC_ARENA_MAX: "4" }).stdout).toBe("4\n");
});

test("a linked node_modules belongs to another checkout: it is named and not touched", () => {
  const home = checkout({ ...LOCKED, "node_modules/b": { version: "1.0.0" } }, INSTALLED);
  renameSync(join(home, "node_modules"), join(home, "elsewhere"));
  symlinkSync(join(home, "elsewhere"), join(home, "node_modules"));
  const { stdout, stderr } = run(home);
  expect(stdout).toBe("started\n");
  expect(stderr).toBe(
    'Not installing into a linked node_modules: "node_modules/b" is not as package-lock.json has it\n',
  );
  expect(JSON.parse(readFileSync(join(home, "elsewhere/.package-lock.json"), "utf8")).packages).toEqual(
    INSTALLED,
  );
});
