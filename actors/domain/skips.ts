/**
 * The skips of one domain: which failed fetches close it, for which callers, and for how long. Pure functions.
 *
 * Failures in a row are counted by scope. A fetch that left every configured route to the site open counts for all
 * projects. A fetch of a caller that shut a route out, or had no budget for one, counts for the caller's project only:
 * another project, with more routes, may well be served. An origin with a port of its own has scopes of its own.
 */
import type { FetchOutcome, SkipView, SlotCaller, SlotRequest } from "../../schemas/domain.ts";

/** Failed fetches in a row of one scope. */
export interface FailureRow {
  /** Null: the fetches of all projects that leave no route out. */
  readonly project: string | null;
  /** Null: the domain itself. */
  readonly own_origin: string | null;
  readonly failures: number;
  /** Of the last of them, because a message may arrive twice. */
  readonly fetch_ids: readonly string[];
  /** The projects of the last of them: the probe is a fetch of another project. */
  readonly projects: readonly string[];
  readonly failed_at_ms: number;
  readonly skip_until_ms: number;
  /** The fetch that may try the site although it is skipped; null: none. */
  readonly probe: string | null;
  /** From when on the next fetch of another project is the probe. */
  readonly probe_from_ms: number;
}

/** What a skip is decided by. */
export type SkipRequest = Pick<SlotRequest, "caller" | "own_origin">;

const MINUTE_MS = 60_000;

/** Three failed fetches in a row close the domain; each failure after that closes it for longer. */
const FAILURES_TO_SKIP = 3;
const SKIPS_MS = [10 * MINUTE_MS, 30 * MINUTE_MS, 120 * MINUTE_MS, 360 * MINUTE_MS] as const;
/** A skip of all projects is tested by one fetch of another project, no sooner than this after the last test. */
const PROBE_EVERY_MS = SKIPS_MS[0];
const MAX_REMEMBERED = 8;
/** With more scopes the domain forgets the failures of a port, then of a project. That of all projects stays. */
const MAX_ROWS = 64;

const isActive = (row: FailureRow, now_ms: number): boolean => row.skip_until_ms > now_ms;

const appliesTo = (row: FailureRow, { caller, own_origin }: SkipRequest): boolean =>
  row.own_origin === (own_origin ?? null) &&
  (row.project === null
    ? row.probe === null || row.probe !== caller?.fetch_id
    : row.project === caller?.project);

/** Until when requests of this caller are refused; null when they are not. */
export function skippedUntil(
  rows: readonly FailureRow[],
  request: SkipRequest,
  now_ms: number,
): number | null {
  const active = rows.filter((row) => isActive(row, now_ms) && appliesTo(row, request));
  return active.length === 0 ? null : Math.max(...active.map((row) => row.skip_until_ms));
}

/** The rows after this request has become the probe of a skip of all projects, if it may: else the same rows. */
export function withProbe(
  rows: readonly FailureRow[],
  { caller, own_origin }: SkipRequest,
  now_ms: number,
): readonly FailureRow[] {
  if (!caller?.is_open) return rows;
  const skipped = rows.find(
    (row) => row.project === null && row.own_origin === (own_origin ?? null) && isActive(row, now_ms),
  );
  const mayProbe = skipped && now_ms >= skipped.probe_from_ms && !skipped.projects.includes(caller.project);
  if (!mayProbe) return rows;
  const probed = { ...skipped, probe: caller.fetch_id, probe_from_ms: now_ms + PROBE_EVERY_MS };
  return rows.map((row) => (row === skipped ? probed : row));
}

/** The rows after a fetch is over. The same array when it says nothing new. */
export function afterOutcome(
  rows: readonly FailureRow[],
  {
    caller,
    own_origin = null,
    result,
  }: Omit<FetchOutcome, "own_origin"> & { readonly own_origin?: string | null | undefined },
  now_ms: number,
): readonly FailureRow[] {
  switch (result) {
    case "abandoned":
      return rows;
    case "answered":
      // The site answers: every scope begins anew.
      return rows.length === 0 ? rows : [];
    case "every_route_failed": {
      const project = caller.is_open ? null : caller.project;
      const row = rows.find((each) => each.project === project && each.own_origin === own_origin);
      if (!row)
        return limited([...rows, failedOnce({ ...NO_FAILURES, project, own_origin }, caller, now_ms)]);
      const next = afterFailure(row, caller, now_ms);
      return next === row ? rows : rows.map((each) => (each === row ? next : each));
    }
  }
}

const NO_FAILURES: Omit<FailureRow, "project" | "own_origin"> = {
  failures: 0,
  fetch_ids: [],
  projects: [],
  failed_at_ms: 0,
  skip_until_ms: 0,
  probe: null,
  probe_from_ms: 0,
};

function afterFailure(row: FailureRow, caller: SlotCaller, now_ms: number): FailureRow {
  if (row.fetch_ids.includes(caller.fetch_id)) return row;
  if (!isActive(row, now_ms)) return failedOnce(row, caller, now_ms);
  // A fetch that began before the skip says nothing new: two at once must not take two steps. A probe shows that another
  // project fails as well; the skip ends when it would have ended.
  return row.probe === caller.fetch_id
    ? { ...row, probe: null, projects: withLast(row.projects, caller.project) }
    : row;
}

function failedOnce(row: FailureRow, caller: SlotCaller, now_ms: number): FailureRow {
  const failures = row.failures + 1;
  const step = Math.min(failures - FAILURES_TO_SKIP, SKIPS_MS.length - 1);
  return {
    ...row,
    failures,
    fetch_ids: withLast(row.fetch_ids, caller.fetch_id),
    projects: withLast(row.projects, caller.project),
    failed_at_ms: now_ms,
    skip_until_ms: step < 0 ? 0 : now_ms + SKIPS_MS[step]!,
    probe: null,
    probe_from_ms: now_ms + PROBE_EVERY_MS,
  };
}

const withLast = (texts: readonly string[], text: string): readonly string[] =>
  [...texts.filter((each) => each !== text), text].slice(-MAX_REMEMBERED);

function limited(rows: readonly FailureRow[]): readonly FailureRow[] {
  if (rows.length <= MAX_ROWS) return rows;
  const rank = ({ own_origin, project }: FailureRow): number =>
    own_origin !== null ? 0 : project !== null ? 1 : 2;
  const [forgotten] = rows.toSorted((a, b) => rank(a) - rank(b) || a.failed_at_ms - b.failed_at_ms);
  return rows.filter((row) => row !== forgotten);
}

/** Stored rows at activation, perhaps on a node with another clock: no skip lasts longer than its rule allows. */
export const restoreRows = (rows: readonly FailureRow[], now_ms: number): readonly FailureRow[] =>
  rows.map((row) => ({
    ...row,
    skip_until_ms: Math.min(row.skip_until_ms, now_ms + SKIPS_MS.at(-1)!),
    probe_from_ms: Math.min(row.probe_from_ms, now_ms + PROBE_EVERY_MS),
  }));

export const viewOf = (
  { project, own_origin, failures, skip_until_ms }: FailureRow,
  now_ms: number,
): SkipView => ({
  project,
  own_origin,
  failures,
  skip_until: skip_until_ms > now_ms ? new Date(skip_until_ms).toISOString() : null,
});
