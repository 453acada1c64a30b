/**
 * A visit of a monitored page: a job of one item, what it found, and what follows. Each step may be repeated after a crash: the
 * number of the visit names its job and its change, and the monitor counts the visit in one conditional write.
 */
import { hash } from "node:crypto";
import type { BodyRefs } from "../../../cluster/body-refs.ts";
import type { Node } from "../../../cluster/node-record.ts";
import { sleep } from "../../../cluster/ports/clock.ts";
import { sha256Of } from "../../../cluster/ports/blobs.ts";
import { Fault } from "../../../cluster/ports/fault.ts";
import type { Secrets } from "../../../cluster/ports/secrets.ts";
import { findBody } from "../../../cluster/read-body.ts";
import { MonitorWebhook, type VisitOutcome } from "../../../schemas/monitors.ts";
import { visitAfter } from "./schedule.ts";
import {
  type Baseline,
  changeKey,
  changeOptions,
  MONITOR_CHANGES,
  MONITORS,
  type StoredChange,
  type StoredMonitor,
} from "./stored-monitor.ts";
import { unifiedDiff } from "./unified-diff.ts";
import { openVisitInput, type VisitInput } from "./visit-input.ts";
import { type VisitedPage, watchedOf } from "./watched.ts";

/** Jobs of one item, as the jobs feature runs them. */
export interface VisitRunner {
  /** Begins the job of a visit, or finds it. Null: the key that pays is revoked, or its project is gone. Throws Fault. */
  readonly start: (visit: {
    readonly monitor_id: string;
    readonly number: number;
    readonly kind: "fetch";
    readonly project: string;
    readonly key: string;
    readonly input: Readonly<Record<string, unknown>>;
  }) => Promise<{ readonly job_id: string } | null>;
  /** Null: it has not finished. `gone`: it is not stored any more. Throws Fault. */
  readonly outcome: (
    job_id: string,
  ) => Promise<
    | { readonly error: string | null; readonly result: Readonly<Record<string, unknown>> | null }
    | "gone"
    | null
  >;
}

export interface VisitDeps extends Pick<Node, "documents" | "blobs" | "clock" | "metrics" | "ask"> {
  readonly secrets: Pick<Secrets, "open">;
  readonly bodyRefs: BodyRefs;
  readonly visits: VisitRunner;
}

/** How a visit ended: why it failed, or what it found. */
type Ended =
  | { readonly job_id: string | null; readonly error: string }
  | { readonly job_id: string; readonly error: null; readonly page: VisitedPage };

const FIRST_POLL_MS = 250;
const MAX_POLL_MS = 2_000;
/** Then the actor looks whether it still owns the monitor. */
const WATCHED_MS = 60_000;
const GONE_PAUSE_MS = 5_000;
/** The text is kept for the next diff, though the next visit be late. */
const LATE_MS = 30 * 86_400_000;

/** Throws Fault; then, and when the visit has not ended, it is repeated. */
export async function visit(deps: VisitDeps, monitor: StoredMonitor): Promise<void> {
  const ended = await visitPage(deps, monitor);
  if (ended === "key_revoked") return pause(deps, monitor.id);
  if (ended === null) return;
  if (ended.error !== null) await conclude(deps, monitor, ended, { outcome: "failed", baseline: null });
  else await compare(deps, monitor, ended);
  await wakeWebhook(deps, monitor.id);
}

/** Null: the job goes on. */
async function visitPage(
  { secrets, visits, clock }: VisitDeps,
  { id, checks, project, key_prefix, input, watch }: StoredMonitor,
): Promise<Ended | "key_revoked" | null> {
  let item: VisitInput["item"];
  try {
    ({ item } = openVisitInput(secrets, { id, input }));
  } catch (problem) {
    // Its secrets cannot be read.
    if (problem instanceof Fault) return { job_id: null, error: "internal_error" };
    throw problem;
  }
  const whose = { monitor_id: id, project, key: key_prefix };
  const job = await visits.start({ ...whose, number: checks + 1, kind: "fetch", input: item });
  if (job === null) return "key_revoked";
  const { job_id } = job;
  const until_ms = clock.now() + WATCHED_MS;
  for (
    let pause_ms = FIRST_POLL_MS;
    clock.now() < until_ms;
    pause_ms = Math.min(MAX_POLL_MS, 1.5 * pause_ms)
  ) {
    await sleep(clock, pause_ms);
    const outcome = await visits.outcome(job_id);
    if (outcome === null) continue;
    if (outcome === "gone") {
      await sleep(clock, GONE_PAUSE_MS);
      return null;
    }
    const page = outcome.result as VisitedPage | null;
    // A status is what a site answers, also one that says that there is no page.
    const isFound = page !== null && (outcome.error === null || (watch === "status" && page.status !== null));
    return isFound ? { job_id, error: null, page } : { job_id, error: outcome.error ?? "result_unavailable" };
  }
  return null;
}

async function compare(
  deps: VisitDeps,
  monitor: StoredMonitor,
  ended: Extract<Ended, { readonly error: null }>,
): Promise<void> {
  const { blobs, bodyRefs, clock } = deps;
  const { page } = ended;
  const { id, due_ms, schedule, watch, baseline: previous } = monitor;
  const { value, document } = watchedOf(watch, page);
  const content = Buffer.from(document);
  const found: Baseline = {
    sha256: hash("sha256", value, "hex"),
    retrieved_at: page.retrieved_at ?? new Date(clock.now()).toISOString(),
    status: page.status,
    document_sha256: sha256Of(content),
  };
  const next_ms = visitAfter(schedule, due_ms, clock.now());
  await bodyRefs.retain([found.document_sha256], `monitor ${id}`, next_ms + LATE_MS);
  if (previous?.document_sha256 !== found.document_sha256) await blobs.put(content);
  if (previous === null) return conclude(deps, monitor, ended, { outcome: "first", baseline: found });
  if (previous.sha256 === found.sha256)
    return conclude(deps, monitor, ended, { outcome: "unchanged", baseline: found });
  const { current } = await storeChange(deps, monitor, previous, found, document);
  await conclude(deps, monitor, ended, { outcome: "changed", baseline: current });
}

/** The change as it is stored: by this visit, or by the same visit before a crash. */
async function storeChange(
  { documents, blobs, clock }: VisitDeps,
  { id, url, checks, webhook }: StoredMonitor,
  previous: Baseline,
  current: Baseline,
  document: string,
): Promise<StoredChange> {
  const before = await findBody(blobs, previous.document_sha256);
  const now_ms = Math.floor(clock.now());
  const change: StoredChange = {
    monitor_id: id,
    number: checks + 1,
    url,
    checked_ms: now_ms,
    previous,
    current,
    ...(before === null
      ? { diff: null, diff_truncated: true }
      : unifiedDiff(url, before.toString(), document)),
    delivery: webhook === null || webhook.is_off ? "none" : "waiting",
    delivery_status: null,
    created_ms: now_ms,
    attempts: 0,
    next_ms: now_ms,
  };
  const stored = await MONITOR_CHANGES.update(
    documents,
    changeKey(id, change.number),
    (existing) => (existing === null ? { value: change, options: changeOptions(change) } : null),
    null,
  );
  return stored!.value;
}

/** Counts the visit, once. A monitor that watches something else by now does not take over what was found. */
async function conclude(
  { documents, clock, metrics }: VisitDeps,
  monitor: StoredMonitor,
  { job_id, error }: Ended,
  { outcome, baseline }: { readonly outcome: VisitOutcome; readonly baseline: Baseline | null },
): Promise<void> {
  const now_ms = Math.floor(clock.now());
  const number = monitor.checks + 1;
  let isCounted = false;
  await MONITORS.update(documents, monitor.id, (current) => {
    isCounted = current !== null && current.checks === monitor.checks;
    if (current === null || !isCounted) return null;
    const isSame = current.generation === monitor.generation;
    const value: StoredMonitor = {
      ...current,
      checks: number,
      last_visit: { at_ms: now_ms, outcome, error, job_id },
      failures: outcome === "failed" ? current.failures + 1 : 0,
      changes: current.changes + (outcome === "changed" ? 1 : 0),
      baseline: isSame && baseline !== null ? baseline : current.baseline,
      due_ms: isSame ? visitAfter(current.schedule, monitor.due_ms, now_ms) : current.due_ms,
    };
    return { value, options: { tag: current.project } };
  });
  if (isCounted) metrics.count("trawl_monitor_visits_total", { outcome });
}

async function pause({ documents }: VisitDeps, monitor_id: string): Promise<void> {
  await MONITORS.update(documents, monitor_id, (current) =>
    current === null
      ? null
      : {
          value: { ...current, paused: current.paused ?? "key_revoked" },
          options: { tag: current.project },
        },
  );
}

/** After every visit, because the word to the webhook's actor may be lost with a node. */
async function wakeWebhook({ documents, ask }: VisitDeps, monitor_id: string): Promise<void> {
  const waiting = await MONITOR_CHANGES.list(documents, { tag: monitor_id, limit: 1 });
  if (waiting.length > 0) await ask(MonitorWebhook, monitor_id, "deliver", null);
}
