/** Requests to the filing system as items of a batch job: how a worker runs one, how the gateway takes and shows it. */
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { BatchKind } from "../../../gateway/batch.ts";
import type { BodyGrants } from "../../../gateway/body-access.ts";
import type { ItemKindParts } from "../../../ops/feature.ts";
import { canRetryFilings } from "../../../schemas/errors.ts";
import { textDigests } from "../../../schemas/fetch.ts";
import type { FilingsItem, StoredFiling } from "../../../schemas/filings.ts";
import { filingsLane, runFilingsItem } from "../items.ts";
import type { FilingsService } from "../service.ts";
import { billOf } from "./routes.ts";

interface FilingsItemDeps {
  readonly service: FilingsService;
  readonly bodyGrants: BodyGrants;
  readonly clock: Clock;
}

/** As long as a caller of the single endpoint waits. */
const FILING_TIMEOUT_MS = 150_000;

export const filingsItems = (
  { service, bodyGrants, clock }: FilingsItemDeps,
  gateway: BatchKind,
): ItemKindParts => ({
  worker: {
    name: "filings",
    lane: (input) => filingsLane(input as FilingsItem),
    async run(_ask, input, { attempt_id, project }) {
      const deadline_ms = clock.now() + FILING_TIMEOUT_MS;
      const caller = { project, lane: "batch", deadline_ms, id: attempt_id } as const;
      const item = await runFilingsItem(service, input as FilingsItem, caller);
      const { bodies, is_busy } = item.result;
      for (const body of bodies) await bodyGrants.record(project, { ...body, body_kind: "origin" });
      const { error, retry_after_s, cached } = item.result.answer;
      const bytes = item.kind === "document" ? item.result.answer.record.bytes : 0;
      const stored: StoredFiling =
        item.kind === "document"
          ? { op: "document", answer: null, document: { url: item.result.url, answer: item.result.answer } }
          : { op: item.op, answer: item.result.answer, document: null };
      const isTransient = error !== null && (canRetryFilings(error) || error === "timeout");
      return {
        answer: stored,
        error,
        bill: billOf(cached, error, bytes),
        body_refs: item.kind === "document" ? textDigests(item.result.answer.record) : [],
        // A full limiter or a pause says nothing about the item. A failure of its own counts as an attempt.
        retry: is_busy
          ? { reason: "busy", retry_after_s }
          : isTransient
            ? { reason: "transient", retry_after_s }
            : null,
      };
    },
  },
  gateway,
  route: {
    path: "/v1/batch/filings",
    operationId: "batchFilings",
    summary: "Run many filing requests as a job",
    tag: "filings",
  },
});
