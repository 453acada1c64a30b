/**
 * Views of a company for clients: the record with its sources, freshness and quality, its claims and its pages. Pure: from
 * what is stored, what the client asked for and the time.
 */
import { FIELD_GROUPS, type FieldGroup } from "../../../schemas/companies.ts";
import { isPersonal } from "./apply-answers.ts";
import { type Json, textOf } from "./claim.ts";
import type { StoredChange } from "./feed/changes.ts";
import { changeId } from "./feed/changes.ts";
import { isOfField, type JsonObject, type ResolvedRecord } from "./record.ts";
import { maxAgeOf } from "./refresh-plan.ts";
import type { CheckedGroup, CompanySnapshot } from "./service.ts";
import type { RawDocument, Source, SourceDescription } from "./source.ts";
import { canonicalJson, digestId, openClaims, slotOf, type StoredClaim } from "./stored-claims.ts";
import { checkKey, type StoredCompany } from "./stored-company.ts";
import { iso } from "../../lib/iso.ts";

export const INCLUDES = ["people", "ownership", "filings", "financials", "events", "claims"] as const;
export type Include = (typeof INCLUDES)[number];

export interface ViewContext {
  readonly sources: readonly Source[];
  readonly now_ms: number;
}

const bodyUrl = (sha256: string): string => `/v1/bodies/${sha256}`;
const descriptionsOf = (sources: readonly Source[]): ReadonlyMap<string, SourceDescription> =>
  new Map(sources.map(({ description }) => [description.name, description]));

/** Documents with persons in them cannot be downloaded. */
const PERSONAL_GROUPS: ReadonlySet<string> = new Set(["people", "ownership"]);
const isPersonalDocument = (
  sources: ReadonlyMap<string, SourceDescription>,
  source: string,
  group: string,
): boolean => PERSONAL_GROUPS.has(group) || (sources.get(source)?.has_personal_documents ?? false);

/** When its source last confirmed the group that each claim is in; null: not known. By the claim's id. */
type Confirmations = ReadonlyMap<string, number | null>;

const confirmationsOf = ({ groups }: CompanySnapshot): Confirmations =>
  new Map(
    groups.flatMap(({ claims, check }) => claims.map(({ id }) => [`clm_${id}`, check?.confirmed_ms ?? null])),
  );

/** The claims of a company, those about persons included only when they were asked for. */
function* claimsOf(
  { groups, people }: Pick<CompanySnapshot, "groups" | "people">,
  withPeople: boolean,
): Generator<{ readonly group: CheckedGroup; readonly claim: StoredClaim }> {
  for (const group of withPeople ? [...groups, ...people] : groups)
    for (const claim of group.claims) yield { group, claim };
}

function claimView(
  { company }: Pick<CompanySnapshot, "company">,
  sources: ReadonlyMap<string, SourceDescription>,
  { group, claim }: { readonly group: CheckedGroup; readonly claim: StoredClaim },
): JsonObject {
  const document = group.documents[claim.document]!;
  const confirmed_ms = claim.closed?.confirmed_ms ?? group.check?.confirmed_ms ?? claim.observed_ms;
  return {
    id: `clm_${claim.id}`,
    company_id: company.id,
    field: claim.field,
    key: claim.key,
    value: claim.value,
    raw_value: claim.raw_value ?? claim.value,
    language: claim.language ?? null,
    source: group.source,
    native_id: group.native_id,
    raw_sha256: document.sha256,
    body_url:
      document.is_import || isPersonal(claim) || isPersonalDocument(sources, group.source, group.group)
        ? null
        : bodyUrl(document.sha256),
    observed_at: iso(claim.observed_ms),
    confirmed: iso(Math.max(confirmed_ms, claim.observed_ms)),
    effective_from: claim.effective_from ?? null,
    valid_to: claim.closed ? iso(claim.closed.at_ms) : null,
    current: claim.closed === undefined,
    accepted: claim.rejected_because === undefined,
    ...(claim.rejected_because !== undefined && { rejected_because: claim.rejected_because }),
  };
}

/** The raw documents behind a company, newest first. */
export function sourceDocuments(
  { groups, people, checks }: CompanySnapshot,
  { sources }: ViewContext,
): JsonObject[] {
  const descriptions = descriptionsOf(sources);
  const documents = new Map<string, JsonObject>();
  const add = (source: string, group: string, native_id: string | null, document: RawDocument): void => {
    const key = `${source} ${group} ${document.sha256}`;
    const known = documents.get(key);
    if (known && textOf(known["retrieved_at"]) >= document.retrieved_at) return;
    documents.set(key, {
      source,
      group,
      native_id,
      url: document.url,
      retrieved_at: document.retrieved_at,
      sha256: document.sha256,
      bytes: document.bytes,
      content_type: document.content_type,
      body_url:
        document.is_import || isPersonalDocument(descriptions, source, group)
          ? null
          : bodyUrl(document.sha256),
      licence: descriptions.get(source)?.licence.id ?? null,
      status: "ok",
    });
  };
  const native = new Map<string, string>();
  for (const { source, group, native_id, documents: read, check } of [...groups, ...people]) {
    const key = checkKey(source, group);
    if (!native.has(key)) native.set(key, native_id);
    for (const document of [...read, ...(check?.documents ?? [])]) add(source, group, native_id, document);
  }
  for (const [key, check] of Object.entries(checks)) {
    const [source, group] = key.split(" ") as [string, string];
    for (const document of check.documents) add(source, group, native.get(key) ?? null, document);
  }
  return [...documents.values()].toSorted((a, b) =>
    textOf(b["retrieved_at"]).localeCompare(textOf(a["retrieved_at"])),
  );
}

function freshnessOf(
  { groups, people, checks }: CompanySnapshot,
  { sources, now_ms }: ViewContext,
): JsonObject[] {
  const descriptions = descriptionsOf(sources);
  const known = new Set([...groups, ...people].map(({ source, group }) => checkKey(source, group)));
  return Object.entries(checks).flatMap(([key, check]) => {
    const [source, group] = key.split(" ") as [string, FieldGroup];
    const rule = descriptions.get(source)?.groups[group];
    if (!rule || check.confirmed_ms === null || !known.has(key)) return [];
    const max_age_s = maxAgeOf(descriptions.get(source)!, group);
    const expires_ms = check.confirmed_ms + max_age_s * 1_000;
    const newest = check.documents
      .map(({ retrieved_at }) => retrieved_at)
      .toSorted()
      .at(-1);
    return {
      source,
      group,
      class: rule.freshness,
      max_age_s,
      retrieved_at: newest ?? iso(check.confirmed_ms),
      confirmed_at: iso(check.confirmed_ms),
      expires_at: iso(expires_ms),
      stale: now_ms > expires_ms,
    };
  });
}

function conflictsOf({ conflicts }: ResolvedRecord, confirmations: Confirmations): JsonObject[] {
  return conflicts.map(({ field, values, resolved_by }) => ({
    field,
    values: values.map(({ value, source, claim, chosen }) => ({
      value,
      source,
      claim,
      ...(confirmations.get(claim) != null && { confirmed: iso(confirmations.get(claim)!) }),
      chosen,
    })),
    resolved_by,
  }));
}

function provenanceOf({ provenance }: ResolvedRecord, confirmations: Confirmations): JsonObject {
  return Object.fromEntries(
    Object.entries(provenance).map(([slot, { claim, source, observed_ms }]) => [
      slot,
      {
        claim,
        source,
        observed_at: iso(observed_ms),
        confirmed: iso(Math.max(observed_ms, confirmations.get(claim) ?? observed_ms)),
      },
    ]),
  );
}

/** The open claims about persons; a person whom one source names of the company and of a merged one is told once. */
function personalClaims(people: CompanySnapshot["people"]): readonly StoredClaim[] {
  const first = new Map<string, CheckedGroup>();
  return people.flatMap((group) =>
    openClaims(group).filter((claim) => {
      const key = `${group.source} ${slotOf(claim)}`;
      if (!first.has(key)) first.set(key, group);
      return first.get(key) === group;
    }),
  );
}

/** The people of a company; former ones only with the flag. */
export function peopleOf({ people }: CompanySnapshot, withFormer: boolean): JsonObject[] {
  return personalClaims(people)
    .filter(({ field }) => field === "people")
    .map((claim) => ({ ...(claim.value as JsonObject), claim: `clm_${claim.id}` }) as JsonObject)
    .filter(({ current }) => withFormer || current === true);
}

export function ownershipOf({ company, people }: CompanySnapshot): JsonObject {
  const { interested_parties, direct_parent, ultimate_parent, exceptions } = company.record.ownership;
  const persons = personalClaims(people)
    .filter(({ field }) => field === "ownership.interested_parties")
    .map((claim) => ({ ...(claim.value as JsonObject), claim: `clm_${claim.id}` }));
  return {
    interested_parties: [...interested_parties, ...persons],
    direct_parent,
    ultimate_parent,
    exceptions,
  };
}

export function recordView(
  snapshot: CompanySnapshot,
  include: ReadonlySet<Include>,
  context: ViewContext,
): JsonObject {
  const { company, redirected_from, refresh } = snapshot;
  const { record } = company;
  const confirmations = confirmationsOf(snapshot);
  return {
    schema_version: "company/v1",
    id: company.id,
    identifiers: record.identifiers as unknown as Json,
    names: record.names as unknown as Json,
    legal_form: record.legal_form,
    status: record.status,
    jurisdiction: record.jurisdiction,
    addresses: record.addresses as unknown as Json,
    dates: record.dates,
    purpose: record.purpose,
    activities: record.activities,
    capital: record.capital,
    size: record.size,
    ...(include.has("people") && { people: peopleOf(snapshot, false) }),
    ...(include.has("ownership") && { ownership: ownershipOf(snapshot) }),
    relationships: record.relationships,
    ...(include.has("filings") && { filings: record.filings }),
    ...(include.has("financials") && { financials: record.financials }),
    ...(include.has("events") && { events: record.events }),
    securities: record.securities,
    web: record.web,
    sources: sourceDocuments(snapshot, context),
    freshness: freshnessOf(snapshot, context),
    quality: {
      completeness: record.completeness,
      conflicts: conflictsOf(record, confirmations),
      warnings: record.warnings,
    },
    provenance: provenanceOf(record, confirmations),
    ...(include.has("claims") && {
      claims: [...claimsOf(snapshot, include.has("people"))]
        .filter(({ claim }) => claim.closed === undefined)
        .map((each) => claimView(snapshot, descriptionsOf(context.sources), each)),
    }),
    redirected_from,
    updated_at: iso(company.updated_ms),
    refresh,
  };
}

/** Which groups must be fetched for what is included. */
export function groupsFor(include: ReadonlySet<string>): readonly FieldGroup[] {
  return FIELD_GROUPS.filter((group) => include.has(group));
}

/** Where a page ends: the time and id of its last claim. */
export interface HistoryPosition {
  readonly observed_ms: number;
  readonly id: string;
}

export interface HistoryPage {
  readonly items: readonly JsonObject[];
  readonly next: HistoryPosition | null;
}

/** Claims, newest observation first; those about persons only when the field asked for is about persons. */
export function historyPage(
  snapshot: CompanySnapshot,
  field: string | null,
  after: HistoryPosition | null,
  limit: number,
  sources: readonly Source[],
): HistoryPage {
  const withPeople = field !== null && /^(people|ownership)\b/.test(field);
  const claims = [...claimsOf(snapshot, withPeople)]
    .filter(({ claim }) => field === null || isOfField(claim, field))
    .toSorted((a, b) => compareHistory(positionOf(a.claim), positionOf(b.claim)));
  const rest =
    after === null ? claims : claims.filter(({ claim }) => compareHistory(after, positionOf(claim)) < 0);
  const page = rest.slice(0, limit);
  return {
    items: page.map((each) => claimView(snapshot, descriptionsOf(sources), each)),
    next: rest.length > limit ? positionOf(page.at(-1)!.claim) : null,
  };
}

const positionOf = ({ observed_ms, id }: StoredClaim): HistoryPosition => ({ observed_ms, id });

const compareHistory = (a: HistoryPosition, b: HistoryPosition): number =>
  b.observed_ms - a.observed_ms || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

export const RESOURCES = [
  "events",
  "people",
  "ownership",
  "relationships",
  "filings",
  "financials",
  "sources",
] as const;
export type Resource = (typeof RESOURCES)[number];

export function resourceItems(
  snapshot: CompanySnapshot,
  resource: Resource,
  include_former: boolean,
  context: ViewContext,
): readonly JsonObject[] {
  const { record } = snapshot.company;
  switch (resource) {
    case "events":
      return record.events;
    case "people":
      return peopleOf(snapshot, include_former);
    case "ownership":
      return ownershipItems(snapshot);
    case "relationships":
      return record.relationships;
    case "filings":
      return record.filings;
    case "financials":
      return record.financials;
    case "sources":
      return sourceDocuments(snapshot, context);
  }
}

/** Names an item of a list: the end of a page, also when the list has changed by the next one. */
export const digestOfItem = (item: JsonObject): string => digestId(canonicalJson(item), 12);

/** The parts of `ownership` one by one, each with the part it is of as its `relation`. */
function ownershipItems(snapshot: CompanySnapshot): readonly JsonObject[] {
  const ownership = ownershipOf(snapshot);
  const parents = (["direct_parent", "ultimate_parent"] as const).flatMap((relation) =>
    ownership[relation] === null ? [] : { relation, party: ownership[relation]! },
  );
  const of = (part: "interested_parties" | "exceptions", relation: string): JsonObject[] =>
    (ownership[part] as readonly JsonObject[]).map((item) => ({ relation, ...item }));
  return [...of("interested_parties", "interested_party"), ...parents, ...of("exceptions", "exception")];
}

export const refreshLines = ({ refresh }: CompanySnapshot): readonly JsonObject[] => refresh;

/** A company of the register in a list of results. */
export function summaryView(
  { id, record, updated_ms }: StoredCompany,
  match_score: number,
  matched_on: { readonly field: string; readonly value: string } | null,
): JsonObject {
  const address = record.addresses.find(({ type }) => type === "registered") ?? record.addresses[0];
  return {
    id,
    ref: null,
    in_register: true,
    match_score,
    matched_on,
    identifiers: record.identifiers as unknown as Json,
    names: { legal: record.names.legal, former: record.names.former as unknown as Json },
    legal_form: record.legal_form,
    status: record.status,
    jurisdiction: record.jurisdiction,
    addresses: address ? [address as unknown as Json] : [],
    dates: record.dates,
    sources: [...new Set(Object.values(record.provenance).map(({ source }) => source))].toSorted(),
    updated_at: iso(updated_ms),
  };
}

export const changeView = ({
  seq,
  company_id,
  type,
  fields,
  merged_into,
  version,
  changed_ms,
}: StoredChange): JsonObject => ({
  id: changeId(seq),
  company_id,
  type,
  fields,
  merged_into: type === "merged" ? merged_into : null,
  version,
  changed_at: iso(changed_ms),
});
