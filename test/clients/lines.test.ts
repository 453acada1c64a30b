/** linesOf of @trawl/client: whatever pieces a body comes in. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { linesOf } from "../../clients/typescript/src/lines.ts";

const LONG_MS = 60_000;

const bodyOf = (pieces: readonly Uint8Array[], onCancel = (): void => {}): ReadableStream<Uint8Array> => {
  const left = [...pieces];
  return new ReadableStream({
    pull(controller) {
      const piece = left.shift();
      if (piece) controller.enqueue(piece);
      else controller.close();
    },
    cancel: onCancel,
  });
};

/** Cut after each of these bytes. */
function cut(text: string, places: readonly number[]): readonly Uint8Array[] {
  const bytes = new TextEncoder().encode(text);
  const at = [
    0,
    ...places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b),
    bytes.length,
  ];
  return at.slice(1).map((end, n) => bytes.slice(at[n], end));
}

test("gives every whole line, and leaves out what follows the last line break", async () => {
  // No text has a surrogate alone: JSON is UTF-8.
  const line = fc
    .string({ unit: "grapheme", maxLength: 40 })
    .map((text) => `${text.replaceAll("\n", "")}\u2028\u0085`);
  await fc.assert(
    fc.asyncProperty(
      fc.array(line),
      fc.string({ unit: "grapheme-ascii" }),
      fc.array(fc.nat()),
      async (lines, rest, places) => {
        const text = [...lines, rest.replaceAll("\n", "")].join("\n");
        expect(await Array.fromAsync(linesOf(bodyOf(cut(text, places)), LONG_MS))).toEqual(lines);
      },
    ),
  );
});

test("closes the body of a loop that is left", async () => {
  let cancelled = false;
  const body = bodyOf(cut("a\nb\nc\n", [3]), () => (cancelled = true));
  for await (const line of linesOf(body, LONG_MS)) {
    expect(line).toBe("a");
    break;
  }
  expect(cancelled).toBe(true);
});

test("does not wait for a body that says nothing", async () => {
  const silent = new ReadableStream<Uint8Array>({ pull: () => new Promise(() => {}) });
  await expect(Array.fromAsync(linesOf(silent, 1))).rejects.toThrow("nothing arrived for 1 ms");
});
