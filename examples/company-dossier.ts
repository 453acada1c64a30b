/**
 * A dossier of a company as Markdown: what registers and the filing system say of it, and which source says what.
 *
 *   node company-dossier.ts lei:529900T8BM49AURSDO55
 */
import { Trawl } from "@trawl/client";

const { TRAWL_URL: url = "http://127.0.0.1:8080", TRAWL_KEY: key = "" } = process.env;
const [ref] = process.argv.slice(2);
if (ref === undefined) throw new Error("Usage: node company-dossier.ts SCHEME:VALUE");
const trawl = new Trawl({ url, key });
const MAX_FILINGS = 10;

const company = await trawl.companies.get(ref, { include: "ownership,events,filings" });
const { names, identifiers, addresses, ownership, events = [], filings = [], quality } = company;
const section = (title: string, lines: readonly string[]): void => {
  if (lines.length > 0) console.log(`\n## ${title}\n\n${lines.map((line) => `- ${line}`).join("\n")}`);
};

console.log(`# ${names.legal}\n\n${company.status}, ${company.jurisdiction ?? "jurisdiction unknown"}`);
section(
  "Names",
  names.former.map(({ name }) => `formerly ${name}`),
);
section(
  "Numbers",
  identifiers.map(({ scheme, value, display }) => `${scheme}: ${display ?? value}`),
);
section(
  "Addresses",
  addresses.filter(({ current }) => current).map(({ type, formatted }) => `${type}: ${formatted}`),
);
section(
  "Owners",
  [ownership?.direct_parent, ownership?.ultimate_parent].flatMap((parent) =>
    parent ? [parent.name ?? "not named"] : [],
  ),
);
section(
  "Events",
  events.map(({ date, type, title }) => `${date}: ${title ?? type}`),
);
section(
  "Filings",
  filings.slice(0, MAX_FILINGS).map(({ date, type, url: address }) => `${date}: ${type} ${address ?? ""}`),
);
section(
  "Where sources disagree",
  quality.conflicts.map(({ field, resolved_by }) => `${field}, resolved by ${resolved_by}`),
);
section(
  "Who says so",
  Object.entries(company.provenance).map(
    ([field, { source, confirmed }]) => `${field}: ${source}, ${confirmed}`,
  ),
);
section(
  "Not answered",
  company.refresh
    .filter(({ result }) => result === "failed")
    .map(({ source, group, error }) => `${source} (${group}): ${error}`),
);
