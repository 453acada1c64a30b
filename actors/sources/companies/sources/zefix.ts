/**
 * Zefix, the central index of the Swiss commercial registers (public REST interface). Needs an account.
 *
 * Peculiarities of the source:
 * - One UID answers with an array: the head office and its branches. The company is the one that is no branch.
 * - Of earlier names, a greater sequence number is an older name.
 * - People stand in the text of publications only; they are not read.
 * - The purpose is in the register's language, which follows from the canton; Fribourg, Valais and Grisons have two.
 */
import { type Static, Type } from "typebox";
import type { Json, SourceClaim } from "../claim.ts";
import { foldName } from "../names/fold.ts";
import { legalFormCategory } from "../names/legal-forms.ts";
import { parseIdentifier } from "../schemes/identifier.ts";
import type { OpenSource, RawDocument, SearchHit, SourceDescription } from "../source.ts";
import { claimList } from "./claims.ts";
import { jsonReader, maybe, maybeText, statusFailure } from "./reading.ts";
import { addressOf, dateOf, decimalOf, entityParty } from "./values.ts";

const Translated = maybe(Type.Object({ de: maybeText, fr: maybeText, it: maybeText, en: maybeText }));
const LegalForm = maybe(Type.Object({ uid: maybeText, name: Translated, shortName: Translated }));
const ShortCompany = {
  name: Type.String(),
  ehraid: maybe(Type.Integer()),
  uid: maybeText,
  chid: maybeText,
  legalSeat: maybeText,
  legalForm: LegalForm,
  status: maybeText,
  deletionDate: maybeText,
};
const Others = maybe(Type.Array(Type.Object(ShortCompany)));
const Company = Type.Object({
  ...ShortCompany,
  status: Type.String(),
  translation: maybe(Type.Array(Type.String())),
  purpose: maybeText,
  canton: maybeText,
  capitalNominal: maybe(Type.Union([Type.String(), Type.Number()])),
  capitalCurrency: maybeText,
  address: maybe(
    Type.Object({
      organisation: maybeText,
      careOf: maybeText,
      street: maybeText,
      houseNumber: maybeText,
      addon: maybeText,
      poBox: maybeText,
      city: maybeText,
      swissZipCode: maybeText,
    }),
  ),
  headOffices: Others,
  furtherHeadOffices: Others,
  branchOffices: Others,
  hasTakenOver: Others,
  wasTakenOverBy: Others,
  auditCompanies: Others,
  oldNames: maybe(
    Type.Array(Type.Object({ name: Type.String(), translation: maybe(Type.Array(Type.String())) })),
  ),
  sogcPub: maybe(
    Type.Array(
      Type.Object({
        sogcDate: maybeText,
        sogcId: maybe(Type.Integer()),
        registryOfCommerceJournalDate: maybeText,
        message: maybeText,
        mutationTypes: maybe(Type.Array(Type.Object({ key: Type.String() }))),
      }),
    ),
  ),
});
type Company = Static<typeof Company>;
type ShortCompany = NonNullable<Company["headOffices"]>[number];
const readCompanies = jsonReader(Type.Array(Company));
const readCompany = jsonReader(Company);
const readShort = jsonReader(Type.Array(Type.Object(ShortCompany)));

const LANGUAGES: Readonly<Record<string, string>> = { GE: "fr", VD: "fr", NE: "fr", JU: "fr", TI: "it" };
const SEVERAL_LANGUAGES: ReadonlySet<string> = new Set(["FR", "VS", "GR", "BE"]);
const languageOf = (canton: string | null | undefined): string =>
  canton && !SEVERAL_LANGUAGES.has(canton) ? (LANGUAGES[canton] ?? "de") : "und";

/** By the key of a publication's mutation type. */
const MUTATIONS: readonly (readonly [RegExp, string])[] = [
  [/neueintrag|neu$|status\.neu/, "registration"],
  [/loesch|lösch/, "deregistration"],
  [/firma|name/, "name_change"],
  [/sitz/, "seat_change"],
  [/adress|domizil/, "address_change"],
  [/rechtsform/, "legal_form_change"],
  [/zweck/, "purpose_change"],
  [/kapital/, "capital_change"],
  [/statuten/, "articles_change"],
  [/revision/, "auditor_change"],
  [/organe|personen/, "management_change"],
  [/fusion/, "merger"],
  [/spaltung/, "spin_off"],
  [/aufloesung|auflösung|liquidation/, "liquidation"],
  [/konkurs|nachlass/, "insolvency"],
];

function statusOf({
  status,
  wasTakenOverBy,
}: Pick<Company, "wasTakenOverBy"> & { readonly status?: string | null }): string {
  if (status === "ACTIVE") return "active";
  if (status === "BEING_CANCELLED") return "liquidation";
  if (status === "CANCELLED") return (wasTakenOverBy ?? []).length > 0 ? "merged" : "dissolved";
  return "unknown";
}

const formName = (form: Company["legalForm"]): string | null =>
  form?.name?.de ?? form?.name?.fr ?? form?.name?.it ?? form?.name?.en ?? null;

/** eCH-0097 codes that have no form of that name in the table of legal forms. */
const FORMS: Readonly<Record<string, string>> = {
  "0101": "sole_proprietor",
  "0103": "general_partnership",
  "0104": "limited_partnership",
  "0105": "limited_partnership",
  "0106": "public_limited",
  "0107": "private_limited",
  "0108": "cooperative",
  "0109": "association",
  "0110": "foundation",
  "0111": "branch",
  "0113": "other",
  "0114": "fund",
  "0115": "fund",
  "0117": "government",
  "0151": "branch",
};
const categoryOf = (form: Company["legalForm"]): string =>
  FORMS[form?.uid ?? ""] ?? legalFormCategory(formName(form) ?? "", "CH") ?? "other";

const RELATIONS = [
  ["headOffices", "branch_of"],
  ["furtherHeadOffices", "branch_of"],
  ["branchOffices", "head_office_of"],
  ["hasTakenOver", "took_over"],
  ["wasTakenOverBy", "taken_over_by"],
  ["auditCompanies", "audited_by"],
] as const;

/** A branch has the UID of its head office, so it is named by its own number in the register. */
function refOf({ uid, ehraid }: ShortCompany, isBranch: boolean): string | null {
  if (isBranch && ehraid != null) return `ch_ehraid:${ehraid}`;
  const result = parseIdentifier("ch_uid", uid ?? "");
  return result.kind === "identifier" ? `ch_uid:${result.identifier.value}` : null;
}

function relationshipClaims(document: RawDocument, company: Company): readonly SourceClaim[] {
  const list = claimList(document);
  for (const [field, type] of RELATIONS)
    for (const party of company[field] ?? []) {
      const ref = refOf(party, type === "head_office_of");
      list.add("relationships", `${type}|out|${ref ?? foldName(party.name)}`, {
        type,
        direction: "out",
        party: entityParty({ name: party.name, ref, country: "CH" }),
        current: true,
      });
    }
  return list.claims;
}

export function coreClaims(document: RawDocument, company: Company): readonly SourceClaim[] {
  const list = claimList(document);
  const language = languageOf(company.canton);
  list.set("names.legal", company.name);
  for (const name of company.translation ?? [])
    list.name("names.translations", name, { type: "translation" });
  for (const { name, translation } of company.oldNames ?? [])
    for (const former of [name, ...(translation ?? [])])
      list.name("names.former", former, { type: "former" });
  list.set("status", statusOf(company), { raw_value: company.status });
  list.set("jurisdiction", "CH");
  if (company.legalForm)
    list.set("legal_form", {
      local: { scheme: "ech_0097", code: company.legalForm.uid ?? "unknown" },
      label: formName(company.legalForm),
      abbreviation: company.legalForm.shortName?.de ?? null,
      category: categoryOf(company.legalForm),
    });
  list.set("dates.deregistration", dateOf(company.deletionDate));
  const address = company.address;
  if (address) {
    const street = [address.street, address.houseNumber].filter(Boolean).join(" ");
    list.add(
      "addresses",
      "registered",
      addressOf({
        type: "registered",
        care_of: address.careOf,
        lines: [address.organisation, address.addon, street, address.poBox],
        street: address.street,
        house_number: address.houseNumber,
        po_box: address.poBox,
        postal_code: address.swissZipCode,
        city: address.city ?? company.legalSeat,
        region: company.canton ? `CH-${company.canton}` : null,
        country: "CH",
      }),
    );
  }
  list.add("purpose", language, company.purpose, { language });
  const amount = decimalOf(company.capitalNominal);
  if (amount !== null && company.capitalCurrency)
    list.add("capital", `nominal:${company.capitalCurrency}`, {
      type: "nominal",
      amount,
      currency: company.capitalCurrency,
    });
  return list.claims;
}

function identifierClaims(document: RawDocument, company: Company): readonly SourceClaim[] {
  const list = claimList(document);
  const isBranch = (company.headOffices ?? []).length > 0;
  if (!isBranch) list.identifier("ch_uid", company.uid);
  list.identifier("ch_ehraid", company.ehraid == null ? null : String(company.ehraid));
  list.identifier("ch_chid", company.chid);
  return list.claims;
}

/** The markup of a publication's text: `<FT TYPE="F">Acme AG</FT>`. */
const withoutMarkup = (text: string): string =>
  text
    .replaceAll(/<[^<>]{0,200}>/g, "")
    .replaceAll(/\s+/g, " ")
    .trim();

function eventClaims(document: RawDocument, company: Company): readonly SourceClaim[] {
  const list = claimList(document);
  for (const publication of company.sogcPub ?? []) {
    const date = dateOf(publication.registryOfCommerceJournalDate ?? publication.sogcDate);
    if (publication.sogcId == null || date === null) continue;
    const keys = (publication.mutationTypes ?? []).map(({ key }) => key);
    const type =
      MUTATIONS.find(([pattern]) => keys.some((key) => pattern.test(key.toLowerCase())))?.[1] ?? "other";
    const id = `zefix:${publication.sogcId}`;
    // The text of a change of officers names people with their places of residence: it is not an event's.
    const isAboutPeople = keys.some((key) => /organe|personen/.test(key.toLowerCase()));
    const value: { [field: string]: Json } = {
      id,
      type,
      date,
      published_on: dateOf(publication.sogcDate),
      title: keys.join(", ") || null,
      publication: { journal: "SHAB/SOGC", id: String(publication.sogcId) },
      source: "zefix",
    };
    if (!isAboutPeople && publication.message) value["text"] = withoutMarkup(publication.message);
    list.add("events", id, value);
  }
  return list.claims;
}

const DESCRIPTION: SourceDescription = {
  name: "zefix",
  title: "Zefix, central business name index of Switzerland",
  countries: ["CH"],
  schemes: { lookup: ["ch_uid", "ch_ehraid", "ch_chid"], yields: ["ch_uid", "ch_ehraid", "ch_chid"] },
  home_register_of: ["CH"],
  capabilities: ["lookup", "search", "relationships", "events"],
  groups: {
    core: { precedence: 100, freshness: "registry_core" },
    identifiers: { precedence: 100, freshness: "registry_core" },
    relationships: { precedence: 100, freshness: "registry_core" },
    events: { precedence: 100, freshness: "registry_core" },
  },
  licence: {
    id: "LicenseRef-opendata-swiss-by",
    url: "https://opendata.swiss/en/terms-of-use#terms_by",
    attribution: "Source: Zefix, Federal Office of Justice",
    redistribution: "open",
  },
  has_personal_documents: true,
  terms_url: "https://www.zefix.admin.ch/ZefixPublicREST/swagger-ui/index.html",
  limits: { requests_per_second: 1, max_in_flight: 2 },
  parser_version: "1",
  canaries: [
    {
      identifier: { scheme: "ch_uid", value: "CHE101602521" },
      expect: [{ field: "jurisdiction", key: null, value: "CH" }],
    },
  ],
};

const PATHS: Readonly<Record<string, string>> = { ch_uid: "uid", ch_ehraid: "ehraid", ch_chid: "chid" };

export const openZefix: OpenSource = ({ base_url, credentials }) => {
  const headers = [
    ["Accept", "application/json"],
    ["Authorization", `Basic ${Buffer.from(credentials ?? "").toString("base64")}`],
  ] as const;
  return {
    description: DESCRIPTION,
    inactive_because: credentials === null ? "TRAWL_ZEFIX_KEY is not set" : null,

    async lookup({ scheme, value }, _groups, http) {
      const url = `${base_url}/api/v1/company/${PATHS[scheme] ?? "uid"}/${value}`;
      const response = await http({ method: "GET", url, headers });
      if (response.kind === "failed") return response;
      const { document } = response;
      if (response.status === 404) return { kind: "not_found", documents: [document] };
      if (response.status !== 200) return statusFailure(response);
      const isList = /^\s*\[/.test(response.body.subarray(0, 64).toString("latin1"));
      const reading = isList ? readCompanies(response) : readCompany(response);
      if (reading.kind === "failed") return reading;
      const companies = [reading.value].flat();
      const company = companies.find(({ headOffices }) => (headOffices ?? []).length === 0) ?? companies[0];
      if (!company) return { kind: "not_found", documents: [document] };
      const own = { kind: "claims", is_complete: true, documents: [document] } as const;
      return {
        kind: "found",
        native_id: String(company.ehraid ?? value),
        groups: [
          { group: "core", ...own, claims: coreClaims(document, company) },
          { group: "identifiers", ...own, claims: identifierClaims(document, company) },
          { group: "relationships", ...own, claims: relationshipClaims(document, company) },
          { group: "events", ...own, claims: eventClaims(document, company) },
        ],
      };
    },

    async search({ name, limit }, http) {
      const response = await http({
        method: "POST",
        url: `${base_url}/api/v1/company/search`,
        headers: [...headers, ["Content-Type", "application/json"]],
        body: JSON.stringify({ name, activeOnly: false }),
      });
      if (response.kind === "failed") return response;
      // A name of less than three characters, or one that too many companies have.
      if (response.status === 400 || response.status === 404) return { kind: "found", hits: [] };
      if (response.status !== 200) return statusFailure(response);
      const reading = readShort(response);
      if (reading.kind === "failed") return reading;
      const hits = reading.value.slice(0, limit).flatMap((company): readonly SearchHit[] => {
        const uid = parseIdentifier("ch_uid", company.uid ?? "");
        if (uid.kind !== "identifier") return [];
        const identifier = { scheme: "ch_uid", value: uid.identifier.value };
        const ehraid = company.ehraid == null ? [] : [{ scheme: "ch_ehraid", value: String(company.ehraid) }];
        return [
          {
            identifier,
            identifiers: [identifier, ...ehraid],
            name: company.name,
            former_names: [],
            status: statusOf({ status: company.status ?? null, wasTakenOverBy: [] }),
            jurisdiction: "CH",
            city: company.legalSeat ?? null,
            legal_form_category: company.legalForm ? categoryOf(company.legalForm) : null,
          },
        ];
      });
      return { kind: "found", hits };
    },
  };
};
