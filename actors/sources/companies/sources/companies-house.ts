/**
 * UK Companies House: company profiles, officers, persons with significant control, filing history. Needs an API key.
 *
 * Peculiarities of the source:
 * - The country of an address is a word: England, Scotland, Great Britain, "Not specified".
 * - Officers of a dissolved company may have no day of resignation; they are not current all the same.
 * - A statement ("no individual or entity with significant control") is an answer, not an empty list. Protected persons
 *   have no name.
 * - Of a birth date, year and month are published, and no more is read.
 * - The title of a search hit need not be the name that matched.
 */
import { type Static, Type } from "typebox";
import type { Json, SourceClaim } from "../claim.ts";
import type { FieldGroup } from "../../../../schemas/companies.ts";
import { foldName } from "../names/fold.ts";
import { COUNTRIES } from "../schemes/countries.ts";
import { parseIdentifier } from "../schemes/identifier.ts";
import type {
  GroupAnswer,
  OpenSource,
  RawDocument,
  SearchHit,
  SourceDescription,
  SourceHttp,
} from "../source.ts";
import { claimList } from "./claims.ts";
import { readPages } from "./pages.ts";
import { addOfficer, type RoleGroup } from "./people.ts";
import { jsonReader, maybe, maybeText, statusFailure } from "./reading.ts";
import { addressOf, dateOf, entityParty } from "./values.ts";

const UkAddress = Type.Object({
  care_of: maybeText,
  po_box: maybeText,
  premises: maybeText,
  address_line_1: maybeText,
  address_line_2: maybeText,
  locality: maybeText,
  region: maybeText,
  country: maybeText,
  postal_code: maybeText,
});
type UkAddress = Static<typeof UkAddress>;
const readProfile = jsonReader(
  Type.Object({
    accounts: maybe(
      Type.Object({
        accounting_reference_date: maybe(Type.Object({ day: maybeText, month: maybeText })),
        last_accounts: maybe(
          Type.Object({
            made_up_to: maybeText,
            period_start_on: maybeText,
            period_end_on: maybeText,
            type: maybeText,
          }),
        ),
        next_accounts: maybe(
          Type.Object({ due_on: maybeText, period_start_on: maybeText, period_end_on: maybeText }),
        ),
        next_due: maybeText,
        next_made_up_to: maybeText,
      }),
    ),
    confirmation_statement: maybe(
      Type.Object({ last_made_up_to: maybeText, next_due: maybeText, next_made_up_to: maybeText }),
    ),
    company_name: Type.String(),
    company_number: Type.String(),
    company_status: maybeText,
    company_status_detail: maybeText,
    type: maybeText,
    jurisdiction: maybeText,
    date_of_creation: maybeText,
    date_of_cessation: maybeText,
    registered_office_address: maybe(UkAddress),
    sic_codes: maybe(Type.Array(Type.String())),
    previous_company_names: maybe(
      Type.Array(Type.Object({ name: Type.String(), effective_from: maybeText, ceased_on: maybeText })),
    ),
  }),
);
const Officer = Type.Object({
  name: Type.String(),
  officer_role: Type.String(),
  appointed_on: maybeText,
  resigned_on: maybeText,
  nationality: maybeText,
  country_of_residence: maybeText,
  date_of_birth: maybe(Type.Object({ year: maybe(Type.Integer()), month: maybe(Type.Integer()) })),
  identification: maybe(Type.Object({ registration_number: maybeText, place_registered: maybeText })),
});
const readOfficers = jsonReader(
  Type.Object({ total_results: Type.Integer(), items: maybe(Type.Array(Officer)) }),
);
export const Controller = Type.Object({
  kind: Type.String(),
  name: maybeText,
  natures_of_control: maybe(Type.Array(Type.String())),
  notified_on: maybeText,
  ceased_on: maybeText,
  ceased: maybe(Type.Boolean()),
  identification: maybe(Type.Object({ registration_number: maybeText, country_registered: maybeText })),
});
const readControllers = jsonReader(
  Type.Object({ total_results: Type.Integer(), items: maybe(Type.Array(Controller)) }),
);
const readFilings = jsonReader(
  Type.Object({
    total_count: Type.Integer(),
    items: maybe(
      Type.Array(
        Type.Object({
          transaction_id: Type.String(),
          type: maybeText,
          category: maybeText,
          description: maybeText,
          date: maybeText,
          action_date: maybe(Type.Unknown()),
        }),
      ),
    ),
  }),
);
const readHits = jsonReader(
  Type.Object({
    items: maybe(
      Type.Array(
        Type.Object({
          company_number: Type.String(),
          title: Type.String(),
          snippet: maybeText,
          company_status: maybeText,
          company_type: maybeText,
          address: maybe(UkAddress),
        }),
      ),
    ),
  }),
);

const STATUSES: Readonly<Record<string, string>> = {
  active: "active",
  open: "active",
  registered: "active",
  liquidation: "liquidation",
  receivership: "insolvency",
  administration: "insolvency",
  "voluntary-arrangement": "insolvency",
  "insolvency-proceedings": "insolvency",
  dissolved: "dissolved",
  closed: "dissolved",
  removed: "dissolved",
  "converted-closed": "dissolved",
};
const JURISDICTIONS: Readonly<Record<string, string>> = {
  scotland: "GB-SCT",
  wales: "GB-WLS",
  england: "GB-ENG",
  "northern-ireland": "GB-NIR",
};
const FORMS: Readonly<Record<string, string>> = {
  ltd: "private_limited",
  "private-limited-guarant-nsc": "private_limited",
  "private-limited-guarant-nsc-limited-exemption": "private_limited",
  "private-limited-shares-section-30-exemption": "private_limited",
  "private-unlimited": "private_limited",
  "private-unlimited-nsc": "private_limited",
  plc: "public_limited",
  "old-public-company": "public_limited",
  "european-public-limited-liability-company-se": "european_company",
  "united-kingdom-societas": "european_company",
  "limited-partnership": "limited_partnership",
  "scottish-partnership": "general_partnership",
  llp: "limited_partnership",
  "charitable-incorporated-organisation": "foundation",
  "scottish-charitable-incorporated-organisation": "foundation",
  "registered-society-non-jurisdictional": "cooperative",
  "industrial-and-provident-society": "cooperative",
  "uk-establishment": "branch",
  "oversea-company": "other",
  "royal-charter": "other",
  "investment-company-with-variable-capital": "fund",
  icvc: "fund",
  "protected-cell-company": "fund",
};
const ROLE_GROUPS: readonly (readonly [RegExp, RoleGroup])[] = [
  [/director|member-of-a-management/, "management"],
  [/secretary/, "secretary"],
  [/llp-.{0,40}member|partner/, "partner"],
  [/supervisory/, "supervisory"],
  [/judicial-factor|receiver|manager/, "representative"],
];
const HOME_NATIONS =
  /^(?:england|scotland|wales|northern ireland|united kingdom|great britain|england & wales|uk|gb)$/i;

const ukAddress = (type: "registered" | "business", address: UkAddress): Json | null =>
  addressOf({
    type,
    care_of: address.care_of,
    po_box: address.po_box,
    lines: [address.premises, address.address_line_1, address.address_line_2],
    postal_code: address.postal_code,
    city: address.locality,
    country: address.country && !HOME_NATIONS.test(address.country.trim()) ? null : "GB",
  });

const canonicalNumber = (company_number: string): string => {
  const result = parseIdentifier("gb_coh", company_number);
  return result.kind === "identifier" ? result.identifier.value : company_number;
};

export type Profile = Extract<ReturnType<typeof readProfile>, { kind: "read" }>["value"];

export function profileClaims(document: RawDocument, profile: Profile): readonly SourceClaim[] {
  const list = claimList(document);
  list.set("names.legal", profile.company_name, { language: "en" });
  for (const { name, effective_from, ceased_on } of profile.previous_company_names ?? [])
    list.name("names.former", name, {
      type: "former",
      valid_from: dateOf(effective_from),
      valid_to: dateOf(ceased_on),
    });
  const { company_status: status, company_status_detail: detail, type } = profile;
  list.set("status", status ? (STATUSES[status] ?? "unknown") : null, {
    raw_value: { company_status: status ?? null, company_status_detail: detail ?? null },
  });
  if (type)
    list.set("legal_form", {
      local: { scheme: "companies_house", code: type },
      label: type.replaceAll("-", " "),
      category: FORMS[type] ?? "other",
    });
  list.set("jurisdiction", JURISDICTIONS[profile.jurisdiction ?? ""] ?? "GB", {
    raw_value: profile.jurisdiction ?? null,
  });
  list.set("dates.incorporation", dateOf(profile.date_of_creation));
  list.set("dates.deregistration", dateOf(profile.date_of_cessation));
  if (profile.registered_office_address)
    list.add("addresses", "registered", ukAddress("registered", profile.registered_office_address));
  // Older records have codes of four digits, of an earlier list.
  for (const [at, code] of (profile.sic_codes ?? []).entries())
    list.add("activities", `${code.length === 5 ? "uksic2007" : "other"}:${code}`, {
      scheme: code.length === 5 ? "uksic2007" : "other",
      code,
      primary: at === 0,
    });
  return list.claims;
}

/** `2024-02-25 to 2025-02-26`, or the end alone. */
const periodOf = (start: string | null | undefined, end: string | null): string | null =>
  end === null ? null : [dateOf(start), end].filter((day) => day !== null).join(" to ");

/** Events: up to which day the company has filed, and on which day, still to come, the next filing is due. */
export function deadlineClaims(document: RawDocument, profile: Profile): readonly SourceClaim[] {
  const { accounts, confirmation_statement: statement } = profile;
  const list = claimList(document);
  const add = (kind: string, date: string | null, title: string, text: string | null): void => {
    const id = `companies_house:${kind}`;
    if (date !== null)
      list.add("events", id, { id, type: "filing", date, title, text, source: "companies_house" });
  };
  const { day, month } = accounts?.accounting_reference_date ?? {};
  const year_end =
    day && month ? `accounting reference date ${month.padStart(2, "0")}-${day.padStart(2, "0")}` : null;
  const last = accounts?.last_accounts;
  const last_end = dateOf(last?.made_up_to ?? last?.period_end_on);
  const last_period = periodOf(last?.period_start_on, last_end);
  add(
    "accounts:last",
    last_end,
    "Last accounts made up to this day",
    [last?.type, last_period, year_end].filter(Boolean).join("; ") || null,
  );
  const next = accounts?.next_accounts;
  const next_end = dateOf(next?.period_end_on ?? accounts?.next_made_up_to);
  const next_period = periodOf(next?.period_start_on, next_end);
  add("accounts:due", dateOf(next?.due_on ?? accounts?.next_due), "Next accounts due", next_period);
  add(
    "confirmation:last",
    dateOf(statement?.last_made_up_to),
    "Last confirmation statement made up to this day",
    null,
  );
  add(
    "confirmation:due",
    dateOf(statement?.next_due),
    "Next confirmation statement due",
    dateOf(statement?.next_made_up_to),
  );
  return list.claims;
}

export function numberClaims(document: RawDocument, company_number: string): readonly SourceClaim[] {
  const list = claimList(document);
  list.identifier("gb_coh", company_number);
  return list.claims;
}

type CompanyOfficer = Static<typeof Officer>;

const ENGLISH = new Intl.DisplayNames(["en"], { type: "region" });
const COUNTRY_OF_NAME: ReadonlyMap<string, string> = new Map(
  [...COUNTRIES].map((code) => [ENGLISH.of(code)!.toLowerCase(), code]),
);
/** The word for a person of a country, where it is not the country's name. */
const COUNTRY_OF_DEMONYM: ReadonlyMap<string, string> = new Map(
  Object.entries({
    AE: "emirati",
    AR: "argentine,argentinian",
    AT: "austrian",
    AU: "australian",
    BE: "belgian",
    BG: "bulgarian",
    BR: "brazilian",
    CA: "canadian",
    CH: "swiss",
    CL: "chilean",
    CN: "chinese",
    CO: "colombian",
    CY: "cypriot",
    CZ: "czech",
    DE: "german",
    DK: "danish",
    EE: "estonian",
    EG: "egyptian",
    ES: "spanish",
    FI: "finnish",
    FR: "french",
    GB: "british,english,scottish,welsh",
    GH: "ghanaian",
    GR: "greek",
    HR: "croatian",
    HU: "hungarian",
    ID: "indonesian",
    IE: "irish",
    IL: "israeli",
    IN: "indian",
    IQ: "iraqi",
    IR: "iranian",
    IS: "icelandic",
    IT: "italian",
    JP: "japanese",
    KE: "kenyan",
    KR: "korean",
    KZ: "kazakh",
    LB: "lebanese",
    LK: "sri lankan",
    LT: "lithuanian",
    LU: "luxembourger",
    LV: "latvian",
    MA: "moroccan",
    MT: "maltese",
    MX: "mexican",
    MY: "malaysian",
    NG: "nigerian",
    NL: "dutch",
    NO: "norwegian",
    NZ: "new zealander",
    PH: "filipino",
    PK: "pakistani",
    PL: "polish",
    PT: "portuguese",
    RO: "romanian",
    RS: "serbian",
    RU: "russian",
    SA: "saudi",
    SE: "swedish",
    SG: "singaporean",
    SI: "slovenian",
    SK: "slovak",
    TH: "thai",
    TR: "turkish",
    TW: "taiwanese",
    UA: "ukrainian",
    US: "american",
    VN: "vietnamese",
    ZA: "south african",
    ZW: "zimbabwean",
  }).flatMap(([code, words]) => words.split(",").map((word) => [word, code] as const)),
);

/** Free text: null where it is no country's name and no word for its people. */
function countryOfWords(text: string | null | undefined): string | null {
  const words = text?.trim().toLowerCase() ?? "";
  if (HOME_NATIONS.test(words)) return "GB";
  return COUNTRY_OF_NAME.get(words) ?? COUNTRY_OF_DEMONYM.get(words) ?? null;
}

function officerClaims(
  items: readonly { readonly document: RawDocument; readonly item: CompanyOfficer }[],
  isDissolved: boolean,
): readonly SourceClaim[] {
  return items.flatMap(({ document, item }) => {
    const list = claimList(document);
    const isEntity = item.officer_role.startsWith("corporate-") || item.identification != null;
    const [family_name, given_name] = isEntity ? [null, null] : item.name.split(/,\s*/);
    const number = parseIdentifier("gb_coh", item.identification?.registration_number ?? "");
    const isBritish = HOME_NATIONS.test(item.identification?.place_registered?.trim() ?? "");
    addOfficer(list, {
      kind: isEntity ? "entity" : "person",
      name: item.name,
      family_name: family_name ?? null,
      given_name: given_name ?? null,
      role: {
        group: ROLE_GROUPS.find(([pattern]) => pattern.test(item.officer_role))?.[1] ?? "other",
        label: item.officer_role,
        code: item.officer_role,
      },
      appointed_on: dateOf(item.appointed_on),
      resigned_on: dateOf(item.resigned_on),
      born: item.date_of_birth?.year
        ? `${item.date_of_birth.year}${item.date_of_birth.month ? `-${String(item.date_of_birth.month).padStart(2, "0")}` : ""}`
        : null,
      nationality: countryOfWords(item.nationality),
      residence: countryOfWords(item.country_of_residence),
      ref: isBritish && number.kind === "identifier" ? `gb_coh:${number.identifier.value}` : null,
      current: !item.resigned_on && !isDissolved,
    });
    return list.claims;
  });
}

/** `ownership-of-shares-25-to-50-percent` as an interest of the Beneficial Ownership Data Standard. */
export function interestOf(nature: string): Json {
  const band = /-(25-to-50|50-to-75|75-to-100)-percent/.exec(nature)?.[1];
  const share =
    band === "25-to-50"
      ? { exclusive_minimum: 25, maximum: 50 }
      : band === "50-to-75"
        ? { exclusive_minimum: 50, exclusive_maximum: 75 }
        : band === "75-to-100"
          ? { minimum: 75, maximum: 100 }
          : null;
  const type = nature.startsWith("ownership-of-shares")
    ? "shareholding"
    : nature.startsWith("voting-rights")
      ? "votingRights"
      : nature.startsWith("right-to-appoint-and-remove")
        ? "appointmentOfBoard"
        : nature.startsWith("right-to-share-surplus-assets")
          ? "rightsToSurplusAssetsOnDissolution"
          : "otherInfluenceOrControl";
  const suffix = /-as-(trust|firm)/.exec(nature)?.[1];
  return {
    type,
    direct_or_indirect: "unknown",
    ...(share && { share }),
    ...(suffix && { details: `as ${suffix}` }),
  };
}

export function controllerClaims(
  items: readonly { readonly document: RawDocument; readonly item: Static<typeof Controller> }[],
): readonly SourceClaim[] {
  return items.flatMap(({ document, item }) => {
    if (item.kind.endsWith("-statement")) return [];
    const list = claimList(document);
    const isProtected = item.kind.startsWith("super-secure");
    const isEntity = /corporate-entity|legal-person/.test(item.kind);
    const written = item.identification?.registration_number ?? "";
    const isBritish = HOME_NATIONS.test(item.identification?.country_registered?.trim() ?? "");
    const number = parseIdentifier("gb_coh", written);
    const ref = isBritish && number.kind === "identifier" ? `gb_coh:${number.identifier.value}` : null;
    const party = isEntity
      ? entityParty({ name: item.name, ref })
      : isProtected
        ? { kind: "anonymous", unspecified_reason: "super-secure-person-with-significant-control" }
        : { kind: "person", name: item.name ?? null };
    const start_date = dateOf(item.notified_on);
    const end_date = dateOf(item.ceased_on);
    const natures = item.natures_of_control ?? [];
    list.add("ownership.interested_parties", ref ?? (foldName(item.name ?? "") || item.kind), {
      party,
      interests: natures.map((nature) => ({
        ...(interestOf(nature) as { type: string }),
        start_date,
        end_date,
      })),
      current: end_date === null && item.ceased !== true,
    });
    return list.claims;
  });
}

const HITS_A_PAGE = 100;
const MAX_PAGES = 20;

export const COMPANIES_HOUSE: SourceDescription = {
  name: "companies_house",
  title: "UK Companies House",
  countries: ["GB"],
  schemes: { lookup: ["gb_coh"], yields: ["gb_coh"] },
  home_register_of: ["GB"],
  capabilities: ["lookup", "search", "people", "ownership", "filings", "events"],
  groups: {
    core: { precedence: 100, freshness: "registry_core" },
    identifiers: { precedence: 100, freshness: "registry_core" },
    people: { precedence: 100, freshness: "registry_people" },
    ownership: { precedence: 100, freshness: "ownership" },
    filings: { precedence: 100, freshness: "filings" },
    events: { precedence: 100, freshness: "registry_core" },
  },
  licence: {
    id: "OGL-UK-3.0",
    url: "https://www.nationalarchives.gov.uk/doc/open-government-licence/version/3/",
    attribution: "Contains public sector information licensed under the Open Government Licence v3.0",
    redistribution: "open",
  },
  terms_url: "https://developer.company-information.service.gov.uk/",
  // 600 requests in five minutes.
  limits: { requests_per_second: 2, max_in_flight: 2 },
  parser_version: "3",
  canaries: [
    {
      identifier: { scheme: "gb_coh", value: "00445790" },
      expect: [{ field: "names.legal", key: null, value: "TESCO PLC" }],
    },
  ],
};

interface Asked {
  readonly http: SourceHttp;
  readonly company_url: string;
  readonly headers: readonly (readonly [string, string])[];
}

/** Reads a list of the company as a group. A 404 of a list means that the register has none. */
async function listGroup<Item>(
  group: FieldGroup,
  { http, company_url, headers }: Asked,
  path: string,
  read: Parameters<typeof readPages<Item>>[1]["read"],
  claimsOf: (
    items: readonly { readonly document: RawDocument; readonly item: Item }[],
  ) => readonly SourceClaim[],
): Promise<GroupAnswer> {
  const answer = await readPages<Item>(http, {
    max_pages: MAX_PAGES,
    request: (start) => ({
      method: "GET",
      url: `${company_url}/${path}?items_per_page=${HITS_A_PAGE}&start_index=${start}`,
      headers,
    }),
    read,
  });
  switch (answer.kind) {
    case "failed":
      return { group, ...answer };
    case "missing":
      return { group, kind: "claims", is_complete: true, documents: answer.documents, claims: [] };
    case "pages": {
      const { documents, is_complete } = answer;
      return { group, kind: "claims", is_complete, documents, claims: claimsOf(answer.items) };
    }
  }
}

const peopleGroup = (asked: Asked, isDissolved: boolean): Promise<GroupAnswer> =>
  listGroup<CompanyOfficer>(
    "people",
    asked,
    "officers",
    (response) => {
      const reading = readOfficers(response);
      if (reading.kind === "failed") return reading;
      return {
        kind: "read",
        value: { total: reading.value.total_results, items: reading.value.items ?? [] },
      };
    },
    (items) => officerClaims(items, isDissolved),
  );

const ownershipGroup = (asked: Asked): Promise<GroupAnswer> =>
  listGroup<Static<typeof Controller>>(
    "ownership",
    asked,
    "persons-with-significant-control",
    (response) => {
      const reading = readControllers(response);
      if (reading.kind === "failed") return reading;
      return {
        kind: "read",
        value: { total: reading.value.total_results, items: reading.value.items ?? [] },
      };
    },
    controllerClaims,
  );

/** The newest filings; older ones stay as they were read. */
async function filingsGroup({ http, company_url, headers }: Asked): Promise<GroupAnswer> {
  const response = await http({
    method: "GET",
    url: `${company_url}/filing-history?items_per_page=${HITS_A_PAGE}`,
    headers,
  });
  if (response.kind === "failed") return { group: "filings", documents: [], ...response };
  const { document } = response;
  if (response.status !== 200) return { group: "filings", documents: [document], ...statusFailure(response) };
  const reading = readFilings(response);
  if (reading.kind === "failed") return { group: "filings", documents: [document], ...reading };
  const list = claimList(document);
  const items = reading.value.items ?? [];
  for (const item of items) {
    const date = dateOf(item.date);
    if (date === null) continue;
    list.add("filings", item.transaction_id, {
      id: item.transaction_id,
      source: "companies_house",
      type: item.type ?? item.category ?? "unknown",
      title: item.description ?? null,
      date,
      amendment: false,
    });
  }
  return {
    group: "filings",
    kind: "claims",
    is_complete: items.length >= reading.value.total_count,
    documents: [document],
    claims: list.claims,
  };
}

export const openCompaniesHouse: OpenSource = ({ base_url, credentials }) => {
  const basic = Buffer.from(`${credentials ?? ""}:`).toString("base64");
  const headers = [
    ["Accept", "application/json"],
    ["Authorization", `Basic ${basic}`],
  ] as const;
  return {
    description: COMPANIES_HOUSE,
    inactive_because: credentials === null ? "TRAWL_COMPANIES_HOUSE_KEY is not set" : null,

    async lookup({ value }, groups, http) {
      const company_url = `${base_url}/company/${value}`;
      const response = await http({ method: "GET", url: company_url, headers });
      if (response.kind === "failed") return response;
      const { document } = response;
      if (response.status === 404) return { kind: "not_found", documents: [document] };
      if (response.status !== 200) return statusFailure(response);
      const reading = readProfile(response);
      if (reading.kind === "failed") return reading;
      const profile = reading.value;
      const asked = { http, company_url, headers };
      const isDissolved = STATUSES[profile.company_status ?? ""] === "dissolved";
      const own = { kind: "claims", is_complete: true, documents: [document] } as const;
      return {
        kind: "found",
        native_id: canonicalNumber(profile.company_number),
        groups: [
          { group: "core", ...own, claims: profileClaims(document, profile) },
          { group: "identifiers", ...own, claims: numberClaims(document, profile.company_number) },
          { group: "events", ...own, claims: deadlineClaims(document, profile) },
          ...(groups.includes("people") ? [await peopleGroup(asked, isDissolved)] : []),
          ...(groups.includes("ownership") ? [await ownershipGroup(asked)] : []),
          ...(groups.includes("filings") ? [await filingsGroup(asked)] : []),
        ],
      };
    },

    async search({ name, limit }, http) {
      const url = `${base_url}/search/companies?q=${encodeURIComponent(name)}&items_per_page=${limit}`;
      const response = await http({ method: "GET", url, headers });
      if (response.kind === "failed") return response;
      if (response.status !== 200) return statusFailure(response);
      const reading = readHits(response);
      if (reading.kind === "failed") return reading;
      const hits = (reading.value.items ?? []).map((item): SearchHit => {
        const identifier = { scheme: "gb_coh", value: canonicalNumber(item.company_number) };
        return {
          identifier,
          identifiers: [identifier],
          name: item.title,
          former_names: item.snippet ? [item.snippet] : [],
          status: STATUSES[item.company_status ?? ""] ?? "unknown",
          jurisdiction: "GB",
          city: item.address?.locality ?? null,
          legal_form_category: FORMS[item.company_type ?? ""] ?? null,
        };
      });
      return { kind: "found", hits };
    },
  };
};
