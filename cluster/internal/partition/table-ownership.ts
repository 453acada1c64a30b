/**
 * Which partitions this node owns by the table of assignments: one lease for the node, renewed in a timer of its own, and the table, which the
 * node follows. It opens what the table gives it, returns what the table takes from it, and forgets everything when its lease is lost. One
 * node of all is the assigner and writes the table; any node can be.
 *
 * A partition is owned while the deadline of the lease has not passed and the last table that this node has seen names that lease and epoch. A
 * node that has not seen a newer table does no harm: the partition gets no other owner before this node has returned it or its lease is gone.
 */
import { emptyTable, isSettled, type LeaseView, nextTable, Shares, withoutOwners } from "./assignment.ts";
import { GATHER_MS, MAX_CLAIMS, NEW_CLUSTER_MS, type Ownership, RENEW_MS } from "./ownership.ts";
import {
  deadlineFrom,
  drainInTime,
  extend,
  ignore,
  MARGIN_MS,
  noteLoss,
  type OwnershipDeps,
  type OwnershipState,
  type PartitionHandle,
  type PartitionLease,
} from "./partition-lease.ts";
import { repeatedRounds, ROUND_SOON_MS } from "./rounds.ts";
import { Fault } from "../../ports/fault.ts";
import {
  ASSIGNER,
  type AssignmentTable,
  type ClaimTerms,
  isNewerTable,
  type StoredTable,
} from "../../ports/leases.ts";

/**
 * The assigner renews its lease in each round. A node that has seen no renewal for so long takes its place, before the lease has lapsed: safety does
 * not rest on that lease. A shorter time would change the assigner whenever a call takes long.
 */
const ASSIGNER_SILENT_MS = 1_500;
/** The first table of a generation waits so long for nodes that are present without a lease, which they take in one of their next rounds. */
const FIRST_TABLE_MS = 2 * ROUND_SOON_MS;
/** Rounds in which a node that stops gives away what it has returned; another node may write the table first. */
const MAX_LAST_ROUNDS = 5;

interface HeldLease {
  readonly name: string;
  readonly generation: number;
  revision: number;
  deadline_ms: number;
  isRenewing: boolean;
  /** The last renewal was not answered. */
  isUnheard: boolean;
}

interface OwnedPartition {
  readonly partition: number;
  readonly epoch: number;
  readonly lease: HeldLease;
  isClosing: boolean;
  handle: PartitionHandle | null;
  ready: Promise<void>;
}

interface State extends OwnershipDeps {
  readonly nodeName: string;
  readonly open: (lease: PartitionLease) => Promise<PartitionHandle>;
  readonly owned: Map<number, OwnedPartition>;
  /** Partitions that this node has let go, by the epoch under which it had them, until the table has taken them from it. */
  readonly returned: Map<number, number>;
  readonly shares: Shares;
  /** On the monotonic clock. */
  readonly started_ms: number;
  lease: HeldLease | null;
  leases_held: number;
  /** The revision of the assigner's lease; null: another node holds it. */
  assigner: number | null;
  /** The last renewal of the assigner's lease that was seen, and since when, on the monotonic clock. */
  seenAssigner: { readonly revision: number; readonly since_ms: number };
  table: StoredTable | null;
  isReadingTable: boolean;
  /** There may be a newer one than the one that is being read. */
  isTableStale: boolean;
  /** Monotonic time until which leases of an earlier generation may be believed in. */
  assigns_from_ms: number;
  /** Until then the assigner waits for other nodes; null: it has not assigned yet. */
  gathers_until_ms: number | null;
  /** Partitions that are being opened, and those that wait for their turn. */
  opening: number;
  readonly openWaiters: (() => void)[];
  /** The first table of a generation waits until then for nodes that have no lease yet; null: none is due. */
  first_table_from_ms: number | null;
  isDraining: boolean;
  losses: OwnershipState["losses"];
  /** The text of the lease has changed since its last renewal. */
  isReturning: boolean;
}

const mayOwn = ({ mayOwn: isClockRight, isForeign }: OwnershipDeps): boolean =>
  isClockRight() && !isForeign();

/** Null: nothing may be claimed yet. Throws Fault. */
async function termsOf(state: State): Promise<ClaimTerms | null> {
  const { terms } = await state.claimTerms();
  return state.isForeign() ? null : terms;
}

const generationOf = (name: string): number => Number(/\/(\d+)\.\d+$/.exec(name)?.[1] ?? 0);
const serialOf = (name: string): number => Number(/\/\d+\.(\d+)$/.exec(name)?.[1] ?? -1);
const nodeOf = (name: string): string => name.replace(/\/\d+\.\d+$/, "");

export function tableOwnership(
  nodeName: string,
  deps: OwnershipDeps,
  open: (lease: PartitionLease) => Promise<PartitionHandle>,
): Ownership {
  const { clock, leases, log, partitionCount } = deps;
  const state: State = {
    ...deps,
    nodeName,
    open,
    owned: new Map(),
    returned: new Map(),
    shares: new Shares(partitionCount),
    started_ms: clock.mono(),
    lease: null,
    leases_held: 0,
    assigner: null,
    seenAssigner: { revision: 0, since_ms: -Infinity },
    table: null,
    isReadingTable: false,
    isTableStale: false,
    assigns_from_ms: -Infinity,
    gathers_until_ms: null,
    opening: 0,
    openWaiters: [],
    first_table_from_ms: null,
    isDraining: false,
    losses: null,
    isReturning: false,
  };
  let renewTimer: Disposable | null = null;

  /** Another node has returned partitions by itself, which wait for the assigner. */
  async function onTable(): Promise<void> {
    const before = state.table?.revision;
    await followTable(state);
    if (state.assigner !== null && state.table?.revision !== before) rounds.hurry();
  }
  function renewals(): void {
    void renew(state);
    renewTimer = clock.at(clock.now() + RENEW_MS, renewals);
  }
  const following = leases.onTable(() => void onTable());
  renewals();
  const rounds = repeatedRounds(deps, () => round(state));
  return {
    firstRound: rounds.first,
    partitions: () =>
      [...state.owned.values()]
        .filter(({ isClosing }) => !isClosing)
        .map(({ partition, epoch }) => ({ partition, epoch })),
    relinquish(partition) {
      const owned = state.owned.get(partition);
      if (owned) void giveBack(state, owned);
    },
    async drain(limit_ms) {
      state.isDraining = true;
      const limit = Promise.withResolvers<void>();
      const timer = clock.at(clock.now() + limit_ms, limit.resolve);
      // First of all, so that no other node counts on this one.
      await Promise.race([limit.promise, leases.removePresence(nodeName).catch(ignore)]);
      const count = state.owned.size;
      const returns = [...state.owned.values()].map((owned) => giveBack(state, owned));
      await Promise.race([limit.promise, Promise.all(returns)]);
      rounds.stop();
      await Promise.race([
        limit.promise,
        rounds
          .current()
          .then(() => lastRounds(state))
          .catch(ignore),
      ]);
      timer[Symbol.dispose]();
      following[Symbol.dispose]();
      renewTimer?.[Symbol.dispose]();
      const left = state.owned.size;
      if (count > 0) log.info("Partitions were released", { released: count - left, left });
      const { lease, assigner } = state;
      forgetAll(state);
      if (left > 0) return;
      // Everything was let go: no node need wait until the lease lapses.
      if (lease) await leases.releaseHeld(lease.name, lease.revision).catch(ignore);
      if (assigner !== null) await leases.releaseHeld(ASSIGNER, assigner).catch(ignore);
    },
  };
}

// --- the lease of this node -------------------------------------------------------------------------------------

async function acquire(state: State, terms: ClaimTerms): Promise<void> {
  const { clock, leases, nodeName } = state;
  // Never used again: what the table says of an earlier lease of this node does not hold for this one.
  const name = `${nodeName}/${terms.generation}.${state.leases_held++}`;
  const sent_ms = clock.mono();
  const revision = await leases.hold(name, name, terms);
  if (revision === null) return;
  if (state.isDraining) return leases.releaseHeld(name, revision);
  const deadline_ms = deadlineFrom(state, sent_ms);
  state.lease = {
    name,
    generation: terms.generation,
    revision,
    deadline_ms,
    isRenewing: false,
    isUnheard: false,
  };
}

async function renew(state: State): Promise<void> {
  const { clock, leases, lease, returned } = state;
  if (!lease) return;
  if (clock.mono() > lease.deadline_ms + MARGIN_MS) return lose(state, lease, "its lease ran out");
  if (lease.isRenewing) return;
  lease.isRenewing = true;
  state.isReturning = false;
  try {
    // A node that hears nothing would keep a lease alive in which it does not believe any more.
    if (lease.isUnheard) await leases.look();
    if (state.lease !== lease) return;
    const sent_ms = clock.mono();
    lease.isUnheard = true;
    const revision = await leases.renewHeld(
      lease.name,
      lease.name,
      JSON.stringify([...returned]),
      lease.revision,
    );
    lease.isUnheard = false;
    if (state.lease !== lease) return;
    if (revision === null) return lose(state, lease, "its lease is gone");
    lease.revision = revision;
    extend(state, lease, sent_ms);
  } catch (problem) {
    if (!(problem instanceof Fault)) throw problem;
  } finally {
    lease.isRenewing = false;
    if (state.isReturning && state.lease === lease) void renew(state);
  }
}

function lose(state: State, lease: HeldLease, why: string): void {
  if (state.lease !== lease) return;
  for (const { partition } of state.owned.values()) noteLoss(state, partition, why);
  forgetAll(state);
  // It may count in the store for a while, and nothing is done under it any more.
  void state.leases.releaseHeld(lease.name).catch(ignore);
}

function forgetAll(state: State): void {
  state.lease = null;
  state.returned.clear();
  for (const owned of state.owned.values()) forget(state, owned);
}

// --- the table, as this node follows it -------------------------------------------------------------------------

async function followTable(state: State): Promise<void> {
  state.isTableStale = true;
  if (state.isReadingTable) return;
  state.isReadingTable = true;
  try {
    while (state.isTableStale) {
      state.isTableStale = false;
      const stored = await state.leases.table();
      if (stored) takeTable(state, stored.revision, stored.table);
    }
  } catch (problem) {
    // The next round looks again.
    if (!(problem instanceof Fault)) throw problem;
  } finally {
    state.isReadingTable = false;
  }
}

function takeTable(state: State, revision: number, table: AssignmentTable): void {
  if (state.table && !isNewerTable(table, state.table.table)) return;
  state.table = { revision, table };
  const { lease } = state;
  if (lease && table.generation > lease.generation) {
    lose(state, lease, "its lease store was lost");
    return;
  }
  applyTable(state);
}

function applyTable(state: State): void {
  const { lease, table: seen, owned, returned } = state;
  if (!lease || !seen || seen.table.generation !== lease.generation) return;
  const [taken, leaving]: [number[], number[]] = [[], []];
  for (const [partition, { lease: named, epoch, isLeaving }] of seen.table.assignments.entries()) {
    const isOurs = named === lease.name;
    const own = owned.get(partition);
    if (returned.has(partition) && !(isOurs && returned.get(partition) === epoch)) returned.delete(partition);
    if (own && !(isOurs && own.epoch === epoch)) forget(state, own);
    if (!isOurs || returned.has(partition)) continue;
    const current = owned.get(partition);
    if (isLeaving || state.isDraining || !mayOwn(state)) {
      if (current && !current.isClosing) leaving.push(partition);
      if (current) void giveBack(state, current);
      else giveUp(state, partition, epoch);
    } else if (!current) {
      taken.push(partition);
      take(state, lease, partition, epoch);
    }
  }
  if (leaving.length > 0) state.log.info("Partitions go to other nodes", { partitions: leaving });
  if (taken.length > 0)
    state.log.info("Partitions were taken over", { partitions: taken, owned: owned.size });
}

const isHeld = (state: State, owned: OwnedPartition): boolean =>
  state.lease === owned.lease && state.owned.get(owned.partition) === owned;

function take(state: State, lease: HeldLease, partition: number, epoch: number): void {
  const owned: OwnedPartition = {
    partition,
    epoch,
    lease,
    isClosing: false,
    handle: null,
    ready: Promise.resolve(),
  };
  state.owned.set(partition, owned);
  owned.ready = openPartition(state, owned);
}

async function openPartition(state: State, owned: OwnedPartition): Promise<void> {
  const { clock, log } = state;
  const { partition, epoch, lease } = owned;
  const isCovered = (): boolean => isHeld(state, owned) && clock.mono() < lease.deadline_ms;
  await turnToOpen(state);
  try {
    owned.handle = await state.open({
      partition,
      epoch,
      isValid: () => isCovered() && !owned.isClosing,
      mayStore: isCovered,
      isHeld: () => isHeld(state, owned),
      lose(why) {
        if (!isHeld(state, owned)) return;
        noteLoss(state, partition, why);
        forget(state, owned);
        giveUp(state, partition, epoch);
      },
    });
    if (isHeld(state, owned)) return;
    owned.handle.drop();
    await owned.handle.remove();
  } catch (problem) {
    log.warn("A partition could not be opened", { partition, epoch, problem });
    if (!isHeld(state, owned)) return;
    forget(state, owned);
    giveUp(state, partition, epoch);
  } finally {
    state.opening--;
    state.openWaiters.shift()?.();
  }
}

async function turnToOpen(state: State): Promise<void> {
  if (state.opening >= MAX_CLAIMS) await new Promise<void>((resolve) => state.openWaiters.push(resolve));
  state.opening++;
}

function forget(state: State, owned: OwnedPartition): void {
  if (state.owned.get(owned.partition) === owned) state.owned.delete(owned.partition);
  owned.handle?.drop();
}

/** From now on another node may own it. */
function giveUp(state: State, partition: number, epoch: number): void {
  state.returned.set(partition, epoch);
  sayReturned(state);
}

function sayReturned(state: State): void {
  state.isReturning = true;
  // All that are returned within one turn go with one renewal.
  queueMicrotask(() => {
    if (state.isReturning) void renew(state);
  });
}

async function giveBack(state: State, owned: OwnedPartition): Promise<void> {
  if (owned.isClosing) return;
  owned.isClosing = true;
  await owned.ready;
  if (!isHeld(state, owned)) return;
  const { partition, epoch } = owned;
  const warn = (problem: unknown) =>
    state.log.warn("A partition could not be transferred", { partition, problem });
  await drainInTime(state, owned.handle!).catch(warn);
  if (!isHeld(state, owned)) return;
  forget(state, owned);
  // Before the next await: a table that arrived between would have it opened once more under its epoch.
  state.returned.set(partition, epoch);
  await owned.handle!.remove().catch(warn);
  sayReturned(state);
}

// --- rounds, and the assigner -----------------------------------------------------------------------------------

/** True: something is missing, look again soon. */
async function round(state: State): Promise<boolean> {
  const { leases, isDraining } = state;
  // A read comes first: while this node gets no answers, what it sends may still arrive, and it must not seem present.
  const { table_revision, assigner_revision } = await leases.look();
  // Smaller than before: the store was lost.
  if (table_revision !== (state.table?.revision ?? 0)) await followTable(state);
  if (!isDraining && !(await isPresent(state))) return !state.lease;
  if (!state.lease) return true;
  const hasAssigner = isAssignerSeen(state, assigner_revision);
  if (state.assigner === null && !hasAssigner && !isDraining) await becomeAssigner(state, assigner_revision);
  const isWaiting = await takeBack(state);
  if (state.assigner === null) return isWaiting;
  const isUnsettled = await assign(state, table_revision);
  await renewAssigner(state);
  return isUnsettled;
}

/** Says that this node wants partitions, and takes a lease. False: it wants none, or may not have any yet. */
async function isPresent(state: State): Promise<boolean> {
  const { leases, nodeName } = state;
  if (!mayOwn(state)) {
    await leases.removePresence(nodeName);
    // It returns what it owns.
    applyTable(state);
    return state.lease !== null;
  }
  await leases.announcePresence(nodeName);
  if (state.lease) return true;
  const terms = await termsOf(state);
  if (!terms || state.isDraining) return false;
  await acquire(state, terms);
  return true;
}

/** Partitions that this node has returned while it stops get their next owners before its lease ends. */
async function lastRounds(state: State): Promise<void> {
  for (let n = 0; n < MAX_LAST_ROUNDS && (await round(state)); n++);
}

function isAssignerSeen(state: State, revision: number): boolean {
  const now_ms = state.clock.mono();
  if (state.seenAssigner.revision !== revision) state.seenAssigner = { revision, since_ms: now_ms };
  return revision > 0 && now_ms - state.seenAssigner.since_ms < ASSIGNER_SILENT_MS;
}

async function becomeAssigner(state: State, silent_revision: number): Promise<void> {
  const terms = await termsOf(state);
  // Not when it was renewed meanwhile.
  if (terms && silent_revision > 0) await state.leases.releaseHeld(ASSIGNER, silent_revision);
  const revision = terms && (await state.leases.hold(ASSIGNER, state.nodeName, terms));
  if (revision !== null && !state.isDraining) state.assigner = revision;
}

/** After a round whose reads were answered: an assigner that hears nothing must not keep the others from its place. */
async function renewAssigner(state: State): Promise<void> {
  const { assigner, leases } = state;
  if (assigner !== null)
    state.assigner = await leases.renewHeld(ASSIGNER, state.nodeName, state.nodeName, assigner);
}

/**
 * Partitions that this node has let go although the table did not take them (a reader that was lost, a partition that could not be opened): the table says
 * so from now on, and the assigner gives it to a node again. True: another node wrote the table meanwhile.
 */
async function takeBack(state: State): Promise<boolean> {
  const { leases, lease, returned, table: seen, isDraining } = state;
  const ours = (table: AssignmentTable): readonly number[] =>
    [...returned].flatMap(([partition, epoch]) => {
      const assignment = table.assignments[partition]!;
      return assignment.lease === lease?.name &&
        assignment.epoch === epoch &&
        (!assignment.isLeaving || isDraining)
        ? [partition]
        : [];
    });
  if (!lease || !seen || seen.table.generation !== lease.generation || ours(seen.table).length === 0)
    return false;
  const [terms, stored] = [await termsOf(state), await leases.table()];
  if (!terms || !stored) return true;
  const { table } = stored;
  if (table.generation !== lease.generation) return true;
  const next = withoutOwners(table, new Set(ours(table)));
  const revision = await leases.writeTable(next, stored.revision, terms);
  if (revision !== null) takeTable(state, revision, next);
  return true;
}

/** True: partitions wait for a new owner. */
async function assign(state: State, table_revision: number): Promise<boolean> {
  const { clock, leases, lease } = state;
  // Before the leases: of a table that is read later, one of them could be missing that was taken meanwhile.
  const stored = state.table?.revision === table_revision ? state.table : await leases.table();
  const [held, members] = await Promise.all([leases.heldNames(), leases.members()]);
  const view = await viewOf(state, stored?.table ?? null, held, new Set(members));
  const isCurrent = stored?.table.generation === lease?.generation;
  state.gathers_until_ms ??= await gathersUntil(state, held);
  if (clock.mono() < state.gathers_until_ms) return true;
  let next = isCurrent ? nextTable(stored!.table, view) : null;
  if (isCurrent && !next) return !isSettled(stored!.table);
  const { terms } = await state.claimTerms();
  if (!terms || state.isForeign() || (stored && stored.table.generation > terms.generation)) return true;
  if (terms.generation !== stored?.table.generation) next = await firstTable(state, terms, view);
  if (!next) return true;
  const revision = await leases.writeTable(next, stored?.revision ?? 0, terms);
  if (revision !== null) takeTable(state, revision, next);
  return true;
}

interface CompleteView extends LeaseView {
  /** Whether every node that is present has a lease. */
  readonly isComplete: boolean;
}

async function viewOf(
  state: State,
  table: AssignmentTable | null,
  held: ReadonlySet<string>,
  members: ReadonlySet<string>,
): Promise<CompleteView> {
  const { shares } = state;
  const leaseOf = new Map<string, string>();
  for (const name of held) {
    const node = nodeOf(name);
    if (name === ASSIGNER || !members.has(node)) continue;
    // A node that has lost a lease took a later one.
    if (serialOf(name) > serialOf(leaseOf.get(node) ?? "")) leaseOf.set(node, name);
  }
  shares.setNodes(new Set(leaseOf.keys()));
  const returned = table ? await returnedBy(state, table, held) : null;
  return {
    held,
    isComplete: [...members].every((node) => leaseOf.has(node)),
    wanted: (partition) => leaseOf.get(shares.ownerOf(partition) ?? "") ?? null,
    hasReturned: (lease, partition, epoch) => returned?.get(lease)?.get(partition) === epoch,
  };
}

/** When a whole cluster starts again, its first node would own everything. A node that has just started waits until then for the others. */
async function gathersUntil(state: State, held: ReadonlySet<string>): Promise<number> {
  const isAlone = [...held].every((name) => name === ASSIGNER || name === state.lease?.name);
  if (!isAlone) return -Infinity;
  const { survey, terms } = await state.claimTerms();
  const isNew = terms?.generation === 1 && survey.age_ms < NEW_CLUSTER_MS;
  return isNew ? -Infinity : state.started_ms + GATHER_MS;
}

/** The first table of a generation; null: not yet. A lease of an earlier one may be believed in, though the table that names it is lost. */
async function firstTable(
  state: State,
  { generation }: ClaimTerms,
  view: CompleteView,
): Promise<AssignmentTable | null> {
  const { clock, leases, partitionCount } = state;
  // After the store was lost all nodes take new leases; without waiting the first would be given everything, and hand most of it off.
  state.first_table_from_ms ??= clock.mono() + FIRST_TABLE_MS;
  if (!view.isComplete && clock.mono() < state.first_table_from_ms) return null;
  const earlier = [...view.held].filter((name) => name !== ASSIGNER && generationOf(name) < generation);
  for (const name of earlier) await leases.releaseHeld(name);
  if (earlier.length > 0) state.assigns_from_ms = clock.mono() + leases.ttl_ms;
  if (clock.mono() < state.assigns_from_ms) return null;
  state.first_table_from_ms = null;
  return nextTable(emptyTable(generation, 0, partitionCount), view);
}

/** The partitions that were returned, by the leases of which the table waits for some. */
async function returnedBy(
  { leases }: State,
  { assignments }: AssignmentTable,
  held: ReadonlySet<string>,
): Promise<ReadonlyMap<string, ReadonlyMap<number, number>>> {
  const owners = new Set(assignments.flatMap(({ lease, isLeaving }) => (lease && isLeaving ? [lease] : [])));
  const texts = [...owners]
    .filter((name) => held.has(name))
    .map(async (name) => {
      const text = await leases.textOf(name);
      return [name, new Map(text ? (JSON.parse(text) as [number, number][]) : [])] as const;
    });
  return new Map(await Promise.all(texts));
}
