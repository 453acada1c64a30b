/** The limiter of an upstream moves to another node while documents wait for its slots. */
import { expect, test } from "vitest";
import { type FetchRun } from "../../../../actors/sources/filings/upstream/fetch-run.ts";
import { FILING_LIMITS } from "../../../../actors/sources/filings/upstream/limits.ts";
import { acquireSlot } from "../../../../actors/sources/filings/upstream/slot-permit.ts";
import { addressActor } from "../../../../actors/sources/upstream/address.actor.ts";
import { limiterActor } from "../../../../actors/sources/upstream/limiter.actor.ts";
import { memoryBus } from "../../../../cluster/adapters/bus/bus.memory.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { memoryLeases } from "../../../../cluster/adapters/leases/leases.memory.ts";
import { silentTelemetry } from "../../../../cluster/adapters/telemetry/telemetry.silent.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { seededRandom } from "../../../../cluster/adapters/time/random.seeded.ts";
import { distributed, type DistributedCluster } from "../../../../cluster/distributed.ts";
import { MIN_PARTITIONS, partitionOf } from "../../../../cluster/placement.ts";
import { Fault } from "../../../../cluster/ports/fault.ts";
import { FilingAddress, FilingLimiter, type SourceRequest } from "../../../../schemas/filing-source.ts";
import { FILING_SLOTS } from "../../../../actors/sources/filings/collections.ts";

const CALLERS = 70;
/** As in send-request.ts. */
const SLOT_WAIT_MS = 10_000;

function world() {
  const clock = virtualClock(Date.UTC(2026, 0, 1));
  const shared = { bus: memoryBus(clock), leases: memoryLeases(clock) };
  const documents = memoryDocuments();
  /** Documents that were sent for, by digest. */
  const sent: string[] = [];
  let nodes = 0;
  const join = async ({ owns = true } = {}) => {
    const { metrics, log } = silentTelemetry();
    const limiter = limiterActor(FilingLimiter, {
      documents,
      clock,
      collection: FILING_SLOTS,
      limits: FILING_LIMITS,
      requests_per_second: 8,
      max_in_flight: CALLERS,
      events: { onAnswered() {}, onWaited() {}, onPauseLevel() {}, onStoreFailed() {} },
    });
    const address = addressActor<SourceRequest>(FilingAddress, async (ask, work, request, digest) => {
      const { signal } = work;
      const run = { ask, work, request, digest, signal, slots: 0, redirects: [], requests: 0 };
      const deps = { clock, egress: "default", metrics, log };
      const permit = await acquireSlot({ ...run, deps } as unknown as FetchRun, clock.now() + SLOT_WAIT_MS);
      if ("kind" in permit) return permit;
      sent.push(digest);
      await permit.recordOutcome("answered");
      return {
        kind: "failed",
        error: "sent",
        message: "",
        retry_after_s: null,
        status: 200,
        redirects: [],
        requests: 1,
      };
    });
    return distributed(
      owns ? [limiter, address] : [],
      { clock, random: seededRandom(nodes), metrics, log, documents, ...shared },
      { name: `node-${nodes++}`, owns },
    );
  };
  return { clock, join, sent };
}

test.each(["gateway", "owner"])(
  "callers on the %s get their slots when a node joins and the limiter moves",
  async (place) => {
    const { clock, join, sent } = world();
    const owner = await join();
    await owner.recovered;
    const client = place === "owner" ? owner : await join({ owns: false });
    await clock.advance(1_000);
    const began_ms = clock.now();
    const answers: string[] = [];
    for (let n = 0; n < CALLERS; n++)
      void document(client, n, began_ms + 60_000).then((how) => answers.push(how));

    await clock.advance(3_000);
    expect(sent.length).toBeGreaterThan(10);
    const partition = partitionOf("filings", "default", MIN_PARTITIONS);
    const joined: DistributedCluster[] = [];
    const hasMoved = (): boolean => joined.some((node) => node.partitions().includes(partition));
    for (let step = 0; step < 600 && !hasMoved(); step++) {
      // The partition may stay where it is when only one node joins.
      if (step % 30 === 0) joined.push(await join());
      await clock.advance(100);
    }
    while (answers.length < CALLERS && clock.now() < began_ms + 60_000) await clock.advance(100);
    expect(answers).toEqual(Array.from({ length: CALLERS }, () => "sent"));
    expect(new Set(sent).size).toBe(sent.length);
    // 70 slots take 8.75 s.
    expect(clock.now() - began_ms).toBeLessThanOrEqual(15_000);

    /** As the filing source asks: again, under the same id, when the partition has moved. */
    async function document(node: DistributedCluster, n: number, deadline_ms: number): Promise<string> {
      const request = {
        host: "data",
        kind: "submissions",
        path: `/${n}`,
        project: "p",
        lane: "sync",
        max_bytes: 1_000,
        cache_ttl_s: null,
        deadline_ms,
        ask_id: `ask-${n}`,
      };
      const options = { timeout_ms: 60_000, idempotency_id: request.ask_id };
      for (;;) {
        try {
          const answer = await node.ask(FilingAddress, `default d${n}`, "get", request as never, options);
          return answer.kind === "failed" ? answer.error : answer.kind;
        } catch (problem) {
          if (!(problem instanceof Fault) || clock.now() >= deadline_ms) throw problem;
          await new Promise<void>((resolve) => void clock.at(clock.now() + 250, resolve));
        }
      }
    }
  },
);
