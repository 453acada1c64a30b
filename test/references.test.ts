/** A reader can follow every reference: files that are named are in the repository, and nothing points at what is outside it. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";

const tracked = execFileSync("git", ["ls-files"], { encoding: "utf8" }).trim().split("\n");
const texts = tracked.filter(
  (file) => /\.(?:ts|mjs|md|yaml)$|^\.ci\/run$/.test(file) && !file.includes("fixtures/"),
);

/** A file's name in prose: "robots-state.ts", "ops/decisions/0003-pages-travel-as-records.md", "../README.md". */
const FILE_NAME = /(?<![\w/.@:$}*-])((?:\.{1,2}\/)*[\w@][\w@./-]*\.(?:md|ts|mjs))(?![\w/-])/g;
/** Papers that the repository does not carry. */
const OUTSIDE =
  /\b[123]-(?:core|adapters|decisions)\b|\bnotes?, section|\bissues? #?\d+\b|\bthe session before\b/i;
/** Programs of packages and files that an operator has; named where they are used. */
const ELSEWHERE = /^(?:vitest\.mjs|cli\.m?js|node\.mjs)$/;

const isProse = (file: string, line: string): boolean =>
  file.endsWith(".md") || /^\s*(?:\/\/|\/?\*|#)|\s\/\/\s/.test(line);

function resolves(file: string, name: string): boolean {
  const beside = normalize(join(dirname(file), name));
  return tracked.some((path) => path === name || path === beside || path.endsWith(`/${name}`));
}

interface Reference {
  readonly place: string;
  readonly text: string;
}

function unresolved(file: string, text: string): Reference[] {
  return text.split("\n").flatMap((line, at) => {
    const place = `${file}:${at + 1}`;
    const names = isProse(file, line) ? [...line.matchAll(FILE_NAME)].map(([, name]) => name!) : [];
    const missing = names.filter((name) => !ELSEWHERE.test(name) && !resolves(file, name));
    // A suite may read the specification where that folder is; its path is code.
    const outside =
      file === "test/references.test.ts" || line.includes("../shared/") ? null : OUTSIDE.exec(line);
    return [...missing, ...(outside ? [outside[0]] : [])].map((reference) => ({ place, text: reference }));
  });
}

test("every file that prose names is in the repository", () => {
  expect(texts.length).toBeGreaterThan(100);
  expect(texts.flatMap((file) => unresolved(file, readFileSync(file, "utf8")))).toEqual([]);
});

test.each([
  ["// Its rules are no-such-rules.ts.", "no-such-rules.ts"],
  [" * The reasons are in cluster.md, section 2.", "cluster.md"],
  ["// As the operator decided (3-decisions.md, Core).", "3-decisions.md"],
  ["// Found in issue 12.", "issue 12"],
])("finds %s", (line, text) => {
  expect(unresolved("actors/crawl/domain/actor.ts", line).map((reference) => reference.text)).toContain(text);
});
