/** POST /v1/map in a gateway that may die: each of its requests has one row of the ledger and is charged once. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { setBudget, setCustomerBudget, setPrices } from "../../actors/business/accounts/keys.ts";
import type { FetchPage } from "../../actors/crawl/fetch/feature/tokens.ts";
import { mapRoutes, type MapServices } from "../../actors/crawl/sites/feature/map-route.ts";
import { memoryBlobs } from "../../cluster/adapters/blobs/blobs.memory.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import type { ByteBudget } from "../../cluster/byte-budget.ts";
import type { Blobs } from "../../cluster/ports/blobs.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import { PENDING_TTL_MS, recoverPending } from "../../gateway/pending-requests.ts";
import { Account, accountKey } from "../../schemas/accounts.ts";
import { priceOf } from "../../schemas/invoices.ts";
import { type LedgerBatch, rowsOf } from "../../schemas/ledger-batch.ts";
import { fetchAnswer, gatewayHarness, NOON_MS } from "../harness/gateway-harness.ts";
import { killable } from "../harness/killable-documents.ts";

const PRICES = { fetch_own: 1_000, fetch_cached: 200 };
const FILES = 6;
const BODY = { url: "https://example.org/", sitemap: "only" };

/** A site whose robots.txt names six sitemaps; that of number `broken` is lost with its node. */
const site =
  (blobs: Blobs, broken: number): FetchPage =>
  async ({ url }) => {
    const number = Number(/\/(\d+)\.xml$/.exec(url)?.[1] ?? 0);
    if (number > 0 && number === broken) throw new Fault("lease_lost", "broken");
    const names = Array.from({ length: FILES }, (_, n) => `Sitemap: /${n + 1}.xml`).join("\n");
    const body = number === 0 ? names : `<urlset><url><loc>/${number}</loc></url></urlset>`;
    const { sha256 } = await blobs.put(Buffer.from(body));
    const answer = fetchAnswer({ final_url: url, status: 200, sha256 });
    const bill = {
      category: "fetch_own",
      ok: true,
      bytes: body.length,
      paid: false,
      cost_micros: 0,
    } as const;
    return { answer, bill, formats: null };
  };

const memory = { reserve: async () => ({ shrink() {}, release() {} }) } as unknown as ByteBudget;

test("each request of a map has a row: the first under the id of the call, the others numbered", async () => {
  const documents = memoryDocuments();
  const blobs = memoryBlobs();
  const gateway = await gatewayHarness({
    documents,
    blobs,
    more: ({ clock, metrics }) =>
      mapRoutes({ fetchPage: site(blobs, 3), blobs, clock, metrics, memory, index: null }),
  });
  const key = await gateway.key({});
  const broken = await gateway.call("POST", "/v1/map", { key, body: BODY });
  expect(broken.status).toBe(503);
  const batches = await documents.list("ledger", { limit: 1_000 });
  const rows = batches.flatMap(({ value }) => rowsOf(value as LedgerBatch));
  const ended = rows.map(({ request_id, ok }) => `${request_id.replace(/^req_\w+/, "")} ${ok}`);
  // The first four sitemaps are asked for together; the third is lost, and with it the answer.
  expect(ended.toSorted()).toEqual([" false", ".2 true", ".3 true", ".4 false", ".5 true"]);
});

test("a gateway that is killed after any write charges each request of a map once, and nothing stays reserved", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.nat(60),
      fc.nat(FILES),
      fc.constantFrom(1_500, 4_500, 100_000),
      fc.boolean(),
      async (writes, broken, limit_micros, isRestart) => {
        const documents = memoryDocuments();
        const blobs = memoryBlobs();
        const killed = killable(documents);
        const process = { clock: virtualClock(NOON_MS), random: seededRandom(1), name: "g1" };
        const more = (context: Pick<MapServices, "clock" | "metrics">) =>
          mapRoutes({ ...context, fetchPage: site(blobs, broken), blobs, memory, index: null });
        const gateway = await gatewayHarness({ documents: killed, blobs, process, more });
        await setPrices(documents, "default", "2026-11", PRICES);
        await setBudget(documents, "default", limit_micros);
        await setCustomerBudget(documents, "default", limit_micros);
        const key = await gateway.key({ spend_cap_micros: limit_micros });
        killed.left = writes;
        void gateway.call("POST", "/v1/map", { key, body: BODY }).catch(() => {});
        await gateway.clock.advance(writes % 2 === 0 ? 1_000 : 40_000);
        killed.left = 0;
        const clock = virtualClock(gateway.clock.now() + (isRestart ? 0 : PENDING_TTL_MS));
        const next = await gatewayHarness({
          documents,
          process: { clock, random: seededRandom(2), name: "g2" },
        });
        const { spentBy, settleCharge } = next.money;
        const deps = { documents, clock, log: next.telemetry.log, spentBy };
        await recoverPending({ ...deps, onRow: (row) => settleCharge(next.ask, row) }, 0);
        await clock.advance(PENDING_TTL_MS);
        const batches = await documents.list("ledger", { limit: 1_000 });
        const rows = batches.flatMap(({ value }) => rowsOf(value as LedgerBatch));
        const owed = rows.reduce((sum, row) => sum + priceOf(PRICES, row), 0);
        const question = { month: "2026-11", basis: "charge" as const };
        const account = accountKey("default", "default", key.slice(0, 10));
        const { settled, reserved } = await next.ask(Account, account, "allowances", question);
        expect(new Set(rows.map(({ request_id }) => request_id)).size).toBe(rows.length);
        expect(owed).toBeLessThanOrEqual(limit_micros);
        expect([settled.spend_micros, reserved.spend_micros]).toEqual([owed, 0]);
      },
    ),
    { numRuns: 100 },
  );
}, 120_000);
