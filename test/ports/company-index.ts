/** Promises of every search index of companies (actors/sources/companies/search-index.ts). */
import { expect, test } from "vitest";
import { MAX_POSTINGS } from "../../actors/sources/companies/search-keys.ts";
import {
  type CompanyIndex,
  type CompanyEntry,
  NO_FILTER,
} from "../../actors/sources/companies/search-index.ts";

let number = 0;

const company = (legal: string, more: Partial<CompanyEntry> = {}): CompanyEntry => ({
  id: `cmp_${String(number++).padStart(16, "0")}`,
  version: 1,
  names: [legal],
  status: "active",
  country: "CH",
  legal_form: "public_limited",
  city: "Basel",
  identifiers: [],
  completeness: 0.8,
  ...more,
});

/** `open` gives an empty index. */
export function companyIndexSuite(open: () => Promise<CompanyIndex>): void {
  const found = async (index: CompanyIndex, name: string, filter = NO_FILTER): Promise<string[]> =>
    (await index.candidates({ names: [name], filter }, 20)).entries.map(({ names: [legal = ""] }) => legal);

  test("finds a company by a word, by any of its names, and with a typo", async () => {
    const index = await open();
    await index.put([
      company("", { names: ["Brauerei Falken AG", "Falkenbräu"], former: ["Schaffhauser Brauhaus"] }),
      company("Uhrenfabrik Langendorf SA"),
    ]);
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
    await index.put([company("Alpina AG")]);
    await index.put([company("Alpina GmbH", { country: "DE", legal_form: "private_limited" })]);
    await index.put([company("Alpina SA", { status: "dissolved" })]);
    const only = (filter: Partial<typeof NO_FILTER>) => found(index, "alpina", { ...NO_FILTER, ...filter });
    expect(await only({ country: "DE" })).toEqual(["Alpina GmbH"]);
    expect(await only({ status: "dissolved" })).toEqual(["Alpina SA"]);
    expect(await only({ legal_form: "private_limited", country: "CH" })).toEqual([]);
    expect(await index.count()).toBe(3);
    await index.close();
  });

  test("forgets the former entry of a company, and an entry of an earlier version changes nothing", async () => {
    const index = await open();
    const first = company("Nordwind Reederei AS");
    await index.put([{ ...first, version: 2 }]);
    await index.put([{ ...first, version: 3, names: ["Suedpol Spedition AS"] }]);
    await index.put([{ ...first, version: 2 }]);
    expect(await found(index, "nordwind reederei")).toEqual([]);
    expect(await found(index, "suedpol spedition")).toEqual(["Suedpol Spedition AS"]);
    await index.remove([first.id]);
    await index.remove([first.id]);
    expect(await found(index, "suedpol spedition")).toEqual([]);
    expect(await index.count()).toBe(0);
    await index.close();
  });

  test("puts the companies that share the most telling keys first", async () => {
    const index = await open();
    for (let each = 0; each < 60; each++)
      await index.put([company(`Holding ${String.fromCharCode(97 + (each % 26))}${each}x AG`)]);
    await index.put([company("Zebrafink Holding AG")]);
    expect((await found(index, "zebrafink holding"))[0]).toBe("Zebrafink Holding AG");
    await index.close();
  });

  test("finds by a common word only when no other key finds anything, and the same the second time", async () => {
    const index = await open();
    const words = ["Falken", "Zebrafink", "Nordwind"];
    const common = Array.from({ length: MAX_POSTINGS + 1 }, (_, n) => company(`Holding ${words[n % 3]} AG`));
    await index.put(common);
    await index.put([company("Holding Uhrenfabrik AG")]);
    for (let time = 0; time < 2; time++) {
      expect(await found(index, "holding uhrenfabrik")).toEqual(["Holding Uhrenfabrik AG"]);
      expect(await found(index, "holding")).toHaveLength(20);
      expect(await found(index, "holding quux", { ...NO_FILTER, country: "DE" })).toEqual([]);
    }
    await index.close();
  });

  test("finds a company that shares only common words, by two of them together", async () => {
    const index = await open();
    const others = Array.from({ length: 2 * (MAX_POSTINGS + 1) }, (_, n) => {
      const word = n % 2 === 0 ? "Handel" : "Spedition";
      return company(`Q${n}x ${word} AG`);
    });
    await index.put([...others, company("Kryzanowsky Handel Spedition AG")]);
    // The first word of the query is no word of the right company; that another one has it makes common words count for nothing.
    await index.put([company("Wrzbck AG")]);
    expect(await found(index, "Wrzbck Handel Spedition")).toEqual(
      expect.arrayContaining(["Wrzbck AG", "Kryzanowsky Handel Spedition AG"]),
    );
    await index.close();
  });

  test("says how many companies have each word, in whatever country", async () => {
    const index = await open();
    const others = Array.from({ length: 30 }, (_, n) => company(`Holding Nr${n}x AG`, { country: "DE" }));
    await index.put([...others, company("Holding Falken AG")]);
    const filter = { ...NO_FILTER, country: "CH" };
    const { frequencies, companies, entries } = await index.candidates(
      { names: ["Falken Holdings Quux"], filter },
      20,
    );
    expect(frequencies).toEqual(
      new Map([
        ["falken", 1],
        ["holding", 31],
        ["quux", 0],
      ]),
    );
    expect(companies).toBe(31);
    expect(entries).toHaveLength(1);
    await index.close();
  });

  test("holds an entry once, however often it is put, and whole", async () => {
    const index = await open();
    const entry = company("Seilbahn Rigi AG", {
      identifiers: ["lei:529900T8BM49AURSDO55"],
      postcode: "6410",
      former: ["Rigibahn AG"],
    });
    const { id, names, identifiers } = entry;
    await index.put([entry, entry]);
    await index.put([entry]);
    expect(await index.count()).toBe(1);
    expect((await index.candidates({ names: ["rigibahn"], filter: NO_FILTER }, 5)).entries).toEqual([entry]);
    // An entry without a version replaces one that was put without one.
    const bare = { id: `${id}b`, names, identifiers };
    await index.put([bare]);
    await index.put([{ ...bare, names: ["Zebrafink AG"] }]);
    expect(await found(index, "zebrafink")).toEqual(["Zebrafink AG"]);
    expect(await found(index, "seilbahn rigi")).toEqual(["Seilbahn Rigi AG"]);
    await index.close();
  });

  test("finds and forgets thousands of companies as it does one", async () => {
    const index = await open();
    const all = Array.from({ length: 6_000 }, (_, n) =>
      company(`${spelt(n)} Handel ${n % 2 === 0 ? "AG" : "GmbH"}`, { country: n % 3 === 0 ? "DE" : "CH" }),
    );
    for (let at = 0; at < all.length; at += 1_500) await index.put(all.slice(at, at + 1_500));
    expect(await index.count()).toBe(6_000);
    for (const n of [0, 1, 1_499, 1_500, 4_711, 5_999])
      expect(await found(index, spelt(n))).toContain(all[n]!.names[0]);
    await index.put([{ ...all[4_711]!, version: 2, names: ["Zebrafink AG"] }]);
    await index.remove([all[0]!.id, all[5_999]!.id]);
    expect(await found(index, spelt(4_711))).not.toContain(all[4_711]!.names[0]);
    expect(await found(index, "Zebrafink")).toEqual(["Zebrafink AG"]);
    for (const n of [0, 5_999]) expect(await found(index, spelt(n))).not.toContain(all[n]!.names[0]);
    expect(await index.count()).toBe(5_998);
    await index.close();
  });

  test("keeps how far it was made", async () => {
    const index = await open();
    expect(await index.readState()).toBeNull();
    await index.writeState({ layout: 1, through: "cmp_1" });
    await index.writeState({ layout: 3, through: null });
    expect(await index.readState()).toEqual({ layout: 3, through: null });
    await index.close();
  });
}

/** A word of its own for each number below 10,000. */
const spelt = (n: number): string =>
  [1_000, 100, 10, 1].map((unit) => SYLLABLES[Math.floor(n / unit) % 10]!).join("");
const SYLLABLES = "ba ce di fo gu ka le mi no pu".split(" ");
