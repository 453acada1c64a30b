/**
 * The filings service: one operation of the API each, from the fields a caller sent to an answer. An operation
 * (operations/) parses its request, gets the documents it needs through `FilingSource`, and reads them. Rate limits,
 * pauses and the document cache belong to the source; HTTP belongs to the gateway. Every answer names the bodies it was
 * read from, so that the gateway can give the caller's project access to them.
 */
import type { ActorClient } from "../../../cluster/actor.ts";
import type { Blobs } from "../../../cluster/ports/blobs.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import type { ByteBudget } from "../../../cluster/byte-budget.ts";
import type { CacheLimits } from "../../../cluster/cache-limits.ts";
import type { Log } from "../../../cluster/ports/log.ts";
import type { Workers } from "../../../cluster/ports/workers.ts";
import type {
  FactsAnswer,
  FilingSearchAnswer,
  IndexAnswer,
  LatestAnswer,
  ResolveAnswer,
  SubmissionsAnswer,
} from "../../../schemas/filings.ts";
import { filerSubmissions } from "./filer-submissions.ts";
import { filerFinder } from "./find-filer.ts";
import { listedFilers } from "./listed-filers.ts";
import { document } from "./operations/document.ts";
import { facts } from "./operations/facts.ts";
import { filing } from "./operations/filing.ts";
import { latest } from "./operations/latest.ts";
import { resolve } from "./operations/resolve.ts";
import { search } from "./operations/search.ts";
import { submissions } from "./operations/submissions.ts";
import type {
  DocumentFields,
  FilerFields,
  FilingFields,
  LatestFields,
  SearchFields,
  SubmissionsFields,
} from "./parse-request.ts";
import type { Register } from "./register.ts";
import type { CallerContext, DocumentResult, ServiceResult, WithHint } from "./results.ts";
import type { FilingSource } from "./source.ts";
import { sourceReader } from "./source-reader.ts";

export interface FilingsServiceDeps {
  /** Null: the operator declared no identity, so every operation answers `filings_not_configured`. */
  readonly source: FilingSource | null;
  readonly register: Register;
  readonly ask: ActorClient;
  readonly blobs: Blobs;
  readonly documents: Documents;
  readonly clock: Clock;
  /** Reader processes with the tasks of adapters/reader-tasks.ts. */
  readonly readers: Workers;
  readonly log: Log;
  /** The memory for bodies on this node. Default: no limit. */
  readonly memory?: ByteBudget;
  readonly caches?: Pick<CacheLimits, "filings">;
  /** Addresses in answers begin with this; no slash at its end. */
  readonly www_url: string;
}

/** Fields come as the caller sent them: an error in a field is part of the answer. Operations throw only Fault. */
export interface FilingsService {
  readonly resolve: (filer: FilerFields, caller: CallerContext) => Promise<ServiceResult<ResolveAnswer>>;
  readonly submissions: (
    filer: FilerFields,
    query: SubmissionsFields,
    caller: CallerContext,
  ) => Promise<ServiceResult<SubmissionsAnswer & WithHint>>;
  readonly latest: (
    filer: FilerFields,
    query: LatestFields,
    caller: CallerContext,
  ) => Promise<ServiceResult<LatestAnswer & WithHint>>;
  readonly facts: (
    filer: FilerFields,
    caller: CallerContext,
  ) => Promise<ServiceResult<FactsAnswer & WithHint>>;
  readonly filing: (filing: FilingFields, caller: CallerContext) => Promise<ServiceResult<IndexAnswer>>;
  readonly search: (query: SearchFields, caller: CallerContext) => Promise<ServiceResult<FilingSearchAnswer>>;
  readonly document: (document: DocumentFields, caller: CallerContext) => Promise<DocumentResult>;
}

export function filingsService(deps: FilingsServiceDeps): FilingsService {
  const { source, register } = deps;
  const reader = sourceReader(deps);
  const listed = listedFilers({ ...deps, reader });
  const filed = filerSubmissions({ ...deps, reader });
  const filers = filerFinder({ listed, submissions: filed, register });
  const parts = { ...deps, isConfigured: source !== null, reader, listed, submissions: filed, filers };
  return {
    resolve: resolve(parts),
    submissions: submissions(parts),
    latest: latest(parts),
    facts: facts(parts),
    filing: filing(parts),
    search: search(parts),
    document: document(parts),
  };
}
