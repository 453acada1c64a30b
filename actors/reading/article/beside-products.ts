/**
 * Parts of a product's page that do not describe the product: customers' reviews, which are often longer than its description, and shelves of
 * other products. Told by the names of the programs in wide use, and by those that shops give them. They are doubted and not
 * left out: where a page has little else, they are its text.
 */
import type { Line } from "./lines.ts";
import { namedLike, type Page } from "./marks.ts";
import { nodesWithin } from "./tree.ts";

const REVIEWS =
  "reviews|(?:customer|user) ?reviews?|review ?(?:list|item|text|content|body|card|section)|yotpo|bazaarvoice|bv|trustpilot|judgeme|jdgm|stamped|okendo|powerreviews|loox";
const SHELVES =
  "also (?:like|bought|viewed)|related ?products?|recommend(?:ed|ations?)|upsells?|cross ?sells?|similar ?(?:items|products)|recently ?viewed|frequently ?bought|complete ?the ?look|you ?may";
const NAMED_SHELVES = new RegExp(` (?:${SHELVES}) `);
const NAMED_EITHER = new RegExp(` (?:${REVIEWS}|${SHELVES}) `);
/** With more of the page's characters they are what the page is about, or the name is that of the page. */
const SHARE_MAX = 0.5;
/** Factor of the chances of their lines. */
const BESIDE_FACTOR = 0.3;

/** The factor of each line's chance. With `include_reviews` customers' reviews are text as the product's description is. */
export function besideProducts(
  { tree, names, text }: Page,
  lines: readonly Line[],
  include_reviews: boolean,
): readonly number[] {
  const isNamed = namedLike(names, include_reviews ? NAMED_SHELVES : NAMED_EITHER);
  const isBeside = (node: number): boolean =>
    isNamed(node) || (!include_reviews && tree.attributes[node]?.["itemprop"] === "review");
  const inside = nodesWithin(tree, (i) => isBeside(i) && text[i]! < SHARE_MAX * text[0]!);
  return lines.map(({ node }) => (inside[node] ? BESIDE_FACTOR : 1));
}
