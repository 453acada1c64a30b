/** A run of chaos on real engines; bench/chaos.ts is the long form. Another seed, and so another fault, each time. */
import { randomInt } from "node:crypto";
import { describe, expect, test } from "vitest";
import { chaos, sentAt } from "../harness/chaos.ts";
import { engines } from "../harness/engines.ts";

const found = await engines("bus", "documents", "blobs");
const missing = Object.values(found).includes(null);

describe.skipIf(missing)("a cluster of three nodes, a thousand fetches and one fault", () => {
  test("loses no answer, repeats no finished fetch, and keeps the delay", async ({ annotate }) => {
    const seed = randomInt(2 ** 31);
    const run = (await chaos({ seed }))!;
    await annotate(run.proof);
    const again = `npm run chaos -- --seed ${seed}`;
    expect({ again, ...run }).toMatchObject({ broken: [] });
  }, 320_000);
});

describe("the times at which requests were sent, from the times they arrived", () => {
  test.each([
    ["as they left", [0, 100, 200], [1, 101, 201], [0, 100, 200]],
    ["one late, and the next close behind", [0, 100, 200], [1, 180, 201], [0, 100, 200]],
    ["two late, in the time of the next", [0, 100, 200], [1, 250, 251], [0, 100, 200]],
    ["one that never came", [0, 100, 5_000], [1, 5_001], [0, 5_000]],
    ["one the ledger lost", [0, 5_000], [1, 100, 5_001], [0, Number.NaN, 5_000]],
  ])("%s", (_, starts, arrivals, left) => {
    expect(sentAt(starts, arrivals)).toEqual(left);
  });
});
