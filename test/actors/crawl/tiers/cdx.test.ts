/** Questions to an archive and the meaning of its answers: tables over cdx.ts. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  archivedAt,
  candidates,
  cdxUrl,
  isCopy,
  isRecent,
  originalHeaders,
  readCdx,
  readReplayUrl,
  replayedTimestamp,
  replayUrl,
  type Snapshot,
} from "../../../../actors/crawl/tiers/cdx.ts";

const NOW_MS = Date.UTC(2026, 10, 21, 12);
const ARCHIVE = "https://web.archive.org";
const DIGEST = "PH4KMSYJQ77NNH3LTG7SAFLIMU7KGFCO";

test("the question names the page exactly and a year", () => {
  const url = new URL(cdxUrl(`${ARCHIVE}/`, "http://example.org/a?b=1&c=*", NOW_MS));
  expect(url.origin + url.pathname).toBe("https://web.archive.org/cdx/search/cdx");
  expect(Object.fromEntries(url.searchParams)).toEqual({
    url: "http://example.org/a?b=1&c=*",
    matchType: "exact",
    output: "json",
    filter: "statuscode:200",
    collapse: "timestamp:10",
    from: "20251121120000",
    closest: "20261121120000",
    sort: "closest",
    limit: "100",
  });
});

const HEADER = ["urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length"];
const ROW = ["org,example)/", "20261001100000", "http://example.org/", "text/html", "200", DIGEST, "512"];
const SNAPSHOT: Snapshot = {
  timestamp: "20261001100000",
  original: "http://example.org/",
  mime: "text/html",
  digest: DIGEST,
};

describe("a listing", () => {
  test.each<[string, string, readonly Partial<Snapshot>[] | null]>([
    ["of the Internet Archive", JSON.stringify([HEADER, ROW]), [SNAPSHOT]],
    ["without its first row", JSON.stringify([ROW]), [SNAPSHOT]],
    [
      "of fewer columns",
      JSON.stringify([
        ["timestamp", "original", "statuscode"],
        ["20261001100000", "http://example.org/", "200"],
      ]),
      [{ ...SNAPSHOT, mime: null, digest: null }],
    ],
    [
      "of pywb",
      `{"urlkey": "org,example)/", "timestamp": "20261001100000", "url": "http://example.org/", "mime": "text/html", "status": "200", "digest": "${DIGEST}", "filename": "a.warc"}\n`,
      [SNAPSHOT],
    ],
    ["of nothing at all", "", []],
    ["of nothing", "[]", []],
    ["of nothing but names", JSON.stringify([HEADER]), []],
    ["in HTML", "<html><title>Internet Archive: Error</title></html>", null],
    ["cut short", JSON.stringify([HEADER, ROW]).slice(0, -9), null],
    ["that is a number", "42", null],
    ["that is a text", '"busy"', null],
    ["with rows that are none", JSON.stringify([HEADER, ROW, "x"]), null],
    ["in lines of anything", "org,example)/ 20261001100000 http://example.org/", null],
  ])("%s", (_, text, rows) => {
    expect(readCdx(text)).toEqual(rows);
  });

  test.each([
    ["another status", [...ROW.slice(0, 4), "301", ...ROW.slice(5)]],
    ["no status", [...ROW.slice(0, 4), "-", ...ROW.slice(5)]],
    ["a day that is none", [ROW[0], "20260231100000", ...ROW.slice(2)]],
    ["half a time", [ROW[0], "202610", ...ROW.slice(2)]],
    ["another scheme", [...ROW.slice(0, 2), "ftp://example.org/", ...ROW.slice(3)]],
    ["nothing in it", []],
    ["nulls in it", [null, null, null, null, null, null]],
  ])("leaves out a row with %s", (_, row) => {
    expect(readCdx(JSON.stringify([HEADER, row, ROW]))).toEqual([SNAPSHOT]);
  });

  test("never throws, whatever an archive sends", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.array(fc.json()).map((lines) => lines.join("\n")),
        ),
        (text) => {
          const rows = readCdx(text);
          expect(rows === null || candidates(rows, NOW_MS).length <= 3).toBe(true);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

describe("worth trying are", () => {
  const at = (timestamp: string, digest: string | null = null): Snapshot => ({
    ...SNAPSHOT,
    timestamp,
    digest,
  });
  const times = (rows: readonly Snapshot[]) => candidates(rows, NOW_MS).map(({ timestamp }) => timestamp);

  test("the newest first, three at most", () => {
    const rows = ["20260101000000", "20260401000000", "20260301000000", "20260201000000"].map((time) =>
      at(time),
    );
    expect(times(rows)).toEqual(["20260401000000", "20260301000000", "20260201000000"]);
  });

  test("one of each content, the newest", () => {
    const other = `A${DIGEST.slice(1)}`;
    const rows = [at("20260101000000", DIGEST), at("20260201000000", other), at("20260301000000", DIGEST)];
    expect(times(rows)).toEqual(["20260301000000", "20260201000000"]);
  });

  test.each([
    ["20261121120000", true],
    ["20261122115959", true],
    ["20261123000000", false],
    ["20251121120000", true],
    ["20251121115959", false],
    ["19960101000000", false],
    ["20260230000000", false],
    ["", false],
  ])("%s: %s (365 days)", (timestamp, young) => {
    expect(isRecent(timestamp, NOW_MS)).toBe(young);
    expect(times([at(timestamp)])).toEqual(young ? [timestamp] : []);
  });
});

describe("addresses of copies", () => {
  test("are replayed as they were, and read back", () => {
    const url = replayUrl("https://archive.example/ia/", SNAPSHOT);
    expect(url).toBe("https://archive.example/ia/web/20261001100000id_/http://example.org/");
    const { timestamp, original } = SNAPSHOT;
    expect(readReplayUrl("https://archive.example/ia", url)).toEqual({ timestamp, original });
  });

  test.each<[string, string | null]>([
    ["https://web.archive.org/web/20261001100000/http://example.org/a?b#c", "http://example.org/a?b"],
    ["https://web.archive.org/web/20261001100000if_/https:/example.org/", "https://example.org/"],
    ["https://web.archive.org/web/20261001100000id_/example.org/", null],
    ["https://web.archive.org/web/2026id_/http://example.org/", null],
    ["https://web.archive.org/save/http://example.org/", null],
    ["https://elsewhere.example/web/20261001100000id_/http://example.org/", null],
    ["http://web.archive.org/web/20261001100000id_/http://example.org/", null],
    ["https://web.archive.org/web/20261001100000id_/file:///etc/passwd", null],
    ["", null],
  ])("%s is of %s", (url, original) => {
    expect(readReplayUrl(ARCHIVE, url)?.original ?? null).toBe(original);
  });

  test("have the time of Memento-Datetime, else the requested one", () => {
    expect(archivedAt("20261001100000")).toBe("2026-10-01T10:00:00.000Z");
    expect(archivedAt("yesterday")).toBeNull();
    const headers = new Map([["memento-datetime", "Thu, 01 Oct 2020 10:00:00 GMT"]]);
    expect(replayedTimestamp(headers, "20261001100000")).toBe("20201001100000");
    expect(replayedTimestamp(new Map([["memento-datetime", "soon"]]), "20261001100000")).toBe(
      "20261001100000",
    );
  });
});

test("the origin's fields are those of the copy, and none of the archive's own", () => {
  const headers = new Map([
    ["content-type", "text/html; charset=iso-8859-1"],
    ["x-archive-orig-etag", '"x"'],
    ["x-archive-orig-content-type", "text/html"],
    ["x-archive-orig-content-encoding", "gzip"],
    ["x-archive-orig-set-cookie", "a=1"],
    ["etag", '"the archive\'s"'],
    ["link", '<http://example.org/>; rel="original"'],
    ["date", "Sat, 21 Nov 2026 12:00:00 GMT"],
  ]);
  expect(Object.fromEntries(originalHeaders(headers))).toEqual({
    etag: '"x"',
    "content-type": "text/html; charset=iso-8859-1",
  });
});

describe("a capture with status 200 is", () => {
  const html = { "content-type": "text/html; charset=utf-8" };
  const page = "<html><title>Alt</title><p>hi</p></html>";
  const notice = "<html><h1>Too Many Requests</h1><p>We are limiting the number of URLs.</p></html>";
  test.each<[string, boolean, Record<string, string>, string, Partial<Snapshot>]>([
    ["a copy when it is marked so", true, { ...html, "memento-datetime": "x" }, notice, {}],
    ["a copy with fields of the origin", true, { ...html, "x-archive-orig-date": "x" }, notice, {}],
    ["a copy when its digest is the listed one", true, html, page, { mime: "application/pdf" }],
    ["no copy when it speaks as an archive", false, html, notice, {}],
    [
      "no copy when it is a page and no page was listed",
      false,
      html,
      page,
      { mime: "application/pdf", digest: null },
    ],
    ["a copy when it is no page", true, { "content-type": "application/pdf" }, "%PDF-1.4", { digest: null }],
    ["a copy when nothing speaks against it", true, html, "<p>A page</p>", { digest: null }],
    [
      "a copy when it is long, whatever it says",
      true,
      html,
      `${"<p>word</p>".repeat(4_000)}Internet Archive`,
      {},
    ],
  ])("%s", (_, is, headers, body, listed) => {
    expect(isCopy(new Map(Object.entries(headers)), Buffer.from(body), { ...SNAPSHOT, ...listed })).toBe(is);
  });
});
