/**
 * How many of the pairs of names that mean one company have it among the candidates of the index, beside 1,300 other companies. A pair that
 * is lost here is lost whatever the scores say.
 */
import { existsSync, readFileSync } from "node:fs";
import { parse } from "csv-parse/sync";
import { describe, expect, test } from "vitest";
import { memoryCompanyIndex } from "../../../../actors/sources/companies/adapters/index.memory.ts";
import { NO_FILTER } from "../../../../actors/sources/companies/search-index.ts";

const SHARED = "../shared/fixtures/companies";
const OTHERS = `${SHARED}/names/companies.csv`;
const CANDIDATES = 100;

interface Pair {
  readonly name1: string;
  readonly name2: string;
  readonly is_match: string;
}

const entry = (id: string, name: string) => ({ id, names: [name], identifiers: [] });

/** The first names whose second name is not found by them. */
async function lostOf(file: string): Promise<{ readonly pairs: number; readonly lost: readonly string[] }> {
  const pairs = parse<Pair>(readFileSync(file, "utf8"), { columns: true }).filter(({ is_match }) =>
    /^(?:1|true)$/i.test(is_match),
  );
  const index = memoryCompanyIndex();
  const others = existsSync(OTHERS) ? readFileSync(OTHERS, "utf8").split("\n").filter(Boolean) : [];
  await index.put(others.map((line, at) => entry(`other${at}`, line.split(";")[0]!)));
  await index.put(pairs.map(({ name2 }, at) => entry(`pair${at}`, name2)));
  const lost: string[] = [];
  for (const [at, { name1 }] of pairs.entries()) {
    const { entries } = await index.candidates({ names: [name1], filter: NO_FILTER }, CANDIDATES);
    if (!entries.some(({ id }) => id === `pair${at}`)) lost.push(name1);
  }
  return { pairs: pairs.length, lost };
}

describe("the companies of pairs of names", () => {
  test("are among the candidates, all of our own", async () => {
    const { pairs, lost } = await lostOf("test/fixtures/companies/name-pairs.csv");
    expect(pairs).toBe(114);
    expect(lost).toEqual([]);
  });

  const shared = `${SHARED}/name_pairs.csv`;
  test.runIf(existsSync(shared))(
    "are among the candidates, but for one of the shared pairs, where they are",
    async () => {
      const { pairs, lost } = await lostOf(shared);
      expect(pairs).toBe(81);
      expect(lost).toEqual(["PLA China"]);
    },
  );
});
