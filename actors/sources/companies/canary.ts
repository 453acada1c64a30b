/**
 * Canaries: companies that a source must know, and values that it must give. They find a source that answers, and answers
 * something else. Pure.
 */
import { isDeepStrictEqual } from "node:util";
import { failureIn } from "./ask-source.ts";
import type { Canary, LookupAnswer } from "./source.ts";

/** The problem of the answer, as a sentence; null: none. */
export function canaryProblem({ identifier, expect }: Canary, answer: LookupAnswer): string | null {
  const company = `${identifier.scheme}:${identifier.value}`;
  const failure = failureIn(answer);
  if (failure) return `${company} failed with ${failure.error}: ${failure.message}`;
  if (answer.kind !== "found") return `${company} is not known any more`;
  const claims = answer.groups.flatMap((group) => (group.kind === "claims" ? group.claims : []));
  for (const { field, key, value } of expect) {
    const found = claims.find((claim) => claim.field === field && claim.key === key);
    const slot = key === null ? field : `${field}[${key}]`;
    if (!found) return `${company} has no ${slot}`;
    if (!isDeepStrictEqual(found.value, value))
      return `${company} has another ${slot} than ${JSON.stringify(value)}: ${shown(found.value)}`;
  }
  return null;
}

const MAX_SHOWN_CHARS = 200;
const shown = (value: unknown): string => JSON.stringify(value).slice(0, MAX_SHOWN_CHARS);
