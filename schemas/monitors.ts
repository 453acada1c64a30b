/**
 * Monitors: what clients send and get, the event of a change, and the contracts of the two actors of a monitor: one that visits
 * the page when it is time, one that delivers what has changed.
 */
import { type Static, Type } from "typebox";
import { deliveryContract } from "./delivery.ts";
import { Component, Field, Nullable, Sha256, Timestamp } from "./common.ts";
import { FETCH_ERRORS, HTTP_STATUS, itemErrorCode } from "./errors.ts";
import { FetchBody } from "./fetch.ts";
import { webhookForm } from "./webhook-form.ts";

export const MIN_EVERY_S = 300;
const MAX_EVERY_S = 366 * 86_400;

export const WATCHES = ["text", "markdown", "status", "links"] as const;
export type Watch = (typeof WATCHES)[number];

/** Options of a fetch that are the monitor's own, or that would make a change of what the page did not change. */
const NOT_OF_A_VISIT = [
  "url",
  "method",
  "body",
  "formats",
  "include_html",
  "screenshot_options",
  "cache_ttl_s",
  "allow_archive",
  "allow_alternates",
] as const;

const visitOptions = (): Omit<typeof FetchBody.properties, (typeof NOT_OF_A_VISIT)[number]> => {
  const { properties } = FetchBody;
  const left_out: readonly string[] = NOT_OF_A_VISIT;
  return Object.fromEntries(
    Object.entries(properties).filter(([name]) => !left_out.includes(name)),
  ) as ReturnType<typeof visitOptions>;
};

/** How the page is fetched: the options of POST /v1/fetch. */
export const MonitorFetch = Component("MonitorFetch", visitOptions());
export type MonitorFetch = Static<typeof MonitorFetch>;

/** Events in the form of Firecrawl's API, in the order in which the events of one check are delivered. */
export const FIRECRAWL_MONITOR_EVENTS = ["monitor.page", "monitor.check.completed"] as const;
export type FirecrawlMonitorEvent = (typeof FIRECRAWL_MONITOR_EVENTS)[number];

const Webhook = Component("MonitorWebhook", {
  url: Field(
    Type.String({ maxLength: 2_048 }),
    "An https address that changes are delivered to",
    "https://client.example/hook",
  ),
  events: Type.Optional(
    Field(
      Type.Array(Type.Enum([...FIRECRAWL_MONITOR_EVENTS]), {
        minItems: 1,
        maxItems: FIRECRAWL_MONITOR_EVENTS.length,
      }),
      "Only with the form `firecrawl`: which of its events are delivered of a visit that found a change. Default: both",
      [...FIRECRAWL_MONITOR_EVENTS],
    ),
  ),
  ...webhookForm,
});
export type MonitorWebhookBody = Static<typeof Webhook>;

const settings = {
  every_s: Type.Optional(
    Field(
      Nullable(Type.Integer({ minimum: MIN_EVERY_S, maximum: MAX_EVERY_S })),
      "Seconds from one visit to the next; this or `cron`",
      3600,
    ),
  ),
  cron: Type.Optional(
    Field(
      Nullable(Type.String({ minLength: 1, maxLength: 200 })),
      "Minute, hour, day of the month, month, day of the week: when the page is visited, at least five minutes apart. What a change of the " +
        "clock leaves out comes right after it; what it repeats comes once if hour and minute are single numbers",
      "0 7 * * MON-FRI",
    ),
  ),
  timezone: Type.Optional(
    Field(
      Nullable(Type.String({ maxLength: 100 })),
      "The time zone of `cron`, by its IANA name. Default UTC",
      "Europe/Zurich",
    ),
  ),
  watch: Type.Optional(
    Field(
      Type.Enum([...WATCHES], { default: "text" }),
      "What counts as a change: of the text, of the Markdown, of the status, or of the addresses that the page links to. With `fetch.include_selectors` only of that part of the page",
    ),
  ),
  fetch: Type.Optional(
    Field(
      Nullable(MonitorFetch),
      "How the page is fetched; each visit asks anew, and takes no archived copy",
    ),
  ),
  webhook: Type.Optional(Field(Nullable(Webhook), "Where changes are delivered; null: they are only listed")),
  label: Type.Optional(
    Field(Nullable(Type.String({ maxLength: 200 })), "A name of the client's own", "Terms of the bank"),
  ),
};

export const MonitorBody = Component("MonitorBody", {
  url: Field(
    Type.String({ minLength: 1, maxLength: 8_192 }),
    "The page, an http or https address",
    "https://example.org/terms",
  ),
  ...settings,
});
export type MonitorBody = Static<typeof MonitorBody>;

export const MonitorPatch = Component("MonitorPatch", {
  ...settings,
  watch: Type.Optional(
    Field(Type.Enum([...WATCHES]), "Another one begins anew: the next visit only says how the page is"),
  ),
  paused: Type.Optional(Field(Type.Boolean(), "Whether visits stop", true)),
});
export type MonitorPatch = Static<typeof MonitorPatch>;

export const VISIT_OUTCOMES = ["first", "unchanged", "changed", "failed"] as const;
export type VisitOutcome = (typeof VISIT_OUTCOMES)[number];

/** State that a visit found. */
export const MonitoredState = Component("MonitoredState", {
  sha256: Field(Sha256, "SHA-256 of what is watched: text, Markdown, status, or addresses one a line"),
  retrieved_at: Field(Timestamp, "When the page was retrieved"),
  status: Field(Nullable(Type.Integer()), "Its status", 200),
});
export type MonitoredState = Static<typeof MonitoredState>;

export const Monitor = Component("Monitor", {
  id: Field(
    Type.String({ pattern: "^mon_[0-9a-hjkmnp-tv-z]{16}$" }),
    "The id of the monitor",
    "mon_wyvsfbx2x89mpyyv",
  ),
  url: Field(Type.String(), "The page, a user name and a password masked", "https://example.org/terms"),
  label: Field(Nullable(Type.String()), "The client's name for it", "Terms of the bank"),
  every_s: Field(Nullable(Type.Integer()), "Seconds between visits; null: `cron` says when", 3600),
  cron: Field(Nullable(Type.String()), "When the page is visited; null: every `every_s` seconds", null),
  timezone: Field(Type.String(), "Of `cron`", "UTC"),
  watch: Field(Type.Enum([...WATCHES]), "What counts as a change"),
  fetch: Field(Nullable(MonitorFetch), "How the page is fetched; null: it cannot be read"),
  webhook: Field(
    Nullable(
      Component("MonitorWebhookView", {
        url: Field(
          Nullable(Type.String()),
          "The address, passwords and query secrets masked; null: it cannot be read",
          "https://client.example/hook",
        ),
        last_status: Field(
          Nullable(Type.String()),
          "Of the last delivery: `delivered_<code>`, `http_<code>`, `blocked_destination` or `error_<class>`; null before it",
          "delivered_204",
        ),
        is_off: Field(
          Type.Boolean(),
          "The receiver answered 410, so nothing is delivered until `webhook` is given again",
          false,
        ),
      }),
    ),
    "Where changes are delivered; null: nowhere",
  ),
  paused: Field(
    Nullable(Type.Enum(["client", "key_revoked"])),
    "Why no visit is made: a client paused it, or the key that paid is revoked; null: visits are made",
  ),
  created_at: Timestamp,
  next_check_at: Field(
    Nullable(Timestamp),
    "When the next visit is due, in the past while it is under way; null: none is",
  ),
  last_check: Field(
    Nullable(
      Component("MonitorCheck", {
        at: Field(Timestamp, "When it ended"),
        outcome: Field(Type.Enum([...VISIT_OUTCOMES]), "`first`: there was nothing to compare with"),
        error: Field(
          itemErrorCode("Fetch", Object.keys(FETCH_ERRORS), [HTTP_STATUS]),
          "Why it failed, an error of a fetch or of the key; null: it did not",
          "http_404",
        ),
        job_id: Field(
          Nullable(Type.String()),
          "The job of the visit, listed for a day; null: none was begun",
          "019ab3f2-7c1e-7a10-9d55-3e5b8f0c2a41",
        ),
      }),
    ),
    "The last visit; null: there was none",
  ),
  failures: Field(
    Type.Integer(),
    "Visits that failed since the last one that did not; a failed visit is no change",
    0,
  ),
  checks: Field(Type.Integer(), "All visits", 24),
  changes: Field(Type.Integer(), "Visits that found a change", 2),
  current: Field(
    Nullable(MonitoredState),
    "What the last visit that did not fail found; null: there was none",
  ),
  secret: Field(
    Nullable(Type.String()),
    "Signs deliveries; only in the answer to the request that gives the monitor its first webhook",
    "whsec_ABCDEFGHIJKLMNOPQRSTUVWXYZ012345",
  ),
});
export type Monitor = Static<typeof Monitor>;

const changeFields = {
  id: Field(
    Type.String({ pattern: "^evt_" }),
    "The id of the change, the same in every delivery",
    "evt_wyvsfbx2x89mpyyv000000002a",
  ),
  monitor_id: Field(Type.String(), "The monitor", "mon_wyvsfbx2x89mpyyv"),
  url: Field(Type.String(), "The page, a user name and a password masked", "https://example.org/terms"),
  checked_at: Field(Timestamp, "When the visit ended"),
  previous: Field(MonitoredState, "What the visit before found"),
  current: Field(MonitoredState, "What this visit found"),
  diff: Field(
    Nullable(Type.String()),
    "Unified diff of the Markdown, of the status, or of the addresses; null: the page is too long or too different",
    "--- https://example.org/terms\n+++ https://example.org/terms\n@@ -1,1 +1,1 @@\n-Fee: 2\n+Fee: 3\n",
  ),
  diff_truncated: Field(
    Type.Boolean(),
    "The diff has not everything that changed: it ends at 64 KB, or is null",
    false,
  ),
};

export const MonitorChange = Component("MonitorChange", {
  ...changeFields,
  delivery: Field(
    Nullable(
      Component("MonitorDelivery", {
        attempts: Field(Type.Integer(), "Attempts so far, 8 within 24 hours at most", 1),
        status: Field(Nullable(Type.String()), "How the last attempt ended; null: none has", "delivered_204"),
        is_over: Field(Type.Boolean(), "Whether no further attempt is made"),
      }),
    ),
    "How it was delivered; null: the monitor had no webhook",
  ),
});
export type MonitorChange = Static<typeof MonitorChange>;

/** Body of a delivery to a monitor's webhook. */
export const PageChangedEvent = Component("PageChangedEvent", {
  ...changeFields,
  type: Field(Type.Literal("page.changed"), "The kind of event"),
  changes_url: Field(
    Type.String({ format: "uri" }),
    "The changes of the monitor",
    "https://trawl.example/v1/monitors/mon_wyvsfbx2x89mpyyv/changes",
  ),
});
export type PageChangedEvent = Static<typeof PageChangedEvent>;

/** Visits the page of one monitor; its key is the monitor's id. `deliver`: the monitor is new, or was changed. */
export const MonitorVisits = deliveryContract("monitor_visits");
/** Delivers the changes of one monitor, one after the other; its key is the monitor's id. */
export const MonitorWebhook = deliveryContract("monitor_webhook");
