import { expect, test } from "vitest";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { memoryLeases } from "../../cluster/adapters/leases/leases.memory.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { generations } from "../../cluster/generation.ts";

test("nothing is claimed under a generation before its record is durable", async () => {
  const clock = virtualClock();
  const leases = memoryLeases(clock);
  const durable = Promise.withResolvers<void>();
  let syncs = 0;
  const documents = {
    ...memoryDocuments(),
    synced() {
      syncs++;
      return durable.promise;
    },
  };
  const { claimTerms } = generations(documents, clock, { ttl_ms: 3_000, partitions: 64 });
  let isAnswered = false;
  const asked = claimTerms(() => leases.survey()).finally(() => (isAnswered = true));
  await clock.advance(5_000);
  expect(isAnswered).toBe(false);
  durable.resolve();
  expect((await asked).terms).toMatchObject({ generation: 1 });
  await claimTerms(() => leases.survey());
  expect(syncs).toBe(1);
});
