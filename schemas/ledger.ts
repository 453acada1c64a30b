/**
 * The ledger: one row for each request and batch item that is billed, as it is stored and as GET /v1/requests and GET
 * /v1/usage show it. Rows are stored in batches, `ledger/<customer>:<time>:<writer>`, each written once; the Usage actor adds
 * them up by day and by key.
 */
import { type Static, Type } from "typebox";
import { KeyPrefix, ProjectName, Currency, SpendBasis, type Usage } from "./accounts.ts";
import { Field, Component, BILLING_CATEGORIES, BillingCategory, Nullable, Timestamp } from "./common.ts";
import { ask, contract, tell } from "../cluster/contracts/contract.ts";

const DAY_MS = 24 * 3_600_000;

export const LedgerAttempt = Component("LedgerAttempt", {
  tier: Field(Type.String(), "The route", "direct"),
  status: Field(Nullable(Type.Integer()), "The origin's status; null: no answer", 200),
  reason: Field(Type.String(), "`ok`, or why it was not good enough", "ok"),
  ms: Field(Type.Integer(), "How long it took, in milliseconds", 508),
});

/** A billed request or item. */
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

/** Fields of a billed answer beside its bill. */
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

/** The UsageTotals actor: one for each customer; adds its new batches up, each exactly once. */
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

export const CategoryUsage = Component("CategoryUsage", {
  requests: Field(Type.Integer(), "Requests and items", 1200),
  succeeded: Field(Type.Integer(), "Those without an error", 1150),
  bytes: Field(Type.Integer(), "Bytes of all bodies", 52000000),
  bytes_ok: Field(Type.Integer(), "Bytes of those without an error", 51000000),
  paid_bytes: Field(Type.Integer(), "Bytes by routes that cost money", 1000000),
  paid_bytes_ok: Field(Type.Integer(), "Bytes of those without an error", 900000),
  cost_usd: Field(Amount, "What providers cost, in US dollars; null for external customers", "1.250000"),
  cost_ok_usd: Field(Amount, "What the answers without an error cost", "1.100000"),
});
export type CategoryUsage = Static<typeof CategoryUsage>;

export const UsageRow = Component("UsageRow", {
  category: Type.Optional(Field(Type.Enum([...BILLING_CATEGORIES]), "The billing category")),
  project: Type.Optional(ProjectName),
  day: Type.Optional(Field(Type.String(), "The day, UTC", "2026-11-22")),
  /** The prefix of the key. */
  key: Type.Optional(KeyPrefix),
  ...CategoryUsage.properties,
});

export const UsagePeriod = Component("UsagePeriod", {
  since: Field(Type.String({ format: "date" }), "The first day, UTC"),
  until: Field(Type.String({ format: "date" }), "The day after the last"),
});

/** `GET /v1/usage`: a row for each combination of the groups asked for that has any use. */
export const UsageReport = Component("UsageReport", {
  /** The first day, and the day after the last. */
  period: Field(UsagePeriod, "The days of the report"),
  rows: Field(Type.Array(UsageRow), "One for each group that has any use"),
  totals: Field(CategoryUsage, "All rows together"),
});
export type UsageReport = Static<typeof UsageReport>;

/** A row as clients see it. */
export const RequestRecord = Component("RequestRecord", {
  request_id: Type.String(),
  at: Field(Timestamp, "When it was answered"),
  project: ProjectName,
  key: KeyPrefix,
  category: Field(BillingCategory, "The billing category"),
  status: Field(
    Nullable(Type.Integer()),
    "The status of the page; null for searches and where no origin answered",
    200,
  ),
  ok: Field(Type.Boolean(), "Whether there was an answer without an error"),
  error: Nullable(Type.String()),
  reason: Field(Nullable(Type.String()), "The last attempt's reason, or why the fallback was asked", "ok"),
  latency_ms: Field(Type.Integer(), "From request to answer, in milliseconds", 512),
  cached: Type.Boolean(),
  bytes: Type.Integer(),
  paid: Field(Type.Boolean(), "Whether the page came by a route that costs money", false),
  /** Charge in the customer's currency: the price of a succeeded request, else 0; null: there are no prices. */
  charge: Field(
    Nullable(Type.String()),
    "What the customer is charged; null: the operator has set no price",
    "0.001000",
  ),
  cost_usd: Field(Amount, "What providers cost, in US dollars; null for external customers", "0.000000"),
  attempts: Field(
    Type.Array(LedgerAttempt),
    "The routes that were tried; empty for an answer from the cache",
  ),
  project_ref: Nullable(Type.String()),
});
export type RequestRecord = Static<typeof RequestRecord>;

/** `GET /v1/requests`: newest first. */
export const RequestList = Component("RequestList", {
  items: Field(Type.Array(RequestRecord), "Newest first"),
  /** For the next page; null: there is none. A page may have fewer items than `limit`, also none, and a cursor. */
  next_cursor: Nullable(Type.String()),
});
export type RequestList = Static<typeof RequestList>;

/** `GET /v1/account`: this month of a customer. Amounts are decimals of six places, in the customer's currency or as named. */
export const AccountView = Component("AccountView", {
  customer: Field(
    Type.Object({
      name: Field(Type.String(), "Its name", "acme"),
      status: Field(Type.Enum(["active", "suspended"]), "Whether its keys work"),
      currency: Field(Currency, "ISO 4217", "CHF"),
      created_at: Timestamp,
    }),
    "The customer",
  ),
  /** Project of the calling key. */
  project: ProjectName,
  period: Field(
    Type.Object({
      month: Field(Type.String(), "The month, UTC", "2026-11"),
      since: Field(Timestamp, "Its first moment"),
      resets_at: Field(Timestamp, "The first moment of the next"),
    }),
    "The month that the figures are of",
  ),
  plan: Field(
    Component("AccountPlan", {
      /** For a succeeded request, by billing category; null: the customer pays what providers cost. */
      prices: Field(
        Nullable(Type.Record(Type.String(), Type.String())),
        "What a succeeded request costs by billing category, in the customer's currency; null: what providers cost",
        { fetch_own: "0.001000" },
      ),
      budget: Field(
        Nullable(Type.String()),
        "What all projects together may spend in the month; null: no limit",
        "100.000000",
      ),
      remaining: Field(
        Nullable(Type.String()),
        "What is left; null: no limit, or an external customer",
        "98.750000",
      ),
      basis: SpendBasis,
      projects: Field(
        Type.Array(
          Component("AccountPlanProject", {
            name: ProjectName,
            rate_limit_rps: Field(Type.Integer(), "Requests a second", 200),
            budget: Field(
              Nullable(Type.String()),
              "What it may spend in the month; null: no limit",
              "25.500000",
            ),
          }),
        ),
        "The limits of each project",
      ),
    }),
    "What may be spent",
  ),
  estimate: Field(
    Type.Object({
      requests: Field(Type.Integer(), "Requests and items", 1200),
      cost_usd: Field(Amount, "What providers cost, in US dollars; null for external customers", "1.250000"),
    }),
    "The whole month, if it goes on as it has so far",
  ),
  usage: Field(
    Type.Array(
      Component("AccountViewUsage", {
        category: Field(Type.String(), "The billing category", "fetch_own"),
        ...CategoryUsage.properties,
      }),
    ),
    "By billing category",
  ),
  keys: Field(
    Type.Array(
      Component("AccountViewKey", {
        prefix: KeyPrefix,
        project: ProjectName,
        ...CategoryUsage.properties,
      }),
    ),
    "By key",
  ),
  totals: Field(CategoryUsage, "All together"),
});
export type AccountSummary = Static<typeof AccountView>;

/** The sums of one document: by billing category, and which batches are in them and may still be listed as new. */
export interface UsageSums {
  readonly usage: Readonly<Record<string, Usage>>;
  readonly folded: readonly string[];
}
