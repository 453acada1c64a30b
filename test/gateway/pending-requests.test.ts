/**
 * Each request that was sent to actors has exactly one row of the ledger: also when its caller got 503 or 504, and when its
 * gateway is killed.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { profilesRoutes } from "../../actors/sources/profiles/feature/routes.ts";
import { openBodyGrants } from "../../gateway/body-access.ts";
import { openLedger } from "../../gateway/ledger.ts";
import {
  PENDING_REQUESTS,
  PENDING_TTL_MS,
  pendingRequests,
  recoverPending,
} from "../../gateway/pending-requests.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { Fault, type FaultCode } from "../../cluster/ports/fault.ts";
import { Account, accountKey, fromMicros, monthOf } from "../../schemas/accounts.ts";
import { type LedgerBatch, rowsOf } from "../../schemas/ledger-batch.ts";
import { fetchAnswer, gatewayHarness } from "../harness/gateway-harness.ts";
import { ledgerRow, partsOf } from "../harness/ledger-row.ts";

const PAGE = { url: "https://example.org/" };
const SECOND_MS = 1_000;

type Gateway = Awaited<ReturnType<typeof gatewayHarness>>;
const listedRows = async ({ call }: Pick<Gateway, "call">, key: string) =>
  (await call("GET", "/v1/requests", { key })).json.items;

describe("a request that went upstream", () => {
  test("and was answered 504 has a row with what it cost, pays no price, and uses its quota", async () => {
    const gateway = await gatewayHarness({
      fetch: async (request, _signal, beginWork) => {
        await beginWork();
        await new Promise<void>((done) => void gateway.clock.at(gateway.clock.now() + 170 * SECOND_MS, done));
        await gateway.spend(request, 250_000);
        return fetchAnswer({ tier: "proxy" }, { cost_usd: "0.25" });
      },
    });
    const { clock, key, fetch, documents } = gateway;
    const mine = await key({ quotas: { fetch: 1 } });
    const answer = fetch({ ...PAGE, project_ref: "r" }, { key: mine });
    await clock.advance(151 * SECOND_MS);
    expect((await answer).status).toBe(504);
    expect((await fetch(PAGE, { key: mine })).status).toBe(429);
    expect(await listedRows(gateway, mine)).toEqual([]);
    expect(await documents.list(PENDING_REQUESTS.name, { limit: 10 })).toHaveLength(1);
    await clock.advance(20 * SECOND_MS);
    expect(await listedRows(gateway, mine)).toMatchObject([
      {
        request_id: (await answer).headers["x-request-id"],
        ok: false,
        error: "timeout",
        category: "fetch_paid",
        cost_usd: "0.250000",
        project_ref: "r",
      },
    ]);
    expect(await documents.list(PENDING_REQUESTS.name, { limit: 10 })).toEqual([]);
  });

  test("for a profile and broke has a row of that category", async () => {
    const service = async () => {
      throw new Fault("lease_lost", "broken");
    };
    const gateway = await gatewayHarness({
      more: (context) => profilesRoutes({ ...context, service, bodyGrants: openBodyGrants(context) }),
    });
    const mine = await gateway.key();
    const body = { query: "Kranwerk" };
    expect((await gateway.call("POST", "/v1/profiles/suggest", { key: mine, body })).status).toBe(503);
    await gateway.clock.advance(SECOND_MS);
    expect(await listedRows(gateway, mine)).toMatchObject([{ category: "profiles", error: "interrupted" }]);
  });

  test.each([
    ["no_answer", 503, 1],
    ["lease_lost", 503, 1],
    ["documents_unreachable", 503, 1],
    ["no_workers", 503, 0],
    ["overloaded", 503, 0],
  ] as const satisfies readonly (readonly [FaultCode, number, number])[])(
    "and ended with the fault %s is answered %i and has %i rows",
    async (code, status, rows) => {
      const gateway = await gatewayHarness({
        fetch: async (_request, _signal, beginWork) => {
          await beginWork();
          throw new Fault(code, "broken");
        },
      });
      const mine = await gateway.key();
      expect((await gateway.fetch(PAGE, { key: mine })).status).toBe(status);
      await gateway.clock.advance(SECOND_MS);
      expect(await listedRows(gateway, mine)).toHaveLength(rows);
      expect(await gateway.documents.list(PENDING_REQUESTS.name, { limit: 10 })).toEqual([]);
    },
  );

  test("whose row cannot be stored is answered 503 and has its row later, once", async () => {
    const documents = memoryDocuments();
    let isAway = false;
    const gateway = await gatewayHarness({
      documents: {
        ...documents,
        put: async (...named) => {
          if (isAway && named[0] === "ledger") throw new Fault("documents_unreachable", "away");
          return documents.put(...named);
        },
      },
      fetch: async (_request, _signal, beginWork) => {
        await beginWork();
        isAway = true;
        return fetchAnswer({});
      },
    });
    const mine = await gateway.key();
    expect((await gateway.fetch(PAGE, { key: mine })).status).toBe(503);
    isAway = false;
    await gateway.clock.advance(2 * SECOND_MS);
    expect(await listedRows(gateway, mine)).toMatchObject([{ ok: true, error: null }]);
    const { clock, telemetry, money } = gateway;
    await recoverPending({ documents, clock, log: telemetry.log, spentBy: money.spentBy }, 0);
    expect(await documents.list(PENDING_REQUESTS.name, { limit: 10 })).toEqual([]);
    expect(await listedRows(gateway, mine)).toHaveLength(1);
  });

  test("is not begun when the store is away: 503, and no row", async () => {
    const documents = memoryDocuments();
    let isAway = false;
    let asked = 0;
    const gateway = await gatewayHarness({
      documents: {
        ...documents,
        put: async (...named) => {
          if (isAway && named[0] === PENDING_REQUESTS.name) throw new Fault("documents_unreachable", "away");
          return documents.put(...named);
        },
      },
      fetch: async (_request, _signal, beginWork) => {
        await beginWork();
        asked++;
        return fetchAnswer({});
      },
    });
    const mine = await gateway.key({ quotas: { fetch: 1 } });
    isAway = true;
    expect((await gateway.fetch(PAGE, { key: mine })).status).toBe(503);
    isAway = false;
    expect(asked).toBe(0);
    expect(await listedRows(gateway, mine)).toEqual([]);
    expect((await gateway.fetch(PAGE, { key: mine })).status).toBe(200);
    expect(await listedRows(gateway, mine)).toHaveLength(1);
  });
});

describe("documents of pending requests and their rows", () => {
  /** A gateway with so many pages a second, each of which takes half a second. Writes are counted after the first two seconds. */
  async function loaded(rps: number, seconds: number) {
    const clock = virtualClock();
    const stored = memoryDocuments();
    let writes = 0;
    const documents: Documents = {
      ...stored,
      put: (...named) => (writes++, stored.put(...named)),
      remove: (...named) => (writes++, stored.remove(...named)),
    };
    const deps = { documents, clock, log: silentTelemetry().log };
    const pending = pendingRequests({ ...deps, gateway: () => "g1" });
    const ledger = openLedger({ ...deps, ask: () => new Promise<never>(() => {}), writer: () => "g1" });
    let slowest_ms = 0;
    let answered = 0;
    const wait = (ms: number) => new Promise<void>((resolve) => void clock.at(clock.now() + ms, resolve));
    const fetchPage = async (n: number): Promise<void> => {
      await wait((n * SECOND_MS) / rps);
      const row = ledgerRow({ request_id: `r${n}`, at_ms: Math.floor(clock.now()) });
      const began_ms = clock.now();
      await pending.begin({ customer: "acme", row });
      await wait(SECOND_MS / 2);
      await ledger.store("acme", ...partsOf(row), { within_ms: pending.gatherMs() });
      pending.end(row.request_id);
      slowest_ms = Math.max(slowest_ms, clock.now() - began_ms - SECOND_MS / 2);
      answered++;
    };
    for (let n = 0; n < rps * seconds; n++) void fetchPage(n);
    await clock.advance(2 * SECOND_MS);
    const before = { answered, writes };
    await clock.advance((seconds - 2) * SECOND_MS);
    const requests_for_each_write = (answered - before.answered) / (writes - before.writes);
    await clock.advance(4 * SECOND_MS);
    expect(answered).toBe(rps * seconds);
    expect(await stored.list(PENDING_REQUESTS.name, { limit: 10 })).toEqual([]);
    return { requests_for_each_write, slowest_ms };
  }

  test("carry 50 requests and more each under load, and delay each for at most 240 ms", async () => {
    const { requests_for_each_write, slowest_ms } = await loaded(1_000, 6);
    expect(requests_for_each_write).toBeGreaterThanOrEqual(50);
    expect(slowest_ms).toBeLessThanOrEqual(240);
  });

  test("delay no request that is alone", async () => {
    const { slowest_ms } = await loaded(1, 5);
    expect(slowest_ms).toBe(0);
  });

  test("are written again when all of their requests have ended, and removed when none follows within seconds", async () => {
    const clock = virtualClock();
    const documents = memoryDocuments();
    const { log } = silentTelemetry();
    const pending = pendingRequests({ documents, clock, log, gateway: () => "g1" });
    const keys = new Set<string>();
    for (let n = 0; n < 5; n++) {
      await pending.begin({ customer: "acme", row: ledgerRow({ request_id: `r${n}` }) });
      const [only, ...others] = await documents.list(PENDING_REQUESTS.name, { limit: 10 });
      expect(only!.value).toMatchObject({ rows: [{ row: { request_id: `r${n}` } }] });
      expect(others).toEqual([]);
      keys.add(only!.key);
      pending.end(`r${n}`);
    }
    expect(keys.size).toBe(1);
    await clock.advance(2 * SECOND_MS);
    expect(await documents.list(PENDING_REQUESTS.name, { limit: 10 })).toEqual([]);
  });

  test("that another node has removed are replaced by new ones", async () => {
    const clock = virtualClock();
    const documents = memoryDocuments();
    const { log } = silentTelemetry();
    const pending = pendingRequests({ documents, clock, log, gateway: () => "g1" });
    const begin = (request_id: string) => pending.begin({ customer: "acme", row: ledgerRow({ request_id }) });
    await begin("r1");
    pending.end("r1");
    await documents.removeRange(PENDING_REQUESTS.name, "", ";");
    await begin("r2");
    expect(await documents.list(PENDING_REQUESTS.name, { limit: 10 })).toMatchObject([
      { value: { rows: [{ row: { request_id: "r2" } }] } },
    ]);
  });
});

/** Reserved for an attempt, and what it costs. */
const MOST_MICROS = 500_000;
const COST_MICROS = 300_000;
const LEFT = [
  PENDING_REQUESTS.name,
  "ledger",
  "account",
  "request_spend",
  "keys",
  "projects",
  "customers",
  "names",
] as const;
/** Fates of one request before its gateway is killed. */
const FATES = [
  "answered",
  "cached",
  "busy",
  "broken",
  "late",
  "under_way",
  "paid",
  "lost_while_paying",
] as const;

test("a gateway that is killed at any moment leaves each request that was begun exactly one row with what it cost, however often it is recovered", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...FATES), { minLength: 1, maxLength: 12 }),
      fc.integer({ min: 0, max: 160 * SECOND_MS }),
      fc.boolean(),
      async (fates, killed_ms, atOnce) => {
        const begun = new Set<string>();
        const refused = new Set<string>();
        const gateway = await gatewayHarness({
          fetch: async (request, _signal, beginWork) => {
            const { fetch_id, url } = request;
            const fate = url.split("/").at(-1) as (typeof FATES)[number];
            if (fate === "cached") return fetchAnswer({}, { cached: true });
            await beginWork();
            begun.add(fetch_id);
            if (fate === "busy") {
              refused.add(fetch_id);
              return fetchAnswer({}, { error: "domain_busy", retry_after_s: 1 });
            }
            const { ask, money } = gateway;
            const attempt_id = `${fetch_id}.proxy.1`;
            const isPaying = fate === "paid" || fate === "lost_while_paying";
            if (isPaying) await money.reserve(ask, request, attempt_id, MOST_MICROS);
            if (fate === "broken" || fate === "lost_while_paying") throw new Fault("lease_lost", "broken");
            const ms = fate === "late" ? 155 * SECOND_MS : 2 * SECOND_MS;
            if (fate !== "answered")
              await new Promise<void>((done) => void gateway.clock.at(gateway.clock.now() + ms, done));
            if (fate !== "paid") return fetchAnswer({});
            await money.settle(ask, request, attempt_id, COST_MICROS);
            await new Promise<void>((done) => void gateway.clock.at(gateway.clock.now() + SECOND_MS, done));
            return fetchAnswer({ tier: "proxy" }, { cost_usd: fromMicros(COST_MICROS) });
          },
        });
        const { documents, clock } = gateway;
        const mine = await gateway.key();
        const answers = fates.map((fate) =>
          gateway.fetch({ url: `https://example.org/${fate}` }, { key: mine }),
        );
        for (const answer of answers) answer.catch(() => {});
        await clock.advance(killed_ms);
        // The documents of that moment are all that is left of the gateway.
        const left = memoryDocuments();
        for (const collection of LEFT)
          for (const { key, value } of await documents.list(collection, { limit: 1_000 }))
            await left.put(collection, key, value, 0);
        const next = await gatewayHarness({ documents: left, at_ms: clock.now() + PENDING_TTL_MS });
        const { spentBy } = next.money;
        const deps = { documents: left, clock: next.clock, log: next.telemetry.log, spentBy };
        const recover = () => recoverPending(deps, atOnce ? 0 : PENDING_TTL_MS);
        const recovered = Promise.all([recover(), recover()]);
        await next.clock.advance(10 * SECOND_MS);
        await recovered;
        await recover();
        const stored = (await left.list("ledger", { limit: 1_000 })).flatMap(({ value }) =>
          rowsOf(value as LedgerBatch),
        );
        const ids = stored.map(({ request_id }) => request_id);
        expect(new Set(ids).size).toBe(ids.length);
        expect(ids).toEqual(expect.arrayContaining([...begun.difference(refused)]));
        expect(await left.list(PENDING_REQUESTS.name, { limit: 10 })).toEqual([]);
        const month = monthOf(clock.now());
        const { settled } = await next.ask(Account, accountKey("default", "default"), "allowances", {
          month,
        });
        expect(stored.reduce((sum, { cost_micros }) => sum + cost_micros, 0)).toBe(settled.spend_micros);
      },
    ),
    { numRuns: 40 },
  );
}, 120_000);
