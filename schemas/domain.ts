/**
 * How a fetch asks a domain for leave, and what it tells it afterwards. One Domain actor per registrable
 * domain (3-decisions.md, Core); one Robots actor per origin beside it on the same node.
 */
import { type Static, Type } from "typebox";
import { ask, contract, tell } from "./contract.ts";

/** A fetch asks its domain for a slot before it touches the network. */
export const SlotRequest = Type.Object({
  /** Asking again with the same id while the slot is held is answered with that slot. */
  fetch_id: Type.String(),
  /** The exact host name: dead hosts are remembered by it, everything else by domain. */
  host: Type.String(),
  /** Synchronous calls go before batch work, at most 4 to 1. */
  lane: Type.Enum(["sync", "batch"]),
  /** How long the caller can wait. A longer queue answers domain_busy at once. */
  wait_max_ms: Type.Integer({ minimum: 0 }),
});
export type SlotRequest = Static<typeof SlotRequest>;

export const SlotAnswer = Type.Union([
  Type.Object({
    kind: Type.Literal("granted"),
    /** How long the caller stood in the queue. */
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
 * A grant is void when its request has not left within this time: the domain waits no longer for it to be sent. Longer
 * than a browser may take to have a place and to start (15 and 30 s); when too large, a caller that vanished between
 * grant and request holds up others.
 */
export const GRANT_TTL_MS = 50_000;

/** A request that leaves, for whoever keeps books. */
export interface RequestSent {
  /** The site whose slot it has. */
  readonly domain: string;
  readonly fetch_id: string;
  /** Of the partition the work belongs to. */
  readonly epoch: number;
}

/**
 * Hands one slot back when its exchange is over: every request to the origin (each redirect hop, robots.txt)
 * takes one. Every grant is released once; one that is not lapses.
 */
export const SlotRelease = Type.Object({
  fetch_id: Type.String(),
  /** The origin's status, null when it gave none. */
  status: Type.Union([Type.Integer(), Type.Null()]),
  /** What a Retry-After on 429 or 503 asked for, in seconds; null when there was none. */
  retry_after_s: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
});
export type SlotRelease = Static<typeof SlotRelease>;

/** What became of a whole fetch, for the streak of failures, skips and dead hosts. */
export const FetchOutcome = Type.Object({
  fetch_id: Type.String(),
  host: Type.String(),
  result: Type.Enum(["answered", "every_route_failed", "abandoned"]),
});
export type FetchOutcome = Static<typeof FetchOutcome>;

/** What an operator sees of a domain. */
export const DomainView = Type.Object({
  domain: Type.String(),
  min_delay_ms: Type.Integer(),
  max_concurrency: Type.Integer(),
  in_flight: Type.Integer(),
  waiting: Type.Integer(),
  failures: Type.Integer(),
  skip_until: Type.Union([Type.String(), Type.Null()]),
  /** Until when a Retry-After closes the domain. */
  paused_until: Type.Union([Type.String(), Type.Null()]),
  dead_hosts: Type.Array(Type.Object({ host: Type.String(), until: Type.String() })),
});
export type DomainView = Static<typeof DomainView>;

/** One actor per registrable domain decides who may fetch from it, and when. */
export const Domain = contract("domain", {
  acquire: ask(SlotRequest, SlotAnswer),
  /**
   * The request has left. The next gap is counted from here and nobody is granted a slot before, so that nothing that
   * happens between grant and request (a store, a name server, a handshake, a busy machine) shortens a gap.
   */
  recordSent: tell(Type.Object({ fetch_id: Type.String() })),
  release: tell(SlotRelease),
  recordOutcome: tell(FetchOutcome),
  /** The name was not found. Asked, because the second time within 6 h makes the host dead for this very fetch. */
  reportNxdomain: ask(
    Type.Object({ fetch_id: Type.String(), host: Type.String() }),
    Type.Object({ dead: Type.Boolean() }),
  ),
  /** robots.txt of one origin asked for a longer gap (already capped at 30 s); null lifts it. */
  setCrawlDelay: tell(
    Type.Object({
      origin: Type.String(),
      crawl_delay_ms: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
    }),
  ),
  view: ask(Type.Null(), DomainView),
  /** Forgets failures, skips and dead hosts: an operator's word. */
  clear: ask(Type.Null(), DomainView),
  /** The actor's own alarm clock: a start is due, a caller's patience or a lease ran out. */
  tick: tell(Type.Null()),
});

/** One Allow or Disallow line of robots.txt, its pattern percent-normalised as paths are before they are compared. */
export const RobotsRule = Type.Object({
  allow: Type.Boolean(),
  pattern: Type.String(),
  /** Counted from 1. */
  line: Type.Integer(),
});
export type RobotsRule = Static<typeof RobotsRule>;

/** What one robots.txt says to this crawler: the lines of the group that applies to it, and no others. */
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
  lane: Type.Enum(["sync", "batch"]),
  wait_max_ms: Type.Integer({ minimum: 0 }),
});
export type RobotsRequest = Static<typeof RobotsRequest>;

export const RobotsAnswer = Type.Union([
  /** `host_unreachable`: nobody answered for the rules either, so the ladder decides. */
  Type.Object({
    kind: Type.Literal("allowed"),
    reason: Type.Enum(["rules", "no_rules", "host_unreachable"]),
  }),
  /** `detail` quotes the rule line, or says when a last copy could not be had. */
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

/** What reading /robots.txt came to; the actor's own message. */
export const RobotsReadResult = Type.Union([
  /**
   * A file, or the certainty that there is none (4xx except 429). Its rules may be longer than a message; they are
   * handed over within the process that read them.
   */
  Type.Object({ kind: Type.Literal("read"), status: Type.Integer() }),
  /** 429, 5xx, a refused or broken read: the last copy counts, else the door is closed. */
  Type.Object({ kind: Type.Literal("unreadable"), reason: Type.String() }),
  /** No connection at all: left to the ladder. */
  Type.Object({ kind: Type.Literal("host_unreachable"), reason: Type.String() }),
  Type.Object({ kind: Type.Literal("blocked") }),
  Type.Object({
    kind: Type.Literal("no_slot"),
    error: Type.Enum(["domain_busy", "domain_unavailable", "domain_dead", "politeness_timeout"]),
    retry_after_s: Type.Integer({ minimum: 1 }),
    /** How long the read would have stood in the queue. */
    wait_max_ms: Type.Integer(),
  }),
]);
export type RobotsReadResult = Static<typeof RobotsReadResult>;

/** One actor per origin; its key is "<site> <origin>", for example "example.org https://www.example.org". */
export const Robots = contract(
  "robots",
  {
    check: ask(RobotsRequest, RobotsAnswer),
    loaded: tell(RobotsReadResult),
  },
  "domain",
);
