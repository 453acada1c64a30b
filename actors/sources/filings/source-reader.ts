/**
 * Documents of the filing system as the operations read them: one request to the source with the limits of its kind,
 * then a reading of the document in a reader process. It does not interpret documents.
 */
import type { ByteBudget } from "../../../cluster/byte-budget.ts";
import type { Blobs } from "../../../cluster/ports/blobs.ts";
import { Fault } from "../../../cluster/ports/fault.ts";
import type { Log } from "../../../cluster/ports/log.ts";
import { NO_ROOM, type Workers } from "../../../cluster/ports/workers.ts";
import type { FilerCompany } from "../../../schemas/filings.ts";
import type { SourceRequest } from "../../../schemas/filing-source.ts";
import type { SourceAnswer } from "../../../schemas/upstream.ts";
import { workFields } from "../../lib/work-fields.ts";
import type { FilersOrder, FilersReading, DocumentReading, ReadingOrder, Readings } from "./readings.ts";
import { type CallerContext, type Failure, invalidAnswer, type SourceDocument } from "./results.ts";
import type { FilingSource } from "./source.ts";
import type { FilerQuestion } from "./ticker-lists.ts";

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
  /** Reads documents in a reader process. Throws Fault when this node has no room for them. */
  readonly read: <Kind extends keyof Readings>(
    kind: Kind,
    order: Readings[Kind]["order"],
    documents: readonly SourceDocument[],
    caller: CallerContext,
  ) => Promise<DocumentReading<Readings[Kind]["result"]>>;
  /** Asks the directory of these lists of filers; `question` null: whether the lists make sense. Throws Fault. */
  readonly askFilers: (
    question: FilerQuestion | null,
    lists: readonly SourceDocument[],
    caller: CallerContext,
  ) => Promise<DocumentReading<readonly FilerCompany[]>>;
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
  /** Reader processes with the tasks of adapters/reader-tasks.ts. */
  readonly readers: Workers;
  readonly log: Log;
  /** The memory for bodies on this node. Default: no limit. */
  readonly memory?: ByteBudget;
}

/** The pieces of a document, and the whole that is put together from them. */
const COPIES = 2;

export function sourceReader(deps: SourceReaderDeps): SourceReader {
  const { source } = deps;
  return {
    get: (request, { project, lane, deadline_ms, id }) =>
      source!.get({
        cache_ttl_s: null,
        project,
        lane,
        deadline_ms,
        max_bytes: MAX_BYTES[request.kind],
        work_id: id,
        ...request,
      }),

    read: (kind, order, documents, caller) =>
      withBytes(deps, documents, async (bytes, lengths) => {
        const message = { kind, order, bytes, lengths } as ReadingOrder;
        return run(deps, "document", message, caller);
      }),

    async askFilers(question, lists, caller) {
      const order: FilersOrder = { key: lists.map(({ sha256 }) => sha256).join(" "), question };
      const reading = await run<FilersReading>(deps, "filers", order, caller);
      if (reading.kind !== "unknown_lists") return reading;
      return withBytes(deps, lists, async (bytes, lengths) =>
        run<DocumentReading<readonly FilerCompany[]>>(deps, "filers", { ...order, bytes, lengths }, caller),
      );
    },

    async discardInvalid(address, document, what) {
      await source!.discard(address, document.sha256);
      return invalidAnswer(what);
    },
  };
}

/** Runs `use` with the documents' bytes, once there is room for them in memory. Throws Fault. */
async function withBytes<T>(
  { blobs, memory }: SourceReaderDeps,
  documents: readonly SourceDocument[],
  use: (bytes: Buffer, lengths: readonly number[]) => Promise<T>,
): Promise<T> {
  const size = documents.reduce((sum, { bytes }) => sum + bytes, 0);
  const reservation = memory ? await memory.reserve(COPIES * size) : null;
  if (memory && reservation === null)
    throw new Fault(
      "overloaded",
      "Cannot read documents of the filing system: this node has no room for them",
    );
  try {
    const pieces: Buffer[] = [];
    const lengths: number[] = [];
    for (const { sha256 } of documents) {
      const body = await blobs.get(sha256);
      if (body === null) throw new Fault("body_damaged", `Cannot read body "${sha256}": it is not there`);
      const own = await Array.fromAsync(body);
      pieces.push(...own);
      lengths.push(own.reduce((sum, { length }) => sum + length, 0));
    }
    return await use(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces), lengths);
  } finally {
    reservation?.release();
  }
}

/** A document on which its reader fails makes no sense. Throws Fault when the reading says nothing of the document. */
async function run<T>(
  { readers, log }: SourceReaderDeps,
  task: string,
  message: FilersOrder | ReadingOrder,
  { project, signal, id }: CallerContext,
): Promise<T | { readonly kind: "invalid"; readonly at: number }> {
  const result = await readers.run<T>(task, message, { tenant: project, ...(signal && { signal }) });
  if (result.kind === "done") return result.value;
  const { reason, detail } = result;
  if (reason === "aborted" || NO_ROOM.has(reason))
    throw new Fault(
      "overloaded",
      `Cannot read documents of the filing system: this node has no room (${reason})`,
    );
  log.warn("Cannot read a document of the filing system", { ...workFields(id), task, reason, detail });
  return { kind: "invalid", at: 0 };
}
