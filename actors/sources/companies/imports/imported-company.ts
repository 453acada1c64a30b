/** A company as imports know it, and the port by which the register asks. */
import type { FieldGroup } from "../../../../schemas/companies.ts";
import type { CompanyChangeType } from "../../../../schemas/companies.ts";
import type { SourceClaim } from "../claim.ts";
import type { RawDocument } from "../source.ts";
import type { CompanyEntry } from "./entry.ts";
import type { ImportKind } from "./import-kind.ts";
import type { ImportedRow } from "./store.ts";

/** A group of a company as one file states it. */
export interface ImportedGroup {
  readonly source: string;
  readonly group: FieldGroup;
  readonly native_id: string;
  readonly precedence: number;
  /** Documents that the claims were read from. */
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
  /** Answers the groups that imports know of a company with these identifiers. Throws Fault. */
  groupsOf(references: readonly string[]): Promise<readonly ImportedGroup[]>;
  /** The companies of a source for the search index, in the order of their numbers, from this one on. */
  entriesOf(source: string, from: string): AsyncIterable<readonly CompanyEntry[]>;
  /** Companies of a source behind this number, and the number of the last one that was looked at; null: there are no more. */
  entriesAfter(
    source: string,
    number: string,
    limit: number,
  ): Promise<{ readonly entries: readonly CompanyEntry[]; readonly last: string | null }>;
  /** Answers the changes of companies by these rows, which an import wrote. */
  changesOfRows(kind: ImportKind, rows: readonly ImportedRow[]): Promise<readonly ImportedChange[]>;
  /** Answers the changes of the search index by these rows, which a file changed. */
  entriesOfRows(kind: ImportKind, rows: readonly ImportedRow[]): Promise<EntryChanges>;
}

/** How the rows of a file changed a company. */
export interface ImportedChange {
  readonly company_id: string;
  readonly type: Extract<CompanyChangeType, "created" | "updated" | "deleted">;
  /** Top-level fields of the record. */
  readonly fields: readonly string[];
  /** How many rows of its own the company has had; that of the record as long as only imports know the company. */
  readonly version: number;
  readonly countries: readonly string[];
  /** Its identifiers of one company only: whose company it is when it is stored. */
  readonly identifiers: readonly string[];
}

export interface EntryChanges {
  readonly entries: readonly CompanyEntry[];
  /** Ids of companies that are no longer there, or that are another company's. */
  readonly removed: readonly string[];
  /** How many claims the rows state. */
  readonly claims: number;
}
