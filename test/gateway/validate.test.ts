/** 422 replies in FastAPI's form: a table, and shared test vectors where these are present. */
import { existsSync, readFileSync } from "node:fs";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { type TSchema, Type } from "typebox";
import { describe, expect, test } from "vitest";
import {
  explain,
  MAX_MISTAKES,
  pathReader,
  queryReader,
  type ReadResult,
  readJson,
  shape,
} from "../../gateway/validate.ts";
import { CONTENT_FIELDS } from "../../schemas/content.ts";
import { OWN_REQUEST_OPTIONS } from "../../schemas/own-request.ts";
import { VIEW_FIELDS } from "../../schemas/page-view.ts";
import { FetchBody } from "../../schemas/fetch.ts";

const fetchBody = shape(FetchBody);
const detailOf = (read: ReadResult<unknown>) => (read.kind === "wrong" ? read.detail : []);
const read = (bytes: Buffer): ReadResult<unknown> => {
  const parsed = readJson(bytes);
  return parsed.kind === "wrong" ? parsed : fetchBody.read("body", parsed.value);
};

/** Raw body, then where and what for each mistake. */
const MALFORMED: readonly [raw: string, ...mistakes: [loc: string, type: string][]][] = [
  ["", ["body", "missing"]],
  [" ", ["body.1", "json_invalid"]],
  ["{", ["body.1", "json_invalid"]],
  ["}", ["body.0", "json_invalid"]],
  ["[", ["body.1", "json_invalid"]],
  ['{"url"', ["body.6", "json_invalid"]],
  ['{"url":', ["body.7", "json_invalid"]],
  ['{"url":"x"', ["body.10", "json_invalid"]],
  ['{"url":"x",}', ["body.11", "json_invalid"]],
  ["{url:1}", ["body.1", "json_invalid"]],
  ['{"url":"\\x"}', ["body.9", "json_invalid"]],
  ['{"url":01}', ["body.8", "json_invalid"]],
  ['{"url":+1}', ["body.0", "json_invalid"]],
  ['{"url":Infinity}', ["body.0", "json_invalid"]],
  ['{"url":undefined}', ["body.0", "json_invalid"]],
  ['{"url":"x"} trailing', ["body.12", "json_invalid"]],
  ['"at position 5 (line 1 column 6)" x', ["body.34", "json_invalid"]],
  ["x at position 5", ["body.0", "json_invalid"]],
  ["null", ["body", "model_attributes_type"]],
  ["true", ["body", "model_attributes_type"]],
  ["7", ["body", "model_attributes_type"]],
  ['"https://example.org/"', ["body", "model_attributes_type"]],
  ["[]", ["body", "model_attributes_type"]],
  ['[{"url":"https://example.org/"}]', ["body", "model_attributes_type"]],
  ["{}", ["body.url", "missing"]],
  ['{"URL":"https://example.org/"}', ["body.url", "missing"]],
  ['{"url":null}', ["body.url", "string_type"]],
  ['{"url":false}', ["body.url", "string_type"]],
  ['{"url":["https://example.org/"]}', ["body.url", "string_type"]],
  ['{"url":""}', ["body.url", "string_too_short"]],
  [`{"url":"${"x".repeat(8193)}"}`, ["body.url", "string_too_long"]],
  ['{"url":"u","render":null}', ["body.render", "literal_error"]],
  ['{"url":"u","render":"Auto"}', ["body.render", "literal_error"]],
  ['{"url":"u","max_bytes":0}', ["body.max_bytes", "greater_than_equal"]],
  ['{"url":"u","max_bytes":52428801}', ["body.max_bytes", "less_than_equal"]],
  ['{"url":"u","max_bytes":2.5}', ["body.max_bytes", "int_from_float"]],
  ['{"url":"u","max_bytes":"2.0"}', ["body.max_bytes", "int_type"]],
  ['{"url":"u","max_bytes":{}}', ["body.max_bytes", "int_type"]],
  ['{"url":"u","max_bytes":1e400}', ["body.max_bytes", "finite_number"]],
  ['{"url":"u","allow_premium":"false"}', ["body.allow_premium", "bool_type"]],
  ['{"url":"u","allow_premium":0}', ["body.allow_premium", "bool_type"]],
  ['{"url":"u","accept_pdf":"yes"}', ["body.accept_pdf", "bool_type"]],
  ['{"url":"u","accept_pdf":"maybe"}', ["body.accept_pdf", "bool_parsing"]],
  ['{"url":"u","accept_pdf":7}', ["body.accept_pdf", "bool_parsing"]],
  ['{"url":"u","cache_ttl_s":-1}', ["body.cache_ttl_s", "greater_than_equal"]],
  ['{"url":"u","min_text_chars":null}', ["body.min_text_chars", "int_type"]],
  ['{"url":"u","tiers":{}}', ["body.tiers", "list_type"]],
  ['{"url":"u","tiers":["source"]}', ["body.tiers.0", "literal_error"]],
  ['{"url":"u","tiers":[[]]}', ["body.tiers.0", "literal_error"]],
  ['{"url":"u","timeout_s":4.99}', ["body.timeout_s", "greater_than_equal"]],
  ['{"url":"u","timeout_s":1e3}', ["body.timeout_s", "less_than_equal"]],
  ['{"url":"u","timeout_s":" "}', ["body.timeout_s", "float_parsing"]],
  ['{"url":"u","timeout_s":"1e2"}', ["body.timeout_s", "float_type"]],
  ['{"url":"u","country":"d"}', ["body.country", "string_pattern_mismatch"]],
  ['{"url":"u","country":"DE\\n"}', ["body.country", "string_pattern_mismatch"]],
  ['{"url":"u","user_agent":1}', ["body.user_agent", "string_type"]],
  ['{"url":"u","include_html":"no"}', ["body.include_html", "bool_type"]],
  [
    '{"url":"","render":1,"tiers":[0]}',
    ["body.url", "string_too_short"],
    ["body.render", "literal_error"],
    ["body.tiers.0", "literal_error"],
  ],
];

describe("a body that does not fit", () => {
  test.each(MALFORMED)("%j", (raw, ...mistakes) => {
    expect(detailOf(read(Buffer.from(raw))).map(({ loc, type }) => [loc.join("."), type])).toEqual(mistakes);
  });

  test.each(["fc", "c080", "eda080", "e282", "f4908080"])("that is no UTF-8: %s", (hex) => {
    const raw = Buffer.from(`7b2275726c223a22${hex}227d`, "hex");
    expect(detailOf(read(raw))).toEqual([
      { loc: ["body", 0], msg: "JSON decode error", type: "json_invalid" },
    ]);
  });

  test("is never quoted back", () => {
    const secret = "s3cr3t-of-a-customer";
    for (const raw of [secret, `{"url":"${secret}`, `{"url":"u","render":"${secret}"}`])
      expect(JSON.stringify(detailOf(read(Buffer.from(raw))))).not.toContain(secret);
  });

  test("is explained up to a limit", () => {
    const many = { url: "u", tiers: Array.from({ length: 5_000 }, () => "x") };
    expect(detailOf(fetchBody.read("body", many))).toHaveLength(MAX_MISTAKES);
  });

  test("is refused even where the walker has no words for it", () => {
    const odd = shape(Type.Object({ a: Type.Array(Type.Integer(), { contains: { const: 9 } }) }));
    expect(detailOf(odd.read("body", { a: [1, 1] }))).toMatchObject([{ loc: ["body"], type: "value_error" }]);
  });

  test("is explained by the walker exactly when the compiled check fails", () => {
    const part = fc.oneof(
      fc.constantFrom(
        null,
        true,
        0,
        1,
        -1,
        5,
        20.5,
        150,
        "auto",
        "direct",
        "",
        "DE",
        "5",
        [],
        ["direct"],
        ["x"],
        {},
      ),
      fc.string({ maxLength: 3 }),
      fc.double(),
    );
    const names = Object.keys(FetchBody.properties);
    const bodies = fc.oneof(part, fc.dictionary(fc.constantFrom(...names), part, { maxKeys: 6 }));
    fc.assert(
      fc.property(bodies, (body) => {
        expect(explain(FetchBody, "body", body).length === 0).toBe(fetchBody.fits(body));
      }),
      { numRuns: 5_000 },
    );
  });
});

describe("a body that fits", () => {
  test.each(['{"url":"u","colour":"red"}', '{"url":"u","max_bytes":20.0}', '\ufeff{"url":"u"}'])(
    "%j",
    (raw) => {
      expect(read(Buffer.from(raw)).kind).toBe("read");
    },
  );
});

const Page = Type.Object({
  include: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  offset: Type.Optional(Type.Integer({ minimum: 0, default: 0 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 100 })),
  status: Type.Optional(
    Type.Union([Type.Enum(["pending", "queued", "done", "failed", "cancelled"]), Type.Null()]),
  ),
});

describe("a query", () => {
  const readPage = queryReader(Page);

  test("becomes what its schema says, defaults filled in", () => {
    expect(readPage("limit=5&limit=7&status=done")).toEqual({
      kind: "read",
      value: { offset: 0, limit: 7, status: "done" },
    });
  });

  const Words = Type.Object({ on: Type.Boolean(), ratio: Type.Number(), ids: Type.Array(Type.Integer()) });
  test("reads booleans, numbers and lists", () => {
    expect(queryReader(Words)("on=1&ratio=.5&ids=3&ids=4")).toEqual({
      kind: "read",
      value: { on: true, ratio: 0.5, ids: [3, 4] },
    });
    expect(detailOf(queryReader(Words)("on=2&ratio=x")).map(({ type }) => type)).toEqual([
      "bool_parsing",
      "float_parsing",
      "missing",
    ]);
  });

  test("counts mistakes at query, a path's at path", () => {
    expect(detailOf(readPage("limit=0"))).toMatchObject([{ loc: ["query", "limit"] }]);
    const readId = pathReader(Type.Object({ id: Type.Integer() }));
    expect(readId({ id: "7" })).toEqual({ kind: "read", value: { id: 7 } });
    expect(detailOf(readId({ id: "x" }))).toMatchObject([{ loc: ["path", "id"], type: "int_parsing" }]);
  });
});

/** Without defaults, and without what only messages and people read. */
const plain = (schema: unknown) =>
  JSON.stringify(schema, (key, value) =>
    key === "default" ||
    key === "description" ||
    key === "examples" ||
    key === "title" ||
    key.startsWith("x-")
      ? undefined
      : value,
  );

const SHARED = "../shared/fixtures/gateway/validation-422.json";

describe.skipIf(!existsSync(SHARED))(`the shared vectors (${SHARED})`, () => {
  const vectors = existsSync(SHARED) ? JSON.parse(readFileSync(SHARED, "utf8")) : { schemas: {} };
  const shapes = new Map(
    Object.entries(vectors.schemas as Record<string, TSchema>).map(([name, schema]) => [name, shape(schema)]),
  );

  test("of bodies", () => {
    expect(vectors.bodies.length).toBeGreaterThan(70);
    for (const { id, schema, body, repeat, detail } of vectors.bodies) {
      const value = repeat ? { [repeat.field]: repeat.text.repeat(repeat.times) } : body;
      expect([id, detailOf(shapes.get(schema)!.read("body", value))]).toEqual([id, detail]);
    }
  });

  test("of queries and paths", () => {
    for (const { id, query, detail } of vectors.queries)
      expect([id, detailOf(queryReader(Page)(query))]).toEqual([id, detail]);
    const paths: Record<string, TSchema> = {
      "GET /v1/bodies/{sha256}": Type.Object({ sha256: Type.String({ pattern: "^[0-9a-f]{64}$" }) }),
      "DELETE /v1/alerts/{alert_id}": Type.Object({ alert_id: Type.Integer() }),
    };
    for (const { route, value, detail } of vectors.paths) {
      const name = /\{(\w+)\}/.exec(route)![1]!;
      expect(detailOf(pathReader(paths[route]!)({ [name]: value }))).toEqual(detail);
    }
  });

  test("of raw bodies, but for a name given twice, which is refused since", () => {
    const once = vectors.raw_bodies.filter(({ id }: { id: string }) => !id.startsWith("same name twice"));
    expect(once).toHaveLength(vectors.raw_bodies.length - 1);
    for (const { id, body_hex, detail } of once)
      expect([id, detailOf(read(Buffer.from(body_hex, "hex")))]).toEqual([id, detail]);
  });

  test("the schemas of the vectors are ours, but for fields that came later", () => {
    const {
      formats: _,
      fields: _f,
      wait_for: _w,
      screenshot_options: _s,
      archive: _a,
      ...described
    } = FetchBody.properties;
    const { allow_premium: _p, ...known } = described;
    const later = Object.keys({ ...CONTENT_FIELDS, ...OWN_REQUEST_OPTIONS, ...VIEW_FIELDS });
    const properties = Object.fromEntries(Object.entries(known).filter(([name]) => !later.includes(name)));
    expect(plain({ ...FetchBody, properties })).toBe(plain(vectors.schemas.FetchBody));
  });
});
