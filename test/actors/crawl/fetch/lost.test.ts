/** A run whose domain moves to another node meanwhile: what was broken off says nothing of the site. */
import { limitsOf } from "../../../../actors/crawl/fetch/run.ts";
import { expect, test } from "vitest";
import { fetchPipeline } from "../../../../actors/crawl/fetch/pipeline.ts";
import type { ActorClient } from "../../../../cluster/actor.ts";
import { memoryBlobs } from "../../../../cluster/adapters/blobs/blobs.memory.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import type { FetchRequest } from "../../../../schemas/fetch.ts";
import { answer, failure, HTML } from "../../../harness/fetch-harness.ts";
import { silentTelemetry } from "../../../../cluster/adapters/telemetry/telemetry.silent.ts";
import { DEFAULT_REQUEST } from "../../../harness/fetch-request.ts";

const REQUEST: FetchRequest = {
  ...DEFAULT_REQUEST,
  fetch_id: "f",
  deadline_ms: 150_000,
  render: "never",
  allow_archive: false,
  allow_alternates: false,
  allow_paid: false,
  tiers: ["direct"],
};

test.each([
  ["the exchange broke off", failure("timeout"), true],
  ["the exchange was through", answer(HTML), true],
  ["nothing was lost", failure("timeout"), false],
])("settles and stores nothing once it is lost: %s", async (_, result, isLost) => {
  const documents = memoryDocuments();
  const lost = new AbortController();
  const operations: string[] = [];
  const replies: Record<string, unknown> = {
    check: { kind: "allowed", reason: "no_rules" },
    acquire: { kind: "granted", waited_ms: 0 },
  };
  const ask = (async (of: unknown, key: unknown, operation: string) => {
    operations.push(operation);
    return replies[operation];
  }) as unknown as ActorClient;
  const runFetch = fetchPipeline({
    clock: virtualClock(),
    documents,
    blobs: memoryBlobs(),
    ...silentTelemetry(),
    routes: {
      direct: async ({ url, admit }) => {
        const entry = await admit(url);
        if (entry.kind === "admitted") entry.release({ status: null, retry_after_s: null });
        if (isLost) lost.abort();
        return result;
      },
    },
    extract: async () => ({ kind: "failed", reason: "aborted", detail: "" }),
  });
  const work = { signal: lost.signal, ownsKey: () => true, epoch: 1 };
  const outcome = await runFetch(ask, work, {
    request: REQUEST,
    limits: limitsOf(REQUEST),
    attempts: [],
    digest: "d",
    stored: Promise.resolve(null),
    stale: null,
  }).then(
    ({ error }) => error,
    ({ code }: { code: string }) => code,
  );
  expect(outcome).toBe(isLost ? "lease_lost" : "all_tiers_failed");
  expect(operations.includes("recordOutcome")).toBe(!isLost);
  expect(await documents.list("pages", { limit: 1 })).toEqual([]);
});
