/** Which sources a refresh asks for which groups: a rule of identifiers, ages and what the caller wants. Pure. */
import type { FieldGroup } from "../../../schemas/companies.ts";
import { MAX_AGE_S, MAX_NOT_FOUND_S } from "./freshness.ts";
import { isOwnOf } from "./record.ts";
import type { CompanyIdentifier, Source, SourceDescription } from "./source.ts";
import { checkKey, type Checks, type GroupCheck, type StoredCompany } from "./stored-company.ts";

/** Sources, groups and age that a caller of a record wants. */
export interface RefreshScope {
  /** Names of sources; null: all. */
  readonly sources: readonly string[] | null;
  readonly groups: readonly FieldGroup[];
  /** Older data is fetched again; null: the age of each group's freshness class. */
  readonly max_age_s: number | null;
  readonly force: boolean;
  /** The caller pays for sources that cost money. */
  readonly pays: boolean;
}

export interface KnownIdentifier extends CompanyIdentifier {
  /** False: only a company that was merged into this one has it. */
  readonly is_own: boolean;
}

/** The identifiers of the record. */
export function knownIdentifiers({
  groups,
  record,
}: Pick<StoredCompany, "groups" | "record">): readonly KnownIdentifier[] {
  const isOwn = isOwnOf(groups);
  return record.identifiers.map((identifier) => ({ ...identifier, is_own: isOwn(identifier) }));
}

/** The identifiers of the company itself, `scheme:value`. */
export const ownReferencesOf = (company: Pick<StoredCompany, "groups" | "record">): readonly string[] =>
  knownIdentifiers(company)
    .filter(({ is_own }) => is_own)
    .map(({ scheme, value }) => `${scheme}:${value}`);

export interface Lookup {
  readonly source: Source;
  readonly identifier: CompanyIdentifier;
  readonly groups: readonly FieldGroup[];
}

export interface PlannedLookup extends Lookup {
  readonly identifier: KnownIdentifier;
}

export interface RefreshPlan {
  readonly lookups: readonly PlannedLookup[];
  /** Groups whose stored data is young enough. */
  readonly fresh: readonly {
    readonly source: string;
    readonly group: FieldGroup;
    readonly check: GroupCheck;
  }[];
}

/** Groups that every record has; the others are fetched for `include` or their own resource. */
export const RECORD_GROUPS: readonly FieldGroup[] = [
  "core",
  "identifiers",
  "relationships",
  "securities",
  "web",
];

/** A source that failed is not asked again before this, unless the caller forces a refresh. */
const RETRY_FAILED_MS = 60_000;

export function planRefresh(
  sources: readonly Source[],
  identifiers: readonly KnownIdentifier[],
  checks: Checks,
  wanted: RefreshScope,
  now_ms: number,
): RefreshPlan {
  const lookups: PlannedLookup[] = [];
  const fresh: RefreshPlan["fresh"][number][] = [];
  for (const source of sources) {
    const { description } = source;
    if (!isWanted(source, wanted)) continue;
    const identifier = identifierFor(description, identifiers);
    if (!identifier) continue;
    const due: FieldGroup[] = [];
    for (const group of wanted.groups) {
      if (!description.groups[group]) continue;
      const check = checks[checkKey(description.name, group)];
      if (check && !wanted.force && !isDue(description, group, check, wanted.max_age_s, now_ms))
        fresh.push({ source: description.name, group, check });
      else due.push(group);
    }
    if (due.length > 0) lookups.push({ source, identifier, groups: due });
  }
  return { lookups, fresh };
}

/** Whether the caller wants the source, whatever it knows. */
export function isWanted(
  { description: { name, is_paid = false }, inactive_because, is_opt_in = false }: Source,
  { sources, pays }: Pick<RefreshScope, "sources" | "pays">,
): boolean {
  if (inactive_because !== null || (is_paid && !pays)) return false;
  return sources === null ? !is_opt_in : sources.includes(name);
}

/**
 * The company's own identifiers come first: what a source knows of a merged company must not replace what it knows of this
 * one. Of these, the first scheme the source looks up: it is the source's own.
 */
function identifierFor(
  { schemes }: SourceDescription,
  identifiers: readonly KnownIdentifier[],
): KnownIdentifier | undefined {
  for (const is_own of [true, false])
    for (const scheme of schemes.lookup) {
      const identifier = identifiers.find((each) => each.scheme === scheme && each.is_own === is_own);
      if (identifier) return identifier;
    }
  return undefined;
}

export const maxAgeOf = ({ groups }: SourceDescription, group: FieldGroup): number =>
  MAX_AGE_S[groups[group]?.freshness ?? "registry_core"];

function isDue(
  description: SourceDescription,
  group: FieldGroup,
  check: GroupCheck,
  max_age_s: number | null,
  now_ms: number,
): boolean {
  const age_ms = now_ms - check.checked_ms;
  const class_s = maxAgeOf(description, group);
  switch (check.result) {
    case "ok":
      return age_ms > (max_age_s ?? class_s) * 1_000;
    case "not_found":
      return age_ms > Math.min(class_s, MAX_NOT_FOUND_S) * 1_000;
    case "failed":
      return now_ms >= (check.retry_at_ms ?? check.checked_ms + RETRY_FAILED_MS);
  }
}
