/**
 * The tests of a CI run and its last lines: runs `npm test`, gives a test of a real engine or browser that failed a
 * second chance, names those that needed it, and counts.
 *
 * Only tests of the projects `ports` and `scenarios` that use an engine, a browser or a program of another project have a
 * second chance, each one, and at most three of them: when more fail, something is wrong.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Outcome, Report } from "./ci-reporter.ts";

const MAX_SECOND_CHANCES = 3;
/** Imports of files whose tests use engines, browsers or programs of others. */
const REAL = /harness\/(?:engines|service|scenario|cluster-of|chaos|browser-harness|programs|searx)\.ts"/;

const folder = mkdtempSync(join(tmpdir(), "trawl-ci-"));

function npmTest(name: string, ...args: string[]): { readonly report: Report; readonly status: number } {
  const file = join(folder, `${name}.json`);
  const { status } = spawnSync("npm", ["test", ...(args.length > 0 ? ["--", ...args] : [])], {
    stdio: "inherit",
    env: { ...process.env, TEST_REPORT: file },
  });
  try {
    return { report: JSON.parse(readFileSync(file, "utf8")) as Report, status: status ?? 1 };
  } catch {
    return { report: { outcomes: [], stray: [] }, status: status ?? 1 };
  }
}

const nameOf = ({ file, path }: Outcome): string => [file, ...path].join(" > ");
/** A test of one embedded process uses no engine; a test of a cluster does. */
const hasSecondChance = (outcome: Outcome): boolean =>
  (outcome.project === "ports" || outcome.project === "scenarios") &&
  REAL.test(readFileSync(outcome.file, "utf8")) &&
  !outcome.path.some((name) => name.endsWith(", embedded"));
const quoted = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);

function again(failed: readonly Outcome[]): { readonly outcomes: Outcome[]; readonly stray: string[] } {
  const outcomes: Outcome[] = [];
  const stray: string[] = [];
  for (const [file, failures] of Map.groupBy(failed, (outcome) => outcome.file)) {
    const names = failures.map(({ path }) => `^${path.map(quoted).join("(?: > | )")}`);
    const { report } = npmTest(
      "again",
      file,
      ...(failures.some(({ path }) => path.length === 0) ? [] : ["-t", names.join("|")]),
    );
    outcomes.push(...report.outcomes.filter(({ state }) => state !== "skipped"));
    stray.push(...report.stray);
  }
  return { outcomes, stray };
}

const first = npmTest("first");
let all = first.report.outcomes;
const stray = [...first.report.stray];
const failed = first.report.outcomes.filter(({ state }) => state === "failed");
const retried = failed.filter(hasSecondChance);
if (retried.length > 0 && retried.length <= MAX_SECOND_CHANCES) {
  for (const outcome of retried) console.log(`CI: once more: ${nameOf(outcome)}`);
  const second = again(retried);
  const isAgain = (outcome: Outcome): boolean =>
    retried.some((first_end) => nameOf(outcome).startsWith(nameOf(first_end)));
  const lost = retried.filter(
    (outcome) => !second.outcomes.some((end) => nameOf(end).startsWith(nameOf(outcome))),
  );
  all = [...all.filter((outcome) => !isAgain(outcome)), ...lost, ...second.outcomes];
  stray.push(...second.stray);
}

/** The end of what `npm run check` printed, once more, because the start of a long CI log is seldom kept. */
const checkOutput = (): string =>
  process.env["CHECK_OUTPUT"] ? readFileSync(process.env["CHECK_OUTPUT"], "utf8").slice(-3_000) : "";
const count = (state: Outcome["state"]): number => all.filter((outcome) => outcome.state === state).length;
const slowest = [...Map.groupBy(all, ({ file }) => file)]
  .map(([file, some]) => ({ file, s: some.reduce((sum, { ms }) => sum + ms, 0) / 1_000 }))
  .toSorted((a, b) => b.s - a.s);
console.log(
  `CI: slowest files: ${slowest
    .slice(0, 12)
    .map(({ file, s }) => `${file} ${s.toFixed(0)} s`)
    .join(", ")}`,
);
for (const outcome of all) if (outcome.state === "skipped") console.log(`CI: skipped: ${nameOf(outcome)}`);
for (const outcome of all) if (outcome.state === "failed") console.log(`CI: failed: ${nameOf(outcome)}`);
for (const message of stray) console.log(`CI: failed outside every test: ${message}`);
let failures = count("failed") + stray.length;
for (const step of process.argv.slice(2)) console.log(`CI: failed: ${step}\n${checkOutput()}`);
failures += process.argv.length - 2;
if (failures === 0 && first.status !== 0 && failed.length === 0) {
  failures = 1;
  console.log(`CI: failed: npm test ended with ${first.status}`);
}
if (retried.length > MAX_SECOND_CHANCES)
  console.log(`CI: ${retried.length} tests of engines and browsers failed: too many for a second chance`);
else for (const outcome of retried) console.log(`CI: needed a second chance: ${nameOf(outcome)}`);
console.log(`${count("passed")} passed, ${failures} failed, ${count("skipped")} skipped`);
process.exitCode = failures > 0 ? 1 : 0;
