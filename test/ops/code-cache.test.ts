/** The cache of compiled code, in a program of one module that is started as ours is. */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "trawl-code-cache-"));
  for (const part of ["actors", "cluster", "gateway", "node", "ops", "schemas", "node_modules"])
    mkdirSync(join(home, part));
  for (const name of ["code-cache.mjs", "bundle-types.mjs"])
    copyFileSync(new URL(`../../ops/${name}`, import.meta.url), join(home, "ops", name));
  writeFileSync(join(home, "package.json"), '{"type":"module"}');
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const write = (says: string) => {
  writeFileSync(
    join(home, "ops/main.ts"),
    `import { word } from "../actors/word.ts";\nconsole.log(word as string);\n`,
  );
  writeFileSync(join(home, "actors/word.ts"), `export const word: string = "${says}";\n`);
};
const start = (...flags: string[]): string => {
  const cache = `--import=${join(home, "ops/code-cache.mjs")}`;
  const words = ["--disable-warning=ExperimentalWarning", ...flags, cache, join(home, "ops/main.ts")];
  const { stdout, stderr } = spawnSync(process.execPath, words, { encoding: "utf8", env: {} });
  return stdout + stderr;
};
const kept = () =>
  readdirSync(join(home, "node_modules/.cache/trawl")).filter((name) => name.endsWith(".mjs"));

test("a program says the same with and without its cache, and what a changed module says", () => {
  write("first");
  expect([start(), start()]).toEqual(["first\n", "first\n"]);
  expect(kept()).toHaveLength(2);
  write("second");
  expect([start(), start()]).toEqual(["second\n", "second\n"]);
  expect(kept()).toHaveLength(2);
});

test.skipIf(process.getuid?.() !== 0)(
  "an installed package starts for a user without a home, and without an entry in the list of users (as root)",
  () => {
    const installed = join(home, "node_modules/trawl");
    mkdirSync(join(installed, "ops"), { recursive: true });
    chmodSync(home, 0o755);
    copyFileSync(join(home, "ops/code-cache.mjs"), join(installed, "ops/code-cache.mjs"));
    writeFileSync(join(installed, "ops/main.mjs"), 'console.log("started");\n');
    const words = [`--import=${join(installed, "ops/code-cache.mjs")}`, join(installed, "ops/main.mjs")];
    const { stdout, stderr } = spawnSync(process.execPath, words, {
      encoding: "utf8",
      env: {},
      uid: 54_321,
      gid: 54_321,
    });
    expect(stdout + stderr).toBe("started\n");
  },
);

test("a cut-off entry is not used", () => {
  write("whole");
  start();
  for (const name of kept()) writeFileSync(join(home, "node_modules/.cache/trawl", name), "console.log(");
  expect(start()).toBe("whole\n");
});

test("a process that may not write starts without a cache, and with one that another process filled", () => {
  write("read");
  const readOnly = ["--permission", `--allow-fs-read=${home}/`];
  expect(start(...readOnly)).toBe("read\n");
  start();
  expect(start(...readOnly)).toBe("read\n");
  chmodSync(join(home, "node_modules/.cache/trawl"), 0o500);
  expect(start()).toBe("read\n");
});

test("the heap doubles between collections, unless it is small or flags say how much it may", () => {
  write("grown");
  const [LARGE, SMALL] = ["--max-old-space-size=4096", "--max-old-space-size=256"];
  // Compiled code is kept in a folder for each set of V8's flags.
  const sets = (...starts: readonly (readonly string[])[]): number => {
    rmSync(join(home, "node_modules/.cache/trawl/v8"), { recursive: true, force: true });
    for (const flags of starts) expect(start(...flags)).toBe("grown\n");
    return readdirSync(join(home, "node_modules/.cache/trawl/v8")).length;
  };
  expect(sets([LARGE], [LARGE, "--heap-growing-percent=100"])).toBe(1);
  expect(sets([LARGE], [LARGE, "--heap-growing-percent=49"])).toBe(2);
  expect(sets([SMALL], [SMALL, "--heap-growing-percent=100"])).toBe(2);
});

test("typebox is read from a bundle of few modules once the first start has made it, and from its package before", () => {
  for (const name of ["typebox", "rolldown", "@rolldown", "@oxc-project"])
    symlinkSync(new URL(`../../node_modules/${name}`, import.meta.url), join(home, "node_modules", name));
  writeFileSync(
    join(home, "ops/main.ts"),
    `import { Type } from "typebox";
import { Compile } from "typebox/compile";
import { Value } from "typebox/value";
const Port = Type.Object({ port: Type.Integer({ minimum: 1 }) });
const isRight = [{ port: 80 }, { port: 0 }].map((value) => [Compile(Port).Check(value), Value.Check(Port, value)]);
console.log(JSON.stringify(isRight), import.meta.resolve("typebox").includes("/.cache/trawl/typebox-"));
process.on("exit", () => {
  if (process.report.getReport().sharedObjects.some((path) => path.includes("rolldown"))) console.log("has bundled itself");
});
`,
  );
  const answer = "[[true,true],[false,false]]";
  expect([start(), start()]).toEqual([`${answer} false\n`, `${answer} true\n`]);
});
