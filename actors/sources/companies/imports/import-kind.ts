/**
 * The contract of a kind of file: one file of a source, such as GLEIF's level 1, whose records become rows. A row is a positional tuple
 * of what the source wrote, in the order of the kind's layout; what it means is worked out when it is read. Pure.
 */
import type { Json } from "../claim.ts";
import type { ImportKindName } from "../../../../schemas/company-import-kinds.ts";
import type { XmlElement } from "./read-xml.ts";
import type { SourceLicence } from "../source.ts";

/** Texts, and lists of texts for what may occur several times. */
export type Tuple = readonly Json[];

export type ReadRecord =
  | {
      readonly kind: "row";
      /** The row's key at the source: the company's number there, then what tells its rows apart. */
      readonly key: string;
      readonly tuple: Tuple;
    }
  /** The source withdrew the row. */
  | { readonly kind: "closed"; readonly key: string }
  | { readonly kind: "bad"; readonly reason: string }
  /** Nothing of the register's: a natural person, another entity. */
  | { readonly kind: "skipped" }
  /** The last record, which says how many records the file has. */
  | { readonly kind: "trailer"; readonly records: number };

/** The meaning of a row that a full file does not have any more. */
type Absence =
  /** The file is not whole: nothing is ever taken out of it. */
  | "never"
  /** The source withdrew the row. */
  | "closed"
  /** The file has live companies only: the company of the row was dissolved, and is still known. */
  | "dissolved";

interface KindOf<Record> {
  /** With the layout's version: `layout`. */
  readonly name: ImportKindName;
  readonly layout: number;
  readonly source: string;
  readonly title: string;
  readonly absence: Absence;
  /** Top-level fields of the record that a row states; absent: a row is a company, and states any of them. */
  readonly fields?: readonly string[];
  readonly licence: SourceLicence;
  /** The source publishes files of what changed, at the address with the parameter `delta`. */
  readonly has_deltas?: true;
  /** Not everyone may use it: the operator names the licence with each import. */
  readonly needs_consent?: true;
  /** The last record says how many there are; a file without it, or with others, closes nothing. */
  readonly has_trailer?: true;
  /** The identifiers, `scheme:value`, by which the row is found. The first is the row's own. */
  readonly referencesOf: (key: string, tuple: Tuple) => readonly string[];
  /** Whether the second tuple says something else of the company than the first; a renewal of a number does not. */
  readonly isChange: (before: Tuple, after: Tuple) => boolean;
  readonly read: Record;
}

/** Columns are found by their names, in any order. */
export interface CsvKind extends KindOf<
  (columns: readonly string[]) => (fields: readonly string[]) => ReadRecord
> {
  readonly format: "csv";
  /** A file without one of them is of another kind. */
  readonly required: readonly string[];
  /** The source publishes the same as XML; a file that begins with `<` is read by it. Default: it does not. */
  readonly xml?: {
    /** The name of a record's element, without its prefix. */
    readonly element: string;
    readonly read: (record: XmlElement) => ReadRecord;
  };
}

/** A file of JSON: a document a line, or one array of them. */
export interface JsonKind extends KindOf<(record: Json) => ReadRecord> {
  readonly format: "json";
}

export type ImportKind = CsvKind | JsonKind;

/** Between the parts of a key. */
export const KEY_SEPARATOR = " ";

/** Without the empty values at its end. */
export function trimmed(tuple: Tuple): Tuple {
  let length = tuple.length;
  while (length > 0 && isBlank(tuple[length - 1])) length--;
  return tuple.slice(0, length);
}

const isBlank = (value: Json | undefined): boolean =>
  value === "" || value === undefined || (Array.isArray(value) && value.length === 0);

/** The text at a place; empty where the tuple ends before it. */
export const textAt = (tuple: Tuple, at: number): string => {
  const value = tuple[at];
  return typeof value === "string" ? value : "";
};

/** The list of tuples at a place. */
export const tuplesAt = (tuple: Tuple, at: number): readonly Tuple[] => {
  const value = tuple[at];
  return Array.isArray(value) ? (value as readonly Tuple[]) : [];
};
