/**
 * The tier actor: one for each route on each node that has it. It runs the route's transport for its callers, and knows how
 * many calls it takes at once, which wait, what the last 600 s were like, and whether what it needs is down.
 *
 * A call takes its place once its first request is admitted, so that one that waits for a busy domain occupies none. While a call
 * with a place waits for its next request to be admitted, calls that wait for a place hold no admission: each of the two
 * could wait for what the other holds. What comes of a call for the page is the caller's to judge; the tier judges only itself.
 */
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Log } from "../../../cluster/ports/log.ts";
import type { Metrics } from "../../../cluster/ports/metrics.ts";
import { roleActor, type RoleActor, type RoleReply } from "../../../cluster/role-actor.ts";
import type { Tier } from "../../../schemas/tier-table.ts";
import { TIER_CONTRACTS, type TierReply, type TierRequest } from "../../../schemas/tiers.ts";
import type { Admission, AdmitOptions, BodyRoom, HopRefusal, Transport } from "../../lib/web/transport.ts";
import { beginProbe, type Breaker, CLOSED, endProbe, gateOf, recordEnd, stateOf } from "./breaker.ts";
import { hasInfrastructure, outcomeOf } from "./infrastructure.ts";
import type { AdmissionAnswer, Admitted, TierCallbacks } from "./callbacks.ts";
import { type PlaceLimits, places, type Places } from "./places.ts";
import { remoteCallbacks, type TierCaller } from "./remote-permit.ts";
import { replyOf } from "./tier-reply.ts";
import { CallWindow } from "./window.ts";

export interface TierPolicy extends PlaceLimits {
  /**
   * A request without an answer for this long, or for twice the usual time of a successful call, makes the provider suspect:
   * nothing new is sent to it until the call has ended. Null: waiting is not the provider's fault.
   */
  readonly slow_ms: number | null;
}

export interface TierDeps {
  readonly transport: Transport;
  readonly policy: TierPolicy;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
  /** The memory of this node for the bodies of a call from another one. Default: no limit. */
  readonly openRoom?: (signal: AbortSignal) => BodyRoom & { readonly release: () => void };
}

interface State extends TierDeps {
  readonly tier: Tier;
  readonly places: Places;
  readonly window: CallWindow;
  breaker: Breaker;
  /** Calls that have made the provider suspect. */
  readonly slow: Set<TierCall>;
  /** Calls that wait to be admitted: they end when the tier becomes unavailable. */
  readonly unadmitted: Set<() => void>;
  /** Calls with a place whose next request waits to be admitted. */
  placed_asking: number;
  /** Functions that release the admission of calls that are admitted and wait for a place. */
  readonly admitted_waiting: Set<() => void>;
}

/** A call in progress. */
interface TierCall {
  readonly is_probe: boolean;
  readonly project: string;
  has_place: boolean;
  /** On the monotonic clock; its time before it says nothing of the provider. */
  placed_ms: number;
  was_slow: boolean;
  /** Why the tier itself ended the call. */
  refusal: Exclude<RoleReply<TierReply>, { readonly kind: "done" }> | null;
}

interface CallFrom {
  readonly callbacks: TierCallbacks;
  readonly signal: AbortSignal;
  readonly releaseRoom: () => void;
}

export function tierActor(tier: Tier, deps: TierDeps): RoleActor {
  const { policy, clock, metrics } = deps;
  const state: State = {
    ...deps,
    tier,
    places: places(policy, clock, () => reportPlaces(state)),
    window: new CallWindow(),
    breaker: CLOSED,
    slow: new Set(),
    unadmitted: new Set(),
    placed_asking: 0,
    admitted_waiting: new Set(),
  };
  metrics.gauge("trawl_tier_capacity", { tier }, policy.capacity);
  reportPlaces(state);
  reportBreaker(state);
  const load = () => ({
    capacity: policy.capacity,
    in_use: state.places.in_use(),
    waiting: state.places.waiting(),
    breaker: isSuspect(state) ? ("open" as const) : stateOf(state.breaker),
  });
  const fetch = (request: TierRequest, caller: TierCaller) => takeCall(state, request, caller);
  const figures = () => state.window.figures(clock.now());
  return roleActor(TIER_CONTRACTS[tier])({
    load,
    figures,
    oldest_wait_ms: state.places.oldest_wait_ms,
    on: { fetch },
  });
}

async function takeCall(
  state: State,
  request: TierRequest,
  caller: TierCaller,
): Promise<RoleReply<TierReply>> {
  const { tier, transport, clock, window, metrics } = state;
  const gate = gateOf(state.breaker, clock.now());
  if (gate === "open" || isSuspect(state)) return unavailable(state);
  const call: TierCall = {
    is_probe: gate === "probe",
    project: request.project ?? "",
    has_place: false,
    placed_ms: 0,
    was_slow: false,
    refusal: null,
  };
  if (call.is_probe) setBreaker(state, beginProbe(state.breaker));
  const from = callFrom(state, caller);
  const { left_ms, ...fields } = request;
  try {
    const result = await transport({
      ...fields,
      ...(left_ms !== undefined && { deadline_ms: clock.now() + left_ms }),
      signal: from.signal,
      room: from.callbacks.room,
      admit: (hop, options) => admit(state, call, from, hop, options),
      currentLimits: from.callbacks.currentLimits,
    });
    if (call.refusal !== null) return call.refusal;
    const outcome = outcomeOf(tier, result, call.was_slow);
    const reason = result.kind === "failed" ? result.reason : result.kind;
    const ms = call.has_place ? clock.mono() - call.placed_ms : 0;
    window.record(outcome, ms, clock.now());
    metrics.count("trawl_tier_calls_total", { tier, outcome });
    if (outcome !== "neutral" && hasInfrastructure(tier)) {
      const end = { outcome, reason, is_probe: call.is_probe, was_slow: call.was_slow };
      setBreaker(state, recordEnd(state.breaker, end, clock.now()));
      if (state.breaker.open !== null) refuseWaiting(state);
    }
    return { kind: "done", reply: replyOf(result) };
  } finally {
    if (call.has_place) state.places.giveBack(call.project);
    state.slow.delete(call);
    if (call.is_probe && state.breaker.is_probing) setBreaker(state, endProbe(state.breaker));
    from.releaseRoom();
  }
}

const isSuspect = ({ slow, breaker }: State): boolean => slow.size > 0 && breaker.open === null;

function unavailable({ tier, breaker: { open }, policy, clock, metrics }: State) {
  metrics.count("trawl_tier_refusals_total", { tier, reason: "unavailable" });
  const reason = open?.reason ?? "no answer yet";
  const retry_after_ms = open ? Math.max(0, open.probe_at_ms - clock.now()) : (policy.slow_ms ?? 0);
  return { kind: "unavailable", reason, retry_after_ms } as const;
}

function busy({ tier, policy, metrics }: State) {
  metrics.count("trawl_tier_refusals_total", { tier, reason: "busy" });
  return { kind: "busy", capacity: policy.capacity } as const;
}

/** The tier has become unavailable: calls that have not begun end now, and no request is sent for them. */
function refuseWaiting({ places: { refuseWaiting: refuse }, unadmitted }: State): void {
  refuse();
  for (const end of unadmitted) end();
}

/** Ends the transport of a call that the tier refuses; the caller gets `call.refusal`. */
const TIER_REFUSAL: Admission = {
  kind: "refused",
  refusal: {
    error: "tier_unavailable",
    step: "egress",
    reason: "tier_unavailable",
    retry_after_s: null,
    detail: null,
  } satisfies HopRefusal,
};

async function admit(
  state: State,
  call: TierCall,
  from: CallFrom,
  url: string,
  options?: AdmitOptions,
): Promise<Admission> {
  const asked = from.callbacks.admit(url, options);
  const answer = call.has_place
    ? await admittedWithPlace(state, asked)
    : await unlessUnavailable(state, asked);
  if (answer === null) {
    call.refusal = unavailable(state);
    // A permit that comes later is given back unused.
    asked.then(
      (late) => late?.kind === "admitted" && late.giveBack(),
      () => {},
    );
    return TIER_REFUSAL;
  }
  if (answer.kind === "refused") return answer;
  if (!call.has_place) {
    const isHeld = await takePlace(state, call, from.signal, answer.giveBack);
    const isDown = !call.is_probe && (state.breaker.open !== null || isSuspect(state));
    if (!call.has_place || isDown) {
      call.refusal = isDown ? unavailable(state) : busy(state);
      if (isHeld) answer.giveBack();
      return TIER_REFUSAL;
    }
    if (!isHeld) return admit(state, call, from, url, options);
  }
  return watchAnswers(state, call, await answer.use());
}

/** The answer to a call with a place. Admissions that calls without one hold are given back, as this call may wait for them. */
async function admittedWithPlace(state: State, asked: Promise<AdmissionAnswer>): Promise<AdmissionAnswer> {
  for (const giveBack of state.admitted_waiting) giveBack();
  state.placed_asking++;
  try {
    return await asked;
  } finally {
    state.placed_asking--;
  }
}

/** Whether the call still holds its admission when it has its place, or is refused one; false: it was given back meanwhile. */
async function takePlace(
  state: State,
  call: TierCall,
  signal: AbortSignal,
  giveBackAdmission: () => void,
): Promise<boolean> {
  const isTaken = state.places.take(signal, call.project);
  let isHeld = true;
  const giveBack = (): void => {
    state.admitted_waiting.delete(giveBack);
    isHeld = false;
    giveBackAdmission();
  };
  if (typeof isTaken !== "boolean") {
    if (state.placed_asking > 0) giveBack();
    else state.admitted_waiting.add(giveBack);
  }
  call.has_place = await isTaken;
  state.admitted_waiting.delete(giveBack);
  call.placed_ms = state.clock.mono();
  return isHeld;
}

/** Null when the tier becomes unavailable before the caller's answer comes. */
function unlessUnavailable(
  { unadmitted, tier }: State,
  asked: Promise<AdmissionAnswer>,
): Promise<AdmissionAnswer> {
  if (!hasInfrastructure(tier)) return asked;
  const ended = Promise.withResolvers<null>();
  const end = (): void => ended.resolve(null);
  unadmitted.add(end);
  return Promise.race([asked, ended.promise]).finally(() => unadmitted.delete(end));
}

/** The admission, and the tier counts as suspect while its request waits too long for an answer. */
function watchAnswers(state: State, call: TierCall, admission: Admitted): Admitted {
  const { policy, clock } = state;
  const { slow_ms } = policy;
  if (slow_ms === null) return admission;
  let timer: Disposable | null = null;
  return {
    ...admission,
    onSent() {
      const usual_ms = state.window.figures(clock.now()).p95_ms ?? 0;
      timer = clock.at(clock.now() + Math.max(slow_ms, 2 * usual_ms), () => {
        call.was_slow = true;
        state.slow.add(call);
        if (isSuspect(state)) refuseWaiting(state);
      });
      admission.onSent();
    },
    release(answer) {
      timer?.[Symbol.dispose]();
      // It has answered after all.
      if (answer.status !== null) {
        call.was_slow = false;
        state.slow.delete(call);
      }
      admission.release(answer);
    },
  };
}

function setBreaker(state: State, breaker: Breaker): void {
  const { tier, log } = state;
  const previous = state.breaker;
  state.breaker = breaker;
  if (stateOf(previous) === stateOf(breaker)) return;
  reportBreaker(state);
  if (previous.open === null && breaker.open !== null)
    log.warn("A tier is unavailable: its provider fails", { tier, reason: breaker.open.reason });
  if (previous.open !== null && breaker.open === null) log.info("A tier is available again", { tier });
}

function reportPlaces({ tier, metrics, places: { in_use, waiting } }: State): void {
  metrics.gauge("trawl_tier_calls", { tier, state: "in_use" }, in_use());
  metrics.gauge("trawl_tier_calls", { tier, state: "waiting" }, waiting());
}

function reportBreaker({ tier, metrics, breaker }: State): void {
  metrics.gauge("trawl_tier_breaker_open", { tier }, breaker.open === null ? 0 : 1);
}

/** A call in the same process has its caller's own callbacks and memory; for one of another node this node has the memory. */
function callFrom({ openRoom, clock }: State, caller: TierCaller): CallFrom {
  const { local, signal } = caller;
  if (local !== undefined) return { callbacks: local as TierCallbacks, signal, releaseRoom: () => {} };
  const room = openRoom?.(signal) ?? UNLIMITED;
  return { callbacks: { ...remoteCallbacks(caller, clock), room }, signal, releaseRoom: room.release };
}

const UNLIMITED = { reserve: async () => true, settle: () => {}, release: () => {} } as const;
