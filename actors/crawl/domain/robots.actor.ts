/**
 * The robots actor: one per origin, on the node of its site's domain actor. It reads /robots.txt once for all checks
 * that arrive meanwhile, in a slot of whichever site a redirect leads to, and answers whether a URL is allowed.
 *
 * How long a copy is believed is robots-state.ts; what a file says is actors/lib/web/robots.ts. The lines that apply to
 * this crawler are part of the actor's stored state: they are written once a day, and every activation needs them at
 * once. A failed read is not retried; a later check reads again.
 */
import { firstBytes } from "../../lib/first-bytes.ts";
import assert from "node:assert/strict";
import {
  actor,
  type WorkContext,
  DEFERRED,
  type ReplyTo,
  type ActorClient,
  type Turn,
} from "../../../cluster/actor.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import { type Egress, EgressError } from "../../../cluster/ports/egress.ts";
import { Fault } from "../../../cluster/ports/fault.ts";
import {
  Domain,
  Robots,
  type RobotsAnswer,
  type RobotsReadResult,
  type RobotsRequest,
  type RobotsRules,
  type RequestSent,
  SLOT_ANSWER_GRACE_MS,
  type SlotCaller,
  voidAt,
} from "../../../schemas/domain.ts";
import {
  type Coalescer,
  type CoalescerRules,
  complete,
  emptyCoalescer,
  join,
  type Run,
} from "../../lib/coalescer.ts";
import { ExchangeLog, withInlineBody } from "../../lib/web/kept-exchange.ts";
import { retryAfterSeconds } from "../../lib/web/http.ts";
import { parseRobots, MAX_ROBOTS_BYTES } from "../../lib/web/robots.ts";
import { type JoinedSites, originOf, parseUrl, siteOf } from "../../lib/web/url.ts";
import type { RobotsCopies } from "./robots-copies.ts";
import {
  answerFor,
  readFailure,
  afterRead,
  dependsOnNetworks,
  exchangesFor,
  sameNetworks,
  interpretStatus,
  NO_RULES,
  REDIRECTS,
  type RobotsCopy,
  type RobotsMemory,
  withExchanges,
} from "./robots-state.ts";

export interface RobotsDeps {
  readonly egress: Egress;
  readonly clock: Clock;
  /** The name that robots.txt addresses this crawler by. */
  readonly crawler_name: string;
  /** The User-Agent this crawler declares when it reads robots.txt. */
  readonly user_agent: string;
  /** How the robots.txt of a site is requested that is not asked over `egress`; null: over it. Default: null. */
  readonly exchangeFor?: (site: string) => Egress["exchange"] | null;
  /** Hosts that the operator counts as one site. */
  readonly joined?: JoinedSites;
  /** Where fetches of this process find the copies that checks are answered by. Default: they ask. */
  readonly copies?: Pick<RobotsCopies, "onAnswered" | "onRead">;
  /** Called when a request is sent. Must not wait or throw. */
  readonly onRequestSent?: (sent: RequestSent) => void;
}

/** RFC 9309, section 2.3.1.2: at least five; with one more the file counts as unavailable, so there are no rules. */
const MAX_REDIRECTS = 5;
/** All exchanges of one read together, without the wait for slots. */
const MAX_READ_MS = 15_000;
const MAX_CONNECT_MS = 10_000;
/** A read waits for a slot as long as a synchronous fetch does. */
const SLOT_WAIT_MS = 15_000;
/** With so many checks waiting for one read the domain is busy; fewer than the runtime's 500 open asks of one actor. */
const MAX_PENDING_CHECKS = 400;
/** More of a file is not kept in an archive: its exchanges are part of the stored state and of answers. */
const MAX_KEPT_BYTES = 65_536;
/** Beyond it nothing is kept of them. */
const MAX_EXCHANGES_CHARS = 200_000;

interface PendingCheck {
  readonly request: RobotsRequest;
  readonly reply: ReplyTo<RobotsAnswer>;
}

/** The read that answers several checks: in the name of the check that can wait longest for a slot. */
const RULES: CoalescerRules<PendingCheck, RobotsRequest> = {
  max_runs: 1,
  max_callers: MAX_PENDING_CHECKS,
  serves: (request, check) => check.request.archive !== true || request.archive === true,
  requestFor: (checks) => ({
    ...checks.toSorted((a, b) => b.request.wait_max_ms - a.request.wait_max_ms)[0]!.request,
    ...(checks.some(({ request }) => request.archive === true) && { archive: true }),
  }),
};

interface State {
  readonly epoch: number;
  memory: RobotsMemory;
  /** Checks that wait for a read. Not stored: callers whose actor moved to another node ask again. */
  pending: Coalescer<PendingCheck, RobotsRequest>;
}

export function robotsActor(deps: RobotsDeps) {
  const { crawler_name } = deps;
  /**
   * By actor: rules on their way from the read that parsed them to the turn that stores them. A file may be longer
   * than a message, and the result of a read never leaves this process.
   */
  const parsed = new Map<string, RobotsRules>();
  /** By actor, in the same way: the exchanges of a read that keeps them. */
  const logs = new Map<string, ExchangeLog>();

  function startRead(turn: Turn<State, typeof Robots.own>, { request }: Run<RobotsRequest>): void {
    const { key } = turn;
    const { fetch_id, caller, wait_max_ms, networks } = request;
    const log = request.archive === true ? new ExchangeLog() : null;
    if (log) logs.set(key, log);
    turn.pipeToSelf("loaded", (ask, work) =>
      readRobots(deps, ask, work, {
        ...partsOf(key),
        fetch_id,
        caller,
        networks,
        wait_max_ms: Math.min(wait_max_ms, SLOT_WAIT_MS),
        onRules: (rules) => parsed.set(key, rules),
        log,
      }),
    );
  }

  return actor(Robots)<State, RobotsCopy | null>({
    persist: (state) => state.memory.copy,
    activate(snapshot, { key, now_ms, epoch }) {
      parsed.delete(key);
      logs.delete(key);
      const own = snapshot?.crawler_name === crawler_name ? snapshot : null;
      // A copy from a node whose clock is ahead would stay fresh for longer.
      const copy = own && own.read_at_ms > now_ms ? { ...own, read_at_ms: now_ms } : own;
      return { epoch, memory: { copy, failure: null }, pending: emptyCoalescer() };
    },
    passivate_after_ms: 10 * 60_000,
    on: {
      check(turn, request) {
        const { epoch, memory } = turn.state;
        const answer = answerTo(memory, turn.key, request, turn.now_ms);
        if (answer && !lacksExchanges(memory, request, answer)) {
          if (memory.copy) deps.copies?.onAnswered(turn.key, epoch, memory.copy);
          return answer;
        }
        const check = { request, reply: turn.deferReply<RobotsAnswer>() };
        const joined = join(turn.state.pending, RULES, check);
        if (!joined) {
          const retry_after_s = SLOT_WAIT_MS / 1_000;
          turn.answer(check.reply, { kind: "refused", error: "domain_busy", retry_after_s });
          return DEFERRED;
        }
        turn.state.pending = joined.coalescer;
        if (joined.started) startRead(turn, joined.started);
        return DEFERRED;
      },

      loaded(turn, result) {
        const { state, key, now_ms } = turn;
        const rules = parsed.get(key) ?? NO_RULES;
        parsed.delete(key);
        const log = logs.get(key);
        logs.delete(key);
        const [read] = state.pending.runs;
        const networks = read?.request.networks ?? null;
        const isForNetworks = dependsOnNetworks(result);
        const isServed = ({ request }: PendingCheck): boolean =>
          (!isForNetworks || sameNetworks(request.networks ?? null, networks)) &&
          (result.kind !== "no_slot" || isRefusalFor(request, result, read?.request.caller));
        const completed = read && complete(state.pending, RULES, read.run, isServed);
        assert(completed, "A read ends once");
        state.pending = completed.coalescer;
        for (const started of completed.started) startRead(turn, started);
        if (result.kind === "no_slot") {
          const { error, retry_after_s } = result;
          for (const { reply } of completed.served)
            turn.answer(reply, { kind: "refused", error, retry_after_s });
          return;
        }

        const previous_delay_ms = state.memory.copy?.rules.crawl_delay_ms ?? null;
        const is_private = result.kind === "read" && result.is_private === true;
        state.memory = afterRead(state.memory, result, rules, crawler_name, now_ms, { networks, is_private });
        deps.copies?.onRead(key);
        if (log) state.memory = withExchanges(state.memory, jsonOf(log));
        const { site, origin } = partsOf(key);
        const crawl_delay_ms = state.memory.copy?.rules.crawl_delay_ms ?? null;
        if (result.kind === "read" && (previous_delay_ms !== null || crawl_delay_ms !== null)) {
          // Told before the answers are, so that the page waits as long as the rules just read ask for.
          turn.tell(Domain, site, "setCrawlDelay", { origin, crawl_delay_ms });
        }
        for (const { request, reply } of completed.served) {
          const answer = answerTo(state.memory, key, request, now_ms);
          assert(answer, "The rules just read answer every check");
          turn.answer(reply, answer);
        }
      },
    },
  });
}

/** robots.txt is asked for by the service itself: nothing of the request is its caller's. */
const OWN_OF_NOBODY = { own_fields: new Set<string>(), own_bytes: 0, has_session: false };

/** Whether a read that got no slot refuses this check as well; otherwise the check gets a read of its own. */
function isRefusalFor(
  { caller, wait_max_ms }: RobotsRequest,
  refusal: Extract<RobotsReadResult, { kind: "no_slot" }>,
  reader: SlotCaller | undefined,
): boolean {
  switch (refusal.error) {
    case "domain_busy":
    case "politeness_timeout":
      // It may wait longer for a slot than the read did.
      return Math.min(wait_max_ms, SLOT_WAIT_MS) <= refusal.wait_max_ms;
    case "domain_unavailable":
      // The skip may be that of another project.
      return caller?.project === reader?.project && caller?.is_open === reader?.is_open;
    case "domain_dead":
      return true;
  }
}

function partsOf(key: string): { readonly site: string; readonly origin: string } {
  const space = key.indexOf(" ");
  return { site: key.slice(0, space), origin: key.slice(space + 1) };
}

function answerTo(
  memory: RobotsMemory,
  key: string,
  { url, networks: reach, archive }: RobotsRequest,
  now_ms: number,
): RobotsAnswer | null {
  const networks = reach ?? null;
  const answer = answerFor(memory, urlOf(key, url), now_ms, networks);
  if (archive !== true || answer?.kind !== "allowed") return answer;
  const exchanges_json = exchangesFor(memory, networks);
  return exchanges_json ? { ...answer, exchanges_json } : answer;
}

/** Whether the file must be read anew for an archive. */
const lacksExchanges = (
  memory: RobotsMemory,
  { archive, networks }: RobotsRequest,
  answer: RobotsAnswer,
): boolean =>
  archive === true && answer.kind === "allowed" && exchangesFor(memory, networks ?? null) === undefined;

/** Null: there are none, or they are too long. */
function jsonOf({ kept }: ExchangeLog): string | null {
  const text = JSON.stringify(kept.map((exchange) => ({ ...exchange, is_shared: true })));
  return kept.length === 0 || text.length > MAX_EXCHANGES_CHARS ? null : text;
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
  readonly caller: SlotCaller | undefined;
  readonly networks: readonly string[] | undefined;
  readonly wait_max_ms: number;
  readonly onRules: (rules: RobotsRules) => void;
  /** Null: its exchanges are not kept. */
  readonly log: ExchangeLog | null;
}

/** Reads /robots.txt and follows its redirects; each request has a slot of the site it goes to. */
async function readRobots(
  deps: RobotsDeps,
  ask: ActorClient,
  work: WorkContext,
  request: ReadRequest,
): Promise<RobotsReadResult> {
  const { clock } = deps;
  const { site, origin, caller, wait_max_ms, log } = request;
  const first_url = new URL("/robots.txt", origin);
  let url = first_url;
  let { networks } = request;
  const run_id = `${work.epoch}.${Math.floor(clock.now())}`;
  let remaining_ms = MAX_READ_MS;
  for (let hop = 0; ; hop++) {
    const host = url.hostname;
    const target_site = host === first_url.hostname ? site : siteOf(host, deps.joined);
    const fetch_id = `${request.fetch_id}.${hop}`;
    // In the synchronous lane also for batch work: it is one request a day, and other checks may wait for it.
    const asked_ms = clock.mono();
    const redirected = target_site !== site;
    const target = originOf(url);
    const slot = await ask(
      Domain,
      target_site,
      "acquire",
      // A read is over before its first report would be missed.
      {
        fetch_id,
        run_id,
        origin: target,
        ...(caller && { caller }),
        lane: "sync",
        redirected,
        reports: redirected,
        wait_max_ms,
        ...(networks && { networks: [...networks] }),
      },
      { timeout_ms: wait_max_ms + SLOT_ANSWER_GRACE_MS },
    ).catch((problem: unknown) => {
      // The slot may be granted all the same, when the domain's store is back.
      const unsent = { fetch_id, run_id, origin: target, status: null, retry_after_s: null };
      ask(Domain, target_site, "release", unsent).catch(() => {});
      throw problem;
    });
    if (slot.kind === "refused") {
      const { error, retry_after_s } = slot;
      if (hop === 0) return { kind: "no_slot", error, retry_after_s, wait_max_ms };
      return { kind: "unreadable", reason: `redirected to "${host}": ${error}` };
    }

    const began_ms = clock.now();
    const void_ms = voidAt(asked_ms, slot.waited_ms);
    let isLost = false;
    const beforeSend = (): boolean => {
      isLost = !work.ownsKey();
      return !isLost && clock.mono() < void_ms;
    };
    const onSent = (): void => {
      // If this message is lost, the domain waits until the slot is released.
      ask(Domain, target_site, "recordSent", { fetch_id, run_id, origin: target }).catch(() => {});
      deps.onRequestSent?.({ domain: target_site, fetch_id, epoch: work.epoch });
    };
    let status: number | null = null;
    let retry_after_s: number | null = null;
    const deadline = new AbortController();
    const timer = clock.at(began_ms + remaining_ms, () => deadline.abort());
    try {
      const other = deps.exchangeFor?.(target_site) ?? null;
      const send = other ?? deps.egress.exchange.bind(deps.egress);
      const exchange = await send({
        url: url.href,
        method: "GET",
        headers: [
          ["User-Agent", deps.user_agent],
          ["Accept", "text/plain,*/*;q=0.5"],
        ],
        signal: AbortSignal.any([work.signal, deadline.signal]),
        ...(networks && { networks }),
        connect_timeout_ms: MAX_CONNECT_MS,
        beforeSend,
        onSent,
      });
      if (isLost) throw new Fault("lease_lost", `Cannot read "${url.href}": another node may hold it`);
      if (exchange.kind === "failed") {
        const problem = deadline.signal.aborted ? "timeout" : exchange.problem;
        return readFailure(problem, exchange.connected);
      }
      log?.begin(
        { url: url.href, method: "GET", sent_ms: began_ms, ...OWN_OF_NOBODY, is_proxied: other !== null },
        exchange,
      );
      const is_private = exchange.is_private === true;
      // A public site that leads on to the operator's network gets nothing there.
      if (!is_private) networks = [];
      status = exchange.status;
      retry_after_s = retryAfterSeconds(exchange.headers.get("retry-after")?.[0], clock.now());
      if (REDIRECTS.has(status)) {
        await log?.endWithFewBytes(exchange);
        exchange.cancel();
        const next = parseUrl(exchange.headers.get("location")?.[0] ?? "", url);
        // A redirect to nowhere, or one too many, counts as no file.
        if (!next || !exchange.headers.has("location") || hop === MAX_REDIRECTS)
          return { kind: "read", status, is_private };
        url = next;
        continue;
      }
      switch (interpretStatus(status)) {
        case "rules": {
          // A byte is a character; one byte more shows that the file goes on.
          const start = await firstBytes(exchange.body, MAX_ROBOTS_BYTES + 1);
          log?.end((kept) => withInlineBody(kept, start, MAX_KEPT_BYTES));
          request.onRules(parseRobots(start.toString("latin1"), deps.crawler_name));
          return { kind: "read", status, is_private };
        }
        case "none":
          await log?.endWithFewBytes(exchange);
          exchange.cancel();
          return { kind: "read", status, is_private };
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
      // A slot that is not released lapses; the read counts all the same.
      const released = { fetch_id, run_id, origin: target, status, retry_after_s };
      await ask(Domain, target_site, "release", released).catch(() => {});
    }
  }
}
