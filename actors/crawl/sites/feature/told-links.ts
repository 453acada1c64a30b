/**
 * Which links this node has told to the Frontiers of crawls: most pages repeat the menu of their site. What a Frontier has answered is
 * stored, and the same link says nothing new to it, unless it is found at a lower depth.
 */
import { LRUCache } from "lru-cache";
import type { FoundLink } from "../../../../schemas/crawl.ts";

/** Characters of the links in memory, of all crawls of a node. What is forgotten is told again. */
const MAX_CHARS = 2 ** 21;

export interface ToldLinks {
  /** Links that say something new to the crawl's Frontier, each once. */
  readonly newOf: (job_id: string, depth: number, links: readonly FoundLink[]) => readonly FoundLink[];
  /** The Frontier has answered. `depth`: of the page. */
  readonly told: (job_id: string, depth: number, links: readonly FoundLink[]) => void;
}

export function toldLinks(max_chars = MAX_CHARS): ToldLinks {
  /** The lowest depth at which a link was told. */
  const depths = new LRUCache<string, number>({
    maxSize: max_chars,
    maxEntrySize: max_chars,
    sizeCalculation: (_depth, key) => key.length,
  });
  const keyOf = (job_id: string, { url, nofollow }: FoundLink): string =>
    `${job_id} ${nofollow ? "nofollow " : ""}${url}`;
  return {
    newOf(job_id, depth, links) {
      const known = new Set<string>();
      return links.filter((link) => {
        if (link.canonical || link.sitemap) return true;
        const key = keyOf(job_id, link);
        if (known.has(key) || (depths.get(key) ?? Infinity) <= depth) return false;
        known.add(key);
        return true;
      });
    },
    told(job_id, depth, links) {
      for (const link of links) {
        if (link.canonical || link.sitemap) continue;
        const key = keyOf(job_id, link);
        if (depth < (depths.get(key) ?? Infinity)) depths.set(key, depth);
      }
    },
  };
}
