/** Log lines of turns that fail: a bug each time, a store that is away once a minute. */
import { expect, test } from "vitest";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { reportFailure } from "../../cluster/internal/turn/failures.ts";
import { Fault } from "../../cluster/ports/fault.ts";

test("a store that is away writes one line a minute, with how many others there were and without a stack", async () => {
  const clock = virtualClock(0);
  const telemetry = silentTelemetry();
  const node = {
    clock,
    random: seededRandom(1),
    documents: memoryDocuments(),
    partitionCount: 64,
    ...telemetry,
  };
  const away = new Fault("bodies_unreachable", "Cannot store a body", { cause: new Error("ECONNREFUSED") });
  for (let n = 0; n < 80; n++) reportFailure(node, "fetch", `key ${n}`, "run", away);
  reportFailure(node, "domain", "a.test", "acquire", new Fault("documents_unreachable", "Cannot write"));
  await clock.advance(60_000);
  reportFailure(node, "fetch", "key", "run", away);
  const lines = telemetry.lines.map(({ level, fields }) => [
    level,
    fields?.["code"],
    fields?.["others_since_last_line"],
  ]);
  expect(lines).toEqual([
    ["warn", "bodies_unreachable", 0],
    ["warn", "documents_unreachable", 0],
    ["warn", "bodies_unreachable", 79],
  ]);
  expect(telemetry.lines[0]!.fields?.["problem"]).toBe("Cannot store a body");
  for (let n = 0; n < 3; n++) reportFailure(node, "fetch", "key", "run", new TypeError("a bug"));
  expect(telemetry.lines.filter(({ message }) => message === "A turn failed")).toHaveLength(3);
});
