/** The lines of a data table as a GFM table. A table that only lays a page out is not one: its lines stay lines. */
import { type Line, SPACE } from "../article/lines.ts";
import type { Tree } from "../article/tree.ts";
import { BLANK, inlineMarkdown, PLAIN, type Span } from "./inline.ts";
import { pictureWords } from "./cell-pictures.ts";
import { pipeTable } from "./pipe-table.ts";

/** Wider tables, or tables of more cells (repeated ones included), stay lines. */
const COLUMNS_MAX = 100;
const CELLS_MAX = 100_000;
/** A longer cell holds a text: the table lays it out. */
const CELL_CHARS_MAX = 1_000;
/** So long are cells on average, at most, in a table without headers. */
const PLAIN_CELL_CHARS_MAX = 150;
/** In a table with headers, whose rows are items with remarks. */
const REMARK_CHARS_MAX = 3_000;
/** Without headers and with so many rows, a table has the usual number of cells in this share of them, or it lays a list out. */
const IRREGULAR_ROWS_MIN = 6;
const REGULAR_SHARE = 0.6;
/** Elements that a cell of data does not contain. */
const LAYOUT = new Set(["table", "pre", "article", "section", "form"]);
/** In a cell that is no header and has other text. */
const HEADINGS = new Set(["h1", "h2", "h3"]);

interface Cell {
  readonly node: number;
  readonly spans: Span[];
  chars: number;
  /** Written once for all rows and columns that it spans. */
  markdown?: string;
}

export interface TableMarkdown {
  /** Lines of the table that stand in no cell: its caption. */
  readonly outside: readonly Line[];
  readonly markdown: readonly string[];
}

/** Null when the lines are no data table. */
export function tableMarkdown(
  tree: Tree,
  table: number,
  lines: readonly Line[],
  spansOf: (node: number) => readonly Span[],
): TableMarkdown | null {
  const role = tree.attributes[table]?.["role"];
  if (role === "presentation" || role === "none") return null;
  for (let i = table + 1; i < tree.end[table]!; i += 1) {
    const tag = tree.tag[i]!;
    if (LAYOUT.has(tag) || (HEADINGS.has(tag) && !isHeaderCell(tree, i, table))) return null;
  }
  if (isOfLists(tree, table)) return null;
  const { cells, outside } = readCells(tree, table, lines, spansOf);
  const grid = gridOf(tree, table, cells);
  if (grid === null) return null;
  const markdown = pipeTable(
    grid.map((row) =>
      row.map((cell, column) => (cell && !isRest(row, column) ? cellMarkdown(tree, cell) : "")),
    ),
  );
  return { outside, markdown };
}

/** Whether half of the cells, headers apart, hold lists: advantages beside disadvantages. In cells their items would run together. */
function isOfLists(tree: Tree, table: number): boolean {
  let [cells, lists, items] = [0, 0, 0];
  for (let i = table + 1; i < tree.end[table]!; i += 1) {
    if (isCell(tree.tag[i]!)) {
      items = 0;
      if (tree.tag[i] === "td") cells += 1;
    } else if (tree.tag[i] === "li") {
      items += 1;
      if (items === 2) lists += 1;
    }
  }
  return lists > 0 && lists >= cells / 2;
}

/** A cell that spans its whole row heads the rows below, and is written once. */
const isRest = (row: readonly (Cell | null)[], column: number): boolean =>
  column > 0 && row.every((cell) => cell === row[0]);

const cellMarkdown = (tree: Tree, cell: Cell): string =>
  (cell.markdown ??=
    inlineMarkdown(cell.spans, "cell") ||
    inlineMarkdown([{ text: pictureWords(tree, cell.node), style: PLAIN }], "cell"));

/** Whether a heading stands in a caption, in a header, or alone in its cell, which is a header by another name. Beside other text it heads a section. */
function isHeaderCell(tree: Tree, heading: number, table: number): boolean {
  let cell = tree.parent[heading]!;
  while (cell > table && !isCell(tree.tag[cell]!) && tree.tag[cell] !== "caption") cell = tree.parent[cell]!;
  if (cell <= table || tree.tag[cell] !== "td") return cell > table;
  for (let i = cell + 1; i < tree.end[cell]!; i += 1) {
    const isInside = i >= heading && i < tree.end[heading]!;
    if (!isInside && tree.chars[i]! > 0) return false;
  }
  return true;
}

const isCell = (tag: string): boolean => tag === "td" || tag === "th";

/** The cells that the lines fill, by node. */
function readCells(
  tree: Tree,
  table: number,
  lines: readonly Line[],
  spansOf: (node: number) => readonly Span[],
): { cells: ReadonlyMap<number, Cell>; outside: Line[] } {
  const cells = new Map<number, Cell>();
  const outside: Line[] = [];
  for (const line of lines) {
    let current: Cell | null = null;
    for (const piece of line.pieces) {
      if (piece === SPACE || tree.tag[piece] !== "#text") {
        current?.spans.push(BLANK);
        continue;
      }
      let node = tree.parent[piece]!;
      while (node > table && !isCell(tree.tag[node]!)) node = tree.parent[node]!;
      if (node <= table) continue;
      let cell = cells.get(node);
      if (cell === undefined) cells.set(node, (cell = { node, spans: [], chars: 0 }));
      // Blocks of one cell are one line of it.
      if (cell !== current && cell.spans.length > 0) cell.spans.push(BLANK);
      current = cell;
      cell.spans.push(...spansOf(piece));
      cell.chars += tree.chars[piece]!;
    }
    if (current === null) outside.push(line);
  }
  return { cells, outside };
}

const spanOf = (tree: Tree, node: number, name: "colspan" | "rowspan"): number => {
  const value = Number.parseInt(tree.attributes[node]?.[name] ?? "1", 10);
  return Number.isFinite(value) ? Math.min(Math.max(value, 1), name === "colspan" ? COLUMNS_MAX : 1_000) : 1;
};

/** Whether most rows have the same number of cells. Where cells reach down into other rows, the numbers say nothing. */
function isRegular(tree: Tree, rows: readonly (readonly number[])[]): boolean {
  if (rows.some((row) => row.some((cell) => spanOf(tree, cell, "rowspan") > 1))) return true;
  const counts = new Map<number, number>();
  for (const { length } of rows) counts.set(length, (counts.get(length) ?? 0) + 1);
  return Math.max(...counts.values()) >= REGULAR_SHARE * rows.length;
}

/** Rows of equal length; a cell that spans several is repeated in each. Null when this is no data table. */
function gridOf(tree: Tree, table: number, cells: ReadonlyMap<number, Cell>): (Cell | null)[][] | null {
  const rows = new Map<number, number[]>();
  let headers = 0;
  let chars = 0;
  let longest = 0;
  for (let i = table + 1; i < tree.end[table]!; i += 1) {
    if (!isCell(tree.tag[i]!)) continue;
    const up = tree.parent[i]!;
    const row = rows.get(up);
    if (row) row.push(i);
    else rows.set(up, [i]);
    if (tree.tag[i] === "th") headers += 1;
    const cell = cells.get(i);
    longest = Math.max(longest, cell?.chars ?? 0);
    chars += cell?.chars ?? 0;
  }
  const filled = [...rows.values()].filter((row) => row.some((node) => cells.has(node)));
  if (filled.length < 2 || longest > (headers > 1 ? REMARK_CHARS_MAX : CELL_CHARS_MAX)) return null;
  if (headers === 0 && filled.length >= IRREGULAR_ROWS_MIN && !isRegular(tree, [...rows.values()]))
    return null;
  if (headers === 0 && chars > PLAIN_CELL_CHARS_MAX * cells.size) return null;
  const grid: (Cell | null)[][] = [];
  /** By column: the cell that reaches down from above, and for how many rows more. */
  const reaching: { cell: Cell | null; rows: number }[] = [];
  let count = 0;
  for (const nodes of filled) {
    const row: (Cell | null)[] = [];
    const fromAbove = (): void => {
      for (let above = reaching[row.length]; above && above.rows > 0; above = reaching[row.length]) {
        above.rows -= 1;
        row.push(above.cell);
      }
    };
    for (const node of nodes) {
      fromAbove();
      const cell = cells.get(node) ?? { node, spans: [], chars: 0 };
      const down = spanOf(tree, node, "rowspan") - 1;
      for (let across = spanOf(tree, node, "colspan"); across > 0; across -= 1) {
        if (row.length >= COLUMNS_MAX) return null;
        reaching[row.length] = { cell, rows: down };
        row.push(cell);
      }
    }
    fromAbove();
    count += row.length;
    if (count > CELLS_MAX) return null;
    grid.push(row);
  }
  const width = Math.max(...grid.map(({ length }) => length));
  if (width < 2) return null;
  for (const row of grid) while (row.length < width) row.push(null);
  return grid;
}
