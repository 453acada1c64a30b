/** How answers for a language model are cut, and what the list of tools costs in every conversation. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cut, estimateTokens } from "../../gateway/mcp/budget.ts";
import { decodeCursor, encodeCursor } from "../../gateway/mcp/cursor.ts";
import { inline, link, outline, table } from "../../gateway/mcp/markdown.ts";
import { TOOLS } from "../../gateway/mcp/tools.ts";

describe("a cut", () => {
  const words = fc.string({ unit: "grapheme", minLength: 1, maxLength: 400 });

  test("parts make up the text, each within the budget and never inside a character", () => {
    fc.assert(
      fc.property(words, fc.integer({ min: 2, max: 60 }), (text, budget) => {
        let offset: number | null = 0;
        let read = "";
        while (offset !== null) {
          const { part, next }: { part: string; next: number | null } = cut(text, offset, budget);
          expect(part.isWellFormed()).toBe(true);
          expect(estimateTokens(part)).toBeLessThanOrEqual(budget);
          expect(next === null || next > offset).toBe(true);
          read += part + (next === null ? "" : text.slice(offset + part.length, next));
          expect(next === null ? "" : text.slice(offset + part.length, next)).toMatch(/^(?:\n\n|\n| |)$/);
          offset = next;
        }
        expect(read).toBe(text);
      }),
    );
  });

  test.each([
    ["a paragraph", `${"a".repeat(30)}\n\n${"b".repeat(9)}\n${"c".repeat(40)}`, "a".repeat(30)],
    ["a line", `${"a".repeat(30)}\n${"c".repeat(40)}`, "a".repeat(30)],
    ["a word", `${"a".repeat(30)} ${"c".repeat(40)}`, "a".repeat(30)],
    ["the budget", "a".repeat(70), "a".repeat(40)],
    ["fewer characters where each is a token and a half", "灯".repeat(70), "灯".repeat(6)],
  ])("ends with %s", (_, text, part) => {
    expect(cut(text, 0, 10).part).toBe(part);
  });
});

test("a cursor says tool, arguments and place; anything else is none", () => {
  const place = { tool: "fetch", args: { url: "https://example.org/" }, offset: 7, digest: "abc" };
  expect(decodeCursor(encodeCursor(place))).toEqual(place);
  for (const wrong of ["", "x", "bnVsbA", encodeCursor({ ...place, offset: -1 })])
    expect(decodeCursor(wrong)).toBeNull();
});

test("descriptions of all tools are under 2,000 tokens together, the list under 12,000 characters", () => {
  const descriptions = TOOLS.map(({ name, title, description }) => `${name} ${title} ${description}`).join(
    "\n",
  );
  expect(estimateTokens(descriptions)).toBeLessThan(2_000);
  expect(JSON.stringify(TOOLS).length).toBeLessThan(12_000);
});

test("what a page says cannot forge Markdown around it", () => {
  expect(inline("a\n# b [x](y) `c`")).toBe("a # b \\[x\\](y) \\`c\\`");
  expect(link("t]", "http://e.org/a b>")).toBe("[t\\]](<http://e.org/a%20b%3E>)");
  expect(table(["a", "b"], [["x|y", null]])).toBe("| a | b |\n| --- | --- |\n| x\\|y |  |");
});

test("an outline leaves out what is empty", () => {
  expect(outline({ name: "A", none: null, list: [], tags: ["x", "y"], parts: [{ id: 1, of: {} }] })).toBe(
    "- **name**: A\n- **tags**: x, y\n- **parts**:\n  -\n    - **id**: 1",
  );
});
