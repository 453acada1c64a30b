/** /v1/companies/watches: the companies whose changes a client gets, and its endpoint. The secret is shown once. */
import { type Static, Type } from "typebox";
import type { Node } from "../../../../cluster/node-record.ts";
import { type Secrets, shownAddress } from "../../../../cluster/ports/secrets.ts";
import { invalid, json, timedOut } from "../../../../gateway/http-errors.ts";
import { SIGNATURE_FIELDS } from "../../../../gateway/openapi/gateway-reference.ts";
import { type Route, route } from "../../../../gateway/route.ts";
import { WAIT_MS, withDeadline } from "../../../../gateway/with-deadline.ts";
import { Field, Component, Nullable, Timestamp } from "../../../../schemas/common.ts";
import { CompanyChangedEvent } from "../../../../schemas/companies.ts";
import { webhookAddress } from "../../../work/callbacks/webhook-address.ts";
import { newWebhookSecret } from "../../../work/callbacks/webhook-signature.ts";
import type { Destination } from "../../../lib/web/destination.ts";
import { randomId } from "../../../lib/random-id.ts";
import { parseCompanyReference } from "../references.ts";
import type { CompanyService } from "../service.ts";
import {
  COMPANY_DELIVERIES,
  COMPANY_WATCHES,
  rangeOf,
  type StoredWatch,
  WATCHED_COMPANIES,
  watchedKey,
  watchPlace,
} from "../watch.ts";
import { COMPANIES } from "../stored-company.ts";
import type { Imports } from "../imports/imported-company.ts";
import { idsOf, type RightReference } from "./named-companies.ts";
import { NOT_FOUND } from "./record-routes.ts";
import { iso } from "../../../lib/iso.ts";

const MAX_COMPANIES = 1_000;
const MAX_WATCHES = 1_000;

export const WatchView = Component("CompanyWatch", {
  id: Field(
    Type.String({ pattern: "^wch_[0-9a-hjkmnp-tv-z]{16}$" }),
    "The id of the watch",
    "wch_wyvsfbx2x89mpyyv",
  ),
  url: Field(
    Nullable(Type.String()),
    "Where changes are delivered, passwords and query secrets masked; null: it cannot be read",
    "https://client.example/hook",
  ),
  companies: Field(Type.Array(Type.String()), "Ids of companies", ["cmp_wyvsfbx2x89mpyyv"]),
  created_at: Timestamp,
  last_delivery_at: Field(Nullable(Timestamp), "When a delivery was last tried; null: none was"),
  /** `delivered`, `http_<code>` or the class of an error; null before the first delivery. */
  last_status: Field(
    Nullable(Type.String()),
    "`delivered`, `http_<code>` or the class of an error; null before the first delivery",
    "delivered",
  ),
  /** The secret of deliveries' signatures; only in the answer that creates the watch. */
  secret: Field(
    Nullable(Type.String()),
    "Signs deliveries; only in the answer that creates the watch, null later",
    "whsec_ABCDEFGHIJKLMNOPQRSTUVWXYZ012345",
  ),
});
type WatchView = Static<typeof WatchView>;

const WatchBody = Type.Object({
  companies: Field(
    Type.Array(Type.String({ maxLength: 300 }), { minItems: 1, maxItems: MAX_COMPANIES }),
    "Ids of companies, or scheme:value",
    ["lei:529900GRZ2BQY5ZM9N49"],
  ),
  url: Field(
    Type.String({ maxLength: 2_048, description: "An https address" }),
    "An https address that changes are delivered to",
    "https://client.example/hook",
  ),
});

const COMPANY_CHANGED = {
  to: "url",
  summary: "A watched company has changed",
  description: "Tried eight times within 24 hours, until the receiver answers 2xx.",
  schema: CompanyChangedEvent,
  headers: SIGNATURE_FIELDS,
} as const;

const view = (secrets: Secrets, watch: StoredWatch, secret: string | null): WatchView => ({
  id: watch.id,
  url: shownAddress(secrets, watch.url, watchPlace(watch.id, "url")),
  companies: [...watch.companies],
  created_at: iso(watch.created_ms),
  last_delivery_at: watch.last_delivery_ms === null ? null : iso(watch.last_delivery_ms),
  last_status: watch.last_status,
  secret,
});

export function watchRoutes({
  documents,
  secrets,
  clock,
  log,
  service,
  imports,
  destination,
}: Pick<Node, "documents" | "clock" | "log"> & {
  readonly secrets: Secrets;
  readonly imports: Imports;
  readonly service: CompanyService;
  readonly destination: Pick<Destination, "url">;
}): readonly Route[] {
  const common = { tags: ["companies"] } as const;
  const watchesOf = async (project: string): Promise<readonly StoredWatch[]> =>
    (await COMPANY_WATCHES.list(documents, { tag: project, limit: MAX_WATCHES }))
      .map(({ value }) => value)
      .toSorted((a, b) => a.created_ms - b.created_ms);

  return [
    route({
      ...common,
      method: "GET",
      path: "/v1/companies/watches",
      operationId: "listCompanyWatches",
      summary: "The project's watches, oldest first",
      replies: {
        200: {
          description: "Without secrets",
          schema: Type.Object({ watches: Field(Type.Array(WatchView), "The watches, without secrets") }),
        },
      },
      handle: async ({ caller }) => {
        const watches = await watchesOf(caller.grant.project.name);
        return json(200, { watches: watches.map((watch) => view(secrets, watch, null)) });
      },
    }),
    route({
      ...common,
      method: "POST",
      path: "/v1/companies/watches",
      operationId: "createCompanyWatch",
      summary: "Get the changes of companies at an endpoint",
      description:
        "Each change is delivered as `company.changed`, signed with the secret (`X-Service-Signature: t=…,v1=…`), eight times " +
        "within 24 hours until the receiver answers 2xx. Companies that are not in the register are looked up first, at the " +
        "pace of their sources; after 150 s the answer is 504, and the same call again goes on with those that are missing.",
      category: "fetch",
      body: WatchBody,
      body_example: { companies: ["lei:529900GRZ2BQY5ZM9N49"], url: "https://client.example/hook" },
      callbacks: { companyChanged: COMPANY_CHANGED },
      replies: { 201: { description: "The watch, with its secret", schema: WatchView }, 404: NOT_FOUND },
      handle: async ({ body, caller, request_id, signal: gone }) => {
        const address = webhookAddress(body.url, destination);
        if (address.kind === "wrong")
          return invalid([{ loc: ["body", "url"], msg: address.message, type: address.type }]);
        const references = body.companies.map(parseCompanyReference);
        const mistakes = references.flatMap((reference, index) =>
          reference.kind === "wrong"
            ? { loc: ["body", "companies", index], msg: reference.message, type: "value_error" }
            : [],
        );
        if (mistakes.length > 0) return invalid(mistakes);
        const project = caller.grant.project.name;
        if ((await watchesOf(project)).length >= MAX_WATCHES)
          return invalid([
            { loc: ["body"], msg: `At most ${MAX_WATCHES} watches a project`, type: "too_long" },
          ]);
        const known = references.filter(
          (reference): reference is RightReference => reference.kind !== "wrong",
        );
        const companies = await withDeadline(
          { clock, log },
          { id: request_id, timeout_ms: WAIT_MS, signal: gone },
          (signal) => idsOf({ documents, clock, service, imports }, known, { project, signal }),
        );
        if (companies === null) return timedOut(request_id);
        if ("status" in companies) return companies;
        const id = randomId("wch_");
        const secret = newWebhookSecret();
        const watch: StoredWatch = {
          id,
          project,
          url: secrets.seal(address.href, watchPlace(id, "url")),
          companies: [...companies],
          secret: secrets.seal(secret, watchPlace(id, "secret")),
          created_ms: Math.floor(clock.now()),
          last_delivery_ms: null,
          last_status: null,
          is_off: false,
        };
        // The watch is stored last: an entry without its watch notifies nobody.
        const stored = await COMPANIES.getMany(documents, companies);
        for (const [at, company_id] of companies.entries()) {
          const since_version = stored[at]?.version ?? 0;
          await WATCHED_COMPANIES.put(documents, watchedKey(company_id, watch.id), { since_version }, 0);
        }
        await COMPANY_WATCHES.put(documents, watch.id, watch, 0, { tag: project });
        return json(201, view(secrets, watch, secret));
      },
    }),
    route({
      ...common,
      method: "DELETE",
      path: "/v1/companies/watches/{watch_id}",
      operationId: "deleteCompanyWatch",
      summary: "End a watch",
      params: Type.Object({ watch_id: Type.String({ pattern: "^wch_[0-9a-hjkmnp-tv-z]{16}$" }) }),
      replies: {
        204: { description: "It is gone; a delivery in flight may still arrive" },
        404: { description: "The project has no such watch", schema: Type.Object({ detail: Type.String() }) },
      },
      handle: async ({ params: { watch_id }, caller }) => {
        const watch = await COMPANY_WATCHES.get(documents, watch_id);
        if (watch?.project !== caller.grant.project.name) return json(404, { detail: "watch not found" });
        // A delivery may store its outcome at this moment.
        await COMPANY_WATCHES.update(documents, watch_id, () => "remove");
        for (const company_id of watch.companies) {
          const key = watchedKey(company_id, watch_id);
          await WATCHED_COMPANIES.removeRange(documents, key, `${key}\0`);
        }
        const { from, to } = rangeOf(watch_id);
        await COMPANY_DELIVERIES.removeRange(documents, from, to);
        return { status: 204, headers: {}, body: Buffer.alloc(0) };
      },
    }),
  ];
}
