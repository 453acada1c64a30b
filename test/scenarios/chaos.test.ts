/** One run of chaos on real engines; bench/chaos.ts is the long form. Another seed, and so another fault, each time. */
import { randomInt } from "node:crypto";
import { describe, expect, test } from "vitest";
import { chaos } from "../chaos.ts";
import { engines } from "../engines.ts";

const found = await engines("bus", "documents", "blobs");
const missing = Object.values(found).includes(null);

describe.skipIf(missing)("a cluster of three, a thousand fetches and one fault", () => {
  test("loses nothing, does nothing twice and nothing too soon", async ({ annotate }) => {
    const seed = randomInt(2 ** 31);
    const run = (await chaos({ seed }))!;
    await annotate(run.proof);
    const again = `npm run chaos -- --seed ${seed}`;
    expect({ again, ...run }).toMatchObject({ broken: [] });
  }, 240_000);
});
