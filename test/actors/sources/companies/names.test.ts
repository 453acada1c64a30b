/** Company names: their normal form, their legal forms, how alike two are, and when one is a match. */
import { existsSync, readFileSync } from "node:fs";
import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { foldName } from "../../../../actors/sources/companies/names/fold.ts";
import {
  legalFormCategory,
  splitLegalForms,
} from "../../../../actors/sources/companies/names/legal-forms.ts";
import {
  byRank,
  type CandidateCompany,
  decideMatch,
  matchScore,
  nameQuery,
  wordParts,
} from "../../../../actors/sources/companies/names/resolve.ts";
import { NAME_THRESHOLD, prepareName, scoreNames } from "../../../../actors/sources/companies/names/score.ts";
import {
  jaroWinkler,
  levenshteinSimilarity,
  nameSimilarity,
  spellingSimilarity,
} from "../../../../actors/sources/companies/names/similarity.ts";

const score = (a: string, b: string): number => scoreNames(prepareName(a), prepareName(b));
const stem = (name: string): string => splitLegalForms(foldName(name)).stem;

describe("the folded form", () => {
  test.each([
    ["Müller & Söhne", "mueller and soehne"],
    ["STRASSE straße", "strasse strasse"],
    ["L'Oréal S.A.", "loreal sa"],
    ["Société d’Équipement", "societe dequipement"],
    ["Łódź Ørsted Æther", "lodz orsted aether"],
    ["ООО «Газпром»", "ooo gazprom"],
    ["ΑΘΗΝΑ", "athina"],
    ["A\u0308rzte", "aerzte"],
    ["İstanbul Gıda A.Ş.", "istanbul gida as"],
    ["  Foo\t-\nBar/Baz ", "foo bar baz"],
    ["!!!", ""],
    ["", ""],
  ])("of %j is %j", (name, folded) => expect(foldName(name)).toBe(folded));

  test("is ASCII, and folding it again changes nothing", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (name) => {
        const folded = foldName(name);
        expect(folded).toMatch(/^(?:[a-z0-9]+(?: [a-z0-9]+)*)?$/);
        expect(foldName(folded)).toBe(folded);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("legal forms", () => {
  test.each([
    ["Siemens Aktiengesellschaft", "siemens"],
    ["Keppler, Lehmann GmbH & Co. KG", "keppler lehmann"],
    ["Compañía Minera S.A. de C.V.", "compania minera"],
    ["Baltyk Trans Sp. z o.o. Sp. k.", "baltyk trans"],
    ["AB Volvo (publ)", "volvo publ"],
    ["PT Bank Raya Tbk", "bank raya"],
    ["The Coca-Cola Company", "coca cola"],
    ["Tiffany & Co.", "tiffany"],
    ["株式会社トヨタ", "zhushihuishetoyota"],
    ["A B C Transport", "a b c transport"],
    ["Novartis Foundation", "novartis foundation"],
    ["Deutsche Bank AG", "deutsche bank"],
    ["AG", "ag"],
    ["The Company Ltd.", "the"],
    ["As Good As It Gets Films", "good as it gets films"],
  ])("of %j are taken off: %j", (name, expected) => expect(stem(name)).toBe(expected));

  test("are never the whole name, and what is left has no new words", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom("ag", "gmbh", "and", "co", "kg", "acme", "sa", "de", "cv", "the")),
        (words) => {
          const { stem: left, forms } = splitLegalForms(words.join(" "));
          expect(left === "").toBe(words.length === 0);
          const kept = [...left.split(" "), ...forms.join(" ").split(" ")].filter((word) => word !== "");
          expect(kept.toSorted()).toEqual(words.toSorted());
        },
      ),
    );
  });

  test.each([
    ["GmbH & Co. KG", "DE", "limited_partnership"],
    ["GmbH", "CH", "private_limited"],
    ["AS", "NO", "private_limited"],
    ["AS", "EE", "public_limited"],
    ["S.A.", "FR", "public_limited"],
    ["Sp. z o.o.", "PL", "private_limited"],
    ["AB", "LT", "public_limited"],
    ["AB", "SE", "private_limited"],
    ["Inc.", "US", null],
    ["Verein der Freunde", "DE", null],
  ])("%s in %s is %s", (form, country, category) => expect(legalFormCategory(form, country)).toBe(category));
});

describe("similarity", () => {
  // The classic pairs with the definition of Jaro-Winkler that is used here.
  test.each([
    ["MARTHA", "MARHTA", 0.9611, 0.6667],
    ["DIXON", "DICKSONX", 0.8133, 0.5],
    ["DWAYNE", "DUANE", 0.84, 0.6667],
    ["JELLYFISH", "SMELLYFISH", 0.8963, 0.8],
    ["ABCDE", "ABDCE", 0.9467, 0.6],
    ["SIEMENS", "SIEMENS ENERGY", 0.9, 0.5],
    ["ABC", "XYZ", 0, 0],
    ["", "ABC", 0, 0],
    ["", "", 1, 1],
  ])("%j and %j", (a, b, jw, l) => {
    expect(jaroWinkler(a, b)).toBeCloseTo(jw, 4);
    expect(levenshteinSimilarity(a, b)).toBeCloseTo(l, 4);
    expect(nameSimilarity(a, b)).toBeCloseTo(a === b ? 100 : 50 * (jw + l), 2);
  });

  test.each([
    ["arzelter", "arzeletr", 7 / 8],
    ["ab", "ba", 1 / 2],
    ["abcd", "abdx", 2 / 4],
    ["abcd", "abc", 3 / 4],
    ["abc", "abc", 1],
    ["", "", 1],
  ])("of the spelling %j and %j counts exchanged neighbours as one error", (a, b, expected) => {
    expect(spellingSimilarity(a, b)).toBeCloseTo(expected, 9);
    expect(spellingSimilarity(b, a)).toBeCloseTo(expected, 9);
  });

  test("half transpositions are rounded down, and the prefix counts above 0.7 only", () => {
    expect(jaroWinkler("BEDBBA", "EDB")).toBeCloseTo(0.7222, 4);
    expect(jaroWinkler("CDACCC", "CCEDCD")).toBeCloseTo(0.6944, 4);
  });

  test("is between 0 and 1, and 1 for equal strings", () => {
    const word = fc.string({ unit: fc.constantFrom("a", "b", "c", "d", " "), maxLength: 12 });
    fc.assert(
      fc.property(word, word, (a, b) => {
        for (const value of [jaroWinkler(a, b), levenshteinSimilarity(a, b)]) {
          expect(value).toBeGreaterThanOrEqual(0);
          expect(value).toBeLessThanOrEqual(1);
        }
        expect(jaroWinkler(a, a)).toBe(1);
      }),
    );
  });
});

interface Pair {
  readonly name1: string;
  readonly name2: string;
  readonly is_match: string;
}

/** F1 at the fixed threshold. */
function f1(file: string): number {
  const pairs = parse<Pair>(readFileSync(file, "utf8"), { columns: true });
  let [hits, misses, alarms] = [0, 0, 0];
  for (const { name1, name2, is_match } of pairs) {
    const isMatch = /^(?:1|true)$/i.test(is_match);
    const isFound = score(name1, name2) >= NAME_THRESHOLD;
    if (isMatch && isFound) hits++;
    else if (isMatch) misses++;
    else if (isFound) alarms++;
  }
  return (2 * hits) / (2 * hits + misses + alarms);
}

describe("the score of two names", () => {
  test("finds our own pairs with F1 of at least 0.92", () => {
    expect(f1("test/fixtures/companies/name-pairs.csv")).toBeGreaterThanOrEqual(0.92);
  });

  const shared = "../shared/fixtures/companies/name_pairs.csv";
  test.runIf(existsSync(shared))("finds the shared pairs with F1 of at least 0.88, where they are", () => {
    expect(f1(shared)).toBeGreaterThanOrEqual(0.88);
  });

  test.each([
    ["Nordwind Reederei GmbH", "Nordwind Reederei", 100],
    ["Forty-Four Holdings", "44 Holding", 100],
    ["1st Twenty First Avenue Fund III", "First 21 Avenue Fund 3", 100],
    ["Bank of Carinthia", "Carinthia Bank", 98],
    ["Clarion Foods (Deutschland) GmbH", "Clarion Foods Germany", 100],
    ["Orion Pharm. Industries", "Orion Pharmaceutical Industries", 100],
    ["", "Acme", 0],
  ])("%j and %j: %d", (a, b, expected) => expect(score(a, b)).toBeCloseTo(expected, 5));

  test("does not depend on the order of the names, and is between 0 and 100", () => {
    const word = fc.constantFrom(
      "acme",
      "bank",
      "of",
      "norway",
      "ltd",
      "sa",
      "3",
      "iv",
      "steel",
      "steal",
      "intl",
      "a",
    );
    const name = fc.array(word, { maxLength: 6 }).map((words) => words.join(" "));
    fc.assert(
      fc.property(name, name, (a, b) => {
        expect(score(a, b)).toBeCloseTo(score(b, a), 9);
        expect(score(a, b)).toBeGreaterThanOrEqual(0);
        expect(score(a, b)).toBeLessThanOrEqual(100);
        expect(score(a, a)).toBe(prepareName(a).joined === "" ? 0 : 100);
      }),
      { numRuns: 2_000 },
    );
  });
});

const company = (legal: string, more: Partial<CandidateCompany> = {}): CandidateCompany => ({
  legal,
  trading: [],
  former: [],
  is_active: true,
  cities: [],
  postcode: null,
  country: null,
  legal_form_category: null,
  ...more,
});
const matched = (query: string, candidate: CandidateCompany, city: string | null = null): number =>
  matchScore(nameQuery(query, { city }), candidate).score;

describe("match_score", () => {
  test("is 1 for the legal name, less for a trading name, less again for a former one", () => {
    const named = company("Acme AG", { trading: ["Roadrunner"], former: ["Coyote Traps AG"] });
    expect(matched("Acme", named)).toBe(1);
    expect(matched("Roadrunner", named)).toBeCloseTo(0.98);
    expect(matchScore(nameQuery("Coyote Traps"), named)).toMatchObject({
      score: expect.closeTo(0.93),
      matched_on: { field: "names.former", value: "Coyote Traps AG" },
    });
  });

  test("counts the city for and an ended company against it", () => {
    const near = company("Acme Tool Works", { cities: ["Zürich"] });
    expect(matched("Acme Tool Wokrs", near, "Zuerich") - matched("Acme Tool Wokrs", near)).toBeCloseTo(0.03);
    expect(matched("Acme Tool Works", company("Acme Tool Works", { is_active: false }))).toBeCloseTo(0.95);
    expect(matched("Acme Tool Works", near, "Zürich")).toBe(1);
  });

  test("counts a legal form that contradicts the register's, which is never a match", () => {
    const named = company("Acme Tool Wokrs", { legal_form_category: "public_limited" });
    expect(matched("Acme Tool Works AG", named) - matched("Acme Tool Works", named)).toBeCloseTo(0.02);
    expect(matched("Acme Tool Wroks GmbH", named) - matched("Acme Tool Wroks", named)).toBeCloseTo(-0.08);
    expect(matched("Acme GmbH", company("Acme", { legal_form_category: "public_limited" }))).toBeCloseTo(
      0.84,
    );
    expect(matched("Kranwerk AG", company("Kranwerk GmbH"))).toBeLessThan(0.85);
    expect(matched("Acme GmbH", company("Acme", { legal_form_category: "private_limited" }))).toBe(1);
  });

  test("keeps neighbours below the threshold: another number, or a letter in a short name", () => {
    expect(matched("Blackwater Fund III", company("Blackwater Fund IV"))).toBeLessThanOrEqual(0.8);
    expect(matched("Glenmore plc", company("Glencore plc"))).toBeLessThan(0.85);
    // In the city that the caller names a character is a typing error.
    const placed = company("Glencore plc", { cities: ["Baar"] });
    expect(matched("Glenmcore plc", placed)).toBeLessThan(0.85);
    expect(matched("Glenmcore plc", placed, "Baar")).toBeGreaterThan(0.85);
    expect(matched("Continental Steal Works", company("Continental Steel Works"))).toBeGreaterThan(0.85);
  });
});

describe("the explanation of a score", () => {
  const word = fc.constantFrom(
    "acme",
    "bank",
    "norway",
    "steel",
    "steal",
    "3",
    "iv",
    "glenmore",
    "gmbh",
    "ag",
    "holding",
  );
  const name = fc.array(word, { minLength: 1, maxLength: 5 }).map((words) => words.join(" "));
  const candidates = fc.record({
    legal: name,
    trading: fc.array(name, { maxLength: 2 }),
    former: fc.array(name, { maxLength: 2 }),
    is_active: fc.boolean(),
    cities: fc.constantFrom([], ["Zug"], ["Frankfurt am Main"]),
    postcode: fc.constantFrom(null, "6300"),
    country: fc.constantFrom(null, "CH", "US"),
    legal_form_category: fc.constantFrom(null, "public_limited", "private_limited"),
  });
  const details = fc.record({
    city: fc.constantFrom(null, "Zug", "Frankfurt"),
    postcode: fc.constantFrom(null, "6300"),
    countries: fc.constantFrom([], ["CH"]),
    rarity: fc.constantFrom(null, { frequencies: new Map([["holding", 5_000]]), companies: 100_000 }),
  });

  test("adds up to the score, which is between 0 and 1 and is cut from the evidence", () => {
    fc.assert(
      fc.property(name, details, candidates, (text, given, candidate) => {
        const { score: total, evidence, base, parts } = matchScore(nameQuery(text, given), candidate);
        expect(parts.reduce((sum, { effect }) => sum + effect, base)).toBeCloseTo(total, 9);
        expect(total).toBeCloseTo(Math.min(1, Math.max(0, evidence)), 9);
        for (const { effect } of parts) expect(effect).not.toBe(0);
      }),
      { numRuns: 3_000 },
    );
  });

  test("names the form, the place, the number and the country that decided", () => {
    const query = nameQuery("Acme Tools 3 AG", { city: "Zug" });
    const kinds = (more: Partial<CandidateCompany>, legal = "Acme Tools 3 AG") =>
      matchScore(query, company(legal, more)).parts.map(({ kind, effect }) => [kind, Math.sign(effect)]);
    expect(kinds({ cities: ["Zug"] })).toEqual([
      ["form", 1],
      ["city", 1],
      ["limit", -1],
    ]);
    expect(kinds({ cities: ["Basel"], is_active: false })).toEqual([
      ["form", 1],
      ["city", -1],
      ["status", -1],
    ]);
    expect(kinds({}, "Acme Tools 4 AG")).toContainEqual(["number", -1]);
    // An AG is German, Austrian, Swiss or of Liechtenstein.
    expect(kinds({ country: "NO" })).toContainEqual(["country", -1]);
    expect(kinds({ country: "AT" })).not.toContainEqual(["country", -1]);
    // The caller's country counts before what its form says of countries.
    const named = nameQuery("Acme Tools AG", { country: "NO" });
    expect(matchScore(named, company("Acme Tools AG", { country: "NO" })).score).toBe(1);
  });

  test("has each word of the query beside the candidate's", () => {
    const query = nameQuery("Zebrafnik Holdings");
    const scored = matchScore(query, company("Holding Zebrafink AG"));
    expect(wordParts(query, scored)).toEqual([
      {
        kind: "word",
        query: "zebrafnik",
        candidate: "zebrafink",
        similarity: expect.closeTo(8 / 9),
        effect: 0,
      },
      { kind: "word", query: "holding", candidate: "holding", similarity: 1, effect: 0 },
    ]);
  });
});

describe("a name of common words only", () => {
  const rarity = {
    frequencies: new Map([
      ["holding", 900],
      ["investment", 700],
      ["falken", 3],
    ]),
    companies: 200_000,
  };
  const scored = (text: string, legal: string) =>
    matchScore(nameQuery(text, { rarity }), company(legal)).score;

  test("is no match, unless the legal name is written just so", () => {
    expect(scored("Invest Holding", "Holding Invest AG")).toBeCloseTo(0.8);
    expect(scored("Holding Invest AG", "Holding Invest AG")).toBe(1);
    expect(scored("Falken Holding", "Holding Falken AG")).toBeCloseTo(0.98);
    // The match without the index's frequencies of the words.
    expect(matched("Invest Holding", company("Holding Invest AG"))).toBeCloseTo(0.98);
  });
});

describe("resolve's decision", () => {
  const candidate = (id: string, at: number) => ({ id, score: at, is_active: true, completeness: 0.5 });
  const different = () => false;

  test.each([
    [[], { kind: "none", reason: "no_candidates" }],
    [[0.8499], { kind: "none", reason: "below_threshold" }],
    [[0.85], { kind: "match", id: "c0" }],
    [[0.93, 0.85], { kind: "match", id: "c0" }],
    [[0.93, 0.86], { kind: "none", reason: "ambiguous" }],
    [[1, 1], { kind: "none", reason: "ambiguous" }],
  ])("over the scores %j", (scores, decision) => {
    const ranked = scores.map((at, i) => candidate(`c${i}`, at));
    expect(decideMatch(ranked, different)).toEqual(decision);
  });

  test("is none between two companies of one name, however far apart, unless something else tells them apart", () => {
    const twins = (more: object) => [
      { ...candidate("a", 1), key: "acme" },
      { ...candidate("b", 0.88), key: "acme", ...more },
    ];
    expect(decideMatch(twins({}), different)).toEqual({ kind: "none", reason: "ambiguous" });
    expect(decideMatch(twins({ is_contradicted: true }), different)).toEqual({ kind: "match", id: "a" });
    expect(decideMatch(twins({ key: "acmetools" }), different)).toEqual({ kind: "match", id: "a" });
    const [first, second] = twins({});
    expect(decideMatch([{ ...first!, is_exact: true }, second!], different)).toEqual({
      kind: "match",
      id: "a",
    });
  });

  test("measures the lead before scores are cut at 1", () => {
    const [near, far] = [candidate("near", 1), candidate("far", 0.97)];
    expect(decideMatch([{ ...near, evidence: 1.05 }, far], different)).toEqual({ kind: "match", id: "near" });
    expect(decideMatch([near, far], different)).toEqual({ kind: "none", reason: "ambiguous" });
  });

  test("does not count a branch of the best candidate as another company", () => {
    const ranked = [candidate("head", 0.95), candidate("branch", 0.95), candidate("other", 0.7)];
    expect(decideMatch(ranked, (a, b) => a === "head" && b === "branch")).toEqual({
      kind: "match",
      id: "head",
    });
  });

  test("ranks equal scores by activity, completeness and id", () => {
    const list = [
      candidate("b", 0.9),
      candidate("a", 0.9),
      { ...candidate("full", 0.9), completeness: 0.9 },
      { ...candidate("ended", 0.9), is_active: false, completeness: 1 },
      candidate("best", 0.95),
    ];
    expect(list.toSorted(byRank).map(({ id }) => id)).toEqual(["best", "full", "a", "b", "ended"]);
  });
});
