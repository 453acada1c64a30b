/**
 * Usage alerts as documents: webhooks by customer, and one delivery for each webhook and crossed threshold. A delivery's key is
 * made of what was crossed, and its document outlives the month, so a crossing that is announced twice is delivered once.
 */
import { hash } from "node:crypto";
import type { ActorClient } from "../../../cluster/actor.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import {
  type SealedCollection,
  type SecretPlace,
  type Secrets,
  shownAddress,
} from "../../../cluster/ports/secrets.ts";
import {
  accountKey,
  type Crossing,
  type Customer,
  fromMicros,
  fromUsd,
  monthEnds,
} from "../../../schemas/accounts.ts";
import {
  type AlertHook,
  type AlertScope,
  UsageAlerts,
  type UsageThresholdEvent,
} from "../../../schemas/alerts.ts";
import { perUsdMicros } from "./exchange.ts";
import { findKey } from "./keys.ts";
import {
  ALERT_DELIVERIES,
  ALERT_HOOKS,
  ALERT_NUMBERS,
  CUSTOMERS,
  PROJECTS,
  STATUS_HOOKS,
  type StoredAlert,
  type StoredHook,
} from "./collections.ts";
import { iso } from "../../lib/iso.ts";

export const MAX_ALERT_HOOKS = 200;
/** Longer than a month, so that the same crossing is not delivered again. */
const DELIVERY_RECORD_MS = 70 * 24 * 3_600_000;
/** A charge is in the customer's currency. */
const ONE_TO_ONE_MICROS = 1_000_000;

export const hookKey = (customer: string, id: number): string => `${customer} ${String(id).padStart(9, "0")}`;
export const alertKey = (customer: string, { event_id, hook_id }: StoredAlert): string =>
  `${customer} ${event_id} ${hook_id}`;
/** Until the delivery is over. */
export const openAlerts = (customer: string): string => `open ${customer}`;
export const alertOptions = (customer: string, { created_ms, is_over }: StoredAlert) => ({
  expires_at_ms: created_ms + DELIVERY_RECORD_MS,
  ...(!is_over && { tag: openAlerts(customer) }),
});

/** Where the address or the secret of a webhook is sealed for. */
export const hookPlace = (
  { customer, id }: Pick<StoredHook, "customer" | "id">,
  field: "url" | "secret",
): SecretPlace => ({ collection: ALERT_HOOKS.name, key: hookKey(customer, id), field });

export const sealedHooks: SealedCollection = {
  rewrite({ value }, reseal) {
    const hook = value as StoredHook;
    const url = reseal(hook.url, hookPlace(hook, "url"));
    const secret = reseal(hook.secret, hookPlace(hook, "secret"));
    return url === null || secret === null
      ? null
      : { value: { ...hook, url, secret }, options: { tag: hook.customer } };
  },
};

export async function listHooks(documents: Documents, customer: string): Promise<readonly StoredHook[]> {
  const stored = await ALERT_HOOKS.list(documents, { tag: customer, limit: MAX_ALERT_HOOKS });
  return stored.map(({ value }) => value);
}

/** Stores a webhook, sealed, under the customer's next number. Null: it has too many already. Throws Fault. */
export async function addHook(
  { documents, secrets }: { readonly documents: Documents; readonly secrets: Secrets },
  hook: Omit<StoredHook, "id" | "last_delivery_ms" | "last_status">,
): Promise<StoredHook | null> {
  if ((await listHooks(documents, hook.customer)).length >= MAX_ALERT_HOOKS) return null;
  const number = await ALERT_NUMBERS.update(documents, hook.customer, (newest) => ({
    value: { id: (newest?.id ?? 0) + 1 },
  }));
  const numbered = { ...hook, id: number!.value.id };
  const stored: StoredHook = {
    ...numbered,
    url: secrets.seal(hook.url, hookPlace(numbered, "url")),
    secret: secrets.seal(hook.secret, hookPlace(numbered, "secret")),
    last_delivery_ms: null,
    last_status: null,
  };
  const key = hookKey(hook.customer, stored.id);
  // First: a hook that no list has is never told anything.
  if (hook.scope === "status")
    await STATUS_HOOKS.put(documents, key, { customer: hook.customer, id: stored.id }, 0);
  await ALERT_HOOKS.put(documents, key, stored, 0, { tag: hook.customer });
  return stored;
}

/** Returns whether it was there. Throws Fault. */
export async function removeHook(documents: Documents, customer: string, id: number): Promise<boolean> {
  const wasThere = await changeHook(documents, customer, id, () => null);
  await STATUS_HOOKS.update(documents, hookKey(customer, id), (listed) => listed && "remove");
  return wasThere;
}

/** Changes a hook that still exists. Throws Fault. */
export async function changeHook(
  documents: Documents,
  customer: string,
  id: number,
  change: (hook: StoredHook) => StoredHook | null,
): Promise<boolean> {
  let isThere = false;
  await ALERT_HOOKS.update(documents, hookKey(customer, id), (hook) => {
    isThere = hook !== null;
    const next = hook && change(hook);
    return hook && (next === null ? "remove" : { value: next, options: { tag: customer } });
  });
  return isThere;
}

export const hookView = (hook: StoredHook, secrets: Pick<Secrets, "open">): AlertHook => ({
  id: hook.id,
  url: shownAddress(secrets, hook.url, hookPlace(hook, "url")),
  scope: hook.scope,
  key: hook.key,
  project: hook.project,
  thresholds: [...hook.thresholds],
  created_at: iso(hook.created_ms),
  last_delivery_at: hook.last_delivery_ms === null ? null : iso(hook.last_delivery_ms),
  last_status: hook.last_status,
});

/** Announces what an account crossed. Throws Fault; then it is announced again. */
export type AnnounceCrossings = (
  ask: ActorClient,
  account: string,
  crossings: readonly Crossing[],
  now_ms: number,
) => Promise<void>;

export const firstDelivery = (
  event_id: string,
  hook_id: number,
  body: string,
  now_ms: number,
): StoredAlert => ({
  event_id,
  hook_id,
  body,
  created_ms: now_ms,
  attempts: 0,
  next_ms: now_ms,
  status: null,
  is_over: false,
});

/** Stores a delivery for each webhook that wants to hear of a crossing, and wakes the customer's deliveries. */
export const announceCrossings =
  (documents: Documents): AnnounceCrossings =>
  async (ask, account, crossings, now_ms) => {
    const customer = account.split(" ")[0]!;
    const hooks = (await listHooks(documents, customer)).filter((hook) => hook.account === account);
    if (hooks.length === 0) return;
    for (const crossing of crossings) {
      const { month, allowance, threshold } = crossing;
      const wanting = hooks.filter(({ thresholds }) => thresholds.includes(threshold));
      if (wanting.length === 0) continue;
      const event_id = `evt_${hash("sha256", [account, month, allowance, threshold].join(" ")).slice(0, 26)}`;
      const body = JSON.stringify(await bodyOf(documents, account, event_id, crossing));
      for (const { id: hook_id } of wanting) {
        const alert = firstDelivery(event_id, hook_id, body, now_ms);
        await ALERT_DELIVERIES.put(
          documents,
          alertKey(customer, alert),
          alert,
          0,
          alertOptions(customer, alert),
        );
      }
    }
    await ask(UsageAlerts, customer, "deliver", null);
  };

/** The body that a webhook gets. `used` is null where it would tell an external customer what providers cost. */
async function bodyOf(
  documents: Documents,
  account: string,
  id: string,
  crossing: Crossing,
): Promise<UsageThresholdEvent> {
  const { month, allowance, threshold, at_ms, used, limit, basis } = crossing;
  const [customer_name, project_name, prefix] = account.split(" ");
  const isMoney = allowance === "spend";
  const customer = await CUSTOMERS.get(documents, customer_name!);
  const { external = false, currency = "USD" } = customer ?? {};
  const isCharge = basis === "charge";
  const rate = isMoney && !isCharge ? await perUsdMicros(documents, currency) : ONE_TO_ONE_MICROS;
  return {
    id,
    type: "usage.threshold",
    created_at: iso(at_ms),
    scope: prefix !== undefined ? "key" : project_name !== undefined ? "project" : "customer",
    key: prefix ?? null,
    project: project_name ?? null,
    threshold,
    period: month,
    used: isMoney ? (external && !isCharge ? null : fromMicros(fromUsd(used, rate))) : used,
    limit: isMoney ? fromMicros((await capOf(documents, account, customer)) ?? fromUsd(limit, rate)) : limit,
    unit: isMoney ? currency : `${allowance}_requests`,
    resets_at: iso(monthEnds(Date.parse(`${month}-01T00:00:00Z`))),
  };
}

/** The account's limit as the operator set it, in the customer's currency. */
async function capOf(
  documents: Documents,
  account: string,
  customer: Customer | null,
): Promise<number | null> {
  const [, project, prefix] = account.split(" ");
  if (prefix !== undefined) return (await findKey(documents, prefix))?.spend_cap_micros ?? null;
  if (project !== undefined) return (await PROJECTS.get(documents, project))?.budget_micros ?? null;
  return customer?.budget_micros ?? null;
}

/** The account that a webhook is about. */
export const accountOf = (customer: string, scope: AlertScope, project: string, prefix: string): string =>
  scope === "key"
    ? accountKey(customer, project, prefix)
    : scope === "project"
      ? accountKey(customer, project)
      : accountKey(customer);
