/** /v1/alerts: the webhooks that are told of usage, and of what the operator announces. A standard key sees those of itself, an admin key its whole customer's. */
import type { Node } from "../../../../cluster/node-record.ts";
import { Field } from "../../../../schemas/common.ts";
import { Type } from "typebox";
import type { Secrets } from "../../../../cluster/ports/secrets.ts";
import { ADMIN_ONLY, invalid, json } from "../../../../gateway/http-errors.ts";
import type { Reply } from "../../../../gateway/http.ts";
import { SIGNATURE_FIELDS } from "../../../../gateway/openapi/gateway-reference.ts";
import { type Route, route } from "../../../../gateway/route.ts";
import { type Grant, isAdmin, THRESHOLDS } from "../../../../schemas/accounts.ts";
import {
  AlertBody,
  AlertHook,
  AlertHookCreated,
  StatusNoticeEvent,
  UsageThresholdEvent,
} from "../../../../schemas/alerts.ts";
import { webhookAddress } from "../../../work/callbacks/webhook-address.ts";
import { newWebhookSecret } from "../../../work/callbacks/webhook-signature.ts";
import type { Destination } from "../../../lib/web/destination.ts";
import { accountOf, addHook, hookView, listHooks, MAX_ALERT_HOOKS, removeHook } from "../alerts.ts";
import { findKeyOf, projectsOf } from "../keys.ts";

const USAGE_THRESHOLD = {
  to: "url",
  summary: "A threshold of a monthly allowance was crossed",
  description:
    "Tried eight times within 24 hours, until the receiver answers 2xx. Once a month for each threshold.",
  schema: UsageThresholdEvent,
  headers: SIGNATURE_FIELDS,
} as const;
const STATUS_NOTICE = {
  to: "url",
  summary: "An incident or maintenance of the service was announced, or went on",
  description:
    "Tried eight times within 24 hours, until the receiver answers 2xx. Once for each update, within a minute of it.",
  schema: StatusNoticeEvent,
  headers: SIGNATURE_FIELDS,
} as const;
const NotFound = Type.Object({ detail: Type.String() });
const notFound = (what: string): Reply => json(404, { detail: `${what} not found` });
const mistake = (field: string, msg: string): Reply =>
  invalid([{ loc: ["body", field], msg, type: "value_error" }]);

export function alertRoutes({
  documents,
  secrets,
  clock,
  destination,
}: Pick<Node, "documents" | "clock"> & {
  readonly secrets: Secrets;
  readonly destination: Pick<Destination, "url">;
}): readonly Route[] {
  const visibleTo = async (grant: Grant) => {
    const hooks = await listHooks(documents, grant.customer.name);
    return isAdmin(grant.key) ? hooks : hooks.filter(({ key }) => key === grant.key.prefix);
  };

  /** The project and prefix that a webhook is about, or the refusal. */
  async function subjectOf(
    { scope, key: prefix, project, thresholds }: AlertBody,
    grant: Grant,
  ): Promise<{ readonly project: string; readonly prefix: string } | Reply> {
    const { key: own, customer } = grant;
    if (prefix != null && scope !== "key") return mistake("key", "key is for scope key");
    if (project != null && scope !== "project") return mistake("project", "project is for scope project");
    if (scope === "status")
      return thresholds === undefined
        ? { project: own.project, prefix: own.prefix }
        : mistake("thresholds", "thresholds are of allowances, and scope status has none");
    if (scope === "key" && (prefix == null || prefix === own.prefix))
      return { project: own.project, prefix: own.prefix };
    if (!isAdmin(grant.key)) return ADMIN_ONLY;
    if (scope === "key") {
      const key = await findKeyOf(documents, customer.name, prefix!);
      return key ? { project: key.project, prefix: key.prefix } : notFound("key");
    }
    const projects = (await projectsOf(documents, customer.name)).map(({ name: one }) => one);
    const name = project ?? own.project;
    return projects.includes(name) ? { project: name, prefix: own.prefix } : notFound("project");
  }

  return [
    route({
      method: "GET",
      path: "/v1/alerts",
      operationId: "listAlerts",
      summary: "The webhooks that are told of usage or of the status, without their secrets",
      tags: ["account"],
      replies: {
        200: {
          description: "The webhooks visible to the key, oldest first",
          schema: Type.Object({ alerts: Field(Type.Array(AlertHook), "The webhooks that the key sees") }),
        },
      },
      handle: async ({ caller }) =>
        json(200, { alerts: (await visibleTo(caller.grant)).map((hook) => hookView(hook, secrets)) }),
    }),
    route({
      method: "POST",
      path: "/v1/alerts",
      operationId: "createAlert",
      summary: "Be told when 50, 80 or 100 percent of a monthly allowance is used, or of incidents",
      description:
        "Allowances are a key's quotas and spend cap and the budgets of projects and customers. Each threshold of each allowance is " +
        "delivered once a month as `usage.threshold`, signed with the secret (`X-Service-Signature: t=…,v1=…`), at most eight times " +
        "within 24 hours until the receiver answers 2xx. Scopes `project` and `customer`, and other keys, are for admin keys. Scope `status` " +
        "is for any key: each update of an incident or of maintenance is delivered as `status.incident` or `status.maintenance`, signed and tried likewise.",
      tags: ["account"],
      body: AlertBody,
      body_example: { url: "https://client.example/alerts", scope: "project", thresholds: [80, 100] },
      callbacks: { usageThreshold: USAGE_THRESHOLD, statusNotice: STATUS_NOTICE },
      authorize_errors: ["admin_key_required"],
      replies: {
        201: { description: "The webhook, with its secret", schema: AlertHookCreated },
        404: { description: "The account has no such key or project", schema: NotFound },
      },
      handle: async ({ body, caller: { grant } }) => {
        const address = webhookAddress(body.url, destination);
        if (address.kind === "wrong")
          return invalid([{ loc: ["body", "url"], msg: address.message, type: address.type }]);
        const subject = await subjectOf(body, grant);
        if ("status" in subject) return subject;
        const { scope } = body;
        const customer = grant.customer.name;
        const secret = newWebhookSecret();
        const hook = await addHook(
          { documents, secrets },
          {
            customer,
            url: address.href,
            scope,
            account: accountOf(customer, scope, subject.project, subject.prefix),
            key: scope === "key" || scope === "status" ? subject.prefix : null,
            project: scope === "project" ? subject.project : null,
            thresholds:
              scope === "status"
                ? []
                : THRESHOLDS.filter((share) => body.thresholds?.includes(share) ?? true),
            secret,
            created_ms: Math.floor(clock.now()),
          },
        );
        return hook === null
          ? mistake("url", `At most ${MAX_ALERT_HOOKS} webhooks an account`)
          : json(201, { ...hookView(hook, secrets), secret });
      },
    }),
    route({
      method: "DELETE",
      path: "/v1/alerts/{alert_id}",
      operationId: "deleteAlert",
      summary: "Remove a webhook and what was still to be delivered to it",
      tags: ["account"],
      params: Type.Object({
        alert_id: Field(Type.Integer({ minimum: 1, maximum: 999_999_999 }), "The number of a webhook", 1),
      }),
      replies: {
        204: { description: "It is removed" },
        404: { description: "The key sees no such webhook", schema: NotFound },
      },
      handle: async ({ params: { alert_id }, caller: { grant } }) => {
        const isVisible = (await visibleTo(grant)).some(({ id }) => id === alert_id);
        const isRemoved = isVisible && (await removeHook(documents, grant.customer.name, alert_id));
        return isRemoved ? { status: 204, headers: {} } : notFound("alert");
      },
    }),
  ];
}
