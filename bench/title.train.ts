/**
 * Learns the weights in actors/lib/article-title-model.ts from the gold titles: of all texts on a page that may be its
 * title, the one the gold names should weigh most (softmax over the candidates of a page, L2, plain descent: the same
 * pages give the same weights). Prints how often weights learned on four fifths are right on the fifth left out.
 *
 *   node bench/title.train.ts [--root folder] [--misses] [--write]
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { readHtml } from "../actors/lib/article.ts";
import { likeliest, type TitleCandidate } from "../actors/lib/article-title.ts";
import { mean, sameTitle, wcxbPages } from "./extraction.score.ts";

const { values: options } = parseArgs({
  options: {
    root: { type: "string", default: "../shared/fixtures/pages" },
    misses: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
});

const FOLDS = 5;
const ROUNDS = 300;
const RATE = 1;
const PENALTY = 0.001;
const NOW_MS = Date.UTC(2026, 10, 21);

interface Page {
  readonly id: string;
  readonly kind: string;
  readonly gold: string;
  readonly candidates: readonly TitleCandidate[];
  readonly right: readonly boolean[];
}

const pages: Page[] = [];
for (const { id, kind, url, html, title } of wcxbPages(options.root)) {
  if (title === null) continue;
  let candidates: readonly TitleCandidate[] = [];
  readHtml(html, url, NOW_MS, undefined, (found) => {
    candidates = found;
    return null;
  });
  pages.push({
    id,
    kind,
    gold: title,
    candidates,
    right: candidates.map(({ text }) => sameTitle(title, text)),
  });
}
const width = pages.find(({ candidates }) => candidates.length > 0)!.candidates[0]!.features.length;

function learn(from: readonly Page[]): number[] {
  const useful = from.filter(({ right }) => right.includes(true) && right.includes(false));
  const weights = Array.from({ length: width }, () => 0);
  for (let round = 0; round < ROUNDS; round++) {
    const slope = weights.map((weight) => -PENALTY * weight);
    for (const { candidates, right } of useful) {
      const odds = candidates.map(({ features }) =>
        Math.exp(features.reduce((sum, feature, n) => sum + feature * weights[n]!, 0)),
      );
      const all = odds.reduce((sum, odd) => sum + odd, 0);
      const good = odds.reduce((sum, odd, n) => sum + (right[n] ? odd : 0), 0);
      for (const [at, { features }] of candidates.entries()) {
        const pull = ((right[at] ? odds[at]! / good : 0) - odds[at]! / all) / useful.length;
        for (let n = 0; n < width; n++) slope[n]! += pull * features[n]!;
      }
    }
    for (let n = 0; n < width; n++) weights[n]! += RATE * slope[n]!;
  }
  return weights;
}

const isRight = (weights: readonly number[], { gold, candidates }: Page): boolean =>
  sameTitle(gold, likeliest(weights)(candidates));

const crossed: boolean[] = [];
for (let fold = 0; fold < FOLDS; fold++) {
  const weights = learn(pages.filter((_, n) => n % FOLDS !== fold));
  for (const [n, page] of pages.entries()) if (n % FOLDS === fold) crossed[n] = isRight(weights, page);
}
const all = learn(pages);
const share = (values: readonly boolean[]): string => mean(values.map(Number)).toFixed(3);
console.log(`pages                  ${pages.length}`);
console.log(`right among candidates ${share(pages.map(({ right }) => right.includes(true)))}`);
console.log(`crossed                ${share(crossed)}`);
console.log(`learned on all         ${share(pages.map((page) => isRight(all, page)))}`);
for (const kind of [...new Set(pages.map((page) => page.kind))].toSorted()) {
  const of = crossed.filter((_, n) => pages[n]!.kind === kind);
  console.log(`  ${kind.padEnd(20)} ${share(of)} of ${of.length}`);
}
if (options.misses)
  for (const [n, page] of pages.entries())
    if (!crossed[n]) console.log(`${page.id}  ${page.gold}  |  ${likeliest(all)(page.candidates)}`);

if (options.write)
  writeFileSync(
    "actors/lib/article-title-model.ts",
    `/**
 * Weights, learned and not written: one for each number of a title's candidate, in the order of article-title.ts.
 * Made by \`node bench/title.train.ts --write\` from gold titles (WCXB by M. Foley, CC-BY-4.0) of which none is in here.
 */
export const TITLE_WEIGHTS: readonly number[] = [${all.map((weight) => Number(weight.toFixed(3))).join(", ")}];
`,
  );
