/** The search index in maps: for tests. */
import { frequenciesOf, keysOfNames, MAX_POSTINGS, rankByKeys } from "../search-keys.ts";
import {
  type CompanyEntry,
  type CompanyIndex,
  fitsFilter,
  type IndexState,
  namesOf,
} from "../search-index.ts";

export function memoryCompanyIndex(): CompanyIndex {
  const companies = new Map<string, CompanyEntry>();
  const postings = new Map<number, Set<string>>();
  let state: IndexState | null = null;

  function unindex(id: string): void {
    const company = companies.get(id);
    if (!company) return;
    companies.delete(id);
    for (const key of keysOfNames(namesOf(company))) postings.get(key)?.delete(id);
  }

  function index(company: CompanyEntry): void {
    const previous = companies.get(company.id);
    if (previous && (previous.version ?? 0) > (company.version ?? 0)) return;
    unindex(company.id);
    companies.set(company.id, company);
    for (const key of keysOfNames(namesOf(company)))
      postings.set(key, (postings.get(key) ?? new Set()).add(company.id));
  }

  return {
    async put(entries) {
      for (const entry of entries) index(entry);
    },
    async remove(ids) {
      for (const id of ids) unindex(id);
    },
    async candidates({ names, filter }, limit) {
      const fitting = (id: string): boolean => fitsFilter(companies.get(id)!, filter);
      const read = keysOfNames(names).map((key) => {
        const found = [...(postings.get(key) ?? [])].filter(fitting).slice(0, MAX_POSTINGS + 1);
        return { count: found.length, companies: () => found };
      });
      return {
        entries: rankByKeys(read, limit).map((id) => companies.get(id)!),
        frequencies: frequenciesOf(names, (key) => postings.get(key)?.size ?? 0),
        companies: companies.size,
      };
    },
    async count() {
      return companies.size;
    },
    async readState() {
      return state;
    },
    async writeState(next) {
      state = next;
    },
    async close() {},
  };
}
