/** GET /v1/filings/companies/resolve: the filer behind a ticker, CIK, name or ISIN. */
import type { ResolveAnswer } from "../../../schemas/filings.ts";
import { type FilerFields, parseResolveRequest } from "../parse-request.ts";
import {
  type CallerContext,
  errorResult,
  isFailure,
  type OwnFields,
  type ServiceResult,
  successResult,
} from "../results.ts";
import { type OperationDeps, validated } from "./context.ts";

const NO_FILER: OwnFields<ResolveAnswer> = {
  cik: null,
  cik_padded: null,
  title: null,
  tickers: [],
  exchanges: [],
  ambiguous: false,
  candidates: [],
};

export const resolve =
  (deps: OperationDeps) =>
  async (fields: FilerFields, caller: CallerContext): Promise<ServiceResult<ResolveAnswer>> => {
    const request = validated(deps, parseResolveRequest(fields));
    if (isFailure(request)) return errorResult(NO_FILER, request);
    const found = await deps.filers.find(request.filer, caller);
    switch (found.kind) {
      case "failure":
        return errorResult(NO_FILER, found);
      case "ambiguous": {
        const candidates = [...found.candidates];
        return successResult({ ...NO_FILER, ambiguous: true, candidates }, found.documents);
      }
      case "found":
        return successResult({ ...NO_FILER, ...found.filer }, found.documents);
    }
  };
