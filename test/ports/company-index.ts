/** What every search index of companies promises (actors/sources/companies/search-index.ts). */
import { expect, test } from "vitest";
import { MAX_POSTINGS } from "../../actors/sources/companies/search-keys.ts";
import {
  type CompanyIndex,
  type IndexedCompany,
  NO_FILTER,
} from "../../actors/sources/companies/search-index.ts";

let number = 0;

const company = (legal: string, more: Partial<IndexedCompany> = {}): IndexedCompany => ({
  id: `cmp_${String(number++).padStart(16, "0")}`,
  version: 1,
  legal,
  trading: [],
  former: [],
  status: "active",
  country: "CH",
  legal_form: "public_limited",
  city: "Basel",
  completeness: 0.8,
  ...more,
});

/** `open` gives an empty index. */
export function companyIndexSuite(open: () => Promise<CompanyIndex>): void {
  const found = async (index: CompanyIndex, name: string, filter = NO_FILTER): Promise<string[]> =>
    (await index.candidates([name], filter, 20)).map(({ legal }) => legal);

  test("finds a company by a word, by any of its names, and with a typo", async () => {
    const index = await open();
    await index.put(
      company("Brauerei Falken AG", { trading: ["Falkenbräu"], former: ["Schaffhauser Brauhaus"] }),
    );
    await index.put(company("Uhrenfabrik Langendorf SA"));
    for (const name of [
      "falken",
      "Brauerei Falken",
      "Falkenbrau",
      "schaffhauser brauhaus",
      "Braurei Falken",
      "Brauerei Falkan",
    ])
      expect({ [name]: await found(index, name) }).toEqual({ [name]: ["Brauerei Falken AG"] });
    expect(await found(index, "Zementwerk")).toEqual([]);
    await index.close();
  });

  test("finds only what fits the filter", async () => {
    const index = await open();
    await index.put(company("Alpina AG"));
    await index.put(company("Alpina GmbH", { country: "DE", legal_form: "private_limited" }));
    await index.put(company("Alpina SA", { status: "dissolved" }));
    const only = (filter: Partial<typeof NO_FILTER>) => found(index, "alpina", { ...NO_FILTER, ...filter });
    expect(await only({ country: "DE" })).toEqual(["Alpina GmbH"]);
    expect(await only({ status: "dissolved" })).toEqual(["Alpina SA"]);
    expect(await only({ legal_form: "private_limited", country: "CH" })).toEqual([]);
    expect(await index.size()).toBe(3);
    await index.close();
  });

  test("forgets the former entry of a company, and an entry of an earlier version changes nothing", async () => {
    const index = await open();
    const first = company("Nordwind Reederei AS");
    await index.put({ ...first, version: 2 });
    await index.put({ ...first, version: 3, legal: "Suedpol Spedition AS" });
    await index.put({ ...first, version: 2 });
    expect(await found(index, "nordwind reederei")).toEqual([]);
    expect(await found(index, "suedpol spedition")).toEqual(["Suedpol Spedition AS"]);
    await index.remove(first.id);
    await index.remove(first.id);
    expect(await found(index, "suedpol spedition")).toEqual([]);
    expect(await index.size()).toBe(0);
    await index.close();
  });

  test("puts the companies that share the most telling keys first", async () => {
    const index = await open();
    for (let each = 0; each < 60; each++)
      await index.put(company(`Holding ${String.fromCharCode(97 + (each % 26))}${each}x AG`));
    await index.put(company("Zebrafink Holding AG"));
    expect((await found(index, "zebrafink holding"))[0]).toBe("Zebrafink Holding AG");
    await index.close();
  });

  test("finds by a common word only when no other key finds anything, and the same the second time", async () => {
    const index = await open();
    const words = ["Falken", "Zebrafink", "Nordwind"];
    const common = Array.from({ length: MAX_POSTINGS + 1 }, (_, n) => company(`Holding ${words[n % 3]} AG`));
    await Promise.all(common.map((each) => index.put(each)));
    await index.put(company("Holding Uhrenfabrik AG"));
    for (let time = 0; time < 2; time++) {
      expect(await found(index, "holding uhrenfabrik")).toEqual(["Holding Uhrenfabrik AG"]);
      expect(await found(index, "holding")).toHaveLength(20);
      expect(await found(index, "holding quux", { ...NO_FILTER, country: "DE" })).toEqual([]);
    }
    await index.close();
  });
}
