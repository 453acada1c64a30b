/** notes on bad input, row by row: what is read, and the sentence that refuses the rest. */
import { describe, expect, test } from "vitest";
import {
  parseSearchRequest,
  parseSubmissionsRequest,
} from "../../../../actors/sources/filings/parse-request.ts";
import {
  parseAccession,
  parseCik,
  parseDate,
  parseDocumentName,
  parseForms,
  parseFrom,
  parseIsin,
  parseName,
  parseQuery,
  parseTicker,
} from "../../../../actors/sources/filings/identifiers.ts";

const sound = (value: unknown) => ({ kind: "valid", value });
const wrong = (message: string) => ({ kind: "invalid", message });
const NOW_MS = Date.UTC(2024, 1, 29, 12);

describe("a CIK", () => {
  test.each([
    ["320193", 320_193],
    ["0000320193", 320_193],
    ["9999999999", 9_999_999_999],
    [320_193, 320_193],
  ])("%j is read", (cik, value) => expect(parseCik(cik)).toEqual(sound(value)));

  test.each("abc|-1|1.5|0|0000000000|12345678901|CIK320193|３２０１９３|320 193| 320193|".split("|"))(
    "%j is refused",
    (cik) => expect(parseCik(cik)).toEqual(wrong("cik must be 1 to 10 digits, not all zero")),
  );

  test.each([0, -1, 10_000_000_000])("the number %j is refused", (cik) =>
    expect(parseCik(cik)).toEqual(wrong("cik must be an integer or a string of 1 to 10 digits")),
  );
});

describe("an accession number", () => {
  test.each(["0000320193-24-000123", "000032019324000123"])("%s is read", (accession) =>
    expect(parseAccession(accession)).toEqual(sound("0000320193-24-000123")),
  );

  test.each([
    ..."0000320193-24-00012|0000320193-2024-000123|00003201932400012|0000320193240001234|000032019-324-000123".split(
      "|",
    ),
    ..."0000320193-24-00012a|..|../../x|0000320193-24000123|00003201932-4-000123|".split("|"),
    "0000320193-24-000123\n",
  ])("%j is refused", (accession) =>
    expect(parseAccession(accession)).toEqual(
      wrong("accession must be 18 digits, with or without dashes (10-2-6)"),
    ),
  );
});

describe("a document name", () => {
  test.each([
    "aapl-20240928.htm",
    "index.json",
    "0000320193-24-000123.txt",
    "9999999997-08-005722.paper",
    "..x",
    "a",
  ])("%s is read", (document) => expect(parseDocumentName(document)).toEqual(sound(document)));

  test.each([
    "",
    ".",
    "../../..",
    "../../../x",
    "a/b.htm",
    "xslF345X05/x.xml",
    "%2e%2e",
    "%2f",
    "a\\b",
    "?x",
    "#x",
    "a?b",
    "a#b",
    "a\0b",
    "a\nb",
    "a b",
    "ü.htm",
    "a:b",
    "x".repeat(256),
  ])("%j is refused", (document) =>
    expect(parseDocumentName(document)).toEqual(wrong("document must be a file name in the filing's folder")),
  );
});

describe("form types", () => {
  test("are compared in upper case, inner spaces collapsed, each once", () => {
    expect(parseForms("10-k, DEF  14A,SC 13G/A,10-K")).toEqual(sound(["10-K", "DEF 14A", "SC 13G/A"]));
  });

  test.each([
    ["10-K,", ""],
    ["", ""],
    ["10-K,,8-K", ""],
    ["10-K;8-K", "10-K;8-K"],
    ["A".repeat(21), "A".repeat(21)],
    ["10-K,ü", "ü"],
  ])("%j is refused, and the message names the field", (forms, item) =>
    expect(parseForms(forms)).toEqual(wrong(`forms must be comma-separated form types: "${item}"`)),
  );

  test("are at most thirty", () => {
    const forms = Array.from({ length: 30 }, (_, n) => `F-${n}`).join(",");
    expect(parseForms(forms).kind).toBe("valid");
    expect(parseForms(`${forms},F-30`)).toEqual(wrong("forms must have at most 30 form types"));
  });
});

describe("a date", () => {
  test.each(["2024-02-29", "1994-01-26"])("%s is read", (date) =>
    expect(parseDate("since", date)).toEqual(sound(date)),
  );

  test.each([
    "2024-13-01",
    "2024-02-30",
    "2023-02-29",
    "24-01-01",
    "2024-1-1",
    "2024-01-01T00:00:00Z",
    "",
    "today",
  ])("%j is refused", (date) =>
    expect(parseDate("startdt", date)).toEqual(wrong("startdt must be a date YYYY-MM-DD")),
  );

  test("that is after the other is refused", () => {
    const period = { since: "2024-01-02", until: "2024-01-01" };
    expect(parseSubmissionsRequest({ cik: "1" }, period)).toEqual(wrong("since is after until"));
    expect(parseSubmissionsRequest({ cik: "1" }, { ...period, until: "2024-01-02" }).kind).toBe("valid");
  });
});

describe("a ticker", () => {
  test.each([
    ["BRK.B", "BRK-B", null],
    ["brk-b", "BRK-B", null],
    ["BRK/B", "BRK-B", null],
    ["BRK B", "BRK-B", null],
    [" aapl ", "AAPL", null],
    ["T.TO", "T-TO", null],
    ["7203.T", "7203-T", null],
    ["SWX:NESN", "NESN", "SWX"],
    ["xnas:BRK.B", "BRK-B", "XNAS"],
  ])("%j is %s", (ticker, symbol, exchange) =>
    expect(parseTicker(ticker)).toMatchObject({ kind: "valid", value: { symbol, exchange } }),
  );

  test.each("|   |ABCDEFGHIJKLMNOP|$AAPL|BRK..B|BRK-|-B|A:B|BR\u0000K|ÄPL|ﬀ|:AAPL|A\nB".split("|"))(
    "%j is refused",
    (ticker) => expect(parseTicker(ticker)).toEqual(wrong("ticker is malformed")),
  );
});

describe("a name", () => {
  test("is trimmed", () => expect(parseName(" Apple ")).toEqual(sound("Apple")));
  test.each(["", " ", "...", "&&", "-"])("%j is refused", (name) =>
    expect(parseName(name)).toEqual(wrong("name has no letters or digits")),
  );
  test("is at most 200 characters", () => {
    expect(parseName("ä".repeat(200)).kind).toBe("valid");
    expect(parseName("ä".repeat(201))).toEqual(wrong("name must be at most 200 characters"));
  });
});

describe("an ISIN", () => {
  test.each(["US0378331005", "us0378331005", "CH0038863350", "DE000BAY0017"])("%s is read", (isin) =>
    expect(parseIsin(isin)).toEqual(sound(isin.toUpperCase())),
  );
  test.each(["US037833100", "US03783310055", "1S0378331005", "US037833100X", "US03783310 5", ""])(
    "%j is refused",
    (isin) =>
      expect(parseIsin(isin)).toEqual(
        wrong("isin must be 12 characters: 2 letters, 9 letters or digits, 1 digit"),
      ),
  );
  test.each(["US0378331006", "CH0038863351"])("%s has a wrong check digit", (isin) =>
    expect(parseIsin(isin)).toEqual(wrong("isin check digit is wrong")),
  );
});

describe("a search", () => {
  test.each([
    [undefined, "q must not be empty"],
    ["", "q must not be empty"],
    ["  ", "q must not be empty"],
    ["x".repeat(1_001), "q must be at most 1000 characters"],
    ['"open', "q has an unclosed quote"],
    ['a "b" "c', "q has an unclosed quote"],
  ])("for %j is refused", (q, message) => expect(parseQuery(q)).toEqual(wrong(message)));

  test.each(["0", "100", "9900"])("from %s is read", (from) =>
    expect(parseFrom(from)).toEqual(sound(Number(from))),
  );
  test.each(["9901", "-1", "1.5", "x", "", "10000", "１"])("from %j is refused", (from) =>
    expect(parseFrom(from)).toEqual(wrong("from must be 0 to 9900 (upstream shows 10000 hits)")),
  );

  test.each([
    [{}, "2001-01-01", "2024-02-29"],
    [{ dateRange: "all" }, "2001-01-01", "2024-02-29"],
    // 29 February becomes 28.
    [{ dateRange: "1y" }, "2023-02-28", "2024-02-29"],
    [{ dateRange: "5y" }, "2019-02-28", "2024-02-29"],
    [{ dateRange: "10y" }, "2014-02-28", "2024-02-29"],
    [{ dateRange: "30d" }, "2024-01-30", "2024-02-29"],
    [{ dateRange: "1y", startdt: "2001-01-01", enddt: "2002-01-01" }, "2023-02-28", "2024-02-29"],
    [{ dateRange: "custom", startdt: "1999-01-01", enddt: "2000-01-01" }, "1999-01-01", "2000-01-01"],
    [{ startdt: "2020-01-01", enddt: "2020-01-01" }, "2020-01-01", "2020-01-01"],
  ])("of %j sends both dates", (period, startdt, enddt) =>
    expect(parseSearchRequest({ q: "a", ...period }, NOW_MS)).toMatchObject({
      kind: "valid",
      value: { startdt, enddt },
    }),
  );

  test.each([
    [{ dateRange: "2y" }, "dateRange must be all, 10y, 5y, 1y, 30d or custom"],
    [{ dateRange: "" }, "dateRange must be all, 10y, 5y, 1y, 30d or custom"],
    [{ dateRange: "custom" }, "dateRange custom needs startdt and enddt"],
    [{ dateRange: "custom", startdt: "2020-01-01" }, "dateRange custom needs startdt and enddt"],
    [{ enddt: "2020-01-01" }, "dateRange custom needs startdt and enddt"],
    [{ startdt: "2020-01-02", enddt: "2020-01-01" }, "startdt is after enddt"],
    [{ startdt: "2020-1-2", enddt: "2020-01-01" }, "startdt must be a date YYYY-MM-DD"],
    [{ startdt: "2020-01-02", enddt: "soon" }, "enddt must be a date YYYY-MM-DD"],
    [{ forms: "10-K,," }, 'forms must be comma-separated form types: ""'],
  ])("of %j is refused", (period, message) =>
    expect(parseSearchRequest({ q: "a", ...period }, NOW_MS)).toEqual(wrong(message)),
  );

  test("counts days as they are in the East", () => {
    // Half past four in the morning UTC is still the day before.
    expect(parseSearchRequest({ q: "a" }, Date.UTC(2024, 2, 1, 4, 30))).toMatchObject({
      value: { enddt: "2024-02-29" },
    });
  });
});
