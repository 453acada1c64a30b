/**
 * Whether two companies that share a strong identifier are one, and which of them remains. Never by a name. Pure.
 */
import { ALL_SCHEMES, type IdentifierScheme } from "../../../schemas/identifier-schemes.ts";
import { isOwnOf, type RecordIdentifier } from "./record.ts";
import type { Judgement, StoredCompany } from "./stored-company.ts";

/** Without a status it is active. */
type StatedIdentifier = Pick<RecordIdentifier, "scheme" | "value" | "valid_to"> & {
  readonly status?: string;
};

export interface MergeSide {
  readonly id: string;
  readonly created_ms: number;
  readonly identifiers: readonly RecordIdentifier[];
}

export type MergeDecision =
  | { readonly kind: "merge"; readonly survivor: string; readonly loser: string }
  | {
      readonly kind: "refused";
      readonly because: "negative_edge" | "contradicting_identifiers";
      readonly scheme?: string;
    };

const SCHEMES: ReadonlyMap<string, IdentifierScheme> = new Map(
  ALL_SCHEMES.map((scheme) => [scheme.scheme, scheme]),
);

/** Numbers of a company, and of nothing else. Not here: establishments, securities, tax groups, vendors' numbers. */
const STRONG_KINDS: ReadonlySet<string> = new Set(["registration", "lei", "filer"]);
/** Registration numbers of establishments, and numbers that a company can have several of. */
const WEAK_REGISTRATIONS: ReadonlySet<string> = new Set(["fr_siret"]);

/** A scheme whose numbers prove that two companies are one. */
export const isStrong = (scheme: string): boolean =>
  STRONG_KINDS.has(SCHEMES.get(scheme)?.kind ?? "") && !WEAK_REGISTRATIONS.has(scheme);

/**
 * A company with the identifiers that others are compared with: those of companies merged into it only in schemes in which
 * it has none itself, because the operator may merge companies that contradict each other.
 */
export function mergeSideOf({
  id,
  created_ms,
  groups,
  record,
}: Pick<StoredCompany, "id" | "created_ms" | "groups" | "record">): MergeSide {
  const isOwn = isOwnOf(groups);
  const schemes = new Set(record.identifiers.filter(isOwn).map(({ scheme }) => scheme));
  const identifiers = record.identifiers.filter((each) => isOwn(each) || !schemes.has(each.scheme));
  return { id, created_ms, identifiers };
}

/** The older company remains; of two of one age the one with the smaller id. */
export function decideMerge(a: MergeSide, b: MergeSide, judgement: Judgement | null): MergeDecision {
  if (judgement === "negative") return { kind: "refused", because: "negative_edge" };
  const scheme = contradiction(a.identifiers, b.identifiers);
  if (scheme !== null) return { kind: "refused", because: "contradicting_identifiers", scheme };
  const [survivor, loser] = isOlder(a, b) ? [a, b] : [b, a];
  return { kind: "merge", survivor: survivor.id, loser: loser.id };
}

const isOlder = (a: MergeSide, b: MergeSide): boolean =>
  a.created_ms === b.created_ms ? a.id < b.id : a.created_ms < b.created_ms;

/** A number that another took the place of. A LEI that was not renewed, and so ended on its date, is the company's still. */
export const isFormer = ({ scheme, status, valid_to }: StatedIdentifier): boolean =>
  status === "inactive" && !(scheme === "lei" && valid_to != null);

/** A scheme of one value a company, of which both have another value. */
export function contradiction(
  left: readonly StatedIdentifier[],
  right: readonly StatedIdentifier[],
): string | null {
  for (const stated of left) {
    const { scheme, value } = stated;
    if (!isStrong(scheme) || SCHEMES.get(scheme)?.cardinality !== "one" || isFormer(stated)) continue;
    const others = right.filter((other) => other.scheme === scheme && !isFormer(other));
    if (others.length > 0 && !others.some((other) => other.value === value)) return scheme;
  }
  return null;
}

/** The key of what is known of two companies, in either order. */
export const edgeKey = (a: string, b: string): string => (a < b ? `${a} ${b}` : `${b} ${a}`);
