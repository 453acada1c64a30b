/**
 * Headings that are no text: the page's own, and those whose section was left out. Below such a heading the page has lines, but none of them
 * is text, and the next line of the text is a heading of its level or above. It only leaves lines out.
 */
import { firstText, type Line } from "./lines.ts";
import { isHeading } from "./marks.ts";
import type { Tree } from "./tree.ts";

/** Elements between a text and the heading that contains it. */
const LEVELS_MAX = 12;
/**
 * A likelier heading stays, whatever stands below it: of headings above a section that was left out, and that are no link, 18 of 68 below .35
 * are in the gold texts, 8 of 29 from there to .4 (but 6 of 8 on pages of services), 40 of 88 from there to .5 (out of fold, 1,476 pages).
 */
const KEPT_CHANCE = 0.35;
/** A heading with this share of its characters in links is the title of a card, whose other lines may be no text. */
const CARD_LINK_SHARE = 0.8;

/** The lines read, in their order, without such headings. `chances` are those of score.ts. */
export function withoutHollowHeadings(
  tree: Tree,
  lines: readonly Line[],
  chances: readonly number[],
  read: readonly number[],
): number[] {
  const kept: number[] = [];
  /** The level of the line of the text below, 0 above the end of the text, and 9 for a line that is no heading. */
  let below = 0;
  for (let at = read.length - 1; at >= 0; at -= 1) {
    const i = read[at]!;
    const level = headingLevel(tree, lines[i]!);
    const isEmpty = level < NO_HEADING && below <= level;
    const hasLines = i + 1 < lines.length && read[at + 1] !== i + 1 && !isHeadingLine(tree, lines[i + 1]!);
    const isCard = lines[i]!.link >= CARD_LINK_SHARE;
    if (isEmpty && hasLines && !isCard && chances[i]! < KEPT_CHANCE) continue;
    kept.push(i);
    below = level;
  }
  return kept.toReversed();
}

/**
 * The lines read without the page's own heading, its only `h1`: the title says the same. Of 282 such pages of articles, forums and documentation 18 have
 * it at the beginning of the gold text, of 125 of other kinds 50.
 */
export function withoutOwnHeading(
  lines: readonly Line[],
  read: readonly number[],
  unseen: Uint8Array,
): readonly number[] {
  const headings = lines.flatMap(({ tag, node }, i) => (tag === "h1" && !unseen[node] ? [i] : []));
  return headings.length === 1 && read.length > 1 ? read.filter((i) => i !== headings[0]) : read;
}

const NO_HEADING = 9;

function headingLevel(tree: Tree, line: Line): number {
  let up = firstText(tree, line);
  for (let level = 0; up > 0 && level < LEVELS_MAX; up = tree.parent[up]!, level += 1)
    if (isHeading(tree.tag[up]!)) return Number(tree.tag[up]![1]);
  return NO_HEADING;
}

const isHeadingLine = (tree: Tree, line: Line): boolean => headingLevel(tree, line) < NO_HEADING;
