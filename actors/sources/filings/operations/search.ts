/** GET /v1/filings/search: one page of hits of the full-text search. */
import type { FilingSearchAnswer } from "../../../../schemas/filings.ts";
import { fullTextPath } from "../full-text.ts";
import { parseSearchRequest, type SearchFields } from "../parse-request.ts";
import {
  type CallerContext,
  errorResult,
  failureOf,
  invalidAnswer,
  isFailure,
  type ServiceResult,
  successResult,
} from "../results.ts";
import { NO_HITS, validated } from "../refusals.ts";
import type { OperationDeps } from "./context.ts";

export const search =
  (deps: OperationDeps) =>
  async (fields: SearchFields, caller: CallerContext): Promise<ServiceResult<FilingSearchAnswer>> => {
    const { reader, clock, www_url } = deps;
    const request = validated(deps, parseSearchRequest(fields, clock.now()));
    if (isFailure(request)) return errorResult(NO_HITS, request);
    const noHits = { ...NO_HITS, query: request.q };
    const address = { host: "search", path: fullTextPath(request) } as const;
    const answer = await reader.get({ ...address, kind: "search" }, caller);
    if (answer.kind === "failed") return errorResult(noHits, failureOf(answer));
    if (answer.kind === "missing") return errorResult(noHits, invalidAnswer("search result"));
    const reading = await reader.read("search", { www_url }, [answer], caller);
    if (reading.kind === "invalid") {
      const what = "search result that makes sense";
      return errorResult(noHits, await reader.discardInvalid(address, answer, what));
    }
    const { result } = reading;
    return successResult({ query: request.q, ...result, hits: [...result.hits] }, [answer]);
  };
