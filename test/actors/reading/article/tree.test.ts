/** The flat tree: names in any case, and character references in text and attributes. */
import { expect, test } from "vitest";
import { KnownNames } from "../../../../actors/reading/article/known-names.ts";
import { buildTree } from "../../../../actors/reading/article/tree.ts";

test.each([
  ["div", "div"],
  ["DiV", "div"],
  ["data-src", "data-src"],
  ["dib", undefined],
  ["div ", undefined],
  // The Kelvin sign is "k" in lower case, but not in HTML.
  ["lin\u212a", undefined],
  ["", undefined],
])("a name in the list: %j", (written, found) => {
  const names = new KnownNames(["div", "data-src", "link", "div"]);
  expect(names.find(`<${written}>`, 1, 1 + written.length)).toBe(found);
});

const textOf = (html: string): string => buildTree(`<body><p>${html}</p></body>`).text.join("");
const titleOf = (value: string): string | undefined =>
  buildTree(`<body><p title="${value}">x</p></body>`).attributes.find((found) => found?.["title"])?.["title"];

test.each([
  ["Fish &amp; Chips", "Fish & Chips", "Fish & Chips"],
  ["&#x201c;&#8221;&hellip;", "\u201c\u201d…", "\u201c\u201d…"],
  // Without a semicolon: a reference in text, part of an address in an attribute.
  ["?a=1&copy=2", "?a=1©=2", "?a=1&copy=2"],
  ["&amp;lt;b&amp;gt;", "&lt;b&gt;", "&lt;b&gt;"],
  ["AT&T & &unknown; &", "AT&T & &unknown; &", "AT&T & &unknown; &"],
  ["&NotEqualTilde;", "\u2242\u0338", "\u2242\u0338"],
])("character references: %s", (written, text, value) => {
  expect(textOf(written)).toBe(text);
  expect(titleOf(written)).toBe(value);
});

test("a reference in a script is no reference", () => {
  const { jsonLd, title } = buildTree(
    `<title>A &amp; B</title><script type="application/ld+json">{"name":"A &amp; B"}</script>`,
  );
  expect({ jsonLd, title }).toEqual({ jsonLd: ['{"name":"A &amp; B"}'], title: "A & B" });
});

test("an attribute is cut off after its references were decoded", () => {
  expect(titleOf("&hellip;".repeat(3_000))).toBe("…".repeat(2_048));
});

test("of an attribute that is repeated the first value counts, whatever stands between", () => {
  const { attributes } = buildTree(
    `<body><a class="c" CLASS="d" title="" rel="next" id=i title="t" rel href="/" class="e" hidden>x</a><i data-other="x"></i>`,
  );
  const found = attributes.findLast((each) => each?.["class"] === "c");
  const present = Object.entries(found!).filter(([, value]) => value !== undefined);
  expect(Object.fromEntries(present)).toEqual({
    class: "c", id: "i", href: "/", title: "", rel: "next", hidden: "",
  }); // prettier-ignore
});

test("values for Markdown and images are read on request", () => {
  const html = `<body><img src="a.png" alt="A" width="3">`;
  const image = (tree: ReturnType<typeof buildTree>) => tree.attributes[tree.tag.indexOf("img")];
  expect(image(buildTree(html))).toMatchObject({ src: "a.png", alt: undefined, width: undefined });
  expect(image(buildTree(html, true))).toMatchObject({ src: "a.png", alt: "A", width: "3" });
});
