/** Dialogs that a page shows on top of itself: consent, terms, help, definitions. */
import type { Line } from "./lines.ts";
import type { Tree } from "./tree.ts";

/** Dialogs that hold more of the text are what the page is about. */
const TEXT_SHARE = 1 / 3;

/** The lines picked without those in dialogs, unless a third of the text or more is in dialogs. `sizes` in words. */
export function outsideDialogs(
  tree: Tree,
  lines: readonly Line[],
  sizes: readonly number[],
  picked: readonly boolean[],
): readonly boolean[] {
  const inside = new Uint8Array(tree.tag.length);
  let found = false;
  for (let i = 1; i < inside.length; i += 1) {
    inside[i] = inside[tree.parent[i]!] || isDialog(tree, i) ? 1 : 0;
    found ||= inside[i] === 1;
  }
  if (!found) return picked;
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
