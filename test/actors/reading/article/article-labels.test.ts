/** Short lines that repeat one structure are text together or not at all. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { surveyOf } from "../../../../actors/reading/article/article.ts";
import { readLinkedData } from "../../../../actors/reading/article/jsonld.ts";
import { labelsAmong, withEvenLabels } from "../../../../actors/reading/article/labels.ts";
import { buildTree } from "../../../../actors/reading/article/tree.ts";

const SENTENCE =
  "Look after two thousand jars of seeds, and find out each spring which of them still want to grow.";

function surveyed(places: readonly string[]) {
  const cards = places.map(
    (place, i) =>
      `<article class="job"><h2>Job ${i}</h2><p class="place">${place}</p><div>${SENTENCE}</div></article>`,
  );
  const tree = buildTree(`<html><body><main><h1>Jobs</h1>${cards.join("")}</main></body></html>`);
  const { lines, peers } = surveyOf(tree, readLinkedData(tree.jsonLd), "https://harbour.example/jobs");
  return { lines, peers, labels: labelsAmong(lines, peers.structure) };
}

test("places of jobs are labels, sentences are none", () => {
  const { lines, labels } = surveyed(["Vikby", "Norra", "Lindholm"]);
  const found = lines.flatMap(({ text }, i) => (labels[i] ? [text] : []));
  for (const place of ["Vikby", "Norra", "Lindholm"]) expect(found).toContain(place);
  expect(found).not.toContain(SENTENCE);
});

test("two are no repetition, and a long one among them makes all of them text of their own", () => {
  const two = surveyed(["Vikby", "Norra"]);
  expect([...two.labels]).not.toContain(1);
  const { lines, labels } = surveyed(["Vikby", "Norra", SENTENCE]);
  expect(labels[lines.findIndex(({ text }) => text === "Vikby")]).toBe(0);
});

test("labels of one structure in one group have one chance, and no other line's chance changes", () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 3, maxLength: 12 }),
      (given) => {
        const { lines, peers, labels } = surveyed(given.map((_, i) => `Place ${i}`));
        const chances = lines.map(
          ({ text }, i) => given[Number(/^Place (\d+)$/.exec(text)?.[1] ?? i % given.length)]!,
        );
        const even = withEvenLabels(peers, labels, chances);
        const places = even.filter((_, i) => lines[i]!.text.startsWith("Place"));
        expect(new Set(places).size).toBe(1);
        expect(places[0]).toBeCloseTo(given.reduce((sum, chance) => sum + chance, 0) / given.length, 9);
        const isOther = (_: number, i: number): boolean => !labels[i];
        expect(even.filter(isOther)).toEqual(chances.filter(isOther));
      },
    ),
    { numRuns: 40 },
  );
});
