/**
 * Promises of each real engine that the service relies on: the queries and writes of the document store, the
 * streams and buckets of the bus, and the conditional writes of the blob store. These are the engines' promises; the adapters have suites of their own.
 */
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { connect as tcp } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomUUID } from "node:crypto";
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import type { JsMsg } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { MongoClient } from "mongodb";
import type { Collection } from "mongodb";
import { connect } from "nats";
import type { NatsConnection } from "nats";
import { Readable } from "node:stream";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cached } from "../ops/engines/install.ts";
import type { InstallPlace } from "../ops/engines/install.ts";
import { engines, ownEngine } from "./harness/engines.ts";

const { bus, documents, blobs } = await engines();
const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i));
const unique = (): string => `t${randomUUID().replaceAll("-", "")}`;

/** `many` calls, `wide` at a time. */
async function spread(many: number, wide: number, call: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < many) await call(next++);
  };
  await Promise.all(times(wide, worker));
}

/** In the order of its number. */
const id = (index: number): string => String(index).padStart(5, "0");

/** The HTTP status of an answer or a refusal. */
const statusOf = (sent: Promise<{ $metadata: { httpStatusCode?: number } }>): Promise<number | undefined> =>
  sent.then(
    (answer) => answer.$metadata.httpStatusCode,
    (problem) => problem.$metadata?.httpStatusCode,
  );

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = tcp(port, "127.0.0.1", () => (socket.destroy(), resolve(true)));
    socket.once("error", () => resolve(false));
  });

const place = async (): Promise<InstallPlace> => {
  const cache = await mkdtemp(join(tmpdir(), "trawl-test-cache-"));
  return { cache, path: "", mongodb_url: undefined, install: true, log: () => {} };
};

const build = (folder: string) => writeFile(join(folder, "binary"), "");

describe.skipIf(documents === null)("documents", () => {
  interface Doc {
    _id: string;
    v?: number;
    n?: number;
    epoch?: number;
    tag?: string;
    expires_at?: number;
  }
  const client = new MongoClient(documents?.["TRAWL_DOCUMENTS"] ?? "mongodb://127.0.0.1");
  const database = client.db(unique());
  const collection = (): Collection<Doc> => database.collection<Doc>(unique());

  afterAll(async () => {
    await database.dropDatabase();
    await client.close();
  });

  test("an _id that exists is refused with 11000", async () => {
    const docs = collection();
    await docs.insertOne({ _id: "a", v: 1 });
    await expect(docs.insertOne({ _id: "a", v: 2 })).rejects.toMatchObject({ code: 11000 });
    expect(await docs.findOne({ _id: "a" })).toEqual({ _id: "a", v: 1 });
  });

  test("of 16 inserts of one _id at once exactly one wins, every time", async () => {
    const docs = collection();
    for (const round of times(20, id)) {
      const tries = await Promise.allSettled(times(16, (v) => docs.insertOne({ _id: round, v })));
      expect(tries.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      const codes = tries.flatMap((one) => (one.status === "rejected" ? [one.reason.code] : []));
      expect(codes).toEqual(times(15, () => 11000));
    }
  });

  test("1,600 replacements at a version, 32 at a time, lose no update", async () => {
    const docs = collection();
    await docs.insertMany(times(8, (i) => ({ _id: id(i), v: 0, n: 0 })));
    let refused = 0;
    await spread(1_600, 32, async (i) => {
      for (;;) {
        const { _id, v, n } = (await docs.findOne({ _id: id(i % 8) })) as Required<Doc>;
        const { matchedCount } = await docs.replaceOne({ _id, v }, { v: v + 1, n: n + 1 });
        if (matchedCount === 1) return;
        refused += 1;
      }
    });
    const all = await docs.find().sort({ _id: 1 }).toArray();
    expect(all).toEqual(times(8, (i) => ({ _id: id(i), v: 200, n: 200 })));
    expect(refused).toBeGreaterThan(0); // or nothing was contended and this proves little
  }, 60_000);

  test("1,600 increments at once all count", async () => {
    const docs = collection();
    await docs.insertOne({ _id: "a", n: 0 });
    await spread(1_600, 32, () => docs.updateOne({ _id: "a" }, { $inc: { n: 1 } }));
    expect((await docs.findOne({ _id: "a" }))?.n).toBe(1_600);
  });

  /** A tick of turns in one command: the filter names the version read, so an upsert that misses is a duplicate. */
  const tick = (docs: Collection<Doc>, ids: readonly string[], v: number): Promise<number[]> =>
    docs
      .bulkWrite(
        ids.map((_id) => ({
          updateOne: { filter: { _id, v }, update: { $set: { v: v + 1 }, $inc: { n: 1 } }, upsert: true },
        })),
        { ordered: false },
      )
      .then(
        () => [],
        (problem) => {
          expect(problem.code).toBe(11000);
          return problem.writeErrors.map((error: { index: number }) => error.index);
        },
      );

  test("a bulk of 200 compare-and-sets reports exactly the stale ones and writes the others", async () => {
    const docs = collection();
    const ids = times(200, id);
    const stale = times(10, (i) => i * 20 + 7);
    await docs.insertMany(ids.map((_id, i) => ({ _id, v: stale.includes(i) ? 2 : 1, n: 0 })));
    expect(await tick(docs, ids, 1)).toEqual(stale);
    expect(await docs.countDocuments({ n: 1, v: 2 })).toBe(190);
    expect(await docs.countDocuments({})).toBe(200);
  });

  test("of eight such bulks at once, one wins each document", async () => {
    const docs = collection();
    const ids = times(100, id);
    await docs.insertMany(ids.map((_id) => ({ _id, v: 0, n: 0 })));
    const lost = await Promise.all(times(8, () => tick(docs, ids, 0)));
    expect(lost.flat()).toHaveLength(700);
    expect(await docs.countDocuments({ v: 1, n: 1 })).toBe(100);
  });

  test("a blind write of an older epoch changes nothing", async () => {
    const docs = collection();
    await docs.insertOne({ _id: "a", epoch: 5 });
    const write = (epoch: number) =>
      docs.updateOne({ _id: "a", epoch: { $lte: epoch } }, { $set: { epoch, n: epoch } });
    expect((await write(4)).matchedCount).toBe(0);
    expect((await write(6)).matchedCount).toBe(1);
    expect(await docs.findOne({ _id: "a" })).toEqual({ _id: "a", epoch: 6, n: 6 });
  });

  test("ranges of _id come in order, either way, and are removed exactly", async () => {
    const docs = collection();
    await docs.insertMany(times(1_200, (i) => ({ _id: `job:${id(i)}`, expires_at: i })));
    await docs.insertMany([{ _id: "joa:99999" }, { _id: "job;" }]);
    const job = { $gte: "job:", $lt: "job;" };
    const up = await docs.find({ _id: job }).sort({ _id: 1 }).toArray();
    expect(up.map(({ _id }) => _id)).toEqual(times(1_200, (i) => `job:${id(i)}`));
    const down = await docs.find({ _id: job }).sort({ _id: -1 }).limit(2).toArray();
    expect(down.map(({ _id }) => _id)).toEqual(["job:01199", "job:01198"]);
    const listed = await docs.find({ _id: { $in: times(1_000, (i) => `job:${id(i)}`) } }).toArray();
    expect(listed).toHaveLength(1_000);
    expect((await docs.deleteMany({ _id: { $gte: "job:00100", $lt: "job:00300" } })).deletedCount).toBe(200);
    expect((await docs.deleteMany({ expires_at: { $lt: 400 } })).deletedCount).toBe(200);
    expect((await docs.deleteMany({ _id: job })).deletedCount).toBe(800);
    expect(await docs.find().sort({ _id: 1 }).toArray()).toEqual([{ _id: "joa:99999" }, { _id: "job;" }]);
  });

  test("_id sorts by bytes, not by a language", async () => {
    const docs = collection();
    const ids = ["A", "Z", "a", "b", "z", "ä", "é", "字", "😀"];
    await docs.insertMany(ids.toReversed().map((_id) => ({ _id })));
    expect((await docs.find().sort({ _id: 1 }).toArray()).map(({ _id }) => _id)).toEqual(ids);
  });

  test("an equality on an ordinary index, sorted by _id, is found", async () => {
    const docs = collection();
    await docs.createIndex({ tag: 1, _id: 1 });
    await docs.insertMany(times(600, (i) => ({ _id: id(i), tag: `t${i % 3}` })));
    await docs.updateOne({ _id: id(4) }, { $unset: { tag: "" } });
    const found = await docs.find({ tag: "t1" }).sort({ _id: 1 }).limit(3).toArray();
    expect(found.map(({ _id }) => _id)).toEqual([id(1), id(7), id(10)]);
  });
});

/** Where a message is acknowledged: the client has it, its types do not. */
const replyOf = (message: JsMsg): string => (message as JsMsg & { reply: string }).reply;

describe.skipIf(bus === null)("bus", () => {
  let nc: NatsConnection;
  const stream = unique();
  beforeAll(async () => {
    nc = await connect({ servers: bus!["TRAWL_BUS"]! });
  });
  afterAll(async () => {
    const jsm = await jetstreamManager(nc);
    await jsm.streams.delete(stream).catch(() => false);
    await nc.close();
  });

  test("the server is 2.12 or newer", () => {
    const [major, minor] = nc.info!.version.split(".").map(Number) as [number, number];
    expect(major * 100 + minor).toBeGreaterThanOrEqual(212);
  });

  test("a full mailbox refuses with 10077, and a repeated message id is stored once", async () => {
    const jsm = await jetstreamManager(nc);
    await jsm.streams.add({
      name: stream,
      subjects: [`${stream}.>`],
      retention: "workqueue",
      max_msgs_per_subject: 2,
      discard: "new",
      discard_new_per_subject: true,
    });
    const js = jetstream(nc);
    const first = await js.publish(`${stream}.a`, "1", { msgID: "one" });
    expect((await js.publish(`${stream}.a`, "1", { msgID: "one" })).duplicate).toBe(true);
    await js.publish(`${stream}.a`, "2");
    await expect(js.publish(`${stream}.a`, "3")).rejects.toMatchObject({
      code: 10077,
      message: expect.stringContaining("maximum messages per subject exceeded"),
    });
    expect((await js.publish(`${stream}.b`, "1")).seq).toBe(first.seq + 2);
  });

  test("one consumer per filter, and what it did not acknowledge goes to the next", async () => {
    const jsm = await jetstreamManager(nc);
    const js = jetstream(nc);
    const consumer = (epoch: number) => ({
      durable_name: `e${epoch}`,
      filter_subject: `${stream}.>`,
      ack_policy: "explicit" as const,
    });
    await jsm.consumers.add(stream, consumer(1));
    await expect(jsm.consumers.add(stream, consumer(2))).rejects.toMatchObject({ code: 10100 });
    const late = (await (await js.consumers.get(stream, "e1")).next())!;
    await jsm.consumers.delete(stream, "e1");
    await jsm.consumers.add(stream, consumer(2));
    await expect(nc.request(replyOf(late), "+ACK", { timeout: 1_000 })).rejects.toThrow(/no responders/i);
    const again = (await (await js.consumers.get(stream, "e2")).next())!;
    expect(again.seq).toBe(late.seq);
    await nc.request(replyOf(again), "+ACK", { timeout: 1_000 });
    expect((await jsm.streams.info(stream)).state.messages).toBe(2);
  });

  test("of 16 claims of one lease one wins; a renewal at an old revision is 10071; a lapsed lease is free", async () => {
    const own = await new Kvm(nc).create(unique(), { ttl: 1_000, history: 1 });
    const claims = await Promise.allSettled(times(16, (i) => own.create("p1", `n${i}`)));
    const [won] = claims.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    expect(claims.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const renewed = await own.update("p1", "again", won!);
    expect(renewed).toBeGreaterThan(won!);
    await expect(own.update("p1", "late", won!)).rejects.toMatchObject({ code: 10071 });
    await expect.poll(() => own.get("p1"), { timeout: 5_000 }).toBeNull();
    await expect(own.update("p1", "late", renewed)).rejects.toMatchObject({ code: 10071 });
    expect(await own.create("p1", "next")).toBeGreaterThan(renewed);
    await own.destroy();
  });
});

describe.skipIf(blobs === null)("blobs", () => {
  const bucket = new URL(blobs?.["TRAWL_BLOBS"] ?? "s3://trawl").hostname;
  const account = (secret: string) =>
    new S3Client({
      endpoint: blobs?.["S3_ENDPOINT"] ?? "",
      region: blobs?.["AWS_REGION"] ?? "us-east-1",
      credentials: { accessKeyId: blobs?.["AWS_ACCESS_KEY_ID"] ?? "", secretAccessKey: secret },
      forcePathStyle: true,
    });
  const s3 = account(blobs?.["AWS_SECRET_ACCESS_KEY"] ?? "");
  async function bytes(Key: string, Range?: string): Promise<Buffer> {
    const { Body } = await s3.send(
      new GetObjectCommand({ Bucket: bucket, Key, ...(Range ? { Range } : {}) }),
    );
    return Buffer.from(await Body!.transformToByteArray());
  }
  const Bucket = bucket;
  const Key = `${unique()}/a`;
  const Body = Buffer.from(times(100_000, (i) => i % 251));

  test("the bucket is there, and making it again is refused with 409 or changes nothing", async () => {
    expect(await statusOf(s3.send(new HeadBucketCommand({ Bucket })))).toBe(200);
    expect([200, 409]).toContain(await statusOf(s3.send(new CreateBucketCommand({ Bucket }))));
  });

  test("what was put comes back to the byte, whole or in part", async () => {
    await s3.send(new PutObjectCommand({ Bucket, Key, Body }));
    await s3.send(new PutObjectCommand({ Bucket, Key, Body }));
    expect((await bytes(Key)).equals(Body)).toBe(true);
    expect(await bytes(Key, "bytes=250-253")).toEqual(Buffer.from([250, 0, 1, 2]));
    expect((await s3.send(new HeadObjectCommand({ Bucket, Key }))).ContentLength).toBe(100_000);
  });

  test("a missing object is 404, a range outside is 416", async () => {
    expect(await statusOf(s3.send(new HeadObjectCommand({ Bucket, Key: `${Key}-no` })))).toBe(404);
    expect(await statusOf(s3.send(new GetObjectCommand({ Bucket, Key: `${Key}-no` })))).toBe(404);
    expect(await statusOf(s3.send(new GetObjectCommand({ Bucket, Key, Range: "bytes=100000-" })))).toBe(416);
  });

  test.skipIf(!bucket)("an upload in parts arrives whole, and a broken one leaves nothing", async () => {
    const piece = Buffer.alloc(1_000_000, "trawl");
    const upload = (key: string, source: () => Generator<Buffer>) =>
      new Upload({ client: s3, params: { Bucket, Key: key, Body: Readable.from(source()) } }).done();
    await upload(`${Key}-parts`, function* whole() {
      for (const _ of times(11, Number)) yield piece;
    });
    expect((await bytes(`${Key}-parts`)).equals(Buffer.concat(times(11, () => piece)))).toBe(true);
    const broken = upload(`${Key}-broken`, function* broken() {
      for (const _ of times(7, Number)) yield piece;
      throw new Error("cut");
    });
    await expect(broken).rejects.toThrow("cut");
    expect(await statusOf(s3.send(new HeadObjectCommand({ Bucket, Key: `${Key}-broken` })))).toBe(404);
    expect(await statusOf(s3.send(new DeleteObjectCommand({ Bucket, Key: `${Key}-parts` })))).toBe(204);
    expect(await statusOf(s3.send(new HeadObjectCommand({ Bucket, Key: `${Key}-parts` })))).toBe(404);
  });
});

describe("an engine of one's own", () => {
  test.skipIf(bus === null)(
    "NATS keeps port and data over kill -9, does not answer while paused, and leaves nothing when stopped",
    async (context) => {
      const engine = await ownEngine("bus");
      if (!engine) return context.skip("NATS is elsewhere");
      try {
        const publish = async () => {
          const nc = await connect({ servers: engine.settings["TRAWL_BUS"]! });
          const jsm = await jetstreamManager(nc);
          await jsm.streams.add({ name: "KEPT", subjects: ["kept"] });
          const { seq } = await jetstream(nc).publish("kept", "x");
          await nc.close();
          return seq;
        };
        expect(await publish()).toBe(1);
        await engine.kill();
        expect(await answers(engine.port)).toBe(false);
        await engine.restart();
        expect(await publish()).toBe(2);
        await engine.pause();
        const late = publish();
        const first = await Promise.race([late, setTimeout(200, "nothing yet")]);
        engine.resume();
        expect([first, await late]).toEqual(["nothing yet", 3]);
      } finally {
        await engine.stop();
      }
      expect(await answers(engine.port)).toBe(false);
      expect(existsSync(engine.log)).toBe(false);
    },
  );

  test.skipIf(documents === null)(
    "documents stored are there after kill -9 and after a pause",
    async (context) => {
      const engine = await ownEngine("documents");
      if (!engine) return context.skip("MongoDB is elsewhere");
      try {
        const insert = async (key: string) => {
          const client = new MongoClient(engine.settings["TRAWL_DOCUMENTS"]!);
          const docs = client.db().collection<{ _id: string }>("kept");
          await docs.insertOne({ _id: key });
          const all = await docs.find().sort({ _id: 1 }).toArray();
          await client.close();
          return all.map(({ _id }) => _id);
        };
        expect(await insert("a")).toEqual(["a"]);
        await engine.kill();
        expect(await answers(engine.port)).toBe(false);
        await engine.restart();
        expect(await insert("b")).toEqual(["a", "b"]);
        await engine.pause();
        const late = insert("c");
        const first = await Promise.race([late, setTimeout(200, "nothing yet")]);
        engine.resume();
        expect([first, await late]).toEqual(["nothing yet", ["a", "b", "c"]]);
      } finally {
        await engine.stop();
      }
      expect(existsSync(engine.log)).toBe(false);
    },
  );
});

describe("the cache", () => {
  test("holds what was built whole, and nothing of what was not", async () => {
    const here = await place();
    try {
      const halfway = (folder: string) => build(folder).then(() => Promise.reject(new Error("no network")));
      await expect(cached("a-1", here, halfway)).rejects.toThrow("Cannot install a-1: no network");
      expect(await readdir(here.cache)).toEqual([]);
      const folder = await cached("a-1", here, build);
      expect(await readdir(folder)).toEqual(["binary"]);
      expect(await cached("a-1", here, () => Promise.reject(new Error("built twice")))).toBe(folder);
    } finally {
      await rm(here.cache, { recursive: true });
    }
  });

  test("of two builds at once one stays, and both callers may use it", async () => {
    const here = await place();
    try {
      const [a, b] = await Promise.all([cached("a-1", here, build), cached("a-1", here, build)]);
      expect(a).toBe(b);
      expect(await readdir(here.cache)).toEqual(["a-1"]);
    } finally {
      await rm(here.cache, { recursive: true });
    }
  });

  test("is only looked at when nothing may be installed", async () => {
    const here = { ...(await place()), install: false };
    await expect(cached("a-1", here, build)).rejects.toThrow(`no a-1 in ${here.cache}`);
    await rm(here.cache, { recursive: true });
  });
});
