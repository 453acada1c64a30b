/**
 * The posts of a thread. A model of single lines trusts the first post and doubts the last, and a short answer looks like a control.
 * Posts repeat one shape, so their bodies are text together: parts of the page that repeat a date in the same place, and in most of
 * them the same element, which holds nearly all of what the part says. Signatures and cards of authors are no text.
 */
import { datedLines } from "./comments.ts";
import { firstText, type Line, type LineIndex, lineIndex } from "./lines.ts";
import { namedLike, type Page } from "./marks.ts";
import { firstClass } from "./tree.ts";

/** With fewer parts nothing repeats. */
const POSTS_MIN = 2;
/** So many places of dates are looked at. */
const PLACES_MAX = 12;
/** A place of dates has them in this share of its lines at least: some layouts put other short lines in the same place. */
const DATED_SHARE = 0.15;
/** A body holds this share of its part's likely text; so many of the parts have one, and all bodies this share of the likely text. */
const BODY_SHARE = 0.7;
const PARTS_SHARE = 0.6;
const BODIES_SHARE = 0.6;
/** More elements of a kind, by this factor, than parts are paragraphs and not bodies. */
const PARTS_MAX = 1.5;
/** The innermost kind of element is the body whose expected F1 is this close to the best one's. */
const NEAR_BEST = 0.98;
/** Bodies hold this share of what is likely text on the page, or they are not what the page is about. */
const ABOUT_SHARE = 0.3;
/** Bodies whose characters have a smaller mean chance are no text. */
const MEAN_CHANCE_MIN = 0.12;
/** The chance of each line of a body, at least. */
const BODY_CHANCE = 0.7;
/** Factor of the chances of lines between bodies, which may be text that a post has outside of its body. */
const BESIDE_FACTOR = 0.6;
const LEVELS_MAX = 12;
/** Lines below the last date that are its part where no element says it, at most. */
const LAST_PART_LINES = 20;

const NAMED_SIGNATURE = / (?:signatures?|sig|sig ?text|signaturetext|postsignature) /;

interface Thread {
  /** The lines of the bodies. */
  readonly bodies: readonly number[];
  readonly posts: number;
  /** The lines of the first part to those before the end of the last. */
  readonly from: number;
  readonly to: number;
  /** The sum of the bodies' characters by their lines' chances. */
  readonly likely: number;
  readonly chars: number;
}

/** The chances of all lines, with those of the posts' bodies made one. `structure` tells lines that look alike (peers.ts), `labels` those of labels.ts. */
export function withPosts(
  page: Page,
  lines: readonly Line[],
  structure: Int32Array,
  labels: Uint8Array,
  chances: readonly number[],
  now_ms: number,
): readonly number[] {
  const told = chances.map((chance, i) => (labels[i] && isAuthor(page, lines[i]!) ? 0 : chance));
  const search = new PostSearch(page, lines, told, labels);
  const thread = search.largest(structure, datedLines(lines, now_ms));
  if (thread === null || thread.likely < ABOUT_SHARE * search.likely) return told;
  if (thread.likely < MEAN_CHANCE_MIN * thread.chars) return told;
  const out = [...told];
  for (let i = thread.from; i < thread.to; i += 1) out[i]! *= labels[i] ? 0 : BESIDE_FACTOR;
  for (const i of thread.bodies) out[i] = Math.max(told[i]!, BODY_CHANCE);
  for (const i of search.signatures()) out[i] = 0;
  return out;
}

/** Whether a line stands in an element that declares an author (microdata of schema.org). */
function isAuthor({ tree }: Page, line: Line): boolean {
  for (
    let up = firstText(tree, line), level = 0;
    up > 0 && level < LEVELS_MAX;
    up = tree.parent[up]!, level += 1
  ) {
    const itemprop = tree.attributes[up]?.["itemprop"];
    if (itemprop === "author" || itemprop === "creator") return true;
  }
  return false;
}

/** Elements of one name and parent. */
interface Kind {
  readonly first: number;
  readonly depth: number;
  readonly elements: number[];
  /** Their characters by how much these are text beside the others here, by their chances, and all. */
  text: number;
  likely: number;
  chars: number;
  /** The node behind the last element. */
  behind: number;
}

const kindFrom = (first: number, depth: number): Kind => ({
  first,
  depth,
  elements: [],
  text: 0,
  likely: 0,
  chars: 0,
  behind: 0,
});

class PostSearch {
  readonly #page: Page;
  readonly #lines: readonly Line[];
  readonly #index: LineIndex;
  /** Sums of characters by chance, and of characters, before each line. */
  readonly #likely: Float64Array;
  readonly #chars: Float64Array;
  readonly #chances: readonly number[];
  readonly #isSignature: (node: number) => boolean;

  constructor(page: Page, lines: readonly Line[], chances: readonly number[], labels: Uint8Array) {
    this.#page = page;
    this.#lines = lines;
    this.#index = lineIndex(page.tree, lines);
    this.#chances = chances;
    this.#isSignature = namedLike(page.names, NAMED_SIGNATURE);
    this.#likely = new Float64Array(lines.length + 1);
    this.#chars = new Float64Array(lines.length + 1);
    for (const [i, { chars, junk, node }] of lines.entries()) {
      const isText = !junk && !labels[i] && !this.#isSigned(node);
      this.#likely[i + 1] = this.#likely[i]! + (isText ? chars * chances[i]! : 0);
      this.#chars[i + 1] = this.#chars[i]! + (isText ? chars : 0);
    }
  }

  /** Characters of the page by their chances to be text. */
  get likely(): number {
    return this.#likely.at(-1)!;
  }

  /** The thread with the most likely text, if any. */
  largest(structure: Int32Array, isDated: (i: number) => boolean): Thread | null {
    const alike = new Map<number, number[]>();
    for (let i = 0; i < this.#lines.length; i += 1) {
      const known = alike.get(structure[i]!);
      if (known) known.push(i);
      else alike.set(structure[i]!, [i]);
    }
    let best: Thread | null = null;
    let places = 0;
    for (const among of alike.values()) {
      if (places === PLACES_MAX) break;
      if (among.length < POSTS_MIN) continue;
      const dated = among.filter(isDated);
      if (dated.length < POSTS_MIN || dated.length < DATED_SHARE * among.length) continue;
      places += 1;
      const thread = this.#threadOf(dated);
      if (thread && thread.posts >= POSTS_MIN && thread.likely > (best?.likely ?? 0)) best = thread;
    }
    return best;
  }

  /** Lines of signatures. */
  signatures(): number[] {
    return this.#lines.flatMap(({ node }, i) => (this.#isSigned(node) ? [i] : []));
  }

  /** The preview of a page that a post links to; a quotation in an aside is text. */
  #isPreview(node: number, body: number): boolean {
    for (let up = node; up > body; up = this.#page.tree.parent[up]!) {
      if (this.#page.tree.tag[up] === "blockquote") return false;
      if (this.#page.tree.tag[up] === "aside") return true;
    }
    return false;
  }

  #isSigned(node: number): boolean {
    for (let up = node, level = 0; up > 0 && level < LEVELS_MAX; up = this.#page.tree.parent[up]!, level += 1)
      if (this.#isSignature(up)) return true;
    return false;
  }

  /** The bodies of the parts around dated lines; null where the parts have no body in common. */
  #threadOf(dated: readonly number[]): Thread | null {
    const parts = dated.map((date, at) => this.#partAt(dated, at, date));
    const kinds = new Map<string, Kind>();
    for (const [from, to] of parts)
      for (const node of this.#holders(from, to))
        kinds.set(this.#kindOf(node), kindFrom(node, this.#page.tree.depth[node]!));
    const [from, to] = [parts[0]![0], parts.at(-1)![1]];
    const even = this.#evened(from, to);
    this.#collect(kinds, even, from, to);
    const all = even.at(-1)!;
    const rated: [kind: Kind, expected: number][] = [];
    for (const kind of kinds.values()) {
      const { first, elements, text, chars } = kind;
      // Quotations, lists and code stand beside the paragraphs of a post.
      if (this.#page.tree.tag[first] === "p") continue;
      if (elements.length < PARTS_SHARE * parts.length || elements.length > PARTS_MAX * parts.length)
        continue;
      if (text < BODIES_SHARE * all) continue;
      const expected = (2 * text) / (chars + all);
      rated.push([kind, expected]);
    }
    const most = Math.max(0, ...rated.map(([, expected]) => expected));
    let body: Kind | null = null;
    for (const [kind, expected] of rated)
      if (expected >= NEAR_BEST * most && kind.depth > (body?.depth ?? -1)) body = kind;
    if (body === null) return null;
    const bodies = body.elements.flatMap((node) => {
      const [first, end] = this.#index.linesOf(node);
      return Array.from({ length: end - first }, (_, i) => first + i).filter(
        (i) => !this.#lines[i]!.junk && !this.#isPreview(this.#lines[i]!.node, node),
      );
    });
    return { bodies, from, to, posts: body.elements.length, likely: body.likely, chars: body.chars };
  }

  /**
   * Sums, before each line from `from` on, of characters by how much they are text beside what is text here: the square of a line's
   * chance in units of the mean chance, of which each character counts by its own. So it does not matter how much the page is doubted.
   */
  #evened(from: number, to: number): Float64Array {
    let [sum, squares] = [0, 0];
    for (let i = from; i < to; i += 1) {
      const weight = this.#weight(i, i + 1);
      sum += weight;
      squares += weight * this.#chances[i]!;
    }
    const usual = sum === 0 ? 1 : squares / sum;
    const even = new Float64Array(to - from + 1);
    for (let i = from; i < to; i += 1) {
      const share = Math.min(1, this.#chances[i]! / usual);
      even[i - from + 1] = even[i - from]! + (this.#chars[i + 1]! - this.#chars[i]!) * share * share;
    }
    return even;
  }

  /** Adds to each kind its elements between two lines, the outermost of nested ones. */
  #collect(kinds: ReadonlyMap<string, Kind>, even: Float64Array, from: number, to: number): void {
    const { tree } = this.#page;
    const tags = new Set([...kinds.values()].map(({ first }) => tree.tag[first]!));
    // An element begins before its first text, but behind the text before it.
    const begin = from === 0 ? 1 : this.#index.starts[from - 1]! + 1;
    const stop = to < this.#lines.length ? this.#index.starts[to]! : tree.tag.length;
    for (let node = begin; node < stop; node += 1) {
      if (!tags.has(tree.tag[node]!)) continue;
      const kind = kinds.get(this.#kindOf(node));
      if (kind === undefined || node < kind.behind) continue;
      const [first, end] = this.#index.linesOf(node);
      if (end === first || first < from || end > to) continue;
      kind.elements.push(node);
      kind.text += even[end - from]! - even[first - from]!;
      kind.likely += this.#weight(first, end);
      kind.chars += this.#chars[end]! - this.#chars[first]!;
      kind.behind = tree.end[node]!;
    }
  }

  /** The lines of the largest element that holds this date and no other; where it holds nothing else, the lines to the next. */
  #partAt(dated: readonly number[], at: number, date: number): [from: number, to: number] {
    const { parent, end } = this.#page.tree;
    const before = at > 0 ? this.#index.starts[dated[at - 1]!]! : -1;
    const after = at + 1 < dated.length ? this.#index.starts[dated[at + 1]!]! : Number.MAX_SAFE_INTEGER;
    const isAlone = (node: number): boolean => before < node && after >= end[node]!;
    let top = this.#lines[date]!.node;
    if (isAlone(top)) {
      while (parent[top]! > 0 && isAlone(parent[top]!) && this.#page.tree.tag[parent[top]!] !== "body")
        top = parent[top]!;
      const [from, to] = this.#index.linesOf(top);
      if (to - from > 1) return [from, to];
    }
    return [date, dated[at + 1] ?? Math.min(this.#lines.length, date + LAST_PART_LINES)];
  }

  /** Elements within a part that hold most of its likely text, from the innermost. */
  #holders(from: number, to: number): number[] {
    const all = this.#likely[to]! - this.#likely[from]!;
    if (all === 0) return [];
    let heaviest = from;
    for (let i = from; i < to; i += 1)
      if (this.#weight(i, i + 1) > this.#weight(heaviest, heaviest + 1)) heaviest = i;
    const found: number[] = [];
    let node = this.#lines[heaviest]!.node;
    for (let level = 0; node > 0 && level < LEVELS_MAX; node = this.#page.tree.parent[node]!, level += 1) {
      const [first, end] = this.#index.linesOf(node);
      if (first < from || end > to) break;
      if (this.#weight(first, end) >= BODY_SHARE * all) found.push(node);
    }
    return found;
  }

  #weight(from: number, to: number): number {
    return this.#likely[to]! - this.#likely[from]!;
  }

  /** Element and first class, and those of the element around it. */
  #kindOf(node: number): string {
    const { tree } = this.#page;
    const up = tree.parent[node]!;
    return `${tree.tag[node]!}.${firstClass(tree, node)}<${tree.tag[up]!}.${firstClass(tree, up)}`;
  }
}
