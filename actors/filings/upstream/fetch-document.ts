/**
 * One answer of the filing system, from its first slot to what is kept of it: a slot for every request, redirects
 * followed within the system, the answer judged by its body before anything is stored, one more try where one can help.
 * What answers mean is answers.ts, how long they are good kept.ts; who may ask when, only the limiter knows.
 */
import type { Held, Say } from "../../../cluster/actor.ts";
import type { Bodies } from "../../../cluster/ports/blobs.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import { holding } from "../../../cluster/body-refs.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import { EgressError, type EgressProblem, type Exchange } from "../../../cluster/ports/egress.ts";
import { Fault } from "../../../cluster/ports/fault.ts";
import type { Meters } from "../../../cluster/ports/meters.ts";
import type { Redirect } from "../../../schemas/fetch.ts";
import {
  FilingLimiter,
  type FilingOutcome,
  type FilingSlot,
  type SourceAnswer,
  type SourceAsk,
  type SourceKind,
} from "../../../schemas/filing-source.ts";
import { retryAfterSeconds } from "../../lib/web/http.ts";
import { bodyCheck, type Checked, LOOKED_AT_BYTES, toldBy } from "./classify-response.ts";
import type { FilingSend } from "./slot-egress.ts";
import { type FilingHosts, isWithin, type Place } from "./hosts.ts";
import { rulebook } from "./robots.ts";
import { asKept, expiresAt, FILINGS, type Kept, KINDS, lookAt, tooLarge } from "./document-cache.ts";

export interface Upstream {
  readonly clock: Clock;
  readonly documents: Documents;
  readonly bodies: Bodies;
  readonly meters: Meters;
  readonly hosts: FilingHosts;
  readonly send: FilingSend;
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
interface Try {
  readonly answer: SourceAnswer;
  readonly again_ms: number | null;
}

/** A caller waits so long for each slot (2-adapters.md, Limits). */
const SLOT_WAIT_MS = 10_000;
/** The limiter moved, or its store does not answer: it is asked again. */
const LIMITER_AGAIN_MS = 200;
const MAX_REDIRECTS = 5;
const MAX_TRIES = 2;
const MAX_CONNECT_MS = 15_000;
const MAX_HEADERS_MS = 30_000;
const MAX_SILENCE_MS = 30_000;
const BROKEN_AGAIN_MS = 1_000;
const BROKEN_RETRY_S = 30;
const HALF_RETRY_S = 60;

/** The other side is there and cannot be talked to, or is not there: a ban can look like this, too. */
const NOBODY: ReadonlySet<EgressProblem> = new Set([
  "network_refused",
  "network_unreachable",
  "dns_nxdomain",
  "dns_error",
  "timeout",
]);

export type Journey = (say: Say, held: Held, ask: SourceAsk, digest: string) => Promise<SourceAnswer>;

export function journey(upstream: Upstream): Journey {
  const { clock, documents, bodies, meters, hosts, send, egress, identity } = upstream;
  const holds = holding(documents);
  const rules = rulebook(upstream);

  return async (say, held, ask, digest) => {
    const stored = asKept((await documents.get(FILINGS, digest))?.value);
    const look = lookAt(stored, ask, clock.now());
    if (look.kind === "hit") return look.answer;
    const stale = look.kind === "stale" ? look.kept : null;

    const deadline = new AbortController();
    const alarm = clock.at(ask.deadline_ms, () => deadline.abort());
    const signal = AbortSignal.any([held.signal, deadline.signal]);
    const first_url = hosts.urlOf(ask);
    const most_bytes = Math.min(ask.max_bytes, KINDS[ask.kind].bytes_most);
    let redirects: Redirect[] = [];
    let requests = 0;
    let slots = 0;
    let why = "";

    const failed = (
      error: string,
      message: string,
      retry_after_s: number | null = null,
      status: number | null = null,
    ): Failed => ({ kind: "failed", error, message, retry_after_s, status, redirects, requests });
    const final = (answer: SourceAnswer): Try => ({ answer, again_ms: null });
    const timedOut = (): Try => final(failed("timeout", `The time ran out while ${first_url} was asked for`));
    const broken = (what: string, status: number | null = null): Try => {
      why = what;
      const answer = failed("filings_unavailable", `${first_url}: ${what}`, BROKEN_RETRY_S, status);
      return { answer, again_ms: BROKEN_AGAIN_MS };
    };
    const half = (what: string, status: number): Try => {
      why = what;
      return {
        answer: failed("filings_unavailable", `${first_url}: ${what}`, HALF_RETRY_S, status),
        again_ms: 0,
      };
    };
    const count = (outcome: string): void =>
      meters.count("trawl_filings_requests_total", { kind: ask.kind, outcome });

    /** Resolves when so much time has passed, or there is none left. */
    const pause = (for_ms: number): Promise<void> => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const ring = clock.at(clock.now() + for_ms, resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
      return promise.finally(() => ring[Symbol.dispose]());
    };

    interface Leave {
      readonly slot: FilingSlot;
      /** Told once; answers how long the system is left alone. */
      readonly settle: (
        result: FilingOutcome["result"],
        retry_after_s?: number | null,
        reason?: string | null,
      ) => Promise<number | null>;
    }

    const acquire = async (ends_ms: number): Promise<Leave | Failed> => {
      const slot_id = `${digest.slice(0, 16)}.${clock.now()}.${slots++}`;
      for (;;) {
        const wait_max_ms = Math.round(Math.max(0, ends_ms - clock.now()));
        try {
          const answer = await say(
            FilingLimiter,
            egress,
            "acquire",
            { slot_id, project: ask.project, lane: ask.lane, wait_max_ms },
            { wait_ms: wait_max_ms + 1_000 },
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
          const settle: Leave["settle"] = async (result, retry_after_s = null, reason = null) => {
            const outcome = { slot_id, slot, result, retry_after_s, reason };
            return (await say(FilingLimiter, egress, "settle", outcome)).retry_after_s;
          };
          return { slot, settle };
        } catch (problem) {
          if (!(problem instanceof Fault) || held.signal.aborted) throw problem;
          if (signal.aborted || clock.now() + LIMITER_AGAIN_MS >= ends_ms)
            return failed("rate_limited", "The filing system's limiter does not answer", 5);
          await pause(LIMITER_AGAIN_MS);
        }
      }
    };

    /** Nobody waits for this to be heard; a slot nobody settles lapses. */
    const settleLater = (leave: Leave, result: FilingOutcome["result"]): void => {
      leave.settle(result).catch((problem: unknown) => {
        meters.say("warn", "Cannot hand a slot of the filing system back", { problem: String(problem) });
      });
    };

    const ask_again_with = stale?.last_modified ?? null;
    const headers = [
      ["User-Agent", identity],
      ["Accept", "*/*"],
    ] as const;

    /** One request, when its slot has come. */
    const request = async (
      url: string,
    ): Promise<{ readonly exchange: Exchange; readonly leave: Leave } | Failed> => {
      const ends_ms = Math.min(ask.deadline_ms, clock.now() + SLOT_WAIT_MS);
      /** Kept connections that were gone when they were used. */
      let died = 0;
      for (;;) {
        const leave = await acquire(ends_ms);
        if ("kind" in leave) return leave;
        if (!held.mayStart()) {
          settleLater(leave, "dropped");
          throw new Fault("lease_lost", `Cannot ask "${url}": another node may hold it`);
        }
        const exchange = await send(leave.slot, {
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
          mayStart: () => held.mayStart(),
        });
        if (exchange.kind !== "lapsed") {
          requests += 1;
          return { exchange, leave };
        }
        count("slot_lapsed");
        if (exchange.was_sent) {
          requests += 1;
          died += 1;
          const detail = "Every connection dies under its request";
          if (died > 1)
            return { exchange: { kind: "failed", problem: "network_reset", detail, ms: 0 }, leave };
        }
        settleLater(leave, exchange.was_sent ? "answered" : "dropped");
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

    const throttled = async (
      leave: Leave,
      reason: string,
      retry_after_s: number | null,
      status: number,
    ): Promise<Try> => {
      count(`throttled_${reason}`);
      meters.say(reason === "identity_refused" ? "error" : "warn", "The filing system turned us away", {
        reason,
        status,
        egress,
        ...(reason === "identity_refused" && {
          advice: "TRAWL_FILINGS_IDENTITY was refused: waiting does not help",
        }),
      });
      const left_s = await leave.settle("throttled", retry_after_s, reason);
      const message =
        reason === "identity_refused"
          ? "The filing system refused the declared identity; the operator has to change it"
          : "The filing system turned us away; it is left alone for a while";
      return final({ ...failed("filings_unavailable", message, left_s ?? 10, status), paused: true });
    };

    const unanswered = (
      { problem, detail }: { readonly problem: EgressProblem; readonly detail: string },
      leave: Leave,
      status: number | null,
    ): Try => {
      count(problem);
      if (problem === "blocked_destination" || problem === "invalid_url") {
        settleLater(leave, "dropped");
        return final(failed("blocked_destination", `${first_url}: ${detail}`));
      }
      const isSilent = problem === "timeout" || problem === "aborted";
      const said = status !== null;
      settleLater(leave, said ? "answered" : NOBODY.has(problem) || isSilent ? "unreachable" : "answered");
      if (problem === "aborted") return timedOut();
      if (!isSilent) return broken(`${problem}: ${detail}`, status);
      return final(
        failed("filings_unavailable", `${first_url} did not answer in time`, BROKEN_RETRY_S, status),
      );
    };

    /** The whole body into the store, unless it is wrong; then nothing is. */
    const read = async (
      { body, cancel }: Answered,
      kind: SourceKind,
      path: string,
    ): Promise<
      | { readonly kind: "stored"; readonly sha256: string; readonly bytes: number; readonly keep: boolean }
      | Exclude<Checked, { kind: "whole" }>
      | { readonly kind: "too_large" }
      | { readonly kind: "unread"; readonly problem: EgressError }
    > => {
      const check = bodyCheck(kind, path);
      type Wrong =
        | Exclude<Checked, { kind: "whole" }>
        | { kind: "too_large" }
        | { kind: "unread"; problem: EgressError };
      let wrong: Wrong | null = null;
      let keep = true;
      let bytes = 0;
      class Stopped extends Error {}
      const stop = (because: Wrong): never => {
        wrong = because;
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
        else ({ keep } = checked);
      }
      try {
        return { kind: "stored", ...(await bodies.put(watched())), keep };
      } catch (problem) {
        cancel();
        if (wrong) return wrong as Wrong;
        throw problem;
      }
    };

    const keep = async (answer: SourceAnswer, last_modified: string | null): Promise<void> => {
      const now_ms = clock.now();
      const record: Kept = { answer, last_modified, validated_ms: now_ms };
      const expires_at_ms = expiresAt(ask.kind, now_ms);
      if (answer.kind === "got") await holds.hold([answer.sha256], `filing ${digest}`, expires_at_ms);
      // Two writers at once: whoever comes second looks again, once; a cache need not win.
      for (let again = 0; again < 2; again++) {
        const old = await documents.get(FILINGS, digest);
        if (await documents.put(FILINGS, digest, record, old?.version ?? 0, { expires_at_ms })) return;
      }
    };

    const fresh = async (exchange: Answered, leave: Leave, url: string): Promise<Try> => {
      const { path } = hosts.placeOf(url) ?? ask;
      const body = await read(exchange, ask.kind, path);
      const { status } = exchange;
      switch (body.kind) {
        case "too_large":
          settleLater(leave, "answered");
          count("too_large");
          return final(tooLarge(ask.kind, most_bytes, requests));
        case "unread":
          return unanswered({ problem: body.problem.problem, detail: body.problem.message }, leave, status);
        case "throttled":
          return throttled(leave, body.reason, retryAfterOf(exchange, clock.now()), status);
        case "half":
          settleLater(leave, "answered");
          count("half");
          return half(body.why, status);
        case "broken":
          settleLater(leave, "answered");
          count("broken");
          return broken(body.why, status);
        case "stored": {
          settleLater(leave, "answered");
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
            await keep({ ...answer, revalidated: false }, redirects.length > 0 ? null : last_modified);
          }
          return final(answer);
        }
      }
    };

    const once = async (): Promise<Try> => {
      redirects = [];
      let url = first_url;
      let place: Place = ask;
      for (;;) {
        const verdict = await rules(say, place, ask);
        if (verdict.kind === "unknown") return final({ ...verdict.answer, redirects, requests });
        if (verdict.kind === "disallowed")
          return final(failed("robots_disallowed", `robots.txt of ${url} disallows it (${verdict.rule})`));
        const sent = await request(url);
        if (!("leave" in sent)) return final(sent);
        const { exchange, leave } = sent;
        if (exchange.kind === "failed") return unanswered(exchange, leave, null);
        const { status } = exchange;
        if (status === 200) return fresh(exchange, leave, url);
        const beginning = await beginningOf(exchange);
        if (beginning instanceof EgressError)
          return unanswered({ problem: beginning.problem, detail: beginning.message }, leave, status);
        const told = toldBy(status, beginning);
        switch (told.kind) {
          case "throttled":
            return throttled(leave, told.reason, retryAfterOf(exchange, clock.now()), status);
          case "missing": {
            settleLater(leave, "answered");
            count("missing");
            const answer: SourceAnswer = { kind: "missing", url: first_url, status, requests };
            await keep({ ...answer, requests: 0 }, null);
            return final(answer);
          }
          case "refused":
            settleLater(leave, "answered");
            count("refused");
            return final(failed(`http_${status}`, `${url} was answered with status ${status}`, null, status));
          case "content":
          case "broken":
            settleLater(leave, "answered");
            count("broken");
            return broken(told.kind === "broken" ? told.why : `It answered with status ${status}`, status);
          case "not_modified": {
            settleLater(leave, "answered");
            count("not_modified");
            if (stale?.answer.kind !== "got") return broken("It answered 304 to nothing", status);
            await keep(stale.answer, stale.last_modified);
            return final({ ...stale.answer, cached: true, revalidated: true, requests });
          }
          case "redirect": {
            settleLater(leave, "answered");
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
            if (ask.within !== undefined && !(next.host === ask.host && isWithin(next.path, ask.within)))
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
            place = next;
            url = hosts.urlOf(next);
          }
        }
      }
    };

    /** Where a redirect leads, null: not to the filing system. */
    const nextOf = (url: string, { headers: fields }: Answered): Place | null => {
      const location = fields.get("location")?.[0];
      const next = location === undefined ? null : URL.parse(location, url);
      return next && hosts.placeOf(next.href);
    };

    try {
      for (let tries = 1; ; tries++) {
        const { answer, again_ms } = await once();
        if (again_ms === null || tries === MAX_TRIES || signal.aborted) return answer;
        if (clock.now() + again_ms >= ask.deadline_ms) return answer;
        const [url] = first_url.split("?");
        meters.say("info", "The filing system is asked once more", { url, why });
        await pause(again_ms);
      }
    } finally {
      alarm[Symbol.dispose]();
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
      if (bytes >= LOOKED_AT_BYTES) break;
    }
  } catch (problem) {
    if (problem instanceof EgressError) return problem;
    throw problem;
  } finally {
    if (bytes >= LOOKED_AT_BYTES) cancel();
  }
  return Buffer.concat(pieces);
}
