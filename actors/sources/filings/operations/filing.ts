/**
 * GET /v1/filings/index/{cik}/{accession}: the documents of one filing. The index page in the filing's folder is read
 * first; then the folder's own listing; then the index page beside the folder, where filings of some years have it.
 */
import type { IndexAnswer } from "../../../../schemas/filings.ts";
import { flatIndexPath, folderPath, indexPath, padCik, withoutDashes } from "../identifiers.ts";
import { type FilingFields, parseFilingRequest } from "../parse-request.ts";
import {
  type CallerContext,
  errorResult,
  failure,
  failureOf,
  isFailure,
  type ServiceResult,
  successResult,
} from "../results.ts";
import { NO_INDEX, validated } from "../refusals.ts";
import type { OperationDeps } from "./context.ts";

export const filing =
  (deps: OperationDeps) =>
  async (fields: FilingFields, caller: CallerContext): Promise<ServiceResult<IndexAnswer>> => {
    const { reader, www_url } = deps;
    const request = validated(deps, parseFilingRequest(fields));
    if (isFailure(request)) return errorResult(NO_INDEX, request);
    const { cik, accession } = request;
    const location = { cik, accession, www_url };
    const folder = folderPath(cik, accession);
    const addresses = {
      ...NO_INDEX,
      index_url: `${www_url}${indexPath(cik, accession)}`,
      folder_url: `${www_url}${folder}`,
      accession,
      accession_nodash: withoutDashes(accession),
    };

    /** Null: there is no index page here that lists documents. */
    const readPage = async (path: string): Promise<ServiceResult<IndexAnswer> | null> => {
      const answer = await reader.get({ host: "www", path, kind: "index" }, caller);
      if (answer.kind === "failed") return errorResult(NO_INDEX, failureOf(answer));
      if (answer.kind === "missing") return null;
      const reading = await reader.read("index_page", location, [answer], caller);
      const page = reading.kind === "read" ? reading.result : null;
      if (!page || page.documents.length === 0) return null;
      const is_amendment = page.form === null ? null : /\/A$/i.test(page.form);
      const documents = [...page.documents];
      return successResult({ ...addresses, ...page, documents, is_amendment, index_source: "index_htm" }, [
        answer,
      ]);
    };

    const page = await readPage(indexPath(cik, accession));
    if (page) return page;
    const listing = { host: "www", path: `${folder}index.json` } as const;
    const answer = await reader.get({ ...listing, kind: "index" }, caller);
    if (answer.kind === "failed") return errorResult(NO_INDEX, failureOf(answer));
    if (answer.kind === "missing") {
      const flatPage = await readPage(flatIndexPath(cik, accession));
      const none = failure("not_found", `There is no filing ${accession} of CIK ${padCik(cik)}`);
      return flatPage ?? errorResult(NO_INDEX, none);
    }
    const reading = await reader.read("folder", location, [answer], caller);
    if (reading.kind === "invalid") {
      const what = "listing of this filing's folder";
      return errorResult(NO_INDEX, await reader.discardInvalid(listing, answer, what));
    }
    return successResult({ ...addresses, index_source: "index_json", documents: [...reading.result] }, [
      answer,
    ]);
  };
