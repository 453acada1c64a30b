/**
 * Unknown fields and query parameters are not refused, because newer clients may send what this version does not know. The answer
 * names them in X-Service-Warning instead, one header field for each.
 */
import type { TSchema } from "typebox";
import { nearestName } from "./nearest-name.ts";

export const WARNING_HEADER = "X-Service-Warning";
export const MAX_WARNINGS = 10;
/** Names are a client's input: longer ones are cut. */
const MAX_NAME_CHARS = 60;
/** The most elements of a list that are looked at. */
const MAX_ELEMENTS = 100;

interface Node {
  readonly type?: string;
  readonly anyOf?: readonly Node[];
  readonly properties?: Readonly<Record<string, Node>>;
  readonly patternProperties?: object;
  readonly items?: Node;
}

/** Adds a warning for each name in `value` that the schema does not know, once each, up to MAX_WARNINGS. */
export function warnOfUnknownFields(schema: TSchema, value: unknown, warnings: Set<string>): void {
  walk(schema as Node, value, warnings);
}

export function warnOfUnknownParameters(
  known: readonly string[],
  query: string,
  warnings: Set<string>,
): void {
  if (query === "") return;
  for (const name of new URLSearchParams(query).keys())
    if (!known.includes(name)) add(warnings, "query parameter", name, known);
}

/** A word of a list, such as `include`, of which unknown ones are left out. */
export function warnOfUnknownWord(
  parameter: string,
  word: string,
  known: readonly string[],
  warnings: Set<string>,
): void {
  if (!known.includes(word)) add(warnings, `value of ${parameter}`, word, known);
}

function walk(node: Node, value: unknown, warnings: Set<string>): void {
  if (warnings.size >= MAX_WARNINGS || typeof value !== "object" || value === null) return;
  if (node.anyOf) {
    const branches = node.anyOf.filter((branch) => branch.type !== "null");
    if (branches.length === 1) walk(branches[0]!, value, warnings);
  } else if (Array.isArray(value)) {
    if (node.items) for (const each of value.slice(0, MAX_ELEMENTS)) walk(node.items, each, warnings);
  } else if (node.properties && !node.patternProperties) {
    const known = Object.keys(node.properties);
    for (const [name, part] of Object.entries(value)) {
      const child = Object.hasOwn(node.properties, name) ? node.properties[name] : undefined;
      if (child) walk(child, part, warnings);
      else add(warnings, "field", name, known);
    }
  }
}

function add(warnings: Set<string>, what: string, name: string, known: readonly string[]): void {
  if (warnings.size >= MAX_WARNINGS) return;
  const cut = name.slice(0, MAX_NAME_CHARS);
  const near = nearestName(cut, known);
  warnings.add(`unknown ${what} ${quoted(cut)}${near === null ? "" : `; did you mean "${near}"?`}`);
}

/** In quotes, and beyond ASCII with escapes, so that it is a header value whatever the name was. */
const quoted = (name: string): string =>
  JSON.stringify(name).replace(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
