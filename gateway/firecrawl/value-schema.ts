/**
 * A JSON Schema as pydantic and zod write it, in the part of the language that `extract.schema` has: references are replaced by what they
 * name, alternatives with null by a type that takes null. What has no place there stays, and the API refuses it by name.
 */
type Schema = Readonly<Record<string, unknown>>;

/** No effect on a value that is read. */
const NOTES = new Set(["$schema", "$id", "$defs", "definitions", "default", "examples"]);
/** A schema of the API has 200 places; one that refers to itself would have no end. */
const MAX_PLACES = 300;
const MAX_LEVELS = 10;
const REFERENCE = /^#\/(?:\$defs|definitions)\/([^/]+)$/;

const isSchema = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isNull = (schema: unknown): boolean => isSchema(schema) && schema["type"] === "null";

export function valueSchema(schema: Schema): Schema {
  const named = { ...(schema["definitions"] as object), ...(schema["$defs"] as object) } as Schema;
  let places = 0;
  return place(schema, 1);

  function place(given: Schema, level: number): Schema {
    places += 1;
    if (places > MAX_PLACES || level > MAX_LEVELS) return given;
    const { anyOf, oneOf, allOf, const: only, additionalProperties: more, ...words } = resolved(given, level);
    const alternatives = anyOf ?? oneOf;
    const one = only !== undefined && { enum: [only], type: words["type"] ?? typeof only };
    if (Array.isArray(alternatives)) {
      const beside = alternatives.filter((each) => !isNull(each));
      if (beside.length === 1 && isSchema(beside[0])) {
        const inner = place({ ...beside[0], ...words }, level + 1);
        const takesNull = beside.length < alternatives.length && typeof inner["type"] === "string";
        return takesNull ? { ...inner, type: [inner["type"], "null"] } : inner;
      }
    }
    if (Array.isArray(allOf) && allOf.length === 1 && isSchema(allOf[0]))
      return place({ ...allOf[0], ...words }, level + 1);
    const { properties, items } = words;
    return {
      ...without(words),
      ...(alternatives !== undefined && { anyOf: alternatives }),
      ...(allOf !== undefined && { allOf }),
      ...one,
      ...(more !== undefined && more !== true && { additionalProperties: more }),
      ...(isSchema(properties) && {
        ...(words["type"] === undefined && { type: "object" }),
        properties: Object.fromEntries(
          Object.entries(properties).map(([name, inner]) => [
            name,
            isSchema(inner) ? place(inner, level + 1) : inner,
          ]),
        ),
      }),
      ...(isSchema(items) && { items: place(items, level + 1) }),
    };
  }

  function resolved(given: Schema, level: number): Schema {
    const { $ref, ...words } = given;
    const name = typeof $ref === "string" ? REFERENCE.exec($ref)?.[1] : undefined;
    const target = name !== undefined && Object.hasOwn(named, name) ? named[name] : undefined;
    return isSchema(target) && level < MAX_LEVELS ? resolved({ ...target, ...words }, level + 1) : given;
  }
}

const without = (words: Schema): Schema =>
  Object.fromEntries(Object.entries(words).filter(([word]) => !NOTES.has(word)));
