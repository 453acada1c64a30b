/** A batch's body read in pieces: it comes to what JSON.parse comes to, whatever it is. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { scanItems } from "../../gateway/json-array-scanner.ts";

const MAX = 1_000;
let breaths = 0;
const scan = (body: string | Buffer, most = MAX) =>
  scanItems(Buffer.from(body), most, async () => void breaths++);

async function read(body: string): Promise<unknown> {
  const scanned = await scan(body);
  if (scanned.kind === "wrong") return scanned.detail.map(({ type }) => type).join();
  const { head, count, read: item } = scanned.value;
  const items = Array.from({ length: count }, (_, index) => item(index));
  const isReplaced = Array.isArray((head as { items?: unknown } | null)?.items);
  return isReplaced ? { ...(head as object), items } : head;
}

describe("a body", () => {
  test.each([
    ['{"items":[]}'],
    ['{"items":[{"url":"a"},{"url":"b"}],"idempotency_key":"k"}'],
    [' { "idempotency_key" : "k" , "items" : [ 1 , "two, ]}" , [3,[4]] , {"five":{"six":[]}} ] } '],
    ['{"items":["a\\"]","\\\\",""],"x":"[\\\\\\"]"}'],
    ['{"items":{"0":1}}'],
    ['{"nested":{"items":[1,2]},"items":[true,null,-1.5e3]}'],
    ['{"\\u0069tems":[1]}'],
    ["[1,2]"],
    ['"items"'],
    ["null"],
    ["{}"],
  ])("%s is what it is", async (body) => {
    expect(await read(body)).toEqual(JSON.parse(body));
  });

  test.each([
    [""],
    ["{"],
    ['{"items":['],
    ['{"items":[1'],
    ['{"items":[1]'],
    ['{"items":[1]}}'],
    ['{"items":[1] "x":2}'],
    ['{"items" [1]}'],
    ["{items:[1]}"],
    ['{"items":["a]}'],
    ["{'items':[1]}"],
  ])("%s is refused", async (body) => {
    expect(await read(body)).toMatch(/^(json_invalid|missing)$/);
  });

  test.each([
    ['{"items":[1],"items":[2,3]}', ["items"]],
    ['{"items":[1],"items":null}', ["items"]],
    ['{"items":[1],"\\u0069tems":"none"}', ["items"]],
    ['{"n\\u00e9e":1,"née":2,"items":[1]}', ["née"]],
    ['{"items":[1],"x":{"y":[0,{"z":1,"z":1}]}}', ["x", "y", 1, "z"]],
  ])("%s has a name twice: %j", async (body, path) => {
    expect(await scan(body)).toMatchObject({ kind: "wrong", detail: [{ loc: ["body", ...path] }] });
  });

  test("with a name twice within an item says so when the item is read", async () => {
    const scanned = await scan('{"items":[{"url":"a"},{"url":"a","url":"b"}]}');
    const { read: item } = (scanned as Extract<typeof scanned, { kind: "read" }>).value;
    expect(item(0)).toEqual({ url: "a" });
    expect(() => item(1)).toThrow(expect.objectContaining({ path: ["url"] }));
  });

  test("with a mistake within an item says so when the item is read", async () => {
    const scanned = await scan('{"items":[{"a":1},{"a":},{"a":3}]}');
    const { count, read: item, offset } = (scanned as Extract<typeof scanned, { kind: "read" }>).value;
    expect([count, item(2), offset(1)]).toEqual([3, { a: 3 }, 18]);
    expect(() => item(1)).toThrow(SyntaxError);
  });

  test.each(['{"items":[1,]}', '{"items":[,1]}', '{"items":[1,,2]}'])(
    "%s has an empty item",
    async (body) => {
      const scanned = await scan(body);
      const { count, read: item } = (scanned as Extract<typeof scanned, { kind: "read" }>).value;
      expect(() => Array.from({ length: count }, (_, index) => item(index))).toThrow(SyntaxError);
    },
  );

  test("that is no UTF-8 is refused, and a byte order mark is not", async () => {
    expect(await scan(Buffer.from([0x7b, 0xff, 0x7d]))).toMatchObject({ kind: "wrong" });
    expect(await read('\uFEFF{"items":["é"]}')).toEqual({ items: ["é"] });
  });

  test("too long to be explained is refused all the same", async () => {
    expect(await scan(`{"items":["${"x".repeat(2 ** 21)}`)).toMatchObject({
      kind: "wrong",
      detail: [{ type: "json_invalid" }],
    });
  });

  test("has all its items counted, though no more are remembered than may be", async () => {
    const scanned = await scan(JSON.stringify({ items: Array.from({ length: 50 }, (_, n) => n) }), 10);
    expect((scanned as Extract<typeof scanned, { kind: "read" }>).value.count).toBe(50);
  });

  test("lets others be served while it is read", async () => {
    breaths = 0;
    await scan(JSON.stringify({ items: Array.from({ length: 500 }, () => "x".repeat(10_000)) }));
    expect(breaths).toBeGreaterThanOrEqual(4);
  });
});

test("any JSON gives the result of JSON.parse", async () => {
  const spaced = fc.tuple(fc.jsonValue(), fc.constantFrom(undefined, 1, "\t"));
  const bodies = fc
    .record({ before: fc.jsonValue(), items: fc.array(fc.jsonValue()), after: fc.jsonValue() })
    .chain((body) => fc.constantFrom(undefined, 2).map((indent) => JSON.stringify(body, null, indent)));
  await fc.assert(
    fc.asyncProperty(bodies, async (body) => {
      expect(await read(body)).toEqual(JSON.parse(body));
    }),
    { numRuns: 300 },
  );
  await fc.assert(
    fc.asyncProperty(spaced, async ([value, indent]) => {
      const body = JSON.stringify({ items: [value] }, null, indent);
      expect(await read(body)).toEqual(JSON.parse(body));
    }),
    { numRuns: 300 },
  );
});
