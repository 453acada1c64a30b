/**
 * Which open copies of a page are searched for (allow_alternates), and when one counts as verified. Pure functions. A
 * copy must not circumvent a paywall: it must be published openly by a publisher. A paid copy does not count, nor a paid
 * page in an archive, a cache or a reader service.
 */
import type { FetchError } from "../../../../schemas/errors.ts";
import type { ContentKind, PageRecord } from "../../../../schemas/fetch.ts";
import type { Extracted } from "../../../reading/extraction-result.ts";
import { doiInUrl } from "../../../reading/content/alternate-links.ts";
import {
  addressOf,
  gramsOf,
  isSameTitle,
  saysTitle,
  share,
  wordsOf,
} from "../../../reading/content/similarity.ts";
import { type JoinedSites, siteOf } from "../../../lib/web/url.ts";

export type AlternateSource = NonNullable<PageRecord["alternate_source"]>;

/** Why a copy is searched for. */
export type AlternateCause = "paywall" | "robots" | "gone" | "blocked";

interface AlternateOptions {
  readonly allow_alternates: boolean;
  /** A request with a list of routes searches for no copies, because sources are not in the list. */
  readonly tiers: readonly unknown[] | null;
}

/** Why a copy is searched for after a run with this error; null: it is not. `sold`: the page is only a teaser. */
export function causeOf(
  options: AlternateOptions,
  error: FetchError | null,
  sold: boolean,
): AlternateCause | null {
  if (!options.allow_alternates || options.tiers !== null) return null;
  if (error === "robots_disallowed") return "robots";
  if (error === "http_404" || error === "http_410") return "gone";
  if (error === "all_tiers_failed") return sold ? "paywall" : "blocked";
  return sold && (error === null || error === "http_401" || error === "http_402") ? "paywall" : null;
}

/** The known fields of the page whose copy is searched for. */
export interface WantedPage {
  readonly url: string;
  readonly cause: AlternateCause;
  /** All known addresses of the page, in the form of `addressOf`. */
  readonly addresses: readonly string[];
  readonly title: string | null;
  readonly language: string | null;
  /** Word 5-grams of its beginning; null: too few words are known to recognise a copy. */
  readonly lead: ReadonlySet<string> | null;
  /** Its first words, which are searched when it has no title. */
  readonly opening: string;
  readonly doi: string | null;
  /** As the page declares them, or the error page in its place. None are guessed. */
  readonly feeds: readonly string[];
  /** A copy must have more text than this, or it is a teaser as well. */
  readonly more_than_chars: number;
}

/** The page of this run, or the cached page from a time when it could be read. */
export interface KnownPage {
  readonly title: string | null;
  readonly text: string;
  readonly canonical_url: string | null;
  readonly language: string | null;
  readonly final_url: string | null;
}

const LEAD_WORDS = 60;
const MIN_LEAD_WORDS = 40;
const MIN_LEAD_GRAMS = 20;
const LONGER_THAN_TEASER = 1.5;

/** The words of a text without its title at the beginning: another site may give it another title. */
function wordsBelow(title: string | null, text: string): readonly string[] {
  const [heading, words] = [wordsOf(title ?? ""), wordsOf(text)];
  return words.slice(heading.every((word, at) => words[at] === word) ? heading.length : 0);
}

/** The 5-grams of a text's first 60 words; null below 40 words or 20 different 5-grams, for that is too common. */
export function leadOf(text: string, title: string | null = null): ReadonlySet<string> | null {
  const words = wordsBelow(title, text).slice(0, LEAD_WORDS);
  const grams = gramsOf(words);
  return words.length < MIN_LEAD_WORDS || grams.size < MIN_LEAD_GRAMS ? null : grams;
}

export function wantedOf(
  url: string,
  cause: AlternateCause,
  known: KnownPage | null,
  leads: Extracted["leads"],
  min_text_chars: number,
): WantedPage {
  const addresses = [url, known?.final_url, known?.canonical_url].flatMap(
    (each) => addressOf(each ?? "") ?? [],
  );
  const teaser_chars = cause === "paywall" ? (known?.text.length ?? 0) : 0;
  return {
    url,
    cause,
    addresses: [...new Set(addresses)],
    title: known?.title ?? null,
    language: known?.language ?? null,
    lead: known === null ? null : leadOf(known.text, known.title),
    opening: known === null ? "" : wordsBelow(known.title, known.text).slice(0, 12).join(" "),
    doi: leads?.doi ?? doiInUrl(url),
    feeds: leads?.feeds ?? [],
    more_than_chars: Math.max(min_text_chars, Math.ceil(LONGER_THAN_TEASER * teaser_chars)) - 1,
  };
}

const MAX_QUERY_CHARS = 200;
const MAX_CANDIDATES = 5;

/** The search query; null when a copy could not be distinguished from other texts. */
export function queryOf({ lead, title, opening }: WantedPage): string | null {
  if (lead === null) return null;
  const query = title !== null && wordsOf(title).length >= 3 ? title : opening;
  return query.slice(0, MAX_QUERY_CHARS);
}

/**
 * Services that show pages of other sites: archives, caches, translators, readers that fetch a page for a user, and
 * services that remove paywalls. They have no right of their own to publish those pages.
 */
const OTHERS_PAGES =
  /^(?:(?:[a-z0-9-]+\.)*(?:archive\.(?:org|is|today|ph|md|li|vn|fo)|archive-it\.org|webcitation\.org|perma\.cc|ghostarchive\.org|12ft\.[a-z]+|13ft\.[a-z]+|1ft\.io|smry\.ai|outline\.com|txtify\.it|removepaywalls?\.[a-z]+|paywallreader\.com|bypasspaywalls?\.[a-z]+|freedium\.[a-z]+|freedium-mirror\.[a-z]+|readmedium\.com|scribe\.rip|translate\.goog|jina\.ai|printfriendly\.com|proxysite\.com|sci-hub\.[a-z]+|libgen\.[a-z]+|z-lib\.[a-z]+)|webcache\.googleusercontent\.com|cc\.bingj\.com|translate\.google(?:\.[a-z]+)+|cachedview\.[a-z]+)$/i;

export const showsOthersPages = (url: string): boolean => OTHERS_PAGES.test(new URL(url).hostname);

/** Search results that may be the same story on another site: one of each site, the best five. */
export function candidatesOf(
  urls: readonly string[],
  wanted: WantedPage,
  joined?: JoinedSites,
): readonly string[] {
  const taken_sites = new Set([siteOf(new URL(wanted.url).hostname, joined)]);
  return urls
    .filter((text) => {
      if (addressOf(text) === null || showsOthersPages(text)) return false;
      const site = siteOf(new URL(text).hostname, joined);
      return !taken_sites.has(site) && taken_sites.add(site);
    })
    .slice(0, MAX_CANDIDATES);
}

/** A copy as it was extracted. */
export interface Copy {
  readonly final_url: string;
  readonly kind: ContentKind;
  readonly extracted: Extracted;
}

/** How a copy is recognised: by an identifier of the page, or by its words alone. */
export type MatchedBy = "identifier" | "words";

export type CopyVerdict =
  | { readonly kind: "verified"; readonly score: number }
  | {
      readonly kind: "rejected";
      readonly reason:
        | "unreadable"
        | "paywall"
        | "others_page"
        | "same_site"
        | "short"
        | "no_lead"
        | "mismatch";
    };

/** Half of the lead's 5-grams. Two reports of one case may reach 0.52; unrelated texts stay below 0.1. */
const MIN_SCORE = 0.5;
const READABLE: ReadonlySet<ContentKind> = new Set(["html", "pdf", "text"]);

/** `must_be_other_site`: the copy must be on another site than the page. */
export function judgeCopy(
  wanted: WantedPage,
  { final_url, kind, extracted }: Copy,
  matched_by: MatchedBy,
  must_be_other_site: boolean,
  joined?: JoinedSites,
): CopyVerdict {
  const rejected = (reason: Extract<CopyVerdict, { kind: "rejected" }>["reason"]): CopyVerdict => ({
    kind: "rejected",
    reason,
  });
  if (!READABLE.has(kind)) return rejected("unreadable");
  // The address after redirects counts.
  if (showsOthersPages(final_url)) return rejected("others_page");
  const site = (url: string) => siteOf(new URL(url).hostname, joined);
  if (must_be_other_site && site(final_url) === site(wanted.url)) return rejected("same_site");
  if (extracted.paywall === "hard" || extracted.paywall === "unknown") return rejected("paywall");
  if (extracted.text.length <= wanted.more_than_chars) return rejected("short");
  if (matched_by === "identifier") return { kind: "verified", score: 1 };
  if (wanted.lead === null) return rejected("no_lead");
  const score = share(wanted.lead, gramsOf(wordsOf(extracted.text)));
  // Rounded down, so that no score below the limit is written as one that reaches it.
  return score < MIN_SCORE
    ? rejected("mismatch")
    : { kind: "verified", score: Math.floor(score * 1e4) / 1e4 };
}

/** Whether a paper found under a DOI is the one searched for: page, register and copy have the same title. */
export function isThePaper(wanted: WantedPage, registered: string | null, { extracted }: Copy): boolean {
  if (registered === null) return false;
  if (wanted.title !== null && wanted.cause === "paywall" && !isSameTitle(wanted.title, registered))
    return false;
  const { title, text } = extracted;
  return (title !== null && isSameTitle(title, registered)) || saysTitle(text, registered);
}
