/**
 * GET /v1/usage and GET /v1/requests: what was used, by category, project, day and key, and the ledger row by row. A standard
 * key sees itself, an account admin key its whole customer. Both wait until what was answered before is in the ledger's sums.
 */
import { Type } from "typebox";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import type { Caller } from "../../../../gateway/authenticate.ts";
import { invalid, json } from "../../../../gateway/http-errors.ts";
import { type Route, route } from "../../../../gateway/route.ts";
import { pricesOf } from "../../../../schemas/invoices.ts";
import type { Mistake } from "../../../../gateway/validate.ts";
import {
  type Customer,
  fromMicros,
  isAdmin,
  KEY_PREFIX,
  monthOf,
  NO_USAGE,
  QUOTA_CATEGORIES,
  type Usage,
} from "../../../../schemas/accounts.ts";
import { Field, BILLING_CATEGORIES, Patterned } from "../../../../schemas/common.ts";
import {
  type CategoryUsage,
  dayOf,
  type LedgerRow,
  RequestList,
  type RequestRecord,
  UsageReport,
} from "../../../../schemas/ledger.ts";
import { SUMS_RETENTION_DAYS } from "../fold.ts";
import { findKeyOf } from "../keys.ts";
import { readRows, type RowCursor } from "../read-requests.ts";
import { addUsage, readUsage, type Refresh, TooMuchUsage, type UsageCell } from "../read-usage.ts";

export interface UsageRoutesDeps {
  readonly documents: Documents;
  readonly refresh: Refresh;
}

const GROUPS = ["category", "project", "day", "key"] as const;
type Group = (typeof GROUPS)[number];

const DAY_MS = 24 * 3_600_000;
/** The longest period of one answer. */
const MAX_DAYS = 400;
const LIMIT_DEFAULT = 100;
const MAX_LIMIT = 1_000;

const NO_TIME = "Input should be a date as 2026-11-22, or a time as 2026-11-22T12:00:00Z";
const MOMENT = "^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,3})?)?Z)?$";
const Moment = (description: string) => Type.Optional(Patterned(MOMENT, NO_TIME, { description }));

export function usageRoutes({ documents, refresh }: UsageRoutesDeps): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/usage",
      operationId: "usage",
      summary: "What was used, by category, project, day and key",
      description:
        "Requests and items of batches that were billed. `since` defaults to the first of this month and `until`, which is not " +
        "included, to tomorrow; a time of day is dropped. `group_by` takes several groups, separated by commas. A standard key " +
        `sees its own usage, an account admin key its whole account. At most ${MAX_DAYS} days in one answer, and none before the ` +
        `last ${SUMS_RETENTION_DAYS}.`,
      tags: ["account"],
      query: Type.Object({
        since: Field(Moment("First day, for example 2026-11-01"), null, "2026-11-01"),
        until: Field(Moment("The day after the last"), null, "2026-12-01"),
        group_by: Type.Optional(
          Field(
            Type.String({ description: "Of category, project, day, key; default category", maxLength: 100 }),
            null,
            "category,day",
          ),
        ),
      }),
      replies: {
        200: { description: "A row for each group that was used, and totals", schema: UsageReport },
      },
      handle: async ({ query, caller, now_ms }) => {
        const { customer } = caller.grant;
        const since = (query.since ?? monthOf(now_ms)).slice(0, 10).padEnd(10, "-01");
        const until = query.until?.slice(0, 10) ?? dayOf(now_ms + DAY_MS);
        const groups = (query.group_by ?? "category").split(",").map((name) => name.trim());
        const mistakes = [
          ...momentMistakes(query),
          ...periodMistakes(since, until, now_ms),
          ...groups.filter((name) => !(GROUPS as readonly string[]).includes(name)).map(unknownGroup),
        ];
        if (mistakes.length > 0) return invalid(mistakes);
        await refresh(customer.name);
        const question = { customer: customer.name, since, until, key: ownKey(caller) };
        let cells: readonly UsageCell[];
        try {
          cells = await readUsage(documents, { ...question, by_key: groups.includes("key") });
        } catch (problem) {
          if (!(problem instanceof TooMuchUsage)) throw problem;
          return invalid([mistake("since", `${problem.message}: ask for fewer days`)]);
        }
        const report: UsageReport = {
          period: { since, until },
          rows: grouped(cells, groups as readonly Group[], customer.external),
          totals: usageView(sum(cells), customer.external),
        };
        return json(200, report);
      },
    }),
    route({
      method: "GET",
      path: "/v1/requests",
      operationId: "requests",
      summary: "The ledger of billed requests and batch items, newest first",
      description:
        "`category` is a billing category; search, fetch, company, filings and profiles also find their cached and other forms. " +
        "The newest are those that were stored last: rows of jobs and of other gateways may be stored some seconds after their " +
        "answers. A page may have fewer items than `limit`, also none, and a `next_cursor`. Rows are kept for 400 days.",
      tags: ["account"],
      query: Type.Object({
        since: Field(Moment("The earliest, included"), null, "2026-11-01"),
        until: Field(Moment("The latest, not included"), null, "2026-11-22T12:00:00Z"),
        category: Type.Optional(
          Field(
            Type.Enum([...new Set([...BILLING_CATEGORIES, ...QUOTA_CATEGORIES])]),
            "Only of a billing category, or of a quota's category",
          ),
        ),
        key: Type.Optional(
          Field(
            Patterned(KEY_PREFIX, "Input should be the prefix of a key, its first 10 characters", {
              description: "The prefix of a key; a standard key can name only itself",
            }),
            null,
            "sk_abcdefg",
          ),
        ),
        ok: Type.Optional(Field(Type.Boolean(), "Only with an error, or only without", true)),
        limit: Type.Integer({ minimum: 1, maximum: MAX_LIMIT, default: LIMIT_DEFAULT }),
        cursor: Type.Optional(Type.String({ maxLength: 300 })),
      }),
      replies: { 200: { description: "One page", schema: RequestList } },
      handle: async ({ query, caller }) => {
        const { customer } = caller.grant;
        const since_ms = query.since === undefined ? 0 : Date.parse(query.since);
        const until_ms = query.until === undefined ? Infinity : Date.parse(query.until);
        const cursor = query.cursor === undefined ? null : readCursor(query.cursor, customer.name);
        const mistakes = [
          ...momentMistakes(query),
          ...(until_ms <= since_ms ? [NOT_AFTER] : []),
          ...(cursor === "wrong" ? [mistake("cursor", "This is not a cursor of this endpoint")] : []),
          ...(await keyMistakes(documents, query.key, caller)),
        ];
        if (mistakes.length > 0 || cursor === "wrong") return invalid(mistakes);
        await refresh(customer.name);
        const filter = {
          since_ms,
          until_ms,
          own: ownKey(caller),
          key: query.key ?? null,
          ok: query.ok ?? null,
          category: query.category ?? null,
        };
        const page = { cursor, limit: query.limit };
        const { rows, next } = await readRows(documents, customer.name, filter, page);
        const list: RequestList = {
          items: rows.map((row) => recordView(row, customer)),
          next_cursor: next && Buffer.from(JSON.stringify(next)).toString("base64url"),
        };
        return json(200, list);
      },
    }),
  ];
}

/** A standard key sees only itself. */
export const ownKey = ({ grant: { key, project } }: Caller): { project: string; prefix: string } | null =>
  isAdmin(key) ? null : { project: project.name, prefix: key.prefix };

function readCursor(text: string, customer: string): RowCursor | "wrong" {
  try {
    const cursor = JSON.parse(Buffer.from(text, "base64url").toString()) as Partial<RowCursor>;
    const { batch, skip } = cursor;
    const isBatch = typeof batch === "string" && batch.startsWith(`${customer}:`) && IN_BATCH.test(batch);
    return isBatch && Number.isInteger(skip) && skip! >= 0 ? { batch, skip: skip! } : "wrong";
  } catch {
    return "wrong";
  }
}

/** Customer, time and writer of a batch's key. */
const IN_BATCH = /^[^:]+:\d{13}:/;

function grouped(
  cells: readonly UsageCell[],
  groups: readonly Group[],
  external: boolean,
): UsageReport["rows"] {
  const groupOf = (cell: UsageCell): Record<string, string> =>
    Object.fromEntries(groups.map((name) => [name, cell[name] ?? ""]));
  const byGroup = Map.groupBy(cells, (cell) => JSON.stringify(groupOf(cell)));
  return [...byGroup]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, some]) => ({
      ...(JSON.parse(name) as Partial<UsageReport["rows"][number]>),
      ...usageView(sum(some), external),
    }));
}

const sum = (cells: readonly UsageCell[]): Usage =>
  cells.reduce((total, { usage }) => addUsage(total, usage), NO_USAGE as Usage);

export const usageView = (usage: Usage, external: boolean): CategoryUsage => ({
  requests: usage.requests,
  succeeded: usage.succeeded,
  bytes: usage.bytes,
  bytes_ok: usage.bytes_ok,
  paid_bytes: usage.paid_bytes,
  paid_bytes_ok: usage.paid_bytes_ok,
  cost_usd: external ? null : fromMicros(usage.cost_micros),
  cost_ok_usd: external ? null : fromMicros(usage.cost_ok_micros),
});

const recordView = (row: LedgerRow, customer: Customer): RequestRecord => {
  const { at_ms, cost_micros, ...shown } = row;
  const prices = pricesOf(customer, monthOf(at_ms));
  return {
    ...shown,
    at: new Date(at_ms).toISOString(),
    charge: prices && fromMicros(row.ok ? (prices[row.category] ?? 0) : 0),
    cost_usd: customer.external ? null : fromMicros(cost_micros),
  };
};

const mistake = (field: string, msg: string): Mistake => ({
  loc: ["query", field],
  msg,
  type: "value_error",
});
const unknownGroup = (name: string): Mistake =>
  mistake("group_by", `"${name}" is no group: use ${GROUPS.join(", ")}`);
const NOT_AFTER = mistake("until", "until should be after since");

/** Whether the calendar has the day, and the day the time. */
function isMoment(text: string): boolean {
  const at_ms = Date.parse(text);
  // 2026-02-30 is read as the second of March.
  return !Number.isNaN(at_ms) && new Date(at_ms).toISOString().startsWith(text.replace("Z", ""));
}

const momentMistakes = (query: { readonly since?: string; readonly until?: string }): Mistake[] =>
  (["since", "until"] as const)
    .filter((field) => query[field] !== undefined && !isMoment(query[field]))
    .map((field) => mistake(field, NO_TIME));

function periodMistakes(since: string, until: string, now_ms: number): Mistake[] {
  const [from_ms, to_ms] = [Date.parse(since), Date.parse(until)];
  if (to_ms <= from_ms) return [NOT_AFTER];
  if (since < dayOf(now_ms - SUMS_RETENTION_DAYS * DAY_MS))
    return [mistake("since", `Usage is stored for ${SUMS_RETENTION_DAYS} days`)];
  return (to_ms - from_ms) / DAY_MS > MAX_DAYS
    ? [mistake("since", `At most ${MAX_DAYS} days in one answer`)]
    : [];
}

/** An unknown key is a mistake and not a key without requests. Throws Fault. */
async function keyMistakes(
  documents: Documents,
  prefix: string | undefined,
  { grant: { key: own, customer } }: Caller,
): Promise<Mistake[]> {
  if (prefix === undefined || prefix === own.prefix) return [];
  if (!isAdmin(own)) return [mistake("key", "A standard key sees only its own requests")];
  return (await findKeyOf(documents, customer.name, prefix)) === null
    ? [mistake("key", `The account has no key "${prefix}"`)]
    : [];
}
