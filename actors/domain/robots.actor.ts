/**
 * The robots actor: one per origin, beside the domain actor of its site. It reads /robots.txt once for everyone who
 * asks meanwhile, in a polite slot of whichever site it is led to, and answers what may be read.
 *
 * How long an answer is believed is robots-state.ts, what a file says actors/lib/web/robots.ts. It keeps the lines that
 * apply to this crawler with its own state rather than in a document apart: they are written once a day, and whoever
 * wakes the actor needs them at once. It never retries: whoever asks later does.
 */
import assert from "node:assert/strict";
import {
  actor,
  type WorkContext,
  DEFERRED,
  type ReplyTo,
  type ActorClient,
  type Turn,
} from "../../cluster/actor.ts";
import type { Clock } from "../../cluster/ports/clock.ts";
import { type Egress, EgressError, type Exchange } from "../../cluster/ports/egress.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import {
  Domain,
  Robots,
  type RobotsAnswer,
  type RobotsReadResult,
  type RobotsRequest,
  type RobotsRules,
  GRANT_TTL_MS,
  type RequestSent,
} from "../../schemas/domain.ts";
import { retryAfterSeconds } from "../lib/web/http.ts";
import { parseRobots, MAX_ROBOTS_BYTES } from "../lib/web/robots.ts";
import { type JoinedSites, originOf, parseUrl, siteOf } from "../lib/web/url.ts";
import {
  answerFor,
  readFailure,
  afterRead,
  interpretStatus,
  NO_RULES,
  REDIRECTS,
  type RobotsCopy,
  type RobotsMemory,
} from "./robots-state.ts";

export interface RobotsDeps {
  readonly egress: Egress;
  readonly clock: Clock;
  /** The name looked for in robots.txt. */
  readonly crawler_name: string;
  /** The User-Agent this crawler declares when it reads robots.txt. */
  readonly user_agent: string;
  /** Sites an operator joined, as everybody who names sites knows them. */
  readonly joined?: JoinedSites;
  /** Told of every request as it leaves. Must not wait or throw. Default: nobody is. */
  readonly onRequestSent?: (sent: RequestSent) => void;
}

/** RFC 9309, section 2.3.1.2: at least five; after that the file counts as unavailable, so there are no rules. */
const MAX_REDIRECTS = 5;
/** All exchanges of one read together, without the wait for slots. */
const MAX_READ_MS = 15_000;
const MAX_CONNECT_MS = 10_000;
/** A read stands in a domain's queue as long as a synchronous call does (3-decisions.md, Core). */
const SLOT_WAIT_MS = 15_000;
/** Beyond so many who wait for one read the domain is busy; fewer than the runtime's 500 open questions of one actor. */
const MAX_PENDING_CHECKS = 400;

interface PendingCheck {
  readonly request: RobotsRequest;
  readonly reply: ReplyTo<RobotsAnswer>;
}

interface State {
  memory: RobotsMemory;
  /** Who waits for the read under way. Not kept: callers whose actor moved ask again. */
  pending: PendingCheck[];
}

type RobotsTurn = Turn<State, typeof Robots.operations>;

export function robotsActor(deps: RobotsDeps) {
  const { crawler_name } = deps;
  /**
   * Rules on their way from the read that found them to the turn that keeps them, by actor: a file may be longer than
   * a message, and what a read comes to never leaves this process.
   */
  const parsed = new Map<string, RobotsRules>();

  function startRead(turn: RobotsTurn, { fetch_id, wait_max_ms }: RobotsRequest): void {
    const { key } = turn;
    turn.pipeToSelf("loaded", (ask, work) =>
      readRobots(deps, ask, work, {
        ...partsOf(key),
        fetch_id,
        wait_max_ms: Math.min(wait_max_ms, SLOT_WAIT_MS),
        onRules: (rules) => parsed.set(key, rules),
      }),
    );
  }

  return actor(Robots)<State, RobotsCopy | null>({
    persist: (state) => state.memory.copy,
    activate(snapshot, { key, now_ms }) {
      parsed.delete(key);
      const own = snapshot?.crawler_name === crawler_name ? snapshot : null;
      // Written by a node whose clock was ahead, it would stay fresh for longer.
      const copy = own && own.read_at_ms > now_ms ? { ...own, read_at_ms: now_ms } : own;
      return { memory: { copy, failure: null }, pending: [] };
    },
    passivate_after_ms: 10 * 60_000,
    on: {
      check(turn, request) {
        const { memory, pending } = turn.state;
        const answer = answerFor(memory, urlOf(turn.key, request.url), turn.now_ms);
        if (answer) return answer;
        if (pending.length >= MAX_PENDING_CHECKS) {
          return { kind: "refused", error: "domain_busy", retry_after_s: SLOT_WAIT_MS / 1_000 };
        }
        pending.push({ request, reply: turn.deferReply() });
        if (pending.length === 1) startRead(turn, request);
        return DEFERRED;
      },

      loaded(turn, outcome) {
        const { state, key, now_ms } = turn;
        const { pending } = state;
        const rules = parsed.get(key) ?? NO_RULES;
        parsed.delete(key);
        state.pending = [];
        if (outcome.kind === "no_slot") {
          const { error, retry_after_s, wait_max_ms } = outcome;
          for (const check of pending) {
            // Those who would have waited longer than the one who asked first have a read of their own.
            const would_wait_ms = Math.min(check.request.wait_max_ms, SLOT_WAIT_MS);
            if (would_wait_ms > wait_max_ms && isQueueRefusal(error)) state.pending.push(check);
            else turn.answer(check.reply, { kind: "refused", error, retry_after_s });
          }
          const longest = state.pending.toSorted((a, b) => b.request.wait_max_ms - a.request.wait_max_ms)[0];
          if (longest) startRead(turn, longest.request);
          return;
        }

        const previous_delay_ms = state.memory.copy?.rules.crawl_delay_ms ?? null;
        state.memory = afterRead(state.memory, outcome, rules, crawler_name, now_ms);
        const { site, origin } = partsOf(key);
        const crawl_delay_ms = state.memory.copy?.rules.crawl_delay_ms ?? null;
        if (outcome.kind === "read" && (previous_delay_ms !== null || crawl_delay_ms !== null)) {
          // Said before the answers, so that the page waits as long as the rules just read ask for.
          turn.tell(Domain, site, "setCrawlDelay", { origin, crawl_delay_ms });
        }
        for (const { request, reply } of pending) {
          const answer = answerFor(state.memory, urlOf(key, request.url), now_ms);
          assert(answer, "What was just read answers everyone");
          turn.answer(reply, answer);
        }
      },
    },
  });
}

const isQueueRefusal = (error: string): boolean => error === "domain_busy" || error === "politeness_timeout";

function partsOf(key: string): { readonly site: string; readonly origin: string } {
  const space = key.indexOf(" ");
  return { site: key.slice(0, space), origin: key.slice(space + 1) };
}

function urlOf(key: string, text: string): URL {
  const url = parseUrl(text);
  assert(url && originOf(url) === partsOf(key).origin, `"${key}" is asked about its own origin only`);
  return url;
}

interface ReadRequest {
  readonly site: string;
  readonly origin: string;
  readonly fetch_id: string;
  readonly wait_max_ms: number;
  readonly onRules: (rules: RobotsRules) => void;
}

/** Reads /robots.txt and follows its redirects; each request has a slot of the site it goes to. */
async function readRobots(
  deps: RobotsDeps,
  ask: ActorClient,
  work: WorkContext,
  request: ReadRequest,
): Promise<RobotsReadResult> {
  const { clock } = deps;
  const { site, origin, wait_max_ms } = request;
  const first_url = new URL("/robots.txt", origin);
  let url = first_url;
  let remaining_ms = MAX_READ_MS;
  for (let hop = 0; ; hop++) {
    const host = url.hostname;
    const target_site = host === first_url.hostname ? site : siteOf(host, deps.joined);
    const fetch_id = `${request.fetch_id}.${hop}`;
    // Ahead of batch work, whoever asked: it is one request a day, and others may be waiting for it.
    const slot = await ask(Domain, target_site, "acquire", { fetch_id, host, lane: "sync", wait_max_ms });
    if (slot.kind === "refused") {
      const { error, retry_after_s } = slot;
      if (hop === 0) return { kind: "no_slot", error, retry_after_s, wait_max_ms };
      return { kind: "unreadable", reason: `redirected to "${host}": ${error}` };
    }

    const began_ms = clock.now();
    const void_ms = clock.mono() + GRANT_TTL_MS;
    let isLost = false;
    const beforeSend = (): boolean => {
      isLost = !work.ownsKey();
      return !isLost && clock.mono() < void_ms;
    };
    const onSent = (): void => {
      // Untold, the domain waits until the slot is handed back.
      ask(Domain, target_site, "recordSent", { fetch_id }).catch(() => {});
      deps.onRequestSent?.({ domain: target_site, fetch_id, epoch: work.epoch });
    };
    let status: number | null = null;
    let retry_after_s: number | null = null;
    const deadline = new AbortController();
    const timer = clock.at(began_ms + remaining_ms, () => deadline.abort());
    try {
      const exchange = await deps.egress.exchange({
        url: url.href,
        method: "GET",
        headers: [
          ["User-Agent", deps.user_agent],
          ["Accept", "text/plain,*/*;q=0.5"],
        ],
        signal: AbortSignal.any([work.signal, deadline.signal]),
        connect_timeout_ms: MAX_CONNECT_MS,
        beforeSend,
        onSent,
      });
      if (isLost) throw new Fault("lease_lost", `Cannot read "${url.href}": another node may hold it`);
      if (exchange.kind === "failed") {
        const problem = deadline.signal.aborted ? "timeout" : exchange.problem;
        return readFailure(problem, exchange.connected);
      }
      status = exchange.status;
      retry_after_s = retryAfterSeconds(exchange.headers.get("retry-after")?.[0], clock.now());
      if (REDIRECTS.has(status)) {
        exchange.cancel();
        const next = parseUrl(exchange.headers.get("location")?.[0] ?? "", url);
        // A redirect to nowhere, or one too many, is as good as no file.
        if (!next || !exchange.headers.has("location") || hop === MAX_REDIRECTS)
          return { kind: "read", status };
        url = next;
        continue;
      }
      switch (interpretStatus(status)) {
        case "rules":
          request.onRules(parseRobots(await startOf(exchange), deps.crawler_name));
          return { kind: "read", status };
        case "none":
          exchange.cancel();
          return { kind: "read", status };
        case "unreadable":
          exchange.cancel();
          return { kind: "unreadable", reason: `http_${status}` };
      }
    } catch (problem) {
      if (!(problem instanceof EgressError)) throw problem;
      return readFailure(deadline.signal.aborted ? "timeout" : problem.problem, true);
    } finally {
      timer[Symbol.dispose]();
      remaining_ms -= clock.now() - began_ms;
      // A slot that is not handed back lapses; that is no reason to have read for nothing.
      await ask(Domain, target_site, "release", { fetch_id, status, retry_after_s }).catch(() => {});
    }
  }
}

/** What of a body is parsed, one character for each byte; a byte more says that there was more. */
async function startOf({ body }: Extract<Exchange, { kind: "answered" }>): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of body) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes > MAX_ROBOTS_BYTES) break;
  }
  return Buffer.concat(pieces).toString("latin1", 0, MAX_ROBOTS_BYTES + 1);
}
