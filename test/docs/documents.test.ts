/**
 * Promises of the documents without a running service: their pictures are the code's, each of their commands is run or is
 * listed with the reason why not, each command that they name exists, and each link leads somewhere.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, test } from "vitest";
import { trawl, type World } from "../../ops/cli.ts";
import { readConfig } from "../../ops/config.ts";
import { blocksOf, examplesOf } from "./blocks.ts";
import { differences, isText, lastJson } from "./compare.ts";
import { DOCUMENTS, NOT_RUN } from "./documents.ts";
import { sourceFiles } from "./imports.ts";
import { drawFloors, drawWay, floorsOf, stationsOf, stationsTable } from "./pictures.ts";

const tracked = execFileSync("git", ["ls-files", "README.md", "CHANGELOG.md", "docs"], { encoding: "utf8" });
const documents = tracked
  .trim()
  .split("\n")
  .filter((file) => file.endsWith(".md"));
const textOf = (file: string): string => readFileSync(file, "utf8");

describe("pictures", async () => {
  const files = await sourceFiles();
  const stations = stationsOf(files);
  const DRAWN: Readonly<Record<string, () => string>> = {
    "docs/pictures/floors.svg": () => drawFloors(floorsOf(files)),
    "docs/pictures/way.svg": () => drawWay(stations, files),
    "docs/architecture.md": () =>
      textOf("docs/architecture.md").replace(
        /(<!-- stations: .*? -->\n)[^]*?(<!-- \/stations -->)/,
        (_, open: string, close: string) => `${open}${stationsTable(stations)}${close}`,
      ),
  };
  test.each(Object.keys(DRAWN))("%s is what the code draws", (file) => {
    if (process.env["UPDATE"]) writeFileSync(file, DRAWN[file]!());
    expect(textOf(file)).toBe(DRAWN[file]!());
  });

  test("folders that import each other in a circle cannot be drawn", () => {
    const circle = [
      { path: "gateway/a.ts", text: "", imports: ["node/b.ts"] },
      { path: "node/b.ts", text: "", imports: ["gateway/a.ts"] },
    ];
    expect(() => floorsOf(circle)).toThrow("Cannot draw floors: ");
  });
});

test("the README is read in a few minutes", () => {
  expect(textOf("README.md").split("\n").length).toBeLessThanOrEqual(150);
});

/** A command line of which only the help is asked for. */
const helpWorld = (write: (text: string) => void): World => ({
  environment: {},
  config: () => readConfig({}),
  openDocuments: () => Promise.reject(new Error("not here")),
  openNodeDirectory: () => Promise.reject(new Error("not here")),
  now: () => 0,
  out: (text) => write(`${text}\n`),
  err: write,
  starting: () => Promise.reject(new Error("not here")),
  version: "0.0.0",
});

describe("commands", () => {
  const examples = documents.flatMap((file) => examplesOf(blocksOf(file, textOf(file))).examples);
  const firstLine = (text: string): string => text.split("\n")[0]!.split(/\s{2,}#/)[0]!;

  test("each document with commands is run", () => {
    const withCommands = documents.filter((file) =>
      blocksOf(file, textOf(file)).some(({ lang, meta }) => lang === "sh" && meta !== "not-run"),
    );
    expect(withCommands.length).toBeGreaterThan(10);
    expect(withCommands.toSorted()).toEqual(DOCUMENTS.map(({ file }) => file).toSorted());
  });

  test("each block that is not run is listed with its reason, and the list has no other", () => {
    const blocks = examples.flatMap(({ commands }) =>
      commands.meta === "not-run" ? [firstLine(commands.text)] : [],
    );
    expect([...new Set(blocks)].toSorted()).toEqual(Object.keys(NOT_RUN).toSorted());
  });

  test("each output follows its commands", () => {
    const stray = documents.flatMap((file) => examplesOf(blocksOf(file, textOf(file))).stray);
    expect(stray.map(({ place }) => place)).toEqual([]);
  });

  test("no file says npx trawl, a name on npm that anybody may take", () => {
    const files = execFileSync("git", ["grep", "-l", "npx trawl"], { encoding: "utf8" }).trim().split("\n");
    const mayNameIt = new Set(["CHANGELOG.md", "test/docs/documents.test.ts"]);
    expect(files.filter((file) => !mayNameIt.has(file))).toEqual([]);
  });

  /** `trawl key limit PREFIX --rps 5` and the like, in code of the text. */
  const NAMED = /`(?:\.\/)?trawl ([a-z][^`]*)`/g;
  test("each command that a document names exists, with its options", async () => {
    const named = documents
      .filter((file) => file !== "CHANGELOG.md")
      .flatMap((file) => [...textOf(file).matchAll(NAMED)].map(([, words]) => words!.split(/\s+/)));
    expect(named.length).toBeGreaterThan(30);
    const unknown: string[] = [];
    for (const words of named) {
      const path = words.filter((word, at) => at < 2 && /^[a-z][a-z-]*$/.test(word));
      const options = words.filter((word) => /^--[a-z-]+$/.test(word));
      let help = "";
      const world = helpWorld((text) => (help += text));
      await trawl([path[0]!, "--help"], world);
      const isGroup = help.includes("\nCommands:");
      if (isGroup && path[1] !== undefined) {
        if (!new RegExp(`^  ${path[1]}\\b`, "m").test(help)) unknown.push(words.join(" "));
        await trawl([...path, "--help"], world);
      }
      if (!help.startsWith(`Usage: trawl ${path[0]!}`) || options.some((option) => !help.includes(option)))
        unknown.push(words.join(" "));
    }
    expect(unknown).toEqual([]);
  });
});

describe("links", () => {
  /** As GitHub and VitePress make it of a heading. */
  const anchorOf = (heading: string): string =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replaceAll(/\s/g, "-");
  const anchors = (file: string): readonly string[] =>
    [...textOf(file).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchorOf(heading!));

  test("lead to files and headings that are there", () => {
    const broken = documents.flatMap((file) =>
      [...textOf(file).matchAll(/\]\((?!https?:)([^)\s]*)\)/g)]
        .map(([, link]) => link!)
        .filter((link) => {
          const [path, anchor] = link.split("#") as [string, string?];
          const target = path === "" ? file : normalize(join(dirname(file), path));
          if (!existsSync(target)) return true;
          return anchor !== undefined && !anchors(target).includes(anchor);
        })
        .map((link) => `${file}: ${link}`),
    );
    expect(broken).toEqual([]);
  });

  test("reach every document from the README", () => {
    const reached = new Set(["README.md"]);
    for (const file of reached)
      for (const [, link] of textOf(file).matchAll(/\]\((?!https?:)([^)#\s]+\.md)/g)) {
        const target = normalize(join(dirname(file), link!));
        if (documents.includes(target)) reached.add(target);
      }
    expect(documents.filter((file) => !reached.has(file))).toEqual([]);
  });
});

describe("the comparison of answers", () => {
  test.each([
    [{ a: 1 }, { a: 2 }, ["$.a: documented 1, was 2"]],
    [{ a: 1 }, { a: 1, b: 2 }, ['$: "b" is not documented']],
    [{ a: 1, "…": "…" }, { a: 1, b: 2 }, []],
    [{ a: 1, "…": "…" }, { b: 2 }, ["$.a: documented 1, was undefined"]],
    [[1, "…"], [1, 2], []],
    [[1], [1, 2], ["$: documented [1], was [1,2]"]],
    [{ ms: 5 }, { ms: 7 }, []],
    [{ ms: 5 }, { ms: null }, ["$.ms: documented 5, was null"]],
    ["blocked", "free", ['$: documented "blocked", was "free"']],
    ["The ferry…", "The ferry sails", []],
    ["The ferry…", "A ferry sails", ['$: documented "The ferry…", was "A ferry sails"']],
    [null, "x", ['$: documented null, was "x"']],
  ])("of %j with %j", (documented, actual, faults) => {
    expect(differences(documented, actual)).toEqual(faults);
  });

  test("leaves out what differs in each run, and nothing else", () => {
    expect(isText("2026-11-21T15:58:25.918Z", "2026-12-01T00:00:00.000Z")).toBe(true);
    expect(isText("27a0a7b1…", "f".repeat(64))).toBe(true);
    expect(isText("http://127.0.0.1:1/x", "http://127.0.0.1:2/x")).toBe(true);
    expect(isText("http://127.0.0.1:1/x", "http://127.0.0.1:1/y")).toBe(false);
  });

  test("reads the last JSON of an output", () => {
    expect(lastJson('{"a": 1}\nline\n{\n "b": 2\n}\n')).toEqual({ b: 2 });
    expect(lastJson("nothing")).toBeUndefined();
  });
});
