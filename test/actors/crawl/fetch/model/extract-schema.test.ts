/** Which JSON Schemas a caller may give: what each refusal names. */
import { expect, test } from "vitest";
import { extractMistake, type ExtractOptions } from "../../../../../schemas/extract.ts";
import { valueSchemaMistake } from "../../../../../schemas/extract-schema.ts";

const object = (properties: object, more: object = {}) => ({ type: "object", properties, ...more });
const deep = (levels: number): object =>
  levels === 0 ? { type: "string" } : object({ a: deep(levels - 1) });

test.each([
  object(
    { name: { type: ["string", "null"], description: "Its name", maxLength: 80 } },
    { required: ["name"] },
  ),
  object({ kind: { type: "string", enum: ["lamp", "wick"] }, at: { type: "string", format: "date" } }),
  object({ items: { type: "array", maxItems: 9, items: object({ n: { type: "integer", minimum: 0 } }) } }),
])("a schema of the supported words: %j", (schema) => {
  expect(valueSchemaMistake(schema)).toBeNull();
});

test.each<[unknown, string]>([
  [{ type: "string" }, "another type than object"],
  [[], "schema is no object"],
  [object({}), "schema has no properties"],
  [object({ a: {} }), "schema.a needs a type"],
  [object({ a: { type: ["string", "number"] } }), "schema.a needs a type"],
  [object({ a: { type: "string", pattern: "(a+)+$" } }), 'schema.a has "pattern"'],
  [object({ a: { $ref: "https://evil.example/" } }), 'schema.a has "$ref"'],
  [object({ a: { type: "string", anyOf: [] } }), 'schema.a has "anyOf"'],
  [object({ a: { type: "string", format: "email" } }), "schema.a.format is none of"],
  [object({ a: { type: "array" } }), "schema.a.items is no object"],
  [object({ a: { type: "string", enum: [] } }), "schema.a.enum is no array"],
  [object({ a: { type: "string", maxLength: "9" } }), "schema.a.maxLength is no number"],
  [object({ a: { type: "string" } }, { required: ["b"] }), "schema.required names"],
  [
    object({ a: { type: "string" } }, { additionalProperties: true }),
    "schema.additionalProperties is not false",
  ],
  [JSON.parse('{"type": "object", "properties": {"__proto__": {"type": "string"}}}'), "__proto__"],
  [deep(6), "more than 6 levels deep"],
  [
    object(Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`a${at}`, { type: "string" }]))),
    "more than 200 places",
  ],
  [object({ a: { type: "string", description: "x".repeat(20_000) } }), "more than 20000 characters"],
])("a schema with a mistake: %#", (schema, mistake) => {
  expect(valueSchemaMistake(schema)).toContain(mistake);
});

const schema = object({ a: { type: "string" } });
test.each<[ExtractOptions, string | null, string]>([
  [{ schema }, "small", "nothing is wrong"],
  [{ schema, prompt: "The lamp", model: "small" }, "small", "nothing is wrong"],
  [{ schema, model: "large" }, "small", 'this service has the model "small", and no "large"'],
  [{ schema }, null, "schema needs a language model, and this service has none"],
  [{}, "small", "one of fields and schema is needed"],
  [{ schema, fields: { a: { selector: "h1" } } }, "small", "and not both"],
  [{ fields: { a: { selector: "h1" } }, prompt: "The lamp" }, "small", "prompt belongs to schema"],
  [{ fields: { a: { selector: "h1" } }, model: "small" }, "small", "model belongs to schema"],
])("what is asked for belongs together: %j of a service with %j", (extract, model, mistake) => {
  expect(extractMistake(extract, model) ?? "nothing is wrong").toContain(mistake);
});
