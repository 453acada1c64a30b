/**
 * Claims about natural persons: stored apart from the company, for as long as the operator's retention setting says, and
 * never for a person whom the operator removed. A removed person is remembered by a digest of the name, so that the next
 * refresh does not bring the person back.
 */
import { createHash } from "node:crypto";
import type { Node } from "../../../cluster/node-record.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import { isPersonal, type SourceAnswer } from "./apply-answers.ts";
import type { Json, SourceClaim } from "./claim.ts";
import { foldName } from "./names/fold.ts";
import type { StoredClaim, StoredGroup } from "./stored-claims.ts";
import { COMPANY_PEOPLE, REMOVED_PEOPLE, type StoredPeople } from "./stored-company.ts";

export interface PeopleStore {
  /** Which claims of these answers are about persons whom the operator removed. Throws Fault. */
  readonly removals: (answers: readonly SourceAnswer[]) => Promise<(claim: SourceClaim) => boolean>;
  /** Throws Fault. */
  readonly store: (company_id: string, groups: readonly StoredGroup[], version: number) => Promise<void>;
  /** Whether the claims must be stored again, though nothing changed, so that they do not expire. */
  readonly isExpiring: (stored: StoredPeople | null) => boolean;
  /** Removes every claim about a person of this name and remembers not to store one again. Throws Fault. */
  readonly remove: (name: string) => Promise<{ readonly companies: number; readonly claims: number }>;
}

const LISTED_AT_ONCE = 200;
/** Confirmed claims are stored again after this part of the retention. */
const RENEWALS = 4;

/** The name of the person a claim is about; null: the claim is about no person. */
export function personIn({ field, value }: Pick<StoredClaim, "field" | "value">): string | null {
  if (!isPersonal({ field, value })) return null;
  const party = (value as { readonly party?: { readonly name?: Json } } | null)?.party;
  return typeof party?.name === "string" ? party.name : null;
}

const digestOf = (name: string): string =>
  createHash("sha256").update(foldName(name).split(" ").toSorted().join(" ")).digest("hex");

export function openPeople({
  documents,
  clock,
  retention_ms,
}: Pick<Node, "documents" | "clock"> & {
  readonly retention_ms: number;
}): PeopleStore {
  /** Claims that are older than the retention are left out. */
  const retained = (groups: readonly StoredGroup[]): StoredGroup[] => {
    const since_ms = clock.now() - retention_ms;
    return groups.map((group) => ({
      ...group,
      claims: group.claims.filter(({ closed }) => closed === undefined || closed.confirmed_ms >= since_ms),
    }));
  };

  return {
    async removals(answers) {
      const names = new Set<string>();
      for (const { answer } of answers)
        for (const group of answer.kind === "found" ? answer.groups : [])
          for (const claim of group.kind === "claims" ? group.claims : []) {
            const name = personIn(claim);
            if (name !== null) names.add(digestOf(name));
          }
      const digests = [...names];
      const found = await REMOVED_PEOPLE.getMany(documents, digests);
      const removed = new Set(digests.filter((_, at) => found[at]));
      return (claim) => {
        const name = personIn(claim);
        return name !== null && removed.has(digestOf(name));
      };
    },

    isExpiring: (stored) =>
      stored !== null && stored.groups.length > 0 && clock.now() - stored.stored_ms > retention_ms / RENEWALS,

    async store(company_id, groups, version) {
      const value: StoredPeople = { groups: retained(groups), stored_ms: clock.now() };
      const options = { expires_at_ms: clock.now() + retention_ms };
      if (await COMPANY_PEOPLE.put(documents, company_id, value, version, options)) return;
      await COMPANY_PEOPLE.update(documents, company_id, () => ({ value, options }));
    },

    async remove(name) {
      const digest = digestOf(name);
      const value = { removed_at: new Date(clock.now()).toISOString() };
      await REMOVED_PEOPLE.update(documents, digest, () => ({ value }));
      let [companies, claims] = [0, 0];
      let from = "";
      for (;;) {
        const page = await COMPANY_PEOPLE.list(documents, { from, limit: LISTED_AT_ONCE });
        for (const { key } of page) {
          const removed = await removeFrom(documents, key, digest, retention_ms);
          companies += removed > 0 ? 1 : 0;
          claims += removed;
        }
        if (page.length < LISTED_AT_ONCE) return { companies, claims };
        from = `${page.at(-1)!.key}\0`;
      }
    },
  };
}

async function removeFrom(
  documents: Documents,
  company_id: string,
  digest: string,
  retention_ms: number,
): Promise<number> {
  let removed = 0;
  await COMPANY_PEOPLE.update(documents, company_id, (stored) => {
    removed = 0;
    const isKept = (claim: StoredClaim): boolean => {
      const name = personIn(claim);
      const isSame = name !== null && digestOf(name) === digest;
      removed += isSame ? 1 : 0;
      return !isSame;
    };
    const groups = (stored?.groups ?? []).map((group) => ({
      ...group,
      claims: group.claims.filter(isKept),
    }));
    return removed === 0 || stored === null
      ? null
      : { value: { ...stored, groups }, options: { expires_at_ms: stored.stored_ms + retention_ms } };
  });
  return removed;
}
