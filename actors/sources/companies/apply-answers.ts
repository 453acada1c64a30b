/**
 * The changes of a refresh: from the stored company and the sources' answers to the company, its checks and its people as
 * they are to be stored. Pure; nothing is written here.
 */
import { type Json, type SourceClaim } from "./claim.ts";
import { FIELD_GROUPS, type FieldGroup } from "../../../schemas/companies.ts";
import { changedFields, type GroupContext, recordOf, type ResolvedRecord } from "./record.ts";
import { maxAgeOf } from "./refresh-plan.ts";
import type { GroupAnswer, LookupAnswer, Source, SourceDescription } from "./source.ts";
import {
  afterObservation,
  canonicalJson,
  digestId,
  type Observation,
  openClaims,
  type StoredClaim,
  type StoredGroup,
} from "./stored-claims.ts";
import {
  type Checks,
  checkKey,
  countryOf,
  type GroupCheck,
  type OutboxEntry,
  type StoredCompany,
} from "./stored-company.ts";

/** The answer of one source in a refresh. */
export interface SourceAnswer {
  readonly source: Source;
  readonly groups: readonly FieldGroup[];
  /** The identifier of a merged company by which the source was asked, `scheme:value`; absent: the company's own. */
  readonly asked_by?: string;
  readonly answer: LookupAnswer;
}

export interface Knowledge {
  readonly groups: readonly StoredGroup[];
  /** Claims about natural persons. */
  readonly people: readonly StoredGroup[];
  readonly checks: Checks;
}

export interface GroupOutcome {
  readonly source: string;
  readonly group: FieldGroup;
  readonly error: string | null;
  readonly retry_after_s: number | null;
}

export interface Applied extends Knowledge {
  readonly outcomes: readonly GroupOutcome[];
}

interface ApplyContext {
  readonly company_id: string;
  readonly now_ms: number;
  /** True for a person whom the operator removed. */
  readonly isRemoved: (claim: SourceClaim) => boolean;
}

/** A claim that names a natural person: one of the people, or a person with control over the company. */
export function isPersonal({ field, value }: Pick<StoredClaim, "field" | "value">): boolean {
  if (field === "people") return true;
  if (field !== "ownership.interested_parties") return false;
  const party = (value as { readonly party?: { readonly kind?: string } } | null)?.party;
  return party?.kind === "person";
}

export function applyAnswers(
  before: Knowledge,
  answers: readonly SourceAnswer[],
  context: ApplyContext,
): Applied {
  let after: Applied = { ...before, outcomes: [] };
  for (const answer of answers) after = applyAnswer(after, answer, context);
  return after;
}

function applyAnswer(
  before: Applied,
  { source, groups, answer, asked_by }: SourceAnswer,
  context: ApplyContext,
): Applied {
  const { description } = source;
  switch (answer.kind) {
    case "found": {
      const { native_id } = answer;
      const known = [...before.groups, ...before.people].find(
        (each) => each.source === description.name && each.asked_by === undefined,
      );
      // An answer about a merged company replaces nothing that the source has told about this one.
      if (asked_by !== undefined && known !== undefined && known.native_id !== native_id)
        return allNotFound(before, description, groups, context);
      const isOwn = asked_by === undefined || known !== undefined;
      const subject = { native_id, ...(!isOwn && { asked_by }) };
      let after = before;
      for (const group of answer.groups) after = applyGroup(after, description, subject, group, context);
      const answered = new Set(answer.groups.map(({ group }) => group));
      // The source has no such group of this company: that is an answer, too.
      for (const group of groups.filter((each) => !answered.has(each)))
        after = checked(after, description, group, context, {
          result: "ok",
          error: null,
          retry_after_s: null,
        });
      return after;
    }
    case "withdrawn": {
      const others = (each: StoredGroup): boolean =>
        each.source !== description.name || (asked_by !== undefined && each.asked_by === undefined);
      const after = { ...before, groups: before.groups.filter(others), people: before.people.filter(others) };
      return groups.reduce(
        (all, group) =>
          checked(all, description, group, context, {
            result: "not_found",
            error: "withdrawn",
            retry_after_s: null,
          }),
        after as Applied,
      );
    }
    case "not_found":
      return allNotFound(before, description, groups, context);
    case "failed": {
      const { error, retry_after_s } = answer;
      // A check would keep the next caller, with another payer, from asking the source.
      if (answer.is_of_payer) return unanswered(before, description, groups, { error, retry_after_s });
      return groups.reduce(
        (all, group) => checked(all, description, group, context, { result: "failed", error, retry_after_s }),
        before,
      );
    }
  }
}

const allNotFound = (
  before: Applied,
  description: SourceDescription,
  groups: readonly FieldGroup[],
  context: ApplyContext,
): Applied =>
  groups.reduce(
    (all, group) =>
      checked(all, description, group, context, {
        result: "not_found",
        error: "not_found",
        retry_after_s: null,
      }),
    before,
  );

/** Told to the caller, and not remembered. */
const unanswered = (
  before: Applied,
  { name: source }: SourceDescription,
  groups: readonly FieldGroup[],
  failed: Pick<GroupOutcome, "error" | "retry_after_s">,
): Applied => ({
  ...before,
  outcomes: [...before.outcomes, ...groups.map((group) => ({ source, group, ...failed }))],
});

function applyGroup(
  before: Applied,
  description: SourceDescription,
  subject: Pick<Observation, "native_id" | "asked_by">,
  answer: GroupAnswer,
  context: ApplyContext,
): Applied {
  const { group, documents } = answer;
  if (answer.kind === "failed") {
    const { error, retry_after_s } = answer;
    return checked(before, description, group, context, { result: "failed", error, retry_after_s });
  }
  const source = description.name;
  const check = before.checks[checkKey(source, group)];
  const observation: Observation = {
    company_id: context.company_id,
    source,
    group,
    ...subject,
    precedence: answer.precedence ?? description.groups[group]?.precedence ?? 0,
    documents,
    claims: answer.claims.filter((claim) => !context.isRemoved(claim)),
    is_complete: answer.is_complete && answer.problem === undefined,
    at_ms: context.now_ms,
  };
  const confirmed_ms = check?.confirmed_ms ?? context.now_ms;
  const fold = (groups: readonly StoredGroup[], wantsPersonal: boolean): readonly StoredGroup[] => {
    const index = groups.findIndex((each) => each.source === source && each.group === group);
    const claims = observation.claims.filter((claim) => isPersonal(claim) === wantsPersonal);
    if (index < 0 && claims.length === 0) return groups;
    const previous = groups[index] ?? null;
    const next = afterObservation(previous, { ...observation, claims }, confirmed_ms);
    if (next === previous) return groups;
    return index < 0 ? [...groups, next] : groups.with(index, next);
  };
  const after = { ...before, groups: fold(before.groups, false), people: fold(before.people, true) };
  const { error = null, retry_after_s = null } = answer.problem ?? {};
  const result = error === null ? "ok" : "failed";
  return checked(after, description, group, context, { result, error, retry_after_s, documents });
}

interface CheckResult {
  readonly result: GroupCheck["result"];
  readonly error: string | null;
  readonly retry_after_s: number | null;
  readonly documents?: GroupCheck["documents"];
}

function checked(
  before: Applied,
  { name }: SourceDescription,
  group: FieldGroup,
  { now_ms }: ApplyContext,
  { result, error, retry_after_s, documents }: CheckResult,
): Applied {
  const key = checkKey(name, group);
  const previous = before.checks[key];
  const check: GroupCheck = {
    checked_ms: now_ms,
    confirmed_ms: result === "ok" ? now_ms : (previous?.confirmed_ms ?? null),
    result,
    error,
    retry_at_ms: retry_after_s === null ? null : now_ms + retry_after_s * 1_000,
    documents: documents ?? previous?.documents ?? [],
  };
  return {
    ...before,
    checks: { ...before.checks, [key]: check },
    outcomes: [...before.outcomes, { source: name, group, error, retry_after_s }],
  };
}

/** How claims are ranked: by when they were confirmed, and by whose home register their source is. */
export function groupContext(sources: readonly Source[], checks: Checks, now_ms: number): GroupContext {
  const byName = new Map(sources.map(({ description }) => [description.name, description]));
  return {
    now_ms,
    confirmed_ms: ({ source, group, claims }) =>
      checks[checkKey(source, group)]?.confirmed_ms ?? claims.at(-1)?.observed_ms ?? 0,
    max_age_s({ source, group }) {
      const description = byName.get(source);
      return description && isFieldGroup(group) ? maxAgeOf(description, group) : Infinity;
    },
    isHomeRegister(source, jurisdiction) {
      const homes = byName.get(source)?.home_register_of ?? [];
      return (
        jurisdiction !== null && (homes.includes(jurisdiction) || homes.includes(countryOf(jurisdiction)!))
      );
    },
  };
}

const isFieldGroup = (group: string): group is FieldGroup =>
  (FIELD_GROUPS as readonly string[]).includes(group);

export const peopleDigest = (people: readonly StoredGroup[]): string | null => {
  const statements = people
    .flatMap(openClaims)
    .map(({ field, key, value }) => canonicalJson([field, key, value]));
  return statements.length === 0 ? null : digestId(statements.toSorted().join("\n"), 20);
};

export interface MaterialisedDeps {
  readonly sources: readonly Source[];
  readonly epoch: number;
  readonly now_ms: number;
}

/**
 * The company with these claims, its record resolved again; a change of the record is in its outbox. Null: there is no
 * claim, so there is no company. The same object: nothing is to be written.
 */
export function materialise(
  before: StoredCompany | null,
  company_id: string,
  knowledge: Knowledge,
  aliases: readonly StoredCompany[],
  { sources, epoch, now_ms }: MaterialisedDeps,
): StoredCompany | null {
  const { groups, people, checks } = knowledge;
  const context = groupContext(sources, checks, now_ms);
  const people_digest = peopleDigest(people);
  const record = recordOf(groups, aliases, context, people_digest !== null);
  if (record === null) return before;
  const fields = changedFields(before?.record ?? null, record);
  const changed = [...fields, ...(people_digest === (before?.people_digest ?? null) ? [] : ["people"])];
  const isSame =
    before !== null &&
    changed.length === 0 &&
    before.groups === groups &&
    isSameRecord(before.record, record);
  if (isSame) return before;
  const base: StoredCompany = before ?? {
    id: company_id,
    version: 0,
    epoch,
    written_ms: now_ms,
    created_ms: now_ms,
    updated_ms: now_ms,
    merged_into: null,
    aliases: [],
    groups,
    record,
    people_digest,
    outbox: [],
  };
  const next = { ...base, epoch, written_ms: now_ms, groups, record, people_digest };
  return changed.length === 0
    ? next
    : withChange(next, before?.record ?? null, before === null ? "created" : "updated", changed, now_ms);
}

const isSameRecord = (a: ResolvedRecord, b: ResolvedRecord): boolean =>
  canonicalJson(a as unknown as Json) === canonicalJson(b as unknown as Json);

/** The company one version further, with the change in its outbox. */
export function withChange(
  company: StoredCompany,
  before: ResolvedRecord | null,
  type: OutboxEntry["type"],
  fields: readonly string[],
  now_ms: number,
  merged_into: string | null = null,
): StoredCompany {
  const version = company.version + 1;
  const countries = [before?.jurisdiction ?? null, company.record.jurisdiction].map(countryOf);
  const entry: OutboxEntry = {
    type,
    fields,
    version,
    // A clock that went back must not change the order of a company's changes.
    at_ms: Math.max(now_ms, company.updated_ms),
    merged_into,
    countries: [...new Set(countries.filter((country) => country !== null))],
  };
  return { ...company, version, updated_ms: entry.at_ms, merged_into, outbox: [...company.outbox, entry] };
}
