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
import { keyQuotas } from "../../gateway/quotas.ts";
import { shape } from "../../gateway/validate.ts";
import { Account, type Bill, Quota } from "../../schemas/accounts.ts";
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

  test("counts usage after a report without usage", async () => {
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
  const shaky = ((...given: Parameters<ActorClient>) =>
    broken.now ? Promise.reject(new Fault("no_answer", "Nobody")) : ask(...given)) as ActorClient;
  const gateway = (name: string) => {
    const quotas = keyQuotas({ ask: shaky, clock, log, gateway: name });
    return metering({ ask: shaky, clock, log, quotas, gateway: name });
  };
  const total = async () =>
    (await ask(Account, "default default", "usage", { month: "2026-11" })).keys[grant.key.prefix]?.fetch_own
      ?.requests ?? 0;
  return { clock, ask, one: gateway("one"), two: gateway("two"), total, grant, broken, telemetry };
}

describe("metering", () => {
  test("reports about once a second what each gateway counted", async () => {
    const { clock, one, two, total, grant } = await gateways();
    const [here, there] = [await one.open(grant), await two.open(grant)];
    for (let i = 0; i < 3; i++) one.count(here, bill());
    two.count(there, bill());
    expect(await total()).toBe(0);
    await clock.advance(1_000);
    expect(await total()).toBe(4);
  });

  test("repeats a report under its number until it is acknowledged, and counts on meanwhile", async () => {
    const { clock, one, total, grant, broken } = await gateways();
    const here = await one.open(grant);
    one.count(here, bill());
    broken.now = true;
    await clock.advance(3_000);
    one.count(here, bill());
    await clock.advance(3_000);
    expect(await total()).toBe(0);
    broken.now = false;
    await clock.advance(1_000);
    expect(await total()).toBe(2);
  });

  test("reports what an old month owes as the old month's", async () => {
    const { clock, one, total, grant } = await gateways();
    const here = await one.open(grant);
    one.count(here, bill());
    one.turn(here, Date.UTC(2026, 11, 1));
    one.count(here, bill());
    await clock.advance(1_000);
    expect(await total()).toBe(1);
  });

  test("drains, and logs what it cannot report", async () => {
    const { one, two, total, grant, broken, telemetry } = await gateways();
    one.count(await one.open(grant), bill());
    await one.drain();
    expect(await total()).toBe(1);
    two.count(await two.open(grant), bill());
    broken.now = true;
    await two.drain();
    expect(telemetry.lines.filter(({ level }) => level === "error")).toHaveLength(1);
  });
});
