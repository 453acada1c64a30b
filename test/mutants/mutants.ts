/** All mutants, and the text of a file with one of them. */
import assert from "node:assert/strict";
import { ACCOUNTS } from "./accounts.ts";
import { CLUSTER } from "./cluster.ts";
import { DOMAIN } from "./domain.ts";
import { JOBS } from "./jobs.ts";
import type { Mutant } from "./mutant.ts";
import { SIMULATION } from "./simulation.ts";
import { SITES } from "./sites.ts";

export const MUTANTS: readonly Mutant[] = [
  ...CLUSTER,
  ...DOMAIN,
  ...JOBS,
  ...SITES,
  ...ACCOUNTS,
  ...SIMULATION,
];

/** Throws where the text of the row does not stand in the source exactly once. */
export function mutated(source: string, { name, file, find, replace }: Mutant): string {
  const places = source.split(find).length - 1;
  assert(places === 1, `Cannot apply the mutant "${name}": its text stands ${places} times in ${file}`);
  return source.replace(find, () => replace);
}
