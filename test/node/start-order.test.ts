/** Features start in the order of what they need of each other; what cannot start says why. */
import { describe, expect, test } from "vitest";
import { type Declared, startOrder } from "../../node/start-order.ts";
import { gathered, token, type Tokens } from "../../node/token.ts";
import { FEATURES } from "../../ops/features.ts";

const Index = token<string>("page index");
const Search = token<string>("page search");
const Kinds = gathered<string>("item kinds");

const declared = (name: string, needs: Tokens, provides: Tokens): Declared => ({ name, needs, provides });
const namesOf = (features: readonly Declared[]): readonly string[] => features.map(({ name }) => name);

test("a feature starts after those that provide what it needs, else where it is listed", () => {
  const order = startOrder([
    declared("jobs", { kinds: Kinds }, {}),
    declared("accounts", {}, {}),
    declared("fetch", { index: Index }, { kinds: Kinds }),
    declared("search", { words: Search }, { index: Index, kinds: Kinds }),
    declared("words", {}, { words: Search }),
  ]);
  expect(namesOf(order)).toEqual(["words", "search", "fetch", "jobs", "accounts"]);
});

test("what is gathered may come of nobody", () => {
  expect(namesOf(startOrder([declared("jobs", { kinds: Kinds }, {})]))).toEqual(["jobs"]);
});

describe("the start ends with an error", () => {
  test.each<[string, Declared[], string]>([
    [
      "where nobody provides what a feature needs",
      [declared("fetch", { index: Index }, {})],
      'Cannot start the feature "fetch": it needs "page index", which no feature provides',
    ],
    [
      "where two features provide the same",
      [declared("search", {}, { index: Index }), declared("words", {}, { mine: Index })],
      'Cannot start: the features "search" and "words" both provide "page index"',
    ],
    [
      "where features need each other",
      [
        declared("jobs", { index: Index }, {}),
        declared("fetch", { words: Search }, { index: Index }),
        declared("search", { pages: Index }, { words: Search }),
      ],
      'Cannot start: features need each other in a circle: "fetch" needs "page search" of "search", "search" needs "page index" of "fetch"',
    ],
    [
      "where a feature needs itself",
      [declared("search", { index: Index }, { index: Index })],
      'Cannot start: features need each other in a circle: "search" needs "page index" of "search"',
    ],
  ])("%s", (_, features, message) => {
    expect(() => startOrder(features)).toThrow(new Error(message));
  });
});

test("the features of the service start, and jobs and the status after all that give them something", () => {
  const names = namesOf(startOrder<Declared>(FEATURES));
  expect(names).toHaveLength(FEATURES.length);
  const givers = (to: string): readonly string[] =>
    (FEATURES as readonly Declared[]).filter(({ provides }) => to in provides).map(({ name }) => name);
  const before = (last: string): readonly string[] => names.slice(0, names.indexOf(last));
  expect(givers("kinds").length).toBeGreaterThan(3);
  expect(before("jobs")).toEqual(expect.arrayContaining([...givers("kinds")]));
  expect(before("status")).toEqual(expect.arrayContaining([...givers("status")]));
});
