/**
 * How documents of the filing system are asked for, whoever asks: one actor per address, beside the limiter of its
 * egress, so that a slot is granted and used in one process. Bytes never travel: an answer names them by their digest.
 * What the documents say is schemas/filings.ts's business.
 */
import { type Static, Type } from "typebox";
import { Nullable, Sha256 } from "./common.ts";
import { ask, contract, tell } from "./contract.ts";
import { Redirect } from "./fetch.ts";

/**
 * What is asked for; it decides how long it is fresh, how large it may be and what it must look like. `page`: anything
 * else of these hosts, for POST /v1/fetch; it is not kept here. `robots`: what a host's crawlers are told.
 */
export const SOURCE_KINDS = [
  "tickers",
  "submissions",
  "facts",
  "index",
  "document",
  "search",
  "page",
  "robots",
] as const;
export const SourceKind = Type.Enum([...SOURCE_KINDS]);
export type SourceKind = Static<typeof SourceKind>;

export const SourceHost = Type.Enum(["data", "www", "search"]);
export type SourceHost = Static<typeof SourceHost>;

export const SourceRequest = Type.Object({
  host: SourceHost,
  /** Path and query as they are sent; begins with "/". */
  path: Type.String({ pattern: "^/", maxLength: 8_192 }),
  kind: SourceKind,
  /** The greatest age the caller takes; 0: past the cache; null: the kind's own. */
  cache_ttl_s: Nullable(Type.Integer({ minimum: 0 })),
  /** Slots go round by project. */
  project: Type.String(),
  lane: Type.Enum(["sync", "batch"]),
  /** Unix milliseconds: when the caller's patience ends. */
  deadline_ms: Type.Integer(),
  max_bytes: Type.Integer({ minimum: 1 }),
  /** Of a document: the folder its redirects must not leave, "/Archives/edgar/data/320193/000032019324000123/". */
  within: Type.Optional(Type.String({ pattern: "^/" })),
});
export type SourceRequest = Static<typeof SourceRequest>;

export const SourceAnswer = Type.Union([
  Type.Object({
    kind: Type.Literal("got"),
    url: Type.String(),
    final_url: Type.String(),
    redirects: Type.Array(Redirect),
    status: Type.Integer(),
    /** Names in lower case, everything the upstream sent. */
    headers: Type.Record(Type.String(), Type.String()),
    content_type: Nullable(Type.String()),
    /** Of the exact bytes, after content coding; they are in Bodies. */
    sha256: Sha256,
    bytes: Type.Integer(),
    /** When these bytes last came from the upstream, ISO 8601. */
    retrieved_at: Type.String(),
    /** No byte of it came over the wire for this answer. */
    cached: Type.Boolean(),
    /** The upstream was asked, and what was stored is still true. */
    revalidated: Type.Boolean(),
    /** Requests this answer cost; callers who shared it are all told the same number. */
    requests: Type.Integer(),
  }),
  /** There is no such thing: 404, or a 403 that says so (classes C and D). Pauses nothing. */
  Type.Object({
    kind: Type.Literal("missing"),
    url: Type.String(),
    status: Type.Integer(),
    requests: Type.Integer(),
  }),
  Type.Object({
    kind: Type.Literal("failed"),
    /**
     * One of FILINGS_ERRORS, robots_disallowed, or http_<status> for what the upstream refused by a status of its own
     * (400, 401 …).
     */
    error: Type.String(),
    message: Type.String(),
    retry_after_s: Nullable(Type.Integer({ minimum: 1 })),
    status: Nullable(Type.Integer()),
    redirects: Type.Array(Redirect),
    requests: Type.Integer(),
    /** Of filings_unavailable: everybody pauses, and nothing is known of this very document. */
    paused: Type.Optional(Type.Literal(true)),
  }),
]);
export type SourceAnswer = Static<typeof SourceAnswer>;

/** Its key is "<egress> <digest of the address>". `fetched` and `tick` are its own messages. */
export const FilingAddress = contract(
  "filing_address",
  {
    get: ask(Type.Object({ ask_id: Type.String(), ...SourceRequest.properties }), SourceAnswer),
  },
  {
    fetched: tell(Type.Object({ fetch_number: Type.Integer(), answer: SourceAnswer })),
    tick: tell(Type.Null()),
  },
  { shard_by: "filings" },
);

export const FilingSlotRequest = Type.Object({
  slot_id: Type.String(),
  project: Type.String(),
  lane: Type.Enum(["sync", "batch"]),
  /** A longer queue answers rate_limited at once. */
  wait_max_ms: Type.Integer({ minimum: 0 }),
});
export type FilingSlotRequest = Static<typeof FilingSlotRequest>;

/** Leave for one request, good between two moments of the clock of who granted it; then it is lost. */
export const FilingSlot = Type.Object({
  slot_ms: Type.Integer(),
  not_after_ms: Type.Integer(),
  /** Which pause it was granted after: an answer to it tells nothing of a later one. */
  episode: Type.Integer(),
  /** It finds out whether a pause is over. */
  is_probe: Type.Boolean(),
});
export type FilingSlot = Static<typeof FilingSlot>;

export const FilingSlotAnswer = Type.Union([
  Type.Object({ kind: Type.Literal("granted"), slot: FilingSlot, waited_ms: Type.Integer() }),
  Type.Object({
    kind: Type.Literal("refused"),
    error: Type.Enum(["rate_limited", "filings_unavailable"]),
    retry_after_s: Type.Integer({ minimum: 1 }),
  }),
]);
export type FilingSlotAnswer = Static<typeof FilingSlotAnswer>;

/** What came of a slot; each is settled once, one that is not lapses. */
export const FilingOutcome = Type.Object({
  slot_id: Type.String(),
  slot: FilingSlot,
  /**
   * `answered`: anything that is no throttling; `throttled`: pages A and B, 403, 429, 503; `unreachable`: a refused
   * connection or no answer; `dropped`: nothing was sent.
   */
  result: Type.Enum(["answered", "throttled", "unreachable", "dropped"]),
  /** Of a throttling answer's Retry-After. */
  retry_after_s: Nullable(Type.Integer({ minimum: 0 })),
  /** For the operator: "identity_refused" means that waiting does not help. */
  reason: Nullable(Type.String()),
});
export type FilingOutcome = Static<typeof FilingOutcome>;

/** What an operator sees of one egress. */
export const FilingLimiterView = Type.Object({
  egress: Type.String(),
  requests_per_second: Type.Number(),
  waiting: Type.Integer(),
  in_flight: Type.Integer(),
  paused_until: Nullable(Type.String()),
  /** Pauses in a row; 0: none. */
  pause_level: Type.Integer(),
  pause_reason: Nullable(Type.String()),
});
export type FilingLimiterView = Static<typeof FilingLimiterView>;

/** How long the system is left alone. */
export const FilingPause = Type.Object({
  until_ms: Type.Number(),
  /** Pauses in a row; 0: none. */
  level: Type.Integer(),
  /** Grows with each pause: an answer to a slot of an earlier episode tells nothing of this one. */
  episode: Type.Integer(),
  reason: Nullable(Type.String()),
});
export type FilingPause = Static<typeof FilingPause>;

/** What came of asking the slot store for slots. */
export const FilingSlotRefill = Type.Object({
  /** In order; none: the system is left alone, or somebody finds out whether it still must be. */
  slots: Type.Array(FilingSlot),
  /** Until when that somebody is waited for; 0: nobody is. */
  probing_until_ms: Type.Number(),
  pause: FilingPause,
});
export type FilingSlotRefill = Static<typeof FilingSlotRefill>;

/** One per egress, the key: who may send the next request to the filing system, and when. */
export const FilingLimiter = contract(
  "filing_limiter",
  {
    acquire: ask(FilingSlotRequest, FilingSlotAnswer),
    /** Answered with how long the system is left alone now, null: it is not. */
    recordOutcome: ask(FilingOutcome, Type.Object({ retry_after_s: Nullable(Type.Integer({ minimum: 1 })) })),
    view: ask(Type.Null(), FilingLimiterView),
  },
  {
    /** Null: the slot store cannot be read or written, so no request may be sent. */
    refilled: tell(Nullable(FilingSlotRefill)),
    recorded: tell(Type.Object({ reply_to: Type.String(), pause: FilingPause })),
    tick: tell(Type.Null()),
  },
  { shard_by: "filings" },
);
