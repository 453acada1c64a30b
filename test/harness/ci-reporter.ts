/** Writes how each test of a run ended to the file that TEST_REPORT names, for .ci/totals.ts. */
import { writeFileSync } from "node:fs";
import type { Reporter, TestCase, TestModule, TestSuite } from "vitest/node";

/** A test; or a suite or a whole file that failed outside its tests, in a hook or while it was loaded. */
export interface Outcome {
  readonly project: string;
  /** From the root of the repository. */
  readonly file: string;
  /** Names of its suites and its own; empty for a file. */
  readonly path: readonly string[];
  readonly state: "passed" | "failed" | "skipped";
  readonly ms: number;
}

export interface Report {
  readonly outcomes: readonly Outcome[];
  /** Errors that belong to no test: they fail a run whose tests all pass. */
  readonly stray: readonly string[];
}

function pathOf(one: TestCase | TestSuite | TestModule): string[] {
  return one.type === "module" ? [] : [...pathOf(one.parent), one.name];
}

function* outcomesOf(module: TestModule): Generator<Outcome> {
  const { project, relativeModuleId: file } = module;
  const at = { project: project.name, file };
  for (const test of module.children.allTests()) {
    const { state } = test.result();
    const ms = test.diagnostic()?.duration ?? 0;
    // A test that never ended is not one that passed.
    yield { ...at, path: pathOf(test), state: state === "pending" ? "failed" : state, ms };
  }
  for (const suite of [module, ...module.children.allSuites()])
    if (suite.errors().length > 0) yield { ...at, path: pathOf(suite), state: "failed", ms: 0 };
}

/** The file for the report of this run; undefined: no report. */
export const reportFile = (): string | undefined => process.env["TEST_REPORT"] || undefined;

export default function ciReporter(file: string): Reporter {
  return {
    onTestRunEnd(modules, errors) {
      const outcomes = modules.flatMap((module) => [...outcomesOf(module)]);
      writeFileSync(
        file,
        JSON.stringify({ outcomes, stray: errors.map(({ message }) => message) } satisfies Report),
      );
    },
  };
}
