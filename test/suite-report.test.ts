/** The published figures of `npm run bench` are those of its committed results. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type SuiteReport, suitePlot, suiteTable, suiteVersions } from "../bench/suite-report.ts";

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
const suite = JSON.parse(read("bench/results/suite.json")) as SuiteReport;

test("the committed table and plot are those of the committed results", () => {
  expect(read("bench/results/suite.md")).toBe(suiteTable(suite));
  expect(read("bench/results/suite.svg")).toBe(suitePlot(suite));
});

test("the committed results are of the pinned versions", () => {
  expect(suite.versions).toEqual(suiteVersions());
});

const PROGRAMS = ["trawl", "undici", "crawlee http", "crawlee cheerio", "scrapy", "colly", "spider"];
test.each(["light", "real", "mixed", "bytes"])("docs/performance.md has the medians of %s pages", (kind) => {
  const start = kind === "bytes" ? "| 8 KiB of bytes" : `| ${kind}`;
  const row = read("docs/performance.md")
    .split("\n")
    .find((line) => line.startsWith(start))!;
  const cells = row
    .split("|")
    .slice(2, -1)
    .map((cell) => cell.trim());
  const medians = PROGRAMS.map(
    (program) => suite.summary[`${program} ${kind}`]?.pages_per_cpu_s.toLocaleString("en") ?? "",
  );
  expect(cells).toEqual(medians);
});
