/** Operations of clients on a monitor, up to the stored document: the checks of their input, and the document that follows from it. */
import type { BodyRefs } from "../../../../cluster/body-refs.ts";
import type { Node } from "../../../../cluster/node-record.ts";
import type { Secrets } from "../../../../cluster/ports/secrets.ts";
import type { Caller } from "../../../../gateway/authenticate.ts";
import { invalid } from "../../../../gateway/http-errors.ts";
import type { Reply } from "../../../../gateway/http.ts";
import {
  FIRECRAWL_MONITOR_EVENTS,
  type MonitorBody,
  type MonitorFetch,
  type MonitorPatch,
  type MonitorWebhookBody,
  type Watch,
} from "../../../../schemas/monitors.ts";
import type { Destination } from "../../../lib/web/destination.ts";
import { randomId } from "../../../lib/random-id.ts";
import { maskUserInfo, parseUrl } from "../../../lib/web/url.ts";
import { webhookAddress } from "../../callbacks/webhook-address.ts";
import { newWebhookSecret } from "../../callbacks/webhook-signature.ts";
import type { VisitJobs } from "../../jobs/feature/tokens.ts";
import { type GivenSchedule, nextVisit, readSchedule, type Schedule } from "../schedule.ts";
import {
  changesAfter,
  MONITOR_CHANGES,
  MONITORS,
  monitorPlace,
  type StoredMonitor,
} from "../stored-monitor.ts";
import { openVisitInput, type VisitInput } from "../visit-input.ts";
import { FORMATS_OF } from "../watched.ts";

export interface ManageDeps extends Pick<Node, "documents" | "clock" | "ask"> {
  readonly secrets: Secrets;
  readonly bodyRefs: BodyRefs;
  readonly visits: VisitJobs;
  readonly destination: Pick<Destination, "url">;
}

/** A monitor as it is stored now. `secret`: of a webhook that is new; null: it has none that is. */
export interface Managed {
  readonly monitor: StoredMonitor;
  readonly secret: string | null;
}

export const MAX_MONITORS = 1_000;

const wrongField = (field: string, msg: string, type = "value_error"): Reply =>
  invalid([{ loc: ["body", field], msg, type }]);

export const isRefusal = (result: Managed | Reply): result is Reply => !("monitor" in result);

/** Throws Fault. */
export async function createMonitor(
  deps: ManageDeps,
  body: MonitorBody,
  caller: Caller,
  now_ms: number,
): Promise<Managed | Reply> {
  const { documents, secrets } = deps;
  const id = randomId("mon_");
  const project = caller.grant.project.name;
  const url = parseUrl(body.url);
  if (url === null) return wrongField("url", "Input should be an http or https address", "url_parsing");
  const schedule = scheduleOf(body, now_ms);
  if ("status" in schedule) return schedule;
  const watch = body.watch ?? "text";
  const input = await visitInputOf(deps, url.href, watch, body.fetch ?? {}, caller);
  if ("status" in input) return input;
  const webhook = body.webhook ? newWebhook(deps, id, body.webhook) : null;
  if (webhook !== null && "status" in webhook) return webhook;
  const others = await MONITORS.list(documents, { tag: project, limit: MAX_MONITORS });
  if (others.length >= MAX_MONITORS)
    return invalid([{ loc: ["body"], msg: `At most ${MAX_MONITORS} monitors a project`, type: "too_long" }]);
  const monitor: StoredMonitor = {
    id,
    project,
    key_prefix: caller.grant.key.prefix,
    url: maskUserInfo(url.href),
    input: secrets.seal(JSON.stringify(input), monitorPlace(id, "input")),
    watch,
    schedule,
    label: body.label ?? null,
    webhook: webhook && webhook.stored,
    paused: null,
    created_ms: Math.floor(now_ms),
    due_ms: Math.floor(now_ms),
    generation: 1,
    last_visit: null,
    failures: 0,
    checks: 0,
    changes: 0,
    baseline: null,
  };
  await MONITORS.put(documents, id, monitor, 0, { tag: project });
  return { monitor, secret: webhook && webhook.secret };
}

/** Null: the monitor is gone meanwhile. Throws Fault. */
export async function patchMonitor(
  deps: ManageDeps,
  monitor: StoredMonitor,
  patch: MonitorPatch,
  caller: Caller,
  now_ms: number,
): Promise<Managed | Reply | null> {
  const { documents, secrets } = deps;
  const { id } = monitor;
  const schedule = givesSchedule(patch) ? scheduleOf(patchedSchedule(monitor.schedule, patch), now_ms) : null;
  if (schedule !== null && "status" in schedule) return schedule;
  const isAnew = patch.watch !== undefined || patch.fetch !== undefined;
  const watch = patch.watch ?? monitor.watch;
  const before = openVisitInput(secrets, monitor);
  const given = patch.fetch === undefined ? before.given : (patch.fetch ?? {});
  const input = await visitInputOf(deps, String(before.item["url"]), watch, given, caller);
  if ("status" in input) return input;
  const webhook = patch.webhook ? newWebhook(deps, id, patch.webhook) : null;
  if (webhook !== null && "status" in webhook) return webhook;
  const sealed = secrets.seal(JSON.stringify(input), monitorPlace(id, "input"));
  let secret: string | null = null;

  const change = (current: StoredMonitor): StoredMonitor => {
    const paused = patch.paused === undefined ? current.paused : patch.paused ? ("client" as const) : null;
    const isResumed = current.paused !== null && paused === null;
    const due_ms =
      isAnew || isResumed
        ? Math.floor(now_ms)
        : schedule === null
          ? current.due_ms
          : nextVisit(schedule, Math.floor(now_ms));
    // An address that is given again keeps its secret.
    const kept = current.webhook?.secret;
    secret = webhook && kept === undefined ? webhook.secret : null;
    return {
      ...current,
      key_prefix: caller.grant.key.prefix,
      input: sealed,
      watch,
      schedule: schedule ?? current.schedule,
      label: patch.label === undefined ? current.label : patch.label,
      webhook:
        patch.webhook === undefined
          ? current.webhook
          : webhook && { ...webhook.stored, secret: kept ?? webhook.stored.secret },
      paused,
      due_ms,
      ...(isAnew && { generation: current.generation + 1, baseline: null }),
    };
  };
  const stored = await MONITORS.update(documents, id, (current) =>
    current === null ? null : { value: change(current), options: { tag: current.project } },
  );
  return stored && { monitor: stored.value, secret };
}

/** Throws Fault. */
export async function removeMonitor(
  { documents, bodyRefs }: ManageDeps,
  { id, baseline }: StoredMonitor,
): Promise<void> {
  // A visit may store its outcome at this moment.
  await MONITORS.update(documents, id, () => "remove");
  const { from, to } = changesAfter(id, -1);
  await MONITOR_CHANGES.removeRange(documents, from, to);
  if (baseline !== null) await bodyRefs.release([baseline.document_sha256], `monitor ${id}`);
}

const givesSchedule = ({ every_s, cron, timezone }: GivenSchedule): boolean =>
  every_s != null || cron != null || timezone != null;

/** Another time zone alone is one for the pattern that is there. */
function patchedSchedule(current: Schedule, { every_s, cron, timezone }: GivenSchedule): GivenSchedule {
  if (every_s != null || current.kind === "interval") return { every_s, cron, timezone };
  return { cron: cron ?? current.cron, timezone: timezone ?? current.timezone };
}

function scheduleOf(given: GivenSchedule, now_ms: number): Schedule | Reply {
  const read = readSchedule(given, now_ms);
  return read.kind === "right" ? read.schedule : wrongField(read.field, read.message);
}

/** The item of a visit's job: asked anew each time, of the page itself. */
async function visitInputOf(
  { visits }: Pick<ManageDeps, "visits">,
  url: string,
  watch: Watch,
  given: MonitorFetch,
  caller: Caller,
): Promise<VisitInput | Reply> {
  const item = {
    ...given,
    url,
    formats: FORMATS_OF[watch],
    cache_ttl_s: 0,
    allow_archive: false,
    allow_alternates: false,
  };
  const admitted = await visits.admit("fetch", item, caller);
  switch (admitted.kind) {
    case "admitted":
      return { item: admitted.input, given };
    case "wrong":
      return invalid(
        admitted.mistakes.map((mistake) => ({ ...mistake, loc: ["body", "fetch", ...mistake.loc.slice(1)] })),
      );
    case "refused":
      return admitted.refusal;
  }
}

function newWebhook(
  { destination, secrets }: Pick<ManageDeps, "destination" | "secrets">,
  id: string,
  { url, form = "trawl", events, metadata }: MonitorWebhookBody,
): { readonly stored: NonNullable<StoredMonitor["webhook"]>; readonly secret: string } | Reply {
  const address = webhookAddress(url, destination);
  if (address.kind === "wrong")
    return invalid([{ loc: ["body", "webhook", "url"], msg: address.message, type: address.type }]);
  const isTheirs = form === "firecrawl";
  for (const [field, value] of Object.entries({ events, metadata }))
    if (!isTheirs && value != null)
      return invalid([
        {
          loc: ["body", "webhook", field],
          msg: "Value error, only the form firecrawl has it",
          type: "value_error",
        },
      ]);
  const secret = newWebhookSecret();
  const stored = {
    url: secrets.seal(address.href, monitorPlace(id, "webhook_url")),
    secret: secrets.seal(secret, monitorPlace(id, "secret")),
    last_status: null,
    is_off: false,
    ...(isTheirs && { firecrawl: { events: events ?? FIRECRAWL_MONITOR_EVENTS, metadata: metadata ?? {} } }),
  };
  return { stored, secret };
}
