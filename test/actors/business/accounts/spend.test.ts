/** Money of a key, its project and its customer: reserved together before work, settled together after it. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { accountActor } from "../../../../actors/business/accounts/actor.ts";
import {
  createKey,
  prepareAccounts,
  setBudget,
  setCustomerBudget,
} from "../../../../actors/business/accounts/keys.ts";
import { findPayer } from "../../../../actors/business/accounts/payer.ts";
import { spending } from "../../../../actors/business/accounts/spend.ts";
import type { ActorClient } from "../../../../cluster/actor.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { silentTelemetry } from "../../../../cluster/adapters/telemetry/telemetry.silent.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { seededRandom } from "../../../../cluster/adapters/time/random.seeded.ts";
import { embedded } from "../../../../cluster/embedded.ts";
import { Fault } from "../../../../cluster/ports/fault.ts";
import { Account } from "../../../../schemas/accounts.ts";

async function customer(limits: { key?: number; project?: number; customer?: number }) {
  const clock = virtualClock(Date.UTC(2026, 10, 21, 12));
  const documents = memoryDocuments();
  const { metrics, log } = silentTelemetry();
  const { ask: real } = embedded([accountActor()], {
    clock,
    documents,
    metrics,
    log,
    random: seededRandom(1),
  });
  const state = { broken: false };
  const ask: ActorClient = async (...given) => {
    if (state.broken) throw new Fault("bus_unreachable", "Nobody");
    return real(...given);
  };
  await prepareAccounts(documents, "ak_0123456789abcdefghij", clock.now());
  const spend_cap_micros = limits.key ?? null;
  const options = { project: "default", role: "standard", spend_cap_micros } as const;
  const { record } = await createKey(documents, options, clock.now());
  await setBudget(documents, "default", limits.project ?? null);
  await setCustomerBudget(documents, "default", limits.customer ?? null);
  const accounts = [`default default ${record.prefix}`, "default default", "default"] as const;
  const use = () =>
    Promise.all(
      accounts.map(async (account) => {
        const { settled, reserved } = await real(Account, account, "allowances", { month: "2026-11" });
        return [settled.spend_micros, reserved.spend_micros] as const;
      }),
    );
  const payer = { project: "default", key: record.prefix };
  return {
    clock,
    ask,
    state,
    use,
    payer,
    ...spending({ findPayer: (...named) => findPayer(documents, ...named), documents, clock, log }),
  };
}

test.each([{ key: 100 }, { project: 100 }, { customer: 100 }, { key: 100, project: 200, customer: 300 }])(
  "twelve at once within a limit of %j: only as many as it pays for, and nothing stays reserved",
  async (limits) => {
    const { ask, payer, reserve, settle, use } = await customer(limits);
    const ids = Array.from({ length: 12 }, (_, n) => String(n));
    const granted = await Promise.all(ids.map((id) => reserve(ask, payer, id, 30)));
    expect(granted.filter(Boolean)).toHaveLength(3);
    expect(await use()).toEqual([
      [0, 90],
      [0, 90],
      [0, 90],
    ]);
    for (const [n, id] of ids.entries()) if (granted[n]) await settle(ask, payer, id, 10);
    expect(await use()).toEqual([
      [30, 0],
      [30, 0],
      [30, 0],
    ]);
  },
);

test("a project that does not exist spends nothing", async () => {
  const { ask, reserve } = await customer({});
  expect(await reserve(ask, { project: "absent" }, "a", 1)).toBe(false);
});

test("what was spent while no account can be reached is settled when one can", async () => {
  const { ask, payer, reserve, settle, use, state, clock } = await customer({ key: 100 });
  await reserve(ask, payer, "a", 60);
  state.broken = true;
  const settled = settle(ask, payer, "a", 50);
  await clock.advance(10_000);
  state.broken = false;
  await clock.advance(20_000);
  await settled;
  expect((await use())[0]).toEqual([50, 0]);
});

test("settled + reserved never exceeds a limit of key, project or customer, whatever is in flight, lost or repeated", async () => {
  const steps = fc.array(
    fc.record({
      id: fc.nat(15).map(String),
      does: fc.constantFrom("reserve", "settle", "lose", "repeat"),
      micros: fc.integer({ min: 0, max: 60 }),
      after_ms: fc.constantFrom(0, 0, 1_000, 200_000, 400_000),
    }),
    { maxLength: 40 },
  );
  await fc.assert(
    fc.asyncProperty(steps, fc.nat(150), fc.nat(150), fc.nat(150), async (story, key, project, total) => {
      const { ask, payer, reserve, settle, use, clock } = await customer({ key, project, customer: total });
      const open = new Map<string, number>();
      /** Open reservations that lapsed: their money counts as spent, so that the same id reserves anew, if there is money. */
      const lapsed = new Set<string>();
      const refused: string[] = [];
      for (const { id, does, micros, after_ms } of story) {
        // A reservation that lapsed is settled late, or never: both are tried.
        if (after_ms === 400_000) open.clear();
        if (after_ms === 200_000) for (const one of open.keys()) lapsed.add(one);
        await clock.advance(after_ms === 200_000 ? 400_000 : after_ms);
        if (does === "reserve" && !open.has(id) && (await reserve(ask, payer, id, micros))) {
          open.set(id, micros);
          lapsed.delete(id);
        }
        if (does === "settle" && open.has(id)) {
          await settle(ask, payer, id, Math.min(micros, open.get(id)!));
          open.delete(id);
        }
        const isSame = does === "repeat" && open.has(id) && !lapsed.has(id);
        if (isSame && !(await reserve(ask, payer, id, micros))) refused.push(id);
        for (const [n, limit] of [key, project, total].entries()) {
          const [settled, reserved] = (await use())[n]!;
          expect(settled + reserved).toBeLessThanOrEqual(limit);
        }
      }
      // A reservation that is repeated is the same reservation.
      expect(refused).toEqual([]);
    }),
    { numRuns: 60 },
  );
});
