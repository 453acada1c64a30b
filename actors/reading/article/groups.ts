/** Groups of similar siblings on a page: cards, posts, rows, teasers, facets. */
import { isHeading, type Page } from "./marks.ts";
import { firstClass } from "./tree.ts";

interface Group {
  count: number;
  text: number;
  link: number;
  mass: number;
  headings: number;
  images: number;
  /** Links in its members: all, to another host, and to pages below this page. */
  links: number;
  away: number;
  below: number;
  /** Sum over its links of the share of this page's path that the link's path begins with. */
  shared: number;
  /** How much its members differ in length: standard deviation by mean. */
  spread: number;
  /** 0 for the group with the most text. */
  rank: number;
}
export interface Groups {
  /** The innermost group of similar siblings that contains a node, or -1. */
  readonly of: Int32Array;
  /** The member of that group that contains the node. */
  readonly member: Int32Array;
  readonly list: readonly Group[];
}

const NO_GROUP: Group = {
  count: 0, text: 0, link: 0, mass: 0, headings: 0, images: 0, links: 0, away: 0, below: 0, shared: 0, spread: 0, rank: 0,
}; // prettier-ignore

interface Target {
  /** On another host. */
  readonly away: boolean;
  /** Its path continues the page's. */
  readonly below: boolean;
  /** The share of the page's path, by segments, that its path begins with. */
  readonly shared: number;
}

const segmentsOf = (path: string): string[] =>
  path
    .replace(/[?#].*$/s, "")
    .split("/", 12)
    .filter((segment) => segment !== "");

/** Where links lead, beside the page's own address. Addresses are compared as they are written: there are thousands. */
function targetReader(url: string): (href: string | undefined) => Target | null {
  const page = URL.parse(url);
  const host = (page?.host ?? "").replace(/^www\./, "");
  const own = segmentsOf(page?.pathname ?? "");
  const folder = page?.pathname.endsWith("/") ? [...own] : own.slice(0, -1);
  const stem = own.at(-1)?.replace(/\.[a-z]{2,5}$/i, "");
  if (stem) own[own.length - 1] = stem;
  return (href) => {
    if (href === undefined || href.length > 1_000) return null;
    const absolute = /^\s*(?:https?:)?\/\/([^/?#]*)(.*)$/is.exec(href);
    if (!absolute && /^\s*(?:#|[a-z]+:)/i.test(href)) return null;
    if (absolute && absolute[1]!.replace(/^www\./i, "").toLowerCase() !== host)
      return { away: true, below: false, shared: 0 };
    const relative = !absolute && !href.trimStart().startsWith("/");
    const path = segmentsOf(absolute ? absolute[2]! : href);
    const segments = relative ? [...folder, ...path] : path;
    let same = 0;
    while (same < own.length && same < segments.length && segments[same] === own[same]) same += 1;
    return {
      away: false,
      below: same === own.length && segments.length > same,
      shared: own.length === 0 ? 1 : same / own.length,
    };
  };
}

/** Three or more siblings of one tag and first class, with text in them, are a group: cards, posts, rows, questions. */
export function findGroups(page: Page, url: string): Groups {
  const { tree } = page;
  const count = tree.tag.length;
  const of = new Int32Array(count).fill(-1);
  const member = new Int32Array(count).fill(-1);
  const list: Group[] = [];
  const kinds = new Map<string, number[]>();
  const targetOf = targetReader(url);
  for (let i = 0; i < count; i += 1) {
    if (tree.tag[i] === "#text" || tree.end[i]! - i < 4 || page.text[i]! < 12) continue;
    if (i > 0 && of[i]! < 0) {
      const up = tree.parent[i]!;
      of[i] = of[up]!;
      member[i] = member[up]!;
    }
    kinds.clear();
    for (let child = i + 1; child < tree.end[i]!; child = tree.end[child]!) {
      const tag = tree.tag[child]!;
      if (tag === "#text" || tag === "p" || tag === "br" || page.text[child]! < 4 || isHeading(tag)) continue;
      const key = `${tag} ${firstClass(tree, child)}`;
      const same = kinds.get(key);
      if (same) same.push(child);
      else kinds.set(key, [child]);
    }
    for (const same of kinds.values()) {
      if (same.length < 3) continue;
      const group: Group = { ...NO_GROUP, count: same.length };
      let squares = 0;
      for (const child of same) {
        of[child] = list.length;
        member[child] = child;
        group.text += page.text[child]!;
        group.link += page.link[child]!;
        group.mass += page.mass[child]!;
        squares += page.text[child]! ** 2;
      }
      const average = group.text / group.count;
      group.spread = Math.sqrt(Math.max(0, squares / group.count - average ** 2)) / (average || 1);
      list.push(group);
    }
  }
  // Headings and images count once for the innermost group, in one pass.
  for (let i = 1; i < count; i += 1) {
    if (of[i]! < 0) {
      const up = tree.parent[i]!;
      of[i] = of[up]!;
      member[i] = member[up]!;
    }
    const group = list[of[i]!];
    if (!group) continue;
    const tag = tree.tag[i]!;
    if (tag === "img" || tag === "picture") group.images += 1;
    else if (isHeading(tag)) group.headings += 1;
    else if (tag === "a") {
      const target = targetOf(tree.attributes[i]?.["href"]);
      if (target === null) continue;
      group.links += 1;
      group.away += target.away ? 1 : 0;
      group.below += target.below ? 1 : 0;
      group.shared += target.shared;
    }
  }
  for (const [rank, group] of list.toSorted((a, b) => b.text - a.text).entries()) group.rank = rank;
  return { of, member, list };
}
