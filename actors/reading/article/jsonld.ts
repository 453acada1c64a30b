/** Reads JSON-LD of real pages: repairs common mistakes, flattens it, and finds the node about this page. */

const DEPTH_MAX = 8;
const NODES_MAX = 2_000;

import { unmarked } from "./tree.ts";

export type LdNode = Readonly<Record<string, unknown>>;

const isNode = (value: unknown): value is LdNode =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const OPENING = /^(?:<!--|\/\*\s*<!\[cdata\[\s*\*\/|\/\/\s*<!\[cdata\[|<!\[cdata\[)/i;
const CLOSING = /(?:-->|\/\*\s*\]\]>\s*\*\/|\/\/\s*\]\]>|\]\]>)\s*;?$/;

function parse(block: string): unknown {
  let bare = block.trim();
  // Some pages wrap the JSON in a comment and a CDATA section.
  for (let wrapper = 0; wrapper < 2; wrapper += 1)
    bare = bare.replace(OPENING, "").replace(CLOSING, "").trim();
  try {
    return JSON.parse(bare);
  } catch {
    const repaired = bare
      // oxlint-disable-next-line no-control-regex -- they are what breaks these blocks
      .replace(/[\u0000-\u001f]+/g, " ")
      .replace(/,\s*(?=[}\]])/g, "")
      .replace(/;\s*$/, "");
    try {
      return JSON.parse(repaired);
    } catch {
      return null;
    }
  }
}

export interface LinkedData {
  /** Every typed node, outer before inner. */
  readonly nodes: readonly LdNode[];
  readonly byId: ReadonlyMap<string, LdNode>;
}

const INNER = [
  "@graph",
  "mainEntity",
  "mainEntityOfPage",
  "hasPart",
  "itemListElement",
  "item",
  "about",
] as const;

export function readLinkedData(blocks: readonly string[]): LinkedData {
  const nodes: LdNode[] = [];
  const byId = new Map<string, LdNode>();
  const open: { value: unknown; depth: number }[] = blocks.map((block) => ({
    value: parse(block),
    depth: 0,
  }));
  for (let at = 0; at < open.length && nodes.length < NODES_MAX; at += 1) {
    const { value, depth } = open[at]!;
    if (Array.isArray(value)) {
      if (depth < DEPTH_MAX)
        for (const each of value.slice(0, 500)) open.push({ value: each, depth: depth + 1 });
      continue;
    }
    if (!isNode(value)) continue;
    if (value["@type"] !== undefined || Object.keys(value).length > 1) nodes.push(value);
    const id = value["@id"];
    if (typeof id === "string" && Object.keys(value).length > 1 && !byId.has(id)) byId.set(id, value);
    if (depth < DEPTH_MAX)
      for (const key of INNER)
        if (value[key] !== undefined) open.push({ value: value[key], depth: depth + 1 });
  }
  return { nodes, byId };
}

export const ldTypes = (node: LdNode): string[] =>
  [node["@type"]]
    .flat()
    .filter((type) => typeof type === "string")
    .map((type) => type.replace(/^https?:\/\/schema\.org\//i, ""));

export const isLdType = (node: LdNode, types: RegExp): boolean =>
  ldTypes(node).some((type) => types.test(type));

/** A string, a number, a value object, or the first of several. */
export function ldText(value: unknown): string | null {
  const first = Array.isArray(value) ? value[0] : value;
  if (typeof first === "string") return first.trim() || null;
  if (typeof first === "number") return String(first);
  if (isNode(first) && typeof first["@value"] === "string") return first["@value"].trim() || null;
  return null;
}

/** The names in a value: strings, objects with a name, and references to other nodes. */
export function ldNames(value: unknown, { byId }: LinkedData): string[] {
  return [value].flat().flatMap((each): string[] => {
    if (typeof each === "string") {
      const referred = byId.get(each);
      return [(referred && ldText(referred["name"])) ?? each];
    }
    if (!isNode(each)) return [];
    const name = ldText(each["name"]);
    if (name) return [name];
    const parts = [ldText(each["givenName"]), ldText(each["familyName"])].filter((part) => part !== null);
    if (parts.length > 0) return [parts.join(" ")];
    const id = each["@id"];
    const referred = typeof id === "string" ? byId.get(id) : undefined;
    const found = referred && ldText(referred["name"]);
    return found ? [found] : [];
  });
}

/** Best first. */
const RANKS: readonly RegExp[] = [
  /^(?:\w*NewsArticle|BlogPosting|Article|TechArticle|ScholarlyArticle|MedicalScholarlyArticle|LiveBlogPosting)$/,
  /^(?:\w*Article|\w*Posting|Review|Recipe|Report|Question|HowTo)$/,
  /^(?:\w*WebPage|\w*Page|Product|Event|VideoObject|Course|Book|Movie)$/,
];

export const ARTICLE_TYPES = RANKS[0]!;

const bare = (address: string): string =>
  address
    .replace(/^https?:\/\/(?:www\.)?/i, "")
    .replace(/[#?].*$/, "")
    .replace(/\/$/, "");

/** The node about this page: the best type, preferably with the page's address. */
export function ldAbout({ nodes }: LinkedData, addresses: readonly string[]): LdNode | null {
  const pageAddresses = new Set(addresses.map(bare));
  let best: LdNode | null = null;
  let best_score = 0;
  for (const node of nodes) {
    const rank = RANKS.findIndex((types) => isLdType(node, types));
    if (rank < 0) continue;
    const main = node["mainEntityOfPage"];
    const named = [node["url"], main, isNode(main) ? (main["@id"] ?? main["url"]) : null, node["@id"]]
      .filter((value) => typeof value === "string")
      .map(bare);
    const namesThisPage = named.some((address) => pageAddresses.has(address)) ? 1 : 0;
    const other = named.length > 0 && !namesThisPage ? 1 : 0;
    const score = (RANKS.length - rank) * 2 + namesThisPage * 1.5 - other * 0.5;
    if (score > best_score) {
      best = node;
      best_score = score;
    }
  }
  return best;
}

const LISTED_MAX = 500;

/**
 * The text in a page's JSON-LD, for pages that show almost none. Only text about this page: an article's
 * body, a question and its answers, a product's description, the names in its list. Never used for a paid page.
 */
export function ldBody({ nodes }: LinkedData, about: LdNode | null): string {
  const parts: string[] = [];
  const add = (node: unknown, ...keys: readonly string[]): void => {
    if (!isNode(node) || parts.length > LISTED_MAX) return;
    for (const key of keys) {
      const text = ldText(node[key]);
      if (text) parts.push(unmarked(text, true));
    }
  };
  const each = (value: unknown): unknown[] =>
    value === undefined ? [] : [value].flat().slice(0, LISTED_MAX);
  if (about) add(about, "articleBody", "text");
  for (const node of nodes) {
    if (isLdType(node, /^(?:Question|DiscussionForumPosting)$/)) {
      if (node !== about) add(node, "name", "headline", "text", "articleBody");
      for (const answer of [
        ...each(node["acceptedAnswer"]),
        ...each(node["suggestedAnswer"]),
        ...each(node["comment"]),
      ])
        add(answer, "text");
    } else if (isLdType(node, /^(?:Product|ProductGroup|JobPosting|Event|Course|Recipe)$/)) {
      add(node, "name", "description");
      for (const property of each(node["additionalProperty"]))
        if (isNode(property)) {
          const [name, value] = [ldText(property["name"]), ldText(property["value"])];
          if (name && value) parts.push(`${unmarked(name)}: ${unmarked(value)}`);
        }
    } else if (isLdType(node, /^(?:ItemList|CollectionPage|OfferCatalog)$/))
      for (const item of each(node["itemListElement"])) {
        const inner = isNode(item) && isNode(item["item"]) ? item["item"] : item;
        if (
          !isNode(inner) ||
          !nodes.includes(inner) ||
          !isLdType(inner, /^(?:Product|JobPosting|Event|Course|Recipe)$/)
        )
          add(inner, "name", "description");
      }
  }
  return [...new Set(parts)].join("\n");
}
