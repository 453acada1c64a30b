/**
 * Names in a request that its schema does not know, wherever they stand, and which of them change the result under another name. It
 * finds them; warnings.ts decides what is told of them.
 */
import type { TSchema } from "typebox";
import { NAMES_ELSEWHERE, RESULT_OPTIONS } from "../schemas/names-elsewhere.ts";
import { editDistance, nearestName } from "./nearest-name.ts";
import { MAX_MISTAKES, type Mistake } from "./validate.ts";

export interface UnknownName {
  readonly loc: Mistake["loc"];
  /** As a sentence calls it: a field, a query parameter, a value of `include`. */
  readonly what: string;
  readonly name: string;
  /** The name that was probably meant. */
  readonly meant: string | null;
  /** The result would be another one than the caller expects. */
  readonly changesResult: boolean;
}

/** JSON Schema as far as names go. */
interface Node {
  readonly type?: string;
  readonly anyOf?: readonly Node[];
  readonly oneOf?: readonly Node[];
  readonly allOf?: readonly Node[];
  readonly properties?: Readonly<Record<string, Node>>;
  readonly patternProperties?: Readonly<Record<string, Node>>;
  readonly items?: Node;
  readonly const?: unknown;
}

/** Longer names are a client's input, too: their distance to others is not measured. */
const MAX_NAME_CHARS = 60;
/** How far below an object a name is looked for that stands too high. */
const MAX_DEPTH = 2;

/** At most MAX_MISTAKES of a value that fits the schema. `loc`: where the value stands. */
export function unknownFields(schema: TSchema, value: unknown, loc: Mistake["loc"]): UnknownName[] {
  const found: UnknownName[] = [];
  walk([schema as Node], value, loc, found);
  return found;
}

export function unknownParameters(schema: TSchema | null, query: string): UnknownName[] {
  if (query === "") return [];
  const { properties = {} } = (schema ?? {}) as Node;
  const given = [...new URLSearchParams(query).keys()].filter((name) => !Object.hasOwn(properties, name));
  return [...new Set(given)]
    .slice(0, MAX_MISTAKES)
    .map((name) => unknownName("query parameter", ["query", name], [properties]));
}

/** A word of a list, such as `include`, of which unknown ones are left out. */
export const unknownWord = (parameter: string, word: string, known: readonly string[]): UnknownName => ({
  loc: ["query", parameter],
  what: `value of ${parameter}`,
  name: word,
  meant: nearestName(word.slice(0, MAX_NAME_CHARS), known),
  changesResult: false,
});

function walk(nodes: readonly Node[], value: unknown, loc: Mistake["loc"], found: UnknownName[]): void {
  if (found.length >= MAX_MISTAKES || typeof value !== "object" || value === null) return;
  const shapes = nodes.flatMap((node) => alternatives(node, value));
  if (Array.isArray(value)) {
    const items = shapes.flatMap((shape) => shape.items ?? []);
    if (items.length > 0) for (const [at, each] of value.entries()) walk(items, each, [...loc, at], found);
    return;
  }
  const isOpen = shapes.some((shape) => !shape.properties || shape.patternProperties);
  const known = shapes.map(({ properties = {} }) => properties);
  for (const [name, part] of Object.entries(value)) {
    const children = shapes.flatMap((shape) => childrenOf(shape, name));
    if (children.length > 0) walk(children, part, [...loc, name], found);
    else if (!isOpen && found.length < MAX_MISTAKES) found.push(unknownName("field", [...loc, name], known));
  }
}

/** The schemas of objects and lists that a value may be meant by: a union is taken apart, its other kinds left aside. */
function alternatives(node: Node, value: object): readonly Node[] {
  const parts = node.anyOf ?? node.oneOf ?? node.allOf;
  if (parts) return parts.flatMap((part) => alternatives(part, value));
  if (node.type !== undefined && node.type !== (Array.isArray(value) ? "array" : "object")) return [];
  const isMeant = Object.entries(node.properties ?? {}).every(
    ([name, part]) =>
      !("const" in part) ||
      !Object.hasOwn(value, name) ||
      (value as Record<string, unknown>)[name] === part.const,
  );
  return isMeant ? [node] : [];
}

function childrenOf({ properties = {}, patternProperties }: Node, name: string): readonly Node[] {
  if (Object.hasOwn(properties, name)) return [properties[name]!];
  // Every name fits the only pattern that records have.
  return patternProperties ? Object.values(patternProperties) : [];
}

function unknownName(
  what: string,
  loc: Mistake["loc"],
  known: readonly Readonly<Record<string, Node>>[],
): UnknownName {
  const name = String(loc.at(-1));
  const cut = name.slice(0, MAX_NAME_CHARS);
  const names = known.flatMap((properties) => Object.keys(properties));
  const option = resultOption(snakeCase(cut), names, known);
  return { loc, what, name, meant: option ?? nearestName(cut, names), changesResult: option !== null };
}

/** The option that changes the result and is meant by a name that no schema here knows; null: none. */
function resultOption(
  name: string,
  names: readonly string[],
  known: readonly Readonly<Record<string, Node>>[],
): string | null {
  const elsewhere = Object.hasOwn(NAMES_ELSEWHERE, name) ? NAMES_ELSEWHERE[name]! : [];
  const meant = RESULT_OPTIONS.includes(name) ? [name] : elsewhere;
  for (const option of meant) {
    const [first] = option.split(".") as [string];
    const below = known.map((properties) => pathTo(first, properties, 0)).find((path) => path !== null);
    if (below !== undefined) return below + option.slice(first.length);
  }
  return RESULT_OPTIONS.find((option) => names.includes(option) && isMisspelt(name, option)) ?? null;
}

/** Short names are near most others. */
const isMisspelt = (name: string, option: string): boolean =>
  editDistance(name, option) <= (option.length > 5 ? 2 : 1);

/** Where the object with these properties has an option: here, or in an object or list below. */
function pathTo(option: string, properties: Readonly<Record<string, Node>>, depth: number): string | null {
  if (Object.hasOwn(properties, option)) return option;
  if (depth === MAX_DEPTH) return null;
  for (const [name, node] of Object.entries(properties))
    for (const [suffix, below] of objectsOf(node)) {
      const path = pathTo(option, below, depth + 1);
      if (path !== null) return `${name}${suffix}.${path}`;
    }
  return null;
}

/** The properties of the objects that a field may have, with what stands behind its name. */
function objectsOf(node: Node, suffix = ""): readonly (readonly [string, Readonly<Record<string, Node>>])[] {
  const { anyOf, items, properties } = node;
  if (anyOf) return anyOf.flatMap((part) => objectsOf(part, suffix));
  if (items) return objectsOf(items, "[]");
  return properties ? [[suffix, properties]] : [];
}

const snakeCase = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replaceAll("-", "_")
    .toLowerCase();
