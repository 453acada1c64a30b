/**
 * Everything that a call can fail with: one class, told apart by `code`, so that a `switch` over it is complete when the compiler says so.
 * The failure of a page or a search is no error of a call: it stands in `error` of the answer.
 */
import { type ErrorBody, type Mistake, REFUSAL_CODES, type RefusalCode } from "./generated/api.ts";

/** Codes of a refusal that is a sentence or a list of mistakes, by its status. */
const STATUS_CODES = {
  401: "unauthorized",
  404: "not_found",
  405: "not_found",
  408: "upload_too_slow",
  409: "conflict",
  413: "body_too_large",
  415: "encoding_unknown",
  422: "invalid_request",
  429: "rate_limited",
  500: "internal_error",
  502: "unavailable",
  503: "unavailable",
  504: "unavailable",
} as const;

/**
 * Failures that never were an answer of the service. `connection`: no answer came, or it broke off. `timeout` is also the service's code for an
 * answer that took too long (then `status` is 504). `aborted`: by the caller's signal. `protocol`: an answer that is none of this API.
 * `invalid_signature`: a webhook that is not from the service.
 */
type LocalCode = "connection" | "timeout" | "aborted" | "protocol" | "invalid_signature";

/** `unknown`: a code of a newer service, which `serverCode` has. */
export type ErrorCode =
  | RefusalCode
  | (typeof STATUS_CODES)[keyof typeof STATUS_CODES]
  | LocalCode
  | "unknown";

interface Details {
  readonly status?: number;
  readonly requestId?: string | null;
  readonly retryAfterMs?: number | null;
  readonly body?: ErrorBody | null;
  readonly serverCode?: string | null;
  readonly cause?: unknown;
}

export class TrawlError extends Error {
  override readonly name = "TrawlError";
  readonly code: ErrorCode;
  /** Status of the answer; null: there was none. */
  readonly status: number | null;
  /** Names the request in the logs of the service; null: no answer came. */
  readonly requestId: string | null;
  /** After which another try is worth it, where the service says so. */
  readonly retryAfterMs: number | null;
  /** As it came. */
  readonly body: ErrorBody | null;
  /** The code as the service gave it; null: it gave none. */
  readonly serverCode: string | null;
  /** Mistakes of the request, each with its place: only with `invalid_request`. */
  readonly mistakes: readonly Mistake[];

  constructor(code: ErrorCode, message: string, details: Details = {}) {
    super(message, { cause: details.cause });
    this.code = code;
    this.status = details.status ?? null;
    this.requestId = details.requestId ?? null;
    this.retryAfterMs = details.retryAfterMs ?? null;
    this.body = details.body ?? null;
    this.serverCode = details.serverCode ?? null;
    const detail = this.body?.detail;
    this.mistakes = Array.isArray(detail) ? detail : [];
  }
}

/** The error for an answer that is none of 2xx; `text`: its body. */
export function refusal({ status, headers }: Response, text: string, now_ms: number): TrawlError {
  const body = errorBody(text);
  const detail = body?.detail;
  const isObject = typeof detail === "object" && !Array.isArray(detail);
  const serverCode = isObject ? detail.error : null;
  const byStatus = STATUS_CODES[status as keyof typeof STATUS_CODES] ?? "unknown";
  const known = REFUSAL_CODES.find((code) => code === serverCode);
  const sentence =
    typeof detail === "string"
      ? detail
      : Array.isArray(detail)
        ? detail.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("; ")
        : (detail?.message ?? detail?.hint ?? serverCode ?? "no reason given");
  const requestId = headers.get("x-request-id");
  const code = serverCode === null ? byStatus : (known ?? "unknown");
  return new TrawlError(code, `${status} ${sentence}${requestId === null ? "" : ` (${requestId})`}`, {
    status,
    requestId,
    retryAfterMs: retryAfterOf(headers, now_ms),
    body,
    serverCode,
  });
}

function errorBody(text: string): ErrorBody | null {
  try {
    const body = JSON.parse(text) as ErrorBody | null;
    return body?.detail === undefined ? null : body;
  } catch {
    return null;
  }
}

/** In seconds or as a date (RFC 9110 §10.2.3). */
function retryAfterOf(headers: Headers, now_ms: number): number | null {
  const said = headers.get("retry-after");
  if (said === null) return null;
  const ms = /^\d+$/.test(said) ? Number(said) * 1_000 : Date.parse(said) - now_ms;
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}
