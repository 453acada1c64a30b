/**
 * Readers' comments below an article: their lines, and the author, date and text of each. Told by structure: below the text stand
 * parts that repeat a short name, a date and a body. An element that is called "comments" in one of many languages needs one such
 * part, others need three. The posts of a thread are its text and no comments: callers do not ask for them on forums.
 */
import type { PageComment } from "../../../schemas/page-data.ts";
import { comparableChars } from "../content/comparable-chars.ts";
import { parseDate } from "./dates.ts";
import { type Line, type LineIndex, lineIndex } from "./lines.ts";
import { isHeading, namedLike, type Page } from "./marks.ts";
import { collapse, type Tree, unmarked } from "./tree.ts";

/** Further comments are not told, and their lines stay comments. */
export const MAX_COMMENTS = 1_000;
/** Characters of prose above the first comment: with fewer, the comments are what the page is about. */
const PROSE_ABOVE_CHARS = 200;
const PROSE_LINE_CHARS = 60;
const PROSE_LINK = 0.4;
const DATE_LINE_CHARS = 90;
const AUTHOR_CHARS = 60;
/** Parts that look alike are comments only from this number on, where no name says it; with a heading that does, two. */
const UNNAMED_MIN = 3;
const HEADED_MIN = 2;
/** An unnamed part with more links in its body points to other pages. */
const BODY_LINK_MAX = 0.3;
const AUTHOR_WORDS = 4;
/** The longest author of an unnamed part, comparable across scripts. */
const UNNAMED_AUTHOR_CHARS = 40;
/** Comments of more text, by this factor, than stands above them are what the page is about. */
const ABOUT_FACTOR = 8;
const COMMENT_SHARE = 0.8;
const HEADING_ABOVE_LINES = 3;
/** So many places of dates are looked at for an unnamed section. */
const PLACES_MAX = 20;

/** Stems of "comment" as class names and ids have them. A commentary and a commentator belong to articles. */
const NAMED_COMMENTS =
  / (?:[ck]omm?ent(?!ary|aries|ator|ed|ing|count|link)\w*|reacties?|yorum(?:lar)?|hozzaszolas\w*|komentek|disqus|disquscomments|pinglun|binhluan|iruzkin\w*|athugasemd\w*) /;
/** Words for comments as a heading has them. */
const HEADED_COMMENTS =
  /^.{0,30}?(?:comments?|replies|[ck]omm?ent(?:a|á|e)\w*|reacties?|yorum|hozzászólás|коммент|комент|σχόλι|σχολι|تعليق|نظر|תגוב|टिप्पणी|মন্তব্য|评论|評論|留言|跟帖|コメント|댓글|ความคิดเห็น|bình luận|opinie|wypowiedz).{0,40}$/iu;
const NAMED_AUTHOR =
  / (?:author|user|username|nick|nickname|name|autor|autore|auteur|avtor|fn|commenter|commentator|podpis|login|poster|writer|imie|imya) /;
/** A date, or a time that counts from now, may be in a line with one of these. */
const DATE_LIKE = /\d[:.h]\d\d|\d[./-]\d{1,2}[./-]\d|(?<!\d)(?:19|20)\d\d(?!\d)|[年月]/u;
const RELATIVE =
  /(?<!\d)\d{1,4} ?\p{L}{1,20}\.? (?:ago|temu|назад|тому|πριν|sitten|sedan|siden|geleden|önce|ezelőtt)(?!\p{L})|(?<!\p{L})(?:vor|il y a|hace|há|acum|před|pred|πριν(?: από)?|prije) \d+|(?<!\d)\d{1,4} ?(?:分钟|小时|天|分鐘|小時|分|時間|日|시간|분|일) ?(?:前|전)/iu;
/** An age, as a line of its own. */
const AGE = /^\d{1,3} ?(?:s|m|min|h|hrs?|d|w|mo|y|yrs?)\.?$/i;
/** Words around a name and a date: "Ada says:", "napisał(a)". */
const AROUND_NAME =
  /^(?:posted by|by|von|par|por|od|autor|author|nick|from|dodał|napisał|~|@)\s*(?:\(?a\)?)?:?\s+|[\s,:|·•–—-]{0,5}(?:(?<=\s)(?:says|said|wrote|writes|schrieb|sagt|a écrit|dice|napisał(?:\(a\)|a)?|pisze|powiedział(?:\/a|a)?|dodał(?:\(a\)|a)?|пишет|написал))?[\s:,|·•–—(-]{0,5}(?:(?<=\s)(?:dnia|at|on|am|le|el|o godz\.?|w dniu))?[\s:,|(-]{0,5}$/giu;
/** A sentence's, and not an initial's. */
const NO_NAME_END = /[!?]$|\p{L}{2}\.$/u;
const CONTROL_CHARS = 40;
const CONTROL_LINK = 0.8;
const PREPOSITION = /^(?:on|at|commented|says|said|posted by)$/i;
/** A sentence that ends; teasers have none. */
const SENTENCE = /[.!?…。！？](?:\s|$|["”»)])|[。！？]/u;
const NUMBERS_ONLY = /^[\d\s+\-−()#.,/:%]+$/;

/** Lines from `from` to before `to`; `top` is the element that holds them, or -1. */
interface Part {
  readonly from: number;
  readonly to: number;
  readonly date: number;
  readonly top: number;
  /** Its section is called comments. */
  readonly isNamed: boolean;
}

interface Entry {
  readonly author: string | null;
  /** As the page writes it, or its `datetime`. */
  readonly date: string | null;
  readonly lines: readonly Line[];
}

export interface Comments {
  /** 1 for each line that is a comment, or belongs to its section. */
  readonly inside: Uint8Array;
  readonly entries: readonly Entry[];
}

/** `structure` tells lines that look alike (peers.ts); with `with_unnamed` a section needs no name. */
export function findComments(
  page: Page,
  lines: readonly Line[],
  structure: Int32Array,
  { now_ms, with_unnamed }: { readonly now_ms: number; readonly with_unnamed: boolean },
): Comments {
  const none = { inside: new Uint8Array(lines.length), entries: [] };
  const first = firstBelow(lines);
  if (first === lines.length) return none;
  const inside = new Uint8Array(lines.length);
  const search = new CommentSearch(page, lines, now_ms);
  const parts = search.namedSections(first).flatMap((root) => search.readSection(root, inside));
  if (with_unnamed) parts.push(...search.unnamedParts(structure, first, inside));
  const seen = new Set<string>();
  const entries = parts
    .toSorted((a, b) => a.from - b.from)
    .map((part) => search.entryOf(part))
    .filter(({ author, date, lines: body }) => {
      // Some pages have them twice, for wide and for narrow screens.
      const key = [author, date, body.at(-1)?.text].join("\n");
      return body.length > 0 && !seen.has(key) && seen.add(key);
    });
  const above = proseChars(lines.slice(0, inside.indexOf(1)));
  const isAbout = proseChars(lines.filter((_, i) => inside[i] === 1)) > ABOUT_FACTOR * above;
  return entries.length === 0 || isAbout ? none : { inside, entries };
}

const isProse = ({ chars, link }: Line): boolean => chars >= PROSE_LINE_CHARS && link < PROSE_LINK;
const proseChars = (lines: readonly Line[]): number =>
  lines.reduce((sum, line) => sum + (isProse(line) ? line.chars : 0), 0);

/** As an answer has them; dates in ISO 8601, null where the page has none that can be read. */
export const commentsOf = ({ entries }: Comments, language: string | null, now_ms: number): PageComment[] =>
  entries.slice(0, MAX_COMMENTS).map(({ author, date, lines }) => ({
    author,
    published_at: date === null ? null : parseDate(date, language, now_ms),
    text: lines.map(({ text }) => text).join("\n"),
  }));

/** The first line that may be a comment. */
function firstBelow(lines: readonly Line[]): number {
  let chars = 0;
  for (const [i, line] of lines.entries()) {
    if (chars >= PROSE_ABOVE_CHARS) return i;
    if (isProse(line)) chars += line.chars;
  }
  return lines.length;
}

/** For each line whether it is short and has a date or a time that counts from now, whichever of two numbers the month is. */
export function datedLines(lines: readonly Line[], now_ms: number): (i: number) => boolean {
  /** -1 for lines that were not asked about. */
  const known = new Int8Array(lines.length).fill(-1);
  return (i) => {
    if (known[i]! < 0) {
      const { text } = lines[i]!;
      known[i] = text.length <= DATE_LINE_CHARS && isDate(text, now_ms) ? 1 : 0;
    }
    return known[i] === 1;
  };
}

function isDate(text: string, now_ms: number): boolean {
  if (RELATIVE.test(text) || AGE.test(text)) return true;
  return DATE_LIKE.test(text) && parseDate(text, "en-GB", now_ms) !== null;
}

class CommentSearch {
  readonly #page: Page;
  readonly #tree: Tree;
  readonly #lines: readonly Line[];
  readonly #now_ms: number;
  readonly #isDated: (i: number) => boolean;
  /** The first text of each line: they ascend, which the lines' blocks do not. */
  readonly #index: LineIndex;
  readonly #isAuthorName: (node: number) => boolean;

  constructor(page: Page, lines: readonly Line[], now_ms: number) {
    this.#page = page;
    this.#tree = page.tree;
    this.#lines = lines;
    this.#now_ms = now_ms;
    this.#isDated = datedLines(lines, now_ms);
    this.#index = lineIndex(page.tree, lines);
    this.#isAuthorName = namedLike(page.names, NAMED_AUTHOR);
  }

  /** The outermost elements that are called comments, below the line `first`. */
  namedSections(first: number): number[] {
    const { names } = this.#page;
    if (!names.words.some((words) => NAMED_COMMENTS.test(words))) return [];
    const isNamed = namedLike(names, NAMED_COMMENTS);
    const begin = this.#index.starts[first]!;
    const roots: number[] = [];
    for (let node = 1; node < this.#tree.tag.length; node += 1) {
      if (!isNamed(node) || node < begin || this.#page.text[node] === 0) continue;
      roots.push(node);
      node = this.#tree.end[node]! - 1;
    }
    return roots;
  }

  /** The comments of a named section, whose lines are marked; none: it is a form, a count or a link. */
  readSection(root: number, inside: Uint8Array): Part[] {
    const [from, to] = this.#index.linesOf(root);
    const dated = this.#datedLines(from, to).filter((i) => !this.#isInForm(i, root));
    const parts = this.#partsAt(dated, root, to, true).filter((part) => this.entryOf(part).lines.length > 0);
    const entries = parts.map((part) => this.entryOf(part));
    const authors = entries.filter(({ author }) => author !== null).length;
    if (2 * authors <= parts.length || linkShare(entries.flatMap(({ lines }) => lines)) > 0.5) return [];
    this.#mark(from, to, inside);
    return parts;
  }

  /** Comments that only their structure tells: three or more parts with the same place of the date, a name and a body. */
  unnamedParts(structure: Int32Array, first: number, inside: Uint8Array): Part[] {
    const alike = new Map<number, number[]>();
    for (let i = first; i < this.#lines.length; i += 1) {
      if (inside[i]) continue;
      const known = alike.get(structure[i]!);
      if (known) known.push(i);
      else alike.set(structure[i]!, [i]);
    }
    let places = 0;
    for (const among of alike.values()) {
      if (places === PLACES_MAX) break;
      if (among.length < HEADED_MIN || !among.some((i) => this.#isDated(i))) continue;
      const dated = among.filter((i) => this.#isDated(i));
      if (dated.length < HEADED_MIN || dated.length < COMMENT_SHARE * among.length) continue;
      places += 1;
      const found = this.#unnamed(dated, first, inside);
      if (found.length > 0) return found;
    }
    return [];
  }

  #unnamed(dated: readonly number[], first: number, inside: Uint8Array): Part[] {
    const root = this.#commonAncestor(dated);
    const [begin, to] = this.#index.linesOf(root);
    const parts = this.#partsAt(dated, root, to, false).filter(({ from }) => from >= first);
    const from = parts[0]?.from ?? begin;
    const isHeaded = this.#headingAbove(from) >= 0;
    if (parts.length < (isHeaded ? HEADED_MIN : UNNAMED_MIN)) return [];
    const entries = parts.map((part) => this.entryOf(part));
    const isComment = (entry: Entry, i: number): boolean =>
      entry.author !== null &&
      entry.author.split(" ").length <= AUTHOR_WORDS &&
      comparableChars(entry.author) <= UNNAMED_AUTHOR_CHARS &&
      entry.lines.length > 0 &&
      linkShare(entry.lines) < BODY_LINK_MAX &&
      !this.#pointsAway(parts[i]!);
    if (entries.filter(isComment).length < COMMENT_SHARE * entries.length) return [];
    const authors = new Set(entries.map(({ author }) => author));
    if (authors.size < Math.min(2, parts.length)) return [];
    const ended = entries.filter(({ lines }) => lines.some(({ text }) => SENTENCE.test(text)));
    if (2 * ended.length < entries.length) return [];
    const to_last = parts.at(-1)!.to;
    if (this.#hasHeading(from - 1, to_last)) return [];
    this.#mark(from, to_last, inside);
    return parts;
  }

  /** A heading of a section: what is dated below it is a post or a teaser. */
  #hasHeading(from: number, to: number): boolean {
    for (let i = Math.max(0, from); i < to; i += 1) {
      const { tag, text } = this.#lines[i]!;
      if (isHeading(tag) && tag < "h4" && !HEADED_COMMENTS.test(text)) return true;
    }
    return false;
  }

  entryOf(part: Part): Entry {
    const { from, to, date, top } = part;
    const { author, line: author_line } = this.#authorOf(part);
    // An element of the date may begin directly before its text.
    const within = top >= 0 ? top : this.#index.starts[from]! - 1;
    const body: Line[] = [];
    for (let i = from; i < to; i += 1)
      if (i !== date && i !== author_line && !this.#isControl(i, author) && !this.#isInForm(i, within))
        body.push(this.#lines[i]!);
    return { author, date: this.#dateOf(to, date, within), lines: body };
  }

  /** For each dated line the largest element that holds no other; where it holds no body, the lines to the next. */
  #partsAt(dated: readonly number[], root: number, to: number, isNamed: boolean): Part[] {
    const { parent } = this.#tree;
    const starts = dated.map((i) => this.#index.starts[i]!);
    const parts: Part[] = [];
    for (const [at, date] of dated.entries()) {
      const [before, after] = [starts[at - 1] ?? -1, starts[at + 1] ?? Number.MAX_SAFE_INTEGER];
      const isAlone = (node: number): boolean => before < node && after >= this.#tree.end[node]!;
      let top = this.#lines[date]!.node;
      if (!isAlone(top)) top = -1;
      else while (parent[top]! >= root && isAlone(parent[top]!)) top = parent[top]!;
      const [from, end] = top < 0 ? [date, date + 1] : this.#index.linesOf(top);
      const next = dated[at + 1] ?? to;
      parts.push(
        end - from > 1
          ? { from, to: end, date, top, isNamed }
          : { from, to: Math.max(end, next), date, top: -1, isNamed },
      );
    }
    return parts;
  }

  #authorOf({ from, to, date, top, isNamed }: Part): { author: string | null; line: number } {
    if (top >= 0) {
      const stop = this.#tree.end[top]!;
      for (let node = top + 1; node < stop; node += 1) {
        if (!this.#isAuthorName(node)) continue;
        const author = this.#name(this.#textOf(node));
        if (author !== null) return { author, line: this.#lineAt(node, from, to) };
      }
    }
    const dated = this.#lines[date]!;
    const pieces = dated.pieces.flatMap((piece) => (piece < 0 ? [] : [collapse(this.#tree.text[piece]!)]));
    const lead = /^(\D{2,60}?)[\s,|(:–—-]+\d/u.exec(dated.text)?.[1];
    for (const text of [...(pieces.length > 1 ? pieces : []), lead ?? ""]) {
      const author = this.#name(text);
      if (author !== null) return { author, line: date };
    }
    for (const i of [date - 1, date + 1]) {
      // Below the date a short line alone is the comment.
      if (i < from || i >= to || (i > date && to - i < 2)) continue;
      // A comment begins with a link to its author, as Blogger's do; elsewhere a category stands there.
      const is_first = isNamed && i === from && i < date && !this.#lines[i]!.junk;
      const author = !is_first && this.#isControl(i, null) ? null : this.#name(this.#lines[i]!.text);
      if (author !== null) return { author, line: i };
    }
    return { author: null, line: -1 };
  }

  #name(text: string): string | null {
    if (text.length > AUTHOR_CHARS + 20) return null;
    const name = collapse(unmarked(text).replace(AROUND_NAME, ""));
    const isName =
      name.length > 1 &&
      !PREPOSITION.test(name) &&
      !/^\d+:/.test(name) &&
      name.length <= AUTHOR_CHARS &&
      /\p{L}/u.test(name) &&
      !NO_NAME_END.test(name);
    // "Aug" stands before a year.
    return isName &&
      !isDate(name, this.#now_ms) &&
      parseDate(`${name} 2020`, null, this.#now_ms) === null &&
      !HEADED_COMMENTS.test(name)
      ? name
      : null;
  }

  #isControl(i: number, author: string | null): boolean {
    const { text, chars, link, junk, tag } = this.#lines[i]!;
    if (junk || tag === "button" || NUMBERS_ONLY.test(text) || PREPOSITION.test(text)) return true;
    if (author !== null && text.startsWith(author) && text.length < author.length + 15) return true;
    if ((isHeading(tag) || /\d/.test(text)) && chars <= CONTROL_CHARS && HEADED_COMMENTS.test(text))
      return true;
    return chars <= CONTROL_CHARS && link >= CONTROL_LINK;
  }

  #dateOf(to: number, date: number, begin: number): string | null {
    const stop = this.#lines[to - 1]!.pieces.at(-1) ?? 0;
    for (let node = begin; node <= stop; node += 1) {
      const datetime = this.#tree.attributes[node]?.["datetime"];
      if (datetime && isDate(datetime, this.#now_ms)) return datetime;
    }
    const { text, pieces } = this.#lines[date]!;
    const single = pieces.map((piece) => (piece < 0 ? "" : collapse(this.#tree.text[piece]!)));
    return single.find((piece) => DATE_LIKE.test(piece) && isDate(piece, this.#now_ms)) ?? text;
  }

  #pointsAway({ from, to }: Part): boolean {
    for (let i = from; i < to; i += 1) {
      const { tag, link, chars } = this.#lines[i]!;
      if (isHeading(tag) && link > PROSE_LINK && chars > 12) return true;
    }
    return false;
  }

  /** Forms inside the section alone count: some pages are one form. */
  #isInForm(line: number, root: number): boolean {
    for (let up = this.#lines[line]!.node; up > root; up = this.#tree.parent[up]!)
      if (this.#tree.tag[up] === "form") return true;
    return false;
  }

  #datedLines(from: number, to: number): number[] {
    const dated: number[] = [];
    for (let i = from; i < to; i += 1) if (this.#isDated(i)) dated.push(i);
    return dated;
  }

  #textOf(node: number): string {
    let text = "";
    const stop = this.#tree.end[node]!;
    for (let i = node; i < stop && text.length < 200; i += 1) text += this.#tree.text[i]!;
    return collapse(text);
  }

  #commonAncestor(dated: readonly number[]): number {
    const last = this.#index.starts[dated.at(-1)!]!;
    let root = this.#lines[dated[0]!]!.node;
    while (this.#tree.end[root]! <= last) root = this.#tree.parent[root]!;
    return root;
  }

  /** The line of comments' heading close above a line, or -1. */
  #headingAbove(line: number): number {
    for (let i = line - 1; i >= 0 && i >= line - HEADING_ABOVE_LINES; i -= 1) {
      const { text, chars } = this.#lines[i]!;
      if (chars < DATE_LINE_CHARS && HEADED_COMMENTS.test(text)) return i;
    }
    return -1;
  }

  #mark(from: number, to: number, inside: Uint8Array): void {
    const heading = this.#headingAbove(from);
    for (let i = heading < 0 ? from : heading; i < to; i += 1) inside[i] = 1;
  }

  #lineAt(node: number, from: number, to: number): number {
    const stop = this.#tree.end[node]!;
    for (let i = from; i < to; i += 1) {
      const words = this.#lines[i]!.pieces.filter((piece) => piece >= 0);
      if (words.length > 0 && words.every((piece) => piece >= node && piece < stop)) return i;
    }
    return -1;
  }
}

function linkShare(lines: readonly Line[]): number {
  let [all, link] = [0, 0];
  for (const line of lines) {
    all += line.chars;
    link += line.chars * line.link;
  }
  return all === 0 ? 0 : link / all;
}
