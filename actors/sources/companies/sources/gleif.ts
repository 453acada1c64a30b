/**
 * GLEIF, the Global Legal Entity Identifier Foundation: LEI records, parents and their exceptions, ISINs.
 *
 * Peculiarities of the source:
 * - Children are a list of their own, field modifications too; the latter are read only where events are asked for.
 * - Dates are midnight at the company's place, written in UTC (`dateFrom`).
 * - The status of the LEI's registration is not the company's: a lapsed LEI lowers the precedence, nothing more.
 * - The record's links name either a parent's record or an exception; asking for the other one is a 404.
 * - Legal forms 8888 and 9999 are "not on the list": their text is the label.
 */
import { type Static, Type } from "typebox";
import type { SourceClaim } from "../claim.ts";
import { foldName } from "../names/fold.ts";
import { elfForm } from "../schemes/elf.ts";
import { digestId } from "../stored-claims.ts";
import type {
  CompanyIdentifier,
  GroupAnswer,
  OpenSource,
  RawDocument,
  SearchHit,
  SourceDescription,
  SourceFailure,
  SourceHttp,
  SourceResponse,
} from "../source.ts";
import { claimList } from "./claims.ts";
import { type PagesAnswer, readPages } from "./pages.ts";
import { jsonReader, maybe, maybeText, type Reading, statusFailure } from "./reading.ts";
import { addressOf, categoryOfName, countryOf, dateOf, entityParty } from "./values.ts";

const GleifAddress = Type.Object({
  language: maybeText,
  addressLines: maybe(Type.Array(Type.String())),
  addressNumber: maybeText,
  mailRouting: maybeText,
  type: maybeText,
  city: maybeText,
  region: maybeText,
  country: maybeText,
  postalCode: maybeText,
});
const GleifName = Type.Object({ name: maybeText, language: maybeText, type: maybeText });
const Authority = Type.Object({ id: maybeText, other: maybeText });
const Successor = Type.Object({ lei: maybeText, name: maybeText });

const LeiRecord = Type.Object({
  id: Type.String(),
  attributes: Type.Object({
    lei: Type.String(),
    entity: Type.Object({
      legalName: Type.Object({ name: Type.String(), language: maybeText }),
      otherNames: maybe(Type.Array(GleifName)),
      transliteratedOtherNames: maybe(Type.Array(GleifName)),
      legalAddress: GleifAddress,
      headquartersAddress: maybe(GleifAddress),
      otherAddresses: maybe(Type.Array(GleifAddress)),
      registeredAt: maybe(Authority),
      registeredAs: maybeText,
      jurisdiction: maybeText,
      category: maybeText,
      legalForm: maybe(Type.Object({ id: maybeText, other: maybeText })),
      status: maybeText,
      expiration: maybe(Type.Object({ date: maybeText, reason: maybeText })),
      successorEntities: maybe(Type.Array(Successor)),
      creationDate: maybeText,
      eventGroups: maybe(
        Type.Array(
          Type.Object({
            events: maybe(
              Type.Array(
                Type.Object({
                  type: maybeText,
                  status: maybeText,
                  effectiveDate: maybeText,
                  recordedDate: maybeText,
                }),
              ),
            ),
          }),
        ),
      ),
    }),
    registration: Type.Object({
      status: maybeText,
      corroborationLevel: maybeText,
      initialRegistrationDate: maybeText,
      nextRenewalDate: maybeText,
      managingLou: maybeText,
    }),
    bic: maybe(Type.Array(Type.String())),
    ocid: maybeText,
  }),
  relationships: maybe(
    Type.Record(Type.String(), Type.Object({ links: maybe(Type.Record(Type.String(), Type.Unknown())) })),
  ),
});
export type LeiRecord = Static<typeof LeiRecord>;

const readRecord = jsonReader(Type.Object({ data: LeiRecord }));
const readRecords = jsonReader(Type.Object({ data: Type.Array(LeiRecord) }));
const readRelationship = jsonReader(
  Type.Object({
    data: Type.Object({
      attributes: Type.Object({
        relationship: Type.Object({
          endNode: Type.Object({ id: Type.String() }),
          type: Type.String(),
          status: maybeText,
          periods: maybe(
            Type.Array(Type.Object({ type: Type.String(), startDate: maybeText, endDate: maybeText })),
          ),
        }),
        registration: maybe(Type.Object({ corroborationLevel: maybeText })),
      }),
    }),
  }),
);
const readException = jsonReader(
  Type.Object({
    data: Type.Object({
      attributes: Type.Object({ category: Type.String(), reason: Type.String(), reference: maybeText }),
    }),
  }),
);
const PageMeta = Type.Object({
  goldenCopy: maybe(Type.Object({ publishDate: maybeText })),
  pagination: Type.Object({ total: Type.Integer() }),
});
const readChildrenPage = jsonReader(Type.Object({ meta: PageMeta, data: Type.Array(LeiRecord) }));
const Modification = Type.Object({
  attributes: Type.Object({
    field: Type.String(),
    date: maybeText,
    modificationType: maybeText,
    valueOld: maybeText,
    valueNew: maybeText,
  }),
});
type Modification = Static<typeof Modification>;
const readModifications = jsonReader(Type.Object({ meta: PageMeta, data: Type.Array(Modification) }));
const readIsins = jsonReader(
  Type.Object({
    meta: PageMeta,
    data: Type.Array(Type.Object({ attributes: Type.Object({ isin: Type.String() }) })),
  }),
);

/** Places whose midnight is 13 or 14 hours before midnight in UTC. */
const FAR_EAST: ReadonlySet<string> = new Set(["NZ", "TO", "WS", "KI", "FJ", "TK"]);
const HOUR_MS = 3_600_000;

/** The date at the company's place of a midnight that was written in UTC. */
export function dateFrom(timestamp: string | null | undefined, jurisdiction: string): string | null {
  const day = dateOf(timestamp);
  const at_ms = Date.parse(timestamp ?? "");
  if (day === null || Number.isNaN(at_ms) || /T00:00/.test(timestamp!)) return day;
  const isFarEast = FAR_EAST.has(jurisdiction.slice(0, 2)) && /T1[01]:00/.test(timestamp!);
  return new Date(at_ms + (isFarEast ? 14 : 12) * HOUR_MS).toISOString().slice(0, 10);
}

const CATEGORIES: Readonly<Record<string, string>> = {
  BRANCH: "branch",
  FUND: "fund",
  SOLE_PROPRIETOR: "sole_proprietor",
  RESIDENT_GOVERNMENT_ENTITY: "government",
  INTERNATIONAL_ORGANIZATION: "other",
};
const EVENTS: Readonly<Record<string, string>> = {
  CHANGE_LEGAL_NAME: "name_change",
  CHANGE_OTHER_NAMES: "name_change",
  CHANGE_LEGAL_ADDRESS: "address_change",
  CHANGE_HQ_ADDRESS: "address_change",
  CHANGE_LEGAL_FORM: "legal_form_change",
  MERGERS_AND_ACQUISITIONS: "merger",
  ABSORPTION: "merger",
  ACQUISITION_BRANCH: "acquisition",
  SPINOFF: "spin_off",
  DEMERGER: "spin_off",
  LIQUIDATION: "liquidation",
  BANKRUPTCY: "insolvency",
  INSOLVENCY: "insolvency",
  VOLUNTARY_ARRANGEMENT: "insolvency",
  DISSOLUTION: "deregistration",
};
const NOT_LISTED: ReadonlySet<string> = new Set(["8888", "9999"]);

/** By GLEIF's category of entities, else by the code of the form, else by the form that the name shows. */
function categoryOf({
  category,
  legalForm,
  legalName,
  jurisdiction,
  legalAddress,
}: LeiRecord["attributes"]["entity"]): string | null {
  const country = countryOf((jurisdiction ?? legalAddress.country ?? "").slice(0, 2));
  return (
    CATEGORIES[category ?? ""] ??
    elfForm(legalForm?.id ?? "")?.category ??
    categoryOfName(legalName.name, country)
  );
}

/** FULLY_CORROBORATED and not lapsed: checked against the register itself. */
export const precedenceOf = ({ attributes: { registration } }: LeiRecord): number =>
  registration.corroborationLevel === "FULLY_CORROBORATED" && registration.status !== LAPSED ? 80 : 60;

function statusOf({ status, expiration, successorEntities }: LeiRecord["attributes"]["entity"]): string {
  if (status === "ACTIVE") return "active";
  if (status !== "INACTIVE") return "unknown";
  const isMerged = expiration?.reason === "CORPORATE_ACTION" && (successorEntities ?? []).length > 0;
  return isMerged ? "merged" : "dissolved";
}

/** The core of one LEI record: names, form, status, place, dates. */
export function coreClaims(document: RawDocument, record: LeiRecord): readonly SourceClaim[] {
  const { entity } = record.attributes;
  const list = claimList(document);
  const jurisdiction = entity.jurisdiction ?? entity.legalAddress.country ?? "";
  const language = entity.legalName.language ?? null;
  list.set("names.legal", entity.legalName.name, { language });
  for (const { name, type, language: other } of entity.otherNames ?? []) {
    const more = { language: other ?? null };
    if (type === "PREVIOUS_LEGAL_NAME") list.name("names.former", name, { type: "former", ...more }, more);
    else if (type === "TRADING_OR_OPERATING_NAME")
      list.name("names.trading", name, { type: "trading", ...more }, more);
    else if (type === "ALTERNATIVE_LANGUAGE_LEGAL_NAME")
      list.name("names.translations", name, { type: "translation", ...more }, more);
    else list.name("names.other", name, { type: "alternative", ...more }, more);
  }
  list.set(
    "names.transliterated",
    (entity.transliteratedOtherNames ?? []).find(({ type }) => /LEGAL/.test(type ?? ""))?.name,
  );
  const { id: elf = null, other = null } = entity.legalForm ?? {};
  const isListed = elf !== null && !NOT_LISTED.has(elf) && /^[0-9A-Z]{4}$/.test(elf);
  const form = isListed ? elfForm(elf) : null;
  const category = categoryOf(record.attributes.entity);
  if (isListed || other !== null || category !== null)
    list.set(
      "legal_form",
      {
        elf: isListed ? elf : null,
        label: form?.label ?? other,
        ...(form?.abbreviation && { abbreviation: form.abbreviation }),
        category: category ?? "unknown",
      },
      { raw_value: { id: elf, other } },
    );
  list.set("status", statusOf(entity), { raw_value: entity.status ?? null });
  list.set("jurisdiction", /^[A-Z]{2}(?:-[A-Z0-9]{1,3})?$/.test(jurisdiction) ? jurisdiction : null);
  list.set("dates.registration", dateFrom(entity.creationDate, jurisdiction), {
    raw_value: entity.creationDate ?? null,
  });
  if (entity.status === "INACTIVE")
    list.set("dates.deregistration", dateFrom(entity.expiration?.date, jurisdiction));
  for (const [type, address] of [
    ["registered", entity.legalAddress],
    ["headquarters", entity.headquartersAddress],
  ] as const)
    if (address) list.add("addresses", type, gleifAddress(type, address));
  for (const [at, address] of (entity.otherAddresses ?? []).entries())
    list.add("addresses", `alternative:${at + 1}`, gleifAddress("alternative", address));
  return list.claims;
}

const gleifAddress = (
  type: "registered" | "headquarters" | "alternative",
  address: Static<typeof GleifAddress>,
) =>
  addressOf({
    type,
    care_of: address.mailRouting,
    lines: address.addressLines ?? [],
    house_number: address.addressNumber,
    postal_code: address.postalCode,
    city: address.city,
    region: address.region,
    country: countryOf(address.country),
    language: address.language,
  });

/** States in which an LEI is current. An LEI may lapse while the company is well. */
const CURRENT_LEI: ReadonlySet<string> = new Set(["ISSUED", "PENDING_TRANSFER", "PENDING_ARCHIVAL"]);
/** Was not renewed on its date; any other LEI that is not current (DUPLICATE, RETIRED, ANNULLED) was withdrawn. */
const LAPSED = "LAPSED";

/** Midnight in UTC at places whose clock is not whole hours from it, in standard time and in summer. */
const PART_HOUR_MIDNIGHTS: Readonly<Record<string, RegExp>> = {
  AF: /T19:30:00/,
  AU: /T1[34]:30:00/,
  CA: /T0[23]:30:00/,
  IN: /T18:30:00/,
  IR: /T(?:19|20):30:00/,
  LK: /T18:30:00/,
  MM: /T17:30:00/,
  NP: /T18:15:00/,
};

/** A moment of the issuer's clock; of a midnight at the company's place the day there. */
export function dayOf(timestamp: string | null | undefined, jurisdiction: string): string | null {
  const isMidnight =
    /T[0-9]{2}:00:00/.test(timestamp ?? "") ||
    PART_HOUR_MIDNIGHTS[jurisdiction.slice(0, 2)]?.test(timestamp ?? "") === true;
  return isMidnight ? dateFrom(timestamp, jurisdiction) : dateOf(timestamp);
}

/** The numbers of an LEI record. The court of a German number is in the OpenCorporates id only. */
export function identifierClaims(document: RawDocument, { attributes }: LeiRecord): readonly SourceClaim[] {
  const list = claimList(document);
  const { registeredAt, registeredAs, jurisdiction } = attributes.entity;
  const { status, initialRegistrationDate, nextRenewalDate, managingLou } = attributes.registration;
  const isCurrent = CURRENT_LEI.has(status ?? "ISSUED");
  list.identifier("lei", attributes.lei, {
    status: isCurrent ? "active" : "inactive",
    issuer: managingLou ? `lei:${managingLou}` : null,
    valid_from: dayOf(initialRegistrationDate, jurisdiction ?? ""),
    // A number that was withdrawn keeps the date of a renewal that will not come.
    valid_to: isCurrent || status === LAPSED ? dayOf(nextRenewalDate, jurisdiction ?? "") : null,
  });
  list.registerNumber(registeredAt?.id, registeredAs, countryOf(jurisdiction?.slice(0, 2)));
  for (const bic of attributes.bic ?? []) list.identifier("bic", bic);
  list.identifier("ocid", attributes.ocid);
  if (attributes.ocid?.startsWith("de/"))
    list.identifier("de_hrb", attributes.ocid.slice(3), registeredAt?.id ? { ra_code: registeredAt.id } : {});
  return list.claims;
}

export function eventClaims(
  document: RawDocument,
  { attributes: { lei, entity } }: LeiRecord,
): readonly SourceClaim[] {
  const list = claimList(document);
  const jurisdiction = entity.jurisdiction ?? "";
  for (const { type, status, effectiveDate, recordedDate } of (entity.eventGroups ?? []).flatMap(
    ({ events }) => events ?? [],
  )) {
    const date = dateFrom(effectiveDate ?? recordedDate, jurisdiction);
    if (!type || date === null || status === "WITHDRAWN_CANCELLED") continue;
    const id = `gleif:${lei}:${type}:${date}`;
    list.add("events", id, {
      id,
      type: EVENTS[type] ?? "other",
      date,
      published_on: dateFrom(recordedDate, jurisdiction),
      title: type,
      source: "gleif",
    });
  }
  return list.claims;
}

/** A successor is known by the record itself. */
export function successorClaims(
  document: RawDocument,
  { attributes: { entity } }: LeiRecord,
): readonly SourceClaim[] {
  const list = claimList(document);
  for (const { lei, name } of entity.successorEntities ?? []) {
    const ref = lei ? `lei:${lei}` : null;
    if (ref === null && !name) continue;
    list.add("relationships", `predecessor_of|out|${ref ?? foldName(name!)}`, {
      type: "predecessor_of",
      direction: "out",
      party: entityParty({ name, ref }),
      current: true,
    });
  }
  return list.claims;
}

export const GLEIF: SourceDescription = {
  name: "gleif",
  title: "GLEIF LEI records",
  countries: ["*"],
  schemes: {
    lookup: ["lei", "isin", "bic"],
    yields: [
      "lei",
      "bic",
      "ocid",
      "isin",
      "ch_uid",
      "gb_coh",
      "de_hrb",
      "fr_siren",
      "us_de_file",
      "no_orgnr",
      "pl_krs",
    ],
  },
  home_register_of: [],
  capabilities: ["lookup", "search", "relationships", "ownership", "events", "securities"],
  groups: {
    core: { precedence: 80, freshness: "lei_core" },
    identifiers: { precedence: 80, freshness: "lei_core" },
    events: { precedence: 60, freshness: "lei_core" },
    relationships: { precedence: 80, freshness: "lei_relationships" },
    ownership: { precedence: 80, freshness: "lei_relationships" },
    securities: { precedence: 60, freshness: "securities" },
  },
  licence: {
    id: "CC0-1.0",
    url: "https://creativecommons.org/publicdomain/zero/1.0/",
    attribution: null,
    redistribution: "open",
  },
  terms_url: "https://www.gleif.org/en/meta/lei-data-terms-of-use",
  limits: { requests_per_second: 1, max_in_flight: 2 },
  parser_version: "3",
  canaries: [
    {
      identifier: { scheme: "lei", value: "5493001KJTIIGC8Y1R12" },
      expect: [{ field: "jurisdiction", key: null, value: "US-DE" }],
    },
  ],
};

const ACCEPT = [["Accept", "application/vnd.api+json"]] as const;
/** Items of a list on one page. The largest issuers have thousands of ISINs; a list over `MAX_PAGES` pages is marked as incomplete. */
const ITEMS_A_PAGE = 200;
const MAX_PAGES = 10;

interface Asked {
  readonly http: SourceHttp;
  readonly base_url: string;
}

interface GleifPage<Item> {
  readonly meta: Static<typeof PageMeta>;
  readonly data: readonly Item[];
}

/** A list below the record. Its pages must be of one golden copy. */
const readList = <Item>(
  { attributes: { lei } }: LeiRecord,
  path: string,
  { http, base_url }: Asked,
  read: (response: SourceResponse) => Reading<GleifPage<Item>>,
): Promise<PagesAnswer<Item>> =>
  readPages<Item>(http, {
    max_pages: MAX_PAGES,
    request: (_start, page) => ({
      method: "GET",
      url: `${base_url}/lei-records/${lei}/${path}?page%5Bnumber%5D=${page}&page%5Bsize%5D=${ITEMS_A_PAGE}`,
      headers: ACCEPT,
    }),
    read(response) {
      const reading = read(response);
      if (reading.kind === "failed") return reading;
      const { meta, data } = reading.value;
      const edition = meta.goldenCopy?.publishDate ?? null;
      return { kind: "read", value: { total: meta.pagination.total, items: data, edition } };
    },
  });

interface Fetched {
  readonly documents: RawDocument[];
  readonly claims: SourceClaim[];
}

/** Paths that the links of a parent lead to, below the record's own address. */
const PATHS = {
  "reporting-exception": "-parent-reporting-exception",
  "relationship-record": "-parent-relationship",
  "lei-record": "-parent",
} as const;

/** Adds what the links of one parent lead to; answers the failure if there is one. */
async function readParent(
  record: LeiRecord,
  level: "direct" | "ultimate",
  { http, base_url }: Asked,
  ownership: Fetched,
  relationships: Fetched,
): Promise<SourceFailure | null> {
  const links = record.relationships?.[`${level}-parent`]?.links ?? {};
  /** Null: the record has no such link. Its presence counts, not its address: that may be another host's. */
  const get = async (link: keyof typeof PATHS): Promise<SourceResponse | SourceFailure | null> => {
    if (links[link] === undefined) return null;
    const url = `${base_url}/lei-records/${record.attributes.lei}/${level}${PATHS[link]}`;
    const response = await http({ method: "GET", url, headers: ACCEPT });
    if (response.kind === "failed") return response;
    return response.status === 200 ? response : response.status === 404 ? null : statusFailure(response);
  };
  const exception = await get("reporting-exception");
  if (exception?.kind === "failed") return exception;
  if (exception) {
    const reading = readException(exception);
    if (reading.kind === "failed") return reading;
    const { category, reason, reference } = reading.value.data.attributes;
    const list = claimList(exception.document);
    list.add("ownership.exceptions", category, { category, reason, reference: reference ?? null });
    ownership.documents.push(exception.document);
    ownership.claims.push(...list.claims);
  }
  const relationship = await get("relationship-record");
  if (relationship?.kind === "failed") return relationship;
  if (!relationship) return null;
  const reading = readRelationship(relationship);
  if (reading.kind === "failed") return reading;
  const { relationship: facts, registration } = reading.value.data.attributes;
  const parent = await get("lei-record");
  if (parent?.kind === "failed") return parent;
  const named = parent ? readRecord(parent) : null;
  if (named?.kind === "failed") return named;
  const entity = named?.value.data.attributes.entity;
  const ref = `lei:${facts.endNode.id}`;
  const party = entityParty({
    name: entity?.legalName.name,
    ref,
    country: countryOf(entity?.legalAddress.country),
  });
  const { jurisdiction } = record.attributes.entity;
  const current = facts.status !== "INACTIVE";
  const type = facts.type.toLowerCase();
  const list = claimList(relationship.document);
  list.add("relationships", `${type}|out|${ref}`, {
    type,
    direction: "out",
    party,
    status: facts.status === "ACTIVE" || facts.status === "INACTIVE" ? facts.status : null,
    periods: (facts.periods ?? []).map((period) => ({
      type: period.type,
      start: dateFrom(period.startDate, jurisdiction ?? ""),
      end: dateFrom(period.endDate, jurisdiction ?? ""),
    })),
    corroboration: registration?.corroborationLevel ?? null,
    current,
  });
  relationships.documents.push(relationship.document, ...(parent ? [parent.document] : []));
  relationships.claims.push(...list.claims);
  if (current) {
    const owner = claimList(relationship.document);
    owner.set(level === "direct" ? "ownership.direct_parent" : "ownership.ultimate_parent", party);
    ownership.documents.push(relationship.document);
    ownership.claims.push(...owner.claims);
  }
  return null;
}

async function parentGroups(
  record: LeiRecord,
  document: RawDocument,
  asked: Asked,
  precedence: number,
): Promise<readonly GroupAnswer[]> {
  const ownership: Fetched = { documents: [], claims: [] };
  const relationships: Fetched = { documents: [document], claims: [...successorClaims(document, record)] };
  for (const level of ["direct", "ultimate"] as const) {
    const problem = await readParent(record, level, asked, ownership, relationships);
    if (problem)
      return [
        { group: "ownership", documents: ownership.documents, ...problem },
        { group: "relationships", documents: relationships.documents, ...problem },
      ];
  }
  const own = { kind: "claims", precedence } as const;
  return [
    { group: "ownership", ...own, is_complete: true, ...ownership },
    { group: "relationships", ...own, ...(await childrenOf(record, asked, relationships)) },
  ];
}

/** Knowledge with the items of a list below the record added; a list longer than `MAX_PAGES` pages is not complete. */
type WithList = Fetched & { readonly is_complete: boolean; readonly problem?: SourceFailure };

function withList<Item>(
  known: Fetched,
  answer: PagesAnswer<Item> | null,
  claimsOf: (document: RawDocument, items: readonly Item[]) => readonly SourceClaim[],
): WithList {
  if (answer === null) return { ...known, is_complete: true };
  const documents = [...known.documents, ...answer.documents];
  if (answer.kind === "missing") return { ...known, documents, is_complete: true };
  if (answer.kind === "failed") {
    const { documents: _, ...problem } = answer;
    return { ...known, documents, is_complete: false, problem };
  }
  const pages = Map.groupBy(answer.items, ({ document }) => document);
  const claims = [...pages].flatMap(([document, items]) =>
    claimsOf(
      document,
      items.map(({ item }) => item),
    ),
  );
  return { documents, claims: [...known.claims, ...claims], is_complete: answer.is_complete };
}

/** The direct children, if the record has a link to them. */
const childrenOf = async (record: LeiRecord, asked: Asked, known: Fetched): Promise<WithList> =>
  withList(
    known,
    record.relationships?.["direct-children"] === undefined
      ? null
      : await readList(record, "direct-children", asked, readChildrenPage),
    childClaims,
  );

function childClaims(document: RawDocument, children: readonly LeiRecord[]): readonly SourceClaim[] {
  const list = claimList(document);
  const type = "is_directly_consolidated_by";
  for (const {
    attributes: { lei, entity },
  } of children)
    list.add("relationships", `${type}|in|lei:${lei}`, {
      type,
      direction: "in",
      party: entityParty({
        name: entity.legalName.name,
        ref: `lei:${lei}`,
        country: countryOf(entity.legalAddress.country),
      }),
      current: entity.status !== "INACTIVE",
    });
  return list.claims;
}

/** Changes of the record since GLEIF keeps it, as events: names, addresses, forms, numbers. */
function modificationClaims(
  lei: string,
  document: RawDocument,
  modifications: readonly Modification[],
): readonly SourceClaim[] {
  const list = claimList(document);
  for (const { attributes } of modifications) {
    const [, part] = /\/lei:Entity\/(.+)$/.exec(attributes.field) ?? [];
    const date = dateOf(attributes.date);
    if (part === undefined || date === null) continue;
    const title = part.replaceAll("lei:", "").replaceAll("/", ".");
    const text = `${attributes.valueOld ?? ""} → ${attributes.valueNew ?? ""}`.trim();
    // An element may change twice on one day.
    const id = `gleif:${lei}:${title}:${date}:${digestId(text, 8)}`;
    list.add("events", id, {
      id,
      type: MODIFIED.find(([pattern]) => pattern.test(title))?.[1] ?? "other",
      date,
      title: `${title} ${(attributes.modificationType ?? "update").toLowerCase()}`,
      text,
      source: "gleif",
    });
  }
  return list.claims;
}

/** Elements of the Common Data File that changed, and the event of company/v1. */
const MODIFIED: readonly (readonly [RegExp, string])[] = [
  [/^(?:LegalName|OtherEntityNames|TransliteratedOtherEntityNames)/, "name_change"],
  [/Address/, "address_change"],
  [/^LegalForm/, "legal_form_change"],
  [/^RegistrationAuthority|^BusinessRegister/, "identifier_change"],
  [/^LegalJurisdiction/, "seat_change"],
  [/^(?:EntityStatus|EntityExpiration)/, "deregistration"],
];

async function eventsGroup(record: LeiRecord, document: RawDocument, asked: Asked): Promise<GroupAnswer> {
  const known: Fetched = { documents: [document], claims: [...eventClaims(document, record)] };
  const history =
    record.relationships?.["field-modifications"] === undefined
      ? null
      : await readList(record, "field-modifications", asked, readModifications);
  const { lei } = record.attributes;
  const events = withList(known, history, (page, items) => modificationClaims(lei, page, items));
  return { group: "events", kind: "claims", precedence: 60, ...events };
}

async function securitiesGroup(record: LeiRecord, document: RawDocument, asked: Asked): Promise<GroupAnswer> {
  const isins =
    record.relationships?.["isins"] === undefined ? null : await readList(record, "isins", asked, readIsins);
  if (isins?.kind === "failed") return { group: "securities", ...isins };
  const known: Fetched = { documents: isins === null ? [document] : [], claims: [] };
  return { group: "securities", kind: "claims", ...withList(known, isins, isinClaims) };
}

function isinClaims(
  document: RawDocument,
  isins: readonly { readonly attributes: { readonly isin: string } }[],
): readonly SourceClaim[] {
  const list = claimList(document);
  for (const {
    attributes: { isin },
  } of isins)
    list.add("securities", isin, { isin, status: "unknown" });
  return list.claims;
}

function hitOf({ attributes: { lei, entity, ...record } }: LeiRecord): SearchHit {
  const identifiers = identifierClaims(
    { sha256: "" } as RawDocument,
    { attributes: { lei, entity, ...record } } as LeiRecord,
  )
    .filter(({ rejected_because }) => rejected_because === undefined)
    .map(({ value }) => value as unknown as CompanyIdentifier)
    .map(({ scheme, value }) => ({ scheme, value }));
  return {
    identifier: { scheme: "lei", value: lei },
    identifiers,
    name: entity.legalName.name,
    former_names: (entity.otherNames ?? [])
      .filter(({ type }) => type === "PREVIOUS_LEGAL_NAME")
      .flatMap(({ name }) => name ?? []),
    status: statusOf(entity),
    jurisdiction: entity.jurisdiction ?? null,
    city: entity.legalAddress.city ?? null,
    legal_form_category: categoryOf(entity),
  };
}

const recordUrl = (base_url: string, { scheme, value }: CompanyIdentifier): string =>
  scheme === "lei"
    ? `${base_url}/lei-records/${value}`
    : `${base_url}/lei-records?filter%5B${scheme}%5D=${value}&page%5Bsize%5D=2`;

/** The one record with an ISIN or a BIC; null: there is none, or several companies have it. */
function readFiltered(
  response: SourceResponse,
  { scheme, value }: CompanyIdentifier,
): Reading<{ readonly data: LeiRecord | null }> {
  const reading = readRecords(response);
  if (reading.kind === "failed") return reading;
  const [first = null, ...others] = reading.value.data;
  const isIt = others.length === 0 && (scheme !== "bic" || first?.attributes.bic?.includes(value) === true);
  return { kind: "read", value: { data: isIt ? first : null } };
}

export const openGleif: OpenSource = ({ base_url }) => ({
  description: GLEIF,
  inactive_because: null,

  async lookup(identifier, groups, http) {
    const response = await http({ method: "GET", url: recordUrl(base_url, identifier), headers: ACCEPT });
    if (response.kind === "failed") return response;
    const { document } = response;
    if (response.status === 404) return { kind: "not_found", documents: [document] };
    if (response.status !== 200) return statusFailure(response);
    const reading = identifier.scheme === "lei" ? readRecord(response) : readFiltered(response, identifier);
    if (reading.kind === "failed") return reading;
    const record = reading.value.data;
    if (record === null) return { kind: "not_found", documents: [document] };
    const precedence = precedenceOf(record);
    const own = { kind: "claims", is_complete: true, documents: [document], precedence } as const;
    const wantsParents = groups.includes("ownership") || groups.includes("relationships");
    return {
      kind: "found",
      native_id: record.attributes.lei,
      groups: [
        { group: "core", ...own, claims: coreClaims(document, record) },
        { group: "identifiers", ...own, claims: identifierClaims(document, record) },
        ...(groups.includes("events") ? [await eventsGroup(record, document, { http, base_url })] : []),
        ...(wantsParents ? await parentGroups(record, document, { http, base_url }, precedence) : []),
        ...(groups.includes("securities")
          ? [await securitiesGroup(record, document, { http, base_url })]
          : []),
      ],
    };
  },

  async search({ name, country, limit }, http) {
    const filter = country === null ? "" : `&filter%5Bentity.legalAddress.country%5D=${country}`;
    const response = await http({
      method: "GET",
      url: `${base_url}/lei-records?filter%5Bentity.legalName%5D=${encodeURIComponent(name)}${filter}&page%5Bsize%5D=${limit}`,
      headers: ACCEPT,
    });
    if (response.kind === "failed") return response;
    if (response.status !== 200) return statusFailure(response);
    const reading = readRecords(response);
    return reading.kind === "failed" ? reading : { kind: "found", hits: reading.value.data.map(hitOf) };
  },
});
