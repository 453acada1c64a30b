/** Results of benches: what is kept up to date stands apart from the log of days. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const FOLDER = "bench/results";

test("each result is in one of the two lists, the dated ones in the log", () => {
  const [, kept, log] = readFileSync(`${FOLDER}/README.md`, "utf8").split(/^## /m);
  const names = (list: string): string[] => [...list.matchAll(/^\| \[([^\]]+)\]/gm)].map(([, name]) => name!);
  const files = readdirSync(FOLDER).filter((name) => name !== "README.md");
  const isDated = (name: string): boolean => /^20\d\d-\d\d-\d\d-/.test(name);
  expect(names(log!).toSorted()).toEqual(files.filter(isDated).toSorted());
  expect(names(kept!).toSorted()).toEqual(files.filter((name) => !isDated(name)).toSorted());
});
