/** GET /v1/filings/companies/{cik}/submissions: a filer's filings, from the recent list and the pages of older ones. */
import type { OlderPage, SubmissionsAnswer } from "../../../../schemas/filings.ts";
import type { OlderDocument } from "../filer-submissions.ts";
import { type FilerFields, parseSubmissionsRequest, type SubmissionsFields } from "../parse-request.ts";
import {
  bodyUrl,
  type CallerContext,
  errorResult,
  type Failure,
  isFailure,
  type ServiceResult,
  type SourceDocument,
  successResult,
  type WithHint,
} from "../results.ts";
import { canHold, type PageEntry } from "../submissions.ts";
import { NO_SUBMISSIONS, validated } from "../refusals.ts";
import { type OperationDeps, submissionsOfFiler } from "./context.ts";

const PAGES_AT_ONCE = 8;

export const submissions =
  (deps: OperationDeps) =>
  async (
    fields: FilerFields,
    query: SubmissionsFields,
    caller: CallerContext,
  ): Promise<ServiceResult<SubmissionsAnswer & WithHint>> => {
    const request = validated(deps, parseSubmissionsRequest(fields, query));
    if (isFailure(request)) return errorResult(NO_SUBMISSIONS, request);
    const { filter, limit, history } = request;
    const wanted = { filter, limit };
    const main = await submissionsOfFiler(deps, request.filer, wanted, caller);
    if (isFailure(main)) return errorResult(NO_SUBMISSIONS, main);
    const entries = main.rows.pages;
    const matching = history ? entries.filter((entry) => canHold(entry, filter)) : [];
    const pages = await readPages(deps, matching, caller);
    if (isFailure(pages)) return errorResult(NO_SUBMISSIONS, pages);
    const { cik, document } = main;
    const rows =
      pages.length === 0
        ? main.rows
        : await deps.submissions.rowsOf({ cik, main: document }, pages, wanted, caller);
    if (isFailure(rows)) return errorResult(NO_SUBMISSIONS, rows);
    const { total, filings_json } = rows;
    const result = successResult(
      {
        ...main.filer,
        filings: [],
        filings_total: total,
        truncated: total > limit,
        files: entries.map((entry) => fileOf(entry, pages, document)),
      },
      [document, ...pages.map((page) => page.document)],
    );
    return { ...result, filings_json };
  };

/** All pages or the first failure: an answer must not leave filings out without saying so. */
async function readPages(
  { submissions: source }: OperationDeps,
  entries: readonly PageEntry[],
  caller: CallerContext,
): Promise<readonly OlderDocument[] | Failure> {
  const pages: OlderDocument[] = [];
  for (let at = 0; at < entries.length; at += PAGES_AT_ONCE) {
    const batch = entries.slice(at, at + PAGES_AT_ONCE);
    for (const page of await Promise.all(batch.map(async (entry) => source.olderPage(entry, caller)))) {
      if (isFailure(page)) return page;
      pages.push(page);
    }
  }
  return pages;
}

function fileOf(entry: PageEntry, pages: readonly OlderDocument[], main: SourceDocument): OlderPage {
  const document = pages.find((page) => page.entry.name === entry.name)?.document;
  return {
    ...entry,
    url: document?.url ?? main.url.replace(/[^/]*$/, entry.name),
    fetched: document !== undefined,
    body_url: document ? bodyUrl(document) : null,
  };
}
