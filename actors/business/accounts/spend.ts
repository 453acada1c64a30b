/**
 * The one way to spend money: reserve the most that an attempt can cost from the accounts of key, project and customer,
 * then settle what it cost with all three. An attempt whose process dies in between is never settled; its
 * reservations lapse after six minutes and count as spent.
 */
import type { Node } from "../../../cluster/node-record.ts";
import type { ActorClient } from "../../../cluster/actor.ts";
import { sleep } from "../../../cluster/ports/clock.ts";
import { Fault } from "../../../cluster/ports/fault.ts";
import type { Charges, SpendingFor } from "../../../records/charges.ts";
import { Account, monthOf, type ReserveRequest } from "../../../schemas/accounts.ts";
import { Job } from "../../../schemas/jobs.ts";
import { basisOf, priceMost, priceOf, pricesOf } from "../../../schemas/invoices.ts";
import { type FindPayer, type SpendLimit, spendLimits } from "./payer.ts";
import { readSpend, recordSpend } from "./request-spend.ts";

/** The id of an attempt of an item: `<job id>:<index>.…` */
const JOB_OF_ATTEMPT = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):\d+\./;

/** A settlement is sent again after these pauses: money that was spent must not become free by a fault. */
const SETTLE_AGAIN_MS = [500, 2_000, 5_000, 10_000, 20_000] as const;

export interface Spending extends Charges {
  /**
   * Whether every account has as much left. All of them reserve it, or none does. `id` is that of the attempt and begins with the
   * request's, then a full stop. Throws Fault.
   */
  readonly reserve: (ask: ActorClient, payer: SpendingFor, id: string, micros: number) => Promise<boolean>;
  /** Never throws: what cannot be settled within 40 s is logged. */
  readonly settle: (ask: ActorClient, payer: SpendingFor, id: string, micros: number) => Promise<void>;
  /** The cost of a request's attempts, or what they have reserved where they are not settled. Throws Fault. */
  readonly spentBy: (request_id: string) => Promise<number>;
}

export function spending({
  findPayer,
  documents,
  clock,
  log,
}: Pick<Node, "documents" | "clock" | "log"> & {
  readonly findPayer: FindPayer;
}): Spending {
  /** Repeats a part of a settlement while it ends with a Fault. Never throws. */
  async function untilDone(what: object, settleOnce: () => Promise<unknown>): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      try {
        await settleOnce();
        return;
      } catch (problem) {
        const pause_ms = SETTLE_AGAIN_MS[attempt];
        if (!(problem instanceof Fault) || pause_ms === undefined) {
          log.error("Cannot settle what was spent", { ...what, problem: String(problem) });
          return;
        }
        await sleep(clock, pause_ms);
      }
    }
  }

  /** All accounts reserve, or none does. The one that refuses; null: all have reserved. Throws Fault. */
  async function reserveAll(
    ask: ActorClient,
    limits: readonly SpendLimit[],
    what: Pick<ReserveRequest, "id" | "micros" | "basis" | "holder">,
  ): Promise<SpendLimit | null> {
    const reserved: SpendLimit[] = [];
    for (const limit of limits) {
      let isReserved: boolean;
      try {
        const request = { ...what, limit_micros: limit.limit_micros };
        isReserved = (await ask(Account, limit.account, "reserve", request)).kind === "reserved";
      } catch (problem) {
        await free(ask, reserved, what);
        throw problem;
      }
      if (!isReserved) {
        await free(ask, reserved, what);
        return limit;
      }
      reserved.push(limit);
    }
    return null;
  }

  return {
    async reserve(ask, { project, key }, id, micros) {
      const payer = await findPayer(project, key ?? null);
      if (payer === null) return false;
      // A customer with prices pays those, whatever its requests cost.
      const isCharged = basisOf(payer.customer, monthOf(clock.now())) === "charge";
      const limits = payer.spend_limits.map((limit) =>
        isCharged ? { ...limit, limit_micros: null } : limit,
      );
      if ((await reserveAll(ask, limits, { id, micros })) !== null) return false;
      try {
        const job_id = JOB_OF_ATTEMPT.exec(id)?.[1];
        if (job_id !== undefined && !(await ask(Job, job_id, "reserveCost", { id, micros })).is_reserved) {
          await free(ask, limits, { id });
          return false;
        }
        await recordSpend(documents, id, micros, clock.now());
      } catch (problem) {
        await free(ask, limits, { id });
        throw problem;
      }
      return true;
    },

    async reserveCharge(ask, { project, key }, request_id, work, holder) {
      const payer = await findPayer(project, key ?? null);
      const month = monthOf(clock.now());
      const prices = payer && pricesOf(payer.customer, month);
      if (!prices) return "free";
      const micros = "kind" in work ? priceMost(prices, work.kind) : priceOf(prices, work);
      const limits = spendLimits(payer).filter(({ limit_micros }) => limit_micros !== null);
      if (micros === 0 || limits.length === 0) return "free";
      const basis = "charge" as const;
      const what = { id: chargeId(request_id), micros, basis, ...ofHolder(holder) };
      const refusing = await reserveAll(ask, limits, what);
      if (refusing === null) return "reserved";
      const { settled } = await ask(Account, refusing.account, "allowances", { month, basis });
      return settled.spend_micros + micros <= refusing.limit_micros! ? "held" : "refused";
    },

    settleCharge(ask, { request_id, project, key, at_ms, ...bill }, holder) {
      return untilDone({ request_id, project, key }, async () => {
        const payer = await findPayer(project, key);
        const prices = payer && pricesOf(payer.customer, monthOf(at_ms));
        if (!payer?.customer.prices) return;
        const micros = prices ? priceOf(prices, bill) : 0;
        const settlement = { id: chargeId(request_id), micros, ...ofHolder(holder) };
        // Also those without a limit by now.
        await Promise.all(
          spendLimits(payer).map(({ account }) => ask(Account, account, "settle", settlement)),
        );
      });
    },

    releaseCharges(ask, { project, key }, request_prefix) {
      return untilDone({ request_prefix, project, key }, async () => {
        const payer = await findPayer(project, key ?? null);
        if (!payer?.customer.prices) return;
        const request = { prefix: chargeId(request_prefix) };
        await Promise.all(spendLimits(payer).map(({ account }) => ask(Account, account, "release", request)));
      });
    },

    async settle(ask, { project, key }, id, micros) {
      const payer = await findPayer(project, key ?? null).catch(() => null);
      if (payer === null) return log.error("Cannot settle what was spent", { project, key, id, micros });
      const accounts = payer.spend_limits.map(({ account }) =>
        untilDone({ account, id, micros }, () => ask(Account, account, "settle", { id, micros })),
      );
      const own = untilDone({ id, micros }, () => recordSpend(documents, id, micros, clock.now()));
      await Promise.all([...accounts, own]);
    },

    spentBy: (request_id) => readSpend(documents, request_id),
  };
}

const ofHolder = (holder: string | undefined): { holder?: string } =>
  holder === undefined ? {} : { holder };

const chargeId = (request_id: string): string => `charge ${request_id}`;

const free = (
  ask: ActorClient,
  limits: readonly SpendLimit[],
  { id, holder }: Pick<ReserveRequest, "id" | "holder">,
): Promise<unknown> => {
  const settlement = { id, micros: 0, ...ofHolder(holder) };
  // A reservation that cannot be freed lapses.
  return Promise.all(
    limits.map(({ account }) => ask(Account, account, "settle", settlement).catch(() => {})),
  );
};
