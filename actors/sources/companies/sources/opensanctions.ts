/**
 * OpenSanctions: companies of lists of sanctions and of registers, as FollowTheMoney entities. It is known by its files only, and never asked.
 *
 * Peculiarities of the source:
 * - Every property is a list of texts; the first of several is no better than the others.
 * - The number at a register comes without its register: it is an identifier where the country has one register and the form fits.
 */
import { type Static, Type } from "typebox";
import type { SourceClaim } from "../claim.ts";
import type { FieldGroup } from "../../../../schemas/companies.ts";
import { legalFormCategory } from "../names/legal-forms.ts";
import type { RawDocument, Source, SourceDescription } from "../source.ts";
import { claimList } from "./claims.ts";
import { failure, maybe, maybeText } from "./reading.ts";
import { addressOf, countryOf, dateOf } from "./values.ts";

const Texts = maybe(Type.Array(Type.String(), { maxItems: 1_000 }));
export const FtmEntity = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 255 }),
  caption: maybeText,
  properties: Type.Object({
    name: Texts,
    alias: Texts,
    weakAlias: Texts,
    previousName: Texts,
    jurisdiction: Texts,
    country: Texts,
    mainCountry: Texts,
    legalForm: Texts,
    incorporationDate: Texts,
    dissolutionDate: Texts,
    address: Texts,
    website: Texts,
    email: Texts,
    phone: Texts,
    vatCode: Texts,
    registrationNumber: Texts,
    leiCode: Texts,
    swiftBic: Texts,
    wikidataId: Texts,
    cikCode: Texts,
    topics: Texts,
  }),
  datasets: Texts,
});
export type FtmEntity = Static<typeof FtmEntity>;

/** The scheme of a country's register. */
const REGISTERS: Readonly<Record<string, string>> = {
  GB: "gb_coh",
  NO: "no_orgnr",
  FR: "fr_siren",
  FI: "fi_ytunnus",
  DK: "dk_cvr",
  SE: "se_orgnr",
  CZ: "cz_ico",
  SK: "sk_ico",
  PL: "pl_krs",
  NL: "nl_kvk",
  BE: "be_kbo",
  IE: "ie_cro",
  CH: "ch_uid",
  CN: "cn_uscc",
  BR: "br_cnpj",
  IN: "in_cin",
  SG: "sg_uen",
};
/** The most names and addresses that are read of an entity; an entity of many lists has hundreds. */
const MAX_NAMES = 50;
const first = (texts: readonly string[] | null | undefined): string | null => texts?.[0] ?? null;

export const nameOf = ({ caption, properties: { name } }: FtmEntity): string | null =>
  caption?.trim() || first(name)?.trim() || null;

export function ftmGroups(
  document: RawDocument,
  entity: FtmEntity,
): readonly { readonly group: FieldGroup; readonly claims: readonly SourceClaim[] }[] {
  const { properties } = entity;
  const country =
    [properties.jurisdiction, properties.mainCountry, properties.country].flatMap(
      (codes) => countryOf(first(codes)) ?? [],
    )[0] ?? null;
  const core = claimList(document);
  core.set("names.legal", nameOf(entity));
  const others = [properties.name, properties.alias, properties.weakAlias].flatMap((names) => names ?? []);
  for (const name of others.filter((each) => each !== nameOf(entity)).slice(0, MAX_NAMES))
    core.name("names.other", name, { type: "alternative" });
  for (const name of (properties.previousName ?? []).slice(0, MAX_NAMES))
    core.name("names.former", name, { type: "former" });
  core.set("jurisdiction", country);
  const form = first(properties.legalForm);
  if (form !== null)
    core.set("legal_form", { label: form, category: legalFormCategory(form, country) ?? "other" });
  core.set("dates.incorporation", dateOf(first(properties.incorporationDate)));
  const ended_on = dateOf(first(properties.dissolutionDate));
  core.set("dates.deregistration", ended_on);
  if (ended_on !== null) core.set("status", "dissolved");
  core.add(
    "addresses",
    "alternative",
    addressOf({ type: "alternative", lines: [first(properties.address)], country }),
  );

  const numbers = claimList(document);
  for (const lei of properties.leiCode ?? []) numbers.identifier("lei", lei);
  for (const bic of properties.swiftBic ?? []) numbers.identifier("bic", bic);
  for (const item of properties.wikidataId ?? []) numbers.identifier("wikidata", item);
  for (const vat of properties.vatCode ?? []) numbers.identifier("eu_vat", vat);
  for (const cik of properties.cikCode ?? []) numbers.identifier("us_cik", cik);
  const register = REGISTERS[country ?? ""];
  if (register !== undefined)
    for (const number of properties.registrationNumber ?? []) numbers.identifier(register, number);

  const web = claimList(document);
  const site = first(properties.website)?.trim();
  if (site)
    web.set("web.homepage", /^https?:\/\//i.test(site) ? site : `https://${site}`, { raw_value: site });
  for (const email of (properties.email ?? []).slice(0, MAX_NAMES))
    web.add("web.emails", email.trim().toLowerCase(), email.trim().toLowerCase());
  for (const phone of (properties.phone ?? []).slice(0, MAX_NAMES))
    web.add("web.phones", phone.trim(), phone.trim());
  return [
    { group: "core", claims: core.claims },
    { group: "identifiers", claims: numbers.claims },
    { group: "web", claims: web.claims },
  ];
}

/** Below every register. */
const RULE = { precedence: 30, freshness: "registry_core" } as const;

const OPENSANCTIONS: SourceDescription = {
  name: "opensanctions",
  title: "OpenSanctions (FollowTheMoney entities)",
  countries: [],
  schemes: {
    lookup: [],
    yields: ["lei", "bic", "wikidata", "us_cik", "eu_vat", ...Object.values(REGISTERS)],
  },
  home_register_of: [],
  capabilities: [],
  groups: { core: RULE, identifiers: RULE, web: RULE },
  licence: {
    id: "CC-BY-NC-4.0",
    url: "https://creativecommons.org/licenses/by-nc/4.0/",
    attribution: "OpenSanctions.org; commercial use needs a licence of OpenSanctions",
    redistribution: "internal",
  },
  terms_url: "https://www.opensanctions.org/licensing/",
  limits: { requests_per_second: 1, max_in_flight: 1 },
  parser_version: "2",
  canaries: [],
};

const WHY = "only its files are imported";

/** Sources of which files are imported, and that have no API here. */
export const openSanctions: Source = {
  description: OPENSANCTIONS,
  inactive_because: WHY,
  lookup: async () => failure("not_configured", `Cannot ask "${OPENSANCTIONS.name}": ${WHY}`),
};
