/** The document store and the blob store with the time and the failures of their operations counted, and spans for them. */
import type { Blobs } from "../cluster/ports/blobs.ts";
import type { Clock } from "../cluster/ports/clock.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import { Fault } from "../cluster/ports/fault.ts";
import type { Metrics } from "../cluster/ports/metrics.ts";
import type { Tracing } from "../cluster/ports/tracing.ts";

interface MeteredDeps {
  readonly metrics: Metrics;
  readonly clock: Clock;
  /** Default: operations have no spans. */
  readonly tracing?: Tracing | undefined;
}

/** Counts one operation from its call until it is settled. */
function timed({ metrics, clock, tracing }: MeteredDeps, store: "documents" | "object_storage") {
  return <Given extends unknown[], T>(operation: string, call: (...given: Given) => Promise<T>) => {
    const meter = async (...given: Given): Promise<T> => {
      const began_ms = clock.mono();
      try {
        return await call(...given);
      } catch (problem) {
        metrics.count("trawl_store_errors_total", { store, operation });
        if (problem instanceof Fault && problem.code === "document_damaged")
          metrics.count("trawl_damaged_documents_total", { found: "read" });
        throw problem;
      } finally {
        metrics.observe(
          "trawl_store_operation_duration_seconds",
          { store, operation },
          (clock.mono() - began_ms) / 1_000,
        );
      }
    };
    const span = { name: `${store}.${operation}`, kind: "client" } as const;
    return tracing ? (...given: Given) => tracing.span(span, () => meter(...given)) : meter;
  };
}

export function meteredDocuments(documents: Documents, deps: MeteredDeps): Documents {
  const meter = timed(deps, "documents");
  return {
    ...documents,
    get: meter("get", (...given) => documents.get(...given)),
    getMany: meter("get_many", (...given) => documents.getMany(...given)),
    put: meter("put", (...given) => {
      deps.metrics.count("trawl_documents_written_total", { collection: given[0] });
      return documents.put(...given);
    }),
    remove: meter("remove", (...given) => documents.remove(...given)),
    list: meter("list", (...given) => documents.list(...given)),
    removeRange: meter("remove_range", (...given) => documents.removeRange(...given)),
    removeExpired: meter("remove_expired", (...given) => documents.removeExpired(...given)),
  };
}

/** A read is timed until it begins: its bytes come as fast as they are taken. */
export function meteredBlobs(blobs: Blobs, deps: MeteredDeps): Blobs {
  const meter = timed(deps, "object_storage");
  return {
    ...blobs,
    put: meter("put", (...given) => blobs.put(...given)),
    head: meter("head", (...given) => blobs.head(...given)),
    get: meter("get", (...given) => blobs.get(...given)),
    remove: meter("remove", (...given) => blobs.remove(...given)),
  };
}
