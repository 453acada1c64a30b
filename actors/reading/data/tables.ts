/**
 * The tables of a page as rows of texts (HTML Living Standard, "Forming a table"): a cell that covers several places stands in each. A
 * table that only lays a page out is left out: one row or column, `role=presentation`, headings or sections in it.
 */
import type { PageTable } from "../../../schemas/page-data.ts";
import { type AnyNode, type Element, isElement } from "../dom/document.ts";
import { renderedText, type Room } from "./rendered-text.ts";

const TABLES_MAX = 200;
const CELLS_MAX = 100_000;
const CHARS_MAX = 2_000_000;
const COLUMNS_MAX = 1_000;
const LAYOUT = new Set("h1 h2 h3 h4 h5 h6 article section form".split(" "));

/** The room of all tables of a page; a text counts for each place that it covers. */
interface TableRoom extends Room {
  cells: number;
}

interface Cell {
  readonly text: string;
  readonly isHeader: boolean;
}

interface Grid {
  readonly rows: Cell[][];
  /** Rows of `thead`. */
  head_rows: number;
  readonly spans: { row: number; column: number; rows: number; columns: number }[];
  isCut: boolean;
  isLayout: boolean;
}

export function tablesOf(elements: readonly Element[], warn: (warning: string) => void): PageTable[] {
  const tables: PageTable[] = [];
  const placeOf = new Map<AnyNode, number>();
  const room: TableRoom = { cells: CELLS_MAX, chars: CHARS_MAX, nodes: Infinity };
  let isCut = false;
  for (const table of elements) {
    if (table.name !== "table" || isPresentation(table)) continue;
    isCut ||= tables.length >= TABLES_MAX;
    if (isCut) break;
    const grid = gridOf(table, room);
    isCut = grid.isCut;
    const columns = grid.rows[0]?.length ?? 0;
    if (grid.isLayout || (!isCut && (grid.rows.length < 2 || columns < 2))) continue;
    placeOf.set(table, tables.length);
    tables.push(tableOf(table, grid, parentOf(table, placeOf)));
  }
  if (isCut)
    warn(
      `tables: more than ${TABLES_MAX} tables, ${CELLS_MAX} cells or ${CHARS_MAX} characters are left out`,
    );
  return tables;
}

const isPresentation = ({ attribs: { role } }: Element): boolean =>
  role === "presentation" || role === "none";

function parentOf(table: Element, placeOf: ReadonlyMap<AnyNode, number>): number | null {
  for (let up = table.parent; up !== null; up = up.parent) {
    const place = placeOf.get(up);
    if (place !== undefined) return place;
  }
  return null;
}

function tableOf(table: Element, { rows, head_rows, spans, isCut }: Grid, parent: number | null): PageTable {
  const header_rows = head_rows > 0 ? head_rows : leadingHeaders(rows);
  const caption = childrenOf(table, "caption")[0];
  const text = caption && renderedText(caption, { nodes: 10_000, chars: 10_000 });
  return {
    parent,
    caption: text || null,
    headers: headersOf(rows.slice(0, header_rows)),
    rows: rows.slice(header_rows).map((row) => row.map((cell) => cell.text)),
    spans: spans
      .filter(({ row }) => row >= header_rows)
      .map((span) => ({ ...span, row: span.row - header_rows })),
    truncated: isCut,
  };
}

const childrenOf = ({ children }: Element, ...names: readonly string[]): Element[] =>
  children.filter((child): child is Element => isElement(child) && names.includes(child.name));

/** Without `thead`: the rows at the top that have headers only, beside empty corners. */
function leadingHeaders(rows: readonly Cell[][]): number {
  const isHead = (row: readonly Cell[]): boolean =>
    row.some(({ isHeader }) => isHeader) && row.every(({ isHeader, text }) => isHeader || text === "");
  const first = rows.findIndex((row) => !isHead(row));
  return first < 0 ? Math.min(1, rows.length) : first;
}

function headersOf(rows: readonly Cell[][]): string[] {
  const counts = new Map<string, number>();
  return (rows[0] ?? []).map((_, column) => {
    const parts = rows.map((row) => row[column]!.text);
    const name = parts.filter((part, at) => part !== "" && part !== parts[at - 1]).join(" / ");
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return count > 1 && name !== "" ? `${name} (${count})` : name;
  });
}

/** Groups in the order of their display; no cell reaches from one into the next. */
function gridOf(table: Element, room: TableRoom): Grid {
  const grid: Grid = { rows: [], head_rows: 0, spans: [], isCut: false, isLayout: false };
  const heads = childrenOf(table, "thead");
  for (const [at, group] of [
    ...heads,
    ...childrenOf(table, "tbody"),
    ...childrenOf(table, "tfoot"),
  ].entries()) {
    if (!grid.isCut) addGroup(grid, childrenOf(group, "tr"), room);
    if (at < heads.length) grid.head_rows = grid.rows.length;
  }
  level(grid, room);
  return grid;
}

interface Reach {
  readonly cell: Cell;
  rows: number;
}

function addGroup(grid: Grid, group: readonly Element[], room: TableRoom): void {
  /** By column: the cell that reaches down from above, and for how many rows more. */
  const reaching: (Reach | undefined)[] = [];
  for (const [at, element] of group.entries()) {
    const row: Cell[] = [];
    const isFull = (): boolean => room.cells < 0 || room.chars < 0;
    const place = (cell: Cell): void => {
      row.push(cell);
      room.cells -= 1;
      room.chars -= cell.text.length;
    };
    const fromAbove = (): boolean => {
      const above = reaching[row.length];
      if (above === undefined || above.rows === 0) return false;
      above.rows -= 1;
      place(above.cell);
      return true;
    };
    for (const cell of childrenOf(element, "td", "th")) {
      while (!isFull() && fromAbove());
      const read = readCell(grid, cell, room);
      const rows = rowsOf(cell, group.length - at);
      const columns = Math.min(spanOf(cell, "colspan", 1), COLUMNS_MAX - row.length);
      if (rows > 1 || columns > 1)
        grid.spans.push({ row: grid.rows.length, column: row.length, rows, columns });
      for (let across = 0; across < columns && !isFull(); across += 1) {
        // The first of two cells that overlap has the place.
        if (fromAbove()) continue;
        reaching[row.length] = { cell: read, rows: rows - 1 };
        place(read);
      }
    }
    while (!isFull() && row.length < reaching.length) if (!fromAbove()) place(NOTHING);
    if (isFull()) {
      grid.isCut = true;
      room.cells += row.length;
      return;
    }
    if (row.length > 0) grid.rows.push(row);
  }
}

const NOTHING: Cell = { text: "", isHeader: false };

function readCell(grid: Grid, cell: Element, room: TableRoom): Cell {
  const isNested = (node: AnyNode): boolean => {
    if (!isElement(node)) return false;
    grid.isLayout ||= LAYOUT.has(node.name);
    return node.name === "table";
  };
  const isHeader = cell.name === "th" && cell.attribs["scope"] !== "row";
  return { text: renderedText(cell, { nodes: Infinity, chars: room.chars }, isNested) ?? "", isHeader };
}

const spanOf = ({ attribs }: Element, name: "colspan" | "rowspan", least: number): number => {
  const value = Number.parseInt(attribs[name] ?? "1", 10);
  return Number.isFinite(value) && value >= least ? value : 1;
};

/** 0 reaches to the end of the group. */
const rowsOf = (cell: Element, left: number): number => {
  const rows = spanOf(cell, "rowspan", 0);
  return rows === 0 ? left : Math.min(rows, left);
};

/** Rows of equal length, as many as there is room for. */
function level(grid: Grid, room: TableRoom): void {
  const { rows } = grid;
  const columns = rows.reduce((most, { length }) => Math.max(most, length), 0);
  for (const [at, row] of rows.entries()) {
    room.cells -= columns - row.length;
    if (room.cells < 0) {
      grid.isCut = true;
      rows.length = at;
      return;
    }
    while (row.length < columns) row.push(NOTHING);
  }
}
