/** GET /v1/quota and the metering behind it. */
import { describe, expect, test } from "vitest";
import { accountActor } from "../../actors/accounts/actor.ts";
import { createCustomer, createProject, findGrant, prepareAccounts } from "../../actors/accounts/keys.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import type { ActorClient } from "../../cluster/actor.ts";
import { embedded } from "../../cluster/embedded.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import { metering } from "../../gateway/metering.ts";
import { shape } from "../../gateway/validate.ts";
import { Account, type Bill, type Grant, Quota } from "../../schemas/accounts.ts";
import { fetchAnswer, gatewayHarness, NOON_MS } from "../harness/gateway-harness.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";

const quota = shape(Quota);
const PAGE = { url: "https://example.org/" };

describe("GET /v1/quota", () => {
  test("counts what was used a moment ago", async () => {
    const { fetch, call, key } = await gatewayHarness({
      fetch: async () => fetchAnswer({ tier: "proxy", bytes: 10 }, { cost_usd: "0.5" }),
    });
    const mine = await key({ label: "mine", quotas: { fetch: 10 }, spend_cap_micros: 2_000_000 });
    await fetch(PAGE, { key: mine });
    await fetch(PAGE, { key: mine });
    const { status, json } = await call("GET", "/v1/quota", { key: mine });
    expect([status, quota.read("body", json).kind]).toEqual([200, "read"]);
    expect(json).toEqual({
      key: mine.slice(0, 10),
      role: "standard",
      period: "2026-11",
      resets_at: "2026-12-01T00:00:00.000Z",
      as_of: "2026-11-21T12:00:00.000Z",
      usage_refreshed_at: "2026-11-21T12:00:00.000Z",
      keys: [
        {
          prefix: mine.slice(0, 10),
          label: "mine",
          role: "standard",
          project: "default",
          status: "active",
          categories: null,
          rate_limit_rps: null,
          requests: {
            search: { used: 0, limit: null, remaining: null },
            fetch: { used: 2, limit: 10, remaining: 8 },
          },
          spend: { used: "1.000000", limit: "2.000000", remaining: "1.000000", currency: "USD" },
        },
      ],
      project: {
        name: "default",
        rate_limit_rps: 200,
        requests: {
          search: { used: 0, limit: null, remaining: null },
          fetch: { used: 2, limit: null, remaining: null },
        },
        spend: { used: "1.000000", limit: null, remaining: null, currency: "USD" },
      },
      customer: null,
      events: [
        {
          scope: "key",
          key: mine.slice(0, 10),
          project: "default",
          allowance: "spend",
          threshold: 50,
          crossed_at: "2026-11-21T12:00:00.000Z",
        },
      ],
    });
  });

  test("counts what was used after it had nothing to tell", async () => {
    const { fetch, call, key } = await gatewayHarness();
    const mine = await key();
    const used = async () => (await call("GET", "/v1/quota", { key: mine })).json.keys[0].requests.fetch.used;
    await fetch(PAGE, { key: mine });
    expect([await used(), await used()]).toEqual([1, 1]);
    await fetch(PAGE, { key: mine });
    expect(await used()).toBe(2);
  });

  test("shows an admin key its whole customer, a standard key only itself (Authentication 4)", async () => {
    const { fetch, call, key, documents, clock, first } = await gatewayHarness();
    await createProject(documents, { name: "second", customer: "default" }, clock.now());
    await createCustomer(documents, { name: "acme", external: true, currency: "CHF" }, clock.now());
    await createProject(documents, { name: "theirs", customer: "acme" }, clock.now());
    const [a, b, c] = [await key(), await key({ project: "second" }), await key({ project: "theirs" })];
    for (const used of [a, b, b, c]) await fetch(PAGE, { key: used });
    const all = (await call("GET", "/v1/quota")).json;
    expect(all.keys.map(({ prefix }: any) => prefix).toSorted()).toEqual(
      [first, a, b].map((secret) => secret.slice(0, 10)).toSorted(),
    );
    expect(all.customer.projects.map(({ name, requests }: any) => [name, requests.fetch.used])).toEqual([
      ["default", 1],
      ["second", 2],
    ]);
    const own = (await call("GET", "/v1/quota", { key: b })).json;
    expect([own.customer, own.keys.length, own.project.name]).toEqual([null, 1, "second"]);
    const external = (await call("GET", "/v1/quota", { key: c })).json;
    expect(external.keys[0].spend).toMatchObject({ used: null, currency: "CHF" });
  });
});

const bill = (more: Partial<Bill> = {}): Bill => ({
  category: "fetch_own",
  ok: true,
  bytes: 1,
  paid: false,
  cost_micros: 0,
  ...more,
});

/** Two gateways over the same accounts. */
async function gateways(broken: { now: boolean } = { now: false }) {
  const clock = virtualClock(NOON_MS);
  const documents = memoryDocuments();
  const telemetry = silentTelemetry();
  const { metrics, log } = telemetry;
  const { ask } = embedded([accountActor()], { clock, documents, metrics, log, random: seededRandom(1) });
  await prepareAccounts(documents, "ak_0123456789abcdefghij", clock.now());
  const [{ key: id } = { key: "" }] = await documents.list("keys", { limit: 1 });
  const grant = (await findGrant(documents, id))!;
  const limited: Grant = { ...grant, key: { ...grant.key, quotas: { search: null, fetch: 100 } } };
  const shaky = ((...given: Parameters<ActorClient>) =>
    broken.now ? Promise.reject(new Fault("no_answer", "Nobody")) : ask(...given)) as ActorClient;
  const firstGateway = metering({ ask: shaky, clock, log, gateway: "one" });
  const secondGateway = metering({ ask: shaky, clock, log, gateway: "two" });
  const total = async () =>
    (await ask(Account, "default", "usage", { month: "2026-11" })).keys[grant.key.prefix]?.fetch_own
      ?.requests ?? 0;
  return { clock, ask, firstGateway, secondGateway, total, grant: limited, broken, telemetry };
}

describe("metering", () => {
  test("tells about once a second, and learns what the other gateway saw", async () => {
    const { clock, firstGateway, secondGateway, total, grant } = await gateways();
    const [firstMeter, secondMeter] = [await firstGateway.open(grant), await secondGateway.open(grant)];
    for (let i = 0; i < 3; i++) {
      void firstGateway.claim(firstMeter, "fetch");
      firstGateway.complete(firstMeter, "fetch", bill());
    }
    void secondGateway.claim(secondMeter, "fetch");
    secondGateway.complete(secondMeter, "fetch", bill());
    expect([firstMeter.used.fetch, secondMeter.used.fetch, await total()]).toEqual([3, 1, 0]);
    await clock.advance(1_000);
    expect(await total()).toBe(4);
    secondGateway.complete(secondMeter, null, bill({ category: "fetch_cached" }));
    await clock.advance(1_000);
    expect(secondMeter.used.fetch).toBe(5);
  });

  test("says the same tally under the same number until it is heard, and counts on meanwhile", async () => {
    const { clock, firstGateway, total, grant, broken } = await gateways();
    const firstMeter = await firstGateway.open(grant);
    firstGateway.complete(firstMeter, null, bill());
    broken.now = true;
    await clock.advance(3_000);
    firstGateway.complete(firstMeter, null, bill());
    await clock.advance(3_000);
    expect(await total()).toBe(0);
    broken.now = false;
    await clock.advance(1_000);
    expect(await total()).toBe(2);
  });

  test("what was reserved and not settled stays counted when the actor answers", async () => {
    const { clock, firstGateway, grant } = await gateways();
    const firstMeter = await firstGateway.open(grant);
    void firstGateway.claim(firstMeter, "fetch");
    firstGateway.complete(firstMeter, null, bill({ category: "fetch_own" }));
    await clock.advance(1_000);
    expect(firstMeter.used.fetch).toBe(2);
    firstGateway.complete(firstMeter, "fetch", null);
    expect(firstMeter.used.fetch).toBe(1);
  });

  test("a gateway that starts anew knows what was used before", async () => {
    const { clock, firstGateway, secondGateway, grant } = await gateways();
    firstGateway.complete(await firstGateway.open(grant), null, bill());
    await clock.advance(1_000);
    expect((await secondGateway.open(grant)).used.fetch).toBe(1);
  });

  test("a new month begins at nought, and what the old one owes is told as the old one's", async () => {
    const { clock, firstGateway, total, grant } = await gateways();
    const firstMeter = await firstGateway.open(grant);
    firstGateway.complete(firstMeter, null, bill());
    firstGateway.turn(firstMeter, Date.UTC(2026, 11, 1));
    expect(firstMeter.used.fetch).toBe(0);
    firstGateway.complete(firstMeter, null, bill());
    await clock.advance(1_000);
    expect(await total()).toBe(1);
  });

  test("drains, and says so when it cannot", async () => {
    const { firstGateway, secondGateway, total, grant, broken, telemetry } = await gateways();
    firstGateway.complete(await firstGateway.open(grant), null, bill());
    await firstGateway.drain();
    expect(await total()).toBe(1);
    secondGateway.complete(await secondGateway.open(grant), null, bill());
    broken.now = true;
    await secondGateway.drain();
    expect(telemetry.lines.filter(({ level }) => level === "error")).toHaveLength(1);
  });
});
