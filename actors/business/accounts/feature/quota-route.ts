/**
 * GET /v1/quota: what a caller has used this month, by the ledger's sums, and what its accounts have left at this moment.
 */
import type { Node } from "../../../../cluster/node-record.ts";
import { json } from "../../../../gateway/http-errors.ts";
import { quotaCategoryOf } from "../../../../gateway/limits.ts";
import { type Route, route } from "../../../../gateway/route.ts";
import {
  Account,
  accountKey,
  type AllowanceUse,
  fromMicros,
  fromUsd,
  fromUsdUp,
  type Grant,
  isAdmin,
  isVisibleTo,
  type Key,
  monthEnds,
  monthOf,
  type Project,
  Quota,
  type SpendBasis,
} from "../../../../schemas/accounts.ts";
import { basisOf, pricesOf } from "../../../../schemas/invoices.ts";
import { listKeys, projectsOf } from "../keys.ts";
import { readMonth, type Refresh, type UsageCell } from "../read-usage.ts";
import { iso } from "../../../lib/iso.ts";

const WAIT_MS = 10_000;
/** The most projects, and keys with limits, in one answer. */
const MAX_PROJECTS = 100;
const MAX_LIMITED = 1_000;
const ASKS_AT_ONCE = 50;

interface Used {
  readonly search: number;
  readonly fetch: number;
  readonly spend_micros: number;
}

export function quotaRoute({
  documents,
  ask,
  clock,
  refresh,
}: Pick<Node, "documents" | "ask" | "clock"> & {
  readonly refresh: Refresh;
}): Route {
  const allowancesOf = (account: string, month: string, basis: SpendBasis): Promise<AllowanceUse> =>
    ask(Account, account, "allowances", { month, basis }, { timeout_ms: WAIT_MS });

  /** The calling key's project is always among them. */
  async function shownProjects(customer: string, own: Project): Promise<readonly Project[]> {
    const others = (await projectsOf(documents, customer)).filter(({ name }) => name !== own.name);
    return [own, ...others.slice(0, MAX_PROJECTS - 1)].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  async function quotaOf({ key, project, customer, per_usd_micros }: Grant): Promise<Quota> {
    const now_ms = clock.now();
    const month = monthOf(now_ms);
    const sees_customer = isAdmin(key);
    const refreshed_ms = await refresh(customer.name);
    const projects = sees_customer ? await shownProjects(customer.name, project) : [project];
    const keys = sees_customer
      ? (await Promise.all(projects.map(({ name }) => listKeys(documents, name)))).flat()
      : [key];
    const active = keys.filter((one) => one.status === "active" && isVisibleTo(one, key));
    const own = sees_customer ? null : { project: project.name, prefix: key.prefix };
    const cells = await readMonth(documents, customer.name, month, own);
    const { external, currency } = customer;
    const prices = pricesOf(customer, month);
    const basis = basisOf(customer, month);
    const money: Money = { external, currency, per_usd_micros, prices };

    const events: Quota["events"] = [];
    const limits = new Map<string, AllowanceUse>();
    const limited = active.filter(hasLimits).slice(0, MAX_LIMITED);
    for (let at = 0; at < limited.length; at += ASKS_AT_ONCE)
      await Promise.all(
        limited.slice(at, at + ASKS_AT_ONCE).map(async (one) => {
          const use = await allowancesOf(accountKey(customer.name, one.project, one.prefix), month, basis);
          limits.set(one.prefix, use);
          events.push(...eventsOf(use, "key", one.prefix, one.project));
        }),
      );
    if (sees_customer) {
      for (const { name } of projects)
        events.push(
          ...eventsOf(
            await allowancesOf(accountKey(customer.name, name), month, basis),
            "project",
            null,
            name,
          ),
        );
      events.push(...eventsOf(await allowancesOf(customer.name, month, basis), "customer", null, null));
    }
    const projectView = (one: Project): Quota["project"] => {
      const isOwn = ({ project: name }: UsageCell): boolean => name === one.name;
      const used = usedOf(cells.filter(isOwn), prices);
      return {
        name: one.name,
        rate_limit_rps: one.rate_limit_rps,
        requests: { search: allowance(used.search, null), fetch: allowance(used.fetch, null) },
        // A standard key sees only what it spent itself, and no limit that others spend from.
        spend: spend(used.spend_micros, sees_customer ? one.budget_micros : null, money),
      };
    };
    return {
      key: key.prefix,
      role: key.role,
      period: month,
      resets_at: iso(monthEnds(now_ms)),
      as_of: iso(now_ms),
      usage_refreshed_at: refreshed_ms === null ? null : iso(refreshed_ms),
      keys: active.map((one) =>
        keyView(
          one,
          usedOf(
            cells.filter((cell) => cell.key === one.prefix),
            prices,
          ),
          limits.get(one.prefix) ?? null,
          money,
        ),
      ),
      project: projectView(project),
      customer: sees_customer
        ? {
            name: customer.name,
            status: customer.status,
            currency: customer.currency,
            projects: projects.map(projectView),
          }
        : null,
      events: events.toSorted((a, b) => (a.crossed_at < b.crossed_at ? 1 : -1)),
    };
  }

  return route({
    method: "GET",
    path: "/v1/quota",
    operationId: "getQuota",
    summary: "What the calling key has used this month, and when it resets",
    description: `An account admin key sees every active key of its own and at most ${MAX_PROJECTS - 1} further projects.`,
    tags: ["account"],
    replies: { 200: { description: "The month's allowances and what is left of them", schema: Quota } },
    handle: async ({ caller }) => json(200, await quotaOf(caller.grant)),
  });
}

const hasLimits = ({ quotas, spend_cap_micros }: Key): boolean =>
  quotas.search !== null || quotas.fetch !== null || spend_cap_micros !== null;

const eventsOf = (
  { events }: AllowanceUse,
  scope: Quota["events"][number]["scope"],
  key: string | null,
  project: string | null,
): Quota["events"] =>
  events.map(({ allowance: name, threshold, at_ms }) => ({
    scope,
    key,
    project,
    allowance: name,
    threshold,
    crossed_at: iso(at_ms),
  }));

function usedOf(cells: readonly UsageCell[], prices: Money["prices"]): Used {
  const used = { search: 0, fetch: 0, spend_micros: 0 };
  for (const { category, usage } of cells) {
    used.spend_micros += prices ? (prices[category] ?? 0) * usage.succeeded : usage.cost_micros;
    const counted = quotaCategoryOf(category);
    if (counted !== null) used[counted] += usage.requests;
  }
  return used;
}

interface Money {
  readonly external: boolean;
  readonly per_usd_micros: number;
  /** Null: provider cost counts, in US dollars. */
  readonly prices: Readonly<Record<string, number>> | null;
  readonly currency: Quota["project"]["spend"]["currency"];
}

/** Usage is the ledger's sum; what is left is what the account has neither settled nor reserved. */
function keyView(key: Key, used: Used, use: AllowanceUse | null, money: Money): Quota["keys"][number] {
  const requests = (category: "search" | "fetch") =>
    allowance(used[category], key.quotas[category], use && use.settled[category] + use.reserved[category]);
  const taken_micros = use && use.settled.spend_micros + use.reserved.spend_micros;
  return {
    prefix: key.prefix,
    label: key.label,
    role: key.role,
    project: key.project,
    status: key.status,
    categories: key.categories,
    rate_limit_rps: key.rate_limit_rps,
    requests: { search: requests("search"), fetch: requests("fetch") },
    spend: spend(used.spend_micros, key.spend_cap_micros, money, taken_micros),
  };
}

const allowance = (used: number, limit: number | null, taken: number | null = null) => ({
  used,
  limit,
  remaining: limit === null ? null : Math.max(0, limit - (taken ?? used)),
});

/** Only the operator's own customers see what providers cost, by subtraction neither. */
function spend(
  used: number,
  limit: number | null,
  { external, currency, per_usd_micros, prices }: Money,
  taken: number | null = null,
): Quota["project"]["spend"] {
  const isCharge = prices !== null;
  const isHidden = external && !isCharge;
  const taken_micros = isCharge ? (taken ?? used) : fromUsdUp(taken ?? used, per_usd_micros);
  return {
    used: isHidden ? null : fromMicros(isCharge ? used : fromUsd(used, per_usd_micros)),
    limit: limit === null ? null : fromMicros(limit),
    remaining: limit === null || isHidden ? null : fromMicros(Math.max(0, limit - taken_micros)),
    currency,
    basis: isCharge ? "charge" : "provider_cost",
  };
}
