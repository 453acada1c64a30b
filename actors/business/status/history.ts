/** Seven days of statuses in buckets of five minutes, one code each; uptime; hours. Pure; the time is an argument. */
import {
  type HistoryRows,
  type Observation,
  OVERALL,
  type ServiceStatus,
  type Status,
  type StatusHistory,
  STATUSES,
} from "../../../schemas/status.ts";

export const BUCKET_MS = 300_000;
const BUCKETS_PER_HOUR = 12;
const MAX_BUCKETS = 7 * 24 * BUCKETS_PER_HOUR;
/** Up to so many hours are answered in buckets of five minutes, more in hours. */
const MAX_FINE_HOURS = 24;
const NOTHING = ".";
/** By the order of STATUSES, which is from best to worst. */
const CODES = "omdpx";
/** The share of a bucket's time that counts as down. */
const DOWNTIME: Readonly<Record<Status, number>> = {
  operational: 0,
  maintenance: 0,
  degraded: 0,
  partial_outage: 0.3,
  major_outage: 1,
};

export const NO_HISTORY: HistoryRows = { first: 0, rows: {} };

export const bucketOf = (now_ms: number): number => Math.floor(now_ms / BUCKET_MS);

const codeOf = (status: Status): string => CODES[STATUSES.indexOf(status)]!;
const statusOf = (code: string): Status | null => STATUSES[CODES.indexOf(code)] ?? null;
const worseCode = (a: string, b: string): string => (CODES.indexOf(a) >= CODES.indexOf(b) ? a : b);

/** The codes of a status and its components, as the history records them. */
export const codesOf = ({ status, components }: ServiceStatus): Observation["codes"] => ({
  [OVERALL]: codeOf(status),
  ...Object.fromEntries(components.map((component) => [component.id, codeOf(component.status)])),
});

/** The worst of both, by component. The same object when `b` adds nothing. */
export function worstCodes(a: Observation["codes"], b: Observation["codes"]): Observation["codes"] {
  const changed = Object.entries(b).filter(([id, code]) => worseCode(a[id] ?? NOTHING, code) !== a[id]);
  return changed.length === 0 ? a : { ...a, ...Object.fromEntries(changed) };
}

/** The history with these observations, and without what is older than seven days. The same object when nothing changed. */
export function recordObservations(
  history: HistoryRows,
  observations: readonly Observation[],
  now_ms: number,
): HistoryRows {
  const last = bucketOf(now_ms);
  const oldest = last - MAX_BUCKETS + 1;
  const counted = observations.filter(({ bucket }) => bucket >= oldest && bucket <= last + 1);
  const first = Math.max(oldest, Math.min(history.first || last, ...counted.map(({ bucket }) => bucket)));
  const rows: Record<string, string[]> = {};
  const begins = history.first || first;
  for (const [id, row] of Object.entries(history.rows)) {
    const shifted = begins >= first ? NOTHING.repeat(begins - first) + row : row.slice(first - begins);
    if (/[^.]/.test(shifted)) rows[id] = shifted.split("");
  }
  for (const { bucket, codes } of counted)
    for (const [id, code] of Object.entries(codes)) {
      if (!CODES.includes(code) || code.length !== 1) continue;
      const row = (rows[id] ??= []);
      const at = bucket - first;
      while (row.length <= at) row.push(NOTHING);
      row[at] = worseCode(row[at]!, code);
    }
  const joined = Object.fromEntries(Object.entries(rows).map(([id, row]) => [id, row.join("")]));
  const isSame =
    first === history.first &&
    Object.keys(joined).length === Object.keys(history.rows).length &&
    Object.entries(joined).every(([id, row]) => row === history.rows[id]);
  return isSame ? history : { first, rows: joined };
}

/** As clients read it. `ids` are the components of the deployment. */
export function historyView(
  { first, rows }: HistoryRows,
  ids: readonly string[],
  hours: number,
  now_ms: number,
): StatusHistory {
  const perBucket = hours > MAX_FINE_HOURS ? BUCKETS_PER_HOUR : 1;
  // Hours are those of the clock.
  const until = Math.ceil((bucketOf(now_ms) + 1) / perBucket) * perBucket;
  const since = until - hours * BUCKETS_PER_HOUR;
  const components = [OVERALL, ...ids].map((id) => {
    const row = rows[id] ?? "";
    const codes = Array.from({ length: until - since }, (_, at) => row[since + at - first] ?? NOTHING);
    const known = codes.map(statusOf).filter((status) => status !== null);
    const series = {
      uptime: uptimeOf(known),
      recorded_s: (known.length * BUCKET_MS) / 1_000,
      statuses: merged(codes, perBucket).map(statusOf),
    };
    return [id, series] as const;
  });
  return {
    since: new Date(since * BUCKET_MS).toISOString(),
    until: new Date(until * BUCKET_MS).toISOString(),
    bucket_s: (perBucket * BUCKET_MS) / 1_000,
    components: Object.fromEntries(components),
  };
}

function merged(codes: readonly string[], size: number): readonly string[] {
  return Array.from({ length: codes.length / size }, (_, at) =>
    codes.slice(at * size, (at + 1) * size).reduce(worseCode, NOTHING),
  );
}

function uptimeOf(known: readonly Status[]): number | null {
  if (known.length === 0) return null;
  const down = known.reduce((sum, status) => sum + DOWNTIME[status], 0);
  return Math.round((1 - down / known.length) * 100_000) / 100_000;
}
