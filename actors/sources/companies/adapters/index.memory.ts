/** The search index in maps: for tests. */
import { keysOfNames, MAX_POSTINGS, rankByKeys } from "../search-keys.ts";
import { type CompanyIndex, fitsFilter, type IndexedCompany, namesOf } from "../search-index.ts";

export function memoryCompanyIndex(): CompanyIndex {
  const companies = new Map<string, IndexedCompany>();
  const postings = new Map<number, Set<string>>();

  function unindex(id: string): void {
    const company = companies.get(id);
    if (!company) return;
    companies.delete(id);
    for (const key of keysOfNames(namesOf(company))) postings.get(key)?.delete(id);
  }

  return {
    async put(company) {
      const previous = companies.get(company.id);
      if (previous && previous.version > company.version) return;
      unindex(company.id);
      companies.set(company.id, company);
      for (const key of keysOfNames(namesOf(company)))
        postings.set(key, (postings.get(key) ?? new Set()).add(company.id));
    },
    async remove(id) {
      unindex(id);
    },
    async candidates(names, filter, limit) {
      const fitting = (id: string): boolean => fitsFilter(companies.get(id)!, filter);
      const read = keysOfNames(names).map((key) => ({
        key,
        companies: [...(postings.get(key) ?? [])].filter(fitting).slice(0, MAX_POSTINGS + 1),
      }));
      return rankByKeys(read, limit).map((id) => companies.get(id)!);
    },
    async size() {
      return companies.size;
    },
    async close() {},
  };
}
