import fc from "fast-check";
import { expect, test } from "vitest";
import { comparableChars } from "../../../../actors/reading/content/comparable-chars.ts";

test.each([
  ["", 0],
  ["The ferry left.", 15],
  ["Паром ушёл", 10],
  ["渡轮离开了", 15],
  ["渡轮 No. 5", 12],
  ["フェリー", 8],
  ["여객선이", 8],
  ["𠮷野家", 10],
])("%s is as long as %i characters of an alphabet", (text, chars) => {
  expect(comparableChars(text)).toBe(chars);
});

test("no text is longer than three times its characters, none is shorter than it is", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      const chars = comparableChars(text);
      expect(chars).toBeGreaterThanOrEqual(text.length);
      expect(chars).toBeLessThanOrEqual(3 * text.length);
    }),
  );
});

test("a text of any length is as long as its parts together", () => {
  const parts = fc.array(fc.constantFrom("The ferry left. ", "Паром ", "渡", "フェ", "여", "𠮷", "é"), {
    maxLength: 100,
  });
  fc.assert(
    fc.property(parts, (all) => {
      const sum = all.reduce((chars, part) => chars + comparableChars(part), 0);
      expect(comparableChars(all.join(""))).toBe(sum);
    }),
  );
});
