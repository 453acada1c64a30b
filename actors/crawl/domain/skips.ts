/**
 * The skips of the origins of one domain: which failed fetches close an origin (scheme, host, port), for which callers, and for how long.
 * Pure functions.
 *
 * Failures in a row are counted for each project: the third closes the origin for that project. It is closed for all projects when two
 * projects have three each, or when the address that last succeeded fails three times: the address of the origin that a fetch of any
 * project last had an answer from. For the latter two only fetches count that left every configured route to the site open: with more
 * routes another project may well be served. Any success ends all that is said here of its origin.
 */
import { hash } from "node:crypto";
import type { FetchOutcome, SkipView, SlotCaller, SlotRequest } from "../../../schemas/domain.ts";
import { normaliseUrl, originOf } from "../../lib/web/url.ts";

/** Fetches of one project to one origin that failed in a row. */
export interface FailureRow {
  readonly origin: string;
  readonly project: string;
  readonly failures: number;
  /** How many of these fetches left no route out. */
  readonly open_failures: number;
  /** The ids of the last of these fetches, because a message may arrive twice. */
  readonly fetch_ids: readonly string[];
  readonly failed_at_ms: number;
  readonly skip_until_ms: number;
}

/** The skip of one origin for all projects, which lasts longer each time until the origin answers. */
export interface Closure {
  readonly origin: string;
  /** How often it was closed without a success since. */
  readonly times: number;
  /** Open fetches that failed since the last success, as the operator sees it. */
  readonly failures: number;
  readonly skip_until_ms: number;
  /** The projects whose fetches failed: the probe is a fetch of another project. */
  readonly projects: readonly string[];
  /** The fetch that may try the origin although it is skipped; null: none. */
  readonly probe: string | null;
  /** From when on the next fetch of another project is the probe. */
  readonly probe_from_ms: number;
}

/** The address of an origin that last succeeded, and how many open fetches of it have failed since. */
export interface LastSuccess {
  readonly origin: string;
  /** A digest. */
  readonly address: string;
  readonly failures: number;
}

/** The stored outcomes of a domain's fetches. The last in each list are the latest. */
export interface Outcomes {
  readonly failure_rows: readonly FailureRow[];
  readonly closures: readonly Closure[];
  readonly successes: readonly LastSuccess[];
}

export const NO_OUTCOMES: Outcomes = { failure_rows: [], closures: [], successes: [] };

/** The part of a slot request that decides whether its origin is skipped. */
export type SkipRequest = Pick<SlotRequest, "caller" | "origin" | "networks">;

const MINUTE_MS = 60_000;

/** Three failed fetches in a row close the origin; each failure after that closes it for longer. */
const FAILURES_TO_SKIP = 3;
const PROJECTS_TO_CLOSE = 2;
const SKIPS_MS = [10 * MINUTE_MS, 30 * MINUTE_MS, 120 * MINUTE_MS, 360 * MINUTE_MS] as const;
/** A skip of all projects is tested by one fetch of another project, no sooner than this after the last test. */
const PROBE_EVERY_MS = SKIPS_MS[0];
const MAX_REMEMBERED = 8;
/** With more rows the domain forgets the one that failed longest ago, first of those that skip nothing. */
const MAX_ROWS = 48;
/** With more origins that are closed for all, the one that is open soonest is forgotten. */
const MAX_CLOSURES = 16;
/** The most origins whose last successful address is remembered; the one that answered longest ago is forgotten first. */
const MAX_SUCCESSES = 32;

const skipFor = (times: number): number => SKIPS_MS[Math.min(times, SKIPS_MS.length) - 1]!;

/** Until when requests of this caller are refused; null when they are not. */
export function skippedUntil(
  { failure_rows, closures }: Outcomes,
  { caller, origin }: SkipRequest,
  now_ms: number,
): number | null {
  const closure = closures.find((each) => each.origin === origin);
  const row = failure_rows.find((each) => each.origin === origin && each.project === caller?.project);
  const isProbe = closure !== undefined && closure.probe !== null && closure.probe === caller?.fetch_id;
  const until_ms = Math.max(isProbe ? 0 : (closure?.skip_until_ms ?? 0), row?.skip_until_ms ?? 0);
  return until_ms > now_ms ? until_ms : null;
}

/** The closures after this request has become the probe of a skip of all projects, if it may: else the same. */
export function withProbe(
  closures: readonly Closure[],
  { caller, origin }: SkipRequest,
  now_ms: number,
): readonly Closure[] {
  if (!caller?.is_open) return closures;
  const skipped = closures.find((each) => each.origin === origin && each.skip_until_ms > now_ms);
  const mayProbe = skipped && now_ms >= skipped.probe_from_ms && !skipped.projects.includes(caller.project);
  if (!mayProbe) return closures;
  const probed = { ...skipped, probe: caller.fetch_id, probe_from_ms: now_ms + PROBE_EVERY_MS };
  return closures.map((each) => (each === skipped ? probed : each));
}

/** The outcomes after a fetch is over. The same object when it says nothing new. */
export function afterOutcome(outcomes: Outcomes, outcome: FetchOutcome, now_ms: number): Outcomes {
  switch (outcome.result) {
    case "abandoned":
      return outcomes;
    case "answered":
      return afterSuccess(outcomes, outcome.url);
    case "every_route_failed":
      return afterFailure(outcomes, outcome, now_ms);
  }
}

/** Every count of the origin begins anew. */
function afterSuccess(outcomes: Outcomes, url: string): Outcomes {
  const parsed = new URL(url);
  const [origin, address] = [originOf(parsed), digestOf(parsed)];
  const last = outcomes.successes.at(-1);
  const isLast = last?.origin === origin && last.address === address && last.failures === 0;
  const others = withoutOrigin(outcomes.successes, origin);
  const next = {
    failure_rows: withoutOrigin(outcomes.failure_rows, origin),
    closures: withoutOrigin(outcomes.closures, origin),
    successes: isLast
      ? outcomes.successes
      : [...others, { origin, address, failures: 0 }].slice(-MAX_SUCCESSES),
  };
  return isLast && next.failure_rows === outcomes.failure_rows && next.closures === outcomes.closures
    ? outcomes
    : next;
}

/** The list without this origin; the list itself where it has none of it. */
const withoutOrigin = <One extends { readonly origin: string }>(
  list: readonly One[],
  origin: string,
): readonly One[] =>
  list.some((each) => each.origin === origin) ? list.filter((each) => each.origin !== origin) : list;

function afterFailure(outcomes: Outcomes, { caller, url }: FetchOutcome, now_ms: number): Outcomes {
  const { fetch_id, project, is_open } = caller;
  const origin = originOf(url);
  const row = outcomes.failure_rows.find((each) => each.origin === origin && each.project === project);
  if (row?.fetch_ids.includes(fetch_id)) return outcomes;
  const closure = outcomes.closures.find((each) => each.origin === origin);
  if (closure?.probe === fetch_id) {
    // Another project fails as well; the skip ends when it would have ended.
    const failed = { ...closure, probe: null, projects: withLast(closure.projects, project) };
    return { ...outcomes, closures: [...withoutOrigin(outcomes.closures, origin), failed] };
  }
  // A fetch that began before the skip says nothing new: two at once must not take two steps.
  if (skippedUntil(outcomes, { caller, origin }, now_ms) !== null) return outcomes;

  const rows = [
    ...outcomes.failure_rows.filter((each) => each !== row),
    failedOnce(row ?? { ...NO_FAILURES, origin, project }, caller, now_ms),
  ];
  const failure_rows = limitedRows(rows, now_ms);
  if (!is_open) return { ...outcomes, failure_rows };
  const address = digestOf(new URL(url));
  const successes = outcomes.successes.map((each) =>
    each.origin === origin && each.address === address ? { ...each, failures: each.failures + 1 } : each,
  );
  const opened_ms = closure?.skip_until_ms ?? -Infinity;
  // Projects that have seen it fail since it was closed for all.
  const seen = failure_rows.filter(
    (each) =>
      each.origin === origin && each.open_failures >= FAILURES_TO_SKIP && each.failed_at_ms >= opened_ms,
  );
  const last = successes.find((each) => each.origin === origin);
  const isClosed =
    seen.length >= PROJECTS_TO_CLOSE || (last?.address === address && last.failures >= FAILURES_TO_SKIP);
  if (!isClosed) return { ...outcomes, failure_rows, successes };
  const times = (closure?.times ?? 0) + 1;
  const closed: Closure = {
    origin,
    times,
    failures: failure_rows.reduce((sum, each) => sum + (each.origin === origin ? each.open_failures : 0), 0),
    skip_until_ms: now_ms + skipFor(times),
    projects: failure_rows
      .filter((each) => each.origin === origin && each.open_failures > 0)
      .map((each) => each.project)
      .slice(-MAX_REMEMBERED),
    probe: null,
    probe_from_ms: now_ms + PROBE_EVERY_MS,
  };
  const closures = limitedClosures([...withoutOrigin(outcomes.closures, origin), closed]);
  return { failure_rows, successes, closures };
}

const NO_FAILURES: Omit<FailureRow, "project" | "origin"> = {
  failures: 0,
  open_failures: 0,
  fetch_ids: [],
  failed_at_ms: 0,
  skip_until_ms: 0,
};

function failedOnce(row: FailureRow, { fetch_id, is_open }: SlotCaller, now_ms: number): FailureRow {
  const failures = row.failures + 1;
  return {
    ...row,
    failures,
    open_failures: row.open_failures + (is_open ? 1 : 0),
    fetch_ids: withLast(row.fetch_ids, fetch_id),
    failed_at_ms: now_ms,
    skip_until_ms: failures < FAILURES_TO_SKIP ? 0 : now_ms + skipFor(failures - FAILURES_TO_SKIP + 1),
  };
}

const withLast = (texts: readonly string[], text: string): readonly string[] =>
  [...texts.filter((each) => each !== text), text].slice(-MAX_REMEMBERED);

/** The digest of the normalised address, in 11 characters: addresses may be long, and 64 bits are not guessed. */
const digestOf = (url: URL): string =>
  hash("sha256", normaliseUrl(url), "buffer").subarray(0, 8).toString("base64url");

function limitedRows(rows: readonly FailureRow[], now_ms: number): readonly FailureRow[] {
  if (rows.length <= MAX_ROWS) return rows;
  const isSkip = ({ skip_until_ms }: FailureRow): number => Number(skip_until_ms > now_ms);
  // Not the last, which is what was just seen.
  const [forgotten] = rows
    .slice(0, -1)
    .toSorted((a, b) => isSkip(a) - isSkip(b) || a.failed_at_ms - b.failed_at_ms);
  return rows.filter((row) => row !== forgotten);
}

function limitedClosures(closures: readonly Closure[]): readonly Closure[] {
  if (closures.length <= MAX_CLOSURES) return closures;
  const [forgotten] = closures.toSorted((a, b) => a.skip_until_ms - b.skip_until_ms);
  return closures.filter((closure) => closure !== forgotten);
}

/** Without the address of this origin that last succeeded. */
export const withoutSuccess = (
  successes: readonly LastSuccess[],
  origin: string | null,
): readonly LastSuccess[] => (origin === null ? successes : withoutOrigin(successes, origin));

/** Stored outcomes at activation, perhaps on a node with another clock: no skip lasts longer than its rule allows. */
export const restoreOutcomes = (
  { failure_rows, closures, successes }: Outcomes,
  now_ms: number,
): Outcomes => ({
  failure_rows: failure_rows.map((row) => ({
    ...row,
    failed_at_ms: Math.min(row.failed_at_ms, now_ms),
    skip_until_ms: Math.min(row.skip_until_ms, now_ms + SKIPS_MS.at(-1)!),
  })),
  closures: closures.map((closure) => ({
    ...closure,
    skip_until_ms: Math.min(closure.skip_until_ms, now_ms + SKIPS_MS.at(-1)!),
    probe_from_ms: Math.min(closure.probe_from_ms, now_ms + PROBE_EVERY_MS),
  })),
  successes,
});

/** For an operator, what holds for all projects first. */
export function skipViews({ failure_rows, closures }: Outcomes, now_ms: number): SkipView[] {
  const text = (until_ms: number) => (until_ms > now_ms ? new Date(until_ms).toISOString() : null);
  return [
    ...closures.map(({ origin, failures, skip_until_ms }) => ({
      origin,
      project: null,
      failures,
      skip_until: text(skip_until_ms),
    })),
    ...failure_rows.map(({ origin, project, failures, skip_until_ms }) => ({
      origin,
      project,
      failures,
      skip_until: text(skip_until_ms),
    })),
  ];
}
