/**
 * Completes the choice of lines where a reader would see a hole: a heading between two lines of the text, the items of a
 * list (or terms and definitions) in the middle of the text, the cells of a table's row, the header of a table, and a table of data as a
 * whole. It only adds lines.
 */
import { firstText, type Line } from "./lines.ts";
import { isHeading } from "./marks.ts";
import type { Tree } from "./tree.ts";

/** Ancestors in which an item, a cell or a heading is looked for. */
const LEVELS_MAX = 20;
/** A less likely heading is a teaser's or a control's. */
const HEADING_CHANCE_MIN = 0.2;
/** Without text above it, below a line that is none: above text, and above a section of which most is text. */
const LONE_HEADING_CHANCE_MIN = 0.3;
const SECTION_HEADING_CHANCE_MIN = 0.4;
/** With more of its characters in links it is a card's title. */
const HEADING_LINK_MAX = 0.8;
/** A longer heading is text in large print. */
const HEADING_CHARS_MAX = 150;
/** A shorter list may have any item taken alone; a longer list must have had this share of its lines taken. */
const LIST_LINES_MIN = 3;
const LIST_SHARE = 0.2;
/** Rows of a header, at most. */
const HEADER_ROWS_MAX = 3;
const ITEMS: ReadonlySet<string> = new Set(["li", "dt", "dd"]);
/** A longer row lays a page out. */
const ROW_CHARS_MAX = 400;
const ROW_CELLS_MAX = 12;
/** A table of data has short cells in rows of one length; with links in more than this share of its characters it is a menu. */
const DATA_CELL_CHARS_MAX = 80;
const REGULAR_SHARE = 0.6;
const DATA_LINK_SHARE_MAX = 0.5;
/** A table that does not stand in the text must have had this share of its lines taken. */
const TABLE_SHARE = 0.4;
/** A table with text on one side alone is as likely on average, or it is no text. */
const TABLE_CHANCE = 0.3;
/** Headings between a table and the text above or below it, at most. */
const TABLE_HEADINGS_MAX = 2;

/** The lines picked, and those that complete them. `chances` are those of score.ts. */
export function completed(
  tree: Tree,
  lines: readonly Line[],
  chances: readonly number[],
  picked: readonly boolean[],
): boolean[] {
  const out = [...picked];
  const parts = lines.map((line) => partsOf(tree, line));
  const linesIn = (name: "row" | "list"): Map<number, number[]> => {
    const found = new Map<number, number[]>();
    for (const [i, part] of parts.entries()) {
      const node = part[name];
      if (node < 0) continue;
      const known = found.get(node);
      if (known) known.push(i);
      else found.set(node, [i]);
    }
    return found;
  };
  const add = (among: readonly number[]): void => {
    for (const i of among) if (!lines[i]!.junk) out[i] = true;
  };
  /** Whether text that was picked stands there, headings apart. */
  const isTextBeside = (i: number, step: -1 | 1): boolean => {
    let beside = i + step;
    for (
      let passed = 0;
      passed < TABLE_HEADINGS_MAX && parts[beside]?.isHeadingLine && !out[beside];
      passed += 1
    )
      beside += step;
    return out[beside] === true;
  };
  const rows = linesIn("row");
  for (const [row, among] of rows) if (isPart(among, out) && isDataRow(tree, row, lines, among)) add(among);
  for (const header of headersOf(tree, rows, out)) add(header);
  for (const among of dataTables(tree, lines, rows)) {
    const taken = among.filter((i) => out[i]).length;
    const [above, below] = [isTextBeside(among[0]!, -1), isTextBeside(among.at(-1)!, 1)];
    const isLikely = among.reduce((sum, i) => sum + chances[i]!, 0) >= TABLE_CHANCE * among.length;
    if ((above && below) || ((above || below) && isLikely) || taken >= TABLE_SHARE * among.length) add(among);
  }
  for (const among of linesIn("list").values()) {
    const taken = among.filter((i) => out[i]).length;
    const isInside = out[among[0]! - 1] === true && out[among.at(-1)! + 1] === true;
    if (among.length >= LIST_LINES_MIN && taken >= LIST_SHARE * among.length && taken > 0 && isInside)
      add(among);
  }
  const first = out.indexOf(true);
  const above = [...out];
  for (let i = lines.length - 1, next = lines.length; i > first && first >= 0; i -= 1) {
    if (!parts[i]!.isHeadingLine) continue;
    if (!out[i] && lines[i]!.text.length < HEADING_CHARS_MAX) {
      const section = { lines: next - i - 1, taken: 0 };
      for (let below = i + 1; below < next; below += 1) if (above[below]) section.taken += 1;
      const isTextBelow = above[i + 1] === true && !parts[i + 1]!.isHeadingLine;
      if (chances[i]! >= headingChanceMin(above[i - 1] === true, isTextBelow, section, lines[i]!.link))
        add([i]);
    }
    next = i;
  }
  return out;
}

/**
 * The least chance of a heading that was not taken: with text on both sides, with text directly below, or with most of its section taken. Of
 * those added by the second rule 76 of 100 are in the gold texts, of those by the third 89 (out of fold, 1,476 pages).
 */
function headingChanceMin(
  isTextAbove: boolean,
  isTextBelow: boolean,
  section: { readonly lines: number; readonly taken: number },
  link: number,
): number {
  if (isTextAbove && isTextBelow) return HEADING_CHANCE_MIN;
  if (isTextBelow && link < HEADING_LINK_MAX) return LONE_HEADING_CHANCE_MIN;
  if (section.taken <= section.lines / 2) return Infinity;
  return isTextAbove ? HEADING_CHANCE_MIN : SECTION_HEADING_CHANCE_MIN;
}

/** The lines of rows of headers alone, with which a table begins of which another row is taken. */
function headersOf(
  tree: Tree,
  rows: ReadonlyMap<number, readonly number[]>,
  picked: readonly boolean[],
): (readonly number[])[] {
  const tables = new Map<number, { header: number[][]; isOpen: boolean; isTaken: boolean }>();
  for (const [row, among] of rows) {
    const table = tableOf(tree, row);
    if (table <= 0) continue;
    let known = tables.get(table);
    if (known === undefined) tables.set(table, (known = { header: [], isOpen: true, isTaken: false }));
    if (known.isOpen && isHeaderRow(tree, row)) known.header.push([...among]);
    else {
      known.isOpen = false;
      known.isTaken ||= among.some((i) => picked[i]);
    }
  }
  return [...tables.values()].flatMap(({ header, isTaken }) =>
    isTaken && header.length <= HEADER_ROWS_MAX ? header : [],
  );
}

/** The lines of each table of data: two rows or more, most of them of one length, with short cells and no table inside. */
function dataTables(
  tree: Tree,
  lines: readonly Line[],
  rows: ReadonlyMap<number, readonly number[]>,
): (readonly number[])[] {
  const tables = new Map<number, { among: number[]; cells: number[] }>();
  for (const [row, among] of rows) {
    const table = tableOf(tree, row);
    if (table <= 0) continue;
    let known = tables.get(table);
    if (known === undefined) tables.set(table, (known = { among: [], cells: [] }));
    known.among.push(...among);
    known.cells.push(cellsIn(tree, row));
  }
  const nested = nestedAmong(tree, tables.keys());
  const isData = ([table, { among, cells }]: [number, { among: number[]; cells: number[] }]): boolean => {
    const role = tree.attributes[table]?.["role"];
    if (role === "presentation" || role === "none" || nested.has(table)) return false;
    const usual = cells.toSorted((a, b) => a - b)[Math.floor(cells.length / 2)]!;
    const regular = cells.filter((count) => count === usual).length;
    if (cells.length < 2 || usual < 2 || usual > ROW_CELLS_MAX || regular < REGULAR_SHARE * cells.length)
      return false;
    let [chars, linked] = [0, 0];
    for (const i of among) {
      chars += lines[i]!.chars;
      linked += lines[i]!.chars * lines[i]!.link;
    }
    return chars <= DATA_CELL_CHARS_MAX * usual * cells.length && linked <= DATA_LINK_SHARE_MAX * chars;
  };
  return [...tables].filter(isData).map(([, { among }]) => among);
}

/** Tables, among these, that stand in another or have another in them. */
function nestedAmong(tree: Tree, tables: Iterable<number>): Set<number> {
  const nested = new Set<number>();
  let outer = -1;
  for (const table of [...tables].toSorted((a, b) => a - b))
    if (outer >= 0 && table < tree.end[outer]!) nested.add(outer).add(table);
    else outer = table;
  return nested;
}

/** The table that contains a row; 0 or less: none. */
function tableOf(tree: Tree, row: number): number {
  let table = tree.parent[row]!;
  while (table > 0 && tree.tag[table] !== "table") table = tree.parent[table]!;
  return table;
}

function cellsIn(tree: Tree, row: number): number {
  let cells = 0;
  for (let cell = row + 1; cell < tree.end[row]!; cell = tree.end[cell]!)
    if (tree.tag[cell] === "td" || tree.tag[cell] === "th") cells += 1;
  return cells;
}

function isHeaderRow(tree: Tree, row: number): boolean {
  let cells = 0;
  for (let cell = row + 1; cell < tree.end[row]!; cell = tree.end[cell]!) {
    if (tree.tag[cell] === "td") return false;
    if (tree.tag[cell] === "th") cells += 1;
  }
  return cells > 1 && cells <= ROW_CELLS_MAX;
}

const isPart = (among: readonly number[], picked: readonly boolean[]): boolean =>
  among.some((i) => picked[i]) && among.some((i) => !picked[i]);

interface Parts {
  readonly isHeadingLine: boolean;
  /** The row of the table, or -1. */
  readonly row: number;
  /** The list of the nearest item, or -1. */
  readonly list: number;
}

function partsOf(tree: Tree, line: Line): Parts {
  let [heading, row, list] = [false, -1, -1];
  for (
    let up = firstText(tree, line), level = 0;
    up > 0 && level < LEVELS_MAX;
    up = tree.parent[up]!, level += 1
  ) {
    const tag = tree.tag[up]!;
    if (isHeading(tag)) heading = true;
    else if (row < 0 && (tag === "td" || tag === "th")) row = tree.parent[up]!;
    else if (list < 0 && ITEMS.has(tag)) list = tree.parent[up]!;
  }
  return { isHeadingLine: heading, row, list };
}

/** A row with a header: what stands in its other cells says something of it. */
function isDataRow(tree: Tree, row: number, lines: readonly Line[], among: readonly number[]): boolean {
  let cells = 0;
  let headers = 0;
  for (let cell = row + 1; cell < tree.end[row]!; cell = tree.end[cell]!) {
    cells += 1;
    if (tree.tag[cell] === "th") headers += 1;
  }
  if (headers === 0 || cells < 2 || cells > ROW_CELLS_MAX) return false;
  return among.reduce((sum, i) => sum + lines[i]!.text.length, 0) < ROW_CHARS_MAX;
}
