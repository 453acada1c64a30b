/** The weights in the tree are those that the training command wrote. */
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import model from "../../../../actors/reading/article/model.json" with { type: "json" };
import { surveyOf } from "../../../../actors/reading/article/article.ts";
import { readLinkedData } from "../../../../actors/reading/article/jsonld.ts";
import { buildTree } from "../../../../actors/reading/article/tree.ts";

test("the digest of the weights is the one that training wrote", () => {
  const { bias, trees } = model;
  const digest = createHash("sha256").update(JSON.stringify({ bias, trees })).digest("hex");
  expect(digest).toBe(model.weights_sha256);
});

test("a line has as many features as the weights have learned from", () => {
  const tree = buildTree("<h1>Ferry</h1><p>It leaves at seven.</p>");
  const { width } = surveyOf(tree, readLinkedData(tree.jsonLd), "https://harbour.example/ferry");
  expect(width).toBe(model.features);
});
