/** Which courses a simulation takes: SEED alone when it is given, else RUNS of them that begin at the run's seed. */
import { inject } from "vitest";

export const isRepeated = process.env["SEED"] !== undefined;

export function seeds(runs: number): readonly number[] {
  const first = inject("seed");
  if (isRepeated) return [first];
  return Array.from({ length: Number(process.env["RUNS"] ?? runs) }, (_, n) => first + n);
}

/** Runs one course; a failure begins with the command that repeats it. */
export async function onSeed<T>(seed: number, course: () => Promise<T>): Promise<T> {
  try {
    return await course();
  } catch (cause) {
    throw new Error(`SEED=${seed} npm run sim: ${(cause as Error).message}`, { cause });
  }
}
