import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** The codes as cluster/ports/fault.ts spells them; a type leaves nothing to read at run time. */
const codes = [...readFileSync("cluster/ports/fault.ts", "utf8").matchAll(/^\s+\| "(\w+)"/gm)].map(
  ([, code]) => code!,
);

test("every fault code has its entry in the runbook, and no entry is without one", () => {
  const entries = [...readFileSync("ops/runbook.md", "utf8").matchAll(/^## (\w+)$/gm)].map(
    ([, entry]) => entry!,
  );
  expect(codes.length).toBeGreaterThan(5);
  expect(entries.toSorted()).toEqual(codes.toSorted());
});
