/** The company register over HTTP, against invented records of one source: lookup, history, search, feed, watch, batch. */
import { createHmac } from "node:crypto";
import { Compile } from "typebox/schema";
import { afterAll, describe, expect, test } from "vitest";
import { type Edgar, edgar } from "../harness/edgar.ts";
import { type Gleif, gleif, leiOf } from "../harness/gleif.ts";
import { type OpenFigi, openFigi } from "../harness/openfigi.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { type Delivery, RECEIVER_CERTIFICATE, webhookReceiver } from "../harness/webhook-receiver.ts";

const ALPINA = leiOf("529900T8BM49AURSDO");
const NORDWIND = leiOf("529900W3MOO00A18X9");
const SECURITIES = leiOf("529900SECURITIES00");
const SEEKRAN = leiOf("529900SEEKRAN00000");
const REGISTERED = ["RA000236", "HRB 12345"] as const;
const NEVER = leiOf("529900ZZZZZZZZZZZZ");

describe.each(SETUPS)("the company register, $setup", ({ start }) => {
  let source: Gleif;
  let filings: Edgar;
  let figi: OpenFigi;
  const { service } = scenario(start, async (sites) => {
    sites.name("site", ["127.0.0.1"]);
    source = await gleif();
    source.companies.set(ALPINA, {
      lei: ALPINA,
      name: "Alpina Maschinenbau AG",
      former: ["Alpina Werke AG"],
    });
    filings = await edgar();
    figi = await openFigi();
    return {
      ...filings.environment,
      TRAWL_GLEIF_URL: source.url,
      TRAWL_OPENFIGI_URL: figi.url,
      TRAWL_CA_FILE: RECEIVER_CERTIFICATE,
    };
  });
  afterAll(async () => {
    await source.close();
    await filings.close();
    await figi.close();
  });
  const get = async (path: string) => (await service.call("GET", `/v1/companies${path}`)).json;

  test("fetches an unknown company, keeps its history, and serves valid records", async () => {
    const schema = (await service.call("GET", "/v1/schemas/company")).json;
    expect(schema["x-identifier-schemes"]).toHaveLength(51);
    const validator = Compile(schema);
    const first = await get(`/lei:${ALPINA}?include=events,ownership,claims`);
    expect(validator.Errors(first)[1]).toEqual([]);
    expect(first).toMatchObject({
      names: { legal: "Alpina Maschinenbau AG" },
      jurisdiction: "CH",
      status: "active",
    });
    expect(await get(`/lei:${ALPINA}`)).toMatchObject({ id: first.id });
    expect(source.lookups).toEqual([ALPINA]);

    source.companies.set(ALPINA, {
      lei: ALPINA,
      name: "Alpina Technik AG",
      former: ["Alpina Maschinenbau AG"],
    });
    expect((await get(`/${first.id}/ownership`)).items).toEqual([]);
    const second = await get(`/${first.id}?refresh=true`);
    expect(second.names.legal).toBe("Alpina Technik AG");
    expect(second.provenance["names.legal"].claim).not.toBe(first.provenance["names.legal"].claim);
    const history = await get(`/${first.id}/history?field=names.legal&limit=1`);
    expect(history).toMatchObject({ items: [{ value: "Alpina Technik AG", current: true }] });
    const older = await get(`/${first.id}/history?field=names.legal&limit=1&cursor=${history.next_cursor}`);
    expect(older).toMatchObject({
      items: [{ value: "Alpina Maschinenbau AG", current: false }],
      next_cursor: null,
    });
    expect(older.items[0].valid_to).not.toBeNull();
    const body = await service.call("GET", older.items[0].body_url);
    expect(body.bytes.toString()).toContain("Alpina Maschinenbau AG");
  });

  test.each([
    [`/lei:${NEVER}`, 404],
    ["/cmp_0000000000000000", 404],
    [`/lei:${ALPINA.slice(0, -1)}9`, 422],
    ["/nosuchscheme:1", 422],
    [`/lei:${ALPINA}?include=everything`, 422],
    [`/lei:${ALPINA}?sources=nobody`, 422],
    [`/lei:${ALPINA}/history?cursor=AAAAAAAAAAAAAAAAAAAA`, 422],
    ["/search", 422],
    ["/changes?cursor=x", 422],
    [`/lei:${ALPINA}/history?field=addresses%5Bregistered%5D`, 200],
    [`/lei:${ALPINA}/history?field=adresses`, 422],
    [`/lei:${ALPINA}?sources=zefix`, 200],
    ["/search?q=alpina&status=alive", 422],
    ["/search?q=alpina&legal_form=GmbH", 422],
    [`/search?identifier=lei:${ALPINA}&country=FR`, 200],
    ["/changes?since=2026-11-01", 200],
    ["/changes?since=2026-11-01T10:00:00", 200],
    ["/changes?since=2026-11-01T10:00:00%2B01:00", 200],
    ["/changes?since=2026-13-01", 422],
    ["/changes?since=yesterday", 422],
  ])("answers %s with %i", async (path, status) => {
    const { status: answered, json } = await service.call("GET", `/v1/companies${path}`);
    expect(answered).toBe(status);
    // A mistake names its field: the last parameter, or the reference.
    const field = /[?&](\w+)=[^&]*$/.exec(path)?.[1] ?? (path === "/search" ? "q" : "company_ref");
    expect(status === 422 ? json.detail[0].loc[1] : field).toBe(field);
  });

  test("finds a company by an ISIN and a BIC that were asked for before it was there, and by its number", async () => {
    const [ISIN, BIC] = ["DE000AUDB013", "AUDIDEFFXXX"];
    for (const reference of [`isin:${ISIN}`, `bic:${BIC}`])
      expect((await service.call("GET", `/v1/companies/${reference}`)).status).toBe(404);
    const company = {
      lei: SECURITIES,
      name: "Silvretta Energie AG",
      bic: BIC,
      isins: [ISIN],
      registered: REGISTERED,
    };
    source.companies.set(SECURITIES, company);
    const { id } = await get(`/lei:${SECURITIES}`);
    // Erfurt's court keeps no register any more, so its numbers have no scheme.
    for (const reference of [`isin:${ISIN}`, `bic:${BIC}`, "ra:RA000236:HRB%2012345"]) {
      expect(await get(`/${reference}`)).toMatchObject({ id });
      expect((await get(`/search?identifier=${reference}`)).results).toMatchObject([{ id }]);
      expect(
        (
          await service.call("POST", "/v1/companies/resolve", {
            body: { identifiers: [decodeURIComponent(reference)] },
          })
        ).json,
      ).toMatchObject({ match: { id } });
    }
  });

  test("the filing system's resolve finds companies nobody fetched: by an ISIN, and by a listing at home", async () => {
    const isin = "DE000A2SH128";
    source.companies.set(SEEKRAN, { lei: SEEKRAN, name: "Seekran SE", country: "DE", isins: [isin] });
    const line = { name: "SEEKRAN SE-REG", shareClassFIGI: "BBG001S5S399", securityType2: "Common Stock" };
    figi.lines.push(
      { ...line, isin, figi: "BBG000BLNQ16", ticker: "SKR", exchCode: "GF" },
      { ...line, isin, figi: "BBG000BLNNH6", ticker: "SKR", exchCode: "GY" },
    );
    const resolve = async (query: string) =>
      (await service.call("GET", `/v1/filings/companies/resolve?${query}`)).json;
    const hint = { company: { name: "Seekran SE", country: "DE", lei: SEEKRAN, isins: [isin] } };
    expect(await resolve("ticker=SKR.DE")).toMatchObject({
      error: "not_registered_filer",
      hint: { ...hint, listing: "SKR.DE" },
    });
    expect(await resolve(`isin=${isin}`)).toMatchObject({
      error: "not_registered_filer",
      hint: {
        company: { ...hint.company, listings: ["XETR:SKR", "XFRA:SKR"] },
        listing: "XETR:SKR",
        filer_candidates: [],
      },
    });
    expect(await resolve("ticker=SKR.L")).toMatchObject({ error: "unknown_identifier" });
    expect(await get("/ticker:XETR:SKR")).toMatchObject({ names: { legal: "Seekran SE" } });
  });

  test("says which source is not asked", async () => {
    expect((await get(`/lei:${ALPINA}?sources=zefix`)).refresh).toContainEqual(
      expect.objectContaining({ source: "zefix", result: "failed", error: "not_configured" }),
    );
    expect(await get("/ch_uid:CHE101602521")).toEqual({
      detail: "company not found; no answer from zefix (not_configured)",
    });
  });

  test("asks the filing system, where it is on, as a source", async () => {
    const record = await get("/us_cik:9000001?include=filings");
    expect(record).toMatchObject({
      provenance: { "names.legal": { source: "sec_edgar" } },
      filings: expect.arrayContaining([expect.objectContaining({ source: "sec_edgar", type: "10-K" })]),
    });
    expect(filings.hits("CIK0009000001")).toBe(1);
    const { sources } = await get("/sources");
    expect(sources.find(({ name }: { name: string }) => name === "sec_edgar")).toMatchObject({
      active: true,
    });
  });

  test("keeps what it knew when the source answers HTML or errors, and says so", async () => {
    for (const fault of ["html", "500"] as const) {
      source.fault = fault;
      const record = await get(`/lei:${ALPINA}?refresh=true`);
      expect(record.names.legal).toBe("Alpina Technik AG");
      expect(record.refresh.some(({ result }: { result: string }) => result === "failed")).toBe(true);
    }
    source.fault = "none";
    const { sources } = await get("/sources");
    expect(sources.find(({ name }: { name: string }) => name === "gleif")).toMatchObject({ active: true });
  });

  test("finds companies by name with a typo and by a former name, and resolves one", async () => {
    await expect
      .poll(async () => (await get("/search?q=alpina+tecnik")).results.length, { timeout: 10_000 })
      .toBe(1);
    const { results } = await get("/search?q=Alpina+Maschinenbau");
    expect(results[0]).toMatchObject({ in_register: true, names: { legal: "Alpina Technik AG" }, ref: null });
    source.companies.set(NORDWIND, { lei: NORDWIND, name: "Nordwind Reederei AS", country: "NO" });
    const live = await get("/search?q=Nordwind+Reederei&live=true&country=NO");
    expect(live.results).toMatchObject([{ id: null, in_register: false, ref: `lei:${NORDWIND}` }]);
    const resolved = await service.call("POST", "/v1/companies/resolve", {
      body: { name: "Alpina Technik", country: "CH" },
    });
    expect(resolved.json).toMatchObject({ match: { names: { legal: "Alpina Technik AG" } }, reason: null });
    const [explained] = resolved.json.explanations;
    expect(explained).toMatchObject({ candidate: resolved.json.match.id, threshold: 0.85, lead: null });
    const effects = explained.parts.map(({ effect }: { effect: number }) => effect);
    expect(effects.reduce((sum: number, effect: number) => sum + effect, explained.base)).toBeCloseTo(
      resolved.json.match.match_score,
      3,
    );
    const other = await service.call("POST", "/v1/companies/resolve", {
      body: { name: "Alpina Technik GmbH", country: "CH", live: false },
    });
    expect(other.json).toMatchObject({ match: null, reason: "below_threshold" });
    expect(other.json.explanations[0].parts).toContainEqual(
      expect.objectContaining({ kind: "form", query: "Alpina Technik GmbH" }),
    );
    const index = await service.call("GET", "/v1/ops/companies/index", { key: service.operator_key });
    expect(index.json).toMatchObject({ state: "complete", through: null });
    expect(index.json.companies).toBeGreaterThan(0);
    const nobody = await service.call("POST", "/v1/companies/resolve", {
      body: { name: "Quuxbar Frobnitz" },
    });
    expect(nobody.json).toMatchObject({ match: null, candidates: [] });
  });

  test("delivers a change to a watch over TLS, signed, again after a refusal, and tells it in the feed", async () => {
    const { port, received, close } = await webhookReceiver((_, number) => (number === 1 ? 503 : 204));
    const url = `https://site.test:${port}/hook`;
    const body = { companies: [`lei:${ALPINA}`], url };
    const made = await service.call("POST", "/v1/companies/watches", { body });
    expect(made).toMatchObject({
      status: 201,
      json: { secret: expect.stringMatching(/^whsec_[A-Za-z0-9]{32}$/) },
    });
    expect(await get("/watches")).toMatchObject({ watches: [{ id: made.json.id, secret: null }] });
    const insecure = await service.call("POST", "/v1/companies/watches", {
      body: { ...body, url: "http://localhost/" },
    });
    const inside = await service.call("POST", "/v1/companies/watches", {
      body: { ...body, url: "https://10.0.0.7/hook" },
    });
    expect([insecure, inside].map(({ status, json }) => [status, json.detail[0].type])).toEqual([
      [422, "url_scheme"],
      [422, "blocked_destination"],
    ]);
    let cursor = "";
    for (;;) {
      const page = await get(`/changes?limit=100${cursor && `&cursor=${cursor}`}`);
      cursor = page.next_cursor;
      if (page.items.length === 0) break;
    }

    source.companies.set(ALPINA, {
      lei: ALPINA,
      name: "Alpina Antriebe AG",
      former: ["Alpina Maschinenbau AG"],
    });
    await get(`/lei:${ALPINA}?refresh=true`);
    await expect.poll(() => received.length, { timeout: 25_000 }).toBeGreaterThanOrEqual(2);
    const [first, second] = received.slice(-2) as [Delivery, Delivery];
    expect(second.body).toBe(first.body);
    const event = JSON.parse(second.body);
    expect(event).toMatchObject({ type: "company.changed", watch_id: made.json.id, fields: ["names"] });
    const [, t, v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(second.headers["x-service-signature"]))!;
    expect(createHmac("sha256", made.json.secret).update(`${t}.${second.body}`).digest("hex")).toBe(v1);
    const page = await get(`/changes?cursor=${cursor}`);
    expect(page.items).toMatchObject([{ company_id: event.company_id, type: "updated", fields: ["names"] }]);
    expect((await get(`/changes?cursor=${event.change_cursor}`)).items).toEqual([]);
    await expect
      .poll(async () => (await get("/watches")).watches[0].last_status, { timeout: 10_000 })
      .toBe("delivered");
    expect((await service.call("DELETE", `/v1/companies/watches/${made.json.id}`)).status).toBe(204);
    expect((await service.call("DELETE", `/v1/companies/watches/${made.json.id}`)).status).toBe(404);
    close();
  });

  test("looks up the companies of a watch that are not in the register, and asks nobody about those that are", async () => {
    const leis = Array.from({ length: 4 }, (_, n) => leiOf(`5299000WATCHED${String(n).padStart(4, "0")}`));
    for (const lei of leis) source.companies.set(lei, { lei, name: `Watched ${lei}` });
    const companies = leis.map((lei) => `lei:${lei}`);
    const watch = (references: readonly string[]) =>
      service.call("POST", "/v1/companies/watches", {
        body: { companies: references, url: "https://site.test/hook" },
      });
    source.lookups.length = 0;
    const unknown = await watch([...companies, `lei:${NEVER}`]);
    expect(unknown).toMatchObject({ status: 404, json: { detail: `company not found: lei:${NEVER}` } });
    const made = await watch([...companies, companies[0]!]);
    expect(made.status).toBe(201);
    expect(new Set(made.json.companies).size).toBe(4);
    expect(made.json.companies).toHaveLength(4);
    expect(source.lookups.filter((lei) => lei !== NEVER).toSorted()).toEqual(leis);
    source.fault = "500";
    const again = await watch([...made.json.companies, companies[3]!]);
    source.fault = "none";
    expect(again).toMatchObject({ status: 201, json: { companies: made.json.companies } });
    for (const { json } of [made, again]) await service.call("DELETE", `/v1/companies/watches/${json.id}`);
  });

  test("runs a batch, and names the item that is wrong", async () => {
    const items = [{ ref: `lei:${ALPINA}` }, { identifiers: [`lei:${NORDWIND}`] }, { ref: `lei:${NEVER}` }];
    const body = { idempotency_key: "one", action: "get", include: ["events"], items };
    const created = await service.call("POST", "/v1/companies/batch", { body });
    expect(created.status).toBe(202);
    const path = `/v1/jobs/${created.json.job_id}?include=items`;
    await expect
      .poll(async () => (await service.call("GET", path)).json.status, { timeout: 20_000 })
      .toBe("completed");
    expect((await service.call("GET", path)).json).toMatchObject({
      kind: "company",
      items: [
        { status: "done", result: { record: { names: { legal: "Alpina Antriebe AG" } } } },
        { status: "done", result: { record: { jurisdiction: "NO" } } },
        { status: "failed", error: "not_found" },
      ],
    });
    const csv = await service.call("GET", `/v1/companies/batch/${created.json.job_id}.csv`);
    const rows = csv.bytes.toString().split("\r\n");
    expect(rows[1]).toMatch(/^0,lei:\w+,done,cmp_\w+,Alpina Antriebe AG,CH,active,AG,,lei:\w+,$/);
    expect(rows[3]).toBe(`2,lei:${NEVER},failed,,,,,,,,not_found`);
    const wrong = { idempotency_key: "two", items: [{ ref: `lei:${ALPINA}` }, { name: "Alpina" }] };
    const refused = await service.call("POST", "/v1/companies/batch", { body: wrong });
    expect(refused).toMatchObject({ status: 422, json: { detail: [{ loc: ["body", "items", 1, "ref"] }] } });
    const elsewhere = { idempotency_key: "three", items: [{ ref: `lei:${ALPINA}`, sources: ["nobody"] }] };
    expect(await service.call("POST", "/v1/companies/batch", { body: elsewhere })).toMatchObject({
      status: 422,
      json: { detail: [{ loc: ["body", "items", 0, "sources"] }] },
    });
  });

  test("lists what is near and no match for review, and follows what was decided", async () => {
    const ask = (name: string, more: object = {}) => ({ name, country: "CH", live: false, ...more });
    const batch = async (idempotency_key: string, items: readonly object[]) => {
      const body = { idempotency_key, action: "resolve", items };
      const { json } = await service.call("POST", "/v1/companies/batch", { body });
      await expect
        .poll(async () => (await service.call("GET", `/v1/jobs/${json.job_id}`)).json.status, {
          timeout: 20_000,
        })
        .toBe("completed");
      return `/batch/${json.job_id}/review`;
    };
    const decide = (path: string, decisions: readonly object[]) =>
      service.call("POST", `/v1/companies${path}`, { body: { decisions } });
    const near = [ask("Alpina Antriebe GmbH"), ask("Alpina Antrieb GmbH"), ask("Quuxbar Frobnitz")];
    const path = await batch("review", [ask("Alpina Antriebe AG"), ...near, { ref: `lei:${ALPINA}` }]);
    const listed = await get(path);
    expect(listed).toMatchObject({
      next_from: null,
      items: [
        { index: 1, name: "Alpina Antriebe GmbH", country: "CH", city: null, reason: "below_threshold" },
        { index: 2, name: "Alpina Antrieb GmbH" },
      ],
    });
    const [item] = listed.items;
    expect(item.explanations[0]).toMatchObject({ candidate: item.candidates[0].id, threshold: 0.85 });
    const first = await get(`${path}?limit=1`);
    expect(first.items.map(({ index }: { index: number }) => index)).toEqual([1]);
    expect((await get(`${path}?limit=1&from=${first.next_from}`)).items).toMatchObject([{ index: 2 }]);

    const { id } = item.candidates[0];
    for (const [decision, field] of [
      [{ index: 9, company: null }, "index"],
      [{ index: 4, company: null }, "index"],
      [{ index: 1, company: "cmp_0000000000000000" }, "company"],
      [{ index: 1, company: "lei:1" }, "company"],
    ] as const)
      expect(await decide(path, [{ index: 2, company: null }, decision])).toMatchObject({
        status: 422,
        json: { detail: [{ loc: ["body", "decisions", 1, field] }] },
      });
    expect((await get(path)).items).toHaveLength(2);
    const both = [
      { index: 1, company: id },
      { index: 2, company: null },
    ];
    expect(await decide(path, both)).toMatchObject({ status: 200, json: { decided: 2 } });
    expect(await get(path)).toEqual({ items: [], next_from: null });

    const resolve = async (body: object) =>
      (await service.call("POST", "/v1/companies/resolve", { body })).json;
    expect(await resolve(ask("ALPINA ANTRIEBE GMBH"))).toMatchObject({
      match: { id, matched_on: { field: "decision" } },
      reason: null,
    });
    expect(await resolve(ask("Alpina Antrieb GmbH"))).toMatchObject({ match: null, candidates: [] });
    // A question with another country, or with another company's number, gets no decision.
    expect(await resolve(ask("Alpina Antriebe GmbH", { country: "DE" }))).toMatchObject({ match: null });
    expect(await resolve(ask("Alpina Antriebe GmbH", { identifiers: [`lei:${NEVER}`] }))).toMatchObject({
      match: null,
    });
    expect(await get(await batch("reviewed", near))).toEqual({ items: [], next_from: null });
    // A second decision takes the place of the first.
    await decide(path, [{ index: 1, company: null }]);
    expect(await resolve(ask("Alpina Antriebe GmbH"))).toMatchObject({ match: null, candidates: [] });
  });

  test("runs a batch from a CSV file, and answers in CSV", async () => {
    const file = '\uFEFFName;Country\r\nAlpina Antriebe;CH\r\n"Quuxbar; Frobnitz";\r\n';
    const path = "/v1/companies/batch/csv?idempotency_key=csv&action=resolve";
    const created = await service.call("POST", path, { body: file, headers: { "content-type": "text/csv" } });
    expect(created.status).toBe(202);
    const job = `/v1/jobs/${created.json.job_id}`;
    await expect
      .poll(async () => (await service.call("GET", job)).json.status, { timeout: 20_000 })
      .toBe("completed");
    const { bytes } = await service.call("GET", `/v1/companies/batch/${created.json.job_id}.csv`);
    const [, first, second] = bytes.toString().split("\r\n");
    expect(first).toMatch(
      /^0,Alpina Antriebe,done,cmp_\w+,Alpina Antriebe AG,CH,active,AG,[01](\.\d+)?,lei:/,
    );
    expect(second).toBe("1,Quuxbar; Frobnitz,done,,,,,,,,no_candidates");
  });

  test("asks a source for its canary when the operator wants it, and shows the outcome", async () => {
    const path = "/v1/ops/companies/sources/check";
    const check = async () =>
      (await service.call("POST", path, { body: { sources: ["gleif"] }, key: service.operator_key })).json
        .checks;
    expect(await check()).toEqual([{ source: "gleif", problem: expect.stringContaining("not known") }]);
    const canary = leiOf("5493001KJTIIGC8Y1R");
    source.companies.set(canary, { lei: canary, name: "Canary Inc.", country: "US-DE" });
    expect(await check()).toEqual([{ source: "gleif", problem: null }]);
    const { sources } = await get("/sources");
    expect(sources.find(({ name }: { name: string }) => name === "gleif").health).toMatchObject({
      canary: { problem: null },
      drift: [],
    });
  });
});
