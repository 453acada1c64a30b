/** Reads values of CSV records by the names of their columns. Pure. */
import type { CsvKind, ReadRecord } from "../import-kind.ts";

/** The value of a column; empty where the file does not have it. */
export type ValueOf = (column: string) => string;

export const reading =
  (read: (value: ValueOf) => ReadRecord): CsvKind["read"] =>
  (columns) => {
    const places = new Map(columns.map((column, place) => [column, place]));
    return (fields) => read((column) => (fields[places.get(column) ?? -1] ?? "").trim());
  };
