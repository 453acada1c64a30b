/**
 * Search at the sources: the sources of the country are asked at the same time, and a slow or failing one is only listed as such. A hit
 * that the register has already is not repeated; any other is named by `ref`, and is stored only when it is fetched.
 */
import type { Clock } from "../../cluster/ports/clock.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { IDENTIFIER_SCHEMES } from "../../schemas/identifier-schemes.ts";
import type { Json } from "./claim.ts";
import type { JsonObject } from "./record.ts";
import type { CompanyIdentifier, SearchAnswer, SearchHit, Source, SourceHttp } from "./source.ts";
import { COMPANY_IDS, type IdentifierOwners, survivorOf } from "./stored-company.ts";

export interface LiveSource {
  readonly source: string;
  readonly result: "ok" | "timeout" | "failed";
  readonly hits: number;
  readonly ms: number;
}

export interface LiveAnswer {
  readonly hits: readonly { readonly source: string; readonly hit: SearchHit }[];
  readonly live_sources: readonly LiveSource[];
}

export interface LiveSearchDeps {
  readonly clock: Clock;
  readonly documents: Documents;
  readonly sources: readonly Source[];
  readonly openHttp: (source: Source, project: string, signal: AbortSignal) => SourceHttp;
}

/** Slower sources are left out of the answer. */
const MAX_SEARCH_MS = 8_000;
const HITS_OF_A_SOURCE = 20;

export async function searchLive(
  deps: LiveSearchDeps,
  query: { readonly name: string; readonly country: string | null; readonly project: string },
): Promise<LiveAnswer> {
  const { clock, sources } = deps;
  const { name, country, project } = query;
  const asked = sources.filter(
    (source) =>
      source.inactive_because === null &&
      "search" in source &&
      (country === null || ["*", country].some((each) => source.description.countries.includes(each))),
  );
  const stop = new AbortController();
  const late = Promise.withResolvers<"timeout">();
  const timer = clock.at(clock.now() + MAX_SEARCH_MS, () => {
    late.resolve("timeout");
    stop.abort();
  });
  try {
    const answers = await Promise.all(
      asked.map(async (source) => {
        const began_ms = clock.mono();
        const http = deps.openHttp(source, project, stop.signal);
        const searching = source.search!({ name, country, limit: HITS_OF_A_SOURCE }, http, stop.signal).catch(
          (): SearchAnswer => ({ kind: "failed", error: "unreadable", message: "", retry_after_s: null }),
        );
        const answer = await Promise.race([searching, late.promise]);
        return { source: source.description.name, answer, ms: Math.round(clock.mono() - began_ms) };
      }),
    );
    return {
      hits: answers.flatMap(({ source, answer }) =>
        answer !== "timeout" && answer.kind === "found" ? answer.hits.map((hit) => ({ source, hit })) : [],
      ),
      live_sources: answers.map(({ source, answer, ms }) => ({
        source,
        result: answer === "timeout" ? "timeout" : answer.kind === "found" ? "ok" : "failed",
        hits: answer !== "timeout" && answer.kind === "found" ? answer.hits.length : 0,
        ms,
      })),
    };
  } finally {
    timer[Symbol.dispose]();
  }
}

export const referenceOf = ({ scheme, value }: CompanyIdentifier): string => `${scheme}:${value}`;

/** The hits of one company are one hit; those of companies in the register are given with its id. Throws Fault. */
export async function joinHits(
  documents: Documents,
  { hits }: LiveAnswer,
): Promise<
  readonly { readonly hit: SearchHit; readonly source: string; readonly company_id: string | null }[]
> {
  const seen = new Set<string>();
  const distinct = hits.filter(({ hit }) => {
    const references = hit.identifiers.map(referenceOf);
    const isKnown = references.some((reference) => seen.has(reference));
    for (const reference of references) seen.add(reference);
    return !isKnown;
  });
  return Promise.all(
    distinct.map(async ({ source, hit }) => {
      const references = hit.identifiers.map(referenceOf);
      const owners = await documents.getMany(COMPANY_IDS, references);
      for (const owner of owners) {
        const id = (owner?.value as IdentifierOwners | undefined)?.companies[0];
        const company = id === undefined ? null : await survivorOf(documents, id);
        if (company) return { source, hit, company_id: company.id };
      }
      return { source, hit, company_id: null };
    }),
  );
}

/** A company that a source knows and the register does not. */
export const liveSummary = (hit: SearchHit, source: string, match_score: number): JsonObject => ({
  id: null,
  ref: referenceOf(hit.identifier),
  in_register: false,
  match_score,
  matched_on: null,
  identifiers: hit.identifiers.map(
    ({ scheme, value }) => ({ scheme, value, kind: kindOf(scheme), status: "unknown" }) as unknown as Json,
  ),
  names: { legal: hit.name },
  legal_form: hit.legal_form_category === null ? null : { category: hit.legal_form_category },
  status: hit.status,
  jurisdiction: hit.jurisdiction,
  addresses: [],
  sources: [source],
  updated_at: null,
});

const kindOf = (scheme: string): string =>
  IDENTIFIER_SCHEMES.find((each) => each.scheme === scheme)?.kind ?? "open";
