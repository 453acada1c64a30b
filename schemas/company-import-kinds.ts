/** The kinds of files that the register imports: what `trawl companies import` calls them, and whether their rows are companies. */

export interface ImportKindNames {
  /** The source on the command line. */
  readonly command: string;
  /** Names of this kind's files, where several kinds have one name on the command line. Default: any file. */
  readonly file?: RegExp;
  /** A row is a company; others are about companies. */
  readonly is_company?: true;
}

export const IMPORT_KIND_NAMES = {
  gleif_lei2: { command: "gleif-lei", is_company: true },
  gleif_rr: { command: "gleif-rr" },
  gleif_repex: { command: "gleif-repex" },
  gleif_isin: { command: "gleif-isin" },
  gleif_bic: { command: "gleif-bic" },
  companies_house: { command: "companies-house", is_company: true },
  companies_house_psc: { command: "companies-house-psc" },
  brreg: { command: "brreg", is_company: true },
  prh: { command: "prh", is_company: true },
  // Before the other one of this name, which takes any file.
  recherche_entreprises_seats: { command: "recherche-entreprises", file: /etablissement/i },
  recherche_entreprises: { command: "recherche-entreprises", is_company: true },
  ftm: { command: "ftm", is_company: true },
} as const satisfies Readonly<Record<string, ImportKindNames>>;

export type ImportKindName = keyof typeof IMPORT_KIND_NAMES;
