/**
 * From an admitted request with its body to the answer: shape 422, category 403, the route's own 403, failing stores 503,
 * allowances 429, then the route and its row in the ledger.
 */
import { Fault } from "../cluster/ports/fault.ts";
import type { Metrics } from "../cluster/ports/metrics.ts";
import { type Caller, categoryRefused, chargeRefused, quotaRefused, spendRefused } from "./authenticate.ts";
import { type RequestContext, readCall } from "./compiled-route.ts";
import { releaseStream } from "./exchange.ts";
import type { Bill } from "../schemas/accounts.ts";
import { type ChargedWork, priceOf } from "../schemas/invoices.ts";
import type { Body, Reply } from "./http.ts";
import { storeUnavailable } from "./http-errors.ts";
import type { Billed, Metering } from "./metering.ts";
import type { BeginOptions } from "./pending-requests.ts";
import { type QuotaClaim, UNLIMITED } from "./quotas.ts";
import { projectRefOf, type RequestBills, workKind } from "./request-bill.ts";
import type { RequestEnd } from "./request-end.ts";
import type { Answer, AskWithin, Call, Route } from "./route.ts";
import type { StoreHealth } from "./store-health.ts";
import { withWarnings } from "./warnings.ts";

const NO_LABELS = {};
const RECEIVED = { direction: "received" };

/** Work that the caller's spend cap does not allow; ends the handling of the call where that work would begin. */
class Overspent extends Error {
  override readonly name = "Overspent";
  readonly refusal: Reply;

  constructor(refusal: Reply) {
    super("The spend cap is used up");
    this.refusal = refusal;
  }
}

/** The work of one request: pending from before it begins until its row is stored and what is charged for it is settled. */
class Work {
  /** Actors may have been asked. */
  isBegun = false;
  /** The ledger has its row, or stores it as soon as it can. */
  hasRow = false;
  /** A charge to its customer is reserved. */
  isCharging = false;
  /** By its price the charge is settled. Null until the work is begun, or has its answer. */
  row: Billed | null = null;
  readonly #metering: Metering;
  readonly #caller: Caller;
  readonly #request_id: string;

  constructor(metering: Metering, caller: Caller, request_id: string) {
    this.#metering = metering;
    this.#caller = caller;
    this.#request_id = request_id;
  }

  /** Pending first, with this row: what is reserved of a gateway that dies is settled with it. */
  async begin(row: Billed, charged: ChargedWork, now_ms: number, options?: BeginOptions): Promise<void> {
    const { meter } = this.#caller;
    this.row = row;
    await this.#metering.begin(meter, row, options);
    this.isBegun = true;
    if (meter.prices === null) return;
    this.isCharging = true;
    const reply = await this.#metering.reserveCharge(meter, this.#request_id, charged);
    this.isCharging = reply === "reserved";
    if (reply === "held" || reply === "refused")
      throw new Overspent(chargeRefused(this.#caller, reply, now_ms));
  }

  /** Charges, of what is reserved, what the row says. */
  async settleCharge(onSettled = () => {}): Promise<void> {
    if (!this.isCharging) return onSettled();
    this.isCharging = false;
    await this.#metering.settleCharge(this.#caller.meter, this.row!, onSettled);
  }

  readonly end = (): void => this.#metering.end(this.#request_id);
}

/**
 * Further requests of one call, `<request id>.2` and so on: each has a unit of the quota, fits the limits of spend and is pending
 * until its row is stored, like the first one.
 */
function furtherWork(
  metering: Metering,
  billed: RequestBills["billed"],
  interrupted: () => Billed,
  { context, caller }: { readonly context: RequestContext; readonly caller: Caller },
): Call["beginFurtherWork"] {
  const route = context.compiled.route!;
  const { request_id, now_ms } = context;
  const { meter } = caller;
  let begun = 1;
  return async () => {
    const claim = route.category === null ? UNLIMITED : await meter.quota.claim(route.category, now_ms);
    if (claim === null) return null;
    const id = `${request_id}.${++begun}`;
    const row = { ...interrupted(), request_id: id };
    const work = new Work(metering, caller, id);
    try {
      await work.begin(row, { kind: workKind(route) }, now_ms);
    } catch (problem) {
      claim.settle(false);
      if (!(problem instanceof Overspent)) throw problem;
      work.end();
      return null;
    }
    return {
      id,
      async finish(bill) {
        // Whatever becomes of the row now, `recoverPending` writes one.
        claim.settle(true);
        work.row = { ...billed(context, bill, row.project_ref), request_id: id };
        await metering.store(meter, work.row);
        await work.settleCharge(work.end);
      },
    };
  };
}

/** Faults that say that no actor took the request. */
const NOT_STARTED: ReadonlySet<string> = new Set([
  "mailbox_full",
  "no_workers",
  "overloaded",
  "message_too_large",
]);

const mayHaveStarted = (problem: unknown): boolean =>
  !(problem instanceof Fault && NOT_STARTED.has(problem.code));

/** Whether an answer depends on something that has to be stored first. */
const isWriting = ({ method, category }: Route): boolean =>
  category !== null || (method !== "GET" && method !== "HEAD");

/** Whether its customer is charged for the answer, so that the price has to fit the limits of spend. */
const isPriced = ({ meter: { prices } }: Caller, bill: Bill): boolean =>
  prices !== null && priceOf(prices, bill) > 0;

interface ServeDeps {
  /** The requests that one call of this caller makes within. */
  readonly within: (context: RequestContext, caller: Caller, limit: string) => AskWithin;
  readonly end: RequestEnd;
  readonly bills: RequestBills;
  readonly metering: Metering;
  readonly stores: StoreHealth | undefined;
  readonly metrics: Metrics;
}

export interface Serve {
  /** A request without a key. */
  readonly open: (context: RequestContext, body: Body) => Promise<Reply>;
  /** Everything after the key, with the body. Throws what a shortcut throws. `limit`: the caller's rate as its header says it. */
  readonly serve: (
    context: RequestContext,
    caller: Caller,
    limit: string,
    body: Body,
  ) => Reply | Promise<Reply>;
}

export function serving({ end, bills, metering, stores, metrics, within }: ServeDeps): Serve {
  const { finish, errorReply } = end;
  const { billed, unanswered, billUnanswered, billLate } = bills;
  let in_flight = 0;
  const addInFlight = (by: 1 | -1): void =>
    metrics.gauge("trawl_http_requests_in_flight", NO_LABELS, (in_flight += by));

  function serve(context: RequestContext, caller: Caller, limit: string, body: Body): Reply | Promise<Reply> {
    const { compiled, request_id, now_ms } = context;
    const { shortcut, category } = compiled.route!;
    metering.turn(caller.meter, now_ms);

    if (body.kind === "whole") metrics.count("trawl_http_body_bytes_total", RECEIVED, body.bytes.length);
    const quick =
      shortcut && body.kind === "whole" ? shortcut(body.bytes, caller, now_ms, context.head) : null;
    const refusal =
      quick &&
      ((category && categoryRefused(caller, category)) ??
        (quick.bill.cost_micros > 0 ? spendRefused(caller, now_ms) : null));
    if (quick === null || refusal !== null || isPriced(caller, quick.bill))
      return handle(context, caller, limit, body);
    const answer = (claim: QuotaClaim): Reply => {
      try {
        metering.record(caller.meter, billed(context, quick.bill, quick.project_ref));
      } catch (problem) {
        claim.settle(false);
        return finish(context, errorReply(context, problem), caller, limit);
      }
      claim.settle(true);
      // Logged at level debug: cache hits would fill the log.
      return finish(context, quick.reply(request_id), caller, limit, "debug");
    };
    const claim = claimFor(context, caller);
    if (!(claim instanceof Promise)) return answer(claim);
    return claim.then(
      (granted) => (granted ? answer(granted) : exhausted(context, caller, limit)),
      (problem: unknown) => finish(context, errorReply(context, problem), caller, limit),
    );
  }

  /** The work of a route; where it depends on a store that takes no writes, no longer than until that is known. */
  const orFailing = async <T>(route: Route, work: T | Promise<T>): Promise<T> =>
    stores && isWriting(route) ? stores.orFailing(Promise.resolve(work)) : work;

  const exhausted = (context: RequestContext, caller: Caller, limit: string): Reply => {
    const refusal = quotaRefused(caller, context.compiled.route!.category!, context.now_ms);
    return overspent(context, refusal, caller, limit);
  };

  function overspent(context: RequestContext, refusal: Reply, caller: Caller, limit: string): Reply {
    metrics.count("trawl_rate_limited_total", { policy: "allowance" });
    return finish(context, refusal, caller, limit);
  }

  async function handle(context: RequestContext, caller: Caller, limit: string, body: Body): Promise<Reply> {
    const { now_ms } = context;
    const route = context.compiled.route!;
    const { category } = route;
    const call = readCall(context, body);
    if ("status" in call) return finish(context, call, caller, limit);
    const work = new Work(metering, caller, context.request_id);
    const interrupted = (): Billed => unanswered(context, call, "interrupted");
    /** Refusal of a caller without spend left: what costs nothing, such as an answer from the cache, it gets all the same. */
    let overspend: Reply | null = null;
    const beginWork = async (options?: BeginOptions): Promise<void> => {
      if (overspend) throw new Overspent(overspend);
      if (!work.isBegun) await work.begin(interrupted(), { kind: workKind(route) }, now_ms, options);
    };
    const beginFurtherWork = furtherWork(metering, billed, interrupted, { context, caller });
    const askWithin = within(context, caller, limit);
    const authenticatedCall = { ...call, caller, beginWork, beginFurtherWork, askWithin };
    const refusal =
      (category && categoryRefused(caller, category)) ?? route.authorize?.(authenticatedCall) ?? null;
    if (refusal) return finish(context, refusal, caller, limit);
    const failing = isWriting(route) ? stores?.failing() : null;
    if (failing) return finish(context, storeUnavailable(failing), caller, limit);
    let claim: QuotaClaim | null = null;
    let unsent: Answer | null = null;
    addInFlight(1);
    try {
      // Each item of a batch is limited when it runs; the route itself refuses what could not run at all.
      if (!route.items) {
        claim = await claimFor(context, caller);
        if (claim === null) return exhausted(context, caller, limit);
        if (category && caller.meter.allowances.spend !== null) await metering.readSpend(caller.meter);
        overspend = category && spendRefused(caller, now_ms);
      }
      if (route.always_begins_work) await beginWork();
      const handling = route.handle(authenticatedCall);
      const answer = (unsent = await orFailing(route, handling));
      const isTimeout = work.isBegun && answer.status === 504;
      const { bill, beforeSending } = answer;
      if (bill && !work.isBegun && isPriced(caller, bill)) await work.begin(interrupted(), bill, now_ms);
      const isRowAwaited = bill !== undefined && (work.isBegun || !bill.category.endsWith("_cached"));
      if (beforeSending && !isRowAwaited) await orFailing(route, beforeSending());
      claim?.settle(bill !== undefined || isTimeout);
      if (bill) {
        work.row = billed(context, bill, projectRefOf(call));
        if (isRowAwaited) {
          const storing = metering.store(caller.meter, work.row);
          work.hasRow = true;
          await Promise.all([storing, beforeSending?.()]);
        } else metering.record(caller.meter, work.row);
      } else if (isTimeout) void billLate(context, caller, call, answer.late_bill);
      const isSpending = (bill?.cost_micros ?? 0) > 0 || work.isCharging;
      // It is pending until it is settled: else a gateway that dies in between would leave the reservation as it is.
      await work.settleCharge(work.isBegun && !isTimeout ? work.end : undefined);
      // The answer's own header tells what it left.
      if (bill && isSpending && caller.meter.allowances.spend !== null)
        await metering.readSpend(caller.meter);
      return finish(context, withWarnings(answer, call.warnings), caller, limit);
    } catch (problem) {
      if (unsent) releaseStream(unsent);
      if (problem instanceof Overspent) {
        if (work.isBegun) work.end();
        return overspent(context, problem.refusal, caller, limit);
      }
      // With a row the request stays pending until `recoverPending` has found it.
      if (work.hasRow) claim?.settle(true);
      else if (work.isBegun && mayHaveStarted(problem)) {
        claim?.settle(true);
        void billUnanswered(caller, interrupted());
      } else if (work.isBegun) work.end();
      return finish(context, errorReply(context, problem), caller, limit);
    } finally {
      addInFlight(-1);
      // Without an effect where the request was counted, or charged.
      claim?.settle(false);
      void work.settleCharge();
    }
  }

  async function open(context: RequestContext, body: Body): Promise<Reply> {
    const call = readCall(context, body);
    if ("status" in call) return finish(context, call);
    try {
      return finish(context, await context.compiled.route!.handle(call));
    } catch (problem) {
      return finish(context, errorReply(context, problem));
    }
  }

  return { open, serve };
}

const claimFor = (
  { compiled, now_ms }: RequestContext,
  { meter }: Caller,
): QuotaClaim | Promise<QuotaClaim | null> => {
  const { category } = compiled.route!;
  return category === null ? UNLIMITED : meter.quota.claim(category, now_ms);
};
