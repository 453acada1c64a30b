/**
 * Merges result lists into one ranked list: each address once, with every distinct snippet and engine. Also decides whether the
 * primary answer is good enough. Pure.
 */
import type { FallbackReason, Period, SearchResult } from "../../../schemas/search.ts";
import { parseDate } from "../../reading/article/dates.ts";
import { parseUrl, withoutTracking } from "../../lib/web/url.ts";
import { type DomainFilter, isOfDomains } from "./domains.ts";
import type { EngineAnswer, RawResult } from "./engine.ts";

/** Fewer usable results than this are `too_few_results`. */
export const RESULTS_ENOUGH = 3;

/** An answer travels in one envelope (cluster/ports/bus.ts): the lowest-ranked results are dropped beyond this size. */
const MAX_JSON_BYTES = 192 * 1024;
const MAX_TITLE_CHARS = 500;
const MAX_SNIPPET_CHARS = 1_000;
const MAX_SNIPPETS = 20;
const MAX_ENGINES = 40;
const MAX_ENGINE_CHARS = 60;

/**
 * Reciprocal rank fusion: a place p in a list is worth 1 / (60 + p), and places in several lists add up. The 60
 * (Cormack, Clarke, Büttcher 2009) keeps one list's first place from outweighing agreement of two.
 */
const FUSION = 60;

const DAY_MS = 86_400_000;
export const PERIOD_DAYS: Readonly<Record<Period, number>> = { day: 1, week: 7, month: 31, year: 366 };
/** A date without a time may be up to a day older. */
const SLACK_MS = DAY_MS;

interface Merged {
  readonly url: string;
  title: string | null;
  readonly snippets: Map<string, string>;
  readonly engines: Set<string>;
  published_at: string | null;
  score: number;
}

const collapseSpace = (text: string): string => text.replace(/\s+/gu, " ").trim();

/** At most so many units, never half a character, and never silently. */
export function clip(text: string, most: number): string {
  if (text.length <= most) return text;
  return `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

/**
 * The lists in their order: if two lists have the same page, the address and title of the earlier one are used. What is no
 * http(s) address, or has neither title nor snippet, is no result.
 */
export function merge(
  lists: readonly (readonly RawResult[])[],
  options: DomainFilter & { readonly freshness: Period | null; readonly now_ms: number },
): SearchResult[] {
  const { freshness, now_ms } = options;
  const byUrl = new Map<string, Merged>();
  for (const list of lists) {
    const seenKeys = new Set<string>();
    for (const [place, raw] of list.entries()) {
      const url = parseUrl(raw.url);
      if (url === null || !isOfDomains(raw.url, options)) continue;
      const title = clip(collapseSpace(raw.title ?? ""), MAX_TITLE_CHARS) || null;
      const snippets = raw.snippets
        .map((snippet) => clip(collapseSpace(snippet), MAX_SNIPPET_CHARS))
        .filter((snippet) => snippet !== "");
      if (title === null && snippets.length === 0) continue;
      const key = withoutTracking(url);
      let merged = byUrl.get(key);
      if (!merged) {
        merged = {
          url: url.href,
          title: null,
          snippets: new Map(),
          engines: new Set(),
          published_at: null,
          score: 0,
        };
        byUrl.set(key, merged);
      }
      merged.title ??= title;
      merged.published_at ??= raw.published === null ? null : parseDate(raw.published, "en", now_ms);
      for (const snippet of snippets) {
        const lowered = snippet.toLowerCase();
        if (merged.snippets.size < MAX_SNIPPETS && !merged.snippets.has(lowered))
          merged.snippets.set(lowered, snippet);
      }
      for (const engine of raw.engines)
        if (merged.engines.size < MAX_ENGINES) merged.engines.add(clip(engine, MAX_ENGINE_CHARS));
      // A page that is twice in one list counts once.
      if (!seenKeys.has(key)) merged.score += 1 / (FUSION + place);
      seenKeys.add(key);
    }
  }
  const ranked = [...byUrl.values()]
    .filter(({ published_at }) => isWithin(published_at, freshness, now_ms))
    .toSorted((a, b) => b.score - a.score);
  const results: SearchResult[] = [];
  let bytes = 0;
  for (const { url, title, snippets, engines, published_at } of ranked) {
    const result = {
      url,
      title,
      snippets: [...snippets.values()],
      engines: [...engines],
      published_at,
      rank: results.length + 1,
    };
    bytes += Buffer.byteLength(JSON.stringify(result)) + 1;
    if (bytes > MAX_JSON_BYTES) break;
    results.push(result);
  }
  return results;
}

/** Not all upstreams support periods: results with an older date are dropped. */
function isWithin(published_at: string | null, freshness: Period | null, now_ms: number): boolean {
  if (freshness === null || published_at === null) return true;
  const at_ms = millisecondsOf(published_at);
  return Number.isNaN(at_ms) || now_ms - at_ms <= PERIOD_DAYS[freshness] * DAY_MS + SLACK_MS;
}

/** A date as we write them, as Unix milliseconds. A time without a zone would be read as this machine's. */
export const millisecondsOf = (iso: string): number => Date.parse(/T[\d:.]+$/.test(iso) ? `${iso}Z` : iso);

/**
 * Why an answer is not good enough, or null. Failed engines are named before too few results, because they explain them.
 * Failed engines are a reason for the fallback even with many results.
 */
export function fallbackReason(
  answer: Extract<EngineAnswer, { kind: "answered" }>,
  usable: number,
): FallbackReason | null {
  if (answer.unresponsive.some(({ captcha }) => captcha)) return "captcha_engines";
  if (answer.unresponsive.length > 0) return "unresponsive_engines";
  return usable < RESULTS_ENOUGH ? "too_few_results" : null;
}
