/**
 * Which of the texts that may be a page's title is: every heading, declaration and part of the title element is looked
 * at with what the others say, and the weights for that are learned (bench/title.train.ts), not tuned by hand.
 */
import { ARTICLE_TYPES, isLdType, type LdNode, ldText } from "./article-jsonld.ts";
import type { PageKind } from "./article-kind.ts";
import { nodeText, type Tree, unmarked } from "./article-tree.ts";
import { TITLE_WEIGHTS } from "./article-title-model.ts";

const TITLE_CHARS_MAX = 500;
/** Before markup in it is dropped. */
const DECLARED_CHARS_MAX = 2_000;
const HEADINGS_MOST = 8;

const SEPARATORS = /(\s+[|·•»«›‹–—~:]+\s+|\s+-+\s+|\s*[|｜]\s*|(?<=\p{L}{3}):\s+)/u;
const folded = (text: string): string =>
  text.toLowerCase().replace(/[’‘]/g, "'").replace(/[“”]/g, '"').replace(/\s+/g, " ").trim();
export const letters = (text: string): string => folded(text).replace(/[^\p{L}\p{N}]+/gu, "");

/** "¶" and "#" that headings carry for links, and the number of things a list has. */
const headed = (text: string): string =>
  text
    .replace(/\s*[¶#]+$/, "")
    .replace(/\s*\(\d[\d,.]* \p{L}{3,10}\)$/u, "")
    .trim();

export interface Site {
  readonly name: string | null;
  /** The letters of the host, without "www". */
  readonly host: string;
  /** Its parts of four letters or more, without the last. */
  readonly labels: readonly string[];
  /** Words of the last part of the address that has letters. */
  readonly slug: readonly string[];
}

export function siteOf(name: string | null, url: string): Site {
  const host = URL.canParse(url) ? new URL(url).hostname.replace(/^www\./, "") : "";
  const labels = host.split(".").slice(0, -1).map(letters);
  const path = URL.canParse(url) ? new URL(url).pathname.split("/") : [];
  const last = path.findLast((part) => /[a-z]{3}/i.test(part)) ?? "";
  return {
    name,
    slug:
      last
        .replace(/\.\w{2,5}$/, "")
        .toLowerCase()
        .match(/[a-z0-9]{3,}/g) ?? [],
    host: labels.join(""),
    labels: labels.filter(
      (label) => label.length > 3 && !/^(?:blogs?|forums?|community|shop|store|docs|news)$/.test(label),
    ),
  };
}

const isSite = (text: string, { name, host }: Site): boolean => {
  const bare = letters(text);
  if (bare === "") return true;
  if (name !== null && bare === letters(name)) return true;
  return bare.length > 3 && (host.startsWith(bare) || bare.replace(/^the|com$/g, "") === host);
};

/** Of a title's parts the last or the first may also begin like the host and go on: "Fellwright Outdoor". */
const isSitePart = (text: string, site: Site): boolean =>
  isSite(text, site) ||
  (text.split(/\s+/).length <= 4 && site.labels.some((label) => letters(text).startsWith(label)));

/** A title less the part that names the site, wherever its separators are. */
function withoutSite(title: string, site: Site): string {
  const parts = title.split(SEPARATORS);
  if (parts.length < 3) return title;
  if (isSitePart(parts.at(-1)!, site)) return parts.slice(0, -2).join("").trim();
  if (isSite(parts[0]!, site)) return parts.slice(2).join("").trim();
  // What stands behind the last bar is the site, even when it calls itself otherwise.
  if (/[|｜]/.test(parts.at(-2)!) && parts.at(-1)!.split(" ").length <= 4)
    return parts.slice(0, -2).join("").trim();
  return title;
}

export interface TitleCandidate {
  readonly text: string;
  /** In the order of TITLE_WEIGHTS. */
  readonly features: readonly number[];
}

/** How many of a text's words, of those with three letters or more, are in a text or among words. */
function alike(text: string, there: string | readonly string[]): number {
  const of = folded(text).match(/[\p{L}\p{N}]{3,}/gu) ?? [];
  return share(of, (word) => there.includes(word));
}

const share = (words: readonly string[], is: (word: string) => boolean): number =>
  words.length === 0 ? 0 : words.filter(is).length / words.length;

/** The first of these meta elements that says something. */
export type Meta = (...names: readonly string[]) => string | null;

/** Everything on the page that may be its title, each text once. */
export function titleCandidates(
  tree: Tree,
  about: LdNode | null,
  meta: Meta,
  site: Site,
  unseen: Uint8Array,
  kind: PageKind,
): TitleCandidate[] {
  const og = meta("og:title");
  const twitter = meta("twitter:title");
  const cited = meta("dc.title", "citation_title");
  const headline = about ? ldText(about["headline"] ?? about["name"]) : null;
  const isArticle =
    meta("og:type")?.toLowerCase() === "article" || (about !== null && isLdType(about, ARTICLE_TYPES));
  const h1s: string[] = [];
  const h2s: string[] = [];
  for (let i = 0; i < tree.tag.length && h1s.length < HEADINGS_MOST; i += 1) {
    const tag = tree.tag[i];
    if ((tag !== "h1" && tag !== "h2") || unseen[i]) continue;
    const text = headed(nodeText(tree, i, TITLE_CHARS_MAX, unseen));
    if (text.length < 3) continue;
    if (tag === "h1") h1s.push(text);
    else if (h2s.length === 0) h2s.push(text);
  }

  const found = new Map<string, { text: string; from: Set<string> }>();
  const add = (text: string | null | undefined, from: string): void => {
    const clean = text ? headed(text).slice(0, TITLE_CHARS_MAX) : "";
    if (clean.length < 3) return;
    const key = folded(clean);
    const known = found.get(key);
    if (known) known.from.add(from);
    else found.set(key, { text: clean, from: new Set([from]) });
  };
  h1s.forEach((text, n) => add(text, n === 0 ? "h1" : "h1+"));
  h1s.forEach((text, n) => add(withoutSite(text, site), n === 0 ? "h1 cut" : "h1+ cut"));
  add(h2s[0], "h2");
  for (const [said, from] of [
    [og, "og"],
    [tree.title, "title"],
    [headline, "ld"],
    [twitter, "twitter"],
    [cited, "cited"],
  ] as const) {
    if (!said) continue;
    const text = said.slice(0, DECLARED_CHARS_MAX);
    // What the title element says is text; elsewhere markup was written into a value.
    const whole = from === "title" ? text : unmarked(text);
    add(whole, from);
    add(withoutSite(whole, site), `${from} cut`);
    if (from !== "og" && from !== "title") continue;
    const parts = whole.split(SEPARATORS);
    if (parts.length < 3) continue;
    add(parts[0], `${from} first`);
    add(parts.slice(0, -2).join(""), `${from} but last`);
    add(parts.filter((_, n) => n % 2 === 0).toSorted((a, b) => b.length - a.length)[0], `${from} longest`);
    add(parts.slice(2).join(""), `${from} but first`);
  }

  const wholeTitle = letters(tree.title);
  const wholeOg = letters(og ?? "");
  const headingsSaid = h1s.map(letters);
  const { slug } = site;
  const isShop = kind === "product" || kind === "collection" || kind === "listing";
  const isService = kind === "service";
  const opening = headingsSaid[0] ?? "";
  return [...found.values()].map(({ text, from }) => {
    const bare = letters(text);
    const is = (name: string): number => Number(from.has(name));
    const words = text.split(/\s+/).length;
    const isHeading = from.has("h1") || from.has("h1+");
    const features: Record<string, number> = {
      h1: is("h1"),
      h1_alone: Number(isHeading && h1s.length === 1),
      h1_article: Number(isHeading && isArticle),
      h1_later: Number(!from.has("h1") && from.has("h1+")),
      h1_cut: Number((from.has("h1 cut") || from.has("h1+ cut")) && !isHeading),
      h2: is("h2"),
      h2_no_h1: Number(from.has("h2") && h1s.length === 0),
      og: is("og"),
      og_cut: is("og cut"),
      og_article: Number(from.has("og cut") && isArticle),
      title: is("title"),
      title_cut: is("title cut"),
      title_first: is("title first"),
      title_but_last: is("title but last"),
      title_longest: is("title longest"),
      title_but_first: is("title but first"),
      og_first: is("og first"),
      og_but_last: is("og but last"),
      og_longest: is("og longest"),
      og_but_first: is("og but first"),
      ld: is("ld"),
      ld_article: Number(from.has("ld") && isArticle),
      twitter: Number(from.has("twitter") || from.has("twitter cut")),
      cited: is("cited"),
      in_title: Number(wholeTitle.includes(bare)),
      in_og: Number(wholeOg !== "" && wholeOg.includes(bare)),
      in_heading: Number(headingsSaid.some((said) => said.includes(bare))),
      has_heading: Number(headingsSaid.some((said) => said.length > 5 && bare.includes(said))),
      heading_in_title: Number(isHeading && wholeTitle.includes(bare)),
      heading_alike: isHeading ? alike(text, folded(`${tree.title} ${og ?? ""}`)) : 0,
      site: Number(isSite(text, site)),
      ends_with_site: Number(SEPARATORS.test(text) && isSitePart(text.split(SEPARATORS).at(-1)!, site)),
      separated: Number(SEPARATORS.test(text)),
      barred: Number(/\s[|»]\s/.test(text)),
      short: Number(text.length < 6),
      long: Number(text.length > 120),
      one_word: Number(words === 1),
      two_words: Number(words === 2),
      many_words: Math.min(words, 16) / 16,
      sources: Math.min(from.size, 6) / 6,
      loud: Number(text === text.toUpperCase() && /\p{Lu}{2}/u.test(text)),
      sentence: Number(/[.!]$/.test(text)),
      shop_h1: Number(isShop && from.has("h1")),
      shop_title_cut: Number(isShop && from.has("title cut")),
      shop_title_first: Number(isShop && from.has("title first")),
      shop_og_cut: Number(isShop && from.has("og cut")),
      service_h1: Number(isService && from.has("h1")),
      service_title_cut: Number(isService && from.has("title cut")),
      service_title_first: Number(isService && from.has("title first")),
      service_og_cut: Number(isService && from.has("og cut")),
      service_in_title: Number(isService && wholeTitle.includes(bare)),
      service_words: isService ? Math.min(words, 16) / 16 : 0,
      shop_words: isShop ? Math.min(words, 16) / 16 : 0,
      forum_h1: Number(kind === "forum" && from.has("h1")),
      documentation_h1: Number(kind === "documentation" && from.has("h1")),
      begins_title: Number(wholeTitle.startsWith(bare)),
      begins_og: Number(wholeOg !== "" && wholeOg.startsWith(bare)),
      begins_with_h1: Number(opening.length > 5 && bare.startsWith(opening) && bare !== opening),
      title_length: wholeTitle === "" ? 0 : Math.min(bare.length / wholeTitle.length, 2),
      title_length_heading:
        !isHeading || wholeTitle === "" ? 0 : Math.min(bare.length / wholeTitle.length, 2),
      all_title: Number(from.has("title cut") && (from.has("og cut") || from.has("twitter cut"))),
      agreed: Number(isHeading && (from.has("og cut") || from.has("title cut") || from.has("title first"))),
      brand_inside: Number(site.labels.some((label) => bare.includes(label))),
      home: Number(slug.length === 0 && isHeading),
      home_title: Number(slug.length === 0 && (from.has("title cut") || from.has("og cut"))),
      slug_said: share(slug, (word) => bare.includes(word)),
      says_slug: alike(text, slug),
      slug_heading: isHeading ? alike(text, slug) : 0,
      slug_rich: slug.length < 3 ? 0 : share(slug, (word) => bare.includes(word)),
    };
    return { text, features: Object.values(features) };
  });
}

/** Which of a page's candidates is its title. */
export type ChooseTitle = (candidates: readonly TitleCandidate[]) => string | null;

/** The likeliest by these weights; null when there is none. */
export const likeliest =
  (weights: readonly number[]): ChooseTitle =>
  (candidates) => {
    let best: string | null = null;
    let most = -Infinity;
    for (const { text, features } of candidates) {
      const score = features.reduce((sum, feature, n) => sum + feature * weights[n]!, 0);
      if (score <= most) continue;
      most = score;
      best = text;
    }
    return best;
  };

export const likeliestTitle: ChooseTitle = likeliest(TITLE_WEIGHTS);
