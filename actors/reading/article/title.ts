/**
 * Chooses the title of a page: every heading, declaration and part of the title element is a candidate, with features that
 * compare it with the other candidates. The weights of the features are learned (bench/title.train.ts).
 */
import { comparableChars } from "../content/comparable-chars.ts";
import { ARTICLE_TYPES, isLdType, type LdNode, ldText } from "./jsonld.ts";
import type { PageKind } from "./kind.ts";
import { nodeText, type Tree, unmarked } from "./tree.ts";
import { TITLE_WEIGHTS } from "./title-model.ts";

const TITLE_CHARS_MAX = 500;
/** A Han character counts as about three. A shorter title ("Go", "5G") is one that the page says in two places. */
const TITLE_CHARS_MIN = 3;
/** Limit before markup is removed. */
const DECLARED_CHARS_MAX = 2_000;
const MAX_HEADINGS = 8;
/** A link in a heading is searched among this many of its first nodes. */
const LINK_REACH = 20;

const SEPARATORS =
  /((?<!\s)\s+[|/·•»«›‹–—~:]+\s+|(?<!\s)\s+-+\s+|(?:(?<!\s)\s+)?[|｜]\s*|(?<=\p{L}{3}):\s+)/u;
const folded = (text: string): string =>
  text.toLowerCase().replace(/[’‘]/g, "'").replace(/[“”]/g, '"').replace(/\s+/g, " ").trim();

const LETTERS_KNOWN_MAX = 200;
const lettersKnown = new Map<string, string>();

/** Titles and names are compared by their letters and digits. Each of a page's few is compared with all others. */
export function letters(text: string): string {
  const known = lettersKnown.get(text);
  if (known !== undefined) return known;
  const found = folded(text).replace(/[^\p{L}\p{N}]+/gu, "");
  if (lettersKnown.size >= LETTERS_KNOWN_MAX) lettersKnown.clear();
  lettersKnown.set(text, found);
  return found;
}

const windows = new TextDecoder("windows-1252");
/** Bytes whose Windows-1252 characters have other code points than the byte. */
const WINDOWS_BYTES: ReadonlyMap<string, number> = new Map(
  Array.from({ length: 32 }, (_, n) => [windows.decode(Uint8Array.of(128 + n)), 128 + n]),
);

/** Repairs UTF-8 that was decoded as Latin-1 ("donâ€™t"). */
function reread(text: string): string {
  if (!/[\u00c2-\u00f4]\P{ASCII}/u.test(text)) return text;
  const bytes = Array.from(text, (char) => WINDOWS_BYTES.get(char) ?? char.codePointAt(0)!);
  if (bytes.some((byte) => byte > 255)) return text;
  const read = Buffer.from(bytes).toString("utf8");
  return read.includes("\ufffd") ? text : read;
}

/** Emphasis that a template wrote out: "*Treatise* (1792)". */
const EMPHASIS = /(?<![\p{L}\p{N}*])\*(\S[^*]*\S)\*(?![\p{L}\p{N}*])/gu;
/** The label that forum software writes before the title of a thread. */
const THREAD_LABEL = /^(?:thread|topic):\s+(?=\S)/i;

/** "¶" and "#" that headings have for links, and the count of a list's items; "(2026 guide)" is no count. */
const headed = (text: string): string =>
  reread(text)
    .replace(EMPHASIS, "$1")
    .replace(/(?:(?<!\s)\s+)?(?<![¶#])[¶#]+$/, "")
    .replace(/(?:(?<!\s)\s+)?\((?!(?:19|20)\d\d )\d[\d,.]* \p{L}{3,10}\)$/u, "")
    .trim();

export interface Site {
  readonly name: string | null;
  /** The letters of the host, without "www". */
  readonly host: string;
  /** Its parts of four letters or more, without the last. */
  readonly labels: readonly string[];
  /** Words of the last part of the address that has letters. */
  readonly slug: readonly string[];
  readonly address: URL | null;
}

export function siteOf(name: string | null, url: string): Site {
  const address = URL.canParse(url) ? new URL(url) : null;
  const host = address?.hostname.replace(/^www\./, "") ?? "";
  const labels = host.split(".").slice(0, -1).map(letters);
  const last = address?.pathname.split("/").findLast((part) => /[a-z]{3}/i.test(part)) ?? "";
  return {
    name,
    address,
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

/** The last or first part of a title may also begin with the host's name: "Fellwright Outdoor". */
const isSitePart = (text: string, site: Site): boolean =>
  isSite(text, site) ||
  (text.split(/\s+/).length <= 4 && site.labels.some((label) => letters(text).startsWith(label)));

/** A title without the part that names the site. */
function withoutSite(title: string, site: Site): string {
  const parts = title.split(SEPARATORS);
  if (parts.length < 3) return title;
  if (isSitePart(parts.at(-1)!, site)) return parts.slice(0, -2).join("").trim();
  if (isSite(parts[0]!, site)) return parts.slice(2).join("").trim();
  // The part after the last bar is the site, even if it has another name than the host.
  if (/[|｜]/.test(parts.at(-2)!) && parts.at(-1)!.split(" ").length <= 4)
    return parts.slice(0, -2).join("").trim();
  return title;
}

/**
 * The letters of a first heading that names the book or the site: the title element ends with it, and begins with a text
 * of its own. "Ownership - The Rust Programming Language", under the heading "The Rust Programming Language".
 */
function frameName(
  title: string,
  headings: readonly string[],
  declared: string | null,
  site: Site,
): string | null {
  const parts = title.split(SEPARATORS);
  const [separator, last] = [parts.at(-2), parts.at(-1)];
  if (parts.length < 3 || separator!.trim() === ":" || isSitePart(parts[0]!, site)) return null;
  // "News by Example :: Harbour reopens": the site comes first, and the heading is the page's own.
  if (site.labels.some((label) => letters(parts[0]!).includes(label))) return null;
  const name = letters(last!);
  if (name === "" || letters(declared ?? "") === name) return null;
  return headings.some((heading) => letters(heading) === name) ? name : null;
}

export interface TitleCandidate {
  readonly text: string;
  /** In the order of TITLE_WEIGHTS. */
  readonly features: readonly number[];
}

/** How many words of a text, with three letters or more, are in another text or in a set of words. */
function alike(text: string, target: string | readonly string[]): number {
  return share(longWords(text), (word) => target.includes(word));
}

/** How many of the words that alike compares are in the first text only. */
function unlike(text: string, target: string): number {
  const within = folded(target);
  return share(longWords(text), (word) => !within.includes(word));
}

const longWords = (text: string): string[] => folded(text).match(/[\p{L}\p{N}]{3,}/gu) ?? [];

const share = (words: readonly string[], is: (word: string) => boolean): number =>
  words.length === 0 ? 0 : words.filter(is).length / words.length;

/** The first of these meta elements that has a value. */
export type Meta = (...names: readonly string[]) => string | null;

interface TitlePlace {
  /** In a header, a footer, navigation, a margin or a dialog. */
  readonly framed: boolean;
  /** In what the page calls its main part or an article. */
  readonly main: boolean;
  /** A link to another page: a masthead, a teaser. */
  readonly away: boolean;
  /** That page is above this one. */
  readonly homeward: boolean;
}

const FRAME = /^(?:header|nav|footer|aside|dialog)$/;
const FRAME_ROLES = /dialog|banner|navigation/;

/** The target of the link around or in a heading. */
function linkOf(tree: Tree, heading: number): string | undefined {
  const around = tree.parent[heading]!;
  if (tree.tag[around] === "a") return tree.attributes[around]?.["href"];
  for (let i = heading + 1; i < tree.end[heading]! && i < heading + LINK_REACH; i += 1)
    if (tree.tag[i] === "a") return tree.attributes[i]?.["href"];
  return undefined;
}

function placeOf(tree: Tree, heading: number, pageUrl: URL | null): TitlePlace {
  let framed = false;
  let main = false;
  for (let up = tree.parent[heading]!; up > 0; up = tree.parent[up]!) {
    framed ||= FRAME.test(tree.tag[up]!) || FRAME_ROLES.test(tree.attributes[up]?.["role"] ?? "");
    main ||= tree.tag[up] === "main" || tree.tag[up] === "article";
  }
  const href = linkOf(tree, heading);
  if (!pageUrl || !href || !URL.canParse(href, pageUrl.href))
    return { framed, main, away: false, homeward: false };
  const to = new URL(href, pageUrl);
  const above = to.pathname.replace(/index\.\w+$/, "");
  return {
    framed,
    main,
    away: to.pathname !== pageUrl.pathname || to.search !== pageUrl.search,
    homeward: above.length < pageUrl.pathname.length && pageUrl.pathname.startsWith(above),
  };
}

/** A class of the label before a title: "label label--accent", "thread-prefix". */
const LABEL = /(?:^|[\s_-])(?:label|prefix)(?:$|[\s_-])/i;

/** The text of a heading without the label that forum software puts before the title of a thread. */
function headingText(tree: Tree, heading: number, unseen: Uint8Array): string {
  const text = nodeText(tree, heading, TITLE_CHARS_MAX, unseen, "button");
  const stop = Math.min(tree.end[heading]!, heading + LINK_REACH);
  for (let i = heading + 1; i < stop && tree.tag[i] !== "#text"; i += 1) {
    if (!LABEL.test(tree.attributes[i]?.["class"] ?? "")) continue;
    const label = nodeText(tree, i, TITLE_CHARS_MAX, unseen);
    const rest = text.slice(label.length).trim();
    if (label !== "" && text.startsWith(label) && rest.includes(" ")) return rest;
  }
  return text;
}

/** How often each of these texts, compared by letters, is a text of its own outside headings. */
function seenAlone(tree: Tree, unseen: Uint8Array, texts: readonly string[]): ReadonlyMap<string, number> {
  const seen = new Map(texts.map((text) => [letters(text), 0]));
  const lengths = new Set(texts.map(comparableChars));
  for (let i = 1; i < tree.tag.length; i += 1) {
    if (tree.tag[i] === "h1" || tree.tag[i] === "h2") i = tree.end[i]! - 1;
    else if (tree.tag[i] === "#text" && lengths.has(tree.chars[i]!) && !unseen[i]) {
      const bare = letters(tree.text[i]!);
      const times = seen.get(bare);
      if (times !== undefined) seen.set(bare, times + 1);
    }
  }
  return seen;
}

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
  // A label that the title element has, too, belongs to the title.
  const isLabelled = THREAD_LABEL.test(tree.title);
  const cleaned = (text: string): string =>
    isLabelled ? headed(text) : headed(text).replace(THREAD_LABEL, "");
  const h1s: string[] = [];
  let h2: string | null = null;
  const places = new Map<string, TitlePlace>();
  for (let i = 0; i < tree.tag.length && h1s.length < MAX_HEADINGS; i += 1) {
    const tag = tree.tag[i];
    if ((tag !== "h1" && (tag !== "h2" || h2 !== null)) || unseen[i]) continue;
    const text = cleaned(headingText(tree, i, unseen));
    if (letters(text) === "") continue;
    if (tag === "h2") h2 = text;
    else {
      h1s.push(text);
      const key = folded(text);
      if (!places.has(key)) places.set(key, placeOf(tree, i, site.address));
    }
  }

  const candidatesByText = new Map<string, { text: string; from: Set<string> }>();
  const add = (text: string | null | undefined, from: string): void => {
    const clean = text ? cleaned(text).slice(0, TITLE_CHARS_MAX) : "";
    if (letters(clean) === "") return;
    const key = folded(clean);
    const candidate = candidatesByText.get(key);
    if (candidate) candidate.from.add(from);
    else candidatesByText.set(key, { text: clean, from: new Set([from]) });
  };
  h1s.forEach((text, n) => add(text, n === 0 ? "h1" : "h1+"));
  h1s.forEach((text, n) => add(withoutSite(text, site), n === 0 ? "h1 cut" : "h1+ cut"));
  const opened = h1s[0]?.split(SEPARATORS) ?? [];
  if (opened.length > 1) add(opened[0], "h1 first");
  add(h2, "h2");
  for (const [sourceTexts, from] of [
    [og, "og"],
    [tree.title, "title"],
    [headline, "ld"],
    [twitter, "twitter"],
    [cited, "cited"],
  ] as const) {
    if (!sourceTexts) continue;
    const text = sourceTexts.slice(0, DECLARED_CHARS_MAX);
    // The title element contains text; the other values may contain markup.
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
  const headingTexts = h1s.map(letters);
  const seen = seenAlone(
    tree,
    unseen,
    Array.from(candidatesByText.values(), ({ text }) => text),
  );
  const frame = frameName(tree.title, h1s, og, site);
  const isTwice = (from: ReadonlySet<string>): boolean =>
    (from.has("h1") || from.has("og") || from.has("ld")) && (from.has("title") || from.has("title cut"));
  const own = [...candidatesByText.values()].filter(
    ({ text }) => frame === null || !letters(text).endsWith(frame),
  );
  const long = own.filter(({ text, from }) => comparableChars(text) >= TITLE_CHARS_MIN || isTwice(from));
  const inside = long.length > 0 ? long : own.filter(({ from }) => from.has("title") || from.has("h1"));
  const page: TitlePage = {
    title: tree.title,
    og,
    site,
    kind,
    isArticle,
    h1s,
    places,
    seen,
    wholeTitle,
    wholeOg,
    headingTexts,
    allTexts: [wholeTitle, wholeOg, letters(headline ?? ""), letters(twitter ?? ""), ...headingTexts],
    depth: site.address?.pathname.split("/").filter((part) => part !== "").length ?? 0,
  };
  return inside.map(({ text, from }) => ({ text, features: titleFeatures(page, text, from) }));
}

/** The page whose title is chosen, in the forms in which candidates are compared with it. */
interface TitlePage {
  readonly title: string;
  readonly og: string | null;
  readonly site: Site;
  readonly kind: PageKind;
  readonly isArticle: boolean;
  readonly h1s: readonly string[];
  readonly places: ReadonlyMap<string, TitlePlace>;
  readonly seen: ReadonlyMap<string, number>;
  readonly wholeTitle: string;
  readonly wholeOg: string;
  readonly headingTexts: readonly string[];
  readonly allTexts: readonly string[];
  readonly depth: number;
}

/** The features of a candidate, in the order of TITLE_WEIGHTS. */
function titleFeatures(page: TitlePage, text: string, from: ReadonlySet<string>): number[] {
  const {
    title,
    og,
    site,
    kind,
    isArticle,
    h1s,
    places,
    seen,
    wholeTitle,
    wholeOg,
    headingTexts,
    allTexts,
    depth,
  } = page;
  const { slug } = site;
  const isShop = kind === "product" || kind === "collection" || kind === "listing";
  const isService = kind === "service";
  const opening = headingTexts[0] ?? "";
  const isHome = slug.length === 0;
  const bare = letters(text);
  const is = (name: string): number => Number(from.has(name));
  const words = text.split(/\s+/).length;
  const isHeading = from.has("h1") || from.has("h1+");
  const place = isHeading ? places.get(folded(text)) : undefined;
  const features: Record<string, number> = {
    h1: is("h1"),
    h1_alone: Number(isHeading && h1s.length === 1),
    h1_article: Number(isHeading && isArticle),
    h1_later: Number(!from.has("h1") && from.has("h1+")),
    h1_cut: Number((from.has("h1 cut") || from.has("h1+ cut")) && !isHeading),
    h1_first: is("h1 first"),
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
    og_first: is("og first"),
    og_but_last: is("og but last"),
    ld: is("ld"),
    ld_article: Number(from.has("ld") && isArticle),
    twitter: Number(from.has("twitter") || from.has("twitter cut")),
    cited: is("cited"),
    in_title: Number(wholeTitle.includes(bare)),
    in_og: Number(wholeOg !== "" && wholeOg.includes(bare)),
    in_heading: Number(headingTexts.some((heading) => heading.includes(bare))),
    has_heading: Number(headingTexts.some((heading) => heading.length > 5 && bare.includes(heading))),
    heading_in_title: Number(isHeading && wholeTitle.includes(bare)),
    heading_alike: isHeading ? alike(text, folded(`${title} ${og ?? ""}`)) : 0,
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
    service_title_cut: Number(isService && from.has("title cut")),
    service_title_first: Number(isService && from.has("title first")),
    service_og_cut: Number(isService && from.has("og cut")),
    service_in_title: Number(isService && wholeTitle.includes(bare)),
    service_words: isService ? Math.min(words, 16) / 16 : 0,
    shop_words: isShop ? Math.min(words, 16) / 16 : 0,
    forum_h1: Number(kind === "forum" && from.has("h1")),
    begins_title: Number(wholeTitle.startsWith(bare)),
    begins_with_h1: Number(opening.length > 5 && bare.startsWith(opening) && bare !== opening),
    title_length: wholeTitle === "" ? 0 : Math.min(bare.length / wholeTitle.length, 2),
    title_length_heading: !isHeading || wholeTitle === "" ? 0 : Math.min(bare.length / wholeTitle.length, 2),
    all_title: Number(from.has("title cut") && (from.has("og cut") || from.has("twitter cut"))),
    agreed: Number(isHeading && (from.has("og cut") || from.has("title cut") || from.has("title first"))),
    brand_inside: Number(site.labels.some((label) => bare.includes(label))),
    home_title: Number(isHome && (from.has("title cut") || from.has("og cut"))),
    says_slug: alike(text, slug),
    slug_heading: isHeading ? alike(text, slug) : 0,
    slug_all: Number(!isHome && bare === slug.join("")),
    home_whole: Number(isHome && (from.has("title") || from.has("og"))),
    branded: Number(SEPARATORS.test(text) && isSite(text.split(SEPARATORS)[0]!, site)),
    framed: Number(place?.framed ?? false),
    main: Number(place?.main ?? false),
    away: Number(place?.away ?? false),
    homeward: Number(place?.homeward ?? false),
    deep_heading: isHeading ? Math.min(depth, 5) / 5 : 0,
    like_h1: Number(bare === opening && !isHeading),
    said: Math.min(allTexts.filter((each) => each.includes(bare)).length, 5) / 5,
    seen: Math.min(seen.get(bare) ?? 0, 3) / 3,
    sells: Number(/^(?:shop|buy|discover|explore|browse)\b/i.test(text)),
    signs: Number(/[*®™]/.test(text)),
    colon: Number(/:\s/.test(text)),
    unlike_title_cut: isHeading ? unlike(withoutSite(title, site), text) : 0,
    digits: Number(/\d/.test(text)),
  };
  return Object.values(features);
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
