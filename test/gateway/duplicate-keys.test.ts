/** Names that an object has twice (gateway/duplicate-keys.ts), and what the API says of them. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { duplicateKey } from "../../gateway/duplicate-keys.ts";
import { batches } from "../harness/batch-harness.ts";

const inText = (text: string) => duplicateKey(text, JSON.parse(text));

describe("a text", () => {
  test.each([
    ['{"url":"a","url":"b"}', ["url"]],
    ['{"url":"a","\\u0075rl":"b"}', ["url"]],
    ['{"__proto__":1,"__proto__":2}', ["__proto__"]],
    ['[{"a":1},{"a":[{},{"b":{"c":1,"d":"}{,:","c":2}}]}]', [1, "a", 1, "b", "c"]],
    ['{"a":1,"b":{"a":1},"c":[{"a":1}],"d":"a:\\"a\\":"}', null],
    ['{"":0,"":1}', [""]],
    ['["a","a",":"]', null],
    ['":"', null],
    ["1", null],
  ])("%s: %j", (text, expected) => {
    expect(inText(text)).toEqual(expected);
  });

  test("that nests deeper than the stack is read", () => {
    const deep = `${"[".repeat(5_000)}{"a":1,"a":2}${"]".repeat(5_000)}`;
    expect(inText(deep)).toHaveLength(5_001);
  });

  test("that JSON.stringify wrote has none, and one with a member repeated has that", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ maxLength: 20 }), fc.jsonValue(), { minKeys: 1 }), (object) => {
        const text = JSON.stringify(object);
        expect(inText(text)).toBe(null);
        const [name] = Object.keys(object) as [string];
        expect(inText(`${text.slice(0, -1)},${JSON.stringify(name)}:null}`)).toEqual([name]);
      }),
    );
  });
});

describe("a request with a name twice", () => {
  const MESSAGE = "Value error, the name is given more than once";

  test("is 422 and names it, of a fetch, of a batch and of an item", async () => {
    const { call } = await batches();
    const detailOf = async (path: string, body: string) => {
      const { status, json } = await call("POST", path, { body });
      return [status, json.detail.map(({ loc, msg }: { loc: unknown; msg: string }) => [loc, msg])];
    };
    const url = '"url":"https://example.org/"';
    expect(await detailOf("/v1/fetch", `{${url},${url}}`)).toEqual([422, [[["body", "url"], MESSAGE]]]);
    const batch = "/v1/batch/fetch";
    expect(await detailOf(batch, `{"idempotency_key":"a","items":[{${url}}],"idempotency_key":"b"}`)).toEqual(
      [422, [[["body", "idempotency_key"], MESSAGE]]],
    );
    expect(
      await detailOf(
        batch,
        `{"idempotency_key":"a","items":[{${url}},{${url},"headers":{"a":"1","a":"2"}}]}`,
      ),
    ).toEqual([422, [[["body", "items", 1, "headers", "a"], MESSAGE]]]);
  });

  test("__proto__ is an unknown field as any other, of a fetch and of an item", async () => {
    const { call } = await batches();
    const odd = '{"url":"https://example.org/","__proto__":{"max_bytes":1}}';
    for (const [path, body] of [
      ["/v1/fetch", odd],
      ["/v1/batch/fetch", `{"idempotency_key":"proto","items":[${odd}]}`],
    ] as const)
      expect((await call("POST", path, { body })).headers["x-service-warning"]).toBe(
        'unknown field "__proto__"',
      );
  });
});
