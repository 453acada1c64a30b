/**
 * Files as GLEIF publishes them, of invented companies: the 338 columns of the golden copy's level 1, in order or shuffled, zipped or not.
 */
import { zipSync } from "fflate";
import { leiOf } from "./gleif.ts";

const numbered = (prefix: string, parts: readonly string[]): string[] =>
  [1, 2, 3, 4, 5].flatMap((number) =>
    parts.map((part) => (part === "" ? `${prefix}.${number}` : `${prefix}.${number}.${part}`)),
  );
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
];
const [LANGUAGE, ...LINES] = ADDRESS;
const NAME = ["", "xmllang", "type"];
const AFFECTED = [1, 2, 3, 4, 5].flatMap((number) => [
  `AffectedFields.${number}.AffectedField`,
  `AffectedFields.${number}.field_xpath`,
]);

/** Every column of level 1 in the order of the file. */
export const LEI_COLUMNS: readonly string[] = [
  "LEI",
  "Entity.LegalName",
  "Entity.LegalName.xmllang",
  ...numbered("Entity.OtherEntityNames.OtherEntityName", NAME),
  ...numbered("Entity.TransliteratedOtherEntityNames.TransliteratedOtherEntityName", NAME),
  ...ADDRESS.map((part) => `Entity.LegalAddress.${part}`),
  ...ADDRESS.map((part) => `Entity.HeadquartersAddress.${part}`),
  ...numbered("Entity.OtherAddresses.OtherAddress", [LANGUAGE!, "type", ...LINES]),
  ...numbered("Entity.TransliteratedOtherAddresses.TransliteratedOtherAddress", [
    LANGUAGE!,
    "type",
    ...LINES,
  ]),
  ...["RegistrationAuthorityID", "OtherRegistrationAuthorityID", "RegistrationAuthorityEntityID"].map(
    (part) => `Entity.RegistrationAuthority.${part}`,
  ),
  "Entity.LegalJurisdiction",
  "Entity.EntityCategory",
  "Entity.EntitySubCategory",
  "Entity.LegalForm.EntityLegalFormCode",
  "Entity.LegalForm.OtherLegalForm",
  ...["type", "AssociatedLEI", "AssociatedEntityName", "AssociatedEntityName.xmllang"].map(
    (part) => `Entity.AssociatedEntity.${part}`,
  ),
  "Entity.EntityStatus",
  "Entity.EntityCreationDate",
  "Entity.EntityExpirationDate",
  "Entity.EntityExpirationReason",
  ...numbered("Entity.SuccessorEntity", [
    "SuccessorLEI",
    "SuccessorEntityName",
    "SuccessorEntityName.xmllang",
  ]),
  ...numbered("Entity.LegalEntityEvents.LegalEntityEvent", [
    "group_type",
    "event_status",
    "group_id",
    "group_sequence_no",
    "LegalEntityEventType",
    "LegalEntityEventEffectiveDate",
    "LegalEntityEventRecordedDate",
    "ValidationDocuments",
    "ValidationReference",
    ...AFFECTED,
  ]),
  ...[
    "InitialRegistrationDate",
    "LastUpdateDate",
    "RegistrationStatus",
    "NextRenewalDate",
    "ManagingLOU",
    "ValidationSources",
    "ValidationAuthority.ValidationAuthorityID",
    "ValidationAuthority.OtherValidationAuthorityID",
    "ValidationAuthority.ValidationAuthorityEntityID",
  ].map((part) => `Registration.${part}`),
  ...numbered("Registration.OtherValidationAuthorities.OtherValidationAuthority", [
    "ValidationAuthorityID",
    "OtherValidationAuthorityID",
    "ValidationAuthorityEntityID",
  ]),
  "ConformityFlag",
];

/** Values by column; the others are empty. */
export type GoldenRow = Readonly<Record<string, string>>;

/** The LEI of the company with this number. */
export const goldenLei = (number: number): string => leiOf(`529900GLD${String(number).padStart(9, "0")}`);

/** A company of Germany with a number at the court of Hamburg. */
export const goldenRow = (number: number, values: GoldenRow = {}): GoldenRow => ({
  LEI: goldenLei(number),
  "Entity.LegalName": `Kranwerk ${number} GmbH`,
  "Entity.LegalName.xmllang": "de",
  "Entity.LegalAddress.xmllang": "de",
  "Entity.LegalAddress.FirstAddressLine": `Am Kai ${number}`,
  "Entity.LegalAddress.City": "Hamburg",
  "Entity.LegalAddress.Region": "DE-HH",
  "Entity.LegalAddress.Country": "DE",
  "Entity.LegalAddress.PostalCode": "20457",
  "Entity.HeadquartersAddress.FirstAddressLine": `Am Kai ${number}`,
  "Entity.HeadquartersAddress.City": "Hamburg",
  "Entity.HeadquartersAddress.Country": "DE",
  "Entity.RegistrationAuthority.RegistrationAuthorityID": "RA000242",
  "Entity.RegistrationAuthority.RegistrationAuthorityEntityID": `HRB ${10_000 + number}`,
  "Entity.LegalJurisdiction": "DE",
  "Entity.EntityCategory": "GENERAL",
  "Entity.LegalForm.EntityLegalFormCode": "2HBR",
  "Entity.EntityStatus": "ACTIVE",
  "Entity.EntityCreationDate": "2006-09-08T00:00:00+01:00",
  "Registration.InitialRegistrationDate": "2014-03-04T09:12:33+01:00",
  "Registration.LastUpdateDate": "2026-05-06T07:08:09+02:00",
  "Registration.RegistrationStatus": "ISSUED",
  "Registration.NextRenewalDate": "2027-03-04T00:00:00+01:00",
  "Registration.ManagingLOU": "5299000J2N45DDNE4Y28",
  "Registration.ValidationSources": "FULLY_CORROBORATED",
  ...values,
});

const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

export const csvOf = (columns: readonly string[], rows: readonly GoldenRow[]): string =>
  [
    columns.join(","),
    ...rows.map((row) => columns.map((column) => quoted(row[column] ?? "")).join(",")),
    "",
  ].join("\n");

export const goldenCopy = (rows: readonly GoldenRow[], columns = LEI_COLUMNS): Buffer =>
  Buffer.from(csvOf(columns, rows));

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

interface Node {
  text: string;
  attributes: Map<string, string>;
  children: Map<string, Node>;
}
const newNode = (): Node => ({ text: "", attributes: new Map(), children: new Map() });

/** A row as the element of GLEIF's XML: columns are paths, numbers are repeated elements, `xmllang` and some others are attributes. */
function elementOf(row: GoldenRow): string {
  const root = newNode();
  for (const [column, value] of Object.entries(row)) {
    if (value === "") continue;
    let node = root;
    for (const part of column.split(".")) {
      if (["xmllang", "type", "event_status", "group_type"].includes(part)) {
        node.attributes.set(part === "xmllang" ? "xml:lang" : part, value);
        node = newNode();
        break;
      }
      node.children.set(part, node.children.get(part) ?? newNode());
      node = node.children.get(part)!;
    }
    node.text = value;
  }
  const write = (name: string, { text, attributes, children }: Node): string => {
    const written = [...attributes].map(([key, value]) => ` ${key}="${value}"`).join("");
    const [first] = children.keys();
    if (first !== undefined && /^\d+$/.test(first))
      return [...children.values()].map((child) => write(name, child)).join("\n");
    const inner = [...children].map(([key, child]) => write(key, child)).join("\n");
    return `<lei:${name}${written}>${escaped(text)}${inner}</lei:${name}>`;
  };
  return write("LEIRecord", root).replace(/<\/lei:LEIRecord>$/, "<lei:Extension/></lei:LEIRecord>");
}

/** `count`: what the header says. */
export const goldenXml = (rows: readonly GoldenRow[], count = rows.length): Buffer =>
  Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>
<lei:LEIData xmlns:lei="http://www.gleif.org/data/schema/leidata/2016">
<lei:LEIHeader><lei:ContentDate>2026-11-21T00:00:00Z</lei:ContentDate><lei:RecordCount>${count}</lei:RecordCount></lei:LEIHeader>
<lei:LEIRecords>
${rows.map(elementOf).join("\n")}
</lei:LEIRecords>
</lei:LEIData>
`);

export const zipped = (name: string, bytes: Buffer): Buffer => Buffer.from(zipSync({ [name]: bytes }));
