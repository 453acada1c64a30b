/** Which lines complete a choice of lines, and which dialogs are left out of it. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readHtml, surveyOf } from "../../../../actors/reading/article/article.ts";
import { outsideDialogs } from "../../../../actors/reading/article/dialogs.ts";
import { readLinkedData } from "../../../../actors/reading/article/jsonld.ts";
import { completed } from "../../../../actors/reading/article/structures.ts";
import { buildTree } from "../../../../actors/reading/article/tree.ts";

const survey = (html: string) => {
  const tree = buildTree(html);
  return { tree, ...surveyOf(tree, readLinkedData(tree.jsonLd), "https://www.harbour.example/town/ferry") };
};

/** Adds to the picked lines, which begin with "+"; lines with "!" are unlikely to be text. */
function addedTo(html: string): string[] {
  const { tree, lines } = survey(html);
  const picked = lines.map(({ text }) => text.startsWith("+"));
  const chances = lines.map(({ text }) => (text.includes("!") ? 0.1 : 0.4));
  const whole = completed(tree, lines, chances, picked);
  expect(picked.every((is, i) => !is || whole[i])).toBe(true);
  return lines.flatMap(({ text }, i) => (whole[i] && !picked[i] ? [text] : []));
}

const PROSE = "<p>+The boats come in at dawn.</p>";
const table = (cells: string, attributes = "") =>
  `<table ${attributes}>${cells
    .split(";")
    .map((row) => `<tr>${row.replace(/[^,]+,?/g, (cell) => `<td>${cell.replace(",", "")}</td>`)}</tr>`)
    .join("")}</table>`;
const items = (...texts: string[]) => `<ul>${texts.map((text) => `<li>${text}</li>`).join("")}</ul>`;

test.each([
  ["a heading between two lines", `${PROSE}<h2>The night boat</h2>${PROSE}`, ["The night boat"]],
  ["a heading in an element", `${PROSE}<h2><span>The night boat</span></h2>${PROSE}`, ["The night boat"]],
  ["a heading that is hardly likely", `${PROSE}<h2>Join us!</h2>${PROSE}`, []],
  ["a heading above what was not picked", `${PROSE}<h2>The night boat</h2><p>Teaser.</p>${PROSE}`, []],
  ["a heading above a heading", `${PROSE}<h2>The night boat</h2><h3>+At ten</h3>${PROSE}`, []],
  ["a heading at the end", `${PROSE}<h2>The night boat</h2>`, []],
  [
    "a heading below what was not picked",
    `${PROSE}<p>Ada</p><h2>The night boat</h2>${PROSE}`,
    ["The night boat"],
  ],
  [
    "a link below what was not picked",
    `${PROSE}<p>Ada</p><h2><a href="/n">The night boat</a></h2>${PROSE}<p>Ada</p><h2>+Fares</h2>${PROSE}`,
    [],
  ],
  ["a heading above all text", `<h2>The night boat</h2>${PROSE}`, []],
  [
    "a heading most of whose section was picked",
    `${PROSE}<h2>The night boat</h2><p>Ada</p>${PROSE}${PROSE}<h2>+Fares</h2>${PROSE}`,
    ["The night boat"],
  ],
  [
    "a heading half of whose section was picked",
    `${PROSE}<h2>The night boat</h2><p>Ada</p>${PROSE}<h2>+Fares</h2>${PROSE}`,
    [],
  ],
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
    "<table><tr><th><p>+Draught</p></th><td><p>2 m</p></td></tr><tr><th><p>Beam</p></th><td><p>4 m</p></td></tr><tr><th><p>Length</p></th><td><p>9 m</p></td></tr></table>",
    ["2 m"],
  ],
  ["a row without a header", "<table><tr><td><p>+Draught</p></td><td><p>2 m</p></td></tr></table>", []],
  [
    "a row that lays a page out",
    `<table><tr><th><p>+Draught</p></th><td><p>${"Two metres. ".repeat(40)}</p></td></tr></table>`,
    [],
  ],
  [
    "a table of data in the text",
    `${PROSE}${table("Draught,2 m;Beam,4 m")}${PROSE}`,
    ["Draught 2 m", "Beam 4 m"],
  ],
  [
    "a table of data below a heading, and the heading",
    `${PROSE}<h2>Sizes</h2>${table("Draught,2 m;Beam,4 m")}${PROSE}`,
    ["Sizes", "Draught 2 m", "Beam 4 m"],
  ],
  ["the other rows of a table at the end", `${PROSE}${table("+Draught,2 m;Beam,4 m")}`, ["Beam 4 m"]],
  [
    "a table of which little was picked at the end",
    `${PROSE}${table("+Draught,2 m;Beam!,4 m;Length!,9 m;Weight!,2 t")}`,
    [],
  ],
  [
    "the other rows of a likely table at the end",
    `${PROSE}${table("+Draught,2 m;Beam,4 m;Length,9 m;Weight,2 t")}`,
    ["Beam 4 m", "Length 9 m", "Weight 2 t"],
  ],
  [
    "a table with a row of one cell in the middle",
    `${PROSE}${table("+Draught,2 m;Beam,4 m;Weights;Hull,9 t;Crew,1 t")}${PROSE}`,
    ["Beam 4 m", "Weights", "Hull 9 t", "Crew 1 t"],
  ],
  ["an unlikely table above the text", `${table("Draught!,2 m;Beam!,4 m")}${PROSE}`, []],
  ["a likely table above the text", `${table("Draught,2 m;Beam,4 m")}${PROSE}`, ["Draught 2 m", "Beam 4 m"]],
  ["a likely table without text beside it", `${table("Draught,2 m;Beam,4 m")}<p>Fares</p>${PROSE}`, []],
  [
    "a table with blanks around its cells",
    `${PROSE}<table>\n <tr>\n  <td>Draught</td>\n  <td>2 m</td>\n </tr>\n <tr>\n  <td>Beam</td>\n  <td>4 m</td>\n </tr>\n</table>${PROSE}`,
    ["Draught 2 m", "Beam 4 m"],
  ],
  ["a table of one row", `${PROSE}${table("Draught,2 m")}${PROSE}`, []],
  ["a table of one column", `${PROSE}${table("Draught;Beam;Length")}${PROSE}`, []],
  [
    "a table of links",
    `${PROSE}${table('<a href="/a">Boats</a>,<a href="/b">Crews</a>;<a href="/c">Piers</a>,<a href="/d">Fees</a>')}${PROSE}`,
    [],
  ],
  [
    "a table that says it lays a page out",
    `${PROSE}${table("Draught,2 m;Beam,4 m", 'role="presentation"')}${PROSE}`,
    [],
  ],
  [
    "a table with a table inside",
    `${PROSE}${table(`Draught,${table("In,2 m;Out,3 m")};Beam,4 m`)}${PROSE}`,
    [],
  ],
  [
    "a table of long cells",
    `${PROSE}${table(`${"The boats come in. ".repeat(20)},2 m;${"The boats go out. ".repeat(20)},4 m`)}${PROSE}`,
    [],
  ],
])("%s", (_, html, added) => {
  expect(addedTo(html)).toEqual(added);
});

/** Picks every line; returns the lines that are left. */
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

describe("a site's terms in a dialog", () => {
  const terms =
    "By using the platform you agree that the information which you send is kept, and that you will not copy any part of it without consent.";
  const readBeside = (dialog: string): string =>
    readHtml(
      `<html lang="en"><title>Wool runner</title><body><main><h1>Wool runner</h1><p>Our wool runner combines soft merino wool with a light sole, and it may be washed.</p></main>${dialog}</body></html>`,
      "https://shoes.example/products/wool-runner",
      Date.UTC(2026, 10, 21),
    ).text;
  const long = Array.from({ length: 12 }, (_, i) => `<p>${i + 1}. ${terms}</p>`).join("");

  test.each([
    ["that the footer opens", `<footer><div role="dialog">${long}</div></footer>`],
    ["by its name", `<div id="modal-privacy-policy" role="dialog">${long}</div>`],
    ["by its name, as an element", `<dialog class="terms">${long}</dialog>`],
  ])("%s are no text, though longer than the text", (_, dialog) => {
    const text = readBeside(dialog);
    expect(text).toContain("merino wool");
    expect(text).not.toContain("By using the platform");
  });

  test("are text in another dialog, and without one", () => {
    expect(readBeside(`<div role="dialog">${long}</div>`)).toContain("By using the platform");
    expect(readBeside(`<div id="privacy-policy">${long}</div>`)).toContain("By using the platform");
  });
});

test("a page without dialogs keeps its lines", () => {
  expect(leftOf(`${PAGE}<div role="region"><p>Our terms.</p></div>`)).toContain("Our terms.");
});

describe("units of an article", () => {
  const SENTENCE =
    "The boats come in at dawn, and everybody in the harbour knows what each of them has brought from the sea.";
  const around = (unit: string, behind = true): string => {
    const prose = ["One", "Two", "Three"].map((name) => `<p>${SENTENCE} ${name}.</p>`).join("");
    const more = behind ? prose.replaceAll(/One|Two|Three/g, (name) => `After ${name}`) : "";
    return `<html><body><article><h1>The harbour</h1>${prose}${unit}${more}</article></body></html>`;
  };
  const textOf = (unit: string, behind = true): string =>
    readHtml(around(unit, behind), "https://harbour.example/a", 0).text;
  const WORD = fc.constantFrom("tide", "quay", "boats", "fares", "dawn", "7:40", "4.50");
  const CELL = fc.array(WORD, { minLength: 1, maxLength: 4 }).map((words) => words.join(" "));

  test("a row of a table is whole or absent", () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(CELL, { minLength: 3, maxLength: 3 }), { minLength: 2, maxLength: 6 }),
        fc.boolean(),
        (rows, with_head) => {
          const marked = rows.map((row, i) => row.map((cell, j) => `${cell} r${i}c${j}`));
          const html = marked.map((row, i) => {
            const tag = with_head && i === 0 ? "th" : "td";
            return `<tr>${row.map((cell) => `<${tag}>${cell}</${tag}>`).join("")}</tr>`;
          });
          const text = textOf(`<table>${html.join("")}</table>`);
          for (const i of rows.keys()) {
            const cells = [0, 1, 2].filter((j) => text.includes(`r${i}c${j}`)).length;
            expect([0, 3]).toContain(cells);
          }
        },
      ),
      { numRuns: 40 },
    );
  });

  test("a table of data between two paragraphs is whole, whatever was picked of it", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), fc.boolean()), { minLength: 2, maxLength: 8 }), (rows) => {
        const cells = rows.map((row, i) => row.map((is, j) => `${is ? "+" : ""}tide r${i}c${j}`));
        const html = cells.map((row) => `<tr>${row.map((cell) => `<td><p>${cell}</p></td>`).join("")}</tr>`);
        const left = cells.flat().filter((cell) => !cell.startsWith("+"));
        expect(addedTo(`${PROSE}<table>${html.join("")}</table>${PROSE}`)).toEqual(left);
      }),
      { numRuns: 40 },
    );
  });

  test.each([
    [
      "a list of definitions",
      "<dl><dt>Ebb</dt><dd>the tide going out again</dd><dt>Flood</dt><dd>the tide coming in again</dd></dl>",
      "Ebb|going out again|Flood|coming in again",
    ],
    ["a short row alone", "<table><tr><td>Ferries</td><td>12</td></tr></table>", "Ferries|12"],
    ["a formula", '<p><math alttext="E=mc^2"></math></p>', "$E=mc^2$"],
  ])("%s stays within the text", (_, unit, words) => {
    const text = textOf(unit);
    expect(words.split("|").filter((word) => !text.includes(word))).toEqual([]);
  });

  test.each([
    ["a sentence", "<p>And then the boats went home again.</p>", "went home again"],
    ["a list", "<ul><li>one boat for the north</li><li>one boat for the south</li></ul>", "for the south"],
    [
      "a quote",
      "<blockquote><p>The sea gives nothing back to those who wait.</p></blockquote>",
      "those who wait",
    ],
  ])("the last block stays: %s", (_, unit, words) => {
    expect(textOf(unit, false)).toContain(words);
  });
});
