/**
 * Search at the sources, by name or by an identifier: those that may know the company are asked at the same time, and a slow or failing one is only listed as such. A hit
 * that the register has already is not repeated; any other is named by `ref`, and is stored only when it is fetched.
 */
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import { ALL_SCHEMES } from "../../../schemas/identifier-schemes.ts";
import { type FieldPath, type Json, textOf } from "./claim.ts";
import type { JsonObject } from "./record.ts";
import { identifierOf, referenceOf } from "./references.ts";
import type {
  CompanyIdentifier,
  KnownCompany,
  LookupAnswer,
  SearchAnswer,
  SearchHit,
  Source,
  SourceHttp,
} from "./source.ts";
import { ownersOf, survivorOf } from "./stored-company.ts";

export const LIVE_RESULTS = ["ok", "timeout", "failed", "no_slot"] as const;

export interface LiveSource {
  readonly source: string;
  /** `no_slot`: not asked in time, as other requests had all its slots. */
  readonly result: (typeof LIVE_RESULTS)[number];
  readonly hits: number;
  readonly ms: number;
}

/** Callers that wait for an answer come first; items of a job wait longer for their turn. */
export type LiveLane = "sync" | "batch";

export interface LiveAnswer {
  readonly hits: readonly { readonly source: string; readonly hit: SearchHit }[];
  readonly live_sources: readonly LiveSource[];
  /** A source was not asked, as other requests had all its slots: in how many seconds it may be; null: all were asked. */
  readonly unasked_s: number | null;
}

export interface LiveSearchDeps {
  readonly clock: Clock;
  readonly documents: Documents;
  readonly sources: readonly Source[];
  readonly openHttp: (source: Source, caller: LiveCaller, signal: AbortSignal) => SourceHttp;
}

export interface LiveCaller {
  readonly project: string;
  readonly lane: LiveLane;
}

/** Slower sources are left out of the answer. In a job there is time for a slot, and for a request behind it. */
const MAX_SEARCH_MS = { sync: 8_000, batch: 40_000 } as const satisfies Record<LiveLane, number>;
/** Until a source without a slot is asked again, where its limiter does not say. */
const UNASKED_S = 5;
const HITS_OF_A_SOURCE = 20;

const NOTHING_KNOWN: KnownCompany = { names: [], city: null, country: null, identifiers: [], profiles: [] };

/** The sources of the country by a name. */
export function searchLive(
  deps: LiveSearchDeps,
  { name, country }: { readonly name: string; readonly country: string | null },
  caller: LiveCaller,
): Promise<LiveAnswer> {
  const asked = deps.sources.filter(
    (source) =>
      source.inactive_because === null &&
      "search" in source &&
      (country === null || ["*", country].some((each) => source.description.countries.includes(each))),
  );
  return askAll(deps, asked, caller, (source, http, signal) =>
    source.search!({ name, country, limit: HITS_OF_A_SOURCE }, http, signal),
  );
}

/** The sources that look companies up by such an identifier, but for those that cost money. */
export function lookUpLive(
  deps: LiveSearchDeps,
  identifier: CompanyIdentifier,
  project: string,
): Promise<LiveAnswer> {
  const asked = deps.sources.filter(
    ({
      inactive_because,
      is_opt_in = false,
      description: { is_paid = false, needs_name = false, schemes },
    }) =>
      inactive_because === null &&
      !is_opt_in &&
      !is_paid &&
      !needs_name &&
      schemes.lookup.includes(identifier.scheme),
  );
  return askAll(deps, asked, { project, lane: "sync" }, async (source, http, signal) => {
    const answer = await source.lookup(identifier, ["core", "identifiers"], http, signal, NOTHING_KNOWN);
    if (answer.kind === "failed") return answer;
    return { kind: "found", hits: answer.kind === "found" ? [hitOf(identifier, answer)] : [] };
  });
}

function hitOf(
  identifier: CompanyIdentifier,
  { native_id, groups }: Extract<LookupAnswer, { kind: "found" }>,
): SearchHit {
  const claims = groups
    .flatMap((group) => (group.kind === "claims" ? group.claims : []))
    .filter(({ rejected_because }) => rejected_because === undefined);
  const all = (field: FieldPath) => claims.filter((claim) => claim.field === field);
  const one = (field: FieldPath): Json => all(field)[0]?.value ?? null;
  const text = (field: FieldPath): string | null => textOf(one(field) ?? undefined) || null;
  const named = (field: FieldPath) => all(field).map(({ value }) => textOf((value as JsonObject)["name"]));
  const address = all("addresses").find(({ key }) => key === "registered") ?? all("addresses")[0];
  const references = [referenceOf(identifier), ...all("identifiers").map(({ key }) => key!)];
  return {
    identifier,
    identifiers: [...new Set(references)].map(identifierOf),
    name: text("names.legal") ?? named("names.trading")[0] ?? native_id,
    former_names: named("names.former"),
    status: text("status") ?? "unknown",
    jurisdiction: text("jurisdiction"),
    city: textOf((address?.value as JsonObject | undefined)?.["city"]) || null,
    legal_form_category: textOf((one("legal_form") as JsonObject | null)?.["category"]) || null,
  };
}

/** All at once; a source without an answer in time is listed as such. */
async function askAll(
  deps: LiveSearchDeps,
  asked: readonly Source[],
  caller: LiveCaller,
  askOne: (source: Source, http: SourceHttp, signal: AbortSignal) => Promise<SearchAnswer>,
): Promise<LiveAnswer> {
  const { clock } = deps;
  const stop = new AbortController();
  const late = Promise.withResolvers<"timeout">();
  /** Seconds until each source that had no slot may have one. */
  const unasked = new Map<Source, number>();
  const watched =
    (source: Source, http: SourceHttp): SourceHttp =>
    async (request) => {
      const response = await http(request);
      if (response.kind === "failed" && response.has_no_slot)
        unasked.set(source, response.retry_after_s ?? UNASKED_S);
      return response;
    };
  const timer = clock.at(clock.now() + MAX_SEARCH_MS[caller.lane], () => {
    late.resolve("timeout");
    stop.abort();
  });
  try {
    const answers = await Promise.all(
      asked.map(async (source) => {
        const began_ms = clock.mono();
        const http = watched(source, deps.openHttp(source, caller, stop.signal));
        const searching = askOne(source, http, stop.signal).catch((): SearchAnswer => ({
          kind: "failed",
          error: "unreadable",
          message: "",
          retry_after_s: null,
        }));
        const answer = await Promise.race([searching, late.promise]);
        const ms = Math.round(clock.mono() - began_ms);
        return { source: source.description.name, answer, hasNoSlot: unasked.has(source), ms };
      }),
    );
    return {
      hits: answers.flatMap(({ source, answer }) =>
        answer !== "timeout" && answer.kind === "found" ? answer.hits.map((hit) => ({ source, hit })) : [],
      ),
      live_sources: answers.map(({ source, answer, hasNoSlot, ms }) => ({
        source,
        result: resultOf(answer, hasNoSlot),
        hits: answer !== "timeout" && answer.kind === "found" ? answer.hits.length : 0,
        ms,
      })),
      unasked_s: unasked.size === 0 ? null : Math.max(...unasked.values()),
    };
  } finally {
    timer[Symbol.dispose]();
  }
}

function resultOf(answer: SearchAnswer | "timeout", hasNoSlot: boolean): LiveSource["result"] {
  if (answer !== "timeout" && answer.kind === "found") return "ok";
  if (hasNoSlot) return "no_slot";
  return answer === "timeout" ? "timeout" : "failed";
}

/** The hits of one company are one hit; those of companies in the register are given with its id. Throws Fault. */
export async function joinHits(
  documents: Documents,
  { hits }: Pick<LiveAnswer, "hits">,
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
      for (const id of await ownersOf(documents, hit.identifiers.map(referenceOf))) {
        const company = id === null ? null : await survivorOf(documents, id);
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

const kindOf = (scheme: string): string => ALL_SCHEMES.find((each) => each.scheme === scheme)?.kind ?? "open";
