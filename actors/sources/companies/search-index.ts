/**
 * The port to the search index: the names of all companies and what they are filtered by. The index is made from the
 * stored companies and can be made again. It finds candidates by blocking keys (search-keys.ts); scoring them is search.ts.
 */
import type { StoredCompany } from "./stored-company.ts";
import { isFormer } from "./merging.ts";
import { referenceOf } from "./references.ts";
import { countryOf } from "./stored-company.ts";

/** The entry of a company in the index. It is put whole, and a second entry of the same id takes its place. */
export interface CompanyEntry {
  readonly id: string;
  /** The names that the company has now, the legal one first; then trading names and translations. */
  readonly names: readonly string[];
  readonly former?: readonly string[];
  /** ISO 3166-1 alpha-2; null: not known. */
  readonly country?: string | null;
  readonly city?: string | null;
  readonly postcode?: string | null;
  /** The category of the legal form. */
  readonly legal_form?: string | null;
  /** Numbers that it has now, `scheme:value`. */
  readonly identifiers: readonly string[];
  /** Default `unknown`. */
  readonly status?: string;
  /** The completeness of the record, 0 to 1; default 0. */
  readonly completeness?: number;
  /** An entry never replaces one of a later version. Default 0. */
  readonly version?: number;
}

export interface IndexFilter {
  readonly country: string | null;
  readonly status: string | null;
  readonly legal_form: string | null;
}

export interface CandidateQuery {
  readonly names: readonly string[];
  readonly filter: IndexFilter;
}

export interface Candidates {
  /** Companies that share the most telling keys first; in any order among equals. */
  readonly entries: readonly CompanyEntry[];
  /** How many companies have each word of the query in a name, at least up to the count from which a word is common. */
  readonly frequencies: ReadonlyMap<string, number>;
  /** How many companies the index holds, about. */
  readonly companies: number;
}

/** How far the index was made from the stored companies. */
export interface IndexState {
  /** The layout of the keys; an index of another layout is made again. */
  readonly layout: number;
  /** The key of the last stored company that is in it; null: all are. */
  readonly through: string | null;
}

/** The layout of keys and entries that this version writes. */
export const INDEX_LAYOUT = 3;

export const isComplete = (state: IndexState | null): boolean =>
  state?.layout === INDEX_LAYOUT && state.through === null;

/** All methods throw Fault "documents_unreachable" and nothing else. */
export interface CompanyIndex {
  /** An entry that has no name is in the index and never found. */
  put(entries: readonly CompanyEntry[]): Promise<void>;
  remove(ids: readonly string[]): Promise<void>;
  /** Companies that fit the filter and share a blocking key with one of the names, at most `limit`. */
  candidates(query: CandidateQuery, limit: number): Promise<Candidates>;
  /** How many companies it holds. */
  count(): Promise<number>;
  /** Null: it was never made. */
  readState(): Promise<IndexState | null>;
  writeState(state: IndexState): Promise<void>;
  close(): Promise<void>;
}

/** Every name a company is found by. */
export const namesOf = ({ names, former = [] }: CompanyEntry): readonly string[] => [...names, ...former];

export const fitsFilter = (company: CompanyEntry, filter: IndexFilter): boolean =>
  (["country", "status", "legal_form"] as const).every(
    (field) => filter[field] === null || filter[field] === (company[field] ?? null),
  );

export const NO_FILTER: IndexFilter = { country: null, status: null, legal_form: null };

/** Only current names of a company that was merged away would be found twice: it has no entry. */
export function indexedCompany({ id, version, record }: StoredCompany): CompanyEntry {
  const { names, addresses, identifiers, legal_form, status, jurisdiction, completeness } = record;
  const nameOf = ({ name }: { readonly name: string }): string => name;
  const address = addresses.find(({ type }) => type === "registered") ?? addresses[0];
  return {
    id,
    names: [names.legal, ...[...names.trading, ...names.translations, ...names.other].map(nameOf)],
    former: names.former.map(nameOf),
    country: countryOf(jurisdiction) ?? address?.country ?? null,
    city: address?.city ?? null,
    postcode: address?.postal_code ?? null,
    legal_form: legal_form?.category ?? null,
    identifiers: identifiers.filter((each) => !isFormer(each)).map(referenceOf),
    status,
    completeness,
    version,
  };
}
