/** A source whose files are imported: its kinds of files, and how their rows become one company. */
import type { FieldGroup } from "../../../../schemas/companies.ts";
import type { SourceClaim } from "../claim.ts";
import type { RawDocument } from "../source.ts";
import type { CompanyEntry } from "./entry.ts";
import { type ImportKind, KEY_SEPARATOR, type Tuple } from "./import-kind.ts";
import type { ImportedRow, ImportStore } from "./store.ts";

interface SourceGroup {
  readonly group: FieldGroup;
  readonly precedence: number;
  readonly claims: readonly SourceClaim[];
}

/** A group as rows of the other kinds state it; its claims stand beside those of the company's own row. */
export interface PartGroup {
  readonly group: FieldGroup;
  readonly precedence: number;
  readonly rows: readonly ImportedRow[];
  readonly claims: (document: RawDocument, row: ImportedRow) => readonly SourceClaim[];
  /** The source has more of the group than its files: what is known beside the rows stays, and the source is asked. */
  readonly is_partial?: true;
}

export interface ImportedSource {
  readonly source: string;
  /** The scheme of the company's number at the source. */
  readonly own_scheme: string;
  /** The kind of file with one row for each company. */
  readonly base: ImportKind;
  readonly kinds: readonly ImportKind[];
  /** The company's number in a key of any of its kinds. */
  readonly numberOf: (key: string) => string;
  /** Groups of one version of the company's own row. */
  readonly groupsOf: (row: {
    readonly number: string;
    readonly tuple: Tuple;
    /** The day from which a whole file does not have the company any more; null: it has. */
    readonly ended_on: string | null;
    readonly document: RawDocument;
  }) => readonly SourceGroup[];
  /** Throws Fault. */
  readonly partsOf: (store: ImportStore, number: string) => Promise<readonly PartGroup[]>;
  readonly entryOf: (id: string, number: string, tuple: Tuple, ended_on: string | null) => CompanyEntry;
  /** Whether the source says that the number is of no company: it was given twice or by mistake. Default: never. */
  readonly isGone?: (tuple: Tuple) => boolean;
}

export const numberBefore = (key: string): string => key.split(KEY_SEPARATOR, 1)[0]!;

/** The part of a key behind the company's number. */
export const secondOf = (key: string): string => key.split(KEY_SEPARATOR)[1]!;
