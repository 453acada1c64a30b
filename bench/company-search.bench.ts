/**
 * node bench/company-search.bench.ts [--companies n] [--queries n] [--seed n] [--mongo address | --folder path] [--keep | --filled]: how well and how fast
 * companies are found in an invented register (company-names.ts): `search` by a name with a typo, the company among the first 20; `resolve`
 * by names as people write them, alone and with country, legal form and city: of the answers that are a match, how many are right
 * (precision), and of the companies that are in the register, how many are matched (recall); `twins` are not counted. And what the index takes on disk and in memory. The
 * index is SQLite in the folder (a temporary one by default), or MongoDB at the address: --keep leaves it there, --filled uses what a run with
 * the same seed has left.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { MongoClient } from "mongodb";
import { mongoCompanyIndex } from "../actors/sources/companies/adapters/index.mongo.ts";
import { sqliteCompanyIndex } from "../actors/sources/companies/adapters/index.sqlite.ts";
import { byRank, decideMatch } from "../actors/sources/companies/names/resolve.ts";
import { type CompanyEntry, NO_FILTER } from "../actors/sources/companies/search-index.ts";
import { candidatesOf, type NameResolve, rank } from "../actors/sources/companies/search.ts";
import { type InventedCompany, inventedRegister, type Question } from "./company-names.ts";

const { values: options } = parseArgs({
  options: {
    companies: { type: "string", default: "100000" },
    queries: { type: "string", default: "1000" },
    seed: { type: "string", default: "1" },
    mongo: { type: "string" },
    folder: { type: "string" },
    keep: { type: "boolean", default: false },
    filled: { type: "boolean", default: false },
  },
});
const [companies, queries, seed] = [options.companies, options.queries, options.seed].map(Number) as [
  number,
  number,
  number,
];
const LOT = 2_000;
const register = inventedRegister(seed);
const folder = options.folder ?? mkdtempSync(join(tmpdir(), "company-search-"));
const index = options.mongo
  ? mongoCompanyIndex(options.mongo)
  : sqliteCompanyIndex(join(folder, "companies.sqlite"));

const rounded = (value: number, digits: number): number => Number(value.toFixed(digits));
function timesOf(times: readonly Taken[]) {
  const at = (of: keyof Taken, share: number): number =>
    rounded(times.map((each) => each[of]).toSorted((a, b) => a - b)[Math.floor(times.length * share)]!, 1);
  return {
    p50_ms: at("ms", 0.5),
    p99_ms: at("ms", 0.99),
    cpu_p50_ms: at("cpu_ms", 0.5),
    cpu_p99_ms: at("cpu_ms", 0.99),
  };
}
/** On a machine that others use, the CPU time is what repeats. */
interface Taken {
  readonly ms: number;
  readonly cpu_ms: number;
}
function timer(): () => Taken {
  const began = performance.now();
  const cpu = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(cpu);
    return { ms: performance.now() - began, cpu_ms: (user + system) / 1_000 };
  };
}

/** Fills the index, and keeps as many companies as are asked for, spread over all. */
async function fill(): Promise<{ readonly asked: readonly InventedCompany[]; readonly figures: object }> {
  const asked: InventedCompany[] = [];
  const every = Math.max(1, Math.floor(companies / queries));
  const began = performance.now();
  const cpu = process.cpuUsage();
  let number = 0;
  for (const lot of register.companies(companies, LOT)) {
    if (!options.filled)
      await index.put(lot.map(({ stem: _stem, form: _form, lei: _lei, ...entry }) => entry));
    for (const company of lot) if (number++ % every === 0) asked.push(company);
    if (number % 100_000 === 0) process.stderr.write(`${number} companies\n`);
  }
  const built_s = (performance.now() - began) / 1_000;
  const built_cpu_s = process.cpuUsage(cpu).user / 1e6;
  return {
    asked: asked.slice(0, queries),
    figures: { built_s: Math.round(built_s), built_cpu_s: Math.round(built_cpu_s) },
  };
}

async function search(asked: readonly InventedCompany[]): Promise<object> {
  const times: Taken[] = [];
  let found = 0;
  for (const { id, stem, form } of asked) {
    const name = `${register.withTypo(stem)} ${form}`;
    const taken = timer();
    const ranked = await rank({ index }, { name, city: null, filter: NO_FILTER });
    times.push(taken());
    if (ranked.slice(0, 20).some(({ company }) => company.id === id)) found++;
  }
  return { ...timesOf(times), recall_at_20: rounded(found / asked.length, 3) };
}

async function resolve(
  questions: readonly Question[],
  searchOf: (question: Question) => Pick<NameResolve, "name" | "country" | "city">,
): Promise<object> {
  const times: Taken[] = [];
  let [right, wrong, among, twins] = [0, 0, 0, 0];
  const began_cpu = process.cpuUsage();
  for (const question of questions) {
    const taken = timer();
    const { candidates } = await candidatesOf({ index }, { ...searchOf(question), identifiers: [] });
    const ranked = candidates.toSorted(byRank);
    const decision = decideMatch(ranked, () => false);
    times.push(taken());
    if (decision.kind === "match" && decision.id === question.id) right++;
    else if (decision.kind === "match" && isTwin(question, ranked[0]!.scored.company)) twins++;
    else if (decision.kind === "match") wrong++;
    if (ranked.slice(0, 5).some(({ id }) => id === question.id)) among++;
  }
  const known = questions.filter(({ id }) => id !== null).length;
  return {
    ...timesOf(times),
    twins,
    cpu_ms: rounded(process.cpuUsage(began_cpu).user / 1_000 / questions.length, 2),
    precision: rounded(right / (right + wrong), 3),
    recall: rounded(right / known, 3),
    among_5: rounded(among / known, 3),
  };
}

/** A company that is not in the register has the name, the form and the city of one that is: nobody could tell. */
const isTwin = ({ id, legal, city, country }: Question, company: CompanyEntry): boolean =>
  id === null && company.names[0] === legal && company.city === city && company.country === country;

try {
  const { asked, figures } = await fill();
  const questions = asked.map((company) => register.question(company));
  const searched = await search(asked);
  const alone = await resolve(questions, ({ name }) => ({ name, country: null, city: null }));
  const placed = await resolve(questions, ({ name_with_form: name, country, city }) => ({
    name,
    country,
    city,
  }));
  const bytes = options.mongo ? await mongoBytes(options.mongo) : folderBytes();
  process.stdout.write(
    `${JSON.stringify(
      {
        engine: options.mongo ? "mongodb" : "sqlite",
        companies,
        queries: asked.length,
        seed,
        search: searched,
        resolve_by_name: alone,
        resolve_with_country_form_city: placed,
        bytes_per_company: Math.round(bytes / companies),
        memory_mb: Math.round(process.memoryUsage().rss / 1e6),
        ...figures,
      },
      null,
      2,
    )}\n`,
  );
} finally {
  await index.close();
  if (options.mongo && !options.keep && !options.filled) {
    const client = new MongoClient(options.mongo);
    await client.db().dropDatabase();
    await client.close();
  }
  if (!options.keep && !options.filled) rmSync(folder, { recursive: true });
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
