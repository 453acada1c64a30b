/**
 * Counts what every key uses in a month, and opens the limits of its key. This gateway counts, and reports to each project's
 * Account actor about once a second. Quotas are leased in quotas.ts, money is reserved where it is spent.
 */
import type { ActorClient } from "../cluster/actor.ts";
import type { Clock } from "../cluster/ports/clock.ts";
import {
  Account,
  accountKey,
  type Bill,
  countBill,
  type Grant,
  monthEnds,
  monthOf,
  NO_USAGE,
  type QuotaCategory,
  type UsageReport,
  type Usage,
  type UsageByCategory,
} from "../schemas/accounts.ts";
import type { BILLING_CATEGORIES } from "../schemas/common.ts";
import type { Allowances } from "./limits.ts";
import type { KeyQuota, KeyQuotas } from "./quotas.ts";
import type { Log } from "../cluster/ports/log.ts";

export type Billing = (typeof BILLING_CATEGORIES)[number];

/** One key at this gateway. */
export interface KeyMeter {
  readonly prefix: string;
  readonly projectMeter: ProjectMeter;
  readonly quota: KeyQuota;
  allowances: Allowances;
  /** What the key has spent or reserved of its spend cap this month, as the account said last. */
  spend_micros: number;
  /** The month of `spend_micros`. */
  month: string;
  pending: Map<Billing, Usage>;
}

/** One project's month at this gateway. */
interface ProjectMeter {
  readonly project: string;
  /** The key of its Account actor. */
  readonly account: string;
  readonly keys: Map<string, KeyMeter>;
  month: string;
  ends_ms: number;
  /** Reports that the actor has not acknowledged, oldest first. The first may be on its way. */
  unsent: UsageReport[];
  sequence: number;
  sending: Promise<void> | null;
}

export interface Metering {
  /** The meter of a key. Waits for what the account knows when the key has limits. Throws Fault. */
  open(grant: Grant): Promise<KeyMeter>;
  /** Moves a meter into the month of `now_ms`. */
  turn(meter: KeyMeter, now_ms: number): void;
  /** What the key has spent and reserved of its cap now. Throws Fault. */
  readSpend(meter: KeyMeter): Promise<void>;
  /** Counts an answered request. */
  count(meter: KeyMeter, bill: Bill): void;
  /** Reports everything counted so far to the project's actor. Throws Fault. */
  flush(project: string): Promise<void>;
  /** Reports everything of all projects. Reports that cannot be sent are logged. */
  drain(): Promise<void>;
}

interface MeteringDeps {
  readonly ask: ActorClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly quotas: KeyQuotas;
  /** Unique among all gateways, past ones included: the actor recognises repeated reports by it. */
  readonly gateway: string;
}

const REPORT_EVERY_MS = 1000;
const REPORT_TIMEOUT_MS = 10_000;
/** While an actor cannot be reached, reports stop being added at this number; the last one grows instead. */
const MAX_UNSENT = 60;

export function metering({ ask, clock, log, quotas, gateway }: MeteringDeps): Metering {
  const projectMeters = new Map<string, ProjectMeter>();
  let isArmed = false;

  function projectMeterOf(project: string, account: string): ProjectMeter {
    const existing = projectMeters.get(project);
    if (existing) return existing;
    const now_ms = clock.now();
    const created: ProjectMeter = {
      project,
      account,
      keys: new Map(),
      month: monthOf(now_ms),
      ends_ms: monthEnds(now_ms),
      unsent: [],
      sequence: 0,
      sending: null,
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
    if (projectMeter.unsent.length > 0) return true;
    for (const { pending } of projectMeter.keys.values()) if (pending.size > 0) return true;
    return false;
  };

  /** Turns the pending counts into a report of the current month. */
  function cutReport(projectMeter: ProjectMeter): void {
    const reporting = [...projectMeter.keys.values()].filter((meter) => meter.pending.size > 0);
    if (reporting.length === 0) return;
    const keys = Object.fromEntries(
      reporting.map(({ prefix, pending }) => [prefix, Object.fromEntries(pending) as UsageByCategory]),
    );
    const allowances = Object.fromEntries(reporting.map((meter) => [meter.prefix, meter.allowances]));
    for (const meter of reporting) meter.pending = new Map();
    const sequence = ++projectMeter.sequence;
    projectMeter.unsent.push({ gateway, sequence, month: projectMeter.month, keys, allowances });
  }

  /** One report at a time per project, so that sequence numbers arrive in order. */
  function send(projectMeter: ProjectMeter): Promise<void> {
    projectMeter.sending ??= (async () => {
      // Without this, an empty run would clear `sending` before it is set.
      await Promise.resolve();
      try {
        if (projectMeter.unsent.length < MAX_UNSENT) cutReport(projectMeter);
        while (projectMeter.unsent.length > 0) {
          const report = projectMeter.unsent[0]!;
          await ask(Account, projectMeter.account, "reportUsage", report, {
            timeout_ms: REPORT_TIMEOUT_MS,
            idempotency_id: `${gateway}:${report.sequence}`,
          });
          projectMeter.unsent.shift();
        }
      } finally {
        projectMeter.sending = null;
      }
    })();
    return projectMeter.sending;
  }

  async function readSpend(meter: KeyMeter): Promise<void> {
    const { projectMeter, allowances, quota } = meter;
    const { month } = projectMeter;
    const account = `${projectMeter.account} ${meter.prefix}`;
    const { settled, reserved } = await ask(Account, account, "allowances", { month });
    meter.month = month;
    meter.spend_micros = settled.spend_micros + reserved.spend_micros;
    const free = (category: QuotaCategory): number | null => {
      const limit = allowances[category];
      return limit === null ? null : Math.max(0, limit - settled[category] - reserved[category]);
    };
    quota.learn(month, { search: free("search"), fetch: free("fetch") });
  }

  return {
    readSpend,

    async open({ key, project, customer }) {
      const account = accountKey(customer.name, project.name);
      const projectMeter = projectMeterOf(project.name, account);
      const allowances = { ...key.quotas, spend: key.spend_cap_micros };
      const quota = quotas.of(accountKey(customer.name, project.name, key.prefix), key.quotas);
      let meter = projectMeter.keys.get(key.prefix);
      if (meter) meter.allowances = allowances;
      else {
        const { month } = projectMeter;
        meter = {
          prefix: key.prefix,
          projectMeter,
          quota,
          allowances,
          spend_micros: 0,
          month,
          pending: new Map(),
        };
        projectMeter.keys.set(key.prefix, meter);
      }
      this.turn(meter, clock.now());
      if (Object.values(allowances).some((limit) => limit !== null)) await readSpend(meter);
      return meter;
    },

    turn(meter, now_ms) {
      const { projectMeter } = meter;
      if (now_ms >= projectMeter.ends_ms) {
        cutReport(projectMeter);
        projectMeter.month = monthOf(now_ms);
        projectMeter.ends_ms = monthEnds(now_ms);
      }
      if (meter.month === projectMeter.month) return;
      meter.month = projectMeter.month;
      meter.spend_micros = 0;
    },

    count(meter, bill) {
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
      await quotas.drain();
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
