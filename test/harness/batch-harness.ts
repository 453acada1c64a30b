/** A gateway without a socket that creates and runs jobs: real actors, attempts whose outcome the test decides. */
import { findPayer } from "../../actors/business/accounts/payer.ts";
import { jobActor } from "../../actors/work/jobs/actor.ts";
import type { ItemKind } from "../../actors/work/jobs/kind.ts";
import { schedulerActor } from "../../actors/work/jobs/scheduler.actor.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { fakeEgress } from "../../cluster/adapters/egress/egress.fake.ts";
import type { Clock } from "../../cluster/ports/clock.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import { batchRoute } from "../../gateway/batch.ts";
import { fetchBatch } from "../../actors/crawl/fetch/feature/routes.ts";
import { jobRoutes } from "../../actors/work/jobs/feature/routes.ts";
import { searchBatch } from "../../actors/sources/search/feature/routes.ts";
import { fetchAnswer, gatewayHarness } from "./gateway-harness.ts";

interface BatchOptions {
  /** How long an item takes. */
  readonly ms?: number;
  readonly error?: string;
  /** Bytes of a page of items. Default: the service's. */
  readonly page_bytes?: number;
  /** How far the clock goes at once while a call waits. Default 1. */
  readonly step_ms?: number;
}

export async function batches({ ms = 5, error, page_bytes, step_ms = 1 }: BatchOptions = {}) {
  const stored = memoryDocuments();
  const unreadable = new Set<string>();
  /** Reads of several documents wait for this promise. */
  const reads = { until: Promise.resolve() };
  const documents = {
    ...stored,
    getMany: async (collection: string, keys: readonly string[]) => {
      if (unreadable.has(collection)) throw new Fault("documents_unreachable", "Not now");
      await reads.until;
      return stored.getMany(collection, keys);
    },
  };
  const itemsOf = (name: "fetch" | "search", answer: unknown, clock: Clock): ItemKind => ({
    name,
    lane: () => null,
    async run(_, __, { signal }) {
      await new Promise<void>((resolve) => {
        clock.at(clock.now() + ms, resolve);
        signal.addEventListener("abort", () => resolve());
      });
      return {
        answer,
        error: signal.aborted ? "timeout" : (error ?? null),
        bill: { category: "fetch_own", ok: error === undefined, bytes: 7, paid: false, cost_micros: 0 },
        body_refs: [],
        retry: null,
      };
    },
  });
  const searched = { results: [], provider: null, fallback_reason: null, unresponsive_engines: [] };
  const at = await gatewayHarness({
    documents,
    actors: (around) => [
      schedulerActor(),
      jobActor({
        ...around,
        egress: fakeEgress({}),
        spentBy: async () => 0,
        findPayer: (project, prefix) => findPayer(documents, project, prefix),
        kinds: [
          itemsOf(
            "fetch",
            fetchAnswer({ final_url: "https://example.org/x" }, { error: error ?? null }),
            around.clock,
          ),
          itemsOf("search", { ...searched, cached: false, cost_usd: "0", error: null }, around.clock),
        ],
      }),
    ],
    more: (around) => {
      const kinds = [fetchBatch({ blobs: around.blobs, decode: String }), searchBatch];
      return [
        ...kinds.map((kind) =>
          batchRoute(around, kind, {
            path: `/v1/batch/${kind.name}`,
            operationId: `batch-${kind.name}`,
            summary: kind.name,
            tag: kind.name,
          }),
        ),
        ...jobRoutes({ ...around, kinds, ...(page_bytes && { page_bytes }) }),
      ];
    },
  });
  /** Advances the clock until the call is answered. */
  async function call(...args: Parameters<typeof at.call>) {
    const answer = at.call(...args);
    let isAnswered = false;
    void answer.finally(() => (isAnswered = true)).catch(() => {});
    for (let n = 0; n < 2_000 && !isAnswered; n++) await at.clock.advance(step_ms);
    return answer;
  }
  return {
    ...at,
    call,
    unreadable,
    reads,
    fetchAll: (items: readonly unknown[], more: object = {}) =>
      call("POST", "/v1/batch/fetch", { body: { items, idempotency_key: "k", ...more } }),
    finished: async (job_id: string) => {
      for (let n = 0; n < 100; n++) {
        const { json } = await call("GET", `/v1/jobs/${job_id}`);
        if (json.finished_at !== null) return json;
        await at.clock.advance(200);
      }
      throw new Error("The job is not finished");
    },
  };
}
