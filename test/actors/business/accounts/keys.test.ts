/** Customers, projects and keys as documents. */
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  allowAgent,
  createCustomer,
  createKey,
  createProject,
  drawKey,
  findGrant,
  listKeys,
  prepareAccounts,
  projectsOf,
  revokeKey,
  setBudget,
  setCustomerStatus,
} from "../../../../actors/business/accounts/keys.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { shape } from "../../../../gateway/validate.ts";
import { Customer, Key, Project } from "../../../../schemas/accounts.ts";

const NOW_MS = Date.UTC(2026, 10, 21);
const sha256 = (key: string) => createHash("sha256").update(key).digest("hex");

async function prepared() {
  const documents = memoryDocuments();
  const { key } = await prepareAccounts(documents, null, NOW_MS);
  return { documents, first: key! };
}

describe("a key", () => {
  test("is the role's mark and 32 bytes in base 62", () => {
    const drawn = Array.from({ length: 200 }, () => drawKey("standard"));
    for (const key of drawn) expect(key).toMatch(/^sk_[0-9A-Za-z]{43}$/);
    expect(new Set(drawn).size).toBe(200);
    expect(drawKey("account_admin", (bytes) => Buffer.alloc(bytes, 0xff))).toMatch(/^ak_[0-9A-Za-z]{43}$/);
    expect(drawKey("standard", (bytes) => Buffer.alloc(bytes))).toBe(`sk_${"0".repeat(43)}`);
  });

  test("is stored as digest and prefix, and nowhere else", async () => {
    const { documents } = await prepared();
    const { key, record } = await createKey(documents, { project: "default", role: "standard" }, NOW_MS);
    expect(record.prefix).toBe(key.slice(0, 10));
    const everything = [];
    for (const collection of ["keys", "names", "projects", "customers"])
      everything.push(...(await documents.list(collection, { limit: 1_000 })));
    expect(JSON.stringify(everything)).toContain(sha256(key));
    expect(JSON.stringify(everything)).not.toContain(key.slice(0, 12));
  });

  test("has a prefix of its own: a taken prefix is drawn again", async () => {
    const { documents } = await prepared();
    const same = "sk_1234567";
    const draws = [`${same}${"a".repeat(36)}`, `${same}${"b".repeat(36)}`, `sk_${"c".repeat(43)}`];
    const draw = () => draws.shift()!;
    const options = { project: "default", role: "standard" } as const;
    expect((await createKey(documents, options, NOW_MS, draw)).key.endsWith("a")).toBe(true);
    expect((await createKey(documents, options, NOW_MS, draw)).key.endsWith("c")).toBe(true);
    const stuck = () => `${same}${"d".repeat(36)}`;
    await expect(createKey(documents, options, NOW_MS, stuck)).rejects.toThrow(
      "20 prefixes in a row were taken",
    );
  });

  test("is found with its project and customer until it is revoked", async () => {
    const { documents } = await prepared();
    const { key, record } = await createKey(documents, { project: "default", role: "standard" }, NOW_MS);
    expect(await findGrant(documents, sha256(key), 0)).toMatchObject({
      key: { prefix: record.prefix },
      project: { name: "default" },
      customer: { name: "default", status: "active" },
    });
    const revoked = await revokeKey(documents, record.prefix, NOW_MS + 1_000);
    expect(revoked).toMatchObject({ status: "revoked", revoked_at: "2026-11-21T00:00:01.000Z" });
    expect(await findGrant(documents, sha256(key), 0)).toBeNull();
    expect(await revokeKey(documents, record.prefix, NOW_MS + 9_000)).toEqual(revoked);
    expect(await findGrant(documents, sha256("sk_unknown"), 0)).toBeNull();
  });

  test("is listed by project, also when it is revoked", async () => {
    const { documents } = await prepared();
    await createProject(documents, { name: "other", customer: "default" }, NOW_MS);
    const { record } = await createKey(documents, { project: "other", role: "standard", label: "x" }, NOW_MS);
    await revokeKey(documents, record.prefix, NOW_MS);
    expect((await listKeys(documents, "other")).map(({ label, status }) => [label, status])).toEqual([
      ["x", "revoked"],
    ]);
    expect(await listKeys(documents)).toHaveLength(2);
  });
});

describe("a mistake of the operator gets a sentence", () => {
  test.each([
    [/no project "nowhere"/, (d: any) => createKey(d, { project: "nowhere", role: "standard" }, NOW_MS)],
    [/no key has this prefix/, (d: any) => revokeKey(d, "sk_0000000", NOW_MS)],
    [/the name is taken/, (d: any) => createProject(d, { name: "default", customer: "default" }, NOW_MS)],
    [
      /there is no customer "absent"/,
      (d: any) => createProject(d, { name: "p", customer: "absent" }, NOW_MS),
    ],
    [/a name is 1 to 63/, (d: any) => createProject(d, { name: "Über uns", customer: "default" }, NOW_MS)],
    [
      /the name is taken/,
      (d: any) => createCustomer(d, { name: "default", external: true, currency: "USD" }, NOW_MS),
    ],
    [/no such name/, (d: any) => setCustomerStatus(d, "absent", "suspended")],
    [/no such name/, (d: any) => allowAgent(d, "nowhere", "x")],
    [/no such name/, (d: any) => setBudget(d, "nowhere", 1)],
    [/17 to 200 characters/, (d: any) => prepareAccounts(d, "sk_0123456789abcdefghijk", NOW_MS)],
    [/17 to 200 characters/, (d: any) => prepareAccounts(d, "ak_short", NOW_MS)],
  ] as const)("%s", async (sentence, mistake) => {
    const { documents } = await prepared();
    await expect(mistake(documents)).rejects.toThrow(sentence);
  });

  test("two admin keys with the same prefix", async () => {
    const documents = memoryDocuments();
    await prepareAccounts(documents, "ak_1234567aaaaaaaaaaaaa", NOW_MS);
    await expect(prepareAccounts(documents, "ak_1234567bbbbbbbbbbbbb", NOW_MS)).rejects.toThrow(
      'another key begins with "ak_1234567"',
    );
  });
});

describe("a project and a customer", () => {
  test("change one field at a time, and two writers lose nothing", async () => {
    const { documents } = await prepared();
    await Promise.all([
      ...["a", "b", "c", "a"].map((agent) => allowAgent(documents, "default", agent)),
      setBudget(documents, "default", 5_000_000),
    ]);
    const [project] = await projectsOf(documents, "default");
    expect(project!.user_agents.toSorted()).toEqual(["a", "b", "c"]);
    expect(project!.budget_micros).toBe(5_000_000);
    expect((await setBudget(documents, "default", null)).budget_micros).toBeNull();
    expect((await setCustomerStatus(documents, "default", "suspended")).status).toBe("suspended");
    expect(await projectsOf(documents, "default")).toHaveLength(1);
  });

  test("are stored as their schemas say", async () => {
    const { documents } = await prepared();
    for (const [collection, schema] of [
      ["keys", Key],
      ["projects", Project],
      ["customers", Customer],
    ] as const)
      for (const { value } of await documents.list(collection, { limit: 10 }))
        expect(shape(schema).fits(value)).toBe(true);
  });
});

describe("the first start", () => {
  test("creates a customer, a project and one admin key, once", async () => {
    const { documents, first } = await prepared();
    expect(first).toMatch(/^ak_/);
    expect((await findGrant(documents, sha256(first), 0))?.key.role).toBe("account_admin");
    expect(await prepareAccounts(documents, null, NOW_MS)).toEqual({ key: null, admin_key: null });
    expect(await listKeys(documents)).toHaveLength(1);
  });

  test("of two nodes at once creates one key", async () => {
    const documents = memoryDocuments();
    const starts = [0, 1, 2].map(() => prepareAccounts(documents, null, NOW_MS));
    const keys = (await Promise.all(starts)).filter(({ key }) => key !== null);
    expect([keys.length, (await listKeys(documents)).length]).toEqual([1, 1]);
  });

  test("with TRAWL_ADMIN_KEY creates that key, and finds it at the next start", async () => {
    const documents = memoryDocuments();
    const named = "ak_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG";
    expect(await prepareAccounts(documents, named, NOW_MS)).toEqual({ key: null, admin_key: "created" });
    expect(await prepareAccounts(documents, named, NOW_MS)).toEqual({ key: null, admin_key: "exists" });
    expect((await findGrant(documents, sha256(named), 0))?.key).toMatchObject({
      role: "account_admin",
      label: "TRAWL_ADMIN_KEY",
    });
    await revokeKey(documents, named.slice(0, 10), NOW_MS);
    expect(await prepareAccounts(documents, named, NOW_MS)).toEqual({ key: null, admin_key: "revoked" });
    expect(await findGrant(documents, sha256(named), 0)).toBeNull();
  });

  test("of two nodes at once creates the operator's key once, and both nodes start", async () => {
    const documents = memoryDocuments();
    const named = "ak_0123456789abcdefghij";
    const starts = [0, 1, 2].map(() => prepareAccounts(documents, named, NOW_MS));
    const became = (await Promise.all(starts)).map(({ admin_key }) => admin_key);
    expect(became.every((how) => how === "created" || how === "exists")).toBe(true);
    expect(await listKeys(documents)).toHaveLength(1);
  });

  test("of two nodes, one a moment after the other, creates the first key once", async () => {
    const documents = memoryDocuments();
    await documents.put("names", "first key", { prefix: "ak_other00", claimed_ms: NOW_MS }, 0);
    expect(await prepareAccounts(documents, null, NOW_MS + 1_000)).toEqual({ key: null, admin_key: null });
    expect(await listKeys(documents)).toHaveLength(0);
  });

  test("that died between a prefix and its key is completed by the next start", async () => {
    const documents = memoryDocuments();
    const named = "ak_0123456789abcdefghij";
    await documents.put("names", `prefix ${named.slice(0, 10)}`, { key_sha256: sha256(named) }, 0);
    expect((await prepareAccounts(documents, named, NOW_MS)).admin_key).toBe("created");
    expect(await findGrant(documents, sha256(named), 0)).not.toBeNull();
    const empty = memoryDocuments();
    await empty.put("names", "first key", { prefix: "ak_lost000", claimed_ms: NOW_MS }, 0);
    expect((await prepareAccounts(empty, null, NOW_MS + 60_000)).key).toMatch(/^ak_/);
  });
});
