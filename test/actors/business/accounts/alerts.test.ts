/** Usage alerts: who hears of what, how often, and that secrets are shown once. */
import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { listHooks } from "../../../../actors/business/accounts/alerts.ts";
import { setRate } from "../../../../actors/business/accounts/exchange.ts";
import {
  createCustomer,
  createProject,
  limitKey,
  setBudget,
} from "../../../../actors/business/accounts/keys.ts";
import type { FakeWeb } from "../../../../cluster/adapters/egress/egress.fake.ts";
import { fetchAnswer, gatewayHarness } from "../../../harness/gateway-harness.ts";

const HOOK = "https://client.example/hook";
const OK: FakeWeb = { [HOOK]: { status: 204 } };
const PAGE = { url: "https://example.org/" };
const MINUTE_MS = 60_000;

/** A gateway at which every fetch costs half a dollar. */
async function paying(web: FakeWeb = OK) {
  const gateway = await gatewayHarness({
    web,
    fetch: async (request) => {
      await gateway.spend(request, 500_000);
      return fetchAnswer({}, { cost_usd: "0.5" });
    },
  });
  /** By threshold: deliveries to one webhook are made at once, in any order. */
  const received = () =>
    gateway.egress.hits
      .map(({ request }) => ({
        body: JSON.parse(request.body!.toString()),
        raw: request.body!.toString(),
        headers: Object.fromEntries(request.headers),
      }))
      .toSorted((a, b) => a.body.threshold - b.body.threshold);
  const create = (body: object, key?: string) =>
    gateway.call("POST", "/v1/alerts", { body: { url: HOOK, ...body }, ...(key !== undefined && { key }) });
  const list = async (key?: string) =>
    (await gateway.call("GET", "/v1/alerts", key === undefined ? {} : { key })).json.alerts;
  return { ...gateway, received, create, list };
}

describe("a crossed threshold", () => {
  test("is delivered once to each webhook that wants it, signed with its secret", async () => {
    const { fetch, key, create, received, clock, list } = await paying();
    const mine = await key({ spend_cap_micros: 2_000_000, quotas: { fetch: 1_000 } });
    const { status, json: hook } = await create({ scope: "key", thresholds: [50, 100] }, mine);
    expect([status, hook.key, hook.thresholds]).toEqual([201, mine.slice(0, 10), [50, 100]]);
    for (let n = 0; n < 5; n++) await fetch(PAGE, { key: mine });
    await clock.advance(MINUTE_MS);
    expect(received().map(({ body }) => [body.threshold, body.used, body.limit, body.unit])).toEqual([
      [50, "1.000000", "2.000000", "USD"],
      [100, "2.000000", "2.000000", "USD"],
    ]);
    const [{ body, raw, headers }] = received() as [ReturnType<typeof received>[number]];
    expect(body).toEqual({
      id: expect.stringMatching(/^evt_[0-9a-f]{26}$/),
      type: "usage.threshold",
      created_at: expect.stringMatching(/^2026-11-21T12:0/),
      scope: "key",
      key: mine.slice(0, 10),
      project: "default",
      threshold: 50,
      period: "2026-11",
      used: "1.000000",
      limit: "2.000000",
      unit: "USD",
      resets_at: "2026-12-01T00:00:00.000Z",
    });
    const [t, v1] = headers["X-Service-Signature"]!.split(",").map((part) => part.split("=")[1]!);
    expect(createHmac("sha256", hook.secret).update(`${t}.${raw}`).digest("hex")).toBe(v1);
    expect(await list(mine)).toEqual([
      { ...hook, secret: undefined, last_delivery_at: expect.any(String), last_status: "delivered_204" },
    ]);
  });

  test.each([
    ["http://client.example/hook", "url_scheme"],
    ["ftp://client.example/hook", "url_scheme"],
    ["client.example", "url_scheme"],
    ["https://10.0.0.7/hook", "blocked_destination"],
    ["https://169.254.169.254/latest", "blocked_destination"],
    ["https://metadata.google.internal/", "blocked_destination"],
    ["https://[::ffff:127.0.0.1]/hook", "blocked_destination"],
    ["https://localhost/hook", "blocked_destination"],
    ["https://client.example:6379/hook", "blocked_destination"],
  ])("at %s is refused when it is made: %s", async (url, type) => {
    const { create, list } = await paying();
    expect(await create({ url, scope: "key" })).toMatchObject({
      status: 422,
      json: { detail: [{ loc: ["body", "url"], type }] },
    });
    expect(await list()).toEqual([]);
  });

  test("is tried again until the receiver answers, and is then over for the month", async () => {
    let failures = 3;
    const { fetch, key, create, received, clock, list } = await paying({
      [HOOK]: () => ({ status: failures-- > 0 ? 500 : 200 }),
    });
    const mine = await key({ quotas: { fetch: 2 } });
    await create({ scope: "key", thresholds: [100] }, mine);
    for (let n = 0; n < 2; n++) await fetch(PAGE, { key: mine });
    await clock.advance(3_000);
    expect((await list(mine))[0].last_status).toBe("http_500");
    await clock.advance(60 * MINUTE_MS);
    expect(received().map(({ body }) => body.unit)).toEqual(Array(4).fill("fetch_requests"));
    expect(new Set(received().map(({ body }) => body.id)).size).toBe(1);
    expect((await list(mine))[0].last_status).toBe("delivered_200");
  });

  test("of a limit that was lowered is delivered at the next request, in the customer's currency", async () => {
    const { fetch, key, create, received, clock, documents } = await paying();
    await setRate(documents, "CHF", 880_000, clock.now());
    await createCustomer(documents, { name: "swiss", external: false, currency: "CHF" }, clock.now());
    await createProject(documents, { name: "alps", customer: "swiss" }, clock.now());
    const admin = await key({ project: "alps", role: "account_admin" });
    expect((await create({ scope: "project" }, admin)).json.project).toBe("alps");
    await fetch(PAGE, { key: admin });
    await setBudget(documents, "alps", 1_000_000);
    await clock.advance(MINUTE_MS);
    expect(received()).toEqual([]);
    await fetch(PAGE, { key: admin });
    await clock.advance(MINUTE_MS);
    expect(
      received().map(({ body }) => [body.scope, body.threshold, body.used, body.limit, body.unit]),
    ).toEqual([
      ["project", 50, "0.880000", "1.000000", "CHF"],
      ["project", 80, "0.880000", "1.000000", "CHF"],
    ]);
  });

  test("of an external customer does not say what was spent", async () => {
    const { fetch, key, create, received, clock, documents } = await paying();
    await createCustomer(documents, { name: "acme", external: true, currency: "USD" }, clock.now());
    await createProject(documents, { name: "theirs", customer: "acme" }, clock.now());
    const theirs = await key({ project: "theirs", spend_cap_micros: 1_000_000 });
    await create({ scope: "key", thresholds: [50] }, theirs);
    await fetch(PAGE, { key: theirs });
    await clock.advance(MINUTE_MS);
    expect(received().map(({ body }) => [body.used, body.limit])).toEqual([[null, "1.000000"]]);
  });

  test("is delivered again in the next month only", async () => {
    const { fetch, key, create, received, clock, documents } = await paying();
    const mine = await key({ quotas: { fetch: 2 } });
    await create({ scope: "key", thresholds: [50] }, mine);
    await fetch(PAGE, { key: mine });
    await clock.advance(MINUTE_MS);
    await limitKey(documents, mine.slice(0, 10), { quotas: { fetch: 4 } });
    await clock.advance(MINUTE_MS);
    for (let n = 0; n < 3; n++) await fetch(PAGE, { key: mine });
    await clock.advance(MINUTE_MS);
    expect(received().map(({ body }) => body.period)).toEqual(["2026-11"]);
    await clock.advance(Date.UTC(2026, 11, 2) - clock.now());
    for (let n = 0; n < 2; n++) await fetch(PAGE, { key: mine });
    await clock.advance(MINUTE_MS);
    expect(received().map(({ body }) => body.period)).toEqual(["2026-11", "2026-12"]);
  });
});

describe("webhooks", () => {
  test("a standard key sees and registers those of itself, an admin key its whole account", async () => {
    const { key, create, list, call, documents, clock } = await paying();
    const [a, b] = [await key(), await key()];
    await createCustomer(documents, { name: "other", external: true, currency: "USD" }, clock.now());
    await createProject(documents, { name: "theirs", customer: "other" }, clock.now());
    const foreign = await key({ project: "theirs", role: "account_admin" });
    expect((await create({ scope: "key" }, a)).status).toBe(201);
    for (const wrong of [{ scope: "project" }, { scope: "customer" }, { scope: "key", key: b.slice(0, 10) }])
      expect((await create(wrong, a)).json.detail.error).toBe("admin_key_required");
    expect((await create({ scope: "key", key: b.slice(0, 10) })).status).toBe(201);
    expect((await create({ scope: "key", key: foreign.slice(0, 10) })).status).toBe(404);
    expect((await create({ scope: "project", project: "theirs" })).status).toBe(404);
    for (const wrong of [
      { url: "ftp://client.example/" },
      { thresholds: [60] },
      { thresholds: [] },
      { scope: "project", key: a.slice(0, 10) },
    ])
      expect((await create({ scope: "key", ...wrong })).status).toBe(422);
    expect((await create({ scope: "key", thresholds: [50, 50] })).json.detail[0].loc).toEqual([
      "body",
      "thresholds",
    ]);
    expect((await list(a)).map(({ id }: any) => id)).toEqual([1]);
    expect((await list(b)).map(({ id }: any) => id)).toEqual([2]);
    expect((await list()).map(({ id }: any) => id)).toEqual([1, 2]);
    expect(await list(foreign)).toEqual([]);
    expect(JSON.stringify(await list())).not.toContain("whsec_");
    const remove = (id: number, of: string) => call("DELETE", `/v1/alerts/${id}`, { key: of });
    expect([(await remove(2, a)).status, (await remove(2, foreign)).status]).toEqual([404, 404]);
    expect([(await remove(2, b)).status, (await remove(2, b)).status]).toEqual([204, 404]);
    // A number is not given again.
    expect((await create({ scope: "customer" })).json.id).toBe(3);
    expect(await listHooks(documents, "default")).toHaveLength(2);
  });

  test("a removed webhook hears nothing of what was still to be delivered", async () => {
    const { fetch, key, create, received, clock, call } = await paying({ [HOOK]: { status: 500 } });
    const mine = await key({ quotas: { fetch: 1 } });
    const { id } = (await create({ scope: "key", thresholds: [100] }, mine)).json;
    await fetch(PAGE, { key: mine });
    await clock.advance(3_000);
    await call("DELETE", `/v1/alerts/${id}`, { key: mine });
    const tried = received().length;
    await clock.advance(60 * MINUTE_MS);
    expect([tried > 0, received().length - tried]).toEqual([true, 0]);
  });
});
