/** Messages on their way: what their receiver gets is what a wire would have brought, whether it is shared or copied. */
import fc from "fast-check";
import { Type } from "typebox";
import { expect, test } from "vitest";
import { tell } from "../../cluster/contracts/contract.ts";
import { allValidatorsOf, measuredSealed, sealed } from "../../cluster/internal/transport/wire.ts";
import { MAX_ENVELOPE_BYTES } from "../../cluster/ports/bus.ts";

const { message: anything } = allValidatorsOf({
  name: "any",
  operations: { say: tell(Type.Unknown()) },
  own: {},
  shard_by: "any",
}).get("say")!;

const isFrozen = (value: unknown): boolean =>
  typeof value !== "object" ||
  value === null ||
  (Object.isFrozen(value) && Object.values(value).every(isFrozen));

/** Of all kinds that JSON leaves as they are, changes, drops or refuses. */
const values = fc.anything({
  withDate: true,
  withMap: true,
  withSet: true,
  withNullPrototype: true,
  withSparseArray: true,
  withTypedArray: true,
  withUnicodeString: true,
});

test("whatever is sent arrives as from a wire, frozen", () => {
  fc.assert(
    fc.property(values, (value) => {
      const text = JSON.stringify(value) as string | undefined;
      const expected: unknown = text === undefined ? value : JSON.parse(text);
      const received = sealed("a value", anything, value);
      expect(received).toEqual(expected);
      if (text === undefined) return;
      expect(JSON.stringify(received)).toBe(JSON.stringify(expected));
      expect(isFrozen(received)).toBe(true);
    }),
  );
});

test("its characters are not fewer than its JSON has before escapes", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const { chars } = measuredSealed("a value", anything, value);
      expect(chars * 6).toBeGreaterThanOrEqual(Buffer.byteLength(JSON.stringify(value)));
    }),
  );
});

test.each([
  ["of plain characters", "x", 1],
  ["that UTF-8 makes longer", "é", 2],
  ["that JSON escapes", "\u0007", 6],
  ["of halves of surrogates, which JSON escapes", "\ud800", 6],
])("a text %s may be as long as the JSON of a message", (_, char, bytes) => {
  const longest = { text: char.repeat(Math.floor((MAX_ENVELOPE_BYTES - 11) / bytes)) };
  expect(sealed("a text", anything, longest)).toEqual(longest);
  const longer = { text: `${longest.text}${char}` };
  expect(() => sealed("a text", anything, longer)).toThrow(
    expect.objectContaining({ code: "message_too_large" }),
  );
});

test("what is JSON as it is is not copied", () => {
  const value = { a: [1, "x", null, { b: true }] };
  expect(sealed("a value", anything, value)).toBe(value);
});

test.each([
  ["a Date", { at: new Date(0) }],
  ["a field that is undefined", { at: undefined }],
  ["a hole", { at: [0, , 1] }], // eslint-disable-line no-sparse-arrays
  ["NaN", { at: NaN }],
  ["a zero below zero", { at: -0 }],
  ["an address", { at: new URL("http://example.org/") }],
])("what has %s is copied, and the sender's stays as it is", (_, value) => {
  expect(sealed("a value", anything, value)).not.toBe(value);
  expect(Object.isFrozen(value)).toBe(false);
});

test("what contains itself is refused", () => {
  const value: { self?: unknown } = {};
  value.self = value;
  expect(() => sealed("a value", anything, value)).toThrow("circular");
});
