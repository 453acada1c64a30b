import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { inspect } from "node:util";
import { MongoClient } from "mongodb";
import { afterAll, describe, expect, test } from "vitest";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { mongoDocuments } from "../../cluster/adapters/documents/documents.mongo.ts";
import { sqliteDocuments } from "../../cluster/adapters/documents/documents.sqlite.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import type { Fault } from "../../cluster/ports/fault.ts";
import { engines, ownEngine } from "../harness/engines.ts";
import { notLinearizable, type Operation, recorded, type RecordedDocuments } from "../harness/history.ts";
import { freePort } from "../harness/free-port.ts";
import { documentsFaultSuite, documentsSuite } from "./documents.ts";
import { damagedDocumentsSuite } from "./damaged-documents.ts";
import { pendingRequestsSuite } from "./pending-requests.ts";

const { documents: mongo } = await engines("documents");
const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

const folder = mkdtempSync(join(tmpdir(), "trawl-documents-"));
afterAll(() => rmSync(folder, { recursive: true }));

const STORES: Record<string, () => Promise<Documents>> = {
  memory: async () => memoryDocuments(),
  sqlite: async () => sqliteDocuments(join(folder, "new", "documents.sqlite")),
  "sqlite, unsynced": async () => sqliteDocuments(join(folder, "unsynced.sqlite"), { durability: "process" }),
};

describe.each(Object.entries(STORES))("documents in %s", (_, open) => {
  documentsSuite(open);
  pendingRequestsSuite(open);
});

describe("documents in a SQLite file", () => {
  const path = join(folder, "harmed.sqlite");
  const changeRaw = async (change: string, ...given: string[]) => {
    const database = new DatabaseSync(path);
    database.prepare(`UPDATE documents SET ${change} WHERE collection = ? AND key = ?`).run(...given);
    database.close();
  };
  damagedDocumentsSuite(async () => sqliteDocuments(path), {
    setJson: (collection, key, json) => changeRaw("value = ?", json, collection, key),
    removeChecksum: (collection, key) => changeRaw("checksum = NULL", collection, key),
  });

  test("of an earlier version are read and written without checksums until a service starts", async () => {
    const former = join(folder, "former.sqlite");
    const database = new DatabaseSync(former);
    database.exec(`CREATE TABLE documents (collection TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, value TEXT NOT NULL,
      tag TEXT, expires_at_ms INTEGER, PRIMARY KEY (collection, key)) STRICT;
      INSERT INTO documents VALUES ('a', 'old', 3, '{"n":1}', 't', NULL)`);
    const command = sqliteDocuments(former);
    expect(await command.get("a", "old")).toEqual({ value: { n: 1 }, version: 3 });
    expect(await command.put("a", "beside", { n: 2 }, 0, { tag: "t" })).toBe(true);
    await command.close();
    // The service of that version still writes.
    database.exec(`INSERT INTO documents VALUES ('a', 'later', 1, '{"n":3}', 't', NULL)`);
    database.close();
    const service = sqliteDocuments(former, { adds_checksums: true });
    expect(await service.put("a", "old", { n: 4 }, 3, { tag: "t" })).toBe(true);
    expect((await service.list("a", { tag: "t", limit: 10 })).map(({ value }) => value)).toEqual([
      { n: 2 },
      { n: 3 },
      { n: 4 },
    ]);
    expect(await service.verify(null, 10)).toEqual({
      looked: 3,
      damaged: [],
      last: { collection: "a", key: "old" },
    });
    await service.close();
    const raw = new DatabaseSync(former);
    raw.exec(`UPDATE documents SET value = '{"n":5}'`);
    raw.close();
    const again = sqliteDocuments(former, { adds_checksums: true });
    await expect(again.get("a", "old")).rejects.toMatchObject({ code: "document_damaged" });
    await again.close();
  });
});

describe("documents in a SQLite file that is closed", () => {
  documentsFaultSuite(async () => {
    const documents = sqliteDocuments(join(folder, "closed.sqlite"));
    await documents.close();
    return documents;
  });
});

describe("documents in a MongoDB that is away", () => {
  documentsFaultSuite(async () => mongoDocuments(`mongodb://127.0.0.1:${await freePort()}/away`));
});

/** Writes keys that others write as well. */
async function rival(
  documents: RecordedDocuments["documents"],
  client: number,
  isGoing: () => boolean,
): Promise<void> {
  for (let n = 0; isGoing(); n++) {
    const key = `rival${n % 2}`;
    const stored = await documents.get("rivals", key).catch(() => undefined);
    if (stored === undefined) continue;
    await documents.put("rivals", key, `${client} ${n}`, stored?.version ?? 0).catch(() => {});
  }
}

/** A database of this run. */
const within = (address: string): string =>
  address.replace(/^(\w+:\/\/[^/]+)[^?]*/, `$1/t${randomUUID().replaceAll("-", "")}`);

describe.skipIf(mongo === null)("documents in MongoDB", () => {
  const address = within(mongo?.["TRAWL_DOCUMENTS"] ?? "mongodb://127.0.0.1/");
  const opened: Documents[] = [];
  const open = (): Documents => {
    opened.push(mongoDocuments(address, { rebuildable: ["pages"] }));
    return opened.at(-1)!;
  };
  afterAll(async () => {
    await Promise.all(opened.map((documents) => documents.close()));
    const client = new MongoClient(address);
    await client.db().dropDatabase();
    await client.close();
  });

  documentsSuite(async () => open());
  pendingRequestsSuite(async () => open());
  const changeRaw = async (collection: string, key: string, change: object) => {
    const client = new MongoClient(address);
    await client.db().collection<{ _id: string }>(collection).updateOne({ _id: key }, change);
    await client.close();
  };
  damagedDocumentsSuite(async () => open(), {
    setJson: (collection, key, json) => changeRaw(collection, key, { $set: { json } }),
    removeChecksum: (collection, key) => changeRaw(collection, key, { $unset: { checksum: 1 } }),
  });

  test("looks through its own documents only, and a document without its text is damaged", async () => {
    const documents = open();
    const client = new MongoClient(address);
    const others = client.db().collection<{ _id: string; names: string[] }>("another_store");
    await others.insertOne({ _id: "a", names: [] });
    await documents.put("whole", "sound", { units: 1 }, 0);
    await documents.put("whole", "without", { units: 1 }, 0);
    await changeRaw("whole", "without", { $unset: { json: 1 } });
    const { damaged } = await documents.verify(null, 1_000);
    const places = damaged.filter(({ collection }) => ["another_store", "whole"].includes(collection));
    expect(places).toEqual([{ collection: "whole", key: "without" }]);
    await expect(documents.get("whole", "without")).rejects.toMatchObject({ code: "document_damaged" });
    await client.db().dropCollection("another_store");
    await documents.removeRange("whole", "", "\uffff");
    await client.close();
  });

  test("delays only writes of the same document when a write hangs", async () => {
    const { hostname, port } = new URL(address.replace(/^mongodb/, "http"));
    const swallowed = Promise.withResolvers<void>();
    const way = createServer((near) => {
      const far = connect(Number(port), hostname);
      far.on("error", () => {}).pipe(near);
      near.on("error", () => {}).on("close", () => far.destroy());
      near.on("data", (bytes) => (bytes.includes("this hangs") ? swallowed.resolve() : far.write(bytes)));
    }).listen(0, "127.0.0.1");
    await once(way, "listening");
    const openPort = (way.address() as AddressInfo).port;
    const documents = mongoDocuments(address.replace(`${hostname}:${port}`, `127.0.0.1:${openPort}`));
    opened.push(documents);
    await documents.put("lane", "first", 1, 0);
    let ended = false;
    const hanging = documents.put("lane", "a", "this hangs", 0).then(
      () => (ended = true),
      (problem: unknown) => {
        ended = true;
        return problem;
      },
    );
    await swallowed.promise;
    expect(await Promise.all(times(5, (n) => documents.put("lane", `other ${n}`, n, 0)))).not.toContain(
      false,
    );
    expect(ended).toBe(false);
    expect(await hanging).toMatchObject({ code: "documents_unreachable" });
    expect(await documents.put("lane", "a", "this does not", 0)).toBe(true);
    way.close();
  });

  test("answers two nodes that write the same documents correctly, or with a fault", async () => {
    const nodes = [open(), open()];
    const keys = times(8, (n) => `k${n}`);
    const tally = new Map(keys.map((key) => [key, { won: 0, lost: 0, unknown: 0 }]));
    const adder = async (documents: Documents, key: string) => {
      const counts = tally.get(key)!;
      for (let tries = 0; tries < 15; tries++) {
        const stored = await documents.get("shared", key);
        await documents.put("shared", key, ((stored?.value ?? 0) as number) + 1, stored?.version ?? 0).then(
          (won) => counts[won ? "won" : "lost"]++,
          () => counts.unknown++,
        );
      }
    };
    await Promise.all(nodes.flatMap((node) => [...keys, ...keys].map((key) => adder(node, key))));
    const sum = (of: "won" | "lost" | "unknown") =>
      [...tally.values()].reduce((total, counts) => total + counts[of], 0);
    expect(sum("lost")).toBeGreaterThan(100); // or nothing was contended and this proves little
    expect(sum("unknown")).toBeLessThan(sum("won") / 4);
    for (const [key, { won, unknown }] of tally) {
      const { value, version } = (await nodes[0]!.get("shared", key))!;
      expect(version).toBe(value);
      expect(version).toBeGreaterThanOrEqual(won);
      expect(version).toBeLessThanOrEqual(won + unknown);
    }
  });

  test("does not restore a document that another node removed, nor fail writes in the same batch", async () => {
    const [one, other] = [open(), open()];
    const keys = times(20, (n) => `k${n}`);
    await Promise.all(keys.map((key) => one.put("removed", key, 1, 0)));
    expect(await other.remove("removed", "k7", 1)).toBe(true);
    expect(await other.put("removed", "k9", 2, 1)).toBe(true);
    const won = await Promise.all(keys.map((key) => one.put("removed", key, 3, 1)));
    expect(keys.filter((_, n) => !won[n])).toEqual(["k7", "k9"]);
    expect(await one.get("removed", "k7")).toBeNull();
    expect(await one.get("removed", "k9")).toEqual({ value: 2, version: 2 });
  });

  test("takes the puts of one key in one tick one after the other", async () => {
    const documents = open();
    const all = [0, 1, 1, 2].map((version) => documents.put("pages", "a", `at ${version}`, version));
    expect(await Promise.all(all)).toEqual([true, true, false, true]);
    expect(await documents.get("pages", "a")).toEqual({ value: "at 2", version: 3 });
  });

  test("answers each of a tick's readers, with a copy of his own", async () => {
    const documents = open();
    const keys = times(120, (n) => `k${n}`);
    await Promise.all(keys.map((key, n) => documents.put("readers", key, [n], 0)));
    const asked = [...keys, "missing", "k7"];
    const found = await Promise.all(asked.map((key) => documents.get("readers", key)));
    expect(found.slice(0, 120)).toEqual(keys.map((_, n) => ({ value: [n], version: 1 })));
    expect(found[120]).toBeNull();
    (found[121]!.value as number[]).push(8);
    expect(found[7]!.value).toEqual([7]);
  });

  test("removes and forgets more than one command can name", async () => {
    const documents = open();
    const keys = times(2_500, (n) => `j:${String(n).padStart(4, "0")}`);
    for (let from = 0; from < keys.length; from += 500)
      await Promise.all(
        keys.slice(from, from + 500).map((key) => documents.put("long", key, 0, 0, { expires_at_ms: 1 })),
      );
    await documents.put("long", "j;", 0, 0);
    expect(await documents.removeExpired("long", 2, 1_200)).toBe(1_200);
    expect(await documents.removeRange("long", "j:", "j;")).toBe(1_300);
    expect((await documents.list("long", { limit: 9 })).map(({ key }) => key)).toEqual(["j;"]);
  });

  test("stores what was asked for before it was closed, and is closed then", async () => {
    const first = open();
    const put = first.put("closing", "b", 1, 0);
    await first.close();
    expect(await put).toBe(true);
    expect(await open().get("closing", "b")).toEqual({ value: 1, version: 1 });
    const fault = { code: "documents_unreachable" };
    await expect(first.get("closing", "b")).rejects.toMatchObject(fault);
    await expect(first.put("closing", "b", 1, 1)).rejects.toMatchObject(fault);
    await expect(first.ping()).rejects.toMatchObject(fault);
  });
});

describe("documents in a MongoDB that does not answer", () => {
  test("are a fault within seconds that names the location and no password", async () => {
    const documents = mongoDocuments("mongodb://trawl:pass-word@127.0.0.1:1/nowhere");
    const faults = await Promise.all(
      [
        documents.ping(),
        documents.get("a", "b"),
        documents.getMany("a", ["b"]),
        documents.list("a", { limit: 1 }),
        documents.put("a", "b", 1, 0),
        documents.remove("a", "b", 1),
        documents.removeRange("a", "b", "c"),
        documents.removeExpired("a", 1, 1),
      ].map((asked) => asked.then(() => null).catch((problem: Error) => problem)),
    );
    for (const fault of faults) {
      expect(fault).toMatchObject({ name: "Fault", code: "documents_unreachable" });
      expect(fault!.message).toContain("127.0.0.1:1/nowhere");
      expect(inspect(fault, { depth: 9 })).not.toContain("pass-word");
    }
    await documents.close();
  });

  test.each([
    "mongodb://trawl:pass-word@",
    "mongodb://trawl:pass-word@127.0.0.1/trawl?noSuchOption=1",
    "mongodb://trawl:pass/word@127.0.0.1/trawl",
    "mongodb://trawl:pass-word@127.0.0.1/trawl?readPreference=secondaryPreferred",
  ])("report the mistake of an address, and no password: %s", (address) => {
    const problem = (() => {
      try {
        return mongoDocuments(address);
      } catch (failure) {
        return failure as Error;
      }
    })();
    expect(problem).toBeInstanceOf(TypeError);
    expect(inspect(problem, { depth: 9 })).not.toMatch(/pass.?word/);
  });

  test.skipIf(mongo === null)(
    "come back after kill -9 with everything that was acknowledged, and after a pause",
    { timeout: 60_000 },
    async (context) => {
      const engine = await ownEngine("documents");
      if (!engine) return context.skip("MongoDB is elsewhere");
      const documents = mongoDocuments(engine.settings["TRAWL_DOCUMENTS"]!);
      const elsewhere = mongoDocuments(engine.settings["TRAWL_DOCUMENTS"]!);
      try {
        const keys = times(40, (n) => `k${n}`);
        const acknowledged = new Map(keys.map((key) => [key, 0]));
        const problems: unknown[] = [];
        let going = true;
        // As an actor does it: what became of a write that failed is not known, so it is read again.
        const writer = async (key: string) => {
          while (going) {
            try {
              const stored = await documents.get("kept", key);
              const version = stored?.version ?? 0;
              if (await documents.put("kept", key, version + 1, version)) acknowledged.set(key, version + 1);
            } catch (problem) {
              problems.push(problem);
            }
          }
        };
        const history: Operation[] = [];
        const clients = [documents, documents, elsewhere, elsewhere].map((store, n) =>
          rival(recorded(store, () => performance.now(), history).documents, n, () => going),
        );
        const writers = keys.map(writer);
        const writes = () => [...acknowledged.values()].reduce((sum, version) => sum + version, 0);
        await expect.poll(writes, { timeout: 20_000 }).toBeGreaterThan(400);
        await engine.kill();
        await expect.poll(() => problems.length, { timeout: 20_000 }).toBeGreaterThan(40);
        const at_kill = writes();
        await engine.restart();
        await expect.poll(writes, { timeout: 20_000 }).toBeGreaterThan(at_kill + 400);
        going = false;
        await Promise.all([...writers, ...clients]);
        expect(history.filter(({ end }) => end === "ok").length).toBeGreaterThan(100);
        expect(notLinearizable(history)).toEqual([]);
        expect(problems.filter((problem) => (problem as Fault).code !== "documents_unreachable")).toEqual([]);
        const stored = await documents.getMany("kept", keys);
        for (const [n, key] of keys.entries()) {
          expect(stored[n]!.value).toBe(stored[n]!.version);
          expect(stored[n]!.version).toBeGreaterThanOrEqual(acknowledged.get(key)!);
        }

        await engine.pause();
        const late = times(1_000, (n) => documents.put("late", `k${n}`, n, 0));
        const refused = documents.put("late", "one more", 0, 0);
        const ends = Promise.allSettled(late);
        // At once: those before it do not know yet.
        await expect(Promise.race([refused, ends])).rejects.toMatchObject({
          code: "documents_unreachable",
          cause: { message: "1000 writes are waiting" },
        });
        await expect(documents.get("late", "k0")).rejects.toMatchObject({ code: "documents_unreachable" });
        for (const end of await ends)
          expect(end).toMatchObject({ status: "rejected", reason: { code: "documents_unreachable" } });
        engine.resume();
        await expect.poll(() => documents.ping().then(() => true, String), { timeout: 20_000 }).toBe(true);
        expect(await documents.put("late", "after", 1, 0)).toBe(true);
      } finally {
        await Promise.all([documents.close(), elsewhere.close()]);
        await engine.stop();
      }
    },
  );
});

describe("documents in a file", () => {
  test("are there when it is opened again", async () => {
    const path = join(folder, "again.sqlite");
    const first = sqliteDocuments(path);
    await first.put("a", "b", 1, 0);
    await first.close();
    const second = sqliteDocuments(path);
    expect(await second.get("a", "b")).toEqual({ value: 1, version: 1 });
    await second.close();
  });

  test("stores what was asked for before it was closed", async () => {
    const path = join(folder, "closing.sqlite");
    const first = sqliteDocuments(path);
    const put = first.put("a", "b", 1, 0);
    await first.close();
    expect(await put).toBe(true);
    const second = sqliteDocuments(path);
    expect(await second.get("a", "b")).toEqual({ value: 1, version: 1 });
    await second.close();
  });

  test.each([
    ["removed", () => {}],
    ["replaced", (path: string) => writeFileSync(path, "")],
  ])("refuses to write once its file was %s", async (what, replace) => {
    const path = join(folder, `${what}.sqlite`);
    const documents = sqliteDocuments(path);
    expect(await documents.put("a", "b", 1, 0)).toBe(true);
    rmSync(path);
    replace(path);
    const fault = { code: "documents_unreachable" };
    await expect(documents.put("a", "c", 1, 0)).rejects.toMatchObject(fault);
    await expect(documents.ping()).rejects.toMatchObject(fault);
    await documents.close();
  });

  test("is looked through after an end without a close, and a damaged one is named", async () => {
    const path = join(folder, "unclean.sqlite");
    const copy = join(folder, "copy.sqlite");
    const killed = sqliteDocuments(path);
    for (let n = 0; n < 400; n++) await killed.put("a", String(n), "x".repeat(500), 0);
    // As kill -9 leaves them.
    for (const end of ["", "-wal"]) copyFileSync(path + end, copy + end);
    await killed.close();
    const again = sqliteDocuments(copy, { checks_unclean_end: true });
    expect(await again.get("a", "399")).toEqual({ value: "x".repeat(500), version: 1 });
    await again.close();
    const damaged = readFileSync(copy);
    damaged.fill(0xff, 16_384, 20_480);
    writeFileSync(copy, damaged);
    // Its end was clean: this start looks at nothing.
    await sqliteDocuments(copy, { checks_unclean_end: true }).close();
    writeFileSync(`${copy}-wal`, "the log of a process that was killed");
    expect(() => sqliteDocuments(copy, { checks_unclean_end: true })).toThrow(
      /Cannot use the documents in ".*copy\.sqlite": the file is damaged \(.+\)\. Restore a backup/,
    );
  });

  test("reports an unreachable store by a fault", async () => {
    const documents = sqliteDocuments(join(folder, "closed.sqlite"));
    await documents.close();
    const fault = { code: "documents_unreachable" };
    await expect(documents.get("a", "b")).rejects.toMatchObject(fault);
    await expect(documents.put("a", "b", 1, 0)).rejects.toMatchObject(fault);
    await expect(documents.ping()).rejects.toMatchObject(fault);
  });
});
