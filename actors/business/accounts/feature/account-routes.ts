/** GET /v1/account: the whole customer, for account admin keys only. */
import type { Node } from "../../../../cluster/node-record.ts";
import type { Caller } from "../../../../gateway/authenticate.ts";
import { json } from "../../../../gateway/http-errors.ts";
import { type Route, route } from "../../../../gateway/route.ts";
import {
  Account,
  fromMicros,
  fromUsdUp,
  monthEnds,
  monthOf,
  NO_USAGE,
  type Usage,
} from "../../../../schemas/accounts.ts";
import { basisOf, pricesOf } from "../../../../schemas/invoices.ts";
import { type AccountSummary, AccountView } from "../../../../schemas/ledger.ts";
import { projectsOf } from "../keys.ts";
import { addUsage, readMonth, type Refresh } from "../read-usage.ts";
import { adminOnly } from "./admin-only.ts";
import { usageView } from "./usage-routes.ts";

const MAX_PROJECTS = 100;
const WAIT_MS = 10_000;

export function accountRoutes({
  documents,
  ask,
  clock,
  refresh,
}: Pick<Node, "documents" | "ask" | "clock"> & {
  readonly refresh: Refresh;
}): readonly Route[] {
  async function accountOf({
    grant: { customer, project, per_usd_micros },
  }: Caller): Promise<AccountSummary> {
    const now_ms = clock.now();
    const month = monthOf(now_ms);
    const basis = basisOf(customer, month);
    await refresh(customer.name);
    const [projects, cells, use] = await Promise.all([
      projectsOf(documents, customer.name),
      readMonth(documents, customer.name, month, null),
      ask(Account, customer.name, "allowances", { month, basis }, { timeout_ms: WAIT_MS }),
    ]);
    const sumOf = (some: typeof cells): Usage =>
      some.reduce((total, { usage }) => addUsage(total, usage), NO_USAGE as Usage);
    const view = (some: typeof cells) => usageView(sumOf(some), customer.external);
    const spent = sumOf(cells).cost_micros;
    const began_ms = Date.parse(`${month}-01`);
    const part = Math.max(now_ms - began_ms, 1) / (monthEnds(now_ms) - began_ms);
    const { budget_micros, external } = customer;
    const prices = pricesOf(customer, month);
    const taken_micros = use.settled.spend_micros + use.reserved.spend_micros;
    const isCharge = basis === "charge";
    return {
      customer: {
        name: customer.name,
        status: customer.status,
        currency: customer.currency,
        created_at: customer.created_at,
      },
      project: project.name,
      period: {
        month,
        since: new Date(began_ms).toISOString(),
        resets_at: new Date(monthEnds(now_ms)).toISOString(),
      },
      plan: {
        prices:
          prices &&
          Object.fromEntries(Object.entries(prices).map(([name, micros]) => [name, fromMicros(micros)])),
        budget: budget_micros === null ? null : fromMicros(budget_micros),
        remaining:
          budget_micros === null || (external && !isCharge)
            ? null
            : fromMicros(
                Math.max(
                  0,
                  budget_micros - (isCharge ? taken_micros : fromUsdUp(taken_micros, per_usd_micros)),
                ),
              ),
        basis,
        projects: projects.slice(0, MAX_PROJECTS).map(({ name, rate_limit_rps, budget_micros: budget }) => ({
          name,
          rate_limit_rps,
          budget: budget === null ? null : fromMicros(budget),
        })),
      },
      estimate: {
        requests: Math.round(sumOf(cells).requests / part),
        cost_usd: external ? null : fromMicros(Math.round(spent / part)),
      },
      usage: [...Map.groupBy(cells, ({ category }) => category)]
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([category, some]) => ({ category, ...view(some) })),
      keys: [...Map.groupBy(cells, ({ project: name, key }) => `${name} ${key}`).values()].map((some) => ({
        prefix: some[0]!.key!,
        project: some[0]!.project,
        ...view(some),
      })),
      totals: view(cells),
    };
  }

  return [
    route({
      method: "GET",
      path: "/v1/account",
      operationId: "getAccount",
      summary: "The customer account of an admin key: its plan and this month's usage",
      description:
        "`estimate` is the month's sum if it goes on as it has so far. `keys` lists the keys that were used this month.",
      tags: ["account"],
      replies: { 200: { description: "The account", schema: AccountView } },
      authorize: adminOnly,
      authorize_errors: ["admin_key_required"],
      handle: async ({ caller }) => json(200, await accountOf(caller)),
    }),
  ];
}
