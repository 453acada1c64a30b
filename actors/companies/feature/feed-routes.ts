/** GET /v1/companies/changes: the change feed, oldest first, without gaps. */
import { Type } from "typebox";
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import { json } from "../../../gateway/http-errors.ts";
import { type Route, route } from "../../../gateway/route.ts";
import { Nullable } from "../../../schemas/common.ts";
import { companySchema } from "../../../schemas/company-record.ts";
import type { Cursors } from "../cursor.ts";
import { readChanges, seqBefore } from "../feed/changes.ts";
import { changeView } from "../view.ts";
import { companyBill, invalidCursor, wrongQuery } from "./record-routes.ts";

interface FeedRouteDeps {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly cursors: Cursors;
}

export function feedRoutes({ documents, cursors }: FeedRouteDeps): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/companies/changes",
      operationId: "listCompanyChanges",
      summary: "What changed in the register, oldest first",
      description:
        "Each change names its company and the top-level fields, not values. Start with `since`, go on with `next_cursor`, " +
        "which is also given with an empty page. No change is missing or listed twice. A cursor whose changes are stored no " +
        "more (90 days) is 422 with type `cursor_expired`.",
      tags: ["companies"],
      category: "fetch",
      query: Type.Object({
        since: Type.Optional(
          Nullable(Type.String({ format: "date-time", description: "ISO 8601; for the first call" })),
        ),
        cursor: Type.Optional(Nullable(Type.String({ maxLength: 1_000 }))),
        country: Type.Optional(Nullable(Type.String({ pattern: "^[A-Z]{2}$" }))),
        limit: Type.Integer({ minimum: 1, maximum: 1_000, default: 100 }),
      }),
      replies: {
        200: {
          description: "A page of changes",
          schema: Type.Object({
            items: Type.Array(companySchema("CompanyChange")),
            next_cursor: Type.String(),
          }),
        },
      },
      handle: async ({ query }) => {
        const { since = null, cursor = null, country = null, limit } = query;
        const list = `changes ${country ?? ""}`;
        const position =
          cursor === null ? null : ((await cursors.open(list, cursor)) as { seq: number } | null);
        if (cursor !== null && position === null) return invalidCursor();
        const after = position?.seq ?? (await seqBefore(documents, since === null ? 0 : Date.parse(since)));
        const page = await readChanges(documents, after, limit, country);
        if (page === "expired")
          return wrongQuery("cursor", "The changes after this cursor are stored no more", "cursor_expired");
        const next_cursor = await cursors.seal(list, { seq: page.through_seq });
        return {
          ...json(200, { items: page.changes.map(changeView), next_cursor }),
          bill: companyBill(true),
        };
      },
    }),
  ];
}
