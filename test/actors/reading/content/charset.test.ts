import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { charsetOf } from "../../../../actors/reading/content/charset.ts";
import { decodeText } from "../../../../actors/reading/content/decode-text.ts";
import type { ContentKind } from "../../../../schemas/fetch.ts";

/** Characters below U+0100 stand for the byte of that number. */
const bytes = (text: string) => Buffer.from(text, "latin1");
const hex = (digits: string) => Buffer.from(digits.replaceAll(" ", ""), "hex");
const utf8 = (text: string) => Buffer.from(text, "utf8");
const le = (text: string) => Buffer.from(text, "utf16le");
const be = (text: string) => Buffer.from(text, "utf16le").swap16();

const far = (declaration: string, before: number) =>
  bytes(`<head><script>${"x".repeat(before)}</script>${declaration}</head>\xe9`);

type Row = [
  what: string,
  kind: ContentKind,
  content_type: string | null,
  body: Buffer,
  charset: string | null,
  text?: string,
];

const TABLE: Row[] = [
  // 1. The byte order mark, before everything else, and gone from the text.
  ["a UTF-8 mark", "html", null, utf8("\uFEFFä"), "UTF-8", "ä"],
  ["a UTF-8 mark against the header", "html", "text/html; charset=koi8-r", utf8("\uFEFFä"), "UTF-8", "ä"],
  ["a UTF-16LE mark", "html", null, le("\uFEFFä€"), "UTF-16LE", "ä€"],
  ["a UTF-16BE mark", "html", null, be("\uFEFFä€"), "UTF-16BE", "ä€"],
  ["a UTF-16LE mark against a meta", "html", null, le("\uFEFF<meta charset=utf-8>é"), "UTF-16LE"],
  ["a UTF-16LE mark in plain text", "text", null, le("\uFEFFtext"), "UTF-16LE", "text"],
  ["a UTF-16LE mark in JSON", "json", null, le('\uFEFF{"a":1}'), "UTF-16LE", '{"a":1}'],
  ["a UTF-8 mark in XML", "xml", 'text/xml; charset="koi8-r"', utf8("\uFEFF<a>ä</a>"), "UTF-8", "<a>ä</a>"],
  // 2. The header.
  ["the header", "html", "text/html; charset=windows-1251", bytes("\xcf\xf0"), "windows-1251", "Пр"],
  [
    "the header before the meta",
    "html",
    "text/html;charset=koi8-r",
    bytes("<meta charset=utf-8>\xd0"),
    "KOI8-R",
  ],
  ["a header in quotes", "html", 'text/html; charset="Shift_JIS"', hex("93fa"), "Shift_JIS", "日"],
  ["a header in capitals", "html", "TEXT/HTML; CHARSET=EUC-JP", hex("c6fc"), "EUC-JP", "日"],
  ["a header said twice", "html", "text/html; charset=gbk, text/html", hex("d6d0"), "GBK", "中"],
  [
    "iso-8859-1, which means windows-1252",
    "html",
    "text/html; charset=iso-8859-1",
    bytes("\x80"),
    "windows-1252",
    "€",
  ],
  ["us-ascii, the same", "text", "text/plain; charset=us-ascii", bytes("\x93a\x94"), "windows-1252", "“a”"],
  [
    "iso-8859-9, which means windows-1254",
    "html",
    "text/html; charset=latin5",
    bytes("\xde"),
    "windows-1254",
    "Ş",
  ],
  ["ks_c_5601, which means EUC-KR", "html", "text/html; charset=ks_c_5601-1987", hex("b0a1"), "EUC-KR", "가"],
  ["UTF-16 by the header", "html", "text/html; charset=utf-16", le("ä"), "UTF-16LE", "ä"],
  ["a header nobody knows", "html", "text/html; charset=none", utf8("ä€"), "UTF-8", "ä€"],
  ["a header with another parameter", "html", "text/html; xcharset=koi8-r", utf8("ä€"), "UTF-8", "ä€"],
  ["an empty header", "html", "text/html; charset=", utf8("ä"), "UTF-8", "ä"],
  ["declared UTF-8 that is none", "html", "text/html; charset=utf-8", bytes("a\xe9b"), "UTF-8", "a\uFFFDb"],
  // Never: encodings that hide markup.
  ["UTF-7", "html", "text/html; charset=utf-7", bytes("+ADw-b+AD4-"), "UTF-8", "+ADw-b+AD4-"],
  [
    "ISO-2022-KR, replaced by the standard",
    "html",
    "text/html; charset=iso-2022-kr",
    utf8("가"),
    "UTF-8",
    "가",
  ],
  // HZ is no encoding of the standard: its bytes show it.
  [
    "HZ",
    "html",
    null,
    bytes("<meta charset=hz-gb-2312>a~~b ~{VPND~}"),
    "HZ-GB-2312",
    "<meta charset=hz-gb-2312>a~b 中文",
  ],
  ["HZ that a line ends", "text", null, bytes("~{VPND~}\n~{VP\nND~\n~}"), "HZ-GB-2312", "中文\n中\nND~}"],
  ["tildes and braces", "html", null, bytes("cp ~{a,b} ~}"), "UTF-8", "cp ~{a,b} ~}"],
  // 3. What the page says of itself.
  ["a meta", "html", null, bytes("<meta charset=windows-1250>\xb3"), "windows-1250"],
  [
    "a meta in the old form",
    "html",
    "text/html",
    bytes('<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=iso-8859-2">\xb1'),
    "ISO-8859-2",
  ],
  ["a meta in a comment", "html", null, utf8("<!--<meta charset=koi8-r>-->ä€"), "UTF-8"],
  ["a meta that says UTF-16", "html", null, utf8("<meta charset=utf-16>ä"), "UTF-8"],
  [
    "a meta that says x-user-defined",
    "html",
    null,
    bytes("<meta charset=x-user-defined>\x80"),
    "windows-1252",
  ],
  ["a meta after 1,024 bytes", "html", null, far("<meta charset=windows-1251>", 2_000), "windows-1251"],
  ["a meta near 60,000 bytes", "html", null, far("<meta charset=windows-1251>", 60_000), "windows-1251"],
  [
    "an XML declaration in HTML",
    "html",
    null,
    bytes('<?xml version="1.0" encoding="koi8-r"?>\xd0'),
    "KOI8-R",
  ],
  // A page that was converted to UTF-8 and still declares what it was.
  ["a meta of a page that was converted", "html", null, utf8("<meta charset=gb2312>中文网页"), "UTF-8"],
  ["a meta with too few bytes to tell", "html", null, utf8("<meta charset=gb2312>联通"), "GBK"],
  ["a header with bytes of UTF-8", "html", "text/html; charset=gb2312", utf8("中文网页"), "GBK"],
  // 4. No declaration: UTF-8 if the bytes are valid UTF-8.
  ["nothing, only ASCII", "html", null, bytes("<p>plain"), "UTF-8", "<p>plain"],
  ["nothing, valid UTF-8", "text", "text/plain", utf8("ä€\u{1F600}"), "UTF-8", "ä€\u{1F600}"],
  ["UTF-16LE without a mark", "html", null, le("<p>Жизнь 中文</p>"), "UTF-16LE", "<p>Жизнь 中文</p>"],
  ["UTF-16BE without a mark", "text", "text/plain", be("Zwölf Boxkämpfer"), "UTF-16BE", "Zwölf Boxkämpfer"],
  ["nothing at all", "html", null, Buffer.alloc(0), "UTF-8", ""],
  // 5. A guess.
  [
    "Russian",
    "html",
    null,
    bytes(
      "<p>\xd1\xfa\xe5\xf8\xfc \xe6\xe5 \xe5\xf9\xb8 \xfd\xf2\xe8\xf5 \xec\xff\xe3\xea\xe8\xf5 \xf4\xf0\xe0\xed\xf6\xf3\xe7\xf1\xea\xe8\xf5 \xe1\xf3\xeb\xee\xea",
    ),
    "windows-1251",
    "<p>Съешь же ещё этих мягких французских булок",
  ],
  [
    "French",
    "text",
    null,
    bytes("Le caf\xe9 est une boisson tr\xe8s populaire en France \x97 \xaba\xe9r\xe9e\xbb"),
    "windows-1252",
    "Le café est une boisson très populaire en France — «aérée»",
  ],
  [
    "Japanese",
    "text",
    null,
    hex("93fa967b8cea82cc95b68e9a8352815b83688c9f8f6f83658358836782c582b78142"),
    "Shift_JIS",
    "日本語の文字コード検出テストです。",
  ],
  [
    "Japanese in EUC",
    "text",
    null,
    hex("c6fccbdcb8eca4cecab8bbfaa5b3a1bca5c9b8a1bdd0a5c6a5b9a5c8a4c7a4b9a1a3"),
    "EUC-JP",
    "日本語の文字コード検出テストです。",
  ],
  [
    "Korean",
    "text",
    null,
    hex(
      "c0ccb0cdc0ba20b9aec0da20c0cec4dab5f9c0bb20b0a8c1f6c7cfb1e220c0a7c7d120c7d1b1b9beee20b9aec0e5c0d4b4cfb4d92e",
    ),
    "EUC-KR",
    "이것은 문자 인코딩을 감지하기 위한 한국어 문장입니다.",
  ],
  // 6. Nothing fits.
  ["noise", "text", null, hex("ff"), "windows-1252", "ÿ"],
  // XML: its declaration, else UTF-8.
  [
    "XML that says what it is",
    "xml",
    "text/xml",
    bytes('<?xml version="1.0" encoding="windows-1251"?><a>\xcf</a>'),
    "windows-1251",
  ],
  [
    "XML and the header",
    "xml",
    "application/xml; charset=utf-8",
    utf8('<?xml version="1.0" encoding="koi8-r"?><a>ä</a>'),
    "UTF-8",
  ],
  [
    "XML in single quotes",
    "xml",
    null,
    bytes("<?xml version='1.0' encoding='iso-8859-15'?><a>\xa4</a>"),
    "ISO-8859-15",
  ],
  [
    "XML in UTF-16 without a mark",
    "xml",
    null,
    le('<?xml version="1.0"?><a>ä</a>'),
    "UTF-16LE",
    '<?xml version="1.0"?><a>ä</a>',
  ],
  ["XML that says nothing", "xml", null, bytes("<a>\xe9</a>"), "UTF-8", "<a>\uFFFD</a>"],
  // JSON: UTF-8, and believed to be something else only when it cannot be.
  ["JSON", "json", "application/json; charset=iso-8859-1", utf8('"ä"'), "UTF-8", '"ä"'],
  [
    "JSON that is none",
    "json",
    "application/json; charset=iso-8859-1",
    bytes('"\xe4"'),
    "windows-1252",
    '"ä"',
  ],
  ["JSON that says nothing and is none", "json", null, bytes('"\xe4"'), "UTF-8", '"\uFFFD"'],
  // No text.
  ["a PDF", "pdf", "application/pdf; charset=utf-8", bytes("%PDF-1.4"), null],
  ["a picture", "binary", "image/png; charset=utf-8", bytes("\x89PNG"), null],
];

describe("the encoding of", () => {
  test.each(TABLE)("%s (%s)", (_, kind, content_type, body, charset, text) => {
    expect(charsetOf({ bytes: body, content_type, kind })).toBe(charset);
    expect(text === undefined ? text : decodeText(body, charset!)).toBe(text);
  });
});

test("letters of the page are counted, not those of its tags and scripts", () => {
  const polish = hex("7aad f3b3 77 20 67ea b6 20 b6 6c b1 6bbf 65 20 bf f3 b3 74 79".replaceAll(" ", ""));
  const cover = '<div class="item">'.repeat(3_000) + `<script>${"var window; ".repeat(9_000)}</script>`;
  const alone = charsetOf({ bytes: polish, content_type: null, kind: "html" });
  const covered = Buffer.concat([bytes(cover), polish]);
  expect(charsetOf({ bytes: covered, content_type: null, kind: "html" })).toBe(alone);
});

test("declarations after 65,536 bytes are too late", () => {
  const body = far("<meta charset=windows-1251>", 66_000);
  expect(charsetOf({ bytes: body, content_type: null, kind: "html" })).not.toBe("windows-1251");
});

/** Valid bytes that Node 22.23.3's own decoder gets wrong. */
test.each([
  ["EUC-KR", "8141 8142 a141", "갂갃좥"],
  ["Big5", "8740 8743", "䏰䖦"],
  ["Shift_JIS", "80 93fa", "\u0080日"],
  ["KOI8-U", "ae be", "ўЎ"],
  ["windows-1255", "ca", "\u05BA"],
  ["ISO-8859-16", "a4 aa ba de", "€ȘșȚ"],
])("decodes %s as the standard does", (charset, digits, text) => {
  expect(decodeText(hex(digits), charset)).toBe(text);
});

test("an unknown name is read as UTF-8, so that an old record never breaks an answer", () => {
  expect(decodeText(utf8("ä"), "klingon")).toBe("ä");
  expect(decodeText(utf8("ä"), "replacement")).toBe("ä");
});

test("any bytes have an encoding name, which decodes them to valid text", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 300 }),
      fc.option(fc.string()),
      fc.constantFrom<ContentKind>("html", "xml", "json", "text"),
      (body, content_type, kind) => {
        const charset = charsetOf({
          bytes: body,
          content_type: content_type && `text/html; charset=${content_type}`,
          kind,
        });
        const text = decodeText(body, charset!);
        expect(text.isWellFormed()).toBe(true);
        expect(decodeText(body, charset!)).toBe(text);
      },
    ),
    { numRuns: 500 },
  );
});
