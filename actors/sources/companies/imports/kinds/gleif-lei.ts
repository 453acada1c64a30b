/**
 * GLEIF's level 1 data as its golden copy has it in CSV (Common Data File 3.1, 338 columns) or XML. The tuple holds what the file says, and is read as a
 * record of GLEIF's API, so that both give the same claims.
 *
 * Peculiarities of the files: dates carry the issuer's offset, so that the first ten characters are the date; more than five names or
 * events of a company are in the XML file only; neither has a BIC.
 */
import type { Json } from "../../claim.ts";
import { type LeiRecord, identifierClaims, GLEIF } from "../../sources/gleif.ts";
import { identifierReferences } from "../identifier-references.ts";
import { type CsvKind, type ReadRecord, textAt, trimmed, type Tuple, tuplesAt } from "../import-kind.ts";
import type { XmlElement } from "../read-xml.ts";
import { xmlValues } from "./xml-values.ts";

const LEI = /^[0-9A-Z]{18}[0-9]{2}$/;
/** The most of each list that the CSV has. */
const ITEMS = [1, 2, 3, 4, 5] as const;
/** The most items of a list of the XML, which has no limit of its own; further ones are left out. */
const MAX_ITEMS = 200;

const NAME = ["", "xmllang", "type"] as const;
const ADDRESS = [
  "xmllang",
  "FirstAddressLine",
  "AddressNumber",
  "AddressNumberWithinBuilding",
  "MailRouting",
  "AdditionalAddressLine.1",
  "AdditionalAddressLine.2",
  "AdditionalAddressLine.3",
  "City",
  "Region",
  "Country",
  "PostalCode",
] as const;
const EVENT = [
  "LegalEntityEventType",
  "event_status",
  "LegalEntityEventEffectiveDate",
  "LegalEntityEventRecordedDate",
] as const;

interface Group {
  readonly columns: readonly string[];
}
interface List {
  readonly prefix: string;
  readonly item: (number: number) => Group;
}
const group = (prefix: string, parts: readonly string[]): Group => ({
  columns: parts.map((part) => (part === "" ? prefix : `${prefix}.${part}`)),
});
const list = (prefix: string, parts: readonly string[]): List => ({
  prefix,
  item: (number) => group(`${prefix}.${number}`, parts),
});

/** The places of the tuple. A new layout is a new version: rows of the old one are read as before. */
const LAYOUT: readonly (string | Group | List)[] = [
  "Entity.LegalName",
  "Entity.LegalName.xmllang",
  list("Entity.OtherEntityNames.OtherEntityName", NAME),
  list("Entity.TransliteratedOtherEntityNames.TransliteratedOtherEntityName", NAME),
  group("Entity.LegalAddress", ADDRESS),
  group("Entity.HeadquartersAddress", ADDRESS),
  list("Entity.OtherAddresses.OtherAddress", [...ADDRESS, "type"]),
  "Entity.RegistrationAuthority.RegistrationAuthorityID",
  "Entity.RegistrationAuthority.OtherRegistrationAuthorityID",
  "Entity.RegistrationAuthority.RegistrationAuthorityEntityID",
  "Entity.LegalJurisdiction",
  "Entity.EntityCategory",
  "Entity.EntitySubCategory",
  "Entity.LegalForm.EntityLegalFormCode",
  "Entity.LegalForm.OtherLegalForm",
  "Entity.EntityStatus",
  "Entity.EntityCreationDate",
  "Entity.EntityExpirationDate",
  "Entity.EntityExpirationReason",
  list("Entity.SuccessorEntity", ["SuccessorLEI", "SuccessorEntityName"]),
  list("Entity.LegalEntityEvents.LegalEntityEvent", EVENT),
  "Registration.InitialRegistrationDate",
  "Registration.RegistrationStatus",
  "Registration.ManagingLOU",
  "Registration.ValidationSources",
  "ConformityFlag",
  "Registration.NextRenewalDate",
];
const AT = {
  name: 0,
  language: 1,
  other_names: 2,
  transliterated: 3,
  legal_address: 4,
  headquarters: 5,
  other_addresses: 6,
  authority: 7,
  other_authority: 8,
  number: 9,
  jurisdiction: 10,
  category: 11,
  elf: 13,
  other_form: 14,
  status: 15,
  created: 16,
  expired: 17,
  expiry_reason: 18,
  successors: 19,
  events: 20,
  registered: 21,
  registration_status: 22,
  managing_lou: 23,
  validation: 24,
  renewal: 26,
} as const;
/** Written as moments with the issuer's offset; the day is what they say. */
const DATES: ReadonlySet<string> = new Set([
  "Entity.EntityCreationDate",
  "Entity.EntityExpirationDate",
  "Registration.InitialRegistrationDate",
  "Registration.NextRenewalDate",
]);
const isDate = (column: string): boolean => DATES.has(column) || column.endsWith("Date");

const text = (value: string): string | null => (value === "" ? null : value);
/** A list within the tuple; the tuple itself where there is none. */
const tupleAt = (tuple: Tuple, at: number): Tuple => {
  const value = tuple[at];
  return Array.isArray(value) ? (value as Tuple) : [];
};

function addressOf(tuple: Tuple) {
  const at = (place: number): string => textAt(tuple, place);
  return {
    language: text(at(0)),
    addressLines: [1, 5, 6, 7].map(at).filter((line) => line !== ""),
    addressNumber: text(at(2)),
    mailRouting: text(at(4)),
    city: text(at(8)),
    region: text(at(9)),
    country: text(at(10)),
    postalCode: text(at(11)),
  };
}

const nameOf = (tuple: Tuple) => ({
  name: textAt(tuple, 0),
  language: text(textAt(tuple, 1)),
  type: text(textAt(tuple, 2)),
});

/** The row in the form of GLEIF's API. `bic`: of GLEIF's other files. */
export function leiRecordOf(lei: string, tuple: Tuple, bic: readonly string[] = []): LeiRecord {
  const at = (place: number): string | null => text(textAt(tuple, place));
  const headquarters = tupleAt(tuple, AT.headquarters);
  return {
    id: lei,
    attributes: {
      lei,
      entity: {
        legalName: { name: textAt(tuple, AT.name), language: at(AT.language) },
        otherNames: tuplesAt(tuple, AT.other_names).map(nameOf),
        transliteratedOtherNames: tuplesAt(tuple, AT.transliterated).map(nameOf),
        legalAddress: addressOf(tupleAt(tuple, AT.legal_address)),
        headquartersAddress: headquarters.length === 0 ? null : addressOf(headquarters),
        otherAddresses: tuplesAt(tuple, AT.other_addresses).map(addressOf),
        registeredAt: { id: at(AT.authority), other: at(AT.other_authority) },
        registeredAs: at(AT.number),
        jurisdiction: at(AT.jurisdiction),
        category: at(AT.category),
        legalForm: { id: at(AT.elf), other: at(AT.other_form) },
        status: at(AT.status),
        expiration: { date: at(AT.expired), reason: at(AT.expiry_reason) },
        successorEntities: tuplesAt(tuple, AT.successors).map((successor) => ({
          lei: text(textAt(successor, 0)),
          name: text(textAt(successor, 1)),
        })),
        creationDate: at(AT.created),
        eventGroups: [
          {
            events: tuplesAt(tuple, AT.events).map((event) => ({
              type: text(textAt(event, 0)),
              status: text(textAt(event, 1)),
              effectiveDate: text(textAt(event, 2)),
              recordedDate: text(textAt(event, 3)),
            })),
          },
        ],
      },
      registration: {
        status: at(AT.registration_status),
        corroborationLevel: at(AT.validation),
        initialRegistrationDate: at(AT.registered),
        nextRenewalDate: at(AT.renewal),
        managingLou: at(AT.managing_lou),
      },
      bic: [...bic],
      ocid: null,
    },
  };
}

/** Columns of a place: one value, a group, or the groups of a list that the file or the record has. A column is read by its number in the file. */
type Place<Column> = Column | readonly Column[] | { readonly items: readonly (readonly Column[])[] };

const placesOf = <Column>(
  columnOf: (column: string) => Column,
  groupsOf: (list: List) => readonly Group[],
): readonly Place<Column>[] =>
  LAYOUT.map((place): Place<Column> => {
    if (typeof place === "string") return columnOf(place);
    if ("columns" in place) return place.columns.map(columnOf);
    return { items: groupsOf(place).map(({ columns }) => columns.map(columnOf)) };
  });

function rowOf<Column extends string | number>(
  lei: string,
  value: (column: Column) => string,
  places: readonly Place<Column>[],
): ReadRecord {
  if (!LEI.test(lei)) return { kind: "bad", reason: "lei" };
  const tuple = places.map((place): Json => {
    if (typeof place !== "object") return value(place);
    if (!("items" in place)) return groupTuple(place, value);
    const items: Tuple[] = [];
    for (const columns of place.items) {
      const item = groupTuple(columns, value);
      if (item.length > 0) items.push(item);
    }
    return items;
  });
  if (tuple[AT.name] === "") return { kind: "bad", reason: "legal_name" };
  return { kind: "row", key: lei, tuple: trimmed(tuple) };
}

const NONE: Tuple = [];

/** Most groups of a file are empty. */
function groupTuple<Column>(columns: readonly Column[], value: (column: Column) => string): Tuple {
  let length = columns.length;
  while (length > 0 && value(columns[length - 1]!) === "") length--;
  return length === 0 ? NONE : columns.slice(0, length).map(value);
}

function read(columns: readonly string[]): ReturnType<CsvKind["read"]> {
  const at = new Map(columns.map((column, place) => [column, place]));
  const areDates = columns.map(isDate);
  const lei = at.get("LEI") ?? -1;
  const places = placesOf(
    (column) => at.get(column) ?? -1,
    ({ item }) => ITEMS.map(item).filter((each) => each.columns.some((column) => at.has(column))),
  );
  return (fields) => {
    const value = (column: number): string => {
      const written = fields[column];
      if (written === undefined || written === "") return "";
      return areDates[column] === true ? written.trim().slice(0, 10) : written.trim();
    };
    return rowOf(value(lei), value, places);
  };
}

function readElement(record: XmlElement): ReadRecord {
  const { value, count } = xmlValues(record);
  const places = placesOf(
    (column) => column,
    ({ prefix, item }) =>
      Array.from({ length: Math.min(MAX_ITEMS, count(prefix)) }, (_, index) => item(index + 1)),
  );
  return rowOf(
    value("LEI"),
    (column: string) => (isDate(column) ? value(column).slice(0, 10) : value(column)),
    places,
  );
}

/** `NextRenewalDate` is the last place: a renewal of the number changes nothing of the company. */
const withoutRenewal = (tuple: Tuple): string =>
  JSON.stringify(tuple.length > AT.renewal ? trimmed(tuple.slice(0, AT.renewal)) : tuple);

export const gleifLei: CsvKind = {
  name: "gleif_lei2",
  layout: 1,
  source: "gleif",
  title: "GLEIF level 1: who is who",
  format: "csv",
  absence: "never",
  has_deltas: true,
  licence: GLEIF.licence,
  required: ["LEI", "Entity.LegalName", "Entity.EntityStatus", "Registration.RegistrationStatus"],
  referencesOf: (lei, tuple) =>
    identifierReferences(identifierClaims({ sha256: "" } as never, leiRecordOf(lei, tuple))),
  isChange: (before, after) => withoutRenewal(before) !== withoutRenewal(after),
  read,
  xml: { element: "LEIRecord", read: readElement },
};

/** An LEI that was given to a company that has one, or by mistake. */
export const isWithdrawn = (tuple: Tuple): boolean =>
  ["DUPLICATE", "ANNULLED"].includes(textAt(tuple, AT.registration_status));
