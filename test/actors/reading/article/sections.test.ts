/** Which headings go: the page's own, and those whose section is no text. */
import { expect, test } from "vitest";
import { readHtml, surveyOf } from "../../../../actors/reading/article/article.ts";
import { readLinkedData } from "../../../../actors/reading/article/jsonld.ts";
import { withoutHollowHeadings, withoutOwnHeading } from "../../../../actors/reading/article/sections.ts";
import { buildTree } from "../../../../actors/reading/article/tree.ts";

/** Headings that go from the lines with a "+"; those with a "!" are likely. */
function gone(html: string): string[] {
  const tree = buildTree(html);
  const { lines } = surveyOf(tree, readLinkedData(tree.jsonLd), "https://harbour.example/town/ferry");
  const read = lines.flatMap(({ text }, i) => (text.startsWith("+") ? [i] : []));
  const chances = lines.map(({ text }) => (text.includes("!") ? 0.8 : 0.3));
  const kept = new Set(withoutHollowHeadings(tree, lines, chances, read));
  return read.filter((i) => !kept.has(i)).map((i) => lines[i]!.text);
}

const PROSE = "<p>+The boats come in at dawn.</p>";

test.each([
  ["a section with text", `<h2>+Fares</h2>${PROSE}`, []],
  ["a section that is no text", `${PROSE}<h2>+Fares</h2><p>Book now.</p><h2>+Boats</h2>${PROSE}`, ["+Fares"]],
  ["the last section, which is no text", `${PROSE}<h2>+Related</h2><p>Another harbour.</p>`, ["+Related"]],
  ["a likely heading", `${PROSE}<h2>+Fares!</h2><p>Book now.</p><h2>+Boats</h2>${PROSE}`, []],
  ["a heading below which the page has nothing", `${PROSE}<h2>+Fares</h2><h2>+Boats</h2>${PROSE}`, []],
  ["a heading above one of a lower level", `<h2>+Fares</h2><p>Book now.</p><h3>+Adults</h3>${PROSE}`, []],
  [
    "the title of a card",
    `${PROSE}<h2><a href="/north">+North</a></h2><p>Ada</p><h2>+Boats</h2>${PROSE}`,
    [],
  ],
  [
    "a heading all of whose sections go",
    `${PROSE}<h2>+More</h2><p>Read on.</p><h3>+North</h3><p>Another harbour.</p>`,
    ["+More", "+North"],
  ],
  ["text that is no heading", `${PROSE}<p>+Fares</p><p>Book now.</p>`, []],
])("%s", (_, html, headings) => {
  expect(gone(html)).toEqual(headings);
});

const SENTENCE =
  "The boats come in at dawn, and everybody in the harbour knows what each of them has brought.";

test.each([
  ["an article", "https://harbour.example/blog/the-night-boat"],
  ["documentation", "https://docs.harbour.example/docs/guide/night-boat"],
])("the only h1 of %s is its title, and no text", (_, url) => {
  const prose = ["One", "Two", "Three"].map((name) => `<p>${SENTENCE} ${name}.</p>`).join("");
  const { title, text } = readHtml(
    `<html lang="en"><title>The night boat</title><body><article><h1>The night boat</h1>${prose}<h2>Fares</h2>${prose}</article></body></html>`,
    url,
    0,
  );
  expect(title).toBe("The night boat");
  expect(text).toMatch(/^The boats come in at dawn/);
  expect(text).toContain("Fares");
});

/** The lines with a "+" without the page's own heading. */
function belowOwnHeading(html: string): string[] {
  const tree = buildTree(html);
  const { lines } = surveyOf(tree, readLinkedData(tree.jsonLd), "https://harbour.example/town/ferry");
  const read = lines.flatMap(({ text }, i) => (text.startsWith("+") ? [i] : []));
  return withoutOwnHeading(lines, read, new Uint8Array(tree.tag.length)).map((i) => lines[i]!.text);
}

test.each([
  ["the only one goes", `<h1>+Boats</h1>${PROSE}`, ["+The boats come in at dawn."]],
  [
    "of two both stay",
    `<h1>+Boats</h1>${PROSE}<h1>+Fares</h1>`,
    ["+Boats", "+The boats come in at dawn.", "+Fares"],
  ],
  ["a lower heading stays", `<h2>+Boats</h2>${PROSE}`, ["+Boats", "+The boats come in at dawn."]],
  ["a page with no other text keeps it", "<h1>+Boats</h1><p>Book now.</p>", ["+Boats"]],
])("headings of the page itself: %s", (_, html, kept) => {
  expect(belowOwnHeading(html)).toEqual(kept);
});
