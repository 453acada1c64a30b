/**
 * GLEIF's other files: the parents of companies (level 2), why a parent is not named (reporting exceptions), and the ISINs and BICs of LEIs. A row's
 * key begins with the LEI it is about; of a relationship that is the child, and the parent leads to it as well.
 */
import type { Json } from "../../claim.ts";
import { GLEIF } from "../../sources/gleif.ts";
import { type CsvKind, KEY_SEPARATOR, trimmed, type Tuple } from "../import-kind.ts";
import { reading, readingBoth } from "./csv-values.ts";

const LEI = /^[0-9A-Z]{18}[0-9]{2}$/;
const PERIODS = [1, 2, 3, 4, 5] as const;

const isChange = (before: Tuple, after: Tuple): boolean => JSON.stringify(before) !== JSON.stringify(after);
const COMMON = { source: "gleif", layout: 1, format: "csv", licence: GLEIF.licence, isChange } as const;

const date = (text: string): string => text.slice(0, 10);

/** The reference that leads from a parent to its children's rows. */
export const parentReference = (lei: string): string => `in:${lei}`;

/** A relationship stands when it is active, and its record was published or not renewed. */
const CURRENT_RECORDS: ReadonlySet<string> = new Set(["PUBLISHED", "LAPSED"]);

/** Tuple: the type, its status, whether it stands, how it was checked, the periods. */
export const gleifRelationships: CsvKind = {
  ...COMMON,
  name: "gleif_rr",
  has_deltas: true,
  title: "GLEIF level 2: who owns whom",
  fields: ["relationships", "ownership"],
  absence: "closed",
  required: [
    "Relationship.StartNode.NodeID",
    "Relationship.EndNode.NodeID",
    "Relationship.RelationshipType",
    "Relationship.RelationshipStatus",
    "Registration.RegistrationStatus",
  ],
  referencesOf: (key) => [parentReference(key.split(KEY_SEPARATOR)[1]!)],
  ...readingBoth("RelationshipRecord", (value) => {
    const [child, parent] = ["Start", "End"].map((end) => value(`Relationship.${end}Node.NodeID`));
    if (!LEI.test(child!) || !LEI.test(parent!)) return { kind: "bad", reason: "lei" };
    const type = value("Relationship.RelationshipType").toLowerCase().replaceAll("-", "_");
    if (type === "") return { kind: "bad", reason: "type" };
    const key = [child, parent, type].join(KEY_SEPARATOR);
    if (value("DeletedAt") !== "") return { kind: "closed", key };
    const status = value("Relationship.RelationshipStatus");
    const record = value("Registration.RegistrationStatus");
    const periods = PERIODS.map((number): Json => {
      const part = (name: string): string => value(`Relationship.Period.${number}.${name}`);
      return trimmed([part("periodType"), date(part("startDate")), date(part("endDate"))]);
    });
    const stands = status === "ACTIVE" && CURRENT_RECORDS.has(record) ? "1" : "";
    const tuple = [type, status, stands, value("Registration.ValidationSources")];
    return { kind: "row", key, tuple: trimmed([...tuple, ...trimmed(periods)]) };
  }),
};

/** Tuple: the reason, the reference. */
export const gleifExceptions: CsvKind = {
  ...COMMON,
  name: "gleif_repex",
  has_deltas: true,
  title: "GLEIF level 2: why no parent is named",
  fields: ["ownership"],
  absence: "closed",
  required: ["LEI", "Exception.Category", "Exception.Reason.1"],
  referencesOf: () => [],
  ...readingBoth("Exception", (value) => {
    const [lei, category] = [value("LEI"), value("Exception.Category")];
    if (!LEI.test(lei)) return { kind: "bad", reason: "lei" };
    if (category === "") return { kind: "bad", reason: "category" };
    const key = [lei, category].join(KEY_SEPARATOR);
    if (value("DeletedAt") !== "") return { kind: "closed", key };
    return {
      kind: "row",
      key,
      tuple: trimmed([value("Exception.Reason.1"), value("Exception.Reference.1")]),
    };
  }),
};

const mapping = (scheme: "isin" | "bic", pattern: RegExp): CsvKind => ({
  ...COMMON,
  name: `gleif_${scheme}`,
  title: `GLEIF: the ${scheme.toUpperCase()}s of LEIs`,
  fields: [scheme === "isin" ? "securities" : "identifiers"],
  absence: "closed",
  required: ["LEI", scheme.toUpperCase()],
  referencesOf: (key) => [`${scheme}:${key.split(KEY_SEPARATOR)[1]}`],
  read: reading((value) => {
    const [lei, number] = [value("LEI"), value(scheme.toUpperCase()).toUpperCase()];
    if (!LEI.test(lei)) return { kind: "bad", reason: "lei" };
    if (!pattern.test(number)) return { kind: "bad", reason: scheme };
    return { kind: "row", key: [lei, number].join(KEY_SEPARATOR), tuple: [] };
  }),
});

export const gleifIsins = mapping("isin", /^[A-Z]{2}[0-9A-Z]{9}[0-9]$/);
export const gleifBics = mapping("bic", /^[0-9A-Z]{4}[A-Z]{2}[0-9A-Z]{5}$/);
