/**
 * The register as the filing slice asks it: the company behind an ISIN, a listing or a name that is on no list of filers. What is
 * stored is read; of an ISIN, and of a listing that names its market, the sources are asked when no company has it.
 */
import type { ActorClient } from "../../../../cluster/actor.ts";
import type { Node } from "../../../../cluster/node-record.ts";
import { Company } from "../../../../schemas/companies.ts";
import type { Register, RegisterAnswer, RegisterCaller, RegisterQuery } from "../../filings/register.ts";
import { textOf } from "../claim.ts";
import { decideMatch } from "../names/resolve.ts";
import type { Imports } from "../imports/imported-company.ts";
import { findCompany } from "../references.ts";
import { RECORD_GROUPS } from "../refresh-plan.ts";
import { homeFirst, listingOnMarket, listingReferences } from "../schemes/listings.ts";
import { rank } from "../search.ts";
import { type CompanyIndex, NO_FILTER } from "../search-index.ts";
import { countryOf, ownersOf, type StoredCompany, survivorOf } from "../stored-company.ts";

/** A company that is stored answers from what is stored; only a source that was never asked by the identifier is. */
const STORED_MAX_AGE_S = 365 * 86_400;
/** As long as a request for a record waits. */
const REFRESH_TIMEOUT_MS = 75_000;
/** Companies that merge while they are asked for. */
const MAX_HOPS = 4;

const UNKNOWN: RegisterAnswer = { kind: "unknown" };

/** Throws Fault. */
export function filingRegister({
  documents,
  index,
  imports,
  clock,
  ask,
}: Pick<Node, "documents" | "clock"> & {
  readonly index: CompanyIndex;
  readonly imports: Imports;
  readonly ask: ActorClient;
}): Register {
  async function find(question: RegisterQuery, caller: RegisterCaller): Promise<StoredCompany | null> {
    switch (question.by) {
      case "isin":
        return fromSources(`isin:${question.isin}`, caller);
      case "listing": {
        const market = listingOnMarket(question.listing);
        const stored = await byListing(question.listing);
        return stored ?? (market === null ? null : fromSources(market, caller));
      }
      case "name": {
        const ranked = await rank({ index }, { name: question.name, city: null, filter: NO_FILTER });
        const decision = decideMatch(
          ranked.map(
            ({ company: { id, status, completeness = 0 }, score, evidence, key, is_contradicted }) => ({
              id,
              score,
              evidence,
              key,
              is_contradicted,
              is_active: status === "active",
              completeness,
            }),
          ),
          () => false,
        );
        return decision.kind === "match" ? survivorOf(documents, decision.id) : null;
      }
    }
  }

  /** Null also where companies on several markets have the ticker. */
  async function byListing(listing: string): Promise<StoredCompany | null> {
    const owners = await ownersOf(documents, listingReferences(listing));
    const ids = owners.flatMap((id) => id ?? []);
    const companies = await Promise.all([...new Set(ids)].map((id) => survivorOf(documents, id)));
    const found = new Map(companies.flatMap((company) => (company ? [[company.id, company]] : [])));
    return found.size === 1 ? [...found.values()][0]! : null;
  }

  /** The company is refreshed like one that is asked for by a client: what is fresh is not asked for again. */
  async function fromSources(reference: string, caller: RegisterCaller): Promise<StoredCompany | null> {
    const found = await findCompany(documents, { kind: "identifier", reference }, clock.now(), imports);
    let id = found!.id;
    for (let hop = 0; hop < MAX_HOPS; hop++) {
      const answer = await ask(
        Company,
        id,
        "refresh",
        {
          reference,
          sources: null,
          groups: [...RECORD_GROUPS],
          max_age_s: found!.isStored ? STORED_MAX_AGE_S : null,
          force: false,
          ...caller,
        },
        { timeout_ms: REFRESH_TIMEOUT_MS },
      );
      if (answer.kind === "unknown") return null;
      id = answer.company_id;
      if (answer.kind === "company") return survivorOf(documents, id);
    }
    return null;
  }

  return async (question, { project, lane }) => {
    const company = await find(question, { project, lane });
    return company === null ? UNKNOWN : answerOf(company);
  };
}

function answerOf({ id, record }: StoredCompany): RegisterAnswer {
  const { names, identifiers, securities, jurisdiction } = record;
  const valueOf = (scheme: string): string | undefined =>
    identifiers.find((identifier) => identifier.scheme === scheme)?.value;
  const tickers = identifiers.filter(({ scheme }) => scheme === "ticker").map(({ value }) => value);
  const listings = securities.flatMap(({ mic, ticker }) =>
    typeof ticker === "string" ? [typeof mic === "string" ? `${mic}:${ticker}` : ticker] : [],
  );
  const country = countryOf(jurisdiction);
  const all = homeFirst([...new Set([...tickers, ...listings])], country);
  const cik = valueOf("us_cik");
  return {
    kind: "known",
    company: {
      id,
      name: names.legal,
      country,
      listings: [...all],
      lei: valueOf("lei") ?? null,
      isins: [...new Set(securities.map(({ isin }) => textOf(isin)).filter((isin) => isin !== ""))],
    },
    listing: all[0] ?? null,
    names: [names.legal, ...[names.trading, names.translations, names.former].flat().map(({ name }) => name)],
    us_cik: cik === undefined ? null : Number(cik),
  };
}
