/**
 * Bytes, queries and paths to values that fit a schema, or to the list of everything wrong with them in
 * FastAPI's words (notes on 422: pydantic's types and messages). The compiled check decides; the walker only
 * explains, after the check said no. It knows nothing of HTTP: http-errors.ts makes the 422.
 */
import { isUtf8 } from "node:buffer";
import type { Static, TSchema } from "typebox";
import { compiled } from "../cluster/contracts/compiled.ts";
import { duplicateKey } from "./duplicate-keys.ts";
import { Test as fitsFormat } from "typebox/format";

/** A mistake: its place, a message and pydantic's name for it. It never repeats the input, which may be long and private. */
export interface Mistake {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
}

export type ReadResult<T> =
  | { readonly kind: "read"; readonly value: T }
  | { readonly kind: "wrong"; readonly detail: readonly Mistake[] };

/** Where a value came from: the first element of every loc. */
export type InputSource = "body" | "query" | "path" | "header";

/** A longer list of mistakes does not help a client, and a body of 50,000 items could have 50,000. */
export const MAX_MISTAKES = 100;

const wrong = (...detail: Mistake[]): { kind: "wrong"; detail: readonly Mistake[] } => ({
  kind: "wrong",
  detail,
});

/** A JSON document from its bytes: UTF-8 only, one leading byte order mark dropped. */
export function readJson(bytes: Buffer): ReadResult<unknown> {
  if (bytes.length === 0) return wrong({ loc: ["body"], msg: "Field required", type: "missing" });
  if (!isUtf8(bytes)) return wrong(unreadable(0));
  const marked = bytes.length >= 3 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  const content = bytes.toString("utf8", marked ? 3 : 0);
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch (problem) {
    return wrong(unreadable(offsetOf((problem as SyntaxError).message, content)));
  }
  const duplicate = duplicateKey(content, value);
  return duplicate ? wrong(givenTwice(["body", ...duplicate])) : { kind: "read", value };
}

/** An object has this name twice. */
export const givenTwice = (loc: Mistake["loc"]): Mistake => ({
  loc,
  msg: "Value error, the name is given more than once",
  type: "value_error",
});

const unreadable = (offset: number): Mistake => ({
  loc: ["body", offset],
  msg: "JSON decode error",
  type: "json_invalid",
});

/** V8 quotes the body in its message, so nothing but the offset is taken from it, and only from the message's end. */
function offsetOf(message: string, content: string): number {
  if (message === "Unexpected end of JSON input") return content.length;
  const at = / at position (\d+) \(line \d+ column \d+\)$/.exec(message);
  return at ? Number(at[1]) : 0;
}

/** A compiled schema: whether a value fits, and everything that is wrong with one that does not. */
export interface Shape<T> {
  readonly fits: (value: unknown) => boolean;
  readonly read: (source: InputSource, value: unknown) => ReadResult<T>;
}

export function shape<S extends TSchema>(schema: S): Shape<Static<S>> {
  const validator = compiled(schema as TSchema);
  const fits = (value: unknown): boolean => validator.check(value);
  return {
    fits,
    read(source, value) {
      if (fits(value)) return { kind: "read", value: value as Static<S> };
      const detail = explain(schema, source, value);
      // The walker does not know every word of JSON Schema. What it cannot name is wrong all the same.
      return wrong(...(detail.length > 0 ? detail : [notAllowed([source])]));
    },
  };
}

const notAllowed = (loc: Mistake["loc"]): Mistake => ({
  loc,
  msg: "Value error, input has none of the allowed shapes",
  type: "value_error",
});

/** JSON Schema as the walker reads it: TypeBox objects are just that. */
interface Node {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Node[];
  readonly properties?: Readonly<Record<string, Node>>;
  readonly required?: readonly string[];
  readonly patternProperties?: Readonly<Record<string, Node>>;
  readonly items?: Node;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  /** Description, for people, of a text that fits the pattern. */
  readonly "x-expected"?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly multipleOf?: number;
  readonly default?: unknown;
}

/** Everything wrong with a value, in the order of the schema, at most MAX_MISTAKES. */
export function explain(schema: TSchema, source: InputSource, value: unknown): readonly Mistake[] {
  const mistakes: Mistake[] = [];
  walk(schema as Node, value, [source], mistakes);
  return mistakes;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function walk(node: Node, value: unknown, loc: (string | number)[], mistakes: Mistake[]): void {
  if (mistakes.length >= MAX_MISTAKES) return;
  const report = (type: string, msg: string): void => void mistakes.push({ loc: [...loc], msg, type });
  const inner = (child: Node, name: string | number, part: unknown): void => {
    loc.push(name);
    walk(child, part, loc, mistakes);
    loc.pop();
  };

  if (node.anyOf) {
    const branches = node.anyOf.filter((branch) => branch.type !== "null");
    if (value === null && branches.length < node.anyOf.length) return;
    if (branches.length === 1) return walk(branches[0]!, value, loc, mistakes);
    const mistakesByBranch = branches.map((branch) => {
      const branchMistakes: Mistake[] = [];
      walk(branch, value, [...loc], branchMistakes);
      return branchMistakes;
    });
    if (mistakesByBranch.every((branchMistakes) => branchMistakes.length > 0))
      mistakes.push(notAllowed([...loc]));
    return;
  }
  const words = node.enum ?? ("const" in node ? [node.const] : null);
  if (words) {
    if (!words.includes(value)) report("literal_error", `Input should be ${oneOf(words)}`);
    return;
  }
  switch (node.type) {
    case "object": {
      if (node.patternProperties) {
        if (!isObject(value)) return report("dict_type", "Input should be a valid dictionary");
        const child = Object.values(node.patternProperties)[0]!;
        for (const [name, part] of Object.entries(value)) inner(child, name, part);
        return;
      }
      if (!isObject(value))
        return report(
          "model_attributes_type",
          "Input should be a valid dictionary or object to extract fields from",
        );
      for (const [name, child] of Object.entries(node.properties ?? {})) {
        if (Object.hasOwn(value, name)) inner(child, name, value[name]);
        else if (node.required?.includes(name) && mistakes.length < MAX_MISTAKES)
          mistakes.push({ loc: [...loc, name], msg: "Field required", type: "missing" });
      }
      return;
    }
    case "array": {
      if (!Array.isArray(value)) return report("list_type", "Input should be a valid list");
      const { minItems = 0, maxItems = Infinity, items } = node;
      if (value.length < minItems)
        return report(
          "too_short",
          `List should have at least ${many(minItems, "item")} after validation, not ${value.length}`,
        );
      if (value.length > maxItems)
        return report(
          "too_long",
          `List should have at most ${many(maxItems, "item")} after validation, not ${value.length}`,
        );
      if (node.uniqueItems && new Set(value.map((part) => JSON.stringify(part))).size < value.length)
        return report("value_error", "Value error, list should have no item twice");
      if (items)
        for (let i = 0; i < value.length && mistakes.length < MAX_MISTAKES; i++) inner(items, i, value[i]);
      return;
    }
    case "string":
      return text(node, value, report);
    case "integer": {
      if (value === Infinity || value === -Infinity)
        return report("finite_number", "Input should be a finite number");
      if (typeof value === "number")
        return Number.isInteger(value)
          ? bounds(node, value, report)
          : report("int_from_float", "Input should be a valid integer, got a number with a fractional part");
      // Where pydantic would read the text as a number, the text is only of the wrong kind.
      return typeof value === "string" && !/^\s*[+-]?\d+(\.0*)?\s*$/.test(value)
        ? report("int_parsing", "Input should be a valid integer, unable to parse string as an integer")
        : report("int_type", "Input should be a valid integer");
    }
    case "number": {
      if (typeof value === "number") return bounds(node, value, report);
      return typeof value === "string" && (value.trim() === "" || Number.isNaN(Number(value)))
        ? report("float_parsing", "Input should be a valid number, unable to parse string as a number")
        : report("float_type", "Input should be a valid number");
    }
    case "boolean": {
      if (typeof value === "boolean") return;
      const legible =
        typeof value === "string"
          ? /^(true|false|1|0|on|off|t|f|yes|no|y|n)$/i.test(value)
          : value === 0 || value === 1 || !Number.isInteger(value);
      return legible
        ? report("bool_type", "Input should be a valid boolean")
        : report("bool_parsing", "Input should be a valid boolean, unable to interpret input");
    }
    case undefined:
    default:
      return;
  }
}

type Report = (type: string, msg: string) => void;

function text(node: Node, value: unknown, report: Report): void {
  if (typeof value !== "string") return report("string_type", "Input should be a valid string");
  const { minLength = 0, maxLength = Infinity, pattern, format } = node;
  // Code points, as the compiled check counts; a text of few units cannot have more points.
  const length = value.length <= maxLength && value.length / 2 >= minLength ? null : Array.from(value).length;
  if (length !== null && length < minLength)
    return report("string_too_short", `String should have at least ${many(minLength, "character")}`);
  if (length !== null && length > maxLength)
    return report("string_too_long", `String should have at most ${many(maxLength, "character")}`);
  if (pattern !== undefined && !new RegExp(pattern, "u").test(value))
    return report(
      "string_pattern_mismatch",
      node["x-expected"] ?? `String should match pattern '${pattern}'`,
    );
  if (format !== undefined && !fitsFormat(format, value)) {
    const [type, msg] = FORMATS[format] ?? ["value_error", `Value error, input is no ${format}`];
    report(type, msg);
  }
}

const FORMATS: Readonly<Record<string, readonly [type: string, msg: string]>> = {
  date: ["date_from_datetime_parsing", "Input should be a valid date"],
  "date-time": ["datetime_from_date_parsing", "Input should be a valid datetime or date"],
  uuid: ["uuid_parsing", "Input should be a valid UUID"],
  uri: ["url_parsing", "Input should be a valid URL"],
  "css-selector": ["value_error", "Value error, input should be a CSS selector, such as main > .price"],
  "page-selector": [
    "value_error",
    "Value error, input should be a CSS selector without pseudo-elements and states of a browser, such as main > .price",
  ],
};

function bounds(node: Node, value: number, report: Report): void {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = node;
  if (minimum !== undefined && value < minimum)
    report("greater_than_equal", `Input should be greater than or equal to ${minimum}`);
  else if (maximum !== undefined && value > maximum)
    report("less_than_equal", `Input should be less than or equal to ${maximum}`);
  else if (exclusiveMinimum !== undefined && value <= exclusiveMinimum)
    report("greater_than", `Input should be greater than ${exclusiveMinimum}`);
  else if (exclusiveMaximum !== undefined && value >= exclusiveMaximum)
    report("less_than", `Input should be less than ${exclusiveMaximum}`);
  else if (multipleOf !== undefined && value % multipleOf !== 0)
    report("multiple_of", `Input should be a multiple of ${multipleOf}`);
}

const many = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** 'auto', 'never' or 'always' */
function oneOf(words: readonly unknown[]): string {
  const quoted = words.map((word) => (typeof word === "string" ? `'${word}'` : String(word)));
  return quoted.length === 1 ? quoted[0]! : `${quoted.slice(0, -1).join(", ")} or ${quoted.at(-1)}`;
}

/**
 * Query or path parameters from text: what reads as the schema's type becomes it, the rest stays text so that the
 * check can complain. Absent ones get their default. Of a name given twice the last counts; a list takes all.
 */
export function readTexts<T>(
  schema: TSchema,
  { read }: Shape<T>,
  source: "query" | "path",
  all: (name: string) => readonly string[],
): ReadResult<T> {
  const value: Record<string, unknown> = {};
  for (const [name, child] of Object.entries((schema as Node).properties ?? {})) {
    const texts = all(name);
    if (texts.length > 0) value[name] = fromTexts(child, texts);
    else if (child.default !== undefined) value[name] = child.default;
  }
  return read(source, value);
}

/** A compiled reader for a query string. */
export function queryReader<S extends TSchema>(schema: S): (query: string) => ReadResult<Static<S>> {
  const expected = shape(schema);
  return (query) => {
    const parameters = new URLSearchParams(query);
    return readTexts(schema, expected, "query", (name) => parameters.getAll(name));
  };
}

/** A compiled reader for the parameters of a path, decoded by the router. */
export function pathReader<S extends TSchema>(
  schema: S,
): (parameters: Readonly<Record<string, string>>) => ReadResult<Static<S>> {
  const expected = shape(schema);
  return (parameters) =>
    readTexts(schema, expected, "path", (name) =>
      Object.hasOwn(parameters, name) ? [parameters[name]!] : [],
    );
}

function fromTexts(node: Node, texts: readonly string[]): unknown {
  if (node.anyOf) return fromTexts(node.anyOf.find((branch) => branch.type !== "null") ?? {}, texts);
  if (node.type === "array") return texts.map((part) => fromTexts(node.items ?? {}, [part]));
  const last = texts.at(-1)!;
  const wantsNumber = node.enum ? node.enum.every((word) => typeof word === "number") : false;
  if (node.type === "integer" || wantsNumber) return /^[+-]?\d+$/.test(last) ? Number(last) : last;
  if (node.type === "number")
    return /^[+-]?(\d+(?:\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(last) ? Number(last) : last;
  if (node.type === "boolean") return READS_AS_BOOLEAN.get(last) ?? last;
  return last;
}

const READS_AS_BOOLEAN: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["1", true],
  ["false", false],
  ["0", false],
]);
