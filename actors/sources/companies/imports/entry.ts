/** The entry of an imported company in the search index. */
export interface CompanyEntry {
  /** The id of the company, `cmp_…`. */
  readonly id: string;
  /** The legal name first. */
  readonly names: readonly string[];
  /** ISO 3166-1 alpha-2. */
  readonly country?: string;
  readonly city?: string;
  /** The category of the legal form. */
  readonly legal_form?: string;
  /** `scheme:value` */
  readonly identifiers: readonly string[];
  readonly status?: string;
  /** How many claims it was made from; the index does not have it. */
  readonly claims?: number;
}
