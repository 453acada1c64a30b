/** A component of the status, and the parts that its rules are made of. Pure. */
import { type Reason, type Status, STATUSES } from "../../../schemas/status.ts";
import type { Facts } from "./figures.ts";

export interface ComponentSpec {
  readonly id: string;
  readonly group: "company_data" | null;
  readonly name: string;
  readonly description: string;
  /** The fact whose presence means that this deployment has the component. Null: every deployment has it. */
  readonly deployed_with: string | null;
  /** Each finding that holds; the worst is the component's status. */
  readonly findings: (facts: Facts) => readonly (Finding | null)[];
  /** Undefined figures are left out. */
  readonly metrics: (facts: Facts) => Readonly<Record<string, number | undefined>>;
}

export interface Finding {
  readonly status: Status;
  readonly reason: Reason;
}

export const worse = (a: Status, b: Status): Status => (STATUSES.indexOf(a) >= STATUSES.indexOf(b) ? a : b);

export function judge(
  { findings }: ComponentSpec,
  facts: Facts,
): { readonly status: Status; readonly reasons: readonly Reason[] } {
  const found = findings(facts).filter((finding) => finding !== null);
  return {
    status: found.reduce<Status>((status, finding) => worse(status, finding.status), "operational"),
    reasons: [...new Set(found.map(({ reason }) => reason))],
  };
}

/** Rates of fewer requests, or of fewer attempts of a route, change no status. */
export const MIN_REQUESTS = 20;
export const MIN_ATTEMPTS = 10;

/** Limits of the three levels; null: the figure never reaches the level. */
export interface Levels {
  readonly degraded: number;
  readonly partial_outage: number | null;
  readonly major_outage: number | null;
}

const LEVELS = ["major_outage", "partial_outage", "degraded"] as const;

/** The level of a figure that should be large: a rate. */
export function below(reason: Reason, value: number | undefined, levels: Levels): Finding | null {
  if (value === undefined) return null;
  const status = LEVELS.find((level) => levels[level] !== null && value < levels[level]);
  return status === undefined ? null : { status, reason };
}

/** The level of a figure that should be small: a time, a share of failures. */
export function above(reason: Reason, value: number | undefined, levels: Levels): Finding | null {
  if (value === undefined) return null;
  const status = LEVELS.find((level) => levels[level] !== null && value > levels[level]);
  return status === undefined ? null : { status, reason };
}

export const when = (condition: boolean, status: Status, reason: Reason): Finding | null =>
  condition ? { status, reason } : null;

/** Undefined without requests. */
export function rateOf(successes: number | undefined, requests: number | undefined): number | undefined {
  if (successes === undefined || requests === undefined || requests === 0) return undefined;
  return Math.round((successes / requests) * 1_000) / 1_000;
}

/** A rate that may change a status: undefined for fewer than `minimum` requests. */
export const tellingRate = (
  successes: number | undefined,
  requests: number | undefined,
  minimum: number,
): number | undefined =>
  requests !== undefined && requests >= minimum && successes !== undefined ? successes / requests : undefined;

export const onlyDegraded = (limit: number): Levels => ({
  degraded: limit,
  partial_outage: null,
  major_outage: null,
});

export const levels = (degraded: number, partial_outage: number, major_outage: number): Levels => ({
  degraded,
  partial_outage,
  major_outage,
});
