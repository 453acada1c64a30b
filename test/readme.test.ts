/**
 * READMEs and documents claim nothing that is not so: the table of settings is the configuration's, every path that one names
 * exists, and every folder of the code has one. Names of files in all prose are checked by references.test.ts, commands and
 * links of the documents by docs/documents.test.ts and scenarios/docs.test.ts.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { SETTINGS } from "../ops/config.ts";

const PLACE = /(<!-- settings: .*? -->\n)([^]*?)(<!-- \/settings -->)/;

function table(): string {
  const rows = SETTINGS.map(({ env, default: value, description }) => {
    const shown =
      value === undefined
        ? "none"
        : Array.isArray(value)
          ? value.join(",") || "none"
          : `${value as string | number}`;
    return `| \`${env}\` | ${shown === "none" ? "none" : `\`${shown}\``} | ${description.replaceAll("|", "\\|")} |`;
  });
  return ["| variable | default | meaning |", "| --- | --- | --- |", ...rows, ""].join("\n");
}

test("the table of settings is the configuration's", () => {
  const document = readFileSync("docs/settings.md", "utf8");
  if (process.env["UPDATE"]) {
    writeFileSync(
      "docs/settings.md",
      document.replace(PLACE, (_, open, _old, close) => `${open}${table()}${close}`),
    );
    return;
  }
  expect(PLACE.exec(document)?.[2]).toBe(table());
});

const tracked = execFileSync("git", ["ls-files"], { encoding: "utf8" }).trim().split("\n");
const readmes = tracked.filter(
  (file) => /(?:^|\/)README\.md$|^docs\/.*\.md$/.test(file) && !file.includes("fixtures/"),
);

/** Paths from the root of the repository, or from the folder of the README. */
const PATH = /`((?:schemas|cluster|actors|gateway|node|ops|bench|test|docs|\.ci)\/[\w./-]*)`/g;
const missingPaths = (readme: string, text: string): string[] =>
  [...text.matchAll(PATH)]
    .map(([, path]) => path!)
    .filter((path) => !existsSync(path) && !existsSync(join(dirname(readme), path)));

test("every file and folder that a README names is there", () => {
  expect(readmes.length).toBeGreaterThan(30);
  expect(
    readmes.flatMap((file) => missingPaths(file, readFileSync(file, "utf8")).map((path) => ({ file, path }))),
  ).toEqual([]);
});

test("a path that is not there is found", () => {
  expect(
    missingPaths("README.md", "see `cluster/no-such-folder/` and `cluster/internal/turn/node.ts`"),
  ).toEqual(["cluster/no-such-folder/"]);
});

/** A file name without a folder, as a README's table of files has it. */
const BESIDE = /`([a-z][\w.-]*\.ts)`/g;

test("a file that a folder's README names without its folder is in that folder or below it", () => {
  const strays = readmes
    .filter((file) => /^(?:schemas|cluster|actors|gateway|node)\//.test(file))
    .flatMap((file) => {
      const folder = dirname(file);
      return [...readFileSync(file, "utf8").matchAll(BESIDE)]
        .map(([, name]) => name!)
        .filter((name) => !tracked.some((path) => path.startsWith(`${folder}/`) && path.endsWith(`/${name}`)))
        .map((name) => ({ file, name }));
    });
  expect(strays).toEqual([]);
});

test("every folder of the program has a README", () => {
  const folders = new Set(
    tracked
      .filter((file) => /^(?:schemas|cluster|actors|gateway|node|ops)\/.*\.ts$/.test(file))
      .map((file) => dirname(file)),
  );
  expect(folders.size).toBeGreaterThan(25);
  const without = [...folders].filter((folder) => {
    const readme = join(folder, "README.md");
    return !existsSync(readme) || readFileSync(readme, "utf8").split("\n").length < 10;
  });
  expect(without).toEqual([]);
});

const CHANGES = /<!-- changes: .*? -->\n([^]*?)<!-- \/changes -->/;

test("each common change of the map begins in a file that has the name", () => {
  const [, rows] = CHANGES.exec(readFileSync("docs/contributing/map.md", "utf8"))!;
  const changes = rows!
    .trim()
    .split("\n")
    .slice(2)
    .map((row) => {
      const [, change, open, at] = row.split("|").map((cell) => cell.trim());
      const [path, name] = [open, at].map((cell) => /`([^`]+)`/.exec(cell!)?.[1] ?? "");
      return { change, path: path!, name: name! };
    });
  expect(changes.length).toBeGreaterThan(5);
  const lost = changes.filter(
    ({ path, name }) => !existsSync(path) || !new RegExp(`\\b${name}\\b`).test(readFileSync(path, "utf8")),
  );
  expect(lost).toEqual([]);
});
