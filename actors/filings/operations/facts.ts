/** GET /v1/filings/companies/{cik}/facts: how many XBRL concepts a filer has, counted while its facts are read. */
import { LRUCache } from "lru-cache";
import type { FactsAnswer } from "../../../schemas/filings.ts";
import { factsCounter, type FactsSummary } from "../facts.ts";
import { padCik } from "../identifiers.ts";
import { type FilerFields, parseFactsRequest } from "../parse-request.ts";
import {
  type CallerContext,
  errorResult,
  type Failure,
  failure,
  failureOf,
  isFailure,
  type OwnFields,
  type ServiceResult,
  type SourceDocument,
  successResult,
  type WithHint,
} from "../results.ts";
import { type OperationDeps, validated } from "./context.ts";

/** Counting a slice of this size takes about half a millisecond. */
const SLICE_BYTES = 256 * 1024;
const MAX_SUMMARIES = 1_000;

const NO_FACTS: OwnFields<FactsAnswer> = {
  cik: null,
  cik_padded: null,
  name: null,
  taxonomies: {},
  concepts: null,
  bytes: null,
};

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
    const summary = summaries.get(answer.sha256) ?? (await count(deps, answer));
    if (summary === null) {
      const what = "facts of this filer that make sense";
      return errorResult(NO_FACTS, await reader.discardInvalid(address, answer, what));
    }
    summaries.set(answer.sha256, summary);
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
  if (!listed.latest()?.byCik(cik)) {
    const filer = await submissions.submissionsOf(cik, caller);
    if (isFailure(filer)) return filer;
  }
  return failure("not_found", `CIK ${padCik(cik)} has filed no XBRL facts`);
}

/** Null: the document is not a whole facts document. */
async function count(
  { reader, yieldToEventLoop }: OperationDeps,
  document: SourceDocument,
): Promise<FactsSummary | null> {
  const counter = factsCounter();
  for await (const piece of await reader.piecesOf(document)) {
    for (let at = 0; at < piece.length; at += SLICE_BYTES) {
      counter.push(piece.subarray(at, at + SLICE_BYTES));
      await yieldToEventLoop();
    }
  }
  return counter.end();
}
