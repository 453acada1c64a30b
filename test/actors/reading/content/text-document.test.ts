import { describe, expect, test } from "vitest";
import { readPlain } from "../../../../actors/reading/content/plain-document.ts";
import { cutText, soundText } from "../../../../actors/reading/content/text-document.ts";

describe("a document whose text is the document", () => {
  test.each([
    ["json", '{"b": 1,\r\n  "a": [1e3, "\\u00e4"]}  '],
    ["json", '{"broken": '],
    ["xml", '<?xml version="1.0"?>\n<a><!-- kept --><b>&lt;ä</b></a>\n'],
    ["text", "one\r\n\ttwo\u00a0  "],
    ["text", ""],
  ] as const)("%s is kept as it is: %j", (kind, text) => {
    const read = readPlain(Buffer.from(text), null, kind);
    expect(read).toEqual({ charset: "UTF-8", text, truncated: false });
  });

  test("is decoded by what it declares", () => {
    const bytes = Buffer.from('<?xml version="1.0" encoding="koi8-r"?><a>\xd0</a>', "latin1");
    expect(readPlain(bytes, "text/xml", "xml")).toMatchObject({ charset: "KOI8-R" });
    expect(readPlain(bytes, "text/xml", "xml").text).toContain("<a>п</a>");
  });

  test.each([
    ["a\u0000b", "a\uFFFDb"],
    ["a\ud800b", "a\uFFFDb"],
    ["\udc00", "\uFFFD"],
    ["\u{1F600}", "\u{1F600}"],
  ])("%j is made fit to be stored", (text, sound) => {
    expect(soundText(text)).toBe(sound);
  });

  test.each([
    ["abc", 3, "abc", false],
    ["abcd", 3, "abc", true],
    ["ab\u{1F600}", 3, "ab", true],
    ["ab\u{1F600}", 4, "ab\u{1F600}", false],
    ["abc", 0, "", true],
  ])("%j cut at %i is %j", (text, most, expected, truncated) => {
    expect(cutText(text, most)).toEqual({ text: expected, truncated });
  });

  test.each([
    ["UTF-8", "text/plain; charset=utf-8", Buffer.from("€".repeat(2_000))],
    ["gb18030", "text/plain; charset=gb18030", Buffer.from("81308436".repeat(2_000), "hex")],
    ["UTF-16LE", "text/plain; charset=utf-16le", Buffer.from("€".repeat(2_000), "utf16le")],
  ])("is cut at its limit in %s, to the character", (_, content_type, bytes) => {
    const read = readPlain(bytes, content_type, "text", 1_000);
    expect(read.text).toHaveLength(1_000);
    expect(read.truncated).toBe(true);
    expect(read.text).not.toContain("\uFFFD");
    expect(readPlain(bytes, content_type, "text", 2_000).truncated).toBe(false);
  });
});
