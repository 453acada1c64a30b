import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { readHtml } from "../../../../actors/reading/article/article.ts";

/** Written for this project: <verdict>-<variant>.html, and `page-…` beside them, ordinary pages with the same words. */
const FOLDER = new URL("../../../fixtures/verdict/", import.meta.url);
const FILES = readdirSync(FOLDER);
const NOW_MS = Date.UTC(2026, 10, 21);
const verdictOf = (html: string, url = "https://harbour.example/"): string =>
  readHtml(html, url, NOW_MS).page_verdict;

describe("the verdict on a page", () => {
  test.each(FILES)("%s", (file) => {
    expect(verdictOf(readFileSync(new URL(file, FOLDER), "utf8"))).toBe(file.split("-")[0]);
  });

  test("has pages for each verdict, and ordinary pages", () => {
    expect([...new Set(FILES.map((file) => file.split("-")[0]))]).toEqual([
      "consent_wall",
      "empty_shell",
      "javascript_required",
      "login_wall",
      "maintenance",
      "page",
      "parked_domain",
      "soft_404",
    ]);
  });

  test("takes time in the length of a page made to be slow", () => {
    const slow = [
      "<noscript>",
      "<noscript>javascript ",
      "<div id=root>",
      "<h1>404 | ",
      "<input name=user>",
    ].filter((piece) => {
      const html = piece.repeat(20_000);
      const began = process.cpuUsage();
      verdictOf(html);
      return process.cpuUsage(began).user > 4_000_000;
    });
    expect(slow).toEqual([]);
  });
});
