/**
 * POST /v1/fetch: its body and its response, and the contracts of the Fetch actor and the host profile. A page never
 * travels in a message: a record names its bytes by digest and, when they are long, its texts.
 */
import { type Static, Type } from "typebox";
import { CssSelector } from "./css-selector.ts";
import { BillingCategory, CountryCode, Nullable, picked, Sha256, Timestamp } from "./common.ts";
import { ask, contract, Deadline, tell } from "./contract.ts";
import { RENDER_MODES, TIERS } from "./tier-table.ts";
import { Trace } from "./trace.ts";
import { DomainView } from "./domain.ts";

export const MAX_BYTES_DEFAULT = 15_728_640;
/** The limit for a PDF, in a batch item without max_bytes. */
export const BATCH_PDF_BYTES_DEFAULT = 209_715_200;
export const MAX_BYTES_CEILING = 52_428_800;
export const MIN_TEXT_CHARS_DEFAULT = 500;
export const MIN_TIMEOUT_S = 5;
export const MAX_TIMEOUT_S = 150;

/** Forms of a page that an answer has only on request; a screenshot takes the route browser, and no other. */
export const FORMATS = ["markdown", "links", "images", "entries", "screenshot"] as const;

/** The longest wait for a selector, and the longest `ms`, counted from when the document is parsed. */
export const MAX_WAIT_FOR_MS = 15_000;

/**
 * What a page in a browser is waited for, before it is read: an element of the main document that matches, and so many milliseconds
 * since it was parsed; with both, for both. A page without the element after 15 s is `selector_not_found`. A request with
 * it takes the route browser, and no other.
 */
export const WaitFor = Type.Object({
  selector: Type.Optional(Nullable(CssSelector)),
  ms: Type.Optional(Nullable(Type.Integer({ minimum: 0, maximum: MAX_WAIT_FOR_MS }))),
});
export type WaitFor = Static<typeof WaitFor>;

/** The same with its defaults filled in. */
export const AwaitedState = Type.Object({
  selector: Nullable(Type.String()),
  ms: Type.Integer({ minimum: 0, maximum: MAX_WAIT_FOR_MS }),
});
export type AwaitedState = Static<typeof AwaitedState>;

export const SCREENSHOT_TYPES = ["png", "webp"] as const;
export type ScreenshotType = (typeof SCREENSHOT_TYPES)[number];

/** The most pixels of a full page from top to bottom; what is below is cut off, and `truncated` says so. */
export const MAX_SCREENSHOT_PX: Readonly<Record<ScreenshotType, number>> = {
  png: 20_000,
  // The format's own limit.
  webp: 16_383,
};
/** A larger screenshot is `screenshot_failed`. */
export const MAX_SCREENSHOT_BYTES = 20 * 2 ** 20;

/** Of the screenshot in `formats`: of what a window of 1280 × 720 shows, or of the page from top to bottom, as wide. */
export const ScreenshotOptions = Type.Object({
  type: Type.Optional(Type.Enum([...SCREENSHOT_TYPES], { default: "png" })),
  full_page: Type.Optional(Type.Boolean({ default: false })),
});
export type ScreenshotOptions = Static<typeof ScreenshotOptions>;

export const FetchBody = Type.Object({
  /** A text that is no http(s) URL is answered with the error invalid_url, not refused. */
  url: Type.String({ minLength: 1, maxLength: 8192 }),
  render: Type.Optional(Type.Enum([...RENDER_MODES], { default: "auto" })),
  max_bytes: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_BYTES_CEILING, default: MAX_BYTES_DEFAULT }),
  ),
  accept_pdf: Type.Optional(Type.Boolean({ default: true })),
  cache_ttl_s: Type.Optional(Nullable(Type.Integer({ minimum: 0 }))),
  min_text_chars: Type.Optional(Type.Integer({ minimum: 0, default: MIN_TEXT_CHARS_DEFAULT })),
  project_ref: Type.Optional(Nullable(Type.String({ maxLength: 500 }))),
  allow_archive: Type.Optional(Type.Boolean({ default: true })),
  allow_alternates: Type.Optional(Type.Boolean({ default: true })),
  allow_paid: Type.Optional(Type.Boolean({ default: true })),
  /** The same switch under another name: either of them set to false forbids premium routes. */
  allow_premium: Type.Optional(Type.Boolean({ default: true })),
  tiers: Type.Optional(Nullable(Type.Array(Type.Enum([...TIERS])))),
  timeout_s: Type.Optional(Nullable(Type.Number({ minimum: MIN_TIMEOUT_S, maximum: MAX_TIMEOUT_S }))),
  country: Type.Optional(Nullable(CountryCode)),
  user_agent: Type.Optional(Nullable(Type.String({ maxLength: 500 }))),
  accept_language: Type.Optional(Nullable(Type.String({ maxLength: 200 }))),
  include_html: Type.Optional(Nullable(Type.Boolean())),
  formats: Type.Optional(Nullable(Type.Array(Type.Enum([...FORMATS]), { maxItems: 10 }))),
  wait_for: Type.Optional(Nullable(WaitFor)),
  screenshot_options: Type.Optional(Nullable(ScreenshotOptions)),
});
export type FetchBody = Static<typeof FetchBody>;

export const Redirect = Type.Object({ url: Type.String(), status: Type.Integer(), location: Type.String() });
export type Redirect = Static<typeof Redirect>;

export const Attempt = Type.Object({
  /** A route, `source`, or a pseudo-step: robots, dns, cache, request_timeout, politeness. */
  tier: Type.String(),
  status: Nullable(Type.Integer()),
  reason: Type.String(),
  ms: Type.Integer(),
  detail: Nullable(Type.String()),
});
export type Attempt = Static<typeof Attempt>;

export const PdfPage = Type.Object({ page: Type.Integer({ minimum: 1 }), text: Type.String() });
export type PdfPage = Static<typeof PdfPage>;

/** The same content at another address (`link rel="alternate"`), absolute; what the element says of it, or null. */
export const PageAlternate = Type.Object({
  url: Type.String(),
  language: Nullable(Type.String()),
  type: Nullable(Type.String()),
});
export type PageAlternate = Static<typeof PageAlternate>;

/**
 * What a page says of itself; a field is null when it does not. Several authors are separated by "; ". Times are ISO 8601:
 * UTC with a Z, without a zone when the page gives none, or only a date, a month or a year. Languages are BCP 47.
 */
export const ArticleMeta = Type.Object({
  author: Nullable(Type.String()),
  published_at: Nullable(Type.String()),
  modified_at: Nullable(Type.String()),
  language: Nullable(Type.String()),
  canonical_url: Nullable(Type.String()),
  publisher: Nullable(Type.String()),
  site_name: Nullable(Type.String()),
  description: Nullable(Type.String()),
  section: Nullable(Type.String()),
  word_count: Nullable(Type.Integer()),
  /** These two only if `links` were requested in `formats`. */
  next_url: Type.Optional(Nullable(Type.String())),
  alternates: Type.Optional(Type.Array(PageAlternate)),
});
export type ArticleMeta = Static<typeof ArticleMeta>;

/** A link of a page: an absolute http(s) address, its visible text, and what `rel` says, in lower case. */
export const PageLink = Type.Object({
  url: Type.String(),
  text: Type.String(),
  rel: Nullable(Type.String()),
});
export type PageLink = Static<typeof PageLink>;

/** An image of a page; width and height in CSS pixels, as its element says. */
export const PageImage = Type.Object({
  url: Type.String(),
  alt: Nullable(Type.String()),
  width: Nullable(Type.Integer()),
  height: Nullable(Type.Integer()),
});
export type PageImage = Static<typeof PageImage>;

/** An item of a feed, or an address of a sitemap. The time is ISO 8601 in UTC; the summary is plain text. */
export const FeedEntry = Type.Object({
  url: Nullable(Type.String()),
  title: Nullable(Type.String()),
  published_at: Nullable(Type.String({ format: "date-time" })),
  summary: Nullable(Type.String()),
});
export type FeedEntry = Static<typeof FeedEntry>;

/** A picture of the page, in the body store. Width and height in pixels. */
const screenshotFields = {
  sha256: Sha256,
  content_type: Type.Enum(SCREENSHOT_TYPES.map((type) => `image/${type}` as const)),
  width: Type.Integer(),
  height: Type.Integer(),
  /** The page goes on below what the picture shows. */
  truncated: Type.Boolean(),
};
export const StoredScreenshot = Type.Object(screenshotFields);
export type StoredScreenshot = Static<typeof StoredScreenshot>;
export const Screenshot = Type.Object({ body_url: Type.String(), ...screenshotFields });
export type Screenshot = Static<typeof Screenshot>;

/** Everything an answer may contain on request; stored as one JSON body. */
export interface PageFormats {
  readonly markdown: string | null;
  readonly links: PageLink[];
  readonly images: PageImage[];
  /** Pages only; absent where an older version stored them. */
  readonly relations?: Required<Pick<ArticleMeta, "next_url" | "alternates">>;
  /** Feeds and sitemaps only. */
  readonly entries?: FeedEntry[];
}

/** Office documents and e-books. */
export const OFFICE_KINDS = ["docx", "xlsx", "pptx", "odt", "ods", "odp", "epub", "rtf"] as const;
export type OfficeKind = (typeof OFFICE_KINDS)[number];
export const isOfficeKind = (kind: string): kind is OfficeKind =>
  (OFFICE_KINDS as readonly string[]).includes(kind);
export const CONTENT_KINDS = ["html", "pdf", "text", "json", "xml", ...OFFICE_KINDS, "binary"] as const;
export const ContentKind = Type.Enum([...CONTENT_KINDS]);
export type ContentKind = Static<typeof ContentKind>;

export const Paywall = Type.Enum(["none", "metered", "hard", "unknown"]);
export const PrimarySource = Type.Object({
  url: Type.String(),
  kind: Type.Enum(["court", "government", "press_release", "doi", "pdf"]),
  text: Nullable(Type.String()),
});
export type PrimarySource = Static<typeof PrimarySource>;

/**
 * A page as it was retrieved, in the form in which it is cached and sent between nodes: everything of the response
 * except what belongs to one call (request id, cached, cost) and the long texts, which are named by digest here and read
 * from the body store when the response is written.
 */
export const PageRecord = Type.Object({
  /** The address after redirects; for an archived copy the address of the copy. */
  final_url: Nullable(Type.String()),
  redirects: Type.Array(Redirect),
  status: Nullable(Type.Integer()),
  content_type: Nullable(Type.String()),
  origin_content_type: Nullable(Type.String()),
  headers: Type.Record(Type.String(), Type.String()),
  tier: Nullable(Type.Enum([...TIERS, "source"])),
  content_kind: Nullable(ContentKind),
  /** WHATWG name of the encoding the bytes were decoded with; null for what is no text. */
  charset: Nullable(Type.String()),
  title: Nullable(Type.String()),
  meta: Nullable(ArticleMeta),
  /** The text when it is at most TEXT_INLINE_BYTES long; a longer one is null here and named by text_sha256. */
  text: Nullable(Type.String()),
  text_sha256: Nullable(Sha256),
  text_chars: Type.Integer(),
  text_truncated: Type.Boolean(),
  /** The pages of a PDF as JSON in the body store. */
  pdf_pages_sha256: Nullable(Sha256),
  pdf_page_count: Nullable(Type.Integer()),
  /** PageFormats as JSON in the body store; null: the document has none; absent: no caller has asked for them yet. */
  formats_sha256: Type.Optional(Nullable(Sha256)),
  /** Absent: there is none. */
  screenshot: Type.Optional(StoredScreenshot),
  sha256: Nullable(Sha256),
  bytes: Type.Integer(),
  body_kind: Nullable(Type.Enum(["origin", "rendered_dom"])),
  etag: Nullable(Type.String()),
  last_modified: Nullable(Type.String()),
  retrieved_at: Nullable(Type.String()),
  archived_at: Nullable(Type.String()),
  served_from_archive_because: Nullable(Type.Enum(["domain_dead", "not_found"])),
  paywall: Nullable(Paywall),
  paywall_evidence: Type.Array(Type.String()),
  text_complete: Nullable(Type.Boolean()),
  alternate_of: Nullable(Type.String()),
  alternate_source: Nullable(
    Type.Enum(["publisher_feed", "guardian_api", "open_access", "syndication", "common_crawl"]),
  ),
  match_score: Nullable(Type.Number()),
  primary_sources: Type.Array(PrimarySource),
});
export type PageRecord = Static<typeof PageRecord>;

/** Digests of what is stored of a page beside its body: texts that are too long for a record, formats, a screenshot. */
export const partDigests = ({
  text_sha256,
  pdf_pages_sha256,
  formats_sha256 = null,
  screenshot,
}: PageRecord): readonly string[] =>
  [text_sha256, pdf_pages_sha256, formats_sha256, screenshot?.sha256 ?? null].filter(
    (sha256) => sha256 !== null,
  );

/** The record of an answer without a page. */
export const EMPTY_RECORD: PageRecord = {
  final_url: null,
  redirects: [],
  status: null,
  content_type: null,
  origin_content_type: null,
  headers: {},
  tier: null,
  content_kind: null,
  charset: null,
  title: null,
  meta: null,
  text: "",
  text_sha256: null,
  text_chars: 0,
  text_truncated: false,
  pdf_pages_sha256: null,
  pdf_page_count: null,
  sha256: null,
  bytes: 0,
  body_kind: null,
  etag: null,
  last_modified: null,
  retrieved_at: null,
  archived_at: null,
  served_from_archive_because: null,
  paywall: null,
  paywall_evidence: [],
  text_complete: null,
  alternate_of: null,
  alternate_source: null,
  match_score: null,
  primary_sources: [],
};

/** Texts of at most so many UTF-8 bytes are part of the record; longer ones go to the body store. */
export const TEXT_INLINE_BYTES = 65_536;

/** What a request makes of an option of its body: keeps it, works out a field of its own from it, or leaves it to the answer. */
const OPTION_USE = {
  url: "kept",
  render: "kept",
  max_bytes: "worked_out",
  accept_pdf: "kept",
  cache_ttl_s: "kept",
  min_text_chars: "kept",
  project_ref: "answer",
  allow_archive: "kept",
  allow_alternates: "kept",
  allow_paid: "worked_out",
  allow_premium: "worked_out",
  tiers: "kept",
  timeout_s: "worked_out",
  country: "kept",
  user_agent: "kept",
  accept_language: "kept",
  include_html: "answer",
  formats: "worked_out",
  wait_for: "worked_out",
  screenshot_options: "worked_out",
} as const satisfies Readonly<Record<keyof FetchBody, "kept" | "worked_out" | "answer">>;

type KeptOption = {
  [K in keyof typeof OPTION_USE]: (typeof OPTION_USE)[K] extends "kept" ? K : never;
}[keyof typeof OPTION_USE];
const KEPT_OPTIONS = (Object.keys(OPTION_USE) as (keyof FetchBody)[]).filter(
  (name): name is KeptOption => OPTION_USE[name] === "kept",
);

const KeptOptions = Type.Required(Type.Object(picked(FetchBody.properties, KEPT_OPTIONS)));

/** The options that a request keeps as its body has them, with their defaults; null where there is none. */
export function keptOptions(body: FetchBody): Static<typeof KeptOptions> {
  const options: Record<string, unknown> = {};
  for (const name of KEPT_OPTIONS)
    options[name] =
      body[name] ?? (FetchBody.properties[name] as { readonly default?: unknown }).default ?? null;
  return options as Static<typeof KeptOptions>;
}

/** The options of a fetch with its defaults filled in. */
export const FetchOptions = Type.Object({
  ...KeptOptions.properties,
  max_bytes: Type.Integer(),
  /** The same limit for a PDF. */
  max_pdf_bytes: Type.Integer(),
  allow_paid: Type.Boolean(),
  /** The page's formats are wanted, too. Default: they are not. */
  with_formats: Type.Optional(Type.Boolean()),
  /** Default: for nothing but a readable page. */
  wait_for: Type.Optional(AwaitedState),
  /** Default: none is taken. */
  screenshot: Type.Optional(Type.Required(ScreenshotOptions)),
  /**
   * The Authorization field for the origin of `url`, and for no other, from the credentials in the caller's address, which
   * `url` does not have any more. The page is one for the caller's project only. Default: no field.
   */
  authorization: Type.Optional(Type.String()),
});
export type FetchOptions = Static<typeof FetchOptions>;

interface OptionReach {
  /** A tier gets it, as it is. */
  readonly tier: boolean;
  /** The page depends on it: it is part of the cache key. */
  readonly page: boolean;
}

/** How far each option reaches. A new one that the page depends on goes to the end: the keys of stored pages follow this order. */
const OPTION_REACH = {
  // The normalised address begins the cache key.
  url: { tier: true, page: false },
  render: { tier: false, page: true },
  max_bytes: { tier: true, page: false },
  max_pdf_bytes: { tier: true, page: false },
  accept_pdf: { tier: false, page: false },
  cache_ttl_s: { tier: false, page: false },
  min_text_chars: { tier: true, page: false },
  allow_archive: { tier: false, page: false },
  allow_alternates: { tier: false, page: false },
  allow_paid: { tier: false, page: false },
  tiers: { tier: false, page: false },
  user_agent: { tier: true, page: true },
  accept_language: { tier: true, page: true },
  country: { tier: true, page: true },
  with_formats: { tier: false, page: false },
  wait_for: { tier: true, page: true },
  screenshot: { tier: true, page: true },
  authorization: { tier: true, page: true },
} as const satisfies Readonly<Record<keyof FetchOptions, OptionReach>>;

type TierOption = {
  [K in keyof FetchOptions]-?: (typeof OPTION_REACH)[K]["tier"] extends true ? K : never;
}[keyof FetchOptions];
const OPTIONS = Object.keys(OPTION_REACH) as (keyof FetchOptions)[];
export const TIER_OPTIONS = OPTIONS.filter((name): name is TierOption => OPTION_REACH[name].tier);
export const PAGE_OPTIONS = OPTIONS.filter((name) => OPTION_REACH[name].page);

/** The request to the Fetch actor. */
export const FetchRequest = Type.Object({
  ...FetchOptions.properties,
  fetch_id: Type.String(),
  lane: Type.Enum(["sync", "batch"]),
  /** The project of the caller, which pays for premium routes with the key and the customer. */
  project: Type.String(),
  /** The prefix of the caller's key; absent: no key pays. */
  key: Type.Optional(Type.String()),
  /** How long the caller waits, Unix milliseconds; the run may go on into the cache. */
  deadline_ms: Deadline(),
  /** Whether timeout_s was given: then the deadline ends the run, too. */
  hard_deadline: Type.Boolean(),
  /**
   * The same page will be requested again with premium routes, after a pause: the domain is not told that every route
   * failed. Default: it is told.
   */
  premium_later: Type.Optional(Type.Boolean()),
  /** The messages of its run are recorded. Default: they are not. */
  is_traced: Type.Optional(Type.Boolean()),
});
export type FetchRequest = Static<typeof FetchRequest>;

/** The result of a fetch. The record is that of the best page there is, also beside an error. */
export const FetchAnswer = Type.Object({
  record: PageRecord,
  attempts: Type.Array(Attempt),
  cached: Type.Boolean(),
  revalidated: Type.Boolean(),
  /** Provider spend in USD, six decimals. */
  cost_usd: Type.String(),
  error: Nullable(Type.String()),
  error_detail: Nullable(Type.String()),
  retry_after_s: Nullable(Type.Integer({ minimum: 1 })),
  premium_routes_tried: Type.Boolean(),
  /** Of a run whose request asked for it. */
  trace: Type.Optional(Trace),
  /** The origin forbids sharing (private, no-store): the answer is for callers of one project. Default: it does not. */
  only_project: Type.Optional(Type.Boolean()),
});
export type FetchAnswer = Static<typeof FetchAnswer>;

/** An answer without a page, and without an error. */
export const EMPTY_ANSWER: FetchAnswer = {
  record: EMPTY_RECORD,
  attempts: [],
  cached: false,
  revalidated: false,
  cost_usd: "0",
  error: null,
  error_detail: null,
  retry_after_s: null,
  premium_routes_tried: false,
};

/**
 * One actor per cache key; its key is "<site> <digest of the cache key>", so that it lives beside its Domain.
 * `completed` and `tick` are its own messages.
 */
export const Fetch = contract(
  "fetch",
  {
    get: ask(FetchRequest, FetchAnswer),
    /** Answers this caller at once, with a timeout; without other callers the run ends and no more requests are sent. */
    cancel: tell(Type.Object({ fetch_id: Type.String() })),
  },
  {
    completed: tell(Type.Object({ run: Type.Integer(), answer: FetchAnswer })),
    tick: tell(Type.Null()),
  },
  { shard_by: "domain" },
);

/**
 * What earlier fetches have shown of a host: `required`, only premium routes serve it; `refused`, it blocks these, too.
 */
export const PremiumAdvice = Type.Object({
  premium: Type.Enum(["unknown", "required", "refused"]),
  /** This fetch tests what is believed otherwise. Default: false. */
  is_test: Type.Optional(Type.Boolean()),
});
export type PremiumAdvice = Static<typeof PremiumAdvice>;

/** What one fetch showed of its host. */
export const Observation = Type.Enum([
  "premium_only",
  "premium_served",
  "premium_blocked",
  "standard_served",
]);
export type Observation = Static<typeof Observation>;

/** The first segment of the path of an address, cut to 64 characters; "" for the root. */
const Segment = Type.String({ maxLength: 64 });

/** The profile of a host, for an operator. */
export const HostProfileView = Type.Object({
  premium: PremiumAdvice.properties.premium,
  /** Until when `premium` is believed; null while it is unknown. */
  until: Nullable(Type.String()),
  /** Fetches in a row that only a premium route served. */
  premium_only: Type.Integer(),
  /** Fetches in a row in which the site blocked every premium route that was tried. */
  premium_blocked: Type.Integer(),
});
export type HostProfileView = Static<typeof HostProfileView>;

/** One actor per host, asked only where premium routes are configured; its key is "<site> <host>". */
export const HostProfile = contract(
  "host_profile",
  {
    /** Counts the fetch: some of them test again what is believed. */
    recall: ask(Type.Object({ segment: Segment }), PremiumAdvice),
    recordObservation: tell(Type.Object({ observation: Observation, segment: Segment })),
    view: ask(Type.Null(), HostProfileView),
    /** Forgets everything, for an operator. */
    clear: ask(Type.Null(), HostProfileView),
  },
  {},
  { shard_by: "domain" },
);

/** What the operator changes of a domain. */
export const DomainChange = Type.Object({
  min_delay_ms: Type.Optional(Nullable(Type.Integer({ minimum: 0, maximum: 900_000 }))),
  max_concurrency: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: 64 }))),
  pause_s: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: 315_360_000 }))),
});
export type DomainChange = Static<typeof DomainChange>;

/** Everything stored of a domain: the view of its Domain actor and the profiles of its hosts. */
export const DomainMemory = Type.Object({
  ...DomainView.properties,
  hosts: Type.Array(Type.Object({ host: Type.String(), ...HostProfileView.properties })),
});
export type DomainMemory = Static<typeof DomainMemory>;

/** The response to a client; its fields and their order are part of the public API. */
export const FetchResponse = Type.Object({
  url: Type.String(),
  final_url: Nullable(Type.String()),
  redirects: Type.Array(Redirect),
  status: Nullable(Type.Integer()),
  content_type: Nullable(Type.String()),
  origin_content_type: Nullable(Type.String()),
  headers: Type.Record(Type.String(), Type.String()),
  tier: Nullable(Type.Enum([...TIERS, "source"])),
  attempts: Type.Array(Attempt),
  html: Type.Optional(Nullable(Type.String())),
  text: Type.String(),
  pdf_text_pages: Nullable(Type.Array(PdfPage)),
  pdf_page_count: Nullable(Type.Integer()),
  /** These only if they were requested in `formats`. */
  markdown: Type.Optional(Nullable(Type.String())),
  links: Type.Optional(Type.Array(PageLink)),
  images: Type.Optional(Type.Array(PageImage)),
  entries: Type.Optional(Type.Array(FeedEntry)),
  screenshot: Type.Optional(Nullable(Screenshot)),
  text_truncated: Type.Boolean(),
  title: Nullable(Type.String()),
  meta: Nullable(ArticleMeta),
  sha256: Nullable(Sha256),
  bytes: Type.Integer(),
  cached: Type.Boolean(),
  revalidated: Type.Boolean(),
  retrieved_at: Nullable(Timestamp),
  etag: Nullable(Type.String()),
  last_modified: Nullable(Type.String()),
  cost_usd: Nullable(Type.Number()),
  billing_category: BillingCategory,
  archived_at: Nullable(Timestamp),
  served_from_archive_because: Nullable(Type.Enum(["domain_dead", "not_found"])),
  body_url: Nullable(Type.String()),
  body_kind: Nullable(Type.Enum(["origin", "rendered_dom"])),
  content_kind: Nullable(ContentKind),
  paywall: Nullable(Paywall),
  paywall_evidence: Type.Array(Type.String()),
  alternate_of: Nullable(Type.String()),
  alternate_source: Nullable(
    Type.Enum(["publisher_feed", "guardian_api", "open_access", "syndication", "common_crawl"]),
  ),
  match_score: Nullable(Type.Number()),
  primary_sources: Type.Array(PrimarySource),
  text_complete: Nullable(Type.Boolean()),
  error: Nullable(Type.String()),
  error_detail: Type.Optional(Type.String()),
  premium_routes_tried: Type.Optional(Type.Boolean()),
  retry_after_s: Nullable(Type.Integer()),
  /** Only with X-Service-Debug: 1 and a key that may: a page with the story of the request, for seven days. */
  debug_url: Type.Optional(Type.String()),
  request_id: Type.String(),
});
export type FetchResponse = Static<typeof FetchResponse>;
