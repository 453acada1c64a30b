import fc from "fast-check";
import { expect, test } from "vitest";
import { factsCounter } from "../../../../actors/sources/filings/facts.ts";
import { jsonScanner } from "../../../../actors/sources/filings/json-scan.ts";

test("counts facts the same whatever the size of the pieces they come in", () => {
  const facts = fc.record({
    cik: fc.oneof(fc.integer({ min: 1 }), fc.constant("0000320193")),
    entityName: fc.string(),
    facts: fc.dictionary(
      fc.constantFrom("dei", "us-gaap", "ifrs-full", "srt"),
      fc.dictionary(
        fc.string({ minLength: 1, maxLength: 8 }).filter((key) => key !== "__proto__"),
        fc.record({ label: fc.option(fc.string()), units: fc.constant({ USD: [{ val: 1, accn: '{"[' }] }) }),
      ),
    ),
  });
  fc.assert(
    fc.property(facts, fc.constantFrom(1, 7, 65_536), (document, piece_bytes) => {
      const bytes = Buffer.from(JSON.stringify(document));
      const counter = factsCounter();
      for (let at = 0; at < bytes.length; at += piece_bytes)
        counter.push(bytes.subarray(at, at + piece_bytes));
      const taxonomies = Object.fromEntries(
        Object.entries(document.facts).map(([name, concepts]) => [name, Object.keys(concepts).length]),
      );
      expect(counter.end()).toEqual({
        name: document.entityName === "" ? null : document.entityName,
        taxonomies,
        concepts: Object.values(taxonomies).reduce((sum, parsed) => sum + parsed, 0),
      });
    }),
    { numRuns: 300 },
  );
});

test.each([
  ["", null],
  ["[]", null],
  ['{"cik":1,"facts":{"dei":{"A":{}}}', null],
  ['{"cik":1,"entityName":"A"}', null],
  ['{"cik":1,"facts":{}}', { name: null, taxonomies: {}, concepts: 0 }],
  ['{"cik":1,"entityName":null,"facts":{"dei":{}}}', { name: null, taxonomies: { dei: 0 }, concepts: 0 }],
  [
    '{"entityName":"A \\u0026 B","facts":{"dei":{"X":{"label":null}}},"more":{"dei":{"Y":{}}}}',
    { name: "A & B", taxonomies: { dei: 1 }, concepts: 1 },
  ],
])("sums up %s", (text, summary) => {
  const counter = factsCounter();
  counter.push(Buffer.from(text));
  expect(counter.end()).toEqual(summary);
});

test("reports the values of the upper levels, and skips the rest", () => {
  const events: unknown[] = [];
  const scanner = jsonScanner(2, {
    onOpen: (depth, key) => void events.push(["opened", depth, key]),
    onClose: (depth) => void events.push(["closed", depth]),
    onScalar: (depth, key, token) => void events.push([depth, key, token]),
  });
  scanner.push(Buffer.from('{"a":1,"b":{"c":"x\\"}","d":[{"deep":[1,2]}]},"e":tr'));
  scanner.push(Buffer.from("ue}"));
  expect(scanner.isWhole()).toBe(true);
  expect(events).toEqual([
    ["opened", 0, null],
    [1, "a", "1"],
    ["opened", 1, "b"],
    [2, "c", '"x\\"}"'],
    ["opened", 2, "d"],
    ["closed", 2],
    ["closed", 1],
    [1, "e", "true"],
    ["closed", 0],
  ]);
});
