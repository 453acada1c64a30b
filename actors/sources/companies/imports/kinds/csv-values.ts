/** Reads values of records by the names of their columns. Pure. */
import type { CsvKind, ReadRecord } from "../import-kind.ts";
import type { XmlElement } from "../read-xml.ts";
import { xmlValues } from "./xml-values.ts";

/** The value of a column; empty where the file does not have it. */
export type ValueOf = (column: string) => string;

export const reading =
  (read: (value: ValueOf) => ReadRecord): CsvKind["read"] =>
  (columns) => {
    const places = new Map(columns.map((column, place) => [column, place]));
    return (fields) => read((column) => (fields[places.get(column) ?? -1] ?? "").trim());
  };

/** Reads the records of a file of GLEIF in either form, CSV or XML. */
export const readingBoth = (
  element: string,
  read: (value: ValueOf) => ReadRecord,
): Required<Pick<CsvKind, "read" | "xml">> => ({
  read: reading(read),
  xml: { element, read: (record: XmlElement) => read(xmlValues(record).value) },
});
