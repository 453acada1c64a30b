/**
 * The French search of companies (recherche-entreprises.api.gouv.fr), over the registers of INSEE and INPI.
 *
 * Peculiarities of the source:
 * - There is only a search: a number is looked for as text, and only a result with exactly this number counts. A SIRET
 *   counts when the result lists the establishment, since the company of an unknown establishment is found as well.
 * - The day 1900-01-01 means that none is known.
 * - The body is cut short at times of much use: then it is no JSON, and a failure.
 * - Coordinates are text.
 */
import { type Static, Type } from "typebox";
import type { SourceClaim } from "../claim.ts";
import type { OpenSource, RawDocument, SearchHit, SourceDescription } from "../source.ts";
import { claimList } from "./claims.ts";
import { addOfficer, type RoleGroup } from "./people.ts";
import { jsonReader, maybe, maybeText, statusFailure } from "./reading.ts";
import { addressOf, categoryOfName, dateOf } from "./values.ts";

const Establishment = Type.Object({
  siret: Type.String(),
  adresse: maybeText,
  code_postal: maybeText,
  libelle_commune: maybeText,
  complement_adresse: maybeText,
  numero_voie: maybeText,
  indice_repetition: maybeText,
  type_voie: maybeText,
  libelle_voie: maybeText,
  latitude: maybeText,
  longitude: maybeText,
  etat_administratif: maybeText,
  nom_commercial: maybeText,
  code_pays_etranger: maybeText,
});
const Company = Type.Object({
  siren: Type.String(),
  nom_complet: maybeText,
  nom_raison_sociale: maybeText,
  sigle: maybeText,
  siege: maybe(Establishment),
  activite_principale: maybeText,
  categorie_entreprise: maybeText,
  date_creation: maybeText,
  date_fermeture: maybeText,
  etat_administratif: maybeText,
  nature_juridique: maybeText,
  tranche_effectif_salarie: maybeText,
  annee_tranche_effectif_salarie: maybeText,
  matching_etablissements: maybe(Type.Array(Establishment)),
  dirigeants: maybe(
    Type.Array(
      Type.Object({
        type_dirigeant: maybeText,
        nom: maybeText,
        prenoms: maybeText,
        qualite: maybeText,
        annee_de_naissance: maybeText,
        date_de_naissance: maybeText,
        siren: maybeText,
        denomination: maybeText,
      }),
    ),
  ),
  finances: maybe(
    Type.Record(Type.String(), Type.Object({ ca: maybe(Type.Number()), resultat_net: maybe(Type.Number()) })),
  ),
});
export type Company = Static<typeof Company>;
const readResults = jsonReader(Type.Object({ results: Type.Array(Company) }));

/** INSEE's classes of employees: least and most. */
const BANDS: Readonly<Record<string, readonly [number, number | null]>> = {
  "00": [0, 0],
  "01": [1, 2],
  "02": [3, 5],
  "03": [6, 9],
  "11": [10, 19],
  "12": [20, 49],
  "21": [50, 99],
  "22": [100, 199],
  "31": [200, 249],
  "32": [250, 499],
  "41": [500, 999],
  "42": [1_000, 1_999],
  "51": [2_000, 4_999],
  "52": [5_000, 9_999],
  "53": [10_000, null],
};
/** By the beginning of INSEE's code of legal categories; the longest that fits counts. */
const FORMS: readonly (readonly [string, string])[] = [
  ["10", "sole_proprietor"],
  ["52", "general_partnership"],
  ["53", "limited_partnership"],
  ["54", "private_limited"],
  ["55", "public_limited"],
  ["56", "public_limited"],
  ["57", "private_limited"],
  ["58", "european_company"],
  ["51", "cooperative"],
  ["62", "other"],
  ["63", "cooperative"],
  ["65", "general_partnership"],
  ["7", "government"],
  ["92", "association"],
  ["93", "foundation"],
];
/** INSEE's words for its legal categories of the second level, and for frequent ones of the third. */
const FORM_LABELS: Readonly<Record<string, string>> = {
  "10": "Entrepreneur individuel",
  "21": "Indivision",
  "22": "Société créée de fait",
  "23": "Société en participation",
  "24": "Fiducie",
  "27": "Paroisse hors zone concordataire",
  "29": "Autre groupement de droit privé non doté de la personnalité morale",
  "31": "Personne morale de droit étranger, immatriculée au RCS",
  "32": "Personne morale de droit étranger, non immatriculée au RCS",
  "41": "Établissement public ou régie à caractère industriel ou commercial",
  "51": "Société coopérative commerciale particulière",
  "52": "Société en nom collectif",
  "53": "Société en commandite",
  "5306": "Société en commandite simple",
  "5308": "Société en commandite par actions",
  "54": "Société à responsabilité limitée",
  "5485": "Société d'exercice libéral à responsabilité limitée",
  "5498": "Société à responsabilité limitée unipersonnelle",
  "55": "Société anonyme à conseil d'administration",
  "56": "Société anonyme à directoire",
  "57": "Société par actions simplifiée",
  "5720": "Société par actions simplifiée unipersonnelle",
  "5785": "Société d'exercice libéral par actions simplifiée",
  "58": "Société européenne",
  "61": "Caisse d'épargne et de prévoyance",
  "62": "Groupement d'intérêt économique",
  "63": "Société coopérative agricole",
  "64": "Société d'assurance mutuelle",
  "65": "Société civile",
  "6540": "Société civile immobilière",
  "69": "Autre personne morale de droit privé inscrite au RCS",
  "71": "Administration de l'État",
  "72": "Collectivité territoriale",
  "73": "Établissement public administratif",
  "74": "Autre personne morale de droit public administratif",
  "81": "Organisme gérant un régime de protection sociale à adhésion obligatoire",
  "82": "Organisme mutualiste",
  "83": "Comité d'entreprise",
  "84": "Organisme professionnel",
  "85": "Organisme de retraite à adhésion non obligatoire",
  "91": "Syndicat de propriétaires",
  "92": "Association loi 1901 ou assimilé",
  "9220": "Association déclarée",
  "93": "Fondation",
  "99": "Autre personne morale de droit privé",
};
const labelOf = (code: string): string | null => FORM_LABELS[code] ?? FORM_LABELS[code.slice(0, 2)] ?? null;
const SIZES: Readonly<Record<string, string>> = { PME: "small", ETI: "medium", GE: "large" };
const ROLE_GROUPS: readonly (readonly [RegExp, RoleGroup])[] = [
  [/commissaire aux comptes/i, "auditor"],
  [/surveillance/i, "supervisory"],
  [/administrateur|conseil d'administration/i, "board"],
  [/liquidateur/i, "liquidator"],
  [/associ/i, "partner"],
  [/pr[ée]sident|directeur|g[ée]rant|directoire|dirigeant/i, "management"],
];
const NO_DATE = "1900-01-01";

const categoryOf = (company: Company): string =>
  FORMS.find(([prefix]) => company.nature_juridique?.startsWith(prefix))?.[1] ??
  categoryOfName(company.nom_complet ?? "", "FR") ??
  "other";
const nameOf = ({ nom_raison_sociale, nom_complet, siren }: Company): string =>
  nom_raison_sociale ?? nom_complet ?? siren;
const statusOf = ({ etat_administratif }: Company): string =>
  etat_administratif === "A" ? "active" : etat_administratif === "C" ? "dissolved" : "unknown";
const known = (date: string | null | undefined): string | null => (date === NO_DATE ? null : dateOf(date));

export function coreClaims(document: RawDocument, company: Company): readonly SourceClaim[] {
  const list = claimList(document);
  list.set("names.legal", nameOf(company), { language: "fr" });
  list.name("names.other", company.sigle, { type: "short" });
  list.name("names.trading", company.siege?.nom_commercial, { type: "trading" });
  list.set("status", statusOf(company), { raw_value: company.etat_administratif ?? null });
  list.set("jurisdiction", "FR");
  if (company.nature_juridique)
    list.set("legal_form", {
      local: { scheme: "insee", code: company.nature_juridique },
      label: labelOf(company.nature_juridique),
      category: categoryOf(company),
    });
  list.set("dates.incorporation", known(company.date_creation), { raw_value: company.date_creation ?? null });
  list.set("dates.deregistration", known(company.date_fermeture));
  const seat = company.siege;
  if (seat && !seat.code_pays_etranger) {
    const number = [seat.numero_voie, seat.indice_repetition].filter(Boolean).join(" ");
    const street = [seat.type_voie, seat.libelle_voie].filter(Boolean).join(" ");
    const [lat, lon] = [Number(seat.latitude), Number(seat.longitude)];
    const hasPlace = seat.latitude && seat.longitude && Number.isFinite(lat) && Number.isFinite(lon);
    list.add(
      "addresses",
      "registered",
      addressOf({
        type: "registered",
        lines: [[number, street].filter(Boolean).join(" ")],
        street,
        house_number: number,
        postal_code: seat.code_postal,
        city: seat.libelle_commune,
        country: "FR",
        language: "fr",
        geo: hasPlace ? { lat, lon } : null,
      }),
      { raw_value: seat.adresse ?? null },
    );
  }
  if (company.activite_principale)
    list.add("activities", `naf2:${company.activite_principale}`, {
      scheme: "naf2",
      code: company.activite_principale,
      primary: true,
    });
  const band = BANDS[company.tranche_effectif_salarie ?? ""];
  if (band)
    list.set("size.employees", {
      minimum: band[0],
      maximum: band[1],
      as_of: dateOf(company.annee_tranche_effectif_salarie),
      basis: "band",
    });
  list.set("size.category", SIZES[company.categorie_entreprise ?? ""], {
    raw_value: company.categorie_entreprise ?? null,
  });
  return list.claims;
}

export function identifierClaims(document: RawDocument, company: Company): readonly SourceClaim[] {
  const list = claimList(document);
  list.identifier("fr_siren", company.siren);
  list.identifier("fr_siret", company.siege?.siret);
  return list.claims;
}

export function peopleClaims(document: RawDocument, company: Company): readonly SourceClaim[] {
  const list = claimList(document);
  for (const person of company.dirigeants ?? []) {
    const isEntity = person.type_dirigeant === "personne morale";
    const name = isEntity ? person.denomination : [person.prenoms, person.nom].filter(Boolean).join(" ");
    if (!name) continue;
    const label = person.qualite ?? "Dirigeant";
    addOfficer(list, {
      kind: isEntity ? "entity" : "person",
      name,
      given_name: person.prenoms ?? null,
      family_name: person.nom ?? null,
      role: { group: ROLE_GROUPS.find(([pattern]) => pattern.test(label))?.[1] ?? "other", label },
      born: person.date_de_naissance ?? person.annee_de_naissance ?? null,
      ref: person.siren ? `fr_siren:${person.siren}` : null,
      current: statusOf(company) !== "dissolved",
    });
  }
  return list.claims;
}

function financialClaims(document: RawDocument, company: Company): readonly SourceClaim[] {
  const list = claimList(document);
  for (const [year, { ca, resultat_net }] of Object.entries(company.finances ?? {})) {
    if (!/^[0-9]{4}$/.test(year)) continue;
    const items = [
      { concept: "ca", label: "Chiffre d'affaires", value: ca },
      { concept: "resultat_net", label: "Résultat net", value: resultat_net },
    ].flatMap(({ value, ...item }) =>
      value == null || !Number.isSafeInteger(value) ? [] : [{ ...item, value: String(value), unit: "EUR" }],
    );
    list.add("financials", `annual|${year}|`, {
      period_end: year,
      fiscal_year: Number(year),
      kind: "annual",
      currency: "EUR",
      items,
      source: "recherche_entreprises",
    });
  }
  return list.claims;
}

export const RECHERCHE_ENTREPRISES: SourceDescription = {
  name: "recherche_entreprises",
  title: "API Recherche d'entreprises (France)",
  countries: ["FR"],
  schemes: { lookup: ["fr_siren", "fr_siret"], yields: ["fr_siren", "fr_siret"] },
  home_register_of: ["FR"],
  capabilities: ["lookup", "search", "people", "financials"],
  groups: {
    core: { precedence: 100, freshness: "registry_core" },
    identifiers: { precedence: 100, freshness: "registry_core" },
    people: { precedence: 100, freshness: "registry_people" },
    financials: { precedence: 100, freshness: "financials" },
  },
  licence: {
    id: "etalab-2.0",
    url: "https://www.etalab.gouv.fr/licence-ouverte-open-licence/",
    attribution: "Source: INSEE, INPI",
    redistribution: "open",
  },
  has_personal_documents: true,
  terms_url: "https://recherche-entreprises.api.gouv.fr/docs/",
  // Seven a second and address.
  limits: { requests_per_second: 5, max_in_flight: 4 },
  parser_version: "2",
  canaries: [
    {
      identifier: { scheme: "fr_siren", value: "780129987" },
      expect: [{ field: "jurisdiction", key: null, value: "FR" }],
    },
  ],
};
const MAX_HITS = 25;

const isAsked = (scheme: string, value: string, company: Company): boolean =>
  scheme === "fr_siret"
    ? [company.siege, ...(company.matching_etablissements ?? [])].some((place) => place?.siret === value)
    : company.siren === value;

export const openRechercheEntreprises: OpenSource = ({ base_url }) => ({
  description: RECHERCHE_ENTREPRISES,
  inactive_because: null,

  async lookup({ scheme, value }, groups, http) {
    const response = await http({ method: "GET", url: `${base_url}/search?q=${value}&per_page=${MAX_HITS}` });
    if (response.kind === "failed") return response;
    if (response.status !== 200) return statusFailure(response);
    const { document } = response;
    const reading = readResults(response);
    if (reading.kind === "failed") return reading;
    const company = reading.value.results.find((result) => isAsked(scheme, value, result));
    if (!company) return { kind: "not_found", documents: [document] };
    const own = { kind: "claims", is_complete: true, documents: [document] } as const;
    return {
      kind: "found",
      native_id: company.siren,
      groups: [
        { group: "core", ...own, claims: coreClaims(document, company) },
        { group: "identifiers", ...own, claims: identifierClaims(document, company) },
        { group: "financials", ...own, claims: financialClaims(document, company) },
        ...(groups.includes("people")
          ? [{ group: "people", ...own, claims: peopleClaims(document, company) } as const]
          : []),
      ],
    };
  },

  async search({ name, limit }, http) {
    const url = `${base_url}/search?q=${encodeURIComponent(name)}&per_page=${Math.min(limit, MAX_HITS)}`;
    const response = await http({ method: "GET", url });
    if (response.kind === "failed") return response;
    if (response.status !== 200) return statusFailure(response);
    const reading = readResults(response);
    if (reading.kind === "failed") return reading;
    const hits = reading.value.results.map((company): SearchHit => {
      const identifier = { scheme: "fr_siren", value: company.siren };
      return {
        identifier,
        identifiers: [identifier],
        name: nameOf(company),
        former_names: [],
        status: statusOf(company),
        jurisdiction: "FR",
        city: company.siege?.libelle_commune ?? null,
        legal_form_category: categoryOf(company),
      };
    });
    return { kind: "found", hits };
  },
});
