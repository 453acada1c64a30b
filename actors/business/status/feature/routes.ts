/**
 * /v1/status and the page /status: without a key, shared by all callers, cached for 15 s, at most 120 requests per minute and
 * address. They answer 200 whatever the status is, and show what watch-status.ts knows: nothing is computed for a request.
 */
import { Field } from "../../../../schemas/common.ts";
import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { type TSchema, Type } from "typebox";
import type { Clock } from "../../../../cluster/ports/clock.ts";
import { matches } from "../../../../gateway/conditional.ts";
import { JSON_TYPE, NOT_FOUND, rateLimited } from "../../../../gateway/http-errors.ts";
import { PAGE_HEADERS } from "../../../../gateway/html-page.ts";
import type { Head, Reply } from "../../../../gateway/http.ts";
import { openRoute, type ReplyShape, type Route } from "../../../../gateway/route.ts";
import {
  ComponentStatus,
  MAX_HISTORY_HOURS,
  ServiceStatus,
  StatusHistory,
  StatusSummary,
} from "../../../../schemas/status.ts";
import { noticesOf } from "../evaluate.ts";
import type { StatusWatch } from "../watch-status.ts";
import { statusPage } from "./page.ts";

export interface StatusRoutesDeps {
  readonly watch: Pick<StatusWatch, "current" | "history">;
  readonly clock: Clock;
}

const MAX_PER_MINUTE = 120;
const MINUTE_MS = 60_000;
/** Addresses that are counted; one that is dropped begins anew. */
const MAX_ADDRESSES = 20_000;
const CACHE_CONTROL = "public, max-age=15";
/** Without one an address counts as this: requests over a local socket. */
const NO_ADDRESS = "none";

const Detail = Type.Object({ detail: Type.String() });
const NOT_MODIFIED: ReplyShape = { description: "Unchanged since the ETag in If-None-Match" };
const LIMITED: ReplyShape = {
  description: "More than 120 requests of this address within 60 s; Retry-After says when the next may come",
  schema: Detail,
};

export function statusRoutes({ watch, clock }: StatusRoutesDeps): readonly Route[] {
  /** When each address was answered within the last minute, the oldest first. */
  const answered = new LRUCache<string, number[]>({ max: MAX_ADDRESSES });

  /** Null: the address may ask. */
  function limited(head: Head): Reply | null {
    const now_ms = clock.now();
    const address = head.address() || NO_ADDRESS;
    const times = answered.get(address) ?? [];
    while (times.length > 0 && now_ms - times[0]! >= MINUTE_MS) times.shift();
    if (times.length >= MAX_PER_MINUTE)
      return rateLimited(Math.ceil((times[0]! + MINUTE_MS - now_ms) / 1_000));
    times.push(now_ms);
    answered.set(address, times);
    return null;
  }

  async function answer(head: Head, document: () => object | Promise<object>): Promise<Reply> {
    const refusal = limited(head);
    if (refusal) return refusal;
    return cacheable(head, JSON_TYPE, Buffer.from(JSON.stringify(await document())));
  }

  const { current } = watch;
  const repliesOf = (description: string, schema: TSchema): Readonly<Record<number, ReplyShape>> => ({
    200: { description, schema, headers: { ETag: "Changes with the document" } },
    304: NOT_MODIFIED,
    429: LIMITED,
  });
  const common = { method: "GET", tags: ["status"], cors: true } as const;
  return [
    openRoute({
      ...common,
      path: "/v1/status",
      operationId: "status",
      summary: "What the service is like now",
      description:
        "Every component with its status, the reasons and the figures of the last 600 s, with incidents and maintenance. " +
        "Answers 200 whatever the status is. Refreshed every 15 s.",
      replies: repliesOf("The status of the service", ServiceStatus),
      handle: ({ head }) => answer(head, current),
    }),
    openRoute({
      ...common,
      path: "/v1/status/summary",
      operationId: "statusSummary",
      summary: "What the service is like now, in a sentence",
      replies: repliesOf("The overall status", StatusSummary),
      handle: ({ head }) =>
        answer(head, () => {
          const { status, description, updated_at } = current();
          return { status, description, updated_at };
        }),
    }),
    openRoute({
      ...common,
      path: "/v1/status/components/{id}",
      operationId: "statusComponent",
      summary: "What one component is like now",
      params: Type.Object({ id: Field(Type.String({ maxLength: 100 }), "The id of the component", "fetch") }),
      replies: {
        ...repliesOf("The component, with the incidents and maintenance that name it", ComponentStatus),
        404: { description: "This deployment has no such component", schema: Detail },
      },
      handle({ head, params }) {
        const status = current();
        const component = status.components.find(({ id }) => id === params.id);
        if (!component) return limited(head) ?? NOT_FOUND;
        const { updated_at } = status;
        return answer(head, () => ({ ...component, updated_at, ...noticesOf(status, component.id) }));
      },
    }),
    openRoute({
      ...common,
      path: "/v1/status/history",
      operationId: "statusHistory",
      summary: "What the service was like",
      description:
        "The worst status of each five minutes, beyond 24 hours of each hour, oldest first, and the uptime of each component. " +
        "`_overall` is the whole service. Kept for seven days.",
      query: Type.Object({
        hours: Type.Optional(
          Field(
            Type.Integer({
              minimum: 1,
              maximum: MAX_HISTORY_HOURS,
              default: 24,
              description: "How far back",
            }),
            "How far back, in hours",
            24,
          ),
        ),
      }),
      replies: repliesOf("The history", StatusHistory),
      handle: ({ head, query }) => answer(head, () => watch.history(query.hours ?? 24)),
    }),
    openRoute({
      method: "GET",
      path: "/status",
      operationId: "statusPage",
      audience: "people",
      summary: "The status of the service, for people",
      tags: ["about"],
      replies: {
        200: { description: "A page", content_type: "text/html", schema: Type.String() },
        304: NOT_MODIFIED,
        429: LIMITED,
      },
      async handle({ head }) {
        const refusal = limited(head);
        if (refusal) return refusal;
        const page = statusPage(current(), await watch.history(MAX_HISTORY_HOURS));
        return cacheable(head, PAGE_HEADERS, Buffer.from(page));
      },
    }),
  ];
}

function cacheable(head: Head, headers: Readonly<Record<string, string>>, body: Buffer): Reply {
  const tag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
  const cache = { ETag: tag, "Cache-Control": CACHE_CONTROL };
  if (matches(head.headers.get("if-none-match"), tag)) return { status: 304, headers: cache };
  return { status: 200, headers: { ...headers, ...cache }, body };
}
