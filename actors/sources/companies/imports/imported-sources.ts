/** All sources whose files are imported. Of a company that several have, the first one's number gives the id. */
import { importedGleif } from "./gleif.ts";
import type { ImportKind } from "./import-kind.ts";
import type { ImportedSource } from "./imported-source.ts";
import {
  importedBrreg,
  importedCompaniesHouse,
  importedOpenSanctions,
  importedPrh,
  importedSirene,
} from "./registers.ts";

export const IMPORTED_SOURCES: readonly ImportedSource[] = [
  importedGleif,
  importedCompaniesHouse,
  importedBrreg,
  importedPrh,
  importedSirene,
  importedOpenSanctions,
];

export const IMPORT_KINDS: readonly ImportKind[] = IMPORTED_SOURCES.flatMap(({ kinds }) => kinds);

/** Null: there is no such kind. */
export const importKindOf = (name: string): ImportKind | null =>
  IMPORT_KINDS.find((kind) => kind.name === name) ?? null;
