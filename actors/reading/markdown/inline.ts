/** Spans of text as GitHub Flavored Markdown on one line: every character that Markdown would read as markup is escaped. */
import { squeezed } from "../article/tree.ts";

export interface Style {
  readonly strong: boolean;
  readonly emphasis: boolean;
  readonly deleted: boolean;
  readonly superscript: boolean;
  readonly code: boolean;
  /** Absolute http, https or mailto address of the link that contains the text, or null. */
  readonly href: string | null;
}

export interface Span {
  readonly style: Style;
  /** The text, or the alternative text of the image. */
  readonly text: string;
  /** TeX between dollar signs, written as it is. */
  readonly formula?: true;
  /** For an image: its absolute http or https address. */
  readonly src?: string;
}

export const PLAIN: Style = {
  strong: false,
  emphasis: false,
  deleted: false,
  superscript: false,
  code: false,
  href: null,
};
/** Between texts of one line. */
export const BLANK: Span = { text: " ", style: PLAIN };

export type Place = "paragraph" | "heading" | "cell";

/** The Markdown of one line, without white space at its ends; "" when there is nothing to see. */
export function inlineMarkdown(spans: readonly Span[], place: Place): string {
  const out = wrapped(tidied(spans, place), LEVELS, "", "", place);
  return place === "paragraph" ? escapedStart(out) : out;
}

/** From the outermost to the innermost. */
const LEVELS = ["href", "strong", "emphasis", "deleted", "superscript", "code"] as const;
type Level = (typeof LEVELS)[number];

const sameStyle = (a: Style, b: Style): boolean => LEVELS.every((level) => a[level] === b[level]);

/** White space as HTML shows it: collapsed across spans, none at the ends. Neighbours of one style become one span. */
function tidied(spans: readonly Span[], place: Place): Span[] {
  const out: Span[] = [];
  let space = true;
  for (const { text: written, style: given, src, formula } of spans) {
    // A heading is strong by itself.
    const style = place === "heading" && given.strong ? { ...given, strong: false } : given;
    let text = squeezed(written);
    if (src !== undefined) {
      out.push({ text: text.trim(), style, src });
      space = false;
      continue;
    }
    if (formula) {
      out.push({ text: text.trim(), style: { ...style, code: false, superscript: false }, formula });
      space = false;
      continue;
    }
    if (space) text = text.trimStart();
    if (text === "") continue;
    space = text.endsWith(" ");
    const last = out.at(-1);
    // Code spans beside each other would share their delimiters.
    const isSame = last && (sameStyle(last.style, style) || (last.style.code && style.code));
    if (last?.src === undefined && last && !last.formula && (text === " " || isSame))
      out[out.length - 1] = { ...last, text: last.text + text };
    else out.push({ text, style: text === " " ? PLAIN : style });
  }
  const last = out.at(-1);
  if (last && last.src === undefined && !last.formula)
    out[out.length - 1] = { ...last, text: last.text.trimEnd() };
  return out;
}

/** Stands for an image where only its place in the text matters. */
const IMAGE = "\ufffc";
const plainText = ({ text, src }: Span): string => (src === undefined ? text : IMAGE);

/** The last character may be a pair. */
const END_CHARS = 2;

/** Runs of spans that share a style are wrapped together, one level of nesting after another. `before` is the end of the output so far. */
function wrapped(
  spans: readonly Span[],
  [level, ...deeper]: readonly Level[],
  before: string,
  after: string,
  place: Place,
): string {
  const out: string[] = [];
  // To look at the end of the joined output would copy all of it for each span.
  let end = before.slice(-END_CHARS);
  const write = (text: string): void => {
    if (text === "") return;
    out.push(text);
    end = (end + text.slice(-END_CHARS)).slice(-END_CHARS);
  };
  for (let i = 0; i < spans.length;) {
    const { style } = spans[i]!;
    let stop = i + 1;
    while (stop < spans.length && (level === undefined || spans[stop]!.style[level] === style[level]))
      stop += 1;
    const run = spans.slice(i, stop);
    i = stop;
    const next = stop < spans.length ? plainText(spans[stop]!)[0]! : after;
    if (level === undefined) {
      for (const span of run) write(leaf(span, end, next, place));
      continue;
    }
    if (!style[level]) {
      write(wrapped(run, deeper, end, next, place));
      continue;
    }
    const text = run.map(plainText).join("");
    const head = text.length - text.trimStart().length;
    const tail = text.length - text.trimEnd().length;
    if (head > 0) write(" ");
    const core = withoutEnds(run, head, tail);
    const follows = tail > 0 ? " " : next;
    if (level === "code") write(codeSpan(core, place));
    else if (level === "href") {
      const linked = link(wrapped(core, deeper, "[", "]", place), style.href!);
      // "!" before a link would make it an image.
      if (linked !== "" && out.at(-1)?.endsWith("!")) out.push(`${out.pop()!.slice(0, -1)}\\!`);
      write(linked);
    } else write(marked(level, wrapped(core, deeper, end, follows, place), end, follows));
    if (tail > 0) write(" ");
  }
  return out.join("");
}

function withoutEnds(run: readonly Span[], head: number, tail: number): Span[] {
  return run.map((span, i) => {
    let { text } = span;
    if (i === 0 && head > 0) text = text.trimStart();
    if (i === run.length - 1 && tail > 0) text = text.trimEnd();
    return { ...span, text };
  });
}

const MARKS = { strong: "**", emphasis: "*", deleted: "~~", superscript: "^" } as const;

const isSpace = (char: string): boolean => char === "" || /\s/.test(char);
const isPunctuation = (char: string): boolean => /[\p{P}\p{S}]/u.test(char);

/** The inner Markdown between two marks, or without them where CommonMark would not read them as marks (its flanking rules). */
function marked(kind: keyof typeof MARKS, inner: string, before: string, after: string): string {
  if (inner === "") return "";
  const mark = MARKS[kind];
  if (kind === "superscript") return /\s|\^/.test(inner) ? inner : mark + inner + mark;
  const first = firstChar(inner);
  const last = lastChar(inner);
  const above = lastChar(before);
  const opens = !isSpace(first) && (!isPunctuation(first) || isSpace(above) || isPunctuation(above));
  const closes = !isSpace(last) && (!isPunctuation(last) || isSpace(after) || isPunctuation(after));
  // Marks of another run beside these would be read as one run.
  const apart =
    above !== mark[0] && first !== "~" && last !== "~" && !(mark === "*" && first === "*" && last === "*");
  return opens && closes && apart ? mark + inner + mark : inner;
}

const firstChar = (text: string): string => String.fromCodePoint(text.codePointAt(0) ?? 0x20);
function lastChar(text: string): string {
  const pair = text.length > 1 && (text.charCodeAt(text.length - 1) & 0xfc00) === 0xdc00;
  return text.slice(pair ? -2 : -1);
}

/** GFM: the delimiters are longer than any run of backticks within. */
function codeSpan(spans: readonly Span[], place: Place): string {
  const written = spans.map(({ text, src }) => (src === undefined ? text : "")).join("");
  if (written.trim() === "") return "";
  const longest = Math.max(0, ...(written.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  const pad = /^`|`$/.test(written) ? " " : "";
  const text = place === "cell" ? written.replaceAll("|", "\\|") : written;
  // A backslash before a pipe cannot be written in a cell's code.
  return place === "cell" && written.includes("\\|")
    ? escapedText(written, "", "", place)
    : fence + pad + text + pad + fence;
}

const link = (inner: string, href: string): string =>
  inner === "" ? "" : `[${inner}](${destination(href)})`;

/** An address in parentheses: characters that end it, or that Markdown reads, are percent-encoded. */
export const destination = (href: string): string =>
  href
    .replace(/[()\\<>|`\s]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`)
    .replace(/&(?=#?\w+;)/g, "\\&");

function leaf({ text, src, style, formula }: Span, before: string, after: string, place: Place): string {
  if (formula) return place === "cell" ? text.replaceAll("|", "\\vert ") : text;
  if (src !== undefined) return `![${escapedText(text, "", "", place)}](${destination(src)})`;
  return escapedText(text, lastChar(before), after, place, style.href === null);
}

// GFM begins an address after any character outside A to Z, so also within "0https://x.example" and "_www.x.example".
const ADDRESS = /(?<![a-z])https?:\/\/[^\s<>|\\^`{}"[\]]+|(?<![a-z\d])www\.(?=[\w-])/gi;

/** With `addresses`, an http address becomes an autolink. Others are escaped, because GFM would link them with what follows. */
function escapedText(text: string, before: string, after: string, place: Place, addresses = false): string {
  if (!addresses) return escapedWords(text, before, after, place);
  let out = "";
  let from = 0;
  for (const { 0: found, index } of text.matchAll(ADDRESS)) {
    const char = out === "" && index === 0 ? before : (text[index - 1] ?? "");
    out += unlinked(text.slice(from, index), from === 0 ? before : text[from - 1]!, found[0]!, place);
    out +=
      found.length === 4
        ? `${found.slice(0, 3)}\\.`
        : isWord(char) || !URL.canParse(found)
          ? unlinked(found, char, "", place)
          : `<${found}>`;
    from = index + found.length;
  }
  return out + unlinked(text.slice(from), from === 0 ? before : text[from - 1]!, after, place);
}

/** Escaped words that GFM does not read as an address together with their neighbours, as in `http<b>://x.example</b>`. */
function unlinked(text: string, before: string, after: string, place: Place): string {
  const scheme = after === "/" ? /:(?=\/\/|\/?$)/g : /:(?=\/\/)/g;
  const www = text.startsWith(".") && /w/i.test(before) ? "\\" : "";
  return www + escapedWords(text, before, after, place).replace(scheme, "\\:");
}

const isWord = (char: string): boolean => /[\p{L}\p{N}]/u.test(char);

const SPECIAL = /[\\`*_[\]<~|&]/g;

function escapedWords(text: string, before: string, after: string, place: Place): string {
  return text.replace(SPECIAL, (char, at: number) => {
    if (char === "|") return place === "cell" ? "\\|" : char;
    if (char === "&") return /^&#?\w/.test(text.slice(at, at + 3)) ? "\\&" : char;
    if (char === "_") {
      // Within a word it is no mark.
      const left = at > 0 ? text[at - 1]! : before;
      const right = at + 1 < text.length ? text[at + 1]! : after;
      return isWord(left) && isWord(right) ? char : "\\_";
    }
    return `\\${char}`;
  });
}

const BLOCK_START = /^(?:#{1,6}(?=\s|$)|[-+](?=\s|$)|>|=+\s*$|-+\s*$)/;
const ORDERED_START = /^(\d{1,9})([.)])(?=\s|$)/;
const TABLE_DELIMITER = /^[\s|:-]+$/;

/** Escapes what would begin a block (heading, list, quote, table) at the start of a line. */
function escapedStart(line: string): string {
  if (BLOCK_START.test(line) || TABLE_DELIMITER.test(line)) return `\\${line}`;
  return line.replace(ORDERED_START, "$1\\$2");
}
