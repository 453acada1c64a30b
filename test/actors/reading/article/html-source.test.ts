/** A page whose tags are cut from its bytes has the tree of the decoded page. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { htmlOf } from "../../../../actors/reading/article/html-source.ts";
import { buildTree } from "../../../../actors/reading/article/tree.ts";
import { decodeText } from "../../../../actors/reading/content/decode-text.ts";

const bytesOf = (html: string): Uint8Array => new TextEncoder().encode(html);
const bothTrees = (bytes: Uint8Array, charset = "UTF-8"): [ofBytes: object, ofText: object] => [
  buildTree(htmlOf(bytes, charset), true),
  buildTree(decodeText(bytes, charset), true),
];
const CHARS = ["a", "é", "水", "\u{1f30a}"] as const;

const pieces = fc.constantFrom(
  "<p>", "</p>", "<p class='É 水' title=\"\u{1f30a}&amp;é\">", "<ÉCOLE>", "</ÉCOLE>", "<a href=/水>", "<title>", "</title>", "<!-- é -->", "<textarea>", "</textarea>",
  "<script type='application/ld+json'>", "</script>", "<math alttext='é'>", "</math>", "<td><svg><title>é</title></svg>", "&eacute;", "é", "水", "\u{1f30a}", "a ", "\n", "\ufeff", "<", ">",
); // prettier-ignore

test("of any markup and any bytes within it", () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(pieces.map(bytesOf), fc.uint8Array({ maxLength: 3 })), { maxLength: 40 }),
      (parts) => {
        const [ofBytes, ofText] = bothTrees(new Uint8Array(Buffer.concat(parts)));
        expect(ofBytes).toEqual(ofText);
      },
    ),
    { numRuns: 2_000 },
  );
});

test.each(CHARS)("at every limit, which counts characters and not bytes: %s", (char) => {
  for (const count of [
    21, 22, 32, 33, 64, 65, 2_000, 2_001, 4_000, 4_001, 10_000, 20_000, 20_001, 16_384, 16_385,
  ]) {
    const run = char.repeat(count);
    const cells = `<table><td><svg><title>${run}</title></svg></td></table>`;
    const html = `<title>${run}</title><script>${run}</script><body><x${run}>x</x${run}><p title="${run}" ${run}>y</p><textarea>\na\n\n${run}</textarea>${cells}`;
    const [ofBytes, ofText] = bothTrees(bytesOf(html));
    expect(ofBytes).toEqual(ofText);
    // Where a limit lies between two bytes of a character.
    const [odd, whole] = bothTrees(bytesOf(html.replaceAll(run, `b${run}`)));
    expect(odd).toEqual(whole);
  }
});

test("a byte order mark at the beginning is no text, and one within is", () => {
  const { text } = buildTree(htmlOf(bytesOf("\ufeff<body><p>\ufeffa"), "UTF-8"));
  expect(text.filter((each) => each !== "")).toEqual(["\ufeffa"]);
});

test("a page in another encoding is decoded as a whole", () => {
  const { text } = buildTree(htmlOf(Uint8Array.of(0x3c, 0x70, 0x3e, 0x8e, 0xd0), "Shift_JIS"));
  expect(text.at(-1)).toBe("社");
});
