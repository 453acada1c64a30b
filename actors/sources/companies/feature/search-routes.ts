/** GET /v1/companies/search and POST /v1/companies/resolve: companies by name and identifier. */
import { Type } from "typebox";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import { invalid, json } from "../../../../gateway/http-errors.ts";
import { type Route, route } from "../../../../gateway/route.ts";
import { Field, Component, Nullable } from "../../../../schemas/common.ts";
import {
  COMPANY_STATUSES,
  companySchema,
  LEGAL_FORM_CATEGORIES,
} from "../../../../schemas/company-record.ts";
import type { Cursors } from "../cursor.ts";
import { identifierOf, parseCompanyReference } from "../references.ts";
import {
  findByIdentifier,
  liveResults,
  rank,
  type RankPosition,
  type Resolved,
  resolveName,
  type SearchDeps,
  searchPage,
} from "../search.ts";
import type { CompanyService } from "../service.ts";
import { summaryView } from "../view.ts";
import { companyBill, invalidCursor, wrongQuery } from "./record-routes.ts";

export interface SearchRouteDeps extends SearchDeps {
  readonly documents: Documents;
  readonly cursors: Cursors;
  readonly service: CompanyService;
}

const Country = Type.String({ pattern: "^[A-Z]{2}$", description: "ISO 3166-1 alpha-2" });
const MAX_QUERY_CHARS = 500;
const DEFAULT_CANDIDATES = 5;

export const ResolveBody = Component("CompanyResolveBody", {
  name: Type.Optional(
    Field(
      Nullable(Type.String({ minLength: 1, maxLength: MAX_QUERY_CHARS })),
      "The name of the company",
      "Puma SE",
    ),
  ),
  country: Type.Optional(Nullable(Country)),
  city: Type.Optional(Nullable(Type.String({ maxLength: 200 }))),
  identifiers: Type.Optional(Nullable(Type.Array(Type.String({ maxLength: 300 }), { maxItems: 50 }))),
  limit: Type.Optional(
    Field(Nullable(Type.Integer({ minimum: 1, maximum: 20, description: "Default: 5" })), null, 5),
  ),
});

export const ResolveAnswer = Component("CompanyResolveAnswer", {
  match: Field(Nullable(companySchema("CompanySummary")), "The company that is meant; null: none is certain"),
  /** Why there is no match: `below_threshold`, `ambiguous`, `no_candidates`. */
  reason: Field(
    Nullable(Type.Enum(["below_threshold", "ambiguous", "no_candidates"])),
    "Why there is no match; null: there is one",
  ),
  candidates: Field(Type.Array(companySchema("CompanySummary")), "Best first"),
});

export const LiveSource = Component("CompanyLiveSource", {
  source: Field(Type.String(), "The name of the source", "gleif"),
  result: Field(Type.Enum(["ok", "timeout", "failed"]), "How it answered"),
  hits: Field(Type.Integer(), "Companies that it found", 3),
  ms: Field(Type.Integer(), "How long it took, in milliseconds", 210),
});

export const SearchAnswer = Component("CompanySearchAnswer", {
  results: Field(Type.Array(companySchema("CompanySummary")), "Best first"),
  next_cursor: Nullable(Type.String()),
  live_sources: Field(Type.Array(LiveSource), "With live: what the sources answered"),
});

export interface ResolveQuery {
  readonly name?: string | null;
  readonly country?: string | null;
  readonly city?: string | null;
  readonly identifiers?: readonly string[] | null;
  readonly limit?: number | null;
}

/** Which identifier is wrong, and why; null: none. */
export function wrongIdentifier(
  identifiers: readonly string[],
): { readonly index: number; readonly message: string } | null {
  for (const [index, text] of identifiers.entries()) {
    const reference = parseCompanyReference(text);
    if (reference.kind === "wrong") return { index, message: reference.message };
  }
  return null;
}

/** Identifiers first, exact; then the name. The identifiers are well formed. Throws Fault. */
export async function resolveCompany(
  deps: Omit<SearchRouteDeps, "cursors">,
  { name = null, country = null, city = null, identifiers, limit }: ResolveQuery,
  caller: { readonly project: string; readonly lane: "sync" | "batch" },
): Promise<Resolved> {
  for (const text of identifiers ?? []) {
    const reference = parseCompanyReference(text);
    if (reference.kind === "wrong") continue;
    const options = { sources: null, groups: [], max_age_s: null, refresh: false };
    const found = await deps.service.get(reference, options, caller);
    if (found.company === null) continue;
    const matched_on = { field: "identifiers", value: text };
    const match = summaryView(found.company, 1, matched_on);
    return { match, reason: null, candidates: [match] };
  }
  if (name === null) return { match: null, reason: "no_candidates", candidates: [] };
  const wanted = (identifiers ?? []).flatMap((text) => {
    const reference = parseCompanyReference(text);
    return reference.kind === "identifier" ? identifierOf(reference.reference) : [];
  });
  const search = { name, city, country, identifiers: wanted };
  return resolveName(deps, search, limit ?? DEFAULT_CANDIDATES, caller.project);
}

export function searchRoutes(deps: SearchRouteDeps): readonly Route[] {
  const { documents, cursors } = deps;
  const common = { tags: ["companies"], category: "fetch", always_begins_work: true } as const;

  return [
    route({
      ...common,
      method: "GET",
      path: "/v1/companies/search",
      operationId: "searchCompanies",
      query_example: { q: "Puma" },
      summary: "Find companies by name or identifier",
      description:
        "Needs `q` or `identifier`. With `live` the first page also has what the sources of the country find now, or know by the " +
        "identifier: a result that is not in the register has `ref`, which GET /v1/companies/{ref} fetches and adds. Results of both kinds " +
        "share the page's `limit`, the best first.",
      query: Type.Object({
        q: Type.Optional(
          Field(Nullable(Type.String({ maxLength: MAX_QUERY_CHARS })), "A name or a part of one", "puma"),
        ),
        country: Type.Optional(Nullable(Country)),
        identifier: Type.Optional(
          Field(
            Nullable(Type.String({ maxLength: 300, description: "scheme:value, exact" })),
            null,
            "lei:529900GRZ2BQY5ZM9N49",
          ),
        ),
        status: Type.Optional(
          Field(Nullable(Type.Enum([...COMPANY_STATUSES])), "Only companies of this status", "active"),
        ),
        legal_form: Type.Optional(
          Field(
            Nullable(Type.Enum([...LEGAL_FORM_CATEGORIES], { description: "A category" })),
            null,
            "public_limited",
          ),
        ),
        limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
        cursor: Type.Optional(Nullable(Type.String({ maxLength: 1_000 }))),
        live: Field(
          Type.Boolean({ default: false }),
          "Whether the sources of the country are asked now",
          false,
        ),
      }),
      replies: { 200: { description: "The results, best first", schema: SearchAnswer } },
      handle: async ({ query, caller }) => {
        const {
          identifier = null,
          limit,
          cursor = null,
          country = null,
          status = null,
          legal_form = null,
        } = query;
        const q = (query.q ?? "").trim();
        const filter = { country, status, legal_form };
        const project = caller.grant.project.name;
        if (identifier !== null) {
          const reference = parseCompanyReference(identifier);
          if (reference.kind === "wrong") return wrongQuery("identifier", reference.message);
          const found = await findByIdentifier(deps, reference, filter, { live: query.live, project });
          const isCached = found.live_sources.length === 0;
          return { ...json(200, { ...found, next_cursor: null }), bill: companyBill(isCached) };
        }
        if (q === "") return wrongQuery("q", "Field required: q or identifier", "missing");
        const list = `search by rank ${JSON.stringify([q, filter])}`;
        const after =
          cursor === null ? null : ((await cursors.open(list, cursor)) as unknown as RankPosition | null);
        if (cursor !== null && after === null) return invalidCursor();
        const search = { name: q, city: null, filter };
        const live = query.live && after === null ? await liveResults(deps, search, project) : null;
        const ranked = await rank(deps, search);
        const { results, next } = await searchPage(documents, ranked, { after, limit }, live?.results);
        const next_cursor = next && (await cursors.seal(list, next));
        const answer = { results, next_cursor, live_sources: live?.live_sources ?? [] };
        return { ...json(200, answer), bill: companyBill(live === null) };
      },
    }),
    route({
      ...common,
      method: "POST",
      path: "/v1/companies/resolve",
      operationId: "resolveCompany",
      summary: "The company that a name and identifiers mean",
      description:
        "Identifiers are tried first, exact, with score 1; a company with another number of the same scheme is no candidate. `match` is set when the best score is at least 0.85 and 0.08 ahead " +
        "of the next; else `reason` has the cause.",
      body: ResolveBody,
      body_example: { name: "Puma SE", city: "Herzogenaurach", country: "DE" },
      replies: { 200: { description: "The match and the candidates, best first", schema: ResolveAnswer } },
      handle: async ({ body, caller }) => {
        const { name, identifiers } = body;
        if ((name ?? "").trim() === "" && (identifiers ?? []).length === 0)
          return invalid([
            { loc: ["body", "name"], msg: "Field required: name or identifiers", type: "missing" },
          ]);
        const wrong = wrongIdentifier(identifiers ?? []);
        if (wrong)
          return invalid([
            { loc: ["body", "identifiers", wrong.index], msg: wrong.message, type: "value_error" },
          ]);
        const resolved = await resolveCompany(deps, body, {
          project: caller.grant.project.name,
          lane: "sync",
        });
        return { ...json(200, resolved), bill: companyBill(false) };
      },
    }),
  ];
}
