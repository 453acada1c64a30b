/** The templates of the console (htm) drop a line's end beside an inline element, and the space with it. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const FOLDER = new URL("../../ops/pages/console/", import.meta.url).pathname;
const INLINE = "a|code|b|strong|em|i|time";
const BEFORE = new RegExp(`[\\w,.;:)]\\n\\s*<(?:${INLINE})[\\s>]`, "g");
const AFTER = new RegExp(`</(?:${INLINE})>\\n\\s*[A-Za-z(]`, "g");

test("no word and no inline element touch where a line of a template ends", () => {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith(".js"));
  expect(files.length).toBeGreaterThan(10);
  const touching = files.flatMap((name) => {
    const text = readFileSync(FOLDER + name, "utf8");
    return [...text.matchAll(BEFORE), ...text.matchAll(AFTER)].map(([found]) => `${name}: ${found}`);
  });
  expect(touching).toEqual([]);
});
