/** POST /v1/crawl: its body, and the contract of the Frontier, the actor that knows the addresses of one crawl. */
import { type Static, Type } from "typebox";
import { ask, contract, tell } from "../cluster/contracts/contract.ts";
import { Component, Field, Nullable, Patterned, ProjectRef } from "./common.ts";
import { FetchBody, FetchResponse } from "./fetch.ts";
import { jobWebhook } from "./job-webhook.ts";
import { JobId, MAX_GROWN_ITEMS, MaxCostUsd } from "./jobs.ts";
import { SCOPES } from "./site-scope.ts";
import { SITEMAP_ERRORS, SITEMAP_USES } from "./sites.ts";

export const CRAWL_LIMIT_DEFAULT = 1_000;
export const MAX_SEEDS = 1_000;
export const MAX_PATTERNS = 100;

const WebAddress = Patterned("^[Hh][Tt][Tt][Pp][Ss]?://[^\\s]+$", "Input should be an http or https URL", {
  maxLength: 2_048,
});
const Patterns = Type.Array(Type.String({ minLength: 1, maxLength: 512 }), { maxItems: MAX_PATTERNS });

const { url: _, project_ref: __, method: ___, body: ____, ...fetchOptions } = FetchBody.properties;
/** Fetch options that a crawl may set for its pages: each is fetched once, with GET. */
export const CrawlFetch = Component("CrawlFetch", fetchOptions);

export const CrawlBody = Component("CrawlBody", {
  url: Type.Optional(
    Field(Nullable(WebAddress), "Where the crawl begins; or `seeds`", "https://example.org/"),
  ),
  seeds: Type.Optional(
    Field(
      Nullable(Type.Array(WebAddress, { minItems: 1, maxItems: MAX_SEEDS })),
      "Several addresses where it begins, of one or more sites, instead of `url`",
      ["https://example.org/", "https://example.com/blog/"],
    ),
  ),
  scope: Type.Optional(
    Field(
      Type.Enum([...SCOPES], { default: "host" }),
      "What belongs to it: addresses in the folder of a seed, on its host (with and without `www.` is one), also on the host's subdomains, or on the whole registrable domain",
    ),
  ),
  include: Type.Optional(
    Field(
      Nullable(Patterns),
      "Only addresses that one of these fits, the seeds aside: globs over path and query (`*` within a segment, `**` across them), or `/regular expressions/` (RE2)",
      ["/blog/**"],
    ),
  ),
  exclude: Type.Optional(
    Field(Nullable(Patterns), "No address that one of these fits, in the same forms", ["/blog/tag/**"]),
  ),
  max_depth: Type.Optional(
    Field(
      Nullable(Type.Integer({ minimum: 0, maximum: 65_535 })),
      "The most links from a seed to a page; 0: the seeds alone; null: any number",
      3,
    ),
  ),
  limit: Type.Optional(
    Field(
      Type.Integer({ minimum: 1, maximum: MAX_GROWN_ITEMS, default: CRAWL_LIMIT_DEFAULT }),
      "The most pages that are fetched, at most what the operator allows (100,000 unless set otherwise); the addresses beyond it are listed with the reason `over_limit`",
    ),
  ),
  sitemap: Type.Optional(
    Field(
      Type.Enum([...SITEMAP_USES], { default: "skip" }),
      "Whether the addresses that the site's sitemaps list are pages of the crawl: `include`: beside those that pages link to; `only`: no link is followed. Each file that is read (robots.txt, the sitemaps that it names or else /sitemap.xml, those that an index lists) is an item as a page is, with `sitemap` in its `input`, and counts to `limit`",
    ),
  ),
  ignore_query: Type.Optional(
    Field(
      Type.Boolean({ default: false }),
      "Whether addresses that differ in their query only are one page: the one that is found first is fetched",
    ),
  ),
  follow_nofollow: Type.Optional(
    Field(Type.Boolean({ default: false }), "Whether links with `rel=nofollow` are followed"),
  ),
  fetch: Type.Optional(
    Field(
      Nullable(CrawlFetch),
      "How its pages are fetched: the options of `POST /v1/fetch` but for `method` and `body`. `headers`, and `cookies` without a domain, go to the origin of the seeds only, which must be one. Unlike there, archived and other copies take `allow_archive` and `allow_alternates`",
      { formats: ["markdown"] },
    ),
  ),
  idempotency_key: Type.Optional(
    Field(
      Nullable(Type.String({ minLength: 1, maxLength: 500 })),
      "The same key and limit within the project is the same crawl; null: each request begins one. Also as the header Idempotency-Key",
      "monday-site",
    ),
  ),
  callback_url: Type.Optional(
    Field(
      Nullable(WebAddress),
      "Where the crawl's end is told; null: nowhere",
      "https://client.example/jobs",
    ),
  ),
  max_cost_usd: Type.Optional(MaxCostUsd),
  since_job: Type.Optional(
    Field(
      Nullable(JobId),
      "An earlier crawl of the project: each page says in `change` whether its text is new, changed or unchanged since then; null: none",
      "019ab3f2-7c1e-7a10-9d55-3e5b8f0c2a41",
    ),
  ),
  webhook: jobWebhook,
  project_ref: Type.Optional(ProjectRef),
});
export type CrawlBody = Static<typeof CrawlBody>;

/** Why an address that was seen is not fetched. */
export const EXCLUSIONS = [
  "out_of_scope",
  "excluded_by_pattern",
  "not_included",
  "too_deep",
  "duplicate_address",
  "duplicate_of_canonical",
  "nofollow",
  "trap_path",
  "trap_calendar",
  "trap_facet",
  "trap_sort",
  "trap_session",
  "trap_length",
  "over_limit",
] as const;
export type Exclusion = (typeof EXCLUSIONS)[number];

/** How a page that was fetched is known to be one that was fetched before it. */
const DUPLICATES = ["duplicate_address", "duplicate_of_canonical", "near_duplicate"] as const;
export type DuplicateReason = (typeof DUPLICATES)[number];

export const DuplicateOf = Component("DuplicateOf", {
  url: Field(Type.String(), "The page of the crawl that it repeats", "https://example.org/about"),
  reason: Field(
    Type.Enum([...DUPLICATES]),
    "`duplicate_address`: the same bytes, or the same address after redirects; `duplicate_of_canonical`: both name the same address as their own (`rel=canonical`); `near_duplicate`: almost the same text",
  ),
});
export type DuplicateOf = Static<typeof DuplicateOf>;

export const DuplicateField = Field(
  DuplicateOf,
  "Only of a page that repeats one which the crawl fetched before: that page",
);

/** Change of a page since an earlier crawl, as its own fetch says. */
export const CHANGES = ["new", "changed", "unchanged"] as const;
/** `gone`: of a page of the earlier crawl, told by the later one as a whole. */
export const URL_CHANGES = [...CHANGES, "gone"] as const;
export type CrawlUrlChange = (typeof URL_CHANGES)[number];
export type Change = (typeof CHANGES)[number];

export const ChangeField = Field(
  Type.Enum([...CHANGES]),
  "Only of a crawl with `since_job`: whether the text of the page is what it was. `new`: the earlier crawl did not have the page",
);

export const CrawledPage = Component("CrawledPage", {
  ...FetchResponse.properties,
  duplicate_of: Type.Optional(DuplicateField),
  change: Type.Optional(ChangeField),
});
export type CrawledPage = Static<typeof CrawledPage>;

export const URL_STATES = ["waiting", "in_flight", "done", "failed", "excluded", "gone"] as const;

export const CrawlUrl = Component("CrawlUrl", {
  url: Field(Type.String(), "The address as it was found first", "https://example.org/about"),
  state: Field(
    Type.Enum([...URL_STATES]),
    "What has become of it. `gone`: a page of the crawl that `since_job` named, which no page of this one names; such pages are behind all others, and `counts` leaves them out",
  ),
  depth: Field(Type.Integer(), "Links from a seed to it; of a sitemap, files from robots.txt to it", 1),
  found_on: Field(
    Nullable(Type.String()),
    "The page that named it first; null: a seed",
    "https://example.org/",
  ),
  reason: Field(
    Nullable(Type.String()),
    "Why it is excluded, or the error of its item; null: nothing is wrong. `out_of_scope`, `excluded_by_pattern`, `not_included`, " +
      "`too_deep`, `over_limit`, `duplicate_address` (another address led to it by a redirect, so its page was fetched), `duplicate_of_canonical` (no link leads to it, a page that was fetched names it as its own address), " +
      "`nofollow`, `trap_<shape>`, `cancelled`, or an error of a fetch such as `robots_disallowed`. Of a page that was fetched and repeats another (`duplicate_of`): `duplicate_address`, `duplicate_of_canonical`, `near_duplicate`. " +
      "Of a sitemap that was fetched and could not be read to its end: `not_a_sitemap`, `malformed`, `too_large`, `too_slow`; of one that was not fetched, `too_deep` is behind five others and `over_limit` beyond half of the crawl's limit or its host's part of that",
    "out_of_scope",
  ),
  index: Field(Nullable(Type.Integer()), "Its item's number in the job; null: it is none", 4),
  redirected_to: Field(
    Nullable(Type.String()),
    "Where it led by redirects, which counts as fetched then; null: nowhere",
    "https://example.org/about-us",
  ),
  duplicate_of: Field(
    Nullable(Type.String()),
    "The page of the crawl that it repeats, as `reason` says; null: none is known",
    "https://example.org/about",
  ),
  change: Field(
    Nullable(Type.Enum([...URL_CHANGES])),
    "Of a crawl with `since_job`: whether the text of the page is what it was. `gone`, once this crawl has ended: the earlier one had the page, and the site answers 404 or 410 for it now, or no page names it any more (said only where no limit left an address out, and where the page that named it could be read). null: not known",
    "unchanged",
  ),
});
export type CrawlUrl = Static<typeof CrawlUrl>;

export const CrawlUrlPage = Component("CrawlUrlPage", {
  items: Field(Type.Array(CrawlUrl), "In the order in which they were found"),
  next_cursor: Field(Nullable(Type.Integer()), "The `from` of the next page; null: there is none", 100),
});

/** Evidence whether a page was fetched before: under another address, or by an earlier crawl. */
const SeenPage = Type.Object({
  /** The first 32 digits of the SHA-256 of its body. */
  body: Type.String(),
  /** The first 32 digits of the SHA-256 of its text, or of its body where it has none. */
  content: Type.String(),
  /** Since the crawl that was named. Absent: none was, or it is not stored any more. */
  change: Type.Optional(Type.Enum([...CHANGES])),
  /** The address that it names as its own, in the scope of the crawl. Absent: that at which it is. */
  canonical: Type.Optional(Type.String()),
  /** Sketch of its text (actors/reading/content/text-sketch.ts). Absent: the text is too short. */
  sketch: Type.Optional(Type.String()),
});
export type SeenPage = Static<typeof SeenPage>;

/** An address as it is stored, once. */
export const AddressRow = Type.Object({
  url: Type.String(),
  depth: Type.Integer(),
  /** The page that named it first; null: a seed. */
  found_on: Nullable(Type.String()),
  /** 0 to 7; the lowest is first. */
  priority: Type.Integer(),
  /** Absent: it is to be fetched. */
  reason: Type.Optional(Type.Enum([...EXCLUSIONS])),
  /** Absent: nowhere, or it was not fetched yet. */
  redirected_to: Type.Optional(Type.String()),
  /** It is a robots.txt or a sitemap. */
  sitemap: Type.Optional(Type.Literal(true)),
  /** A sitemap lists it: no shape of traps is held against it. */
  listed: Type.Optional(Type.Literal(true)),
  /** Mistake that was found when it was read as a sitemap. */
  sitemap_error: Type.Optional(Type.Enum([...SITEMAP_ERRORS])),
  /** Only for a page that was fetched. */
  seen: Type.Optional(SeenPage),
  /** The ordinal of the page that it repeats, and how that is known. Absent: it repeats none that was fetched before it. */
  duplicate_of: Type.Optional(Type.Integer()),
  duplicate_by: Type.Optional(Type.Enum([...DUPLICATES])),
});
export type AddressRow = Static<typeof AddressRow>;

const FoundLink = Type.Object({
  url: Type.String(),
  nofollow: Type.Optional(Type.Boolean()),
  /** It leads to a sitemap. */
  sitemap: Type.Optional(Type.Boolean()),
  /** No link: the page names it as its own address. */
  canonical: Type.Optional(Type.Boolean()),
});
export type FoundLink = Static<typeof FoundLink>;
const Problem = Nullable(Type.String());

/** The Frontier actor: one for each crawl, beside the Job actor of the same key, the job's id. */
export const Frontier = contract(
  "frontier",
  {
    /** Takes what a page links to, and where it led by redirects, before the page's result is stored. */
    discover: ask(
      Type.Object({
        found_on: Type.String(),
        depth: Type.Integer(),
        redirected_to: Type.Optional(Type.String()),
        /** The links are entries of a sitemap. */
        listed: Type.Optional(Type.Boolean()),
        /** Mistake that was found in the sitemap. */
        sitemap_error: Type.Optional(Type.Enum([...SITEMAP_ERRORS])),
        /** In the first message of a page that was fetched. */
        seen: Type.Optional(SeenPage),
        links: Type.Array(FoundLink),
      }),
      Type.Object({
        problem: Problem,
        /** The page that this one repeats; `row`: null: it is in its chunk. Absent: none is known. */
        duplicate: Type.Optional(
          Type.Object({
            ordinal: Type.Integer(),
            row: Nullable(AddressRow),
            reason: Type.Enum([...DUPLICATES]),
          }),
        ),
      }),
    ),
    /** Addresses to fetch, from number `have` on: the same ones until it is asked for those behind them. */
    next: ask(
      Type.Object({
        have: Type.Integer({ minimum: 0 }),
        want: Type.Integer({ minimum: 1 }),
        /** Items of the job that have ended. */
        ended: Type.Integer({ minimum: 0 }),
      }),
      Type.Object({
        problem: Problem,
        /** `row`: null: it is in its chunk. */
        admitted: Type.Array(Type.Object({ ordinal: Type.Integer(), row: Nullable(AddressRow) })),
        is_over: Type.Boolean(),
        discovered: Type.Integer(),
        excluded: Type.Integer(),
      }),
    ),
    /** The job is purged. */
    forget: ask(Type.Null(), Type.Null()),
  },
  {
    loaded: tell(Type.Object({ problem: Problem })),
    /** Carries out what was asked meanwhile. */
    due: tell(Type.Null()),
    flushed: tell(Type.Object({ rows: Type.Integer(), order: Type.Integer(), problem: Problem })),
  },
  { shard_by: "job" },
);
