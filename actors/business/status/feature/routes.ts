/**
 * /v1/status and the page /status: without a key, shared by all callers, cached for 15 s, at most 120 requests per minute and
 * address. They answer 200 whatever the status is, and show what watch-status.ts knows: nothing is computed for a request.
 */
import { Field } from "../../../../schemas/common.ts";
import { type TSchema, Type } from "typebox";
import type { Clock } from "../../../../cluster/ports/clock.ts";
import { JSON_TYPE, NOT_FOUND } from "../../../../gateway/http-errors.ts";
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
import { statusPageRoutes } from "./page-routes.ts";
import { publicAnswers } from "./public-answers.ts";

export interface StatusRoutesDeps {
  readonly watch: Pick<StatusWatch, "current" | "history" | "notices">;
  readonly clock: Clock;
  /** The program that runs, in words. */
  readonly build: string;
  /** The address at which clients see the service. */
  readonly base: () => string;
}

const Detail = Type.Object({ detail: Type.String() });
const NOT_MODIFIED: ReplyShape = { description: "Unchanged since the ETag in If-None-Match" };
const LIMITED: ReplyShape = {
  description: "More than 120 requests of this address within 60 s; Retry-After says when the next may come",
  schema: Detail,
};

export function statusRoutes({ watch, clock, build, base }: StatusRoutesDeps): readonly Route[] {
  const answers = publicAnswers(clock);
  const { limited, cacheable } = answers;

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
    ...statusPageRoutes({ watch, clock, build, base, answers, shapes: { 304: NOT_MODIFIED, 429: LIMITED } }),
  ];
}
