/**
 * Which claim of a slot becomes the record's value. In this order; the first difference decides: accepted claims only; a
 * claim confirmed within four times its freshness class before one that was not; precedence of the source; the day of the
 * newest confirmation; the number of sources that agree; the source's name. Pure: the order in which claims arrive does
 * not matter.
 */
import { FIELDS, type FieldPath, type Json, textOf } from "./claim.ts";
import { foldName } from "./names/fold.ts";
import { canonicalJson, slotOf, type StoredClaim } from "./stored-claims.ts";

/** An open claim with what is known of its source. */
export interface Candidate {
  readonly claim: StoredClaim;
  readonly source: string;
  readonly group: string;
  readonly precedence: number;
  readonly confirmed_ms: number;
  readonly is_stale: boolean;
}

export interface ConflictValue {
  readonly value: Json;
  readonly source: string;
  readonly group: string;
  readonly claim: string;
  readonly chosen: boolean;
}

export interface SlotConflict {
  readonly field: string;
  readonly values: readonly ConflictValue[];
  readonly resolved_by: "precedence" | "recency" | "agreement" | "specificity";
}

export interface Resolution {
  /** The winner of each slot; slots in the order of their names. */
  readonly winners: ReadonlyMap<string, Candidate>;
  readonly conflicts: readonly SlotConflict[];
}

const DAY_MS = 86_400_000;

/** Two spellings of one text are one value. */
function comparable(field: FieldPath, value: Json): string {
  if (typeof value === "string") return field === "names.legal" ? foldName(value) : value;
  if (field === "addresses" && typeof value === "object" && value !== null && "formatted" in value)
    return foldName(textOf(value.formatted as Json));
  if (field === "legal_form" && typeof value === "object" && value !== null && "category" in value)
    return textOf(value.category as Json);
  return canonicalJson(value);
}

interface Ranked extends Candidate {
  readonly text: string;
  readonly agreeing: number;
}

type Rule = readonly [by: SlotConflict["resolved_by"], rank: (candidate: Ranked) => number];
/** Greater is better. */
const RULES: readonly Rule[] = [
  ["recency", ({ is_stale }) => (is_stale ? 0 : 1)],
  ["precedence", ({ precedence }) => precedence],
  ["recency", ({ confirmed_ms }) => Math.floor(confirmed_ms / DAY_MS)],
  ["agreement", ({ agreeing }) => agreeing],
];

const byName = (a: Ranked, b: Ranked): number =>
  a.source === b.source ? (a.text < b.text ? -1 : a.text > b.text ? 1 : 0) : a.source < b.source ? -1 : 1;

function compare(a: Ranked, b: Ranked): number {
  for (const [, rank] of RULES) {
    const difference = rank(b) - rank(a);
    if (difference !== 0) return difference;
  }
  return byName(a, b);
}

const decidedBy = (a: Ranked, b: Ranked): SlotConflict["resolved_by"] =>
  RULES.find(([, rank]) => rank(a) !== rank(b))?.[0] ?? "specificity";

export function resolve(candidates: readonly Candidate[]): Resolution {
  const slots = new Map<string, Candidate[]>();
  for (const candidate of candidates) {
    if (candidate.claim.rejected_because !== undefined) continue;
    const slot = slotOf(candidate.claim);
    const rivals = slots.get(slot);
    if (rivals) rivals.push(candidate);
    else slots.set(slot, [candidate]);
  }
  const winners = new Map<string, Candidate>();
  const conflicts: SlotConflict[] = [];
  for (const slot of [...slots.keys()].toSorted()) {
    const ranked = rankOf(slots.get(slot)!);
    winners.set(slot, ranked[0]!);
    const conflict = conflictOf(slot, ranked);
    if (conflict) conflicts.push(conflict);
  }
  return { winners, conflicts };
}

function rankOf(rivals: readonly Candidate[]): readonly Ranked[] {
  const texts = rivals.map(({ claim }) => comparable(claim.field, claim.value));
  const sources = new Map<string, Set<string>>();
  for (const [index, text] of texts.entries())
    sources.set(text, (sources.get(text) ?? new Set()).add(rivals[index]!.source));
  return rivals
    .map((rival, index) => ({ ...rival, text: texts[index]!, agreeing: sources.get(texts[index]!)!.size }))
    .toSorted(compare);
}

function conflictOf(slot: string, ranked: readonly Ranked[]): SlotConflict | null {
  const [winner] = ranked as [Ranked];
  if (!FIELDS[winner.claim.field].is_contested) return null;
  const loser = ranked.find(({ text }) => text !== winner.text);
  if (!loser) return null;
  return {
    field: slot,
    values: ranked.map(({ claim, source, group }, index) => ({
      value: claim.value,
      source,
      group,
      claim: `clm_${claim.id}`,
      chosen: index === 0,
    })),
    resolved_by: decidedBy(winner, loser),
  };
}
