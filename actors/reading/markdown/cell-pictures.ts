/** Words for cells that have pictures and no text: the pictures' own words, and "Yes" or "No" for ticks and crosses. */
import type { Icon, Tree } from "../article/tree.ts";

const WORDS_CHARS_MAX = 200;
/** Nodes of a cell that are looked at. */
const NODES_MAX = 40;
/** Names of classes and files, without what comes before and behind them in sets of icons. */
const YES = new Set("check checkmark checked tick ticked yes ok true ✓ ✔ ✅".split(" "));
const NO = new Set("cross crossed xmark x times close cancel no false ✕ ✖ ✗ ✘ ❌ ×".split(" "));
const BEFORE_NAME = new Set(
  "fa fas far circle square icon icons ico dashicons glyphicon bi mdi lucide ti ri la svg img green red gray grey black white blue".split(
    " ",
  ),
);
const BEHIND_NAME = new Set(
  "icon icons mark marks circle square solid regular bold thick light fill filled alt green red gray grey black white blue small large lg sm".split(
    " ",
  ),
);

/** "" when no picture of the cell says anything. */
export function pictureWords(tree: Tree, cell: number): string {
  const found = new Set<string>();
  const stop = Math.min(tree.end[cell]!, cell + NODES_MAX);
  for (let i = cell + 1; i < stop; i += 1) {
    const attributes = tree.attributes[i];
    if (!attributes) continue;
    const label = attributes["alt"] ?? attributes["aria-label"] ?? attributes["title"] ?? "";
    const isImage = tree.tag[i] === "img";
    add(found, isImage || tree.end[i] === i + 1 ? label : "", [
      attributes["class"] ?? "",
      isImage ? fileName(attributes["src"] ?? "") : "",
    ]);
  }
  for (const { classes, label } of iconsWithin(tree, cell)) add(found, label, [classes]);
  return [...found].join(", ").slice(0, WORDS_CHARS_MAX).toWellFormed();
}

function add(found: Set<string>, label: string, names: readonly string[]): void {
  const said = label.trim();
  const words = said === "" ? tickOf(names.join(" ").split(/\s+/)) : tickOf([said]) || said;
  if (words !== "") found.add(words);
}

function tickOf(names: readonly string[]): "Yes" | "No" | "" {
  for (const name of names) {
    const bare = bareName(name.toLowerCase());
    if (YES.has(bare)) return "Yes";
    if (NO.has(bare)) return "No";
  }
  return "";
}

function bareName(name: string): string {
  const words = name.split(/[-_ ]+/);
  let [from, to] = [0, words.length];
  while (from < to - 1 && BEFORE_NAME.has(words[from]!)) from += 1;
  while (to > from + 1 && (BEHIND_NAME.has(words[to - 1]!) || /^\d{1,4}$/.test(words[to - 1]!))) to -= 1;
  return words.slice(from, to).join("-");
}

const fileName = (address: string): string => /([^/]{1,100})\.\w{2,4}(?:[?#].*)?$/.exec(address)?.[1] ?? "";

/** Icons stand in the order of the nodes behind them. */
function iconsWithin({ icons, end }: Tree, cell: number): Icon[] {
  let [low, high] = [0, icons.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (icons[middle]!.node <= cell) low = middle + 1;
    else high = middle;
  }
  const found: Icon[] = [];
  for (let at = low; at < icons.length && icons[at]!.node <= end[cell]!; at += 1) found.push(icons[at]!);
  return found;
}
