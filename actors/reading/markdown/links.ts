/** Links, images and related pages of a page, with absolute addresses, in document order. */
import type { PageFormats, PageImage, PageLink } from "../../../schemas/fetch.ts";
import type { PageLinks } from "../extraction-result.ts";
import { nodeText, type Tree } from "../article/tree.ts";
import { robotsField } from "../content/page-robots.ts";
import { absolute, baseOf } from "./spans.ts";

export const LINKS_MAX = 5_000;
export const IMAGES_MAX = 1_000;
export const ALTERNATES_MAX = 200;
const TEXT_CHARS_MAX = 500;
const SAID_CHARS_MAX = 100;
const HTTP = /^https?:/;

type IsWanted = (node: number) => boolean;
const all: IsWanted = () => true;

interface Target extends Pick<PageLink, "url" | "rel"> {
  readonly node: number;
}

/** `isWanted`: of a node. Default: all of them. */
export function linksOf(tree: Tree, url: string, isWanted: IsWanted = all): PageLink[] {
  const nothing = new Uint8Array(tree.tag.length);
  return targetsOf(tree, url, isWanted).map(({ node, url: address, rel }) => {
    const shown = nodeText(tree, node, TEXT_CHARS_MAX, nothing);
    // A part of an image map has no content: its words are what stands for the picture.
    const text = shown || (tree.tag[node] === "area" ? (tree.attributes[node]?.["alt"] ?? "").trim() : "");
    return { url: address, text: text.slice(0, TEXT_CHARS_MAX).toWellFormed(), rel };
  });
}

function targetsOf(tree: Tree, url: string, isWanted: IsWanted): Target[] {
  const base = baseOf(tree, url);
  const targets: Target[] = [];
  for (let node = 1; node < tree.tag.length && targets.length < LINKS_MAX; node += 1) {
    if ((tree.tag[node] !== "a" && tree.tag[node] !== "area") || !isWanted(node)) continue;
    const attributes = tree.attributes[node];
    const address = absolute(attributes?.["href"], base, HTTP);
    if (address === null) continue;
    const rel = attributes?.["rel"]?.trim().toLowerCase().toWellFormed();
    targets.push({ node, url: address, rel: rel || null });
  }
  return targets;
}

/** The links that a crawl follows, without what only callers are shown. */
export const followedLinks = (tree: Tree, url: string): PageLinks => ({
  links: targetsOf(tree, url, all).map(({ url: address, rel }) => ({ url: address, rel })),
  alternates: alternatesOf(tree, baseOf(tree, url)),
  robots: robotsOf(tree),
});

/** The next page of a series, by a `link` element or else by a link; and what `link` elements call alternates. */
export function relationsOf(tree: Tree, url: string): NonNullable<PageFormats["relations"]> {
  const base = baseOf(tree, url);
  const next = [...tree.links, ...tree.attributes.filter((_, node) => tree.tag[node] === "a")]
    .filter((attributes) => has(attributes, "next"))
    .map((attributes) => absolute(attributes?.["href"], base, HTTP))
    .find((found) => found !== null);
  return { next_url: next ?? null, alternates: alternatesOf(tree, base), robots: robotsOf(tree) };
}

function alternatesOf(tree: Tree, base: string): NonNullable<PageFormats["relations"]>["alternates"] {
  const alternates = tree.links.flatMap((link) => {
    const isOne = has(link, "alternate") && !has(link, "stylesheet");
    const found = isOne ? absolute(link["href"], base, HTTP) : null;
    return found === null ? [] : [{ url: found, language: said(link["hreflang"]), type: said(link["type"]) }];
  });
  return alternates.slice(0, ALTERNATES_MAX);
}

const has = (attributes: Tree["attributes"][number], word: string): boolean =>
  attributes?.["rel"]?.toLowerCase().split(/\s+/).includes(word) ?? false;

const ROBOTS_MAX = 20;
const ROBOTS_CHARS_MAX = 200;
const ROBOTS_WORDS: ReadonlySet<string> = new Set(
  "all none index noindex follow nofollow noarchive nosnippet noimageindex notranslate".split(" "),
);

/** Directives of robots elements, also of those that are for one robot. */
const robotsOf = ({ metas }: Tree): string[] =>
  metas
    .filter(
      ([name, content]) =>
        name === "robots" || content.split(",").every((word) => ROBOTS_WORDS.has(word.trim().toLowerCase())),
    )
    .slice(0, ROBOTS_MAX)
    .map(([name, content]) => robotsField(name, content.slice(0, ROBOTS_CHARS_MAX).toWellFormed()));

const said = (value: string | undefined): string | null =>
  value?.trim().slice(0, SAID_CHARS_MAX).toWellFormed() || null;

export function imagesOf(tree: Tree, url: string, isWanted: IsWanted = all): PageImage[] {
  const base = baseOf(tree, url);
  const images: PageImage[] = [];
  for (let node = 1; node < tree.tag.length && images.length < IMAGES_MAX; node += 1) {
    if (tree.tag[node] !== "img" || !isWanted(node)) continue;
    const attributes = tree.attributes[node] ?? {};
    // Images that scripts load later have a placeholder in src.
    const address = absolute(attributes["data-src"], base, HTTP) ?? absolute(attributes["src"], base, HTTP);
    if (address === null) continue;
    const alt = attributes["alt"]?.trim().slice(0, TEXT_CHARS_MAX).toWellFormed();
    images.push({
      url: address,
      alt: alt || null,
      width: pixels(attributes["width"]),
      height: pixels(attributes["height"]),
    });
  }
  return images;
}

function pixels(value: string | undefined): number | null {
  const found = /^\s*(\d{1,5})(?:px)?\s*$/i.exec(value ?? "");
  return found ? Number(found[1]) : null;
}
