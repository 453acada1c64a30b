/**
 * node bench/company-search.bench.ts [--companies n] [--queries n] [--seed n] [--mongo address [--keep | --filled]]: how well and how fast
 * companies are found by a name with one typo, and what the index takes on disk. Names are drawn from syllables, common words, places and
 * legal forms, so that many of them share words. The index is SQLite in a folder of its own, or MongoDB at the address. Filling MongoDB
 * with a million takes half an hour: --keep leaves the index there, --filled uses the one that a run with the same seed has left.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { MongoClient } from "mongodb";
import { mongoCompanyIndex } from "../actors/sources/companies/adapters/index.mongo.ts";
import { sqliteCompanyIndex } from "../actors/sources/companies/adapters/index.sqlite.ts";
import { type CompanyEntry, NO_FILTER } from "../actors/sources/companies/search-index.ts";
import { rank } from "../actors/sources/companies/search.ts";

const { values: options } = parseArgs({
  options: {
    companies: { type: "string", default: "100000" },
    queries: { type: "string", default: "1000" },
    seed: { type: "string", default: "1" },
    mongo: { type: "string" },
    keep: { type: "boolean", default: false },
    filled: { type: "boolean", default: false },
  },
});
const [companies, queries] = [Number(options.companies), Number(options.queries)];

let state = Number(options.seed);
const random = (): number => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
};
const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)]!;

const SYLLABLES =
  "al an ar bel ber bo ca cor da del dor el en fa fel gar gen hal han il in ka kel la lan lin lo ma mar mel mi mon na nel nor o or pa per ra ren ri ro sa sel ser so ta tel ter to tra u val van ver vi vo wal wen win ze zel".split(
    " ",
  );
const TRADES =
  "bau bank consulting energie engineering finance foods group handel holding immobilien invest logistics maschinenbau media medical pharma services software solutions systems technik trading transport trust verlag".split(
    " ",
  );
const PLACES =
  "basel berlin bern bergen genf hamburg helsinki krakow london lugano lyon nantes oslo paris turku wien zug zürich".split(
    " ",
  );
const FORMS = ["AG", "GmbH", "SA", "Ltd", "PLC", "AS", "Oy", "SAS", "Sp. z o.o.", "GmbH & Co. KG"] as const;

const invented = (): string =>
  Array.from({ length: 2 + Math.floor(random() * 3) }, () => pick(SYLLABLES)).join("");
function name(): string {
  const words = [invented()];
  if (random() < 0.35) words.push(invented());
  if (random() < 0.7) words.push(pick(TRADES));
  if (random() < 0.25) words.push(pick(PLACES));
  return `${words.join(" ")} ${pick(FORMS)}`;
}

const CHARACTERS = "abcdefghijklmnopqrstuvwxyz";
/** One character wrong, missing, too many, or two exchanged, anywhere in the words of the name before its legal form. */
function withTypo(text: string): string {
  const at = 1 + Math.floor(random() * (text.split(" ")[0]!.length - 1));
  const kind = Math.floor(random() * 4);
  if (kind === 0) return text.slice(0, at) + pick(CHARACTERS.split("")) + text.slice(at + 1);
  if (kind === 1) return text.slice(0, at) + text.slice(at + 1);
  if (kind === 2) return text.slice(0, at) + pick(CHARACTERS.split("")) + text.slice(at);
  return text.slice(0, at - 1) + text[at]! + text[at - 1]! + text.slice(at + 1);
}

const folder = mkdtempSync(join(tmpdir(), "company-search-"));
const index = options.mongo
  ? mongoCompanyIndex(options.mongo)
  : sqliteCompanyIndex(join(folder, "companies.sqlite"));
try {
  const names: string[] = [];
  const began = performance.now();
  const cpu = process.cpuUsage();
  for (let at = 0; at < companies; at += 2_000) {
    const batch: CompanyEntry[] = [];
    for (let each = at; each < Math.min(companies, at + 2_000); each++) {
      const legal = name();
      names.push(legal);
      const company: CompanyEntry = {
        id: `cmp_${String(each).padStart(16, "0")}`,
        version: 1,
        names: [legal],
        identifiers: [],
        status: "active",
        country: "CH",
        legal_form: "public_limited",
        city: pick(PLACES),
        completeness: 0.8,
      };
      if (!options.filled) batch.push(company);
    }
    await index.put(batch);
    if (batch.length > 0) process.stderr.write(`${at + batch.length} companies\n`);
  }
  const built_s = (performance.now() - began) / 1_000;
  const built_cpu_s = process.cpuUsage(cpu).user / 1e6;

  const times: number[] = [];
  let found = 0;
  for (let query = 0; query < queries; query++) {
    const wanted = Math.floor(random() * companies);
    const typed = withTypo(names[wanted]!);
    const asked = performance.now();
    const ranked = await rank({ index }, { name: typed, city: null, filter: NO_FILTER });
    times.push(performance.now() - asked);
    if (ranked.slice(0, 20).some(({ company }) => company.names[0] === names[wanted]!)) found++;
  }
  times.sort((a, b) => a - b);
  const bytes = options.mongo ? await mongoBytes(options.mongo) : folderBytes();
  process.stdout.write(
    `${JSON.stringify({
      engine: options.mongo ? "mongodb" : "sqlite",
      companies,
      queries,
      seed: Number(options.seed),
      recall_at_20: found / queries,
      p50_ms: Number(times[Math.floor(queries * 0.5)]!.toFixed(1)),
      p99_ms: Number(times[Math.floor(queries * 0.99)]!.toFixed(1)),
      bytes_per_company: Math.round(bytes / companies),
      built_s: Math.round(built_s),
      built_cpu_s: Math.round(built_cpu_s),
    })}\n`,
  );
} finally {
  await index.close();
  if (options.mongo && !options.keep && !options.filled) {
    const client = new MongoClient(options.mongo);
    await client.db().dropDatabase();
    await client.close();
  }
  rmSync(folder, { recursive: true });
}

function folderBytes(): number {
  return readdirSync(folder).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
}

async function mongoBytes(address: string): Promise<number> {
  const client = new MongoClient(address);
  try {
    const stats = await client.db().command({ collStats: "company_index" });
    return Number(stats["storageSize"]) + Number(stats["totalIndexSize"]);
  } finally {
    await client.close();
  }
}
