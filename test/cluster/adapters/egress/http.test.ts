/** Header fields and first bytes: which fields are shown, freshness, Retry-After, the kind of content. */
import { describe, expect, test } from "vitest";
import {
  contentKindOf,
  freshnessOf,
  exposedHeaders,
  retryAfterSeconds,
} from "../../../../actors/lib/web/http.ts";

const NOW_MS = Date.UTC(2026, 0, 1);

test("of an origin's fields only the allowed ones are shown, without control characters, never cookies", () => {
  const headers = new Map([
    ["content-type", "text/html"],
    ["content-length", "5"],
    ["content-language", "de"],
    ["content-disposition", "inline"],
    ["etag", '"x"'],
    ["last-modified", "Thu, 01 Jan 2026 00:00:00 GMT"],
    ["cache-control", "max-age=1"],
    ["expires", "0"],
    ["date", "now"],
    ["link", "</a>;\r\nrel=next\u0000"],
    ["x-robots-tag", "noindex"],
    ["set-cookie", "secret=1"],
    ["server", "x"],
    ["x-powered-by", "y"],
    ["content-encoding", "gzip"],
    ["authorization", "z"],
  ]);
  const exposed = exposedHeaders(headers);
  expect(Object.keys(exposed)).toEqual([
    "content-type",
    "content-length",
    "content-language",
    "content-disposition",
    "etag",
    "last-modified",
    "cache-control",
    "expires",
    "date",
    "link",
    "x-robots-tag",
  ]);
  expect(exposed["link"]).toBe("</a>; rel=next");
  expect(exposedHeaders(new Map([["link", "x".repeat(100_000)]]))["link"]!.length).toBe(8_192);
});

test.each([
  ["120", 120],
  ["0", 0],
  [" 7 ", 7],
  ["1.2", 2],
  ["9".repeat(400), 31_536_000],
  ["Thu, 01 Jan 2026 00:02:00 GMT", 120],
  ["Thursday, 01-Jan-26 00:01:00 GMT", 60],
  ["Thu Jan  1 00:00:30 2026", 30],
  ["Wed, 31 Dec 2025 00:00:00 GMT", 0],
  ["Fri, 01 Jan 9999 00:00:00 GMT", 31_536_000],
  ["-5", null],
  ["soon", null],
  ["", null],
  ["12 monkeys", null],
  ["2026-01-01", null],
  [null, null],
  [undefined, null],
])("Retry-After %j asks for %j seconds", (value, seconds) => {
  expect(retryAfterSeconds(value, NOW_MS)).toBe(seconds);
});

test.each([
  [{}, {}, null],
  [{ "cache-control": "no-store" }, { no_store: true }, null],
  [{ "cache-control": "private, NO-STORE, max-age=60" }, { no_store: true, is_private: true }, 60],
  [{ "cache-control": "Private, max-age=60" }, { is_private: true }, 60],
  [{ "cache-control": "max-age=600" }, {}, 600],
  [{ "cache-control": 'max-age="600"' }, {}, 600],
  [{ "cache-control": "max-age=600, s-maxage=60" }, {}, 60],
  [{ "cache-control": "max-age=600, max-age=5" }, {}, 600],
  [{ "cache-control": "max-age=600", age: "100" }, {}, 500],
  [{ "cache-control": "max-age=600", age: "1000" }, {}, 0],
  [{ "cache-control": "max-age=-1" }, {}, null],
  [{ "cache-control": "no-cache, max-age=600" }, {}, 0],
  [{ "cache-control": "max-age=60", expires: "Fri, 02 Jan 2026 00:00:00 GMT" }, {}, 60],
  [{ expires: "Thu, 01 Jan 2026 01:00:00 GMT" }, {}, 3_600],
  [{ expires: "Thu, 01 Jan 2026 01:00:00 GMT", date: "Thu, 01 Jan 2026 00:30:00 GMT" }, {}, 1_800],
  [{ expires: "0" }, {}, 0],
  [{ expires: "Wed, 31 Dec 2025 00:00:00 GMT" }, {}, 0],
])("%j stays fresh: %j, for %j s", (headers, marks, max_age_s) => {
  const expected = { no_store: false, is_private: false, ...marks, max_age_s };
  expect(freshnessOf(new Map(Object.entries(headers)), NOW_MS)).toEqual(expected);
});

describe("content", () => {
  const html = "<!DOCTYPE html><title>x</title>";
  test.each([
    // The kind by the Content-Type.
    ["text/html; charset=utf-8", html, "html"],
    ["TEXT/HTML", "anything", "html"],
    ["text/html, text/html", html, "html"],
    ["application/xhtml+xml", "<html/>", "html"],
    ["application/json", "{}", "json"],
    ["application/ld+json", "{}", "json"],
    ["text/json", "[]", "json"],
    ["application/problem+json; charset=utf-8", "{}", "json"],
    ["application/xml", "<a/>", "xml"],
    ["text/xml", "<rss>", "xml"],
    ["application/rss+xml", "<rss>", "xml"],
    ["application/atom+xml", "<feed>", "xml"],
    ["image/svg+xml", "<svg/>", "xml"],
    ["text/plain", "hello", "text"],
    ["text/csv", "a,b", "text"],
    ["text/css", "a{}", "text"],
    ["application/javascript", "x()", "text"],
    ["application/x-ndjson", "{}\n{}", "text"],
    ["application/yaml", "a: 1", "text"],
    ["image/png", "\x89PNG", "binary"],
    ["video/mp4", "", "binary"],
    ["application/zip", "PK\x03\x04", "binary"],
    ["application/pdf", "%PDF-1.7\n", "pdf"],
    ["application/pdf; qs=0.001", "junk", "pdf"],
    // The kind by the bytes, whatever the Content-Type says.
    ["text/html", "%PDF-1.4\n%\xe2\xe3", "pdf"],
    ["text/plain", "\n %PDF-1.4", "pdf"],
    ["application/octet-stream", "%PDF-1.4", "pdf"],
    ["application/pdf", `\n${html}`, "html"],
    ["text/html", '<?xml version="1.0"?><rss version="2.0">', "xml"],
    ["text/html", '<?xml version="1.0"?><!-- a --><feed xmlns="x">', "xml"],
    ["text/html", '<?xml version="1.0"?><html>', "html"],
    ["application/xml", '<?xml version="1.0"?>\n<!DOCTYPE html PUBLIC "x">\n<html xmlns="y">', "html"],
    ["text/plain", "a\x00b\x01", "binary"],
    ["text/plain", "\xff\xfea\x00b\x00", "text"],
    // An article about PDFs is none.
    ["text/html", `${html}<p>Each file begins with %PDF-`, "html"],
    ["text/plain", "It begins with %PDF-", "text"],
    // A Content-Type that says nothing.
    [null, html, "html"],
    ["", "  <html>", "html"],
    ["nonsense", "<p>hi</p>", "html"],
    ["application/octet-stream", html, "html"],
    ["binary/octet-stream", '{"a": 1}', "json"],
    [null, '[{"a":1}]', "json"],
    [null, "[1] a note", "text"],
    [null, "{curly} prose", "text"],
    [null, '<?xml version="1.0"?><a/>', "xml"],
    [null, "<urlset xmlns='x'>", "xml"],
    [null, '<?xml version="1.0"?><html>', "html"],
    [null, "just words", "text"],
    [null, "\x00\x01\x02", "binary"],
    [null, "\xef\xbb\xbf<!doctype html>", "html"],
    [null, "\xff\xfe<\x00h\x00t\x00m\x00l\x00>\x00", "html"],
    [null, "MZ junk first\n%PDF-1.4", "pdf"],
    ["*/*", "", "text"],
  ] as const)("called %j that begins %j is %s", (type, start, kind) => {
    expect(contentKindOf(type, Buffer.from(start, "latin1"), "https://example.org/x")).toBe(kind);
  });

  test("an empty body of no type is what its address ends with", () => {
    expect(contentKindOf(null, Buffer.alloc(0), "https://example.org/a.PDF?x=1")).toBe("pdf");
    expect(contentKindOf(null, Buffer.alloc(0), "https://example.org/")).toBe("text");
  });

  test("is recognised by its first bytes, however many there are", () => {
    const began = process.cpuUsage();
    for (const start of ["<!--", "<?xml ?>", "<!-- - ", "{", " ", "<"]) {
      contentKindOf("text/html", Buffer.alloc(50 * 2 ** 20, start), "https://example.org/");
      contentKindOf(null, Buffer.alloc(2 ** 20, start), "https://example.org/");
    }
    // Making the bodies takes most of it.
    expect(process.cpuUsage(began).user).toBeLessThan(2_000_000);
  });
});
