/**
 * Our score of company names beside talisman and natural: the same labelled pairs, the same speed test, one run.
 *
 *   (cd bench/peers/names && npm ci --ignore-scripts)
 *   node bench/peers/names/run.ts [--pairs file.csv] [--out bench/results/name]
 *
 * Ours is judged at its fixed threshold. A peer is judged at the threshold that is best for these very pairs, on names in
 * lower case and again on names that our code folded and took the legal forms off. Speed is pairs per CPU second of one
 * core, all pairs of the file against each other; ours twice, with and without preparing both names for each pair.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { parse } from "csv-parse/sync";
import { foldName } from "../../../actors/sources/companies/names/fold.ts";
import { splitLegalForms } from "../../../actors/sources/companies/names/legal-forms.ts";
import { NAME_THRESHOLD, prepareName, scoreNames } from "../../../actors/sources/companies/names/score.ts";
import { nameSimilarity } from "../../../actors/sources/companies/names/similarity.ts";

const require = createRequire(import.meta.url);
type Compare = (a: string, b: string) => number;
const talismanJaroWinkler = require("talisman/metrics/jaro-winkler") as { default: Compare } & Compare;
const talismanLevenshtein = require("talisman/metrics/levenshtein") as { default: Compare } & Compare;
const naturalJaroWinkler = (require("natural/lib/natural/distance/jaro-winkler_distance.js") as { default?: Compare } & Compare);
const naturalLevenshtein = require("natural/lib/natural/distance/levenshtein_distance.js") as {
  LevenshteinDistance: Compare;
};
const callable = (module: { default?: Compare } & Compare): Compare => module.default ?? module;

const { values: options } = parseArgs({
  options: {
    pairs: { type: "string", default: "../shared/fixtures/companies/name_pairs.csv" },
    out: { type: "string", default: "bench/results/2026-11-22-names" },
  },
});
const pairs = parse<{ name1: string; name2: string; is_match: string }>(readFileSync(options.pairs, "utf8"), {
  columns: true,
}).map(({ name1, name2, is_match }) => ({ a: name1, b: name2, isMatch: /^(?:1|true)$/i.test(is_match) }));

/** 50 × (Jaro-Winkler + Levenshtein), with the package's own two functions. */
const mean =
  (jaroWinkler: Compare, distance: Compare): Compare =>
  (a, b) =>
    50 * (jaroWinkler(a, b) + 1 - distance(a, b) / Math.max(1, a.length, b.length));
const talisman = mean(callable(talismanJaroWinkler), callable(talismanLevenshtein));
const natural = mean(callable(naturalJaroWinkler), naturalLevenshtein.LevenshteinDistance);

const lower = (name: string): string => name.toLowerCase();
const stem = (name: string): string => splitLegalForms(foldName(name)).stem;

interface Quality {
  readonly threshold: number;
  readonly f1: number;
  readonly precision: number;
  readonly recall: number;
}
function qualityAt(compare: Compare, threshold: number): Quality {
  let [hits, misses, alarms] = [0, 0, 0];
  for (const { a, b, isMatch } of pairs) {
    const isFound = compare(a, b) >= threshold;
    if (isMatch && isFound) hits++;
    else if (isMatch) misses++;
    else if (isFound) alarms++;
  }
  return { threshold, f1: (2 * hits) / (2 * hits + misses + alarms), precision: hits / (hits + alarms), recall: hits / (hits + misses) };
}
const bestQuality = (compare: Compare): Quality =>
  Array.from({ length: 100 }, (_, at) => qualityAt(compare, at + 1)).reduce((best, next) => (next.f1 > best.f1 ? next : best));

const names = pairs.flatMap(({ a, b }) => [a, b]);
/** Pairs per CPU second: every name with every other, over values made beforehand. */
function speedOf<T>(prepare: (name: string) => T, compare: (a: T, b: T) => number): number {
  const prepared = names.map(prepare);
  for (let round = 0; round < 2; round++) for (const a of prepared.slice(0, 20)) for (const b of prepared) compare(a, b);
  const before = process.cpuUsage();
  let count = 0;
  for (const a of prepared) for (const b of prepared) { compare(a, b); count++; }
  const { user, system } = process.cpuUsage(before);
  return Math.round(count / ((user + system) / 1e6));
}

const score: Compare = (a, b) => scoreNames(prepareName(a), prepareName(b));
const rows = [
  { name: "ours: score, fixed threshold", ...qualityAt(score, NAME_THRESHOLD), per_s: speedOf(prepareName, scoreNames) },
  { name: "ours: score, names not prepared", ...qualityAt(score, NAME_THRESHOLD), per_s: speedOf((name) => name, score) },
  { name: "ours: name_similarity, best threshold", ...bestQuality((a, b) => nameSimilarity(stem(a), stem(b))), per_s: speedOf(stem, nameSimilarity) },
  { name: "talisman, lower case, best threshold", ...bestQuality((a, b) => talisman(lower(a), lower(b))), per_s: speedOf(lower, talisman) },
  { name: "talisman, our folding, best threshold", ...bestQuality((a, b) => talisman(stem(a), stem(b))), per_s: speedOf(stem, talisman) },
  { name: "natural, lower case, best threshold", ...bestQuality((a, b) => natural(lower(a), lower(b))), per_s: speedOf(lower, natural) },
  { name: "natural, our folding, best threshold", ...bestQuality((a, b) => natural(stem(a), stem(b))), per_s: speedOf(stem, natural) },
];
const head = `| | threshold | F1 | precision | recall | pairs per CPU second |\n| --- | ---: | ---: | ---: | ---: | ---: |\n`;
const table = rows
  .map(({ name, threshold, f1, precision, recall, per_s }) =>
    `| ${name} | ${threshold} | ${f1.toFixed(3)} | ${precision.toFixed(3)} | ${recall.toFixed(3)} | ${per_s.toLocaleString("en")} |`)
  .join("\n");
writeFileSync(`${options.out}.md`, `# Company names: ours beside talisman and natural

2026-11-22, \`node bench/peers/names/run.ts\`, Node ${process.version}, ${cpus()[0]!.model.trim()}, ${cpus().length} shared cores.
${pairs.length} labelled pairs of organisations (${pairs.filter(({ isMatch }) => isMatch).length} matches) from the name benchmark of opensanctions/nomenklatura (MIT).
Talisman and natural: the mean of their Jaro-Winkler and Levenshtein, as our name_similarity.

${head}${table}

The weights were chosen on pairs of our own (\`test/fixtures/companies/name-pairs.csv\`) and on counts over these pairs by kind of
difference (numbers, territories, one differing word), not on their names. So the figure for names never seen may be lower.
`);
process.stdout.write(`${head}${table}\n`);
