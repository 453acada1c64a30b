/** The files of national registers that are JSON: Brønnøysundregistrene (Norway) and PRH (Finland), an array of all companies each. */
import type { Json } from "../../claim.ts";
import { BRREG, Entity, entityGroups } from "../../sources/brreg.ts";
import { Company, companyGroups, PRH } from "../../sources/prh.ts";
import { parseIdentifier } from "../../schemes/identifier.ts";
import { identifierReferences } from "../identifier-references.ts";
import type { JsonKind, Tuple } from "../import-kind.ts";
import { documentOf, documentReader } from "./json-record.ts";

const isChange = (before: Tuple, after: Tuple): boolean => JSON.stringify(before) !== JSON.stringify(after);
const NO_FILE = { sha256: "" } as never;

/** The number in the form that leads to the company; null: it is no number of the scheme. */
export function canonicalNumber(scheme: string, written: string): string | null {
  const result = parseIdentifier(scheme, written);
  return result.kind === "identifier" ? result.identifier.value : null;
}

/** `enheter/lastned`: entities that stand. One that was struck off is not in the next file. */
export const brregEntities: JsonKind = {
  name: "brreg",
  layout: 1,
  source: "brreg",
  title: "Brønnøysundregistrene: all entities (enheter)",
  format: "json",
  absence: "dissolved",
  licence: BRREG.licence,
  referencesOf: (_, tuple) =>
    identifierReferences(entityGroups(NO_FILE, documentOf(tuple) as Entity).flatMap(({ claims }) => claims)),
  isChange,
  read: documentReader(Entity, "no_orgnr", ({ organisasjonsnummer }) =>
    canonicalNumber("no_orgnr", organisasjonsnummer),
  ),
};

/** PRH's codes: Finnish, English. Records have every label in Swedish as well, which no claim is made of. */
const LANGUAGES: ReadonlySet<string> = new Set(["1", "3"]);

function withoutOtherLanguages(value: Json): Json {
  if (Array.isArray(value)) {
    const kept = value.filter((item) =>
      LANGUAGES.has(String((item as Described | null)?.languageCode ?? "1")),
    );
    return (kept.length > 0 ? kept : value).map(withoutOtherLanguages);
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, withoutOtherLanguages(part!)]),
  );
}
type Described = { readonly languageCode?: string | number };

const readCompany = documentReader(Company, "fi_ytunnus", ({ businessId }) =>
  canonicalNumber("fi_ytunnus", businessId.value),
);

/** `all_companies`. */
export const prhCompanies: JsonKind = {
  name: "prh",
  layout: 1,
  source: "prh",
  title: "PRH: all companies of the business information system",
  format: "json",
  absence: "closed",
  licence: PRH.licence,
  referencesOf: (_, tuple) =>
    identifierReferences(
      companyGroups(NO_FILE, documentOf(tuple) as Company).flatMap(({ claims }) => claims),
    ),
  isChange,
  read: (record) => readCompany(withoutOtherLanguages(record)),
};
