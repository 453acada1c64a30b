/** Shapes that several resources share. */
import {
  type Static,
  type TObject,
  type TObjectOptions,
  type TProperties,
  type TSchema,
  Type,
} from "typebox";

/** A schema with null allowed. The sentence and the example of a field are those of the field that may be null. */
export const Nullable = <S extends TSchema>(schema: S) =>
  baseOf(schema) === schema
    ? Type.Union([schema, Type.Null()])
    : describedAs(Type.Union([baseOf(schema) as S, Type.Null()]), schema);

/** An object that is a component of the API document, under its name. */
export const Component = <P extends TProperties>(
  title: string,
  properties: P,
  options: TObjectOptions = {},
) => Type.Object(properties, { ...options, title });

/** The property of a field that holds the schema it was made from. */
const BASE = "~base";

/**
 * A field with its sentence, which ends without a full stop, and an example where none follows from the schema. A null sentence:
 * the schema has one of its own. What is described is a copy, so a schema that several fields share is the same in each of them.
 */
export const Field = <S extends TSchema>(schema: S, sentence: string | null, example?: unknown): S =>
  describedAs(schema, {
    ...(sentence !== null && { description: sentence }),
    ...(example !== undefined && { examples: [example] }),
  });

function describedAs<S extends TSchema>(
  schema: S,
  { description, examples }: { readonly description?: string; readonly examples?: readonly unknown[] },
): S {
  const copy = Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema)) as S;
  Object.defineProperty(copy, BASE, { value: baseOf(schema), enumerable: false });
  return Object.assign(copy, {
    ...(description !== undefined && { description }),
    ...(examples !== undefined && { examples }),
  });
}

/** The schema that a field was made from; the schema itself where it is no field. */
export const baseOf = (schema: TSchema): TSchema => (schema as { readonly [BASE]?: TSchema })[BASE] ?? schema;

/** A text that fits a pattern. `expected` is the message of the 422 for one that does not: "Input should be …". */
export const Patterned = (
  pattern: string,
  expected: string,
  options: { readonly maxLength?: number; readonly description?: string } = {},
) => Type.String({ ...options, pattern, "x-expected": expected });

/** ISO 8601 in UTC, as `2026-11-22T10:30:00.000Z`. */
export const Timestamp = Type.String({ format: "date-time" });

/** ISO 3166-1 alpha-2, in either case. */
export const CountryCode = Patterned(
  "^[A-Za-z]{2}$",
  "Input should be a two-character country code (ISO 3166-1), such as de",
);

/** How an answered request is billed. */
export const BILLING_CATEGORIES = [
  "search",
  "search_fallback",
  "search_cached",
  "fetch_own",
  "fetch_paid",
  "fetch_cached",
  "company",
  "company_cached",
  "filings",
  "filings_cached",
  "profiles",
  "profiles_cached",
] as const;

export const BillingCategory = Type.Enum([...BILLING_CATEGORIES]);

/** Lower-case hexadecimal SHA-256. */
export const Sha256 = Patterned(
  "^[0-9a-f]{64}$",
  "Input should be a SHA-256 of 64 hexadecimal digits in lower case",
);

/** Some of an object's properties. */
export const picked = <P extends TProperties, K extends keyof P>(properties: P, names: readonly K[]) =>
  Object.fromEntries(names.map((name) => [name, properties[name]])) as Pick<P, K>;

const EMPTY_VALUES: Readonly<Record<string, () => unknown>> = {
  array: () => [],
  object: () => ({}),
  integer: () => 0,
  number: () => 0,
  boolean: () => false,
  string: () => "",
};

/** An object without values: null where it may be, else nothing, zero or false; fields that may be absent are. */
export function emptyOf<P extends TProperties>(object: TObject<P>): Static<TObject<P>> {
  const { properties, required = [] } = object as { properties: P; required?: readonly string[] };
  const fields = required.map((name) => {
    const { anyOf = [], type = "string" } = properties[name] as {
      readonly anyOf?: readonly { readonly type?: string }[];
      readonly type?: string;
    };
    return [name, anyOf.some((each) => each.type === "null") ? null : EMPTY_VALUES[type]!()];
  });
  return Object.fromEntries(fields) as Static<TObject<P>>;
}

/** An enumeration with a name of its own in the API document: clients switch over it, and the compiler names the missing case. */
export const Words = (title: string, words: readonly string[]) =>
  Type.Unsafe<string>({ type: "string", enum: [...words], title });

/** Every JSON object that answers a request has this field where there is something to tell. */
export const Warnings = Type.Optional(
  Field(
    Type.Array(Type.String()),
    "Only if there are any: what could not be done as it was asked, or is not known, as sentences",
    ['unknown field "timeout"; did you mean "timeout_s"?'],
  ),
);

export const ProjectRef = Field(
  Nullable(Type.String({ maxLength: 500 })),
  "A word of the client's own, which the ledger of requests shows again",
  "customer-4711",
);

/**
 * A code, or null: one of the words, or one that a pattern describes, as `http_404`. In the API document the words are an
 * enumeration of their own.
 */
export const NullableCode = (words: TSchema, patterns: readonly string[] = []) =>
  Type.Unsafe<string | null>({
    anyOf: [words, ...patterns.map((pattern) => ({ type: "string", pattern })), { type: "null" }],
  });

/** A union of objects, told apart by a property that has another word in each of them. */
export const OneOf = (title: string, property: string, members: readonly TObject[]) =>
  Type.Unsafe<object>({ title, oneOf: members, discriminator: { propertyName: property } });
