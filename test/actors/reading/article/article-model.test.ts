/** The weights in the tree are those that the training commands wrote. */
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import model from "../../../../actors/reading/article/model.json" with { type: "json" };
import { readHtml, surveyOf } from "../../../../actors/reading/article/article.ts";
import { readLinkedData } from "../../../../actors/reading/article/jsonld.ts";
import type { ChooseTitle } from "../../../../actors/reading/article/title.ts";
import { TITLE_WEIGHTS, TITLE_WEIGHTS_SHA256 } from "../../../../actors/reading/article/title-model.ts";
import { buildTree } from "../../../../actors/reading/article/tree.ts";

const digestOf = (weights: unknown): string =>
  createHash("sha256").update(JSON.stringify(weights)).digest("hex");

test("the digests of the weights are those that training wrote", () => {
  const { bias, trees } = model;
  expect(digestOf({ bias, trees })).toBe(model.weights_sha256);
  expect(digestOf(TITLE_WEIGHTS)).toBe(TITLE_WEIGHTS_SHA256);
});

test("a line has as many features as the weights have learned from", () => {
  const tree = buildTree("<h1>Ferry</h1><p>It leaves at seven.</p>");
  const { width } = surveyOf(tree, readLinkedData(tree.jsonLd), "https://harbour.example/ferry");
  expect(width).toBe(model.features);
});

test("a candidate for the title has as many features as there are weights", () => {
  const widths = new Set<number>();
  const choose: ChooseTitle = (candidates) => {
    for (const { features } of candidates) widths.add(features.length);
    return null;
  };
  readHtml("<title>Ferry | Harbour</title><h1>Ferry</h1>", "https://harbour.example/", 0, { choose });
  expect([...widths]).toEqual([TITLE_WEIGHTS.length]);
});
