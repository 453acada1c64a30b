/**
 * Charges of customers with prices count against the limits of spend: a charge is reserved before work and settled with the row,
 * whatever becomes of the gateway.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { FetchServices } from "../../actors/crawl/fetch/feature/routes.ts";
import { setBudget, setCustomerBudget, setPrices } from "../../actors/business/accounts/keys.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import { PENDING_REQUESTS, PENDING_TTL_MS, recoverPending } from "../../gateway/pending-requests.ts";
import { Account, accountKey } from "../../schemas/accounts.ts";
import { priceOf } from "../../schemas/invoices.ts";
import { type LedgerBatch, rowsOf } from "../../schemas/ledger-batch.ts";
import { fetchAnswer, gatewayHarness, NOON_MS } from "../harness/gateway-harness.ts";
import { killable } from "../harness/killable-documents.ts";

const PRICES = { fetch_own: 1_000, fetch_cached: 200 };
const SECOND_MS = 1_000;

type Gateway = Awaited<ReturnType<typeof gatewayHarness>>;

/** Fates of a request; its address ends with its fate. */
const FATES = ["answered", "failed", "cached", "joined", "busy", "broken", "under_way"] as const;

const scripted =
  (clock: () => Gateway["clock"]): FetchServices["fetch"] =>
  async ({ url }, _signal, beginWork) => {
    const fate = url.split("/").at(-1) as (typeof FATES)[number];
    if (fate === "cached") return fetchAnswer({}, { cached: true });
    await beginWork();
    if (fate === "broken") throw new Fault("lease_lost", "broken");
    if (fate === "busy") return fetchAnswer({}, { error: "domain_busy", retry_after_s: 1 });
    if (fate === "failed") return fetchAnswer({}, { error: "http_404" });
    if (fate === "joined") return fetchAnswer({}, { cached: true });
    if (fate === "under_way")
      await new Promise<void>((done) => void clock().at(clock().now() + 30 * SECOND_MS, done));
    return fetchAnswer({});
  };

/** A gateway whose customer has prices, with the same limit for a key, its project and its customer. */
async function pricedGateway(limit_micros: number, documents: Documents = memoryDocuments()) {
  const process = { clock: virtualClock(NOON_MS), random: seededRandom(1), name: "g1" };
  const gateway: Gateway = await gatewayHarness({ documents, process, fetch: scripted(() => gateway.clock) });
  await setPrices(documents, "default", "2026-11", PRICES);
  await setBudget(documents, "default", limit_micros);
  await setCustomerBudget(documents, "default", limit_micros);
  const key = await gateway.key({ spend_cap_micros: limit_micros });
  return { gateway, key };
}

/** Settled and reserved of key, project and customer. */
const chargesOf = ({ ask }: Gateway, key: string) =>
  Promise.all(
    [accountKey("default", "default", key.slice(0, 10)), accountKey("default", "default"), "default"].map(
      async (account) => {
        const question = { month: "2026-11", basis: "charge" as const };
        const { settled, reserved } = await ask(Account, account, "allowances", question);
        return { settled: settled.spend_micros, reserved: reserved.spend_micros };
      },
    ),
  );

const threeOf = <T>(use: T): T[] => [use, use, use];

/** The sum of the invoice to come. */
async function owed(documents: Documents): Promise<number> {
  const batches = await documents.list("ledger", { limit: 1_000 });
  const rows = batches.flatMap(({ value }) => rowsOf(value as LedgerBatch));
  return rows.reduce((sum, row) => sum + priceOf(PRICES, row), 0);
}

describe("what a customer with prices is charged", () => {
  test("is the row's price, of the most that was reserved, and the answer says what is left", async () => {
    const { gateway, key } = await pricedGateway(5_000);
    const ask = async (fate: string) => {
      const { status, headers } = await gateway.fetch({ url: `https://example.org/${fate}` }, { key });
      return [fate, status, headers["x-service-key-budget-remaining"]];
    };
    expect(await ask("answered")).toEqual(["answered", 200, "0.004000"]);
    expect(await ask("failed")).toEqual(["failed", 200, "0.004000"]);
    expect(await ask("cached")).toEqual(["cached", 200, "0.003800"]);
    expect(await ask("joined")).toEqual(["joined", 200, "0.003600"]);
    expect((await ask("broken"))[1]).toBe(503);
    await gateway.clock.advance(SECOND_MS);
    expect(await chargesOf(gateway, key)).toEqual(threeOf({ settled: 1_400, reserved: 0 }));
    expect(await owed(gateway.documents)).toBe(1_400);
  });

  test("is refused where it does not fit: a page of the cache still fits where a fetch does not", async () => {
    const { gateway, key } = await pricedGateway(1_500);
    const status = async (fate: string) =>
      (await gateway.fetch({ url: `https://example.org/${fate}` }, { key })).status;
    expect(await status("answered")).toBe(200);
    expect(await status("answered")).toBe(429);
    expect(await status("cached")).toBe(200);
    expect(await status("cached")).toBe(200);
    expect(await status("cached")).toBe(429);
    expect(await gateway.documents.list(PENDING_REQUESTS.name, { limit: 10 })).toHaveLength(1);
    await gateway.clock.advance(2 * SECOND_MS);
    expect(await gateway.documents.list(PENDING_REQUESTS.name, { limit: 10 })).toEqual([]);
    expect(await owed(gateway.documents)).toBe(1_400);
  });

  test("waits while other requests hold what is left: 429 with a second, not with the month", async () => {
    const { gateway, key } = await pricedGateway(1_500);
    const held = gateway.fetch({ url: "https://example.org/under_way" }, { key });
    await gateway.clock.advance(SECOND_MS);
    const refused = await gateway.fetch({ url: "https://example.org/answered" }, { key });
    expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "1"]);
    await gateway.clock.advance(30 * SECOND_MS);
    expect((await held).status).toBe(200);
  });
});

test("a gateway that is killed after any write charges each answer once, nothing else, and nothing stays reserved", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...FATES), { minLength: 1, maxLength: 8 }),
      fc.nat(60),
      fc.constantFrom(1_500, 3_000, 100_000),
      fc.boolean(),
      async (fates, writes, limit_micros, isRestart) => {
        const documents = memoryDocuments();
        const killed = killable(documents);
        const { gateway, key } = await pricedGateway(limit_micros, killed);
        killed.left = writes;
        for (const fate of fates)
          void gateway.fetch({ url: `https://example.org/${fate}` }, { key }).catch(() => {});
        // Some are under way when it is killed.
        await gateway.clock.advance(writes % 2 === 0 ? SECOND_MS : 40 * SECOND_MS);
        killed.left = 0;
        // A process that starts again settles at once; another node after reservations have lapsed.
        const later_ms = gateway.clock.now() + (isRestart ? 0 : PENDING_TTL_MS);
        const clock = virtualClock(later_ms);
        const next = await gatewayHarness({
          documents,
          process: { clock, random: seededRandom(2), name: "g2" },
        });
        const { spentBy, settleCharge } = next.money;
        const deps = { documents, clock, log: next.telemetry.log, spentBy };
        const recover = () => recoverPending({ ...deps, onRow: (row) => settleCharge(next.ask, row) }, 0);
        await Promise.all([recover(), recover()]);
        await clock.advance(PENDING_TTL_MS);
        const settled = await owed(documents);
        expect(settled).toBeLessThanOrEqual(limit_micros);
        expect(await chargesOf(next, key)).toEqual(threeOf({ settled, reserved: 0 }));
      },
    ),
    { numRuns: 150 },
  );
}, 120_000);
