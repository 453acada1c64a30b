/**
 * The register as the filing slice asks it: the company behind an ISIN, a listing or a name that is on no list of filers. Only
 * what is stored is read, and no source is asked.
 */
import type { Node } from "../../../../cluster/node-record.ts";
import type { Register, RegisterAnswer, RegisterQuery } from "../../filings/register.ts";
import { textOf } from "../claim.ts";
import { decideMatch } from "../names/resolve.ts";
import { listingReferences } from "../schemes/listings.ts";
import { rank } from "../search.ts";
import { type CompanyIndex, NO_FILTER } from "../search-index.ts";
import { countryOf, ownerOf, ownersOf, type StoredCompany, survivorOf } from "../stored-company.ts";

const UNKNOWN: RegisterAnswer = { kind: "unknown" };

/** Throws Fault. */
export function filingRegister({
  documents,
  index,
}: Pick<Node, "documents"> & {
  readonly index: CompanyIndex;
}): Register {
  async function find(question: RegisterQuery): Promise<StoredCompany | null> {
    switch (question.by) {
      case "isin":
        return byReference(`isin:${question.isin}`);
      case "listing":
        return byListing(question.listing);
      case "name": {
        const ranked = await rank({ index }, { name: question.name, city: null, filter: NO_FILTER });
        const decision = decideMatch(
          ranked.map(({ company: { id, status, completeness }, score }) => ({
            id,
            score,
            is_active: status === "active",
            completeness,
          })),
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

  async function byReference(reference: string): Promise<StoredCompany | null> {
    const owner = await ownerOf(documents, reference);
    return owner === null ? null : survivorOf(documents, owner);
  }

  return async (question) => {
    const company = await find(question);
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
  const all = [...new Set([...tickers, ...listings])];
  const cik = valueOf("us_cik");
  return {
    kind: "known",
    company: {
      id,
      name: names.legal,
      country: countryOf(jurisdiction),
      listings: all,
      lei: valueOf("lei") ?? null,
      isins: securities.map(({ isin }) => textOf(isin)).filter((isin) => isin !== ""),
    },
    listing: all[0] ?? null,
    names: [names.legal, ...[names.trading, names.translations, names.former].flat().map(({ name }) => name)],
    us_cik: cik === undefined ? null : Number(cik),
  };
}
