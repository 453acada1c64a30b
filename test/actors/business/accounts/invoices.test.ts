/** Invoices: what is charged, to six places; when they are drawn up; what an external customer does not see. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { setRate } from "../../../../actors/business/accounts/exchange.ts";
import { changeInvoice, drawInvoice, listInvoices } from "../../../../actors/business/accounts/invoices.ts";
import { INVOICES } from "../../../../actors/business/accounts/collections.ts";
import { money } from "../../../../actors/business/accounts/feature/invoice-page.ts";
import { amountsOf } from "../../../../actors/business/accounts/invoice-terms.ts";
import {
  createCustomer,
  createProject,
  setBilling,
  setPrices,
} from "../../../../actors/business/accounts/keys.ts";
import type { Invoice } from "../../../../schemas/invoices.ts";
import { Fault } from "../../../../cluster/ports/fault.ts";
import { type Customer, fromMicros, fromUsd, fromUsdUp, limitInUsd } from "../../../../schemas/accounts.ts";
import { batchKey, newBatchTag } from "../../../../schemas/ledger.ts";
import { fetchAnswer, gatewayHarness } from "../../../harness/gateway-harness.ts";
import { packRows } from "../../../../schemas/ledger-batch.ts";
import { ledgerRow } from "../../../harness/ledger-row.ts";

const PAGE = { url: "https://example.org/" };
const DECEMBER_MS = Date.UTC(2026, 11, 1);

async function billing(currency: Customer["currency"], external: boolean) {
  let fails = false;
  const gateway = await gatewayHarness({
    fetch: async () =>
      fetchAnswer({ tier: "proxy" }, { cost_usd: "0.001237", error: fails ? "all_tiers_failed" : null }),
  });
  const { documents, clock, key, call, everyMinute } = gateway;
  await createCustomer(documents, { name: "acme", external, currency }, clock.now());
  await createProject(documents, { name: "p", customer: "acme" }, clock.now());
  const admin = await key({ project: "p", role: "account_admin" });
  const use = async (times: number, failing = false) => {
    fails = failing;
    for (let n = 0; n < times; n++) await gateway.fetch(PAGE, { key: admin });
  };
  const turnMonth = async () => {
    await clock.advance(DECEMBER_MS + 11 * 60_000 - clock.now());
    await everyMinute();
  };
  const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
    call("GET", path, { key: admin, headers });
  const invoices = async () => (await get("/v1/invoices")).json.invoices;
  const customer = async () => (await documents.get("customers", "acme"))!.value as Customer;
  return { ...gateway, admin, use, turnMonth, get, invoices, customer };
}

describe("an invoice", () => {
  test("of a customer without prices is what providers cost, at the operator's rate, once a month", async () => {
    const { documents, clock, use, turnMonth, invoices, get, everyMinute } = await billing("CHF", false);
    await setRate(documents, "CHF", 885_312, clock.now());
    await use(3);
    await turnMonth();
    await everyMinute();
    const [summary, ...others] = await invoices();
    expect(others).toEqual([]);
    // 0.003711 x 0.885312 = 0.003285392832
    expect(summary).toMatchObject({
      id: "inv-2026-11-1-acme",
      period: "2026-11",
      status: "issued",
      currency: "CHF",
      total: "0.003285",
      paid_at: null,
    });
    expect((await get(`/v1/invoices/${summary.id}`)).json).toEqual({
      ...summary,
      since: "2026-11-01T00:00:00.000Z",
      until: "2026-12-01T00:00:00.000Z",
      exchange_rate: "0.885312",
      seller: null,
      buyer: { name: "acme", address: [], tax_id: null },
      payment: null,
      net: "0.00",
      rounding: "-0.003285",
      tax: null,
      lines: [
        {
          period: "2026-11",
          category: "fetch_paid",
          requests: 3,
          succeeded: 3,
          unit_price: null,
          cost_usd: "0.003711",
          amount: "0.003285",
        },
      ],
    });
  });

  test("of an external customer has prices of succeeded requests and no provider cost anywhere", async () => {
    const { documents, use, turnMonth, invoices, get } = await billing("EUR", true);
    await setPrices(documents, "acme", "2026-11", { fetch_paid: 2_500 });
    await use(3);
    await use(2, true);
    const charges = (await get("/v1/requests")).json.items.map(({ charge }: any) => charge);
    expect(charges.toSorted()).toEqual(["0.000000", "0.000000", "0.002500", "0.002500", "0.002500"]);
    await turnMonth();
    const [{ id, total }] = await invoices();
    expect(total).toBe("0.007500");
    const { json, bytes } = await get(`/v1/invoices/${id}`);
    expect(json.lines).toMatchObject([
      { requests: 5, succeeded: 3, unit_price: "0.002500", cost_usd: null, amount: "0.007500" },
    ]);
    const page = await get(`/v1/invoices/${id}`, { accept: "text/html,*/*" });
    expect(page.headers["content-type"]).toContain("text/html");
    for (const text of [bytes, page.bytes, (await get("/v1/account")).bytes, (await get("/v1/usage")).bytes])
      for (const cost of ["0.006185", "0.003711", "0.001237", "Cost, USD"])
        expect(text.toString()).not.toContain(cost);
    expect(page.bytes.toString()).toContain("0.007500");
  });

  test("cannot be drawn up without prices for an external customer, or without a rate", async () => {
    for (const [external, because] of [
      [true, "no_prices"],
      [false, "no_rate"],
    ] as const) {
      const { documents, use, turnMonth, invoices, customer, clock } = await billing("CHF", external);
      await use(1);
      await turnMonth();
      expect(await invoices()).toEqual([]);
      expect(await drawInvoice(documents, await customer(), "2026-11", clock.now())).toEqual({
        kind: "none",
        because,
      });
    }
  });

  test("is issued to each of more customers than one page of their list has", async () => {
    const { documents, clock, everyMinute } = await gatewayHarness();
    const names = Array.from({ length: 1_001 }, (_, n) => `c${String(n).padStart(4, "0")}`);
    for (const name of names)
      await createCustomer(documents, { name, external: false, currency: "USD" }, clock.now());
    const last = names.at(-1)!;
    const row = ledgerRow({ request_id: "r1", at_ms: clock.now(), cost_micros: 5 });
    const batch = batchKey(last, clock.now(), "g1");
    await documents.put("ledger", batch, packRows([row]), 0, { tag: newBatchTag(last) });
    await clock.advance(DECEMBER_MS + 11 * 60_000 - clock.now());
    await everyMinute();
    expect(await listInvoices(documents, last)).toMatchObject([{ period: "2026-11", total: "0.000005" }]);
  });

  test("is paid or void, never both; a void month can be drawn up anew", async () => {
    const { documents, use, turnMonth, invoices, customer, clock } = await billing("USD", false);
    await use(1);
    await turnMonth();
    const [{ id }] = await invoices();
    const now_ms = clock.now();
    await changeInvoice(documents, id, "void", now_ms);
    expect((await changeInvoice(documents, id, "void", now_ms + 5)).voided_at).toBe(
      new Date(now_ms).toISOString(),
    );
    await expect(changeInvoice(documents, id, "paid", now_ms)).rejects.toThrow("it is void");
    await expect(changeInvoice(documents, "inv-2026-11-9-acme", "paid", now_ms)).rejects.toThrow(
      "there is none",
    );
    const draw = async (anew: boolean) => drawInvoice(documents, await customer(), "2026-11", now_ms, anew);
    expect(await draw(false)).toMatchObject({ kind: "exists", invoice: { id, status: "void" } });
    expect(await draw(true)).toMatchObject({ kind: "drawn", invoice: { id: "inv-2026-11-2-acme" } });
    expect(await draw(true)).toMatchObject({ kind: "exists", invoice: { id: "inv-2026-11-2-acme" } });
    await changeInvoice(documents, "inv-2026-11-2-acme", "paid", now_ms);
    expect((await listInvoices(documents, "acme")).map(({ status }) => status)).toEqual(["paid", "void"]);
  });

  /** A row of November that is stored in December. */
  const storeLate = async ({ documents }: Pick<Awaited<ReturnType<typeof billing>>, "documents">) => {
    const at_ms = DECEMBER_MS - 1_000;
    const row = ledgerRow({ request_id: "req_late", at_ms, project: "p", cost_micros: 40 });
    const options = { tag: newBatchTag("acme") };
    await documents.put("ledger", batchKey("acme", at_ms, "g9"), packRows([row]), 0, options);
  };

  test("charges rows that were stored after the month's invoice with the next one", async () => {
    const account = await billing("USD", false);
    const { use, turnMonth, invoices, get, clock, everyMinute } = account;
    await use(2);
    await turnMonth();
    await storeLate(account);
    await use(1);
    await clock.advance(Date.UTC(2027, 0, 1) + 11 * 60_000 - clock.now());
    await everyMinute();
    const [{ id, total }] = await invoices();
    expect((await get(`/v1/invoices/${id}`)).json.lines).toMatchObject([
      { period: "2026-11", requests: 1, amount: "0.000040" },
      { period: "2026-12", requests: 1, amount: "0.001237" },
    ]);
    expect(total).toBe("0.001277");
  });

  test("charges late rows of a month that has no invoice with the next one, and none of them twice", async () => {
    const account = await billing("USD", false);
    const { documents, use, turnMonth, invoices, get, clock, everyMinute, customer } = account;
    await turnMonth();
    expect(await invoices()).toEqual([]);
    await storeLate(account);
    await use(1);
    await clock.advance(Date.UTC(2027, 0, 1) + 11 * 60_000 - clock.now());
    await everyMinute();
    const [{ id, total }, ...others] = await invoices();
    expect(others).toEqual([]);
    expect((await get(`/v1/invoices/${id}`)).json.lines).toMatchObject([
      { period: "2026-11", requests: 1, amount: "0.000040" },
      { period: "2026-12", requests: 1, amount: "0.001237" },
    ]);
    expect(total).toBe("0.001277");
    // The operator draws November up after all.
    const november = async () => drawInvoice(documents, await customer(), "2026-11", clock.now(), true);
    expect(await november()).toEqual({ kind: "none", because: "no_usage" });
    await changeInvoice(documents, id, "void", clock.now());
    expect(await november()).toMatchObject({ kind: "drawn", invoice: { total: "0.000040" } });
    expect(await drawInvoice(documents, await customer(), "2026-12", clock.now(), true)).toMatchObject({
      kind: "drawn",
      invoice: { total: "0.001237" },
    });
  });

  test("charges a month that had no exchange rate with the next one", async () => {
    const { documents, use, turnMonth, invoices, clock, everyMinute } = await billing("CHF", false);
    await use(2);
    await turnMonth();
    expect(await invoices()).toEqual([]);
    await setRate(documents, "CHF", 500_000, clock.now());
    await clock.advance(Date.UTC(2027, 0, 1) + 11 * 60_000 - clock.now());
    await everyMinute();
    expect(await invoices()).toMatchObject([{ period: "2026-12", total: "0.001237" }]);
  });

  test("waits until the usage of its customer can be added up", async () => {
    const { documents, use, invoices, everyMinute, clock } = await billing("USD", false);
    await use(1);
    await clock.advance(DECEMBER_MS + 11 * 60_000 - clock.now());
    const stored = { ...documents };
    const away = async () => {
      throw new Fault("documents_unreachable", "away");
    };
    documents.list = (...named) => (named[0] === "ledger" ? away() : stored.list(...named));
    await everyMinute();
    Object.assign(documents, stored);
    expect(await invoices()).toEqual([]);
    await everyMinute();
    expect(await invoices()).toMatchObject([{ period: "2026-11", total: "0.001237" }]);
  });

  test("of an external customer leaves out the month before it had prices", async () => {
    const { documents, use, turnMonth, invoices, clock, everyMinute } = await billing("EUR", true);
    await setPrices(documents, "acme", "2026-12", { fetch_paid: 2_500 });
    await use(2);
    await turnMonth();
    await use(1);
    await clock.advance(Date.UTC(2027, 0, 1) + 11 * 60_000 - clock.now());
    await everyMinute();
    expect(await invoices()).toMatchObject([{ period: "2026-12", total: "0.002500" }]);
  });

  test("is seen by admin keys of its own account only", async () => {
    const { use, turnMonth, invoices, call, key, get } = await billing("USD", false);
    await use(1);
    await turnMonth();
    const [{ id }] = await invoices();
    const standard = await key({ project: "p" });
    for (const path of ["/v1/invoices", `/v1/invoices/${id}`])
      expect((await call("GET", path, { key: standard })).json.detail.error).toBe("admin_key_required");
    expect((await call("GET", `/v1/invoices/${id}`)).status).toBe(404);
    expect((await call("GET", "/v1/invoices")).json.invoices).toEqual([]);
    expect((await get("/v1/invoices/2026-11")).status).toBe(422);
  });
});

describe("what a bookkeeper needs", () => {
  test.each([
    [41_253_285, "8.1", { net: "41.25", rounding: "-0.003285", tax: "3.34", payable: "44.59" }],
    [41_255_000, "0", { net: "41.26", rounding: "0.005000", tax: "0.00", payable: "41.26" }],
    [4_999, "19", { net: "0.00", rounding: "-0.004999", tax: "0.00", payable: "0.00" }],
    [1_000_000, "2.5", { net: "1.00", rounding: "0.000000", tax: "0.03", payable: "1.03" }],
    [999_999_999_995_000, "99.99", { net: "1000000000.00", tax: "999900000.00", payable: "1999900000.00" }],
  ])("%d millionths with %s percent", (total, percent, { tax, ...amounts }) => {
    const of = amountsOf(total, { name: "VAT", percent });
    expect(of).toMatchObject({ ...amounts, tax: { name: "VAT", percent, amount: tax } });
  });

  test.each([
    ["USD", "$1,234.50"],
    ["CHF", "CHF 1'234.50"],
    ["EUR", "€1,234.50"],
  ] as const)("is an amount in the form of %s", (currency, text) => {
    expect(money("1234.50", currency).replace(/\s/g, " ").replace("’", "'")).toBe(text);
  });

  test("is on the invoice as it was when it was issued: seller, buyer, due date, tax", async () => {
    const { documents, use, clock, customer, get } = await billing("EUR", true);
    await setPrices(documents, "acme", "2026-11", { fetch_paid: 10_333_333 });
    await setBilling(documents, "acme", { name: "Acme <AG>", address: ["Way 1", "Town"], tax_id: "CH 1" });
    await use(1);
    await clock.advance(DECEMBER_MS - clock.now());
    await get("/v1/usage");
    const terms = {
      seller: { name: "Trawl Ltd", address: ["Road 2"], tax_id: "IE 2" },
      tax: { name: "VAT", percent: "8.1" },
      due_days: 14,
      payment: "IBAN 3",
    };
    const drawn = await drawInvoice(documents, await customer(), "2026-11", clock.now(), false, terms);
    const id = drawn.kind === "drawn" ? drawn.invoice.id : drawn.kind;
    await setBilling(documents, "acme", { name: "Other", address: [], tax_id: null });
    expect((await get(`/v1/invoices/${id}`)).json).toMatchObject({
      seller: terms.seller,
      buyer: { name: "Acme <AG>", address: ["Way 1", "Town"], tax_id: "CH 1" },
      issued_at: "2026-12-01T00:00:00.000Z",
      due_at: "2026-12-15T00:00:00.000Z",
      total: "10.333333",
      rounding: "-0.003333",
      net: "10.33",
      tax: { amount: "0.84" },
      payable: "11.17",
    });
    const page = await get(`/v1/invoices/${id}?format=html`);
    expect(page.headers["content-security-policy"]).not.toContain("unsafe");
    for (const text of ["Trawl Ltd<br>Road 2<br>IE 2", "Acme &lt;AG&gt;", "VAT 8.1 %", "€11.17", "IBAN 3"])
      expect(page.bytes.toString()).toContain(text);
    expect(page.bytes.toString()).toContain("2026-11-01 to 2026-11-30");
    await expect(setBilling(documents, "acme", { name: "a\nb", address: [], tax_id: null })).rejects.toThrow(
      "line breaks",
    );
  });

  test("is told of invoices that an earlier version stored, without tax and date due", async () => {
    const { documents, use, turnMonth, invoices, get } = await billing("USD", false);
    await use(1);
    await turnMonth();
    const [{ id }] = await invoices();
    await INVOICES.update(documents, "acme:2026-11:001", (stored) => {
      const later = ["seller", "buyer", "due_at", "payment", "net", "rounding", "tax", "payable"];
      const earlier = Object.fromEntries(
        Object.entries(stored!.invoice).filter(([name]) => !later.includes(name)),
      );
      return { value: { ...stored!, invoice: earlier as unknown as Invoice }, options: { tag: "acme" } };
    });
    expect((await get(`/v1/invoices/${id}`)).json).toMatchObject({
      buyer: { name: "acme" },
      due_at: null,
      tax: null,
      total: "0.001237",
      payable: "0.00",
    });
    expect((await invoices())[0].payable).toBe("0.00");
  });
});

describe("amounts in another currency", () => {
  const micros = fc.integer({ min: 0, max: 10 ** 12 });
  const rate = fc.integer({ min: 10_000, max: 100_000_000 });

  test("are exact: what is spent of a converted limit never exceeds the limit", () => {
    fc.assert(
      fc.property(micros, rate, (limit, per_usd) => {
        const spent = limitInUsd(limit, per_usd)!;
        expect(fromUsdUp(spent, per_usd)).toBeLessThanOrEqual(limit);
        expect(fromUsd(spent, per_usd)).toBeLessThanOrEqual(limit);
      }),
    );
  });

  test("are rounded half up to six places", () => {
    for (const [usd, per_usd, amount] of [
      [1, 500_000, "0.000001"],
      [1, 499_999, "0.000000"],
      [3_711, 885_312, "0.003285"],
      [123_456_789_012, 1_000_000, "123456.789012"],
    ] as const)
      expect(fromMicros(fromUsd(usd, per_usd))).toBe(amount);
  });
});
