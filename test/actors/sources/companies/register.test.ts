import { afterEach, describe, expect, test } from "vitest";
import { decideMerge, mergeSideOf } from "../../../../actors/sources/companies/merging.ts";
import { changedFields } from "../../../../actors/sources/companies/record.ts";
import { readChanges } from "../../../../actors/sources/companies/feed/changes.ts";
import type {
  CompanyIdentifier,
  Source,
  SourceFailure,
} from "../../../../actors/sources/companies/source.ts";
import {
  COMPANIES,
  COMPANY_CHECKS,
  COMPANY_IDS,
  COMPANY_PEOPLE,
  type StoredCompany,
} from "../../../../actors/sources/companies/stored-company.ts";
import { rank } from "../../../../actors/sources/companies/search.ts";
import { NO_FILTER } from "../../../../actors/sources/companies/search-index.ts";
import { historyPage, recordView, sourceDocuments } from "../../../../actors/sources/companies/view.ts";
import { Company } from "../../../../schemas/companies.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import {
  claimOf,
  DAY_MS,
  document,
  identifier,
  oneRegister,
  RETENTION_MS,
  type ScriptedClaim,
  scriptedSource,
} from "../../../harness/companies-harness.ts";

const LEI = "5493001KJTIIGC8Y1R12";
const UID = "CHE101602521";
const NAME: ScriptedClaim = ["names.legal", "Roche Holding AG"];

type Register = ReturnType<typeof oneRegister>;
let register: Register;
afterEach(() => register.stop());

/** GLEIF has the LEI and the Swiss UID, the register of Switzerland its own number. */
function leiAndHome(says: { lei?: readonly ScriptedClaim[]; home?: readonly ScriptedClaim[] } = {}) {
  return (now: () => number) => [
    scriptedSource(
      "gleif",
      "lei",
      () => ({ core: [NAME, identifier("lei", LEI), identifier("ch_uid", UID), ...(says.lei ?? [])] }),
      {},
      now,
    ),
    scriptedSource(
      "zefix",
      "ch_uid",
      () => ({ core: says.home ?? [["names.legal", "Roche Holding AG (home)"], identifier("ch_uid", UID)] }),
      { home_register_of: ["CH"] },
      now,
    ),
  ];
}

const stored = async (documents: Documents, id: string): Promise<StoredCompany> =>
  (await documents.get(COMPANIES.name, id))!.value as StoredCompany;

/** Counts the writes of each collection. */
function counting(documents: Documents) {
  const writes: string[] = [];
  const put: Documents["put"] = (collection, key, ...rest) => {
    writes.push(collection);
    return documents.put(collection, key, ...rest);
  };
  return { documents: { ...documents, put } as Documents, writes };
}

describe("an unknown company", () => {
  test("is fetched from the source that knows the identifier, then from those that know what it told", async () => {
    register = oneRegister(leiAndHome({ lei: [["jurisdiction", "CH"]] }));
    const found = (await register.get(`lei:${LEI}`))!;
    expect(found.company.record).toMatchObject({
      // The home register's word counts more.
      names: { legal: "Roche Holding AG (home)" },
      jurisdiction: "CH",
      identifiers: [{ scheme: "ch_uid" }, { scheme: "lei" }],
      conflicts: [{ field: "names.legal", resolved_by: "precedence" }],
    });
    expect(found.refresh.map(({ source, result }) => [source, result])).toEqual([
      ["gleif", "refreshed"],
      ["zefix", "refreshed"],
    ]);
    const again = (await register.get(`ch_uid:${UID}`))!;
    expect(again.company.id).toBe(found.company.id);
    expect(again.is_cached).toBe(true);
  });

  test("that no source knows is not asked for again within a day", async () => {
    const sources = [scriptedSource("gleif", "lei", () => ({ kind: "not_found", documents: [] }))];
    register = oneRegister(() => sources);
    expect(await register.get(`lei:${LEI}`)).toBeNull();
    expect(await register.get(`lei:${LEI}`)).toBeNull();
    expect(sources[0]!.lookups).toHaveLength(1);
    expect(await register.get(`lei:${LEI}`, { refresh: true })).toBeNull();
    expect(sources[0]!.lookups).toHaveLength(2);
    await register.clock.advance(DAY_MS + 1);
    await register.get(`lei:${LEI}`);
    expect(sources[0]!.lookups).toHaveLength(3);
  });

  test("is one company when it is asked for by two identifiers at once", async () => {
    register = oneRegister(leiAndHome({ home: [NAME, identifier("ch_uid", UID), identifier("lei", LEI)] }));
    const found = await Promise.all([
      register.get(`lei:${LEI}`),
      register.get(`ch_uid:${UID}`),
      register.get(`lei:${LEI}`),
    ]);
    expect(new Set(found.map((each) => each!.company.id)).size).toBe(1);
    expect(await register.documents.list(COMPANIES.name, { limit: 10 })).toHaveLength(1);
    expect(
      ((await register.documents.get(COMPANY_IDS.name, `ch_uid:${UID}`))!.value as { companies: string[] })
        .companies,
    ).toEqual([found[0]!.company.id]);
  });
});

describe("an identifier that several companies may have", () => {
  const ISIN = "isin:DE000AUDB013";
  const BIC = "bic:AUDIDEFFXXX";
  const shared = (reference: string): ScriptedClaim => {
    const [scheme, value] = reference.split(":") as [string, string];
    return ["identifiers", { scheme, value, kind: "security", status: "active", valid: true }, reference];
  };
  const ownersOf = async (reference: string) =>
    ((await register.documents.get(COMPANY_IDS.name, reference))!.value as { companies: string[] }).companies;

  test("is found after a look-up that found no company, once a company lists it", async () => {
    register = oneRegister(leiAndHome({ lei: [shared(ISIN), shared(BIC)] }));
    for (const reference of [ISIN, BIC]) expect(await register.get(reference)).toBeNull();
    const { company } = (await register.get(`lei:${LEI}`))!;
    for (const reference of [ISIN, BIC]) {
      expect((await register.get(reference))?.company.id).toBe(company.id);
      expect(await ownersOf(reference)).toEqual([company.id]);
    }
  });

  test("leads to a stored company where the first id has none: a process died before it stored it", async () => {
    register = oneRegister(leiAndHome({ lei: [shared(ISIN)] }));
    await COMPANY_IDS.put(register.documents, ISIN, { companies: ["cmp_0000000000000001"] }, 0);
    expect(await register.get(ISIN)).toBeNull();
    const { company } = (await register.get(`lei:${LEI}`))!;
    expect(await ownersOf(ISIN)).toEqual(["cmp_0000000000000001", company.id]);
    expect((await register.get(ISIN))?.company.id).toBe(company.id);
  });

  test("leads to the first of the companies that list it", async () => {
    const other = "529900T8BM49AURSDO55";
    register = oneRegister((now) => [
      scriptedSource(
        "gleif",
        "lei",
        ({ value }) => ({ core: [["names.legal", value], identifier("lei", value), shared(BIC)] }),
        {},
        now,
      ),
    ]);
    const first = (await register.get(`lei:${LEI}`))!.company.id;
    await register.get(`lei:${other}`);
    expect((await register.get(BIC))!.company.id).toBe(first);
  });
});

describe("a refresh", () => {
  test("that finds nothing new writes the checks and nothing else", async () => {
    const { documents, writes } = counting(memoryDocuments());
    register = oneRegister(leiAndHome(), documents);
    const first = (await register.get(`lei:${LEI}`))!;
    await register.feed();
    await register.clock.advance(DAY_MS + 1);
    writes.length = 0;
    const second = (await register.get(first.company.id))!;
    expect(second.refresh.map(({ result }) => result)).toEqual(["refreshed", "refreshed"]);
    expect(writes.filter((collection) => !collection.startsWith("company_feed"))).toEqual([
      COMPANY_CHECKS.name,
    ]);
    expect(second.company.version).toBe(first.company.version);
    expect(second.checks["gleif core"]!.confirmed_ms).toBeGreaterThan(
      first.checks["gleif core"]!.confirmed_ms!,
    );
  });

  test("closes a value that went away, keeps its claim, and reopens it as another claim", async () => {
    let names: readonly ScriptedClaim[] = [
      ["names.trading", { name: "Genentech", type: "trading" }, "genentech"],
    ];
    register = oneRegister((now) => [
      scriptedSource("gleif", "lei", () => ({ core: [NAME, identifier("lei", LEI), ...names] }), {}, now),
    ]);
    const { company } = (await register.get(`lei:${LEI}`))!;
    const trading = async () =>
      (await stored(register.documents, company.id)).groups[0]!.claims.filter(
        ({ field }) => field === "names.trading",
      );
    const confirmed_ms = register.clock.now();
    await register.clock.advance(2 * DAY_MS);
    const [before] = await trading();
    names = [];
    const without = (await register.get(company.id, { refresh: true }))!;
    expect(without.company.record.names.trading).toEqual([]);
    expect(await trading()).toEqual([{ ...before, closed: { confirmed_ms, at_ms: register.clock.now() } }]);
    names = [["names.trading", { name: "Genentech", type: "trading" }, "genentech"]];
    await register.clock.advance(DAY_MS);
    await register.get(company.id, { refresh: true });
    const [old, reopened] = await trading();
    expect(old!.closed).toBeDefined();
    expect(reopened).toMatchObject({ value: before!.value, observed_ms: register.clock.now() });
    expect(reopened!.id).not.toBe(old!.id);
  });

  test("keeps what it knew when the source fails, hangs or breaks, and says so", async () => {
    let answer: "claims" | "fails" | "hangs" | "breaks" = "claims";
    register = oneRegister((now) => [
      scriptedSource(
        "gleif",
        "lei",
        () => {
          switch (answer) {
            case "claims":
              return { core: [NAME, identifier("lei", LEI)] };
            case "fails":
              return { kind: "failed", error: "schema_drift", message: "", retry_after_s: 60 };
            case "hangs":
              return new Promise(() => {});
            case "breaks":
              throw new TypeError("Cannot read properties of undefined");
          }
        },
        {},
        now,
      ),
    ]);
    const { company } = (await register.get(`lei:${LEI}`))!;
    for (const [how, error] of [
      ["fails", "schema_drift"],
      ["hangs", "timeout"],
      ["breaks", "unreadable"],
    ] as const) {
      answer = how;
      const getting = register.get(company.id, { refresh: true });
      await register.clock.advance(20_000);
      const found = (await getting)!;
      expect(found.refresh).toMatchObject([{ source: "gleif", group: "core", result: "failed", error }]);
      expect(found.company.record.names.legal).toBe("Roche Holding AG");
    }
  });

  test("takes what was read of a group that failed in part, ends nothing by it, and says so", async () => {
    let trading = ["Genentech", "Tamiflu"];
    let problem: SourceFailure | undefined;
    const named = (name: string) => claimOf(["names.trading", { name, type: "trading" }, name.toLowerCase()]);
    register = oneRegister((now) => [
      scriptedSource(
        "gleif",
        "lei",
        () => ({
          kind: "found",
          native_id: LEI,
          groups: [
            {
              group: "core",
              kind: "claims",
              is_complete: true,
              documents: [document(now())],
              claims: [claimOf(NAME), claimOf(identifier("lei", LEI)), ...trading.map(named)],
              ...(problem && { problem }),
            },
          ],
        }),
        {},
        now,
      ),
    ]);
    const { company } = (await register.get(`lei:${LEI}`))!;
    trading = ["Kadcyla"];
    problem = { kind: "failed", error: "timeout", message: "", retry_after_s: 60 };
    const found = (await register.get(company.id, { refresh: true }))!;
    expect(found.refresh).toMatchObject([{ group: "core", result: "failed", error: "timeout" }]);
    expect(found.company.record.names.trading.map(({ name }) => name).toSorted()).toEqual([
      "Genentech",
      "Kadcyla",
      "Tamiflu",
    ]);
  });

  test("keeps every claim when two nodes write it at the same time, each believing that it owns the company", async () => {
    let round = 0;
    const named = (suffix: string): ScriptedClaim => ["names.legal", `Roche ${round} ${suffix}`];
    const sources = (now: () => number) => [
      scriptedSource(
        "gleif",
        "lei",
        () => ({ core: [named("a"), identifier("lei", LEI), identifier("ch_uid", UID)] }),
        {},
        now,
      ),
      scriptedSource("zefix", "ch_uid", () => ({ core: [named("b"), identifier("ch_uid", UID)] }), {}, now),
    ];
    register = oneRegister(sources);
    const other = oneRegister(sources, register.documents);
    const { id } = (await register.get(`lei:${LEI}`))!.company;
    const nodes = [
      [register, "gleif"],
      [other, "zefix"],
    ] as const;
    for (round = 1; round <= 10; round++) {
      let refreshed = 0;
      const refreshes = nodes.map(([node, source]) =>
        node.get(id, { refresh: true, sources: [source] }).finally(() => refreshed++),
      );
      while (refreshed < nodes.length) for (const [node] of nodes) await node.clock.advance(100);
      await Promise.all(refreshes);
    }
    const company = await stored(register.documents, id);
    for (const [source, suffix] of [
      ["gleif", "a"],
      ["zefix", "b"],
    ]) {
      const { claims } = company.groups.find((group) => group.source === source)!;
      const names = claims.filter(({ field }) => field === "names.legal");
      expect(names.map(({ value }) => value)).toEqual(
        Array.from({ length: 11 }, (_, n) => `Roche ${n} ${suffix}`),
      );
      expect(names.filter(({ closed }) => closed === undefined)).toHaveLength(1);
    }
    await register.feed();
    const page = await readChanges(register.documents, 0, 1_000, null);
    if (page === "expired") throw new Error("expired");
    const versions = page.changes.map(({ version }) => version);
    expect(versions).toEqual(Array.from({ length: company.version }, (_, n) => n + 1));
    await other.stop();
  });

  test("is shared by callers that want the same at the same time", async () => {
    register = oneRegister(leiAndHome());
    const found = await Promise.all(
      Array.from({ length: 20 }, () => register.get(`lei:${LEI}`, { refresh: true })),
    );
    expect(new Set(found.map((each) => each!.company.id)).size).toBe(1);
    const [gleif] = register.sources as ReturnType<typeof scriptedSource>[];
    expect(gleif!.lookups.length).toBeLessThanOrEqual(2);
  });

  test("asks only the sources and groups that the caller wants, and only what is older than max_age", async () => {
    register = oneRegister(leiAndHome());
    const { company } = (await register.get(`lei:${LEI}`, { sources: ["gleif"] }))!;
    const [gleif, zefix] = register.sources as ReturnType<typeof scriptedSource>[];
    expect([gleif!.lookups.length, zefix!.lookups.length]).toEqual([1, 0]);
    await register.clock.advance(60_000);
    await register.get(company.id, { max_age_s: 61, sources: ["gleif"] });
    expect(gleif!.lookups).toHaveLength(1);
    await register.get(company.id, { max_age_s: 59, sources: ["gleif"] });
    expect(gleif!.lookups).toHaveLength(2);
  });
});

describe("two companies with one strong identifier", () => {
  /** Two companies; from `links` on, the second one's source tells the first one's LEI. */
  async function twoCompanies(also: readonly ScriptedClaim[] = []) {
    let isLinked = false;
    register = oneRegister((now) => [
      scriptedSource("gleif", "lei", () => ({ core: [NAME, identifier("lei", LEI)] }), {}, now),
      scriptedSource(
        "zefix",
        "ch_uid",
        () => ({
          core: [
            ["names.legal", "Roche"],
            identifier("ch_uid", UID),
            ...also,
            ...(isLinked ? [identifier("lei", LEI)] : []),
          ],
        }),
        {},
        now,
      ),
    ]);
    const older = (await register.get(`lei:${LEI}`))!.company.id;
    await register.clock.advance(1_000);
    const newer = (await register.get(`ch_uid:${UID}`))!.company.id;
    await register.feed();
    return { older, newer, link: () => (isLinked = true) };
  }

  test("are merged: the older id remains, the other redirects, and the feed tells both", async () => {
    const { older, newer, link } = await twoCompanies();
    expect(older).not.toBe(newer);
    link();
    await register.get(newer, { refresh: true });
    await register.feed();
    const found = (await register.get(newer))!;
    expect(found).toMatchObject({ company: { id: older, aliases: [newer] }, redirected_from: newer });
    expect(found.company.record.identifiers.map(({ scheme }) => scheme)).toEqual(["ch_uid", "lei"]);
    const page = await readChanges(register.documents, 0, 100, null);
    if (page === "expired") throw new Error("expired");
    const typesOf = (id: string) =>
      page.changes.filter(({ company_id }) => company_id === id).map(({ type }) => type);
    expect(typesOf(older)).toEqual(["created", "updated"]);
    expect(typesOf(newer)).toEqual(["created", "updated", "merged"]);
    expect(page.changes).toHaveLength(5);
    expect((await register.get(`ch_uid:${UID}`))!.company.id).toBe(older);
  });

  test("are two again when the operator undoes the merge, and stay so", async () => {
    const { older, newer, link } = await twoCompanies();
    link();
    await register.get(newer, { refresh: true });
    await register.feed();
    expect(await register.ask()(Company, newer, "split", null)).toEqual({ survivor: older });
    await register.feed();
    expect((await register.get(newer))!.company).toMatchObject({ id: newer, merged_into: null });
    expect((await register.get(older))!.company).toMatchObject({
      aliases: [],
      record: { identifiers: [{ scheme: "lei" }] },
    });
    await register.get(newer, { refresh: true });
    await register.feed();
    expect((await register.get(newer))!.company.id).toBe(newer);
    const page = await readChanges(register.documents, 5, 100, null);
    if (page === "expired") throw new Error("expired");
    expect(new Set(page.changes.map(({ type, company_id }) => `${type} ${company_id}`))).toEqual(
      new Set([`split ${newer}`, `updated ${older}`]),
    );
    expect(await register.ask()(Company, older, "split", null)).toEqual({ survivor: null });
  });

  test("become one by the operator's word, without a shared identifier, and two again", async () => {
    const { older, newer } = await twoCompanies();
    const merge = (id: string, survivor: string) =>
      register.ask()(Company, id, "mergeByOperator", { survivor });
    expect(await merge(older, newer)).toEqual({ survivor: newer });
    await register.feed();
    expect(await register.get(older)).toMatchObject({
      company: { id: newer, aliases: [older] },
      redirected_from: older,
    });
    expect(await merge(older, newer)).toEqual({ survivor: null });
    expect(await merge(newer, older)).toEqual({ survivor: null });
    expect(await merge(newer, "cmp_0000000000000000")).toEqual({ survivor: null });
    expect(await register.ask()(Company, older, "split", null)).toEqual({ survivor: newer });
    await register.feed();
    expect((await register.get(older))!.company).toMatchObject({ id: older, merged_into: null });
    expect((await register.get(newer))!.company.aliases).toEqual([]);
  });

  test("stay two when another identifier of one value contradicts", async () => {
    const { older, newer, link } = await twoCompanies([identifier("lei", "529900GRZ2BQY5ZM9N49")]);
    link();
    await register.get(newer, { refresh: true });
    await register.feed();
    expect((await register.get(newer))!.company.id).toBe(newer);
    expect((await register.get(older))!.company.aliases).toEqual([]);
  });
});

describe("two companies of one source, merged by the operator", () => {
  /** Before the survivor's in the alphabet. */
  const OTHER_LEI = "529900GRZ2BQY5ZM9N49";
  const address = (type: string, city: string): ScriptedClaim => [
    "addresses",
    { type, formatted: `Street 1, ${city}`, city, country: "CH", current: true },
    type,
  ];
  const named = (field: "names.trading" | "names.former", name: string): ScriptedClaim => [
    field,
    { name, type: field === "names.former" ? "former" : "trading" },
    name.toLowerCase(),
  ];
  const director = (name: string): ScriptedClaim => [
    "people",
    { party: { kind: "person", name }, role: { group: "board", label: "Director" }, current: true },
    `${name.toLowerCase()}|board|`,
  ];
  const ANSWERS: Readonly<Record<string, readonly ScriptedClaim[]>> = {
    [LEI]: [
      ["names.legal", "Alpina Holding AG"],
      ["status", "active"],
      ["jurisdiction", "CH"],
      identifier("lei", LEI),
      named("names.trading", "Alpina"),
      address("registered", "Basel"),
    ],
    [OTHER_LEI]: [
      ["names.legal", "Gotthard Beteiligungen AG"],
      ["status", "dissolved"],
      ["jurisdiction", "LI"],
      ["dates.deregistration", "2020-01-01"],
      identifier("lei", OTHER_LEI),
      identifier("ch_uid", UID),
      named("names.trading", "Alpina"),
      named("names.trading", "Gotthard"),
      named("names.former", "Furka Finanz AG"),
      address("registered", "Vaduz"),
      address("mailing", "Chur"),
    ],
  };

  /** The survivor has `LEI`; `merge` makes the other one its alias. */
  async function twoOfOneSource(others: (now: () => number) => readonly Source[] = () => []) {
    register = oneRegister((now) => [
      scriptedSource(
        "gleif",
        "lei",
        ({ value }) => ({
          core: ANSWERS[value]!,
          people: [director("Ada Beispiel"), director(value === LEI ? "Max Muster" : "Eva Exempel")],
        }),
        {},
        now,
      ),
      ...others(now),
    ]);
    const [{ lookups }] = register.sources as [ReturnType<typeof scriptedSource>];
    const groups = ["core", "people"] as const;
    const survivor = (await register.get(`lei:${LEI}`, { groups }))!.company.id;
    await register.clock.advance(1_000);
    const alias = (await register.get(`lei:${OTHER_LEI}`, { groups }))!.company.id;
    await register.feed();
    return {
      survivor,
      alias,
      lookups,
      merge: async () => {
        const { ask } = register;
        expect(await ask()(Company, alias, "mergeByOperator", { survivor })).toEqual({ survivor });
        await register.feed();
      },
    };
  }

  const found = async (name: string): Promise<readonly string[]> =>
    (await rank(register, { name, city: null, filter: NO_FILTER })).map(({ company }) => company.id);
  const history = async (id: string, field: string | null) =>
    historyPage((await register.get(id))!, field, null, 100, register.sources).items;

  test("list the items of both; a field with one value stays the survivor's and is no conflict", async () => {
    const { survivor, merge } = await twoOfOneSource();
    await merge();
    const { record } = (await register.get(survivor))!.company;
    expect(record.identifiers.map(({ scheme, value }) => `${scheme}:${value}`)).toEqual([
      `ch_uid:${UID}`,
      `lei:${LEI}`,
      `lei:${OTHER_LEI}`,
    ]);
    expect(record).toMatchObject({
      names: {
        legal: "Alpina Holding AG",
        trading: [{ name: "Alpina" }, { name: "Gotthard" }],
        former: [{ name: "Furka Finanz AG" }],
        other: [{ name: "Gotthard Beteiligungen AG", type: "alternative" }],
      },
      status: "active",
      jurisdiction: "CH",
      dates: { deregistration: null },
      conflicts: [],
    });
    expect(record.addresses.map(({ type, city }) => [type, city])).toEqual([
      ["mailing", "Chur"],
      ["registered", "Basel"],
    ]);
  });

  test("have one history, and each claim the time and document of its own company's request", async () => {
    const { survivor, merge, alias } = await twoOfOneSource();
    await merge();
    const merged_ms = register.clock.now();
    await register.clock.advance(DAY_MS);
    await register.get(survivor, { refresh: true });
    const snapshot = (await register.get(survivor))!;
    const names = await history(survivor, "names.legal");
    expect(names.map(({ value, native_id }) => [value, native_id])).toEqual([
      ["Gotthard Beteiligungen AG", OTHER_LEI],
      ["Alpina Holding AG", LEI],
    ]);
    expect(await history(alias, null)).toEqual(await history(survivor, null));
    const [other, own] = names.map(({ confirmed }) => Date.parse(confirmed as string));
    expect(own).toBe(register.clock.now());
    expect(other).toBeLessThan(merged_ms);
    const claims = new Set((await history(survivor, null)).map(({ id }) => id));
    const view = recordView(snapshot, new Set(), { sources: register.sources, now_ms: register.clock.now() });
    for (const { claim } of Object.values(view["provenance"] as Record<string, { claim: string }>))
      expect(claims).toContain(claim);
    const documents = sourceDocuments(snapshot, { sources: register.sources, now_ms: 0 });
    expect(documents.find(({ group }) => group === "core")).toMatchObject({ native_id: LEI });
    const people = recordView(snapshot, new Set(["people"]), { sources: register.sources, now_ms: 0 });
    expect(
      (people["people"] as unknown as { party: { name: string } }[]).map(({ party }) => party.name),
    ).toEqual(["Ada Beispiel", "Max Muster", "Eva Exempel"]);
  });

  test("are found by the names of both, until the merge is undone", async () => {
    const { survivor, alias, merge } = await twoOfOneSource();
    const names = ["Gotthard Beteiligungen AG", "Gotthard", "Furka Finanz AG"];
    for (const name of names) expect(await found(name)).toEqual([alias]);
    await merge();
    for (const name of [...names, "Alpina Holding AG"]) expect(await found(name)).toEqual([survivor]);
    await register.ask()(Company, alias, "split", null);
    await register.feed();
    for (const name of names) expect(await found(name)).toEqual([alias]);
  });

  test("are asked about by the survivor's own identifier, however the caller names them", async () => {
    const { survivor, alias, lookups, merge } = await twoOfOneSource();
    await merge();
    const before = await stored(register.documents, survivor);
    lookups.length = 0;
    for (const reference of [survivor, alias, `lei:${LEI}`, `lei:${OTHER_LEI}`, `ch_uid:${UID}`]) {
      await register.clock.advance(1_000);
      await register.get(reference, { refresh: true, groups: ["people"] });
    }
    expect(lookups.map(({ value }) => value)).toEqual(Array.from({ length: 5 }, () => LEI));
    const after = await stored(register.documents, survivor);
    expect({ ...after, epoch: 0, written_ms: 0 }).toEqual({ ...before, epoch: 0, written_ms: 0 });
  });

  test("are as they were before when the operator undoes the merge; each step is one change of each", async () => {
    const { survivor, alias, merge } = await twoOfOneSource();
    const before = await Promise.all([survivor, alias].map((id) => stored(register.documents, id)));
    await merge();
    await register.get(`lei:${OTHER_LEI}`, { refresh: true });
    await register.ask()(Company, alias, "split", null);
    await register.feed();
    for (const { id, groups, record } of before)
      expect(await stored(register.documents, id)).toMatchObject({ groups, record, aliases: [] });
    const page = await readChanges(register.documents, 0, 100, null);
    if (page === "expired") throw new Error("expired");
    const changesOf = (id: string) =>
      page.changes.filter(({ company_id }) => company_id === id).map(({ type }) => type);
    expect(changesOf(survivor)).toEqual(["created", "updated", "updated"]);
    expect(changesOf(alias)).toEqual(["created", "merged", "split"]);
  });

  test("are two again without what another source, asked by the merged one's identifier, told of it", async () => {
    const { survivor, alias, lookups, merge } = await twoOfOneSource((now) => [
      scriptedSource(
        "zefix",
        "ch_uid",
        () => ({
          // The number of the merged company, in an answer that is stored with the survivor.
          core: [["purpose", "Tunnels", "en"], identifier("ch_uid", UID), identifier("lei", OTHER_LEI)],
          people: [director("Uli Urner")],
        }),
        {},
        now,
      ),
    ]);
    const before = await stored(register.documents, survivor);
    const checks = Object.keys((await register.get(survivor))!.checks);
    await merge();
    lookups.length = 0;
    for (let time = 0; time < 2; time++) {
      await register.clock.advance(1_000);
      const { company } = (await register.get(survivor, { refresh: true, groups: ["people"] }))!;
      expect(company.groups.map(({ source }) => source)).toEqual(["gleif", "zefix"]);
      expect(company.record.purpose).toEqual({ en: "Tunnels" });
    }
    expect(lookups.map(({ value }) => value)).toEqual([LEI, LEI]);
    await register.ask()(Company, alias, "split", null);
    await register.feed();
    const { groups, record } = await stored(register.documents, survivor);
    expect({ groups, record }).toEqual({ groups: before.groups, record: before.record });
    const snapshot = (await register.get(survivor))!;
    expect(Object.keys(snapshot.checks)).toEqual(checks);
    expect(snapshot.people.map(({ source }) => source)).toEqual(["gleif"]);
  });

  test("are compared with a third company by the survivor's own identifiers", async () => {
    const { survivor, alias, merge } = await twoOfOneSource();
    await merge();
    const { record, groups, created_ms } = await stored(register.documents, survivor);
    const other = await stored(register.documents, alias);
    const side = mergeSideOf({ id: survivor, created_ms, record, groups });
    const third = { id: "cmp_0000000000000003", created_ms: created_ms + 1 };
    const decideWith = (lei: string) =>
      decideMerge(
        side,
        { ...third, identifiers: [{ scheme: "lei", value: lei, kind: "lei", status: "active" }] },
        null,
      );
    expect(decideWith(LEI)).toEqual({ kind: "merge", survivor, loser: third.id });
    expect(decideWith(OTHER_LEI)).toMatchObject({ kind: "refused", scheme: "lei" });
    expect(mergeSideOf(other).identifiers).toEqual(other.record.identifiers);
  });
});

describe("people", () => {
  const person = (name: string): ScriptedClaim => [
    "people",
    {
      id: "per_0123456789abcdef",
      party: { kind: "person", name },
      role: { group: "board", label: "Director" },
      current: true,
    },
    `${name.toLowerCase()}|board|`,
  ];
  let persons: readonly ScriptedClaim[] = [person("Ada Beispiel"), person("Max Muster")];
  const withPeople = (now: () => number) => [
    scriptedSource(
      "gleif",
      "lei",
      (_, groups) => ({
        core: [NAME, identifier("lei", LEI)],
        ...(groups.includes("people") && { people: persons }),
      }),
      {},
      now,
    ),
  ];
  const names = async (id: string): Promise<string[]> => {
    const { people } = (await register.get(id, { groups: ["people"] }))!;
    return people.flatMap(({ claims }) =>
      claims.map(({ value }) => (value as { party: { name: string } }).party.name),
    );
  };

  test("are stored apart from the company, and only when they were asked for", async () => {
    register = oneRegister(withPeople);
    const { company } = (await register.get(`lei:${LEI}`))!;
    expect(await register.documents.get(COMPANY_PEOPLE.name, company.id)).toBeNull();
    expect(await names(company.id)).toEqual(["Ada Beispiel", "Max Muster"]);
    expect(JSON.stringify(await stored(register.documents, company.id))).not.toContain("Beispiel");
  });

  test("do not reach a client through the raw documents of a source that names them everywhere", async () => {
    for (const has_personal_documents of [false, true]) {
      register = oneRegister((now) => [
        scriptedSource(
          "gleif",
          "lei",
          () => ({ core: [NAME, identifier("lei", LEI)] }),
          { has_personal_documents },
          now,
        ),
      ]);
      const found = (await register.get(`lei:${LEI}`))!;
      const record = recordView(found, new Set(["claims"]), {
        sources: register.sources,
        now_ms: register.clock.now(),
      });
      const shown = [
        ...(record["sources"] as { body_url: string | null }[]),
        ...(record["claims"] as unknown as { body_url: string | null }[]),
        ...(historyPage(found, null, null, 10, register.sources).items as unknown as {
          body_url: string | null;
        }[]),
      ];
      expect(shown.length).toBeGreaterThan(3);
      expect(shown.filter(({ body_url }) => body_url !== null)).toHaveLength(
        has_personal_documents ? 0 : shown.length,
      );
      const kept = await register.documents.list("body_refs", { limit: 10 });
      expect(kept.filter(({ key }) => key.includes(" company:")).length).toBe(has_personal_documents ? 0 : 1);
      if (!has_personal_documents) await register.stop();
    }
  });

  test("expire with the retention setting", async () => {
    register = oneRegister(withPeople);
    const { company } = (await register.get(`lei:${LEI}`, { groups: ["people"] }))!;
    expect(
      await register.documents.removeExpired(
        COMPANY_PEOPLE.name,
        register.clock.now() + RETENTION_MS - 1,
        10,
      ),
    ).toBe(0);
    expect(
      await register.documents.removeExpired(
        COMPANY_PEOPLE.name,
        register.clock.now() + RETENTION_MS + 1,
        10,
      ),
    ).toBe(1);
    expect(await register.documents.get(COMPANY_PEOPLE.name, company.id)).toBeNull();
  });

  test("do not stay longer because another person of the company was removed", async () => {
    register = oneRegister(withPeople);
    await register.get(`lei:${LEI}`, { groups: ["people"] });
    const ends_ms = register.clock.now() + RETENTION_MS;
    await register.clock.advance(DAY_MS);
    await register.people.remove("Max Muster");
    expect(await register.documents.removeExpired(COMPANY_PEOPLE.name, ends_ms + 1, 10)).toBe(1);
  });

  test("that the operator removed are gone and do not come back", async () => {
    register = oneRegister(withPeople);
    const { company } = (await register.get(`lei:${LEI}`, { groups: ["people"] }))!;
    expect(await register.people.remove("MUSTER, Max")).toEqual({ companies: 1, claims: 1 });
    persons = [...persons, person("Erika Neu")];
    await register.get(company.id, { groups: ["people"], refresh: true });
    expect(await names(company.id)).toEqual(["Ada Beispiel", "Erika Neu"]);
  });
});

test("a record without a change has no changed field", async () => {
  register = oneRegister(leiAndHome());
  const { company } = (await register.get(`lei:${LEI}`))!;
  expect(changedFields(company.record, company.record)).toEqual([]);
  expect(changedFields(null, company.record)).toContain("names");
});

test("an identifier of another form is a mistake of the caller", async () => {
  register = oneRegister(leiAndHome());
  const wrong: CompanyIdentifier[] = [
    { scheme: "lei", value: "5493001KJTIIGC8Y1R13" },
    { scheme: "leu", value: LEI },
    { scheme: "cmp", value: "1" },
  ];
  for (const { scheme, value } of wrong)
    await expect(register.get(`${scheme}:${value}`)).rejects.toThrow(TypeError);
});
