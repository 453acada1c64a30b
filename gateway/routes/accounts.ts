/**
 * GET /v1/quota: what a caller's account has used this month and what is left. Usage, alerts, keys and invoices have no
 * routes yet. The Account actors hold the month's numbers; this gateway reports its own counts to them first.
 */
import type { ActorClient } from "../../cluster/actor.ts";
import type { Clock } from "../../cluster/ports/clock.ts";
import {
  Account,
  accountKey,
  fromMicros,
  type Grant,
  type Key,
  monthEnds,
  monthOf,
  type Project,
  Quota,
  type Totals,
} from "../../schemas/accounts.ts";
import { type Used, usedOf } from "../limits.ts";
import type { Metering } from "../metering.ts";
import { json } from "../http-errors.ts";
import { type Route, route } from "../route.ts";

export interface AccountRoutesDeps {
  readonly ask: ActorClient;
  readonly metering: Metering;
  readonly clock: Clock;
  /** Every project of a customer. Throws Fault. */
  readonly projectsOf: (customer: string) => Promise<readonly Project[]>;
  /** Every key of a project, revoked ones too. Throws Fault. */
  readonly keysOf: (project: string) => Promise<readonly Key[]>;
}

const USAGE_WAIT_MS = 10_000;
/** The most projects in one answer. */
const MAX_PROJECTS = 100;

interface ProjectUsage {
  readonly project: Project;
  readonly totals: Totals;
}

export function accountRoutes({
  ask,
  metering,
  clock,
  projectsOf,
  keysOf,
}: AccountRoutesDeps): readonly Route[] {
  async function usageOfProject(project: Project, month: string): Promise<ProjectUsage> {
    await metering.flush(project.name);
    const account = accountKey(project.customer, project.name);
    const totals = await ask(Account, account, "usage", { month }, { timeout_ms: USAGE_WAIT_MS });
    return { project, totals };
  }

  async function quotaOf({ key, project, customer }: Grant): Promise<Quota> {
    const now_ms = clock.now();
    const month = monthOf(now_ms);
    const admin = key.role === "account_admin";
    const projects = admin ? (await projectsOf(customer.name)).slice(0, MAX_PROJECTS) : [project];
    const usages = await Promise.all(projects.map((each) => usageOfProject(each, month)));
    const keys = admin ? (await Promise.all(projects.map(({ name }) => keysOf(name)))).flat() : [key];
    const active = keys.filter(({ status }) => status === "active");
    const shown = new Set(active.map(({ prefix }) => prefix));
    const byProject = new Map(usages.map((usage) => [usage.project.name, usage]));
    const own = byProject.get(project.name) ?? (await usageOfProject(project, month));
    const money = { external: customer.external, currency: customer.currency };
    const refreshed = usages.flatMap(({ totals }) => totals.refreshed_at_ms ?? []);
    return {
      key: key.prefix,
      role: key.role,
      period: month,
      resets_at: iso(monthEnds(now_ms)),
      as_of: iso(now_ms),
      usage_refreshed_at: refreshed.length > 0 ? iso(Math.max(...refreshed)) : null,
      keys: active.map((each) => keyOf(each, byProject.get(each.project), money)),
      project: projectOf(own, money),
      customer: admin
        ? {
            name: customer.name,
            status: customer.status,
            currency: customer.currency,
            projects: usages.map((usage) => projectOf(usage, money)),
          }
        : null,
      events: usages
        .flatMap((usage) =>
          usage.totals.events
            .filter((event) => shown.has(event.key))
            .map((event) => ({ ...event, project: usage.project.name })),
        )
        .toSorted((a, b) => b.at_ms - a.at_ms)
        .map(({ key: prefix, allowance, threshold, at_ms, project: name }) => ({
          scope: "key" as const,
          key: prefix,
          project: name,
          allowance,
          threshold,
          crossed_at: iso(at_ms),
        })),
    };
  }

  return [
    route({
      method: "GET",
      path: "/v1/quota",
      operationId: "getQuota",
      summary: "What the calling key has used this month, and when its allowances reset",
      tags: ["account"],
      replies: {
        200: { description: "The month's allowances, and how much of each is left", schema: Quota },
      },
      handle: async ({ caller }) => json(200, await quotaOf(caller.grant)),
    }),
  ];
}

const iso = (at_ms: number): string => new Date(at_ms).toISOString();

interface Money {
  readonly external: boolean;
  readonly currency: Quota["project"]["spend"]["currency"];
}

const NO_USE: Used = { search: 0, fetch: 0, spend_micros: 0 };

function keyOf(key: Key, usage: ProjectUsage | undefined, money: Money): Quota["keys"][number] {
  const used = usedOf(usage?.totals.keys[key.prefix] ?? {});
  return {
    prefix: key.prefix,
    label: key.label,
    role: key.role,
    project: key.project,
    status: key.status,
    categories: key.categories,
    rate_limit_rps: key.rate_limit_rps,
    requests: {
      search: allowance(used.search, key.quotas.search),
      fetch: allowance(used.fetch, key.quotas.fetch),
    },
    spend: spend(used.spend_micros, key.spend_cap_micros, money),
  };
}

function projectOf({ project, totals }: ProjectUsage, money: Money): Quota["project"] {
  const used = Object.values(totals.keys)
    .map(usedOf)
    .reduce(
      (sum, key) => ({
        search: sum.search + key.search,
        fetch: sum.fetch + key.fetch,
        spend_micros: sum.spend_micros + key.spend_micros,
      }),
      NO_USE,
    );
  return {
    name: project.name,
    rate_limit_rps: project.rate_limit_rps,
    requests: { search: allowance(used.search, null), fetch: allowance(used.fetch, null) },
    spend: spend(used.spend_micros, project.budget_micros, money),
  };
}

const allowance = (used: number, limit: number | null) => ({
  used,
  limit,
  remaining: limit === null ? null : Math.max(0, limit - used),
});

/** Only the operator's own customers see what providers cost. */
const spend = (used: number, limit: number | null, { external, currency }: Money) => ({
  used: external ? null : fromMicros(used),
  limit: limit === null ? null : fromMicros(limit),
  remaining: limit === null || external ? null : fromMicros(Math.max(0, limit - used)),
  currency,
});
