/** Requests to the filing system as items of a batch job: how a worker runs one, how the gateway takes and shows it. */
import type { Node } from "../../../../cluster/node-record.ts";
import type { Blobs } from "../../../../cluster/ports/blobs.ts";
import type { BatchKind } from "../../../../gateway/batch.ts";
import type { BodyGrants } from "../../../../gateway/body-access.ts";
import type { ItemKindParts } from "../../../work/jobs/feature/tokens.ts";
import { canRetryFilings } from "../../../../schemas/errors.ts";
import { partDigests } from "../../../../schemas/fetch.ts";
import type { FilingsItem, FilingsOp, StoredFiling } from "../../../../schemas/filings.ts";
import type { FilingsAnswer, FilingsClient } from "../client.ts";
import { fieldsOf, filingsLane } from "../items.ts";
import { answerPieces, billOf } from "./routes.ts";

/** As long as a caller of the single endpoint waits. */
const FILING_TIMEOUT_MS = 150_000;

export const filingsItems = (
  {
    filings,
    blobs,
    bodyGrants,
    clock,
  }: Pick<Node, "blobs" | "clock"> & {
    readonly filings: FilingsClient;
    readonly bodyGrants: BodyGrants;
  },
  gateway: BatchKind,
): ItemKindParts => ({
  worker: {
    name: "filings",
    lane: (input) => filingsLane(input as FilingsItem),
    async run(_ask, input, { attempt_id, project }) {
      const deadline_ms = clock.now() + FILING_TIMEOUT_MS;
      const caller = { project, lane: "batch", deadline_ms, id: attempt_id } as const;
      // The item was checked when its job was created.
      const op = (input as FilingsItem).op as FilingsOp;
      const reply = await filings(op, fieldsOf(input as FilingsItem), caller);
      const { bodies, is_busy } = reply;
      for (const body of bodies) await bodyGrants.record(project, { ...body, body_kind: "origin" });
      const { error, retry_after_s, cached } = reply.kind === "document" ? reply.answer : reply;
      const bytes = reply.kind === "document" ? reply.answer.record.bytes : 0;
      const stored: StoredFiling =
        reply.kind === "document"
          ? { op, answer: null, document: { url: reply.url, answer: reply.answer } }
          : { op, answer: await wholeAnswer(blobs, reply), document: null };
      const isTransient = error !== null && (canRetryFilings(error) || error === "timeout");
      return {
        answer: stored,
        error,
        bill: billOf(cached, error, bytes),
        body_refs: reply.kind === "document" ? partDigests(reply.answer.record) : [],
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

type AnswerReply = Extract<FilingsAnswer, { kind: "answer" }>;

async function wholeAnswer(blobs: Blobs, { answer, answer_sha256 }: AnswerReply): Promise<object> {
  if (answer !== null) return answer;
  const pieces = await Array.fromAsync(await answerPieces(blobs, answer_sha256!));
  return JSON.parse(Buffer.concat(pieces).toString()) as object;
}
