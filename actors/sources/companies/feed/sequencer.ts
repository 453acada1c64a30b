/**
 * The sequencer moves changes from the outboxes of companies and from the rows of imports into the feed and gives them consecutive numbers. Each batch is
 * stored in one conditional write before any of it is published, so a crash at any point repeats writes and never numbers
 * a change twice; a sequencer that is no longer the owner fails that write.
 *
 *   1. finish the stored batch: write its changes, then take them out of the outboxes
 *   2. list outboxes, and the next rows of an import; store the next batch, with how far the import is
 *   3. finish it
 */
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import { COMPANIES, companyOptions, OUTBOX_TAG } from "../stored-company.ts";
import type { ImportedChanges } from "../imports/imported-changes.ts";
import {
  CHANGE_RETENTION_MS,
  changeKey,
  COMPANY_CHANGES,
  COMPANY_FEED_STATE,
  EMPTY_STATE,
  type FeedEntry,
  NO_IMPORTS,
  type SequencerState,
  type StoredChange,
} from "./changes.ts";

interface SequencerDeps {
  readonly documents: Documents;
  readonly clock: Clock;
  /** Checked before each write: false once another node may be the sequencer. */
  readonly ownsKey: () => boolean;
  /** Changes by imports. Default: there are none. */
  readonly imported?: ImportedChanges;
}

export interface SequencerResult {
  /** Changes that got a number. */
  readonly sequenced: number;
  /** More outboxes wait, or another sequencer was first. */
  readonly is_done: boolean;
  /** When the oldest of these changes was made; null: there was none. */
  readonly oldest_ms: number | null;
  /** Where the next listing goes on, so that a company that changes all the time delays no other. */
  readonly next_from: string | null;
}

/** Companies with an outbox that are taken at once; their documents are read. */
const COMPANIES_AT_ONCE = 64;

/** Numbers one batch of changes. Throws Fault. */
export async function sequence(deps: SequencerDeps, from: string | null): Promise<SequencerResult> {
  const { documents, clock } = deps;
  const stored = await COMPANY_FEED_STATE.read(documents, "state");
  const state = stored?.value ?? EMPTY_STATE;
  const version = stored?.version ?? 0;
  await finish(deps, state.batch);

  const page = await COMPANIES.list(documents, {
    tag: OUTBOX_TAG,
    limit: COMPANIES_AT_ONCE,
    ...(from !== null && { from }),
  });
  const changed_ms = Math.max(state.changed_ms, Math.floor(clock.now()));
  const waiting = page
    .flatMap(({ value: { id, outbox } }) => outbox.map((entry) => ({ id, entry })))
    // Changes of one company keep their order: their times do not decrease.
    .toSorted((a, b) => a.entry.at_ms - b.entry.at_ms);
  const oldest_ms = waiting[0]?.entry.at_ms ?? null;
  const own = waiting.map(
    (
      { id, entry: { type, fields, version: company_version, merged_into, countries } },
      index,
    ): StoredChange => ({
      type,
      fields,
      version: company_version,
      merged_into,
      countries,
      seq: state.last_seq + index + 1,
      company_id: id,
      changed_ms,
    }),
  );
  const imports = state.imports ?? NO_IMPORTS;
  const rows = (await deps.imported?.(imports)) ?? null;
  const entries = (rows?.entries ?? []).map((entry, index): FeedEntry => ({
    ...entry,
    seq: state.last_seq + own.length + index + 1,
    changed_ms,
  }));
  const batch: readonly FeedEntry[] = [...own, ...entries];
  const next_from = page.length === COMPANIES_AT_ONCE ? `${page.at(-1)!.key}\0` : null;
  const is_last_page = next_from === null && from === null && rows === null;
  if (batch.length === 0 && rows === null)
    return { sequenced: 0, is_done: is_last_page, oldest_ms, next_from };
  if (!deps.ownsKey()) return { sequenced: 0, is_done: true, oldest_ms, next_from: null };
  const next: SequencerState = {
    last_seq: state.last_seq + batch.length,
    changed_ms,
    batch,
    ...((rows !== null || state.imports !== undefined) && { imports: rows?.position ?? imports }),
  };
  // Refused: another sequencer numbered changes meanwhile, and this listing may be older than its batch.
  if (!(await COMPANY_FEED_STATE.put(documents, "state", next, version)))
    return { sequenced: 0, is_done: false, oldest_ms, next_from: null };
  await finish(deps, batch);
  return { sequenced: batch.length, is_done: is_last_page, oldest_ms, next_from };
}

/** Writes the changes, then empties the outboxes. Repeating it changes nothing. */
async function finish(deps: SequencerDeps, batch: readonly FeedEntry[]): Promise<void> {
  const { documents } = deps;
  if (batch.length === 0) return;
  await Promise.all(
    batch.map((change) =>
      COMPANY_CHANGES.put(documents, changeKey(change.seq), change, 0, {
        expires_at_ms: change.changed_ms + CHANGE_RETENTION_MS,
      }),
    ),
  );
  const through = new Map<string, number>();
  const isStored = (entry: FeedEntry): entry is StoredChange =>
    entry.type !== "baseline" && !entry.is_imported;
  for (const { company_id, version } of batch.filter(isStored))
    through.set(company_id, Math.max(version, through.get(company_id) ?? 0));
  await Promise.all([...through].map(([id, version]) => emptyOutbox(documents, id, version)));
}

async function emptyOutbox(documents: Documents, id: string, through_version: number): Promise<void> {
  await COMPANIES.update(documents, id, (company) => {
    if (company === null) return null;
    const outbox = company.outbox.filter(({ version }) => version > through_version);
    if (outbox.length === company.outbox.length) return null;
    const value = { ...company, outbox };
    return { value, options: companyOptions(value) };
  });
}
