/**
 * GLEIF's XML by the names of its CSV columns, so that both forms have one reader: an element's path is its column, an element that may
 * occur several times has its number behind it, an attribute is a column of its own. Pure.
 */
import type { XmlElement } from "../read-xml.ts";

/** Elements that the CSV numbers, even where there is one. */
const NUMBERED: ReadonlySet<string> = new Set([
  "OtherEntityName",
  "TransliteratedOtherEntityName",
  "OtherAddress",
  "TransliteratedOtherAddress",
  "AdditionalAddressLine",
  "SuccessorEntity",
  "LegalEntityEvent",
  "Period",
  "Exception.Reason",
  "Exception.Reference",
]);

/** Elements that the CSV names otherwise; an empty name leaves the element out of the path. */
const RENAMED: Readonly<Record<string, string>> = {
  RelationshipPeriods: "",
  RelationshipPeriod: "Period",
  StartDate: "startDate",
  EndDate: "endDate",
  PeriodType: "periodType",
  ExceptionCategory: "Exception.Category",
  ExceptionReason: "Exception.Reason",
  ExceptionReference: "Exception.Reference",
  Extension: "",
  Deletion: "",
};

export interface XmlValues {
  /** The value of a column; empty where the record does not have it. */
  readonly value: (column: string) => string;
  /** How many elements a numbered column has: `Entity.OtherEntityNames.OtherEntityName`. */
  readonly count: (column: string) => number;
}

export function xmlValues(record: XmlElement): XmlValues {
  const values = new Map<string, string>();
  const counts = new Map<string, number>();

  function add({ name, attributes, text, children }: XmlElement, path: string): void {
    const called = RENAMED[name] ?? name;
    let own = called === "" ? path : path === "" ? called : `${path}.${called}`;
    if (NUMBERED.has(called)) {
      const number = (counts.get(own) ?? 0) + 1;
      counts.set(own, number);
      own = `${own}.${number}`;
    }
    if (text !== "") values.set(own, text);
    for (const [attribute, value] of Object.entries(attributes))
      if (!attribute.startsWith("xmlns"))
        values.set(`${own}.${attribute === "xml:lang" ? "xmllang" : attribute}`, value.trim());
    for (const child of children) add(child, own);
  }
  for (const child of record.children) add(child, "");
  return { value: (column) => values.get(column) ?? "", count: (column) => counts.get(column) ?? 0 };
}
