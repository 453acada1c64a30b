/**
 * The ledger: one row for each request and batch item that is billed, as it is stored and as GET /v1/requests and GET
 * /v1/usage show it. Rows are stored in batches, `ledger/<customer>:<time>:<writer>`, each written once; the Usage actor adds
 * them up by day and by key.
 */
import { type Static, Type } from "typebox";
import { Currency, type Usage } from "./accounts.ts";
import { BILLING_CATEGORIES, BillingCategory, Nullable, Timestamp } from "./common.ts";
import { ask, contract, tell } from "./contract.ts";

const DAY_MS = 24 * 3_600_000;

export const LedgerAttempt = Type.Object({
  tier: Type.String(),
  status: Nullable(Type.Integer()),
  reason: Type.String(),
  ms: Type.Integer(),
});

/** One billed request or item. */
export const LedgerRow = Type.Object({
  /** Unique: a row that is written twice counts once. */
  request_id: Type.String(),
  /** When it was answered. */
  at_ms: Type.Integer(),
  project: Type.String(),
  /** The prefix of the key. */
  key: Type.String(),
  category: BillingCategory,
  ok: Type.Boolean(),
  /** The status of the page; null for searches and where no origin answered. */
  status: Nullable(Type.Integer()),
  error: Nullable(Type.String()),
  /** Why it took the way it took: the last attempt's reason, or why the fallback was asked. */
  reason: Nullable(Type.String()),
  latency_ms: Type.Integer(),
  cached: Type.Boolean(),
  bytes: Type.Integer(),
  /** Whether the page came by a premium route. */
  paid: Type.Boolean(),
  cost_micros: Type.Integer(),
  attempts: Type.Array(LedgerAttempt),
  project_ref: Nullable(Type.String()),
});
export type LedgerRow = Static<typeof LedgerRow>;

/** What a billed answer says beside its bill. */
export type BillDetail = Pick<LedgerRow, "status" | "error" | "reason" | "attempts" | "project_ref">;

export const NO_DETAIL: BillDetail = {
  status: null,
  error: null,
  reason: null,
  attempts: [],
  project_ref: null,
};

/** Rows are stored this long after their answer; their sums for two years. */
export const LEDGER_RETENTION_MS = 400 * DAY_MS;

/** The key of a batch: batches of a customer are listed in the order in which they were written. */
export const batchKey = (customer: string, at_ms: number, writer: string): string =>
  `${customer}:${String(at_ms).padStart(13, "0")}:${writer}`;
/** The tag of batches that are not added up yet. */
export const newBatchTag = (customer: string): string => `new ${customer}`;

let latest = { day: "", starts_ms: 0 };

/** "2026-11-22", UTC. It is asked for with each row, nearly always for the same day. */
export function dayOf(at_ms: number): string {
  if (at_ms < latest.starts_ms || at_ms >= latest.starts_ms + DAY_MS) {
    const starts_ms = Math.floor(at_ms / DAY_MS) * DAY_MS;
    latest = { day: new Date(starts_ms).toISOString().slice(0, 10), starts_ms };
  }
  return latest.day;
}

/** One actor for each customer: adds its new batches up, each exactly once. */
export const UsageTotals = contract(
  "usage_totals",
  {
    /**
     * Answers when everything that was written before is added up, or could not be. `at_ms`: what was written before this moment is
     * added up; null: the actor has not added anything up since it was activated.
     */
    refresh: ask(Type.Null(), Type.Object({ at_ms: Nullable(Type.Integer()) })),
    /** New batches are there: they are added up within seconds. */
    written: tell(Type.Null()),
  },
  {
    /** The timer. */
    tick: tell(Type.Null()),
    folded: tell(Type.Object({ is_done: Type.Boolean() })),
  },
);

/** Decimal strings of six places; null for an external customer. */
const Amount = Nullable(Type.String());

export const CategoryUsage = Type.Object({
  requests: Type.Integer(),
  succeeded: Type.Integer(),
  bytes: Type.Integer(),
  bytes_ok: Type.Integer(),
  paid_bytes: Type.Integer(),
  paid_bytes_ok: Type.Integer(),
  cost_usd: Amount,
  cost_ok_usd: Amount,
});
export type CategoryUsage = Static<typeof CategoryUsage>;

export const UsageRow = Type.Object({
  category: Type.Optional(Type.Enum([...BILLING_CATEGORIES])),
  project: Type.Optional(Type.String()),
  day: Type.Optional(Type.String()),
  /** The prefix of the key. */
  key: Type.Optional(Type.String()),
  ...CategoryUsage.properties,
});

export const UsagePeriod = Type.Object({
  since: Type.String({ format: "date" }),
  until: Type.String({ format: "date" }),
});

/** `GET /v1/usage`: a row for each combination of the groups asked for that has any use. */
export const UsageReport = Type.Object({
  /** The first day, and the day after the last. */
  period: UsagePeriod,
  rows: Type.Array(UsageRow),
  totals: CategoryUsage,
});
export type UsageReport = Static<typeof UsageReport>;

/** One row as clients see it. */
export const RequestRecord = Type.Object({
  request_id: Type.String(),
  at: Timestamp,
  project: Type.String(),
  key: Type.String(),
  category: BillingCategory,
  status: Nullable(Type.Integer()),
  ok: Type.Boolean(),
  error: Nullable(Type.String()),
  reason: Nullable(Type.String()),
  latency_ms: Type.Integer(),
  cached: Type.Boolean(),
  bytes: Type.Integer(),
  paid: Type.Boolean(),
  /** What the customer is charged, in its currency: the price of a succeeded request, else 0; null: there are no prices. */
  charge: Nullable(Type.String()),
  /** What providers cost; null for an external customer. */
  cost_usd: Amount,
  attempts: Type.Array(LedgerAttempt),
  project_ref: Nullable(Type.String()),
});
export type RequestRecord = Static<typeof RequestRecord>;

/** `GET /v1/requests`: newest first. */
export const RequestList = Type.Object({
  items: Type.Array(RequestRecord),
  /** For the next page; null: there is none. A page may have fewer items than `limit`, also none, and a cursor. */
  next_cursor: Nullable(Type.String()),
});
export type RequestList = Static<typeof RequestList>;

/** `GET /v1/account`: this month of a customer. Amounts are decimals of six places, in the customer's currency or as named. */
export const AccountView = Type.Object({
  customer: Type.Object({
    name: Type.String(),
    status: Type.Enum(["active", "suspended"]),
    currency: Currency,
    created_at: Timestamp,
  }),
  /** Of the calling key. */
  project: Type.String(),
  period: Type.Object({ month: Type.String(), since: Timestamp, resets_at: Timestamp }),
  plan: Type.Object({
    /** For a succeeded request, by billing category; null: the customer pays what providers cost. */
    prices: Nullable(Type.Record(Type.String(), Type.String())),
    /** What all projects together may spend in the month; null: no limit. */
    budget: Nullable(Type.String()),
    /** Null: no limit, or an external customer. */
    remaining: Nullable(Type.String()),
    projects: Type.Array(
      Type.Object({
        name: Type.String(),
        rate_limit_rps: Type.Integer(),
        budget: Nullable(Type.String()),
      }),
    ),
  }),
  /** The whole month, if it goes on as it has so far. */
  estimate: Type.Object({ requests: Type.Integer(), cost_usd: Amount }),
  usage: Type.Array(Type.Object({ category: Type.String(), ...CategoryUsage.properties })),
  keys: Type.Array(
    Type.Object({ prefix: Type.String(), project: Type.String(), ...CategoryUsage.properties }),
  ),
  totals: CategoryUsage,
});
export type AccountSummary = Static<typeof AccountView>;

/** The sums of one document: by billing category, and which batches are in them and may still be listed as new. */
export interface UsageSums {
  readonly usage: Readonly<Record<string, Usage>>;
  readonly folded: readonly string[];
}
