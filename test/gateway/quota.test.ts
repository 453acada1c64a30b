/** GET /v1/quota. */
import { describe, expect, test } from "vitest";
import { createCustomer, createProject } from "../../actors/business/accounts/keys.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import { shape } from "../../gateway/validate.ts";
import { Quota } from "../../schemas/accounts.ts";
import { fetchAnswer, gatewayHarness } from "../harness/gateway-harness.ts";

const quota = shape(Quota);
const PAGE = { url: "https://example.org/" };

/** A store in which usage cannot be added up while `isAway` is set. */
function withoutSums() {
  const documents = memoryDocuments();
  const store = {
    isAway: false,
    documents: {
      ...documents,
      put: async (...named) => {
        if (store.isAway && named[0].startsWith("usage_")) throw new Fault("documents_unreachable", "away");
        return documents.put(...named);
      },
    } satisfies Documents as Documents,
  };
  return store;
}

describe("GET /v1/quota", () => {
  test("tells since when usage is not added up, and that it never was", async () => {
    const store = withoutSums();
    const { fetch, call, key, clock } = await gatewayHarness({ documents: store.documents });
    const mine = await key();
    const told = async () => {
      const { json } = await call("GET", "/v1/quota", { key: mine });
      return [json.keys[0].requests.fetch.used, json.usage_refreshed_at];
    };
    store.isAway = true;
    await fetch(PAGE, { key: mine });
    expect(await told()).toEqual([0, null]);
    store.isAway = false;
    expect(await told()).toEqual([1, "2026-11-21T12:00:00.000Z"]);
    await clock.advance(10_000);
    expect(await told()).toEqual([1, "2026-11-21T12:00:10.000Z"]);
    store.isAway = true;
    await clock.advance(1_000);
    await fetch(PAGE, { key: mine });
    expect(await told()).toEqual([1, "2026-11-21T12:00:10.000Z"]);
  });

  test("counts what was used a moment ago", async () => {
    const { fetch, call, key, spend } = await gatewayHarness({
      fetch: async (request) => {
        await spend(request, 500_000);
        return fetchAnswer({ tier: "proxy", bytes: 10 }, { cost_usd: "0.5" });
      },
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
          spend: {
            used: "1.000000",
            limit: "2.000000",
            remaining: "1.000000",
            currency: "USD",
            basis: "provider_cost",
          },
        },
      ],
      project: {
        name: "default",
        rate_limit_rps: 200,
        requests: {
          search: { used: 0, limit: null, remaining: null },
          fetch: { used: 2, limit: null, remaining: null },
        },
        spend: { used: "1.000000", limit: null, remaining: null, currency: "USD", basis: "provider_cost" },
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

  test("shows an admin key of an account with more than 100 projects its own project and keys", async () => {
    const { call, key, documents, clock } = await gatewayHarness();
    for (let n = 0; n < 101; n++)
      await createProject(documents, { name: `a${n}`, customer: "default" }, clock.now());
    await createProject(documents, { name: "zone", customer: "default" }, clock.now());
    const admin = await key({ project: "zone", role: "account_admin" });
    const { json } = await call("GET", "/v1/quota", { key: admin });
    expect(json.keys.map(({ prefix }: any) => prefix)).toContain(admin.slice(0, 10));
    expect(json.customer.projects).toHaveLength(100);
    expect(json.customer.projects.at(-1).name).toBe("zone");
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
