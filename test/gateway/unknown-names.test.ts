/** Names that a schema does not know, wherever they stand: in lists, records, unions and objects within each other. */
import { type TSchema, Type } from "typebox";
import { describe, expect, test } from "vitest";
import { unknownFields } from "../../gateway/unknown-names.ts";
import { Nullable, OneOf } from "../../schemas/common.ts";
import { CrawlBody } from "../../schemas/crawl.ts";
import { FetchBody } from "../../schemas/fetch.ts";
import { NAMES_ELSEWHERE, RESULT_OPTIONS } from "../../schemas/names-elsewhere.ts";
import { SearchBody } from "../../schemas/search.ts";

const Rule = Type.Object({ selector: Type.String() });
const Click = Type.Object({ type: Type.Literal("click"), selector: Type.String() });
const Wait = Type.Object({ type: Type.Literal("wait"), ms: Type.Integer() });
const unknownIn = (schema: TSchema, value: unknown): unknown[] =>
  unknownFields(schema, value, ["body"]).map(({ loc, meant }) => [loc.slice(1).join("."), meant]);

describe("a name is found", () => {
  test.each<[string, TSchema, unknown, unknown[]]>([
    [
      "in the values of a record, whose own names are free",
      Type.Object({ fields: Type.Record(Type.String(), Rule) }),
      { fields: { price: { selector: "b", selctor: "c" }, any: { selector: "d" } } },
      [["fields.price.selctor", "selector"]],
    ],
    [
      "in the member of a union that the value is",
      Type.Object({ actions: Type.Array(Type.Union([Click, Wait])) }),
      {
        actions: [
          { type: "click", selector: "a" },
          { type: "wait", ms: 1, selector: "b" },
        ],
      },
      [["actions.1.selector", null]],
    ],
    [
      "in a union that is told apart by a word",
      Type.Object({ step: OneOf("Step", "type", [Click, Wait]) }),
      { step: { type: "click", selector: "a", ms: 1 } },
      [["step.ms", null]],
    ],
    [
      "where either shape of a union fits, only what neither has",
      Nullable(Type.Union([Rule, Type.Object({ schema_: Type.String() })])),
      { selector: "a", schema_: "b", x: 1 },
      [["x", null]],
    ],
    [
      "behind the hundredth element of a list",
      Type.Array(Rule),
      Array.from({ length: 150 }, (_, n) => ({ selector: "a", ...(n === 149 && { x: 1 }) })),
      [["149.x", null]],
    ],
  ])("%s", (_, schema, value, expected) => {
    expect(unknownIn(schema, value)).toEqual(expected);
  });

  test("but none where any object is allowed", () => {
    const schema = Type.Object({ schema: Type.Record(Type.String(), Type.Unknown()), any: Type.Unknown() });
    expect(unknownIn(schema, { schema: { a: { b: 1 } }, any: { c: [{ d: 1 }] } })).toEqual([]);
  });

  test("at most a hundred times, however many there are", () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`unknown ${n}`, 1]));
    expect(unknownFields(Rule, many, ["body"])).toHaveLength(100);
  });
});

describe("what changes the result", () => {
  const refusedIn = (schema: TSchema, value: unknown): unknown[] =>
    unknownFields(schema, value, ["body"]).flatMap(({ meant, changesResult }) =>
      changesResult ? [meant] : [],
    );

  test.each<[TSchema, object, string]>([
    [CrawlBody, { formats: ["markdown"] }, "fetch.formats"],
    [CrawlBody, { scrape_options: {} }, "fetch"],
    [CrawlBody, { includePaths: ["/blog"] }, "include"],
    [CrawlBody, { excludes: ["/blog"] }, "exclude"],
    [SearchBody, { time_range: "day" }, "freshness"],
    [SearchBody, { num_results: 3 }, "max_results"],
    [FetchBody, { cookis: [] }, "cookies"],
  ])("%#: is told as the option of this request", (schema, fields, option) => {
    expect(refusedIn(schema, fields)).toEqual([option]);
  });

  test.each<object>([
    { timeout: 1 },
    { constructor: 1, toString: 1 },
    { x: 1 },
    { badly: 1, metadata: 1, url_: 1 },
    { mode: "fast" },
  ])("is not %j, which is only unknown", (fields) => {
    expect(unknownFields(FetchBody, fields, ["body"])).toHaveLength(Object.keys(fields).length);
    expect(refusedIn(FetchBody, fields)).toEqual([]);
  });

  test("has its names in snake case, and every one leads to an option", () => {
    const known = [FetchBody, SearchBody, CrawlBody].flatMap(({ properties }) => Object.keys(properties));
    for (const [name, options] of Object.entries(NAMES_ELSEWHERE)) {
      expect(name).toMatch(/^[a-z_]+$/);
      expect([...known, ...RESULT_OPTIONS]).toEqual(
        expect.arrayContaining(options.map((option) => option.split(".")[0]!)),
      );
    }
  });
});
