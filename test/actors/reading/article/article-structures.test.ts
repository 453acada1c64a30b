/** Which lines complete a choice of lines, and which dialogs are left out of it. */
import { expect, test } from "vitest";
import { surveyOf } from "../../../../actors/reading/article/article.ts";
import { outsideDialogs } from "../../../../actors/reading/article/dialogs.ts";
import { readLinkedData } from "../../../../actors/reading/article/jsonld.ts";
import { completed } from "../../../../actors/reading/article/structures.ts";
import { buildTree } from "../../../../actors/reading/article/tree.ts";

const survey = (html: string) => {
  const tree = buildTree(html);
  return { tree, ...surveyOf(tree, readLinkedData(tree.jsonLd), "https://www.harbour.example/town/ferry") };
};

/** What is added when the lines that begin with "+" are picked; those with "!" are unlikely to be text. */
function addedTo(html: string): string[] {
  const { tree, lines } = survey(html);
  const picked = lines.map(({ text }) => text.startsWith("+"));
  const chances = lines.map(({ text }) => (text.includes("!") ? 0.1 : 0.4));
  const whole = completed(tree, lines, chances, picked);
  expect(picked.every((is, i) => !is || whole[i])).toBe(true);
  return lines.flatMap(({ text }, i) => (whole[i] && !picked[i] ? [text] : []));
}

const PROSE = "<p>+The boats come in at dawn.</p>";
const items = (...texts: string[]) => `<ul>${texts.map((text) => `<li>${text}</li>`).join("")}</ul>`;

test.each([
  ["a heading between two lines", `${PROSE}<h2>The night boat</h2>${PROSE}`, ["The night boat"]],
  ["a heading in an element", `${PROSE}<h2><span>The night boat</span></h2>${PROSE}`, ["The night boat"]],
  ["a heading that is hardly likely", `${PROSE}<h2>Join us!</h2>${PROSE}`, []],
  ["a heading above what was not picked", `${PROSE}<h2>The night boat</h2><p>Teaser.</p>${PROSE}`, []],
  ["a heading above a heading", `${PROSE}<h2>The night boat</h2><h3>+At ten</h3>${PROSE}`, []],
  ["a heading at the end", `${PROSE}<h2>The night boat</h2>`, []],
  ["a heading that is never text", `${PROSE}<h2>Advertisement</h2>${PROSE}`, []],
  ["a paragraph between two lines", `${PROSE}<p>The night boat</p>${PROSE}`, []],
  ["a paragraph in large print", `${PROSE}<h2>${"The night boat leaves. ".repeat(10)}</h2>${PROSE}`, []],
  [
    "items of a list in the text",
    `${PROSE}${items("Dory", "+Skiff", "<p>Punt</p>")}${PROSE}`,
    ["Dory", "Punt"],
  ],
  ["a list of which little was picked", `${PROSE}${items("+A", "B", "C", "D", "E", "F")}${PROSE}`, []],
  ["a list of which nothing was picked", `${PROSE}${items("Dory", "Skiff", "Punt")}${PROSE}`, []],
  ["a list at the end", `${PROSE}${items("Dory", "+Skiff", "Punt")}`, []],
  ["a list of two", `${PROSE}${items("Dory", "+Skiff")}${PROSE}`, []],
  [
    "the other cells of a row with a header",
    "<table><tr><th><p>+Draught</p></th><td><p>2 m</p></td></tr><tr><th><p>Beam</p></th><td><p>4 m</p></td></tr></table>",
    ["2 m"],
  ],
  ["a row without a header", "<table><tr><td><p>+Draught</p></td><td><p>2 m</p></td></tr></table>", []],
  [
    "a row that lays a page out",
    `<table><tr><th><p>+Draught</p></th><td><p>${"Two metres. ".repeat(40)}</p></td></tr></table>`,
    [],
  ],
])("%s", (_, html, added) => {
  expect(addedTo(html)).toEqual(added);
});

/** What is left when every line is picked. */
function leftOf(html: string): string[] {
  const { tree, lines } = survey(html);
  const sizes = lines.map(({ text }) => text.split(" ").length);
  const picked = outsideDialogs(
    tree,
    lines,
    sizes,
    lines.map(() => true),
  );
  return lines.flatMap(({ text }, i) => (picked[i] ? [text] : []));
}

const PAGE = "<p>One two three four five six seven.</p>";

test.each([
  ["by its role", '<div role="dialog"><div><p>Our terms.</p></div></div>'],
  ["for an alert", '<div role="alertdialog"><p>Our terms.</p></div>'],
  ["by its element", "<dialog open><p>Our terms.</p></dialog>"],
])("a dialog %s is left out", (_, dialog) => {
  expect(leftOf(PAGE + dialog)).toEqual(["One two three four five six seven."]);
});

test("a dialog with a third of the words is what the page is about", () => {
  const terms = "Our terms are these four.";
  expect(leftOf(`${PAGE}<div role="dialog"><p>${terms}</p></div>`)).toContain(terms);
});

test("a page without dialogs keeps its lines", () => {
  expect(leftOf(`${PAGE}<div role="region"><p>Our terms.</p></div>`)).toContain("Our terms.");
});
