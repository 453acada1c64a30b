/**
 * node bench/company-job.bench.ts --folder path [--companies n] [--rows n] [--seed n]: a job that resolves n rows with name, form, country
 * and city in an invented register (company-names.ts) of one process on the embedded engines: CPU-seconds of the service, rows a
 * second, and how many of its matches are right. The companies are imported ones: their rows of GLEIF's level 1 and their entries of the
 * index are written before the service starts. A folder that has them is used again. No source is asked (`live` is false).
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { sqliteCompanyIndex } from "../actors/sources/companies/adapters/index.sqlite.ts";
import { sqliteImports } from "../actors/sources/companies/imports/adapters/imports.sqlite.ts";
import { storedReferences } from "../actors/sources/companies/imports/imported.ts";
import { IMPORTED_SOURCES } from "../actors/sources/companies/imports/imported-sources.ts";
import { gleifLei } from "../actors/sources/companies/imports/kinds/gleif-lei.ts";
import type { RowWrite } from "../actors/sources/companies/imports/store.ts";
import { INDEX_LAYOUT } from "../actors/sources/companies/search-index.ts";
import { BEGUN } from "../test/harness/company-imports.ts";
import { freePort } from "../test/harness/free-port.ts";
import { type InventedCompany, inventedRegister, type Question } from "./company-names.ts";
import { answering, cpuSeconds, residentMb } from "./harness.ts";

const { values: options } = parseArgs({
  options: {
    folder: { type: "string" },
    companies: { type: "string", default: "100000" },
    rows: { type: "string", default: "50000" },
    seed: { type: "string", default: "1" },
  },
});
assert(options.folder, "--folder is where the register is, or is made");
const { folder } = options;
const [companies, rows] = [Number(options.companies), Number(options.rows)];
const LOT = 2_000;
const LOOK_EVERY_MS = 1_000;
const KEY = "ak_resolve_0123456789abcdefghij";

const register = inventedRegister(Number(options.seed));
const columns = [
  "LEI",
  "Entity.LegalName",
  "Entity.LegalAddress.City",
  "Entity.LegalAddress.Country",
  "Entity.RegistrationAuthority.RegistrationAuthorityID",
  "Entity.RegistrationAuthority.RegistrationAuthorityEntityID",
  "Entity.LegalJurisdiction",
  "Entity.EntityCategory",
  "Entity.EntityStatus",
  "Registration.RegistrationStatus",
];
const read = gleifLei.read(columns);
const referencesOf = storedReferences(IMPORTED_SOURCES);

/** The company as an import stores it. */
function rowOf({ lei, names: [name], city, country }: InventedCompany, line: number): RowWrite {
  const authority = `HRB ${lei.slice(9, 18)}`;
  const row = read([
    lei,
    name!,
    city,
    country,
    "RA000242",
    authority,
    country,
    "GENERAL",
    "ACTIVE",
    "ISSUED",
  ]);
  assert(row.kind === "row");
  const tuple = JSON.stringify(row.tuple);
  return {
    key: row.key,
    digest: createHash("sha256").update(tuple).digest("hex").slice(0, 24),
    run: 1,
    line,
    offset: line * 600,
    tuple,
    closed_ms: null,
    references: referencesOf(gleifLei, row.key, row.tuple),
    dropped: [],
    before: null,
  };
}

/** Writes what the folder does not have, and keeps as many companies as are asked for, spread over all. */
async function fill(): Promise<readonly InventedCompany[]> {
  const index = sqliteCompanyIndex(join(folder, "companies.sqlite"));
  const imports = sqliteImports(join(folder, "imports.sqlite"));
  const isIndexed = (await index.count()) >= companies;
  const isImported = (await imports.run(1))?.state === "done";
  const asked: InventedCompany[] = [];
  const every = Math.max(1, Math.floor(companies / rows));
  const begun = isImported
    ? null
    : await imports.begin({
        ...BEGUN,
        path: "lei2.csv",
        origin: "lei2.csv",
        sha256: "a".repeat(64),
        bytes: 1,
      });
  let number = 0;
  for (const lot of register.companies(companies, LOT)) {
    if (!isIndexed) await index.put(lot.map(({ stem: _stem, form: _form, lei: _lei, ...entry }) => entry));
    if (begun)
      await imports.commit({
        run: begun,
        rows: lot.map((each, at) => rowOf(each, number + at + 1)),
        bad: [],
      });
    for (const company of lot) if (number++ % every === 0) asked.push(company);
    if (number % 100_000 === 0) process.stderr.write(`${number} companies\n`);
  }
  if (begun) await imports.commit({ run: { ...begun, phase: "index", state: "done" }, rows: [], bad: [] });
  await index.writeState({ layout: INDEX_LAYOUT, through: null });
  await Promise.all([index.close(), imports.close()]);
  return asked.slice(0, rows);
}

const questions: readonly Question[] = (await fill()).map((company) => register.question(company));
const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", "ops/main.ts", "start"], {
  stdio: "ignore",
  env: {
    ...process.env,
    PORT: String(port),
    TRAWL_DATA_DIR: folder,
    TRAWL_ADMIN_KEY: KEY,
    TRAWL_CHROMIUM_PATH: "none",
  },
});
const gone = once(child, "exit");
try {
  await answering(`${url}/health`);
  const call = async (path: string, body?: object): Promise<any> => {
    const reply = await fetch(`${url}${path}`, {
      method: body ? "POST" : "GET",
      headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await reply.text();
    assert(reply.ok, `${path}: ${reply.status} ${text.slice(0, 500)}`);
    return path.endsWith(".csv") ? text : JSON.parse(text);
  };
  const items = questions.map(({ name_with_form: name, country, city }) => ({
    name,
    country,
    city,
    live: false,
  }));
  const [cpu_before, began] = [cpuSeconds(child.pid!), performance.now()];
  const { job_id } = await call("/v1/companies/batch", {
    idempotency_key: `resolve-${Date.now()}`,
    action: "resolve",
    items,
  });
  for (;;) {
    const { finished_at, counts } = await call(`/v1/jobs/${job_id}`);
    if (finished_at !== null) break;
    process.stderr.write(`${JSON.stringify(counts)}\n`);
    await sleep(LOOK_EVERY_MS);
  }
  const [cpu_s, seconds] = [cpuSeconds(child.pid!) - cpu_before, (performance.now() - began) / 1_000];
  const memory_mb = Math.round(residentMb(child.pid!));
  // index, input, status, company_id: no field before the id has a comma but the quoted input.
  const csv: string = await call(`/v1/companies/batch/${job_id}.csv`);
  const matches = [...csv.matchAll(/^(\d+),.*?,done,(cmp_\w*)?,/gm)];
  let [right, wrong] = [0, 0];
  for (const [, at, id] of matches)
    if (id !== undefined && id === questions[Number(at)]!.id) right++;
    else if (id !== undefined) wrong++;
  const known = questions.filter(({ id }) => id !== null).length;
  process.stdout.write(
    `${JSON.stringify(
      {
        companies,
        rows: questions.length,
        answered: matches.length,
        cpu_s: Number(cpu_s.toFixed(1)),
        cpu_ms_a_row: Number(((cpu_s * 1_000) / questions.length).toFixed(2)),
        seconds: Math.round(seconds),
        memory_mb,
        precision: Number((right / (right + wrong)).toFixed(3)),
        recall: Number((right / known).toFixed(3)),
        load: loadavg().map((each) => Number(each.toFixed(1))),
      },
      null,
      2,
    )}\n`,
  );
} finally {
  child.kill();
  await gone;
}
