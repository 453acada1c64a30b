/**
 * The alerts actor: one for each customer. It makes the deliveries that are stored for the customer's webhooks, and stores every
 * attempt before it makes it. Its reminder brings it back for the next attempt on whichever node owns its key then.
 */
import { actor, type Turn } from "../../cluster/actor.ts";
import type { Clock } from "../../cluster/ports/clock.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import type { Log } from "../../cluster/ports/log.ts";
import type { Metrics } from "../../cluster/ports/metrics.ts";
import { UsageAlerts } from "../../schemas/alerts.ts";
import { afterAttempt, beginDelivery } from "../callbacks/delivery-schedule.ts";
import { postJson, type PostDeps } from "../callbacks/post-json.ts";
import { signatureHeaders } from "../callbacks/webhook-signature.ts";
import {
  ALERT_DELIVERIES,
  ALERT_HOOKS,
  alertKey,
  alertOptions,
  changeHook,
  hookKey,
  openAlerts,
  type StoredAlert,
  type StoredHook,
} from "./alerts.ts";

export interface AlertsDeps extends PostDeps {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

interface State {
  /** Stored: when the next attempt is due; null: nothing waits. */
  next_ms: number | null;
  isRunning: boolean;
  isWoken: boolean;
}

const ATTEMPT_MS = 15_000;
/** More wait for the next look. */
const MAX_OPEN = 1_000;
const ATTEMPTS_AT_ONCE = 8;
const STORE_RETRY_MS = 5_000;

export function alertsActor(deps: AlertsDeps) {
  const { clock, log } = deps;

  function run(turn: Turn<State, (typeof UsageAlerts)["own"]>): void {
    const { state, key } = turn;
    if (state.isRunning) {
      state.isWoken = true;
      return;
    }
    state.isRunning = true;
    state.isWoken = false;
    // Until the attempts are over: a node that dies meanwhile leaves a reminder.
    state.next_ms = turn.now_ms + STORE_RETRY_MS;
    turn.pipeToSelf("attempted", async (_ask, { ownsKey }) => {
      try {
        return { next_ms: await deliverDue(deps, key, ownsKey) };
      } catch (problem) {
        log.warn("Usage alerts wait for their store", { customer: key, problem: String(problem) });
        return { next_ms: Math.ceil(clock.now() + STORE_RETRY_MS) };
      }
    });
  }

  return actor(UsageAlerts)<State, { readonly next_ms: number | null }>({
    persist: ({ next_ms }) => ({ next_ms }),
    activate: (snapshot) => ({ next_ms: snapshot?.next_ms ?? null, isRunning: false, isWoken: false }),
    passivate_after_ms: 60_000,
    reminder: ({ next_ms }) =>
      next_ms === null ? null : { at_ms: next_ms, operation: "tick", message: null },
    on: {
      deliver: run,
      tick: run,
      attempted(turn, { next_ms }) {
        const { state } = turn;
        state.isRunning = false;
        state.next_ms = next_ms;
        if (state.isWoken) run(turn);
        else if (next_ms !== null) turn.setTimer(next_ms, "tick", null);
      },
    },
  });
}

/** Tries what is due; answers when the next attempt is due. Throws Fault. */
async function deliverDue(
  deps: AlertsDeps,
  customer: string,
  ownsKey: () => boolean,
): Promise<number | null> {
  const { documents, clock } = deps;
  for (;;) {
    const range = { tag: openAlerts(customer), limit: MAX_OPEN };
    const open = (await documents.list(ALERT_DELIVERIES, range)).map(({ value, version }) => ({
      alert: value as StoredAlert,
      version,
    }));
    const due = open.filter(({ alert }) => alert.next_ms <= clock.now()).slice(0, ATTEMPTS_AT_ONCE);
    if (due.length === 0)
      return open.length === 0 ? null : Math.min(...open.map(({ alert }) => alert.next_ms));
    if (!ownsKey()) return Math.ceil(clock.now() + STORE_RETRY_MS);
    await Promise.all(due.map(({ alert, version }) => attempt(deps, customer, alert, version)));
  }
}

async function attempt(
  deps: AlertsDeps,
  customer: string,
  waiting: StoredAlert,
  version: number,
): Promise<void> {
  const { documents, clock, metrics, random } = deps;
  const key = alertKey(customer, waiting);
  const hook = (await documents.get(ALERT_HOOKS, hookKey(customer, waiting.hook_id)))?.value as
    | StoredHook
    | undefined;
  const begun = beginDelivery(waiting, Math.floor(clock.now()));
  // The webhook was removed.
  const given_up = { ...waiting, is_over: true };
  const before = hook ? begun : given_up;
  if (!(await documents.put(ALERT_DELIVERIES, key, before, version, alertOptions(customer, before)))) return;
  if (!hook) return;
  const { url, secret, id } = hook;
  const headers = signatureHeaders(secret, begun.event_id, begun.body, clock.now());
  const result = await postJson(deps, { url, body: begun.body, headers, timeout_ms: ATTEMPT_MS });
  const { status } = result;
  metrics.count("trawl_alert_deliveries_total", { outcome: status.replace(/_.*$/, "") });
  const next = afterAttempt(begun, result, clock.now(), random());
  const after: StoredAlert =
    next.kind === "again" ? { ...next.delivery, status } : { ...begun, status, is_over: true };
  await documents.put(ALERT_DELIVERIES, key, after, version + 1, alertOptions(customer, after));
  const last_delivery_ms = Math.floor(clock.now());
  await changeHook(documents, customer, id, (current) => ({
    ...current,
    last_delivery_ms,
    last_status: status,
  }));
}
