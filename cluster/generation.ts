/**
 * The generation of the lease store, agreed through the document store. A lease store that lost its data counts its
 * revisions from 1 again; with a larger generation its epochs are still larger than all earlier ones.
 */
import type { Documents } from "./ports/documents.ts";
import { Fault } from "./ports/fault.ts";
import type { ClaimTerms, LeaseSurvey } from "./ports/leases.ts";

/** What all nodes of a cluster share through the document store. */
export interface ClusterRecord {
  readonly generation: number;
  /** The lease store of this generation; absent: written by an earlier version, or `trawl cluster rebuild` removed the store. */
  readonly store_id?: string;
}

const COLLECTION = "cluster";
const KEY = "main";
/** Nodes that find a new store at the same time write one after the other. */
const MAX_ATTEMPTS = 20;

export interface Generations {
  /**
   * The terms on which this node may claim partitions. Null: the store is so young that an owner from the time before may
   * still count on a lease that was lost with the former store.
   */
  readonly claimTerms: (survey: LeaseSurvey) => Promise<ClaimTerms | null>;
}

/** The generation of a store never changes, so the documents are asked once for each store. */
export function generations(documents: Documents, ttl_ms: number): Generations {
  let known: ClaimTerms | null = null;
  return {
    async claimTerms({ store_id, age_ms }) {
      if (known?.store_id !== store_id)
        known = { store_id, generation: await generationOf(documents, store_id) };
      // Before the first store there were no leases.
      return known.generation === 1 || age_ms >= ttl_ms ? known : null;
    },
  };
}

/** Throws Fault documents_unreachable. */
async function generationOf(documents: Documents, store_id: string): Promise<number> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const stored = await documents.get(COLLECTION, KEY);
    const record = stored?.value as ClusterRecord | undefined;
    if (record?.store_id === store_id) return record.generation;
    const next: ClusterRecord = { ...record, generation: (record?.generation ?? 0) + 1, store_id };
    await documents.put(COLLECTION, KEY, next, stored?.version ?? 0);
  }
  throw new Fault("documents_unreachable", "Cannot agree on a generation: other nodes write it all the time");
}
