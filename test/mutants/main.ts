/**
 * Mutation runs: each mutant of this folder is put into a copy of the program, and the tests that it names must find it.
 *
 *   npm run mutants              all of them
 *   npm run mutants -- lease     those whose name or file has this word
 *
 * The tests run first without a mutant, which tells what each file takes. A mutant's files then run cheapest first, until one of
 * their assertions fails. A test that ends by its time-out proves nothing: the machine may have been busy. Fails when fewer than
 * nine tenths are found, when a mutant cannot be applied any more or breaks the program, and when the tests fail without one. The
 * copies are of the working tree, below the folder for temporary files; node_modules is linked.
 */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import type { Mutant } from "./mutant.ts";
import { MUTANTS, mutated } from "./mutants.ts";

const MIN_FOUND = 0.9;
/** All tests without a mutant. */
const MAX_RUN_MS = 900_000;
/** Tests of a mutant that start together. They take PART_MS, or a file that takes longer, and the machine may be busy. */
const MAX_PART_MS = 150_000;
/** Without a mutant, the tests that start together take so long at most, or are one file. */
const PART_MS = 5_000;
const MAX_BY_CHARS = 200;
/** Courses of each simulation. */
const RUNS = "16";
/** Copies of the program, each with a mutant at a time: tests wait for the disk as well. */
const COPIES = 2;

const home = new URL("../..", import.meta.url).pathname;
const words = process.argv.slice(2);
const mutants = MUTANTS.filter(({ name, file }) =>
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
  hung: "HUNG",
  broken: "BROKEN",
};

/** Report of the reporter "json". */
interface Report {
  readonly numFailedTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly startTime: number;
    readonly endTime: number;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

interface Run {
  readonly outcome: Outcome;
  /** Tests that failed, with their messages. */
  readonly failures: readonly string[];
  /** By file, in milliseconds. */
  readonly costs: ReadonlyMap<string, number>;
}

const isTimeout = (failure: string): boolean => /(Test|Hook) timed out in \d+ms/.test(failure);

/** How the tests end in the copy. `bail`: they stop at the first that fails. */
async function run(copy: string, tests: readonly string[], bail: boolean, max_ms: number): Promise<Run> {
  const report = join(copy, "mutants.json");
  rmSync(report, { force: true });
  const reported = ["--reporter=json", `--outputFile=${report}`, "--maxWorkers=1"];
  const program = spawn(
    process.execPath,
    ["node_modules/vitest/vitest.mjs", "run", ...(bail ? ["--bail=1"] : []), ...reported, ...tests],
    { cwd: copy, stdio: "ignore", env: { ...process.env, TRAWL_ENGINES: "/nonexistent", RUNS } },
  );
  const timer = setTimeout(() => program.kill("SIGKILL"), max_ms);
  const [code, signal] = (await once(program, "exit")) as [number | null, string | null];
  clearTimeout(timer);
  if (signal !== null) return { outcome: "hung", failures: [], costs: new Map() };
  const { numFailedTests, testResults } = JSON.parse(readFileSync(report, "utf8")) as Report;
  const failures = testResults.flatMap(({ assertionResults }) =>
    assertionResults.flatMap(({ fullName, failureMessages }) =>
      failureMessages.map((message) => `${fullName}: ${message}`),
    ),
  );
  const costs = new Map(
    testResults.map(({ name, startTime, endTime }) => [relative(copy, name), endTime - startTime]),
  );
  const outcome =
    code === 0 ? "passed" : numFailedTests === 0 ? "broken" : failures.every(isTimeout) ? "hung" : "failed";
  return { outcome, failures, costs };
}

/** The files that these words name, cheapest first, in parts of which each begins with one start of the test program. */
function partsOf(named: readonly string[], costs: ReadonlyMap<string, number>): string[][] {
  const files = [...costs].filter(([file]) => named.some((word) => file.includes(word)));
  const parts: string[][] = [];
  let room_ms = 0;
  for (const [file, cost_ms] of files.toSorted(([, a], [, b]) => a - b)) {
    if (parts.length === 0 || cost_ms > room_ms) {
      parts.push([]);
      room_ms = Math.max(PART_MS, cost_ms);
    }
    parts.at(-1)!.push(file);
    room_ms -= cost_ms;
  }
  return parts;
}

/** How the tests of a mutant end in the copy that has it, and by which of them. */
async function testMutant(copy: string, parts: readonly (readonly string[])[]): Promise<[Outcome, string]> {
  let hung: string | null = null;
  for (const files of parts) {
    let ended = await run(copy, files, true, MAX_PART_MS);
    // The test that timed out ended the run before others were asked.
    if (ended.outcome === "hung" && ended.failures.length > 0)
      ended = await run(copy, files, false, MAX_PART_MS);
    const by = ended.failures.find((failure) => !isTimeout(failure)) ?? ended.failures[0] ?? files.join(" ");
    if (ended.outcome === "failed" || ended.outcome === "broken") return [ended.outcome, by];
    if (ended.outcome === "hung") hung ??= by;
  }
  return hung === null ? ["passed", ""] : ["hung", hung];
}

assert(mutants.length > 0, `No mutant is named "${words.join(" ")}"`);
for (const mutant of mutants) mutated(readFileSync(join(home, mutant.file), "utf8"), mutant);
const began_ms = performance.now();
const copies = Array.from({ length: COPIES }, copyProgram);
const outcomes: Outcome[] = [];

/** Takes mutants in turn, in a copy of its own. */
async function work(copy: string, waiting: Mutant[], costs: ReadonlyMap<string, number>): Promise<void> {
  for (let mutant = waiting.shift(); mutant; mutant = waiting.shift()) {
    const at = join(copy, mutant.file);
    const source = readFileSync(at, "utf8");
    writeFileSync(at, mutated(source, mutant));
    const [outcome, by] = await testMutant(copy, partsOf(mutant.tests, costs));
    writeFileSync(at, source);
    outcomes.push(outcome);
    const lines = [`${SAID[outcome].padEnd(8)} ${mutant.file}: ${mutant.name}`];
    if (by !== "") lines.push(`         by ${by.split("\n", 1)[0]!.slice(0, MAX_BY_CHARS)}`);
    process.stdout.write(`${lines.join("\n")}\n`);
  }
}

try {
  const all = [...new Set(mutants.flatMap(({ tests }) => tests))];
  const without = await run(copies[0]!, all, false, MAX_RUN_MS);
  assert(
    without.outcome === "passed",
    `The tests fail without a mutant (${without.outcome}): npm test -- ${all.join(" ")}\n${without.failures.join("\n")}`,
  );
  const waiting = [...mutants];
  await Promise.all(copies.map((copy) => work(copy, waiting, without.costs)));
} finally {
  for (const copy of copies) rmSync(copy, { recursive: true, force: true });
}

const ended = (outcome: Outcome): number => outcomes.filter((each) => each === outcome).length;
const found = ended("failed");
const took_s = Math.round((performance.now() - began_ms) / 1_000);
process.stdout.write(
  `${found} of ${mutants.length} found (${Math.floor((100 * found) / mutants.length)} %) in ${took_s} s, ` +
    `Node ${process.versions.node}, ${cpus().length} cores\n`,
);
if (ended("broken") > 0 || found / mutants.length < MIN_FOUND) process.exitCode = 1;
