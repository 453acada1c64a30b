/** The rows of mutants belong to the code as it is. The mutants themselves are run by `npm run mutants`. */
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { MUTANTS, mutated } from "./mutants.ts";

test.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))("%s: can be applied", (_, mutant) => {
  const source = readFileSync(mutant.file, "utf8");
  expect(mutated(source, mutant)).not.toBe(source);
  expect(mutant.tests.filter((path) => !existsSync(path))).toEqual([]);
});
