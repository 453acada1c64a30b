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
import { decisionAbout } from "../decisions.ts";
import { LIVE_RESULTS, type LiveCaller } from "../live-search.ts";
import { contradiction } from "../merging.ts";
import type { JsonObject, RecordIdentifier } from "../record.ts";
import type { CompanyIdentifier } from "../source.ts";
import { identifierOf, parseCompanyReference } from "../references.ts";
import { MATCH_THRESHOLD, PART_KINDS } from "../names/resolve.ts";
import {
  type Explanation,
  findByIdentifier,
  liveResults,
  NO_MATCH_REASONS,
  rank,
  type RankPosition,
  type Resolved,
  type ResolvedName,
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

export const Postcode = Field(
  Nullable(Type.String({ maxLength: 20 })),
  "The postcode of the company's registered address",
  "6300",
);
export const AsksSources = Field(
  Nullable(Type.Boolean()),
  "Whether sources are asked by the name; default: only where the register has nothing near",
  false,
);

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
  postcode: Type.Optional(Postcode),
  identifiers: Type.Optional(Nullable(Type.Array(Type.String({ maxLength: 300 }), { maxItems: 50 }))),
  limit: Type.Optional(
    Field(Nullable(Type.Integer({ minimum: 1, maximum: 20, description: "Default: 5" })), null, 5),
  ),
  live: Type.Optional(AsksSources),
});

const ScorePart = Component("CompanyScorePart", {
  kind: Field(Type.Enum([...PART_KINDS]), "What was compared", "city"),
  query: Field(Nullable(Type.String()), "What the caller names", "zug"),
  candidate: Field(Nullable(Type.String()), "What the candidate has", "Zug"),
  similarity: Field(Nullable(Type.Number()), "Of two words, 0 to 1", 0.88),
  effect: Field(Type.Number(), "What it adds to the score", 0.03),
});

export const ScoreExplanation = Component("CompanyScoreExplanation", {
  candidate: Field(
    Type.String(),
    "The candidate: its id, or its `ref` if it is not in the register",
    "cmp_0123456789abcdef",
  ),
  score: Field(Type.Number(), "The score, 0 to 1, not rounded", 1),
  base: Field(Type.Number(), "How alike the names are, before anything else counts", 0.97),
  parts: Field(
    Type.Array(ScorePart),
    "What speaks for and against the candidate: the effects add up, with `base`, to `score`. " +
      "Words add nothing of their own, as they are in `base`; `limit` cuts the score at 0 and 1",
  ),
  matched_on: Field(
    Type.Object({
      field: Field(Type.String(), "The field of the record", "names.legal"),
      value: Field(Type.String(), "Its value", "Puma SE"),
    }),
    "The name, or the identifier, of the candidate that fits best",
  ),
  threshold: Field(Type.Number(), "From this score on a candidate can be the match", 0.85),
  lead: Field(
    Nullable(Type.Number()),
    "How far it is ahead of the next candidate, before scores are cut at 1; a match needs 0.08. Null: there is no other",
    0.21,
  ),
});

export const LiveSource = Component("CompanyLiveSource", {
  source: Field(Type.String(), "The name of the source", "gleif"),
  result: Field(
    Type.Enum([...LIVE_RESULTS]),
    "How it answered. `no_slot`: it was not asked in time, as other requests had all its slots; the same request may find more later",
  ),
  hits: Field(Type.Integer(), "Companies that it found", 3),
  ms: Field(Type.Integer(), "How long it took, in milliseconds", 210),
});

export const ResolveAnswer = Component("CompanyResolveAnswer", {
  match: Field(Nullable(companySchema("CompanySummary")), "The company that is meant; null: none is certain"),
  /** Why there is no match: `below_threshold`, `ambiguous`, `no_candidates`. */
  reason: Field(Nullable(Type.Enum([...NO_MATCH_REASONS])), "Why there is no match; null: there is one"),
  candidates: Field(Type.Array(companySchema("CompanySummary")), "Best first"),
  explanations: Field(
    Type.Array(ScoreExplanation),
    "Why each candidate has its score, in the order of `candidates`",
  ),
  live_sources: Field(
    Type.Array(LiveSource),
    "What the sources answered that were asked by the name; empty: none was asked",
  ),
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
  readonly postcode?: string | null;
  readonly identifiers?: readonly string[] | null;
  readonly limit?: number | null;
  readonly live?: boolean | null;
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

const NOT_ASKED = { live_sources: [], unasked_s: null } as const;

type ResolveDeps = Omit<SearchRouteDeps, "cursors">;

/**
 * Identifiers first, exact; then what a reviewer of the project has decided of the name; then the name. The identifiers are well
 * formed. Throws Fault.
 */
export async function resolveCompany(
  deps: ResolveDeps,
  query: ResolveQuery,
  caller: LiveCaller,
): Promise<ResolvedName> {
  const { name = null, country = null, city = null, postcode = null, limit, live = null } = query;
  const identifiers = query.identifiers ?? [];
  for (const text of identifiers) {
    const found = await resolveExactly(deps, text, { field: "identifiers", value: text }, caller);
    if (found) return { ...found, ...NOT_ASKED };
  }
  if (name === null)
    return { match: null, reason: "no_candidates", candidates: [], explanations: [], ...NOT_ASKED };
  const wanted = identifiers.flatMap((text) => {
    const reference = parseCompanyReference(text);
    return reference.kind === "identifier" ? identifierOf(reference.reference) : [];
  });
  const decision = await decisionAbout(deps.documents, { project: caller.project, name, country, city });
  if (decision?.company != null) {
    const matched_on = { field: "decision", value: name };
    const found = await resolveExactly(deps, decision.company, matched_on, caller);
    if (found && isPossible(wanted, found.match!)) return { ...found, ...NOT_ASKED };
  }
  const refused = decision?.refused ?? [];
  const search = { name, city, postcode, country, identifiers: wanted, live, refused };
  return resolveName(deps, search, limit ?? DEFAULT_CANDIDATES, caller.project, caller.lane);
}

const isPossible = (wanted: readonly CompanyIdentifier[], match: JsonObject): boolean =>
  contradiction(wanted, match["identifiers"] as unknown as readonly RecordIdentifier[]) === null;

/** The company with this id or identifier; null: no source knows it. Throws Fault. */
async function resolveExactly(
  { service }: ResolveDeps,
  text: string,
  matched_on: Explanation["matched_on"],
  caller: LiveCaller,
): Promise<Resolved | null> {
  const reference = parseCompanyReference(text);
  if (reference.kind === "wrong") return null;
  const options = { sources: null, groups: [], max_age_s: null, refresh: false };
  const found = await service.get(reference, options, caller);
  if (found.company === null) return null;
  const match = summaryView(found.company, 1, matched_on);
  const explanations = [byIdentifier(found.company.id, matched_on)];
  return { match, reason: null, candidates: [match], explanations };
}

/** An identifier and a decision are exact: nothing else is compared. */
const byIdentifier = (candidate: string, matched_on: Explanation["matched_on"]): Explanation => ({
  candidate,
  score: 1,
  base: 0,
  parts: [
    { kind: "identifier", query: matched_on.value, candidate: matched_on.value, similarity: 1, effect: 1 },
  ],
  matched_on,
  threshold: MATCH_THRESHOLD,
  lead: null,
});

export function searchRoutes(deps: SearchRouteDeps): readonly Route[] {
  const { cursors } = deps;
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
        const { results, next } = await searchPage(deps, ranked, { after, limit }, live?.results);
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
        "Identifiers are tried first, exact, with score 1; a company with another number of the same scheme is no candidate. What a reviewer of the project decided of the name (`POST /v1/companies/batch/{job_id}/review`) comes next. `match` is set when the best score is at least 0.85 and 0.08 ahead " +
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
        const { unasked_s: _, ...resolved } = await resolveCompany(deps, body, {
          project: caller.grant.project.name,
          lane: "sync",
        });
        return { ...json(200, resolved), bill: companyBill(false) };
      },
    }),
  ];
}
