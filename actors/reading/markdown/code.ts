/** Blocks of code: their fences and language, and code that stands in no `pre`. Which lines are text is decided elsewhere. */
import { firstText, type Line, SPACE } from "../article/lines.ts";
import type { Tree } from "../article/tree.ts";

const LANGUAGE =
  /(?:^|\s)(?:lang(?:uage)?-|highlight-source-|highlight-|brush:\s*|sourceCode )([a-z0-9+#.-]{1,20})/i;
const LANGUAGE_NAME = /^[a-z0-9+#.-]{1,20}$/i;
/** Elements above a block of code whose class may name its language, and elements up to its figure. */
const NAMING_LEVELS = 2;
const FIGURE_LEVELS = 8;
/** Cells with a line of code each, as GitHub writes them. */
const CODE_CELL = /(?:^|\s)(?:blob-code|react-file-line)(?:\s|$)/;
/** The first line of code is in one of these cells: its row has the numbers of lines before and after a change. */
const FIRST_CELLS = 3;
const VERBATIM = /(?:^|;)\s*white-space\s*:\s*(?:pre|pre-wrap|break-spaces)\s*(?:;|!|$)/i;
/** Elements between a text and its `code`. */
const CODE_LEVELS_MAX = 8;

export interface Code {
  readonly node: number;
  readonly text: string;
  /** How many lines it takes. */
  readonly count: number;
}

/** The language of a block of code, as highlighters write it in an attribute of the block, of an element around or inside it, or of its figure. */
export function languageOf(tree: Tree, block: number): string {
  const inside = tree.tag[block + 1] === "code" ? [block + 1] : [];
  const around: number[] = [];
  for (
    let up = tree.parent[block]!, level = 0;
    up > 0 && level < FIGURE_LEVELS;
    up = tree.parent[up]!, level += 1
  ) {
    if (level < NAMING_LEVELS || tree.tag[up] === "figure") around.push(up);
    if (tree.tag[up] === "figure") break;
  }
  for (const node of [...inside, block, ...around]) {
    const attributes = tree.attributes[node];
    const named = attributes?.["data-lang"] ?? attributes?.["data-language"] ?? "";
    const found = LANGUAGE_NAME.test(named) ? named : LANGUAGE.exec(attributes?.["class"] ?? "")?.[1];
    if (found !== undefined) return found.toLowerCase();
  }
  return "";
}

export function fenced(text: string, language: string): string[] {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return [fence + language, ...text.split(/\r\n?|\n/), fence];
}

/** Numbers of lines are at most this many elements and texts. */
const NUMBER_NODES_MAX = 8;

const isNumber = (tree: Tree, cell: number): boolean =>
  tree.end[cell]! - cell <= NUMBER_NODES_MAX && !/[^\d\s]/.test(textIn(tree, cell));

const textIn = (tree: Tree, node: number): string => {
  let text = "";
  for (let i = node; i < tree.end[node]!; i += 1) if (tree.tag[i] === "#text") text += tree.text[i]!;
  return text;
};

/** The code of a table that has a line of code in each row; null: the table is another. `lines` are those of the text in it. */
export function codeOfTable(tree: Tree, table: number, lines: readonly Line[]): Code | null {
  const cells: number[] = [];
  const all = new Set<number>();
  let seen = 0;
  for (let i = table + 1; i < tree.end[table]!; i += 1) {
    if (tree.tag[i] === "table" || tree.tag[i] === "th") return null;
    if (tree.tag[i] !== "td") continue;
    seen += 1;
    if (seen > FIRST_CELLS && cells.length === 0) return null;
    if (CODE_CELL.test(tree.attributes[i]?.["class"] ?? "")) cells.push(i);
    else if (!isNumber(tree, i)) return null;
    all.add(tree.parent[i]!);
  }
  if (cells.length === 0 || cells.length < all.size) return null;
  const taken = new Set<number>();
  for (const { pieces } of lines)
    for (const piece of pieces) {
      if (piece === SPACE) continue;
      let up = piece;
      while (up > table && tree.tag[up] !== "td") up = tree.parent[up]!;
      taken.add(up);
    }
  // Rows without text have no line, and are empty lines of the code.
  const rows = cells.map((cell) => ({ text: textIn(tree, cell), isTaken: taken.has(cell) }));
  const shown = rows.filter(({ text, isTaken }) => isTaken || text.trim() === "");
  const text = shown.map((row) => row.text.replace(/^\r?\n|\r?\n$/g, "").trimEnd()).join("\n");
  return { node: table, text: text.replace(/^(?:[^\S\n]*\n)+/, "").trimEnd(), count: lines.length };
}

/** The code of an element outside of `pre` whose style keeps its white space and that has a line of its own or more; null: there is none. */
export function codeOfElement(tree: Tree, lines: readonly Line[], first: number): Code | null {
  const code = verbatimAround(tree, lines[first]!);
  if (code < 0) return null;
  let stop = first;
  while (stop < lines.length && isWithin(tree, lines[stop]!, code)) stop += 1;
  if (stop === first) return null;
  const text = lines
    .slice(first, stop)
    .map(({ pieces }) => pieces.map((piece) => (piece === SPACE ? " " : tree.text[piece]!)).join(""))
    .join("\n");
  return { node: code, text: text.replace(/^\s*\n/, "").trimEnd(), count: stop - first };
}

function verbatimAround(tree: Tree, line: Line): number {
  let code = -1;
  let up = firstText(tree, line);
  for (let level = 0; up > 0 && level < CODE_LEVELS_MAX; up = tree.parent[up]!, level += 1) {
    if (tree.tag[up] === "pre") return -1;
    if (tree.tag[up] === "code" && VERBATIM.test(tree.attributes[up]?.["style"] ?? "")) code = up;
  }
  return code;
}

const isWithin = (tree: Tree, { pieces }: Line, node: number): boolean =>
  pieces.every(
    (piece) => piece === SPACE || tree.chars[piece] === 0 || (piece > node && piece < tree.end[node]!),
  );
