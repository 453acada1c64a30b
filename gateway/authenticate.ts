/**
 * Turns an Authorization field into a Caller, or into the refusal the client gets. A lookup is cached for 5 seconds, so a
 * new, changed or revoked key takes effect within that time. A key in use is looked up again after 2 seconds in the
 * background, so its requests do not wait. Rates and allowances are counted here; routes do not see them.
 */
import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Node } from "../cluster/node-record.ts";
import { Fault } from "../cluster/ports/fault.ts";
import { accountKey, type Grant, isOperatorKey, KEY_SHAPE, type QuotaCategory } from "../schemas/accounts.ts";
import type { Reply } from "./http.ts";
import {
  budgetField,
  count,
  freshWindow,
  isSpent,
  limitField,
  policyField,
  quotaField,
  ratePassed,
  secondsToReset,
  type RateWindow,
} from "./limits.ts";
import type { KeyMeter, Metering } from "./metering.ts";
import type { Counted, Limited } from "./rates.ts";
import {
  budgetExhausted,
  categoryNotAllowed,
  INVALID_KEY,
  MISSING_TOKEN,
  OPERATOR_ONLY,
  quotaExhausted,
  SUSPENDED,
  unavailable,
} from "./http-errors.ts";

/** A key with its project and customer, as cached between lookups. */
export interface Caller {
  readonly grant: Grant;
  readonly meter: KeyMeter;
  readonly project_window: RateWindow;
  readonly key_window: RateWindow | null;
  readonly policy: string;
  /** Whether any header about allowances is due. */
  readonly limited: boolean;
}

export const isCaller = (result: Caller | Reply): result is Caller => "grant" in result;

/** REMEMBER_MS is what operators are promised; a key in use is refreshed after REFRESH_MS. */
const REMEMBER_MS = 5_000;
const REFRESH_MS = 2_000;
/** Unknown keys are cached for less time, so that a key created now is not refused for long. */
const REMEMBER_UNKNOWN_MS = 1_000;
const MAX_KEYS = 10_000;
const MAX_UNKNOWN = 1_000;
/** The most lookups at a time, so that well-formed unknown keys cannot queue without limit. Further requests get 503. */
const MAX_LOOKUPS = 1_000;

interface Remembered {
  readonly key_sha256: string;
  caller: Caller;
  /** When it was looked up; -Infinity: the key was revoked since. */
  at_ms: number;
}

export type Identify = (
  authorization: string | undefined,
  now_ms: number,
) => Caller | Reply | Promise<Caller | Reply>;

export function authenticator({
  find,
  metering,
  clock,
}: Pick<Node, "clock"> & {
  /** The key with this SHA-256, its project and its customer; null: unknown or revoked. Throws Fault. */
  readonly find: (key_sha256: string) => Promise<Grant | null>;
  readonly metering: Metering;
}): Identify {
  const callersByHash = new LRUCache<string, Remembered>({ max: MAX_KEYS });
  /** By Authorization field, for known keys only: the lookup is cheaper than the hash. */
  const callersByField = new LRUCache<string, Remembered>({ max: MAX_KEYS });
  const unknown = new LRUCache<string, number>({ max: MAX_UNKNOWN });
  const windows = new LRUCache<string, RateWindow>({ max: MAX_KEYS });
  const lookups = new Map<string, Promise<Caller | Reply>>();

  function windowOf(name: string): RateWindow {
    const window = windows.get(name) ?? freshWindow();
    windows.set(name, window);
    return window;
  }

  async function readKey(key_sha256: string): Promise<Caller | Reply> {
    // The age counts from before the read, so that a key revoked during the read is noticed within the promised time.
    const at_ms = clock.now();
    const grant = await find(key_sha256);
    const known = callersByHash.get(key_sha256);
    if (grant === null) {
      if (known) known.at_ms = -Infinity;
      callersByHash.delete(key_sha256);
      unknown.set(key_sha256, at_ms);
      return INVALID_KEY;
    }
    const meter = await metering.open(grant);
    const { key, project } = grant;
    const caller: Caller = {
      grant,
      meter,
      // Requests of a project must not keep an operator out.
      project_window: windowOf(isOperatorKey(key) ? `operator ${key.prefix}` : `project ${project.name}`),
      key_window: key.rate_limit_rps === null ? null : windowOf(`key ${key.prefix}`),
      policy: policyField(project.rate_limit_rps, key.rate_limit_rps),
      limited: Object.values(meter.allowances).some((limit) => limit !== null),
    };
    if (known) Object.assign(known, { caller, at_ms });
    else callersByHash.set(key_sha256, { key_sha256, caller, at_ms });
    return caller;
  }

  function lookup(key_sha256: string): Promise<Caller | Reply> {
    const running = lookups.get(key_sha256);
    if (running) return running;
    if (lookups.size >= MAX_LOOKUPS) return Promise.resolve(BUSY);
    const started = readKey(key_sha256)
      .catch((problem: unknown) => {
        if (problem instanceof Fault) return BUSY;
        throw problem;
      })
      .finally(() => lookups.delete(key_sha256));
    lookups.set(key_sha256, started);
    return started;
  }

  /** Waits for the lookup of a key that is not remembered. */
  const identifyAnew = (key_sha256: string, now_ms: number): Reply | Promise<Caller | Reply> =>
    now_ms - (unknown.get(key_sha256) ?? -Infinity) < REMEMBER_UNKNOWN_MS ? INVALID_KEY : lookup(key_sha256);

  return (authorization, now_ms) => {
    if (authorization === undefined) return MISSING_TOKEN;
    let remembered = callersByField.get(authorization);
    if (!remembered) {
      const presented = BEARER.exec(authorization);
      if (presented === null) return MISSING_TOKEN;
      const key = presented[1]!;
      if (!KEY_SHAPE.test(key)) return INVALID_KEY;
      const key_sha256 = hash("sha256", key);
      remembered = callersByHash.get(key_sha256);
      if (!remembered) return identifyAnew(key_sha256, now_ms);
      callersByField.set(authorization, remembered);
    }
    const age_ms = now_ms - remembered.at_ms;
    if (age_ms >= REMEMBER_MS) {
      callersByField.delete(authorization);
      return identifyAnew(remembered.key_sha256, now_ms);
    }
    // The next request repeats a failed refresh; once the entry expires, requests wait for the lookup.
    if (age_ms >= REFRESH_MS) void lookup(remembered.key_sha256).catch(() => {});
    return remembered.caller;
  };
}

/** The key of an Authorization field; null: it has none, or not of a key's shape. */
export function keyIn(authorization: string): string | null {
  const key = BEARER.exec(authorization)?.[1];
  return key !== undefined && KEY_SHAPE.test(key) ? key : null;
}

/** The scheme in any case, at least one space, something after it. */
const BEARER = /^bearer +(\S.*)$/i;
const BUSY = unavailable("authentication is briefly unavailable, try again");

/** Counts a request against both windows: which limit it passed, if any, and its RateLimit field. */
export function countRate({ grant, project_window, key_window }: Caller, now_ms: number): Counted {
  count(project_window, now_ms);
  const project = windowUse(grant.project.rate_limit_rps, project_window, now_ms);
  if (key_window !== null) count(key_window, now_ms);
  const key = key_window && windowUse(grant.key.rate_limit_rps!, key_window, now_ms);
  return { passed: ratePassed(project, key), limit: limitField(project, key) };
}

const windowUse = (q: number, { used, starts_ms }: RateWindow, now_ms: number) => ({
  q,
  used,
  window_left_ms: starts_ms + 1000 - now_ms,
});

/** An operator's key works whatever happens to the customer of its project. */
export const suspended = ({ grant: { key, customer } }: Caller): Reply | null =>
  customer.status === "suspended" && !isOperatorKey(key) ? SUSPENDED : null;

export const operatorRefused = ({ grant: { key } }: Caller): Reply | null =>
  isOperatorKey(key) ? null : OPERATOR_ONLY;

/** Key restricted to other categories: 403. */
export function categoryRefused({ grant }: Caller, category: QuotaCategory): Reply | null {
  const { categories } = grant.key;
  return categories === null || categories.includes(category)
    ? null
    : categoryNotAllowed(category, categories);
}

/** The 429 for a used-up monthly quota. Metering decides whether it is used up. */
export const quotaRefused = ({ meter }: Caller, category: QuotaCategory, now_ms: number): Reply =>
  quotaExhausted(category, meter.allowances[category] ?? 0, secondsToReset(now_ms));

/** Spend cap used up: 429. What a customer with prices is charged is reserved instead (serve.ts). */
export const spendRefused = ({ grant, meter, limited }: Caller, now_ms: number): Reply | null =>
  limited && meter.prices === null && isSpent(meter.allowances, meter.spend_micros)
    ? budgetExhausted(meter.allowances.spend!, grant.customer.currency, secondsToReset(now_ms))
    : null;

/** Refusal of a charge that does not fit a limit of spend: 429. `held`: it may, once other requests have ended. */
export const chargeRefused = ({ grant, meter }: Caller, reply: "held" | "refused", now_ms: number): Reply =>
  budgetExhausted(
    meter.allowances.spend,
    grant.customer.currency,
    reply === "held" ? HELD_RETRY_S : secondsToReset(now_ms),
  );
const HELD_RETRY_S = 1;

/** The limits that several gateways count together for this caller. */
export const limitedBy = ({ grant: { key, project, customer } }: Caller): Limited => ({
  project: accountKey(customer.name, project.name, isOperatorKey(key) ? key.prefix : undefined),
  project_rate: project.rate_limit_rps,
  key: key.prefix,
  key_rate: key.rate_limit_rps,
});

/** Adds the header fields that every authenticated answer has. */
export function addCallerHeaders(
  headers: Record<string, string>,
  caller: Caller,
  limit: string,
  now_ms: number,
): void {
  headers["X-Service-Key-Role"] = caller.grant.key.role;
  headers["RateLimit-Policy"] = caller.policy;
  headers["RateLimit"] = limit;
  if (!caller.limited) return;
  const { meter } = caller;
  const quota = quotaField(meter.quota.remaining(now_ms));
  const budget = budgetField(meter.allowances, meter.spend_micros);
  if (quota !== null) headers["X-Service-Quota-Remaining"] = quota;
  // An external customer would learn what providers cost, by subtraction.
  if (budget !== null && (!caller.grant.customer.external || meter.prices !== null))
    headers["X-Service-Key-Budget-Remaining"] = budget;
}
