/**
 * A reviewer's decisions about names, for a project: which company a name means, or that none of the candidates that were shown is it. A
 * decision is a claim of the source `operator` about the name in the country, and holds for the project's later requests. It is not
 * written into the company's record, which all projects read.
 */
import { collection } from "../../../cluster/collection.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import { foldName } from "./names/fold.ts";
import { digestId } from "./stored-claims.ts";

export interface ReviewDecision {
  readonly source: "operator";
  /** Folded. */
  readonly name: string;
  readonly country: string | null;
  /** The city that was asked for, folded; null: none. */
  readonly city: string | null;
  /** Its id, or `scheme:value`; null: none of `refused`. */
  readonly company: string | null;
  /** Ids and references of candidates that are not meant. */
  readonly refused: readonly string[];
  readonly job_id: string;
  readonly index: number;
  /** The prefix of the reviewer's key. */
  readonly decided_by: string;
  readonly decided_ms: number;
}

/** The name that a decision is about. */
export interface DecidedName {
  readonly project: string;
  readonly name: string;
  readonly country: string | null;
}

/** By the digest of the project, the folded name and the country. */
export const COMPANY_DECISIONS = collection<ReviewDecision>("company_decisions");

const KEY_CHARS = 26;

export const decisionKey = ({ project, name, country }: DecidedName): string =>
  digestId([project, foldName(name), country ?? ""].join("\n"), KEY_CHARS);

/**
 * The decision that holds for a name in a city; null: there is none, or it is of another city. A decision about a name without a city holds for every
 * city, and the other way round. Throws Fault.
 */
export async function decisionAbout(
  documents: Documents,
  { city, ...about }: DecidedName & { readonly city: string | null },
): Promise<ReviewDecision | null> {
  const [decision = null] = await decisionsOf(documents, [about]);
  const isOther = city !== null && decision?.city != null && decision.city !== foldName(city);
  return isOther ? null : decision;
}

/** Answers the decision for each name, in their order; null: there is none. Throws Fault. */
export const decisionsOf = (
  documents: Documents,
  names: readonly DecidedName[],
): Promise<readonly (ReviewDecision | null)[]> =>
  COMPANY_DECISIONS.getMany(documents, names.map(decisionKey));
