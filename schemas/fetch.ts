/**
 * POST /v1/fetch: its body and its response, and the contracts of the Fetch actor and the host profile. A page never
 * travels in a message: a record names its bytes by digest and, when they are long, its texts.
 */
import { type Static, Type } from "typebox";
import { CONTENT_FIELDS, ContentChoice, DATA_FORMATS } from "./content.ts";
import { CssSelector } from "./css-selector.ts";
import {
  BillingCategory,
  Component,
  CountryCode,
  Field,
  Nullable,
  Sha256,
  Timestamp,
  emptyOf,
  picked,
  ProjectRef,
  Warnings,
} from "./common.ts";
import { PageComment, type PageData, PageTable, StructuredData } from "./page-data.ts";
import { ask, contract, Deadline, tell } from "../cluster/contracts/contract.ts";
import { RENDER_MODES, TIERS } from "./tier-table.ts";
import { Trace } from "../cluster/contracts/trace.ts";
import { DomainView } from "./domain.ts";
import { FetchErrorCode } from "./errors.ts";
import { Extraction } from "./extract.ts";
import { AttemptReason } from "./attempt-reasons.ts";
import { ArchiveRef } from "./archives.ts";
import { SiteScope } from "./site-scope.ts";
import { OWN_REQUEST_OPTIONS, type OwnRequest, SealedRequest } from "./own-request.ts";
import { ActionOutcome, StoredActions } from "./actions.ts";
import { BlockedResources, PageView, VIEW_FIELDS } from "./page-view.ts";

export const MAX_BYTES_DEFAULT = 15_728_640;
/** The limit for a PDF, in a batch item without max_bytes. */
export const BATCH_PDF_BYTES_DEFAULT = 209_715_200;
export const MAX_BYTES_CEILING = 52_428_800;
export const MIN_TEXT_CHARS_DEFAULT = 500;
export const MIN_TIMEOUT_S = 5;
export const MAX_TIMEOUT_S = 150;

/** Forms of a page that an answer has only on request; a screenshot takes the route browser, and no other. */
export const FORMATS = ["markdown", "links", "images", "entries", "screenshot", ...DATA_FORMATS] as const;

/** The longest wait for a selector, and the longest `ms`, counted from when the document is parsed. */
export const MAX_WAIT_FOR_MS = 15_000;

/**
 * State of a page in a browser that is waited for, before it is read: an element of the main document that matches, and so many milliseconds
 * since it was parsed; with both, for both. A page without the element after 15 s is `selector_not_found`. A request with
 * it takes the route browser, and no other.
 */
export const WaitFor = Component("WaitFor", {
  selector: Type.Optional(
    Field(
      Nullable(CssSelector),
      "A CSS selector: until the main document has an element that matches, 15 s at most",
      "main .price",
    ),
  ),
  ms: Type.Optional(
    Field(
      Nullable(Type.Integer({ minimum: 0, maximum: MAX_WAIT_FOR_MS })),
      "Until so many milliseconds have passed since the document was parsed",
      2000,
    ),
  ),
});
export type WaitFor = Static<typeof WaitFor>;

/** WaitFor with its defaults filled in. */
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

/** Options of the screenshot in `formats`: of what the window shows (1280 × 720, or `viewport`), or of the page from top to bottom, as wide. */
export const ScreenshotOptions = Component("ScreenshotOptions", {
  type: Type.Optional(
    Field(Type.Enum([...SCREENSHOT_TYPES], { default: "png" }), "The format of the picture"),
  ),
  full_page: Type.Optional(
    Field(
      Type.Boolean({ default: false }),
      "Whether the picture shows the page from top to bottom, 20,000 pixels (WebP: 16,383) at most, instead of the window (1280 × 720, or `viewport`)",
    ),
  ),
});
export type ScreenshotOptions = Static<typeof ScreenshotOptions>;

/** The fields of an answer by name; filled where FetchResponse is declared, whose parts stand in between. */
const answer_fields: string[] = [];
const FetchField = Type.Unsafe<string>({ type: "string", enum: answer_fields, title: "FetchField" });

export const FetchBody = Component("FetchBody", {
  /** A text that is no http(s) URL is answered with the error invalid_url, not refused. */
  url: Field(
    Type.String({ minLength: 1, maxLength: 8192 }),
    "The page; what is no http(s) address is answered with the error `invalid_url`. A user name and a password in it are sent to its origin only (Basic)",
    "https://example.org/",
  ),
  render: Type.Optional(
    Field(
      Type.Enum([...RENDER_MODES], { default: "auto" }),
      "Whether a browser runs the page's scripts: when a plain request finds no text, never, or always",
    ),
  ),
  max_bytes: Type.Optional(
    Field(
      Type.Integer({ minimum: 1, maximum: MAX_BYTES_CEILING, default: MAX_BYTES_DEFAULT }),
      "The largest body that is accepted",
    ),
  ),
  accept_pdf: Type.Optional(Field(Type.Boolean({ default: true }), "Whether PDFs are read")),
  cache_ttl_s: Type.Optional(
    Field(
      Nullable(Type.Integer({ minimum: 0 })),
      "The oldest acceptable answer from the cache, in seconds; 0 asks anew",
      3600,
    ),
  ),
  min_text_chars: Type.Optional(
    Field(
      Type.Integer({ minimum: 0, default: MIN_TEXT_CHARS_DEFAULT }),
      "With fewer characters of text the next route is tried; a Chinese character counts as three, a kana or a Korean syllable as two",
    ),
  ),
  project_ref: Type.Optional(ProjectRef),
  allow_archive: Type.Optional(
    Field(Type.Boolean({ default: true }), "Whether an archived copy may be served when the page is gone"),
  ),
  allow_alternates: Type.Optional(
    Field(
      Type.Boolean({ default: true }),
      "Whether an open copy of the same text may be served when the page is a teaser or gone",
    ),
  ),
  allow_paid: Type.Optional(
    Field(Type.Boolean({ default: true }), "Whether routes that cost money may be used"),
  ),
  allow_premium: Type.Optional(
    Field(
      Type.Boolean({ default: true }),
      "Another name of `allow_paid`: false in either of them forbids these routes",
    ),
  ),
  tiers: Type.Optional(
    Field(Nullable(Type.Array(Type.Enum([...TIERS]))), "The routes that may be used; null: all", [
      "direct",
      "browser",
    ]),
  ),
  timeout_s: Type.Optional(
    Field(
      Nullable(Type.Number({ minimum: MIN_TIMEOUT_S, maximum: MAX_TIMEOUT_S })),
      "How long to wait at most, in seconds; what is then known is the answer",
      30,
    ),
  ),
  country: Type.Optional(
    Field(Nullable(CountryCode), "The country of the exit on premium routes, ISO 3166-1 alpha-2", "ch"),
  ),
  user_agent: Type.Optional(
    Field(
      Nullable(Type.String({ maxLength: 500 })),
      "The User-Agent to send; the project needs permission",
      "example-bot/1.0",
    ),
  ),
  accept_language: Type.Optional(
    Field(Nullable(Type.String({ maxLength: 200 })), "The Accept-Language to send", "de-CH,de;q=0.9"),
  ),
  include_html: Type.Optional(
    Field(
      Nullable(Type.Boolean()),
      "Whether the answer has `html`. Default true for a fetch, false for an item of a batch",
    ),
  ),
  formats: Type.Optional(
    Field(
      Nullable(Type.Array(Type.Enum([...FORMATS]), { maxItems: 10 })),
      "Further forms of the page that the answer shall have; a screenshot takes the route browser only",
    ),
  ),
  fields: Type.Optional(
    Field(
      Nullable(Type.Array(FetchField, { minItems: 1, maxItems: 100 })),
      "The fields that the answer shall have where there is a page; `error`, `warnings` and `request_id` it has all the same. One that is a form of the page, as `markdown`, asks for it as `formats` does. Default: all",
      ["url", "title", "markdown"],
    ),
  ),
  wait_for: Type.Optional(
    Field(
      Nullable(WaitFor),
      "What a browser waits for before it reads the page; takes the route browser only",
    ),
  ),
  screenshot_options: Type.Optional(
    Field(Nullable(ScreenshotOptions), "How the screenshot in `formats` is taken"),
  ),
  archive: Type.Optional(
    Field(
      Type.Boolean({ default: false }),
      "Whether the exchanges with the origin are kept, for 30 days, to be downloaded as WARC; the page is then one of this project only. An operator can make true the default of a project",
    ),
  ),
  ...OWN_REQUEST_OPTIONS,
  ...CONTENT_FIELDS,
  ...VIEW_FIELDS,
});
export type FetchBody = Static<typeof FetchBody>;

export const Redirect = Component("Redirect", {
  url: Field(Type.String(), "The address that redirected", "http://example.org/"),
  status: Field(Type.Integer(), "Its status", 301),
  location: Field(Type.String(), "Where to", "https://example.org/"),
});
export type Redirect = Static<typeof Redirect>;

/** As it is recorded and sent between nodes, whose versions may differ: the reason is any word. */
export const Attempt = Type.Object({
  /** A route, `source`, or a pseudo-step: robots, dns, cache, request_timeout, politeness. */
  tier: Field(
    Type.String(),
    "A route, `source`, or a step before: robots, dns, cache, request_timeout, politeness",
    "direct",
  ),
  status: Field(Nullable(Type.Integer()), "The origin's status; null: no answer", 200),
  reason: Field(Type.String(), "`ok`, or why it was not good enough", "ok"),
  ms: Field(Type.Integer(), "How long it took, in milliseconds", 508),
  detail: Field(Nullable(Type.String()), "More about the reason", "connection refused"),
});
export type Attempt = Static<typeof Attempt>;
/** As an answer has it. */
export const ShownAttempt = Component("Attempt", {
  ...Attempt.properties,
  reason: Field(AttemptReason, "`ok`, or why it was not good enough", "ok"),
});

export const PdfPage = Component("PdfPage", {
  page: Field(Type.Integer({ minimum: 1 }), "Its number, from 1", 1),
  text: Field(Type.String(), "Its text", "Annual report 2025"),
  needs_ocr: Type.Optional(
    Field(
      Type.Boolean(),
      "true: the page is a picture without text, as scanned pages are; absent for others, and where its text was recognised",
      true,
    ),
  ),
  ocr: Type.Optional(
    Field(
      Type.Boolean(),
      "true: the page is a picture, and its text was recognised by optical character recognition, which makes mistakes",
      true,
    ),
  ),
});
export type PdfPage = Static<typeof PdfPage>;

/** Another address of the same content (`link rel="alternate"`), absolute; what the element says of it, or null. */
export const PageAlternate = Component("PageAlternate", {
  url: Field(Type.String(), "Its address", "https://example.org/de/"),
  language: Field(Nullable(Type.String()), "The language, as the page says", "de"),
  type: Field(Nullable(Type.String()), "The media type, as the page says", "application/rss+xml"),
});
export type PageAlternate = Static<typeof PageAlternate>;

/**
 * Metadata of a page by its own account; a field is null when the page gives none. Several authors are separated by "; ". Times are ISO 8601:
 * UTC with a Z, without a zone when the page gives none, or only a date, a month or a year. Languages are BCP 47.
 */
export const ArticleMeta = Component("ArticleMeta", {
  author: Field(Nullable(Type.String()), "Several are separated by `; `", "Ada Berg; Jon Lind"),
  published_at: Field(
    Nullable(Type.String()),
    "ISO 8601: with a time in UTC or without a zone, or only a date, a month or a year",
    "2025-08-17",
  ),
  modified_at: Field(Nullable(Type.String()), "In the same forms", "2025-08-18T09:00:00Z"),
  language: Field(Nullable(Type.String()), "BCP 47", "en"),
  canonical_url: Field(Nullable(Type.String()), "The page's own address", "https://example.org/"),
  publisher: Field(Nullable(Type.String()), "The publisher", "Example Press"),
  site_name: Field(Nullable(Type.String()), "The name of the site", "Example"),
  description: Field(Nullable(Type.String()), "The page's description of itself", "A page for examples"),
  section: Field(Nullable(Type.String()), "The section of the site", "Coast"),
  word_count: Field(Nullable(Type.Integer()), "Words of the text", 840),
  /** These only if `links` were requested in `formats`. */
  next_url: Type.Optional(
    Field(
      Nullable(Type.String()),
      "The page that follows in a series, by `rel=next`; only if `links` were requested",
      "https://example.org/?page=2",
    ),
  ),
  alternates: Type.Optional(
    Field(
      Type.Array(PageAlternate),
      "The same content in other languages or forms, 200 at most; only if `links` were requested",
    ),
  ),
  robots: Type.Optional(
    Field(
      Type.Array(Type.String()),
      "What its robots elements ask, in the form of X-Robots-Tag, 20 at most; only if `links` were requested",
      ["noindex, nofollow"],
    ),
  ),
});
export type ArticleMeta = Static<typeof ArticleMeta>;

/** A link of a page: an absolute http(s) address, its visible text, and what `rel` says, in lower case. */
export const PageLink = Component("PageLink", {
  url: Field(Type.String(), "Where it leads", "https://example.org/about"),
  text: Field(Type.String(), "Its words", "About"),
  rel: Field(Nullable(Type.String()), "Its relation to the page, as its element says", "nofollow"),
});
export type PageLink = Static<typeof PageLink>;

/** An image of a page; width and height in CSS pixels, as its element says. */
export const PageImage = Component("PageImage", {
  url: Field(Type.String(), "Its address", "https://example.org/tower.jpg"),
  alt: Field(Nullable(Type.String()), "The text that stands for it", "The tower"),
  width: Field(Nullable(Type.Integer()), "In CSS pixels, as its element says", 640),
  height: Field(Nullable(Type.Integer()), "In CSS pixels, as its element says", 480),
});
export type PageImage = Static<typeof PageImage>;

/** An item of a feed, or an address of a sitemap. The time is ISO 8601 in UTC; the summary is plain text. */
export const FeedEntry = Component("FeedEntry", {
  url: Field(
    Nullable(Type.String()),
    "Where the item leads, or the address that the sitemap lists",
    "https://example.org/news/tower",
  ),
  title: Field(Nullable(Type.String()), "Its title", "The tower is lit again"),
  published_at: Field(
    Nullable(Type.String({ format: "date-time" })),
    "When it was published, or last changed",
    "2026-03-04T05:06:07.000Z",
  ),
  summary: Field(
    Nullable(Type.String()),
    "Its summary, without markup",
    "After two years of repairs the tower is lit again.",
  ),
});
export type FeedEntry = Static<typeof FeedEntry>;

/** A picture of the page, in the body store. Width and height in pixels. */
const screenshotFields = {
  sha256: Sha256,
  content_type: Field(
    Type.Enum(SCREENSHOT_TYPES.map((type) => `image/${type}` as const)),
    "Its format",
    "image/png",
  ),
  width: Field(Type.Integer(), "In pixels", 1280),
  height: Field(Type.Integer(), "In pixels", 720),
  truncated: Field(Type.Boolean(), "The page goes on below what the picture shows", false),
};
export const StoredScreenshot = Type.Object(screenshotFields);
export type StoredScreenshot = Static<typeof StoredScreenshot>;
export const Screenshot = Component("Screenshot", {
  body_url: Field(
    Type.String(),
    "Where the picture is downloaded, for 30 days",
    "/v1/bodies/2c26b46b68ffc68f…",
  ),
  ...screenshotFields,
});
export type Screenshot = Static<typeof Screenshot>;

/** Everything an answer may contain on request; stored as one JSON body. */
export interface PageFormats extends PageData {
  readonly markdown: string | null;
  readonly links: PageLink[];
  readonly images: PageImage[];
  /** Pages only; absent where an older version stored them. */
  readonly relations?: Required<Pick<ArticleMeta, "next_url" | "alternates">> & Pick<ArticleMeta, "robots">;
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

/** Verdict on a page with a good status. */
export const PageVerdict = Type.Enum([
  "page",
  "soft_404",
  "parked_domain",
  "login_wall",
  "consent_wall",
  "javascript_required",
  "maintenance",
  "empty_shell",
]);
export type PageVerdict = Static<typeof PageVerdict>;

export const Paywall = Type.Enum(["none", "metered", "hard", "unknown"]);
export const PrimarySource = Component("PrimarySource", {
  url: Field(Type.String(), "Its address", "https://court.example/ruling.pdf"),
  kind: Field(Type.Enum(["court", "government", "press_release", "doi", "pdf"]), "What it is"),
  text: Field(Nullable(Type.String()), "The words of the link", "the ruling"),
});
export type PrimarySource = Static<typeof PrimarySource>;

/**
 * A page as it was retrieved, in the form in which it is cached and sent between nodes: everything of the response
 * except what belongs to one call (request id, cached, cost) and the long texts, which are named by digest here and read
 * from the body store when the response is written.
 */
export const PageRecord = Type.Object({
  /** The address after redirects; for an archived copy the address of the copy. */
  final_url: Field(
    Nullable(Type.String()),
    "The address after redirects; for an archived copy the copy's; null: there is no page",
    "https://example.org/",
  ),
  redirects: Field(Type.Array(Redirect), "In their order"),
  status: Field(Nullable(Type.Integer()), "The origin's HTTP status; null: it did not answer", 200),
  content_type: Field(Nullable(Type.String()), "What the body is", "text/html; charset=utf-8"),
  origin_content_type: Field(Nullable(Type.String()), "What the origin said", "text/html; charset=utf-8"),
  headers: Field(
    Type.Record(Type.String(), Type.String()),
    "Header fields of the origin's answer, names in lower case",
    { etag: '"3147526947"' },
  ),
  tier: Field(
    Nullable(Type.Enum([...TIERS, "source"])),
    "The route that got the page; `source`: a copy of another site",
  ),
  content_kind: Field(
    Nullable(ContentKind),
    "What the bytes were read as; `binary` (archives, pictures, other containers) is stored and not read",
  ),
  /** WHATWG name of the encoding the bytes were decoded with; null for what is no text. */
  charset: Nullable(Type.String()),
  title: Field(Nullable(Type.String()), "The title of the page", "Example Domain"),
  meta: Field(Nullable(ArticleMeta), "What the page says of itself; null where there is no page"),
  /** The text when it is at most TEXT_INLINE_BYTES long; a longer one is null here and named by text_sha256. */
  text: Nullable(Type.String()),
  text_sha256: Nullable(Sha256),
  text_chars: Type.Integer(),
  text_truncated: Field(Type.Boolean(), "The text goes on beyond its limit", false),
  /** The pages of a PDF as JSON in the body store. */
  pdf_pages_sha256: Nullable(Sha256),
  pdf_page_count: Field(Nullable(Type.Integer()), "Pages of a PDF", 12),
  /** PageFormats as JSON in the body store; null: the document has none; absent: no caller has asked for them yet. */
  formats_sha256: Type.Optional(Nullable(Sha256)),
  /** How long they are; absent: about as long as the text. */
  formats_bytes: Type.Optional(Type.Integer()),
  /** Absent: there is none. */
  screenshot: Type.Optional(StoredScreenshot),
  /** The exchanges of the fetch. Absent: none were kept. */
  archive: Type.Optional(ArchiveRef),
  /** Absent: there were no steps. */
  actions: Type.Optional(StoredActions),
  sha256: Nullable(Sha256),
  bytes: Type.Integer(),
  body_kind: Field(
    Nullable(Type.Enum(["origin", "rendered_dom"])),
    "Whether the stored bytes are the origin's or the page after its scripts have run",
  ),
  etag: Field(Nullable(Type.String()), "The origin's ETag", '"3147526947"'),
  last_modified: Field(
    Nullable(Type.String()),
    "The origin's Last-Modified, as it was sent",
    "Thu, 17 Oct 2019 07:18:26 GMT",
  ),
  retrieved_at: Nullable(Type.String()),
  archived_at: Nullable(Type.String()),
  served_from_archive_because: Field(
    Nullable(Type.Enum(["domain_dead", "not_found"])),
    "Why an archived copy is served",
  ),
  paywall: Field(Nullable(Paywall), "Whether the page is behind a paywall"),
  paywall_evidence: Field(Type.Array(Type.String()), "What showed it", ["isAccessibleForFree"]),
  page_verdict: Type.Optional(
    Field(
      Nullable(PageVerdict),
      "What the page is: `page`, or what was served in its place with a good status; null for what is no HTML, and for an error's status",
      "page",
    ),
  ),
  text_complete: Field(Nullable(Type.Boolean()), "Whether the text is the whole article; null: not known"),
  alternate_of: Field(
    Nullable(Type.String()),
    "The page that this is an open copy of",
    "https://news.example/article",
  ),
  alternate_source: Field(
    Nullable(Type.Enum(["publisher_feed", "guardian_api", "open_access", "syndication", "common_crawl"])),
    "Where the open copy came from",
  ),
  match_score: Field(
    Nullable(Type.Number()),
    "How much of the text the copy shares with the page, 0 to 1",
    0.93,
  ),
  primary_sources: Field(Type.Array(PrimarySource), "Sources that the page names: rulings, releases, papers"),
});
export type PageRecord = Static<typeof PageRecord>;

/**
 * Digests of what is stored of a page beside its body: texts that are too long for a record, formats, a screenshot, and
 * exchanges with all of their bodies.
 */
export const partDigests = ({
  text_sha256,
  pdf_pages_sha256,
  formats_sha256 = null,
  screenshot,
  archive,
  actions,
}: PageRecord): readonly string[] =>
  [
    text_sha256,
    pdf_pages_sha256,
    formats_sha256,
    screenshot?.sha256 ?? null,
    ...(archive ? [archive.sha256, ...archive.bodies] : []),
    actions?.outcomes_sha256 ?? null,
    ...(actions?.files ?? []).map(({ sha256 }) => sha256),
  ].filter((sha256) => sha256 !== null);

/** The record of an answer without a page. */
export const EMPTY_RECORD: PageRecord = { ...emptyOf(PageRecord), text: "" };

/** Texts of at most so many UTF-8 bytes are part of the record; longer ones go to the body store. */
export const TEXT_INLINE_BYTES = 65_536;

/** Use that a request makes of an option of its body: keeps it, works out a field of its own from it, or leaves it to the answer. */
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
  fields: "answer",
  wait_for: "worked_out",
  screenshot_options: "worked_out",
  archive: "worked_out",
  headers: "worked_out",
  cookies: "worked_out",
  method: "worked_out",
  body: "worked_out",
  cache_private: "worked_out",
  actions: "worked_out",
  session_id: "worked_out",
  only_main_content: "worked_out",
  include_comments: "worked_out",
  include_selectors: "worked_out",
  exclude_selectors: "worked_out",
  block_resources: "worked_out",
  device: "worked_out",
  viewport: "worked_out",
  extract: "worked_out",
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
  /** `max_bytes` for a PDF. */
  max_pdf_bytes: Type.Integer(),
  allow_paid: Type.Boolean(),
  /** The page's formats are wanted, too. Default: they are not. */
  with_formats: Type.Optional(Type.Boolean()),
  /** The content that the caller chooses. Default: the page is read as for everybody. */
  reading: Type.Optional(ContentChoice),
  /** Default: for nothing but a readable page. */
  wait_for: Type.Optional(AwaitedState),
  /** Default: none is taken. */
  screenshot: Type.Optional(Type.Required(ScreenshotOptions)),
  /**
   * The Authorization field for the origin of `url`, and for no other, from the credentials in the caller's address, which
   * `url` does not have any more. The page is one for the caller's project only. In messages of gateways of version 0.2.0, and within a
   * tier; messages of this version have it sealed. Default: no field.
   */
  authorization: Type.Optional(Type.String()),
  /** The caller's own request, sealed. The page is one for the caller's project only. Default: nothing. */
  own: Type.Optional(SealedRequest),
  /** Equal for own requests that may be answered from one page of the cache. Default: there is none. */
  own_key: Type.Optional(Type.String()),
  /** Default: the browser's own window. */
  view: Type.Optional(PageView),
  /** Default: what no answer shows. */
  blocked: Type.Optional(BlockedResources),
  /** The session of the caller's project. Default: none. */
  session_id: Type.Optional(Type.String()),
  /** Exchanges are kept, and the page is one for the caller's project only. Default: they are not. */
  archive: Type.Optional(Type.Boolean()),
  /** `authorization`, sealed. Default: no field. */
  sealed_authorization: Type.Optional(Type.String()),
  /** Equal for equal credentials of one project. Default: there are none. */
  authorization_key: Type.Optional(Type.String()),
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
  reading: { tier: false, page: false },
  wait_for: { tier: true, page: true },
  screenshot: { tier: true, page: true },
  authorization: { tier: true, page: true },
  own: { tier: true, page: false },
  own_key: { tier: false, page: true },
  view: { tier: true, page: true },
  blocked: { tier: true, page: true },
  // Part of what makes own_key.
  session_id: { tier: true, page: false },
  archive: { tier: true, page: true },
  sealed_authorization: { tier: true, page: false },
  authorization_key: { tier: false, page: true },
} as const satisfies Readonly<Record<keyof FetchOptions, OptionReach>>;

type TierOption = {
  [K in keyof FetchOptions]-?: (typeof OPTION_REACH)[K]["tier"] extends true ? K : never;
}[keyof FetchOptions];
const OPTIONS = Object.keys(OPTION_REACH) as (keyof FetchOptions)[];
export const TIER_OPTIONS = OPTIONS.filter((name): name is TierOption => OPTION_REACH[name].tier);

/** An option that the page depends on, and the value with which the page is as without it. */
export interface PageOption {
  readonly name: string;
  readonly default: unknown;
}
export const PAGE_OPTIONS: readonly PageOption[] = OPTIONS.filter((name) => OPTION_REACH[name].page).map(
  (name) => ({
    name,
    default: (FetchOptions.properties[name] as { readonly default?: unknown }).default ?? null,
  }),
);

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
   * The page will be requested again with premium routes, after a pause: the domain is not told that every route
   * failed. Default: it is told.
   */
  premium_later: Type.Optional(Type.Boolean()),
  /** Where a page of a crawl may be: no redirect is followed out of it. Absent: anywhere. */
  scope: Type.Optional(SiteScope),
  /** Links that a crawl follows are read with the page, and stay in the memory of its node for a moment. Default: they are not. */
  with_followed: Type.Optional(Type.Boolean()),
  /** The messages of its run are recorded. Default: they are not. */
  is_traced: Type.Optional(Type.Boolean()),
});
export type FetchRequest = Static<typeof FetchRequest>;

/** A request before its own part is sealed. It leaves no process. */
export interface UnsealedFetch extends FetchRequest {
  readonly own_request?: { readonly given: OwnRequest; readonly is_cached: boolean };
}

/** The result of a fetch. The record is that of the best page there is, also beside an error. */
export const FetchAnswer = Type.Object({
  record: PageRecord,
  attempts: Type.Array(Attempt),
  cached: Type.Boolean(),
  revalidated: Type.Boolean(),
  /** Provider spend in USD, six decimals. */
  cost_usd: Type.String(),
  /** A language model's part of it. Default: nothing. */
  llm_cost_usd: Type.Optional(Type.String()),
  error: Nullable(Type.String()),
  error_detail: Nullable(Type.String()),
  retry_after_s: Nullable(Type.Integer({ minimum: 1 })),
  premium_routes_tried: Type.Boolean(),
  /** Trace of a run whose request asked for it. */
  trace: Type.Optional(Trace),
  /** The origin forbids sharing (private, no-store): the answer is for callers of one project. Default: it does not. */
  only_project: Type.Optional(Type.Boolean()),
  /** The right of this project to the body of the record is stored with the page, since then. Default: it has to be stored yet. */
  granted: Type.Optional(Type.Object({ project: Type.String(), sha256: Sha256, at_ms: Type.Integer() })),
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
 * The Fetch actor: one per cache key; its key is "<site> <digest of the cache key>", so that it lives beside its Domain.
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
 * Experience of earlier fetches with a host: `required`, only premium routes serve it; `refused`, it blocks these, too.
 */
export const PremiumAdvice = Type.Object({
  premium: Type.Enum(["unknown", "required", "refused"]),
  /** This fetch tests what is believed otherwise. Default: false. */
  is_test: Type.Optional(Type.Boolean()),
});
export type PremiumAdvice = Static<typeof PremiumAdvice>;

/** Observation of one fetch about its host. */
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
  premium: Field(PremiumAdvice.properties.premium, "Whether only premium routes get its pages"),
  /** Until when `premium` is believed; null while it is unknown. */
  until: Field(
    Nullable(Type.String()),
    "Until when that is believed; null while it is unknown",
    "2026-12-22T10:30:00.000Z",
  ),
  premium_only: Field(Type.Integer(), "Fetches in a row that only a premium route served", 0),
  /** Fetches in a row in which the site blocked every premium route that was tried. */
  premium_blocked: Field(Type.Integer(), "Fetches in a row in which the site blocked every premium route", 0),
});
export type HostProfileView = Static<typeof HostProfileView>;

/** The HostProfile actor: one per host, asked only where premium routes are configured; its key is "<site> <host>". */
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

export const DomainChange = Component("DomainChange", {
  min_delay_ms: Type.Optional(
    Field(
      Nullable(Type.Integer({ minimum: 0, maximum: 900_000 })),
      "Milliseconds between two requests; null: as configured",
      2000,
    ),
  ),
  max_concurrency: Type.Optional(
    Field(
      Nullable(Type.Integer({ minimum: 1, maximum: 64 })),
      "Requests in flight at once; null: as configured",
      1,
    ),
  ),
  pause_s: Type.Optional(
    Field(
      Nullable(Type.Integer({ minimum: 1, maximum: 315_360_000 })),
      "Seconds for which nothing is sent; null: the pause ends",
      7200,
    ),
  ),
});
export type DomainChange = Static<typeof DomainChange>;

/** Everything stored of a domain: the view of its Domain actor and the profiles of its hosts. */
export const DomainMemory = Component("DomainMemory", {
  ...DomainView.properties,
  hosts: Field(
    Type.Array(
      Component("HostMemory", {
        host: Field(Type.String(), "The host", "www.example.org"),
        ...HostProfileView.properties,
      }),
    ),
    "What fetches have shown of its hosts",
  ),
});
export type DomainMemory = Static<typeof DomainMemory>;

const { properties: page } = PageRecord;

/** The response to a client; its fields and their order are part of the public API. */
export const FetchResponse = Component("FetchResponse", {
  url: Field(Type.String(), "As it was asked, a user name and a password masked", "https://example.org/"),
  final_url: page.final_url,
  redirects: page.redirects,
  status: page.status,
  content_type: page.content_type,
  origin_content_type: page.origin_content_type,
  headers: page.headers,
  tier: page.tier,
  attempts: Field(Type.Array(ShownAttempt), "Every route that was tried, in order"),
  html: Type.Optional(
    Field(
      Nullable(Type.String()),
      "The page as text; for the route browser after its scripts have run",
      "<!doctype html><title>Example</title>…",
    ),
  ),
  text: Field(
    Type.String(),
    "The text of the page, without menus and advertisements",
    "Example Domain\n\nThis domain is for use in documents.",
  ),
  pdf_text_pages: Field(Nullable(Type.Array(PdfPage)), "The text of a PDF by page; null for what is no PDF"),
  pdf_page_count: page.pdf_page_count,
  /** These only if they were requested in `formats`. */
  markdown: Type.Optional(
    Field(
      Nullable(Type.String()),
      "With formats=markdown: the text as Markdown; null where there is none",
      "# Example Domain",
    ),
  ),
  links: Type.Optional(
    Field(Type.Array(PageLink), "With formats=links: the links of the page, in its order"),
  ),
  images: Type.Optional(
    Field(Type.Array(PageImage), "With formats=images: the images of the page, in its order"),
  ),
  entries: Type.Optional(
    Field(
      Type.Array(FeedEntry),
      "With formats=entries: the items of a feed or the addresses of a sitemap, in its order, at most 5,000",
    ),
  ),
  screenshot: Type.Optional(
    Field(
      Nullable(Screenshot),
      "With formats=screenshot: a picture of the page; null: none was taken, and `error` says why",
    ),
  ),
  actions: Type.Optional(
    Field(Type.Array(ActionOutcome), "With `actions` in the request: what came of each step that was taken"),
  ),
  archive_url: Type.Optional(
    Field(
      Nullable(Type.String()),
      "With archive: where the exchanges are downloaded as WARC, for 30 days; null: none were kept",
      "/v1/requests/req_01JD5GZ0V7Q2R8S4T6W8X0Y2Z4.warc.gz",
    ),
  ),
  structured: Type.Optional(
    Field(
      Nullable(StructuredData),
      "With formats=structured: data that the page marks up, in the forms of extruct; null for what is no HTML",
    ),
  ),
  tables: Type.Optional(
    Field(
      Type.Array(PageTable),
      "With formats=tables: the tables of the page, in its order, without those that only lay it out",
    ),
  ),
  comments: Type.Optional(
    Field(
      Type.Array(PageComment),
      "With formats=comments: readers' comments below the article, in the page's order, at most 1,000; empty for the posts of a thread",
    ),
  ),
  extract: Type.Optional(Field(Extraction, "With extract: what its rules, or its schema, found")),
  text_truncated: page.text_truncated,
  title: page.title,
  meta: page.meta,
  sha256: page.sha256,
  bytes: page.bytes,
  cached: Type.Boolean(),
  revalidated: Field(Type.Boolean(), "The origin said that the cached page is still current", false),
  retrieved_at: Field(Nullable(Timestamp), "When the bytes came from the origin"),
  etag: page.etag,
  last_modified: page.last_modified,
  cost_usd: Field(
    Nullable(Type.Number()),
    "What providers cost, in US dollars; null for external customers",
    0,
  ),
  llm_cost_usd: Type.Optional(
    Field(
      Nullable(Type.Number()),
      "With extract.schema: what of cost_usd is the language model's; null for external customers",
      0.0012,
    ),
  ),
  billing_category: BillingCategory,
  archived_at: Field(Nullable(Timestamp), "When the archived copy was made"),
  served_from_archive_because: page.served_from_archive_because,
  body_url: Nullable(Type.String()),
  body_kind: page.body_kind,
  content_kind: page.content_kind,
  paywall: page.paywall,
  paywall_evidence: page.paywall_evidence,
  alternate_of: page.alternate_of,
  alternate_source: page.alternate_source,
  match_score: page.match_score,
  primary_sources: page.primary_sources,
  text_complete: page.text_complete,
  page_verdict: page.page_verdict,
  error: Field(
    FetchErrorCode,
    "Null: there is a page. A code that does not change: `domain_dead`, `http_404`, `robots_disallowed` …",
    "http_404",
  ),
  error_detail: Type.Optional(
    Field(Type.String(), "The error as a sentence for people", "The origin answered 404"),
  ),
  premium_routes_tried: Type.Optional(
    Field(Type.Boolean(), "Whether a route that costs money was tried", false),
  ),
  retry_after_s: Nullable(Type.Integer()),
  /** Only with X-Service-Debug: 1 and a key that may: a page with the story of the request, for seven days. */
  debug_url: Type.Optional(Type.String()),
  warnings: Warnings,
  request_id: Type.String(),
});
export type FetchResponse = Static<typeof FetchResponse>;
answer_fields.push(...Object.keys(FetchResponse.properties));

/** Fields of every answer, whatever fields are asked for. */
const ALWAYS_ANSWERED: ReadonlySet<string> = new Set(["error", "warnings", "request_id"]);

/** Whether an answer has a field of this name. One without a page is told whole, so that nothing that explains it is missing. */
export const isAnswered = (
  { fields }: Pick<FetchBody, "fields">,
  error: string | null,
  name: string,
): boolean => fields == null || error !== null || ALWAYS_ANSWERED.has(name) || fields.includes(name);

/** The body with the forms of the page that its `fields` name, and without HTML that they do not. */
export function withFieldsRead(body: FetchBody): FetchBody {
  const { fields, formats } = body;
  if (fields == null) return body;
  const named = FORMATS.filter((format) => fields.includes(format));
  return {
    ...body,
    formats: [...new Set([...(formats ?? []), ...named])],
    include_html: fields.includes("html"),
  };
}

/** The answer 503: the fetch's, with the code where every other refusal has it. */
export const DomainBusy = Component("DomainBusy", {
  ...FetchResponse.properties,
  detail: Field(
    Component("DomainBusyDetail", {
      error: Field(Type.Literal("domain_busy"), "The code, as in `error`"),
      message: Field(Type.String(), "A sentence for people", "The wait for a slot of the domain is too long"),
    }),
    "Why there is no answer now, as in other refusals",
  ),
});
export type DomainBusy = Static<typeof DomainBusy>;
