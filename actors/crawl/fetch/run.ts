/**
 * A run of the fetch pipeline: what it was started with, and the record of what has come of it so far. The other
 * files of the pipeline read and write this record; it lives in the process that runs it and is never stored or sent.
 */
import type { NetworksOf } from "../../lib/web/destination.ts";
import type { ActorClient, WorkContext } from "../../../cluster/actor.ts";
import type { ByteBudget, Reservation } from "../../../cluster/byte-budget.ts";
import type { CacheLimits } from "../../../cluster/cache-limits.ts";
import type { Blobs } from "../../../cluster/ports/blobs.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Documents, Versioned } from "../../../cluster/ports/documents.ts";
import { Fault } from "../../../cluster/ports/fault.ts";
import type { TaskResult } from "../../../cluster/ports/workers.ts";
import { fromMicros } from "../../../schemas/accounts.ts";
import type { RequestSent, RobotsAnswer, RobotsRequest, SlotCaller } from "../../../schemas/domain.ts";
import type { KeptExchange } from "../../../schemas/archives.ts";
import type { Attempt, ContentKind, FetchAnswer, FetchRequest, PageRecord } from "../../../schemas/fetch.ts";
import { type Tier, isPremium, TIERS } from "../../../schemas/tier-table.ts";
import type { ExtractCaller, Extracted, ExtractTask } from "../../reading/extraction-result.ts";
import type {
  BodyRoom,
  HopRefusal,
  Transport,
  TransportPage,
  TransportResult,
} from "../../lib/web/transport.ts";
import { type JoinedSites, parseUrl, siteOf } from "../../lib/web/url.ts";
import type { Sources } from "./alternates/lookup.ts";
import type { CachedPage, PrivateMark } from "./freshness.ts";
import { isOpen, NO_HINTS, type Outcome, type RouteHints } from "./ladder.ts";
import type { PageBacklog } from "./page-backlog.ts";
import type { PremiumCosts } from "./premium.ts";
import type { Sessions } from "./sessions.ts";
import type { RecentLinks } from "./page-links.ts";
import type { ReservedHosts } from "./reserved-hosts.ts";
import type { Metrics } from "../../../cluster/ports/metrics.ts";
import type { Log } from "../../../cluster/ports/log.ts";

/** The longest time of a run without timeout_s, which continues into the cache after its callers have gone. */
export const MAX_RUN_MS = 310_000;

/** When a caller may come back after this node had no room for a page. */
export const NO_ROOM_RETRY_S = 10;

export interface PipelineDeps {
  readonly clock: Clock;
  readonly documents: Documents;
  readonly blobs: Blobs;
  readonly metrics: Metrics;
  readonly log: Log;
  /** A route that is absent is answered with `not_configured`. */
  readonly routes: Readonly<Partial<Record<Tier, Transport>>>;
  /** Hosts that the operator counts as one site. */
  readonly joined?: JoinedSites;
  /** The private networks that requests of a project may reach. Default: what the operator allows to the service itself. */
  readonly networksOf?: NetworksOf;
  /** Where what a crawl follows waits for it. Default: nowhere. */
  readonly recent_links?: RecentLinks;
  /** Reads a document's bytes outside this process. */
  readonly extract: (task: ExtractTask, caller: ExtractCaller) => Promise<TaskResult<Extracted>>;
  /** The memory for bodies on this node. Default: no limit. */
  readonly memory?: ByteBudget;
  readonly caches?: Pick<CacheLimits, "feeds">;
  /** Whether the right to a body is stored with its page. Default: no, the gateway stores it. */
  readonly keepsRights?: () => boolean;
  /** Work of this node for the requests it sends. Default: no limit. */
  readonly backlog?: PageBacklog;
  /** Called with each page that was stored. Must not wait or throw. */
  readonly onPageStored?: (page: StoredPage) => void;
  /** Called with each address whose origin says that there is nothing: 404, 410. Must not wait or throw. */
  readonly onGone?: (page: { readonly url: string; readonly project: string }) => void;
  /** Called when a request to an origin is sent. Must not wait or throw. */
  readonly onRequestSent?: (sent: RequestSent) => void;
  /** The cost of attempts on premium routes, and the accounts that pay. Default: attempts are free. */
  readonly costs?: PremiumCosts;
  /**
   * The answer by a fresh copy that the Robots actor with this key has in this process, under this epoch; null: there is none. Default: the
   * actor is asked before each request.
   */
  readonly robotsByCopy?: (
    key: string,
    epoch: number,
    request: { readonly url: URL; readonly networks: RobotsRequest["networks"] },
    now_ms: number,
  ) => RobotsAnswer | null;
  /** Hosts that another system reads, with limits of its own. Default: none. */
  readonly reservedHosts?: ReservedHosts;
  /** The sessions of projects. Default: there are none. */
  readonly sessions?: Pick<Sessions, "get" | "used">;
  /** Where open copies of unavailable pages are searched, over the route `direct`. Default: nowhere. */
  readonly sources?: Sources;
}

/** A page that was stored, whole, for the search index. */
export interface StoredPage {
  /** The address that was requested; the address where the page was found is in the record. */
  readonly url: string;
  /** The project whose request was run. */
  readonly project: string;
  readonly record: PageRecord;
  readonly text: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

/** Inputs of a run. */
export interface FetchRun {
  readonly request: FetchRequest;
  /** The digest under which the page is cached; the second word of the actor's key. */
  readonly digest: string;
  /** The document that was stored under the digest when the run began, or null. */
  readonly stored: Promise<Versioned<CachedPage | PrivateMark> | null>;
  /** A stored page to revalidate with the origin, or null. */
  readonly stale: CachedPage | null;
  /** Limits of all callers together; they grow when another caller joins. */
  readonly limits: RunLimits;
  /** Everything that was tried, in order, as the answer lists it. The run adds to it. */
  readonly attempts: Attempt[];
  /** Aborts when every caller has cancelled: the run ends as if its time had run out. Default: never. */
  readonly cancelled?: AbortSignal;
}

type BodyLimits = Pick<FetchRequest, "max_bytes" | "max_pdf_bytes" | "accept_pdf">;

/** The most that one of the callers accepts, and the time until the last of them has gone. */
export interface RunLimits {
  max_bytes: number;
  max_pdf_bytes: number;
  accept_pdf: boolean;
  /** Null: a caller waits as long as the run takes. */
  deadline_ms: number | null;
  /** Limits that the body of the last route was held to. */
  applied: BodyLimits;
}

const bodyLimitsOf = ({ max_bytes, max_pdf_bytes, accept_pdf }: BodyLimits): BodyLimits => ({
  max_bytes,
  max_pdf_bytes,
  accept_pdf,
});

export const limitsOf = (request: FetchRequest): RunLimits => ({
  ...bodyLimitsOf(request),
  deadline_ms: deadlineOf(request),
  applied: bodyLimitsOf(request),
});

const deadlineOf = ({ hard_deadline, deadline_ms }: FetchRequest): number | null =>
  hard_deadline ? deadline_ms : null;

/** A caller joins the run: it goes on for as long, and accepts as much, as any of them. */
export function extendLimits(limits: RunLimits, request: FetchRequest): void {
  const deadline_ms = deadlineOf(request);
  limits.max_bytes = Math.max(limits.max_bytes, request.max_bytes);
  limits.max_pdf_bytes = Math.max(limits.max_pdf_bytes, request.max_pdf_bytes);
  limits.accept_pdf ||= request.accept_pdf;
  if (limits.deadline_ms !== null)
    limits.deadline_ms = deadline_ms === null ? null : Math.max(limits.deadline_ms, deadline_ms);
}

/** The limits for a body that is read now: another caller may have joined since its route began. */
export function applyLimits(limits: RunLimits): BodyLimits {
  limits.applied = bodyLimitsOf(limits);
  return limits.applied;
}

/** Whether a run that refused a body as too large, or as a PDF, would have accepted it for this request. */
export const exceedsApplied = ({ applied }: RunLimits, request: BodyLimits): boolean =>
  request.max_bytes > applied.max_bytes ||
  request.max_pdf_bytes > applied.max_pdf_bytes ||
  (request.accept_pdf && !applied.accept_pdf);

/** The outcome of a route, with the page it brought. */
export interface Candidate {
  readonly tier: Tier;
  readonly outcome: Outcome;
  readonly page: TransportPage | null;
  readonly kind: ContentKind | null;
  readonly extracted: Extracted | null;
  /** How a route that was taken ended without a page; null with one, or when it was not taken. */
  readonly ended: RouteEnd | null;
}

/** Where a route ended without a page, and the transport's reason. */
export interface RouteEnd {
  readonly reason: string;
  /** Null: at the first address, before a request was sent to it. */
  readonly final_url: string | null;
  readonly redirects: TransportResult["redirects"];
}

/** The end of a route that failed or was refused: at the target of its last redirect. */
export function routeEnd(
  url: string,
  result: Extract<TransportResult, { kind: "failed" | "refused" }>,
): RouteEnd {
  const { kind, redirects } = result;
  const last = redirects.at(-1);
  const target = last && (parseUrl(last.location, new URL(last.url))?.href ?? last.url);
  return {
    reason: kind === "failed" ? result.reason : result.refusal.reason,
    final_url: target ?? result.final_url ?? (kind === "failed" ? url : null),
    redirects,
  };
}

export interface RunState extends Omit<FetchRun, "cancelled"> {
  readonly ask: ActorClient;
  readonly work: WorkContext;
  /** Aborts at the deadline, when every caller has cancelled, or when this node loses the key. */
  readonly signal: AbortSignal;
  readonly host: string;
  /** The site whose Domain actor hears the outcome of the run. */
  readonly site: string;
  /** Allowed private networks that its requests may reach. */
  readonly networks?: readonly string[] | undefined;
  /** A page from there is of no other project. Default: it may be. */
  readonly owns_networks?: boolean;
  /** For whom the slots are. */
  readonly caller: SlotCaller;
  readonly began_ms: number;
  /** When its time is over; later when a caller joins that waits longer. */
  readonly endsAt: () => number;
  /** Outcomes of the routes, in order, as the ladder decides on them. */
  readonly tried: Candidate[];
  /** Texts missing only because this process had no time or no room to extract them: such a page is not cached. */
  readonly unread: Set<Extracted>;
  hints: RouteHints;
  /** Exchanges of its routes, of a request with `archive`, and bodies of these that may not be stored yet. */
  readonly exchanges: KeptExchange[];
  /** For a request with `archive`: those with robots.txt, by origin, as JSON. */
  readonly robots_exchanges: Map<string, string>;
  readonly exchanged_bodies: Buffer[];
  /** The last refusal of a hop. */
  refusal: HopRefusal | null;
  /** Requests admitted so far; each has an id of its own. */
  hops: number;
  /** Room for the bodies of the run, null where memory has no limit. Released when it ends. */
  readonly room: RunRoom | null;
  /** Takes the page that has arrived out of the node's backlog; null when none waits to be read or stored. */
  leaveBacklog: (() => void) | null;
  /** Whether a request was not sent because another node may own the domain. */
  isLost: boolean;
  spent_micros: number;
  /** This run, and no other, may send the POST of its request. */
  is_post_claimed: boolean;
  /** The address on a reserved host that a redirect led to; "" for none. */
  delegated_url: string;
  /** Whether every source of open copies has been searched, so that a cached page need not try again. */
  isSearched: boolean;
}

/** Whether the answer was made by what the caller sent: its address, title and text are told to no one else. */
export const isOfOneCaller = ({ authorization, sealed_authorization, own }: FetchRequest): boolean =>
  (authorization ?? sealed_authorization ?? own) !== undefined;

/** The record of a run that begins. */
export function newRun(
  started: Omit<FetchRun, "cancelled">,
  context: Pick<
    RunState,
    "ask" | "work" | "signal" | "networks" | "owns_networks" | "began_ms" | "endsAt" | "room"
  >,
  { joined, sources, routes }: Pick<PipelineDeps, "joined" | "sources" | "routes">,
): RunState {
  const { fetch_id, project, url } = started.request;
  const host = new URL(url).hostname;
  const configured = TIERS.filter((tier) => routes[tier] !== undefined);
  return {
    ...started,
    ...context,
    host,
    site: siteOf(host, joined),
    caller: { fetch_id, project, is_open: isOpen(started.request, configured) },
    tried: [],
    unread: new Set(),
    hints: NO_HINTS,
    exchanges: [],
    robots_exchanges: new Map(),
    exchanged_bodies: [],
    refusal: null,
    hops: 0,
    leaveBacklog: null,
    isLost: false,
    spent_micros: 0,
    delegated_url: "",
    isSearched: !sources || !routes.direct || isOfOneCaller(started.request),
    is_post_claimed: false,
  };
}

/** The memory that a run holds: its bodies stay in it until it ends. */
export interface RunRoom extends BodyRoom {
  readonly release: () => void;
}

export function openRoom(memory: ByteBudget, signal: AbortSignal): RunRoom {
  const held: Reservation[] = [];
  /** Reservations for the body that is being read. */
  let current: Reservation[] = [];
  return {
    async reserve(bytes) {
      const reservation = await memory.reserve(bytes, signal);
      if (reservation === null) return false;
      held.push(reservation);
      current.push(reservation);
      return true;
    },
    settle(bytes) {
      // The largest is the last one.
      const last = current.pop();
      for (const { release } of current) release();
      last?.shrink(bytes);
      current = [];
    },
    release() {
      for (const { release } of held.splice(0)) release();
    },
  };
}

/** The refusal of a page for which this node has no room. */
export const noRoom = (detail: string, retry_after_s: number = NO_ROOM_RETRY_S): HopRefusal => ({
  error: "domain_busy",
  step: "extraction",
  reason: "no_room",
  retry_after_s,
  detail,
});

export function recordAttempt(
  { attempts }: RunState,
  tier: string,
  status: number | null,
  reason: string,
  ms: number,
  detail: string | null,
): void {
  attempts.push({ tier, status, reason, ms: Math.round(ms), detail });
}

/**
 * Throws when another node may own the domain. What was broken off then looks like a site that does not answer, and a
 * document like one without a text: nothing of it may be stored or told. The new owner begins anew.
 */
export function assertOwned({ isLost, work, site }: RunState): void {
  if (isLost || work.signal.aborted)
    throw new Fault("lease_lost", `Cannot fetch from "${site}": another node may hold it`);
}

/** The fields of an answer that a run fills in the same way whatever it came to. */
export const answerOf = (run: RunState, record: PageRecord): FetchAnswer => ({
  record,
  attempts: [...run.attempts],
  cached: false,
  revalidated: false,
  cost_usd: run.spent_micros === 0 ? "0" : fromMicros(run.spent_micros),
  error: null,
  error_detail: null,
  retry_after_s: null,
  premium_routes_tried: run.tried.some(({ tier, outcome }) => isPremium(tier) && wasTaken(outcome)),
});

/** Whether the provider of a premium route was asked at all. */
const wasTaken = (outcome: Outcome): boolean =>
  outcome.kind !== "unavailable" || outcome.reason === "failed" || outcome.reason === "not_found";

/** Only a teaser came, and the rest is for sale. An error page sells nothing, whatever it says. */
export const isSold = ({ outcome, extracted }: Candidate): boolean => {
  if (extracted?.paywall !== "hard") return false;
  if (outcome.kind === "page") return true;
  const status = outcome.kind === "definitive" || outcome.kind === "blocked" ? outcome.status : null;
  return status === 401 || status === 402 || status === 403;
};
