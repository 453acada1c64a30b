/**
 * Mutation runs: each mutant of this folder is put into a copy of the program, and the tests that it names must find it.
 *
 *   npm run mutants              all of them
 *   npm run mutants -- lease     those whose name or file has this word
 *
 * Fails when fewer than nine tenths are found, when one cannot be applied any more or breaks the program, and when the tests fail without a mutant. The copy is of the working tree, below the folder for
 * temporary files; node_modules is linked.
 */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ACCOUNTS } from "./accounts.ts";
import { CLUSTER } from "./cluster.ts";
import { DOMAIN } from "./domain.ts";
import { JOBS } from "./jobs.ts";
import type { Mutant } from "./mutant.ts";
import { SITES } from "./sites.ts";

const MIN_FOUND = 0.9;
/** A program that hangs is found, too. */
const MAX_RUN_MS = 300_000;
/** Of the program, each with a mutant at a time: tests wait for the disk as well. */
const COPIES = 2;

const home = new URL("../..", import.meta.url).pathname;
const words = process.argv.slice(2);
const mutants = [...CLUSTER, ...DOMAIN, ...JOBS, ...SITES, ...ACCOUNTS].filter(({ name, file }) =>
  words.every((word) => name.includes(word) || file.includes(word)),
);

function copyProgram(): string {
  const copy = mkdtempSync(join(tmpdir(), "trawl-mutants-"));
  const listed = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], {
    cwd: home,
    encoding: "utf8",
  });
  for (const file of listed.split("\n").filter((name) => name !== "")) {
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    cpSync(join(home, file), join(copy, file));
  }
  symlinkSync(join(home, "node_modules"), join(copy, "node_modules"));
  return copy;
}

type Outcome = "passed" | "failed" | "hung" | "broken";

const SAID: Readonly<Record<Outcome, string>> = {
  passed: "SURVIVED",
  failed: "found",
  hung: "found (hung)",
  broken: "BROKEN",
};

/** Of the reporter "json". */
interface Report {
  readonly numFailedTests: number;
  readonly testResults: readonly {
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/** How the tests end in the copy; `failures`: what failed, with its message. */
async function run(copy: string, tests: readonly string[], failures: string[] = []): Promise<Outcome> {
  const report = join(copy, "mutants.json");
  rmSync(report, { force: true });
  const arguments_ = ["run", "--bail=1", "--reporter=json", `--outputFile=${report}`, ...tests];
  const program = spawn(process.execPath, ["node_modules/vitest/vitest.mjs", ...arguments_], {
    cwd: copy,
    stdio: "ignore",
    env: { ...process.env, TRAWL_ENGINES: "/nonexistent" },
  });
  const timer = setTimeout(() => program.kill("SIGKILL"), MAX_RUN_MS);
  const [code, signal] = (await once(program, "exit")) as [number | null, string | null];
  clearTimeout(timer);
  if (signal !== null) return "hung";
  if (code === 0) return "passed";
  const { numFailedTests, testResults } = JSON.parse(readFileSync(report, "utf8")) as Report;
  for (const { fullName, failureMessages } of testResults.flatMap(({ assertionResults }) => assertionResults))
    for (const message of failureMessages) failures.push(`${fullName}: ${message}`);
  return numFailedTests > 0 ? "failed" : "broken";
}

/** The file with the mutant in it. */
function mutated(source: string, { name, file, find, replace }: Mutant): string {
  const places = source.split(find).length - 1;
  assert(places === 1, `Cannot apply the mutant "${name}": its text stands ${places} times in ${file}`);
  return source.replace(find, () => replace);
}

assert(mutants.length > 0, `No mutant is named "${words.join(" ")}"`);
for (const mutant of mutants) mutated(readFileSync(join(home, mutant.file), "utf8"), mutant);
const began_ms = performance.now();
const copies = Array.from({ length: COPIES }, copyProgram);
const outcomes = new Map<Mutant, Outcome>();

/** Takes mutants in turn, in a copy of its own. */
async function work(copy: string, waiting: Mutant[]): Promise<void> {
  for (let mutant = waiting.shift(); mutant; mutant = waiting.shift()) {
    const at = join(copy, mutant.file);
    const source = readFileSync(at, "utf8");
    writeFileSync(at, mutated(source, mutant));
    const outcome = await run(copy, mutant.tests);
    writeFileSync(at, source);
    outcomes.set(mutant, outcome);
    process.stdout.write(`${SAID[outcome].padEnd(12)} ${mutant.file}: ${mutant.name}\n`);
  }
}

try {
  const all = [...new Set(mutants.flatMap(({ tests }) => tests))];
  const failures: string[] = [];
  const without = run(copies[0]!, all, failures);
  const waiting = [...mutants];
  await Promise.all(
    copies.map(async (copy, n) => {
      if (n === 0) await without;
      await work(copy, waiting);
    }),
  );
  assert(
    (await without) === "passed",
    `The tests fail without a mutant (${await without}): npm test -- ${all.join(" ")}\n${failures.join("\n")}`,
  );
} finally {
  for (const copy of copies) rmSync(copy, { recursive: true, force: true });
}

const ended = (outcome: Outcome): number => [...outcomes.values()].filter((each) => each === outcome).length;
const found = ended("failed") + ended("hung");
const took_s = Math.round((performance.now() - began_ms) / 1_000);
process.stdout.write(
  `${found} of ${mutants.length} found (${Math.floor((100 * found) / mutants.length)} %) in ${took_s} s, ` +
    `Node ${process.versions.node}, ${cpus().length} cores\n`,
);
if (ended("broken") > 0 || found / mutants.length < MIN_FOUND) process.exitCode = 1;
