/** Samples in TypeScript and Python, for the operations that the clients (clients/) have: one call each, with the values of the operation's example. */

interface Call {
  /** `print`: what it answers; `each`: what it answers one after another; `do`: it answers nothing; `bytes`: a file. */
  readonly how: "print" | "each" | "do" | "bytes";
  /** As both clients have it; `allSources` is `all_sources` in Python. A name in brackets is a field of the example; `…` all that are not named, as options. */
  readonly call: string;
}

const print = (call: string): Call => ({ how: "print", call });
const each = (call: string): Call => ({ how: "each", call });
const bytes = (call: string): Call => ({ how: "bytes", call });

/** By operation. */
export const CALLS: Readonly<Record<string, Call>> = {
  fetch: print("fetch(url, …)"),
  search: print("search(query, …)"),
  mapSite: print("map(url, …)"),
  crawlSite: each("crawl(url, …)"),
  batchFetch: each("batch.fetch(items, …)"),
  batchSearch: each("batch.search(items, …)"),
  batchFilings: each("batch.filings(items, …)"),
  batchProfiles: each("batch.profiles(items, …)"),
  batchCompanies: each("batch.companies(items, …)"),
  listJobs: each("jobs(…)"),
  getJob: print("job(job_id).status()"),
  getJobResults: each("job(job_id).results()"),
  getJobUrls: each("job(job_id).urls()"),
  changeJob: print("job(job_id).pause()"),
  cancelJob: print("job(job_id).cancel()"),
  createJobSink: print("job(job_id).addSink(…)"),
  listJobSinks: print("job(job_id).sinks()"),
  deleteJobSink: { how: "do", call: "job(job_id).removeSink(sink_id)" },
  createMonitor: print("monitors.create(url, …)"),
  listMonitors: print("monitors.list()"),
  getMonitor: print("monitors.get(monitor_id)"),
  changeMonitor: print("monitors.change(monitor_id, …)"),
  runMonitor: print("monitors.run(monitor_id)"),
  deleteMonitor: { how: "do", call: "monitors.delete(monitor_id)" },
  listMonitorChanges: print("monitors.changes(monitor_id, …)"),
  createSession: print("sessions.create(…)"),
  listSessions: print("sessions.list()"),
  getSession: print("sessions.get(session_id)"),
  changeSession: print("sessions.change(session_id, …)"),
  deleteSession: { how: "do", call: "sessions.delete(session_id)" },
  resolveFiler: print("filings.resolve(…)"),
  listSubmissions: print("filings.submissions(cik, …)"),
  latestFiling: print("filings.latest(cik, …)"),
  listFilingDocuments: print("filings.index(cik, accession, …)"),
  fetchFilingDocument: print("filings.document(…)"),
  summariseFacts: print("filings.facts(cik, …)"),
  searchFilings: print("filings.search(…)"),
  suggestProfiles: print("profiles.suggest(…)"),
  discoverProfile: print("profiles.discover(…)"),
  getProfile: print("profiles.profile(…)"),
  getProfileGraph: print("profiles.graph(…)"),
  searchCompanies: each("companies.search(…)"),
  resolveCompany: print("companies.resolve(…)"),
  getCompany: print("companies.get(company_ref, …)"),
  listCompanyChanges: print("companies.changes(…)"),
  listCompanyBaseline: print("companies.baseline(…)"),
  getCompanyHistory: each("companies.history(company_ref, …)"),
  getCompanyEvents: each("companies.events(company_ref, …)"),
  getCompanyPeople: each("companies.people(company_ref, …)"),
  getCompanyOwnership: each("companies.ownership(company_ref, …)"),
  getCompanyRelationships: each("companies.relationships(company_ref, …)"),
  getCompanyFilings: each("companies.filings(company_ref, …)"),
  getCompanyFinancials: each("companies.financials(company_ref, …)"),
  getCompanySources: each("companies.sources(company_ref, …)"),
  listCompanySources: print("companies.allSources()"),
  getCompanySchema: print("companies.schema()"),
  getCompanyBatchCsv: bytes("companies.csv(job_id)"),
  listCompanyReview: each("companies.review(job_id, …)"),
  decideCompanyReview: print("companies.decide(job_id, decisions)"),
  listCompanyWatches: print("companies.watches.list()"),
  createCompanyWatch: print("companies.watches.create(…)"),
  deleteCompanyWatch: { how: "do", call: "companies.watches.delete(watch_id)" },
  getJobUrlsCsv: bytes("job(job_id).urlsCsv()"),
  getJobWacz: bytes("job(job_id).wacz()"),
  getJobWarc: bytes("job(job_id).warc()"),
  getRequestWarc: bytes("archive.warc(request_id)"),
  listCaptures: print("archive.captures(url, …)"),
  getCapture: bytes("archive.capture(timestamp, address)"),
  viewCapture: print("archive.view(url, …)"),
  listArchiveImports: print("archive.imports.list()"),
  getArchiveImport: print("archive.imports.get(import_id)"),
  deleteArchiveImport: { how: "do", call: "archive.imports.delete(import_id)" },
  getArchiveImportWarc: bytes("archive.imports.warc(import_id)"),
  getBody: bytes("body(sha256)"),
  listKeys: print("keys.list()"),
  createKey: print("keys.create(…)"),
  changeKey: print("keys.change(prefix, …)"),
  rotateKey: print("keys.rotate(prefix, …)"),
  revokeKey: { how: "do", call: "keys.revoke(prefix)" },
  listKeyEvents: print("keys.events()"),
  listAlerts: print("alerts.list()"),
  createAlert: print("alerts.create(…)"),
  deleteAlert: { how: "do", call: "alerts.delete(alert_id)" },
  listInvoices: print("invoices.list()"),
  getInvoice: print("invoices.get(id)"),
  getAccount: print("account()"),
  usage: print("usage(…)"),
  getQuota: print("quota()"),
  requests: each("requests(…)"),
};

/** The operations that the clients do not have, each with its reason. */
export const WITHOUT_CALL: Readonly<Record<string, string>> = {
  batchCompaniesFromCsv: "`batch.companies` takes the rows as items",
  createArchiveImport: "`archive.imports.upload` announces a file and sends it, part by part",
  appendArchiveImport: "`archive.imports.upload` announces a file and sends it, part by part",
  headBody: "`body` has the head in its answer",
  read: "`fetch` is asked for Markdown; this is for programs without a client",
  health: "for probes, without a key",
  ready: "for probes, without a key",
  status: "for pages that people read, without a key",
  statusSummary: "for pages that people read, without a key",
  statusComponent: "for pages that people read, without a key",
  statusHistory: "for pages that people read, without a key",
  openapi: "for generators, without a key",
};

type Fields = Readonly<Record<string, unknown>>;

interface Language {
  readonly literals: Readonly<Record<string, string>>;
  readonly object: (pairs: readonly (readonly [name: string, value: string])[]) => string;
  readonly options: (pairs: readonly (readonly [name: string, value: string])[]) => string;
}

const inBraces = (pairs: readonly (readonly [string, string])[]): string =>
  `{ ${pairs.map(([name, value]) => `${/^[a-z_]\w*$/i.test(name) ? name : JSON.stringify(name)}: ${value}`).join(", ")} }`;

const TYPESCRIPT: Language = { literals: {}, object: inBraces, options: inBraces };
const PYTHON: Language = {
  literals: { null: "None", true: "True", false: "False" },
  object: (pairs) => `{${pairs.map(([name, value]) => `${JSON.stringify(name)}: ${value}`).join(", ")}}`,
  options: (pairs) => pairs.map(([name, value]) => `${name}=${value}`).join(", "),
};

function written(value: unknown, language: Language): string {
  if (Array.isArray(value)) return `[${value.map((each_of) => written(each_of, language)).join(", ")}]`;
  if (typeof value === "object" && value !== null) return language.object(pairsOf(value, language));
  const text = JSON.stringify(value);
  return language.literals[text] ?? text;
}

const pairsOf = (fields: object, language: Language) =>
  Object.entries(fields).map(([name, value]) => [name, written(value, language)] as const);

/** The call with the values of the example in place of their names. */
function filled(call: string, fields: Fields, language: Language): string {
  const named = new Set([...call.matchAll(/\(([^()]*)\)/g)].flatMap(([, names]) => names!.split(", ")));
  const rest = Object.fromEntries(Object.entries(fields).filter(([name]) => !named.has(name)));
  const argument = (name: string): readonly string[] => {
    if (name !== "…") return [written(fields[name], language)];
    return Object.keys(rest).length === 0 ? [] : [language.options(pairsOf(rest, language))];
  };
  return call.replaceAll(
    /\(([^()]*)\)/g,
    (_, names: string) => `(${names.split(", ").filter(Boolean).flatMap(argument).join(", ")})`,
  );
}

const snakeCase = (call: string): string =>
  call.replace(/(?<=[a-z])[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);

/** Null: the clients do not have the operation. */
export function clientSamples(
  operation_id: string,
  url: string,
  fields: Fields,
): { readonly in_typescript: string; readonly in_python: string } | null {
  const known = CALLS[operation_id];
  if (known === undefined) return null;
  const { how, call } = known;
  const typescript = `trawl.${filled(call, fields, TYPESCRIPT)}`;
  const python = `trawl.${filled(snakeCase(call), fields, PYTHON)}`;
  const lines = {
    print: [`console.log(await ${typescript});`, `print(${python})`],
    each: [
      `for await (const entry of ${typescript}) console.log(entry);`,
      `for entry in ${python}:\n    print(entry)`,
    ],
    bytes: [
      `for await (const piece of (await ${typescript}).body!) console.log(piece.length);`,
      `for piece in ${python}:\n    print(len(piece))`,
    ],
    do: [`await ${typescript};`, python],
  }[how];
  const quoted_url = JSON.stringify(url);
  return {
    in_typescript: [
      'import { Trawl } from "@trawl/client";\n',
      `const trawl = new Trawl({ url: ${quoted_url}, key: process.env.TRAWL_KEY! });`,
      lines[0],
    ].join("\n"),
    in_python: [
      "import os\n",
      "from trawl_client import Trawl\n",
      `trawl = Trawl(url=${quoted_url}, key=os.environ["TRAWL_KEY"])`,
      lines[1],
    ].join("\n"),
  };
}
