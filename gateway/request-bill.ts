/** The ledger's row of a request, also of one whose work never answered. */
import { type Clock, sleep } from "../cluster/ports/clock.ts";
import { Fault } from "../cluster/ports/fault.ts";
import type { Log } from "../cluster/ports/log.ts";
import { type Bill, withCost } from "../schemas/accounts.ts";
import type { Caller } from "./authenticate.ts";
import type { Checked, RequestContext } from "./compiled-route.ts";
import { type JobKind, UNANSWERED_AS } from "../schemas/jobs.ts";
import type { Billed, Metering } from "./metering.ts";
import type { Route } from "./route.ts";

/** The cost of an interrupted request is read again while the store is away. */
const READ_SPEND_AGAIN_MS = 1_000;
const MAX_SPEND_READS = 120;

/** The kind of a route's work, by its first tag. */
const KINDS: Readonly<Record<string, JobKind>> = {
  search: "search",
  filings: "filings",
  profiles: "profiles",
  companies: "company",
};
export const workKind = ({ tags }: Pick<Route, "tags">): JobKind => KINDS[tags[0]!] ?? "fetch";

export interface RequestBills {
  /** Answered now. */
  readonly billed: (context: RequestContext, bill: Bill, project_ref: string | null) => Billed;
  /** The row of a request that was sent to actors and has no answer. */
  readonly unanswered: (context: RequestContext, call: Pick<Checked, "body">, error: string) => Billed;
  /** The row of a request whose work told no cost, with what its attempts have cost so far. Never throws. */
  readonly billUnanswered: (caller: Caller, row: Billed) => Promise<void>;
  /** The caller got 504 and pays no price; what the work cost is known when it ends. Never throws. */
  readonly billLate: (
    context: RequestContext,
    caller: Caller,
    call: Pick<Checked, "body">,
    late_bill?: Promise<Bill | null>,
  ) => Promise<void>;
}

export function requestBills({
  metering,
  clock,
  log,
}: {
  readonly metering: Metering;
  readonly clock: Clock;
  readonly log: Log;
}): RequestBills {
  const billed = (
    { request_id, now_ms, began_ms }: RequestContext,
    bill: Bill,
    project_ref: string | null,
  ): Billed => {
    const ms = clock.mono() - began_ms;
    return { request_id, at_ms: Math.floor(now_ms + ms), latency_ms: Math.round(ms), bill, project_ref };
  };

  const unanswered = (context: RequestContext, call: Pick<Checked, "body">, error: string): Billed => {
    const bill: Bill = {
      category: UNANSWERED_AS[workKind(context.compiled.route!)],
      ok: false,
      bytes: 0,
      paid: false,
      cost_micros: 0,
      detail: { status: null, error, reason: null, attempts: [] },
    };
    return billed(context, bill, projectRefOf(call));
  };

  /** Never throws. A row that cannot be stored now is stored later: until then the request stays pending. */
  async function storeAndEnd({ meter }: Caller, row: Billed): Promise<void> {
    try {
      await metering.store(meter, row);
      metering.end(row.request_id);
    } catch (problem) {
      log.warn("A row of the ledger is stored later", {
        request_id: row.request_id,
        problem: String(problem),
      });
    }
  }

  async function billUnanswered(caller: Caller, row: Billed): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        const cost_micros = await metering.spentBy(row.request_id);
        return await storeAndEnd(caller, { ...row, bill: withCost(row.bill, cost_micros) });
      } catch (problem) {
        if (!(problem instanceof Fault) || tries === MAX_SPEND_READS) {
          // It stays pending, and `recoverPending` writes its row.
          const { request_id } = row;
          return log.warn("A row of the ledger is written later", { request_id, problem: String(problem) });
        }
        await sleep(clock, READ_SPEND_AGAIN_MS);
      }
    }
  }

  async function billLate(
    context: RequestContext,
    caller: Caller,
    call: Pick<Checked, "body">,
    late_bill: Promise<Bill | null> = Promise.resolve(null),
  ): Promise<void> {
    const bill = await late_bill.catch(() => null);
    const row = unanswered(context, call, "timeout");
    if (bill === null) return billUnanswered(caller, row);
    const { detail, ...known } = bill;
    const error = { ...row.bill.detail!, ...detail, error: "timeout" };
    await storeAndEnd(caller, { ...row, bill: { ...known, ok: false, detail: error } });
  }

  return { billed, unanswered, billUnanswered, billLate };
}

export const projectRefOf = ({ body }: Pick<Checked, "body">): string | null =>
  ((body ?? {}) as { readonly project_ref?: string | null }).project_ref ?? null;
