/**
 * Callers and what they may use: customers own projects, projects own keys. The three are stored as documents
 * (actors/business/accounts/keys.ts); the month's usage belongs to one Account actor per project.
 */
import { type Static, Type } from "typebox";
import {
  Field,
  Component,
  type BILLING_CATEGORIES,
  Nullable,
  Patterned,
  Sha256,
  Timestamp,
} from "./common.ts";
import { ask, contract, tell } from "../cluster/contracts/contract.ts";

/** An operator key is made by the command line only, and is the only one for /v1/ops. */
export const ROLES = ["standard", "account_admin", "operator"] as const;
/** The fixed part of each role's keys; with the 7 characters after it, it is the prefix that is shown. */
export const KEY_MARKS = { standard: "sk_", account_admin: "ak_", operator: "ok_" } as const;
export const PREFIX_CHARS = 10;
export const MAX_LABEL_CHARS = 200;
/** As the command line takes them: nine and twelve digits. */
const MAX_RPS = 999_999_999;
const MAX_QUOTA = 999_999_999_999;
export const KEY_PREFIX = "^[sao]k_[0-9A-Za-z_-]{7}$";
/** The shape of any key: other strings are refused before they are hashed or looked up. */
export const KEY_SHAPE = /^[sao]k_[0-9A-Za-z_-]{17,200}$/;

/** Categories a key can be restricted to and have a monthly quota for. */
export const QUOTA_CATEGORIES = ["search", "fetch"] as const;
export type QuotaCategory = (typeof QUOTA_CATEGORIES)[number];

/** Requests per second of a project, over one-second windows, when the operator sets nothing. */
export const PROJECT_RATE_DEFAULT = 200;

/** Percent of an allowance whose crossing is an event. */
export const THRESHOLDS = [50, 80, 100] as const;

/** Millionths of the currency: whole numbers, so that sums are exact. */
const Micros = Type.Integer({ minimum: 0 });
/** "2026-11", UTC. */
const Month = Type.String({ pattern: "^\\d{4}-\\d{2}$" });
const NAME = "^[a-z0-9][a-z0-9_-]{0,62}$";
export const NAME_SHAPE = new RegExp(NAME);
const Name = Type.String({ pattern: NAME });

export const Currency = Type.Enum(["USD", "CHF", "EUR"]);

export const KeyPrefix = Field(Type.String(), "The first characters of the key", "sk_abcdefg");
export const ProjectName = Field(Type.String(), "The name of the project", "research");
const RoleField = Field(
  Type.Enum([...ROLES]),
  "A standard key sees itself, an account admin its whole customer, an operator uses /v1/ops as well",
);
const SpendLimit = Field(Nullable(Type.String()), "In the customer's currency; null: no limit", "25.500000");
const KeyLabel = Field(Nullable(Type.String()), "Words for the key", "nightly crawl");
const KeyStatus = Field(Type.Enum(["active", "revoked"]), "Whether the key works");
const RateLimit = Field(Nullable(Type.Integer()), "Requests a second; null: no limit of its own", 20);
const PaidFetches = Field(Type.Boolean(), "Whether routes that cost money may be taken for the key", true);
const MayDebug = Field(Type.Boolean(), "Whether `X-Service-Debug: 1` gets a debug_url", false);
const CurrencyCode = Field(Currency, "ISO 4217", "CHF");

export const SpendBasis = Field(
  Type.Enum(["charge", "provider_cost"]),
  "What counts against limits of spend: what the customer is charged, where it has prices; else what providers cost",
  "provider_cost",
);
export type SpendBasis = Static<typeof SpendBasis>;

/** Stored as `customers/<name>`. */
export const Customer = Type.Object({
  name: Name,
  status: Type.Enum(["active", "suspended"]),
  /** External customers never see what a provider cost. */
  external: Type.Boolean(),
  currency: Currency,
  /** The most that all projects of the customer together may spend in a month; null: no limit. */
  budget_micros: Nullable(Micros),
  /** Prices of a succeeded request, by billing category, from a month on; ascending. Absent: no prices. */
  prices: Type.Optional(
    Type.Array(Type.Object({ from: Month, per_request: Type.Record(Type.String(), Micros) })),
  ),
  /** The buyer that the customer's invoices name. Absent: the customer's name. */
  billing: Type.Optional(
    Type.Object({
      name: Type.String(),
      address: Type.Array(Type.String()),
      tax_id: Nullable(Type.String()),
    }),
  ),
  created_at: Type.String(),
});
export type Customer = Static<typeof Customer>;

/** Stored as `projects/<name>`, tagged with its customer. */
export const Project = Type.Object({
  name: Name,
  customer: Name,
  rate_limit_rps: Type.Integer({ minimum: 1 }),
  /** The values that FetchBody.user_agent may have. */
  user_agents: Type.Array(Type.String()),
  /** Private networks (CIDRs) that its requests may reach beside what the service allows to it. Absent: none. */
  networks: Type.Optional(Type.Array(Type.String())),
  /** The most that the project may spend on premium routes in a month; null: no limit. */
  budget_micros: Nullable(Micros),
  /** Exchanges are kept of its fetches that do not say `archive`. Absent: they are not. */
  archive: Type.Optional(Type.Literal(true)),
  created_at: Type.String(),
});
export type Project = Static<typeof Project>;

const Quotas = Type.Object({
  search: Field(Nullable(Type.Integer()), "Searches a month; null: no limit", 1000),
  fetch: Field(Nullable(Type.Integer()), "Fetches a month; null: no limit", 3),
});
export type Quotas = Static<typeof Quotas>;

/** Stored as `keys/<SHA-256 of the key>`, tagged with its project. The key itself is not stored. */
export const Key = Type.Object({
  prefix: Type.String({ minLength: PREFIX_CHARS, maxLength: PREFIX_CHARS }),
  project: Name,
  label: Nullable(Type.String({ maxLength: MAX_LABEL_CHARS })),
  role: Type.Enum([...ROLES]),
  /** null: all. */
  categories: Nullable(Type.Array(Type.Enum([...QUOTA_CATEGORIES]))),
  /** The key's own requests per second; null: only the project's. */
  rate_limit_rps: Nullable(Type.Integer({ minimum: 1 })),
  /** Requests a month; null: no limit. */
  quotas: Quotas,
  spend_cap_micros: Nullable(Micros),
  /** False: routes that cost money are never taken for the key. Absent: they are. */
  paid_fetches: Type.Optional(Type.Boolean()),
  /** Whether X-Service-Debug: 1 gets a debug_url. Absent: it does not. */
  debug: Type.Optional(Type.Boolean()),
  status: Type.Enum(["active", "revoked"]),
  created_at: Type.String(),
  revoked_at: Nullable(Type.String()),
  /** When it stops working; null or absent: never. */
  expires_at: Type.Optional(Nullable(Type.String())),
});
export type Key = Static<typeof Key>;

/** Whether the key works: it is neither revoked nor expired. */
export const isUsable = (
  { status, expires_at }: Pick<Key, "status" | "expires_at">,
  now_ms: number,
): boolean => status === "active" && (expires_at == null || Date.parse(expires_at) > now_ms);

/** Whether the key sees all of its customer, not only itself. */
export const isAdmin = ({ role }: Pick<Key, "role">): boolean => role !== "standard";

export const isOperatorKey = ({ role }: Pick<Key, "role">): boolean => role === "operator";

/** Operator keys are no matter of the customer in whose project they stand. */
export const isVisibleTo = (key: Key, caller: Key): boolean => !isOperatorKey(key) || isOperatorKey(caller);

export const allowsPaid = ({ paid_fetches }: Pick<Key, "paid_fetches">): boolean => paid_fetches !== false;

/** A key with its project and customer, as the gateway looks it up. */
export interface Grant {
  readonly key: Key;
  readonly project: Project;
  readonly customer: Customer;
  /** Millionths of the customer's currency for one US dollar, as spend is counted. */
  readonly per_usd_micros: number;
}

/** Use of one billing category, with money in millionths. */
export const Usage = Type.Object({
  requests: Type.Integer(),
  succeeded: Type.Integer(),
  bytes: Type.Integer(),
  bytes_ok: Type.Integer(),
  paid_bytes: Type.Integer(),
  paid_bytes_ok: Type.Integer(),
  cost_micros: Type.Integer(),
  cost_ok_micros: Type.Integer(),
});
export type Usage = Static<typeof Usage>;

export const NO_USAGE: Readonly<Usage> = {
  requests: 0,
  succeeded: 0,
  bytes: 0,
  bytes_ok: 0,
  paid_bytes: 0,
  paid_bytes_ok: 0,
  cost_micros: 0,
  cost_ok_micros: 0,
};

/** How an answered request is billed. */
export interface Bill {
  readonly category: (typeof BILLING_CATEGORIES)[number];
  readonly ok: boolean;
  readonly bytes: number;
  /** Whether the page came by a premium route. */
  readonly paid: boolean;
  readonly cost_micros: number;
  /** Fields of the ledger row beside the bill. */
  readonly detail?: {
    readonly status: number | null;
    readonly error: string | null;
    readonly reason: string | null;
    readonly attempts: {
      readonly tier: string;
      readonly status: number | null;
      readonly reason: string;
      readonly ms: number;
    }[];
  };
}

/** A bill with what its work has cost in the end: a fetch that spent money is a paid one, whatever became of it. */
export const withCost = <B extends Pick<Bill, "category" | "paid">>(
  bill: B,
  cost_micros: number,
): B & Pick<Bill, "cost_micros"> => ({
  ...bill,
  cost_micros,
  ...(cost_micros > 0 && bill.category === "fetch_own" && { category: "fetch_paid", paid: true }),
});

/** Adds as many equal bills to the usage of their category, in place. */
export function countBills(
  usage: Usage,
  { ok, bytes, paid, cost_micros }: Pick<Bill, "ok" | "bytes" | "paid" | "cost_micros">,
  bills: number,
): void {
  usage.requests += bills;
  usage.bytes += bytes * bills;
  usage.cost_micros += cost_micros * bills;
  if (paid) usage.paid_bytes += bytes * bills;
  if (!ok) return;
  usage.succeeded += bills;
  usage.bytes_ok += bytes * bills;
  usage.cost_ok_micros += cost_micros * bills;
  if (paid) usage.paid_bytes_ok += bytes * bills;
}

/** An account crossed a threshold of one of its allowances; once for each allowance, threshold and month. */
export const ThresholdEvent = Type.Object({
  allowance: Type.Enum([...QUOTA_CATEGORIES, "spend"]),
  threshold: Type.Integer(),
  at_ms: Type.Integer(),
});
export type ThresholdEvent = Static<typeof ThresholdEvent>;

/** A crossed threshold with the counts at that moment, to be announced to webhooks. Money is in millionths of a US dollar. */
export const Crossing = Type.Object({
  ...ThresholdEvent.properties,
  month: Month,
  used: Type.Integer(),
  limit: Type.Integer(),
  /** Basis of a threshold of spend; `charge`: money is in the customer's currency. Absent: provider_cost. */
  basis: Type.Optional(SpendBasis),
});
export type Crossing = Static<typeof Crossing>;

/** Requests by quota category. */
const Counts = Type.Object({ search: Type.Integer(), fetch: Type.Integer() });
export type Counts = Static<typeof Counts>;

/** Report of a holder on a key's monthly quota: what it used, keeps and needs. A holder is a gateway or a job. */
export const LeaseRequest = Type.Object({
  /** Unlike every other and every earlier one. */
  holder: Type.String(),
  /** Begins with 1, which reports nothing used: a repeated report is recognised by it. */
  sequence: Type.Integer({ minimum: 1 }),
  month: Month,
  /** The key's quotas as the holder knows them; null: none. */
  limits: Quotas,
  /** Units used since the last report. */
  used: Counts,
  /** Units it keeps: of running requests, and unused ones. */
  held: Counts,
  /** Further units that requests wait for. */
  requested: Counts,
  /** Further units for the requests of the next second; fewer are granted near the end of the quota. */
  prefetch: Counts,
  /** The holder needs nothing more and reports no more. */
  is_final: Type.Boolean(),
});
export type LeaseRequest = Static<typeof LeaseRequest>;

export const LeaseReply = Type.Object({
  granted: Counts,
  /** False: the holder was silent too long and its units count as used; it begins anew under another name. */
  is_known: Type.Boolean(),
  settled: Counts,
  /** Neither settled nor reserved by any holder; null: no limit. */
  free: Quotas,
});
export type LeaseReply = Static<typeof LeaseReply>;

/** Use of an account's allowances in a month: settled, and reserved by work that runs. */
export const AllowanceUse = Type.Object({
  settled: Type.Object({ search: Type.Integer(), fetch: Type.Integer(), spend_micros: Micros }),
  reserved: Type.Object({ search: Type.Integer(), fetch: Type.Integer(), spend_micros: Micros }),
  events: Type.Array(ThresholdEvent),
});
export type AllowanceUse = Static<typeof AllowanceUse>;

/** A limit of a one-second window, and how many requests wait for it at the gateway. */
export const RateRequest = Type.Object({
  limit: Type.Integer({ minimum: 0 }),
  requested: Type.Integer({ minimum: 0 }),
});
export type RateRequest = Static<typeof RateRequest>;

/**
 * Money for one attempt on a premium route, before the attempt. The id is that of the attempt: a repeated request reserves
 * nothing twice. A reservation that is not settled lapses after six minutes and counts as spent.
 */
export const ReserveRequest = Type.Object({
  id: Type.String(),
  /** The most the attempt can cost. */
  micros: Micros,
  /** The most that the account may spend in the month; null: no limit. */
  limit_micros: Nullable(Micros),
  /** `charge`: all amounts are in the customer's currency. Default: provider_cost. */
  basis: Type.Optional(SpendBasis),
  /** Which of the tries of this id reserves. The newest holds the reservation. */
  holder: Type.Optional(Type.String()),
});
export type ReserveRequest = Static<typeof ReserveRequest>;
export const ReserveReply = Type.Union([
  Type.Object({ kind: Type.Literal("reserved") }),
  Type.Object({ kind: Type.Literal("refused"), remaining_micros: Micros }),
]);
export type ReserveReply = Static<typeof ReserveReply>;

/**
 * Cost of the attempt, at most what was reserved. Settles exactly once, however often it is sent. With a holder: nothing is
 * settled that another try has reserved since.
 */
export const SettleRequest = Type.Object({
  id: Type.String(),
  micros: Micros,
  holder: Type.Optional(Type.String()),
});

/**
 * The keys of the accounts of a customer, of its projects and of their API keys. They begin with the same word, so all of
 * a customer's accounts live on one node.
 */
export const accountKey = (customer: string, project?: string, prefix?: string): string =>
  [customer, project, prefix].filter((name) => name !== undefined).join(" ");

/** The Account actor: one for each customer, project and API key. */
export const Account = contract(
  "account",
  {
    /** Grants requests of a one-second window, by what is limited ("project" or a key's prefix). Only for projects. */
    allotRates: ask(
      Type.Object({ window: Type.Integer(), requests: Type.Record(Type.String(), RateRequest) }),
      Type.Record(Type.String(), Type.Object({ granted: Type.Integer(), remaining: Type.Integer() })),
    ),
    /** Counts what a holder used of the monthly quotas, exactly once, and grants further units. Only for API keys. */
    lease: ask(LeaseRequest, LeaseReply),
    /** For any account. */
    reserve: ask(ReserveRequest, ReserveReply),
    /** For any account. */
    settle: ask(SettleRequest, Type.Object({ spent_micros: Micros })),
    /** Settles with nothing what is reserved under ids that begin so. For any account. */
    release: ask(Type.Object({ prefix: Type.String({ minLength: 1 }) }), Type.Null()),
    /** For any account. */
    allowances: ask(Type.Object({ month: Month, basis: Type.Optional(SpendBasis) }), AllowanceUse),
  },
  {
    /** The reminder: crossings wait to be announced. */
    announce: tell(Type.Null()),
    /** These crossings are announced; none of them where it failed. */
    announced: tell(Type.Object({ crossings: Type.Array(Crossing) })),
  },
);

export const QuotaAllowance = Component("QuotaAllowance", {
  used: Field(Type.Integer(), "Requests since the quota was set, at most of this month", 1),
  limit: Field(Nullable(Type.Integer()), "Requests a month; null: no quota", 3),
  remaining: Field(Nullable(Type.Integer()), "What is left; null: no quota", 2),
});

/** Decimal strings with six places. `used` is null for keys of an external customer: they never see provider cost. */
export const QuotaSpend = Component("QuotaSpend", {
  used: Field(Nullable(Type.String()), "Decimal of six places; null for external customers", "1.250000"),
  limit: SpendLimit,
  remaining: Field(
    Nullable(Type.String()),
    "What is left; null: no limit, or an external customer",
    "24.250000",
  ),
  currency: CurrencyCode,
  basis: SpendBasis,
});

export const QuotaRequests = Component("QuotaRequests", {
  search: Field(QuotaAllowance, "Searches"),
  fetch: Field(QuotaAllowance, "Fetches, filings and companies"),
});

export const QuotaKey = Component("QuotaKey", {
  prefix: KeyPrefix,
  label: KeyLabel,
  role: RoleField,
  project: ProjectName,
  status: KeyStatus,
  categories: Field(
    Nullable(Type.Array(Type.Enum([...QUOTA_CATEGORIES]))),
    "What the key may be used for; null: everything",
    ["fetch"],
  ),
  /** The key's own limit; null: only the project's. */
  rate_limit_rps: RateLimit,
  /** Requests of this month by quota category; limit and remaining null: no quota. */
  requests: Field(QuotaRequests, "Requests of this month by category"),
  /** Spend of this month; limit and remaining null: no cap. */
  spend: Field(QuotaSpend, "Money spent this month"),
});

/** A project's sums over its keys. `requests.*.limit` is always null: quotas belong to keys. */
export const QuotaProject = Component("QuotaProject", {
  name: ProjectName,
  rate_limit_rps: Field(Type.Integer(), "Requests a second of all keys together", 200),
  requests: Field(
    QuotaRequests,
    "The sums of its keys; limits are always null, because quotas belong to keys",
  ),
  /** Its limit is the project's budget for premium routes. */
  spend: Field(QuotaSpend, "Its limit is the project's budget"),
});

export const QuotaEvent = Component("QuotaEvent", {
  scope: Field(Type.Enum(["key", "project", "customer"]), "What crossed it"),
  key: Field(Nullable(Type.String()), "With scope key: its prefix", "sk_abcdefg"),
  project: Field(Nullable(Type.String()), "With scope key and project: the project", "research"),
  /** Which allowance: the monthly requests of a category, or spend. */
  allowance: Field(
    Type.Enum([...QUOTA_CATEGORIES, "spend"]),
    "Which allowance: the requests of a category, or spend",
  ),
  threshold: Field(Type.Integer(), "Percent of the allowance", 80),
  crossed_at: Field(Timestamp, "When it was crossed"),
});

export const AccountKey = Component("AccountKey", {
  prefix: KeyPrefix,
  project: Field(Name, "The name of the project", "research"),
  label: KeyLabel,
  role: RoleField,
  categories: Field(
    Nullable(Type.Array(Type.Enum([...QUOTA_CATEGORIES]))),
    "What the key may be used for; null: everything",
    ["fetch"],
  ),
  rate_limit_rps: RateLimit,
  /** Requests a month; null: no limit. */
  quotas: Field(Quotas, "Requests a month by category"),
  /** Decimal, in the customer's currency; null: no limit. */
  spend_cap: SpendLimit,
  paid_fetches: PaidFetches,
  debug: MayDebug,
  status: KeyStatus,
  created_at: Timestamp,
  revoked_at: Field(Nullable(Timestamp), "When it was revoked; null: it was not"),
  expires_at: Field(Nullable(Timestamp), "When it stops working; null: never"),
});

/** A week: for programs that get their new key by hand. */
const MAX_GRACE_S = 604_800;

/** Limits that an account admin may set of a key. Left out: as it is, or for a new key no limit. */
const KEY_LIMITS = {
  label: Type.Optional(
    Field(
      Nullable(
        Type.String({
          maxLength: MAX_LABEL_CHARS,
          pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]*$",
          "x-expected": "Input should have no line breaks or other control characters",
        }),
      ),
      "Words for the key",
      "nightly crawl",
    ),
  ),
  categories: Type.Optional(
    Field(
      Nullable(Type.Array(Type.Enum([...QUOTA_CATEGORIES]), { minItems: 1, maxItems: 10 })),
      "What the key may be used for; null: everything",
      ["fetch"],
    ),
  ),
  rate_limit_rps: Type.Optional(
    Field(
      Nullable(Type.Integer({ minimum: 1, maximum: MAX_RPS })),
      "Requests a second; null: no limit of its own",
      20,
    ),
  ),
  quotas: Type.Optional(
    Field(
      Type.Object({
        search: Type.Optional(
          Field(
            Nullable(Type.Integer({ minimum: 0, maximum: MAX_QUOTA })),
            "Searches a month; null: no limit",
            1000,
          ),
        ),
        fetch: Type.Optional(
          Field(
            Nullable(Type.Integer({ minimum: 0, maximum: MAX_QUOTA })),
            "Fetches a month; null: no limit",
            3,
          ),
        ),
      }),
      "Requests a month by category",
    ),
  ),
  spend_cap: Type.Optional(
    Field(
      Nullable(Patterned("^\\d{1,9}(\\.\\d{1,6})?$", 'Input should be an amount as "25" or "25.50"')),
      "In the customer's currency; null: no limit",
      "25.500000",
    ),
  ),
  paid_fetches: Type.Optional(PaidFetches),
  debug: Type.Optional(MayDebug),
  expires_at: Type.Optional(
    Field(
      Nullable(Timestamp),
      "When the key stops working, a moment in the future; null: never",
      "2036-01-01T00:00:00.000Z",
    ),
  ),
};

/** POST /v1/keys. An operator key is made by the command line only. */
export const KeyBody = Component("KeyBody", {
  ...KEY_LIMITS,
  project: Type.Optional(Field(Name, "The project of the key; default: that of the calling key", "research")),
  role: Type.Optional(
    Field(
      Type.Enum(["standard", "account_admin"]),
      "A standard key sees itself, an account admin its whole customer; default standard",
      "standard",
    ),
  ),
});
export type KeyBody = Static<typeof KeyBody>;

/** PATCH /v1/keys/{prefix}. */
export const KeyChange = Component("KeyChange", KEY_LIMITS);
export type KeyChange = Static<typeof KeyChange>;

/** POST /v1/keys/{prefix}/rotate. */
export const KeyRotation = Component("KeyRotation", {
  grace_s: Type.Optional(
    Field(
      Type.Integer({ minimum: 0, maximum: MAX_GRACE_S, default: 0 }),
      "How long the old key still works, in seconds; 0: it is revoked at once",
      3600,
    ),
  ),
  expires_at: KEY_LIMITS.expires_at,
});

/** Change of a key over HTTP, and the key that asked for it. */
export const KeyEvent = Component("KeyEvent", {
  at: Field(Timestamp, "When it was done"),
  action: Field(Type.Enum(["created", "changed", "rotated", "revoked"]), "What was done"),
  key: KeyPrefix,
  by: Field(Type.String(), "The prefix of the key that asked for it", "ak_abcdefg"),
  fields: Field(Type.Array(Type.String()), "What was set", ["quotas"]),
  replaced_by: Field(Nullable(Type.String()), "With rotated: the prefix of the new key", "sk_gfedcba"),
});
export type KeyEvent = Static<typeof KeyEvent>;

/** GET /v1/keys/events. */
export const KeyEvents = Component("KeyEvents", {
  events: Field(Type.Array(KeyEvent), "Newest first"),
});

export const AccountKeyCreated = Component("AccountKeyCreated", {
  ...AccountKey.properties,
  key: Field(
    Type.String(),
    "The key; it is not shown again",
    "sk_abcdefgHIJKLMNOPQRSTUVWXYZ0123456789abcdefgHIJ",
  ),
});

/** GET /v1/keys. */
export const AccountKeys = Component("AccountKeys", { keys: Field(Type.Array(AccountKey), "Oldest first") });

export const QuotaCustomer = Component("QuotaCustomer", {
  name: Field(Type.String(), "The name of the customer", "acme"),
  status: Field(Type.Enum(["active", "suspended"]), "Whether its keys work"),
  currency: CurrencyCode,
  projects: Field(Type.Array(QuotaProject), "Its projects"),
});

/** GET /v1/quota. A standard key sees itself; an admin key sees every active key and project of its customer. */
export const Quota = Component("Quota", {
  /** The calling key's prefix. */
  key: Field(Type.String(), "The prefix of the calling key", "sk_abcdefg"),
  role: RoleField,
  period: Field(Month, "The month, UTC", "2026-11"),
  resets_at: Field(Timestamp, "When the month ends"),
  as_of: Field(Timestamp, "When this was answered"),
  /** Rows that were written before this moment are in `used`; null: unknown, because the ledger cannot be added up at present. */
  usage_refreshed_at: Field(
    Nullable(Timestamp),
    "Requests whose rows were stored before this moment are in `used`; null: unknown, usage cannot be added up at present",
  ),
  keys: Field(Type.Array(QuotaKey), "The calling key; for an admin key every active key of the customer"),
  project: Field(QuotaProject, "The project of the calling key"),
  /** Admin keys only. */
  customer: Field(Nullable(QuotaCustomer), "For admin keys: the customer; null for others"),
  events: Field(Type.Array(QuotaEvent), "Thresholds that were crossed this month, newest first"),
});
export type Quota = Static<typeof Quota>;

/**
 * That a project retrieved a body, stored as `body_grants/<sha256>:<project>` and forgotten 30 days after the last
 * time. It carries how that project saw the bytes: two URLs may send the same bytes under two types.
 */
export const BodyGrant = Type.Object({
  sha256: Sha256,
  content_type: Nullable(Type.String()),
  body_kind: Type.Enum(["origin", "rendered_dom", "screenshot"]),
  retrieved_at_ms: Type.Integer(),
});
export type BodyGrant = Static<typeof BodyGrant>;

/** A grant in a document that keeps the body anyway (`right`): the digest stands beside it. */
export const BodyRight = Type.Object({
  project: Type.String(),
  ...Type.Omit(BodyGrant, ["sha256"]).properties,
});
export type BodyRight = Static<typeof BodyRight>;

/** "12.5" to 12500000; null for what is no decimal of at most six places. Never through a float. */
export function toMicros(decimal: string): number | null {
  const parts = /^(\d{1,9})(?:\.(\d{1,6}))?$/.exec(decimal);
  return parts && Number(parts[1]) * 1_000_000 + Number((parts[2] ?? "").padEnd(6, "0"));
}

/** 12500000 to "12.500000". */
export function fromMicros(micros: number): string {
  const digits = String(micros).padStart(7, "0");
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`;
}

const ONE_USD_MICROS = 1_000_000n;

/** US dollars in a currency, both in millionths, rounded half up. */
export const fromUsd = (usd_micros: number, per_usd_micros: number): number =>
  Number((BigInt(usd_micros) * BigInt(per_usd_micros) + ONE_USD_MICROS / 2n) / ONE_USD_MICROS);

/** Converts as `fromUsd`, rounded up: what is left of a limit is never shown too high. */
export const fromUsdUp = (usd_micros: number, per_usd_micros: number): number =>
  Number((BigInt(usd_micros) * BigInt(per_usd_micros) + ONE_USD_MICROS - 1n) / ONE_USD_MICROS);

/** A limit in US dollars: at most as much, so that what is spent of it never exceeds the limit. */
export const limitInUsd = (limit_micros: number | null, per_usd_micros: number): number | null =>
  limit_micros === null ? null : Number((BigInt(limit_micros) * ONE_USD_MICROS) / BigInt(per_usd_micros));

let latest = { month: "", starts_ms: 0, ends_ms: 0 };

/** "2026-11". It is asked for with each request, nearly always for the same month. */
export function monthOf(now_ms: number): string {
  if (now_ms < latest.starts_ms || now_ms >= latest.ends_ms) {
    const month = new Date(now_ms).toISOString().slice(0, 7);
    latest = { month, starts_ms: Date.parse(`${month}-01T00:00:00Z`), ends_ms: monthEnds(now_ms) };
  }
  return latest.month;
}

/** Whether the text is a month as `monthOf` writes it. */
export const isMonth = (text: string): boolean => /^\d{4}-(0[1-9]|1[0-2])$/.test(text);

/** The first moment of the next UTC month. */
export function monthEnds(now_ms: number): number {
  const now = new Date(now_ms);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
}
