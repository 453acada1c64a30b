/**
 * The port to the search index: the names of all companies and what they are filtered by. The index is made from the
 * stored companies and can be made again. It finds candidates by blocking keys (search-keys.ts); scoring them is search.ts.
 */
import type { StoredCompany } from "./stored-company.ts";
import { countryOf } from "./stored-company.ts";

/** What the index holds of a company. */
export interface IndexedCompany {
  readonly id: string;
  /** An entry never replaces one of a later version. */
  readonly version: number;
  readonly legal: string;
  /** Trading names and translations. */
  readonly trading: readonly string[];
  readonly former: readonly string[];
  readonly status: string;
  /** ISO 3166-1 alpha-2; null: not known. */
  readonly country: string | null;
  /** The category of the legal form. */
  readonly legal_form: string | null;
  readonly city: string | null;
  readonly completeness: number;
}

export interface IndexFilter {
  readonly country: string | null;
  readonly status: string | null;
  readonly legal_form: string | null;
}

/** All methods throw Fault "documents_unreachable" and nothing else. */
export interface CompanyIndex {
  put(company: IndexedCompany): Promise<void>;
  remove(id: string): Promise<void>;
  /**
   * Companies that fit the filter and share a blocking key with one of the names, those that share the most telling keys
   * first, at most `limit`. In any order among equals.
   */
  candidates(
    names: readonly string[],
    filter: IndexFilter,
    limit: number,
  ): Promise<readonly IndexedCompany[]>;
  /** How many companies it holds. */
  size(): Promise<number>;
  close(): Promise<void>;
}

/** Every name a company is found by. */
export const namesOf = ({ legal, trading, former }: IndexedCompany): readonly string[] => [
  legal,
  ...trading,
  ...former,
];

export const fitsFilter = (company: IndexedCompany, filter: IndexFilter): boolean =>
  (["country", "status", "legal_form"] as const).every(
    (field) => filter[field] === null || filter[field] === company[field],
  );

export const NO_FILTER: IndexFilter = { country: null, status: null, legal_form: null };

/** Only current names of a company that was merged away would be found twice: it has no entry. */
export function indexedCompany({ id, version, record }: StoredCompany): IndexedCompany {
  const { names, addresses, legal_form, status, jurisdiction, completeness } = record;
  const nameOf = ({ name }: { readonly name: string }): string => name;
  const address = addresses.find(({ type }) => type === "registered") ?? addresses[0];
  return {
    id,
    version,
    legal: names.legal,
    trading: [...names.trading, ...names.translations, ...names.other].map(nameOf),
    former: names.former.map(nameOf),
    status,
    country: countryOf(jurisdiction) ?? address?.country ?? null,
    legal_form: legal_form?.category ?? null,
    city: address?.city ?? null,
    completeness,
  };
}
