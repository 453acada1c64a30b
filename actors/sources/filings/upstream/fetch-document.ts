/**
 * A document of the filing system: from the cache, or by up to two attempts. An attempt is attempt.ts; slots are
 * slot-permit.ts and send-request.ts; what an answer means is classify-response.ts; how long it is kept is limits.ts.
 */
import { bodyRefs } from "../../../../cluster/body-refs.ts";
import type { SourceRequest } from "../../../../schemas/filing-source.ts";
import { workFields } from "../../../lib/work-fields.ts";
import type { FetchDocument } from "../../upstream/address.actor.ts";
import { asCachedDocument, lookup } from "../../upstream/document-cache.ts";
import { attemptOnce } from "./attempt.ts";
import { type FetchDocumentDeps, type FetchRun, pause } from "./fetch-run.ts";
import { KIND_RULES } from "./limits.ts";
import { filingRobots } from "./robots.ts";
import { FILING_DOCUMENTS } from "../collections.ts";

const MAX_ATTEMPTS = 2;

export function documentFetcher(deps: FetchDocumentDeps): FetchDocument<SourceRequest> {
  const { clock, documents, log, hosts } = deps;
  const attemptDeps = { refs: bodyRefs(documents), checkRobots: filingRobots(deps) };

  return async (ask, work, request, digest) => {
    const rules = KIND_RULES[request.kind];
    const stored = asCachedDocument(await FILING_DOCUMENTS.get(documents, digest));
    const cached = lookup(stored, rules, request, clock.now());
    if (cached.kind === "hit") return cached.answer;

    const deadline = new AbortController();
    const deadlineTimer = clock.at(request.deadline_ms, () => deadline.abort());
    const run: FetchRun = {
      deps,
      ask,
      work,
      request,
      digest,
      url: hosts.urlOf(request),
      max_bytes: Math.min(request.max_bytes, rules.max_bytes),
      stale: cached.kind === "stale" ? cached.cached : null,
      signal: AbortSignal.any([work.signal, deadline.signal]),
      redirects: [],
      requests: 0,
      slots: 0,
    };
    try {
      for (let attempts = 1; ; attempts++) {
        const { answer, retry_in_ms, problem } = await attemptOnce(run, attemptDeps);
        if (retry_in_ms === null || attempts === MAX_ATTEMPTS || run.signal.aborted) return answer;
        if (clock.now() + retry_in_ms >= request.deadline_ms) return answer;
        const [url] = run.url.split("?");
        const fields = { ...workFields(request.work_id), url, why: problem };
        log.info("The filing system is asked once more", fields);
        await pause(run, retry_in_ms);
      }
    } finally {
      deadlineTimer[Symbol.dispose]();
    }
  };
}
