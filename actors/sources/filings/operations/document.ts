/**
 * POST /v1/filings/documents/fetch: one document of a filing in the form of a fetch. Its text is read by the
 * FilingTextExtractor actor, once for all callers.
 */
import type { ActorClient } from "../../../../cluster/actor.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import { Fault } from "../../../../cluster/ports/fault.ts";
import { EMPTY_ANSWER, EMPTY_RECORD, type PageRecord } from "../../../../schemas/fetch.ts";
import { type FilingText, FilingTextExtractor } from "../../../../schemas/filings.ts";
import { exposedHeaders } from "../../../lib/web/http.ts";
import { folderPath } from "../identifiers.ts";
import { type DocumentFields, parseDocumentRequest } from "../parse-request.ts";
import {
  type CallerContext,
  type DocumentResult,
  failure,
  failureOf,
  isFailure,
  type SourceDocument,
} from "../results.ts";
import { asFilingText, textKey } from "../text.actor.ts";
import { documentError, validated } from "../refusals.ts";
import type { OperationDeps } from "./context.ts";
import { FILING_TEXTS } from "../collections.ts";

export interface DocumentDeps extends OperationDeps {
  readonly ask: ActorClient;
  readonly documents: Documents;
}

/** Reading a large PDF takes a minute at most. */
const MAX_READ_MS = 120_000;
const MIN_READ_MS = 1_000;

export const document =
  (deps: DocumentDeps) =>
  async (fields: DocumentFields, caller: CallerContext): Promise<DocumentResult> => {
    const { reader, clock, www_url } = deps;
    const request = validated(deps, parseDocumentRequest(fields));
    if (isFailure(request)) return documentError("", request);
    const { cik, accession, document: name, max_bytes, accept_pdf, cache_ttl_s } = request;
    const within = folderPath(cik, accession);
    const path = `${within}${encodeURIComponent(name)}`;
    const url = `${www_url}${path}`;
    const started_ms = clock.mono();
    const answer = await reader.get(
      { host: "www", path, kind: "document", within, max_bytes, cache_ttl_s },
      caller,
    );
    const ms = Math.round(clock.mono() - started_ms);
    switch (answer.kind) {
      case "failed": {
        const { error, message, retry_after_s, status, redirects, requests } = answer;
        const isTooLarge = error === "too_large";
        const problem = isTooLarge ? failure(error, message, retry_after_s) : failureOf(answer);
        const cached = isTooLarge && requests === 0;
        return documentError(url, problem, { ...EMPTY_RECORD, status, redirects }, { ms, cached });
      }
      case "missing": {
        const problem = failure("not_found", `There is no "${name}" in the folder of ${accession}`);
        const { status, requests } = answer;
        return documentError(url, problem, { ...EMPTY_RECORD, status }, { ms, cached: requests === 0 });
      }
      case "got": {
        const record = recordOf(answer);
        const withoutBody = { ...record, sha256: null, body_kind: null };
        const { cached, revalidated, status, sha256, content_type } = answer;
        if (answer.bytes > max_bytes) {
          const message = `"${name}" has ${answer.bytes} bytes, max_bytes is ${max_bytes}`;
          return documentError(url, failure("too_large", message), withoutBody, { ms, cached });
        }
        const text = await textOf(deps, answer, caller);
        if (text === null) {
          const message = `The text of "${name}" could not be read in time`;
          return documentError(url, failure("timeout", message), withoutBody, { ms, cached });
        }
        const { note, ...content } = text;
        if (text.content_kind === "pdf" && !accept_pdf) {
          const message = `"${name}" is a PDF, and accept_pdf is false`;
          const pdf = { ...withoutBody, content_kind: text.content_kind };
          return documentError(url, failure("pdf_not_accepted", message), pdf, { ms, cached });
        }
        const attempts = cached ? [] : [{ tier: "direct", status, reason: "ok", ms, detail: note }];
        return {
          url,
          answer: { ...EMPTY_ANSWER, record: { ...record, ...content }, attempts, cached, revalidated },
          bodies: [{ sha256, content_type }],
        };
      }
    }
  };

/** The stored text, or the text actor's answer; null: the caller's deadline passed first. */
async function textOf(
  { ask, documents, clock }: DocumentDeps,
  { sha256, bytes, final_url, content_type }: SourceDocument,
  { id, deadline_ms, project }: CallerContext,
): Promise<FilingText | null> {
  const key = textKey({ sha256, content_type, url: final_url });
  const stored = asFilingText(await FILING_TEXTS.get(documents, key));
  if (stored) return stored;
  const timeout_ms = Math.max(MIN_READ_MS, Math.min(MAX_READ_MS, deadline_ms - clock.now()));
  const request = { sha256, bytes, url: final_url, content_type, project, work_id: id };
  const options = { timeout_ms, idempotency_id: `${id} ${sha256}` };
  return ask(FilingTextExtractor, key, "extract", request, options).catch((problem: unknown) => {
    if (problem instanceof Fault && problem.code === "no_answer" && clock.now() >= deadline_ms) return null;
    throw problem;
  });
}

const recordOf = (source: SourceDocument): PageRecord => ({
  ...EMPTY_RECORD,
  final_url: source.final_url,
  redirects: [...source.redirects],
  status: source.status,
  content_type: source.content_type,
  origin_content_type: source.content_type,
  headers: exposedHeaders(new Map(Object.entries(source.headers))),
  tier: "direct",
  sha256: source.sha256,
  bytes: source.bytes,
  body_kind: "origin",
  etag: source.headers["etag"] ?? null,
  last_modified: source.headers["last-modified"] ?? null,
  retrieved_at: source.retrieved_at,
});
