import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { FAULT_CODES } from "../cluster/ports/fault.ts";

test("every fault code has its entry in the runbook, and no entry is without one", () => {
  const entries = [...readFileSync("docs/operating/runbook.md", "utf8").matchAll(/^## (\w+)$/gm)].map(
    ([, entry]) => entry!,
  );
  expect(entries.toSorted()).toEqual([...FAULT_CODES].toSorted());
});
