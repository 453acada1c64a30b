/** Once a run: prints the seed that properties and simulations draw from. */
import type { TestProject } from "vitest/node";

declare module "vitest" {
  export interface ProvidedContext {
    /** SEED, or drawn for this run. */
    seed: number;
  }
}

export default function setup(project: TestProject): void {
  const { seed } = project.getProvidedContext();
  process.stdout.write(`Seed ${seed}: SEED=${seed} npm test draws the same cases again\n`);
}
