/**
 * The Finnish business information system (YTJ), open data of the patent and registration office (PRH).
 *
 * Peculiarities of the source:
 * - An unknown business id is a 200 with no company.
 * - Type 1 is a language (fi), a name (the legal one), an address (the street) and a register, depending on where it is.
 * - There are several registrations; the one in the trade register is the company's.
 * - Bankruptcy and liquidation are situations, beside a status that stays "registered".
 */
import { type Static, Type } from "typebox";
import type { SourceClaim } from "../claim.ts";
import type { FieldGroup } from "../../../../schemas/companies.ts";
import { legalFormCategory } from "../names/legal-forms.ts";
import type { OpenSource, RawDocument, SearchHit, SourceDescription } from "../source.ts";
import { claimList } from "./claims.ts";
import { jsonReader, maybe, maybeText, statusFailure } from "./reading.ts";
import { addressOf, dateOf } from "./values.ts";

/** Codes come as numbers in one place and as text in another. */
const Code = Type.Union([Type.String(), Type.Integer()]);
const Descriptions = maybe(Type.Array(Type.Object({ languageCode: Code, description: Type.String() })));
export const Company = Type.Object({
  businessId: Type.Object({ value: Type.String(), registrationDate: maybeText }),
  euId: maybe(Type.Object({ value: maybeText })),
  names: Type.Array(
    Type.Object({ name: Type.String(), type: Code, registrationDate: maybeText, endDate: maybeText }),
  ),
  mainBusinessLine: maybe(
    Type.Object({ type: maybe(Code), typeCodeSet: maybeText, descriptions: Descriptions }),
  ),
  website: maybe(Type.Object({ url: maybeText })),
  companyForms: maybe(
    Type.Array(Type.Object({ type: Code, descriptions: Descriptions, endDate: maybeText })),
  ),
  companySituations: maybe(Type.Array(Type.Object({ type: maybe(Code), endDate: maybeText }))),
  registeredEntries: maybe(
    Type.Array(Type.Object({ register: maybe(Code), registrationDate: maybeText, endDate: maybeText })),
  ),
  addresses: maybe(
    Type.Array(
      Type.Object({
        type: Code,
        street: maybeText,
        postCode: maybeText,
        postOffices: maybe(Type.Array(Type.Object({ city: maybeText, languageCode: maybe(Code) }))),
        postOfficeBox: maybeText,
        buildingNumber: maybeText,
        entrance: maybeText,
        apartmentNumber: maybeText,
        co: maybeText,
        country: maybeText,
      }),
    ),
  ),
  status: maybe(Code),
  tradeRegisterStatus: maybe(Code),
  endDate: maybeText,
});
export type Company = Static<typeof Company>;
const readCompanies = jsonReader(
  Type.Object({ totalResults: Type.Integer(), companies: maybe(Type.Array(Company)) }),
);

const is = (code: string | number | null | undefined, expected: string): boolean =>
  String(code ?? "") === expected;

/** The trade register among the registers that an entry can belong to. */
const TRADE_REGISTER = "1";
const SITUATIONS: Readonly<Record<string, string>> = {
  KONK: "insolvency",
  SANE: "insolvency",
  SELTILA: "liquidation",
};

function statusOf({ endDate, tradeRegisterStatus, status, companySituations }: Company): string {
  if (endDate || is(status, "3") || is(tradeRegisterStatus, "3") || is(tradeRegisterStatus, "4"))
    return "dissolved";
  const situation = (companySituations ?? []).find((known) => !known.endDate);
  return situation ? (SITUATIONS[String(situation.type ?? "")] ?? "liquidation") : "active";
}

const described = (list: Static<typeof Descriptions> | undefined, language: string): string | null =>
  (list ?? []).find(({ languageCode }) => is(languageCode, language))?.description ?? null;

const legalName = ({ names }: Company): string | null =>
  names.find(({ type, endDate }) => is(type, "1") && !endDate)?.name ?? names[0]?.name ?? null;

function formOf({
  companyForms,
}: Company): { readonly code: string; readonly label: string | null; readonly category: string } | null {
  const form = (companyForms ?? []).find(({ endDate }) => !endDate);
  if (!form) return null;
  const label = described(form.descriptions, "1");
  return { code: String(form.type), label, category: (label && legalFormCategory(label, "FI")) || "other" };
}

export function companyClaims(document: RawDocument, company: Company): readonly SourceClaim[] {
  const list = claimList(document);
  list.set("names.legal", legalName(company), { language: "fi" });
  for (const { name, type, registrationDate, endDate } of company.names) {
    const period = { valid_from: dateOf(registrationDate), valid_to: dateOf(endDate) };
    if (endDate) list.name("names.former", name, { type: "former", ...period });
    else if (is(type, "2")) list.name("names.translations", name, { type: "translation", ...period });
    else if (is(type, "3")) list.name("names.trading", name, { type: "trading", ...period });
  }
  list.set("status", statusOf(company));
  list.set("jurisdiction", "FI");
  const form = formOf(company);
  if (form)
    list.set("legal_form", {
      local: { scheme: "prh", code: form.code },
      label: form.label,
      category: form.category,
    });
  const entry = (company.registeredEntries ?? []).find(({ register }) => is(register, TRADE_REGISTER));
  list.set("dates.registration", dateOf(entry?.registrationDate ?? company.businessId.registrationDate));
  list.set("dates.deregistration", dateOf(company.endDate));
  for (const address of company.addresses ?? []) {
    const type = is(address.type, "1") ? "registered" : "mailing";
    const office =
      (address.postOffices ?? []).find(({ languageCode }) => is(languageCode, "1")) ??
      address.postOffices?.[0];
    const street = [address.street, address.buildingNumber, address.entrance, address.apartmentNumber]
      .filter(Boolean)
      .join(" ");
    list.add(
      "addresses",
      type,
      addressOf({
        type,
        care_of: address.co,
        lines: [street, address.postOfficeBox && `PL ${address.postOfficeBox}`],
        po_box: address.postOfficeBox,
        postal_code: address.postCode,
        city: office?.city,
        country: "FI",
        language: "fi",
      }),
    );
  }
  const line = company.mainBusinessLine;
  if (line?.type != null)
    // TOIMI4 is the national list made from NACE 2.1; earlier ones are from NACE 2.
    list.add("activities", `${line.typeCodeSet === "TOIMI4" ? "nace21" : "nace2"}:${line.type}`, {
      scheme: line.typeCodeSet === "TOIMI4" ? "nace21" : "nace2",
      code: String(line.type),
      label: described(line.descriptions, "3") ?? described(line.descriptions, "1"),
      primary: true,
    });
  return list.claims;
}

export const PRH: SourceDescription = {
  name: "prh",
  title: "Finnish business information system (PRH, YTJ)",
  countries: ["FI"],
  schemes: { lookup: ["fi_ytunnus"], yields: ["fi_ytunnus", "euid"] },
  home_register_of: ["FI"],
  capabilities: ["lookup", "search"],
  groups: {
    core: { precedence: 100, freshness: "registry_core" },
    identifiers: { precedence: 100, freshness: "registry_core" },
    web: { precedence: 100, freshness: "registry_core" },
  },
  licence: {
    id: "CC-BY-4.0",
    url: "https://creativecommons.org/licenses/by/4.0/",
    attribution: "Finnish Patent and Registration Office, Finnish Tax Administration",
    redistribution: "open",
  },
  terms_url: "https://avoindata.prh.fi/en",
  limits: { requests_per_second: 1, max_in_flight: 2 },
  parser_version: "1",
  canaries: [
    {
      identifier: { scheme: "fi_ytunnus", value: "0112038-9" },
      expect: [{ field: "names.legal", key: null, value: "Nokia Oyj" }],
    },
  ],
};

/** Reads the document of one company, whether it was asked for or is one of many in a file. */
export function companyGroups(
  document: RawDocument,
  company: Company,
): readonly { readonly group: FieldGroup; readonly claims: readonly SourceClaim[] }[] {
  const numbers = claimList(document);
  numbers.identifier("fi_ytunnus", company.businessId.value);
  numbers.identifier("euid", company.euId?.value);
  const web = claimList(document);
  const site = company.website?.url?.trim();
  if (site)
    web.set("web.homepage", /^https?:\/\//i.test(site) ? site : `https://${site}`, { raw_value: site });
  return [
    { group: "core", claims: companyClaims(document, company) },
    { group: "identifiers", claims: numbers.claims },
    { group: "web", claims: web.claims },
  ];
}

export const openPrh: OpenSource = ({ base_url }) => ({
  description: PRH,
  inactive_because: null,

  async lookup({ value }, _groups, http) {
    const response = await http({ method: "GET", url: `${base_url}/companies?businessId=${value}` });
    if (response.kind === "failed") return response;
    if (response.status !== 200) return statusFailure(response);
    const { document } = response;
    const reading = readCompanies(response);
    if (reading.kind === "failed") return reading;
    const company = (reading.value.companies ?? []).find(({ businessId }) => businessId.value === value);
    if (!company) return { kind: "not_found", documents: [document] };
    const own = { kind: "claims", is_complete: true, documents: [document] } as const;
    return {
      kind: "found",
      native_id: company.businessId.value,
      groups: companyGroups(document, company).map((each) => ({ ...own, ...each })),
    };
  },

  async search({ name, limit }, http) {
    const url = `${base_url}/companies?name=${encodeURIComponent(name)}&maxResults=${Math.min(limit, 100)}`;
    const response = await http({ method: "GET", url });
    if (response.kind === "failed") return response;
    if (response.status !== 200) return statusFailure(response);
    const reading = readCompanies(response);
    if (reading.kind === "failed") return reading;
    const hits = (reading.value.companies ?? []).slice(0, limit).map((company): SearchHit => {
      const identifier = { scheme: "fi_ytunnus", value: company.businessId.value };
      return {
        identifier,
        identifiers: [identifier],
        name: legalName(company) ?? company.businessId.value,
        former_names: company.names.filter(({ endDate }) => endDate).map((former) => former.name),
        status: statusOf(company),
        jurisdiction: "FI",
        city: company.addresses?.[0]?.postOffices?.[0]?.city ?? null,
        legal_form_category: formOf(company)?.category ?? null,
      };
    });
    return { kind: "found", hits };
  },
});
