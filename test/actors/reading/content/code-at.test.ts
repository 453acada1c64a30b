import { expect, test } from "vitest";
import { codeAt } from "../../../../actors/reading/content/code-at.ts";

test("the units of a text are those that charCodeAt finds, however the text was made", () => {
  const long = "a word, é, Ж, 字 and \u{1f600}. ".repeat(4);
  const texts = [
    "",
    "x",
    "é",
    long,
    long.slice(20, 60),
    `${long}${long}`,
    long.slice(0, 14),
    Object.keys({ [long]: 1 })[0]!,
  ];
  for (const text of texts)
    for (let at = 0; at < text.length; at += 1) expect(codeAt(text, at)).toBe(text.charCodeAt(at));
});
