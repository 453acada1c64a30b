/** Whether the stores take writes, as the gateway sees it: ops/store-watch.ts finds out. */

/** A store that refuses writes. */
export interface FailingStore {
  /** Its name in /ready. */
  readonly store: "documents" | "object_storage";
  /** The problem of the last write that failed. */
  readonly problem: unknown;
}

export interface StoreHealth {
  /** Null while all stores take writes. */
  readonly failing: () => FailingStore | null;
  /** The work, or StoreFailing when a store has refused writes for some seconds and the work waits for it. */
  readonly orFailing: <T>(work: Promise<T>) => Promise<T>;
}

/** Thrown instead of waiting for a store that may stay away for hours. */
export class StoreFailing extends Error {
  override readonly name = "StoreFailing";
  readonly failing: FailingStore;

  constructor(failing: FailingStore) {
    super(`The store "${failing.store}" refuses writes`, { cause: failing.problem });
    this.failing = failing;
  }
}
