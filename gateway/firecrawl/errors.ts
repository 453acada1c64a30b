/** Errors in the form in which Firecrawl's clients read them: `{success: false, error, code?, details?}`. */
import { meaningOf } from "../../schemas/errors.ts";
import { json } from "../http-errors.ts";
import type { Reply } from "../http.ts";
import { answered, type ApiAnswer } from "../mcp/api.ts";
import { refusalText } from "../mcp/tool-errors.ts";
import { THEIR_NAMES } from "./their-names.ts";

export interface TheirError {
  readonly status: number;
  /** A sentence. */
  readonly error: string;
  readonly code?: string;
  readonly details?: unknown;
  readonly retry_after_s?: number | null;
}

/** Ends the handling of a request with this answer. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly answer: TheirError;

  constructor(answer: TheirError) {
    super(answer.error);
    this.answer = answer;
  }
}

export const badRequest = (sentence: string): Refused =>
  new Refused({ status: 400, code: "BAD_REQUEST", error: sentence });

/** Refusal of what this service does not do: `sentence` says why, and what to do instead. */
export const notServed = (sentence: string): Refused =>
  new Refused({ status: 400, code: "NOT_SUPPORTED", error: sentence });

export const JOB_NOT_FOUND = (): Refused =>
  new Refused({ status: 404, code: "NOT_FOUND", error: "Job not found" });

export function errorReply({ status, retry_after_s = null, ...content }: TheirError): Reply {
  const headers = retry_after_s === null ? {} : { "Retry-After": String(retry_after_s) };
  return json(status, { success: false, ...content }, headers);
}

/** The JavaScript client sends the same request again after so many seconds: the page is in the cache by then. */
const GOES_ON = { state: "processing_continues", retryAfterSeconds: 10 };
const TIMEOUT = { status: 408, code: "SCRAPE_TIMEOUT", details: GOES_ON } as const;

/** Errors of a fetch without a page, by its `error`; the others are SCRAPE_ALL_ENGINES_FAILED. */
const FAILURES: Readonly<Record<string, Omit<TheirError, "error">>> = {
  invalid_url: { status: 400, code: "BAD_REQUEST" },
  blocked_destination: { status: 403, code: "SCRAPE_SITE_ERROR" },
  robots_disallowed: { status: 403, code: "SCRAPE_SITE_ERROR" },
  redirect_not_allowed: { status: 403, code: "SCRAPE_SITE_ERROR" },
  domain_dead: { status: 500, code: "SCRAPE_DNS_RESOLUTION_ERROR" },
  too_large: { status: 500, code: "SCRAPE_UNSUPPORTED_FILE_ERROR" },
  pdf_not_accepted: { status: 500, code: "SCRAPE_UNSUPPORTED_FILE_ERROR" },
  unreadable_document: { status: 500, code: "SCRAPE_UNSUPPORTED_FILE_ERROR" },
  no_tier_allowed: { status: 400, code: "NOT_SUPPORTED" },
  premium_route_required: { status: 402, code: "SCRAPE_ALL_ENGINES_FAILED" },
  budget_exhausted: { status: 402, code: "SCRAPE_ALL_ENGINES_FAILED" },
  action_failed: { status: 500, code: "SCRAPE_ACTION_ERROR" },
  timeout: TIMEOUT,
  domain_busy: { status: 503, code: "SCRAPE_ALL_ENGINES_FAILED" },
};
const NO_ENGINE = { status: 500, code: "SCRAPE_ALL_ENGINES_FAILED" } as const;

export interface Failure {
  readonly error: string;
  readonly error_detail?: string | null;
  readonly retry_after_s?: number | null;
  /** The routes that were tried. */
  readonly attempts?: readonly { readonly reason: string; readonly detail: string | null }[];
}

/** Where every route failed: what the first one met, when that says more. */
function causeOf({ error, attempts = [] }: Failure): TheirError | null {
  const [first] = attempts;
  if (error !== "all_tiers_failed" || first === undefined) return null;
  const sentence = first.detail ?? meaningOf(error);
  if (first.reason.startsWith("dns_"))
    return { status: 500, code: "SCRAPE_DNS_RESOLUTION_ERROR", error: sentence };
  if (first.reason.startsWith("tls_")) return { status: 500, code: "SCRAPE_SSL_ERROR", error: sentence };
  if (attempts.some(({ reason }) => reason !== "not_configured")) return null;
  return {
    status: 400,
    code: "NOT_SUPPORTED",
    error: "This service has none of the proxies and rendering services that the option proxy asks for",
  };
}

export const sentenceOf = ({ error, error_detail }: Failure): string => error_detail ?? meaningOf(error);

export function failureOf(failure: Failure): TheirError {
  const { retry_after_s = null } = failure;
  const row = causeOf(failure) ?? { ...(FAILURES[failure.error] ?? NO_ENGINE), error: sentenceOf(failure) };
  return { details: { error: failure.error }, ...row, retry_after_s };
}

/** A refusal of the API. Its words name the field; the names become theirs. */
export function refusalOf({ status, retry_after_s, content }: ApiAnswer): TheirError {
  const { detail } = content ?? {};
  const error: string | undefined = detail?.error ?? content?.error;
  if (typeof error === "string" && content?.attempts !== undefined)
    return failureOf({ ...content, error, retry_after_s });
  const text = refusalText(detail) ?? `The service answered ${status}`;
  const said = Array.isArray(detail) ? `Bad Request: ${inTheirNames(text)}` : text;
  const answer = { error: said, ...(error !== undefined && { details: { error } }), retry_after_s };
  switch (status) {
    case 422:
      return { ...answer, status: 400, code: "BAD_REQUEST" };
    case 429:
      // Theirs is 402 for what money or a plan would lift, which an hour's wait does not.
      return { ...answer, status: /quota|budget/.test(error ?? "") ? 402 : 429 };
    case 504:
      return { ...TIMEOUT, error: "The time was over; the page is fetched on, ask again" };
    default:
      return { ...answer, status };
  }
}

const inTheirNames = (text: string): string =>
  text.replace(/\b[a-z]+(?:_[a-z]+)+\b/g, (name) => THEIR_NAMES[name] ?? name);

/** The gateway's own refusals on a route of theirs. */
export function refusalAs(reply: Reply): Reply {
  const content = contentOf(reply);
  if (content === null || "success" in content) return reply;
  const told = errorReply(refusalOf(answered(reply.status, reply.headers?.["Retry-After"], content)));
  return { ...told, headers: { ...reply.headers, ...told.headers } };
}

function contentOf({ body }: Reply): Record<string, unknown> | null {
  if (!Buffer.isBuffer(body)) return null;
  try {
    return JSON.parse(body.toString()) as Record<string, unknown>;
  } catch {
    return null;
  }
}
