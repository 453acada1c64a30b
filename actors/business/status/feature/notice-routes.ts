/** Incidents and maintenance for operators, as `trawl incident` and `trawl maintenance` write them: /v1/ops/incidents, /v1/ops/maintenance. */
import { type TSchema, Type } from "typebox";
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import type { Random } from "../../../../cluster/ports/random.ts";
import { invalid, json } from "../../../../gateway/http-errors.ts";
import type { Reply } from "../../../../gateway/http.ts";
import { type ReplyShape, type Route, route } from "../../../../gateway/route.ts";
import { Field } from "../../../../schemas/common.ts";
import { IncidentBody, IncidentChangeBody, MaintenanceBody } from "../../../../schemas/notices.ts";
import { StatusIncident, StatusMaintenance } from "../../../../schemas/status.ts";
import { maintenanceState } from "../evaluate.ts";
import {
  completeMaintenance,
  NoticeError,
  openIncident,
  readNotices,
  scheduleMaintenance,
  updateIncident,
} from "../notices.ts";

export interface NoticeRoutesDeps {
  readonly documents: Documents;
  readonly clock: Pick<Clock, "now">;
  readonly random: Random;
}

const Detail = Type.Object({ detail: Type.String() });
const REFUSED: Readonly<Record<number, ReplyShape>> = {
  404: { description: "There is no such notice", schema: Detail },
  409: { description: "It has ended, or would go back", schema: Detail },
};

/** A refusal of the notice as an answer. */
async function answered(status: number, write: () => Promise<object>): Promise<Reply> {
  try {
    return json(status, await write());
  } catch (problem) {
    if (!(problem instanceof NoticeError)) throw problem;
    const { message, of } = problem;
    if (of === "missing") return json(404, { detail: message });
    if (of === "state") return json(409, { detail: message });
    return invalid([{ loc: ["body", of], msg: message, type: "value_error" }]);
  }
}

export function noticeRoutes({ documents, clock, random }: NoticeRoutesDeps): readonly Route[] {
  const writer = () => ({ documents, now_ms: Math.floor(clock.now()), random });
  const tags = ["internal"];
  const incident_id = Field(Type.String({ maxLength: 40 }), "The id of an incident", "inc_mf3k2x9q01ab");
  const maintenance_id = Field(Type.String({ maxLength: 40 }), "The id of a window", "mnt_mf3k2x9q01ab");
  const created = (schema: TSchema): Readonly<Record<number, ReplyShape>> => ({
    201: { description: "It is announced: gateways show it within 15 seconds", schema },
  });
  return [
    route({
      method: "GET",
      path: "/v1/ops/incidents",
      operationId: "listNotices",
      summary: "The newest incidents and maintenance windows, also those that have ended",
      tags,
      replies: {
        200: {
          description: "At most 200 of each",
          schema: Type.Object({
            incidents: Field(Type.Array(StatusIncident), "Incidents"),
            maintenance: Field(Type.Array(StatusMaintenance), "Maintenance windows"),
          }),
        },
      },
      async handle() {
        const { incidents, maintenance } = await readNotices(documents);
        const now_ms = clock.now();
        return json(200, {
          incidents,
          maintenance: maintenance.map((window) => ({ ...window, status: maintenanceState(window, now_ms) })),
        });
      },
    }),
    route({
      method: "POST",
      path: "/v1/ops/incidents",
      operationId: "openIncident",
      summary: "Announces an incident on the status page and to its webhooks",
      tags,
      body: IncidentBody,
      body_example: {
        title: "Slow fetches",
        message: "We look into it",
        components: ["fetch"],
        impact: "none",
      },
      replies: created(StatusIncident),
      handle: ({ body: { status = "investigating", impact = "degraded", ...text } }) =>
        answered(201, () => openIncident(writer(), { ...text, status, impact })),
    }),
    route({
      method: "POST",
      path: "/v1/ops/incidents/{incident_id}",
      operationId: "updateIncident",
      summary: "Says more about an incident, moves it forward or resolves it",
      tags,
      params: Type.Object({ incident_id }),
      body: IncidentChangeBody,
      body_example: { message: "It works again", status: "resolved" },
      replies: { 200: { description: "The incident", schema: StatusIncident }, ...REFUSED },
      handle: ({ params, body }) => answered(200, () => updateIncident(writer(), params.incident_id, body)),
    }),
    route({
      method: "POST",
      path: "/v1/ops/maintenance",
      operationId: "scheduleMaintenance",
      summary: "Announces a maintenance window on the status page and to its webhooks",
      tags,
      body: MaintenanceBody,
      body_example: {
        title: "Move of the database",
        message: "Fetches may wait",
        starts_at: "2099-11-24T22:00:00Z",
        ends_at: "2099-11-24T23:00:00Z",
      },
      replies: created(StatusMaintenance),
      handle: ({ body: { starts_at, ends_at, components = [], ...text } }) =>
        answered(201, () =>
          scheduleMaintenance(writer(), {
            ...text,
            components,
            starts_ms: Date.parse(starts_at),
            ends_ms: Date.parse(ends_at),
          }),
        ),
    }),
    route({
      method: "POST",
      path: "/v1/ops/maintenance/{maintenance_id}",
      operationId: "completeMaintenance",
      summary: "Ends a maintenance window now; one that has not begun is called off",
      tags,
      params: Type.Object({ maintenance_id }),
      body: Type.Object({
        message: Field(
          Type.String({ minLength: 1, maxLength: 2_000 }),
          "What is said about it",
          "It is done",
        ),
      }),
      body_example: { message: "It is done" },
      replies: { 200: { description: "The window", schema: StatusMaintenance }, ...REFUSED },
      handle: ({ params, body }) =>
        answered(200, () => completeMaintenance(writer(), params.maintenance_id, body.message)),
    }),
  ];
}
