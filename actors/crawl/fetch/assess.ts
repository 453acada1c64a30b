/**
 * Assesses the page that a route returned: its bytes are extracted in a worker process, then classified as a page, a
 * challenge, a block, a final status, or a document that the request does not accept.
 */
import { NO_ROOM } from "../../../cluster/ports/workers.ts";
import { type Tier } from "../../../schemas/tier-table.ts";
import { challengeOf } from "../../reading/content/challenge.ts";
import { cutOff } from "../../reading/document-task.ts";
import type { Extracted } from "../../reading/extraction-result.ts";
import { comparableChars } from "../../reading/content/comparable-chars.ts";
import { contentKindOf } from "../../lib/web/http.ts";
import type { TransportPage } from "../../lib/web/transport.ts";
import { workFields } from "../../lib/work-fields.ts";
import { isBlocking, isThin, type Outcome } from "./ladder.ts";
import { contentTypeOf, type PageStore } from "./page-store.ts";
import {
  applyLimits,
  assertOwned,
  type Candidate,
  noRoom,
  type PipelineDeps,
  recordAttempt,
  type RunState,
} from "./run.ts";

/** Challenges are recognised by the beginning of a page. */
const CHALLENGE_BYTES = 65_536;

/**
 * Statuses that bring no page: there is none, a part of a page without a range in the request (206), or the way to a page that was not
 * followed (a redirect without Location, a 304 to a plain request).
 */
const isWithoutPage = (status: number): boolean =>
  status === 204 || status === 205 || status === 206 || (status >= 300 && status < 400);

/**
 * `isTrusted`: the system that read the page knows its origin, so it is no challenge, and a filed document is read as
 * such.
 */
export async function assess(
  deps: Pick<PipelineDeps, "clock" | "metrics" | "log" | "extract">,
  store: PageStore,
  run: RunState,
  tier: Tier,
  page: TransportPage,
  { isTrusted = false }: { readonly isTrusted?: boolean } = {},
): Promise<Candidate> {
  const { request } = run;
  const { status } = page;
  const content_type = contentTypeOf(page);
  const kind = contentKindOf(content_type, page.body, page.final_url);
  const judged = (outcome: Outcome, reason: string, detail: string | null, extracted: Extracted | null) => {
    recordAttempt(run, tier, status, reason, page.ms, detail ?? page.detail ?? null);
    return { tier, outcome, page, kind, extracted, ended: null };
  };
  if (kind === "pdf" && !applyLimits(run.limits).accept_pdf)
    return judged({ kind: "final", error: "pdf_not_accepted" }, "pdf_not_accepted", null, null);

  // Most likely the answer, so it is stored while it is extracted. Unneeded bytes are collected, as nothing refers to them.
  if (status === 200) store.putBody(page.body).catch(() => {});
  const task = {
    bytes: page.body,
    url: page.final_url,
    content_type,
    kind,
    now_ms: deps.clock.now(),
    // An error page may still name its site's feed.
    leads: status >= 400,
    filed: isTrusted,
    with_formats: request.with_formats === true,
    ...(request.with_followed && !request.with_formats && { followed: "too" as const }),
  };
  const result = await deps.extract(task, { signal: run.signal, project: request.project });
  assertOwned(run);
  if (result.kind === "failed") {
    const { reason } = result;
    deps.metrics.count("trawl_work_failures_total", { task: kind, reason });
    const fields = { ...workFields(request.fetch_id), kind, reason, bytes: page.body.length };
    deps.log.warn("Cannot read a document", fields);
    if (NO_ROOM.has(reason) || (reason === "aborted" && !run.signal.aborted)) {
      run.refusal = noRoom(`The page came, but this node had no room to read it: ${reason}`);
      return judged({ kind: "final", error: "domain_busy" }, "no_room", run.refusal.detail, null);
    }
  }
  const extracted = result.kind === "done" ? result.value : await cutOff(task, result.reason);
  // Broken off by the run's own end: the document was not read, whatever it is.
  if (result.kind === "failed" && result.reason === "aborted") run.unread.add(extracted);
  const text_chars = extracted.text.length;
  const challenge = isTrusted
    ? null
    : challengeOf({
        status,
        headers: page.headers,
        // Some vendors refuse in plain text or JSON.
        body_start:
          kind === "pdf" || kind === "binary" ? "" : page.body.toString("latin1", 0, CHALLENGE_BYTES),
        bytes: page.body.length,
        text_chars,
      });
  if (challenge)
    return judged({ kind: "blocked", status }, `challenge_${challenge.vendor}`, challenge.kind, extracted);
  if (isBlocking(status)) return judged({ kind: "blocked", status }, `http_${status}`, null, extracted);
  if (status >= 400 || isWithoutPage(status))
    return judged({ kind: "definitive", status }, `http_${status}`, null, extracted);
  const isBroken =
    result.kind === "failed"
      ? !run.unread.has(extracted)
      : extracted.unreadable === true || (kind === "pdf" && extracted.pdf_page_count === null);
  if (isBroken) return judged({ kind: "unreadable" }, "unreadable_document", extracted.note, extracted);
  if (page.shortfall) {
    const { error, detail } = page.shortfall;
    return judged({ kind: "incomplete", error }, error, detail, extracted);
  }
  // A document that was not extracted is no thin page: a browser would take as long.
  const outcome = {
    kind: "page",
    text_chars: comparableChars(extracted.text),
    html: kind === "html" && result.kind === "done",
  } as const;
  const reason = extracted.paywall === "hard" ? "paywall" : isThin(outcome, request) ? "thin_content" : "ok";
  return judged(outcome, reason, extracted.note, extracted);
}
