/** The changelog has the form of Keep a Changelog 1.1.0: versions, newest first, each with lists by kind of change. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];
const VERSION = /^(?:Unreleased|(\d+)\.(\d+)\.(\d+) - 20\d\d-\d\d-\d\d)$/;

/** Faults in the form of a changelog, a sentence each. */
function faultsOf(changelog: string): string[] {
  const [, ...sections] = changelog.split(/^## /m);
  const titles = sections.map((section) => section.split("\n", 1)[0]!);
  const numbers = titles.map((title) => {
    const parts = VERSION.exec(title)?.slice(1, 4).map(Number);
    return parts && !Number.isNaN(parts[0]) ? parts[0]! * 1e6 + parts[1]! * 1e3 + parts[2]! : Infinity;
  });
  const faults = titles.filter((title) => !VERSION.test(title)).map((title) => `"${title}" is no version`);
  if (titles[0] !== "Unreleased") faults.push("the first version is not Unreleased");
  if (numbers.some((number, at) => at > 0 && number >= numbers[at - 1]!)) faults.push("not newest first");
  for (const [at, section] of sections.entries()) {
    const [, ...groups] = section.split(/^### /m);
    const kinds = groups.map((group) => group.split("\n", 1)[0]!);
    const ranks = kinds.map((kind) => KINDS.indexOf(kind));
    if (ranks.some((rank, n) => rank === -1 || (n > 0 && rank <= ranks[n - 1]!)))
      faults.push(`${titles[at]}: kinds are ${kinds.join(", ")}`);
    for (const group of groups) {
      const lines = group.split("\n").slice(1).filter(Boolean);
      const stray = lines.find((line, n) => !line.startsWith("- ") && (n === 0 || !line.startsWith("  ")));
      if (stray !== undefined) faults.push(`${titles[at]}: "${stray}" is in no list`);
      if (lines.length === 0) faults.push(`${titles[at]}: a kind without a change`);
    }
  }
  return faults;
}

test("has the form of Keep a Changelog", () => {
  const changelog = readFileSync("CHANGELOG.md", "utf8");
  expect(changelog.split("\n- ").length).toBeGreaterThan(100);
  expect(faultsOf(changelog)).toEqual([]);
});

test.each([
  ["## 0.1.0 - 2026-11-21\n", "the first version is not Unreleased"],
  ["## Unreleased\n## 0.1.0 (2026-11-21)\n", '"0.1.0 (2026-11-21)" is no version'],
  ["## Unreleased\n## 0.1.0 - 2026-11-21\n## 0.2.0 - 2026-11-22\n", "not newest first"],
  ["## Unreleased\n\n### News\n\n- a\n", "Unreleased: kinds are News"],
  ["## Unreleased\n\n### Fixed\n\n- a\n\n### Added\n\n- b\n", "Unreleased: kinds are Fixed, Added"],
  ["## Unreleased\n\n### Fixed\n\nText\n", 'Unreleased: "Text" is in no list'],
  ["## Unreleased\n\n### Fixed\n", "Unreleased: a kind without a change"],
])("finds what is wrong with %j", (changelog, fault) => {
  expect(faultsOf(changelog)).toContain(fault);
});
