/** A company as imports know it, and the port by which the register asks. */
import type { FieldGroup } from "../../../../schemas/companies.ts";
import type { SourceClaim } from "../claim.ts";
import type { RawDocument } from "../source.ts";
import type { CompanyEntry } from "./entry.ts";
import type { ImportKind } from "./import-kind.ts";
import type { ImportedRow } from "./store.ts";

/** One group of a company as one file states it. */
export interface ImportedGroup {
  readonly source: string;
  readonly group: FieldGroup;
  readonly native_id: string;
  readonly precedence: number;
  /** Of the claims. */
  readonly documents: readonly RawDocument[];
  readonly claims: readonly SourceClaim[];
  /** When the source published the first file with it, and the last one. */
  readonly at_ms: number;
  readonly confirmed_ms: number;
  /** The source has more of the group than its files. */
  readonly is_partial?: true;
}

/** A company at the sources whose files were imported. */
export interface ImportedCompany {
  readonly id: string;
  /** By which a source is asked about it. */
  readonly reference: string;
  /** Its identifiers of one company only. */
  readonly references: readonly string[];
  /** Oldest first. */
  readonly groups: readonly ImportedGroup[];
}

export interface Imports {
  /** By an id `cmp_…` or `scheme:value`; null: no import knows it. Throws Fault. */
  company(reference: string): Promise<ImportedCompany | null>;
  /** What imports know of a company with these identifiers. Throws Fault. */
  groupsOf(references: readonly string[]): Promise<readonly ImportedGroup[]>;
  /** The companies of a source for the search index, in the order of their numbers, from this one on. */
  entriesOf(source: string, from: string): AsyncIterable<readonly CompanyEntry[]>;
  /** What the search index takes of these rows, which a file changed. */
  entriesOfRows(kind: ImportKind, rows: readonly ImportedRow[]): Promise<EntryChanges>;
}

export interface EntryChanges {
  readonly entries: readonly CompanyEntry[];
  /** Ids of companies that are no longer there, or that are another company's. */
  readonly removed: readonly string[];
  /** How many claims the rows state. */
  readonly claims: number;
}
