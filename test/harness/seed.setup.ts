/**
 * Runs before every test file: properties of fast-check draw from the seed of the run, and one that fails ends with
 * the command that repeats it.
 */
import fc from "fast-check";
import { expect, inject } from "vitest";

/** The command that runs the test that is running now again, on this seed. */
export function repeatCommand(seed: number): string {
  const { testPath, currentTestName } = expect.getState();
  const file = testPath?.slice(testPath.lastIndexOf("/test/") + 1) ?? "";
  const name = currentTestName
    ?.split(" > ")
    .at(-1)
    ?.replaceAll('"', String.raw`\"`);
  return `SEED=${seed} npm test -- ${file}${name ? ` -t "${name}"` : ""}`;
}

fc.configureGlobal({
  seed: inject("seed"),
  reporter: (run) => {
    if (!run.failed) return;
    throw new Error(`${fc.defaultReportMessage(run)}\nRepeat it: ${repeatCommand(run.seed)}`, {
      cause: run.errorInstance,
    });
  },
});
