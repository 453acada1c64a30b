/**
 * node bench/company-name-quality.ts [--python path]: how well names alone tell whether two companies are one, beside other programs. Three
 * sets: the shared pairs (of opensanctions/nomenklatura), our own, and pairs made of real names: each with a typo, another form, an abbreviation or in
 * other characters, and beside the name that is most like it. F1 is at the threshold that is best for the set; the interval is of 1,000 draws
 * of the pairs (95 %). `learned`: a logistic model of our features; it and Splink are learned on nine tenths of all pairs and judged on the tenth with
 * none of their names. The Python needs rapidfuzz, nomenklatura, splink and pandas; without it only ours is measured.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { parse } from "csv-parse/sync";
import { compareNames, prepareName, scoreNames } from "../actors/sources/companies/names/score.ts";
import { nameSimilarity } from "../actors/sources/companies/names/similarity.ts";

const { values: options } = parseArgs({ options: { python: { type: "string" } } });
const FOLDS = 10;
const DRAWS = 1_000;
const MADE = 1_000;

interface Pair {
  readonly name1: string;
  readonly name2: string;
  readonly is_match: boolean;
  readonly set: "shared" | "own" | "made";
}

let state = 1;
const random = (): number => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
};
const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)]!;

const labelled = (file: string, set: Pair["set"]): Pair[] =>
  parse<Record<"name1" | "name2" | "is_match", string>>(readFileSync(file, "utf8"), { columns: true }).map(
    ({ name1, name2, is_match }) => ({ name1, name2, set, is_match: /^(?:1|true)$/i.test(is_match) }),
  );

const SHORT: readonly (readonly [RegExp, string])[] = [
  [/\bInternational\b/i, "Intl"],
  [/\bTechnolog(?:y|ies)\b/i, "Tech"],
  [/\bCorporation\b/i, "Corp"],
  [/\bIndustries\b/i, "Inds"],
  [/\bHoldings?\b/i, "Hldgs"],
  [/\bFinancial\b/i, "Fin."],
  [/\bServices\b/i, "Svcs"],
];
const FORMS: readonly (readonly [RegExp, string])[] = [
  [/\bInc\.?$/i, "Incorporated"],
  [/\bCorp\.?$/i, "Corporation"],
  [/\bLtd\.?$/i, "Limited"],
  [/\bAG$/, "Aktiengesellschaft"],
  [/\bS\.?A\.?$/, "Société Anonyme"],
  [/\bPLC$/i, "Public Limited Company"],
  [/[,\s]+(?:Inc|Corp|Ltd|AG|SA|PLC|NV|Limited|Corporation)\.?$/i, ""],
];
const SPELLINGS: readonly (readonly [RegExp, string])[] = [
  [/kh/gi, "h"],
  [/c(?=[aou])/g, "k"],
  [/ck/g, "k"],
  [/ph/gi, "f"],
  [/ou/g, "u"],
  [/ya/g, "ja"],
  [/y\b/g, "i"],
];

function withTypo(name: string): string {
  const at = 2 + Math.floor(random() * Math.max(1, name.length - 3));
  const character = pick("abcdefghilmnoprstu".split(""));
  return pick([
    name.slice(0, at) + character + name.slice(at + 1),
    name.slice(0, at) + name.slice(at + 1),
    name.slice(0, at) + character + name.slice(at),
    name.slice(0, at) + name.charAt(at + 1) + name.charAt(at) + name.slice(at + 2),
  ]);
}
/** Null: nothing in the name is written so. */
function rewritten(name: string, rules: readonly (readonly [RegExp, string])[]): string | null {
  const fitting = rules.filter(([from]) => name.search(from) >= 0);
  return fitting.length === 0 ? null : name.replace(...pick(fitting)).trim();
}

function madePairs(): readonly Pair[] {
  const file = "../shared/fixtures/companies/names/companies.csv";
  const names = [
    ...new Set(
      readFileSync(file, "utf8")
        .split("\n")
        .map((line) => line.split(";")[0]!.trim()),
    ),
  ].filter((name) => name.length > 5);
  const prepared = names.map((name) => ({ name, ...prepareName(name) }));
  const pairs: Pair[] = [];
  for (let at = 0; at < MADE; at++) {
    const one = prepared[Math.floor((at * prepared.length) / MADE)]!;
    const { name } = one;
    const name2 =
      pick([
        () => rewritten(name, SHORT),
        () => rewritten(name, FORMS),
        () => rewritten(name, SPELLINGS),
      ])() ?? withTypo(name);
    pairs.push({ name1: name, name2, is_match: true, set: "made" });
    let nearest = { name: "", similarity: 0 };
    for (const other of prepared) {
      if (other.joined === one.joined) continue;
      const similarity = nameSimilarity(one.joined, other.joined);
      if (similarity > nearest.similarity) nearest = { name: other.name, similarity };
    }
    pairs.push({ name1: name, name2: nearest.name, is_match: false, set: "made" });
  }
  return pairs;
}

/** Pairs with a common word of four characters at their beginnings are in one fold, so that no name is learned and judged. */
const foldOf = ({ name1 }: Pair): number => {
  const word = prepareName(name1).words.toSorted((a, b) => b.length - a.length)[0] ?? "";
  let value = 7;
  for (const character of word.slice(0, 4)) value = (value * 31 + character.charCodeAt(0)) % 1_000_003;
  return value % FOLDS;
};

function featuresOf({ name1, name2 }: Pair): readonly number[] {
  const [a, b] = [prepareName(name1), prepareName(name2)];
  const { base, effects } = compareNames(a, b);
  const effect = (kind: string): number =>
    effects.reduce((sum, each) => sum + (each.kind === kind ? each.effect : 0), 0) / 20;
  const shared = a.words.filter((word) => b.words.includes(word)).length;
  const shorter = Math.min(a.joined.length, b.joined.length);
  const longer = Math.max(a.joined.length, b.joined.length, 1);
  return [
    1,
    base / 100,
    (base / 100) ** 4,
    nameSimilarity(a.joined, b.joined) / 100,
    nameSimilarity(a.sorted, b.sorted) / 100,
    effect("word"),
    effect("form"),
    effect("number"),
    effect("country"),
    shared / Math.max(1, a.words.length, b.words.length),
    shorter / longer,
    Math.min(1, longer / 40),
  ];
}

/** Logistic regression with L2, by gradient descent. */
function learn(
  examples: readonly { readonly x: readonly number[]; readonly y: number }[],
): readonly number[] {
  const weights = examples[0]!.x.map(() => 0);
  for (let round = 0; round < 1_500; round++) {
    const gradient = weights.map((weight, at) => (at === 0 ? 0 : 0.002 * weight));
    for (const { x, y } of examples) {
      const error = 1 / (1 + Math.exp(-dot(weights, x))) - y;
      for (let at = 0; at < x.length; at++) gradient[at]! += (error * x[at]!) / examples.length;
    }
    for (let at = 0; at < weights.length; at++) weights[at]! -= 2 * gradient[at]!;
  }
  return weights;
}
const dot = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, value, at) => sum + value * b[at]!, 0);

interface Judged {
  readonly score: number;
  readonly is_match: boolean;
}
function quality(judged: readonly Judged[]) {
  const sorted = judged.toSorted((a, b) => b.score - a.score);
  const matches = sorted.filter(({ is_match }) => is_match).length;
  let [hits, f1, recall_at_98] = [0, 0, 0];
  sorted.forEach(({ score, is_match }, at) => {
    if (is_match) hits++;
    // Pairs of one score are found together.
    if (sorted[at + 1]?.score === score) return;
    f1 = Math.max(f1, (2 * hits) / (matches + at + 1));
    if (hits / (at + 1) >= 0.98) recall_at_98 = hits / matches;
  });
  return { f1, recall_at_98 };
}
function report(judged: readonly Judged[]): string {
  const { f1, recall_at_98 } = quality(judged);
  const draws = Array.from({ length: judged.length > 500 ? DRAWS / 4 : DRAWS }, () =>
    quality(Array.from(judged, () => pick(judged))),
  );
  const between = (key: "f1" | "recall_at_98"): string => {
    const sorted = draws.map((draw) => draw[key]).toSorted((a, b) => a - b);
    const at = (share: number): string =>
      sorted[Math.floor(share * (sorted.length - 1))]!.toFixed(3).slice(1);
    return `${at(0.025)}–${at(0.975)}`;
  };
  return `${f1.toFixed(3)} (${between("f1")}) | ${recall_at_98.toFixed(3)} (${between("recall_at_98")})`;
}

const pairs = [
  ...labelled("../shared/fixtures/companies/name_pairs.csv", "shared"),
  ...labelled("test/fixtures/companies/name-pairs.csv", "own"),
  ...madePairs(),
];
const scores: Record<string, readonly number[]> = {
  ours: pairs.map(({ name1, name2 }) => scoreNames(prepareName(name1), prepareName(name2))),
};
const examples = pairs.map((pair) => ({
  x: featuresOf(pair),
  y: pair.is_match ? 1 : 0,
  fold: foldOf(pair),
  set: pair.set,
}));
const models = Array.from({ length: FOLDS }, (_, fold) =>
  learn(examples.filter((each) => each.fold !== fold)),
);
scores["learned"] = examples.map(({ x, fold }) => dot(models[fold]!, x));
// Without the made pairs, whose kinds of errors are known.
const labelledOnly = Array.from({ length: FOLDS }, (_, fold) =>
  learn(examples.filter((each) => each.fold !== fold && each.set !== "made")),
);
scores["learned, labelled pairs only"] = examples.map(({ x, fold }) => dot(labelledOnly[fold]!, x));
if (options.python) {
  const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
  const input = [
    "name1,name2,is_match,fold",
    ...pairs.map((pair) =>
      [quoted(pair.name1), quoted(pair.name2), pair.is_match ? 1 : 0, foldOf(pair)].join(","),
    ),
  ].join("\n");
  const output = execFileSync(options.python, ["bench/peers/names/score.py"], {
    input,
    maxBuffer: 2 ** 26,
    stdio: ["pipe", "pipe", "ignore"],
  });
  const peers = JSON.parse(output.toString()) as {
    scores: Record<string, readonly number[]>;
    problems: Record<string, string>;
  };
  Object.assign(scores, peers.scores);
  for (const [name, problem] of Object.entries(peers.problems)) console.log(`${name}: ${problem}`);
}
for (const set of ["shared", "own", "made"] as const) {
  const count = pairs.filter((pair) => pair.set === set).length;
  console.log(`\n| ${set}, ${count} pairs | F1 | recall at precision .98 |\n| --- | --- | --- |`);
  for (const [name, all] of Object.entries(scores)) {
    const judged = pairs.flatMap((pair, at) =>
      pair.set === set ? [{ score: all[at]!, is_match: pair.is_match }] : [],
    );
    console.log(`| ${name} | ${report(judged)} |`);
  }
}
