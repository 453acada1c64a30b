/** GET /v1/filings/companies/{cik}/filings/latest: the newest filing of some forms, older pages read until one has it. */
import type { LatestAnswer } from "../../../schemas/filings.ts";
import { type FilerFields, type LatestFields, parseLatestRequest } from "../parse-request.ts";
import {
  type CallerContext,
  errorResult,
  isFailure,
  type OwnFields,
  type ServiceResult,
  type SourceDocument,
  successResult,
  type WithHint,
} from "../results.ts";
import { filingOf, newestFirst, select } from "../submissions.ts";
import { type OperationDeps, submissionsOfFiler, validated } from "./context.ts";

const NO_FILING: OwnFields<LatestAnswer> = {
  accession: null,
  form: null,
  filing_date: null,
  report_date: null,
  acceptance_datetime: null,
  act: null,
  file_number: null,
  film_number: null,
  items: null,
  core_type: null,
  size: null,
  is_xbrl: null,
  is_inline_xbrl: null,
  primary_document: null,
  primary_document_description: null,
  primary_document_url: null,
  index_url: null,
  is_amendment: null,
  cik: null,
  cik_padded: null,
  name: null,
  tickers: [],
  exchanges: [],
};

export const latest =
  (deps: OperationDeps) =>
  async (
    fields: FilerFields,
    query: LatestFields,
    caller: CallerContext,
  ): Promise<ServiceResult<LatestAnswer & WithHint>> => {
    const { submissions, www_url } = deps;
    const request = validated(deps, parseLatestRequest(fields, query));
    if (isFailure(request)) return errorResult(NO_FILING, request);
    const main = await submissionsOfFiler(deps, request.filer, caller);
    if (isFailure(main)) return errorResult(NO_FILING, main);
    const { recent, pages } = main.submissions;
    const filter = { forms: request.forms, since: null, until: null };
    const documents: [SourceDocument, ...SourceDocument[]] = [main.document];
    let [row] = select([recent], filter, 1).rows;
    for (const entry of newestFirst(pages)) {
      if (row) break;
      const page = await submissions.olderRowsOf(entry, caller);
      if (isFailure(page)) return errorResult(NO_FILING, page);
      documents.push(page.document);
      [row] = select([page.rows], filter, 1).rows;
    }
    const { cik_padded, name, tickers, exchanges } = main.submissions.filer;
    const company = { cik: main.cik, cik_padded, name, tickers, exchanges };
    if (row) return successResult({ ...filingOf(row, main.cik, www_url), ...company }, documents);
    // An error, but with the documents that show that there is no such filing.
    const message = `${name ?? `CIK ${cik_padded}`} has filed none of ${request.forms.join(", ")}`;
    return successResult({ ...NO_FILING, ...company }, documents, { error: "not_found", message });
  };
