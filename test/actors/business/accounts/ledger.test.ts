/** The ledger: one row for each billed request, written once and added up once, whatever fails in between. */
import { zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { foldLedger } from "../../../../actors/business/accounts/fold.ts";
import { createCustomer, createProject } from "../../../../actors/business/accounts/keys.ts";
import {
  readRows,
  type RowCursor,
  type RowFilter,
  type RowPage,
} from "../../../../actors/business/accounts/read-requests.ts";
import { readMonth, readUsage } from "../../../../actors/business/accounts/read-usage.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { silentTelemetry } from "../../../../cluster/adapters/telemetry/telemetry.silent.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import { Fault } from "../../../../cluster/ports/fault.ts";
import { openLedger } from "../../../../gateway/ledger.ts";
import { shape } from "../../../../gateway/validate.ts";
import {
  addRow,
  type LedgerBatch,
  noRows,
  packColumns,
  packRows,
  rowsOf,
  totalsOf,
} from "../../../../schemas/ledger-batch.ts";
import { batchKey, type LedgerRow, RequestList, UsageReport } from "../../../../schemas/ledger.ts";
import { fetchAnswer, gatewayHarness } from "../../../harness/gateway-harness.ts";
import { ledgerRow, partsOf } from "../../../harness/ledger-row.ts";

const NOW_MS = Date.UTC(2026, 10, 21, 12);

/** A store that can be away: before a write, or after it and before its answer. */
function store() {
  const real = memoryDocuments();
  const state = { fails: "never" as "never" | "before" | "after", puts: 0, left: Infinity };
  const documents: Documents = {
    ...real,
    async put(...given) {
      state.puts++;
      const away = new Fault("documents_unreachable", "The store is away");
      if (state.left-- <= 0 || state.fails === "before") throw away;
      const stored = await real.put(...given);
      if (state.fails === "after") throw away;
      return stored;
    },
  };
  return { real, documents, state };
}

function gateway(documents: Documents) {
  const clock = virtualClock(NOW_MS);
  const ask = (async () => undefined) as never;
  const { log, lines } = silentTelemetry();
  const ledger = openLedger({ documents, ask, clock, log, writer: () => "g1" });
  return {
    clock,
    lines,
    record: (customer: string, row: LedgerRow) => ledger.record(customer, ...partsOf(row)),
    store: (customer: string, row: LedgerRow, within_ms = 10) =>
      ledger.store(customer, ...partsOf(row), { within_ms }),
  };
}

const rowsIn = async (documents: Documents) =>
  (await documents.list("ledger", { limit: 1_000 })).flatMap(({ value }) =>
    rowsOf(value as LedgerBatch).map(({ request_id }) => request_id),
  );

describe("a gateway's rows", () => {
  test("of answers from the cache are stored within 100 ms, many in one document", async () => {
    const { documents, state } = store();
    const { clock, record } = gateway(documents);
    for (let n = 0; n < 600; n++) {
      record("acme", ledgerRow({ request_id: `r${n}` }));
      if (n % 10 === 0) await clock.advance(1);
    }
    await clock.advance(100);
    expect(await rowsIn(documents)).toHaveLength(600);
    expect(state.puts).toBeLessThanOrEqual(600 / 50);
  });

  test("of requests that went upstream are stored before they are answered", async () => {
    const { documents } = store();
    const { clock, store: storeRow } = gateway(documents);
    const stored = storeRow("acme", ledgerRow({ request_id: "r1" })).then(() => rowsIn(documents));
    await clock.advance(20);
    expect(await stored).toEqual(["r1"]);
  });

  test("of a request that is alone are stored without a wait, also while others are written", async () => {
    const { documents } = store();
    const { record, store: storeRow } = gateway(documents);
    record("acme", ledgerRow({ request_id: "cached" }));
    await Promise.all([
      storeRow("acme", ledgerRow({ request_id: "r1" }), 0),
      storeRow("acme", ledgerRow({ request_id: "r2" }), 0),
    ]);
    expect((await rowsIn(documents)).toSorted()).toEqual(["cached", "r1", "r2"]);
  });

  test.each(["before", "after"] as const)(
    "are neither lost nor doubled by a store that fails %s it wrote",
    async (fails) => {
      const { documents, state } = store();
      const { clock, record, store: storeRow } = gateway(documents);
      state.fails = fails;
      record("acme", ledgerRow({ request_id: "cached" }));
      const refused = storeRow("acme", ledgerRow({ request_id: "upstream" })).catch(
        (problem: Fault) => problem.code,
      );
      await clock.advance(10_000);
      expect(await refused).toBe("documents_unreachable");
      state.fails = "never";
      record("acme", ledgerRow({ request_id: "later" }));
      await clock.advance(2_000);
      expect((await rowsIn(documents)).toSorted()).toEqual(["cached", "later", "upstream"]);
    },
  );

  test("that fill several documents are written together, so that a store commits and syncs them once", async () => {
    const { real } = store();
    let under_way = 0;
    const at_once: number[] = [];
    const { clock, record } = gateway({
      ...real,
      async put(...given) {
        at_once.push(++under_way);
        await Promise.resolve();
        under_way--;
        return real.put(...given);
      },
    });
    for (let n = 0; n < 5_000; n++) record("acme", ledgerRow({ request_id: `r${n}` }));
    await clock.advance(100);
    expect(at_once).toEqual([1, 2, 3]);
    expect(new Set(await rowsIn(real)).size).toBe(5_000);
  });

  test("are stored once each where one of several documents could not be written", async () => {
    const { documents, state } = store();
    const { clock, record } = gateway(documents);
    for (let n = 0; n < 5_000; n++) record("acme", ledgerRow({ request_id: `r${n}` }));
    state.left = 1;
    await clock.advance(100);
    expect(await rowsIn(documents)).toHaveLength(2_000);
    state.left = Infinity;
    await clock.advance(2_000);
    const stored = await rowsIn(documents);
    expect([stored.length, new Set(stored).size]).toEqual([5_000, 5_000]);
  });

  test("are refused beyond 50,000 while the store is away, so that memory has a limit", async () => {
    const { documents, state } = store();
    const { record } = gateway(documents);
    state.fails = "before";
    for (let n = 0; n < 50_000; n++) record("acme", ledgerRow());
    expect(() => record("acme", ledgerRow())).toThrow(Fault);
  });
});

test("rows are read from a document as they were written into it, however many there are", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "binary" }), { maxLength: 100 }), (errors) => {
      const rows = errors.map((error, n) => ledgerRow({ request_id: `r${n}`, error }));
      const stored = JSON.parse(JSON.stringify(packRows(rows))) as LedgerBatch;
      expect(rowsOf(stored)).toEqual(JSON.parse(JSON.stringify(rows)));
    }),
  );
  const one_page = fc.array(
    fc.record({ page: fc.nat(2), at_ms: fc.nat(3 * 86_400_000), latency_ms: fc.nat(9) }),
  );
  fc.assert(
    fc.property(one_page, fc.boolean(), (answers, long_ids) => {
      const heads = [0, 1, 2].map((cost_micros) => {
        const { request_id: _1, at_ms: _2, latency_ms: _3, ...head } = ledgerRow({ cost_micros });
        return head;
      });
      const columns = noRows();
      const rows = answers.map(({ page, ...answer }, n) => {
        const request_id = `r${long_ids ? n + 1_000 : n}`;
        addRow(columns, heads[page]!, { request_id, ...answer });
        return ledgerRow({ request_id, cost_micros: page, ...answer });
      });
      const stored = JSON.parse(JSON.stringify(packColumns(columns))) as LedgerBatch;
      expect(rowsOf(stored)).toEqual(rows);
      // A batch of before format 4 has no totals: they are added up row by row.
      const byRow = totalsOf({ rows });
      const sorted = (totals: typeof byRow) => totals.toSorted((a, b) => (a.day < b.day ? -1 : 1));
      expect(sorted(totalsOf(stored))).toEqual(sorted(byRow));
    }),
  );
  const packed = zstdCompressSync(JSON.stringify([ledgerRow()])).toString("base64");
  expect(rowsOf({ rows: packed }), "format 4").toEqual([ledgerRow()]);
  const { request_id: id, at_ms, latency_ms, ...head } = ledgerRow();
  const columns = {
    heads: [head],
    head: [0, 0],
    request_id: [id, "b"],
    at_ms: [at_ms, 7],
    latency_ms: [latency_ms, 1],
  };
  const by_columns = zstdCompressSync(JSON.stringify(columns)).toString("base64");
  const later = ledgerRow({ request_id: "b", at_ms: at_ms + 7, latency_ms: 1 });
  expect(rowsOf({ rows: by_columns }), "format 5").toEqual([ledgerRow(), later]);
  const older: LedgerBatch = { rows: [ledgerRow({ cost_micros: 3 }), ledgerRow({ cost_micros: 4 })] };
  expect(totalsOf(older)).toEqual(totalsOf(packRows(rowsOf(older))));
  const many = Array.from({ length: 300 }, (_, n) => ledgerRow({ request_id: `req_${n}` }));
  expect(JSON.stringify(packRows(many)).length).toBeLessThan(JSON.stringify(many).length / 10);
});

describe("the sums", () => {
  test("count each row once, wherever a run breaks off, and are the same by day, key and month", async () => {
    const batches = fc.array(
      fc.array(
        fc.record({
          key: fc.constantFrom("sk_aaaaaaa", "sk_bbbbbbb"),
          project: fc.constantFrom("p", "q"),
          day: fc.nat(2),
          cost_micros: fc.nat(50),
        }),
        { maxLength: 5 },
      ),
      { minLength: 1, maxLength: 6 },
    );
    await fc.assert(
      fc.asyncProperty(batches, fc.array(fc.nat(12), { maxLength: 6 }), async (written, breaks) => {
        const { real, documents, state } = store();
        const all = written.flat();
        const { clock, record } = gateway(real);
        for (const [n, batch] of written.entries()) {
          for (const [at, { day, ...row }] of batch.entries())
            record("acme", ledgerRow({ request_id: `${n}:${at}`, at_ms: NOW_MS - day * 86_400_000, ...row }));
          await clock.advance(100);
          // Between two batches a run breaks off after so many writes.
          state.left = breaks[n] ?? Infinity;
          await foldLedger(documents, "acme").catch(() => {});
        }
        state.left = Infinity;
        await foldLedger(documents, "acme");
        await foldLedger(documents, "acme");
        const period = { customer: "acme", since: "2026-11-01", until: "2026-12-01", key: null };
        for (const cells of [
          await readUsage(real, { ...period, by_key: false }),
          await readUsage(real, { ...period, by_key: true }),
          await readMonth(real, "acme", "2026-11", null),
        ]) {
          expect(cells.reduce((sum, { usage }) => sum + usage.requests, 0)).toBe(all.length);
          expect(cells.reduce((sum, { usage }) => sum + usage.cost_micros, 0)).toBe(
            all.reduce((sum, { cost_micros }) => sum + cost_micros, 0),
          );
        }
      }),
      { numRuns: 100 },
    );
  });
});

describe("GET /v1/usage and /v1/requests", () => {
  async function used() {
    let cost = "0.5";
    const harness = await gatewayHarness({
      fetch: async () => fetchAnswer({ tier: "proxy", bytes: 10 }, { cost_usd: cost }),
    });
    const [a, b] = [await harness.key(), await harness.key()];
    for (const [n, key] of [a, a, b].entries())
      await harness.fetch({ url: `https://example.org/${n}`, project_ref: `ref ${n}` }, { key });
    cost = "0.25";
    await harness.clock.advance(25 * 3_600_000);
    await harness.fetch({ url: "https://example.org/4" }, { key: b });
    return { ...harness, a, b };
  }

  test("sum up by category, project, day and key", async () => {
    const { call, a, b } = await used();
    const { json, status } = await call("GET", "/v1/usage?group_by=day,key");
    expect([status, shape(UsageReport).read("body", json).kind]).toEqual([200, "read"]);
    expect(json.rows.map(({ day, key, requests, cost_usd }: any) => [day, key, requests, cost_usd])).toEqual(
      [
        ["2026-11-21", a.slice(0, 10), 2, "1.000000"],
        ["2026-11-21", b.slice(0, 10), 1, "0.500000"],
        ["2026-11-22", b.slice(0, 10), 1, "0.250000"],
      ].toSorted((x, y) => (x.slice(0, 2).join() < y.slice(0, 2).join() ? -1 : 1)),
    );
    expect(json.totals).toMatchObject({ requests: 4, succeeded: 4, paid_bytes: 40, cost_usd: "1.750000" });
    const byDay = (await call("GET", "/v1/usage?group_by=project,day&since=2026-11-22")).json;
    expect(byDay).toMatchObject({
      period: { since: "2026-11-22", until: "2026-11-23" },
      rows: [{ project: "default", day: "2026-11-22", requests: 1 }],
    });
    expect((await call("GET", "/v1/usage")).json.rows).toMatchObject([
      { category: "fetch_paid", requests: 4 },
    ]);
  });

  test("show a standard key itself only", async () => {
    const { call, b } = await used();
    expect((await call("GET", "/v1/usage", { key: b })).json.totals.requests).toBe(2);
    const { json } = await call("GET", "/v1/requests", { key: b });
    expect(json.items.map(({ key }: any) => key)).toEqual([b.slice(0, 10), b.slice(0, 10)]);
  });

  test.each([
    ["group_by=colour", "group_by"],
    ["since=2026-13-01", "since"],
    ["since=yesterday", "since"],
    ["since=2026-11-05&until=2026-11-05", "until"],
    ["since=2020-01-01", "since"],
    ["since=2026-02-30", "since"],
    ["until=2026-11-22T24:00Z", "until"],
    ["since=2026-11-01T25:00Z", "since"],
    ["since=2024-10-21&until=2024-11-21", "since"],
  ])("refuse %s and name the field", async (query, field) => {
    const { call } = await gatewayHarness();
    const { status, json } = await call("GET", `/v1/usage?${query}`);
    expect([status, json.detail[0].loc]).toEqual([422, ["query", field]]);
  });

  const cursorAt = (batch: string) => Buffer.from(JSON.stringify({ batch, skip: 0 })).toString("base64url");

  test.each([
    ["since=2026-02-30", "since"],
    ["until=2026-02-30", "until"],
    ["since=2026-11-22&until=2026-11-21", "until"],
    ["key=sk_", "key"],
    ["key=sk_0000000", "key"],
    [`cursor=${cursorAt("other:1795262400000:g1")}`, "cursor"],
    [`cursor=${cursorAt("z")}`, "cursor"],
    [`cursor=${cursorAt("default:")}`, "cursor"],
  ])("of requests refuse %s instead of listing nothing", async (query, field) => {
    const { call } = await gatewayHarness();
    const { status, json } = await call("GET", `/v1/requests?${query}`);
    expect([status, json.detail[0].loc]).toEqual([422, ["query", field]]);
  });

  test("of requests refuse a key of another customer like one that does not exist", async () => {
    const { call, key, documents, a, b } = await used();
    await createCustomer(documents, { name: "acme", external: false, currency: "USD" }, NOW_MS);
    await createProject(documents, { name: "research", customer: "acme" }, NOW_MS);
    const theirs = await key({ project: "research" });
    const list = (prefix: string, caller: string) =>
      call("GET", `/v1/requests?key=${prefix.slice(0, 10)}`, { key: caller });
    const admin = await key({ role: "account_admin" });
    expect((await list(a, admin)).json.items).toHaveLength(2);
    expect((await list(b, b)).json.items).toHaveLength(2);
    for (const [named, caller] of [
      [theirs, admin],
      ["sk_unknown", admin],
      [a, b],
    ] as const)
      expect((await list(named, caller)).status).toBe(422);
  });

  test("list every row, newest first, page by page, by filters", async () => {
    const { call, a } = await used();
    const { json } = await call("GET", "/v1/requests");
    expect(shape(RequestList).read("body", json).kind).toBe("read");
    expect(json.items).toHaveLength(4);
    expect(json.items[3]).toMatchObject({
      at: "2026-11-21T12:00:00.000Z",
      category: "fetch_paid",
      status: 200,
      ok: true,
      paid: true,
      cost_usd: "0.500000",
      charge: null,
      project_ref: expect.stringMatching(/^ref/),
      attempts: [{ tier: "direct", status: 200, reason: "ok", ms: 12 }],
    });
    const seen: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const page: any = (await call("GET", `/v1/requests?limit=1${cursor && `&cursor=${cursor}`}`)).json;
      seen.push(...page.items.map(({ request_id }: any) => request_id));
      cursor = page.next_cursor;
    }
    expect(seen).toEqual(json.items.map(({ request_id }: any) => request_id));
    const count = async (query: string) => (await call("GET", `/v1/requests?${query}`)).json.items.length;
    expect([
      await count("category=fetch"),
      await count("category=search"),
      await count("ok=false"),
      await count(`key=${a.slice(0, 10)}`),
      await count("since=2026-11-22"),
      await count("until=2026-11-22"),
      await count("until=2300-01-01"),
      await count("since=2300-01-01"),
    ]).toEqual([4, 0, 0, 2, 1, 3, 4, 0]);
    expect((await call("GET", "/v1/requests?cursor=nonsense")).status).toBe(422);
  });
});

describe("a page of rows", () => {
  const ANY: RowFilter = { since_ms: 0, until_ms: Infinity, own: null, key: null, ok: null, category: null };
  const given = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: null });
  const keys = fc.constantFrom("sk_aaaaaaa", "sk_bbbbbbb");
  const projects = fc.constantFrom("p", "q");

  /** Every page after the other. */
  async function readAll(documents: Documents, filter: RowFilter, limit: number) {
    const rows: LedgerRow[] = [];
    let pages = 0;
    for (let cursor: RowCursor | null = null; ;) {
      const page: RowPage = await readRows(documents, "acme", filter, { cursor, limit });
      rows.push(...page.rows);
      pages++;
      if (page.next === null) return { rows, pages };
      cursor = page.next;
    }
  }

  test("has the rows that its filters name, whatever batches are passed over", async () => {
    const row = fc.record({
      key: keys,
      project: projects,
      ok: fc.boolean(),
      category: fc.constantFrom("fetch_own", "fetch_paid", "search"),
      // A batch is written at most a day after its oldest row.
      at_ms: fc.integer({ min: NOW_MS - 86_300_000, max: NOW_MS }),
    });
    const filters = fc.record({
      since_ms: fc.constantFrom(0, NOW_MS - 43_200_000),
      until_ms: fc.constantFrom(Infinity, NOW_MS - 43_200_000, NOW_MS),
      own: given(fc.record({ project: projects, prefix: keys })),
      key: given(keys),
      ok: given(fc.boolean()),
      category: given(fc.constantFrom("fetch", "fetch_own", "search")),
    });
    const batches = fc.array(fc.array(row, { minLength: 1, maxLength: 30 }), { maxLength: 25 });
    await fc.assert(
      fc.asyncProperty(batches, filters, fc.integer({ min: 1, max: 40 }), async (written, filter, limit) => {
        const documents = memoryDocuments();
        const all: LedgerRow[] = [];
        for (const [n, batch] of written.entries()) {
          const rows = batch.map((more, at) => ledgerRow({ request_id: `${n}:${at}`, ...more }));
          all.push(...rows);
          await documents.put("ledger", batchKey("acme", NOW_MS + n, "g1"), packRows(rows), 0);
        }
        const { since_ms, until_ms, own, key, ok, category } = filter;
        const wanted = all.filter(
          (one) =>
            one.at_ms >= since_ms &&
            one.at_ms < until_ms &&
            (own === null || (one.project === own.project && one.key === own.prefix)) &&
            (key === null || one.key === key) &&
            (ok === null || one.ok === ok) &&
            (category === null || one.category.startsWith(category)),
        );
        const { rows } = await readAll(documents, filter, limit);
        const names = (some: readonly LedgerRow[]) => some.map(({ request_id }) => request_id).toSorted();
        expect(names(rows)).toEqual(names(wanted));
      }),
    );
  });

  test("passes over 500 batches for a rare filter, and does not unpack what their totals exclude", async () => {
    const documents = memoryDocuments();
    const put = (n: number, rows: readonly LedgerRow[]) => {
      // Rows that are not unpacked may be unreadable.
      const batch = { ...packRows(rows), ...(n > 0 && { rows: "unreadable" }) };
      return documents.put("ledger", batchKey("acme", NOW_MS + n, "g1"), batch, 0);
    };
    await put(0, [ledgerRow({ request_id: "rare", ok: false })]);
    for (let n = 1; n < 1_200; n++) await put(n, [ledgerRow()]);
    const { rows, pages } = await readAll(documents, { ...ANY, ok: false }, 10);
    expect([rows.map(({ request_id }) => request_id), pages]).toEqual([["rare"], 3]);
  });

  test("is found in batches of before format 4 of the stored data, which have no totals", async () => {
    const documents = memoryDocuments();
    const batch: LedgerBatch = { rows: [ledgerRow({ request_id: "old", ok: false })] };
    await documents.put("ledger", batchKey("acme", NOW_MS, "g1"), batch, 0);
    expect((await readAll(documents, { ...ANY, ok: false }, 10)).rows).toEqual(batch.rows);
  });
});

describe("GET /v1/account and /v1/keys", () => {
  test("are for account admin keys", async () => {
    const { call, key } = await gatewayHarness();
    const standard = await key();
    for (const path of ["/v1/account", "/v1/keys"]) {
      const { status, json } = await call("GET", path, { key: standard });
      expect([status, json.detail.error]).toEqual([403, "admin_key_required"]);
    }
  });

  test("list the keys of all projects oldest first", async () => {
    const { call, key, documents, clock, first } = await gatewayHarness();
    const keys = [first];
    for (const project of ["x", "default", "a"]) {
      await createProject(documents, { name: project, customer: "default" }, clock.now()).catch(() => {});
      await clock.advance(1_000);
      keys.push(await key({ project }));
    }
    const listed = (await call("GET", "/v1/keys")).json.keys;
    expect(listed.map(({ prefix }: any) => prefix)).toEqual(keys.map((one) => one.slice(0, 10)));
  });

  test("show the plan, this month's use, and every key without its secret", async () => {
    const { call, fetch, key, first } = await gatewayHarness();
    const mine = await key({ label: "mine", spend_cap_micros: 2_000_000 });
    await fetch({ url: "https://example.org/" }, { key: mine });
    const account = (await call("GET", "/v1/account")).json;
    expect(account).toMatchObject({
      customer: { name: "default", status: "active", currency: "USD" },
      period: { month: "2026-11", resets_at: "2026-12-01T00:00:00.000Z" },
      plan: { budget: null, basis: "provider_cost", projects: [{ name: "default", rate_limit_rps: 200 }] },
      usage: [{ category: "fetch_own", requests: 1 }],
      keys: [{ prefix: mine.slice(0, 10), requests: 1 }],
      totals: { requests: 1 },
    });
    const { keys } = (await call("GET", "/v1/keys")).json;
    expect(keys.map(({ prefix, label, spend_cap }: any) => [prefix, label, spend_cap])).toEqual(
      expect.arrayContaining([
        [first.slice(0, 10), "first", null],
        [mine.slice(0, 10), "mine", "2.000000"],
      ]),
    );
    expect(JSON.stringify(keys)).not.toContain(mine);
  });
});
