/**
 * The payer of a piece of work: an API key, its project and its customer, with the limits that hold now. Workers look a
 * payer up by project and prefix, before each attempt that costs money and every two seconds for a job, so that a changed
 * limit takes effect at once.
 */
import type { Documents } from "../../../cluster/ports/documents.ts";
import { accountKey, type Customer, type Key, limitInUsd, type Project } from "../../../schemas/accounts.ts";
import { perUsdMicros } from "./exchange.ts";
import { findKey } from "./keys.ts";
import { CUSTOMERS, PROJECTS } from "./collections.ts";

/** An account that money is reserved from, with what it may spend in a month in US dollars; null: no limit. */
export interface SpendLimit {
  readonly account: string;
  readonly limit_micros: number | null;
}

export interface Payer {
  /** Null: the work names no key, for example in a test. */
  readonly key: Key | null;
  readonly project: Project;
  readonly customer: Customer;
  /** The key's account first, then its project's and its customer's. */
  readonly spend_limits: readonly SpendLimit[];
}

export type FindPayer = (project: string, prefix: string | null) => Promise<Payer | null>;

/** Null: there is no such project. Throws Fault. */
export async function findPayer(
  documents: Documents,
  project_name: string,
  prefix: string | null,
): Promise<Payer | null> {
  const [key, project] = await Promise.all([
    prefix === null ? null : findKey(documents, prefix),
    PROJECTS.get(documents, project_name),
  ]);
  const customer = project && (await CUSTOMERS.get(documents, project.customer));
  if (!project || !customer) return null;
  const limits = spendLimits({ key, project, customer });
  if (limits.every(({ limit_micros }) => limit_micros === null))
    return { key, project, customer, spend_limits: limits };
  const rate = await perUsdMicros(documents, customer.currency);
  const spend_limits = limits.map(({ account, limit_micros }) => ({
    account,
    limit_micros: limitInUsd(limit_micros, rate),
  }));
  return { key, project, customer, spend_limits };
}

/** In the customer's currency. */
export const spendLimits = ({
  key,
  project,
  customer,
}: Pick<Payer, "key" | "project" | "customer">): SpendLimit[] => [
  ...(key
    ? [
        {
          account: accountKey(customer.name, project.name, key.prefix),
          limit_micros: key.spend_cap_micros,
        },
      ]
    : []),
  { account: accountKey(customer.name, project.name), limit_micros: project.budget_micros },
  { account: accountKey(customer.name), limit_micros: customer.budget_micros },
];
