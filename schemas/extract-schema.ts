/**
 * The JSON Schema that a caller gives for values of a page: a closed part of the language, in which each value has a place of its own.
 * References, alternatives and patterns are not in it: what a schema costs to check is bounded by its size.
 */
export interface ValueSchema {
  readonly type: LeafType | readonly LeafType[] | "object" | "array" | readonly ["object" | "array", "null"];
  readonly properties?: Readonly<Record<string, ValueSchema>>;
  readonly required?: readonly string[];
  readonly items?: ValueSchema;
  readonly enum?: readonly unknown[];
  readonly format?: (typeof FORMATS)[number];
}
type LeafType = "string" | "number" | "integer" | "boolean" | "null";

const SCHEMA_CHARS = 20_000;
const PLACES_MAX = 200;
const LEVELS_MAX = 6;
const ENUM_MAX = 100;
const TYPES = ["string", "number", "integer", "boolean", "object", "array", "null"];
const FORMATS = ["date", "date-time", "uri"] as const;
const BOUNDS = ["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"];
const WORDS = [
  ..."type properties required items additionalProperties enum format title description".split(" "),
  ...BOUNDS,
];

/** The type of a value beside null. */
export const typeOf = ({ type }: ValueSchema): string =>
  typeof type === "string" ? type : (type.find((one) => one !== "null") ?? "null");

export const takesNull = ({ type }: ValueSchema): boolean =>
  type === "null" || type.includes("null" as never);

/** The mistake in a schema; null: there is none. */
export function valueSchemaMistake(schema: unknown): string | null {
  if (JSON.stringify(schema).length > SCHEMA_CHARS) return `schema has more than ${SCHEMA_CHARS} characters`;
  const mistake = placeMistake(schema, "schema", 1, { places: 0 });
  if (mistake !== null) return mistake;
  return typeOf(schema as ValueSchema) === "object" ? null : "schema is of another type than object";
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function placeMistake(schema: unknown, at: string, level: number, found: { places: number }): string | null {
  if (!isRecord(schema)) return `${at} is no object`;
  if (level > LEVELS_MAX) return `${at} is more than ${LEVELS_MAX} levels deep`;
  if ((found.places += 1) > PLACES_MAX) return `schema has more than ${PLACES_MAX} places`;
  const unknown = Object.keys(schema).find((word) => !WORDS.includes(word));
  if (unknown !== undefined)
    return `${at} has ${JSON.stringify(unknown.slice(0, 60))}, which is not supported: a schema has ${WORDS.join(", ")}`;
  return typeMistake(schema["type"], at) ?? wordMistake(schema, at) ?? innerMistake(schema, at, level, found);
}

function typeMistake(type: unknown, at: string): string | null {
  const types: unknown[] = Array.isArray(type) ? type : [type];
  const beside = types.filter((one) => one !== "null");
  const isKnown = types.every((one) => typeof one === "string" && TYPES.includes(one));
  return isKnown && beside.length === 1 && types.length <= 2
    ? null
    : `${at} needs a type: one of ${TYPES.slice(0, -1).join(", ")}, or an array of one of them and "null"`;
}

function wordMistake(schema: Record<string, unknown>, at: string): string | null {
  const { enum: values, format, title, description, additionalProperties: more } = schema;
  if (values !== undefined && (!Array.isArray(values) || values.length === 0 || values.length > ENUM_MAX))
    return `${at}.enum is no array of 1 to ${ENUM_MAX} values`;
  if (format !== undefined && !(FORMATS as readonly unknown[]).includes(format))
    return `${at}.format is none of ${FORMATS.join(", ")}`;
  if (more !== undefined && more !== false)
    return `${at}.additionalProperties is not false: values have the names of the schema`;
  const text = [title, description].find((one) => one !== undefined && typeof one !== "string");
  if (text !== undefined) return `${at} has a title or description that is no text`;
  const bound = BOUNDS.find((word) => schema[word] !== undefined && !Number.isFinite(schema[word]));
  return bound === undefined ? null : `${at}.${bound} is no number`;
}

function innerMistake(
  schema: Record<string, unknown>,
  at: string,
  level: number,
  found: { places: number },
): string | null {
  const type = typeOf(schema as unknown as ValueSchema);
  const { properties, required = [], items } = schema;
  if (type === "array") return placeMistake(items, `${at}.items`, level + 1, found);
  if (type !== "object") return null;
  if (!isRecord(properties) || Object.keys(properties).length === 0) return `${at} has no properties`;
  const names = Object.keys(properties);
  if (names.includes("__proto__")) return `${at} has the property "__proto__"`;
  if (!Array.isArray(required) || required.some((name) => !names.includes(name as string)))
    return `${at}.required names what is not in its properties`;
  for (const [name, inner] of Object.entries(properties)) {
    const mistake = placeMistake(inner, `${at}.${name.slice(0, 60)}`, level + 1, found);
    if (mistake !== null) return mistake;
  }
  return null;
}
