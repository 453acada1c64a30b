/**
 * The one way to spend money: reserve the most that an attempt can cost from the accounts of key, project and customer,
 * then settle what it cost with all three. An attempt whose process dies in between is never settled; its
 * reservations lapse after six minutes and count as spent.
 */
import type { ActorClient } from "../../cluster/actor.ts";
import { type Clock, sleep } from "../../cluster/ports/clock.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import type { Log } from "../../cluster/ports/log.ts";
import { Account, type ReserveReply } from "../../schemas/accounts.ts";
import type { FindPayer, SpendLimit } from "./payer.ts";
import { readSpend, recordSpend } from "./request-spend.ts";

/** A settlement is sent again after these pauses: money that was spent must not become free by a fault. */
const SETTLE_AGAIN_MS = [500, 2_000, 5_000, 10_000, 20_000] as const;

/** Whose money is spent. */
export interface SpendingFor {
  readonly project: string;
  /** The prefix of the API key; absent: only the project and its customer pay. */
  readonly key?: string | undefined;
}

export interface Spending {
  /**
   * Whether every account has as much left. All of them reserve it, or none does. `id` is that of the attempt and begins with the
   * request's, then a full stop. Throws Fault.
   */
  readonly reserve: (ask: ActorClient, payer: SpendingFor, id: string, micros: number) => Promise<boolean>;
  /** Never throws: what cannot be settled within 40 s is logged. */
  readonly settle: (ask: ActorClient, payer: SpendingFor, id: string, micros: number) => Promise<void>;
  /** What the attempts of a request have cost, or have reserved where they are not settled. Throws Fault. */
  readonly spentBy: (request_id: string) => Promise<number>;
}

interface SpendingDeps {
  readonly findPayer: FindPayer;
  readonly documents: Documents;
  readonly clock: Clock;
  readonly log: Log;
}

export function spending({ findPayer, documents, clock, log }: SpendingDeps): Spending {
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

  return {
    async reserve(ask, { project, key }, id, micros) {
      const payer = await findPayer(project, key ?? null);
      if (payer === null) return false;
      const reserved: SpendLimit[] = [];
      const free = (): Promise<unknown> =>
        Promise.all(
          // One that cannot be freed lapses.
          reserved.map(({ account }) => ask(Account, account, "settle", { id, micros: 0 }).catch(() => {})),
        );
      for (const limit of payer.spend_limits) {
        const request = { id, micros, limit_micros: limit.limit_micros };
        let reply: ReserveReply;
        try {
          reply = await ask(Account, limit.account, "reserve", request);
        } catch (problem) {
          await free();
          throw problem;
        }
        if (reply.kind === "refused") {
          await free();
          return false;
        }
        reserved.push(limit);
      }
      try {
        await recordSpend(documents, id, micros, clock.now());
      } catch (problem) {
        await free();
        throw problem;
      }
      return true;
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
