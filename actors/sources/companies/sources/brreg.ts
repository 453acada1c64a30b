/**
 * The Norwegian register of legal entities (Brønnøysundregistrene): entities, sub-entities, roles.
 *
 * Peculiarities of the source:
 * - A number that is no entity may be a sub-entity, under another address.
 * - A company that was struck off is answered with 200 and `slettedato`; 410 means that it must no longer be shown.
 * - Roles have the full date of birth, of which year and month are read.
 */
import { type Static, Type } from "typebox";
import type { Json, SourceClaim } from "../claim.ts";
import type { FieldGroup } from "../../../../schemas/companies.ts";
import { legalFormCategory } from "../names/legal-forms.ts";
import type {
  GroupAnswer,
  OpenSource,
  RawDocument,
  SearchHit,
  SourceDescription,
  SourceHttp,
} from "../source.ts";
import { claimList } from "./claims.ts";
import { addOfficer, type RoleGroup } from "./people.ts";
import { jsonReader, maybe, maybeText, statusFailure } from "./reading.ts";
import { addressOf, countryOf, dateOf } from "./values.ts";

const NorwegianAddress = Type.Object({
  adresse: maybe(Type.Array(Type.Union([Type.String(), Type.Null()]))),
  postnummer: maybeText,
  poststed: maybeText,
  landkode: maybeText,
});
const Coded = Type.Object({ kode: Type.String(), beskrivelse: maybeText });
export const Entity = Type.Object({
  organisasjonsnummer: Type.String(),
  navn: Type.String(),
  organisasjonsform: maybe(Coded),
  forretningsadresse: maybe(NorwegianAddress),
  beliggenhetsadresse: maybe(NorwegianAddress),
  postadresse: maybe(NorwegianAddress),
  naeringskode1: maybe(Coded),
  naeringskode2: maybe(Coded),
  naeringskode3: maybe(Coded),
  antallAnsatte: maybe(Type.Integer()),
  stiftelsesdato: maybeText,
  registreringsdatoEnhetsregisteret: maybeText,
  konkurs: maybe(Type.Boolean()),
  underAvvikling: maybe(Type.Boolean()),
  underTvangsavviklingEllerTvangsopplosning: maybe(Type.Boolean()),
  slettedato: maybeText,
  nedleggelsesdato: maybeText,
  overordnetEnhet: maybeText,
  hjemmeside: maybeText,
  epostadresse: maybeText,
  telefon: maybeText,
  vedtektsfestetFormaal: maybe(Type.Array(Type.String())),
  kapital: maybe(
    Type.Object({ belop: maybe(Type.Union([Type.Number(), Type.String()])), valuta: maybeText }),
  ),
});
export type Entity = Static<typeof Entity>;
const readEntity = jsonReader(Entity);
const readEntities = jsonReader(
  Type.Object({ _embedded: maybe(Type.Object({ enheter: maybe(Type.Array(Entity)) })) }),
);
const readRoles = jsonReader(
  Type.Object({
    rollegrupper: maybe(
      Type.Array(
        Type.Object({
          roller: maybe(
            Type.Array(
              Type.Object({
                type: Coded,
                person: maybe(
                  Type.Object({
                    navn: Type.Object({ fornavn: maybeText, mellomnavn: maybeText, etternavn: maybeText }),
                    fodselsdato: maybeText,
                  }),
                ),
                enhet: maybe(
                  Type.Object({ organisasjonsnummer: maybeText, navn: maybe(Type.Array(Type.String())) }),
                ),
                fratraadt: maybe(Type.Boolean()),
                avregistrert: maybe(Type.Boolean()),
              }),
            ),
          ),
        }),
      ),
    ),
  }),
);

const ROLES: Readonly<Record<string, RoleGroup>> = {
  DAGL: "management",
  LEDE: "board",
  NEST: "board",
  MEDL: "board",
  VARA: "board",
  OBS: "board",
  BEST: "management",
  INNH: "management",
  REVI: "auditor",
  REGN: "other",
  KONT: "other",
  DTPR: "partner",
  DTSO: "partner",
  KOMP: "partner",
  BOBE: "liquidator",
  AVVI: "liquidator",
  PROK: "signatory",
  SIGN: "signatory",
  REPR: "representative",
};
const FORMS: Readonly<Record<string, string>> = {
  ENK: "sole_proprietor",
  NUF: "branch",
  BEDR: "branch",
  AAFY: "branch",
  FLI: "association",
  STI: "foundation",
  ORGL: "government",
  KOMM: "government",
  STAT: "government",
  FYLK: "government",
  SAM: "other",
  KS: "limited_partnership",
  SE: "european_company",
};

function statusOf(entity: Entity): string {
  if (entity.slettedato || entity.nedleggelsesdato) return "dissolved";
  if (entity.konkurs) return "insolvency";
  if (entity.underAvvikling || entity.underTvangsavviklingEllerTvangsopplosning) return "liquidation";
  return "active";
}

const categoryOf = (code: string): string => FORMS[code] ?? legalFormCategory(code, "NO") ?? "other";

function address(type: "registered" | "business" | "mailing", written: Entity["postadresse"]): Json | null {
  return written
    ? addressOf({
        type,
        lines: written.adresse ?? [],
        postal_code: written.postnummer,
        city: written.poststed,
        country: countryOf(written.landkode),
        language: "no",
      })
    : null;
}

export function entityClaims(document: RawDocument, entity: Entity): readonly SourceClaim[] {
  const list = claimList(document);
  list.set("names.legal", entity.navn, { language: "no" });
  list.set("status", statusOf(entity));
  list.set("jurisdiction", "NO");
  if (entity.organisasjonsform) {
    const { kode, beskrivelse } = entity.organisasjonsform;
    list.set("legal_form", {
      local: { scheme: "brreg", code: kode },
      label: beskrivelse ?? null,
      abbreviation: kode,
      category: categoryOf(kode),
    });
  }
  list.set("dates.incorporation", dateOf(entity.stiftelsesdato));
  list.set("dates.registration", dateOf(entity.registreringsdatoEnhetsregisteret));
  list.set("dates.deregistration", dateOf(entity.slettedato ?? entity.nedleggelsesdato));
  list.add("addresses", "registered", address("registered", entity.forretningsadresse));
  list.add("addresses", "business", address("business", entity.beliggenhetsadresse));
  list.add("addresses", "mailing", address("mailing", entity.postadresse));
  const codes = [entity.naeringskode1, entity.naeringskode2, entity.naeringskode3];
  for (const [at, activity] of codes.entries())
    if (activity)
      list.add("activities", `nace2:${activity.kode}`, {
        scheme: "nace2",
        code: activity.kode,
        label: activity.beskrivelse ?? null,
        primary: at === 0,
      });
  if (entity.antallAnsatte != null)
    list.set("size.employees", { value: entity.antallAnsatte, basis: "headcount" });
  if (entity.kapital?.belop != null && entity.kapital.valuta)
    list.add("capital", `share:${entity.kapital.valuta}`, {
      type: "share",
      amount: String(entity.kapital.belop),
      currency: entity.kapital.valuta,
    });
  list.add("purpose", "no", entity.vedtektsfestetFormaal?.join(" "), { language: "no" });
  return list.claims;
}

function webClaims(document: RawDocument, entity: Entity): readonly SourceClaim[] {
  const list = claimList(document);
  const site = entity.hjemmeside?.trim();
  if (site)
    list.set("web.homepage", /^https?:\/\//i.test(site) ? site : `https://${site}`, { raw_value: site });
  list.add(
    "web.emails",
    entity.epostadresse?.trim().toLowerCase() ?? "",
    entity.epostadresse?.trim().toLowerCase(),
  );
  list.add("web.phones", entity.telefon?.trim() ?? "", entity.telefon?.trim());
  return list.claims;
}

async function peopleGroup(number: string, base_url: string, http: SourceHttp): Promise<GroupAnswer> {
  const response = await http({ method: "GET", url: `${base_url}/enheter/${number}/roller` });
  if (response.kind === "failed") return { group: "people", documents: [], ...response };
  const { document } = response;
  const own = { group: "people", documents: [document] } as const;
  if (response.status === 404) return { ...own, kind: "claims", is_complete: true, claims: [] };
  if (response.status !== 200) return { ...own, ...statusFailure(response) };
  const reading = readRoles(response);
  if (reading.kind === "failed") return { ...own, ...reading };
  const list = claimList(document);
  for (const { type, person, enhet, fratraadt, avregistrert } of (reading.value.rollegrupper ?? []).flatMap(
    ({ roller }) => roller ?? [],
  )) {
    const { fornavn, mellomnavn, etternavn } = person?.navn ?? {};
    const name = person
      ? [fornavn, mellomnavn, etternavn].filter(Boolean).join(" ")
      : (enhet?.navn ?? []).join(" ");
    if (name === "") continue;
    addOfficer(list, {
      kind: person ? "person" : "entity",
      name,
      given_name: fornavn ?? null,
      family_name: etternavn ?? null,
      role: { group: ROLES[type.kode] ?? "other", label: type.beskrivelse ?? type.kode, code: type.kode },
      born: person?.fodselsdato ?? null,
      ref: enhet?.organisasjonsnummer ? `no_orgnr:${enhet.organisasjonsnummer}` : null,
      current: !fratraadt && !avregistrert,
    });
  }
  return { ...own, kind: "claims", is_complete: true, claims: list.claims };
}

export const BRREG: SourceDescription = {
  name: "brreg",
  title: "Brønnøysundregistrene, Enhetsregisteret",
  countries: ["NO"],
  schemes: { lookup: ["no_orgnr"], yields: ["no_orgnr"] },
  home_register_of: ["NO"],
  capabilities: ["lookup", "search", "people", "relationships"],
  groups: {
    core: { precedence: 100, freshness: "registry_core" },
    identifiers: { precedence: 100, freshness: "registry_core" },
    web: { precedence: 100, freshness: "registry_core" },
    relationships: { precedence: 100, freshness: "registry_core" },
    people: { precedence: 100, freshness: "registry_people" },
  },
  licence: {
    id: "NLOD-2.0",
    url: "https://data.norge.no/nlod/no/2.0",
    attribution:
      "Contains data under the Norwegian licence for Open Government data (NLOD) distributed by Brønnøysundregistrene",
    redistribution: "open",
  },
  terms_url: "https://data.brreg.no/enhetsregisteret/api/dokumentasjon/no/index.html",
  limits: { requests_per_second: 2, max_in_flight: 2 },
  parser_version: "1",
  canaries: [
    {
      identifier: { scheme: "no_orgnr", value: "923609016" },
      expect: [{ field: "jurisdiction", key: null, value: "NO" }],
    },
  ],
};

/** A sub-entity belongs to the entity above it. */
function relationshipClaims(document: RawDocument, { overordnetEnhet }: Entity): readonly SourceClaim[] {
  const list = claimList(document);
  const ref = `no_orgnr:${overordnetEnhet ?? ""}`;
  if (overordnetEnhet)
    list.add("relationships", `branch_of|out|${ref}`, {
      type: "branch_of",
      direction: "out",
      party: { kind: "entity", name: null, ref, country: "NO" },
      current: true,
    });
  return list.claims;
}

/** Reads the document of one entity, whether it was asked for or is one of many in a file. */
export function entityGroups(
  document: RawDocument,
  entity: Entity,
): readonly { readonly group: FieldGroup; readonly claims: readonly SourceClaim[] }[] {
  const numbers = claimList(document);
  numbers.identifier("no_orgnr", entity.organisasjonsnummer);
  return [
    { group: "core", claims: entityClaims(document, entity) },
    { group: "identifiers", claims: numbers.claims },
    { group: "web", claims: webClaims(document, entity) },
    { group: "relationships", claims: relationshipClaims(document, entity) },
  ];
}

export const openBrreg: OpenSource = ({ base_url }) => ({
  description: BRREG,
  inactive_because: null,

  async lookup({ value }, groups, http) {
    const entity = await http({ method: "GET", url: `${base_url}/enheter/${value}` });
    if (entity.kind === "failed") return entity;
    const response =
      entity.status === 404
        ? await http({ method: "GET", url: `${base_url}/underenheter/${value}` })
        : entity;
    if (response.kind === "failed") return response;
    const { document } = response;
    const documents = [document];
    if (response.status === 410) return { kind: "withdrawn", documents };
    if (response.status === 404) return { kind: "not_found", documents };
    if (response.status !== 200) return statusFailure(response);
    const reading = readEntity(response);
    if (reading.kind === "failed") return reading;
    const own = { kind: "claims", is_complete: true, documents } as const;
    return {
      kind: "found",
      native_id: reading.value.organisasjonsnummer,
      groups: [
        ...entityGroups(document, reading.value).map((each) => ({ ...own, ...each })),
        ...(groups.includes("people") && response === entity
          ? [await peopleGroup(value, base_url, http)]
          : []),
      ],
    };
  },

  async search({ name, limit }, http) {
    const url = `${base_url}/enheter?navn=${encodeURIComponent(name)}&size=${Math.min(limit, 100)}`;
    const response = await http({ method: "GET", url });
    if (response.kind === "failed") return response;
    if (response.status !== 200) return statusFailure(response);
    const reading = readEntities(response);
    if (reading.kind === "failed") return reading;
    const hits = (reading.value._embedded?.enheter ?? []).map((entity): SearchHit => {
      const identifier = { scheme: "no_orgnr", value: entity.organisasjonsnummer };
      return {
        identifier,
        identifiers: [identifier],
        name: entity.navn,
        former_names: [],
        status: statusOf(entity),
        jurisdiction: "NO",
        city: entity.forretningsadresse?.poststed ?? null,
        legal_form_category: entity.organisasjonsform ? categoryOf(entity.organisasjonsform.kode) : null,
      };
    });
    return { kind: "found", hits };
  },
});
