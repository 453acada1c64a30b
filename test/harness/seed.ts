/**
 * The seed of a run, which properties and simulations draw their cases from: SEED, or a new one. vitest.config.ts
 * provides it to every test file, so that all draw from the same.
 */
import { randomInt } from "node:crypto";

export function seedOfRun(): number {
  const given = process.env["SEED"];
  if (given === undefined) return randomInt(2 ** 31);
  if (!/^-?\d+$/.test(given)) throw new Error(`Cannot draw from SEED="${given}": it is not an integer`);
  return Number(given);
}
