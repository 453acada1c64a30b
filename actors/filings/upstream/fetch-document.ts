/**
 * One answer of the filing system, from its first slot to what is kept of it: a slot for every request, redirects
 * followed within the system, the answer judged by its body before anything is stored, one more try where one can help.
 * What answers mean is classify-response.ts, how long they are good document-cache.ts; who may ask when, only the limiter knows.
 */
import type { WorkContext, ActorClient } from "../../../cluster/actor.ts";
import type { Blobs } from "../../../cluster/ports/blobs.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import { bodyRefs } from "../../../cluster/body-refs.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import { EgressError, type EgressProblem, type Exchange } from "../../../cluster/ports/egress.ts";
import { Fault } from "../../../cluster/ports/fault.ts";
import type { Redirect } from "../../../schemas/fetch.ts";
import {
  FilingLimiter,
  type FilingOutcome,
  type FilingSlot,
  type SourceAnswer,
  type SourceRequest,
  type SourceKind,
} from "../../../schemas/filing-source.ts";
import { retryAfterSeconds } from "../../lib/web/http.ts";
import { bodyAssessor, type BodyAssessment, MAX_INSPECTED_BYTES, classify } from "./classify-response.ts";
import type { SendWithSlot } from "./slot-egress.ts";
import { type FilingHosts, isWithin, type SourceAddress } from "./hosts.ts";
import { filingRobots } from "./robots.ts";
import {
  asCachedDocument,
  expiresAt,
  FILING_DOCUMENTS,
  type CachedDocument,
  KIND_RULES,
  lookup,
  tooLarge,
} from "./document-cache.ts";
import type { Metrics } from "../../../cluster/ports/metrics.ts";
import type { Log } from "../../../cluster/ports/log.ts";

export interface FetchDocumentDeps {
  readonly clock: Clock;
  readonly documents: Documents;
  readonly blobs: Blobs;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly hosts: FilingHosts;
  readonly send: SendWithSlot;
  /** Whose limiter this node asks: the address its requests come from. */
  readonly egress: string;
  /** The declared operator, the User-Agent of every request. */
  readonly identity: string;
  /** The name looked for in robots.txt. */
  readonly crawler_name: string;
}

type Failed = Extract<SourceAnswer, { kind: "failed" }>;
type Got = Extract<SourceAnswer, { kind: "got" }>;
type Answered = Extract<Exchange, { kind: "answered" }>;

/** What one try came to; `again_ms` says when another may help, null: it cannot. */
interface FetchAttempt {
  readonly answer: SourceAnswer;
  readonly retry_in_ms: number | null;
}

/** A caller waits so long for each slot (2-adapters.md, Limits). */
const SLOT_WAIT_MS = 10_000;
/** The limiter moved, or its store does not answer: it is asked again. */
const LIMITER_RETRY_MS = 200;
const MAX_REDIRECTS = 5;
const MAX_ATTEMPTS = 2;
const MAX_CONNECT_MS = 15_000;
const MAX_HEADERS_MS = 30_000;
const MAX_SILENCE_MS = 30_000;
const BROKEN_RETRY_MS = 1_000;
const BROKEN_RETRY_S = 30;
const INCOMPLETE_RETRY_S = 60;

/** The other side is there and cannot be talked to, or is not there: a ban can look like this, too. */
const UNREACHABLE_PROBLEMS: ReadonlySet<EgressProblem> = new Set([
  "network_refused",
  "network_unreachable",
  "dns_nxdomain",
  "dns_error",
  "timeout",
]);

export type FetchDocument = (
  ask: ActorClient,
  work: WorkContext,
  request: SourceRequest,
  digest: string,
) => Promise<SourceAnswer>;

export function documentFetcher(deps: FetchDocumentDeps): FetchDocument {
  const { clock, documents, blobs, metrics, log, hosts, send, egress, identity } = deps;
  const refs = bodyRefs(documents);
  const checkRobots = filingRobots(deps);

  return async (ask, work, request, digest) => {
    const stored = asCachedDocument((await documents.get(FILING_DOCUMENTS, digest))?.value);
    const cached = lookup(stored, request, clock.now());
    if (cached.kind === "hit") return cached.answer;
    const stale = cached.kind === "stale" ? cached.cached : null;

    const deadline = new AbortController();
    const deadlineTimer = clock.at(request.deadline_ms, () => deadline.abort());
    const signal = AbortSignal.any([work.signal, deadline.signal]);
    const first_url = hosts.urlOf(request);
    const most_bytes = Math.min(request.max_bytes, KIND_RULES[request.kind].max_bytes);
    let redirects: Redirect[] = [];
    let requests = 0;
    let slots = 0;
    let lastProblem = "";

    const failed = (
      error: string,
      message: string,
      retry_after_s: number | null = null,
      status: number | null = null,
    ): Failed => ({ kind: "failed", error, message, retry_after_s, status, redirects, requests });
    const final = (answer: SourceAnswer): FetchAttempt => ({ answer, retry_in_ms: null });
    const timedOut = (): FetchAttempt =>
      final(failed("timeout", `The time ran out while ${first_url} was asked for`));
    const broken = (what: string, status: number | null = null): FetchAttempt => {
      lastProblem = what;
      const answer = failed("filings_unavailable", `${first_url}: ${what}`, BROKEN_RETRY_S, status);
      return { answer, retry_in_ms: BROKEN_RETRY_MS };
    };
    const incomplete = (what: string, status: number): FetchAttempt => {
      lastProblem = what;
      return {
        answer: failed("filings_unavailable", `${first_url}: ${what}`, INCOMPLETE_RETRY_S, status),
        retry_in_ms: 0,
      };
    };
    const count = (outcome: string): void =>
      metrics.count("trawl_filings_requests_total", { kind: request.kind, outcome });

    /** Resolves when so much time has passed, or there is none left. */
    const pause = (for_ms: number): Promise<void> => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const ring = clock.at(clock.now() + for_ms, resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
      return promise.finally(() => ring[Symbol.dispose]());
    };

    interface SlotPermit {
      readonly slot: FilingSlot;
      /** Told once; answers how long the system is left alone. */
      readonly recordOutcome: (
        result: FilingOutcome["result"],
        retry_after_s?: number | null,
        reason?: string | null,
      ) => Promise<number | null>;
    }

    const acquire = async (ends_ms: number): Promise<SlotPermit | Failed> => {
      const slot_id = `${digest.slice(0, 16)}.${clock.now()}.${slots++}`;
      for (;;) {
        const wait_max_ms = Math.round(Math.max(0, ends_ms - clock.now()));
        try {
          const answer = await ask(
            FilingLimiter,
            egress,
            "acquire",
            { slot_id, project: request.project, lane: request.lane, wait_max_ms },
            { timeout_ms: wait_max_ms + 1_000 },
          );
          if (answer.kind === "refused") {
            const { error, retry_after_s } = answer;
            const message =
              error === "rate_limited"
                ? "No slot of the filing system's limiter was free within 10 s"
                : "The filing system asked for a pause: it is not asked before retry_after_s has passed";
            const refusal = failed(error, message, retry_after_s);
            return error === "filings_unavailable" ? { ...refusal, paused: true } : refusal;
          }
          const { slot } = answer;
          const recordOutcome: SlotPermit["recordOutcome"] = async (
            result,
            retry_after_s = null,
            reason = null,
          ) => {
            const outcome = { slot_id, slot, result, retry_after_s, reason };
            return (await ask(FilingLimiter, egress, "recordOutcome", outcome)).retry_after_s;
          };
          return { slot, recordOutcome };
        } catch (problem) {
          if (!(problem instanceof Fault) || work.signal.aborted) throw problem;
          if (signal.aborted || clock.now() + LIMITER_RETRY_MS >= ends_ms)
            return failed("rate_limited", "The filing system's limiter does not answer", 5);
          await pause(LIMITER_RETRY_MS);
        }
      }
    };

    /** Nobody waits for this to be heard; a slot nobody settles lapses. */
    const recordOutcomeLater = (permit: SlotPermit, result: FilingOutcome["result"]): void => {
      permit.recordOutcome(result).catch((problem: unknown) => {
        log.warn("Cannot hand a slot of the filing system back", { problem: String(problem) });
      });
    };

    const ask_again_with = stale?.last_modified ?? null;
    const headers = [
      ["User-Agent", identity],
      ["Accept", "*/*"],
    ] as const;

    /** One request, when its slot has come. */
    const sendRequest = async (
      url: string,
    ): Promise<{ readonly exchange: Exchange; readonly permit: SlotPermit } | Failed> => {
      const ends_ms = Math.min(request.deadline_ms, clock.now() + SLOT_WAIT_MS);
      /** Kept connections that were gone when they were used. */
      let died = 0;
      for (;;) {
        const permit = await acquire(ends_ms);
        if ("kind" in permit) return permit;
        if (!work.ownsKey()) {
          recordOutcomeLater(permit, "dropped");
          throw new Fault("lease_lost", `Cannot ask "${url}": another node may hold it`);
        }
        const exchange = await send(permit.slot, {
          url,
          method: "GET",
          headers: [
            ...headers,
            ...(ask_again_with !== null && redirects.length === 0
              ? [["If-Modified-Since", ask_again_with] as const]
              : []),
          ],
          signal,
          connect_timeout_ms: MAX_CONNECT_MS,
          headers_timeout_ms: MAX_HEADERS_MS,
          idle_timeout_ms: MAX_SILENCE_MS,
          ownsKey: () => work.ownsKey(),
        });
        if (exchange.kind !== "expired") {
          requests += 1;
          return { exchange, permit };
        }
        count("slot_expired");
        if (exchange.was_sent) {
          requests += 1;
          died += 1;
          const detail = "Every connection dies under its request";
          if (died > 1)
            return { exchange: { kind: "failed", problem: "network_reset", detail, ms: 0 }, permit };
        }
        recordOutcomeLater(permit, exchange.was_sent ? "answered" : "dropped");
        if (signal.aborted) return failed("timeout", `The time ran out before ${url} could be asked for`);
        // A connection that took longer than the slot was good for stands by now.
        if (clock.now() >= ends_ms)
          return failed(
            "rate_limited",
            "Every slot of the filing system was over before it could be used",
            5,
          );
      }
    };

    const turnedAway = async (
      permit: SlotPermit,
      reason: string,
      retry_after_s: number | null,
      status: number,
    ): Promise<FetchAttempt> => {
      count(`throttled_${reason}`);
      log[reason === "identity_refused" ? "error" : "warn"]("The filing system turned us away", {
        reason,
        status,
        egress,
        ...(reason === "identity_refused" && {
          advice: "TRAWL_FILINGS_IDENTITY was refused: waiting does not help",
        }),
      });
      const left_s = await permit.recordOutcome("throttled", retry_after_s, reason);
      const message =
        reason === "identity_refused"
          ? "The filing system refused the declared identity; the operator has to change it"
          : "The filing system turned us away; it is left alone for a while";
      return final({ ...failed("filings_unavailable", message, left_s ?? 10, status), paused: true });
    };

    const unanswered = (
      { problem, detail }: { readonly problem: EgressProblem; readonly detail: string },
      permit: SlotPermit,
      status: number | null,
    ): FetchAttempt => {
      count(problem);
      if (problem === "blocked_destination" || problem === "invalid_url") {
        recordOutcomeLater(permit, "dropped");
        return final(failed("blocked_destination", `${first_url}: ${detail}`));
      }
      const isSilent = problem === "timeout" || problem === "aborted";
      const hasAnswered = status !== null;
      recordOutcomeLater(
        permit,
        hasAnswered ? "answered" : UNREACHABLE_PROBLEMS.has(problem) || isSilent ? "unreachable" : "answered",
      );
      if (problem === "aborted") return timedOut();
      if (!isSilent) return broken(`${problem}: ${detail}`, status);
      return final(
        failed("filings_unavailable", `${first_url} did not answer in time`, BROKEN_RETRY_S, status),
      );
    };

    /** The whole body into the store, unless it is wrong; then nothing is. */
    const storeBody = async (
      { body, cancel }: Answered,
      kind: SourceKind,
      path: string,
    ): Promise<
      | { readonly kind: "stored"; readonly sha256: string; readonly bytes: number; readonly keep: boolean }
      | Exclude<BodyAssessment, { kind: "whole" }>
      | { readonly kind: "too_large" }
      | { readonly kind: "unread"; readonly problem: EgressError }
    > => {
      const check = bodyAssessor(kind, path);
      type Wrong =
        | Exclude<BodyAssessment, { kind: "whole" }>
        | { kind: "too_large" }
        | { kind: "unread"; problem: EgressError };
      let wrong: Wrong | null = null;
      let keep = true;
      let bytes = 0;
      class Stopped extends Error {}
      const stop = (reason: Wrong): never => {
        wrong = reason;
        throw new Stopped();
      };
      async function* watched(): AsyncGenerator<Buffer> {
        try {
          for await (const piece of body) {
            bytes += piece.length;
            if (bytes > most_bytes) stop({ kind: "too_large" });
            const early = check.push(piece);
            if (early && early.kind !== "whole") stop(early);
            yield piece;
          }
        } catch (problem) {
          if (problem instanceof EgressError) stop({ kind: "unread", problem });
          throw problem;
        }
        const checked = check.end();
        if (checked.kind !== "whole") stop(checked);
        else ({ cacheable: keep } = checked);
      }
      try {
        return { kind: "stored", ...(await blobs.put(watched())), keep };
      } catch (problem) {
        cancel();
        if (wrong) return wrong as Wrong;
        throw problem;
      }
    };

    const storeAnswer = async (answer: SourceAnswer, last_modified: string | null): Promise<void> => {
      const now_ms = clock.now();
      const record: CachedDocument = { answer, last_modified, validated_ms: now_ms };
      const expires_at_ms = expiresAt(request.kind, now_ms);
      if (answer.kind === "got") await refs.retain([answer.sha256], `filing ${digest}`, expires_at_ms);
      // Two writers at once: whoever comes second looks again, once; a cache need not win.
      for (let attempt = 0; attempt < 2; attempt++) {
        const old = await documents.get(FILING_DOCUMENTS, digest);
        if (await documents.put(FILING_DOCUMENTS, digest, record, old?.version ?? 0, { expires_at_ms }))
          return;
      }
    };

    const handleBody = async (exchange: Answered, permit: SlotPermit, url: string): Promise<FetchAttempt> => {
      const { path } = hosts.addressOf(url) ?? request;
      const body = await storeBody(exchange, request.kind, path);
      const { status } = exchange;
      switch (body.kind) {
        case "too_large":
          recordOutcomeLater(permit, "answered");
          count("too_large");
          return final(tooLarge(request.kind, most_bytes, requests));
        case "unread":
          return unanswered({ problem: body.problem.problem, detail: body.problem.message }, permit, status);
        case "throttled":
          return turnedAway(permit, body.reason, retryAfterOf(exchange, clock.now()), status);
        case "incomplete":
          recordOutcomeLater(permit, "answered");
          count("incomplete");
          return incomplete(body.detail, status);
        case "broken":
          recordOutcomeLater(permit, "answered");
          count("broken");
          return broken(body.detail, status);
        case "stored": {
          recordOutcomeLater(permit, "answered");
          const same = stale?.answer.kind === "got" && stale.answer.sha256 === body.sha256;
          count(same ? "unchanged" : "ok");
          const answer: Got = {
            kind: "got",
            url: first_url,
            final_url: url,
            redirects,
            status,
            headers: joined(exchange.headers),
            content_type: exchange.headers.get("content-type")?.[0] ?? null,
            sha256: body.sha256,
            bytes: body.bytes,
            retrieved_at: new Date(clock.now()).toISOString(),
            cached: false,
            revalidated: same,
            requests,
          };
          if (body.keep) {
            const last_modified = exchange.headers.get("last-modified")?.[0] ?? null;
            await storeAnswer({ ...answer, revalidated: false }, redirects.length > 0 ? null : last_modified);
          }
          return final(answer);
        }
      }
    };

    const attemptOnce = async (): Promise<FetchAttempt> => {
      redirects = [];
      let url = first_url;
      let address: SourceAddress = request;
      for (;;) {
        const verdict = await checkRobots(ask, address, request);
        if (verdict.kind === "unknown") return final({ ...verdict.answer, redirects, requests });
        if (verdict.kind === "disallowed")
          return final(failed("robots_disallowed", `robots.txt of ${url} disallows it (${verdict.rule})`));
        const sent = await sendRequest(url);
        if (!("permit" in sent)) return final(sent);
        const { exchange, permit } = sent;
        if (exchange.kind === "failed") return unanswered(exchange, permit, null);
        const { status } = exchange;
        if (status === 200) return handleBody(exchange, permit, url);
        const beginning = await beginningOf(exchange);
        if (beginning instanceof EgressError)
          return unanswered({ problem: beginning.problem, detail: beginning.message }, permit, status);
        const classification = classify(status, beginning);
        switch (classification.kind) {
          case "throttled":
            return turnedAway(permit, classification.reason, retryAfterOf(exchange, clock.now()), status);
          case "missing": {
            recordOutcomeLater(permit, "answered");
            count("missing");
            const answer: SourceAnswer = { kind: "missing", url: first_url, status, requests };
            await storeAnswer({ ...answer, requests: 0 }, null);
            return final(answer);
          }
          case "refused":
            recordOutcomeLater(permit, "answered");
            count("refused");
            return final(failed(`http_${status}`, `${url} was answered with status ${status}`, null, status));
          case "content":
          case "broken":
            recordOutcomeLater(permit, "answered");
            count("broken");
            return broken(
              classification.kind === "broken" ? classification.detail : `It answered with status ${status}`,
              status,
            );
          case "not_modified": {
            recordOutcomeLater(permit, "answered");
            count("not_modified");
            if (stale?.answer.kind !== "got") return broken("It answered 304 to nothing", status);
            await storeAnswer(stale.answer, stale.last_modified);
            return final({ ...stale.answer, cached: true, revalidated: true, requests });
          }
          case "redirect": {
            recordOutcomeLater(permit, "answered");
            count("redirect");
            const next = nextOf(url, exchange);
            redirects = [
              ...redirects,
              { url, status, location: exchange.headers.get("location")?.[0] ?? "" },
            ];
            if (next === null)
              return final(
                failed("redirect_not_allowed", `${url} leads off the filing system's hosts`, null, status),
              );
            if (
              request.within !== undefined &&
              !(next.host === request.host && isWithin(next.path, request.within))
            )
              return final(
                failed("redirect_not_allowed", `${url} leads out of the filing's folder`, null, status),
              );
            if (redirects.length > MAX_REDIRECTS)
              return final(
                failed(
                  "filings_unavailable",
                  `${first_url}: more than ${MAX_REDIRECTS} redirects`,
                  60,
                  status,
                ),
              );
            address = next;
            url = hosts.urlOf(next);
          }
        }
      }
    };

    /** Where a redirect leads, null: not to the filing system. */
    const nextOf = (url: string, { headers: fields }: Answered): SourceAddress | null => {
      const location = fields.get("location")?.[0];
      const next = location === undefined ? null : URL.parse(location, url);
      return next && hosts.addressOf(next.href);
    };

    try {
      for (let tries = 1; ; tries++) {
        const { answer, retry_in_ms: again_ms } = await attemptOnce();
        if (again_ms === null || tries === MAX_ATTEMPTS || signal.aborted) return answer;
        if (clock.now() + again_ms >= request.deadline_ms) return answer;
        const [url] = first_url.split("?");
        log.info("The filing system is asked once more", { url, why: lastProblem });
        await pause(again_ms);
      }
    } finally {
      deadlineTimer[Symbol.dispose]();
    }
  };
}

const retryAfterOf = ({ headers }: Answered, now_ms: number): number | null =>
  retryAfterSeconds(headers.get("retry-after")?.[0], now_ms);

const joined = (headers: ReadonlyMap<string, readonly string[]>): Record<string, string> =>
  Object.fromEntries([...headers].map(([name, values]) => [name, values.join(", ")]));

/** As much of a body as tells what it is; the rest is let go. */
async function beginningOf({ body, cancel }: Answered): Promise<Buffer | EgressError> {
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
