/**
 * Admission of one request to an origin, the first or a redirect hop: this node can read and store what comes, robots.txt
 * allows it (by the fresh copy of this process, or the Robots actor is asked), the Domain actor grants a slot, and this node still owns the key. Every granted slot is released once, whatever
 * comes of the request.
 */
import { Fault } from "../../../cluster/ports/fault.ts";
import {
  Domain,
  REPORT_EVERY_MS,
  Robots,
  type RobotsAnswer,
  SLOT_ANSWER_GRACE_MS,
  voidAt,
} from "../../../schemas/domain.ts";
import { inScope, OUT_OF_SCOPE } from "../../lib/web/site-scope.ts";
import type { Admission, AdmitOptions, HopRefusal, TransportRequest } from "../../lib/web/transport.ts";
import { originOf, siteOf } from "../../lib/web/url.ts";
import { workFields } from "../../lib/work-fields.ts";
import { noRoom, type PipelineDeps, type RunState } from "./run.ts";

/** The part of a run that admission needs for a request. */
export interface AdmissionRun extends Pick<
  RunState,
  "ask" | "work" | "signal" | "caller" | "site" | "endsAt" | "began_ms" | "hops" | "isLost" | "delegated_url"
> {
  readonly request: Pick<RunState["request"], "fetch_id" | "lane" | "archive" | "is_traced">;
  /** Where the exchanges with robots.txt go, by origin. Default: they are not kept. */
  readonly robots_exchanges?: RunState["robots_exchanges"];
  /** The longest that it waits for a slot. Default: by its lane. */
  readonly slot_wait_ms?: number;
  /** Allowed private networks that it may reach. Default: what the operator allows to the service itself. */
  readonly networks?: readonly string[] | undefined;
}

/** The longest that a synchronous caller and a batch item wait in a domain's queue. */
const SLOT_WAIT_MS = { sync: 15_000, batch: 60_000 } as const;

/** How long a slot waits for a node that has enough to do; then it is given back, for a caller on another node. */
const MAX_HELD_MS = 500;

/** The refusal of a hop to a reserved host. It ends the route; no client sees it. */
export const DELEGATED = "delegated";

const LEADS_OUT = "The page leads to an address that does not belong to the crawl";

type AdmissionDeps = Pick<
  PipelineDeps,
  "clock" | "log" | "metrics" | "joined" | "onRequestSent" | "reservedHosts" | "backlog" | "robotsByCopy"
>;

/** Asks for one request. Throws Fault lease_lost when another node may own the key. */
export async function admit(
  deps: AdmissionDeps,
  run: AdmissionRun,
  url: string,
  { is_public_only = false, is_robots_only = false }: AdmitOptions = {},
): Promise<Admission> {
  const networks = is_public_only ? [] : run.networks;
  if (is_robots_only) {
    return (
      (await refusedByRobots(deps, run, nextHop(deps, run, url, networks), maxWait(deps, run))) ?? ALLOWED
    );
  }
  if (deps.reservedHosts?.isReserved(url)) {
    run.delegated_url = url;
    return refuse(DELEGATED, "egress");
  }
  const { backlog } = deps;
  if (!backlog) return admitBySlot(deps, run, { url, networks }, maxWait(deps, run));
  const sender = { project: run.caller.project, lane: run.request.lane };
  const ends_ms = deps.clock.now() + maxWait(deps, run);
  const left_ms = (): number => Math.max(0, ends_ms - deps.clock.now());
  const expected_ms = backlog.expectedWait(sender);
  if (expected_ms > left_ms()) return tooMuchToRead(Math.ceil(expected_ms / 1_000));
  for (let hasWaited = false; ; hasWaited = true) {
    if (!(await backlog.whenOpen(sender, left_ms(), run.signal, hasWaited))) {
      if (!run.work.ownsKey()) throw leaseLost(run.site);
      if (run.signal.aborted) return refuse("timeout", "politeness");
      return tooMuchToRead();
    }
    const admission = await admitBySlot(deps, run, { url, networks }, left_ms());
    if (admission.kind === "refused") return admission;
    // The node may have got enough to do while the run waited for its slot, which it keeps for a while.
    const isOpen = await backlog.whenOpen(sender, Math.min(MAX_HELD_MS, left_ms()), run.signal, true);
    const onEnd = isOpen ? backlog.tryLeave(sender) : null;
    if (onEnd) {
      const release = (answer: ReleaseAnswer): void => {
        onEnd();
        admission.release(answer);
      };
      return { ...admission, release };
    }
    admission.release({ status: null, retry_after_s: null });
  }
}

/** An admission that refuses what is out of the request's scope, before anything is asked of another site. */
export function withinScope(
  { request: { scope } }: Pick<RunState, "request">,
  { joined }: Pick<AdmissionDeps, "joined">,
  enter: TransportRequest["admit"],
): TransportRequest["admit"] {
  if (scope === undefined) return enter;
  const isInScope = inScope(scope, joined);
  return async (url, options) =>
    isInScope(new URL(url)) ? enter(url, options) : refuse(OUT_OF_SCOPE, "egress", { detail: LEADS_OUT });
}

const tooMuchToRead = (retry_after_s?: number): Admission => ({
  kind: "refused",
  refusal: noRoom("This node has more pages to read than it reads in a second", retry_after_s),
});

const maxWait = ({ clock }: AdmissionDeps, run: AdmissionRun): number =>
  Math.max(0, Math.min(run.slot_wait_ms ?? SLOT_WAIT_MS[run.request.lane], run.endsAt() - clock.now()));

const leaseLost = (site: string): Fault =>
  new Fault("lease_lost", `Cannot fetch from "${site}": another node may hold it`);

/** An address that robots.txt allows, without a slot: it is not sent with. */
const ALLOWED: Admission = {
  kind: "admitted",
  beforeSend: () => false,
  onSent: () => {},
  release: () => {},
};

interface AskedHop {
  readonly url: string;
  readonly site: string;
  readonly origin: string;
  readonly reach: { readonly networks: string[] } | undefined;
  readonly fetch_id: string;
}

function nextHop(
  { joined }: AdmissionDeps,
  run: AdmissionRun,
  url: string,
  networks: AdmissionRun["networks"],
): AskedHop {
  return {
    url,
    site: siteOf(new URL(url).hostname, joined),
    origin: originOf(url),
    reach: networks && { networks: [...networks] },
    fetch_id: `${run.request.fetch_id}.${++run.hops}`,
  };
}

/**
 * The answer by the fresh copy of this process. Null: the Robots actor is asked, which may be on another node where it is of another site;
 * for a trace, which has the messages of a fetch, it is asked always.
 */
function robotsHere(
  { robotsByCopy, clock }: AdmissionDeps,
  { request: { archive, is_traced }, work, site }: AdmissionRun,
  hop: AskedHop,
): RobotsAnswer | null {
  if (archive || is_traced || hop.site !== site || !work.ownsKey()) return null;
  const request = { url: new URL(hop.url), networks: hop.reach?.networks };
  return robotsByCopy?.(robotsKey(hop), work.epoch, request, clock.now()) ?? null;
}

const robotsKey = ({ site, origin }: AskedHop): string => `${site} ${origin}`;

/** Null: robots.txt allows it. */
async function refusedByRobots(
  deps: AdmissionDeps,
  run: AdmissionRun,
  hop: AskedHop,
  wait_max_ms: number,
): Promise<Admission | null> {
  const { ask, caller, robots_exchanges } = run;
  const { lane, archive } = run.request;
  const { url, origin, reach, fetch_id } = hop;
  const robots = {
    url,
    fetch_id: `${fetch_id}r`,
    caller,
    lane,
    wait_max_ms,
    ...reach,
    ...(archive && { archive }),
  };
  const rules = robotsHere(deps, run, hop) ?? (await ask(Robots, robotsKey(hop), "check", robots));
  switch (rules.kind) {
    case "allowed":
      if (rules.exchanges_json !== undefined) robots_exchanges?.set(origin, rules.exchanges_json);
      return null;
    case "disallowed":
      return refuse("robots_disallowed", "robots", { reason: rules.reason, detail: rules.detail });
    case "blocked":
      return refuse("blocked_destination", "egress");
    case "refused":
      return refuse(rules.error, "politeness", { retry_after_s: rules.retry_after_s });
  }
}

async function admitBySlot(
  deps: AdmissionDeps,
  run: AdmissionRun,
  { url, networks }: { readonly url: string; readonly networks: AdmissionRun["networks"] },
  wait_max_ms: number,
): Promise<Admission> {
  const { ask, request, signal, work, caller } = run;
  const { lane } = request;
  const hop = nextHop(deps, run, url, networks);
  const { site, origin, reach, fetch_id } = hop;
  const refused = await refusedByRobots(deps, run, hop, wait_max_ms);
  if (refused !== null) return refused;
  const asked_ms = deps.clock.mono();
  const run_id = runIdOf(run);
  const redirected = site !== run.site;
  const slot = await ask(
    Domain,
    site,
    "acquire",
    {
      fetch_id,
      run_id,
      origin,
      caller,
      lane,
      redirected,
      reports: redirected,
      wait_max_ms,
      ...reach,
    },
    { timeout_ms: wait_max_ms + SLOT_ANSWER_GRACE_MS },
  ).catch((problem: unknown) => {
    // The slot may be granted all the same, when the domain's store is back.
    releaseSlot(deps, run, { site, origin, fetch_id }, { status: null, retry_after_s: null });
    throw problem;
  });
  if (slot.kind === "granted")
    deps.metrics.observe("trawl_domain_slot_wait_seconds", {}, slot.waited_ms / 1_000);
  if (slot.kind === "refused") return refuse(slot.error, "politeness", { retry_after_s: slot.retry_after_s });

  const void_ms = voidAt(asked_ms, slot.waited_ms);
  const admission = admitted(deps, run, { site, origin, fetch_id, void_ms, redirected });
  const ownsKey = work.ownsKey();
  if (ownsKey && !signal.aborted) return admission;
  admission.release({ status: null, retry_after_s: null });
  if (!ownsKey) throw leaseLost(site);
  return refuse("timeout", "politeness");
}

interface Grant {
  readonly site: string;
  readonly origin: string;
  readonly fetch_id: string;
  /** On the monotonic clock: the grant is void from here on. */
  readonly void_ms: number;
  /** The domain's node may be another, which cannot know that this one has died. */
  readonly redirected: boolean;
}

/** The hooks of an admitted request. */
function admitted(
  deps: AdmissionDeps,
  run: AdmissionRun,
  grant: Grant,
): Extract<Admission, { kind: "admitted" }> {
  const { clock, onRequestSent } = deps;
  const { site, origin, fetch_id, void_ms, redirected } = grant;
  const { ask, work, signal } = run;
  const reporting = redirected ? reportRegularly(deps, run, grant) : null;
  let isSending = false;
  const onSent = (): void => {
    isSending = false;
    ask(Domain, site, "recordSent", { fetch_id, run_id: runIdOf(run), origin }).catch(
      onUndelivered(deps, site, fetch_id),
    );
    onRequestSent?.({ domain: site, fetch_id, epoch: work.epoch });
  };
  return {
    kind: "admitted",
    beforeSend() {
      run.isLost ||= !work.ownsKey();
      isSending = !run.isLost && !signal.aborted && clock.mono() < void_ms;
      return isSending;
    },
    onSent,
    release(answer) {
      reporting?.[Symbol.dispose]();
      // The request may have been sent, and broken off before the transport could say so.
      if (isSending) onSent();
      releaseSlot(deps, run, grant, answer);
    },
  };
}

/** Tells the domain that the request goes on, until it is released or its run ends. */
function reportRegularly(
  { clock }: AdmissionDeps,
  run: AdmissionRun,
  { site, fetch_id }: Pick<Grant, "site" | "fetch_id">,
): Disposable {
  const message = { fetch_id, run_id: runIdOf(run) };
  const arm = (): Disposable => clock.at(clock.now() + REPORT_EVERY_MS, report);
  let timer = arm();
  function report(): void {
    if (run.signal.aborted) return;
    // The next one is as good.
    run.ask(Domain, site, "continues", message).catch(() => {});
    timer = arm();
  }
  return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
}

type ReleaseAnswer = Parameters<Extract<Admission, { kind: "admitted" }>["release"]>[0];

const runIdOf = ({ work, began_ms }: AdmissionRun): string => `${work.epoch}.${Math.floor(began_ms)}`;

function releaseSlot(
  deps: AdmissionDeps,
  run: AdmissionRun,
  { site, origin, fetch_id }: Pick<Grant, "site" | "origin" | "fetch_id">,
  { status, retry_after_s }: ReleaseAnswer,
): void {
  const message = { fetch_id, run_id: runIdOf(run), origin, status, retry_after_s };
  run.ask(Domain, site, "release", message).catch(onUndelivered(deps, site, fetch_id));
}

/** A slot that is not released lapses; the domain is only slower for it. */
const onUndelivered =
  ({ log }: AdmissionDeps, domain: string, fetch_id: string) =>
  (problem: unknown): void =>
    log.warn("Cannot release a slot", { ...workFields(fetch_id), domain, problem: String(problem) });

/** The refusal of a hop; its reason is the error where nothing more is known. */
function refuse(error: string, step: HopRefusal["step"], more: Partial<HopRefusal> = {}): Admission {
  return {
    kind: "refused",
    refusal: { error, step, reason: error, retry_after_s: null, detail: null, ...more },
  };
}
