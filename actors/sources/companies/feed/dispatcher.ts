/**
 * The work that follows a change, for each change in the feed's order: the search index, the other company of a merge, and the
 * watches. The position is stored after the work, so a crash repeats some of it; all of it can be repeated.
 */
import type { ActorClient } from "../../../../cluster/actor.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import { Company } from "../../../../schemas/companies.ts";
import { type CompanyIndex, indexedCompany } from "../search-index.ts";
import { COMPANIES, COMPANY_EDGES, PENDING_TAG } from "../stored-company.ts";
import { COMPANY_CHANGES, DISPATCHED, readChanges, type StoredChange } from "./changes.ts";

export interface DispatcherDeps {
  readonly documents: Documents;
  readonly ask: ActorClient;
  readonly index: CompanyIndex;
  /** Hands a change to the watches of its company. Throws Fault. */
  readonly notifyWatches: (ask: ActorClient, change: StoredChange) => Promise<void>;
}

const CHANGES_AT_ONCE = 200;
const MERGES_AT_ONCE = 50;

/** Handles the next changes; answers how many. Throws Fault. */
export async function dispatch(deps: DispatcherDeps): Promise<number> {
  const { documents } = deps;
  const stored = await DISPATCHED.read(documents, "dispatched");
  const after_seq = stored?.value.seq ?? 0;
  const page = await readChanges(documents, after_seq, CHANGES_AT_ONCE, null);
  // Changes that no dispatcher saw for as long as they are stored: the next one that is stored goes on.
  const { changes, baselines, through_seq } = page === "expired" ? await firstStored(documents) : page;
  // The import itself has given its companies to the index, and a company that is not stored has no watch.
  for (const change of changes) if (!change.is_imported) await handle(deps, change);
  if (through_seq > after_seq)
    await DISPATCHED.put(documents, "dispatched", { seq: through_seq }, stored?.version ?? 0);
  return changes.length + baselines.length;
}

async function firstStored(documents: Documents) {
  const [first] = await COMPANY_CHANGES.list(documents, { limit: 1 });
  const seq = first?.value.seq ?? 1;
  return { changes: [], baselines: [], through_seq: seq - 1 };
}

async function handle(
  { documents, ask, index, notifyWatches }: DispatcherDeps,
  change: StoredChange,
): Promise<void> {
  const { company_id, merged_into } = change;
  const company = await COMPANIES.get(documents, company_id);
  if (!company || company.merged_into !== null) await index.remove([company_id]);
  else await index.put([indexedCompany(company)]);
  if (merged_into !== null) await ask(Company, merged_into, "aliasChanged", { company_id });
  await notifyWatches(ask, change);
}

/** Merges that were found and not made yet, for example because a node died in between. Throws Fault. */
export async function retryMerges({
  documents,
  ask,
}: Pick<DispatcherDeps, "documents" | "ask">): Promise<void> {
  const pending = await COMPANY_EDGES.list(documents, { tag: PENDING_TAG, limit: MERGES_AT_ONCE });
  for (const { value } of pending) {
    if (value.judgement !== "pending") continue;
    const { survivor, loser, shared } = value;
    await ask(Company, loser, "mergeInto", { survivor, shared });
  }
}
