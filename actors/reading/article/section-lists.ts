/**
 * Lists of documentation. A model of single lines doubts lists of short entries, because beside articles they are menus: tables of
 * contents of the pages below, lists of functions, terms and their definitions. A list that stands beside text, in the same element, is
 * text as a whole. Menus, tabs, and lists of places on the same page are left to the model.
 */
import { type Line, lineIndex } from "./lines.ts";
import { NAMED_TRIMMING, namedLike, type Page } from "./marks.ts";

const LISTS: ReadonlySet<string> = new Set(["ul", "ol", "dl"]);
/** Names of the page as a whole say nothing of its parts. */
const WHOLE: ReadonlySet<string> = new Set(["html", "body", "main"]);
/** Elements in which no list is text. */
const APART: ReadonlySet<string> = new Set(["nav", "aside", "header", "footer", "menu", "form", "dialog"]);
const ROLES_APART: ReadonlySet<string> = new Set([
  "navigation", "complementary", "banner", "contentinfo", "search", "tablist", "menu", "menubar", "dialog",
]); // prettier-ignore
const NAMED_APART =
  / (?:prev|previous|next|related|languages?|versions?|tabs?|tab ?list|tab ?group|catlinks|sidebar|side ?nav|pager|edit ?page) /;
/** Around a list may be elements with nothing else but a label, so many of them, and so many characters. */
const WRAPPERS_MAX = 3;
const LABEL_CHARS_MAX = 40;
/** Text beside a list, lists apart, has so many characters, and their mean chance is so high. */
const BESIDE_CHARS_MIN = 60;
const BESIDE_CHANCE_MIN = 0.4;
/** More of its links lead to places on the same page, by this share: it is a table of this page's contents. */
const OWN_PAGE_SHARE = 0.5;
/** The chance of each of its lines, at least. */
const LIST_CHANCE = 0.6;

/** The chances of all lines, with those of lists beside text raised. */
export function withSectionLists(
  page: Page,
  lines: readonly Line[],
  chances: readonly number[],
): readonly number[] {
  const { tree } = page;
  const { lists, apart, inside } = outermostLists(page);
  if (lists.length === 0) return chances;
  /** Sums of characters outside of lists, by their chances and all, before each line. */
  const likely = new Float64Array(lines.length + 1);
  const chars = new Float64Array(lines.length + 1);
  for (const [i, line] of lines.entries()) {
    const size = line.junk || inside[line.node] ? 0 : line.chars;
    likely[i + 1] = likely[i]! + size * chances[i]!;
    chars[i + 1] = chars[i]! + size;
  }
  const { linesOf } = lineIndex(tree, lines);
  const isTextIn = (node: number): boolean => {
    const [from, to] = linesOf(node);
    const beside = chars[to]! - chars[from]!;
    return beside >= BESIDE_CHARS_MIN && likely[to]! - likely[from]! >= BESIDE_CHANCE_MIN * beside;
  };
  const out = [...chances];
  for (const list of lists) {
    const around = unwrapped(page, list);
    if (apart[around] || tree.tag[around] === "body" || leadsToOwnPage(page, list) || !isTextIn(around))
      continue;
    const [from, to] = linesOf(list);
    for (let i = from; i < to; i += 1)
      if (!lines[i]!.junk && !apart[lines[i]!.node]) out[i] = Math.max(out[i]!, LIST_CHANCE);
  }
  return out;
}

interface Lists {
  /** Lists that are in no other list and not apart from text. */
  readonly lists: readonly number[];
  /** 1 for each node in a menu or another part that is no text. */
  readonly apart: Uint8Array;
  /** 1 for each node in a list. */
  readonly inside: Uint8Array;
}

function outermostLists(page: Page): Lists {
  const { tree } = page;
  const isNamedApart = namedLike(page.names, NAMED_APART);
  const isApart = (node: number, tag: string): boolean =>
    APART.has(tag) ||
    ROLES_APART.has(tree.attributes[node]?.["role"] ?? "") ||
    page.hidden[node] === 1 ||
    (page.flags[node]! & NAMED_TRIMMING) !== 0 ||
    isNamedApart(node);
  const lists: number[] = [];
  const apart = new Uint8Array(tree.tag.length);
  const inside = new Uint8Array(tree.tag.length);
  for (let i = 1; i < apart.length; i += 1) {
    const up = tree.parent[i]!;
    const tag = tree.tag[i]!;
    apart[i] = apart[up] || (tag !== "#text" && !WHOLE.has(tag) && isApart(i, tag)) ? 1 : 0;
    inside[i] = inside[up] || LISTS.has(tag) ? 1 : 0;
    if (inside[i] && !inside[up] && !apart[i]) lists.push(i);
  }
  return { lists, apart, inside };
}

/** The element around a list that holds more than the list and a label. */
function unwrapped({ tree, text }: Page, list: number): number {
  let around = tree.parent[list]!;
  for (let step = 0; step < WRAPPERS_MAX && tree.parent[around]! > 0; step += 1) {
    if (text[around]! - text[list]! > LABEL_CHARS_MAX) break;
    around = tree.parent[around]!;
  }
  return around;
}

function leadsToOwnPage({ tree }: Page, list: number): boolean {
  let [links, own] = [0, 0];
  for (let i = list + 1; i < tree.end[list]!; i += 1) {
    if (tree.tag[i] !== "a") continue;
    links += 1;
    if (tree.attributes[i]?.["href"]?.startsWith("#")) own += 1;
  }
  return own > OWN_PAGE_SHARE * links;
}
