import { expect, test } from "vitest";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { expireDocuments } from "../../ops/expire-documents.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";

test("removes what has expired within a minute, and nothing else", async () => {
  const clock = virtualClock(1_000);
  const documents = memoryDocuments();
  await documents.put("pages", "old", 1, 0, { expires_at_ms: 30_000 });
  await documents.put("pages", "new", 1, 0, { expires_at_ms: 90_000 });
  await documents.put("pages", "kept", 1, 0);
  await documents.put("keys", "old", 1, 0, { expires_at_ms: 30_000 });
  expireDocuments({ documents, clock, ...silentTelemetry(), collections: ["pages"] });
  await clock.advance(61_000);
  const keys = async (collection: string) =>
    (await documents.list(collection, { limit: 10 })).map(({ key }) => key);
  expect(await keys("pages")).toEqual(["kept", "new"]);
  expect(await keys("keys")).toEqual(["old"]);
  await clock.advance(60_000);
  expect(await keys("pages")).toEqual(["kept"]);
});

test("tries again after the store was away, and stops when it is disposed", async () => {
  const clock = virtualClock(0);
  const documents = memoryDocuments();
  let asked = 0;
  const forget: typeof documents.removeExpired = async (...args) => {
    if (asked++ === 0) throw new Error("away");
    return documents.removeExpired(...args);
  };
  const stop = expireDocuments({
    documents: { ...documents, removeExpired: forget },
    clock,
    ...silentTelemetry(),
    collections: ["pages"],
  });
  await clock.advance(60_000);
  await clock.advance(60_000);
  expect(asked).toBe(2);
  stop[Symbol.dispose]();
  await clock.advance(600_000);
  expect(asked).toBe(2);
});
