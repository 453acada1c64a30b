/**
 * A GET of a configured JSON API: bounded, without redirects, with a named failure for anything that is not JSON. The
 * caller interprets the JSON.
 */
import { type Egress, EgressError, type EgressProblem } from "../../../../cluster/ports/egress.ts";
import type { EngineFailure } from "../../../../schemas/search.ts";
import { challengeOf } from "../../../reading/content/challenge.ts";
import { retryAfterSeconds } from "../../../lib/web/http.ts";
import { wholeBody } from "../../../lib/whole-body.ts";
import type { EngineAnswer } from "../engine.ts";

export type EngineFailed = Extract<EngineAnswer, { kind: "failed" }>;

export const failed = (
  reason: EngineFailure,
  detail: string,
  retry_after_s: number | null = null,
): EngineFailed => ({
  kind: "failed",
  reason,
  retry_after_s,
  detail,
});

/** A page of results is some 50 KB; metasearch with everything switched on, some 500. */
const MAX_BODY_BYTES = 4 * 2 ** 20;
/** How much of a body that is not JSON is searched for a challenge. */
const CHALLENGE_BYTES = 65_536;
const CONNECT_MS = 5_000;

/** The failure of each egress problem; all others are `unreachable`. */
const FAILURES: Readonly<Partial<Record<EgressProblem, EngineFailure>>> = {
  timeout: "timeout",
  aborted: "timeout",
  network_protocol: "invalid_answer",
  network_encoding: "invalid_answer",
};

export async function getJson(
  egress: Egress,
  url: URL,
  headers: readonly (readonly [string, string])[],
  signal: AbortSignal,
  now_ms: number,
): Promise<{ readonly kind: "json"; readonly value: unknown } | EngineFailed> {
  try {
    const exchange = await egress.exchange({
      url: url.href,
      method: "GET",
      headers: [["Accept", "application/json"], ...headers],
      signal,
      connect_timeout_ms: CONNECT_MS,
    });
    if (exchange.kind === "failed")
      return failed(FAILURES[exchange.problem] ?? "unreachable", exchange.detail || exchange.problem);
    const { status } = exchange;
    const retry_after_s = retryAfterSeconds(exchange.headers.get("retry-after")?.[0], now_ms);
    const bytes = await wholeBody(exchange.body, MAX_BODY_BYTES);
    if (bytes === null) {
      exchange.cancel();
      return failed("invalid_answer", `more than ${MAX_BODY_BYTES} bytes`);
    }
    if (status === 200) {
      try {
        return { kind: "json", value: JSON.parse(bytes.toString()) };
      } catch {
        // Classified below: it may be a page of bot protection.
      }
    }
    const challenge = challengeOf({
      status,
      headers: new Map([...exchange.headers].map(([name, values]) => [name, values.join(", ")])),
      body_start: bytes.toString("latin1", 0, CHALLENGE_BYTES),
      bytes: bytes.length,
      text_chars: 0,
    });
    if (challenge) return failed("captcha", `a ${challenge.kind} by ${challenge.vendor}`, retry_after_s);
    if (status === 200)
      return failed("invalid_answer", `no JSON: ${exchange.headers.get("content-type")?.[0] ?? "no type"}`);
    const location = exchange.headers.get("location")?.[0];
    return failed(
      `http_${status}`,
      location === undefined
        ? `status ${status}`
        : `status ${status}, which leads to ${withoutQuery(location, url)}`,
      retry_after_s,
    );
  } catch (problem) {
    if (!(problem instanceof EgressError)) throw problem;
    return failed(FAILURES[problem.problem] ?? "unreachable", problem.message);
  }
}

/** The target of a redirect without its query, which contains the question. */
function withoutQuery(location: string, base: URL): string {
  const url = URL.parse(location, base.href);
  return url ? `${url.origin}${url.pathname}` : "nowhere";
}

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const textOf = (value: unknown): string | null =>
  typeof value === "string" && value.trim() !== "" ? value : null;

export const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((part): part is string => textOf(part) !== null) : [];
