/**
 * Cost of an import of GLEIF's level 1: records a CPU second and a second, and bytes a company on disk. A seeded golden copy of invented companies
 * (338 columns, zipped) is imported twice into an SQLite file: first all rows are new, then all are there.
 *
 * node ops/node.mjs --disable-warning=ExperimentalWarning bench/company-imports.bench.ts [companies]
 */
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteImports } from "../actors/sources/companies/imports/adapters/imports.sqlite.ts";
import { beginFile, runFile } from "../test/harness/company-imports.ts";
import { goldenCopy, type GoldenRow, goldenRow, zipped } from "../test/harness/golden-copy.ts";

const companies = Number(process.argv[2] ?? 100_000);
const folder = mkdtempSync(join(tmpdir(), "trawl-import-bench-"));

const WORDS =
  "kran werk hafen nord see berg bahn holz stahl licht energie beteiligung verwaltung logistik".split(" ");
const CITIES = ["Hamburg", "Bremen", "Rostock", "Kiel", "Lübeck", "Emden", "Cuxhaven"];

/** A part of the digest of the company's number: the same in every run. */
function rowOf(number: number): GoldenRow {
  const bytes = createHash("sha256").update(`company ${number}`).digest();
  const word = (at: number): string => WORDS[bytes[at]! % WORDS.length]!;
  const name = `${word(0)}${word(1)} ${word(2)} ${number} GmbH`;
  const city = CITIES[bytes[3]! % CITIES.length]!;
  return goldenRow(number, {
    "Entity.LegalName": name,
    "Entity.LegalAddress.FirstAddressLine": `${word(4)}straße ${bytes[5]}`,
    "Entity.LegalAddress.City": city,
    "Entity.HeadquartersAddress.City": city,
    "Entity.RegistrationAuthority.RegistrationAuthorityEntityID": `HRB ${bytes.readUInt32BE(6) % 1_000_000}`,
    ...(bytes[10]! < 64 && {
      "Entity.OtherEntityNames.OtherEntityName.1": `${word(11)}${word(12)} ${number} GmbH`,
      "Entity.OtherEntityNames.OtherEntityName.1.type": "PREVIOUS_LEGAL_NAME",
    }),
  });
}

const plain = goldenCopy(Array.from({ length: companies }, (_, number) => rowOf(number)));
const file = zipped("lei2.csv", plain);
const path = join(folder, "imports.sqlite");
const store = sqliteImports(path);
const rounds = [];
for (const what of ["new", "unchanged"] as const) {
  const begun = await beginFile(store, "lei2.csv.zip", file);
  const [cpu, at] = [process.cpuUsage(), performance.now()];
  const { counts } = await runFile(store, begun);
  const { user, system } = process.cpuUsage(cpu);
  const cpu_s = (user + system) / 1e6;
  const seconds = (performance.now() - at) / 1_000;
  rounds.push({
    what,
    records: counts.records,
    cpu_s: Number(cpu_s.toFixed(1)),
    seconds: Number(seconds.toFixed(1)),
    records_a_cpu_s: Math.round(counts.records / cpu_s),
    records_a_s: Math.round(counts.records / seconds),
  });
}
await store.close();
const result = {
  companies,
  bytes_a_row_of_the_file: Math.round(plain.length / companies),
  bytes_a_company: Math.round(statSync(path).size / companies),
  rss_mb: Math.round(process.resourceUsage().maxRSS / 1_024),
  rounds,
};
console.log(JSON.stringify(result, null, 2));
rmSync(folder, { recursive: true });
