/** GET /v1/filings/companies/{cik}/facts: how many XBRL concepts a filer has. */
import { LRUCache } from "lru-cache";
import type { FactsAnswer } from "../../../../schemas/filings.ts";
import type { FactsSummary } from "../facts.ts";
import { NO_ROWS } from "../filer-submissions.ts";
import { padCik } from "../identifiers.ts";
import { type FilerFields, parseFactsRequest } from "../parse-request.ts";
import {
  type CallerContext,
  errorResult,
  type Failure,
  failure,
  failureOf,
  isFailure,
  type ServiceResult,
  successResult,
  type WithHint,
} from "../results.ts";
import { NO_FACTS, validated } from "../refusals.ts";
import type { OperationDeps } from "./context.ts";

const MAX_SUMMARIES = 1_000;

export function facts(deps: OperationDeps) {
  const { reader, filers } = deps;
  /** By the digest of the facts. */
  const summaries = new LRUCache<string, FactsSummary>({ max: MAX_SUMMARIES });

  return async (
    fields: FilerFields,
    caller: CallerContext,
  ): Promise<ServiceResult<FactsAnswer & WithHint>> => {
    const request = validated(deps, parseFactsRequest(fields));
    if (isFailure(request)) return errorResult(NO_FACTS, request);
    const filer = await filers.cikOf(request.filer, caller);
    if (isFailure(filer)) return errorResult(NO_FACTS, filer);
    const { cik } = filer;
    const cik_padded = padCik(cik);
    const address = { host: "data", path: `/api/xbrl/companyfacts/CIK${cik_padded}.json` } as const;
    const answer = await reader.get({ ...address, kind: "facts" }, caller);
    if (answer.kind === "failed") return errorResult(NO_FACTS, failureOf(answer));
    if (answer.kind === "missing") return errorResult(NO_FACTS, await whyMissing(deps, cik, caller));
    let summary = summaries.get(answer.sha256);
    if (!summary) {
      const reading = await reader.read("facts", {}, [answer], caller);
      if (reading.kind === "invalid") {
        const what = "facts of this filer that make sense";
        return errorResult(NO_FACTS, await reader.discardInvalid(address, answer, what));
      }
      summary = reading.result;
      summaries.set(answer.sha256, summary);
    }
    const { name, taxonomies, concepts } = summary;
    return successResult({ cik, cik_padded, name, taxonomies, concepts, bytes: answer.bytes }, [answer]);
  };
}

/** The filer has no facts, or there is no such filer. */
async function whyMissing(
  { listed, submissions }: OperationDeps,
  cik: number,
  caller: CallerContext,
): Promise<Failure> {
  const found = await listed.latest()?.find({ by: "cik", cik }, caller);
  if (!found || isFailure(found) || found.filers.length === 0) {
    const filer = await submissions.submissionsOf(cik, NO_ROWS, caller);
    if (isFailure(filer)) return filer;
  }
  return failure("not_found", `CIK ${padCik(cik)} has filed no XBRL facts`);
}
