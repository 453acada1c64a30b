/**
 * Changes of stored documents from one data format to the next, and how documents of the former are rewritten in place.
 *
 * A step goes through whole collections in the order of their keys and stores after each page how far it came, so that one that
 * was interrupted goes on there. A rewrite gives null for a document that has the new shape already: a page may be gone
 * through twice, by the same node or by two that start at once.
 */
import assert from "node:assert/strict";
import type { Documents, PutOptions } from "../cluster/ports/documents.ts";
import { updateDocument } from "../cluster/collection.ts";

/** A document in its new shape, with its tag and its expiry, which a store does not give back. */
interface Rewritten {
  readonly value: unknown;
  readonly options?: PutOptions;
}

/** Null: the document stays. It reads other documents and writes none. */
type Rewrite = (
  value: unknown,
  documents: Pick<Documents, "getMany">,
) => Promise<Rewritten | null> | Rewritten | null;

interface Migration {
  /** It makes the next format of this one. */
  readonly from: number;
  readonly collections: Readonly<Record<string, Rewrite>>;
}

/** A domain's failures before format 3: those of all projects together. */
interface FailuresBefore3 {
  readonly failures: number;
  readonly failed_fetch_ids: readonly string[];
  readonly skip_until_ms: number;
}

function domainOfFormat3(stored: unknown): Rewritten | null {
  const { failures, failed_fetch_ids, skip_until_ms, ...politeness } = stored as Partial<FailuresBefore3>;
  if (failures === undefined || skip_until_ms === undefined) return null;
  const row = {
    project: null,
    own_origin: null,
    failures,
    fetch_ids: failed_fetch_ids ?? [],
    projects: [],
    failed_at_ms: 0,
    skip_until_ms,
    probe: null,
    probe_from_ms: 0,
  };
  return { value: { ...politeness, failure_rows: failures === 0 ? [] : [row] } };
}

/** A domain before format 7: what one origin asked for held for all of them. */
interface DomainBefore7 {
  readonly leases: readonly { readonly host: string }[];
  readonly last_start_ms: number | null;
  readonly crawl_delays: readonly {
    readonly origin: string;
    readonly crawl_delay_ms: number;
    readonly until_ms: number;
  }[];
  readonly backoff_ms: number;
  readonly backed_off_at_ms: number;
  readonly paused_until_ms: number;
}

/**
 * It is not known which origin asked for a pause or a back-off: it holds for all until it is over, as it did ("*", ANY_OTHER in
 * actors/crawl/domain/slowed-origins.ts). Failures are forgotten, since they were counted for several origins together.
 */
function domainOfFormat7(stored: unknown): Rewritten | null {
  const { crawl_delays, backoff_ms, backed_off_at_ms, paused_until_ms, ...rest } =
    stored as Partial<DomainBefore7>;
  if (crawl_delays === undefined) return null;
  const slowed = {
    last_start_ms: rest.last_start_ms ?? 0,
    crawl_delay_ms: 0,
    crawl_until_ms: 0,
    backoff_ms: 0,
    backed_off_at_ms: 0,
    paused_until_ms: 0,
  };
  const back_off = { backoff_ms: backoff_ms ?? 0, backed_off_at_ms: backed_off_at_ms ?? 0 };
  const pause = { paused_until_ms: paused_until_ms ?? 0 };
  return {
    value: {
      ...rest,
      leases: (rest.leases ?? []).map(({ host, ...lease }) => ({ ...lease, origin: `https://${host}` })),
      slowed: [
        ...crawl_delays.map(({ origin, crawl_delay_ms, until_ms }) => ({
          ...slowed,
          ...back_off,
          ...pause,
          origin,
          crawl_delay_ms,
          crawl_until_ms: until_ms,
        })),
        ...(back_off.backoff_ms > 0 || pause.paused_until_ms > 0
          ? [{ ...slowed, ...back_off, ...pause, origin: "*" }]
          : []),
      ],
      failure_rows: [],
      closures: [],
      successes: [],
    },
  };
}

/**
 * Before format 10 an identifier that several companies may have kept, as the first of its companies, the id of a look-up that
 * found none.
 */
async function identifierOfFormat10(
  stored: unknown,
  documents: Pick<Documents, "getMany">,
): Promise<Rewritten | null> {
  const { companies } = stored as { readonly companies: readonly string[] };
  if (companies.length < 2) return null;
  const found = await documents.getMany("companies", companies.slice(0, MAX_READ));
  const known = companies.filter((_, at) => at >= MAX_READ || found[at] !== null);
  return known.length === 0 || known.length === companies.length ? null : { value: { companies: known } };
}

/** By format, without gaps. Formats before the first are refused. */
export const MIGRATIONS: readonly Migration[] = [
  { from: 2, collections: { domain: domainOfFormat3 } },
  // Batches of the ledger stay as they are and are read in both shapes: a rewritten one would lose the tag of a batch that is not
  // added up yet.
  { from: 3, collections: {} },
  { from: 4, collections: {} },
  { from: 5, collections: {} },
  { from: 6, collections: { domain: domainOfFormat7 } },
  // Texts in clear are read, and sealed once a node runs: seal-all.ts.
  { from: 7, collections: {} },
  // A document has a checksum from its next write on.
  { from: 8, collections: {} },
  { from: 9, collections: { company_ids: identifierOfFormat10 } },
];

const PAGE = 200;
/** The most documents that one reading takes. */
const MAX_READ = 1_000;

/** Where a step is. */
export interface MigrationCursor {
  readonly collection: string;
  /** The last key that was gone through. */
  readonly after: string;
}

export interface MigrationRun {
  readonly from: number;
  readonly cursor: MigrationCursor | null;
  /** Stores how far the step came. */
  readonly onPage: (cursor: MigrationCursor) => Promise<void>;
}

/** True when there is a step from this format. */
export const canMigrate = (from: number): boolean => MIGRATIONS.some((step) => step.from === from);

/** Runs a step. Answers how many documents it rewrote. Throws Fault. */
export async function migrateStep(
  documents: Documents,
  { from, cursor, onPage }: MigrationRun,
): Promise<number> {
  const step = MIGRATIONS.find((migration) => migration.from === from);
  assert(step, `There is no migration from format ${from}`);
  const collections = Object.entries(step.collections);
  const at = cursor ? collections.findIndex(([name]) => name === cursor.collection) : 0;
  let rewritten = 0;
  for (const [index, [collection, rewrite]] of collections.entries()) {
    if (index < at) continue;
    let after = cursor?.collection === collection ? cursor.after : "";
    for (;;) {
      const page = await documents.list(collection, { ...(after && { from: `${after}\0` }), limit: PAGE });
      for (const { key } of page) if (await rewriteOne(documents, { collection, key, rewrite })) rewritten++;
      if (page.length === 0) break;
      after = page.at(-1)!.key;
      await onPage({ collection, after });
    }
  }
  return rewritten;
}

interface OneDocument {
  readonly collection: string;
  readonly key: string;
  readonly rewrite: Rewrite;
}

/** Again when another node wrote it meanwhile. */
async function rewriteOne(documents: Documents, { collection, key, rewrite }: OneDocument): Promise<boolean> {
  let isRewritten = false;
  await updateDocument(documents, { collection, key }, async (stored) => {
    const next = stored === null ? null : await rewrite(stored, documents);
    isRewritten = next !== null;
    return next;
  });
  return isRewritten;
}
