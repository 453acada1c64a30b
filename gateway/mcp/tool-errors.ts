/** Refusals of the API and errors in its answers, as sentences that tell a model what to try. */
import type { ApiAnswer, ApiRequest, AskApi } from "./api.ts";
import type { Mistake } from "../validate.ts";
import { ToolError } from "./tool.ts";
import { capital, meaningOf } from "../../schemas/errors.ts";

/** Advice to the model after an error of an answer, by its code. */
const ADVICE: Readonly<Record<string, string>> = {
  invalid_url: "Give an absolute http(s) address",
  blocked_destination: "Give a public address",
  robots_disallowed:
    "The site forbids this path to crawlers: find the same facts on another site with search",
  domain_dead: "The host does not exist: check its spelling, or find the right address with search",
  timeout: "Try once more, or use another source",
  all_tiers_failed: "Try another page with the same facts, or this one later",
  domain_unavailable: "The site fails for the moment: use another source",
  premium_route_required: "Use another source, or ask the user to allow premium routes for this project",
  budget_exhausted: "Tell the user that the budget is used up",
  too_large: "Use another document",
  unknown_identifier: "Check the ticker, CIK, name or ISIN, or find it with resolve_company",
  not_registered_filer: "The company files nothing with the SEC: use company for its register record",
  not_found: "Check the identifiers; filings without a form lists what there is",
  filings_not_configured: "Tell the user that this service has no filing system set up",
};

/** The content of a successful answer. Throws ToolError. */
export async function contentOf(ask: AskApi, request: ApiRequest): Promise<any> {
  const answer = await ask(request);
  if (answer.status !== 200) throw refused(answer);
  const { error } = answer.content ?? {};
  if (typeof error === "string") throw failed(error, answer);
  return answer.content;
}

function failed(code: string, { content }: ApiAnswer): ToolError {
  const status = /^http_(\d+)$/.exec(code)?.[1];
  const means = status ? `The site answered with status ${status}` : meaningOf(code);
  const detail = content.error_detail ?? content.message;
  const advice = status
    ? "Check the address, or find another with search"
    : (ADVICE[code] ?? retryAdvice(content.retry_after_s));
  return new ToolError(code, sentences(means, detail === means ? null : detail, advice));
}

/** Mistakes of a 422 in one line, each with its field. */
export const mistakesText = (mistakes: readonly Pick<Mistake, "loc" | "msg">[]): string =>
  mistakes.map(({ loc, msg }) => `${loc.slice(1).join(".")}: ${msg}`).join("; ");

/** Text of a refusal: its mistakes with their fields, a sentence, or its code. Undefined: none. */
export function refusalText(detail: any): string | undefined {
  if (Array.isArray(detail)) return mistakesText(detail);
  return typeof detail === "string" ? detail : (detail?.message ?? detail?.hint ?? detail?.error);
}

/** A refusal of the API. Its own words say which field is wrong. */
export function refused({ status, retry_after_s, content }: ApiAnswer): ToolError {
  const { detail } = content ?? {};
  const text = refusalText(detail);
  // The name of a field is no beginning of a sentence: it is written as the model has to give it.
  const own = Array.isArray(detail) ? `Wrong arguments: ${text}` : (text ?? content?.error_detail);
  const code = detail?.error ?? content?.error ?? `http_${status}`;
  return new ToolError(
    code,
    sentences(capital(own ?? `The service answered ${status}`), null, adviceFor(status, retry_after_s)),
  );
}

function adviceFor(status: number, retry_after_s: number | null): string {
  switch (status) {
    case 401:
      return "The API key is wrong or revoked: ask the user for a valid one";
    case 403:
      return "This key may not do that: tell the user";
    case 404:
      return "Check the identifier";
    case 422:
      return "Change this argument and call again";
    case 504:
      return "Call again: work that went on is in the cache then";
    default:
      return retryAdvice(retry_after_s);
  }
}

const retryAdvice = (retry_after_s: number | null | undefined): string =>
  retry_after_s == null ? "Try again later, or use another source" : `Try again in ${retry_after_s} s`;

const sentences = (...parts: readonly (string | null | undefined)[]): string =>
  parts
    .filter((part) => part != null && part !== "")
    .map((part) => `${capital(part!.replace(/\.$/, ""))}.`)
    .join(" ");
