/** A list of documentation that stands beside text is text as a whole; menus, tabs and lists of places on the page are not. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readHtml, surveyOf } from "../../../../actors/reading/article/article.ts";
import { readLinkedData } from "../../../../actors/reading/article/jsonld.ts";
import { withSectionLists } from "../../../../actors/reading/article/section-lists.ts";
import { buildTree } from "../../../../actors/reading/article/tree.ts";

const NOW_MS = Date.UTC(2026, 10, 28);
const ABOUT =
  "A store keeps what a program writes until it is told to forget it, and gives it back by key or by range, on any of the machines.";

const list = (entries: readonly string[], path = "/docs/store/"): string =>
  entries.map((entry, i) => `<li><a href="${path}${i}">${entry}</a></li>`).join("");
const page = (body: string, beside = ""): string =>
  `<html lang="en"><title>Stores</title><body><nav><ul>${list(["Home", "Blog", "Pricing"], "/")}</ul></nav>${beside}<main><div class="section"><h1>Stores</h1><p>${ABOUT}</p>${body}</div></main></body></html>`;
const read = (html: string, url = "https://stores.example/docs/store.html"): string =>
  readHtml(html, url, NOW_MS).text;

const CONTENTS = ["Opening", "Ranges", "Snapshots", "Locks", "Compaction", "Backups", "Limits"];

describe("a list beside text of documentation", () => {
  test("is text when it lists the pages below", () => {
    const text = read(page(`<div class="toc"><p>Contents</p><ul>${list(CONTENTS)}</ul></div>`));
    for (const entry of CONTENTS) expect(text).toContain(entry);
  });

  test("has its terms and its definitions", () => {
    const terms = ["key", "value", "ttl", "tag"].map(
      (term) => `<dt><code>${term}</code></dt><dd><a href="/docs/t/${term}">${term} type</a></dd>`,
    );
    const text = read(page(`<dl>${terms.join("")}</dl>`));
    for (const term of ["key", "value", "ttl", "tag"]) expect(text).toMatch(new RegExp(`^${term}$`, "m"));
  });

  test("is no text in a menu, as tabs, or of places on the same page", () => {
    const others = [
      `<nav><ul>${list(["Alpha", "Beta", "Gamma"])}</ul></nav>`,
      `<ul role="tablist">${list(["Linux", "Windows", "Darwin"])}</ul>`,
      `<ul class="prev-next">${list(["Preface", "Overview", "Epilogue"])}</ul>`,
    ];
    const text = read(page(others.join("")));
    expect(text).toContain(ABOUT);
    for (const entry of ["Alpha", "Gamma", "Linux", "Darwin", "Preface", "Epilogue"])
      expect(text).not.toContain(entry);
  });
});

/** The chances after the rule, all lines but prose having been doubted. */
function chancesOf(html: string): { text: string; chance: number }[] {
  const tree = buildTree(html);
  const { page: marked, lines } = surveyOf(tree, readLinkedData(tree.jsonLd), "https://stores.example/docs/");
  const chances = lines.map(({ text }) => (text === ABOUT ? 0.9 : 0.05));
  return withSectionLists(marked, lines, chances).map((chance, i) => ({ text: lines[i]!.text, chance }));
}

describe("the rule", () => {
  const entries = fc.uniqueArray(fc.stringMatching(/^[A-Z][a-z]{3,9} [a-z]{4,8}$/), {
    minLength: 1,
    maxLength: 12,
  });

  test("keeps a list whole or leaves it as it was, and touches nothing else", () => {
    fc.assert(
      fc.property(entries, fc.boolean(), fc.integer({ min: 0, max: 5 }), (names, isMenu, wrappers) => {
        const inner = `<ul>${list(names)}</ul>`;
        const wrapped = `${"<div>".repeat(wrappers)}${inner}${"</div>".repeat(wrappers)}`;
        const result = chancesOf(page(isMenu ? `<aside>${wrapped}</aside>` : wrapped));
        const listed = result.filter(({ text }) => names.includes(text)).map(({ chance }) => chance);
        expect(listed).toHaveLength(names.length);
        expect(new Set(listed).size).toBe(1);
        expect(listed[0]! > 0.05).toBe(!isMenu && wrappers <= 3);
        for (const { text, chance } of result.filter(({ text: other }) => !names.includes(other)))
          expect(chance).toBe(text === ABOUT ? 0.9 : 0.05);
      }),
    );
  });

  test("raises no list where the text beside it is doubted", () => {
    const result = chancesOf(page(`<ul>${list(CONTENTS)}</ul>`).replace(ABOUT, `${ABOUT} Or not.`));
    for (const { chance } of result) expect(chance).toBe(0.05);
  });

  test("leaves a list of places on the same page as it was", () => {
    const result = chancesOf(page(`<ul>${list(CONTENTS, "#")}</ul>`));
    const listed = result.filter(({ text }) => CONTENTS.includes(text));
    expect(listed.map(({ chance }) => chance)).toEqual(CONTENTS.map(() => 0.05));
  });

  test("reads lists nested deeply, and thousands of them", () => {
    const nested = `${"<ul><li>a<div>".repeat(3_000)}${list(CONTENTS)}`;
    const many = Array.from({ length: 5_000 }, (_, i) => `<div><ul><li>entry ${i}</li></ul></div>`).join("");
    expect(chancesOf(page(nested)).length).toBeGreaterThan(0);
    expect(chancesOf(page(many)).length).toBeGreaterThan(5_000);
  });
});
