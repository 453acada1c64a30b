/** Documents of the upstream, parsed: index pages, folder listings, search results, submissions, and the text of documents. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { easternDate, easternToUtc } from "../../../../actors/sources/filings/eastern.ts";
import {
  fullTextPath,
  parseFullTextAnswer,
  parseFullTextRequest,
} from "../../../../actors/sources/filings/full-text.ts";
import { parseFolderListing, parseIndexPage } from "../../../../actors/sources/filings/index-page.ts";
import {
  canHold,
  filingOf,
  newestFirst,
  parseRows,
  parseSubmissions,
  select,
} from "../../../../actors/sources/filings/submissions.ts";
import { readFiled, unwrapped } from "../../../../actors/reading/content/filing-text.ts";

const WWW = "https://www.filings.test";
const HERE = new URL("../../../fixtures/edgar/", import.meta.url);
const fixture = (path: string): string => readFileSync(new URL(path, HERE), "utf8");
const archived = (path: string): string => fixture(`www.sec.gov/Archives/edgar/data/${path}`);

describe("Eastern time", () => {
  test.each([
    ["2026-03-06 16:11:25", "2026-03-06T21:11:25Z"],
    ["2022-11-04 21:03:43", "2022-11-05T01:03:43Z"],
    ["2000-05-11 00:00:00", "2000-05-11T04:00:00Z"],
    // The night clocks go forward, and the one they go back.
    ["2024-03-10 01:59:59", "2024-03-10T06:59:59Z"],
    ["2024-03-10 03:00:00", "2024-03-10T07:00:00Z"],
    ["2024-11-03 00:30:00", "2024-11-03T04:30:00Z"],
    ["2024-11-03 02:00:00", "2024-11-03T07:00:00Z"],
    ["2024-11-03", null],
    ["", null],
  ])("%j is %s", (eastern, utc) => expect(easternToUtc(eastern)).toBe(utc));

  test("has its own day", () => {
    expect(easternDate(Date.UTC(2024, 6, 1, 3, 59))).toBe("2024-06-30");
    expect(easternDate(Date.UTC(2024, 6, 1, 4, 0))).toBe("2024-07-01");
  });
});

describe("an index page", () => {
  test("lists documents by the names their links lead to, also through the viewer", async () => {
    const where = { cik: 9_000_001, accession: "0009000001-24-000007", www_url: WWW };
    const page = parseIndexPage(archived("9000001/000900000124000007/0009000001-24-000007-index.htm"), where);
    const folder = `${WWW}/Archives/edgar/data/9000001/000900000124000007/`;
    expect(page).toEqual({
      form: "10-K",
      filing_date: "2024-11-01",
      report_date: "2024-09-28",
      accepted: "2024-11-01T10:01:36Z",
      company: "Harbour Lights Inc.",
      documents: [
        ["1", "Annual report & more", "hli-20240928.htm", "10-K", 9_021],
        ["2", "PRESS RELEASE", "hliex991.htm", "EX-99.1", 524],
        ["3", null, "map.pdf", "GRAPHIC", 1_234],
        [null, "Complete submission text file", "0009000001-24-000007.txt", null, 9_185_722],
        ["4", "XBRL TAXONOMY EXTENSION SCHEMA DOCUMENT", "hli-20240928.xsd", "EX-101.SCH", 1_876],
      ].map(([sequence, description, document, type, size]) => ({
        sequence,
        description,
        document,
        type,
        size,
        url: `${folder}${document}`,
      })),
    });
  });

  test("leaves sub-folders out, and builds addresses from the CIK asked for though its links name another", async () => {
    const where = { cik: 9_000_001, accession: "0009000001-24-000004", www_url: WWW };
    const page = parseIndexPage(archived("9000001/000900000124000004/0009000001-24-000004-index.htm"), where);
    expect(page).toMatchObject({
      form: "4/A",
      accepted: "2024-05-03T02:30:11Z",
      company: "Harbour Lights Inc.",
    });
    expect(page!.documents.map(({ document }) => document)).toEqual([
      "wk-form4_1.xml",
      "0009000001-24-000004.txt",
    ]);
    expect(page!.documents[0]!.url).toBe(
      `${WWW}/Archives/edgar/data/9000001/000900000124000004/wk-form4_1.xml`,
    );
  });

  test("names the party that was asked for, else the first", async () => {
    const html = archived("9000001/000900000124000004/0009000001-24-000004-index.htm");
    const company = async (cik: number) =>
      parseIndexPage(html, { cik, accession: "0009000001-24-000004", www_url: WWW })!.company;
    expect(await company(9_000_009)).toBe("Keeper Ada L.");
    expect(await company(7)).toBe("Keeper Ada L.");
  });

  test("of the year 2001 has rows without names", async () => {
    const where = { cik: 9_000_001, accession: "0009000001-01-000001", www_url: WWW };
    const page = parseIndexPage(archived("9000001/0009000001-01-000001-index.html"), where);
    expect(page!.documents.map(({ type, document, url }) => [type, document, url === null])).toEqual([
      ["8-K", null, true],
      ["EX-27", null, true],
      [null, "0009000001-01-000001.txt", false],
    ]);
  });

  test.each([
    ["nothing", ""],
    ["JSON", "{}"],
    ["another page", "<html><body><p>Nothing of the kind</p></body></html>"],
    ["a page without end", `<strong>Form 8-K</strong>${"<div>".repeat(100_000)}`],
  ])("is not %s", async (_, html) => {
    const where = { cik: 1, accession: "0000000001-24-000001", www_url: WWW };
    expect(parseIndexPage(html, where)).toBeNull();
  });
});

describe("a folder's listing", () => {
  const where = { cik: 9_000_002, accession: "0009000002-24-000003", www_url: WWW };
  test("is its files without folders and index pages, types unknown", () => {
    const listing: unknown = JSON.parse(archived("9000002/000900000224000003/index.json"));
    expect(
      parseFolderListing(listing, where)!.map(({ document, size, type }) => [document, size, type]),
    ).toEqual([
      ["0009000002-24-000003.txt", null, null],
      ["twf8k.htm", 3_837, null],
    ]);
  });
  test.each([null, [], {}, { directory: {} }, { directory: { item: "x" } }])("%j is none", (value) =>
    expect(parseFolderListing(value, where)).toBeNull(),
  );
});

describe("a filer's submissions", () => {
  const submissions = parseSubmissions(JSON.parse(fixture("data.sec.gov/submissions/CIK0009000001.json")))!;
  const ALL = { forms: null, since: null, until: null };

  test("have the sent fields, and null for missing ones", () => {
    expect(submissions.filer).toMatchObject({
      cik: 9_000_001,
      name: "Harbour Lights Inc.",
      lei: null,
      website: null,
    });
    expect(submissions.pages).toEqual([
      {
        name: "CIK0009000001-submissions-001.json",
        filing_count: 2,
        filing_from: "2001-01-05",
        filing_to: "2003-12-19",
      },
    ]);
  });

  test("have no address for a primary document in a sub-folder (Form 4), nor for none", () => {
    const { rows: places } = select([submissions.recent], ALL, 10);
    const filings = places.map((place) => filingOf(place, 9_000_001, WWW));
    expect(filings.map(({ form, primary_document_url }) => [form, primary_document_url])).toEqual([
      ["10-K", `${WWW}/Archives/edgar/data/9000001/000900000124000007/hli-20240928.htm`],
      ["10-Q", `${WWW}/Archives/edgar/data/9000001/000900000124000005/hli-20240629.htm`],
      ["4", null],
    ]);
    expect(filings[2]).toMatchObject({
      primary_document: "xslF345X05/wk-form4_1.xml",
      core_type: null,
      act: null,
      items: "",
    });
  });

  const rows = (entries: readonly (readonly [accession: string, date: string, form: string])[]) =>
    parseRows({
      accessionNumber: entries.map(([accession]) => accession),
      filingDate: entries.map(([, date]) => date),
      form: entries.map(([, , form]) => form),
      items: entries.map(() => ",,"),
    })!;

  test("are merged: newest date first, then in their order, each accession once", () => {
    const recent = rows([
      ["a", "2024-01-03", "10-K"],
      ["b", "2024-01-02", "8-K"],
      ["c", "2024-01-02", "10-K/A"],
    ]);
    const page = rows([
      ["b", "2024-01-02", "8-K"],
      ["d", "2024-01-04", "10-K405"],
      ["e", "2024-01-02", "10-k"],
    ]);
    const chosen = (filter: Partial<typeof ALL>, limit = 10) => {
      const { total, rows: places } = select([recent, page], { ...ALL, ...filter }, limit);
      return [total, places.map((place) => filingOf(place, 1, WWW).accession).join("")];
    };
    expect(chosen({})).toEqual([5, "dabce"]);
    expect(chosen({}, 2)).toEqual([5, "da"]);
    // A form is its whole name, whatever its case: no amendments, no 10-K405.
    expect(chosen({ forms: ["10-K"] as never })).toEqual([2, "ae"]);
    expect(chosen({ since: "2024-01-03" as never })).toEqual([2, "da"]);
    expect(chosen({ until: "2024-01-02" as never })).toEqual([3, "bce"]);
  });

  test("pass items on as they were sent", () => {
    const { rows: places } = select([rows([["0000000001-24-000001", "2024-01-01", "F-6"]])], ALL, 1);
    expect(filingOf(places[0]!, 1, WWW)).toMatchObject({ items: ",,", is_amendment: false, is_xbrl: false });
  });

  test.each([
    [{ accessionNumber: ["a"], filingDate: [], form: ["x"] }],
    [{ accessionNumber: ["a"], filingDate: ["2024-01-01"], form: ["x"], size: [1, 2] }],
    [{ accessionNumber: ["a"], filingDate: ["2024-01-01"] }],
    [{ accessionNumber: [1], filingDate: ["2024-01-01"], form: ["x"] }],
    [{ accessionNumber: "a" }],
    [null],
  ])("%j are no rows: nothing is shifted", (value) => expect(parseRows(value)).toBeNull());

  test.each([
    ["../../../../x", null],
    ["CIK0009000001-submissions-001.json", "one"],
    ["CIK0009000001-submissions-001.json?x", null],
  ])("with a page called %j", (name, read) => {
    const value = {
      cik: "1",
      filings: { recent: { accessionNumber: [], filingDate: [], form: [] }, files: [{ name }] },
    };
    expect(parseSubmissions(value)?.pages.length ?? null).toBe(read === null ? null : 1);
  });
});

describe("pages of older filings", () => {
  const page = { name: "p", filing_count: 1, filing_from: "2001-01-05", filing_to: "2010-07-24" };
  test.each([
    // A page's newest filing was seen a day and more behind what it says.
    ["2010-07-24", null, true],
    ["2010-07-27", null, true],
    ["2010-07-28", null, false],
    [null, "2001-01-05", true],
    [null, "2001-01-02", true],
    [null, "2001-01-01", false],
    [null, null, true],
  ])("are read since %s until %s: %s", (since, until, read) =>
    expect(canHold(page, { forms: null, since, until })).toBe(read),
  );

  test("are read when an entry has no time range", () => {
    expect(
      canHold(
        { ...page, filing_from: null, filing_to: null },
        { forms: null, since: "2026-01-01", until: null },
      ),
    ).toBe(true);
  });

  test("are searched for the latest from the newest", () => {
    const pages = ["2003-01-01", "2019-05-14", "1999-06-24"].map((filing_to) => ({ ...page, filing_to }));
    expect(newestFirst(pages).map(({ filing_to }) => filing_to)).toEqual([
      "2019-05-14",
      "2003-01-01",
      "1999-06-24",
    ]);
  });
});

describe("full-text search", () => {
  const read = (fields: Parameters<typeof parseFullTextRequest>[0]) => {
    const checked = parseFullTextRequest(fields, Date.UTC(2025, 0, 2, 12));
    if (checked.kind === "invalid") throw new Error(checked.message);
    return fullTextPath(checked.value);
  };

  test("asks with both dates, and the same question always in the same words", () => {
    expect(read({ q: "a  b", forms: "8-k,10-K" })).toBe(
      "/LATEST/search-index?q=a+b&dateRange=custom&startdt=2001-01-01&enddt=2025-01-02&forms=10-K%2C8-K",
    );
    expect(read({ q: " a b ", forms: "10-K, 8-K", from: "0" })).toBe(read({ q: "a b", forms: "8-K,10-K" }));
    expect(read({ q: "a", from: "9900" })).toContain("&from=9900");
  });

  const hit = {
    _index: "edgar_file",
    _id: "0009000001-25-000123:ex99-1.htm",
    _score: 7.97,
    _source: {
      adsh: "0009000001-25-000123",
      ciks: ["0009000001", "0007654321"],
      display_names: ["Harbour Lights Inc.  (HLI)  (CIK 0009000001)"],
      form: "8-K/A",
      root_forms: ["8-K"],
      file_type: "EX-99.1",
      file_description: null,
      file_date: "2025-04-18",
      period_ending: null,
      sequence: "2",
      xsl: null,
    },
  };
  const result = (hits: readonly unknown[], total: unknown = { value: hits.length, relation: "eq" }) =>
    parseFullTextAnswer({ hits: { total, hits } }, WWW);

  test("answers hits with their addresses", () => {
    expect(result([hit])).toEqual({
      total: 1,
      total_relation: "eq",
      hits: [
        {
          accession: "0009000001-25-000123",
          ciks: [9_000_001, 7_654_321],
          display_names: ["Harbour Lights Inc.  (HLI)  (CIK 0009000001)"],
          form: "8-K/A",
          root_forms: ["8-K"],
          file_type: "EX-99.1",
          file_description: null,
          file_date: "2025-04-18",
          period_ending: null,
          document: "ex99-1.htm",
          url: `${WWW}/Archives/edgar/data/9000001/000900000125000123/ex99-1.htm`,
          index_url: `${WWW}/Archives/edgar/data/9000001/000900000125000123/0009000001-25-000123-index.htm`,
          score: 7.97,
        },
      ],
    });
  });

  test("puts up with what varies", () => {
    const odd = {
      ...hit,
      _id: "0009000001-25-000123",
      _score: null,
      _source: { adsh: hit._source.adsh, root_form: "8-K" },
    };
    expect(result([odd], { value: 10_000, relation: "gte" })).toMatchObject({
      total: 10_000,
      total_relation: "gte",
      hits: [{ root_forms: ["8-K"], ciks: [], document: null, url: null, index_url: null, score: null }],
    });
    expect(result([], 0)).toEqual({ total: 0, total_relation: "eq", hits: [] });
  });

  test.each([
    null,
    {},
    { error: "x", hits: {} },
    { hits: { hits: [] } },
    { message: "Internal server error" },
  ])("%j is no answer", (value) => expect(parseFullTextAnswer(value, WWW)).toBeNull());
});

describe("a document's text", () => {
  test("is without the wrapper it was filed in", () => {
    const filed = archived("9000001/000900000124000007/letter.txt");
    expect(unwrapped(filed)).toBe("To the keepers:\n   every lamp   is lit.");
    expect(unwrapped(unwrapped(filed))).toBe(unwrapped(filed));
  });

  test("of a complete submission is all of it", () => {
    const filed = archived("9000001/000900000124000007/letter.txt");
    for (const text of [
      `${filed}${filed}`,
      `<SEC-DOCUMENT>x\n${filed}`,
      "No wrapper",
      "<DOCUMENT> is a word",
    ])
      expect(unwrapped(text)).toBe(text);
  });

  test("has every table as lines with tabs, and nothing a browser hides", () => {
    const { title, text, truncated } = readFiled(
      archived("9000001/000900000124000007/hli-20240928.htm"),
      10_000,
    );
    expect([title, truncated]).toEqual(["hli-20240928", false]);
    expect(text).toBe(
      [
        "FORM 10-K",
        "",
        "Harbours lit in the fiscal year",
        "",
        "2024\t2023",
        "Harbours\t412\t410",
        "Net income\t$1,234\t$(56)",
        "",
        "Item 1. Lights",
        "that never go out.",
      ].join("\n"),
    );
  });

  test("ends with a whole line where it is too long", () => {
    const { text, truncated } = readFiled("<p>one two</p><p>three four</p><p>five</p>", 14);
    expect([text, truncated]).toEqual(["one two", true]);
  });

  test("ends where a document nests without end", () => {
    const html = `<p>before</p>${"<font>".repeat(500_000)}deep`;
    expect(readFiled(html, 1_000)).toMatchObject({ text: "before", truncated: true });
  });
});
