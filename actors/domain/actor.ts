/**
 * The domain actor: one per registrable domain, asked before every request to one of its hosts.
 *
 * It keeps a Politeness and remembers a queue of callers; every rule is in politeness.ts. A caller who cannot start at
 * once is parked, and `serve` answers: a slot when one is due, or a refusal when the domain closes or the caller's
 * patience runs out. It never fetches, and it answers everyone.
 */
import { actor, PARKED, type ReplyTo, type Turn } from "../../cluster/actor.ts";
import { Domain, type DomainView, type SlotAnswer, START_WITHIN_MS } from "../../schemas/domain.ts";
import {
  aheadOf,
  cleared,
  closed,
  delayed,
  dueAt,
  expectedWait,
  gapOf,
  holds,
  missed,
  type Pace,
  type Politeness,
  type Refusal,
  refused,
  release,
  resumed,
  sent,
  settle,
  skipped,
  start,
  UNTOUCHED,
  usualLeaving,
  withLeaving,
  without,
} from "./politeness.ts";
import {
  type Caller,
  emptyQueue,
  firstToLeave,
  join,
  joinAgain,
  type Queue,
  takeIf,
  takeImpatient,
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
export function domain(everyones: Pace, sites: Readonly<Record<string, Omit<Pace, "lease_ms">>> = {}) {
  const paceOf = (site: string): Pace => ({ ...everyones, ...sites[site] });
  /**
   * Slots this process has granted and not had back, and whether their request has left: they outlive an activation,
   * the process's death they do not.
   */
  const granted = new Map<string, "unsent" | "sent">();
  /** How long the last few took from grant to leaving, of all sites: what that takes is this process's affair. */
  let leaving: readonly number[] = [];
  let leaving_ms = 0;

  return actor(Domain)<State, Politeness>({
    keep: (state) => state.politeness,
    begin(kept, { key, now_ms }) {
      const politeness = kept
        ? resumed(kept, paceOf(key), now_ms, (fetch_id) => granted.has(fetch_id))
        : UNTOUCHED;
      const unsent = politeness.leases
        .filter(({ fetch_id }) => granted.get(fetch_id) === "unsent")
        .map(({ fetch_id }) => [fetch_id, now_ms] as const);
      return { politeness, queue: emptyQueue(), unsent: new Map(unsent), sent_ms: 0 };
    },
    idle_ms: 10 * 60_000,
    on: {
      acquire(turn, { fetch_id, host, lane, wait_max_ms }) {
        const { now_ms } = turn;
        const { politeness, queue, unsent } = turn.state;
        const pace = paceOf(turn.key);
        if (unsent.has(fetch_id) && holds(politeness, fetch_id, now_ms))
          return { kind: "granted", waited_ms: 0 };
        // Its request left, and it wants another: begun anew elsewhere. The slot is its own, the gap is not.
        const where = holds(politeness, fetch_id, now_ms) ? "again" : lane;
        const refusal = closed(politeness, host, now_ms);
        if (refusal) return refusal;

        const same = queue.byId.get(fetch_id);
        const full = queue.byId.size >= MAX_QUEUE;
        const ahead = where === "again" ? queue.again.size : aheadOf(lane, waiting(queue));
        const others = where === "again" ? without(politeness, fetch_id) : politeness;
        const expected_ms = expectedWait(others, pace, now_ms, ahead, leaving_ms);
        if (same ? same.replies.length >= MAX_REPLIES : full || expected_ms > wait_max_ms) {
          return refused("domain_busy", expected_ms);
        }

        const leaves_ms = now_ms + wait_max_ms;
        const reply = turn.park<SlotAnswer>();
        if (same) joinAgain(queue, same, reply, leaves_ms);
        else join(queue, { fetch_id, host, lane, asked_ms: now_ms, leaves_ms, replies: [reply] }, where);
        turn.state.politeness = others;
        serve(turn, pace);
        return PARKED;
      },

      sent(turn, { fetch_id }) {
        const granted_ms = turn.state.unsent.get(fetch_id);
        if (granted_ms !== undefined) {
          leaving = withLeaving(leaving, turn.now_ms - granted_ms);
          leaving_ms = usualLeaving(leaving);
        }
        turn.state.unsent.delete(fetch_id);
        if (granted.has(fetch_id)) granted.set(fetch_id, "sent");
        turn.state.sent_ms = turn.now_ms;
        serve(turn, paceOf(turn.key));
      },

      release(turn, message) {
        const { now_ms, state } = turn;
        const pace = paceOf(turn.key);
        const { paused_until_ms } = state.politeness;
        // Who says nothing when it leaves is counted when it has come back.
        if (state.unsent.delete(message.fetch_id) && message.status !== null) state.sent_ms = now_ms;
        state.politeness = release(state.politeness, pace, now_ms, message);
        granted.delete(message.fetch_id);
        const { paused_until_ms: until_ms } = state.politeness;
        if (until_ms > paused_until_ms) {
          // Certain by now: their wait cannot end in time.
          const refusal = refused("domain_busy", until_ms - now_ms);
          refuse(
            turn,
            takeIf(state.queue, (caller) => caller.leaves_ms < until_ms),
            refusal,
          );
        }
        serve(turn, pace);
      },

      settle(turn, outcome) {
        turn.state.politeness = settle(turn.state.politeness, turn.now_ms, outcome);
        serve(turn, paceOf(turn.key));
      },

      missing(turn, { fetch_id, host }) {
        const { now_ms, state } = turn;
        state.politeness = missed(state.politeness, now_ms, { fetch_id, host });
        const refusal = closed(state.politeness, host, now_ms);
        if (refusal?.error !== "domain_dead") return { dead: false };
        refuse(
          turn,
          takeIf(state.queue, (caller) => caller.host === host),
          refusal,
        );
        return { dead: true };
      },

      pace(turn, wish) {
        turn.state.politeness = delayed(turn.state.politeness, turn.now_ms, wish);
        serve(turn, paceOf(turn.key));
      },

      view: (turn) => view(turn, paceOf(turn.key)),

      clear(turn) {
        turn.state.politeness = cleared(turn.state.politeness);
        return view(turn, paceOf(turn.key));
      },

      serve: (turn) => serve(turn, paceOf(turn.key)),
    },
  });

  /** Answers everyone who can be answered now, then sleeps until the next one can. */
  function serve(turn: DomainTurn, pace: Pace): void {
    const { state, now_ms } = turn;
    const { queue } = state;
    if (queue.byId.size === 0) return;
    const refusal = skipped(state.politeness, now_ms);
    if (refusal) {
      refuse(
        turn,
        takeIf(queue, () => true),
        refusal,
      );
      return;
    }

    // Whoever left before this moment would not use the slot; whoever leaves at this moment still may.
    timeOut(turn, pace, now_ms - 1);
    let due_ms = nextAt(state, pace, now_ms);
    for (; due_ms <= now_ms; due_ms = nextAt(state, pace, now_ms)) {
      const caller = takeNext(queue);
      if (!caller) return;
      for (const lease of state.politeness.leases)
        if (lease.lapses_ms <= now_ms) granted.delete(lease.fetch_id);
      state.politeness = start(state.politeness, pace, now_ms, caller);
      state.unsent.set(caller.fetch_id, now_ms);
      granted.set(caller.fetch_id, "unsent");
      for (const reply of caller.replies) {
        turn.answer(reply, { kind: "granted", waited_ms: Math.floor(now_ms - caller.asked_ms) });
      }
    }
    timeOut(turn, pace, now_ms);
    const first = firstToLeave(queue);
    if (first) turn.wake(Math.min(due_ms, first.leaves_ms), "serve", null);
  }

  function timeOut(turn: DomainTurn, pace: Pace, at_ms: number): void {
    const { state, now_ms } = turn;
    const late = takeImpatient(state.queue, at_ms);
    if (late.length === 0) return;
    const expected_ms = expectedWait(state.politeness, pace, now_ms, state.queue.byId.size, leaving_ms);
    refuse(turn, late, refused("politeness_timeout", expected_ms));
  }
}

/** The earliest time of the next grant: what was granted has left or is void, its gap has passed, a slot is free. */
function nextAt({ politeness, unsent, sent_ms }: State, pace: Pace, now_ms: number): number {
  for (const [fetch_id, granted_ms] of unsent)
    if (now_ms >= granted_ms + START_WITHIN_MS) unsent.delete(fetch_id);
  const due_ms = dueAt(sent(politeness, sent_ms), pace, now_ms);
  if (unsent.size === 0 || gapOf(politeness, pace, now_ms) === 0) return due_ms;
  return Math.max(due_ms, Math.max(...unsent.values()) + START_WITHIN_MS);
}

function refuse(turn: DomainTurn, callers: readonly Caller<Reply>[], refusal: Refusal): void {
  for (const { replies } of callers) for (const reply of replies) turn.answer(reply, refusal);
}

function view({ key, now_ms, state }: DomainTurn, pace: Pace): DomainView {
  const { politeness, queue } = state;
  const text = (until_ms: number) => (until_ms > now_ms ? new Date(until_ms).toISOString() : null);
  return {
    domain: key,
    gap_ms: gapOf(politeness, pace, now_ms),
    slots: pace.slots,
    in_flight: politeness.leases.filter((lease) => lease.lapses_ms > now_ms).length,
    waiting: queue.byId.size,
    failures: politeness.failures,
    skip_until: text(politeness.skip_until_ms),
    paused_until: text(politeness.paused_until_ms),
    dead_hosts: politeness.missing.flatMap(({ host, dead_until_ms }) => {
      const until = text(dead_until_ms);
      return until ? [{ host, until }] : [];
    }),
  };
}
