/** Tools for the company register: resolve_company, company. */
import { Type } from "typebox";
import { withQuery } from "../api.ts";
import { factLine, lines, outline, table } from "../markdown.ts";
import { contentOf } from "../tool-errors.ts";
import { type Tool, tool } from "../tool.ts";

const INCLUDES = ["people", "ownership", "filings", "financials", "events"] as const;

const resolveCompany = tool({
  name: "resolve_company",
  title: "Find a company",
  description: "Find which company is meant by a name or identifiers such as `lei:…`. Gives ids for company.",
  input: Type.Object({
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 500 })),
    country: Type.Optional(Type.String({ description: "ISO 3166-1 alpha-2 code" })),
    city: Type.Optional(Type.String({ maxLength: 200 })),
    identifiers: Type.Optional(Type.Array(Type.String({ maxLength: 300 }), { maxItems: 10 })),
  }),
  async tell(args, { ask }) {
    const { match, reason, candidates } = await contentOf(ask, {
      method: "POST",
      path: "/v1/companies/resolve",
      body: args,
    });
    const verdict = match
      ? `This is ${match.name ?? match.id} (${match.id}).`
      : reason === "no_candidates"
        ? "No company was found. Try another spelling, the country, or an identifier."
        : "No company is certain. Choose among the candidates, or give the country or the city.";
    const list = candidates.length > 0 ? `\n\nCandidates, best first:\n\n${outline(candidates)}` : "";
    const ids = candidates.map(({ id, name }: { id: string; name: string | null }) => ({ id, name }));
    return { markdown: verdict + list, facts: { match: match?.id ?? null, reason, candidates: ids } };
  },
});

/** Fields of a record about the company itself; the rest is about the record. */
const CORE = [
  "names",
  "status",
  "jurisdiction",
  "legal_form",
  "dates",
  "identifiers",
  "addresses",
  "purpose",
  "activities",
  "capital",
  "size",
  "web",
  "securities",
  "relationships",
  ...INCLUDES,
] as const;

const company = tool({
  name: "company",
  title: "Read a company's record",
  description:
    "A company's register record: names, status, addresses, identifiers, on request people, ownership and more, each with its sources.",
  input: Type.Object({
    ref: Type.String({
      minLength: 3,
      maxLength: 300,
      description: "A `cmp_` id or `scheme:value`, as `lei:5493001KJTIIGC8Y1R12`",
    }),
    include: Type.Optional(Type.Array(Type.Enum([...INCLUDES]))),
  }),
  async tell({ ref, include }, { ask }) {
    const path = withQuery(`/v1/companies/${encodeURIComponent(ref)}`, { include: include?.join(",") });
    const record = await contentOf(ask, { method: "GET", path });
    const sources = record.sources as {
      source: string;
      url: string;
      retrieved_at: string;
      licence: string | null;
    }[];
    const rows = sources.map(({ source, url, retrieved_at, licence }) => [
      source,
      url,
      retrieved_at,
      licence,
    ]);
    const core = Object.fromEntries(CORE.map((name) => [name, record[name]]));
    const { conflicts = [], warnings = [] } = record.quality ?? {};
    const failed = record.refresh.filter(({ result }: { result: string }) => result === "failed");
    return {
      markdown: lines(
        `# ${record.names?.legal ?? record.id}\n`,
        factLine({ id: record.id, updated: record.updated_at, warnings: warnings.join(", ") }),
        "",
        outline(core),
        conflicts.length > 0 && `\n## Sources disagree\n\n${outline(conflicts)}`,
        failed.length > 0 && `\n## Sources that failed just now\n\n${outline(failed)}`,
        `\n## Sources\n\n${table(["source", "address", "retrieved", "licence"], rows)}`,
      ),
      facts: {
        id: record.id,
        name: record.names?.legal ?? null,
        sources: sources.map(({ source, url }) => ({ source, url })),
        updated_at: record.updated_at,
      },
    };
  },
});

export const COMPANY_TOOLS: readonly Tool[] = [resolveCompany, company];
