/**
 * The arithmetic of limits: rate windows of one second and monthly allowances, and the header fields that show them. Pure
 * functions. A single gateway counts in its own windows; windows that several gateways share are in rates.ts.
 */
import {
  fromMicros,
  monthEnds,
  type QuotaCategory,
  type Quotas,
  QUOTA_CATEGORIES,
} from "../schemas/accounts.ts";

const WINDOW_MS = 1000;

/** A counter of one-second windows. Counting changes it in place: it is touched on every request. */
export interface RateWindow {
  starts_ms: number;
  used: number;
}

export const freshWindow = (): RateWindow => ({ starts_ms: 0, used: 0 });

/** Counts one request, refused requests included. Returns how many requests this window has counted. */
export function count(window: RateWindow, now_ms: number): number {
  if (now_ms >= window.starts_ms + WINDOW_MS || now_ms < window.starts_ms) {
    window.starts_ms = now_ms - (now_ms % WINDOW_MS);
    window.used = 0;
  }
  return ++window.used;
}

/** The figures of the RateLimit fields: a limit, how many it has seen, what is left of its window. */
export interface WindowUse {
  readonly q: number;
  readonly used: number;
  readonly window_left_ms: number;
}

/** Whole seconds, rounded up, never 0. */
const seconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1000));

/** `"project";q=200;w=1, "key";q=50;w=1` */
export function policyField(project_q: number, key_q: number | null): string {
  const project = `"project";q=${project_q};w=1`;
  return key_q === null ? project : `${project}, "key";q=${key_q};w=1`;
}

/** `"project";r=199;t=1, "key";r=49;t=1`: what is left after this request. */
export function limitField(project: WindowUse, key: WindowUse | null): string {
  return key === null ? part("project", project) : `${part("project", project)}, ${part("key", key)}`;
}

const part = (name: string, { q, used, window_left_ms }: WindowUse): string =>
  `"${name}";r=${Math.max(0, q - used)};t=${seconds(window_left_ms)}`;

/** The rate limit that this request exceeds, or null. The project's limit is checked first; a refused request counts for both. */
export function ratePassed(project: WindowUse, key: WindowUse | null): "project" | "key" | null {
  if (project.used > project.q) return "project";
  return key !== null && key.used > key.q ? "key" : null;
}

/** Retry-After of a monthly allowance: to the first of the next UTC month, never less than a second. */
export const secondsToReset = (now_ms: number): number => seconds(monthEnds(now_ms) - now_ms);

/** Allowances of a key; null: none. */
export interface Allowances {
  readonly search: number | null;
  readonly fetch: number | null;
  readonly spend: number | null;
}

/** Billing categories that count towards a quota category of another name. */
const COUNTED_AS: Readonly<Record<string, QuotaCategory>> = { filings: "fetch", profiles: "fetch" };

/** A category's requests are those of its billing categories: fetch is fetch_own, fetch_paid and fetch_cached. */
export function quotaCategoryOf(billing: string): QuotaCategory | null {
  const kind = billing.replace(/_.*$/, "");
  return QUOTA_CATEGORIES.find((category) => category === kind) ?? COUNTED_AS[kind] ?? null;
}

/** Whether nothing is left of a month's spend cap. */
export const isSpent = ({ spend }: Allowances, spend_micros: number): boolean =>
  spend !== null && spend_micros >= spend;

/** `search=950, fetch=4000`, of the categories that have a quota; null when none has. */
export function quotaField({ search, fetch }: Quotas): string | null {
  if (search === null) return fetch === null ? null : `fetch=${fetch}`;
  return fetch === null ? `search=${search}` : `search=${search}, fetch=${fetch}`;
}

/** `12.340000`; null when the key has no cap. */
export const budgetField = ({ spend }: Allowances, spend_micros: number): string | null =>
  spend === null ? null : fromMicros(Math.max(0, spend - spend_micros));
