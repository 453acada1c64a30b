/**
 * The monthly quotas of keys, as this gateway holds them: it leases units from the key's Account actor, runs a request
 * against one of them, and reports every second what it used. No request runs without a unit, so all gateways and jobs
 * together never exceed a quota. Units that are not used within a second go back.
 */
import { LRUCache } from "lru-cache";
import type { ActorClient } from "../cluster/actor.ts";
import type { Clock } from "../cluster/ports/clock.ts";
import { Fault } from "../cluster/ports/fault.ts";
import type { Log } from "../cluster/ports/log.ts";
import {
  Account,
  type Counts,
  type LeaseRequest,
  monthEnds,
  monthOf,
  QUOTA_CATEGORIES,
  type QuotaCategory,
  type Quotas,
} from "../schemas/accounts.ts";

/** The right to run one request. Settle it exactly once. */
export interface QuotaClaim {
  /** False: the request does not count, for example because the service could not answer it. */
  readonly settle: (counts: boolean) => void;
}

/** For requests that no quota limits. */
export const UNLIMITED: QuotaClaim = { settle: () => {} };

/** A key's quotas at this gateway. */
export interface KeyQuota {
  /** Null: none is left. Waits for the Account actor when this gateway has no unit. Throws Fault. */
  readonly claim: (category: QuotaCategory, now_ms: number) => QuotaClaim | Promise<QuotaClaim | null>;
  /** The rest of each quota, as far as this gateway knows; null: no quota, or not yet known. */
  readonly remaining: (now_ms: number) => Quotas;
  /** Takes the units that the account has neither settled nor reserved, as they were read. */
  readonly learn: (month: string, free: Quotas) => void;
  limits: Quotas;
}

export interface KeyQuotas {
  /** Answers the same object for the same account. */
  readonly of: (account: string, limits: Quotas) => KeyQuota;
  /** Reports everything and returns every unit. */
  readonly drain: () => Promise<void>;
}

interface QuotasDeps {
  readonly ask: ActorClient;
  readonly clock: Clock;
  readonly log: Log;
  /** Unique among all gateways, past ones included. */
  readonly gateway: string;
}

interface Waiting {
  readonly category: QuotaCategory;
  readonly resolve: (claim: QuotaClaim | null) => void;
  readonly reject: (problem: unknown) => void;
}

const REPORT_EVERY_MS = 1_000;
const REPORT_TIMEOUT_MS = 10_000;
const NO_COUNTS = (): Counts => ({ search: 0, fetch: 0 });

interface LeaseOptions {
  readonly deps: QuotasDeps;
  readonly account: string;
  readonly limits: () => Quotas;
  readonly now_ms: number;
  readonly newHolder: () => string;
  /** False once the month is over. */
  readonly isCurrent: (lease: Lease) => boolean;
  /** Requests run, or units are held. */
  readonly onActive: (lease: Lease) => void;
  readonly onIdle: (lease: Lease) => void;
}

/** A month of a key at this gateway. */
class Lease {
  readonly month: string;
  readonly ends_ms: number;
  readonly #account: string;
  readonly #limits: () => Quotas;
  readonly #deps: QuotasDeps;
  readonly #isCurrent: (lease: Lease) => boolean;
  readonly #newHolder: () => string;
  readonly #onActive: (lease: Lease) => void;
  readonly #onIdle: (lease: Lease) => void;
  /** Changes when the account has forgotten it. */
  #holder: string;
  #sequence = 0;
  readonly #free = NO_COUNTS();
  readonly #in_flight = NO_COUNTS();
  /** Used and not reported. */
  #used = NO_COUNTS();
  /** Used since the last regular report, and in the second before it, to guess what the next second needs. */
  #recent = NO_COUNTS();
  #before = NO_COUNTS();
  /** Units that the account counts as held here: a report may have left before units were given back. */
  #reserved = NO_COUNTS();
  /** A report that the account has not acknowledged. */
  #unsent: LeaseRequest | null = null;
  #waiting: Waiting[] = [];
  #sending: Promise<void> | null = null;
  #isArmed = false;
  /** Units that no holder had, as of the last answer. */
  #elsewhere: Quotas | null = null;

  constructor({ deps, account, limits, now_ms, newHolder, isCurrent, onActive, onIdle }: LeaseOptions) {
    this.#deps = deps;
    this.#account = account;
    this.#limits = limits;
    this.#isCurrent = isCurrent;
    this.#newHolder = newHolder;
    this.#onActive = onActive;
    this.#onIdle = onIdle;
    this.#holder = newHolder();
    this.month = monthOf(now_ms);
    this.ends_ms = monthEnds(now_ms);
  }

  claim(category: QuotaCategory): QuotaClaim | Promise<QuotaClaim | null> {
    if (this.#waiting.length === 0 && this.#free[category] > 0) return this.#take(category);
    const { promise, resolve, reject } = Promise.withResolvers<QuotaClaim | null>();
    this.#waiting.push({ category, resolve, reject });
    this.#onActive(this);
    void this.#send();
    return promise;
  }

  remaining(): Quotas {
    return { search: this.#left("search"), fetch: this.#left("fetch") };
  }

  #left(category: QuotaCategory): number | null {
    const elsewhere = this.#elsewhere?.[category] ?? null;
    return elsewhere === null ? null : elsewhere + this.#free[category];
  }

  learn(free: Quotas): void {
    this.#elsewhere = free;
  }

  #take(category: QuotaCategory): QuotaClaim {
    this.#free[category]--;
    this.#in_flight[category]++;
    this.#arm();
    return new Claim(this, category, this.#holder);
  }

  settle(category: QuotaCategory, holder: string, counts: boolean): void {
    // The unit of a forgotten holder counts as used already.
    if (holder !== this.#holder) return;
    this.#in_flight[category]--;
    if (counts) {
      this.#used[category]++;
      this.#recent[category]++;
    } else {
      this.#free[category]++;
      // Another gateway may be refusing a request because of this unit.
      void this.#send();
    }
    this.#arm();
  }

  #hasAnything(): boolean {
    return (
      this.#unsent !== null ||
      QUOTA_CATEGORIES.some(
        (name) => this.#free[name] + this.#in_flight[name] + this.#used[name] + this.#reserved[name] > 0,
      )
    );
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    this.#onActive(this);
    const { clock } = this.#deps;
    clock.at(clock.now() + REPORT_EVERY_MS, () => {
      this.#isArmed = false;
      if (!this.#hasAnything()) return this.#onIdle(this);
      for (const name of QUOTA_CATEGORIES)
        // After the end of the month nothing more is claimed of it.
        this.#free[name] = this.#isCurrent(this) ? Math.min(this.#free[name], this.#recent[name]) : 0;
      this.#before = this.#recent;
      this.#recent = NO_COUNTS();
      void this.#send().then(() => this.#arm());
    });
  }

  /** Reports once more if a report is under way: what it did not carry is carried by the next. Never throws. */
  #send(): Promise<void> {
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = null;
    });
    return this.#sending;
  }

  async #sendAll(): Promise<void> {
    // Requests of the same tick share a report.
    await Promise.resolve();
    do {
      const claims = this.#waiting;
      this.#waiting = [];
      try {
        if (this.#unsent !== null) await this.#report(this.#unsent);
        await this.#report(this.#nextReport(claims));
      } catch (problem) {
        for (const { reject } of claims) reject(asUnavailable(problem));
        this.#arm();
        return;
      }
      for (const { category, resolve } of claims)
        resolve(this.#free[category] > 0 ? this.#take(category) : null);
    } while (this.#waiting.length > 0);
  }

  #nextReport(claims: readonly Waiting[]): LeaseRequest {
    const requested = NO_COUNTS();
    for (const { category } of claims) requested[category]++;
    const report: LeaseRequest = {
      holder: this.#holder,
      sequence: ++this.#sequence,
      month: this.month,
      limits: { ...this.#limits() },
      used: this.#used,
      held: {
        search: this.#in_flight.search + this.#free.search,
        fetch: this.#in_flight.fetch + this.#free.fetch,
      },
      requested,
      prefetch: claims.length > 0 ? this.#expected() : NO_COUNTS(),
      is_final: false,
    };
    this.#used = NO_COUNTS();
    this.#unsent = report;
    return report;
  }

  #expected(): Counts {
    return {
      search: Math.max(this.#recent.search, this.#before.search),
      fetch: Math.max(this.#recent.fetch, this.#before.fetch),
    };
  }

  async #report(report: LeaseRequest): Promise<void> {
    const { ask } = this.#deps;
    const reply = await ask(Account, this.#account, "lease", report, {
      timeout_ms: REPORT_TIMEOUT_MS,
      idempotency_id: `${report.holder}:${report.month}:${report.sequence}`,
    });
    this.#unsent = null;
    this.#elsewhere = reply.free;
    if (reply.is_known) {
      for (const name of QUOTA_CATEGORIES) {
        this.#free[name] += reply.granted[name];
        this.#reserved[name] = report.held[name] + reply.granted[name];
      }
      return;
    }
    // All units of the forgotten holder count as used, those of running requests included.
    this.#holder = this.#newHolder();
    this.#sequence = 0;
    this.#used = NO_COUNTS();
    this.#reserved = NO_COUNTS();
    for (const name of QUOTA_CATEGORIES) {
      this.#free[name] = 0;
      this.#in_flight[name] = 0;
    }
  }

  async drain(): Promise<void> {
    for (const name of QUOTA_CATEGORIES) this.#free[name] = 0;
    await this.#sending;
    if (!this.#hasAnything()) return;
    await this.#send();
    if (this.#unsent !== null)
      this.#deps.log.error("Cannot report the last use of a quota", { account: this.#account });
  }
}

/** Nothing has begun for the request: a repetition is safe, so it is 503 and not the 504 of work that goes on. */
const asUnavailable = (problem: unknown): unknown =>
  problem instanceof Fault && problem.code === "no_answer"
    ? new Fault("overloaded", "Cannot take a unit of a quota: its account does not answer", {
        cause: problem,
      })
    : problem;

/** A single object for each request, without a closure. */
class Claim implements QuotaClaim {
  readonly #lease: Lease;
  readonly #category: QuotaCategory;
  readonly #holder: string;
  #isSettled = false;

  constructor(lease: Lease, category: QuotaCategory, holder: string) {
    this.#lease = lease;
    this.#category = category;
    this.#holder = holder;
  }

  settle(counts: boolean): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#lease.settle(this.#category, this.#holder, counts);
  }
}

/** Keys whose quotas are remembered; of a forgotten key only what is left is read again. */
const MAX_KEYS = 10_000;

export function keyQuotas(deps: QuotasDeps): KeyQuotas {
  const quotas = new LRUCache<string, KeyQuota>({ max: MAX_KEYS });
  /** With requests that run, or units: to be drained. */
  const active = new Set<Lease>();
  let holders = 0;
  const newHolder = (): string => `${deps.gateway}.${++holders}`;

  function open(account: string, limits: Quotas): KeyQuota {
    let lease: Lease;
    const newLease = (now_ms: number): Lease =>
      new Lease({
        deps,
        account,
        now_ms,
        newHolder,
        limits: () => quota.limits,
        isCurrent: (one) => one === lease,
        onActive: (one) => active.add(one),
        onIdle: (one) => active.delete(one),
      });
    const current = (now_ms: number): Lease => {
      if (now_ms >= lease.ends_ms) lease = newLease(now_ms);
      return lease;
    };
    const quota: KeyQuota = {
      limits,
      claim(category, now_ms) {
        if (quota.limits[category] === null) return UNLIMITED;
        return current(now_ms).claim(category);
      },
      remaining: (now_ms) => current(now_ms).remaining(),
      learn(month, free) {
        if (month === lease.month) lease.learn(free);
      },
    };
    lease = newLease(deps.clock.now());
    return quota;
  }

  return {
    of(account, limits) {
      const known = quotas.get(account) ?? open(account, limits);
      known.limits = limits;
      quotas.set(account, known);
      return known;
    },
    drain: async () => {
      await Promise.all([...active].map((lease) => lease.drain()));
    },
  };
}
