/**
 * GET /v1/companies/changes: the change feed, oldest first, without gaps. GET /v1/companies/baseline: the state of the register, from
 * which a reader goes on with the feed.
 */
import { Type } from "typebox";
import type { Node } from "../../../../cluster/node-record.ts";
import type { Json } from "../claim.ts";
import { json } from "../../../../gateway/http-errors.ts";
import { type Route, route } from "../../../../gateway/route.ts";
import { Component, Field, Nullable, Timestamp } from "../../../../schemas/common.ts";
import { companySchema } from "../../../../schemas/company-record.ts";
import { iso } from "../../../lib/iso.ts";
import type { Cursors } from "../cursor.ts";
import { readBaseline, START, type BaselinePlace } from "../feed/baseline.ts";
import { COMPANY_FEED_STATE, readChanges, seqBefore, type StoredBaseline } from "../feed/changes.ts";
import type { Imports } from "../imports/imported-company.ts";
import type { CompanyEntry } from "../search-index.ts";
import { changeView } from "../view.ts";
import { companyBill, invalidCursor, wrongQuery } from "./record-routes.ts";

const ISO_8601 = "^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,9})?)?(Z|[+-]\\d{2}:?\\d{2})?)?$";

/** Unix milliseconds; NaN: there is no such moment. */
const momentOf = (text: string): number =>
  Date.parse(!text.includes("T") || /(?:Z|[+-]\d{2}:?\d{2})$/.test(text) ? text : `${text}Z`);

const Baseline = Component("CompanyBaseline", {
  source: Field(Type.String(), "Whose file it was", "gleif"),
  kind: Field(Type.String(), "The kind of the file", "gleif_lei2"),
  rows: Field(Type.Integer(), "Rows of the file that the register has", 3435980),
  published_at: Field(Timestamp, "When the source published the file"),
  changed_at: Field(Timestamp, "When it came into the register"),
});

const BaselineCompany = Component("CompanyBaselineItem", {
  company_id: Field(Type.String({ pattern: "^cmp_[0-9a-z]{16}$" }), "The company", "cmp_0123456789abcdef"),
  name: Field(Nullable(Type.String()), "Its legal name; null: not known", "PUMA SE"),
  country: Field(Nullable(Type.String()), "ISO 3166-1 alpha-2; null: not known", "DE"),
  status: Field(Type.String(), "Whether it exists and trades", "active"),
  identifiers: Field(Type.Array(Type.String()), "Its numbers now, `scheme:value`", [
    "lei:529900GRZ2BQY5ZM9N49",
  ]),
});

const feedCursorList = (country: string | null): string => `changes ${country ?? ""}`;
const COUNTRY = Field(
  Nullable(Type.String({ pattern: "^[A-Z]{2}$" })),
  "Only companies of this country, ISO 3166-1 alpha-2",
  "DE",
);

interface FeedRouteDeps extends Pick<Node, "documents" | "clock"> {
  readonly cursors: Cursors;
  readonly imports: Imports;
}

export function feedRoutes(deps: FeedRouteDeps): readonly Route[] {
  const { documents, cursors } = deps;
  return [
    baselineRoute(deps),
    route({
      method: "GET",
      path: "/v1/companies/changes",
      operationId: "listCompanyChanges",
      summary: "What changed in the register, oldest first",
      description:
        "Each change names its company and the top-level fields, not values. Start with `since`, go on with `next_cursor`, " +
        "which is also given with an empty page. No change is missing or listed twice. A cursor whose changes are stored no " +
        "more (90 days) is 422 with type `cursor_expired`. The first whole file of a source is one entry of `baselines` and none of " +
        "`items`: read its companies with GET /v1/companies/baseline.",
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
        country: Type.Optional(COUNTRY),
        limit: Type.Integer({ minimum: 1, maximum: 1_000, default: 100 }),
      }),
      replies: {
        200: {
          description: "A page of changes",
          schema: Type.Object({
            items: Field(Type.Array(companySchema("CompanyChange")), "Oldest first"),
            baselines: Field(
              Type.Array(Baseline),
              "Whole files that came into the register for the first time, oldest first, whatever the country",
              [],
            ),
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
        const list = feedCursorList(country);
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
          ...json(200, {
            items: page.changes.map(changeView),
            baselines: page.baselines.map(baselineView),
            next_cursor,
          }),
          bill: companyBill(true),
        };
      },
    }),
  ];
}

const baselineView = ({ source, kind, rows, publish_ms, changed_ms }: StoredBaseline) => ({
  source,
  kind,
  rows,
  published_at: iso(publish_ms),
  changed_at: iso(changed_ms),
});

const baselineRoute = ({ documents, cursors, imports }: FeedRouteDeps): Route =>
  route({
    method: "GET",
    path: "/v1/companies/baseline",
    operationId: "listCompanyBaseline",
    summary: "Every company of the register, and where the change feed goes on",
    description:
      "For a copy of the register: read all pages by `next_cursor`, then GET /v1/companies/changes from `changes_cursor`. What " +
      "changes while the pages are read is behind that cursor, so nothing is missing; a company may be listed twice when it is " +
      "stored meanwhile. A page may have fewer companies than `limit`, or none, before the last one.",
    tags: ["companies"],
    category: "fetch",
    query: Type.Object({
      country: Type.Optional(COUNTRY),
      cursor: Type.Optional(
        Field(
          Nullable(Type.String({ maxLength: 1_000 })),
          "`next_cursor` of the page before",
          "eyJzZXEiOjQyfQ.8kZq",
        ),
      ),
      limit: Type.Integer({ minimum: 1, maximum: 1_000, default: 100 }),
    }),
    replies: {
      200: {
        description: "A page of companies",
        schema: Type.Object({
          items: Field(Type.Array(BaselineCompany), "In no order that means anything"),
          next_cursor: Field(
            Nullable(Type.String()),
            "For the next page; null: this is the last one",
            "eyJzZXEiOjQyfQ.8kZq",
          ),
          changes_cursor: Field(
            Type.String(),
            "`cursor` of GET /v1/companies/changes with the same country; the same on every page",
            "eyJzZXEiOjQyfQ.8kZq",
          ),
        }),
      },
    },
    handle: async ({ query: { country = null, cursor = null, limit } }) => {
      const list = `baseline ${country ?? ""}`;
      const opened = cursor === null ? null : ((await cursors.open(list, cursor)) as BaselineCursor | null);
      if (cursor !== null && opened === null) return invalidCursor();
      const seq = opened?.seq ?? (await COMPANY_FEED_STATE.get(documents, "state"))?.last_seq ?? 0;
      const { companies, next } = await readBaseline({ documents, imports }, opened?.place ?? START, limit);
      const found = companies.filter((company) => country === null || company.country === country);
      const place = next === null ? null : { seq, place: next };
      return {
        ...json(200, {
          items: found.map(baselineCompanyView),
          next_cursor: place === null ? null : await cursors.seal(list, place as unknown as Json),
          changes_cursor: await cursors.seal(feedCursorList(country), { seq }),
        }),
        bill: companyBill(true),
      };
    },
  });

interface BaselineCursor {
  /** The last change before the first page. */
  readonly seq: number;
  readonly place: BaselinePlace;
}

const baselineCompanyView = ({ id, names, country, status, identifiers }: CompanyEntry) => ({
  company_id: id,
  name: names[0] ?? null,
  country: country ?? null,
  status: status ?? "unknown",
  identifiers: [...identifiers],
});
