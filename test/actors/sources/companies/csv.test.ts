/** Company batches as CSV: what spreadsheets write is read, and what cannot be read is refused with its row. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CsvLimits, readBatchCsv } from "../../../../actors/sources/companies/csv/read-batch.ts";
import type { CsvRow } from "../../../../schemas/csv.ts";
import { resultRow } from "../../../../actors/sources/companies/csv/result-row.ts";

/** In pieces of so many bytes. */
function* pieces(bytes: Uint8Array, size: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
const SMALL: CsvLimits = { max_items: 3, max_bytes: 10_000, max_row_chars: 200 };
const read = (text: string | Uint8Array, limits: CsvLimits = SMALL, size = 7): Promise<CsvRow[]> =>
  Array.fromAsync(readBatchCsv(pieces(typeof text === "string" ? Buffer.from(text) : text, size), limits));
const item = (row: number, fields: object): CsvRow => ({ kind: "item", row, item: fields });

describe("a file is read", () => {
  test("with columns in any order, and several identifiers in a cell", async () => {
    expect(await read("identifiers,name,country\nlei:1; ch_uid:2,Acme,CH\n,Beta,\n")).toEqual([
      item(2, { identifiers: ["lei:1", "ch_uid:2"], name: "Acme", country: "CH" }),
      item(3, { name: "Beta" }),
    ]);
  });

  test.each([
    ["semicolons", 'Name;Identifiers\r\nAcme;"lei:1;lei:2"\r\n'],
    ["tabs", "name\tidentifiers\nAcme\tlei:1;lei:2\n"],
    ["a byte-order mark", "\uFEFFname,identifiers\nAcme,lei:1;lei:2"],
    ["old line breaks", "name,identifiers\rAcme,lei:1;lei:2\r"],
    ["blank lines", "name,identifiers\n\n , \nAcme,lei:1;lei:2\n\n"],
  ])("with %s", async (_what, text) => {
    const rows = await read(text);
    expect(rows).toMatchObject([{ kind: "item", item: { name: "Acme", identifiers: ["lei:1", "lei:2"] } }]);
  });

  test.each(["little", "big"])("in UTF-16, %s end first, however it is cut into pieces", async (order) => {
    const little = Buffer.from("\uFEFFname\tcity\r\nMüller & Söhne\tZürich\r\n", "utf16le");
    const bytes = order === "little" ? little : Buffer.from(little).swap16();
    for (const size of [1, 2, 3, 100])
      expect(await read(bytes, SMALL, size)).toEqual([item(2, { name: "Müller & Söhne", city: "Zürich" })]);
  });

  test("with the separator named in a line of its own, and countries in lower case", async () => {
    expect(await read("sep=;\r\nname;country\r\nA, B & Co;gb\r\n")).toEqual([
      item(3, { name: "A, B & Co", country: "GB" }),
    ]);
  });

  test("with a column that is not known, which is named and not read", async () => {
    expect(await read("name,Colour,city\nA,red,Bern\n")).toEqual([
      { kind: "unknown_column", name: "colour" },
      item(2, { name: "A", city: "Bern" }),
    ]);
  });

  test("with quotes, commas and line breaks inside a cell; the row is the line where it begins", async () => {
    expect(await read('name,city\n"Acme ""A"", Ltd",Bern\n"Two\nlines",Basel\nLast,Chur\n')).toEqual([
      item(2, { name: 'Acme "A", Ltd', city: "Bern" }),
      item(3, { name: "Two\nlines", city: "Basel" }),
      item(5, { name: "Last", city: "Chur" }),
    ]);
  });

  test.each(["utf8", "latin1"] as const)("in %s, however it is cut into pieces", async (encoding) => {
    const bytes = Buffer.from("name,city\nMüller & Söhne,Zürich\n", encoding);
    for (const size of [1, 2, 3, 100])
      expect(await read(bytes, SMALL, size)).toEqual([item(2, { name: "Müller & Söhne", city: "Zürich" })]);
  });

  test("up to a row with too many cells, which fails alone", async () => {
    expect(await read("name,city\nA,B,C\nD,E\n")).toEqual([
      { kind: "bad_row", row: 2, message: "Row 2 has 3 cells, the header 2" },
      item(3, { name: "D", city: "E" }),
    ]);
  });
});

describe("a file is refused", () => {
  const refused = (status: number, row: number | null, message: string) => [
    { kind: "refused", status, row, message: expect.stringContaining(message) },
  ];

  test.each([
    ["", null, "The file has no header"],
    ["name,name\nA,B", 1, 'the column "name" twice'],
    ["city\nBern", 1, "none of the columns ref, name, identifiers"],
  ])("for its header: %j", async (text, row, message) => {
    expect(await read(text)).toEqual(refused(422, row, message));
  });

  test("for a quote that is never closed, with the row where it opens", async () => {
    expect((await read('name\nA\n"B\nC\n')).slice(-1)).toEqual(
      refused(422, 3, "The quote that opens in row 3 is not closed"),
    );
  });

  test("for a quote in the middle of a cell", async () => {
    expect((await read('name\nA\n"B" C\n')).slice(-1)).toEqual(
      refused(422, 3, "Row 3 has a quote inside a cell"),
    );
  });

  test("for a row that is too long", async () => {
    expect((await read(`name\nA\n"${"x".repeat(500)}`)).slice(-1)).toEqual(
      refused(422, 3, "Row 3 is longer than 200 characters"),
    );
  });

  test("with 413 after the last row that is allowed", async () => {
    const rows = await read("name\nA\nB\nC\nD\n");
    expect(rows.slice(0, 3).every(({ kind }) => kind === "item")).toBe(true);
    expect(rows.slice(3)).toEqual(refused(413, 5, "more than 3 rows"));
  });

  test("with 413 at 50,001 rows by default", async () => {
    const text = Buffer.from(`name\n${"Acme\n".repeat(50_001)}`);
    const rows = await Array.fromAsync(readBatchCsv(pieces(text, 65_536)));
    expect(rows.length).toBe(50_001);
    expect(rows.at(-1)).toMatchObject({ kind: "refused", status: 413, row: 50_002 });
  });

  test("with 413 for its size", async () => {
    expect(
      await read(`name\n${"x\n".repeat(100)}`, { ...SMALL, max_items: 1_000, max_bytes: 50 }),
    ).toContainEqual(refused(413, null, "larger than 50 bytes")[0]);
  });

  test("for an encoding that changes", async () => {
    const mixed = Buffer.concat([Buffer.from("name\nZürich\n"), Buffer.from("Zürich\n", "latin1")]);
    expect((await read(mixed)).at(-1)).toMatchObject({
      kind: "refused",
      status: 422,
      message: expect.stringMatching(/UTF-8 at first, and then is not, near row [23]$/),
    });
    const cut = Buffer.from("\uFEFFname\nA", "utf16le").subarray(0, -1);
    expect((await read(cut)).at(-1)).toMatchObject({ message: expect.stringContaining("UTF-16 at first") });
  });
});

test("no bytes throw, and every file ends", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ maxLength: 200 }),
      fc.integer({ min: 1, max: 50 }),
      async (bytes, size) => {
        const rows = await read(Buffer.concat([Buffer.from("name,city\n"), bytes]), SMALL, size);
        expect(rows.slice(0, -1).every(({ kind }) => kind !== "refused")).toBe(true);
      },
    ),
  );
});

const OPEN = new Map([
  ["gleif", "open"],
  ["site", "internal"],
] as const);
const record = {
  id: "cmp_0123456789abcdef",
  names: { legal: "Acme, Inc." },
  jurisdiction: "US-DE",
  status: "active",
  legal_form: { abbreviation: null, label: "Corporation", category: "public_limited" },
  identifiers: [
    { scheme: "lei", value: "1" },
    { scheme: "us_cik", value: "2" },
  ],
  provenance: {
    "names.legal": { source: "gleif" },
    jurisdiction: { source: "gleif" },
    status: { source: "site" },
    legal_form: { source: "gleif" },
    "identifiers[lei:1]": { source: "gleif" },
    "identifiers[us_cik:2]": { source: "site" },
  },
};
const done = { index: 3, status: "done", error: null } as const;

describe("the row of an item", () => {
  test("shows the record, without the values of a source that forbids exports", () => {
    expect(resultRow({ ...done, input: { ref: "lei:1" }, result: { record } }, OPEN)).toEqual([
      3,
      "lei:1",
      "done",
      "cmp_0123456789abcdef",
      "Acme, Inc.",
      "US",
      null,
      "Corporation",
      null,
      "lei:1",
      null,
    ]);
  });

  test("shows the match of a name with its score", () => {
    const match = { ...record, match_score: 0.93, sources: ["gleif"] };
    const resolved = { match, reason: null, candidates: [match] };
    const row = resultRow(
      { ...done, input: { name: "Acme", identifiers: ["lei:1"] }, result: resolved },
      OPEN,
    );
    expect(row.slice(1, 10)).toEqual([
      "Acme",
      "done",
      "cmp_0123456789abcdef",
      "Acme, Inc.",
      "US",
      "active",
      "Corporation",
      0.93,
      "lei:1;us_cik:2",
    ]);
    const closed = { match: { ...match, sources: ["gleif", "site"] }, reason: null };
    expect(resultRow({ ...done, input: {}, result: closed }, OPEN)[4]).toBeNull();
  });

  test("says why there is no company", () => {
    const empty = [null, null, null, null, null, null, null];
    const none = { match: null, reason: "ambiguous", candidates: [] };
    expect(resultRow({ ...done, input: { name: "Acme" }, result: none }, OPEN)).toEqual([
      3,
      "Acme",
      "done",
      ...empty,
      "ambiguous",
    ]);
    const failed = {
      ...done,
      status: "failed",
      error: "not_found",
      input: { identifiers: ["lei:1", "a:2"] },
    };
    expect(resultRow({ ...failed, result: { record: null } }, OPEN)).toEqual([
      3,
      "lei:1;a:2",
      "failed",
      ...empty,
      "not_found",
    ]);
  });
});
