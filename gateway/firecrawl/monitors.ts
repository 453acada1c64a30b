/**
 * Their monitors as those of `/v1/monitors`. A check of theirs is a visit, and its id the number of the visit. What is known of a visit is
 * what the monitor says of the last one and of those that found a change, so their lists have these checks only.
 */
import { meaningOf } from "../../schemas/errors.ts";
import { type ApiRequest, withQuery } from "../mcp/api.ts";
import { badRequest, notServed, Refused } from "./errors.ts";
import { MONITOR_UPDATE, monitorBodyOf, RETENTION_DAYS } from "./monitor-options.ts";
import { contentIn, contentOf, type TheirCall } from "./operation.ts";
import { taken } from "./option.ts";

/** A Monitor as it was read. */
type Monitor = Readonly<Record<string, any>>;
/** A MonitorChange as it was read. */
type Change = Readonly<Record<string, any>>;

const ID = /^mon_[0-9a-z]{1,40}$/;
const NUMBER = /^[1-9]\d{0,9}$/;
const PAGE = 100;
/** Whose changes are looked for; the API lists changes from the oldest on. */
const MAX_VISITS = 1_000;
/** The id of a change ends with the number of its visit. */
const NUMBER_CHARS = 8;
const NUMBER_BASE = 36;
/** Their states of a page, by the outcome of a visit. */
const STATES: Readonly<Record<string, string>> = {
  first: "new",
  unchanged: "same",
  changed: "changed",
  failed: "error",
};
const NONE = { totalPages: 0, same: 0, changed: 0, new: 0, removed: 0, error: 0 };

const notFound = (what: string): Refused =>
  new Refused({ status: 404, code: "NOT_FOUND", error: `${what} not found` });

async function askAbout(
  { ask, id }: TheirCall,
  method: ApiRequest["method"],
  rest = "",
  body?: object,
): Promise<any> {
  if (!ID.test(id)) throw notFound("Monitor");
  const answered = await ask({ method, path: `/v1/monitors/${id}${rest}`, ...(body && { body }) });
  if (answered.status === 404) throw notFound("Monitor");
  return contentIn(answered);
}

const answer = (data: unknown): object => ({ success: true, data });

export async function createMonitor(call: TheirCall): Promise<object> {
  const body = monitorBodyOf(call.body);
  const monitor: Monitor = await contentOf(call.ask, { method: "POST", path: "/v1/monitors", body });
  return answer(withSecret(monitor, call));
}

export async function listMonitors(call: TheirCall): Promise<object> {
  const { monitors } = await contentOf(call.ask, { method: "GET", path: "/v1/monitors" });
  return answer(pageOf(call, monitors as readonly Monitor[]).map((monitor) => shown(monitor, call)));
}

export const getMonitor = async (call: TheirCall): Promise<object> =>
  answer(shown(await askAbout(call, "GET"), call));

export async function updateMonitor(call: TheirCall): Promise<object> {
  const { url, ...body } = taken(MONITOR_UPDATE, call.body);
  if (url !== undefined && url !== (await askAbout(call, "GET")).url)
    throw notServed("A monitor stays with its page: create another one");
  // `null` takes the webhook away; in the other options it wishes nothing.
  const webhook = call.body["webhook"] === null && { webhook: null };
  return answer(withSecret(await askAbout(call, "PATCH", "", { ...body, ...webhook }), call));
}

export async function deleteMonitor(call: TheirCall): Promise<object> {
  await askAbout(call, "DELETE");
  return { success: true };
}

export async function runMonitor(call: TheirCall): Promise<object> {
  const monitor: Monitor = await askAbout(call, "POST", "/run");
  return answer({ ...checkOf(monitor, underWay(monitor)), trigger: "manual" });
}

/** Newest first. */
export async function listChecks(call: TheirCall): Promise<object> {
  const monitor: Monitor = await askAbout(call, "GET");
  const visits: Visit[] = [];
  let cursor = String(Math.max(0, monitor["checks"] - MAX_VISITS));
  for (;;) {
    const page = await askAbout(call, "GET", withQuery("/changes", { cursor, limit: PAGE }));
    visits.push(...page.items.map((change: Change) => ({ ...changedVisit(change), change: null })));
    if (page.items.length < PAGE) break;
    cursor = page.next_cursor;
  }
  const [last] = lastVisit(monitor);
  if (last !== undefined && last.number !== visits.at(-1)?.number) visits.push(last);
  if (isDue(monitor, call)) visits.push(underWay(monitor));
  return answer(pageOf(call, visits.toReversed()).map((visit) => checkOf(monitor, visit)));
}

export async function getCheck(call: TheirCall): Promise<object> {
  if (!NUMBER.test(call.check)) throw notFound("Check");
  const number = Number(call.check);
  const monitor: Monitor = await askAbout(call, "GET");
  if (number === monitor["checks"] + 1 && monitor["next_check_at"] !== null)
    return answer({ ...checkOf(monitor, underWay(monitor)), pages: [] });
  const after = withQuery("/changes", { cursor: number - 1, limit: 1 });
  const [change] = (await askAbout(call, "GET", after)).items as Change[];
  const visits = [...(change ? [changedVisit(change)] : []), ...lastVisit(monitor)];
  const visit = visits.find((each) => each.number === number);
  if (!visit) throw notFound("Check");
  const { status } = call;
  const page = pageShown(monitor, visit);
  return answer({
    ...checkOf(monitor, visit),
    pages: call.skip === 0 && (status === undefined || status === page.status) ? [page] : [],
  });
}

/** A visit; `outcome` null: it has not ended. */
interface Visit {
  readonly number: number;
  readonly at: string;
  readonly outcome: string | null;
  readonly error: string | null;
  readonly change: Change | null;
}

const underWay = ({ checks, next_check_at, created_at }: Monitor): Visit => ({
  number: checks + 1,
  at: next_check_at ?? created_at,
  outcome: null,
  error: null,
  change: null,
});

const isDue = ({ next_check_at }: Monitor, { now_ms }: TheirCall): boolean =>
  next_check_at !== null && Date.parse(next_check_at) <= now_ms;

const lastVisit = ({ checks, last_check }: Monitor): readonly Visit[] =>
  last_check === null
    ? []
    : [
        {
          number: checks,
          at: last_check.at,
          outcome: last_check.outcome,
          error: last_check.error,
          change: null,
        },
      ];

const changedVisit = (change: Change): Visit => ({
  number: Number.parseInt(change["id"].slice(-NUMBER_CHARS), NUMBER_BASE),
  at: change["checked_at"],
  outcome: "changed",
  error: null,
  change,
});

function summaryOf({ outcome }: Pick<Visit, "outcome">): object {
  return outcome === null ? NONE : { ...NONE, totalPages: 1, [STATES[outcome]!]: 1 };
}

/** Summary of a check that found a change. */
export const changedSummary = (): object => summaryOf({ outcome: "changed" });

function checkOf({ id }: Monitor, visit: Visit) {
  const { number, at, outcome, error } = visit;
  return {
    id: String(number),
    monitorId: id,
    status: outcome === null ? "running" : outcome === "failed" ? "failed" : "completed",
    trigger: "scheduled",
    scheduledFor: outcome === null ? at : null,
    finishedAt: outcome === null ? null : at,
    billingStatus: outcome === null ? "not_applicable" : "confirmed",
    summary: summaryOf(visit),
    error: error && meaningOf(error),
    createdAt: at,
    updatedAt: at,
  };
}

function pageShown({ id, url, current }: Monitor, { number, at, outcome, error, change }: Visit) {
  return {
    id: `${id}:${number}`,
    targetId: id,
    url,
    status: STATES[outcome!]!,
    statusCode: (change?.["current"] ?? (outcome === "failed" ? null : current))?.status ?? null,
    error: error && meaningOf(error),
    diff: change?.["diff"] ? { text: change["diff"] } : null,
    createdAt: at,
  };
}

/** The secret is given once, with the first webhook. */
const withSecret = (monitor: Monitor, call: TheirCall): object => ({
  ...shown(monitor, call),
  ...(monitor["secret"] && { webhookSecret: monitor["secret"] }),
});

function shown(monitor: Monitor, call: TheirCall): object {
  const { id, label, url, cron, every_s, timezone, paused, created_at, next_check_at, last_check, webhook } =
    monitor;
  return {
    id,
    name: label ?? url,
    status: paused === null ? "active" : "paused",
    schedule: { ...(cron === null ? { text: `every ${every_s} seconds` } : { cron }), timezone },
    nextRunAt: next_check_at,
    lastRunAt: last_check?.at ?? null,
    currentCheckId: isDue(monitor, call) ? String(monitor["checks"] + 1) : null,
    targets: [{ id, type: "scrape", urls: [url] }],
    webhook: webhook?.url ? { url: webhook.url } : null,
    notification: null,
    retentionDays: RETENTION_DAYS,
    lastCheckSummary: last_check && summaryOf(last_check),
    createdAt: created_at,
    updatedAt: last_check?.at ?? created_at,
  };
}

/** Throws Refused. */
function pageOf<T>({ limit = PAGE, offset }: TheirCall, all: readonly T[]): readonly T[] {
  if (limit > 1_000) throw badRequest("Bad Request: limit: Input should be less than or equal to 1000");
  return all.slice(offset, offset + limit);
}
