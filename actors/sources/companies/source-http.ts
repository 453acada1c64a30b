/**
 * How a source's requests are sent: each with a slot of the source's own limiter, which all nodes share; the exact bytes of
 * the answer are stored before they are parsed. 429 and 503 pause the source for every caller.
 */
import { createHash, randomBytes } from "node:crypto";
import type { ActorClient } from "../../../cluster/actor.ts";
import type { BodyRefs } from "../../../cluster/body-refs.ts";
import type { Blobs } from "../../../cluster/ports/blobs.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import { EgressError, type EgressProblem, type ExchangeResponse } from "../../../cluster/ports/egress.ts";
import { Fault } from "../../../cluster/ports/fault.ts";
import type { LimiterContract, SlotOutcome } from "../../../schemas/upstream.ts";
import { retryAfterSeconds } from "../../lib/web/http.ts";
import { wholeBody } from "../../lib/whole-body.ts";
import { type SendWithSlot, usableSlot } from "../upstream/slot-egress.ts";
import type { SourceFailure, SourceHttp, SourceRequest, SourceResponse } from "./source.ts";

export interface SourceHttpDeps {
  readonly ask: ActorClient;
  readonly send: SendWithSlot;
  readonly clock: Clock;
  readonly blobs: Blobs;
  readonly bodyRefs: BodyRefs;
  readonly user_agent: string;
}

export interface SourceHttpOptions {
  readonly source: string;
  readonly limiter: LimiterContract;
  readonly project: string;
  readonly lane: "sync" | "batch";
  readonly signal: AbortSignal;
  readonly ownsKey: () => boolean;
  /** How long the stored bytes are kept at least. */
  readonly retention_ms: number;
}

/** Shorter than the 8 s of a live search, so that a source without a slot is told from one that is slow. */
const SLOT_WAIT_MS = { sync: 6_000, batch: 15_000 } as const;
const MAX_CONNECT_MS = 10_000;
const MAX_SILENCE_MS = 15_000;
const DEFAULT_MAX_BYTES = 8 * 2 ** 20;
/** A connection that opens too slowly loses the slot; the next slot finds it open. */
const MAX_SLOTS = 3;
const TIMEOUTS: ReadonlySet<string> = new Set<EgressProblem>(["aborted", "timeout"]);
const THROTTLED = new Set([429, 503]);

export function sourceHttp(deps: SourceHttpDeps, options: SourceHttpOptions): SourceHttp {
  return async (request) => {
    try {
      return await send(deps, options, request);
    } catch (problem) {
      if (problem instanceof EgressError) return failed(problem.problem, problem.message);
      if (problem instanceof Fault)
        return failed("unreachable", "The service's own limiter or store did not answer");
      throw problem;
    }
  };
}

const failed = (error: string, message: string, retry_after_s: number | null = null): SourceFailure => ({
  kind: "failed",
  error,
  message,
  retry_after_s,
});

async function send(
  deps: SourceHttpDeps,
  options: SourceHttpOptions,
  request: SourceRequest,
): Promise<SourceResponse | SourceFailure> {
  const { ask, clock, user_agent } = deps;
  const { source, limiter, project, lane, signal, ownsKey } = options;
  for (let slot_number = 0; slot_number < MAX_SLOTS; slot_number++) {
    const slot_id = randomBytes(12).toString("base64url");
    const wait_max_ms = SLOT_WAIT_MS[lane];
    const asked_ms = clock.mono();
    const answer = await ask(limiter, source, "acquire", { slot_id, project, lane, wait_max_ms });
    if (answer.kind === "refused") {
      const message =
        answer.error === "paused" ? `${source} asked for a pause` : `No slot of ${source} was free in time`;
      const refused = failed("rate_limited", message, answer.retry_after_s);
      return answer.error === "paused" ? refused : { ...refused, has_no_slot: true };
    }
    const { slot } = answer;
    const record = (
      result: SlotOutcome["result"],
      retry_after_s: number | null = null,
      reason: string | null = null,
    ) => ask(limiter, source, "recordOutcome", { slot_id, slot, result, retry_after_s, reason });
    const exchange = await deps.send(usableSlot(answer, asked_ms), {
      url: request.url,
      method: request.method,
      headers: [
        ["User-Agent", user_agent],
        ["Accept", "application/json"],
        ...(request.body === undefined ? [] : [["Content-Type", "application/json"] as const]),
        ...overriding(request.headers ?? []),
      ],
      ...(request.body !== undefined && { body: Buffer.from(request.body) }),
      signal,
      connect_timeout_ms: MAX_CONNECT_MS,
      headers_timeout_ms: MAX_SILENCE_MS,
      idle_timeout_ms: MAX_SILENCE_MS,
      ownsKey,
    });
    if (exchange.kind === "expired") {
      await record(exchange.was_sent ? "answered" : "dropped");
      if (signal.aborted) return failed("timeout", `The time for ${source} ran out`);
      continue;
    }
    if (exchange.kind === "failed") {
      await record("unreachable");
      const error = TIMEOUTS.has(exchange.problem) ? "timeout" : "unreachable";
      return failed(error, `${source} could not be reached: ${exchange.problem}`);
    }
    if (THROTTLED.has(exchange.status)) {
      exchange.cancel();
      const asked_s = retryAfterSeconds(exchange.headers.get("retry-after")?.[0] ?? null, clock.now());
      const { retry_after_s } = await record("throttled", asked_s, `http_${exchange.status}`);
      return failed("rate_limited", `${source} answered ${exchange.status}`, retry_after_s ?? asked_s ?? 10);
    }
    await record("answered");
    return await received(deps, options, request, exchange);
  }
  return failed("rate_limited", `Every slot of ${source} was over before it could be used`, 5);
}

/** The source's own headers; one name each. */
const overriding = (headers: NonNullable<SourceRequest["headers"]>): NonNullable<SourceRequest["headers"]> =>
  headers.filter(([name]) => name.toLowerCase() !== "user-agent");

async function received(
  { blobs, bodyRefs, clock }: SourceHttpDeps,
  { source, retention_ms }: SourceHttpOptions,
  { url, max_bytes = DEFAULT_MAX_BYTES }: SourceRequest,
  { status, headers, body }: ExchangeResponse,
): Promise<SourceResponse | SourceFailure> {
  const content = await wholeBody(body, max_bytes);
  if (content === null)
    return failed("too_large", `The answer of ${source} is larger than ${max_bytes} bytes`);
  const sha256 = createHash("sha256").update(content).digest("hex");
  await bodyRefs.retain([sha256], `company-source:${source}`, clock.now() + retention_ms);
  await blobs.put(content);
  return {
    kind: "answered",
    status,
    headers: new Map([...headers].map(([name, values]) => [name, values.join(", ")])),
    body: content,
    document: {
      url,
      retrieved_at: new Date(clock.now()).toISOString(),
      sha256,
      bytes: content.length,
      content_type: headers.get("content-type")?.[0] ?? null,
    },
  };
}
