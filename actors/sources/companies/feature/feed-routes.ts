/** GET /v1/companies/changes: the change feed, oldest first, without gaps. */
import { Type } from "typebox";
import type { Node } from "../../../../cluster/node-record.ts";
import { json } from "../../../../gateway/http-errors.ts";
import { type Route, route } from "../../../../gateway/route.ts";
import { Field, Nullable } from "../../../../schemas/common.ts";
import { companySchema } from "../../../../schemas/company-record.ts";
import type { Cursors } from "../cursor.ts";
import { readChanges, seqBefore } from "../feed/changes.ts";
import { changeView } from "../view.ts";
import { companyBill, invalidCursor, wrongQuery } from "./record-routes.ts";

const ISO_8601 = "^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,9})?)?(Z|[+-]\\d{2}:?\\d{2})?)?$";

/** Unix milliseconds; NaN: there is no such moment. */
const momentOf = (text: string): number =>
  Date.parse(!text.includes("T") || /(?:Z|[+-]\d{2}:?\d{2})$/.test(text) ? text : `${text}Z`);

export function feedRoutes({
  documents,
  cursors,
}: Pick<Node, "documents" | "clock"> & {
  readonly cursors: Cursors;
}): readonly Route[] {
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
          Field(
            Nullable(
              Type.String({
                pattern: ISO_8601,
                description: "ISO 8601, a day or a moment, UTC where it has no offset; for the first call",
              }),
            ),
            null,
            "2026-11-01T00:00:00Z",
          ),
        ),
        cursor: Type.Optional(
          Field(
            Nullable(Type.String({ maxLength: 1_000 })),
            "`next_cursor` of the page before",
            "eyJzZXEiOjQyfQ.8kZq",
          ),
        ),
        country: Type.Optional(
          Field(
            Nullable(Type.String({ pattern: "^[A-Z]{2}$" })),
            "Only companies of this country, ISO 3166-1 alpha-2",
            "DE",
          ),
        ),
        limit: Type.Integer({ minimum: 1, maximum: 1_000, default: 100 }),
      }),
      replies: {
        200: {
          description: "A page of changes",
          schema: Type.Object({
            items: Field(Type.Array(companySchema("CompanyChange")), "Oldest first"),
            next_cursor: Field(
              Type.String(),
              "For the next page; also after the last change so far",
              "eyJzZXEiOjQyfQ.8kZq",
            ),
          }),
        },
      },
      handle: async ({ query }) => {
        const { since = null, cursor = null, country = null, limit } = query;
        const list = `changes ${country ?? ""}`;
        const position =
          cursor === null ? null : ((await cursors.open(list, cursor)) as { seq: number } | null);
        if (cursor !== null && position === null) return invalidCursor();
        const since_ms = since === null ? 0 : momentOf(since);
        if (Number.isNaN(since_ms)) return wrongQuery("since", "There is no such day or time");
        const after = position?.seq ?? (await seqBefore(documents, since_ms));
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
