/**
 * The robots actor: one per origin, beside the domain actor of its site. It reads /robots.txt once for everyone who
 * asks meanwhile, in a polite slot of whichever site it is led to, and answers what may be read.
 *
 * How long an answer is believed is robots-state.ts, what a file says actors/lib/web/robots.ts. It keeps the lines that
 * apply to this crawler with its own state rather than in a document apart: they are written once a day, and whoever
 * wakes the actor needs them at once. It never retries: whoever asks later does.
 */
import assert from "node:assert/strict";
import { actor, type Held, PARKED, type ReplyTo, type Say, type Turn } from "../../cluster/actor.ts";
import type { Clock } from "../../cluster/ports/clock.ts";
import { type Egress, EgressError, type Exchange } from "../../cluster/ports/egress.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import {
  Domain,
  Robots,
  type RobotsAnswer,
  type RobotsRead,
  type RobotsRequest,
  type RobotsRules,
  START_WITHIN_MS,
  type Started,
} from "../../schemas/domain.ts";
import { retryAfterSeconds } from "../lib/web/http.ts";
import { parseRobots, MAX_ROBOTS_BYTES } from "../lib/web/robots.ts";
import { type JoinedSites, originOf, parseUrl, siteOf } from "../lib/web/url.ts";
import {
  answerFor,
  failedRead,
  learned,
  meaningOf,
  NO_RULES,
  REDIRECTS,
  type RobotsCopy,
  type RobotsMemory,
} from "./robots-state.ts";

export interface RobotsWays {
  readonly egress: Egress;
  readonly clock: Clock;
  /** The name looked for in robots.txt. */
  readonly crawler_name: string;
  /** The User-Agent this crawler declares when it reads robots.txt. */
  readonly user_agent: string;
  /** Sites an operator joined, as everybody who names sites knows them. */
  readonly joined?: JoinedSites;
  /** Told of every request as it leaves. Must not wait or throw. Default: nobody is. */
  readonly started?: (start: Started) => void;
}

/** RFC 9309, section 2.3.1.2: at least five; after that the file counts as unavailable, so there are no rules. */
const MAX_REDIRECTS = 5;
/** All exchanges of one read together, without the wait for slots. */
const MAX_READ_MS = 15_000;
const MAX_CONNECT_MS = 10_000;
/** A read stands in a domain's queue as long as a synchronous call does (3-decisions.md, Core). */
const SLOT_WAIT_MS = 15_000;
/** Beyond so many who wait for one read the domain is busy; fewer than the runtime's 500 open questions of one actor. */
const MAX_READERS = 400;

interface Reader {
  readonly request: RobotsRequest;
  readonly reply: ReplyTo<RobotsAnswer>;
}

interface State {
  memory: RobotsMemory;
  /** Who waits for the read under way. Not kept: callers whose actor moved ask again. */
  readers: Reader[];
}

type RobotsTurn = Turn<State, typeof Robots.operations>;

export function robots(ways: RobotsWays) {
  const { crawler_name } = ways;
  /**
   * Rules on their way from the read that found them to the turn that keeps them, by actor: a file may be longer than
   * a message, and what a read comes to never leaves this process.
   */
  const found = new Map<string, RobotsRules>();

  function read(turn: RobotsTurn, { fetch_id, wait_max_ms }: RobotsRequest): void {
    const { key } = turn;
    turn.start("read", (say, held) =>
      readRobots(ways, say, held, {
        ...partsOf(key),
        fetch_id,
        wait_max_ms: Math.min(wait_max_ms, SLOT_WAIT_MS),
        found: (rules) => found.set(key, rules),
      }),
    );
  }

  return actor(Robots)<State, RobotsCopy | null>({
    keep: (state) => state.memory.copy,
    begin(kept, { key, now_ms }) {
      found.delete(key);
      const mine = kept?.crawler_name === crawler_name ? kept : null;
      // Written by a node whose clock was ahead, it would stay fresh for longer.
      const copy = mine && mine.read_at_ms > now_ms ? { ...mine, read_at_ms: now_ms } : mine;
      return { memory: { copy, trouble: null }, readers: [] };
    },
    idle_ms: 10 * 60_000,
    on: {
      may(turn, request) {
        const { memory, readers } = turn.state;
        const answer = answerFor(memory, urlOf(turn.key, request.url), turn.now_ms);
        if (answer) return answer;
        if (readers.length >= MAX_READERS) {
          return { kind: "refused", error: "domain_busy", retry_after_s: SLOT_WAIT_MS / 1_000 };
        }
        readers.push({ request, reply: turn.park() });
        if (readers.length === 1) read(turn, request);
        return PARKED;
      },

      read(turn, outcome) {
        const { state, key, now_ms } = turn;
        const { readers } = state;
        const rules = found.get(key) ?? NO_RULES;
        found.delete(key);
        state.readers = [];
        if (outcome.kind === "no_slot") {
          const { error, retry_after_s, wait_max_ms } = outcome;
          for (const reader of readers) {
            // Those who would have waited longer than the one who asked first have a read of their own.
            const patience_ms = Math.min(reader.request.wait_max_ms, SLOT_WAIT_MS);
            if (patience_ms > wait_max_ms && isAboutWaiting(error)) state.readers.push(reader);
            else turn.answer(reader.reply, { kind: "refused", error, retry_after_s });
          }
          const most = state.readers.toSorted((a, b) => b.request.wait_max_ms - a.request.wait_max_ms)[0];
          if (most) read(turn, most.request);
          return;
        }

        const before = state.memory.copy?.rules.crawl_delay_ms ?? null;
        state.memory = learned(state.memory, outcome, rules, crawler_name, now_ms);
        const { site, origin } = partsOf(key);
        const crawl_delay_ms = state.memory.copy?.rules.crawl_delay_ms ?? null;
        if (outcome.kind === "read" && (before !== null || crawl_delay_ms !== null)) {
          // Said before the answers, so that the page waits as long as the rules just read ask for.
          turn.tell(Domain, site, "pace", { origin, crawl_delay_ms });
        }
        for (const { request, reply } of readers) {
          const answer = answerFor(state.memory, urlOf(key, request.url), now_ms);
          assert(answer, "What was just read answers everyone");
          turn.answer(reply, answer);
        }
      },
    },
  });
}

const isAboutWaiting = (error: string): boolean => error === "domain_busy" || error === "politeness_timeout";

function partsOf(key: string): { readonly site: string; readonly origin: string } {
  const space = key.indexOf(" ");
  return { site: key.slice(0, space), origin: key.slice(space + 1) };
}

function urlOf(key: string, text: string): URL {
  const url = parseUrl(text);
  assert(url && originOf(url) === partsOf(key).origin, `"${key}" is asked about its own origin only`);
  return url;
}

interface Reading {
  readonly site: string;
  readonly origin: string;
  readonly fetch_id: string;
  readonly wait_max_ms: number;
  readonly found: (rules: RobotsRules) => void;
}

/** Reads /robots.txt and follows its redirects; each request has a slot of the site it goes to. */
async function readRobots(ways: RobotsWays, say: Say, held: Held, reading: Reading): Promise<RobotsRead> {
  const { clock } = ways;
  const { site, origin, wait_max_ms } = reading;
  const begun = new URL("/robots.txt", origin);
  let url = begun;
  let left_ms = MAX_READ_MS;
  for (let hop = 0; ; hop++) {
    const host = url.hostname;
    const there = host === begun.hostname ? site : siteOf(host, ways.joined);
    const fetch_id = `${reading.fetch_id}.${hop}`;
    // Ahead of batch work, whoever asked: it is one request a day, and others may be waiting for it.
    const slot = await say(Domain, there, "acquire", { fetch_id, host, lane: "sync", wait_max_ms });
    if (slot.kind === "refused") {
      const { error, retry_after_s } = slot;
      if (hop === 0) return { kind: "no_slot", error, retry_after_s, wait_max_ms };
      return { kind: "unreadable", reason: `redirected to "${host}": ${error}` };
    }

    const began_ms = clock.now();
    const void_ms = clock.mono() + START_WITHIN_MS;
    let is_lost = false;
    const sending = (): boolean => {
      is_lost = !held.mayStart();
      return !is_lost && clock.mono() < void_ms;
    };
    const sent = (): void => {
      // Untold, the domain waits until the slot is handed back.
      say(Domain, there, "sent", { fetch_id }).catch(() => {});
      ways.started?.({ domain: there, fetch_id, epoch: held.epoch });
    };
    let status: number | null = null;
    let retry_after_s: number | null = null;
    const deadline = new AbortController();
    const alarm = clock.at(began_ms + left_ms, () => deadline.abort());
    try {
      const exchange = await ways.egress.exchange({
        url: url.href,
        method: "GET",
        headers: [
          ["User-Agent", ways.user_agent],
          ["Accept", "text/plain,*/*;q=0.5"],
        ],
        signal: AbortSignal.any([held.signal, deadline.signal]),
        connect_timeout_ms: MAX_CONNECT_MS,
        sending,
        sent,
      });
      if (is_lost) throw new Fault("lease_lost", `Cannot read "${url.href}": another node may hold it`);
      if (exchange.kind === "failed") {
        const problem = deadline.signal.aborted ? "timeout" : exchange.problem;
        return failedRead(problem, exchange.connected);
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
      switch (meaningOf(status)) {
        case "rules":
          reading.found(parseRobots(await startOf(exchange), ways.crawler_name));
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
      return failedRead(deadline.signal.aborted ? "timeout" : problem.problem, true);
    } finally {
      alarm[Symbol.dispose]();
      left_ms -= clock.now() - began_ms;
      // A slot that is not handed back lapses; that is no reason to have read for nothing.
      await say(Domain, there, "release", { fetch_id, status, retry_after_s }).catch(() => {});
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
