/**
 * /v1/monitors: the pages that a project has watched, and what has changed on them. A route stores what a client wants and wakes the
 * monitor's actor; visits and deliveries are the actors'.
 */
import { type Static, Type } from "typebox";
import { invalid, json } from "../../../../gateway/http-errors.ts";
import { SIGNATURE_FIELDS } from "../../../../gateway/openapi/gateway-reference.ts";
import { type Answer, type Route, route } from "../../../../gateway/route.ts";
import { Field, Nullable } from "../../../../schemas/common.ts";
import {
  Monitor,
  MonitorBody,
  MonitorChange,
  MonitorPatch,
  MonitorVisits,
  PageChangedEvent,
} from "../../../../schemas/monitors.ts";
import { changeShown } from "../shown.ts";
import { changesAfter, MONITOR_CHANGES, MONITORS, type StoredMonitor } from "../stored-monitor.ts";
import {
  createMonitor,
  isRefusal,
  MAX_MONITORS,
  type ManageDeps,
  patchMonitor,
  removeMonitor,
} from "./manage.ts";
import { monitorView } from "./view.ts";

const Params = Type.Object({
  monitor_id: Field(
    Type.String({ pattern: "^mon_[0-9a-hjkmnp-tv-z]{16}$" }),
    "The id of the monitor",
    "mon_wyvsfbx2x89mpyyv",
  ),
});
const NOT_FOUND = {
  description: "The project has no such monitor",
  schema: Type.Object({ detail: Type.String() }),
};
const PAUSED = {
  description: "The monitor is paused",
  schema: Type.Object({ detail: Type.String() }),
};
const notFound = (): Answer => json(404, { detail: "monitor not found" });

const PAGE_CHANGED = {
  to: "webhook",
  summary: "A monitored page has changed",
  description:
    "Tried eight times within 24 hours, until the receiver answers 2xx. The changes of a monitor are delivered one after the other; " +
    "`id`, and `webhook-id` in the header, is the same in every attempt.",
  schema: PageChangedEvent,
  headers: SIGNATURE_FIELDS,
} as const;

/** A visit that is so late may have been forgotten: the message that told of it was lost with a node. */
const OVERDUE_MS = 60_000;
const CURSOR = /^[0-9]{1,10}$/;
const INVALID_CURSOR = invalid([
  { loc: ["query", "cursor"], msg: "Input should be a next_cursor of this list", type: "value_error" },
]);
const PAGE_DEFAULT = 100;
const MAX_PAGE = 1_000;
const BODY_EXAMPLE = {
  url: "https://example.org/terms",
  every_s: 3600,
  webhook: { url: "https://client.example/hook" },
};

const common = { tags: ["monitors"] } as const;

export const monitorRoutes = (deps: ManageDeps): readonly Route[] => [
  ...changingRoutes(deps),
  ...readingRoutes(deps),
];

/** The monitors of a caller, and the word to their actors. */
function monitorsOf({ documents, clock, ask }: ManageDeps) {
  async function find(
    monitor_id: string,
    { grant }: { readonly grant: { readonly project: { readonly name: string } } },
  ): Promise<StoredMonitor | null> {
    const monitor = await MONITORS.get(documents, monitor_id);
    return monitor?.project === grant.project.name ? monitor : null;
  }

  const wake = (monitor_id: string): Promise<void> => ask(MonitorVisits, monitor_id, "deliver", null);

  async function wakeOverdue(monitors: readonly StoredMonitor[]): Promise<void> {
    const due_before_ms = clock.now() - OVERDUE_MS;
    const overdue = monitors.filter(({ paused, due_ms }) => paused === null && due_ms < due_before_ms);
    await Promise.all(overdue.map(({ id }) => wake(id)));
  }
  return { find, wake, wakeOverdue };
}

function changingRoutes(deps: ManageDeps): readonly Route[] {
  const { documents, secrets, clock } = deps;
  const { find, wake } = monitorsOf(deps);
  return [
    route({
      ...common,
      method: "POST",
      path: "/v1/monitors",
      operationId: "createMonitor",
      summary: "Watch a page for changes",
      description:
        "The page is visited at once, and then every `every_s` seconds or as `cron` says. Each visit is a fetch: it waits for the site's slots, " +
        "obeys robots.txt, counts towards the quota of the key that made the monitor, and is billed as one. A page that cannot be fetched is no " +
        `change: \`last_check\` says why. At most ${MAX_MONITORS} monitors a project.`,
      category: "fetch",
      body: MonitorBody,
      body_example: BODY_EXAMPLE,
      callbacks: { pageChanged: PAGE_CHANGED },
      replies: { 201: { description: "The monitor, with the secret of its webhook", schema: Monitor } },
      authorize_errors: ["user_agent_not_allowed"],
      handle: async ({ body, caller, now_ms }) => {
        const created = await createMonitor(deps, body, caller, now_ms);
        if (isRefusal(created)) return created;
        await wake(created.monitor.id);
        return json(201, monitorView(secrets, created.monitor, created.secret));
      },
    }),
    route({
      ...common,
      method: "POST",
      path: "/v1/monitors/{monitor_id}/run",
      operationId: "runMonitor",
      summary: "Visit the page now",
      description:
        "A visit that is under way is the one. The next one comes as if this one had been due now.",
      category: "fetch",
      params: Params,
      replies: {
        202: { description: "The monitor; its next visit is due", schema: Monitor },
        404: NOT_FOUND,
        409: PAUSED,
      },
      handle: async ({ params, caller }) => {
        const found = await find(params.monitor_id, caller);
        if (!found) return notFound();
        if (found.paused !== null) return json(409, { detail: "monitor is paused" });
        const now_ms = Math.floor(clock.now());
        const stored = await MONITORS.update(documents, found.id, (current) =>
          current === null || current.due_ms <= now_ms
            ? null
            : { value: { ...current, due_ms: now_ms }, options: { tag: current.project } },
        );
        if (stored === null) return notFound();
        await wake(found.id);
        return json(202, monitorView(secrets, stored.value, null));
      },
    }),
    route({
      ...common,
      method: "PATCH",
      path: "/v1/monitors/{monitor_id}",
      operationId: "changeMonitor",
      summary: "Change, pause or resume a monitor",
      description:
        "Fields that are not given stay. With another `watch` or `fetch` the next visit has nothing to compare with. The key of this request pays " +
        "from now on. A webhook that is given again keeps its secret.",
      category: "fetch",
      params: Params,
      body: MonitorPatch,
      body_example: { every_s: 600 },
      callbacks: { pageChanged: PAGE_CHANGED },
      replies: { 200: { description: "The monitor", schema: Monitor }, 404: NOT_FOUND },
      authorize_errors: ["user_agent_not_allowed"],
      handle: async ({ params, body, caller, now_ms }) => {
        const monitor = await find(params.monitor_id, caller);
        if (!monitor) return notFound();
        const patched = await patchMonitor(deps, monitor, body, caller, now_ms);
        if (patched === null) return notFound();
        if (isRefusal(patched)) return patched;
        await wake(monitor.id);
        return json(200, monitorView(secrets, patched.monitor, patched.secret));
      },
    }),
    route({
      ...common,
      method: "DELETE",
      path: "/v1/monitors/{monitor_id}",
      operationId: "deleteMonitor",
      summary: "End a monitor and forget its changes",
      params: Params,
      replies: { 204: { description: "It is gone; a delivery in flight may still arrive" }, 404: NOT_FOUND },
      handle: async ({ params, caller }) => {
        const monitor = await find(params.monitor_id, caller);
        if (!monitor) return notFound();
        await removeMonitor(deps, monitor);
        return { status: 204, headers: {}, body: Buffer.alloc(0) };
      },
    }),
  ];
}

function readingRoutes(deps: ManageDeps): readonly Route[] {
  const { documents, secrets } = deps;
  const { find, wakeOverdue } = monitorsOf(deps);
  return [
    route({
      ...common,
      method: "GET",
      path: "/v1/monitors",
      operationId: "listMonitors",
      summary: "The project's monitors, oldest first",
      replies: {
        200: {
          description: "Without secrets",
          schema: Type.Object({ monitors: Field(Type.Array(Monitor), "The monitors, without secrets") }),
        },
      },
      handle: async ({ caller }) => {
        const range = { tag: caller.grant.project.name, limit: MAX_MONITORS };
        const monitors = (await MONITORS.list(documents, range))
          .map(({ value }) => value)
          .toSorted((a, b) => a.created_ms - b.created_ms);
        await wakeOverdue(monitors);
        return json(200, { monitors: monitors.map((monitor) => monitorView(secrets, monitor, null)) });
      },
    }),
    route({
      ...common,
      method: "GET",
      path: "/v1/monitors/{monitor_id}/changes",
      operationId: "listMonitorChanges",
      summary: "What has changed on the page, oldest first",
      description:
        "Changes are stored for 30 days. Go on with `next_cursor`, which is also given with an empty page; no change is missing or listed twice.",
      params: Params,
      query: Type.Object({
        cursor: Type.Optional(
          Field(Nullable(Type.String({ maxLength: 100 })), "`next_cursor` of the page before", "42"),
        ),
        limit: Type.Integer({ minimum: 1, maximum: MAX_PAGE, default: PAGE_DEFAULT }),
      }),
      replies: { 200: { description: "A page of changes", schema: ChangePage }, 404: NOT_FOUND },
      handle: async ({ params, query, caller }) => {
        const monitor = await find(params.monitor_id, caller);
        if (!monitor) return notFound();
        const after = Number(CURSOR.exec(query.cursor ?? "0")?.[0] ?? NaN);
        if (Number.isNaN(after)) return INVALID_CURSOR;
        const range = { ...changesAfter(monitor.id, after), limit: query.limit };
        const changes = (await MONITOR_CHANGES.list(documents, range)).map(({ value }) => value);
        const page: Static<typeof ChangePage> = {
          items: changes.map((change) => ({
            ...changeShown(change),
            delivery:
              change.delivery === "none"
                ? null
                : {
                    attempts: change.attempts,
                    status: change.delivery_status,
                    is_over: change.delivery === "over",
                  },
          })),
          next_cursor: String(changes.at(-1)?.number ?? after),
        };
        return json(200, page);
      },
    }),
    route({
      ...common,
      method: "GET",
      path: "/v1/monitors/{monitor_id}",
      operationId: "getMonitor",
      summary: "A monitor and its last visit",
      params: Params,
      replies: { 200: { description: "Without its secret", schema: Monitor }, 404: NOT_FOUND },
      handle: async ({ params, caller }) => {
        const monitor = await find(params.monitor_id, caller);
        if (!monitor) return notFound();
        await wakeOverdue([monitor]);
        return json(200, monitorView(secrets, monitor, null));
      },
    }),
  ];
}

const ChangePage = Type.Object({
  items: Field(Type.Array(MonitorChange), "Oldest first"),
  next_cursor: Field(Type.String(), "For the next page; also after the last change so far", "42"),
});
