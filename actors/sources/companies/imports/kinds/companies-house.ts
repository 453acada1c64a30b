/**
 * The files of Companies House: the basic data of all live companies (CSV, 55 columns), and the snapshot of persons with significant
 * control (a JSON document a line).
 *
 * Peculiarities of the files:
 * - Names of columns have a blank before them; days are DD/MM/YYYY; forms and states are words, where the API has codes.
 * - The basic data have live companies only: one that is not in the next file was dissolved.
 * - Numbers of the snapshot need not have their leading zeros. Its last line says how many records it has.
 * - Natural persons are not imported: the source is asked about them, for one company at a time.
 */
import { type Static, Type } from "typebox";
import { compiled } from "../../../../../cluster/contracts/compiled.ts";
import { COMPANIES_HOUSE, Controller, numberClaims, type Profile } from "../../sources/companies-house.ts";
import { maybe, maybeText } from "../../sources/reading.ts";
import { identifierReferences } from "../identifier-references.ts";
import {
  type CsvKind,
  type JsonKind,
  KEY_SEPARATOR,
  type ReadRecord,
  textAt,
  trimmed,
  type Tuple,
  tuplesAt,
} from "../import-kind.ts";
import { reading, type ValueOf } from "./csv-values.ts";
import { canonicalNumber } from "./registers.ts";

const NUMBERS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] as const;
const SIC_CODES = [1, 2, 3, 4] as const;

const ADDRESS = [
  "CareOf",
  "POBox",
  "AddressLine1",
  "AddressLine2",
  "PostTown",
  "County",
  "Country",
  "PostCode",
] as const;

/** Days and words of what the company has filed and files next; the places of a tuple in the row's. */
const DEADLINES = [
  "Accounts.AccountRefDay",
  "Accounts.AccountRefMonth",
  "Accounts.LastMadeUpDate",
  "Accounts.AccountCategory",
  "Accounts.NextDueDate",
  "ConfStmtLastMadeUpDate",
  "ConfStmtNextDueDate",
] as const;

/** The places of the tuple. */
const AT = {
  name: 0,
  address: 1,
  category: 2,
  status: 3,
  origin: 4,
  incorporated: 5,
  dissolved: 6,
  sic: 7,
  previous: 8,
  deadlines: 9,
} as const;

/** `11/09/2012` */
function dayOf(written: string): string {
  const [, day, month, year] = /^([0-9]{2})\/([0-9]{2})\/([0-9]{4})$/.exec(written) ?? [];
  return year === undefined ? "" : `${year}-${month}-${day}`;
}

function basicRow(value: ValueOf): ReadRecord {
  const key = canonicalNumber("gb_coh", value("CompanyNumber"));
  if (key === null) return { kind: "bad", reason: "gb_coh" };
  const name = value("CompanyName");
  if (name === "") return { kind: "bad", reason: "name" };
  const codes = SIC_CODES.map((number) => value(`SICCode.SicText_${number}`));
  const previous = NUMBERS.map((number): Tuple => {
    const part = (of: string): string => value(`PreviousName_${number}.${of}`);
    return trimmed([part("CompanyName"), dayOf(part("CONDATE"))]);
  });
  const tuple = [
    name,
    trimmed(ADDRESS.map((part) => value(`RegAddress.${part}`))),
    value("CompanyCategory"),
    value("CompanyStatus"),
    value("CountryOfOrigin"),
    dayOf(value("IncorporationDate")),
    dayOf(value("DissolutionDate")),
    codes.filter((code) => /^[0-9]/.test(code)),
    previous.filter((each) => each.length > 0),
    trimmed(DEADLINES.map((column) => (column.endsWith("Date") ? dayOf(value(column)) : value(column)))),
  ];
  return { kind: "row", key, tuple: trimmed(tuple) };
}

/** The API's codes of the words of the file; the first that fits counts. */
const STATUSES: readonly (readonly [RegExp, string])[] = [
  [/^active/i, "active"],
  [/dissol|removed|closed/i, "dissolved"],
  [/liquidation/i, "liquidation"],
  [/administrat/i, "administration"],
  [/receiver/i, "receivership"],
  [/voluntary arrangement/i, "voluntary-arrangement"],
  [/insolven/i, "insolvency-proceedings"],
];
const CATEGORIES: readonly (readonly [RegExp, string])[] = [
  [/^private limited company/i, "ltd"],
  [/^public limited company/i, "plc"],
  [/^old public company/i, "old-public-company"],
  [/^limited liability partnership/i, "llp"],
  [/^limited partnership/i, "limited-partnership"],
  [/^scottish partnership/i, "scottish-partnership"],
  [/^pri\/lbg\/nsc/i, "private-limited-guarant-nsc-limited-exemption"],
  [/^pri\/ltd by guar/i, "private-limited-guarant-nsc"],
  [/^priv ltd sect/i, "private-limited-shares-section-30-exemption"],
  [/^private unlimited/i, "private-unlimited"],
  // Limited by shares or by guarantee; a very few are public.
  [/^community interest company/i, "ltd"],
  [/^registered society/i, "registered-society-non-jurisdictional"],
  [/^industrial and provident/i, "industrial-and-provident-society"],
  [/^scottish charitable/i, "scottish-charitable-incorporated-organisation"],
  [/^charitable incorporated/i, "charitable-incorporated-organisation"],
  [/^royal charter/i, "royal-charter"],
  [/^investment company/i, "investment-company-with-variable-capital"],
  [/^protected cell/i, "protected-cell-company"],
  [/^united kingdom societas/i, "united-kingdom-societas"],
];
const codeOf = (table: readonly (readonly [RegExp, string])[], words: string): string | null =>
  words === ""
    ? null
    : (table.find(([pattern]) => pattern.test(words))?.[1] ??
      words.toLowerCase().replaceAll(/[^a-z]+/g, "-"));

const SCOTTISH = /^S[A-Z]/;
const NORTHERN_IRISH = /^(?:N[A-Z]|R[0-9])/;
const jurisdictionOf = (number: string): string | null =>
  SCOTTISH.test(number) ? "scotland" : NORTHERN_IRISH.test(number) ? "northern-ireland" : null;

/** The row in the form of the API. `ended_on`: of a company that the last whole file does not have any more. */
export function profileOf(number: string, tuple: Tuple, ended_on: string | null): Profile {
  const at = (place: number): string | null => textAt(tuple, place) || null;
  const written = (tuple[AT.address] ?? []) as Tuple;
  const part = (place: number): string | null => textAt(written, place) || null;
  const status = textAt(tuple, AT.status);
  const codes = (tuple[AT.sic] ?? []) as readonly string[];
  return {
    ...filingsOf((tuple[AT.deadlines] ?? []) as Tuple),
    company_name: textAt(tuple, AT.name),
    company_number: number,
    company_status: ended_on === null ? codeOf(STATUSES, status) : "dissolved",
    company_status_detail: ended_on === null ? status || null : null,
    type: codeOf(CATEGORIES, textAt(tuple, AT.category)),
    jurisdiction: jurisdictionOf(number),
    date_of_creation: at(AT.incorporated),
    date_of_cessation: at(AT.dissolved),
    registered_office_address: {
      care_of: part(0),
      po_box: part(1),
      address_line_1: part(2),
      address_line_2: part(3),
      locality: part(4),
      region: part(5),
      country: part(6),
      postal_code: part(7),
    },
    sic_codes: codes.map((code) => code.split(/\s/, 1)[0]!),
    previous_company_names: tuplesAt(tuple, AT.previous).map((each) => ({
      name: textAt(each, 0),
      ceased_on: textAt(each, 1) || null,
    })),
  };
}

function filingsOf(deadlines: Tuple): Pick<Profile, "accounts" | "confirmation_statement"> {
  const at = (column: (typeof DEADLINES)[number]): string | null =>
    textAt(deadlines, DEADLINES.indexOf(column)) || null;
  const last_day = at("Accounts.LastMadeUpDate");
  const category = at("Accounts.AccountCategory");
  return {
    accounts: {
      accounting_reference_date: { day: at("Accounts.AccountRefDay"), month: at("Accounts.AccountRefMonth") },
      last_accounts: { made_up_to: last_day, type: category === null ? null : codeOf([], category) },
      next_due: at("Accounts.NextDueDate"),
    },
    confirmation_statement: {
      last_made_up_to: at("ConfStmtLastMadeUpDate"),
      next_due: at("ConfStmtNextDueDate"),
    },
  };
}

const isChange = (before: Tuple, after: Tuple): boolean => JSON.stringify(before) !== JSON.stringify(after);
/** A company files every year: its deadlines, the last place, are renewed and change nothing else of it. */
const withoutDeadlines = (tuple: Tuple): Tuple => trimmed(tuple.slice(0, AT.deadlines));
const NO_FILE = { sha256: "" } as never;
const COMMON = { source: "companies_house", layout: 1, licence: COMPANIES_HOUSE.licence, isChange } as const;

export const companiesHouseBasic: CsvKind = {
  ...COMMON,
  name: "companies_house",
  title: "Companies House: basic data of all live companies",
  format: "csv",
  absence: "dissolved",
  required: ["CompanyName", "CompanyNumber", "CompanyCategory", "CompanyStatus"],
  isChange: (before, after) => isChange(withoutDeadlines(before), withoutDeadlines(after)),
  referencesOf: (number) => identifierReferences(numberClaims(NO_FILE, number)),
  read: reading(basicRow),
};

const Line = Type.Object({
  company_number: maybeText,
  data: Type.Object({
    ...Controller.properties,
    links: maybe(Type.Object({ self: maybeText })),
    persons_of_significant_control_count: maybe(Type.Integer()),
    statements_count: maybe(Type.Integer()),
    exemptions_count: maybe(Type.Integer()),
  }),
});
const line = compiled(Line);

/** Kinds that name no company and no protected person: natural persons, statements that there is none, exemptions. */
const NOT_IMPORTED = /^individual-|-statement$|^exemptions$/;

export function controllerRow(record: unknown): ReadRecord {
  if (!line.check(record)) return { kind: "bad", reason: "shape" };
  const { company_number, data } = record as Static<typeof Line>;
  const { kind } = data;
  if (kind.startsWith("totals#")) {
    const { persons_of_significant_control_count: persons, statements_count, exemptions_count } = data;
    if (persons == null) return { kind: "bad", reason: "trailer" };
    return { kind: "trailer", records: persons + (statements_count ?? 0) + (exemptions_count ?? 0) };
  }
  if (NOT_IMPORTED.test(kind)) return { kind: "skipped" };
  if (!/corporate-entity|legal-person|super-secure/.test(kind)) return { kind: "bad", reason: "kind" };
  const number = canonicalNumber("gb_coh", company_number ?? "");
  if (number === null) return { kind: "bad", reason: "gb_coh" };
  const id = data.links?.self?.split("/").at(-1) ?? "";
  if (id === "") return { kind: "bad", reason: "links" };
  const tuple = [
    kind,
    data.name ?? "",
    [...(data.natures_of_control ?? [])],
    data.notified_on ?? "",
    data.ceased_on ?? "",
    data.ceased === true ? "1" : "",
    data.identification?.registration_number ?? "",
    data.identification?.country_registered ?? "",
  ];
  return { kind: "row", key: [number, id].join(KEY_SEPARATOR), tuple: trimmed(tuple) };
}

/** The row in the form of the API. */
export const controllerOf = (tuple: Tuple): Static<typeof Controller> => ({
  kind: textAt(tuple, 0),
  name: textAt(tuple, 1) || null,
  natures_of_control: (tuple[2] ?? []) as string[],
  notified_on: textAt(tuple, 3) || null,
  ceased_on: textAt(tuple, 4) || null,
  ceased: textAt(tuple, 5) === "1",
  identification: {
    registration_number: textAt(tuple, 6) || null,
    country_registered: textAt(tuple, 7) || null,
  },
});

export const companiesHouseControllers: JsonKind = {
  ...COMMON,
  name: "companies_house_psc",
  title: "Companies House: companies and protected persons with significant control",
  format: "json",
  absence: "closed",
  has_trailer: true,
  referencesOf: () => [],
  read: controllerRow,
};
