/** Search and resolve over the register: pages of a ranking, live hits, identifiers and filters. */
import { afterEach, describe, expect, test } from "vitest";
import type { Source, SourceFailure } from "../../../../actors/sources/companies/source.ts";
import { NO_FILTER } from "../../../../actors/sources/companies/search-index.ts";
import {
  findByIdentifier,
  liveResults,
  rank,
  type RankPosition,
  resolveName,
  searchPage,
} from "../../../../actors/sources/companies/search.ts";
import { parseCompanyReference } from "../../../../actors/sources/companies/references.ts";
import {
  identifier,
  oneRegister,
  type ScriptedClaim,
  scriptedSource,
} from "../../../harness/companies-harness.ts";
import { leiOf } from "../../../harness/gleif.ts";

const LEI = leiOf("529900T8BM49AURSDO");
const OTHER_LEI = leiOf("529900W3MOO00A18X9");

type Register = ReturnType<typeof oneRegister>;
let running: Register;
afterEach(() => running.stop());

/** A source that looks LEIs up: what it says of each. Its search finds `found`. */
function searchable(
  says: (lei: string) => readonly ScriptedClaim[] | null,
  found: readonly string[] = [],
): Source {
  const source = scriptedSource("gleif", "lei", ({ value }) => {
    const claims = says(value);
    return claims === null
      ? { kind: "not_found", documents: [] }
      : { core: [identifier("lei", value), ...claims] };
  });
  return {
    ...source,
    search: async () => ({
      kind: "found",
      hits: found.map((name, index) => ({
        identifier: { scheme: "lei", value: leiOf(String(index).padStart(18, "0")) },
        identifiers: [{ scheme: "lei", value: leiOf(String(index).padStart(18, "0")) }],
        name,
        former_names: [],
        status: "active",
        jurisdiction: "CH",
        city: null,
        legal_form_category: null,
      })),
    }),
  };
}

function started(source: Source): Register {
  running = oneRegister(() => [source]);
  return running;
}

const depsOf = ({ documents, clock, index, sources, imports }: Register) => ({
  documents,
  clock,
  index,
  sources,
  imports,
  openHttp: () => async () =>
    ({ kind: "failed", error: "scripted", message: "", retry_after_s: null }) as const,
});

const reference = (text: string) => {
  const parsed = parseCompanyReference(text);
  if (parsed.kind === "wrong") throw new TypeError(parsed.message);
  return parsed;
};

describe("a page of results", () => {
  const SEARCH = { name: "Alpina Technik", city: null, filter: NO_FILTER };
  /** Companies of one name, of which some are dissolved and some records are fuller. */
  async function namesakes(): Promise<Register> {
    const register = started(
      searchable((lei) => {
        const number = Number(lei.slice(0, 18));
        return [
          ["names.legal", "Alpina Technik AG"],
          ["status", number % 3 === 0 ? "dissolved" : "active"],
          ...(number % 2 === 0 ? ([["dates.incorporation", "2004-12-01"]] as const) : []),
        ];
      }),
    );
    for (let each = 0; each < 12; each++) await register.get(`lei:${leiOf(String(each).padStart(18, "0"))}`);
    return register;
  }

  test.each([1, 2, 5])("of %i has each company once, also where scores are equal", async (limit) => {
    const register = await namesakes();
    const ranked = await rank(register, SEARCH);
    expect(new Set(ranked.map(({ score }) => score)).size).toBeLessThan(ranked.length);
    const listed: unknown[] = [];
    let after: RankPosition | null = null;
    do {
      const page = await searchPage(register, ranked, { after, limit });
      listed.push(...page.results.map(({ id }) => id));
      // A cursor travels as JSON.
      after = JSON.parse(JSON.stringify(page.next));
    } while (after !== null);
    expect(listed).toEqual(ranked.map(({ company }) => company.id));
    expect(listed).toHaveLength(12);
  });

  test("has no more results than its limit, live hits included, and passes over no company", async () => {
    const register = await namesakes();
    const ranked = await rank(register, SEARCH);
    const hit = (score: number, ref: string) => ({ score, summary: { id: null, ref, match_score: score } });
    const live = [hit(2, "lei:1"), hit(2, "lei:2"), hit(0.6, "lei:3")];
    const first = await searchPage(register, ranked, { after: null, limit: 2 }, live);
    expect(first.results.map(({ ref }) => ref)).toEqual(["lei:1", "lei:2"]);
    const second = await searchPage(register, ranked, { after: first.next, limit: 20 });
    expect(second.results.map(({ id }) => id)).toEqual(ranked.map(({ company }) => company.id));
    expect(second.next).toBeNull();
    const all = await searchPage(register, ranked, { after: null, limit: 20 }, live);
    expect(all.results.at(-1)).toMatchObject({ ref: "lei:3" });
    expect(all.results).toHaveLength(15);
  });
});

describe("an identifier", () => {
  const NAME: ScriptedClaim = ["names.legal", "Alpina Technik AG"];
  const CALL = { live: false, project: "default" };

  test("is found exactly, and only where the company fits the filter", async () => {
    const register = started(searchable(() => [NAME, ["status", "active"], ["jurisdiction", "CH"]]));
    const found = (await register.get(`lei:${LEI}`))!;
    const search = (filter: Partial<typeof NO_FILTER>) =>
      findByIdentifier(depsOf(register), reference(`lei:${LEI}`), { ...NO_FILTER, ...filter }, CALL);
    expect(await search({ country: "CH", status: "active" })).toMatchObject({
      results: [{ id: found.company.id, match_score: 1, in_register: true }],
      live_sources: [],
    });
    expect((await search({ country: "FR" })).results).toEqual([]);
    expect((await search({ status: "dissolved" })).results).toEqual([]);
  });

  test("that the register does not have is asked for at the sources when the search is live, and nothing is stored", async () => {
    const register = started(
      searchable((lei) =>
        lei === LEI
          ? [NAME, ["status", "active"], ["jurisdiction", "CH"], identifier("ch_uid", "CHE101602521")]
          : null,
      ),
    );
    const search = (lei: string, live: boolean) =>
      findByIdentifier(depsOf(register), reference(`lei:${lei}`), NO_FILTER, { ...CALL, live });
    expect(await search(LEI, false)).toEqual({ results: [], live_sources: [] });
    expect(await search(LEI, true)).toMatchObject({
      results: [
        {
          id: null,
          ref: `lei:${LEI}`,
          in_register: false,
          match_score: 1,
          names: { legal: "Alpina Technik AG" },
          jurisdiction: "CH",
          identifiers: [{ scheme: "lei" }, { scheme: "ch_uid", value: "CHE101602521" }],
        },
      ],
      live_sources: [{ source: "gleif", result: "ok", hits: 1 }],
    });
    expect(await search(OTHER_LEI, true)).toMatchObject({ results: [], live_sources: [{ hits: 0 }] });
    expect(await register.documents.list("companies", { limit: 1 })).toEqual([]);
  });

  test("that contradicts a candidate's keeps it from being the match, in the register and at the sources", async () => {
    const register = started(searchable((lei) => (lei === LEI ? [NAME] : null), ["Alpina Technik AG"]));
    await register.get(`lei:${LEI}`);
    const resolve = (...wanted: readonly string[]) =>
      resolveName(
        depsOf(register),
        {
          name: "Alpina Technik AG",
          city: null,
          country: null,
          identifiers: wanted.map((value) => ({ scheme: "lei", value })),
        },
        5,
        "default",
      );
    expect(await resolve()).toMatchObject({ match: { names: { legal: "Alpina Technik AG" } } });
    expect(await resolve(LEI)).toMatchObject({ match: { identifiers: [{ value: LEI }] } });
    expect(await resolve(OTHER_LEI)).toEqual({
      match: null,
      reason: "no_candidates",
      candidates: [],
      explanations: [],
      live_sources: [{ source: "gleif", result: "ok", hits: 1, ms: 0 }],
      unasked_s: null,
    });
    const live = await liveResults(
      depsOf(register),
      { name: "Alpina Technik", city: null, filter: NO_FILTER },
      "p",
    );
    expect(live.results).toHaveLength(1);
  });
});

describe("a name that the register does not have", () => {
  const named = { name: "Kranwerk GmbH", city: null, country: null, identifiers: [] };
  const answered = (failure: Partial<SourceFailure>) => {
    const asking: Source = {
      ...searchable(() => null),
      search: async (_, http) => {
        const response = await http({ method: "GET", url: "https://register.example/" });
        return response.kind === "failed" ? response : { kind: "found", hits: [] };
      },
    };
    const openHttp = () => async () =>
      ({ kind: "failed", error: "rate_limited", message: "", retry_after_s: null, ...failure }) as const;
    return resolveName({ ...depsOf(started(asking)), openHttp }, named, 5, "default");
  };

  test("tells that a source had no slot, and for how long", async () => {
    expect(await answered({ has_no_slot: true, retry_after_s: 7 })).toMatchObject({
      reason: "no_candidates",
      live_sources: [{ source: "gleif", result: "no_slot", hits: 0 }],
      unasked_s: 7,
    });
  });

  test("tells that a source failed", async () => {
    expect(await answered({})).toMatchObject({
      live_sources: [{ source: "gleif", result: "failed", hits: 0 }],
      unasked_s: null,
    });
  });
});

describe("a name that is shorter than the companies'", () => {
  test("finds at the sources every company whose words it begins", async () => {
    const found = [
      "TESCO PLC",
      "TESCO ATRATO DEPOT PROPCO LIMITED",
      "TESCO AQUA (NOMINEE HOLDCO) LIMITED",
      "PSC TEST LIMITED",
      "ANTESCOPE HOLDINGS AND PARTNERS LIMITED",
    ];
    const register = started(searchable(() => null, found));
    const search = { name: "tesco", city: null, filter: NO_FILTER };
    const { results } = await liveResults(depsOf(register), search, "p");
    const names = results.map(({ summary }) => (summary["names"] as { legal: string }).legal);
    expect(names).toEqual(expect.arrayContaining(found.slice(0, 3)));
    expect(names[0]).toBe("TESCO PLC");
    expect(names).not.toContain("ANTESCOPE HOLDINGS AND PARTNERS LIMITED");
  });
});

describe("the sources", () => {
  /** A register with one company, and sources that find others. */
  async function oneCompany() {
    let searches = 0;
    const source = searchable(
      (lei) => (lei === LEI ? [["names.legal", "Alpina Technik AG"]] : null),
      ["Alpina Technik Immobilien AG"],
    );
    const register = started({
      ...source,
      search: async (...question) => {
        searches++;
        return source.search!(...question);
      },
    });
    await register.get(`lei:${LEI}`);
    const resolve = async (name: string, live?: boolean) => {
      const before = searches;
      const search = {
        name,
        city: null,
        country: null,
        identifiers: [],
        ...(live !== undefined && { live }),
      };
      const { candidates } = await resolveName(depsOf(register), search, 5, "default");
      return { asked: searches - before, found: candidates.length };
    };
    return resolve;
  }

  test("are asked by a name only where the register has nothing near, or the caller wants it", async () => {
    const resolve = await oneCompany();
    expect(await resolve("Alpina Technik")).toEqual({ asked: 0, found: 1 });
    // Near, and below the threshold of a match.
    expect(await resolve("Alpina Technik GmbH")).toEqual({ asked: 0, found: 1 });
    expect(await resolve("Alpina Technik Immobilien", true)).toEqual({ asked: 1, found: 2 });
    expect(await resolve("Zementwerk Nord")).toEqual({ asked: 1, found: 0 });
    expect(await resolve("Zementwerk Nord", false)).toEqual({ asked: 0, found: 0 });
  });

  test("every candidate has its explanation", async () => {
    const register = started(searchable(() => null, ["Alpina Technik AG", "Alpina Technik Immobilien AG"]));
    const search = { name: "Alpina Technik AG", city: null, country: null, identifiers: [] };
    const { candidates, explanations } = await resolveName(depsOf(register), search, 5, "default");
    expect(explanations.map(({ candidate }) => candidate)).toEqual(candidates.map(({ ref }) => ref));
    expect(explanations.map(({ score }) => Math.round(score * 10_000) / 10_000)).toEqual(
      candidates.map(({ match_score }) => match_score),
    );
    const [first, second] = explanations;
    expect(first!.lead).toBeGreaterThan(0.08);
    expect(second!.lead).toBeNull();
    expect(first).toMatchObject({
      threshold: 0.85,
      matched_on: { field: "names.legal", value: "Alpina Technik AG" },
    });
  });
});

describe("a legal name as it is written", () => {
  const resolved = async (name: string, found: readonly string[]) => {
    const register = started(searchable(() => null, found));
    const search = { name, city: null, country: null, identifiers: [] };
    return resolveName(depsOf(register), search, 5, "default");
  };
  const VARIANTS = ["Hansa Werke Aktiengesellschaft", "Hansa Werke AG"];

  test("is ahead of other spellings of it", async () => {
    for (const name of [...VARIANTS, "HANSA WERKE A.G."])
      expect(await resolved(name, VARIANTS)).toMatchObject({
        match: { names: { legal: VARIANTS[name === VARIANTS[0] ? 0 : 1] } },
      });
    await running.stop();
  });

  test("is ambiguous where two companies write it so, or none", async () => {
    const twice = await resolved("Hansa Werke AG", [...VARIANTS, "Hansa Werke AG"]);
    expect(twice).toMatchObject({ match: null, reason: "ambiguous" });
    expect(await resolved("Hansa Werke", VARIANTS)).toMatchObject({ match: null, reason: "ambiguous" });
  });
});
