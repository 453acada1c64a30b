/**
 * Documents of the filing system as the operations read them: one request to the source with the limits of its kind,
 * then the bytes, as pieces or parsed. It does not interpret documents.
 */
import type { Blobs } from "../../cluster/ports/blobs.ts";
import type { YieldToEventLoop } from "../../cluster/ports/event-loop.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import type { SourceRequest } from "../../schemas/filing-source.ts";
import type { SourceAnswer } from "../../schemas/upstream.ts";
import { parseJson } from "./json-scan.ts";
import { type CallerContext, type Failure, invalidAnswer, type SourceDocument } from "./results.ts";
import type { FilingSource } from "./source.ts";

export type SourceAddress = Pick<SourceRequest, "host" | "path">;

const MIB = 2 ** 20;
/** Bytes of each kind, decoded; a longer answer is no document of that kind. */
const MAX_BYTES = {
  tickers: 16 * MIB,
  submissions: 32 * MIB,
  facts: 128 * MIB,
  index: 16 * MIB,
  search: 16 * MIB,
  /** The caller says how large a document may be. */
  document: 0,
};

type ReaderRequest = SourceAddress & Partial<SourceRequest> & { readonly kind: keyof typeof MAX_BYTES };

export interface SourceReader {
  readonly get: (request: ReaderRequest, caller: CallerContext) => Promise<SourceAnswer>;
  readonly bytesOf: (document: SourceDocument) => Promise<Buffer>;
  readonly piecesOf: (document: SourceDocument) => Promise<AsyncIterable<Buffer>>;
  /** Null: the bytes are no JSON. */
  readonly jsonOf: (
    document: SourceDocument,
  ) => Promise<{ readonly value: unknown; readonly bytes: number } | null>;
  /** Removes a document that makes no sense from the cache, so that the next request gets it anew. */
  readonly discardInvalid: (
    address: SourceAddress,
    document: SourceDocument,
    what: string,
  ) => Promise<Failure>;
}

export interface SourceReaderDeps {
  /** Null: not configured; the operations refuse every request before they read a document. */
  readonly source: FilingSource | null;
  readonly blobs: Blobs;
  readonly yieldToEventLoop: YieldToEventLoop;
}

export function sourceReader({ source, blobs, yieldToEventLoop }: SourceReaderDeps): SourceReader {
  async function piecesOf({ sha256 }: SourceDocument): Promise<AsyncIterable<Buffer>> {
    const pieces = await blobs.get(sha256);
    if (pieces === null) throw new Fault("body_damaged", `Cannot read body "${sha256}": it is not there`);
    return pieces;
  }

  async function bytesOf(document: SourceDocument): Promise<Buffer> {
    const pieces = await Array.fromAsync(await piecesOf(document));
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  }

  return {
    bytesOf,
    piecesOf,
    get: (request, { project, lane, deadline_ms }) =>
      source!.get({
        cache_ttl_s: null,
        project,
        lane,
        deadline_ms,
        max_bytes: MAX_BYTES[request.kind],
        ...request,
      }),
    async jsonOf(document) {
      const bytes = await bytesOf(document);
      try {
        return { value: await parseJson(bytes, yieldToEventLoop), bytes: bytes.length };
      } catch (problem) {
        if (problem instanceof SyntaxError) return null;
        throw problem;
      }
    },
    async discardInvalid(address, document, what) {
      await source!.discard(address, document.sha256);
      return invalidAnswer(what);
    },
  };
}
