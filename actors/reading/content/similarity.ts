/**
 * Whether two addresses, titles or texts are of one and the same piece: addresses by what names a page in them, titles
 * by their words, texts by word 5-grams. Functions of their arguments. The callers decide which similarity is enough.
 */

/** Longer texts are compared by their beginning, where copies agree. */
const MAX_TEXT_CHARS = 200_000;
const GRAM_WORDS = 5;

const WORD = /[\p{L}\p{N}\p{M}]+(?:'[\p{L}\p{N}\p{M}]+)*/gu;
/** Scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, kana, Han. */
const UNSPACED = /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]/;

/** Words in lower case, compatibility forms and quotation marks of all kinds made one. */
export function wordsOf(text: string): string[] {
  const plain = text
    .slice(0, MAX_TEXT_CHARS)
    .normalize("NFKC")
    .replaceAll(/[\u2018\u2019\u201b\u02bc\u2032`\u00b4]/g, "'")
    .replaceAll(/[\u00ad\u200b-\u200d\u2060\ufeff]/g, "")
    .toLowerCase();
  if (!UNSPACED.test(plain)) return plain.match(WORD) ?? [];
  const segments = new Intl.Segmenter(undefined, { granularity: "word" }).segment(plain);
  return [...segments].flatMap(({ segment, isWordLike }) => (isWordLike ? [segment] : []));
}

/** Every run of five words, each once. */
export function gramsOf(words: readonly string[]): Set<string> {
  const grams = new Set<string>();
  for (let at = 0; at + GRAM_WORDS <= words.length; at++)
    grams.add(words.slice(at, at + GRAM_WORDS).join(" "));
  return grams;
}

/** The share of one set that is in another, 0 to 1; 0 for an empty set. */
export function share(of: ReadonlySet<string>, within: ReadonlySet<string>): number {
  let common = 0;
  for (const each of of) if (within.has(each)) common++;
  return of.size === 0 ? 0 : common / of.size;
}

const MIN_TITLE_WORDS = 3;
const MIN_TITLE_SHARE = 0.8;

/**
 * Whether these can be titles of one piece: nearly all words of the shorter one are in the longer one, which may name
 * its site besides. One or two words are not enough, so they must be the whole title.
 */
export function isSameTitle(first: string, second: string): boolean {
  const [short, long] = [new Set(wordsOf(first)), new Set(wordsOf(second))].toSorted(
    (a, b) => a.size - b.size,
  );
  if (short!.size < MIN_TITLE_WORDS)
    return short!.size > 0 && wordsOf(first).join(" ") === wordsOf(second).join(" ");
  return share(short!, long!) >= MIN_TITLE_SHARE;
}

/** Whether a text, for example the first page of a PDF, says this title near its beginning. */
export function saysTitle(text: string, title: string): boolean {
  const wanted = new Set(wordsOf(title));
  return wanted.size > 0 && share(wanted, new Set(wordsOf(text.slice(0, TITLE_CHARS_IN)))) >= MIN_TITLE_SHARE;
}
const TITLE_CHARS_IN = 4_000;

/** Query parameters that count visits and do not identify a page. */
const TRACKING = /^(?:utm_\w+|fbclid|gclid|dclid|msclkid|mc_[ce]id|at_\w+|cmp|ref_src|wt_mc|xtor|_ga)$/i;

/**
 * The name of a page by its address, or null for what is no web address: host without "www.", path without a slash at
 * its end, the query without what counts visits. Two pages may come to one name where a site tells them apart by less.
 */
export function addressOf(text: string): string | null {
  const url = URL.parse(text.trim());
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) return null;
  const query = [...url.searchParams].filter(([name]) => !TRACKING.test(name));
  const host = url.host.replace(/^www\./, "").replace(/\.(?=:|$)/, "");
  const path = url.pathname.replace(/(?<!\/)\/+$/, "");
  return `${host}${path}${query.length === 0 ? "" : `?${new URLSearchParams(query).toString()}`}`;
}
