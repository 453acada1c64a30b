/** POST /v1/map: its body and its response. */
import { type Static, Type } from "typebox";
import { Component, Field, Nullable, ProjectRef, Warnings } from "./common.ts";
import { MAX_TIMEOUT_S, MIN_TIMEOUT_S } from "./fetch.ts";
import { MapErrorCode, MapSitemapErrorCode } from "./errors.ts";

export const MAP_LIMIT_DEFAULT = 5_000;
export const MAP_LIMIT_CEILING = 100_000;

export const SITEMAP_USES = ["include", "only", "skip"] as const;
/** Mistakes of a file that was read as a sitemap; the entries before the mistake count. */
export const SITEMAP_ERRORS = ["not_a_sitemap", "malformed", "too_large", "too_slow"] as const;
export type SitemapError = (typeof SITEMAP_ERRORS)[number];

/** Where an address of a map was found. */
export const FOUND_IN = ["sitemap", "page", "robots", "feed", "stored"] as const;

export const MapBody = Component("MapBody", {
  /** A text that is no http(s) address is answered with the error invalid_url, not refused. */
  url: Field(
    Type.String({ minLength: 1, maxLength: 8192 }),
    "An address of the site, usually its home page; what is no http(s) address is answered with the error `invalid_url`",
    "https://example.org/",
  ),
  search: Type.Optional(
    Field(
      Nullable(Type.String({ maxLength: 500 })),
      "Words: addresses whose path or title has them come first",
      "lighthouse",
    ),
  ),
  limit: Type.Optional(
    Field(
      Type.Integer({ minimum: 1, maximum: MAP_LIMIT_CEILING, default: MAP_LIMIT_DEFAULT }),
      "The most addresses of the answer",
    ),
  ),
  sitemap: Type.Optional(
    Field(
      Type.Enum([...SITEMAP_USES], { default: "include" }),
      "Whether sitemaps are read beside the page at `url`, instead of it, or not at all",
    ),
  ),
  include_subdomains: Type.Optional(
    Field(
      Type.Boolean({ default: false }),
      "Whether addresses of the host's subdomains belong to the answer; with and without `www.` is one host",
    ),
  ),
  ignore_query: Type.Optional(
    Field(Type.Boolean({ default: false }), "Whether addresses are listed without their query, each once"),
  ),
  cache_ttl_s: Type.Optional(
    Field(
      Nullable(Type.Integer({ minimum: 0 })),
      "The oldest acceptable copies of sitemaps and pages, in seconds; 0 reads everything anew",
      3600,
    ),
  ),
  project_ref: Type.Optional(ProjectRef),
  timeout_s: Type.Optional(
    Field(
      Nullable(Type.Number({ minimum: MIN_TIMEOUT_S, maximum: MAX_TIMEOUT_S })),
      "After so many seconds the answer has what was found until then. Default 120",
      60,
    ),
  ),
});
export type MapBody = Static<typeof MapBody>;

export const MapLink = Component("MapLink", {
  url: Field(Type.String(), "The address", "https://example.org/lighthouse"),
  title: Field(
    Nullable(Type.String()),
    "Its title: of a feed, a news sitemap, a stored page, or the words of the link",
    "The lighthouse",
  ),
  lastmod: Field(
    Nullable(Type.String()),
    "When it changed last, as a sitemap or feed says: a date, or a moment in UTC",
    "2026-03-04",
  ),
  found_in: Field(
    Type.Enum([...FOUND_IN]),
    "Where it was found first: a sitemap, a feed, the page at `url`, robots.txt (the address itself), what the project has stored",
  ),
});
export type MapLink = Static<typeof MapLink>;

export const MapSitemap = Component("MapSitemap", {
  url: Field(Type.String(), "Its address", "https://example.org/sitemap.xml"),
  status: Field(Nullable(Type.Integer()), "The origin's status; null: no answer", 200),
  entries: Field(Type.Integer(), "The entries that were read", 120),
  error: Field(
    MapSitemapErrorCode,
    "Null: it was read to its end. An error of a fetch, or `not_a_sitemap`, `malformed`, `too_large`, `too_slow`, `already_read`, `too_deep`",
    "http_404",
  ),
  warnings: Type.Optional(
    Field(Type.Array(Type.String()), "What is wrong with it although it could be read", [
      '"loc" is not closed before "lastmod"',
    ]),
  ),
});
export type MapSitemap = Static<typeof MapSitemap>;

export const MapResponse = Component("MapResponse", {
  url: Field(Type.String(), "As it was asked, a user name and a password masked", "https://example.org/"),
  links: Field(Type.Array(MapLink), "With `search`, best first; else in the order in which they were found"),
  total: Field(Type.Integer(), "Different addresses that were found, also beyond `limit`", 121),
  truncated: Field(
    Type.Boolean(),
    "There are more than `links` has: beyond `limit`, or in what was not read for time or limits",
  ),
  sitemaps: Field(
    Type.Array(MapSitemap),
    "The sitemaps and feeds that were tried, in order; the first 1,000",
  ),
  cached: Field(Type.Boolean(), "Everything was read from the cache"),
  error: Field(
    MapErrorCode,
    "Null: something was found. Else an error of a fetch: why nothing could be read; `timeout` and `quota_exhausted` (nothing is left of the quota or of a limit of spend) beside what was found before",
    "domain_dead",
  ),
  warnings: Warnings,
  request_id: Type.String(),
});
export type MapResponse = Static<typeof MapResponse>;
