/**
 * The domain actor: one per registrable domain, asked before every request to one of its hosts.
 *
 * Its state is a Politeness, which is stored, and a queue of callers, which is not; the rules are politeness.ts. A caller
 * that cannot have a slot at once waits, and is answered by a later turn: with a slot when one is due, or with a refusal
 * when the domain closes or the caller's deadline passes. The actor sends no requests itself.
 */
import { randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import { actor, DEFERRED, type ReplyTo, type Turn } from "../../../cluster/actor.ts";
import {
  Domain,
  type DomainView,
  GRANT_TTL_MS,
  type SlotAnswer,
  type SlotRequest,
} from "../../../schemas/domain.ts";
import {
  clear,
  refusalFor,
  setDelay,
  delayFor,
  dueAt,
  expectedOriginWait,
  expectedWait,
  hasSlot,
  isHeldBy,
  mayStoreLater,
  afterNxdomain,
  type PolitenessLimits,
  type Politeness,
  type SlotRefusal,
  refused,
  releaseSlot,
  restore,
  delayFromSend,
  recordSent,
  takeOver,
  grantSlot,
  type Lease,
  leaseOf,
  type SlotGrant,
  withLease,
  storableAt,
  UNTOUCHED,
  medianSendDelay,
  withSendDelay,
  withOriginStart,
  withOutcome,
  withoutSlot,
  deadFor,
  isMissing,
  hostOf,
  openForOrigin,
} from "./politeness.ts";
import type { DomainRecorder } from "./figures.ts";
import { lookForLost, nextLookAt, type Reports, reportsOf, withReport } from "./lost-slots.ts";
import { limitsWith, pauseOf, withSettings } from "./operator-settings.ts";
import { type SkipRequest, skipViews, withProbe } from "./skips.ts";
import { isOpen, originDelayOf } from "./slowed-origins.ts";
import {
  aheadOf,
  emptyLaneQueue,
  enqueue,
  extendDeadline,
  type Lane,
  type LaneQueue,
  type LaneWaiter,
  nextDeadline,
  peekNext,
  sizeOf,
  takeExpired,
  takeIf,
  takeNext,
} from "../../lib/lane-queue.ts";

/**
 * With so many callers waiting the domain is busy, however short the wait. Fewer than the 500 open asks that the runtime
 * allows one actor, so that a caller is told domain_busy and when to come back, instead of a fault.
 */
const MAX_QUEUE = 400;
/** So many of them may wait for origins that are not open yet; the other places are for callers of those that are. */
const MAX_HELD = 200;
/** Grants that wait for others to be stored with them, at most. */
const MAX_GROUPED_GRANTS = 64;
/** Limit for a fetch that asks again and again while it waits. */
const MAX_REPLIES = 8;

/** A caller in the queue; its id is the fetch's. All callers of a lane have one share: they are served as they come. */
interface Waiter extends LaneWaiter, SkipRequest {
  readonly redirected: boolean;
  readonly reports: boolean;
  /** The run that asked last. */
  run_id: string;
  readonly asked_ms: number;
  /** More than one when the same fetch asked again. */
  readonly replies: ReplyTo<SlotAnswer>[];
}

const SHARE = "";
/** A forgotten domain may be taken for unsent when it is activated again: it waits up to 50 s then. */
const MAX_DOMAINS_WITH_SENT = 10_000;

interface State {
  /** Stored: a domain that moves to another node is as polite there. */
  politeness: Politeness;
  /** Stored: the next grant, before its time. Null: it is stored when it is due. */
  ahead: GrantAhead | null;
  /** Not stored: callers whose domain moved to another node ask again. */
  readonly queue: LaneQueue<Waiter>;
  /** Not stored: grants whose request has not been sent. One at most, where there is a delay. */
  readonly unsent: Map<string, { readonly origin: string; readonly granted_ms: number }>;
  /** Not stored: grants among them that leave once their turn is stored. */
  leaving: readonly string[];
  /** Not stored: of slots whose callers report. */
  reports: Reports;
  /** When the last request was sent. Stored with the next grant; a new owner node counts a recent start as made now. */
  sent_ms: number;
}

/**
 * A slot that is stored for the caller whose turn it is, and of which that caller is not told yet: it waits in the queue, and
 * rules and figures do not count the slot.
 */
interface GrantAhead {
  readonly lease: Lease;
  readonly without: Politeness;
  /** The object that is stored, so that a grant that changes nothing else is not stored again. */
  readonly with: Politeness;
}

type DomainTurn = Turn<State, typeof Domain.own>;

/** The requests of this process to all its domains. The record outlives an activation, not the process. */
interface ProcessRecord {
  /** Names this process in the slots it grants. */
  readonly process: string;
  /** The figures that operators see; null: nothing is recorded. */
  readonly recorder: DomainRecorder | null;
  /** By domain, the slots of this process whose request was sent and that are not released. */
  readonly sent: LRUCache<string, ReadonlySet<string>>;
  /** Times from grant to send of the last requests: they depend on this process, not on the site. */
  send_delays: readonly number[];
  send_delay_ms: number;
}

/**
 * `defaults` are the limits of every domain (as configured: 500 ms, 2 at once, LEASE_MS); `overrides` those of single
 * domains, by name.
 */
export function domainActor(
  defaults: PolitenessLimits,
  overrides: Readonly<Record<string, Omit<PolitenessLimits, "lease_ms">>> = {},
  recorder: DomainRecorder | null = null,
) {
  const configuredLimits = (site: string): PolitenessLimits =>
    overrides[site] === undefined ? defaults : { ...defaults, ...overrides[site] };
  const limitsOf = ({ key, state }: DomainTurn): PolitenessLimits =>
    limitsWith(configuredLimits(key), state.politeness.operator);
  const record: ProcessRecord = {
    process: randomBytes(6).toString("base64url"),
    recorder,
    sent: new LRUCache({ max: MAX_DOMAINS_WITH_SENT }),
    send_delays: [],
    send_delay_ms: 0,
  };
  const { process } = record;

  return actor(Domain)<State, Politeness>({
    persist: ({ politeness, ahead }) => (ahead ? withAhead(politeness, ahead) : politeness),
    mayStoreLater,
    activate(snapshot, { key, now_ms }) {
      const politeness = snapshot
        ? restore(snapshot, limitsWith(configuredLimits(key), snapshot.operator), now_ms, process)
        : UNTOUCHED;
      const sent = record.sent.get(key);
      const unsent = politeness.leases.filter((lease) =>
        lease.process === process ? !sent?.has(lease.fetch_id) : lease.redirected === "unsent",
      );
      // A grant that was stored ahead of its time is not told again: the delay may not have passed, so it counts from now.
      const sent_ms = unsent.some(({ ahead }) => ahead) ? now_ms : 0;
      const grants = unsent.map(
        ({ fetch_id, origin }) => [fetch_id, { origin, granted_ms: now_ms }] as const,
      );
      return activated(politeness, new Map(grants), sent_ms);
    },
    passivate_after_ms: 10 * 60_000,
    on: {
      acquire: (turn, request) => acquire(turn, limitsOf(turn), record, request),

      recordSent(turn, slot) {
        const { fetch_id, origin } = slot;
        countFromDeparture(turn);
        const { leases } = turn.state.politeness;
        // The delay counts from every request, also from that of an earlier run of the fetch.
        countSent(turn.state, origin, turn.now_ms);
        turn.state.unsent.delete(outlived(fetch_id, slot.run_id));
        if (hasSlot(turn.state.politeness, fetch_id, turn.now_ms) && !isHeldBy(turn.state.politeness, slot))
          return;
        const isOurs = leases.some((lease) => lease.fetch_id === fetch_id && lease.process === process);
        const granted = turn.state.unsent.get(fetch_id);
        if (isOurs && granted !== undefined) {
          record.send_delays = withSendDelay(record.send_delays, turn.now_ms - granted.granted_ms);
          record.send_delay_ms = medianSendDelay(record.send_delays);
        }
        turn.state.unsent.delete(fetch_id);
        if (isOurs) rememberSent(record, turn, fetch_id);
        turn.state.politeness = recordSent(turn.state.politeness, fetch_id);
        grantDueSlots(turn, limitsOf(turn), record);
      },

      continues(turn, slot) {
        const { now_ms, state } = turn;
        if (!isHeldBy(state.politeness, slot)) return;
        state.reports = withReport(state.reports, slot.fetch_id, now_ms);
        grantDueSlots(turn, limitsOf(turn), record);
      },

      release(turn, message) {
        const { now_ms, state } = turn;
        const limits = limitsOf(turn);
        const { fetch_id, run_id, origin } = message;
        const opened_ms = openForOrigin(state.politeness, origin, now_ms);
        // Its caller waits no more: it timed out, or was told that the domain moves. A grant to it would not be released.
        const isWaiter = (waiter: Waiter): boolean => waiter.id === fetch_id && waiter.run_id === run_id;
        refuse(turn, takeIf(state.queue, isWaiter), refused("domain_busy", RETRY_MS));
        // A request that was never reported as sent counts from its answer.
        const isHeld = isHeldBy(state.politeness, message);
        const wasUnsent = state.unsent.delete(isHeld ? fetch_id : outlived(fetch_id, run_id));
        if (wasUnsent && message.status !== null) countSent(state, origin, now_ms);
        const lease = state.politeness.leases.find((held) => held.fetch_id === message.fetch_id);
        if (lease && isHeldBy(state.politeness, message))
          recorder?.onRelease(turn.key, now_ms, {
            slot_ms: Math.max(0, now_ms - lease.started_ms),
            status: message.status,
          });
        state.politeness = releaseSlot(state.politeness, limits, now_ms, message, state.sent_ms);
        const opens_ms = openForOrigin(state.politeness, origin, now_ms);
        if (opens_ms > opened_ms) {
          // It opens after the deadline of these callers.
          const opensAt = (waiter: Waiter): number => openForOrigin(state.politeness, waiter.origin, now_ms);
          for (const waiter of takeIf(state.queue, (each) => each.deadline_ms < opensAt(each)))
            refuse(turn, [waiter], refused("domain_busy", opensAt(waiter) - now_ms));
        }
        grantDueSlots(turn, limits, record);
      },

      recordOutcome(turn, outcome) {
        const next = withOutcome(turn.state.politeness, outcome, turn.now_ms);
        if (next === turn.state.politeness) return;
        turn.state.politeness = next;
        refuseSkipped(turn);
        grantDueSlots(turn, limitsOf(turn), record);
      },

      reportNxdomain(turn, { fetch_id, host, networks }) {
        const { now_ms, state } = turn;
        state.politeness = afterNxdomain(state.politeness, now_ms, { fetch_id, host, networks });
        const refusal = deadFor(state.politeness, { host, networks }, now_ms);
        if (refusal === null) return { dead: false };
        refuse(
          turn,
          takeIf(state.queue, (waiter) =>
            isMissing({ host, networks }, hostOf(waiter.origin), waiter.networks),
          ),
          refusal,
        );
        return { dead: true };
      },

      setCrawlDelay(turn, crawl_delay) {
        const { politeness, sent_ms } = turn.state;
        turn.state.politeness = setDelay(politeness, turn.now_ms, crawl_delay, sent_ms);
        grantDueSlots(turn, limitsOf(turn), record);
      },

      view: (turn) => view(turn, limitsOf(turn)),

      clear(turn) {
        turn.state.politeness = clear(turn.state.politeness);
        return view(turn, limitsOf(turn));
      },

      configure(turn, change) {
        const { operator: former, ...politeness } = turn.state.politeness;
        const operator = withSettings(former, change);
        turn.state.politeness = operator === undefined ? politeness : { ...politeness, operator };
        refuseSkipped(turn);
        grantDueSlots(turn, limitsOf(turn), record);
        return view(turn, limitsOf(turn));
      },

      tick(turn) {
        freeLostSlots(turn);
        grantDueSlots(turn, limitsOf(turn), record);
      },
    },
  });
}

const activated = (politeness: Politeness, unsent: State["unsent"], sent_ms: number): State => ({
  politeness,
  ahead: null,
  queue: emptyLaneQueue(),
  unsent,
  leaving: [],
  reports: new Map(),
  sent_ms,
});

/** Answers at once with a slot or a refusal, or lets the caller wait in the queue. */
function acquire(
  turn: DomainTurn,
  limits: PolitenessLimits,
  record: ProcessRecord,
  request: SlotRequest,
): SlotAnswer | typeof DEFERRED {
  const { fetch_id, run_id, origin, caller, networks, lane, wait_max_ms } = request;
  const { redirected = false, reports = false } = request;
  const { now_ms } = turn;
  const { queue, unsent } = turn.state;
  forgetEndedRuns(turn, record, request);
  const politeness = probing(turn.state.politeness, request, now_ms);
  const existing = queue.byId.get(fetch_id);
  const holder = politeness.leases.find((lease) => lease.fetch_id === fetch_id)?.run_id;
  const latest = existing?.run_id ?? holder;
  // Its place belongs to a later run of the fetch: a grant to both would be two requests.
  if (latest !== undefined && isEarlierRun(run_id, latest)) return refused("domain_busy", RETRY_MS);
  // An earlier run may have sent its request although the slot was a later run's already: the delay counts from there.
  const isUnsent = (unsent.get(fetch_id)?.granted_ms ?? -Infinity) > turn.state.sent_ms;
  if (isUnsent && holder === run_id && hasSlot(politeness, fetch_id, now_ms)) {
    turn.state.politeness = takeOver(politeness, limits, now_ms, request);
    // The caller counts the validity of its grant from this ask, and so does the domain: from when the answer leaves.
    unsent.set(fetch_id, { origin, granted_ms: now_ms });
    turn.state.leaving = [...turn.state.leaving, fetch_id];
    if (reports) turn.state.reports = withReport(turn.state.reports, fetch_id, now_ms);
    return { kind: "granted", waited_ms: 0 };
  }
  // The fetch began again. It keeps its slot, but waits for the delay after what its earlier run may have sent.
  if (holder !== undefined && holder !== run_id) outlive(turn, fetch_id, holder, run_id);
  const urgent = hasSlot(politeness, fetch_id, now_ms);
  const refusal = refusalFor(politeness, request, now_ms);
  if (refusal) return refusal;

  const counted = urgent ? withoutSlot(politeness, fetch_id) : politeness;
  const wait = { origin, lane, urgent };
  const expected_ms = expectedTurn({ ...turn.state, politeness: counted }, limits, record, now_ms, wait);
  if (
    existing
      ? existing.replies.length >= MAX_REPLIES
      : isFullFor(turn.state, origin, now_ms) || expected_ms > wait_max_ms
  ) {
    return refused("domain_busy", expected_ms);
  }

  const deadline_ms = now_ms + wait_max_ms;
  const reply = turn.deferReply<SlotAnswer>();
  if (existing) {
    if (existing.run_id !== run_id) {
      for (const earlier of existing.replies.splice(0))
        turn.answer(earlier, refused("domain_busy", RETRY_MS));
      existing.run_id = run_id;
    }
    existing.replies.push(reply);
    extendDeadline(queue, existing, deadline_ms);
  } else {
    const id = fetch_id;
    const times = { asked_ms: now_ms, deadline_ms };
    const target = {
      origin,
      ...(caller && { caller }),
      ...(networks && { networks }),
      redirected,
      reports,
    };
    enqueue(queue, { id, run_id, ...target, lane, share: SHARE, ...times, replies: [reply] }, { urgent });
  }
  turn.state.politeness = counted;
  if (urgent) unsent.delete(fetch_id);
  // Where several may be granted at once, those that wait in the mailbox are stored with this one. The tick is for a mailbox whose
  // messages grant nothing.
  const isGrouped =
    turn.queued > 0 && limits.min_delay_ms === 0 && !urgent && sizeOf(queue) < MAX_GROUPED_GRANTS;
  if (isGrouped) turn.setTimer(now_ms, "tick", null);
  else grantDueSlots(turn, limits, record);
  return DEFERRED;
}

/** Whether the queue has no place for a caller of this origin. */
function isFullFor({ queue, politeness }: State, origin: string, now_ms: number): boolean {
  if (sizeOf(queue) >= MAX_QUEUE) return true;
  const isHeld = (of: string): boolean => openForOrigin(politeness, of, now_ms) > now_ms;
  if (sizeOf(queue) < MAX_HELD || !isHeld(origin)) return false;
  return [...queue.byId.values()].filter((waiter) => isHeld(waiter.origin)).length >= MAX_HELD;
}

/**
 * How long a caller that joins now must expect to wait. Callers of other origins that are not open yet do not count: this caller goes
 * before them.
 */
function expectedTurn(
  { politeness, queue }: State,
  limits: PolitenessLimits,
  { send_delay_ms }: ProcessRecord,
  now_ms: number,
  { origin, lane, urgent }: { readonly origin: string; readonly lane: Lane; readonly urgent: boolean },
): number {
  const isSame = (waiter: Waiter): boolean => waiter.origin === origin;
  const isAhead =
    politeness.slowed.length === 0
      ? undefined
      : (waiter: Waiter): boolean =>
          isSame(waiter) || openForOrigin(politeness, waiter.origin, now_ms) <= now_ms;
  const ahead = urgent ? queue.urgent.size : aheadOf(queue, lane, SHARE, isAhead);
  const domain_ms = expectedWait(politeness, limits, now_ms, ahead, send_delay_ms);
  if (isAhead === undefined) return domain_ms;
  const same = urgent ? queue.urgent.size : aheadOf(queue, lane, SHARE, isSame);
  return Math.max(domain_ms, expectedOriginWait(politeness, now_ms, { origin, ahead: same }));
}

/** A request to this origin was sent, or may have been: both delays count from there. */
function countSent(state: State, origin: string, at_ms: number): void {
  state.sent_ms = Math.max(state.sent_ms, at_ms);
  state.politeness = withOriginStart(state.politeness, origin, at_ms);
}

/**
 * The domain was this process's before, then another node's: the runs of that time were aborted with its ownership, and may have
 * sent their requests until now. Their slots would count for a whole lease, and their grants until they are void.
 */
function forgetEndedRuns(turn: DomainTurn, { process }: ProcessRecord, request: SlotRequest): void {
  const { state, now_ms } = turn;
  const { fetch_id, run_id, redirected = false } = request;
  // The epochs of another site say nothing of this one.
  if (redirected) return;
  const ended = state.politeness.leases.filter(
    (lease) =>
      lease.process === process &&
      lease.redirected === undefined &&
      lease.fetch_id !== fetch_id &&
      epochOf(lease.run_id) < epochOf(run_id),
  );
  for (const lease of ended) {
    if (state.unsent.delete(lease.fetch_id)) countSent(state, lease.origin, now_ms);
    state.politeness = withoutSlot(state.politeness, lease.fetch_id);
  }
}

/**
 * An earlier run of a fetch has a grant that it has not reported as sent. Under an older epoch it cannot send any more, but
 * may have sent until now. Under the same epoch its node may still send, and will report it.
 */
function outlive({ state, now_ms }: DomainTurn, fetch_id: string, earlier: string, run_id: string): void {
  const granted = state.unsent.get(fetch_id);
  if (granted === undefined) return;
  state.unsent.delete(fetch_id);
  if (epochOf(earlier) === epochOf(run_id)) state.unsent.set(outlived(fetch_id, earlier), granted);
  else countSent(state, granted.origin, now_ms);
}

/** The key in `unsent` of a grant to an earlier run of a fetch. */
const outlived = (fetch_id: string, run_id: string): string => `${fetch_id} ${run_id}`;

const epochOf = (run_id: string): number => Number(run_id.split(".")[0]);

/** When a caller may ask again whose place a later run of its fetch has. */
const RETRY_MS = 1_000;

/** Run ids are `<epoch>.<Unix milliseconds>`: epochs only grow, and within one the later run began later. */
function isEarlierRun(run_id: string, than: string): boolean {
  const [epoch, began_ms] = run_id.split(".").map(Number);
  const [than_epoch, than_ms] = than.split(".").map(Number);
  return epoch === than_epoch ? began_ms! < than_ms! : epoch! < than_epoch!;
}

/** The request may be the one that tests whether a skipped origin answers again. */
function probing(politeness: Politeness, request: SlotRequest, now_ms: number): Politeness {
  const closures = withProbe(politeness.closures, request, now_ms);
  return closures === politeness.closures ? politeness : { ...politeness, closures };
}

/** Refuses the waiting callers whose origin is skipped for them now. */
function refuseSkipped(turn: DomainTurn): void {
  const { queue, politeness } = turn.state;
  const isSkipped = (waiter: Waiter): boolean => refusalFor(politeness, waiter, turn.now_ms) !== null;
  for (const waiter of takeIf(queue, isSkipped))
    refuse(turn, [waiter], refusalFor(politeness, waiter, turn.now_ms)!);
}

/** Only after a tick: what waited in the mailbox before it, such as reports while the store was away, has been read. */
function freeLostSlots({ state, now_ms }: DomainTurn): void {
  const { reports, lost } = lookForLost(state.reports, now_ms);
  state.reports = reports;
  for (const fetch_id of lost) state.politeness = withoutSlot(state.politeness, fetch_id);
}

/** Answers every caller that can be answered now, and sets the timer for the next. */
function grantDueSlots(turn: DomainTurn, limits: PolitenessLimits, record: ProcessRecord): void {
  const next_ms = grantDue(turn, limits, record);
  const { leases, operator, slowed } = turn.state.politeness;
  turn.state.reports = reportsOf(turn.state.reports, leases);
  const tick_ms = Math.min(next_ms, nextLookAt(turn.state.reports));
  if (tick_ms < Infinity) turn.setTimer(tick_ms, "tick", null);
  record.recorder?.onQueue(turn.key, turn.now_ms, {
    waiting: sizeOf(turn.state.queue),
    in_flight: leases.length,
    isPaused: pauseOf(operator, turn.now_ms) > 0,
    slowed: slowed.filter((one) => !isOpen(one, turn.now_ms)).map(({ origin }) => origin),
  });
}

/** Returns when the next caller can be answered; Infinity: none waits. */
function grantDue(turn: DomainTurn, limits: PolitenessLimits, record: ProcessRecord): number {
  const { state, now_ms } = turn;
  const { queue } = state;
  countFromDeparture(turn);
  if (sizeOf(queue) === 0) {
    state.ahead = null;
    return Infinity;
  }
  // A caller whose deadline has passed would not use its slot; a caller whose deadline is now still may.
  refuseExpired(turn, limits, record, now_ms - 1);
  let next = nextTurn(state, limits, now_ms);
  for (; next !== null && next.due_ms <= now_ms; next = nextTurn(state, limits, now_ms)) {
    takeNext(queue, next.isReady);
    grant(turn, limits, record, next.waiter);
  }
  refuseExpired(turn, limits, record, now_ms);
  if (sizeOf(queue) === 0) {
    state.ahead = null;
    return Infinity;
  }
  next = nextTurn(state, limits, now_ms)!;
  const { due_ms, waiter } = next;
  const stores_ms = storableAt(state.politeness, limits, now_ms, due_ms);
  state.ahead = stores_ms <= now_ms ? grantAhead(state, limits, record, waiter, due_ms) : null;
  const wakes_ms = now_ms < stores_ms ? Math.min(stores_ms, due_ms) : due_ms;
  return Math.min(wakes_ms, nextDeadline(queue));
}

interface NextTurn {
  readonly waiter: Waiter;
  readonly due_ms: number;
  /** Whether the origin of a caller is open by then. */
  readonly isReady: ((waiter: Waiter) => boolean) | undefined;
}

/**
 * Whose turn is next, and when: of the callers whose origins are open first, the one at the head of its lane. So an origin that asked
 * for a pause or a longer delay holds up its own callers only. Null: no caller waits.
 */
function nextTurn(state: State, limits: PolitenessLimits, now_ms: number): NextTurn | null {
  const { queue } = state;
  if (sizeOf(queue) === 0) return null;
  const domain_ms = nextGrantAt(state, limits, now_ms);
  if (state.politeness.slowed.length === 0) {
    return { waiter: peekNext(queue)!, due_ms: domain_ms, isReady: undefined };
  }
  const opens = new Map<string, number>();
  for (const { origin } of queue.byId.values())
    if (!opens.has(origin)) opens.set(origin, originGrantAt(state, limits, origin, now_ms));
  const due_ms = Math.max(domain_ms, Math.min(...opens.values()));
  const isReady = ({ origin }: Waiter): boolean => opens.get(origin)! <= due_ms;
  return { waiter: peekNext(queue, isReady)!, due_ms, isReady };
}

/** From when on the origin may be asked: each request to it that was granted is sent or void, and its own delay has passed. */
function originGrantAt(
  { politeness, unsent }: State,
  limits: PolitenessLimits,
  origin: string,
  now_ms: number,
): number {
  const open_ms = openForOrigin(politeness, origin, now_ms);
  const delay_ms = delayFor(politeness, limits, origin, now_ms);
  if (open_ms === 0 || delay_ms === limits.min_delay_ms) return open_ms;
  const granted = [...unsent.values()].filter((each) => each.origin === origin);
  return Math.max(open_ms, ...granted.map(({ granted_ms }) => granted_ms + GRANT_TTL_MS + delay_ms));
}

/** Tells a caller that its request may be sent. Its slot is stored already, or with this turn. */
function grant(turn: DomainTurn, limits: PolitenessLimits, record: ProcessRecord, waiter: Waiter): void {
  const { state, now_ms } = turn;
  const { ahead, politeness } = state;
  const isStored = ahead !== null && isLeaseOf(ahead.lease, waiter) && ahead.lease.started_ms <= now_ms;
  state.politeness = isStored
    ? withAhead(politeness, ahead)
    : grantSlot(politeness, limits, now_ms, grantOf(waiter, record));
  state.ahead = null;
  state.unsent.set(waiter.id, { origin: waiter.origin, granted_ms: now_ms });
  state.leaving = [...state.leaving, waiter.id];
  if (waiter.reports) state.reports = withReport(state.reports, waiter.id, now_ms);
  for (const reply of waiter.replies)
    turn.answer(reply, { kind: "granted", waited_ms: Math.floor(now_ms - waiter.asked_ms) });
}

const withAhead = (politeness: Politeness, ahead: GrantAhead): Politeness =>
  politeness === ahead.without ? ahead.with : withLease(politeness, ahead.lease);

/**
 * The grant that is due at `due_ms`, to be stored now; null: it is stored when it is due. A redirect's is: its node asks again when
 * this one dies, and is told at once of the slot that is stored for it.
 */
function grantAhead(
  { politeness, ahead }: State,
  limits: PolitenessLimits,
  record: ProcessRecord,
  waiter: Waiter,
  due_ms: number,
): GrantAhead | null {
  if (waiter.redirected || waiter.deadline_ms < due_ms) return null;
  if (ahead?.lease.started_ms === due_ms && isLeaseOf(ahead.lease, waiter)) return ahead;
  const lease = leaseOf(limits, due_ms, { ...grantOf(waiter, record), ahead: true });
  return { lease, without: politeness, with: withLease(politeness, lease) };
}

const grantOf = (
  { id, run_id, origin, redirected, networks }: Waiter,
  { process }: ProcessRecord,
): SlotGrant => ({
  fetch_id: id,
  run_id,
  origin,
  process,
  ...(redirected && { redirected: "unsent" }),
  ...(networks && { networks }),
});

const isLeaseOf = ({ fetch_id, run_id }: Lease, waiter: Waiter): boolean =>
  fetch_id === waiter.id && run_id === waiter.run_id;

/** Forgets slots of the domain that are released or have lapsed. */
function rememberSent({ sent }: ProcessRecord, { key, state }: DomainTurn, fetch_id: string): void {
  const held = state.politeness.leases.map((lease) => lease.fetch_id);
  sent.set(key, new Set(held.filter((id) => id === fetch_id || sent.get(key)?.has(id))));
}

/** The caller has a grant, and its time to use it, from when the grant left: storing it may have taken long. */
function countFromDeparture({ state, last_flush_ms }: DomainTurn): void {
  for (const fetch_id of state.leaving) {
    const granted = state.unsent.get(fetch_id);
    if (granted) state.unsent.set(fetch_id, { ...granted, granted_ms: last_flush_ms });
  }
  state.leaving = [];
}

function refuseExpired(
  turn: DomainTurn,
  limits: PolitenessLimits,
  record: ProcessRecord,
  at_ms: number,
): void {
  const { state, now_ms } = turn;
  const expired = takeExpired(state.queue, at_ms);
  if (expired.length === 0) return;
  const ahead = sizeOf(state.queue);
  const domain_ms = expectedWait(state.politeness, limits, now_ms, ahead, record.send_delay_ms);
  for (const waiter of expired) {
    const origin_ms = openForOrigin(state.politeness, waiter.origin, now_ms) - now_ms;
    refuse(turn, [waiter], refused("politeness_timeout", Math.max(domain_ms, origin_ms)));
  }
}

/** The earliest time of the next grant: each granted request is sent or void, the delay has passed, a slot is free. */
function nextGrantAt(state: State, limits: PolitenessLimits, now_ms: number): number {
  const { unsent } = state;
  for (const [fetch_id, { origin, granted_ms }] of unsent) {
    const void_ms = granted_ms + GRANT_TTL_MS;
    if (now_ms < void_ms) continue;
    unsent.delete(fetch_id);
    // It may have been sent at the last moment, by a node whose report did not arrive.
    countSent(state, origin, void_ms);
  }
  const due_ms = dueAt(delayFromSend(state.politeness, state.sent_ms), limits, now_ms);
  const { min_delay_ms } = limits;
  if (unsent.size === 0 || min_delay_ms === 0) return due_ms;
  const last_ms = Math.max(...[...unsent.values()].map(({ granted_ms }) => granted_ms));
  return Math.max(due_ms, last_ms + GRANT_TTL_MS + min_delay_ms);
}

function refuse(turn: DomainTurn, waiters: readonly Waiter[], refusal: SlotRefusal): void {
  for (const { replies } of waiters) for (const reply of replies) turn.answer(reply, refusal);
}

function view({ key, now_ms, state }: DomainTurn, limits: PolitenessLimits): DomainView {
  const { politeness, queue } = state;
  const text = (until_ms: number) => (until_ms > now_ms ? new Date(until_ms).toISOString() : null);
  return {
    domain: key,
    min_delay_ms: limits.min_delay_ms,
    max_concurrency: limits.max_concurrency,
    in_flight: politeness.leases.filter((lease) => lease.lapses_ms > now_ms).length,
    waiting: sizeOf(queue),
    skips: skipViews(politeness, now_ms),
    slowed: politeness.slowed
      .filter((one) => !isOpen(one, now_ms))
      .map((one) => ({
        origin: one.origin,
        delay_ms: originDelayOf(one, now_ms),
        paused_until: text(one.paused_until_ms),
      })),
    dead_hosts: politeness.nxdomains.flatMap(({ host, dead_until_ms }) => {
      const until = text(dead_until_ms);
      return until ? [{ host, until }] : [];
    }),
    operator: politeness.operator
      ? {
          min_delay_ms: politeness.operator.min_delay_ms,
          max_concurrency: politeness.operator.max_concurrency,
          paused_until: text(politeness.operator.paused_until_ms ?? 0),
        }
      : null,
  };
}
