/**
 * Sums that each attempt that costs money has reserved, and then cost, as one document under the attempt's id. The accounts keep sums
 * only: these documents say what one request spent when neither its gateway nor its worker can. An attempt's id is the id of its
 * request, a full stop, and a name of the attempt.
 */
import type { Documents } from "../../../cluster/ports/documents.ts";
import { REQUEST_SPEND } from "./collections.ts";

/** Rows of requests whose gateway died are written within minutes; a store or a cluster may be away for a day. */
const RETENTION_MS = 2 * 24 * 3_600_000;
const MAX_ATTEMPTS_OF_A_REQUEST = 100;

/** Before the attempt with the most that it can cost, after it with what it did cost. Throws Fault. */
export async function recordSpend(
  documents: Documents,
  attempt_id: string,
  micros: number,
  now_ms: number,
): Promise<void> {
  const options = { expires_at_ms: Math.floor(now_ms) + RETENTION_MS };
  await REQUEST_SPEND.update(documents, attempt_id, () => ({ value: { micros }, options }));
}

/** The cost of a request's attempts, or what they have reserved where they are not settled. Throws Fault. */
export async function readSpend(documents: Documents, request_id: string): Promise<number> {
  const range = { from: `${request_id}.`, to: `${request_id}/`, limit: MAX_ATTEMPTS_OF_A_REQUEST };
  const attempts = await REQUEST_SPEND.list(documents, range);
  return attempts.reduce((sum, { value }) => sum + value.micros, 0);
}
