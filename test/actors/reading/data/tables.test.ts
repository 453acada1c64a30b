/** Tables as rows of texts: spans resolved, headers named, layout left out, and how far it goes. */
import { expect, test } from "vitest";
import { elementsIn, elementsOf } from "../../../../actors/reading/dom/document.ts";
import { tablesOf } from "../../../../actors/reading/data/tables.ts";

function read(html: string) {
  const warnings: string[] = [];
  const tables = tablesOf(elementsIn(elementsOf(html).root()[0]!), (warning) => {
    warnings.push(warning);
  });
  return { tables, warnings };
}
const table = (inner: string) => read(`<table>${inner}</table>`).tables[0]!;

test("headers and rows, with a caption; the foot comes last wherever it stands", () => {
  const fares = table(`<caption> Fares <b>2026</b></caption><thead><tr><th>Season<th>Adult</thead>
    <tfoot><tr><td>All<td>9</tfoot><tbody><tr><td>Summer<td>4.20<tr><td>Winter<td>3</tbody>`);
  expect(fares).toEqual({
    parent: null,
    caption: "Fares 2026",
    headers: ["Season", "Adult"],
    rows: [
      ["Summer", "4.20"],
      ["Winter", "3"],
      ["All", "9"],
    ],
    spans: [],
    truncated: false,
  });
});

test("a cell that covers several places stands in each, and `spans` names it", () => {
  const { headers, rows, spans } = table(`<tr><th>Day<th>From<th>To
    <tr><td rowspan=2>Monday<td>7<td>8<tr><td colspan=2>closed<tr><td>Tuesday<td>9`);
  expect(headers).toEqual(["Day", "From", "To"]);
  expect(rows).toEqual([
    ["Monday", "7", "8"],
    ["Monday", "closed", "closed"],
    ["Tuesday", "9", ""],
  ]);
  expect(spans).toEqual([
    { row: 0, column: 0, rows: 2, columns: 1 },
    { row: 1, column: 1, rows: 1, columns: 2 },
  ]);
});

test("a span reaches to the end of its group at most, and the first of two that overlap has the place", () => {
  const { rows } = table(`<tbody><tr><td rowspan=0>a<td>b<tr><td>c</tbody><tbody><tr><td>d<td>e</tbody>`);
  expect(rows).toEqual([
    ["a", "b"],
    ["a", "c"],
    ["d", "e"],
  ]);
  expect(table("<tr><td>1<td rowspan=2>2<td>3<tr><td colspan=3>4").rows).toEqual([
    ["1", "2", "3"],
    ["4", "2", "4"],
  ]);
});

test("several rows of headers are joined, and names that come again are numbered", () => {
  const { headers } = table(
    `<tr><td rowspan=2><th colspan=2>Sea<th>Air<tr><th>Day<th>Night<th>Air<tr><td>1<td>2<td>3<td>4`,
  );
  expect(headers).toEqual(["", "Sea / Day", "Sea / Night", "Air"]);
  expect(table("<tr><th>A<th>A<tr><td>1<td>2").headers).toEqual(["A", "A (2)"]);
});

test("headers of rows are cells of theirs", () => {
  const { headers, rows } = table("<tr><th>Height<td>9 m<tr><th scope=row>Depth<td>2 m");
  expect([headers, rows]).toEqual([
    [],
    [
      ["Height", "9 m"],
      ["Depth", "2 m"],
    ],
  ]);
});

test("a table in a table is one of its own, and its text is not the cell's", () => {
  const inner = "<table><tr><td>x<td>y<tr><td>z<td>w</table>";
  const { tables } = read(`<table><tr><td>a<td>b${inner}<tr><td>c<td>d</table>`);
  expect(tables.map(({ parent, rows }) => [parent, rows])).toEqual([
    [
      null,
      [
        ["a", "b"],
        ["c", "d"],
      ],
    ],
    [
      0,
      [
        ["x", "y"],
        ["z", "w"],
      ],
    ],
  ]);
});

test.each([
  ["one row", "<tr><td>a<td>b"],
  ["one column", "<tr><td>a<tr><td>b"],
  ["headings", "<tr><td><h2>a</h2><td>b<tr><td>c<td>d"],
])("what only lays a page out is no table: %s", (_, inner) => {
  expect(read(`<table>${inner}</table>`)).toEqual({ tables: [], warnings: [] });
});

test("a role says so, too", () => {
  expect(read("<table role=presentation><tr><td>a<td>b<tr><td>a<td>b</table>").tables).toEqual([]);
});

test("spans as large as they like end at the limit, which is told", () => {
  const row = "<tr><td colspan=1000 rowspan=65534>x<td>y";
  const { tables, warnings } = read(`<table>${row.repeat(300)}</table><table>${row}${row}</table>`);
  expect(tables).toHaveLength(1);
  const [{ rows, truncated }] = tables as [(typeof tables)[0]];
  expect([truncated, rows.length, rows[0]!.length]).toEqual([true, 100, 1_000]);
  expect(warnings).toEqual([expect.stringContaining("100000 cells")]);
});

test("so do the characters of a text that covers many places, and the count of tables", () => {
  const long = `<tr><td colspan=900>${"x".repeat(10_000)}<td>y`;
  const { tables, warnings } = read(`<table><tr><td>a<td>b${long.repeat(3)}</table>`);
  expect(JSON.stringify(tables).length).toBeLessThan(2_500_000);
  expect(warnings).toHaveLength(1);
  const many = read("<table><tr><td>a<td>b<tr><td>a<td>b</table>".repeat(201));
  expect(many.tables).toHaveLength(200);
  expect(many.warnings).toHaveLength(1);
});

test("a page of nothing but nested tables ends, for which quadratic time would be minutes", () => {
  expect(read("<table><tr><td>a<td>".repeat(20_000)).tables).toEqual([]);
});
