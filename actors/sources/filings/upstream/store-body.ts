/**
 * A body on its way to the blob store. It is assessed while it is stored: a body that is wrong, incomplete or too large
 * is never stored.
 */
import type { BodyRefs } from "../../../../cluster/body-refs.ts";
import { EgressError, type Exchange } from "../../../../cluster/ports/egress.ts";
import type { SourceAnswer } from "../../../../schemas/upstream.ts";
import { type CachedDocument, expiresAt } from "../../upstream/document-cache.ts";
import { type BodyAssessment, bodyAssessor } from "./classify-response.ts";
import type { FetchRun } from "./fetch-run.ts";
import { KIND_RULES } from "./limits.ts";
import { FILING_DOCUMENTS } from "../collections.ts";

export type ExchangeAnswer = Extract<Exchange, { kind: "answered" }>;

type Rejection =
  | Exclude<BodyAssessment, { kind: "whole" }>
  | { readonly kind: "too_large" }
  | { readonly kind: "unread"; readonly problem: EgressError };

export type StoredBody =
  | {
      readonly kind: "stored";
      readonly sha256: string;
      readonly bytes: number;
      readonly cacheable: boolean;
    }
  | Rejection;

/** Ends the stream into the blob store, which then stores nothing. */
class Rejected extends Error {}

export async function storeBody(
  { deps: { blobs }, request, max_bytes }: FetchRun,
  { body, cancel }: ExchangeAnswer,
  path: string,
): Promise<StoredBody> {
  const assessor = bodyAssessor(request.kind, path);
  let cacheable = true;
  let bytes = 0;
  // Read back after the store threw: an adapter may have wrapped the error.
  const result: { rejection: Rejection | null } = { rejection: null };
  const reject = (rejection: Rejection): never => {
    result.rejection = rejection;
    throw new Rejected(rejection.kind);
  };
  async function* assessed(): AsyncGenerator<Buffer> {
    try {
      for await (const piece of body) {
        bytes += piece.length;
        if (bytes > max_bytes) reject({ kind: "too_large" });
        const assessment = assessor.push(piece);
        if (assessment && assessment.kind !== "whole") reject(assessment);
        yield piece;
      }
    } catch (problem) {
      if (problem instanceof EgressError) reject({ kind: "unread", problem });
      throw problem;
    }
    const assessment = assessor.end();
    if (assessment.kind === "whole") ({ cacheable } = assessment);
    else reject(assessment);
  }
  try {
    return { kind: "stored", ...(await blobs.put(assessed())), cacheable };
  } catch (problem) {
    cancel();
    if (result.rejection) return result.rejection;
    throw problem;
  }
}

/** Puts an answer into the document cache and retains its body as long. */
export async function storeAnswer(
  { deps: { documents, clock }, request, digest }: FetchRun,
  refs: BodyRefs,
  answer: SourceAnswer,
  last_modified: string | null,
): Promise<void> {
  const validated_ms = clock.now();
  const cached: CachedDocument = { answer, last_modified, validated_ms };
  const expires_at_ms = expiresAt(KIND_RULES[request.kind], validated_ms);
  if (answer.kind === "got") await refs.retain([answer.sha256], `filing ${digest}`, expires_at_ms);
  await FILING_DOCUMENTS.update(documents, digest, () => ({ value: cached, options: { expires_at_ms } }));
}
