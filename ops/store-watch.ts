/**
 * Watches whether the stores take writes. A write that fails is followed by a probe, a small write of this file's own; when that
 * fails too the store counts as failing until a probe succeeds. While requests wait, the document store is probed as well, because
 * the write they wait for may be made on another node.
 *
 * A store that takes small writes and refuses large ones, such as a disk that is almost full, is not failing: each refused
 * write is its own fault.
 */
import type { Node } from "../cluster/node-record.ts";
import type { Blobs } from "../cluster/ports/blobs.ts";
import type { Clock } from "../cluster/ports/clock.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import type { Random } from "../cluster/ports/random.ts";
import { type FailingStore, StoreFailing, type StoreHealth } from "../gateway/store-health.ts";
import { collection } from "../cluster/collection.ts";

/** Documents of probes: one for each process, removed with other expired ones. */
export const PROBES = collection<{ readonly at_ms: number }>("store_probes", { expires: true });

/** Between two probes of a store that fails. A store that is back is noticed after this time at most. */
const PROBE_EVERY_MS = 500;
/** Between two probes while requests wait for their answers. */
const LOOK_EVERY_MS = 2_000;
/** A request that waits goes on waiting for so long: stores that change their primary are back by then. */
const PATIENCE_MS = 3_000;
/** A probe without an answer counts as a failed one. */
const PROBE_WAIT_MS = 5_000;
const PROBE_KEPT_MS = 60 * 60_000;

export interface StoreWatch extends StoreHealth {
  /** The stores, with their failures noticed. */
  readonly documents: Documents;
  readonly blobs: Blobs;
  /** For /ready: a write to the document store, an answer of the body store. */
  readonly ping: Readonly<Record<FailingStore["store"], () => Promise<void>>>;
  readonly close: () => void;
}

interface WatchedStore {
  readonly store: FailingStore["store"];
  readonly probe: () => Promise<unknown>;
  /** The failure of the last probe. */
  failing: { readonly problem: unknown; readonly since_ms: number } | null;
  probing: Promise<void> | null;
  timer: Disposable | null;
}

export function watchStores({
  documents,
  blobs,
  clock,
  random,
  metrics,
  log,
}: Pick<Node, "documents" | "blobs" | "clock" | "random" | "metrics" | "log">): StoreWatch {
  const waiting = new Set<(problem: StoreFailing) => void>();
  const name = randomDigits(random);
  let version = 0;
  let lookTimer: Disposable | null = null;
  let isClosed = false;

  async function probeDocuments(): Promise<void> {
    const expires_at_ms = clock.now() + PROBE_KEPT_MS;
    if (await PROBES.put(documents, name, { at_ms: clock.now() }, version, { expires_at_ms })) version++;
    // A put that failed may have been carried out, and an expired probe is removed.
    else version = (await PROBES.read(documents, name))?.version ?? 0;
  }

  async function probeBlobs(): Promise<void> {
    const content = Buffer.from(randomDigits(random));
    const { sha256 } = await blobs.put(content);
    await blobs.remove(sha256);
  }

  const watched = {
    documents: watchedStore("documents", probeDocuments),
    object_storage: watchedStore("object_storage", probeBlobs),
  };
  const stores = [watched.documents, watched.object_storage];

  function failing(): FailingStore | null {
    const one = stores.find((each) => each.failing !== null);
    return one ? { store: one.store, problem: one.failing!.problem } : null;
  }

  function onProbed(one: WatchedStore, problem: unknown): void {
    const wasFailing = one.failing !== null;
    one.failing = problem === null ? null : { problem, since_ms: one.failing?.since_ms ?? clock.mono() };
    if (wasFailing !== (one.failing !== null)) {
      metrics.gauge("trawl_store_failing", { store: one.store }, one.failing ? 1 : 0);
      if (one.failing) log.error("A store refuses writes", { store: one.store, problem });
      else log.info("A store takes writes again", { store: one.store });
    }
    if (one.failing === null || isClosed) return;
    if (clock.mono() - one.failing.since_ms >= PATIENCE_MS) giveUpWaiting();
    one.timer ??= clock.at(clock.now() + PROBE_EVERY_MS, () => {
      one.timer = null;
      void probe(one);
    });
  }

  function giveUpWaiting(): void {
    const problem = new StoreFailing(failing()!);
    for (const reject of waiting) reject(problem);
    waiting.clear();
  }

  /** Probes run one at a time for each store. */
  function probe(one: WatchedStore): Promise<void> {
    one.probing ??= within(clock, PROBE_WAIT_MS, one.probe()).then(
      () => {
        one.probing = null;
        onProbed(one, null);
      },
      (problem: unknown) => {
        one.probing = null;
        onProbed(one, problem);
      },
    );
    return one.probing;
  }

  const noticed =
    (one: WatchedStore) =>
    (problem: unknown): never => {
      if (!one.failing && !isClosed) void probe(one);
      throw problem;
    };
  const onDocumentsFault = noticed(watched.documents);
  const onBlobsFault = noticed(watched.object_storage);

  function look(): void {
    if (lookTimer || waiting.size === 0 || isClosed) return;
    lookTimer = clock.at(clock.now() + LOOK_EVERY_MS, () => {
      lookTimer = null;
      if (waiting.size > 0) void probe(watched.documents);
      look();
    });
  }

  return {
    documents: {
      ...documents,
      put: (...given) => documents.put(...given).catch(onDocumentsFault),
      remove: (...given) => documents.remove(...given).catch(onDocumentsFault),
    },
    blobs: { ...blobs, put: (content) => blobs.put(content).catch(onBlobsFault) },
    ping: {
      async documents() {
        await probe(watched.documents);
        if (watched.documents.failing) throw watched.documents.failing.problem;
      },
      async object_storage() {
        if (watched.object_storage.failing) throw watched.object_storage.failing.problem;
        await blobs.ping();
      },
    },
    failing,
    async orFailing(work) {
      const given_up = Promise.withResolvers<never>();
      waiting.add(given_up.reject);
      look();
      try {
        return await Promise.race([work, given_up.promise]);
      } finally {
        waiting.delete(given_up.reject);
        // It may fail after its caller was told about the store.
        work.catch(() => {});
      }
    },
    close() {
      isClosed = true;
      lookTimer?.[Symbol.dispose]();
      for (const one of stores) one.timer?.[Symbol.dispose]();
    },
  };
}

const watchedStore = (store: FailingStore["store"], probe: () => Promise<unknown>): WatchedStore => ({
  store,
  probe,
  failing: null,
  probing: null,
  timer: null,
});

const randomDigits = (random: Random): string => String(random.next()).slice(2);

async function within(clock: Clock, limit_ms: number, work: Promise<unknown>): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = clock.at(clock.now() + limit_ms, () => late.reject(new Error("There was no answer in time")));
  try {
    await Promise.race([work, late.promise]);
  } finally {
    timer[Symbol.dispose]();
    work.catch(() => {});
  }
}
