/**
 * A company of which only a listing is known: a source says what it is called, and the sources that search by name are asked for the
 * one company of that name in the market's country. What it finds is looked up like any other; nothing is stored here.
 */
import type { WorkContext } from "../../../cluster/actor.ts";
import { askInTime, type AskSourceDeps, type LookupCaller } from "./ask-source.ts";
import { byRank, decideMatch, matchScore, nameQuery } from "./names/resolve.ts";
import { referenceOf } from "./references.ts";
import { isWanted } from "./refresh-plan.ts";
import type { CompanyIdentifier, SearchHit, Source, SourceHttp } from "./source.ts";
import { countryOf } from "./stored-company.ts";

interface IdentifyDeps extends Pick<AskSourceDeps, "clock" | "openHttp" | "health"> {
  readonly sources: readonly Source[];
}

export interface IdentifyCaller extends LookupCaller {
  /** Names of sources; null: all. */
  readonly sources: readonly string[] | null;
}

/** For one step: the name, then all searches at once. */
const MAX_STEP_MS = 8_000;
const HITS_OF_A_SOURCE = 20;

/** The number by which a source knows the company; null: no source has its name, or no company or several fit it. */
export async function identify(
  deps: IdentifyDeps,
  identifier: CompanyIdentifier,
  caller: IdentifyCaller,
  context: WorkContext,
): Promise<CompanyIdentifier | null> {
  const { sources } = deps;
  const isAsked = (source: Source): boolean =>
    isWanted(source, { sources: caller.sources, pays: false }) && !source.description.is_paid;
  const named = sources.find(
    (source) =>
      source.nameOf && isAsked(source) && source.description.schemes.lookup.includes(identifier.scheme),
  );
  if (named === undefined) return null;
  const answer = await within(deps, named, caller, context, (http, signal) =>
    named.nameOf!(identifier, http, signal),
  );
  if (answer?.kind !== "named") return null;
  const { name, country } = answer;
  const searched = sources.filter(
    (source) =>
      source.search &&
      isAsked(source) &&
      (country === null || ["*", country].some((each) => source.description.countries.includes(each))),
  );
  const found = await Promise.all(
    searched.map((source) =>
      within(deps, source, caller, context, (http, signal) =>
        source.search!({ name, country, limit: HITS_OF_A_SOURCE }, http, signal),
      ),
    ),
  );
  const hits = found.flatMap((each) => (each?.kind === "found" ? each.hits : []));
  return bestOf(name, country, hits);
}

/** Hits of one company at two sources share a number, or have one name: the second is not another company. */
function bestOf(name: string, country: string | null, hits: readonly SearchHit[]): CompanyIdentifier | null {
  const query = nameQuery(name);
  const ranked = hits
    .filter(({ jurisdiction }) => country === null || countryOf(jurisdiction) === country)
    .map((hit) => ({
      hit,
      id: referenceOf(hit.identifier),
      score: matchScore(query, {
        legal: hit.name,
        trading: [],
        former: hit.former_names,
        is_active: hit.status === "active" || hit.status === "unknown",
        cities: [],
        postcode: null,
        country: countryOf(hit.jurisdiction),
        legal_form_category: hit.legal_form_category,
      }).score,
      is_active: hit.status === "active",
      completeness: 0,
    }))
    .toSorted(byRank);
  const numbersOf = (id: string): ReadonlySet<string> =>
    new Set(ranked.find((each) => each.id === id)?.hit.identifiers.map(referenceOf));
  const decision = decideMatch(ranked, (a, b) => !numbersOf(a).isDisjointFrom(numbersOf(b)));
  return decision.kind === "match" ? ranked[0]!.hit.identifier : null;
}

/** Null: the source did not answer in time, or broke. Its health hears of a failure. */
async function within<Answer extends { readonly kind: string }>(
  deps: IdentifyDeps,
  source: Source,
  caller: LookupCaller,
  context: WorkContext,
  question: (http: SourceHttp, signal: AbortSignal) => Promise<Answer>,
): Promise<Answer | null> {
  const answer = await askInTime(
    deps,
    { source, caller, timeout_ms: MAX_STEP_MS },
    context,
    (http, signal) => question(http, signal).catch(() => null),
    () => null,
  );
  const error = answer === null ? "timeout" : answer.kind === "failed" ? errorOf(answer) : null;
  deps.health.record(source.description.name, error);
  return answer;
}

const errorOf = (answer: { readonly kind: string; readonly error?: string }): string =>
  answer.error ?? "unreadable";
