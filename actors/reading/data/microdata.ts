/**
 * Microdata (HTML Living Standard, "Microdata") in the form of extruct: an item has `type`, `id` and `properties`, a property with one
 * value has it alone. Items in items stand where they belong, and are not listed again.
 */
import type { MicrodataItem } from "../../../schemas/page-data.ts";
import { type AnyNode, type Element, isElement } from "../dom/document.ts";
import { renderedText, type Room } from "./rendered-text.ts";

const ITEMS_MAX = 5_000;
const DEPTH_MAX = 50;
const CHARS_MAX = 1_000_000;
const NODES_MAX = 2_000_000;

interface PageState {
  readonly addressOf: (text: string) => string;
  readonly byId: ReadonlyMap<string, Element>;
  readonly seen: Set<Element>;
  readonly room: Room;
  isShort: boolean;
}

export function microdataOf(
  elements: readonly Element[],
  addressOf: (text: string) => string,
  warn: (warning: string) => void,
): MicrodataItem[] {
  const byId = new Map<string, Element>();
  for (const element of elements) {
    const { id } = element.attribs;
    if (id && !byId.has(id)) byId.set(id, element);
  }
  const room = { nodes: NODES_MAX, chars: CHARS_MAX };
  const page: PageState = { addressOf, byId, seen: new Set(), room, isShort: false };
  const found: MicrodataItem[] = [];
  for (const element of elements)
    if (isScope(element)) {
      const item = itemOf(element, page, 0);
      if (item) found.push(item);
    }
  if (page.isShort)
    warn(
      `structured: microdata beyond ${ITEMS_MAX} items, ${DEPTH_MAX} levels or ${CHARS_MAX} characters is left out`,
    );
  return found;
}

const isScope = ({ attribs }: Element): boolean => attribs["itemscope"] !== undefined;
const isProperty = ({ attribs }: Element): boolean => attribs["itemprop"] !== undefined;
const wordsIn = (text = ""): string[] => text.split(/\s+/).filter((word) => word !== "");

/** Null: it is in another item already, or there is no room for it. */
function itemOf(element: Element, page: PageState, depth: number): MicrodataItem | null {
  if (page.seen.has(element)) return null;
  if (page.seen.size >= ITEMS_MAX || depth >= DEPTH_MAX || page.room.nodes < 0) {
    page.isShort = true;
    return null;
  }
  page.seen.add(element);
  const { itemtype, itemid, itemref } = element.attribs;
  const types = wordsIn(itemtype);
  const referred = wordsIn(itemref).flatMap((id) => page.byId.get(id) ?? []);
  const holders = [
    ...propertiesIn(element.children, page),
    ...referred.flatMap((target) =>
      isScope(target) && isProperty(target) ? [target] : propertiesIn(inReach(target), page),
    ),
  ];
  const properties = new Map<string, unknown[]>();
  for (const holder of holders) {
    const value = valueOf(holder, page, depth);
    if (value === undefined) break;
    for (const name of wordsIn(holder.attribs["itemprop"])) {
      const values = properties.get(name);
      if (values) values.push(value);
      else properties.set(name, [value]);
    }
  }
  return {
    ...(types.length > 0 && { type: types.length === 1 ? types[0]! : types }),
    ...(types.length > 0 && itemid && { id: itemid.trim() }),
    ...(properties.size > 0
      ? { properties: Object.fromEntries([...properties].map(([name, values]) => [name, single(values)])) }
      : { value: textOf(element, page) ?? "" }),
  };
}

const single = (values: readonly unknown[]): unknown => (values.length === 1 ? values[0] : values);

/** A referred element that is an item by itself gives its own properties. */
const inReach = (target: Element): readonly AnyNode[] => (isScope(target) ? target.children : [target]);

/** Elements with properties, in the page's order, not those of items among them. */
function propertiesIn(nodes: readonly AnyNode[], { room }: PageState): Element[] {
  const found: Element[] = [];
  const stack = nodes.toReversed();
  for (let node = stack.pop(); node !== undefined && (room.nodes -= 1) >= 0; node = stack.pop()) {
    if (!isElement(node)) continue;
    if (isProperty(node)) found.push(node);
    if (!isScope(node)) for (const child of node.children.toReversed()) stack.push(child);
  }
  return found;
}

const SOURCE = new Set("audio embed iframe img source track video".split(" "));
const LINK = new Set("a area link".split(" "));

/** Undefined: there is no room for it. */
function valueOf(element: Element, page: PageState, depth: number): unknown {
  if (isScope(element)) return itemOf(element, page, depth + 1);
  const value = plainValueOf(element, page);
  page.room.chars -= typeof value === "string" ? value.length : 0;
  if (page.room.chars >= 0 && value !== undefined) return value;
  page.isShort = true;
  return undefined;
}

function plainValueOf(element: Element, page: PageState): unknown {
  const { name, attribs } = element;
  const { content, itemprop = "", required } = attribs;
  if (name === "meta") return content ?? "";
  if (SOURCE.has(name)) return page.addressOf(attribs["src"] ?? "");
  if (LINK.has(name)) return page.addressOf(attribs["href"] ?? "");
  if (name === "object") return page.addressOf(attribs["data"] ?? "");
  if (name === "data" || name === "meter") return attribs["value"] ?? "";
  if (name === "time") return attribs["datetime"] ?? "";
  if (content) return content;
  if (/-(?:input|output)$/.test(itemprop))
    return {
      ...(required !== undefined && { valueRequired: true }),
      ...(attribs["name"] && { valueName: attribs["name"] }),
    };
  return textOf(element, page);
}

const textOf = (element: Element, { room }: PageState): string | undefined =>
  renderedText(element, room) ?? undefined;
