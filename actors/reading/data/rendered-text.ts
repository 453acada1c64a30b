/** The text of an element as a browser shows it: one space between words, one line for each block. Without recursion. */
import { type AnyNode, isElement, isText } from "../dom/document.ts";

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));
const UNSEEN = words("script style template noscript head title iframe object select datalist");
const LINES = words(
  "address article aside br dd details div dt fieldset figcaption footer form header hr legend li main nav option section table tr",
);
const PARAGRAPHS = words("blockquote dl figure h1 h2 h3 h4 h5 h6 ol p pre ul");
const CELLS = words("td th");

/** Nodes and characters that may be looked at: elements inside one another are read once for each, so a page could ask for a square of its size. */
export interface Room {
  nodes: number;
  chars: number;
}

/** Null: the room is used up. */
export function renderedText(
  root: AnyNode,
  room: Room,
  isLeftOut?: (node: AnyNode) => boolean,
): string | null {
  const parts: string[] = [];
  const stack: (AnyNode | string)[] = [root];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    if (typeof next === "string") parts.push(next);
    else if ((room.nodes -= 1) < 0) return null;
    else if (isText(next)) {
      if ((room.chars -= next.data.length) < 0) return null;
      parts.push(next.data.replace(/\s+/g, " "));
    } else if (next === root || !isLeftOut?.(next)) enter(next, root, stack, parts);
  }
  return tidied(parts.join(""));
}

function enter(node: AnyNode, root: AnyNode, stack: (AnyNode | string)[], parts: string[]): void {
  if (!("children" in node)) return;
  const name = isElement(node) ? node.name : "";
  if (node !== root && UNSEEN.has(name)) return;
  const gap = PARAGRAPHS.has(name) ? "\v" : LINES.has(name) ? "\n" : CELLS.has(name) ? " " : "";
  parts.push(gap);
  stack.push(gap);
  for (let at = node.children.length - 1; at >= 0; at -= 1) stack.push(node.children[at]!);
}

/** The largest of the gaps that meet stays: a paragraph, a line, a space. */
const tidied = (text: string): string =>
  text
    .replace(/[ \n\v]+/g, (gaps) => (gaps.includes("\v") ? "\n\n" : gaps.includes("\n") ? "\n" : " "))
    .trim();
