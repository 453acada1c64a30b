/**
 * The watch actor: one for each watch. It delivers the changes that the dispatcher stored for it, oldest first for each
 * company, and stores every attempt before it makes it. Its reminder brings it back for the next attempt on whichever node owns
 * its key then.
 */
import { actor, type Turn } from "../../cluster/actor.ts";
import type { Clock } from "../../cluster/ports/clock.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import type { Log } from "../../cluster/ports/log.ts";
import type { Metrics } from "../../cluster/ports/metrics.ts";
import { type CompanyChangedEvent, CompanyWatch } from "../../schemas/companies.ts";
import { afterAttempt, beginDelivery, DELIVERY_TTL_MS } from "../callbacks/delivery-schedule.ts";
import { postJson, type PostDeps } from "../callbacks/post-json.ts";
import { signatureHeaders } from "../callbacks/webhook-signature.ts";
import type { Cursors } from "./cursor.ts";
import { changeId } from "./feed/changes.ts";
import { overwrite } from "./stored-company.ts";
import {
  COMPANY_DELIVERIES,
  COMPANY_WATCHES,
  deliveryKey,
  firstOfEach,
  rangeOf,
  type StoredDelivery,
  type StoredWatch,
} from "./watch.ts";

export interface WatchDeps extends PostDeps {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly cursors: Cursors;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** The address at which clients see the service. */
  readonly publicUrl: () => string;
}

interface State {
  /** Stored: when the next attempt is due; null: nothing waits. */
  next_ms: number | null;
  isRunning: boolean;
  isWoken: boolean;
}

const ATTEMPT_MS = 15_000;
/** Deliveries read at once; of each company one is tried. */
const DELIVERIES_AT_ONCE = 200;
const ATTEMPTS_AT_ONCE = 8;
const PASSIVATE_AFTER_MS = 60_000;
const STORE_RETRY_MS = 5_000;

export function watchActor(deps: WatchDeps) {
  const { clock, log } = deps;

  function run(turn: Turn<State, (typeof CompanyWatch)["own"]>): void {
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
        log.warn("A watch waits for its store", { watch: key, problem: String(problem) });
        return { next_ms: Math.ceil(clock.now() + STORE_RETRY_MS) };
      }
    });
  }

  return actor(CompanyWatch)<State, { readonly next_ms: number | null }>({
    persist: ({ next_ms }) => ({ next_ms }),
    activate: (snapshot) => ({ next_ms: snapshot?.next_ms ?? null, isRunning: false, isWoken: false }),
    passivate_after_ms: PASSIVATE_AFTER_MS,
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
async function deliverDue(deps: WatchDeps, watch_id: string, ownsKey: () => boolean): Promise<number | null> {
  const { documents, clock } = deps;
  for (;;) {
    const watch = (await documents.get(COMPANY_WATCHES, watch_id))?.value as StoredWatch | undefined;
    if (!watch || watch.is_off) {
      const { from, to } = rangeOf(watch_id);
      await documents.removeRange(COMPANY_DELIVERIES, from, to);
      return null;
    }
    const listed = await documents.list(COMPANY_DELIVERIES, {
      ...rangeOf(watch_id),
      limit: DELIVERIES_AT_ONCE,
    });
    const first = firstOfEach(listed.map(({ value }) => value as StoredDelivery));
    const due = first.filter(({ next_ms }) => next_ms <= clock.now()).slice(0, ATTEMPTS_AT_ONCE);
    if (due.length === 0) return first.length === 0 ? null : Math.min(...first.map(({ next_ms }) => next_ms));
    if (!ownsKey()) return Math.ceil(clock.now() + STORE_RETRY_MS);
    await Promise.all(due.map((delivery) => attempt(deps, watch, delivery)));
  }
}

async function attempt(deps: WatchDeps, watch: StoredWatch, waiting: StoredDelivery): Promise<void> {
  const { documents, clock, metrics, random } = deps;
  const key = deliveryKey(watch.id, waiting.seq);
  const stored = await documents.get(COMPANY_DELIVERIES, key);
  if (!stored) return;
  const begun = beginDelivery(stored.value as StoredDelivery, Math.floor(clock.now()));
  const options = { expires_at_ms: begun.created_ms + DELIVERY_TTL_MS };
  if (!(await documents.put(COMPANY_DELIVERIES, key, begun, stored.version, options))) return;
  const result = await postJson(deps, await deliveryOf(deps, watch, begun));
  metrics.count("trawl_company_deliveries_total", { outcome: result.status.replace(/_.*$/, "") });
  const after = afterAttempt(begun, result, clock.now(), random());
  if (after.kind === "again")
    await documents.put(COMPANY_DELIVERIES, key, after.delivery, stored.version + 1, options);
  else await documents.remove(COMPANY_DELIVERIES, key, stored.version + 1);
  const last_delivery_ms = clock.now();
  await overwrite<StoredWatch>(documents, COMPANY_WATCHES, watch.id, (current) =>
    current === null
      ? null
      : {
          value: {
            ...current,
            last_delivery_ms,
            last_status: result.status.startsWith("delivered_") ? "delivered" : result.status,
            is_off: current.is_off || (after.kind === "over" && after.switchesOff),
          },
          options: { tag: current.project },
        },
  );
}

async function deliveryOf(
  { clock, cursors, publicUrl }: WatchDeps,
  watch: StoredWatch,
  delivery: StoredDelivery,
) {
  const { company_id, fields, created_ms, seq } = delivery;
  const id = `evt_${watch.id.slice("wch_".length)}${changeId(seq).slice("chg_".length)}`;
  const event: CompanyChangedEvent = {
    id,
    type: "company.changed",
    created_at: new Date(created_ms).toISOString(),
    watch_id: watch.id,
    company_id,
    fields: [...fields],
    change_cursor: await cursors.seal("changes ", { seq }),
    record_url: `${publicUrl()}/v1/companies/${company_id}`,
  };
  const body = JSON.stringify(event);
  const headers = signatureHeaders(watch.secret, id, body, clock.now());
  return { url: watch.url, body, headers, timeout_ms: ATTEMPT_MS };
}
