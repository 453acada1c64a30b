/** Collections of the accounts. The ledger is shared with the gateway: records/collections.ts. */
import { collection } from "../../../cluster/collection.ts";
import type { Customer, Key, KeyEvent, Project, Usage } from "../../../schemas/accounts.ts";
import type { AlertScope } from "../../../schemas/alerts.ts";
import type { Invoice } from "../../../schemas/invoices.ts";
import type { UsageSums } from "../../../schemas/ledger.ts";
import type { ScheduledDelivery } from "../../work/callbacks/delivery-schedule.ts";

export const CUSTOMERS = collection<Customer>("customers");
/** Tagged with the customer. */
export const PROJECTS = collection<Project>("projects");
/** By digest, tagged with the project. */
export const KEYS = collection<Key>("keys");

/** By time, prefix of the key and a random number, tagged with the customer. */
export const KEY_EVENTS = collection<KeyEvent>("key_events", { expires: true });

/** `prefix <prefix>`: whose prefix it is. */
export interface PrefixClaim {
  readonly key_sha256: string;
}

/** `first key`: stored by the node that creates the first key, before the key. */
export interface FirstKeyClaim {
  readonly prefix: string;
  readonly claimed_ms: number;
}

/** `operator key`: the key of the command line. */
export interface KeptKey {
  readonly key_sha256: string;
}

/** Claims of what may be there only once. */
export const NAMES = collection<PrefixClaim>("names");
export const FIRST_KEY = NAMES.of<FirstKeyClaim>();
export const OPERATOR_KEY = NAMES.of<KeptKey>();

export interface StoredHook {
  readonly id: number;
  readonly customer: string;
  /** Sealed, like `secret`. */
  readonly url: string;
  readonly scope: AlertScope;
  /** The account it is about. */
  readonly account: string;
  readonly key: string | null;
  readonly project: string | null;
  readonly thresholds: readonly number[];
  readonly secret: string;
  readonly created_ms: number;
  readonly last_delivery_ms: number | null;
  readonly last_status: string | null;
}

/** By `<customer> <number>`, tagged with the customer. */
export const ALERT_HOOKS = collection<StoredHook>("alert_hooks");
/** Hooks of scope status, by the same keys; a hook may be missing of which a call was cut off. */
export const STATUS_HOOKS = collection<Pick<StoredHook, "customer" | "id">>("status_hooks");
/** The number of the newest hook of a customer, which is never given again. */
export const ALERT_NUMBERS = collection<{ readonly id: number }>("alert_numbers");

export interface StoredAlert extends ScheduledDelivery {
  readonly event_id: string;
  readonly hook_id: number;
  /** JSON, as it is signed and sent. */
  readonly body: string;
  /** The status of the last attempt; null: none was made. */
  readonly status: string | null;
  readonly is_over: boolean;
}

/** By `<customer> <event> <hook>`; tagged with the customer until the delivery is over. */
export const ALERT_DELIVERIES = collection<StoredAlert>("alert_deliveries", { expires: true });

export type Sums = Readonly<Record<string, Pick<Usage, "requests" | "succeeded" | "cost_micros">>>;

export interface StoredInvoice {
  readonly invoice: Invoice;
  /** Sums that it charges of its month, by category: rows that are written later are charged with the next invoice. */
  readonly counted: Sums;
}

/** By customer, month and number, tagged with the customer. */
export const INVOICES = collection<StoredInvoice>("invoices");

export type Currency = Customer["currency"];

export interface ExchangeRate {
  readonly currency: Currency;
  /** Millionths of the currency for one US dollar. */
  readonly per_usd_micros: number;
  readonly set_at: string;
}

/** By currency. */
export const EXCHANGE_RATES = collection<ExchangeRate>("exchange_rates");

/** The sum that an attempt has reserved, and then cost. */
export interface AttemptSpend {
  readonly micros: number;
}

/** By the id of the attempt. */
export const REQUEST_SPEND = collection<AttemptSpend>("request_spend", { expires: true });

/** By `<customer>:<day>:<project>`. */
export const USAGE_DAYS = collection<UsageSums>("usage_days", { expires: true });
/** By `<customer>:<project>:<key>:<day>`. */
export const USAGE_KEY_DAYS = collection<UsageSums>("usage_key_days", { expires: true });
/** By `<customer>:<month>:<project>:<key>`. */
export const USAGE_KEY_MONTHS = collection<UsageSums>("usage_key_months", { expires: true });
