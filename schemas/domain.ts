/**
 * The contracts of politeness: how a fetch asks a domain for a slot and reports what became of it (Domain, one actor per
 * registrable domain), and how it asks whether robots.txt allows a URL (Robots, one actor per origin on the same node).
 */
import { type Static, Type } from "typebox";
import { Field, Component, Nullable } from "./common.ts";
import { ask, contract, tell } from "../cluster/contracts/contract.ts";

/**
 * Tells the runs of one fetch apart, which have the same fetch_id: it begins again when its node loses it. What an earlier
 * run still reports does not touch the slot of the later one.
 */
const RunId = Type.String();

/** The fetch that a request is made for: a skip may hold for its project only, and it may be the probe of a skipped domain. */
export const SlotCaller = Type.Object({
  /** Id of the whole fetch, of which each request is a part. */
  fetch_id: Type.String(),
  project: Type.String(),
  /** Whether the fetch may take every configured route to the site. */
  is_open: Type.Boolean(),
});
export type SlotCaller = Static<typeof SlotCaller>;

/** Scheme, host and port without the default one: "https://www.example.org". What an origin asks for and how it fails is remembered by it. */
const Origin = Type.String({ minLength: 1 });

/** A fetch asks for a slot before each request to an origin. */
export const SlotRequest = Type.Object({
  /** Asking again with the same id while the slot is held is answered with that slot. */
  fetch_id: Type.String(),
  run_id: RunId,
  origin: Origin,
  /** Absent: no project, to which only the skips of all projects apply. */
  caller: Type.Optional(SlotCaller),
  /** Private networks that the request may reach: a name may exist for them only. Absent: what the service itself may. */
  networks: Type.Optional(Type.Array(Type.String())),
  /** Synchronous calls go before batch work, at most 4 to 1. */
  lane: Type.Enum(["sync", "batch"]),
  /**
   * A redirect led here from another site, whose node sends the request: it goes on when this domain moves to another node.
   * Default: false.
   */
  redirected: Type.Optional(Type.Boolean()),
  /**
   * While its request goes on the caller reports that (`continues`) every REPORT_EVERY_MS; the slot of one that does not is free
   * again. Default: false.
   */
  reports: Type.Optional(Type.Boolean()),
  /** How long the caller can wait. When the expected wait is longer, the answer is domain_busy at once. */
  wait_max_ms: Type.Integer({ minimum: 0 }),
});
export type SlotRequest = Static<typeof SlotRequest>;

export const SlotAnswer = Type.Union([
  Type.Object({
    kind: Type.Literal("granted"),
    /** How long the caller waited in the queue. */
    waited_ms: Type.Integer(),
  }),
  Type.Object({
    kind: Type.Literal("refused"),
    error: Type.Enum(["domain_busy", "domain_unavailable", "domain_dead", "politeness_timeout"]),
    /** Whole seconds, rounded up, at least 1. */
    retry_after_s: Type.Integer({ minimum: 1 }),
  }),
]);
export type SlotAnswer = Static<typeof SlotAnswer>;

/**
 * A grant is void when its request has not been sent within this time. It must be longer than a browser may take for a
 * place and its start (15 and 30 s); when too large, a caller that is lost between grant and request delays others.
 */
export const GRANT_TTL_MS = 50_000;

/**
 * When a grant is void for its caller, on the caller's monotonic clock: the answer may have been on its way for long, so it counts
 * from the ask and from the wait that the domain reports, which together end no later than the domain's own count begins.
 */
export const voidAt = (asked_ms: number, waited_ms: number): number => asked_ms + waited_ms + GRANT_TTL_MS;

/**
 * So much longer than `wait_max_ms` a caller waits for the answer: the domain's store may be away. Shorter than what a
 * fetch with a timeout has left then, so that its client learns the reason.
 */
export const SLOT_ANSWER_GRACE_MS = 900;

/** When too small, redirects to slow sites send many messages; when too large, the slot of a node that died is missing for longer. */
export const REPORT_EVERY_MS = 15_000;

/** A request that is sent, for the request audit. */
export interface RequestSent {
  /** The site whose slot the request has. */
  readonly domain: string;
  readonly fetch_id: string;
  /** The fencing epoch of the partition that the work belongs to. */
  readonly epoch: number;
}

/**
 * Releases one slot when its exchange is over: every request to an origin (each redirect hop, robots.txt) takes one.
 * Every grant is released once; a grant that is not released lapses.
 */
export const SlotRelease = Type.Object({
  fetch_id: Type.String(),
  run_id: RunId,
  origin: Origin,
  /** The origin's status; null without an answer. */
  status: Type.Union([Type.Integer(), Type.Null()]),
  /** The Retry-After of a 429 or 503, in seconds; null when there was none. */
  retry_after_s: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
});
export type SlotRelease = Static<typeof SlotRelease>;

/** The outcome of a whole fetch for one origin, for failures in a row and skips. */
export const FetchOutcome = Type.Object({
  /** `is_open` here: no budget was missing either. */
  caller: SlotCaller,
  /** The address whose origin answered or failed: the one that was asked for, or where its redirects led to. */
  url: Type.String({ minLength: 1 }),
  /**
   * `answered`: the origin did. `every_route_failed`: all that the fetch was allowed, and one of them had reached the origin.
   * `abandoned`: the fetch says nothing of the origin.
   */
  result: Type.Enum(["answered", "every_route_failed", "abandoned"]),
});
export type FetchOutcome = Static<typeof FetchOutcome>;

/** Failures in a row, for an operator, and the skip that they led to. */
export const SkipView = Component("SkipView", {
  origin: Field(Type.String(), "The origin: scheme, host and port", "https://www.example.org"),
  /** The project whose fetches failed; null: it holds for all projects. */
  project: Field(
    Type.Union([Type.String(), Type.Null()]),
    "Whose fetches; null: those of all projects",
    "research",
  ),
  failures: Field(Type.Integer(), "Fetches in a row that failed", 3),
  skip_until: Field(
    Type.Union([Type.String(), Type.Null()]),
    "Until when; null: it is not skipped",
    "2026-11-22T10:40:00.000Z",
  ),
});
export type SkipView = Static<typeof SkipView>;

/** Pace or pause that an origin has asked for, for an operator. */
export const SlowedView = Component("SlowedView", {
  /** "*": the origins that the domain does not know, after it has forgotten slow ones for want of room. */
  origin: Field(
    Type.String(),
    "The origin; `*`: all that the domain does not know, since it has forgotten slow ones for want of room",
    "https://www.example.org",
  ),
  /** Between two requests to the origin, by Crawl-delay or back-off; 0: as the domain's. */
  delay_ms: Field(
    Type.Integer(),
    "Between two requests to it, by its Crawl-delay or after 429; 0: as to the domain",
    2000,
  ),
  paused_until: Field(
    Type.Union([Type.String(), Type.Null()]),
    "Until when a Retry-After closes it; null: none does",
    "2026-11-22T10:31:00.000Z",
  ),
});
export type SlowedView = Static<typeof SlowedView>;

/** The state of a domain, for an operator. */
export const DeadHost = Component("DeadHost", {
  host: Field(Type.String(), "The host", "old.example.org"),
  until: Field(Type.String(), "Until when it is skipped", "2026-11-23T10:30:00.000Z"),
});

/** Settings of a domain that the operator changes without a restart. An absent field stays, null takes the operator's value back. */
export const DomainSettings = Type.Object({
  min_delay_ms: Type.Optional(Nullable(Type.Integer({ minimum: 0, maximum: 900_000 }))),
  max_concurrency: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: 64 }))),
  /** Unix milliseconds. */
  paused_until_ms: Type.Optional(Nullable(Type.Integer({ minimum: 0 }))),
});
export type DomainSettings = Static<typeof DomainSettings>;

/** As it is shown. */
export const OperatorView = Component("OperatorView", {
  min_delay_ms: Field(
    Nullable(Type.Integer()),
    "Milliseconds between two requests; null: as configured",
    2000,
  ),
  max_concurrency: Field(Nullable(Type.Integer()), "Requests in flight at once; null: as configured", 1),
  paused_until: Field(
    Nullable(Type.String()),
    "Until when nothing is sent; null: it is not paused",
    "2026-11-22T12:30:00.000Z",
  ),
});

export const DomainView = Type.Object({
  domain: Field(Type.String(), "The registrable domain", "example.org"),
  /** Between two requests to the domain; single origins may be asked less often. */
  min_delay_ms: Field(Type.Integer(), "Between two requests to the domain, in milliseconds", 500),
  max_concurrency: Field(Type.Integer(), "Requests in flight at once", 2),
  in_flight: Field(Type.Integer(), "Requests in flight now", 0),
  waiting: Field(Type.Integer(), "Callers that wait for a slot", 0),
  skips: Field(
    Type.Array(SkipView),
    "Failed fetches in a row by origin and project, and the skips that they led to",
  ),
  slowed: Field(
    Type.Array(SlowedView),
    "Origins that asked for a pause or a longer delay; the other origins of the domain are not slower for it",
  ),
  dead_hosts: Field(Type.Array(DeadHost), "Hosts whose name does not exist"),
  operator: Field(Nullable(OperatorView), "What the operator set; null: nothing"),
});
export type DomainView = Static<typeof DomainView>;

/** The Domain actor: one per registrable domain grants the slots for requests to it. */
export const Domain = contract(
  "domain",
  {
    acquire: ask(SlotRequest, SlotAnswer),
    /**
     * The request has been sent. The delay counts from here and no slot is granted before, so that nothing between grant
     * and request (a store, a name server, a handshake, a busy machine) makes two requests closer than the delay.
     */
    recordSent: tell(Type.Object({ fetch_id: Type.String(), run_id: RunId, origin: Origin })),
    /** The request of a slot goes on, on another node than the domain's. */
    continues: tell(Type.Object({ fetch_id: Type.String(), run_id: RunId })),
    release: tell(SlotRelease),
    recordOutcome: tell(FetchOutcome),
    /** The name does not exist. An ask, because the second report within 6 h makes the host dead for this very fetch. */
    reportNxdomain: ask(
      Type.Object({
        fetch_id: Type.String(),
        host: Type.String(),
        networks: Type.Optional(Type.Array(Type.String())),
      }),
      Type.Object({ dead: Type.Boolean() }),
    ),
    /** robots.txt of one origin asks for a longer delay (already capped at 30 s); null removes it. */
    setCrawlDelay: tell(
      Type.Object({
        origin: Origin,
        crawl_delay_ms: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
      }),
    ),
    view: ask(Type.Null(), DomainView),
    /** Forgets failures, skips and dead hosts, for an operator. */
    clear: ask(Type.Null(), DomainView),
    /** Sets delay, slots and pause of the domain, for an operator. */
    configure: ask(DomainSettings, DomainView),
  },
  {
    /** A grant is due, a caller's deadline has passed, or a lease has lapsed. */
    tick: tell(Type.Null()),
  },
);

/** An Allow or Disallow line of robots.txt, its pattern percent-normalised as paths are before they are compared. */
export const RobotsRule = Type.Object({
  allow: Type.Boolean(),
  pattern: Type.String(),
  /** Counted from 1. */
  line: Type.Integer(),
});
export type RobotsRule = Static<typeof RobotsRule>;

/** Rules of a robots.txt for this crawler: only the lines of the group that applies to it. */
export const RobotsRules = Type.Object({
  /** "*", the crawler's own name, or null when no group applies. */
  group: Type.Union([Type.String(), Type.Null()]),
  /** Strongest first: the first that matches decides. */
  rules: Type.Array(RobotsRule),
  /** As written, capped at 30 s; null when the group has none. */
  crawl_delay_ms: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
});
export type RobotsRules = Static<typeof RobotsRules>;

/** May this URL be read under robots.txt of its origin? */
export const RobotsRequest = Type.Object({
  url: Type.String(),
  fetch_id: Type.String(),
  /** As in SlotRequest, for the slots of a read. */
  caller: Type.Optional(SlotCaller),
  lane: Type.Enum(["sync", "batch"]),
  wait_max_ms: Type.Integer({ minimum: 0 }),
  /** Allowed private networks (CIDRs) that the read may reach. Absent: what the operator allows to the service itself. */
  networks: Type.Optional(Type.Array(Type.String())),
  /** The answer has the exchanges that brought the file, which is read anew where they were not kept. */
  archive: Type.Optional(Type.Boolean()),
});
export type RobotsRequest = Static<typeof RobotsRequest>;

export const RobotsAnswer = Type.Union([
  /** `host_unreachable`: robots.txt could not be requested either, so the routes may find out more. */
  Type.Object({
    kind: Type.Literal("allowed"),
    reason: Type.Enum(["rules", "no_rules", "host_unreachable"]),
    /** Where the request asked for them: the KeptExchange of each hop, as JSON. */
    exchanges_json: Type.Optional(Type.String()),
  }),
  /** `detail` quotes the rule, or says that there is no copy of the last 30 days. */
  Type.Object({
    kind: Type.Literal("disallowed"),
    reason: Type.Enum(["rules", "robots_unreachable"]),
    detail: Type.String(),
  }),
  /** The domain gave no slot to read the rules with. */
  Type.Object({
    kind: Type.Literal("refused"),
    error: Type.Enum(["domain_busy", "domain_unavailable", "domain_dead", "politeness_timeout"]),
    retry_after_s: Type.Integer({ minimum: 1 }),
  }),
  Type.Object({ kind: Type.Literal("blocked"), error: Type.Literal("blocked_destination") }),
]);
export type RobotsAnswer = Static<typeof RobotsAnswer>;

/** The result of reading /robots.txt; the actor's own message. */
export const RobotsReadResult = Type.Union([
  /**
   * A file, or the certainty that there is none (4xx except 429). Its rules may be longer than a message, so they stay in
   * the process that read them.
   */
  Type.Object({
    kind: Type.Literal("read"),
    status: Type.Integer(),
    /** It came from an allowed private network. */
    is_private: Type.Optional(Type.Boolean()),
  }),
  /** 429, 5xx, a broken read: the last copy counts; without one everything is disallowed. */
  Type.Object({ kind: Type.Literal("unreadable"), reason: Type.String() }),
  /** No connection at all: the routes may find out more. */
  Type.Object({ kind: Type.Literal("host_unreachable"), reason: Type.String() }),
  Type.Object({ kind: Type.Literal("blocked") }),
  Type.Object({
    kind: Type.Literal("no_slot"),
    error: Type.Enum(["domain_busy", "domain_unavailable", "domain_dead", "politeness_timeout"]),
    retry_after_s: Type.Integer({ minimum: 1 }),
    /** How long the read could wait in the queue. */
    wait_max_ms: Type.Integer(),
  }),
]);
export type RobotsReadResult = Static<typeof RobotsReadResult>;

/** The Robots actor: one per origin; its key is "<site> <origin>", for example "example.org https://www.example.org". */
export const Robots = contract(
  "robots",
  { check: ask(RobotsRequest, RobotsAnswer) },
  { loaded: tell(RobotsReadResult) },
  { shard_by: "domain" },
);
