import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { pipeline, Transform } from "node:stream";
import { inspect } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  type S3ClientConfig,
} from "@aws-sdk/client-s3";
import { bodyPlaces } from "../../cluster/body-places.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { systemClock } from "../../cluster/adapters/time/clock.system.ts";
import { fileBlobs } from "../../cluster/adapters/blobs/blobs.file.ts";
import { sqliteBlobs } from "../../cluster/adapters/blobs/blobs.sqlite.ts";
import { memoryBlobs } from "../../cluster/adapters/blobs/blobs.memory.ts";
import { s3Blobs, type S3Options } from "../../cluster/adapters/blobs/blobs.s3.ts";
import type { Sharing } from "../../cluster/adapters/blobs/shared-objects.s3.ts";
import { type Blobs, sha256Of } from "../../cluster/ports/blobs.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import type { Settings } from "../../ops/engines/engine.ts";
import { damageBody, damageFile } from "../harness/damage-body.ts";
import { engineProgram, engines, ownEngine } from "../harness/engines.ts";
import { freePort } from "../harness/free-port.ts";
import { blobsFaultSuite, bodiesSuite, CONTENTS, type Damage, whole } from "./blobs.ts";

const folder = mkdtempSync(join(tmpdir(), "trawl-bodies-"));
afterAll(() => rmSync(folder, { recursive: true }));

const { blobs } = await engines("blobs");

const damagedIn =
  (damage: typeof damageBody, place: string): Damage =>
  async (sha256, change) =>
    damage(place, sha256, change);

const STORES: readonly [string, () => Promise<Blobs>, Damage | null][] = [
  ["memory", async () => memoryBlobs(), null],
  ["file", async () => fileBlobs(join(folder, "suite")), damagedIn(damageFile, join(folder, "suite"))],
  [
    "file, unsynced",
    async () => fileBlobs(join(folder, "unsynced"), { durability: "process" }),
    damagedIn(damageFile, join(folder, "unsynced")),
  ],
  ["SQLite", async () => sqliteBlobs(join(folder, "rows")), damagedIn(damageBody, join(folder, "rows"))],
  [
    "SQLite, unsynced",
    async () => sqliteBlobs(join(folder, "rows-unsynced"), { durability: "process" }),
    damagedIn(damageBody, join(folder, "rows-unsynced")),
  ],
];

describe.each(STORES)("bodies in %s", (_, open, damage) => {
  bodiesSuite(open, damage);
});

describe.each([
  ["files", fileBlobs],
  ["SQLite", sqliteBlobs],
])("bodies in a path that is not a folder: %s", (name, openStore) => {
  let folders = 0;
  const open = async (): Promise<Blobs> => {
    const path = join(folder, `taken-${name}-${folders++}`);
    const store = openStore(path);
    rmSync(path, { recursive: true });
    writeFileSync(path, "");
    return store;
  };
  // There is no such body to remove.
  blobsFaultSuite(open, ["remove"]);
});

describe("bodies in an S3 that is away", () => {
  blobsFaultSuite(async () =>
    s3Blobs({
      bucket: "away",
      prefix: "away",
      endpoint: `http://127.0.0.1:${await freePort()}`,
      region: "us-east-1",
      credentials: { accessKeyId: "away", secretAccessKey: "away" },
      spool: folder,
    }),
  );
});

/** A prefix of this run. */
function options(settings: Settings): S3Options {
  const { hostname, pathname } = new URL(settings["TRAWL_BLOBS"]!);
  return {
    bucket: hostname,
    prefix: `${pathname.slice(1)}/t${randomBytes(8).toString("hex")}`,
    endpoint: settings["S3_ENDPOINT"],
    region: settings["AWS_REGION"],
    credentials: {
      accessKeyId: settings["AWS_ACCESS_KEY_ID"]!,
      secretAccessKey: settings["AWS_SECRET_ACCESS_KEY"]!,
    },
    spool: folder,
  };
}

async function* breaking(): AsyncGenerator<Buffer> {
  yield randomBytes(200_000);
  throw new Error("The origin hung up");
}

describe("bodies in files", () => {
  test("are compressed where that helps, and only there", async () => {
    const store = fileBlobs(join(folder, "sizes"));
    const page = Buffer.from("<p>again</p>".repeat(20_000));
    const noise = randomBytes(100_000);
    const where = ({ sha256 }: { sha256: string }) => join(folder, "sizes", sha256.slice(0, 2), sha256);
    expect(statSync(`${where(await store.put(page))}.zst`).size).toBeLessThan(page.length / 20);
    expect(statSync(where(await store.put(noise))).size).toBe(noise.length);
  });

  test("leave no unfinished file behind, also when the content fails", async () => {
    const store = fileBlobs(join(folder, "broken"));
    await expect(store.put(breaking())).rejects.toThrow("hung up");
    await store.put(randomBytes(200_000));
    expect(readdirSync(join(folder, "broken", "unfinished"))).toEqual([]);
  });

  test("report that the folder cannot be used", async () => {
    const store = fileBlobs(join(folder, "lost"));
    rmSync(join(folder, "lost"), { recursive: true });
    const fault = { code: "bodies_unreachable" };
    await expect(store.put(Buffer.from("x"))).rejects.toMatchObject(fault);
    await expect(store.put(randomBytes(100_000))).rejects.toMatchObject(fault);
    await expect(store.ping()).rejects.toMatchObject(fault);
  });
});

describe("bodies in SQLite", () => {
  /** How many bodies are files. */
  const files = (place: string): number =>
    readdirSync(place, { recursive: true }).filter((name) => /[0-9a-f]{64}/.test(String(name))).length;

  test("are rows as long as they are small, also when they are compressed first, and else files", async () => {
    const place = join(folder, "rows-and-files");
    const store = sqliteBlobs(place);
    for (const small of [randomBytes(128 * 1024), Buffer.from("<p>again</p>".repeat(40_000))])
      await store.put(small);
    expect(files(place)).toBe(0);
    await store.put(randomBytes(128 * 1024 + 1));
    await store.put(Buffer.from("<p>again</p>".repeat(50_000)));
    expect(files(place)).toBe(2);
    await store.close();
  });

  test("are found, listed once and removed where an earlier version stored them as files", async () => {
    const place = join(folder, "rows-after-files");
    const earlier = fileBlobs(place);
    const content = Buffer.from("stored by an earlier version");
    const { sha256 } = await earlier.put(content);
    const store = sqliteBlobs(place);
    expect((await whole(await store.get(sha256))).equals(content)).toBe(true);
    await store.put(content);
    const listed = (await Array.fromAsync(store.list(sha256.slice(0, 2)))).map((one) => one.sha256);
    expect(listed).toEqual([sha256]);
    expect(await store.remove(sha256)).toBe(true);
    expect(await store.head(sha256)).toBeNull();
    expect(await earlier.head(sha256)).toBeNull();
    await store.close();
  });

  test("are listed whole when there are more than fit into one query", async () => {
    const store = sqliteBlobs(join(folder, "rows-many"), { durability: "process" });
    const stored = await Promise.all(
      Array.from({ length: 2_000 }, (_, n) => store.put(Buffer.from(String(n)))),
    );
    // The query of one prefix reads on into the next ones.
    const listed: string[] = [];
    for (let part = 0; part < 256; part++)
      for await (const { sha256 } of store.list(part.toString(16).padStart(2, "0"))) listed.push(sha256);
    expect(listed.toSorted()).toEqual(stored.map(({ sha256 }) => sha256).toSorted());
    await store.close();
  });

  test("are there for the next process", async () => {
    const place = join(folder, "rows-again");
    const first = sqliteBlobs(place);
    const { sha256 } = await first.put(Buffer.from("kept"));
    await first.close();
    const second = sqliteBlobs(place);
    expect((await whole(await second.get(sha256))).toString()).toBe("kept");
    await second.close();
  });
});

/** Loopback in front of an S3 engine: counts what is downloaded, and cuts each upload after so many bytes. */
async function betweenS3(endpoint: string, cut_bytes: number) {
  const { hostname, port } = new URL(endpoint);
  const seen = { downloaded: 0, cuts: 0 };
  /** Called with each piece a client sends; the piece goes on when the promise has resolved. */
  const hooks: { onRequest: (piece: string) => Promise<unknown> | null } = { onRequest: () => null };
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    let uploaded = 0;
    const end = () => [client, upstream].forEach((socket) => socket.destroy());
    const watch = new Transform({
      transform(piece: Buffer, _, done) {
        uploaded += piece.length;
        if (uploaded > cut_bytes) {
          seen.cuts++;
          end();
        } else {
          const wait = hooks.onRequest(piece.toString("latin1"));
          if (!wait) done(null, piece);
          else void wait.finally(() => done(null, piece));
        }
      },
    });
    const count = new Transform({
      transform(piece: Buffer, _, done) {
        seen.downloaded += piece.length;
        done(null, piece);
      },
    });
    pipeline(client, watch, upstream, end);
    pipeline(upstream, count, client, end);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(hooks, { seen, address, close: () => void server.close() });
}

const fault = { name: "Fault", code: "bodies_unreachable" };

/** Small bodies are stored with another one at the same time, so that they share its object. */
const inCompany = (store: Blobs): Blobs => ({
  ...store,
  async put(content) {
    const before = store.put(randomBytes(10));
    const [stored] = await Promise.all([store.put(content), store.put(randomBytes(10)), before]);
    return stored;
  },
});

describe.skipIf(blobs === null)("bodies in S3 that share objects", () => {
  const given = blobs === null ? null : options(blobs);
  const documents = memoryDocuments();
  const places = bodyPlaces(documents);
  const uploads = { single: 0, shared: 0 };
  /** Each upload makes a quiet time: bodies wait for the upload before them, and for nothing else. */
  const time = { ms: 0 };
  const clock = { now: Date.now, mono: () => time.ms, at: () => ({ [Symbol.dispose]: () => {} }) };
  const sharing = { places, isOn: () => true, clock };
  const open = (its: Partial<Sharing> = {}): Blobs =>
    s3Blobs({
      ...given!,
      sharing: { ...sharing, ...its },
      onUpload(kind) {
        uploads[kind]++;
        time.ms += 60_000;
      },
    });
  const store = given === null ? memoryBlobs() : open();
  const direct = new S3Client({ ...given, forcePathStyle: true } as S3ClientConfig);
  const keyOf = (name: string) => ({ Bucket: given!.bucket, Key: `${given!.prefix}/${name}` });
  const objects = async (): Promise<string[]> => {
    const { Contents = [] } = await direct.send(
      new ListObjectsV2Command({ Bucket: given!.bucket, Prefix: `${given!.prefix}/shared-` }),
    );
    return Contents.map(({ Key }) => Key!.slice(given!.prefix.length + 1));
  };
  /** Sweeps objects that are stored since, and this one, as if so much time had passed. */
  const sweepSince = async (before: readonly string[], object?: string) => {
    const names = (await objects()).filter((name) => !before.includes(name) || name === `shared-${object}`);
    const swept = { indexed: 0, rewritten: 0, removed: 0 };
    for (const name of names) {
      const one = await store.sweep!(name.slice("shared-".length), Date.now() + 60_000);
      for (const outcome of ["indexed", "rewritten", "removed"] as const) swept[outcome] += one[outcome];
    }
    return swept;
  };
  const placeOf = async (sha256: string) => (await places.find(sha256))?.place;
  const objectOf = async (sha256: string) => (await placeOf(sha256))?.object;
  afterAll(async () => {
    if (given === null) return;
    await store.close();
    direct.destroy();
  });

  /** Bodies in one object, as if they had been stored long ago. */
  const together = async (count: number) => {
    const contents = Array.from({ length: count }, () => randomBytes(2_000));
    const alone = store.put(randomBytes(10));
    const stored = await Promise.all(contents.map((content) => store.put(content)));
    await alone;
    const digests = stored.map(({ sha256 }) => sha256);
    const known = await Promise.all(digests.map((sha256) => places.find(sha256)));
    expect(new Set(known.map((one) => one?.place.object)).size).toBe(1);
    const stored_ms = Date.now() - 72 * 60 * 60_000;
    await Promise.all(known.map((one) => places.replace(one!, { ...one!.place, stored_ms })));
    return { contents, digests, object: known[0]!.place.object };
  };
  const isThere = async (object: string) => (await objects()).includes(`shared-${object}`);
  const expectWhole = async (from: Blobs, digests: readonly string[], contents: readonly Buffer[]) => {
    for (const [n, sha256] of digests.entries())
      expect((await whole(await from.get(sha256))).equals(contents[n]!)).toBe(true);
  };

  const damage: Damage = async (sha256, change) => {
    const known = await places.find(sha256);
    const { offset = 0, length = Infinity } = known?.place ?? {};
    const at = keyOf(known ? `shared-${known.place.object}` : sha256);
    const { Body, Metadata } = await direct.send(new GetObjectCommand(at));
    const stored = Buffer.from(await Body!.transformToByteArray());
    const changed = change(stored.subarray(offset, offset + length));
    const whole_object = known
      ? Buffer.concat([stored.subarray(0, offset), changed, stored.subarray(offset + length)])
      : changed;
    await direct.send(new PutObjectCommand({ ...at, Body: whole_object, Metadata: Metadata! }));
  };

  // What was shared is read, stored again and removed also while bodies are stored as objects of their own.
  const single = given === null ? store : open({ isOn: () => false });
  afterAll(() => single.close());
  describe.each([
    ["and still do", inCompany(store)],
    ["and no longer do", { ...single, put: (...args) => inCompany(store).put(...args) }],
    ["and never did", single],
  ])("%s", (_, opened) => {
    if (given === null) return;
    // "keeps a mark" begins without one.
    afterAll(() => direct.send(new DeleteObjectCommand(keyOf("store.json"))));
    bodiesSuite(
      async () => opened,
      damage,
      CONTENTS.filter(([, content]) => content.length < 100_000),
    );
  });

  test("are an object of their own when they are alone, and share one when they are stored at once", async () => {
    const before = { ...uploads };
    const [first, ...others] = await Promise.all(
      Array.from({ length: 12 }, () => store.put(randomBytes(500))),
    );
    expect(uploads).toEqual({ single: before.single + 1, shared: before.shared + 1 });
    expect(await placeOf(first!.sha256)).toBeUndefined();
    const shared = await Promise.all(others.map(({ sha256 }) => objectOf(sha256)));
    expect(new Set(shared).size).toBe(1);
    expect(shared[0]).toBeDefined();
    // Stored once more, they are where they were.
    const again = { ...uploads };
    const { contents, digests, object } = await together(3);
    expect(await isThere(object)).toBe(true);
    expect(uploads.shared).toBe(again.shared + 1);
    await expectWhole(store, digests, contents);
  });

  test("are not uploaded again where they are whole", async () => {
    const contents = [randomBytes(900), randomBytes(900)];
    const putBoth = async () => {
      const alone = store.put(randomBytes(10));
      await Promise.all([alone, ...contents.map((content) => store.put(content))]);
    };
    await putBoth();
    const before = { ...uploads };
    await putBoth();
    expect(uploads).toEqual({ single: before.single + 1, shared: before.shared });
  });

  test("take their object with them when the last one is removed", async () => {
    const { digests, object } = await together(3);
    for (const sha256 of digests) {
      expect(await isThere(object)).toBe(true);
      expect(await store.remove(sha256, Date.now() - 60_000)).toBe(true);
      expect(await store.get(sha256)).toBeNull();
    }
    expect(await isThere(object)).toBe(false);
  });

  test("are found again after a process ended between the upload and the index", async () => {
    const contents = [randomBytes(700), randomBytes(700)];
    const failing = open({
      places: {
        ...places,
        put: () => Promise.reject(new Fault("bodies_unreachable", "The process ended")),
      },
    });
    const before = await objects();
    const alone = failing.put(randomBytes(10));
    const puts = await Promise.allSettled(contents.map((content) => failing.put(content)));
    await alone;
    for (const end of puts) expect(end).toMatchObject({ status: "rejected", reason: fault });
    const digests = contents.map(sha256Of);
    expect(await Promise.all(digests.map((sha256) => store.head(sha256)))).toEqual([null, null]);
    expect(await sweepSince(before)).toEqual({ indexed: 1, rewritten: 0, removed: 0 });
    await expectWhole(store, digests, contents);
    // From here on the collector of bodies finds them: nothing refers to them, and they are old.
    expect(await store.remove(digests[0]!)).toBe(true);
    await failing.close();
  });

  test("are written anew when less than half of their object is used, under the eyes of readers", async () => {
    const { contents, digests, object } = await together(8);
    const reader = open();
    await expectWhole(reader, digests, contents);
    for (const sha256 of digests.slice(0, 3)) await store.remove(sha256);
    const before = await objects();
    await sweepSince(before, object);
    expect(await isThere(object)).toBe(true);
    for (const sha256 of digests.slice(3, 6)) await store.remove(sha256);
    const older = await placeOf(digests[6]!);
    expect(await sweepSince(before, object)).toEqual({ indexed: 0, rewritten: 1, removed: 1 });
    expect(await isThere(object)).toBe(false);
    await expectWhole(reader, digests.slice(6), contents.slice(6));
    await expectWhole(open(), digests.slice(6), contents.slice(6));
    // An index that was restored from a backup names the former object.
    const now = await places.find(digests[6]!);
    await places.replace(now!, older!);
    await places.replace((await places.find(digests[7]!))!, { ...older!, offset: older!.offset + 2_000 });
    expect(await open().get(digests[6]!)).toBeNull();
    expect(await sweepSince(before)).toEqual({ indexed: 1, rewritten: 0, removed: 0 });
    await expectWhole(open(), digests.slice(6), contents.slice(6));
    await reader.close();
  });

  test("are read where an earlier version stored them, listed once and removed in both places", async () => {
    const content = randomBytes(800);
    const earlier = s3Blobs(given!);
    const { sha256 } = await earlier.put(content);
    await expectWhole(store, [sha256], [content]);
    await inCompany(store).put(content);
    expect(await objectOf(sha256)).toBeDefined();
    const listed = await Array.fromAsync(store.list(sha256.slice(0, 2)));
    expect(listed.filter((one) => one.sha256 === sha256)).toHaveLength(1);
    while (await store.head(sha256)) await store.remove(sha256);
    expect(await earlier.head(sha256)).toBeNull();
    await earlier.close();
  });

  test("are objects of their own while a node runs that reads no others", async () => {
    const { contents, digests, object } = await together(2);
    const off = open({ isOn: () => false });
    const before = { ...uploads };
    await Promise.all([...contents, randomBytes(300)].map((content) => off.put(content)));
    expect(uploads).toEqual({ single: before.single + 3, shared: before.shared });
    const earlier = s3Blobs(given!);
    await expectWhole(earlier, digests, contents);
    await expectWhole(store, digests, contents);
    // Where the object that they share is wrong, their own are read.
    await direct.send(new PutObjectCommand({ ...keyOf(`shared-${object}`), Body: randomBytes(5_000) }));
    await expectWhole(store, digests, contents);
    const part = await whole(await store.get(digests[0]!, { first: 100, last: 199 }));
    expect(part).toHaveLength(100);
    await Promise.all([off, earlier].map((each) => each.close()));
  });

  describe("are read with few requests", () => {
    const text = Buffer.from("<p>again</p>".repeat(2_000));
    const part = { first: 100, last: 199 };
    /** A store between which and the server requests are counted. Each asks for its places anew. */
    const counted = async (isOn: boolean) => {
      const between = await betweenS3(given!.endpoint!, Infinity);
      const requests: string[] = [];
      between.onRequest = (piece) => {
        const [, method, name] = /^([A-Z]+) \S*\/([\w-]+)(?:\?\S*)? HTTP/.exec(piece) ?? [];
        if (method !== undefined) requests.push(`${method} ${name}`);
        return null;
      };
      const through = s3Blobs({
        ...given!,
        endpoint: between.address,
        sharing: { ...sharing, isOn: () => isOn },
      });
      return {
        through,
        /** The requests of this call. */
        of: async (call: () => Promise<unknown>): Promise<readonly string[]> => {
          requests.length = 0;
          await call();
          return [...requests];
        },
        close: () => through.close().then(between.close),
      };
    };
    const readPart = async (from: Blobs, sha256: string, content: Buffer) =>
      expect((await whole(await from.get(sha256, part))).equals(content.subarray(100, 200))).toBe(true);

    test("one while bodies are objects of their own", async () => {
      const { through, of, close } = await counted(false);
      for (const content of [text, randomBytes(900), randomBytes(200_000)]) {
        const { sha256 } = await through.put(content);
        expect(await of(() => through.head(sha256))).toEqual([`HEAD ${sha256}`]);
        expect(await of(() => expectWhole(through, [sha256], [content]))).toEqual([`GET ${sha256}`]);
        // The part of a compressed object is known to be none when it arrives.
        const times = content === text ? 2 : 1;
        const gets = Array.from({ length: times }, () => `GET ${sha256}`);
        expect(await of(() => readPart(through, sha256, content))).toEqual(gets);
      }
      await close();
    });

    test("one while bodies share objects", async () => {
      const { digests, contents, object } = await together(2);
      const { through, of, close } = await counted(true);
      expect(await of(() => expectWhole(through, [digests[0]!], contents))).toEqual([`GET shared-${object}`]);
      expect(await of(() => readPart(through, digests[1]!, contents[1]!))).toEqual([`GET shared-${object}`]);
      expect(await of(() => through.head(digests[1]!))).toEqual([]);
      await close();
    });

    test("one more where a body shares an object from before, and only the first time", async () => {
      const { digests, contents, object } = await together(2);
      const { through, of, close } = await counted(false);
      for (const [n, sha256] of digests.entries()) {
        const reading = () => expectWhole(through, [sha256], [contents[n]!]);
        expect(await of(reading)).toEqual([`GET ${sha256}`, `GET shared-${object}`]);
        expect(await of(reading)).toEqual([`GET shared-${object}`]);
      }
      await close();
    });

    test("one more where an object is wrong, which is never served, and only the first time", async () => {
      const { digests, contents, object } = await together(2);
      const [sha256, content] = [digests[0]!, contents[0]!];
      for (const wrong of [randomBytes(content.length), content.subarray(0, 150), Buffer.alloc(0)]) {
        // A store that has read the place asks for it first.
        const { through, of, close } = await counted(false);
        await through.put(content);
        const at = keyOf(sha256);
        const { Metadata } = await direct.send(new HeadObjectCommand(at));
        await direct.send(new PutObjectCommand({ ...at, Body: wrong, Metadata: Metadata! }));
        const reading = () => expectWhole(through, [sha256], [content]);
        expect(await of(reading)).toEqual([`GET ${sha256}`, `GET shared-${object}`]);
        expect(await of(reading)).toEqual([`GET shared-${object}`]);
        await close();
      }
    });
  });
});

describe.skipIf(blobs === null)("bodies in S3", () => {
  const account = blobs === null ? null : options(blobs);
  const spool = join(folder, "spool");
  mkdirSync(spool);
  const given = { ...account!, spool };
  const { bucket, prefix } = given;
  const store = account === null ? memoryBlobs() : s3Blobs(given);
  const direct = new S3Client({ ...given, forcePathStyle: true } as S3ClientConfig);
  const keys = async (): Promise<string[]> => {
    const { Contents = [] } = await direct.send(
      new ListObjectsV2Command({ Bucket: bucket, Prefix: `${prefix}/` }),
    );
    return Contents.map(({ Key }) => Key!);
  };
  afterAll(async () => {
    if (account === null) return;
    for (const Key of await keys()) await direct.send(new DeleteObjectCommand({ Bucket: bucket, Key }));
    await store.close();
    direct.destroy();
  });
  bodiesSuite(
    async () => store,
    async (sha256, change) => {
      const at = { Bucket: bucket, Key: `${prefix}/${sha256}` };
      const { Body, Metadata } = await direct.send(new GetObjectCommand(at));
      const stored = Buffer.from(await Body!.transformToByteArray());
      await direct.send(new PutObjectCommand({ ...at, Body: change(stored), Metadata: Metadata! }));
    },
  );

  test("are not lost when one is stored again in the middle of its removal", async () => {
    // The upload arrives between the look at the object's time and the delete.
    const content = randomBytes(3_000);
    const { sha256 } = await store.put(content);
    const between = await betweenS3(given.endpoint!, Infinity);
    const remover = s3Blobs({ ...given, endpoint: between.address });
    const stored = Promise.withResolvers<unknown>();
    between.onRequest = (head) => {
      if (head.startsWith("DELETE")) stored.resolve(store.put(content));
      return head.startsWith("DELETE") ? stored.promise : null;
    };
    await remover.remove(sha256, Date.now() + 60_000);
    await stored.promise;
    expect((await whole(await store.get(sha256))).equals(content)).toBe(true);
    // Two days later, as the collector sees it: it was stored again since, and stays.
    expect(await store.remove(sha256, Date.now() - 60_000)).toBe(false);
    expect((await whole(await store.get(sha256))).equals(content)).toBe(true);
    await remover.close();
    between.close();
  });

  test("are compressed where that helps, and only there", async () => {
    const size = async (content: Buffer) => {
      const { sha256 } = await store.put(content);
      const head = await direct.send(new HeadObjectCommand({ Bucket: bucket, Key: `${prefix}/${sha256}` }));
      return head.ContentLength;
    };
    const page = Buffer.from("<p>again</p>".repeat(20_000));
    expect(await size(page)).toBeLessThan(page.length / 20);
    const long = Buffer.from("<p>again</p>".repeat(200_000));
    expect(await size(long)).toBeLessThan(long.length / 20);
    expect(await size(randomBytes(100_000))).toBe(100_000);
    expect(await size(randomBytes(2_000_000))).toBe(2_000_000);
  });

  test("leave nothing behind in the bucket or the spool when the content fails, and never a file", async () => {
    const before = await keys();
    async function* endless(): AsyncGenerator<Buffer> {
      for (let piece = 0; piece < 30; piece++) yield randomBytes(100_000);
      throw new Error("The origin hung up");
    }
    await expect(store.put(endless())).rejects.toThrow("hung up");
    expect(await keys()).toEqual(before);
    await store.put(randomBytes(3_000_000));
    expect(readdirSync(spool)).toEqual([]);
  });

  test("are tried again when an upload is cut, and are there whole or not at all", async () => {
    const between = await betweenS3(given.endpoint!, 2_000_000);
    const through = s3Blobs({ ...given, endpoint: between.address });
    const before = await keys();
    await expect(through.put(randomBytes(4_000_000))).rejects.toMatchObject(fault);
    expect(between.seen.cuts).toBeGreaterThan(1);
    expect(await keys()).toEqual(before);
    await through.close();
    between.close();
  });

  test("wait for a slow reader", async () => {
    const between = await betweenS3(given.endpoint!, Infinity);
    const through = s3Blobs({ ...given, endpoint: between.address });
    const content = randomBytes(48 * 2 ** 20);
    const { sha256 } = await store.put(content);
    const reading = (await through.get(sha256))![Symbol.asyncIterator]();
    await reading.next();
    // Until nothing moves any more; what the kernel holds on the way is not ours.
    let [last, still] = [-1, 0];
    const stillFor = () => {
      still = between.seen.downloaded === last ? still + 1 : 0;
      last = between.seen.downloaded;
      return still;
    };
    await expect.poll(stillFor, { interval: 50 }).toBeGreaterThan(3);
    expect(between.seen.downloaded).toBeLessThan(content.length / 2);
    await reading.return!();
    await through.close();
    between.close();
  });

  test("are a fault and no missing body where the account or the bucket is wrong", async (context) => {
    const program = await engineProgram("blobs");
    if (program?.title.startsWith("moto")) return context.skip("moto checks no signature");
    const { sha256 } = await store.put(Buffer.from("there"));
    const secret = "not-the-secret";
    const credentials = { ...given.credentials!, secretAccessKey: secret };
    const refused = s3Blobs({ ...given, credentials });
    for (const asked of [
      () => refused.head(sha256),
      () => refused.get(sha256),
      () => refused.get(sha256, { first: 0, last: 1 }),
      () => refused.put(Buffer.from("there")),
      () => refused.put(randomBytes(1_100_000)),
      () => refused.remove(sha256),
      () => refused.ping(),
    ]) {
      const problem = await asked().then(
        () => null,
        (failure: Error) => failure,
      );
      expect(problem).toMatchObject(fault);
      expect(problem!.message).toContain("it answered 403");
      expect(inspect(problem, { depth: 9 })).not.toContain(secret);
    }
    const elsewhere = s3Blobs({ ...given, bucket: `${bucket}-no` });
    await expect(elsewhere.ping()).rejects.toMatchObject(fault);
    await expect(elsewhere.get(sha256)).rejects.toMatchObject(fault);
    await expect(elsewhere.put(Buffer.from("x"))).rejects.toMatchObject(fault);
    await refused.close();
    await elsewhere.close();
  });

  test("report a missing folder for content that does not fit into memory", async () => {
    const homeless = s3Blobs({ ...given, spool: join(folder, "nowhere") });
    await expect(homeless.put(randomBytes(1_100_000))).rejects.toMatchObject(fault);
    await homeless.close();
  });

  test(
    "come back after kill -9 with everything that was acknowledged, and after a pause",
    { timeout: 60_000 },
    async (context) => {
      const engine = await ownEngine("blobs");
      if (!engine?.title.startsWith("versitygw")) {
        await engine?.stop();
        return context.skip("no versitygw: it is elsewhere, or it is moto, which forgets when it is killed");
      }
      const places = bodyPlaces(memoryDocuments());
      const uploads = { single: 0, shared: 0 };
      const own = s3Blobs({
        ...options(engine.settings),
        spool,
        sharing: { places, isOn: () => true, clock: systemClock() },
        onUpload: (kind) => void uploads[kind]++,
      });
      try {
        const acknowledged: string[] = [];
        const problems: unknown[] = [];
        let going = true;
        const writer = async () => {
          while (going) {
            await own.put(randomBytes(20_000)).then(
              ({ sha256 }) => acknowledged.push(sha256),
              (problem) => problems.push(problem),
            );
            // Each of what is stored here is looked at afterwards: the pace bounds how much that is.
            await setTimeout(50);
          }
        };
        const writers = Array.from({ length: 8 }, writer);
        const large = randomBytes(48 * 2 ** 20);
        const { sha256 } = await own.put(large);
        const reading = (await own.get(sha256))![Symbol.asyncIterator]();
        await reading.next();
        await engine.kill();
        const rest = async () => {
          while (!(await reading.next()).done);
        };
        await expect(rest()).rejects.toMatchObject(fault);
        await expect.poll(() => problems.length, { timeout: 20_000 }).toBeGreaterThan(8);
        const at_kill = acknowledged.length;
        await engine.restart();
        await expect.poll(() => acknowledged.length, { timeout: 20_000 }).toBeGreaterThan(at_kill + 50);
        going = false;
        await Promise.all(writers);
        for (const problem of problems) expect(problem).toMatchObject(fault);
        for (const stored of acknowledged) expect(await whole(await own.get(stored))).toHaveLength(20_000);
        expect(uploads.shared).toBeGreaterThan(0);
        expect(uploads.single + uploads.shared).toBeLessThan(acknowledged.length);
        expect((await whole(await own.get(sha256))).equals(large)).toBe(true);

        await engine.pause();
        const paused = await Promise.allSettled([own.put(Buffer.from("x")), own.head(sha256), own.ping()]);
        for (const end of paused) expect(end).toMatchObject({ status: "rejected", reason: fault });
        engine.resume();
        await expect.poll(() => own.ping().then(() => true, String), { timeout: 20_000 }).toBe(true);
      } finally {
        await own.close();
        await engine.stop();
      }
    },
  );
});
