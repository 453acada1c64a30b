/** Schemas of Firecrawl's callers as this service has them, and values of many pages as one object. */
import { describe, expect, test } from "vitest";
import { joined } from "../../gateway/firecrawl/extract.ts";
import { formatWishes } from "../../gateway/firecrawl/formats.ts";
import { valueSchema } from "../../gateway/firecrawl/value-schema.ts";
import { valueSchemaMistake } from "../../schemas/extract-schema.ts";

describe("a schema of theirs", () => {
  test("as pydantic writes it is one that the service takes", () => {
    const schema = valueSchema({
      $defs: {
        Offer: {
          type: "object",
          title: "Offer",
          properties: { price: { anyOf: [{ type: "number" }, { type: "null" }], default: null } },
        },
        Kind: { type: "string", enum: ["lamp", "oil"] },
      },
      type: "object",
      title: "Shop",
      properties: {
        offers: { type: "array", items: { $ref: "#/$defs/Offer" } },
        best: { anyOf: [{ $ref: "#/$defs/Offer" }, { type: "null" }] },
        kind: { allOf: [{ $ref: "#/$defs/Kind" }], description: "What is sold" },
      },
      required: ["offers"],
    });
    const offer = {
      type: "object",
      title: "Offer",
      properties: { price: { type: ["number", "null"] } },
    };
    expect(schema).toEqual({
      type: "object",
      title: "Shop",
      properties: {
        offers: { type: "array", items: offer },
        best: { ...offer, type: ["object", "null"] },
        kind: { type: "string", enum: ["lamp", "oil"], description: "What is sold" },
      },
      required: ["offers"],
    });
    expect(valueSchemaMistake(schema)).toBeNull();
  });

  test("as zod writes it is one that the service takes", () => {
    const schema = valueSchema({
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "object",
      properties: { name: { type: "string", const: "Lamp" }, note: { type: ["string", "null"] } },
      additionalProperties: false,
    });
    expect(schema).toEqual({
      type: "object",
      properties: { name: { type: "string", enum: ["Lamp"] }, note: { type: ["string", "null"] } },
      additionalProperties: false,
    });
  });

  test.each([
    [{ type: "object", properties: { a: { anyOf: [{ type: "string" }, { type: "number" }] } } }, "anyOf"],
    [
      {
        $defs: { Node: { type: "object", properties: { next: { $ref: "#/$defs/Node" } } } },
        $ref: "#/$defs/Node",
      },
      "levels deep",
    ],
    [{ type: "object", properties: { a: { $ref: "#/$defs/None" } } }, "$ref"],
    [
      {
        $defs: Object.fromEntries(
          Array.from({ length: 9 }, (_, n) => [
            `L${n}`,
            {
              type: "object",
              properties: Object.fromEntries(
                Array.from({ length: 9 }, (__, m) => [`p${m}`, { $ref: `#/$defs/L${n + 1}` }]),
              ),
            },
          ]),
        ),
        type: "object",
        properties: { a: { $ref: "#/$defs/L0" } },
      },
      "schema",
    ],
  ])("%# that has no place here stays as it is, for the service to refuse", (schema, word) => {
    expect(valueSchemaMistake(valueSchema(schema))).toContain(word);
  });
});

test.each([
  ["json", "prompt alone"],
  [{ type: "json", prompt: "names" }, "prompt alone"],
])("values without a schema are refused: %j", (format, words) => {
  expect(() => formatWishes([format])).toThrow(words);
});

test("values and attributes of one page are refused together", () => {
  const schema = { type: "object", properties: { a: { type: "string" } } };
  const attributes = { type: "attributes", selectors: [{ selector: "a", attribute: "href" }] };
  expect(() => formatWishes([{ type: "json", schema }, attributes])).toThrow("for one page");
});

test("values of many pages are one object, whose names say which pages they are of", () => {
  const values = joined([
    { url: "a", data: { name: null, offers: [1], constructor: "x" } },
    { url: "b", data: { name: "Lamp", offers: [2, 3], constructor: null } },
    { url: "c", data: { name: "Oil", offers: null, constructor: "y" } },
  ]);
  expect(values).toEqual({
    data: { name: "Lamp", offers: [1, 2, 3], constructor: "x" },
    sources: { name: ["b"], offers: ["a", "b"], constructor: ["a"] },
  });
});
