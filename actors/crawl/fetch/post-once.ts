/**
 * A POST is sent by one run only. Before its first request a run claims the fetch in a document; a run that begins again, because
 * the node of an earlier one has died or lost the key, finds the claim and sends nothing.
 */
import type { Admission, AdmitOptions } from "../../lib/web/transport.ts";
import { admit } from "./admission.ts";
import { POSTS } from "./collections.ts";
import type { PipelineDeps, RunState } from "./run.ts";

/** Longer than any caller asks again for the same fetch. */
const CLAIM_MS = 24 * 3_600_000;

export async function admitPost(
  deps: PipelineDeps,
  run: RunState,
  url: string,
  options?: AdmitOptions,
): Promise<Admission> {
  const admission = await admit(deps, run, url, options);
  if (admission.kind === "refused" || run.is_post_claimed) return admission;
  const now_ms = deps.clock.now();
  const claimed = await POSTS.put(deps.documents, run.request.fetch_id, { at_ms: now_ms }, 0, {
    expires_at_ms: now_ms + CLAIM_MS,
  }).catch((problem: unknown) => {
    admission.release({ status: null, retry_after_s: null });
    throw problem;
  });
  if (claimed) {
    run.is_post_claimed = true;
    return admission;
  }
  admission.release({ status: null, retry_after_s: null });
  const error = "post_not_repeated";
  const refusal = { error, step: "egress", reason: error, retry_after_s: null, detail: null } as const;
  return { kind: "refused", refusal };
}
