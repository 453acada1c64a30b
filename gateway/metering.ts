/**
 * Counts what every key uses in a month. This gateway counts, reports to each project's Account actor about once a second,
 * and takes over the totals from the answer, which include the other gateways. A request is claimed before it runs and
 * completed after it, so that concurrent requests cannot exceed a quota. A killed process loses what it had not reported: about
 * one second of counts.
 *
 * With several gateways, each claims on its own while more of a quota is left than all gateways can use before they learn of
 * each other. Below that a gateway asks the actor for every request, so that the quota is exact.
 */
import type { ActorClient } from "../cluster/actor.ts";
import type { Clock } from "../cluster/ports/clock.ts";
import {
  Account,
  type Bill,
  countBill,
  type Counts,
  type Grant,
  monthEnds,
  monthOf,
  NO_USAGE,
  type QuotaCategory,
  type UsageReport,
  type Totals,
  type Usage,
  type UsageByCategory,
} from "../schemas/accounts.ts";
import type { BILLING_CATEGORIES } from "../schemas/common.ts";
import { type Allowances, type Used, usedOf } from "./limits.ts";
import type { Log } from "../cluster/ports/log.ts";

export type Billing = (typeof BILLING_CATEGORIES)[number];

/** The counts of one key at this gateway. `used` is the actor's last total plus everything counted here since. */
export interface KeyMeter {
  readonly prefix: string;
  readonly projectMeter: ProjectMeter;
  readonly used: Used;
  /** Requests running here; included in `used`. */
  readonly reserved: Counts;
  /** Requests running on other gateways, as of the actor's last answer; included in `used`. */
  in_flight_elsewhere: Counts;
  /** Requests per second that all gateways together let through. */
  rate: number;
  allowances: Allowances;
  pending: Map<Billing, Usage>;
}

/** One project's month at this gateway. */
interface ProjectMeter {
  readonly project: string;
  readonly keys: Map<string, KeyMeter>;
  month: string;
  ends_ms: number;
  /** Reports that the actor has not acknowledged, oldest first. The first may be on its way. */
  unsent: UsageReport[];
  sequence: number;
  isLoaded: boolean;
  sending: Promise<void> | null;
  /** When the last answered report was sent, on the monotonic clock. */
  refreshed_ms: number;
  /** Whether the number of running requests has changed since the last report. */
  hasChanged: boolean;
  waiting: Claim[];
  /** Claims that were sent in the report with this sequence number. */
  readonly sentClaims: Map<number, readonly Claim[]>;
}

interface Claim {
  readonly meter: KeyMeter;
  readonly category: QuotaCategory;
  readonly resolve: (granted: boolean) => void;
  readonly reject: (problem: unknown) => void;
}

export interface Metering {
  /** The meter of a key. Waits for the month's totals when the key has allowances and they were not read yet. */
  open(grant: Grant): Promise<KeyMeter>;
  /** Moves a meter into the month of `now_ms`. Call before reading `used`. */
  turn(meter: KeyMeter, now_ms: number): void;
  /**
   * Claims one request of a key's monthly quota; false: none is left. It returns a promise only near the end of a quota that
   * several gateways share; the promise may reject with a Fault. Every granted claim must be completed.
   */
  claim(meter: KeyMeter, category: QuotaCategory | null): boolean | Promise<boolean>;
  /** Ends a claim. With a `bill` of null nothing is counted. */
  complete(meter: KeyMeter, category: QuotaCategory | null, bill: Bill | null): void;
  /** Reports everything counted so far to the project's actor. Throws Fault. */
  flush(project: string): Promise<void>;
  /** Reports everything of all projects. Reports that cannot be sent are logged. */
  drain(): Promise<void>;
}

interface MeteringDeps {
  readonly ask: ActorClient;
  readonly clock: Clock;
  readonly log: Log;
  /** Unique among all gateways, past ones included: the actor recognises repeated reports by it. */
  readonly gateway: string;
  /** Whether other gateways serve the same keys. Default: no. */
  readonly shared?: boolean;
}

const REPORT_EVERY_MS = 1000;
const REPORT_TIMEOUT_MS = 10_000;
/** An answer of the actor counts as current for this long. */
const REFRESHED_MS = 2_000;
/**
 * While more than so many seconds of the project's rate are left of a quota, gateways need not ask: what they have not
 * learned of each other is at most REFRESHED_MS old, REPORT_EVERY_MS late and one slow answer away.
 */
const UNSHARED_S = 8;
/** While an actor cannot be reached, reports stop being added at this number; the last one grows instead. */
const MAX_UNSENT = 60;

export function metering({ ask, clock, log, gateway, shared = false }: MeteringDeps): Metering {
  const projectMeters = new Map<string, ProjectMeter>();
  let isArmed = false;

  function projectMeterOf(project: string): ProjectMeter {
    const existing = projectMeters.get(project);
    if (existing) return existing;
    const now_ms = clock.now();
    const created: ProjectMeter = {
      project,
      keys: new Map(),
      month: monthOf(now_ms),
      ends_ms: monthEnds(now_ms),
      unsent: [],
      sequence: 0,
      isLoaded: false,
      sending: null,
      refreshed_ms: -Infinity,
      hasChanged: false,
      waiting: [],
      sentClaims: new Map(),
    };
    projectMeters.set(project, created);
    return created;
  }

  function arm(): void {
    if (isArmed) return;
    isArmed = true;
    clock.at(clock.now() + REPORT_EVERY_MS, () => {
      isArmed = false;
      for (const projectMeter of projectMeters.values())
        if (hasUnsent(projectMeter)) void send(projectMeter).catch(() => arm());
    });
  }

  const hasUnsent = (projectMeter: ProjectMeter): boolean => {
    if (projectMeter.unsent.length > 0 || projectMeter.hasChanged || projectMeter.waiting.length > 0)
      return true;
    for (const { pending } of projectMeter.keys.values()) if (pending.size > 0) return true;
    return false;
  };

  /** Turns the pending counts into a report of the current month, with running requests and waiting claims. */
  function cutReport(projectMeter: ProjectMeter): void {
    const all = [...projectMeter.keys.values()];
    const reporting = all.filter((meter) => meter.pending.size > 0 || (shared && hasQuota(meter)));
    const hasNews =
      projectMeter.hasChanged ||
      projectMeter.waiting.length > 0 ||
      reporting.some(({ pending }) => pending.size > 0);
    if (!hasNews) return;
    const keys = Object.fromEntries(
      reporting.map(({ prefix, pending }) => [prefix, Object.fromEntries(pending) as UsageByCategory]),
    );
    const allowances = Object.fromEntries(reporting.map((meter) => [meter.prefix, meter.allowances]));
    for (const meter of reporting) meter.pending = new Map();
    const sequence = ++projectMeter.sequence;
    const report = { gateway, sequence, month: projectMeter.month, keys, allowances };
    projectMeter.unsent.push(shared ? { ...report, ...inFlight(projectMeter, reporting) } : report);
    projectMeter.hasChanged = false;
    if (projectMeter.waiting.length > 0) projectMeter.sentClaims.set(sequence, projectMeter.waiting);
    projectMeter.waiting = [];
  }

  function inFlight(
    projectMeter: ProjectMeter,
    reporting: readonly KeyMeter[],
  ): Pick<UsageReport, "in_flight" | "requested"> {
    const in_flight = reporting.filter(hasQuota).map(({ prefix, reserved }) => [prefix, { ...reserved }]);
    const requested: Record<string, Counts> = {};
    for (const { meter, category } of projectMeter.waiting)
      (requested[meter.prefix] ??= { search: 0, fetch: 0 })[category]++;
    return { in_flight: Object.fromEntries(in_flight), requested };
  }

  /** Grants as many waiting claims as the actor granted, in order of arrival. */
  function answerClaims(claims: readonly Claim[], grants: Record<string, Counts>): void {
    const remaining: Record<string, Counts> = structuredClone(grants);
    for (const { meter, category, resolve } of claims) {
      const granted = (remaining[meter.prefix]?.[category] ?? 0) > 0;
      if (granted) {
        remaining[meter.prefix]![category]--;
        reserve(meter, category);
      }
      resolve(granted);
    }
  }

  function reserve(meter: KeyMeter, category: QuotaCategory): void {
    meter.used[category]++;
    meter.reserved[category]++;
    if (!shared || meter.allowances[category] === null) return;
    meter.projectMeter.hasChanged = true;
    arm();
  }

  /** Whether more is left than all gateways together can use before this one learns of it. */
  const isFar = ({ projectMeter, used, rate }: KeyMeter, category: QuotaCategory, limit: number): boolean =>
    limit - used[category] > UNSHARED_S * rate && clock.mono() - projectMeter.refreshed_ms < REFRESHED_MS;

  /** One report at a time per project, so that sequence numbers arrive in order. */
  function send(projectMeter: ProjectMeter): Promise<void> {
    projectMeter.sending ??= (async () => {
      // Without this, an empty run would clear `sending` before it is set.
      await Promise.resolve();
      try {
        do {
          if (projectMeter.unsent.length < MAX_UNSENT) cutReport(projectMeter);
          while (projectMeter.unsent.length > 0) {
            const report = projectMeter.unsent[0]!;
            const sent_ms = clock.mono();
            const added = await ask(Account, projectMeter.project, "reportUsage", report, {
              timeout_ms: REPORT_TIMEOUT_MS,
              idempotency_id: `${gateway}:${report.sequence}`,
            });
            projectMeter.unsent.shift();
            projectMeter.refreshed_ms = sent_ms;
            correct(projectMeter, added, added.in_flight_elsewhere);
            answerClaims(projectMeter.sentClaims.get(report.sequence) ?? [], added.granted);
            projectMeter.sentClaims.delete(report.sequence);
          }
        } while (projectMeter.waiting.length > 0);
      } catch (problem) {
        // If the actor did process the report, the requests it granted stay unused; the next report says so.
        for (const claims of [...projectMeter.sentClaims.values(), projectMeter.waiting])
          for (const { reject } of claims) reject(problem);
        projectMeter.sentClaims.clear();
        projectMeter.waiting = [];
        projectMeter.hasChanged = shared;
        throw problem;
      } finally {
        projectMeter.sending = null;
      }
    })();
    return projectMeter.sending;
  }

  /** Takes over the actor's totals and adds what it does not know yet. */
  function correct(
    projectMeter: ProjectMeter,
    totals: Totals,
    in_flight_elsewhere: Record<string, Counts> = {},
  ): void {
    if (totals.month !== projectMeter.month) return;
    projectMeter.isLoaded = true;
    for (const meter of projectMeter.keys.values()) {
      meter.in_flight_elsewhere = in_flight_elsewhere[meter.prefix] ?? NO_REQUESTS;
      const parts = [
        totals.keys[meter.prefix],
        ...projectMeter.unsent
          .filter(({ month }) => month === projectMeter.month)
          .map(({ keys }) => keys[meter.prefix]),
        Object.fromEntries(meter.pending) as UsageByCategory,
      ].map((usage) => usedOf(usage ?? {}));
      meter.used.search = sum(parts, "search") + meter.reserved.search + meter.in_flight_elsewhere.search;
      meter.used.fetch = sum(parts, "fetch") + meter.reserved.fetch + meter.in_flight_elsewhere.fetch;
      meter.used.spend_micros = sum(parts, "spend_micros");
    }
  }

  return {
    async open({ key, project }) {
      const projectMeter = projectMeterOf(project.name);
      const allowances = { ...key.quotas, spend: key.spend_cap_micros };
      let meter = projectMeter.keys.get(key.prefix);
      const isNew = meter === undefined;
      if (meter) Object.assign(meter, { allowances, rate: project.rate_limit_rps });
      else {
        meter = {
          prefix: key.prefix,
          projectMeter,
          rate: project.rate_limit_rps,
          in_flight_elsewhere: NO_REQUESTS,
          used: { search: 0, fetch: 0, spend_micros: 0 },
          reserved: { search: 0, fetch: 0 },
          allowances,
          pending: new Map(),
        };
        projectMeter.keys.set(key.prefix, meter);
      }
      const limited = Object.values(allowances).some((limit) => limit !== null);
      if (limited && (isNew || !projectMeter.isLoaded)) {
        this.turn(meter, clock.now());
        correct(
          projectMeter,
          await ask(Account, projectMeter.project, "usage", { month: projectMeter.month }),
        );
      }
      return meter;
    },

    turn({ projectMeter }, now_ms) {
      if (now_ms < projectMeter.ends_ms) return;
      cutReport(projectMeter);
      projectMeter.month = monthOf(now_ms);
      projectMeter.ends_ms = monthEnds(now_ms);
      for (const { used, reserved, in_flight_elsewhere } of projectMeter.keys.values())
        Object.assign(used, {
          search: reserved.search + in_flight_elsewhere.search,
          fetch: reserved.fetch + in_flight_elsewhere.fetch,
          spend_micros: 0,
        });
    },

    claim(meter, category) {
      if (category === null) return true;
      const limit = meter.allowances[category];
      if (limit === null || !shared || isFar(meter, category, limit)) {
        if (limit !== null && meter.used[category] >= limit) return false;
        reserve(meter, category);
        return true;
      }
      const { promise, resolve, reject } = Promise.withResolvers<boolean>();
      meter.projectMeter.waiting.push({ meter, category, resolve, reject });
      // The waiting claims are rejected with the problem.
      send(meter.projectMeter).catch(() => arm());
      return promise;
    },

    complete(meter, category, bill) {
      if (category !== null) {
        meter.reserved[category]--;
        if (shared && meter.allowances[category] !== null) {
          meter.projectMeter.hasChanged = true;
          arm();
          // The request is free again; another gateway may be refusing a claim because of it.
          if (bill === null) void send(meter.projectMeter).catch(() => arm());
        }
      }
      if (bill === null) {
        if (category !== null) meter.used[category]--;
        return;
      }
      meter.used.spend_micros += bill.cost_micros;
      let usage = meter.pending.get(bill.category);
      if (!usage) meter.pending.set(bill.category, (usage = { ...NO_USAGE }));
      countBill(usage, bill);
      arm();
    },

    async flush(project) {
      const projectMeter = projectMeters.get(project);
      if (!projectMeter) return;
      await projectMeter.sending?.catch(() => {});
      await send(projectMeter);
    },

    async drain() {
      await Promise.all(
        [...projectMeters.values()].map(async (projectMeter) => {
          await this.flush(projectMeter.project).catch((problem: Error) => {
            log.error("Cannot report the last usage of a project", {
              project: projectMeter.project,
              reports: projectMeter.unsent.length,
              problem: problem.message,
            });
          });
        }),
      );
    },
  };
}

const NO_REQUESTS: Counts = { search: 0, fetch: 0 };
const hasQuota = ({ allowances: { search, fetch } }: KeyMeter): boolean => search !== null || fetch !== null;

const sum = (parts: readonly Used[], of: keyof Used): number =>
  parts.reduce((total, part) => total + part[of], 0);
