/** Whole files of GLEIF in a running service: imported by the command, found without a request to the source, and whole after kill -9. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Compile } from "typebox/schema";
import { afterAll, describe, expect, test, vi } from "vitest";
import { goldenCopy, goldenLei, goldenRow, zipped } from "../harness/golden-copy.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";

const ROWS = 6_000;
/** Young enough that no source is asked. */
const published_at = new Date(Date.now() - 3_600_000).toISOString();

const settled = (isSettled: () => Promise<boolean>): Promise<unknown> =>
  vi.waitUntil(isSettled, { timeout: 60_000, interval: 20 });

describe.each(SETUPS)("imports of whole sources, $setup", ({ start }) => {
  const folder = mkdtempSync(join(tmpdir(), "trawl-import-scenario-"));
  const imports = join(folder, "imports");
  afterAll(() => rmSync(folder, { recursive: true }));
  let asked = 0;
  const publisher = createServer((_, response) => {
    asked++;
    response.end(JSON.stringify([{ organisasjonsnummer: "923609016", navn: "KRANVERK AS" }]));
  });
  afterAll(() => void publisher.close());
  const { service } = scenario(start, async () => {
    await new Promise<void>((resolve) => publisher.listen(0, "127.0.0.1", resolve));
    const address = `http://127.0.0.1:${(publisher.address() as AddressInfo).port}/enheter.json`;
    return { TRAWL_COMPANY_IMPORTS_DIR: imports, TRAWL_COMPANY_IMPORT_SCHEDULE: `brreg=${address}@24h` };
  });
  const operator = () => ({ key: service.operator_key });
  const started = (body: object) =>
    service.call("POST", "/v1/ops/companies/imports", { body, ...operator() });
  const runs = async () => (await service.call("GET", "/v1/ops/companies/imports", operator())).json.imports;
  const runOf = async (run: number) => (await runs()).find((each: { run: number }) => each.run === run);

  const scheduled = async () =>
    (await runs()).find((run: any) => run.kind === "brreg" && run.state === "done");

  test("a file of the schedule is imported without an operator", async () => {
    await settled(async () => (await scheduled()) !== undefined);
    expect(await scheduled()).toMatchObject({ source: "brreg", counts: { created: 1 } });
    const { json: company } = await service.call("GET", "/v1/companies/no_orgnr:923609016");
    expect(company).toMatchObject({ names: { legal: "KRANVERK AS" }, sources: [{ source: "brreg" }, {}] });
    expect(company.sources[0].url).toMatch(/\/enheter\.json#row=1&offset=1$/);
    expect(asked).toBe(1);
  });

  test("a file is imported by one command, and its companies are records whose claims name it", async () => {
    const rows = Array.from({ length: 20 }, (_, number) => goldenRow(number));
    const file = join(folder, "lei2.csv.zip");
    writeFileSync(file, zipped("lei2.csv", goldenCopy(rows)));
    const command = ["companies", "import", "gleif-lei", file, "--published-at", published_at, "--json"];
    const total = await service.trawl(...command);
    expect(total).toMatchObject({ rows: 20, companies: 20, claims: expect.any(Number), bad_rows: 0 });
    const [done] = total.imports;
    expect(done).toMatchObject({ state: "done", counts: { records: 20, created: 20, bad: 0 } });

    const schema = (await service.call("GET", "/v1/schemas/company")).json;
    const path = `/v1/companies/lei:${goldenLei(7)}?include=claims`;
    const { status, json: company } = await service.call("GET", path);
    expect(status).toBe(200);
    expect(Compile(schema).Errors(company)[1]).toEqual([]);
    expect(company).toMatchObject({
      names: { legal: "Kranwerk 7 GmbH" },
      status: "active",
      legal_form: { elf: "2HBR", category: "private_limited" },
      sources: [{ source: "gleif", sha256: done.sha256, body_url: null, licence: "CC0-1.0" }, {}],
    });
    expect(company.sources[0].url).toMatch(/^file:\/\/\/lei2\.csv\.zip#row=8&offset=\d+$/);
    const claim = company.claims.find(({ field }: { field: string }) => field === "names.legal");
    expect(claim).toMatchObject({ raw_sha256: done.sha256, body_url: null, source: "gleif" });
    for (const reference of [company.id, "de_hrb:M1201.HRB10007"]) {
      const found = await service.call("GET", `/v1/companies/${reference}`);
      expect(found.json).toMatchObject({ id: company.id, names: { legal: "Kranwerk 7 GmbH" } });
      const search = await service.call("GET", `/v1/companies/search?identifier=${reference}`);
      expect(search.json.results).toMatchObject([{ id: company.id, in_register: true }]);
    }
    const named = await service.call("GET", "/v1/companies/search?q=Kranwerk+7+GmbH");
    expect(named.json.results[0]).toMatchObject({ id: company.id, in_register: true, match_score: 1 });
    const body = { name: "Kranwerk 7 GmbH", country: "DE", live: false };
    const resolved = await service.call("POST", "/v1/companies/resolve", { body });
    expect(resolved.json).toMatchObject({ match: { id: company.id } });
    expect((await service.call("GET", `/v1/companies/lei:${goldenLei(77)}`)).status).not.toBe(200);
  });

  test("a CSV file is resolved against it by one command, and the same command again is the same job", async () => {
    const file = join(folder, "names.csv");
    writeFileSync(file, "name,country,city\nKranwerk 7 GmbH,DE,\nQuuxbar Frobnitz,,\n");
    const { items, ...job } = await service.trawl("companies", "resolve", file);
    expect(items).toMatchObject([
      { result: { match: { names: { legal: "Kranwerk 7 GmbH" } } } },
      { result: { match: null, reason: "no_candidates" } },
    ]);
    expect(await service.trawl("companies", "resolve", file)).toMatchObject({ ...job, items });
    await expect(service.trawl("companies", "resolve", join(folder, "none.csv"))).rejects.toThrow("none.csv");
  });

  test("its companies are one entry of the change feed, a later file's are changes, and a copy begins with the state", async () => {
    const get = async (path: string) => (await service.call("GET", path)).json;
    const feed = () => get("/v1/companies/changes?limit=1000");
    await settled(async () => (await feed()).baselines.length === 2);
    const { items, baselines } = await feed();
    expect(baselines).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ kind: "brreg", rows: 1 }),
        expect.objectContaining({ kind: "gleif_lei2", source: "gleif", rows: 20, published_at }),
      ]),
    );
    expect(items.filter(({ type }: { type: string }) => type === "created")).toEqual([]);
    // Stored from now on: what a file says of it is a change of its own.
    const refreshed = await get(`/v1/companies/lei:${goldenLei(3)}?refresh=true`);

    const copy: { company_id: string }[] = [];
    let page = await get("/v1/companies/baseline?limit=8&country=DE");
    for (; ; page = await get(`/v1/companies/baseline?limit=8&country=DE&cursor=${page.next_cursor}`)) {
      copy.push(...page.items);
      if (page.next_cursor === null) break;
    }
    expect(new Set(copy.map(({ company_id }) => company_id)).size).toBe(20);
    expect(copy.find(({ company_id }) => company_id === refreshed.id)).toMatchObject({
      name: "Kranwerk 3 GmbH",
      country: "DE",
      identifiers: expect.arrayContaining([`lei:${goldenLei(3)}`]),
    });
    const wrong = await service.call("GET", `/v1/companies/baseline?cursor=${page.changes_cursor}`);
    expect(wrong.status).toBe(422);

    const rows = [3, 7].map((number) =>
      goldenRow(number, { "Entity.LegalName": `Kranwerk Nord ${number} GmbH` }),
    );
    const file = join(folder, "later.csv");
    writeFileSync(file, goldenCopy(rows));
    const later = new Date(Date.now() + 60_000).toISOString();
    const command = ["companies", "import", "gleif-lei", file, "--published-at", later, "--delta", "--json"];
    expect(await service.trawl(...command)).toMatchObject({ rows: 2 });
    const behind = () => get(`/v1/companies/changes?country=DE&cursor=${page.changes_cursor}`);
    await settled(async () => (await behind()).items.length >= 2);
    const changes = (await behind()).items;
    expect(changes).toHaveLength(2);
    for (const change of changes)
      expect(change).toMatchObject({ type: "updated", fields: expect.arrayContaining(["names"]) });
    const changed = changes.map(({ company_id }: { company_id: string }) => company_id);
    expect(changed).toContain(refreshed.id);
    expect(changed).toContain((await get(`/v1/companies/lei:${goldenLei(7)}`)).id);

    const earlier = ["companies", "import", "gleif-lei", join(folder, "lei2.csv.zip"), "--json"];
    const { imports: again } = await service.trawl(...earlier, "--published-at", published_at);
    expect(again).toMatchObject([{ counts: { unchanged: 18, older: 2, changed: 0 } }]);
  });

  test("a second import of the source is refused while one runs, and what kill -9 stops goes on", async () => {
    mkdirSync(imports, { recursive: true });
    const rows = Array.from({ length: ROWS }, (_, number) => goldenRow(number));
    writeFileSync(join(imports, "whole.csv"), goldenCopy(rows));
    const order = { kind: "gleif_lei2", file: "whole.csv", published_at };
    await settled(async () => (await scheduled()) !== undefined);
    const first = await started(order);
    expect(first).toMatchObject({ status: 202, json: { state: "running" } });
    const { run } = first.json;
    const second = await started(order);
    expect(second).toMatchObject({ status: 409, json: { detail: expect.stringContaining("not done yet") } });
    await settled(async () => (await runOf(run)).counts.records > 0);
    await service.kill();
    await service.restart();
    await settled(async () => (await runOf(run)).state !== "running");
    const done = await runOf(run);
    expect(done).toMatchObject({ state: "done", counts: { records: ROWS, bad: 0 } });
    // The schedule's file is not due, and what was asked for is stored.
    expect(asked).toBe(1);
    const company = await service.call("GET", `/v1/companies/lei:${goldenLei(ROWS - 1)}`);
    expect(company.json).toMatchObject({ names: { legal: `Kranwerk ${ROWS - 1} GmbH` } });
    const again = await started(order);
    await settled(async () => (await runOf(again.json.run)).state === "done");
    const { unchanged, older, created, changed } = (await runOf(again.json.run)).counts;
    expect({ known: unchanged + older, created, changed }).toEqual({ known: ROWS, created: 0, changed: 0 });
  });

  test("a file that is not in the folder is named", async () => {
    const { status, json } = await started({ kind: "gleif_lei2", file: "missing.csv" });
    expect(status).toBe(404);
    expect(json.detail).toContain("missing.csv");
  });

  test.each([
    [{ kind: "nothing", file: "whole.csv" }, "kind"],
    [{ kind: "ftm", file: "whole.csv" }, "licence"],
    [{ kind: "gleif_lei2", file: "../secrets.key" }, "file"],
    [{ kind: "gleif_lei2", file: "whole.csv", published_at: "yesterday" }, "published_at"],
  ])("%j is refused with its field", async (body, field) => {
    const { status, json } = await started(body);
    expect(status).toBe(422);
    expect(json.detail[0].loc).toEqual(["body", field]);
  });
});
