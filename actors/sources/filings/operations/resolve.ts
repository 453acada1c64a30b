/** GET /v1/filings/companies/resolve: the filer behind a ticker, CIK, name or ISIN. */
import type { ResolveAnswer } from "../../../../schemas/filings.ts";
import { type FilerFields, parseResolveRequest } from "../parse-request.ts";
import { type CallerContext, errorResult, isFailure, type ServiceResult, successResult } from "../results.ts";
import { NO_FILER, validated } from "../refusals.ts";
import type { OperationDeps } from "./context.ts";

export const resolve =
  (deps: OperationDeps) =>
  async (fields: FilerFields, caller: CallerContext): Promise<ServiceResult<ResolveAnswer>> => {
    const request = validated(deps, parseResolveRequest(fields));
    if (isFailure(request)) return errorResult(NO_FILER, request);
    const filer = await deps.filers.find(request.filer, caller);
    switch (filer.kind) {
      case "failure":
        return errorResult(NO_FILER, filer);
      case "ambiguous": {
        const candidates = [...filer.candidates];
        return successResult({ ...NO_FILER, ambiguous: true, candidates }, filer.documents);
      }
      case "found":
        return successResult({ ...NO_FILER, ...filer.filer }, filer.documents);
    }
  };
