/**
 * The domain actor: one per registrable domain, asked before every request to one of its hosts.
 *
 * It keeps a Politeness and remembers a queue of callers; every rule is in politeness.ts. A caller who cannot start at
 * once is parked, and `serve` answers: a slot when one is due, or a refusal when the domain closes or the caller's
 * patience runs out. It never fetches, and it answers everyone.
 */
import { actor, DEFERRED, type ReplyTo, type Turn } from "../../cluster/actor.ts";
import { Domain, type DomainView, type SlotAnswer, GRANT_TTL_MS } from "../../schemas/domain.ts";
import {
  aheadOf,
  clear,
  refusalFor,
  setDelay,
  dueAt,
  expectedWait,
  delayOf,
  hasSlot,
  afterNxdomain,
  type PolitenessLimits,
  type Politeness,
  type SlotRefusal,
  refused,
  releaseSlot,
  restore,
  delayFromSend,
  recordOutcome,
  skipRefusal,
  grantSlot,
  UNTOUCHED,
  medianSendDelay,
  withSendDelay,
  withoutSlot,
} from "./politeness.ts";
import {
  type Waiter,
  emptyQueue,
  nextDeadline,
  join,
  joinAgain,
  type Queue,
  takeIf,
  takeExpired,
  takeNext,
  waiting,
} from "./queue.ts";

/**
 * Beyond so many waiting callers a domain is busy, whatever they expect. Fewer than the runtime's 500 open questions of
 * one actor, so that a caller hears domain_busy and when to come back, and not of a fault.
 */
const MAX_QUEUE = 400;
/** A fetch that asks again and again while it waits. */
const MAX_REPLIES = 8;

type Reply = ReplyTo<SlotAnswer>;

interface State {
  /** Kept: a domain that moves to another node is as polite there as it was here. */
  politeness: Politeness;
  /** Not kept: callers whose domain moved ask again. */
  readonly queue: Queue<Reply>;
  /** Not kept: grants whose request has not left yet, and when they were given. While there is a gap, one at most. */
  readonly unsent: Map<string, number>;
  /** Not kept before the next grant: when the last request left. Whoever takes over counts a recent start as made then. */
  sent_ms: number;
}

type DomainTurn = Turn<State, typeof Domain.operations>;

/**
 * `sites` gives single domains a pace of their own (the profile site's). Defaults of the pace: 500 ms, 2 slots
 * (3-decisions.md, Running it) and LEASE_MS.
 */
export function domainActor(
  defaults: PolitenessLimits,
  overrides: Readonly<Record<string, Omit<PolitenessLimits, "lease_ms">>> = {},
) {
  const limitsOf = (site: string): PolitenessLimits => ({ ...defaults, ...overrides[site] });
  /**
   * Slots this process has granted and not had back, and whether their request has left: they outlive an activation,
   * the process's death they do not.
   */
  const granted = new Map<string, "unsent" | "sent">();
  /** How long the last few took from grant to leaving, of all sites: what that takes is this process's affair. */
  let send_delays: readonly number[] = [];
  let send_delay_ms = 0;

  return actor(Domain)<State, Politeness>({
    persist: (state) => state.politeness,
    activate(snapshot, { key, now_ms }) {
      const politeness = snapshot
        ? restore(snapshot, limitsOf(key), now_ms, (fetch_id) => granted.has(fetch_id))
        : UNTOUCHED;
      const unsent = politeness.leases
        .filter(({ fetch_id }) => granted.get(fetch_id) === "unsent")
        .map(({ fetch_id }) => [fetch_id, now_ms] as const);
      return { politeness, queue: emptyQueue(), unsent: new Map(unsent), sent_ms: 0 };
    },
    passivate_after_ms: 10 * 60_000,
    on: {
      acquire(turn, { fetch_id, host, lane, wait_max_ms }) {
        const { now_ms } = turn;
        const { politeness, queue, unsent } = turn.state;
        const limits = limitsOf(turn.key);
        if (unsent.has(fetch_id) && hasSlot(politeness, fetch_id, now_ms))
          return { kind: "granted", waited_ms: 0 };
        // Its request left, and it wants another: begun anew elsewhere. The slot is its own, the gap is not.
        const place = hasSlot(politeness, fetch_id, now_ms) ? "again" : lane;
        const refusal = refusalFor(politeness, host, now_ms);
        if (refusal) return refusal;

        const existing = queue.byId.get(fetch_id);
        const isFull = queue.byId.size >= MAX_QUEUE;
        const callers_ahead = place === "again" ? queue.again.size : aheadOf(lane, waiting(queue));
        const counted = place === "again" ? withoutSlot(politeness, fetch_id) : politeness;
        const expected_ms = expectedWait(counted, limits, now_ms, callers_ahead, send_delay_ms);
        if (existing ? existing.replies.length >= MAX_REPLIES : isFull || expected_ms > wait_max_ms) {
          return refused("domain_busy", expected_ms);
        }

        const deadline_ms = now_ms + wait_max_ms;
        const reply = turn.deferReply<SlotAnswer>();
        if (existing) joinAgain(queue, existing, reply, deadline_ms);
        else join(queue, { fetch_id, host, lane, asked_ms: now_ms, deadline_ms, replies: [reply] }, place);
        turn.state.politeness = counted;
        grantDueSlots(turn, limits);
        return DEFERRED;
      },

      recordSent(turn, { fetch_id }) {
        const granted_ms = turn.state.unsent.get(fetch_id);
        if (granted_ms !== undefined) {
          send_delays = withSendDelay(send_delays, turn.now_ms - granted_ms);
          send_delay_ms = medianSendDelay(send_delays);
        }
        turn.state.unsent.delete(fetch_id);
        if (granted.has(fetch_id)) granted.set(fetch_id, "sent");
        turn.state.sent_ms = turn.now_ms;
        grantDueSlots(turn, limitsOf(turn.key));
      },

      release(turn, message) {
        const { now_ms, state } = turn;
        const limits = limitsOf(turn.key);
        const { paused_until_ms } = state.politeness;
        // Who says nothing when it leaves is counted when it has come back.
        if (state.unsent.delete(message.fetch_id) && message.status !== null) state.sent_ms = now_ms;
        state.politeness = releaseSlot(state.politeness, limits, now_ms, message);
        granted.delete(message.fetch_id);
        const { paused_until_ms: until_ms } = state.politeness;
        if (until_ms > paused_until_ms) {
          // Certain by now: their wait cannot end in time.
          const refusal = refused("domain_busy", until_ms - now_ms);
          refuse(
            turn,
            takeIf(state.queue, (waiter) => waiter.deadline_ms < until_ms),
            refusal,
          );
        }
        grantDueSlots(turn, limits);
      },

      recordOutcome(turn, outcome) {
        turn.state.politeness = recordOutcome(turn.state.politeness, turn.now_ms, outcome);
        grantDueSlots(turn, limitsOf(turn.key));
      },

      reportNxdomain(turn, { fetch_id, host }) {
        const { now_ms, state } = turn;
        state.politeness = afterNxdomain(state.politeness, now_ms, { fetch_id, host });
        const refusal = refusalFor(state.politeness, host, now_ms);
        if (refusal?.error !== "domain_dead") return { dead: false };
        refuse(
          turn,
          takeIf(state.queue, (waiter) => waiter.host === host),
          refusal,
        );
        return { dead: true };
      },

      setCrawlDelay(turn, crawl_delay) {
        turn.state.politeness = setDelay(turn.state.politeness, turn.now_ms, crawl_delay);
        grantDueSlots(turn, limitsOf(turn.key));
      },

      view: (turn) => view(turn, limitsOf(turn.key)),

      clear(turn) {
        turn.state.politeness = clear(turn.state.politeness);
        return view(turn, limitsOf(turn.key));
      },

      tick: (turn) => grantDueSlots(turn, limitsOf(turn.key)),
    },
  });

  /** Answers everyone who can be answered now, then sleeps until the next one can. */
  function grantDueSlots(turn: DomainTurn, limits: PolitenessLimits): void {
    const { state, now_ms } = turn;
    const { queue } = state;
    if (queue.byId.size === 0) return;
    const refusal = skipRefusal(state.politeness, now_ms);
    if (refusal) {
      refuse(
        turn,
        takeIf(queue, () => true),
        refusal,
      );
      return;
    }

    // Whoever left before this moment would not use the slot; whoever leaves at this moment still may.
    refuseExpired(turn, limits, now_ms - 1);
    let due_ms = nextGrantAt(state, limits, now_ms);
    for (; due_ms <= now_ms; due_ms = nextGrantAt(state, limits, now_ms)) {
      const waiter = takeNext(queue);
      if (!waiter) return;
      for (const lease of state.politeness.leases)
        if (lease.lapses_ms <= now_ms) granted.delete(lease.fetch_id);
      state.politeness = grantSlot(state.politeness, limits, now_ms, waiter);
      state.unsent.set(waiter.fetch_id, now_ms);
      granted.set(waiter.fetch_id, "unsent");
      for (const reply of waiter.replies) {
        turn.answer(reply, { kind: "granted", waited_ms: Math.floor(now_ms - waiter.asked_ms) });
      }
    }
    refuseExpired(turn, limits, now_ms);
    const next = nextDeadline(queue);
    if (next) turn.setTimer(Math.min(due_ms, next.deadline_ms), "tick", null);
  }

  function refuseExpired(turn: DomainTurn, limits: PolitenessLimits, at_ms: number): void {
    const { state, now_ms } = turn;
    const expired = takeExpired(state.queue, at_ms);
    if (expired.length === 0) return;
    const expected_ms = expectedWait(state.politeness, limits, now_ms, state.queue.byId.size, send_delay_ms);
    refuse(turn, expired, refused("politeness_timeout", expected_ms));
  }
}

/** The earliest time of the next grant: what was granted has left or is void, its gap has passed, a slot is free. */
function nextGrantAt(
  { politeness, unsent, sent_ms }: State,
  limits: PolitenessLimits,
  now_ms: number,
): number {
  for (const [fetch_id, granted_ms] of unsent)
    if (now_ms >= granted_ms + GRANT_TTL_MS) unsent.delete(fetch_id);
  const due_ms = dueAt(delayFromSend(politeness, sent_ms), limits, now_ms);
  if (unsent.size === 0 || delayOf(politeness, limits, now_ms) === 0) return due_ms;
  return Math.max(due_ms, Math.max(...unsent.values()) + GRANT_TTL_MS);
}

function refuse(turn: DomainTurn, waiters: readonly Waiter<Reply>[], refusal: SlotRefusal): void {
  for (const { replies } of waiters) for (const reply of replies) turn.answer(reply, refusal);
}

function view({ key, now_ms, state }: DomainTurn, limits: PolitenessLimits): DomainView {
  const { politeness, queue } = state;
  const text = (until_ms: number) => (until_ms > now_ms ? new Date(until_ms).toISOString() : null);
  return {
    domain: key,
    min_delay_ms: delayOf(politeness, limits, now_ms),
    max_concurrency: limits.max_concurrency,
    in_flight: politeness.leases.filter((lease) => lease.lapses_ms > now_ms).length,
    waiting: queue.byId.size,
    failures: politeness.failures,
    skip_until: text(politeness.skip_until_ms),
    paused_until: text(politeness.paused_until_ms),
    dead_hosts: politeness.nxdomains.flatMap(({ host, dead_until_ms }) => {
      const until = text(dead_until_ms);
      return until ? [{ host, until }] : [];
    }),
  };
}
