/** GET /v1/filings/companies/{cik}/submissions: a filer's filings, from the recent list and the pages of older ones. */
import type { Filing, OlderPage, SubmissionsAnswer } from "../../../schemas/filings.ts";
import type { OlderRows } from "../filer-submissions.ts";
import { type FilerFields, parseSubmissionsRequest, type SubmissionsFields } from "../parse-request.ts";
import {
  bodyUrl,
  type CallerContext,
  errorResult,
  type Failure,
  isFailure,
  type OwnFields,
  type ServiceResult,
  type SourceDocument,
  successResult,
  type WithHint,
} from "../results.ts";
import { canHold, filingOf, type PageEntry, select } from "../submissions.ts";
import { type OperationDeps, submissionsOfFiler, validated } from "./context.ts";

const PAGES_AT_ONCE = 8;
/** Rows turned into filings before other work gets the event loop. */
const ROWS_AT_ONCE = 500;

const NO_SUBMISSIONS: OwnFields<SubmissionsAnswer> = {
  cik: null,
  cik_padded: null,
  name: null,
  title: null,
  tickers: [],
  exchanges: [],
  entity_type: null,
  sic: null,
  sic_description: null,
  category: null,
  fiscal_year_end: null,
  state_of_incorporation: null,
  ein: null,
  lei: null,
  website: null,
  phone: null,
  business_address: null,
  former_names: [],
  filings: [],
  filings_total: null,
  truncated: false,
  files: [],
};

export const submissions =
  (deps: OperationDeps) =>
  async (
    fields: FilerFields,
    query: SubmissionsFields,
    caller: CallerContext,
  ): Promise<ServiceResult<SubmissionsAnswer & WithHint>> => {
    const { yieldToEventLoop, www_url } = deps;
    const request = validated(deps, parseSubmissionsRequest(fields, query));
    if (isFailure(request)) return errorResult(NO_SUBMISSIONS, request);
    const { filter, limit, history } = request;
    const main = await submissionsOfFiler(deps, request.filer, caller);
    if (isFailure(main)) return errorResult(NO_SUBMISSIONS, main);
    const entries = main.submissions.pages;
    const matching = history ? entries.filter((entry) => canHold(entry, filter)) : [];
    const pages = await readPages(deps, matching, caller);
    if (isFailure(pages)) return errorResult(NO_SUBMISSIONS, pages);
    await yieldToEventLoop();
    const { total, rows } = select(
      [main.submissions.recent, ...pages.map((page) => page.rows)],
      filter,
      limit,
    );
    const filings: Filing[] = [];
    for (const row of rows) {
      filings.push(filingOf(row, main.cik, www_url));
      if (filings.length % ROWS_AT_ONCE === 0) await yieldToEventLoop();
    }
    return successResult(
      {
        ...main.submissions.filer,
        filings,
        filings_total: total,
        truncated: total > rows.length,
        files: entries.map((entry) => fileOf(entry, pages, main.document)),
      },
      [main.document, ...pages.map(({ document }) => document)],
    );
  };

/** All pages or the first failure: an answer must not leave filings out without saying so. */
async function readPages(
  { submissions: source }: OperationDeps,
  entries: readonly PageEntry[],
  caller: CallerContext,
): Promise<readonly OlderRows[] | Failure> {
  const pages: OlderRows[] = [];
  for (let at = 0; at < entries.length; at += PAGES_AT_ONCE) {
    const batch = entries.slice(at, at + PAGES_AT_ONCE);
    for (const page of await Promise.all(batch.map(async (entry) => source.olderRowsOf(entry, caller)))) {
      if (isFailure(page)) return page;
      pages.push(page);
    }
  }
  return pages;
}

function fileOf(entry: PageEntry, pages: readonly OlderRows[], main: SourceDocument): OlderPage {
  const document = pages.find((page) => page.entry.name === entry.name)?.document;
  return {
    ...entry,
    url: document?.url ?? main.url.replace(/[^/]*$/, entry.name),
    fetched: document !== undefined,
    body_url: document ? bodyUrl(document) : null,
  };
}
