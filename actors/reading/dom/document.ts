/**
 * A page as the elements that a browser would make of it, for CSS selectors: article/tree.ts keeps only what it needs for text. Its
 * functions do not recurse: pages nest elements as deep as they like.
 */
import { type Cheerio, type CheerioAPI, load } from "cheerio";

export type Elements = CheerioAPI;
export type AnyNode =
  ReturnType<CheerioAPI["root"]> extends Cheerio<infer Root>
    ? Root extends { children: (infer Node)[] }
      ? Node
      : never
    : never;
export type Element = Extract<AnyNode, { readonly attribs: object }>;

export const elementsOf = (html: string): Elements => load(html);

export const isElement = (node: AnyNode): node is Element => "attribs" in node;
type Text = Extract<AnyNode, { readonly data: string }>;
const TEXT_NODE: number = 3;
export const isText = (node: AnyNode): node is Text => node.nodeType === TEXT_NODE;

/** The elements below a node, in the page's order. */
export function elementsIn(root: AnyNode): Element[] {
  const found: Element[] = [];
  const stack = "children" in root ? root.children.toReversed() : [];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (isElement(node)) found.push(node);
    if ("children" in node)
      for (let at = node.children.length - 1; at >= 0; at -= 1) stack.push(node.children[at]!);
  }
  return found;
}

const VOID = new Set("area base br col embed hr img input link meta param source track wbr".split(" "));
/** Their text has no character references. */
const RAW = new Set("style script xmp iframe noembed noframes plaintext noscript".split(" "));

/** HTML of nodes, one after the other. */
export function htmlOf(nodes: readonly AnyNode[]): string {
  const parts: string[] = [];
  const stack: (AnyNode | string)[] = nodes.toReversed();
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    if (typeof next === "string") parts.push(next);
    else if (isText(next)) parts.push(isRaw(next.parent) ? next.data : escaped(next.data));
    else if (isElement(next)) {
      const { name, attribs, children } = next;
      const attributes = Object.entries(attribs).map(([key, value]) => ` ${key}="${quoted(value)}"`);
      parts.push(`<${name}${attributes.join("")}>`);
      if (VOID.has(name)) continue;
      stack.push(`</${name}>`, ...children.toReversed());
    } else if ("children" in next) stack.push(...next.children.toReversed());
  }
  return parts.join("");
}

const isRaw = (parent: AnyNode["parent"]): boolean =>
  parent !== null && isElement(parent) && RAW.has(parent.name);
const escaped = (text: string): string => text.replace(/[&<>]/g, (mark) => MARKS[mark]!);
export const quoted = (text: string): string => text.replace(/[&"]/g, (mark) => MARKS[mark]!);
const MARKS: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
