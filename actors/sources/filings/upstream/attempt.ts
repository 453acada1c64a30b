/**
 * An attempt at a document: robots.txt, a request with a slot, and what its answer means. Redirects are followed within
 * the filing system, each with a slot of its own. Every path records the outcome of its slot.
 */
import type { BodyRefs } from "../../../../cluster/body-refs.ts";
import { EgressError, type EgressProblem } from "../../../../cluster/ports/egress.ts";
import type { SourceAnswer } from "../../../../schemas/upstream.ts";
import { retryAfterSeconds } from "../../../lib/web/http.ts";
import { workFields } from "../../../lib/work-fields.ts";
import { tooLarge } from "../../upstream/document-cache.ts";
import { classify, MAX_INSPECTED_BYTES } from "./classify-response.ts";
import {
  broken,
  BROKEN_RETRY_S,
  countOutcome,
  type FailedAnswer,
  failed,
  type FetchAttempt,
  type FetchRun,
  final,
  incomplete,
} from "./fetch-run.ts";
import { isWithin, type SourceAddress } from "./hosts.ts";
import { KIND_RULES } from "./limits.ts";
import type { CheckRobots } from "./robots.ts";
import { sendRequest } from "./send-request.ts";
import { recordOutcomeLater, type SlotPermit } from "./slot-permit.ts";
import { type ExchangeAnswer, storeAnswer, storeBody } from "./store-body.ts";

const MAX_REDIRECTS = 5;
const TOO_MANY_REDIRECTS_RETRY_S = 60;
const LIMIT_OF_KIND_RETRY_S = 60;
/** Told to the caller of a throttled request when the limiter's record is no longer paused. */
const THROTTLED_RETRY_S = 10;

/** The filing system cannot be reached at all; a block by address can look like this, too. */
const UNREACHABLE_PROBLEMS: ReadonlySet<EgressProblem> = new Set([
  "network_refused",
  "network_unreachable",
  "dns_nxdomain",
  "dns_error",
  "timeout",
  "aborted",
]);

export interface AttemptDeps {
  readonly checkRobots: CheckRobots;
  readonly refs: BodyRefs;
}

/** An answer to a request, and the slot it was sent with. */
interface Answered {
  readonly url: string;
  readonly exchange: ExchangeAnswer;
  readonly permit: SlotPermit;
}

export async function attemptOnce(run: FetchRun, deps: AttemptDeps): Promise<FetchAttempt> {
  const { ask, request } = run;
  const { hosts } = run.deps;
  run.redirects = [];
  let address: SourceAddress = request;
  for (;;) {
    const url = hosts.urlOf(address);
    const verdict = await deps.checkRobots(ask, address, request);
    if (verdict.kind === "unknown")
      return final({ ...verdict.answer, redirects: [...run.redirects], requests: run.requests });
    if (verdict.kind === "disallowed")
      return final(failed(run, "robots_disallowed", `robots.txt of ${url} disallows it (${verdict.rule})`));
    const sent = await sendRequest(run, url);
    if (!("permit" in sent)) return final(sent);
    const { exchange, permit } = sent;
    if (exchange.kind === "failed") return connectionFailed(run, permit, exchange, null);
    const answered = { url, exchange, permit };
    if (exchange.status === 200) return readDocument(run, deps, answered);
    const next = await readStatus(run, deps, answered);
    if ("answer" in next) return next;
    address = next;
  }
}

/** Any status but 200: the result of the attempt, or the address a redirect leads to. */
async function readStatus(
  run: FetchRun,
  { refs }: AttemptDeps,
  { url, exchange, permit }: Answered,
): Promise<FetchAttempt | SourceAddress> {
  const { status } = exchange;
  const beginning = await beginningOf(exchange);
  if (beginning instanceof EgressError)
    return connectionFailed(run, permit, { problem: beginning.problem, detail: beginning.message }, status);
  const classification = classify(status, beginning);
  if (classification.kind === "throttled") return throttled(run, permit, classification.reason, exchange);
  recordOutcomeLater(run, permit, "answered");
  switch (classification.kind) {
    case "missing": {
      countOutcome(run, "missing");
      const answer: SourceAnswer = { kind: "missing", url: run.url, status, requests: run.requests };
      await storeAnswer(run, refs, { ...answer, requests: 0 }, null);
      return final(answer);
    }
    case "refused":
      countOutcome(run, "refused");
      return final(failed(run, `http_${status}`, `${url} was answered with status ${status}`, { status }));
    case "content":
      countOutcome(run, "broken");
      return broken(run, `It answered with status ${status}`, status);
    case "broken":
      countOutcome(run, "broken");
      return broken(run, classification.detail, status);
    case "not_modified": {
      countOutcome(run, "not_modified");
      const { stale } = run;
      if (stale?.answer.kind !== "got") return broken(run, "It answered 304 to nothing", status);
      await storeAnswer(run, refs, stale.answer, stale.last_modified);
      return final({ ...stale.answer, cached: true, revalidated: true, requests: run.requests });
    }
    case "redirect":
      countOutcome(run, "redirect");
      return followRedirect(run, url, exchange);
  }
}

/** Adds the redirect to the run. */
function followRedirect(
  run: FetchRun,
  url: string,
  { status, headers }: ExchangeAnswer,
): FetchAttempt | SourceAddress {
  const { request } = run;
  const location = headers.get("location")?.[0];
  const target = location === undefined ? null : URL.parse(location, url);
  const next = target && run.deps.hosts.addressOf(target.href);
  run.redirects = [...run.redirects, { url, status, location: location ?? "" }];
  const refuse = (error: string, message: string, retry_after_s: number | null = null): FetchAttempt =>
    final(failed(run, error, message, { retry_after_s, status }));
  if (next === null) return refuse("redirect_not_allowed", `${url} leads off the filing system's hosts`);
  if (request.within !== undefined && !(next.host === request.host && isWithin(next.path, request.within)))
    return refuse("redirect_not_allowed", `${url} leads out of the filing's folder`);
  if (run.redirects.length > MAX_REDIRECTS)
    return refuse(
      "filings_unavailable",
      `${run.url}: more than ${MAX_REDIRECTS} redirects`,
      TOO_MANY_REDIRECTS_RETRY_S,
    );
  return next;
}

/** Status 200: the body is stored unless it is wrong. */
async function readDocument(
  run: FetchRun,
  { refs }: AttemptDeps,
  { url, exchange, permit }: Answered,
): Promise<FetchAttempt> {
  const { clock, hosts } = run.deps;
  const { status, headers } = exchange;
  const body = await storeBody(run, exchange, (hosts.addressOf(url) ?? run.request).path);
  if (body.kind === "unread") {
    const { problem, message } = body.problem;
    return connectionFailed(run, permit, { problem, detail: message }, status);
  }
  if (body.kind === "throttled") return throttled(run, permit, body.reason, exchange);
  recordOutcomeLater(run, permit, "answered");
  switch (body.kind) {
    case "too_large":
      countOutcome(run, "too_large");
      return final(beyondLimit(run, status));
    case "incomplete":
      countOutcome(run, "incomplete");
      return incomplete(run, body.detail, status);
    case "broken":
      countOutcome(run, "broken");
      return broken(run, body.detail, status);
    case "stored": {
      const { sha256, bytes } = body;
      const { stale, redirects, requests } = run;
      const isSame = stale?.answer.kind === "got" && stale.answer.sha256 === sha256;
      countOutcome(run, isSame ? "unchanged" : "ok");
      const answer: Extract<SourceAnswer, { kind: "got" }> = {
        kind: "got",
        url: run.url,
        final_url: url,
        redirects: [...redirects],
        status,
        headers: Object.fromEntries([...headers].map(([name, values]) => [name, values.join(", ")])),
        content_type: headers.get("content-type")?.[0] ?? null,
        sha256,
        bytes,
        retrieved_at: new Date(clock.now()).toISOString(),
        cached: false,
        revalidated: isSame,
        requests,
      };
      if (body.cacheable) {
        const last_modified = redirects.length > 0 ? null : (headers.get("last-modified")?.[0] ?? null);
        await storeAnswer(run, refs, { ...answer, revalidated: false }, last_modified);
      }
      return final(answer);
    }
  }
}

/** A body beyond the limit of its kind is no document of that kind, so the filing system is at fault. */
function beyondLimit(run: FetchRun, status: number): SourceAnswer {
  const { request, max_bytes, requests } = run;
  if (max_bytes < KIND_RULES[request.kind].max_bytes) return tooLarge(max_bytes, requests);
  return {
    ...failed(run, "filings_unavailable", `The answer is larger than ${max_bytes} bytes`, {
      retry_after_s: LIMIT_OF_KIND_RETRY_S,
      status,
    }),
    redirects: [],
  };
}

/** The filing system asked for fewer requests, or refused the declared identity: all requests pause. */
async function throttled(
  run: FetchRun,
  permit: SlotPermit,
  reason: string,
  { status, headers }: ExchangeAnswer,
): Promise<FetchAttempt> {
  const { log, egress, clock } = run.deps;
  const isIdentity = reason === "identity_refused";
  countOutcome(run, `throttled_${reason}`);
  log[isIdentity ? "error" : "warn"]("The filing system turned us away", {
    ...workFields(run.request.work_id),
    reason,
    status,
    egress,
    ...(isIdentity && { advice: "TRAWL_FILINGS_IDENTITY was refused: waiting does not help" }),
  });
  const retry_after_s = retryAfterSeconds(headers.get("retry-after")?.[0], clock.now());
  const paused_s = await permit.recordOutcome("throttled", retry_after_s, reason);
  const message = isIdentity
    ? "The filing system refused the declared identity; the operator has to change it"
    : "The filing system turned us away; it is left alone for a while";
  return final({
    ...failed(run, "filings_unavailable", message, { retry_after_s: paused_s ?? THROTTLED_RETRY_S, status }),
    paused: true,
  });
}

/** `status`: of the answer whose body broke off; null: there was no answer. */
function connectionFailed(
  run: FetchRun,
  permit: SlotPermit,
  { problem, detail }: { readonly problem: EgressProblem; readonly detail: string },
  status: number | null,
): FetchAttempt {
  countOutcome(run, problem);
  if (problem === "blocked_destination" || problem === "invalid_url") {
    recordOutcomeLater(run, permit, "dropped");
    return final(failed(run, "blocked_destination", `${run.url}: ${detail}`));
  }
  const isUnreachable = status === null && UNREACHABLE_PROBLEMS.has(problem);
  recordOutcomeLater(run, permit, isUnreachable ? "unreachable" : "answered");
  if (problem === "aborted") return final(timedOut(run));
  if (problem !== "timeout") return broken(run, `${problem}: ${detail}`, status);
  return final(
    failed(run, "filings_unavailable", `${run.url} did not answer in time`, {
      retry_after_s: BROKEN_RETRY_S,
      status,
    }),
  );
}

const timedOut = (run: FetchRun): FailedAnswer =>
  failed(run, "timeout", `The time ran out while ${run.url} was asked for`);

/** As much of a body as classifies it; the rest is not read. */
async function beginningOf({ body, cancel }: ExchangeAnswer): Promise<Buffer | EgressError> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const piece of body) {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes >= MAX_INSPECTED_BYTES) break;
    }
  } catch (problem) {
    if (problem instanceof EgressError) return problem;
    throw problem;
  } finally {
    if (bytes >= MAX_INSPECTED_BYTES) cancel();
  }
  return Buffer.concat(pieces);
}
