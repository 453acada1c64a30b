/** Which headings go because their section is no text. */
import { expect, test } from "vitest";
import { surveyOf } from "../../../../actors/reading/article/article.ts";
import { readLinkedData } from "../../../../actors/reading/article/jsonld.ts";
import { withoutHollowHeadings } from "../../../../actors/reading/article/sections.ts";
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
