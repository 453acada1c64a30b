/**
 * All the text of a filed document. The article extraction looks for the story and drops the rest; a reader of a filing
 * wants every table and every line of it. A row of a table is a line, its cells apart by tabs. What a browser does not
 * show (the header of inline XBRL, hidden parts) is left out, and so are the lines of the SGML wrapper around it.
 */
import { Parser } from "htmlparser2";
import { isBlock } from "../article/tree.ts";

/**
 * Documents are sent as they were filed: `<DOCUMENT><TYPE>EX-99.1 … <TEXT>`, the document, `</TEXT></DOCUMENT>`. Only a
 * text that is nothing but one such document is unwrapped; of a complete submission every line stays.
 */
export function unwrapped(text: string): string {
  const head = /^\s*<DOCUMENT>\s*\n(?:<[A-Z]+>[^\n]*\n){0,20}?<TEXT>[^\S\n]*\n?/.exec(text);
  if (!head) return text;
  const tail = /(?:(?<!\s)\s+)?<\/TEXT>\s*<\/DOCUMENT>\s*$/.exec(text.slice(-100));
  const inner = text.slice(head[0].length, tail ? text.length - tail[0].length : text.length);
  return /<DOCUMENT>\s*\n/.test(inner) ? text : inner;
}

const SILENT = new Set(
  "script style template noscript head title ix:header svg math iframe object".split(" "),
);
const HIDDEN = /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\b/i;
const VOID = new Set("area base br col embed hr img input link meta param source track wbr".split(" "));
/** An empty line follows them. */
const APART = new Set("p div table ul ol dl pre section h1 h2 h3 h4 h5 h6".split(" "));
/** Where nothing is ever closed; the parser's time grows with the square of this, and it ends here. */
const MAX_DEPTH = 20_000;

export interface FiledText {
  readonly title: string | null;
  readonly text: string;
  readonly truncated: boolean;
}

/** At most so many UTF-16 units: a longer text ends with its last whole line, and so does one nested without end. */
export function readFiled(html: string, chars_most: number): FiledText {
  const lines: string[] = [];
  let line = "";
  let title = "";
  let in_title = false;
  let chars = 0;
  let truncated = false;
  /** Tables in cells are layout: their lines belong to the outer row. */
  let open_cell = false;
  /** How deep the silence began; 0: not silent. */
  let silent = 0;
  let depth = 0;

  const end = (): void => {
    const text_line = line
      .replaceAll(/[^\S\t]+/gu, " ")
      .replaceAll(/ ?\t[ \t]*/g, "\t")
      .replaceAll(/^\s+|\s+$/gu, "");
    line = "";
    open_cell = false;
    if (text_line === "") return;
    if (chars + text_line.length + 1 > chars_most) truncated = true;
    if (truncated) return;
    chars += text_line.length + 1;
    lines.push(text_line);
  };

  const addEmptyLine = (): void => {
    if (lines.length > 0 && lines.at(-1) !== "" && !truncated) lines.push("");
  };

  const parser = new Parser({
    onopentag(name, attributes) {
      if (!VOID.has(name)) depth++;
      if (depth > MAX_DEPTH) truncated = true;
      if (name === "title") in_title = true;
      if (silent > 0 || truncated) return;
      if (SILENT.has(name) || HIDDEN.test(attributes["style"] ?? "") || "hidden" in attributes) {
        if (!VOID.has(name)) silent = depth;
        return;
      }
      if (name === "td" || name === "th") {
        open_cell = true;
        if (line.trim() !== "") line += "\t";
      } else if (name === "br") {
        // Lines within a cell do not end the row.
        if (open_cell) line += " ";
        else end();
      } else if (name === "tr" || name === "table" || name === "hr" || (isBlock(name) && !open_cell)) {
        if (name === "table" && open_cell) line += " ";
        else end();
      } else if (isBlock(name)) line += " ";
    },
    ontext(text) {
      if (in_title && title.length < 1_000) title += text;
      if (silent === 0 && !truncated && line.length <= chars_most) line += text.replaceAll("\t", " ");
    },
    onclosetag(name) {
      if (name === "title") in_title = false;
      if (silent > 0) {
        if (depth === silent) silent = 0;
      } else if (name === "td" || name === "th") open_cell = false;
      else if (isBlock(name) && !open_cell) {
        end();
        if (APART.has(name)) addEmptyLine();
      }
      if (!VOID.has(name) && depth > 0) depth--;
    },
  });
  const SLICE_CHARS = 65_536;
  for (let at = 0; at < html.length && !truncated; at += SLICE_CHARS)
    parser.write(html.slice(at, at + SLICE_CHARS));
  parser.end();
  end();
  const text = joined(lines);
  return { title: title.replaceAll(/\s+/gu, " ").trim() || null, text, truncated };
}

/** Signs that stand in cells of their own belong to their figure: `$`, then `1,234`; `(5`, then `)`. */
const joined = (lines: readonly string[]): string =>
  lines
    .map((line) =>
      line.includes("\t") ? line.replaceAll(/([$€£¥(])\t/g, "$1").replaceAll(/\t([)%])/g, "$1") : line,
    )
    .join("\n")
    .trim();
