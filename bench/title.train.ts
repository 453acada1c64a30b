/**
 * Learns the weights in actors/reading/article/title-model.ts from the gold titles: of all texts on a page that may be its
 * title, the one the gold names should weigh most (softmax over the candidates of a page, L2, plain descent with momentum:
 * the same pages give the same weights). Prints how often weights learned on four fifths are right on the fifth left out,
 * for several ways of dealing the sites into fifths: one way alone is up to 0.01 above or below their mean.
 *
 *   node bench/title.train.ts [--root folder] [--misses] [--write]
 */
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { readHtml } from "../actors/reading/article/article.ts";
import { likeliest, type TitleCandidate } from "../actors/reading/article/title.ts";
import { mean, sameTitle, wcxbPages } from "./extraction.score.ts";

const { values: options } = parseArgs({
  options: {
    root: { type: "string", default: "../shared/fixtures/pages" },
    misses: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
});

const FOLDS = 5;
const DEALS = 6;
const ROUNDS = 150;
const RATE = 0.2;
const MOMENTUM = 0.9;
const PENALTY = 0.004;
const NOW_MS = Date.UTC(2026, 10, 21);

interface Page {
  readonly id: string;
  readonly kind: string;
  readonly site: string;
  readonly gold: string;
  readonly candidates: readonly TitleCandidate[];
  readonly right: readonly boolean[];
}

const pages: Page[] = [];
for (const { id, kind, url, html, title } of wcxbPages(options.root)) {
  if (title === null) continue;
  let candidates: readonly TitleCandidate[] = [];
  const choose = (found: readonly TitleCandidate[]) => {
    candidates = found;
    return null;
  };
  readHtml(html, url, NOW_MS, { choose });
  pages.push({
    id,
    kind,
    site: URL.canParse(url) ? new URL(url).hostname.replace(/^www\./, "") : id,
    gold: title,
    candidates,
    right: candidates.map(({ text }) => sameTitle(title, text)),
  });
}
const width = pages.find(({ candidates }) => candidates.length > 0)!.candidates[0]!.features.length;

function learn(from: readonly Page[]): number[] {
  const useful = from.filter(({ right }) => right.includes(true) && right.includes(false));
  const weights = Array.from({ length: width }, () => 0);
  const speeds = [...weights];
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
    for (let n = 0; n < width; n++) {
      speeds[n] = MOMENTUM * speeds[n]! + slope[n]!;
      weights[n]! += RATE * speeds[n]!;
    }
  }
  return weights;
}

const isRight = (weights: readonly number[], { gold, candidates }: Page): boolean =>
  sameTitle(gold, likeliest(weights)(candidates));

/** The fold of every site: all pages of a site together, shuffled by a hash, so that each deal is the same every time. */
function dealt(deal: number): ReadonlyMap<string, number> {
  const order = (site: string): string => createHash("sha256").update(`${deal} ${site}`).digest("hex");
  const sites = [...new Set(pages.map(({ site }) => site))].map((site) => ({ site, order: order(site) }));
  sites.sort((a, b) => (a.order < b.order ? -1 : 1));
  return new Map(sites.map(({ site }, n) => [site, n % FOLDS]));
}

/** For each page whether weights that were learned without its fold are right. */
function crossed(deal: number): boolean[] {
  const folds = dealt(deal);
  const right: boolean[] = [];
  for (let fold = 0; fold < FOLDS; fold++) {
    const weights = learn(pages.filter(({ site }) => folds.get(site) !== fold));
    for (const [n, page] of pages.entries())
      if (folds.get(page.site) === fold) right[n] = isRight(weights, page);
  }
  return right;
}

const deals = Array.from({ length: DEALS }, (_, deal) => crossed(deal));
const all = learn(pages);
const share = (values: readonly boolean[]): string => mean(values.map(Number)).toFixed(3);
console.log(`pages                  ${pages.length}`);
console.log(`right among candidates ${share(pages.map(({ right }) => right.includes(true)))}`);
console.log(`crossed, mean          ${share(deals.flat())} (${deals.map(share).join(", ")})`);
console.log(`learned on all         ${share(pages.map((page) => isRight(all, page)))}`);
for (const kind of [...new Set(pages.map((page) => page.kind))].toSorted()) {
  const of = deals.map((right) => right.filter((_, n) => pages[n]!.kind === kind));
  console.log(`  ${kind.padEnd(20)} ${share(of.flat())} of ${of[0]!.length}`);
}
if (options.misses)
  for (const [n, page] of pages.entries()) {
    const missed = deals.filter((right) => !right[n]).length;
    const chosen = page.right.includes(true) ? likeliest(all)(page.candidates) : "(no candidate is right)";
    if (missed > 0) console.log(`${page.id}  missed ${missed} of ${DEALS}  ${page.gold}  |  ${chosen}`);
  }

if (options.write) {
  const weights = all.map((weight) => Number(weight.toFixed(3)));
  const digest = createHash("sha256").update(JSON.stringify(weights)).digest("hex");
  writeFileSync(
    "actors/reading/article/title-model.ts",
    `/**
 * Weights, learned and not written: one for each number of a title's candidate, in the order of actors/reading/article/title.ts.
 * Made by \`node bench/title.train.ts --write\` from gold titles (WCXB by M. Foley, CC-BY-4.0) of which none is in here.
 */
export const TITLE_WEIGHTS: readonly number[] = [${weights.join(", ")}];

/** SHA-256 of the weights as JSON, in hexadecimal. */
export const TITLE_WEIGHTS_SHA256 = "${digest}";
`,
  );
}
