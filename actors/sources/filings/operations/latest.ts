/** GET /v1/filings/companies/{cik}/filings/latest: the newest filing of some forms, older pages read until one has it. */
import type { Filing, LatestAnswer } from "../../../../schemas/filings.ts";
import { type FilerFields, type LatestFields, parseLatestRequest } from "../parse-request.ts";
import type { FilingRows } from "../readings.ts";
import {
  type CallerContext,
  errorResult,
  isFailure,
  type ServiceResult,
  type SourceDocument,
  successResult,
  type WithHint,
} from "../results.ts";
import { newestFirst } from "../submissions.ts";
import { NO_FILING, validated } from "../refusals.ts";
import { type OperationDeps, submissionsOfFiler } from "./context.ts";

export const latest =
  (deps: OperationDeps) =>
  async (
    fields: FilerFields,
    query: LatestFields,
    caller: CallerContext,
  ): Promise<ServiceResult<LatestAnswer & WithHint>> => {
    const { submissions } = deps;
    const request = validated(deps, parseLatestRequest(fields, query));
    if (isFailure(request)) return errorResult(NO_FILING, request);
    const wanted = { filter: { forms: request.forms, since: null, until: null }, limit: 1 };
    const main = await submissionsOfFiler(deps, request.filer, wanted, caller);
    if (isFailure(main)) return errorResult(NO_FILING, main);
    const { cik } = main;
    const documents: [SourceDocument, ...SourceDocument[]] = [main.document];
    let found = firstOf(main.rows);
    for (const entry of newestFirst(main.rows.pages)) {
      if (found) break;
      const page = await submissions.olderPage(entry, caller);
      if (isFailure(page)) return errorResult(NO_FILING, page);
      const rows = await submissions.rowsOf({ cik }, [page], wanted, caller);
      if (isFailure(rows)) return errorResult(NO_FILING, rows);
      documents.push(page.document);
      found = firstOf(rows);
    }
    const { cik_padded, name, tickers, exchanges } = main.filer;
    const company = { cik, cik_padded, name, tickers, exchanges };
    if (found) return successResult({ ...found, ...company }, documents);
    // An error, but with the documents that show that there is no such filing.
    const message = `${name ?? `CIK ${cik_padded}`} has filed none of ${request.forms.join(", ")}`;
    return successResult({ ...NO_FILING, ...company }, documents, { error: "not_found", message });
  };

const firstOf = ({ filings_json }: FilingRows): Filing | undefined =>
  (JSON.parse(Buffer.from(filings_json).toString()) as Filing[])[0];
