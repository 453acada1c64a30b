/**
 * The HTTP errors: status, body and headers of every refusal. A refusal is a Reply and is returned, not thrown; thrown are
 * only a Fault of an engine or a bug.
 */
import type { Fault } from "../cluster/ports/fault.ts";
import { type StoreFailure, storeFailureOf } from "../cluster/ports/store-failure.ts";
import { REQUEST_CODINGS } from "./content-coding.ts";
import { fromMicros, type QuotaCategory } from "../schemas/accounts.ts";
import type { Reply } from "./http.ts";
import type { FailingStore } from "./store-health.ts";
import { TOO_SLOW } from "./upload-pace.ts";
import type { Mistake } from "./validate.ts";

type Headers = Readonly<Record<string, string>>;

export const JSON_TYPE: Headers = { "Content-Type": "application/json" };

export const json = (status: number, value: unknown, headers: Headers = {}): Reply => ({
  status,
  headers: { ...JSON_TYPE, ...headers },
  body: Buffer.from(JSON.stringify(value)),
});

const detail = (status: number, content: unknown, headers: Headers = {}): Reply =>
  json(status, { detail: content }, headers);

const CHALLENGE = { "WWW-Authenticate": "Bearer" };
export const MISSING_TOKEN = detail(401, "missing bearer token", CHALLENGE);
export const INVALID_KEY = detail(401, "invalid API key", CHALLENGE);
export const SUSPENDED = detail(403, { error: "customer_suspended" });
export const NOT_FOUND = detail(404, "Not Found");
export const NO_SIGN_IN_LINK = detail(
  404,
  "This link has been used or is over: sign in with a key, or start the service again",
);
export const BODY_NOT_FOUND = detail(404, "body not found");
export const JOB_NOT_FOUND = detail(404, "job not found");
export const KEY_OF_ANOTHER_JOB = detail(409, "idempotency_key already used for a different job");
export const RATE_LIMITED = detail(429, "rate limit exceeded", { "Retry-After": "1" });
/** For callers without a key. */
export const rateLimited = (retry_after_s: number): Reply =>
  detail(429, "rate limit exceeded", { "Retry-After": String(retry_after_s) });
export const KEY_RATE_LIMITED = detail(429, { error: "key_rate_limited" }, { "Retry-After": "1" });

export const methodNotAllowed = (allow: string): Reply => detail(405, "Method Not Allowed", { Allow: allow });

export const tooLarge = (message: string): Reply => detail(413, message);

/** The connection is closed behind it. */
export const BODY_TOO_SLOW = detail(408, TOO_SLOW, { "Retry-After": "5" });

export const CODING_UNKNOWN = detail(
  415,
  `the Content-Encoding of the request must be one of ${REQUEST_CODINGS}, or left out`,
  { "Accept-Encoding": REQUEST_CODINGS },
);

export const invalid = (mistakes: readonly Mistake[]): Reply => detail(422, mistakes);

export const categoryNotAllowed = (category: string, allowed: readonly string[]): Reply =>
  detail(403, {
    error: "key_category_not_allowed",
    message: `This key cannot be used for ${category}, only for ${allowed.join(" and ")}`,
  });

export const userAgentNotAllowed = (user_agent: string): Reply =>
  detail(403, {
    error: "user_agent_not_allowed",
    hint: `Leave user_agent out, or ask the operator to allow "${user_agent}" for this project`,
  });

/** For what belongs to the whole account. */
export const ADMIN_ONLY = detail(403, {
  error: "admin_key_required",
  message: "This is for account admin keys only",
});

export const OPERATOR_ONLY = detail(403, {
  error: "operator_only",
  message: "This is for operator keys only: trawl key create --operator makes one",
});

export const quotaExhausted = (category: QuotaCategory, limit: number, retry_after_s: number): Reply =>
  detail(429, { error: "key_quota_exhausted", category, limit }, { "Retry-After": String(retry_after_s) });

/** Without a cap of the key, it is the budget of its project or its customer, which a key does not see. */
export const budgetExhausted = (
  limit_micros: number | null,
  currency: string,
  retry_after_s: number,
): Reply =>
  detail(
    429,
    {
      error: "key_budget_exhausted",
      ...(limit_micros !== null && { limit: fromMicros(limit_micros) }),
      currency,
    },
    { "Retry-After": String(retry_after_s) },
  );

export const timedOut = (request_id: string): Reply => detail(504, { error: "timeout", request_id });

export const internalError = (request_id: string): Reply =>
  json(500, { detail: "internal error", request_id });

export const unavailable = (message: string, retry_after_s = 1): Reply =>
  detail(503, message, { "Retry-After": String(retry_after_s) });

export const TOO_MANY_LARGE = unavailable("too many large requests at once, try again", 5);

const STORE_FAILURES = {
  full: "is full",
  read_only: "is read-only",
  access_denied: "refuses this service",
  unavailable: "is briefly unavailable",
} as const satisfies Record<StoreFailure, string>;

const storeSentence = (store: string, problem: unknown): string =>
  `${store} ${STORE_FAILURES[storeFailureOf(problem)]}, try again`;

/** 503 with the store and why it refuses, without addresses or paths. */
export const storeUnavailable = ({ store, problem }: FailingStore): Reply =>
  unavailable(storeSentence(store === "documents" ? "document storage" : "object storage", problem), 5);

/**
 * The reply for a Fault. It never shows the message, which may name hosts. 504 says that the caller's time is over, and
 * nothing else: work that ended without an answer before that may be asked for again.
 */
export function ofFault(fault: Fault, request_id: string, isTimeOver: boolean): Reply {
  const { code } = fault;
  switch (code) {
    case "documents_unreachable":
      return unavailable(storeSentence("document storage", fault));
    case "bodies_unreachable":
      return unavailable(storeSentence("object storage", fault));
    case "body_damaged":
      return unavailable("a stored body is missing or damaged, fetch it again");
    case "document_damaged":
      return unavailable("a stored document is damaged, the operator has to restore it", 60);
    case "bus_unreachable":
    case "lease_lost":
      return unavailable("the cluster is briefly unavailable, try again");
    case "document_contended":
      return unavailable("others change the same record at this moment, try again");
    case "no_descriptors":
      return unavailable("this node has no file descriptor left, try again", 5);
    case "no_workers":
      return unavailable("no worker is available, try again", 5);
    case "mailbox_full":
    case "overloaded":
      return unavailable("too much work is waiting, try again", 5);
    case "no_answer":
      return isTimeOver ? timedOut(request_id) : unavailable("there was no answer, try again", 5);
    case "message_too_large":
    case "secret_unreadable":
      return internalError(request_id);
  }
}

/** Reply of a route whose parameters may be longer than a request's head: the HTTP server answers it before any route is found. */
export const HEAD_TOO_LARGE = {
  description: "The request's head is over 16 KB: the address is too long for a query",
} as const;
