/**
 * How alike two strings are, character by character. Published packages define Jaro-Winkler differently, so it is here in
 * full: floor of half the transpositions, and the prefix counts only above 0.7. Pure.
 */
import { distance } from "fastest-levenshtein";

/** 1 less the share of characters to insert, delete or replace; no transpositions. */
export const levenshteinSimilarity = (a: string, b: string): number =>
  a === b ? 1 : 1 - distance(a, b) / Math.max(a.length, b.length);

const MAX_PREFIX = 4;
const PREFIX_WEIGHT = 0.1;
/** Below this the common prefix does not count. */
const MIN_BOOSTED = 0.7;

/** One algorithm: Jaro's matches and transpositions, then Winkler's prefix. */
export function jaroWinkler(a: string, b: string): number {
  if (a === b) return 1;
  const { length: m } = a;
  const { length: n } = b;
  if (m === 0 || n === 0) return 0;
  const window = Math.max(0, Math.floor(Math.max(m, n) / 2) - 1);
  const isMatchedInB = new Uint8Array(n);
  const matchedInA: number[] = [];
  for (let i = 0; i < m; i++) {
    const to = Math.min(n - 1, i + window);
    for (let j = Math.max(0, i - window); j <= to; j++) {
      if (isMatchedInB[j] === 1 || a.charCodeAt(i) !== b.charCodeAt(j)) continue;
      isMatchedInB[j] = 1;
      matchedInA.push(a.charCodeAt(i));
      break;
    }
  }
  const matches = matchedInA.length;
  if (matches === 0) return 0;
  let differing = 0;
  let k = 0;
  for (let j = 0; j < n; j++) if (isMatchedInB[j] === 1 && b.charCodeAt(j) !== matchedInA[k++]) differing++;
  const jaro = (matches / m + matches / n + (matches - Math.floor(differing / 2)) / matches) / 3;
  if (jaro <= MIN_BOOSTED) return jaro;
  let prefix = 0;
  while (prefix < Math.min(MAX_PREFIX, m, n) && a[prefix] === b[prefix]) prefix++;
  return jaro + PREFIX_WEIGHT * prefix * (1 - jaro);
}

/** 0 to 100: the mean of Jaro-Winkler and Levenshtein, of names that are folded and without legal forms. */
export const nameSimilarity = (a: string, b: string): number =>
  a === b ? 100 : 50 * (jaroWinkler(a, b) + levenshteinSimilarity(a, b));

/** Like `levenshteinSimilarity`, but two neighbours that are exchanged are one error, as in `arzelter` and `arzeletr`. */
export function spellingSimilarity(a: string, b: string): number {
  if (a.length !== b.length || a === b) return levenshteinSimilarity(a, b);
  let at = 0;
  while (a[at] === b[at]) at++;
  const isExchanged = a[at] === b[at + 1] && a[at + 1] === b[at] && a.slice(at + 2) === b.slice(at + 2);
  return isExchanged ? 1 - 1 / a.length : levenshteinSimilarity(a, b);
}
