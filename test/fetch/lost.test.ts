/** A climb whose domain goes to another node meanwhile: what was cut off tells nothing of the site. */
import { expect, test } from "vitest";
import { climb } from "../../actors/fetch/pipeline.ts";
import type { Say } from "../../cluster/actor.ts";
import { memoryBodies } from "../../cluster/adapters/blobs/blobs.memory.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { silentMeters } from "../../cluster/adapters/telemetry/meters.silent.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import type { FetchAsk } from "../../schemas/fetch.ts";
import { answer, failure, HTML } from "../harness/fetch-harness.ts";

const ASK: FetchAsk = {
  fetch_id: "f",
  url: "http://example.org/",
  render: "never",
  max_bytes: 1_000_000,
  max_pdf_bytes: 1_000_000,
  accept_pdf: true,
  cache_ttl_s: null,
  min_text_chars: 0,
  allow_archive: false,
  allow_alternates: false,
  allow_paid: false,
  tiers: ["direct"],
  country: null,
  user_agent: null,
  accept_language: null,
  lane: "sync",
  project: "default",
  deadline_ms: 150_000,
  hard_deadline: false,
};

test.each([
  ["the exchange broke off", failure("timeout"), true],
  ["the exchange was through", answer(HTML), true],
  ["nothing was lost", failure("timeout"), false],
])("settles and stores nothing once it is lost: %s", async (_, transported, isLost) => {
  const documents = memoryDocuments();
  const lost = new AbortController();
  const told: string[] = [];
  const replies: Record<string, unknown> = {
    may: { kind: "allowed", because: "no_rules" },
    acquire: { kind: "granted", waited_ms: 0 },
  };
  const say = (async (of: unknown, key: unknown, operation: string) => {
    told.push(operation);
    return replies[operation];
  }) as unknown as Say;
  const climbs = climb({
    clock: virtualClock(),
    documents,
    bodies: memoryBodies(),
    meters: silentMeters(),
    routes: {
      direct: async ({ url, enter }) => {
        const entry = await enter(url);
        if (entry.kind === "entered") entry.left({ status: null, retry_after_s: null });
        if (isLost) lost.abort();
        return transported;
      },
    },
    extract: async () => ({ kind: "failed", reason: "aborted", detail: "" }),
  });
  const held = { signal: lost.signal, mayStart: () => true, epoch: 1 };
  const end = await climbs(say, held, {
    request: ASK,
    digest: "d",
    known: Promise.resolve(null),
    stale: null,
  }).then(
    ({ error }) => error,
    ({ code }: { code: string }) => code,
  );
  expect(end).toBe(isLost ? "lease_lost" : "all_tiers_failed");
  expect(told.includes("settle")).toBe(!isLost);
  expect(await documents.list("pages", { limit: 1 })).toEqual([]);
});
