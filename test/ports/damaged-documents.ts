/** Answers of a store of documents when the bytes of one were changed beneath it. */
import { describe, expect, test } from "vitest";
import type { Documents } from "../../cluster/ports/documents.ts";

/** Past the adapter. */
export interface RawDocuments {
  /** Replaces the JSON and leaves the checksum. */
  readonly setJson: (collection: string, key: string, json: string) => Promise<void>;
  /** As an earlier version stored it. */
  readonly removeChecksum: (collection: string, key: string) => Promise<void>;
}

export function damagedDocumentsSuite(open: () => Promise<Documents>, raw: RawDocuments): void {
  describe("whose bytes are changed beneath them", () => {
    const fault = { name: "Fault", code: "document_damaged" };
    const store = open();

    test.each([
      ["another digit", '{"units":900}'],
      ["no JSON", '{"units":1'],
      ["other bytes of the same text", '{"units" :100}'],
    ])("never answers %s, by any way of reading", async (name, json) => {
      const documents = await store;
      await documents.put("harmed", name, { units: 100 }, 0, { tag: "t" });
      await documents.put("harmed", `${name}, sound`, { units: 1 }, 0, { tag: "other" });
      expect(await documents.get("harmed", name)).toMatchObject({ value: { units: 100 } });
      await raw.setJson("harmed", name, json);
      await expect(documents.get("harmed", name)).rejects.toMatchObject(fault);
      await expect(documents.getMany("harmed", [name])).rejects.toMatchObject(fault);
      await expect(documents.list("harmed", { tag: "t", limit: 10 })).rejects.toMatchObject(fault);
      // A document that is read at the same time is not concerned.
      const [harmed, sound] = await Promise.allSettled(
        [name, `${name}, sound`].map((key) => documents.get("harmed", key)),
      );
      expect([harmed!.status, sound]).toMatchObject([
        "rejected",
        { status: "fulfilled", value: { value: { units: 1 } } },
      ]);
      await documents.removeRange("harmed", "", "\uffff");
    });

    test("reads one without a checksum, and gives it one with its next write", async () => {
      const documents = await store;
      await documents.put("former", "a", { units: 1 }, 0);
      await raw.removeChecksum("former", "a");
      expect(await documents.get("former", "a")).toEqual({ value: { units: 1 }, version: 1 });
      expect(await documents.put("former", "a", { units: 2 }, 1)).toBe(true);
      await raw.setJson("former", "a", '{"units":3}');
      await expect(documents.get("former", "a")).rejects.toMatchObject(fault);
      await documents.removeRange("former", "", "\uffff");
    });

    test("finds each of them when it looks through all, in pages", async () => {
      const documents = await store;
      const keys = Array.from({ length: 12 }, (_, n) => String(n).padStart(2, "0"));
      for (const collection of ["looked_a", "looked_b"])
        for (const key of keys) await documents.put(collection, key, { key }, 0);
      await raw.setJson("looked_a", "03", '{"key":"30"}');
      await raw.setJson("looked_b", "11", '{"key":"12"}');
      const found = [];
      let [looked, pages] = [0, 0];
      let at = null;
      do {
        const page = await documents.verify(at, 5);
        expect(page.looked).toBeLessThanOrEqual(5);
        found.push(...page.damaged);
        looked += page.looked;
        at = page.last;
        pages++;
      } while (at !== null);
      expect(found).toEqual([
        { collection: "looked_a", key: "03" },
        { collection: "looked_b", key: "11" },
      ]);
      expect(looked).toBeGreaterThanOrEqual(24);
      expect(pages).toBeGreaterThanOrEqual(5);
    });
  });
}
