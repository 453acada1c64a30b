/**
 * The profile site as a source of companies: a profile, as POST /v1/profiles/profile answers it. The site's markup, its
 * routes, limits and prices are the profiles slice's affair.
 *
 * Peculiarities of the source:
 * - It has no lookup by an identifier. A profile is found by the company's name, or by the address of the page where it was
 *   found before, and is taken only when it shows a strong identifier of the company and contradicts none.
 * - Every request costs money. One page is asked for, and the suggestions before it when no address is known; the graph is
 *   not.
 * - A page names persons beside everything else, and does not list all of them.
 */
import { type Static, Type } from "typebox";
import { Profile } from "../../../../schemas/profiles.ts";
import type { Json, SourceClaim } from "../claim.ts";
import { foldName } from "../names/fold.ts";
import { legalFormCategory } from "../names/legal-forms.ts";
import { contradiction, isStrong } from "../merging.ts";
import type {
  KnownCompany,
  OpenSource,
  RawDocument,
  SourceDescription,
  SourceHttp,
  SourceResponse,
} from "../source.ts";
import { type ClaimList, claimList } from "./claims.ts";
import { addOfficer, type RoleGroup } from "./people.ts";
import { jsonReader, statusFailure } from "./reading.ts";
import { addressOf, categoryOfName, entityParty } from "./values.ts";

/** A profile with the ISO code of its country, which the site writes as text. */
const SourceProfile = Type.Object({
  ...Profile.properties,
  country_code: Type.Union([Type.String(), Type.Null()]),
});
type SourceProfile = Static<typeof SourceProfile>;
const readProfile = jsonReader(SourceProfile);

/** Words that the site marks a company with. A word that is not here is no claim. */
const STATUSES: Readonly<Record<string, string>> = {
  Active: "active",
  Terminated: "dissolved",
  Dissolved: "dissolved",
  Liquidation: "liquidation",
};

/** Identifiers by their labels, in lower case. */
const LABELS: Readonly<Record<string, string>> = {
  lei: "lei",
  euid: "euid",
  uid: "ch_uid",
  "ust.-id": "eu_vat",
  "ust-id": "eu_vat",
  "ust.-idnr.": "eu_vat",
  vat: "eu_vat",
  "vat id": "eu_vat",
};

/** The first that fits is the role's group. */
const ROLES: readonly (readonly [RegExp, RoleGroup])[] = [
  [/liquidat|abwickler|insolvenzverwalter/i, "liquidator"],
  [/aufsichtsrat|supervisory/i, "supervisory"],
  [/prokur|procuration|signator/i, "signatory"],
  [/prüfer|auditor/i, "auditor"],
  [/secretary/i, "secretary"],
  [/geschäftsführ|vorstand|managing|chief|^c[ef]o$|gérant|directeur|directrice/i, "management"],
  [/verwaltungsrat|board|chair|administrat|président|director|direktor/i, "board"],
  [/gesellschafter|komplementär|kommanditist|inhaber|partner|shareholder/i, "partner"],
];
const groupOf = (role: string): RoleGroup => ROLES.find(([words]) => words.test(role))?.[1] ?? "other";

const RELATIONS: ReadonlySet<string> = new Set(["merger", "acquisition", "control", "related"]);

/** The schemes of register numbers by the country that the page's address shows. */
const REGISTERS: Readonly<Record<string, string>> = { DE: "de_hrb", AT: "at_fn", CH: "ch_uid" };

export function identifierClaims(
  document: Pick<RawDocument, "sha256">,
  profile: SourceProfile,
): readonly SourceClaim[] {
  const list = claimList(document);
  const { court, register_id } = profile;
  const register = REGISTERS[profile.path_country ?? ""];
  // A German number means nothing without its court; the others are of one register.
  const number = register === "de_hrb" ? `${court ?? ""} ${register_id ?? ""}` : register_id;
  if (register !== undefined) list.identifier(register, number);
  list.identifier("lei", profile.lei);
  for (const { label, value, current } of profile.identifiers) {
    const scheme = LABELS[label?.toLowerCase() ?? ""];
    if (scheme !== undefined) list.identifier(scheme, value, { status: current ? "active" : "inactive" });
  }
  list.identifier(profile.provider, profile.entity_id);
  return list.claims;
}

const POSTAL_CODE = /^(?:[A-Z]{1,3}-)?(\d{4,6})\s+(\S.*)$/;

/** "Hafenweg 1, D-20457 Hamburg, Deutschland" */
function addressClaim({ address, city, country_code, path_country }: SourceProfile): Json | null {
  const pieces = (address ?? "")
    .split(",")
    .map((piece) => piece.trim())
    .filter((piece) => piece !== "");
  const at = pieces.findLastIndex((piece) => POSTAL_CODE.test(piece));
  const [, postal_code = null, place = city] = POSTAL_CODE.exec(pieces[at] ?? "") ?? [];
  const country = country_code ?? path_country;
  return addressOf({
    type: "registered",
    lines: at < 0 ? pieces : pieces.slice(0, at),
    postal_code,
    city: place,
    country,
  });
}

function coreClaims(document: RawDocument, profile: SourceProfile): readonly SourceClaim[] {
  const list = claimList(document);
  const { name, legal_form, status, path_country, industry } = profile;
  list.set("names.legal", name);
  for (const former of profile.former_names) list.name("names.former", former, { type: "former" });
  const category =
    legal_form === null
      ? null
      : (legalFormCategory(legal_form, path_country) ?? categoryOfName(name ?? "", path_country));
  if (category !== null) list.set("legal_form", { abbreviation: legal_form, category });
  const ours = STATUSES[status ?? ""];
  if (ours !== undefined) list.set("status", ours, { raw_value: status });
  list.set("jurisdiction", path_country);
  list.add("addresses", "registered", addressClaim(profile), { raw_value: profile.address });
  list.add("purpose", "und", profile.corporate_purpose);
  const [, code, label] = /^(\d{2}(?:\.\d+)*)\s+(\S.*)$/.exec(industry ?? "") ?? [];
  if (path_country === "DE" && code !== undefined)
    list.add("activities", `wz2008:${code}`, { scheme: "wz2008", code, label: label!, primary: true });
  return list.claims;
}

function webClaims(document: RawDocument, { provider, source_url }: SourceProfile): readonly SourceClaim[] {
  const list = claimList(document);
  list.add("web.profiles", source_url, { site: provider, url: source_url });
  return list.claims;
}

function relationshipClaims(document: RawDocument, { related }: SourceProfile): readonly SourceClaim[] {
  const list = claimList(document);
  for (const { name, relation } of related) {
    if (relation === null || !RELATIONS.has(relation)) continue;
    list.add("relationships", `${relation}|out|${foldName(name)}`, {
      type: relation,
      direction: "out",
      party: entityParty({ name }),
      current: true,
    });
  }
  return list.claims;
}

function peopleClaims(
  document: RawDocument,
  { officers, path_country }: SourceProfile,
): readonly SourceClaim[] {
  const list: ClaimList = claimList(document);
  for (const { name, role, since, until, current } of officers) {
    const label = role ?? "not stated";
    addOfficer(list, {
      kind: categoryOfName(name, path_country) === null ? "person" : "entity",
      name,
      role: { group: groupOf(label), label },
      appointed_on: since,
      resigned_on: until,
      current,
    });
  }
  return list.claims;
}

/** Whether the page shows a strong identifier that the company has, and none that contradicts. */
function confirms(claims: readonly SourceClaim[], { identifiers }: KnownCompany): boolean {
  const shown = claims
    .filter(({ rejected_because }) => rejected_because === undefined)
    .map(
      ({ value }) => value as { readonly scheme: string; readonly value: string; readonly status: string },
    );
  const known = new Set(
    identifiers.filter(({ scheme }) => isStrong(scheme)).map(({ scheme, value }) => `${scheme}:${value}`),
  );
  const isShared = shown.some(({ scheme, value }) => known.has(`${scheme}:${value}`));
  return isShared && contradiction(identifiers, shown) === null;
}

const rule = { precedence: 40, freshness: "profile" } as const;
const DESCRIPTION: SourceDescription = {
  name: "northdata",
  title: "North Data, company profiles",
  countries: ["*"],
  schemes: {
    lookup: ["lei", "de_hrb", "ch_uid", "at_fn"],
    yields: ["de_hrb", "ch_uid", "at_fn", "lei", "euid", "eu_vat", "northdata"],
  },
  home_register_of: [],
  capabilities: ["lookup", "people", "relationships"],
  groups: { core: rule, identifiers: rule, web: rule, relationships: rule, people: rule },
  licence: {
    id: "LicenseRef-northdata-terms",
    url: "https://www.northdata.com/_agb",
    attribution: null,
    redistribution: "internal",
  },
  has_personal_documents: true,
  needs_name: true,
  is_paid: true,
  terms_url: "https://www.northdata.com/_agb",
  // The site's throttle, which profiles share with this source.
  limits: { requests_per_second: 1, max_in_flight: 2 },
  parser_version: "1",
  // A canary would cost money.
  canaries: [],
};

export const openProfileSite: OpenSource = ({ base_url, inactive_because = null, is_opt_in = false }) => ({
  description: DESCRIPTION,
  inactive_because,
  is_opt_in,

  async lookup(_identifier, groups, http, _signal, company) {
    const response = await findProfile(base_url, http, company);
    if (response.kind === "failed") return response;
    const { document } = response;
    const documents = [document];
    if (response.status === 404) return { kind: "not_found", documents };
    if (response.status !== 200) return statusFailure(response);
    const reading = readProfile(response);
    if (reading.kind === "failed") return reading;
    const profile = reading.value;
    const identifiers = identifierClaims(document, profile);
    if (!confirms(identifiers, company)) return { kind: "not_found", documents };
    const own = { kind: "claims", is_complete: true, documents } as const;
    return {
      kind: "found",
      native_id: profile.entity_id ?? new URL(profile.source_url).pathname,
      groups: [
        { group: "core", ...own, claims: coreClaims(document, profile) },
        { group: "identifiers", ...own, claims: identifiers },
        { group: "web", ...own, claims: webClaims(document, profile) },
        { group: "relationships", ...own, claims: relationshipClaims(document, profile) },
        ...(groups.includes("people")
          ? [
              {
                group: "people",
                ...own,
                is_complete: false,
                claims: peopleClaims(document, profile),
              } as const,
            ]
          : []),
      ],
    };
  },
});

/** By the address where it was found before; by name where there is none, or no profile is there any more. */
async function findProfile(
  base_url: string,
  http: SourceHttp,
  { names, city, country, profiles }: KnownCompany,
): Promise<SourceResponse | Extract<Awaited<ReturnType<SourceHttp>>, { readonly kind: "failed" }>> {
  const ask = (fields: object) =>
    http({
      method: "POST",
      url: `${base_url}/v1/profiles/profile`,
      body: JSON.stringify({ ...fields, include_graph: false, search_fallback: false }),
    });
  const url = profiles.find(({ site }) => site === DESCRIPTION.name)?.url;
  if (url !== undefined) {
    const known = await ask({ url });
    if (known.kind === "failed" || known.status !== 404) return known;
  }
  return ask({ company_name: names[0], headquarters: city, country });
}
