/** Names of countries and regions inside company names: `Toyota Motor Europe` is not `Toyota Motor America`. */
import { COUNTRIES } from "../schemes/countries.ts";
import { foldName } from "./fold.ts";

/** Other names that companies write, with the code that each stands for. Regions have codes of their own. */
const OTHERS: Readonly<Record<string, string>> = {
  usa: "US",
  us: "US",
  america: "US",
  "united states of america": "US",
  uk: "GB",
  britain: "GB",
  "great britain": "GB",
  england: "GB",
  scotland: "GB",
  uae: "AE",
  deutschland: "DE",
  osterreich: "AT",
  oesterreich: "AT",
  schweiz: "CH",
  suisse: "CH",
  svizzera: "CH",
  italia: "IT",
  espana: "ES",
  iberia: "iberia",
  brasil: "BR",
  nederland: "NL",
  polska: "PL",
  belgique: "BE",
  danmark: "DK",
  norge: "NO",
  sverige: "SE",
  suomi: "FI",
  turkey: "TR",
  rossiya: "RU",
  "czech republic": "CZ",
  korea: "KR",
  europe: "europe",
  asia: "asia",
  "asia pacific": "asia",
  apac: "asia",
  emea: "emea",
  africa: "africa",
  americas: "americas",
  "north america": "north america",
  "south america": "south america",
  "latin america": "latin america",
  latam: "latin america",
  "middle east": "middle east",
  oceania: "oceania",
  scandinavia: "scandinavia",
  nordic: "scandinavia",
};

interface Territories {
  readonly codes: ReadonlyMap<string, string>;
  /** The most words of the names that begin with a word. */
  readonly words_from: ReadonlyMap<string, number>;
}

function readTerritories(): Territories {
  const english = new Intl.DisplayNames(["en"], { type: "region", fallback: "none" });
  const codes = new Map([
    ...[...COUNTRIES].flatMap((code) => {
      const name = english.of(code);
      return name === undefined ? [] : [[foldName(name), code] as const];
    }),
    ...Object.entries(OTHERS),
  ]);
  const words_from = new Map<string, number>();
  for (const name of codes.keys()) {
    const words = name.split(" ");
    words_from.set(words[0]!, Math.max(words.length, words_from.get(words[0]!) ?? 0));
  }
  return { codes, words_from };
}

const MAX_WORDS = 3;
/** Made when the first names are compared: a service that compares none starts without it. */
let known: Territories | null = null;

/**
 * Replaces the names of territories with a word made of their code, longer names first, so that `Deutschland` and
 * `Germany` are one word. Answers the codes too.
 */
export function withTerritories(words: readonly string[]): {
  readonly words: readonly string[];
  readonly territories: ReadonlySet<string>;
} {
  const { codes, words_from } = (known ??= readTerritories());
  const result: string[] = [];
  const territories = new Set<string>();
  for (let at = 0; at < words.length; at++) {
    let length = Math.min(MAX_WORDS, words_from.get(words[at]!) ?? 0, words.length - at);
    let code: string | undefined;
    for (; length >= 1; length--) {
      code = codes.get(length === 1 ? words[at]! : words.slice(at, at + length).join(" "));
      if (code !== undefined) break;
    }
    if (code === undefined) result.push(words[at]!);
    else {
      result.push(code.toLowerCase().replaceAll(" ", ""));
      territories.add(code);
      at += length - 1;
    }
  }
  return { words: result, territories };
}
