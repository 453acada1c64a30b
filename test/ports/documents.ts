/** Promises of every documents adapter (cluster/ports/documents.ts). */
import { expect, test } from "vitest";
import type { Documents } from "../../cluster/ports/documents.ts";
import { isInfrastructureFault } from "../../cluster/ports/fault.ts";

/** `open` gives one store for all tests of the suite; each test keeps to a collection of its own. */
export function documentsSuite(open: () => Promise<Documents>): void {
  const store = open();

  test("is empty until a document is stored, and again when the last one is removed", async () => {
    const documents = await store;
    expect(await documents.isEmpty()).toBe(true);
    await documents.put("empty", "a", 1, 0);
    expect(await documents.isEmpty()).toBe(false);
    await documents.remove("empty", "a", 1);
    expect(await documents.isEmpty()).toBe(true);
  });

  test("gives back what was put, one version on", async () => {
    const documents = await store;
    expect(await documents.get("first", "a")).toBeNull();
    expect(await documents.put("first", "a", { min_delay_ms: 1 }, 0)).toBe(true);
    expect(await documents.get("first", "a")).toEqual({ value: { min_delay_ms: 1 }, version: 1 });
    expect(await documents.put("first", "a", { min_delay_ms: 2 }, 1)).toBe(true);
    expect(await documents.get("first", "a")).toEqual({ value: { min_delay_ms: 2 }, version: 2 });
  });

  test.each([
    ["text", "Zürich\u0000 𝒳"],
    ["a number", 0.1],
    ["a large number", 4_102_444_800_000],
    ["null", null],
    ["false", false],
    ["an empty object", {}],
    ["nested arrays", [[], [{ a: [null, 1] }]]],
    ["names with dots and dollars", { "a.b": 1, $set: { "": 2 } }],
    ["a version of its own", { version: 9, value: "x", _id: "y", v: 3 }],
  ])("keeps %s as it is", async (name, value) => {
    const documents = await store;
    expect(await documents.put("kinds", name, value, 0)).toBe(true);
    expect(await documents.get("kinds", name)).toEqual({ value, version: 1 });
  });

  test("hands out copies", async () => {
    const documents = await store;
    const value = { list: [1] };
    await documents.put("copies", "a", value, 0);
    value.list.push(2);
    const read = (await documents.get("copies", "a"))!;
    (read.value as { list: number[] }).list.push(3);
    expect(await documents.get("copies", "a")).toEqual({ value: { list: [1] }, version: 1 });
  });

  test("keeps collections apart, also where their names and keys meet", async () => {
    const documents = await store;
    await documents.put("apart", "a/b", "one", 0);
    expect(await documents.put("apart/a", "b", "other", 0)).toBe(true);
    expect(await documents.get("apart", "a/b")).toMatchObject({ value: "one" });
  });

  test("lets one of two writers that read the same version win", async () => {
    const documents = await store;
    const race = await Promise.all([
      documents.put("race", "b", "first", 0),
      documents.put("race", "b", "second", 0),
    ]);
    expect(race.filter((won) => won)).toHaveLength(1);
    const winner = race[0] ? "first" : "second";
    expect(await documents.get("race", "b")).toEqual({ value: winner, version: 1 });
    expect(await documents.put("race", "b", "third", 1)).toBe(true);
    expect(await documents.put("race", "b", "late", 1)).toBe(false);
    expect(await documents.put("race", "b", "new again", 0)).toBe(false);
    expect(await documents.get("race", "b")).toEqual({ value: "third", version: 2 });
  });

  test("loses no increment of many at once (atomicCas)", async () => {
    const documents = await store;
    await documents.put("many", "n", 0, 0);
    const adder = async () => {
      for (let done = 0; done < 10;) {
        const { value, version } = (await documents.get("many", "n"))!;
        if (await documents.put("many", "n", (value as number) + 1, version)) done++;
      }
    };
    await Promise.all(Array.from({ length: 8 }, adder));
    expect(await documents.get("many", "n")).toEqual({ value: 80, version: 81 });
  });

  test("answers each writer of a tick whether it won", async () => {
    const documents = await store;
    const keys = Array.from({ length: 100 }, (_, n) => `k${n}`);
    await Promise.all(keys.map((key) => documents.put("tick", key, 1, 0)));
    const second = await Promise.all(
      keys.map((key, n) => documents.put("tick", key, 2, n % 10 === 3 ? 7 : 1)),
    );
    expect(second.filter((won) => !won)).toHaveLength(10);
    expect(await documents.get("tick", "k3")).toEqual({ value: 1, version: 1 });
    expect(await documents.get("tick", "k4")).toEqual({ value: 2, version: 2 });
  });

  test("reads many in the order asked", async () => {
    const documents = await store;
    await documents.put("some", "a", 1, 0);
    await documents.put("some", "c", 3, 0);
    expect(await documents.getMany("some", ["c", "b", "a", "c"])).toEqual([
      { value: 3, version: 1 },
      null,
      { value: 1, version: 1 },
      { value: 3, version: 1 },
    ]);
    expect(await documents.getMany("some", [])).toEqual([]);
  });

  test("removes at a version, and a removed key begins anew", async () => {
    const documents = await store;
    await documents.put("gone", "a", 1, 0);
    expect(await documents.remove("gone", "a", 2)).toBe(false);
    expect(await documents.remove("gone", "a", 0)).toBe(false);
    expect(await documents.remove("gone", "a", 1)).toBe(true);
    expect(await documents.remove("gone", "a", 1)).toBe(false);
    expect(await documents.put("gone", "a", 2, 1)).toBe(false);
    expect(await documents.put("gone", "a", 2, 0)).toBe(true);
  });

  test("lists a range in the order of the keys' bytes", async () => {
    const documents = await store;
    // UTF-16 would put the emoji (a surrogate pair) before U+FF5E; locales would mix cases.
    const keys = ["job:00000", "job:00001", "job:00010", "job;", "Job", "ä", "z", "～", "😀"];
    await Promise.all(keys.map((key, n) => documents.put("order", key, n, 0)));
    const bytes = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    const all = await documents.list("order", { limit: 1_000 });
    expect(all.map(({ key }) => key)).toEqual(bytes);
    expect(all[1]).toEqual({ key: "job:00000", value: 0, version: 1 });
    const items = await documents.list("order", { from: "job:", to: "job;", limit: 1_000 });
    expect(items.map(({ key }) => key)).toEqual(["job:00000", "job:00001", "job:00010"]);
    const last = await documents.list("order", { from: "job:", to: "job;", limit: 2, reverse: true });
    expect(last.map(({ key }) => key)).toEqual(["job:00010", "job:00001"]);
    const exact = await documents.list("order", { from: "job:00001", to: "job:00010", limit: 9 });
    expect(exact.map(({ key }) => key)).toEqual(["job:00001"]);
    expect(await documents.list("nothing", { limit: 1 })).toEqual([]);
  });

  test("lists by tag, and the last put decides it", async () => {
    const documents = await store;
    await documents.put("tags", "a", 1, 0, { tag: "open" });
    await documents.put("tags", "b", 1, 0, { tag: "closed" });
    await documents.put("tags", "c", 1, 0, { tag: "open" });
    await documents.put("tags", "d", 1, 0);
    const opened = async (range = {}) =>
      (await documents.list("tags", { tag: "open", limit: 10, ...range })).map(({ key }) => key);
    expect(await opened()).toEqual(["a", "c"]);
    expect(await opened({ from: "b" })).toEqual(["c"]);
    expect(await opened({ reverse: true, limit: 1 })).toEqual(["c"]);
    await documents.put("tags", "a", 2, 1);
    await documents.put("tags", "b", 2, 1, { tag: "open" });
    expect(await opened()).toEqual(["b", "c"]);
    const ofBoth = async (range = {}) =>
      (await documents.list("tags", { tags: ["other", "open", "closed"], limit: 10, ...range })).map(
        ({ key }) => key,
      );
    await documents.put("tags", "e", 1, 0, { tag: "closed" });
    expect(await ofBoth()).toEqual(["b", "c", "e"]);
    expect(await ofBoth({ from: "c", limit: 1 })).toEqual(["c"]);
    expect(await ofBoth({ tags: ["other"] })).toEqual([]);
  });

  test("lists by the beginning of a tag, in the order of the tags", async () => {
    const documents = await store;
    const tags = { a: "body 1 two", b: "body 1", c: "body 2", d: "bod", e: "body 1 one", f: "body 1 two" };
    for (const [key, tag] of Object.entries(tags)) await documents.put("prefixes", key, 1, 0, { tag });
    await documents.put("prefixes", "g", 1, 0);
    const begun = async (tag_prefix: string, limit = 10) =>
      (await documents.list("prefixes", { tag_prefix, limit })).map(({ key }) => key);
    expect(await begun("body 1")).toEqual(["b", "e", "a", "f"]);
    expect(await begun("body 1", 1)).toEqual(["b"]);
    expect(await begun("body 1 t")).toEqual(["a", "f"]);
    expect(await begun("body 3")).toEqual([]);
  });

  test("removes a range, first key included, last excluded", async () => {
    const documents = await store;
    for (const key of ["j1:0", "j1:1", "j1;", "j2:0"]) await documents.put("ranges", key, 1, 0);
    expect(await documents.removeRange("ranges", "j1:", "j1;")).toBe(2);
    expect((await documents.list("ranges", { limit: 9 })).map(({ key }) => key)).toEqual(["j1;", "j2:0"]);
    expect(await documents.removeRange("ranges", "j1:", "j1;")).toBe(0);
  });

  test("forgets what expired, so many at a time, and nothing else", async () => {
    const documents = await store;
    await documents.put("ends", "a", 1, 0, { expires_at_ms: 1_000 });
    await documents.put("ends", "b", 1, 0, { expires_at_ms: 1_999 });
    await documents.put("ends", "c", 1, 0, { expires_at_ms: 2_000 });
    await documents.put("ends", "d", 1, 0);
    await documents.put("ends", "e", 1, 0, { expires_at_ms: 1_000 });
    await documents.put("ends", "e", 2, 1, { tag: "prolonged" });
    expect(await documents.get("ends", "a")).not.toBeNull();
    expect(await documents.removeExpired("ends", 2_000, 1)).toBe(1);
    expect(await documents.removeExpired("ends", 2_000, 10)).toBe(1);
    expect(await documents.removeExpired("ends", 2_000, 10)).toBe(0);
    expect((await documents.list("ends", { limit: 9 })).map(({ key }) => key)).toEqual(["c", "d", "e"]);
  });

  test("holds a document of 11 MB and refuses one above the limit", async () => {
    const documents = await store;
    const value = "x".repeat(11 * 2 ** 20);
    expect(await documents.put("large", "a", value, 0)).toBe(true);
    expect(((await documents.get("large", "a"))!.value as string).length).toBe(value.length);
    await expect(documents.put("large", "b", "é".repeat(6.1 * 2 ** 20), 0)).rejects.toThrow("too large");
    await documents.remove("large", "a", 1);
  });

  test("acknowledges writes that come in many ticks, each once and as it was", async () => {
    const documents = await store;
    const count = 300;
    const acknowledged: number[] = [];
    const writes: Promise<unknown>[] = [];
    for (let n = 0; n < count; n++) {
      const put = documents.put("ticks", `k${n % 50}`, n, Math.floor(n / 50));
      writes.push(put.then((won) => won && acknowledged.push(n)));
      // Each next tick while the store may still be busy with the writes of the last one.
      if (n % 50 === 49) await Promise.all(writes.slice(-50));
      else if (n % 7 === 0) await new Promise(setImmediate);
    }
    await Promise.all(writes);
    expect(acknowledged.toSorted((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, n) => n));
    expect(await documents.get("ticks", "k49")).toEqual({ value: 299, version: 6 });
  });

  test("takes an ordered write as any other, and says when it is durable", async () => {
    const documents = await store;
    await documents.synced();
    const options = { ordered: true, tag: "t", expires_at_ms: 5 };
    expect(await documents.put("ordered", "a", 1, 0, options)).toBe(true);
    expect(await documents.put("ordered", "a", 2, 0, options)).toBe(false);
    expect(await documents.put("ordered", "a", 2, 1, options)).toBe(true);
    await documents.synced();
    expect(await documents.list("ordered", { tag: "t", limit: 2 })).toEqual([
      { key: "a", value: 2, version: 2 },
    ]);
  });

  test("answers a ping", async () => {
    await expect((await store).ping()).resolves.toBeUndefined();
  });

  test("fails an assertion for a bug of the caller's, which is no fault of the store", async () => {
    const documents = await store;
    const bugs = [
      documents.put("bugs", "large", "x".repeat(12 * 2 ** 20 + 1), 0),
      documents.put("bugs", "no JSON", 1n, 0),
      documents.getMany(
        "bugs",
        Array.from({ length: 1_001 }, (_, n) => `k${n}`),
      ),
      documents.list("bugs", { limit: 0 }),
    ];
    for (const result of await Promise.allSettled(bugs)) {
      expect(result.status).toBe("rejected");
      expect(isInfrastructureFault((result as PromiseRejectedResult).reason)).toBe(false);
    }
  });
}

/** Faults that every documents adapter throws while its engine cannot be reached. */
export function documentsFaultSuite(open: () => Promise<Documents>): void {
  test("throws the port's fault from every method", async () => {
    const documents = await open();
    const calls: Record<string, () => Promise<unknown>> = {
      get: () => documents.get("away", "a"),
      getMany: () => documents.getMany("away", ["a", "b"]),
      put: () => documents.put("away", "a", 1, 0),
      replace: () => documents.put("away", "a", 1, 1),
      remove: () => documents.remove("away", "a", 1),
      list: () => documents.list("away", { limit: 1 }),
      removeRange: () => documents.removeRange("away", "a", "b"),
      removeExpired: () => documents.removeExpired("away", 1, 1),
      isEmpty: () => documents.isEmpty(),
      ping: () => documents.ping(),
    };
    const thrown = Object.entries(calls).map(async ([name, call]) => {
      const problem = await call().then(
        () => null,
        (reason: unknown) => reason,
      );
      return [name, isInfrastructureFault(problem) ? problem.code : problem] as const;
    });
    const expected = Object.keys(calls).map((name) => [name, "documents_unreachable"]);
    expect(await Promise.all(thrown)).toEqual(expected);
  });
}
