/** The different addresses of a map, in the order in which they were found, and which of them fit some words best. */
import type { MapLink } from "../../../../schemas/sites.ts";
import { parseUrl, unescaped } from "../../../lib/web/url.ts";
import { addressKey } from "../address/key.ts";
import type { IsInScope } from "../../../lib/web/site-scope.ts";

/** Addresses of a map, whatever its answer may have: the ranked ones are taken from these. */
export const LIST_LIMIT = 100_000;
const MAX_TITLE_CHARS = 300;

export interface LinkList {
  /** Takes the first form of an address; what the later ones know of it is added. */
  readonly add: (url: string, about: Pick<MapLink, "title" | "lastmod" | "found_in">) => void;
  /** No further address is taken. */
  readonly isFull: () => boolean;
  readonly total: () => number;
  readonly list: (
    search: string | null,
    limit: number,
  ) => { readonly links: readonly MapLink[]; readonly total: number };
}

interface LinkListOptions {
  readonly isInScope: IsInScope;
  readonly ignore_query: boolean;
  readonly most: number;
}

export function linkList({ isInScope, ignore_query, most }: LinkListOptions): LinkList {
  const known = new Map<string, MapLink>();
  let isFull = false;
  return {
    add(text, { title, lastmod, found_in }) {
      const url = parseUrl(text);
      if (url === null || !isInScope(url)) return;
      const key = addressKey(url, { ignore_query });
      const before = known.get(key);
      const short = title?.slice(0, MAX_TITLE_CHARS) ?? null;
      if (before) {
        known.set(key, { ...before, title: before.title ?? short, lastmod: before.lastmod ?? lastmod });
        return;
      }
      isFull = known.size >= most;
      if (isFull) return;
      if (ignore_query) url.search = "";
      known.set(key, { url: url.href, title: short, lastmod, found_in });
    },
    isFull: () => isFull,
    total: () => known.size,
    list(search, limit) {
      const all = [...known.values()];
      const words = wordsOf(search ?? "");
      const ranked = words.length === 0 ? all : ranking(all, words);
      return { links: ranked.slice(0, limit), total: all.length };
    },
  };
}

/** Worth of a whole word in the title, of a whole word of the path, and of a part of either. */
const WORTH = { title: 3, path: 2, part: 1 } as const;

/** Best first; equal ones stay in their order. */
function ranking(all: readonly MapLink[], words: readonly string[]): readonly MapLink[] {
  const scored = all.map((link) => ({ link, score: scoreOf(link, words) }));
  return scored.toSorted((a, b) => b.score - a.score).map(({ link }) => link);
}

function scoreOf({ url, title }: MapLink, words: readonly string[]): number {
  const { pathname, search, hostname } = new URL(url);
  const path = wordsOf(unescaped(pathname + search));
  const named = wordsOf(title ?? "");
  const everything = [...path, ...named, hostname].join(" ");
  let score = 0;
  for (const word of words) {
    if (named.includes(word)) score += WORTH.title;
    if (path.includes(word)) score += WORTH.path;
    if (everything.includes(word)) score += WORTH.part;
  }
  return score;
}

/** In lower case, without diacritics. */
const wordsOf = (text: string): string[] =>
  text
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
