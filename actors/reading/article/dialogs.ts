/** Dialogs that a page shows on top of itself: consent, terms, help, definitions. */
import type { Line } from "./lines.ts";
import { namedLike, type Page } from "./marks.ts";
import { nodesWithin, type Tree } from "./tree.ts";

/** Dialogs that hold more of the text are what the page is about. */
const TEXT_SHARE = 1 / 3;

/** Elements in which consent to cookies is asked for, by the programs in wide use and by what sites call their own. */
const NAMED_CONSENT =
  / (?:onetrust|cookiebot|cybotcookiebot\w*|didomi|usercentrics|qc cmp2|truste|klaro|gdpr|cookie ?(?:consent|banner|bar|notice|law|popup|modal|dialog|settings|preferences)|consent (?:banner|bar|popup|modal|dialog)) /;
/** An element that holds more of the page's characters is no dialog on top of it. */
const CONSENT_SHARE_MAX = 0.9;

/** 1 for each line in which consent to cookies is asked for. They are often longer than a short page's text. */
export function findConsent({ tree, names, text }: Page, lines: readonly Line[]): Uint8Array {
  if (!names.words.some((words) => NAMED_CONSENT.test(words))) return new Uint8Array(lines.length);
  const isNamed = namedLike(names, NAMED_CONSENT);
  const inside = nodesWithin(tree, (i) => isNamed(i) && text[i]! < CONSENT_SHARE_MAX * text[0]!);
  return Uint8Array.from(lines, ({ node }) => inside[node]!);
}

/** Names of dialogs with what the law asks a site to say. */
const NAMED_LEGAL = / (?:privacy|terms|legal|disclaimer|imprint) /;

/** 1 for each line in a dialog with a site's terms, by its name or because the footer opens it. They are often longer than the page's text. */
export function findLegalDialogs({ tree, names }: Page, lines: readonly Line[]): Uint8Array {
  const isLegal = namedLike(names, NAMED_LEGAL);
  const inFooter = nodesWithin(tree, (i) => tree.tag[i] === "footer");
  const inside = nodesWithin(tree, (i) => isDialog(tree, i) && (inFooter[i] === 1 || isLegal(i)));
  return Uint8Array.from(lines, ({ node }) => inside[node]!);
}

/** The lines picked without those in dialogs, unless a third of the text or more is in dialogs. `sizes` in words. */
export function outsideDialogs(
  tree: Tree,
  lines: readonly Line[],
  sizes: readonly number[],
  picked: readonly boolean[],
): readonly boolean[] {
  const inside = nodesWithin(tree, (i) => isDialog(tree, i));
  if (!inside.includes(1)) return picked;
  let [all, covered] = [0, 0];
  for (const [i, { node }] of lines.entries()) {
    if (!picked[i]) continue;
    all += sizes[i]!;
    if (inside[node]) covered += sizes[i]!;
  }
  return covered >= TEXT_SHARE * all ? picked : picked.map((is, i) => is && !inside[lines[i]!.node]);
}

function isDialog(tree: Tree, node: number): boolean {
  const role = tree.attributes[node]?.["role"];
  return tree.tag[node] === "dialog" || role === "dialog" || role === "alertdialog";
}
