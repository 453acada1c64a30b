/** When a store counts as failing, and what becomes of requests that wait for it, on a virtual clock. */
import { expect, test } from "vitest";
import { memoryBlobs } from "../../cluster/adapters/blobs/blobs.memory.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { settled, virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import type { Blobs } from "../../cluster/ports/blobs.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import { storeFailureOf } from "../../cluster/ports/store-failure.ts";
import { watchStores } from "../../ops/store-watch.ts";
import { flakyDocuments } from "../harness/flaky-documents.ts";

function watch() {
  const clock = virtualClock(Date.UTC(2026, 0, 1));
  const documents = flakyDocuments();
  const telemetry = silentTelemetry();
  const bodies = { isAway: false, stored: 0 };
  const stored = memoryBlobs();
  const blobs: Blobs = {
    ...stored,
    put(content) {
      if (bodies.isAway) throw new Fault("bodies_unreachable", "away");
      bodies.stored++;
      return stored.put(content);
    },
  };
  const rejecting: Blobs = { ...blobs, put: async (content) => blobs.put(content) };
  const given = { documents, blobs: rejecting, clock, random: seededRandom(1), ...telemetry };
  return { ...watchStores(given), clock, store: documents, bodies, telemetry };
}

const failure = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "done",
    (problem: Error) => problem.name,
  );

test("a refused write makes a store fail when a probe is refused as well, and a probe that is stored ends it", async () => {
  const { documents, failing, store, clock, telemetry } = watch();
  expect(failing()).toBeNull();
  store.mode = "away";
  expect(await failure(documents.put("a", "b", 1, 0))).toBe("Fault");
  await settled();
  expect(failing()).toMatchObject({ store: "documents" });
  await clock.advance(60_000);
  expect(failing()).not.toBeNull();
  store.mode = "here";
  await clock.advance(1_000);
  expect(failing()).toBeNull();
  expect(telemetry.lines.map(({ message }) => message)).toEqual([
    "A store refuses writes",
    "A store takes writes again",
  ]);
});

test("one refused write is no failing store", async () => {
  const { documents, failing, store } = watch();
  store.mode = "away";
  const refused = failure(documents.put("a", "b", 1, 0));
  store.mode = "here";
  expect(await refused).toBe("Fault");
  await settled();
  expect(failing()).toBeNull();
});

test("a body store fails and comes back in the same way, and leaves no probe behind", async () => {
  const { blobs, failing, bodies, ping, clock } = watch();
  bodies.isAway = true;
  expect(await failure(blobs.put(Buffer.from("page")))).toBe("Fault");
  await settled();
  expect(failing()).toMatchObject({ store: "object_storage" });
  await expect(ping.object_storage()).rejects.toThrow("away");
  bodies.isAway = false;
  await clock.advance(1_000);
  expect(failing()).toBeNull();
  await ping.object_storage();
  const left = await Array.fromAsync(
    Array.from({ length: 256 }, (_, n) => n.toString(16).padStart(2, "0")),
    (digits) => Array.fromAsync(blobs.list(digits)),
  );
  expect(left.flat()).toEqual([]);
});

test("a request that waits is refused after three seconds, and not when the store is back before", async () => {
  const { orFailing, store, clock } = watch();
  store.mode = "away";
  const given_up = failure(orFailing(new Promise(() => {})));
  const answer = Promise.withResolvers<string>();
  await clock.advance(4_000);
  const waiting = failure(orFailing(answer.promise));
  await clock.advance(2_000);
  expect(await given_up).toBe("StoreFailing");
  store.mode = "here";
  await clock.advance(2_000);
  const later = orFailing(answer.promise);
  await clock.advance(60_000);
  answer.resolve("stored");
  expect(await waiting).toBe("StoreFailing");
  expect(await later).toBe("stored");
});

test("/ready asks the document store for a write", async () => {
  const { ping, store, failing } = watch();
  await ping.documents();
  expect(store.puts).toBe(1);
  await ping.documents();
  expect(failing()).toBeNull();
  store.mode = "away";
  await expect(ping.documents()).rejects.toThrow("away");
  expect(failing()).not.toBeNull();
});

test.each([
  [{ code: "ENOSPC" }, "full"],
  [{ code: "EDQUOT" }, "full"],
  [{ code: "EROFS" }, "read_only"],
  [{ errcode: 13 }, "full"],
  [{ errcode: 8 }, "read_only"],
  [{ errcode: 8 + (1 << 8) }, "read_only"],
  [{ errcode: 5 }, "unavailable"],
  [{ code: 14_031 }, "full"],
  [{ code: 10_107 }, "read_only"],
  [{ code: 13 }, "access_denied"],
  [{ name: "AccessDenied", $metadata: { httpStatusCode: 403 } }, "access_denied"],
  [{ name: "Unknown", $metadata: { httpStatusCode: 507 } }, "full"],
  [{ name: "InternalError", $metadata: { httpStatusCode: 500 } }, "unavailable"],
  [{ code: "ECONNREFUSED" }, "unavailable"],
  [new Fault("documents_unreachable", "x", { cause: new Error("y", { cause: { code: "ENOSPC" } }) }), "full"],
  [{ name: "JetStreamApiError", code: 10_047 }, "full"],
  [{ name: "JetStreamApiError", code: 10_071 }, "unavailable"],
  [null, "unavailable"],
])("%j is a store that is %s", (problem, expected) => {
  expect(storeFailureOf(problem)).toBe(expected);
});
