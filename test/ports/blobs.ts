/** Promises of every bodies adapter (cluster/ports/blobs.ts). */
import { createHash, randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Blobs } from "../../cluster/ports/blobs.ts";
import { type Fault, isInfrastructureFault } from "../../cluster/ports/fault.ts";

const digest = (content: Buffer): string => createHash("sha256").update(content).digest("hex");

export async function whole(content: AsyncIterable<Buffer> | null): Promise<Buffer> {
  if (!content) throw new Error("There is no such body");
  return Buffer.concat(await Array.fromAsync(content));
}

async function* pieces(content: Buffer, bytes: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < content.length; at += bytes) yield content.subarray(at, at + bytes);
}

const line = Buffer.from("<p>The quick brown fox jumps over the lazy dog, again and again.</p>\n");
const text = Buffer.concat(Array.from({ length: 60_000 }, () => line));

export const CONTENTS: readonly [string, Buffer][] = [
  ["nothing", Buffer.alloc(0)],
  ["one byte", Buffer.from([0])],
  ["a short page", Buffer.from("<!doctype html><title>Zürich</title>")],
  ["a page that compresses", text.subarray(0, 40_000)],
  ["bytes that do not", randomBytes(40_000)],
  ["exactly 64 KiB", text.subarray(0, 65_536)],
  ["4 MB that compress", text],
  ["3 MB that do not", randomBytes(3 * 2 ** 20 + 1)],
  ["text that turns into noise", Buffer.concat([text.subarray(0, 100_000), randomBytes(2 ** 20)])],
];

/** Removes it for good, which takes some stores two calls. */
async function removeFully(blobs: Blobs, sha256: string, stored_before_ms?: number): Promise<boolean> {
  return (await blobs.remove(sha256, stored_before_ms)) || blobs.remove(sha256, stored_before_ms);
}

/** Replaces what is stored under the digest, behind the store's back. */
export type Damage = (sha256: string, change: (stored: Buffer) => Buffer) => Promise<void>;

/** Remains of a stored body that a power cut, a disk or another program may leave. */
const DAMAGES: readonly [string, (stored: Buffer) => Buffer][] = [
  ["nothing of", () => Buffer.alloc(0)],
  ["the beginning of", (stored) => stored.subarray(0, Math.floor(stored.length / 2))],
  ["zeroes in the place of", (stored) => Buffer.alloc(stored.length)],
  [
    "one changed byte in",
    (stored) => {
      const changed = Buffer.from(stored);
      changed[stored.length - 3]! ^= 1;
      return changed;
    },
  ],
];

/** `damage`: null where nothing but the store itself can change what is stored. */
export function bodiesSuite(
  open: () => Promise<Blobs>,
  damage: Damage | null,
  given_contents: typeof CONTENTS = CONTENTS,
): void {
  const store = open();

  test.each(given_contents)("gives back %s, byte for byte", async (_, content) => {
    const blobs = await store;
    const stored = await blobs.put(content);
    expect(stored).toEqual({ sha256: digest(content), bytes: content.length });
    expect(await blobs.head(stored.sha256)).toEqual({ bytes: content.length });
    expect((await whole(await blobs.get(stored.sha256))).equals(content)).toBe(true);
  });

  test.each(given_contents)("takes %s in pieces, too, and knows it is the same", async (_, content) => {
    const blobs = await store;
    const stored = await blobs.put(pieces(content, 10_007));
    expect(stored).toEqual(await blobs.put(content));
    expect((await whole(await blobs.get(stored.sha256))).equals(content)).toBe(true);
  });

  test.each(given_contents.filter(([, content]) => content.length > 2))(
    "reads ranges of %s",
    async (_, content) => {
      const blobs = await store;
      const { sha256 } = await blobs.put(content);
      const end = content.length - 1;
      const middle = Math.floor(end / 2);
      for (const [first, last] of [
        [0, 0],
        [end, end],
        [0, end],
        [1, middle],
        [middle, end],
      ] as const) {
        const read = await whole(await blobs.get(sha256, { first, last }));
        expect(read.equals(content.subarray(first, last + 1))).toBe(true);
      }
    },
  );

  test("hands it on in pieces of at most 1 MiB", async () => {
    const blobs = await store;
    const { sha256 } = await blobs.put(text);
    for await (const piece of (await blobs.get(sha256))!) expect(piece.length).toBeLessThanOrEqual(2 ** 20);
  });

  test("lets a reader stop early", async () => {
    const blobs = await store;
    const { sha256 } = await blobs.put(text);
    for await (const piece of (await blobs.get(sha256))!) {
      expect(piece.length).toBeGreaterThan(0);
      break;
    }
    expect((await whole(await blobs.get(sha256))).equals(text)).toBe(true);
  });

  test("is null for a missing blob", async () => {
    const blobs = await store;
    const none = "0".repeat(64);
    expect(await blobs.head(none)).toBeNull();
    expect(await blobs.get(none)).toBeNull();
    expect(await blobs.get(none, { first: 0, last: 0 })).toBeNull();
    expect(await blobs.remove(none)).toBe(false);
  });

  test("stores nothing of content that breaks off, and throws its error", async () => {
    const blobs = await store;
    const started = Buffer.concat([Buffer.from("broken "), text.subarray(0, 200_000)]);
    async function* breaking(): AsyncGenerator<Buffer> {
      yield started;
      throw new RangeError("The origin hung up");
    }
    await expect(blobs.put(breaking())).rejects.toThrow("The origin hung up");
    expect(await blobs.head(digest(started))).toBeNull();
  });

  test("removes", async () => {
    const blobs = await store;
    const { sha256 } = await blobs.put(Buffer.from("to be removed"));
    expect(await removeFully(blobs, sha256)).toBe(true);
    expect(await blobs.head(sha256)).toBeNull();
    expect(await blobs.get(sha256)).toBeNull();
  });

  test("is whole wherever a removal stops", async () => {
    const blobs = await store;
    const content = randomBytes(90_000);
    const { sha256 } = await blobs.put(content);
    if (await blobs.remove(sha256)) return;
    expect(await blobs.head(sha256)).toEqual({ bytes: content.length });
    expect((await whole(await blobs.get(sha256))).equals(content)).toBe(true);
    const range = { first: 10, last: 80_000 };
    expect((await whole(await blobs.get(sha256, range))).equals(content.subarray(10, 80_001))).toBe(true);
    const listed = await Array.fromAsync(blobs.list(sha256.slice(0, 2)));
    expect(listed.filter((one) => one.sha256 === sha256)).toHaveLength(1);
    // Stored again in the middle of it: it stays.
    await blobs.put(content);
    expect(await blobs.remove(sha256, Date.now() - 60_000)).toBe(false);
    expect((await whole(await blobs.get(sha256))).equals(content)).toBe(true);
  });

  test("does not remove what was stored since the time given", async () => {
    const blobs = await store;
    const { sha256 } = await blobs.put(Buffer.from("stored just now"));
    expect(await blobs.remove(sha256, Date.now() - 60_000)).toBe(false);
    expect(await blobs.head(sha256)).not.toBeNull();
    expect(await removeFully(blobs, sha256, Date.now() + 60_000)).toBe(true);
    expect(await blobs.head(sha256)).toBeNull();
  });

  test("lists by the first two digits, with when they were stored", async () => {
    const blobs = await store;
    const before_ms = Date.now();
    const content = [Buffer.from("listed"), text.subarray(0, 90_000), randomBytes(70_000)];
    const stored = await Promise.all(content.map((one) => blobs.put(one)));
    for (const { sha256 } of stored) {
      const listed = await Array.fromAsync(blobs.list(sha256.slice(0, 2)));
      expect(listed.every((one) => one.sha256.startsWith(sha256.slice(0, 2)))).toBe(true);
      const mine = listed.filter((one) => one.sha256 === sha256);
      expect(mine).toHaveLength(1);
      // Some stores know whole seconds only, and some clocks differ a little.
      expect(Math.abs(mine[0]!.stored_ms - before_ms)).toBeLessThan(60_000);
      await removeFully(blobs, sha256);
      expect(
        (await Array.fromAsync(blobs.list(sha256.slice(0, 2)))).some((one) => one.sha256 === sha256),
      ).toBe(false);
    }
  });

  test("stores the same bytes many times at once", async () => {
    const blobs = await store;
    const content = Buffer.concat([Buffer.from("at once "), text.subarray(0, 300_000)]);
    const stored = await Promise.all(
      Array.from({ length: 8 }, (_, n) => blobs.put(n % 2 ? content : pieces(content, 9_999))),
    );
    expect(new Set(stored.map(({ sha256 }) => sha256))).toEqual(new Set([digest(content)]));
    expect((await whole(await blobs.get(digest(content)))).equals(content)).toBe(true);
  });

  describe.each(damage === null ? [] : DAMAGES)("finds %s a stored body", (_, change) => {
    const contents = given_contents.filter(([, content]) => content.length > 100);

    test.each(contents)("when it is read whole: %s", async (_title, content) => {
      const blobs = await store;
      const { sha256 } = await blobs.put(Buffer.concat([content, randomBytes(8)]));
      await damage!(sha256, change);
      const got: Buffer[] = [];
      const reading = async () => {
        for await (const piece of (await blobs.get(sha256)) ?? []) got.push(piece);
      };
      const problem = await reading().then(
        () => "none",
        ({ code }: Fault) => code,
      );
      // A store that sees at once that it is torn counts it as missing.
      expect(["none", "body_damaged"]).toContain(problem);
      // None of it, or less than all of it.
      expect(Buffer.concat(got).length).toBeLessThan(content.length + 8);
    });

    test.each(contents)("when it is stored again, and stores it anew: %s", async (_title, content) => {
      const blobs = await store;
      const again = Buffer.concat([content, randomBytes(8)]);
      for (const stored of [again, pieces(again, 9_999)]) {
        const { sha256 } = await blobs.put(again);
        await damage!(sha256, change);
        await whole(await blobs.get(sha256)).catch(() => {});
        await blobs.put(stored);
        expect((await whole(await blobs.get(sha256))).equals(again)).toBe(true);
        await damage!(sha256, change);
        await blobs.put(Buffer.isBuffer(stored) ? stored : pieces(again, 9_999));
        expect((await whole(await blobs.get(sha256))).equals(again)).toBe(true);
      }
    });
  });

  test("keeps a mark beside the blobs, and replaces it", async () => {
    const blobs = await store;
    expect(await blobs.readMark()).toBeNull();
    await blobs.writeMark({ id: "a", turn: "1" });
    await blobs.writeMark({ id: "a", turn: "2", disputed: true });
    expect(await blobs.readMark()).toEqual({ id: "a", turn: "2", disputed: true });
    const listed = await Promise.all(["aa", "00"].map((digits) => Array.fromAsync(blobs.list(digits))));
    expect(listed.flat().every(({ sha256 }) => /^[0-9a-f]{64}$/.test(sha256))).toBe(true);
  });

  test("knows whether it has any blob", async () => {
    const blobs = await open();
    const { sha256 } = await blobs.put(Buffer.from("the only one"));
    expect(await blobs.isEmpty()).toBe(false);
    await blobs.remove(sha256);
    let isAnyListed = false;
    for (let part = 0; part < 256 && !isAnyListed; part++)
      for await (const _ of blobs.list(part.toString(16).padStart(2, "0"))) isAnyListed = true;
    expect(await blobs.isEmpty()).toBe(!isAnyListed);
  });

  test("answers a ping", async () => {
    await expect((await store).ping()).resolves.toBeUndefined();
  });
}

/** Faults that every blobs adapter throws while its engine cannot be reached; `except` are methods that do not reach it. */
export function blobsFaultSuite(open: () => Promise<Blobs>, except: readonly (keyof Blobs)[] = []): void {
  test("throws the port's fault from every method", async () => {
    const blobs = await open();
    const sha256 = "a".repeat(64);
    const calls: Record<string, () => Promise<unknown>> = {
      put: () => blobs.put(Buffer.from("x")),
      head: () => blobs.head(sha256),
      get: () => blobs.get(sha256),
      remove: () => blobs.remove(sha256),
      list: () => Array.fromAsync(blobs.list("aa")),
      readMark: () => blobs.readMark(),
      writeMark: () => blobs.writeMark({ id: "a", turn: "1" }),
      isEmpty: () => blobs.isEmpty(),
      ping: () => blobs.ping(),
    };
    for (const name of except) delete calls[name];
    const thrown = Object.entries(calls).map(async ([name, call]) => {
      const problem = await call().then(
        () => null,
        (reason: unknown) => reason,
      );
      return [name, isInfrastructureFault(problem) ? problem.code : problem] as const;
    });
    const expected = Object.keys(calls).map((name) => [name, "bodies_unreachable"]);
    expect(await Promise.all(thrown)).toEqual(expected);
  });

  test("passes on an error of the content itself, which is no fault of the store", async () => {
    async function* breaking(): AsyncGenerator<Buffer> {
      yield Buffer.from("x");
      throw new Error("The origin hung up");
    }
    const blobs = await open();
    const problem = await blobs.put(breaking()).catch((reason: unknown) => reason);
    expect(isInfrastructureFault(problem) || String(problem).includes("hung up")).toBe(true);
  });
}
