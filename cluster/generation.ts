/**
 * The generation of the lease store, agreed through the document store, which is the source of truth. A lease store that lost
 * its data counts its revisions from 1 again, one that was rolled back from where it was; with a larger generation its
 * epochs are still larger than all earlier ones.
 *
 * Documents belong to the nodes of one lease store. While these run, they show it by a beat in the record; a node on another
 * lease store (a second NATS) owns nothing until the beat has stopped.
 */
import { type Clock, sleep } from "./ports/clock.ts";
import type { Documents } from "./ports/documents.ts";
import { Fault } from "./ports/fault.ts";
import {
  type ClaimTerms,
  isNewerTable,
  type Leases,
  type LeaseSurvey,
  type TableVersion,
} from "./ports/leases.ts";
import { CLUSTER } from "./cluster-documents.ts";
import { MIN_PARTITIONS } from "./placement.ts";

/** The record that all nodes of a cluster share through the document store. */
export interface ClusterRecord {
  /** Into how many partitions the keys are divided; absent: 64. Only `trawl cluster rebuild` changes it, while no node runs. */
  readonly partitions?: number;
  readonly generation: number;
  /** The lease store of this generation; absent: written by an earlier version, or `trawl cluster rebuild` removed the store. */
  readonly store_id?: string;
  /** A revision that the lease store has reached in this generation. */
  readonly revision?: number;
  /**
   * The age of the lease store from which partitions may be claimed: leases from before the generation have lapsed by then. Absent: written
   * by an earlier version.
   */
  readonly claims_from_age_ms?: number;
  /** Grows while nodes of the lease store run. */
  readonly beat?: number;
}

const RECORDS = CLUSTER.of<ClusterRecord>();
const KEY = "main";
/** Nodes that find a new store at the same time write one after the other. */
const MAX_ATTEMPTS = 20;
/** How often each node looks at the record. */
export const BEAT_MS = 1_000;
/** Without a beat for so long no node of the record's lease store runs. When too small, a busy document store ends a cluster. */
const BEAT_LAPSES_MS = 4_000;

type LookAtStore = () => Promise<LeaseSurvey>;

export interface Generations {
  /**
   * The terms on which this node may claim partitions, with the survey that they are for. Null: the generation is so young that an
   * owner from the time before may still count on a lease that was lost, or the documents belong to the nodes of another
   * store. Throws Fault.
   */
  readonly claimTerms: (
    look: LookAtStore,
  ) => Promise<{ readonly survey: LeaseSurvey; readonly terms: ClaimTerms | null }>;
  /** Looks whether the documents belong to this node's lease store; `beats`: and shows that its nodes run. Throws Fault. */
  readonly confirm: (look: LookAtStore, beats: boolean) => Promise<void>;
  /** The leases, of which this node notices by its own claims and renewals that they were rolled back. */
  readonly watched: (leases: Leases) => Leases;
  /** Whether the documents belonged to the nodes of another lease store at the last look. */
  readonly isForeign: () => boolean;
}

interface OwnStore {
  readonly store_id: string;
  readonly generation: number;
  /** The largest that this node has seen. */
  readonly revision: number;
  /** A change of a lease had a smaller one, or the table of assignments an earlier version. */
  readonly wasRolledBack: boolean;
}

/** Settings that this node has agreed on with the others. */
interface Agreed {
  readonly ttl_ms: number;
  readonly partitions: number;
}

interface GenerationsState extends Agreed {
  readonly documents: Documents;
  readonly clock: Clock;
  isForeign: boolean;
  /** The newest table of assignments that this node has read. */
  table: TableVersion | null;
  /** The lease store that this node has worked with, and what it has seen of it. */
  own: OwnStore | null;
  /** The beat of the record at the last look, and when it was seen first, on the monotonic clock. */
  seen: { readonly store_id: string; readonly beat: number; readonly since_ms: number } | null;
}

export function generations(documents: Documents, clock: Clock, settings: Agreed): Generations {
  const state: GenerationsState = {
    ...settings,
    documents,
    clock,
    isForeign: false,
    table: null,
    own: null,
    seen: null,
  };
  return {
    async claimTerms(look) {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        const agreed = await agree(state, look);
        if (agreed) return agreed;
      }
      throw new Fault(
        "document_contended",
        "Cannot agree on a generation: other nodes write it all the time",
      );
    },
    confirm: (look, beats) => confirm(state, look, beats),
    watched: (leases) => ({
      ...leases,
      async create(...args) {
        const before = state.own;
        const lease = await leases.create(...args);
        observe(state, before, lease?.revision);
        return lease;
      },
      async hold(...args) {
        const before = state.own;
        const held = await leases.hold(...args);
        observe(state, before, held ?? undefined);
        return held;
      },
      async renewHeld(...args) {
        const before = state.own;
        const renewed = await leases.renewHeld(...args);
        observe(state, before, renewed ?? undefined);
        return renewed;
      },
      async table() {
        const before = state.table;
        const stored = await leases.table();
        observeTable(state, before, stored?.table ?? null);
        return stored;
      },
      async renew(...args) {
        const before = state.own;
        const renewal = await leases.renew(...args);
        observe(state, before, renewal.kind === "renewed" ? renewal.revision : undefined);
        return renewal;
      },
    }),
    isForeign: () => state.isForeign,
  };
}

/** `before`: what was seen before the call that had this revision, which is larger unless the store was rolled back. */
function observe(state: GenerationsState, before: OwnStore | null, revision = Infinity): void {
  const { own } = state;
  if (revision === Infinity || !before || own?.generation !== before.generation) return;
  state.own = {
    ...own,
    revision: Math.max(own.revision, revision),
    wasRolledBack: own.wasRolledBack || revision < before.revision,
  };
}

/** `before`: the newest one at the call that read this table (null: there is none). Leases may be there while their table is lost. */
function observeTable(
  state: GenerationsState,
  before: TableVersion | null,
  table: TableVersion | null,
): void {
  const { own } = state;
  if (table && (!state.table || !isNewerTable(state.table, table)))
    state.table = { generation: table.generation, version: table.version };
  if (own && before?.generation === own.generation && (!table || isNewerTable(before, table)))
    state.own = { ...own, wasRolledBack: true };
}

/** Null: the record was changed, look again. */
async function agree(
  state: GenerationsState,
  look: LookAtStore,
): Promise<{ readonly survey: LeaseSurvey; readonly terms: ClaimTerms | null } | null> {
  const { documents, ttl_ms, partitions } = state;
  const stored = await RECORDS.read(documents, KEY);
  const record = stored?.value;
  if (record) assertPartitions(record, partitions);
  const { own } = state;
  // After the record was read: what was seen before it cannot be larger than what the store has now.
  const survey = await look();
  const { store_id, revision, age_ms } = survey;
  const isOurs = record?.store_id === store_id;
  state.isForeign = record !== undefined && !isOurs && isInUse(state, record);
  if (state.isForeign) return { survey, terms: null };
  if (isOurs && !wasRolledBack(record, own, survey)) {
    const { generation, claims_from_age_ms = generation === 1 ? 0 : ttl_ms } = record;
    // A power cut that took the record would give its epochs out once more.
    if (!isOf(own, store_id, generation)) await documents.synced();
    const before = state.own;
    // Renewals have gone on meanwhile.
    state.own = isOf(before, store_id, generation)
      ? { ...before, revision: Math.max(before.revision, revision) }
      : { store_id, generation, revision, wasRolledBack: false };
    return { survey, terms: age_ms >= claims_from_age_ms ? { store_id, generation, revision } : null };
  }
  const next: ClusterRecord = {
    partitions,
    generation: (record?.generation ?? 0) + 1,
    store_id,
    revision,
    // Before the first store there were no leases; a new one has none of before; one that was rolled back lost them just now.
    claims_from_age_ms: record === undefined ? 0 : isOurs ? age_ms + ttl_ms : ttl_ms,
    beat: 0,
  };
  await RECORDS.put(documents, KEY, next, stored?.version ?? 0);
  return null;
}

const isOf = (own: OwnStore | null, store_id: string, generation: number): own is OwnStore =>
  own?.store_id === store_id && own.generation === generation;

function wasRolledBack(
  record: ClusterRecord,
  own: GenerationsState["own"],
  { store_id, revision }: LeaseSurvey,
): boolean {
  const isSame = isOf(own, store_id, record.generation);
  if (isSame && own.wasRolledBack) return true;
  return revision < Math.max(record.revision ?? 0, isSame ? own.revision : 0);
}

const partitionsOf = ({ partitions = MIN_PARTITIONS }: ClusterRecord): number => partitions;

/** The number of partitions of the cluster that the documents belong to; null: of none yet. Throws Fault. */
export async function partitionsIn(documents: Documents): Promise<number | null> {
  const stored = await RECORDS.read(documents, KEY);
  return stored && partitionsOf(stored.value);
}

/**
 * Divides the keys into another number of partitions, while no node runs and before the bus is emptied. False: no node has run with these
 * documents. Throws Fault.
 */
export async function changePartitions(documents: Documents, partitions: number): Promise<boolean> {
  const stored = await RECORDS.update(
    documents,
    KEY,
    async (record) => record && { value: { ...record, partitions } },
  );
  return stored !== null;
}

/** A node that started while the number was changed claims nothing: it would look for keys where no other node does. */
function assertPartitions(record: ClusterRecord, own: number): void {
  if (partitionsOf(record) !== own)
    throw new Error(
      `Cannot claim partitions: the cluster is divided into ${partitionsOf(record)}, and this node knows ${own}. Start it again`,
    );
}

/** Whether nodes of the record's lease store run, which is not this node's. */
function isInUse(state: GenerationsState, { store_id, beat }: ClusterRecord): boolean {
  if (store_id === undefined || beat === undefined) return false;
  // This node ran with that store, which is gone: its server has lost it.
  if (state.own?.store_id === store_id) return false;
  const now_ms = state.clock.mono();
  const { seen } = state;
  if (seen?.store_id === store_id && seen.beat === beat) return now_ms - seen.since_ms < BEAT_LAPSES_MS;
  state.seen = { store_id, beat, since_ms: now_ms };
  return true;
}

async function confirm(state: GenerationsState, look: LookAtStore, beats: boolean): Promise<void> {
  const { documents, clock } = state;
  const stored = await RECORDS.read(documents, KEY);
  const record = stored?.value;
  if (record?.store_id === undefined) return;
  const { own } = state;
  const survey = await look();
  const { store_id, revision } = survey;
  if (record.store_id !== store_id) {
    // Also for a node that ran with the record's store before: it owns nothing until it has new terms.
    state.isForeign = own?.store_id === store_id || isInUse(state, record);
    return;
  }
  state.isForeign = false;
  if (!beats || wasRolledBack(record, own, survey)) return;
  const { beat = 0 } = record;
  const hasOtherBeaten = state.seen?.store_id === store_id && state.seen.beat !== beat;
  state.seen = { store_id, beat, since_ms: clock.mono() };
  // A single node's beat is enough.
  if (hasOtherBeaten) return;
  if (await RECORDS.put(documents, KEY, { ...record, beat: beat + 1, revision }, stored!.version))
    state.seen = { ...state.seen, beat: beat + 1 };
}

/**
 * Whether nodes of another lease store run with these documents: waits for their beat, when the record names another store.
 * Throws Fault.
 */
export async function isUsedElsewhere(
  documents: Documents,
  clock: Clock,
  look: LookAtStore,
): Promise<boolean> {
  const beatOf = async (): Promise<ClusterRecord | undefined> => (await RECORDS.read(documents, KEY))?.value;
  const { store_id } = await look();
  const first = await beatOf();
  if (first?.store_id === undefined || first.beat === undefined || first.store_id === store_id) return false;
  for (let waited_ms = 0; waited_ms < BEAT_LAPSES_MS; waited_ms += BEAT_MS / 2) {
    await sleep(clock, BEAT_MS / 2);
    const record = await beatOf();
    if (record?.store_id === store_id) return false;
    if (record?.store_id === first.store_id && record.beat !== first.beat) return true;
  }
  return false;
}
