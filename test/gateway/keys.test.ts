/** POST, PATCH and DELETE /v1/keys: an account admin makes, changes and revokes keys of its customer, and of no other. */
import { describe, expect, test } from "vitest";
import { createCustomer, createProject, findKey } from "../../actors/business/accounts/keys.ts";
import { gatewayHarness } from "../harness/gateway-harness.ts";

async function customers() {
  const gateway = await gatewayHarness();
  const { call, documents, clock } = gateway;
  await createCustomer(documents, { name: "acme", external: false, currency: "CHF" }, clock.now());
  for (const name of ["theirs", "spare"])
    await createProject(documents, { name, customer: "acme" }, clock.now());
  const admin = await gateway.key({ project: "theirs", role: "account_admin" });
  const create = (body: object, key: string = admin) => call("POST", "/v1/keys", { key, body });
  const change = (prefix: string, body: object, key: string = admin) =>
    call("PATCH", `/v1/keys/${prefix}`, { key, body });
  const revoke = (prefix: string, key: string = admin) => call("DELETE", `/v1/keys/${prefix}`, { key });
  const rotate = (prefix: string, body: object = {}, key: string = admin) =>
    call("POST", `/v1/keys/${prefix}/rotate`, { key, body });
  const statusOf = async (key: string) => (await call("GET", "/v1/quota", { key })).status;
  const prefixes = async (key: string = admin) =>
    (await call("GET", "/v1/keys", { key })).json.keys.map(({ prefix }: { prefix: string }) => prefix);
  return { ...gateway, admin, create, change, revoke, rotate, statusOf, prefixes };
}

const fields = ({ json }: { json: any }): string[] =>
  json.detail.map(({ loc }: { loc: string[] }) => loc.slice(1).join("."));

describe("an account admin", () => {
  test("makes a key that is shown once and works, with the limits it asked for", async () => {
    const { call, create, prefixes } = await customers();
    const limits = {
      label: "nightly",
      categories: ["fetch"],
      rate_limit_rps: 7,
      quotas: { search: null, fetch: 5 },
      spend_cap: "2.500000",
      paid_fetches: false,
    };
    const made = await create({ ...limits, project: "spare" });
    expect(made).toMatchObject({
      status: 201,
      json: { ...limits, project: "spare", role: "standard", status: "active", debug: false },
    });
    const { key, prefix } = made.json;
    expect(key).toMatch(/^sk_[0-9A-Za-z]{43}$/);
    expect(key.startsWith(prefix)).toBe(true);
    expect((await call("GET", "/v1/quota", { key })).json.keys).toMatchObject([
      { prefix, rate_limit_rps: 7, requests: { fetch: { limit: 5 } }, spend: { limit: "2.500000" } },
    ]);
    expect(await prefixes()).toContain(prefix);
    const listed = await call("GET", "/v1/keys", { key: (await create({ role: "account_admin" })).json.key });
    expect([listed.status, listed.bytes.includes(key)]).toEqual([200, false]);
  });

  test("changes a key: what is left out stays, null takes a limit away", async () => {
    const { create, change, call } = await customers();
    const { key, prefix } = (await create({ label: "a", quotas: { fetch: 0, search: 3 }, rate_limit_rps: 2 }))
      .json;
    expect((await call("POST", "/v1/fetch", { key, body: { url: "https://example.org/" } })).status).toBe(
      429,
    );
    const changed = await change(prefix, { quotas: { fetch: null }, label: null });
    expect(changed).toMatchObject({
      status: 200,
      json: { prefix, label: null, quotas: { fetch: null, search: 3 }, rate_limit_rps: 2 },
    });
    expect(changed.json).not.toHaveProperty("key");
  });

  test("revokes a key, also twice", async () => {
    const { create, revoke, call, clock } = await customers();
    const { key, prefix } = (await create({})).json;
    expect((await call("GET", "/v1/quota", { key })).status).toBe(200);
    expect([(await revoke(prefix)).status, (await revoke(prefix)).status]).toEqual([204, 204]);
    await clock.advance(5_000);
    expect((await call("GET", "/v1/quota", { key })).status).toBe(401);
  });

  test.each<[body: object, field: string]>([
    [{ role: "operator" }, "role"],
    [{ role: "admin" }, "role"],
    [{ project: "nowhere" }, "project"],
    [{ project: "default" }, "project"],
    [{ label: "two\nlines" }, "label"],
    [{ label: "x".repeat(201) }, "label"],
    [{ categories: ["filings"] }, "categories.0"],
    [{ categories: [] }, "categories"],
    [{ rate_limit_rps: 0 }, "rate_limit_rps"],
    [{ rate_limit_rps: 1.5 }, "rate_limit_rps"],
    [{ quotas: { fetch: -1 } }, "quotas.fetch"],
    [{ spend_cap: "-1" }, "spend_cap"],
    [{ spend_cap: "1e3" }, "spend_cap"],
    [{ spend_cap: 5 }, "spend_cap"],
    [{ debug: true }, "debug"],
    [{ paid_fetches: "no" }, "paid_fetches"],
    [{ expires_at: "tomorrow" }, "expires_at"],
    [{ expires_at: "2001-01-01T00:00:00Z" }, "expires_at"],
  ])("%o is refused by its field", async (body, field) => {
    const { create, prefixes } = await customers();
    const before = await prefixes();
    const refused = await create(body);
    expect([refused.status, fields(refused)]).toEqual([422, [field]]);
    expect(await prefixes()).toEqual(before);
  });

  test("that is restricted itself gives no more than it has", async () => {
    const { create, change, key } = await customers();
    const own = await key({
      project: "theirs",
      role: "account_admin",
      categories: ["search"],
      paid_fetches: false,
    });
    expect(fields(await create({}, own))).toEqual(["categories", "paid_fetches"]);
    const restricted = { categories: ["search"], paid_fetches: false };
    expect((await create(restricted, own)).status).toBe(201);
    expect(fields(await change(own.slice(0, 10), { categories: null, paid_fetches: true }, own))).toEqual([
      "categories",
      "paid_fetches",
    ]);
    expect((await change(own.slice(0, 10), { rate_limit_rps: 3 }, own)).status).toBe(200);
  });
});

describe("a rotated key", () => {
  test("is replaced by one with its limits, and refused", async () => {
    const { create, rotate, statusOf, clock } = await customers();
    const limits = {
      label: "nightly",
      project: "spare",
      quotas: { search: null, fetch: 5 },
      rate_limit_rps: 7,
    };
    const old = (await create(limits)).json;
    expect(await statusOf(old.key)).toBe(200);
    const made = await rotate(old.prefix);
    expect(made).toMatchObject({ status: 201, json: { ...limits, role: "standard", status: "active" } });
    expect(made.json.key).not.toBe(old.key);
    await clock.advance(5_000);
    expect([await statusOf(old.key), await statusOf(made.json.key)]).toEqual([401, 200]);
    expect((await rotate(old.prefix)).status).toBe(409);
  });

  test("works until its time of grace is over", async () => {
    const { create, rotate, statusOf, clock } = await customers();
    const { key, prefix } = (await create({})).json;
    await rotate(prefix, { grace_s: 60 });
    await clock.advance(50_000);
    expect(await statusOf(key)).toBe(200);
    await clock.advance(15_000);
    expect(await statusOf(key)).toBe(401);
  });

  test("is none that may do more than the calling key, and none of an operator", async () => {
    const { create, rotate, key, statusOf } = await customers();
    const own = await key({ project: "theirs", role: "account_admin", categories: ["search"] });
    const wide = (await create({})).json;
    expect(fields(await rotate(wide.prefix, {}, own))).toEqual(["prefix"]);
    const operator = await key({ project: "theirs", role: "operator" });
    expect(fields(await rotate(operator.slice(0, 10), {}, operator))).toEqual(["prefix"]);
    expect([await statusOf(wide.key), await statusOf(operator)]).toEqual([200, 200]);
  });
});

test("a key expires", async () => {
  const { create, change, statusOf, clock } = await customers();
  const expires_at = new Date(clock.now() + 60_000).toISOString();
  const { key, prefix } = (await create({ expires_at })).json;
  expect(await statusOf(key)).toBe(200);
  expect((await change(prefix, { expires_at: null })).json.expires_at).toBeNull();
  await clock.advance(120_000);
  expect(await statusOf(key)).toBe(200);
  await change(prefix, { expires_at: new Date(clock.now() + 60_000).toISOString() });
  await clock.advance(65_000);
  expect(await statusOf(key)).toBe(401);
});

describe("the last account admin key", () => {
  test("is revoked, or given an end, only when the request says so", async () => {
    const { admin, revoke, change, call, statusOf, clock } = await customers();
    const prefix = admin.slice(0, 10);
    const ends = { expires_at: new Date(clock.now() + 60_000).toISOString() };
    expect([(await revoke(prefix)).status, (await change(prefix, ends)).status]).toEqual([409, 409]);
    expect((await change(prefix, { label: "kept" })).status).toBe(200);
    await clock.advance(5_000);
    expect(await statusOf(admin)).toBe(200);
    expect((await call("DELETE", `/v1/keys/${prefix}?last_admin=true`, { key: admin })).status).toBe(204);
    await clock.advance(5_000);
    expect(await statusOf(admin)).toBe(401);
  });

  test("is not the last while another one works", async () => {
    const { admin, create, revoke } = await customers();
    const second = (await create({ role: "account_admin" })).json;
    expect((await revoke(second.prefix)).status).toBe(204);
    expect((await revoke(admin.slice(0, 10))).status).toBe(409);
    const third = (await create({ role: "account_admin" })).json;
    expect((await revoke(admin.slice(0, 10))).status).toBe(204);
    expect((await revoke(third.prefix, third.key)).status).toBe(409);
  });
});

test("what was done to keys stands in the account's events, and in no other account's", async () => {
  const { admin, create, change, rotate, revoke, call, first, clock } = await customers();
  const { prefix } = (await create({ label: "a" })).json;
  await clock.advance(1_000);
  await change(prefix, { quotas: { fetch: 1 } });
  await clock.advance(1_000);
  const made = (await rotate(prefix)).json;
  await clock.advance(1_000);
  await revoke(made.prefix);
  const by = admin.slice(0, 10);
  const { json } = await call("GET", "/v1/keys/events", { key: admin });
  expect(json.events).toMatchObject([
    { action: "revoked", key: made.prefix, by },
    { action: "rotated", key: prefix, by, replaced_by: made.prefix },
    { action: "changed", key: prefix, by, fields: ["quotas"] },
    { action: "created", key: prefix, by, fields: ["label"] },
  ]);
  expect(JSON.stringify(json)).not.toContain(made.key);
  expect((await call("GET", "/v1/keys/events", { key: first })).json.events).toEqual([]);
});

describe("a key", () => {
  test("of another customer, an operator's and an unknown one do not exist", async () => {
    const { change, revoke, documents, key, first, operator } = await customers();
    const own_operator = await key({ project: "theirs", role: "operator" });
    for (const other of [first, operator, own_operator, "sk_zzzzzzz"]) {
      const prefix = other.slice(0, 10);
      const refused = [await change(prefix, { label: "mine" }), await revoke(prefix)];
      expect(refused.map(({ status, json }) => [status, json])).toEqual([
        [404, { detail: "key not found" }],
        [404, { detail: "key not found" }],
      ]);
      expect((await findKey(documents, prefix))?.status ?? "active").toBe("active");
      expect((await findKey(documents, prefix))?.label).not.toBe("mine");
    }
  });

  test("of an operator is shown to operators only", async () => {
    const { call, prefixes, first, operator } = await customers();
    const quota = async (key: string) =>
      (await call("GET", "/v1/quota", { key })).json.keys.map(({ prefix }: { prefix: string }) => prefix);
    const prefix = operator.slice(0, 10);
    expect([(await prefixes(first)).includes(prefix), (await quota(first)).includes(prefix)]).toEqual([
      false,
      false,
    ]);
    expect([(await prefixes(operator)).includes(prefix), (await quota(operator)).includes(prefix)]).toEqual([
      true,
      true,
    ]);
  });

  test.each(["POST", "PATCH", "DELETE"])("that is standard may not %s one", async (method) => {
    const { call, key } = await customers();
    const own = await key({ project: "theirs" });
    const path = method === "POST" ? "/v1/keys" : `/v1/keys/${own.slice(0, 10)}`;
    const refused = await call(method, path, {
      key: own,
      ...(method !== "DELETE" && { body: { label: "x" } }),
    });
    expect([refused.status, refused.json.detail.error]).toEqual([403, "admin_key_required"]);
  });
});
