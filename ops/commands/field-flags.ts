/**
 * Flags of a command made of the fields of a request's body: a new field has one, with its sentence as help. A switch that is on by
 * default is turned off (`allow_archive`: `--no-archive`), a list takes commas, an object is JSON. Selectors have commas of their own: the flag is
 * given once for each.
 */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { TObject } from "typebox";

export interface FieldFlag {
  readonly field: string;
  readonly option: Option;
}

/** The format of a CSS selector. */
const SELECTOR = "page-selector";

interface Shape {
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly description?: string;
  readonly items?: Shape;
  readonly anyOf?: readonly Shape[];
}

/** `except`: fields that the command has in a form of its own. */
export const fieldFlags = (
  body: Pick<TObject, "properties">,
  except: readonly string[],
): readonly FieldFlag[] =>
  Object.entries(body.properties)
    .filter(([field]) => !except.includes(field))
    .map(([field, schema]) => ({ field, option: optionOf(field, schema as Shape) }));

export function withFlags(command: Command, flags: readonly FieldFlag[]): Command {
  for (const { option } of flags) command.addOption(option);
  return command;
}

/** The fields that were given; the service has its own defaults for the others. */
export function givenFields(
  flags: readonly FieldFlag[],
  options: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const given = flags.map(
    ({ field, option }) => [field, options[option.attributeName()], option.negate] as const,
  );
  return Object.fromEntries(
    given.filter(([, value, isOff]) => (isOff ? value === false : value !== undefined)),
  );
}

function optionOf(field: string, schema: Shape): Option {
  const shape = valueOf(schema);
  const name = field.replace(/_(?:s|chars|results|selectors)$/, "").replaceAll("_", "-");
  const help = helpOf(schema.description ?? shape.description ?? field, shape);
  if (shape.type === "boolean" && shape !== schema && shape.default === undefined)
    return new Option(`--${name} [word]`, help).preset("true").argParser(switchOf);
  if (shape.type === "boolean")
    return shape.default === true
      ? new Option(`--no-${name.replace(/^(?:accept|allow)-/, "")}`, `off: ${help}`)
      : new Option(`--${name}`, help);
  const words = wordsOf(shape);
  if (words !== null) return new Option(`--${name} <word>`, help).choices(words);
  const option = new Option(`--${name} <${placeholder(field, shape)}>`, help);
  const parse = parserOf(field, shape);
  return parse === null ? option : option.argParser(parse);
}

/** Schema of a nullable field when it is not null. */
function valueOf(schema: Shape): Shape {
  const branches = schema.anyOf?.filter(({ type }) => type !== "null") ?? [];
  return branches.length === 1 ? valueOf(branches[0]!) : schema;
}

function wordsOf({ enum: words, anyOf = [] }: Shape): readonly string[] | null {
  if (words) return words;
  const branches = anyOf.filter(({ type }) => type !== "null").map(wordsOf);
  return branches.length > 0 && branches.every((branch) => branch !== null) ? branches.flat() : null;
}

/** Help of a command begins with a small letter, where the sentence does not begin with an abbreviation. */
function helpOf(sentence: string, { default: preset, items }: Shape): string {
  const text = sentence.replaceAll("`", "").replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase());
  const words = items?.enum ? ` (of ${items.enum.join(", ")})` : "";
  return `${text}${words}${typeof preset === "number" ? ` (default: ${preset})` : ""}`;
}

/** A switch that is neither on nor off by default. */
function switchOf(text: string): boolean {
  if (text === "true" || text === "false") return text === "true";
  throw new InvalidArgumentError("Neither true nor false.");
}

function placeholder(field: string, { type, items }: Shape): string {
  if (field.endsWith("_s")) return "seconds";
  if (field.endsWith("_chars")) return "characters";
  if (type === "integer" || type === "number") return "number";
  if (items?.format === SELECTOR) return "selector";
  if (type === "object" || items?.type === "object") return "json";
  return items ? "list" : "text";
}

function parserOf(field: string, shape: Shape): ((text: string, given: unknown) => unknown) | null {
  const { type, items } = shape;
  if (type === "integer" || type === "number") return (text) => numberOf(text, field, shape);
  if (items?.type === "object") return objectOf;
  if (items?.format === SELECTOR) return (text, given: unknown = []) => [...(given as string[]), text];
  if (items) return (text) => listOf(text, items.enum);
  return type === "object" ? objectOf : null;
}

function numberOf(text: string, field: string, { type, minimum, maximum }: Shape): number {
  const pattern = type === "integer" ? /^\d{1,12}$/ : /^\d{1,12}(?:\.\d+)?$/;
  const value = Number(text);
  const isInRange = value >= (minimum ?? 0) && value <= (maximum ?? Infinity);
  if (pattern.test(text) && isInRange) return value;
  const what = type === "integer" ? "whole number" : "number";
  const unit = field.endsWith("_s") ? " of seconds" : "";
  const range = maximum === undefined ? "" : ` from ${minimum ?? 0} to ${maximum}`;
  throw new InvalidArgumentError(`Not a ${what}${unit}${range}.`);
}

function listOf(text: string, words: readonly string[] | undefined): readonly string[] {
  const given = text.split(",").map((word) => word.trim());
  const unknown = given.find((word) => words && !words.includes(word));
  if (unknown !== undefined) throw new InvalidArgumentError(`"${unknown}" is none of ${words!.join(", ")}.`);
  return given;
}

function objectOf(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value;
  } catch {
    // Text that is no JSON is refused below.
  }
  throw new InvalidArgumentError("Not a JSON object or list.");
}
