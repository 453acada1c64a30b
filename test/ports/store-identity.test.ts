/** Bodies that belong to other documents, on the engines of one process and of a cluster: whatever is lost, none of them is removed. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import { systemRandom } from "../../cluster/adapters/time/random.system.ts";
import { bodyRefs } from "../../cluster/body-refs.ts";
import type { Blobs } from "../../cluster/ports/blobs.ts";
import type { Clock } from "../../cluster/ports/clock.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { collectBodies } from "../../ops/collect-bodies.ts";
import { type Config, readConfig } from "../../ops/config.ts";
import { openStoreIdentity } from "../../ops/store-identity.ts";
import { openBlobs, openDocuments, storePlaces } from "../../ops/stores.ts";
import { engines } from "../harness/engines.ts";

const folder = mkdtempSync(join(tmpdir(), "trawl-identity-"));
afterAll(() => rmSync(folder, { recursive: true }));
const { documents, blobs } = await engines("documents", "blobs");
const DAY_MS = 24 * 60 * 60_000;
const PARTS = 256;
/** Minutes after which each part was looked at. */
const ROUND = PARTS + 1;

/** Settings of stores of their own, by the names of the documents and of the bodies. */
const ENGINES: readonly { engine: string; count: number; of: (d: string, b: string) => Config }[] = [
  {
    engine: "SQLite",
    count: 1_500,
    of: (d, b) =>
      readConfig({
        TRAWL_DATA_DIR: join(folder, b),
        TRAWL_DOCUMENTS: `sqlite:${join(folder, `${d}.sqlite`)}`,
        TRAWL_DURABILITY: "process",
      }),
  },
  ...(documents && blobs
    ? [
        {
          engine: "MongoDB and S3",
          count: 400,
          of: (d: string, b: string) =>
            readConfig({
              ...documents,
              ...blobs,
              TRAWL_DATA_DIR: join(folder, b),
              TRAWL_DOCUMENTS: documents["TRAWL_DOCUMENTS"]!.replace(/^(\w+:\/\/[^/]+)[^?]*/, `$1/${d}`),
              TRAWL_BLOBS: `${blobs["TRAWL_BLOBS"]}/${b}`,
            }),
        },
      ]
    : []),
];

/** Time that passes in minutes, each when what the last one began has ended: the stores are real. */
function minutes() {
  let now_ms = Date.now() + 3 * DAY_MS;
  const alarm: { call: (() => void) | null } = { call: null };
  const clock: Clock = {
    ...virtualClock(),
    now: () => now_ms,
    at(_, call) {
      alarm.call = call;
      return { [Symbol.dispose]: () => void (alarm.call = null) };
    },
  };
  async function pass(count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      const { call } = alarm;
      now_ms += 60_000;
      alarm.call = null;
      call!();
      while (alarm.call === null) await new Promise(setImmediate);
    }
  }
  return { clock, pass };
}

/** A service on these stores, three days ahead of the bodies. */
async function collected(config: Config, count: number) {
  const [opened, bodies] = [await openDocuments(config), await openBlobs(config)];
  const { clock, pass } = minutes();
  const stores = { documents: opened, blobs: bodies };
  try {
    const now_ms = (): number => clock.now();
    const identity = await openStoreIdentity({
      ...stores,
      places: storePlaces(config),
      now_ms,
      random: systemRandom(),
    });
    const telemetry = silentTelemetry();
    const collection = collectBodies({
      ...stores,
      identity,
      clock,
      random: seededRandom(1),
      ...telemetry,
    });
    await pass(count);
    collection[Symbol.dispose]();
    const problems = telemetry.lines.filter(({ message }) => message.startsWith("Cannot"));
    return { belonging: identity.belonging(), stopped: collection.stopped(), id: identity.id, problems };
  } finally {
    await opened.close();
    await bodies.close();
  }
}

async function using<T>(
  config: Config,
  work: (documents: Documents, blobs: Blobs) => Promise<T>,
): Promise<T> {
  const [opened, bodies] = [await openDocuments(config), await openBlobs(config)];
  try {
    return await work(opened, bodies);
  } finally {
    await opened.close();
    await bodies.close();
  }
}

/** Bodies that the documents name. */
const fill = (config: Config, count: number): Promise<string[]> =>
  using(config, async (into, bodies) => {
    const digests: string[] = [];
    while (digests.length < count) {
      const stored = await Promise.all(
        Array.from({ length: Math.min(50, count - digests.length) }, () => bodies.put(randomBytes(300))),
      );
      digests.push(...stored.map(({ sha256 }) => sha256));
    }
    await bodyRefs(into).retain(digests, "job", Infinity);
    return digests;
  });

/** How many can be read, and how many were not even set aside. */
const left = (config: Config, digests: readonly string[]) =>
  using(config, async (_, bodies) => {
    const listed = await Promise.all(
      Array.from({ length: PARTS }, (_none, n) =>
        Array.fromAsync(bodies.list(n.toString(16).padStart(2, "0"))),
      ),
    );
    const whole = new Set(
      listed
        .flat()
        .filter(({ is_set_aside }) => is_set_aside !== true)
        .map(({ sha256 }) => sha256),
    );
    return digests.filter((sha256) => whole.has(sha256)).length;
  });

const newName = (): string => `identity-${randomBytes(6).toString("hex")}`;

describe.each(ENGINES)("bodies in $engine", ({ of, count }) => {
  test(
    "all stay where the documents were lost, and the service says what it found",
    { timeout: 120_000 },
    async () => {
      const [name, lost] = [newName(), newName()];
      const digests = await fill(of(name, name), count);
      expect((await collected(of(name, name), 60)).belonging).toEqual({ kind: "one" });
      for (let start = 0; start < 2; start++) {
        const found = await collected(of(lost, name), start === 0 ? ROUND : 1);
        expect(found.stopped).toContain("are new, and");
        expect(found.belonging.kind).toBe("apart");
      }
      expect(await left(of(name, name), digests)).toBe(count);
      // The right documents are back.
      expect((await collected(of(name, name), 60)).stopped).toBeNull();
    },
  );

  test(
    "all stay where documents of an earlier version share them with new ones",
    { timeout: 120_000 },
    async () => {
      const [name, staging] = [newName(), newName()];
      const digests = await fill(of(name, name), 200);
      expect((await collected(of(staging, name), ROUND)).belonging.kind).toBe("apart");
      expect(await left(of(name, name), digests)).toBe(200);
      expect((await collected(of(name, name), 60)).belonging.kind).toBe("one");
    },
  );

  test("are not used with documents of another id", async () => {
    const [name, other] = [newName(), newName()];
    const { id } = await collected(of(name, name), 1);
    const { id: other_id } = await collected(of(other, other), 1);
    await expect(collected(of(other, name), 1)).rejects.toThrow(
      new RegExp(`do not belong together: the documents carry the id "${other_id}", the bodies "${id}"`),
    );
  });

  test("that no document names go, beside those that documents name", { timeout: 120_000 }, async () => {
    const name = newName();
    const kept = await fill(of(name, name), 190);
    const loose = await using(of(name, name), async (_, bodies) =>
      Promise.all(Array.from({ length: 10 }, async () => (await bodies.put(randomBytes(300))).sha256)),
    );
    await collected(of(name, name), 2 * ROUND);
    expect(await left(of(name, name), loose)).toBeLessThan(8);
    expect(await left(of(name, name), kept)).toBe(190);
  });
});
