import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Candidate, resolve } from "../../../../actors/sources/companies/resolution.ts";
import {
  afterObservation,
  canonicalJson,
  digestId,
  type Observation,
  openClaims,
  type StoredGroup,
} from "../../../../actors/sources/companies/stored-claims.ts";
import { claimOf, DAY_MS, document, type ScriptedClaim } from "../../../harness/companies-harness.ts";

const NOW_MS = Date.UTC(2026, 10, 22);

const candidate = (source: string, value: string, more: Partial<Candidate> = {}): Candidate => ({
  claim: {
    id: digestId(source + value, 20),
    field: "names.legal",
    key: null,
    value,
    document: 0,
    observed_ms: NOW_MS,
  },
  source,
  group: "core",
  precedence: 60,
  confirmed_ms: NOW_MS,
  is_stale: false,
  ...more,
});
const winner = (...candidates: Candidate[]) => {
  const { winners, conflicts } = resolve(candidates);
  return [winners.get("names.legal")?.claim.value, conflicts[0]?.resolved_by];
};

describe("a field resolves", () => {
  test.each<[name: string, candidates: Candidate[], value: string, resolved_by: string | undefined]>([
    [
      "by precedence",
      [candidate("a", "One"), candidate("b", "Two", { precedence: 80 })],
      "Two",
      "precedence",
    ],
    [
      "by recency before precedence, when the better source is stale",
      [candidate("a", "One"), candidate("b", "Two", { precedence: 80, is_stale: true })],
      "One",
      "recency",
    ],
    [
      "by the newest day among equals",
      [candidate("a", "One", { confirmed_ms: NOW_MS - DAY_MS }), candidate("b", "Two")],
      "Two",
      "recency",
    ],
    [
      "by agreement among equals of one day",
      [candidate("a", "One"), candidate("b", "Two"), candidate("c", "Two", { confirmed_ms: NOW_MS + 5 })],
      "Two",
      "agreement",
    ],
    ["by the source's name in the end", [candidate("b", "Two"), candidate("a", "One")], "One", "specificity"],
    [
      "without a conflict between two spellings",
      [candidate("a", "Élan S.A."), candidate("b", "ELAN SA")],
      "Élan S.A.",
      undefined,
    ],
  ])("%s", (_, candidates, value, resolved_by) => {
    expect(winner(...candidates)).toEqual([value, resolved_by]);
  });

  test("never to a rejected claim", () => {
    const rejected = candidate("b", "Two", { precedence: 100 });
    const { winners } = resolve([
      { ...rejected, claim: { ...rejected.claim, rejected_because: "check_digit" } },
    ]);
    expect(winners.size).toBe(0);
  });

  const candidates = fc.array(
    fc
      .record({
        source: fc.constantFrom("a", "b", "c", "d"),
        value: fc.constantFrom("One", "Two", "Three"),
        precedence: fc.constantFrom(40, 60, 80),
        age_days: fc.nat(3),
        is_stale: fc.boolean(),
      })
      .map(({ source, value, precedence, age_days, is_stale }) =>
        candidate(source, value, { precedence, is_stale, confirmed_ms: NOW_MS - age_days * DAY_MS }),
      ),
    { minLength: 1, maxLength: 8 },
  );

  test("to the same value in whatever order the claims come", () => {
    fc.assert(
      fc.property(candidates, fc.infiniteStream(fc.nat()), (given, keys) => {
        const shuffled = given
          .map((each) => ({ each, key: keys.next().value as number }))
          .toSorted((a, b) => a.key - b.key)
          .map(({ each }) => each);
        expect(winner(...shuffled)).toEqual(winner(...given));
      }),
    );
  });

  test("to the second when the winner is gone", () => {
    fc.assert(
      fc.property(candidates, (given) => {
        const first = resolve(given).winners.get("names.legal")!;
        const others = given.filter(
          ({ claim, source }) => claim.id !== first.claim.id || source !== first.source,
        );
        const second = resolve(others).winners.get("names.legal");
        expect(second === undefined).toBe(others.length === 0);
        expect(winner(...others)[0]).toBe(second?.claim.value);
      }),
    );
  });
});

describe("an observation", () => {
  const observe = (
    previous: StoredGroup | null,
    claims: readonly ScriptedClaim[],
    at_ms: number,
    more: Partial<Observation> = {},
  ) =>
    afterObservation(
      previous,
      {
        company_id: "cmp_0123456789abcdef",
        source: "a",
        group: "core",
        native_id: "1",
        precedence: 60,
        documents: [document(at_ms)],
        claims: claims.map(claimOf),
        is_complete: true,
        at_ms,
        ...more,
      },
      at_ms - 1,
    );

  test("that says the same is the same object", () => {
    const claims: ScriptedClaim[] = [
      ["names.legal", "One"],
      ["addresses", { type: "registered", formatted: "x", current: true }, "registered"],
    ];
    const first = observe(null, claims, 1);
    expect(observe(first, claims.toReversed(), 2)).toBe(first);
  });

  test("that is not complete closes only what it replaces", () => {
    const first = observe(
      null,
      [
        ["names.legal", "One"],
        ["status", "active"],
      ],
      1,
    );
    const second = observe(first, [["names.legal", "Two"]], 2, { is_complete: false });
    expect(openClaims(second).map(({ field, value }) => [field, value])).toEqual([
      ["status", "active"],
      ["names.legal", "Two"],
    ]);
    expect(second.claims[0]!.closed).toEqual({ confirmed_ms: 1, at_ms: 2 });
  });

  test("never changes a claim that is closed, and loses none", () => {
    const value = fc.constantFrom("One", "Two", "Three");
    const anyClaims = fc.array(fc.tuple(fc.constantFrom("status", "names.legal", "jurisdiction"), value), {
      maxLength: 4,
    });
    fc.assert(
      fc.property(fc.array(fc.tuple(anyClaims, fc.boolean()), { minLength: 1, maxLength: 12 }), (history) => {
        let group: StoredGroup | null = null;
        for (const [at, [claims, is_complete]] of history.entries()) {
          const before: StoredGroup | null = group;
          group = observe(before, claims as unknown as ScriptedClaim[], at + 1, { is_complete });
          const after: StoredGroup = group;
          for (const [index, old] of (before?.claims ?? []).entries()) {
            expect(after.claims[index]!.id).toBe(old.id);
            expect(after.claims[index]).toEqual(old.closed ? old : { ...old, ...after.claims[index] });
          }
          const open = openClaims(after).map(({ field, value: is }) => canonicalJson([field, is]));
          expect(new Set(open).size).toBe(open.length);
          for (const [field, is] of claims) expect(open).toContain(canonicalJson([field, is]));
        }
        expect(new Set(group!.claims.map(({ id }) => id)).size).toBe(group!.claims.length);
      }),
    );
  });
});
