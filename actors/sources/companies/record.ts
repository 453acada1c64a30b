/**
 * The record of a company (company/v1) from its claims: which fields there are, what each is made of, how complete it is
 * and where the sources disagree. Pure. What depends on the reader (freshness, links, people) is added when it is shown.
 */
import { type FieldPath, FIELDS, type Json, textOf } from "./claim.ts";
import { STALE_FACTOR } from "./freshness.ts";
import { foldName } from "./names/fold.ts";
import { type Candidate, resolve, type SlotConflict } from "./resolution.ts";
import type { CompanyIdentifier } from "./source.ts";
import { openClaims, slotOf, type StoredClaim, type StoredGroup } from "./stored-claims.ts";

export type JsonObject = Readonly<Record<string, Json>>;

export interface RecordIdentifier {
  readonly scheme: string;
  readonly value: string;
  readonly kind: string;
  readonly country?: string | null;
  readonly status: string;
  readonly valid?: boolean | null;
  readonly valid_from?: string | null;
  readonly valid_to?: string | null;
}

export interface RecordName {
  readonly name: string;
  readonly type: string;
  readonly language?: string | null;
  readonly valid_from?: string | null;
  readonly valid_to?: string | null;
}

export interface RecordAddress {
  readonly type: string;
  readonly formatted: string;
  readonly city?: string | null;
  readonly postal_code?: string | null;
  readonly country?: string | null;
  readonly current: boolean;
}

/** The claim behind a resolved value. */
export interface ProvenanceEntry {
  readonly claim: string;
  readonly source: string;
  readonly group: string;
  readonly observed_ms: number;
}

/** A record as it is stored; the fields are those of company/v1. */
export interface ResolvedRecord {
  readonly identifiers: readonly RecordIdentifier[];
  readonly names: {
    readonly legal: string;
    readonly language: string | null;
    readonly transliterated: string | null;
    readonly trading: readonly RecordName[];
    readonly translations: readonly RecordName[];
    readonly former: readonly RecordName[];
    readonly other: readonly RecordName[];
  };
  readonly legal_form: (JsonObject & { readonly category: string }) | null;
  readonly status: string;
  readonly jurisdiction: string | null;
  readonly addresses: readonly RecordAddress[];
  readonly dates: {
    readonly incorporation: string | null;
    readonly registration: string | null;
    readonly deregistration: string | null;
  };
  readonly purpose: Readonly<Record<string, string>>;
  readonly activities: readonly Json[];
  readonly capital: readonly Json[];
  readonly size: JsonObject | null;
  readonly relationships: readonly JsonObject[];
  readonly securities: readonly JsonObject[];
  readonly web: JsonObject | null;
  readonly ownership: {
    readonly interested_parties: readonly JsonObject[];
    readonly direct_parent: Json;
    readonly ultimate_parent: Json;
    readonly exceptions: readonly Json[];
  };
  readonly filings: readonly JsonObject[];
  readonly financials: readonly JsonObject[];
  readonly events: readonly JsonObject[];
  /** Key: the field, with the item's key in brackets where there are several: `addresses[registered]`. */
  readonly provenance: Readonly<Record<string, ProvenanceEntry>>;
  readonly conflicts: readonly SlotConflict[];
  readonly completeness: number;
  readonly warnings: readonly string[];
}

export interface GroupContext {
  /** When the source last confirmed the group's open claims. */
  readonly confirmed_ms: (group: StoredGroup) => number;
  readonly max_age_s: (group: StoredGroup) => number;
  /** Whether the source is the home register of the jurisdiction. */
  readonly isHomeRegister: (source: string, jurisdiction: string | null) => boolean;
  readonly now_ms: number;
}

const HOME_PRECEDENCE = 100;
/** More securities are a page resource only. */
const MAX_SECURITIES = 500;
const MAX_EVENTS = 1_000;

/** A company that was merged into the one whose record is made. */
export interface MergedCompany {
  readonly groups: readonly StoredGroup[];
  readonly record: Pick<ResolvedRecord, "provenance">;
}

/** The open claims of a company and of those merged into it, each with its rank. */
function candidatesOf(
  own: readonly StoredGroup[],
  merged: readonly MergedCompany[],
  { confirmed_ms, max_age_s, isHomeRegister, now_ms }: GroupContext,
): readonly Candidate[] {
  const rankedOf = (
    groups: readonly StoredGroup[],
    confirmedOf: (group: StoredGroup) => number,
    jurisdiction: string | null,
  ): Candidate[] =>
    groups.flatMap((group) => {
      const confirmed = confirmedOf(group);
      const is_stale = now_ms - confirmed > STALE_FACTOR * max_age_s(group) * 1_000;
      const precedence = isHomeRegister(group.source, jurisdiction)
        ? Math.max(HOME_PRECEDENCE, group.precedence)
        : group.precedence;
      return openClaims(group).map((claim) => ({
        claim,
        source: group.source,
        group: group.group,
        precedence,
        confirmed_ms: confirmed,
        is_stale,
      }));
    });
  const ranked = (jurisdiction: string | null): Candidate[] =>
    merged.reduce(
      (all, { groups }) => [...all, ...addedBy(rankedOf(groups, lastObserved, jurisdiction), all)],
      rankedOf(own, confirmed_ms, jurisdiction),
    );
  const jurisdiction = resolve(
    ranked(null).filter(({ claim }) => claim.field === "jurisdiction"),
  ).winners.get("jurisdiction");
  return ranked((jurisdiction?.claim.value as string | undefined) ?? null);
}

/** A source that is asked about the survivor confirms nothing of a merged company. */
const lastObserved = ({ claims }: StoredGroup): number => claims.at(-1)?.observed_ms ?? 0;

/**
 * Which claims of a merged company count beside those of the survivor and of the merged companies before it. For a field
 * with one value the source's answer about these is the only one. Items of lists are added, unless the same source
 * states the item already.
 */
function addedBy(candidates: readonly Candidate[], before: readonly Candidate[]): readonly Candidate[] {
  const accepted = before.filter(({ claim }) => claim.rejected_because === undefined);
  const answered = new Set(accepted.map(({ source, group }) => `${source} ${group}`));
  const taken = new Set(accepted.map(({ source, claim }) => `${source} ${slotOf(claim)}`));
  return candidates.filter(({ source, group, claim }) =>
    FIELDS[claim.field].cardinality === "single"
      ? !answered.has(`${source} ${group}`)
      : !taken.has(`${source} ${slotOf(claim)}`),
  );
}

/** The legal names of merged companies that are no other name of the record, so that the record is found by them. */
function formerlyLegal(
  merged: readonly MergedCompany[],
  winners: ReadonlyMap<string, Candidate>,
): readonly Candidate[] {
  const known = new Set(
    [...winners.values()].flatMap(({ claim: { field, key, value } }) =>
      field === "names.legal" ? foldName(textOf(value)) : field.startsWith("names.") ? (key ?? []) : [],
    ),
  );
  return merged.flatMap(({ groups, record }) => {
    const legal = record.provenance["names.legal"]?.claim;
    return groups.flatMap((group) =>
      openClaims(group)
        .filter(({ id, value }) => `clm_${id}` === legal && !known.has(foldName(textOf(value))))
        .map((claim) => ({
          claim: asOtherName(claim),
          source: group.source,
          group: group.group,
          precedence: group.precedence,
          confirmed_ms: lastObserved(group),
          is_stale: false,
        })),
    );
  });
}

function asOtherName(claim: StoredClaim): StoredClaim {
  const name = textOf(claim.value);
  const value = {
    name,
    type: "alternative",
    ...(claim.language !== undefined && { language: claim.language }),
  };
  return { ...claim, field: "names.other", key: foldName(name), value };
}

/** In the order of their schemes; of one scheme, first those that the company itself has. */
function ownFirst(
  identifiers: readonly RecordIdentifier[],
  own: readonly StoredGroup[],
): readonly RecordIdentifier[] {
  const isOwn = isOwnOf(own);
  const schemes = [...new Set(identifiers.map(({ scheme }) => scheme))];
  const rank = (identifier: RecordIdentifier): number => (isOwn(identifier) ? 0 : 1);
  return schemes.flatMap((scheme) =>
    identifiers.filter((each) => each.scheme === scheme).toSorted((a, b) => rank(a) - rank(b)),
  );
}

/** Identifiers that the company itself has, `scheme:value`; a record also lists those of merged companies. */
export const ownIdentifiersOf = (groups: readonly StoredGroup[]): ReadonlySet<string> =>
  new Set(
    groups
      .filter(({ asked_by }) => asked_by === undefined)
      .flatMap(openClaims)
      .flatMap(({ field, key, rejected_because }) =>
        field === "identifiers" && key !== null && rejected_because === undefined ? key : [],
      ),
  );

/** Tells the company's own identifiers from those of companies merged into it. */
export function isOwnOf(groups: readonly StoredGroup[]): (identifier: CompanyIdentifier) => boolean {
  const own = ownIdentifiersOf(groups);
  return ({ scheme, value }) => own.has(`${scheme}:${value}`);
}

/** `groups` are the company's own. Null: no source has a value. */
export function recordOf(
  groups: readonly StoredGroup[],
  merged: readonly MergedCompany[],
  context: GroupContext,
  hasPeople: boolean,
): ResolvedRecord | null {
  const candidates = candidatesOf(groups, merged, context);
  if (candidates.length === 0) return null;
  const resolved = resolve(candidates);
  const names_of_merged = formerlyLegal(merged, resolved.winners);
  const { winners, conflicts } =
    names_of_merged.length === 0 ? resolved : resolve([...candidates, ...names_of_merged]);
  const one = (field: FieldPath): Json => winners.get(field)?.claim.value ?? null;
  const all = <T extends Json = JsonObject>(field: FieldPath, hasClaim = false): T[] =>
    [...winners.values()]
      .filter(({ claim }) => claim.field === field)
      .map(({ claim }) =>
        hasClaim ? { ...(claim.value as JsonObject), claim: `clm_${claim.id}` } : claim.value,
      ) as unknown as T[];
  const names = (field: FieldPath) => all<Json>(field) as unknown as RecordName[];

  const legal = winners.get("names.legal")?.claim;
  const trading = names("names.trading");
  const translations = names("names.translations");
  const securities = all("securities");
  const web = webOf(one, all);
  const parts = {
    identifiers: ownFirst(all<Json>("identifiers") as unknown as RecordIdentifier[], groups),
    names: {
      legal:
        (legal?.value as string | undefined) ??
        trading[0]?.name ??
        translations[0]?.name ??
        [...groups, ...merged.flatMap((company) => company.groups)][0]!.native_id,
      language: legal?.language ?? null,
      transliterated: one("names.transliterated") as string | null,
      trading,
      translations,
      former: names("names.former"),
      other: names("names.other"),
    },
    legal_form: one("legal_form") as ResolvedRecord["legal_form"],
    status: (one("status") as string | null) ?? "unknown",
    jurisdiction: one("jurisdiction") as string | null,
    addresses: all<Json>("addresses") as unknown as RecordAddress[],
    dates: {
      incorporation: one("dates.incorporation") as string | null,
      registration: one("dates.registration") as string | null,
      deregistration: one("dates.deregistration") as string | null,
    },
    purpose: Object.fromEntries(
      [...winners.values()]
        .filter(({ claim }) => claim.field === "purpose")
        .map(({ claim }) => [claim.key ?? "und", claim.value as string]),
    ),
    activities: all<Json>("activities"),
    capital: all<Json>("capital"),
    size: sizeOf(one),
    relationships: all("relationships", true),
    securities: securities.slice(0, MAX_SECURITIES),
    web,
    ownership: {
      interested_parties: all("ownership.interested_parties", true),
      direct_parent: one("ownership.direct_parent"),
      ultimate_parent: one("ownership.ultimate_parent"),
      exceptions: all<Json>("ownership.exceptions"),
    },
    filings: newestFirst(all("filings")),
    financials: all("financials"),
    events: newestFirst(all("events", true)).slice(0, MAX_EVENTS),
  };
  return {
    ...parts,
    provenance: Object.fromEntries([...winners].map(([slot, winner]) => [slot, provenanceOf(winner)])),
    conflicts,
    completeness: completenessOf({ ...parts, hasPeople }),
    warnings: securities.length > MAX_SECURITIES ? ["securities_truncated"] : [],
  };
}

const provenanceOf = (winner: Candidate): ProvenanceEntry => ({
  claim: `clm_${winner.claim.id}`,
  source: winner.source,
  group: winner.group,
  observed_ms: winner.claim.observed_ms,
});

const newestFirst = (items: readonly JsonObject[]): JsonObject[] =>
  items.toSorted((a, b) => textOf(b["date"]).localeCompare(textOf(a["date"])));

type One = (field: FieldPath) => Json;
type All = <T extends Json = JsonObject>(field: FieldPath) => T[];

function sizeOf(one: One): JsonObject | null {
  const size = {
    employees: one("size.employees"),
    revenue: one("size.revenue"),
    balance_total: one("size.balance_total"),
    category: one("size.category"),
    filer_category: one("size.filer_category"),
  };
  return Object.values(size).every((value) => value === null) ? null : size;
}

function webOf(one: One, all: All): JsonObject | null {
  const homepage = one("web.homepage");
  const lists = {
    domains: all<Json>("web.domains"),
    emails: all<Json>("web.emails"),
    phones: all<Json>("web.phones"),
    profiles: all<Json>("web.profiles"),
  };
  return homepage === null && Object.values(lists).every((list) => list.length === 0)
    ? null
    : { homepage, ...lists };
}

interface Filled extends Pick<
  ResolvedRecord,
  | "identifiers"
  | "names"
  | "legal_form"
  | "status"
  | "addresses"
  | "dates"
  | "activities"
  | "ownership"
  | "web"
> {
  readonly hasPeople: boolean;
}

/** The weight of each group of fields in `quality.completeness`, in hundredths. */
const WEIGHTS: readonly (readonly [hundredths: number, isFilled: (record: Filled) => boolean])[] = [
  [20, ({ identifiers }) => identifiers.length > 0],
  [15, ({ names }) => names.legal !== ""],
  [10, ({ legal_form }) => legal_form !== null && legal_form.category !== "unknown"],
  [10, ({ status }) => status !== "unknown"],
  [15, ({ addresses }) => addresses.some(({ type }) => type === "registered")],
  [10, ({ dates }) => dates.incorporation !== null || dates.registration !== null],
  [5, ({ activities }) => activities.length > 0],
  [5, ({ hasPeople }) => hasPeople],
  [
    5,
    ({ ownership: { interested_parties, direct_parent, exceptions } }) =>
      interested_parties.length > 0 || direct_parent !== null || exceptions.length > 0,
  ],
  [5, ({ web }) => web !== null],
];

const completenessOf = (record: Filled): number =>
  WEIGHTS.reduce((sum, [hundredths, isFilled]) => sum + (isFilled(record) ? hundredths : 0), 0) / 100;

/** The top-level fields of the record in which two records differ; a difference in provenance alone is no change. */
export function changedFields(before: ResolvedRecord | null, after: ResolvedRecord): readonly string[] {
  const fields = Object.keys(after).filter(
    (field) => !["provenance", "conflicts", "completeness", "warnings"].includes(field),
  ) as (keyof ResolvedRecord)[];
  return fields.filter((field) =>
    before === null
      ? !isEmpty(after[field])
      : JSON.stringify(withoutClaims(before[field])) !== JSON.stringify(withoutClaims(after[field])),
  );
}

const isEmpty = (value: unknown): boolean =>
  value === null || (typeof value === "object" && Object.values(value as object).every(isEmpty));

const withoutClaims = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map((item: unknown) =>
        typeof item === "object" && item !== null && "claim" in item ? { ...item, claim: undefined } : item,
      )
    : value;

/** A name of what claims are about: a field, a part of the record that has fields, or one item, as `provenance` names it. */
export function isHistoryField(name: string): boolean {
  const key_at = name.endsWith("]") ? name.indexOf("[") : -1;
  const field = key_at >= 0 && key_at < name.length - 2 ? name.slice(0, key_at) : name;
  if (field !== name) return FIELDS[field as FieldPath]?.cardinality === "keyed";
  return Object.keys(FIELDS).some((each) => each === name || each.startsWith(`${name}.`));
}

/** The slots of claims, for history: `names.legal` names its field, `addresses` all of its items. */
export const isOfField = (
  claim: { readonly field: string; readonly key: string | null },
  field: string,
): boolean => claim.field === field || claim.field.startsWith(`${field}.`) || slotOf(claim) === field;
