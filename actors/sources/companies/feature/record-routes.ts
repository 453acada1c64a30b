/**
 * GET /v1/companies/{company_ref} and its pages: a record, its history, one of its resources. A company that is not in the
 * register is fetched; a failing source is listed in `refresh` and never fails the answer.
 */
import { type TSchema, Type } from "typebox";
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { BodyGrants } from "../../../../gateway/body-access.ts";
import { invalid, json, unavailable } from "../../../../gateway/http-errors.ts";
import { type Answer, type Call, type Route, route } from "../../../../gateway/route.ts";
import { wordsOf } from "../../../../gateway/words.ts";
import type { Bill } from "../../../../schemas/accounts.ts";
import { Field, Nullable } from "../../../../schemas/common.ts";
import { companySchema } from "../../../../schemas/company-record.ts";
import type { Json } from "../claim.ts";
import type { Cursors } from "../cursor.ts";
import { isHistoryField, type JsonObject } from "../record.ts";
import { type CompanyReference, parseCompanyReference } from "../references.ts";
import type { CompanyService, CompanySnapshot, GetOptions, UnknownCompany } from "../service.ts";
import type { Source } from "../source.ts";
import {
  digestOfItem,
  groupsFor,
  historyPage,
  type HistoryPosition,
  type Include,
  INCLUDES,
  recordView,
  refreshLines,
  type Resource,
  resourceItems,
  RESOURCES,
} from "../view.ts";

export interface RecordRouteDeps {
  readonly service: CompanyService;
  readonly sources: readonly Source[];
  readonly cursors: Cursors;
  readonly bodyGrants: BodyGrants;
  readonly clock: Clock;
}

const Ref = Type.Object({
  company_ref: Type.String({
    minLength: 1,
    maxLength: 300,
    description: "A `cmp_` id, or `scheme:value` as `lei:5493001KJTIIGC8Y1R12`",
  }),
});
const MaxAge = Type.Optional(
  Nullable(Type.Integer({ minimum: 0, description: "Seconds; older data is fetched again first" })),
);
const Refresh = Type.Boolean({ default: false, description: "Fetches from every source now" });
const Cursor = Type.Optional(Nullable(Type.String({ maxLength: 1_000 })));
const pageLimit = (most: number) => Type.Integer({ minimum: 1, maximum: most, default: 50 });
export const NOT_FOUND = {
  description: "No company: neither the register nor a source that answered knows it",
  schema: Type.Object({ detail: Type.String() }),
};

/**
 * Sources that failed might know the company. One that had no slot was not asked at all: then the answer is 503, since the same request
 * succeeds a little later. `reference`: which one of several the caller named.
 */
export function unknownCompany({ refresh }: UnknownCompany, reference?: string): Answer {
  const failing = refresh.filter(({ result, error }) => result === "failed" && error !== "not_found");
  const names = [...new Set(failing.map(({ source, error }) => `${source} (${error})`))];
  const unanswered = names.length === 0 ? "" : `; no answer from ${names.join(", ")}`;
  const named = reference === undefined ? "" : `: ${reference}`;
  const busy = failing.filter(({ error }) => error === "rate_limited");
  if (busy.length === 0) return json(404, { detail: `company not found${named}${unanswered}` });
  const retry_after_s = Math.max(...busy.map((source) => source.retry_after_s ?? 1));
  return unavailable(`company not known yet${named}${unanswered}`, Math.max(1, Math.ceil(retry_after_s)));
}

const page = (items: TSchema) =>
  Type.Object({
    company_id: Type.String(),
    items: Type.Array(items),
    next_cursor: Nullable(Type.String()),
    refresh: Type.Array(companySchema("CompanyRefresh")),
  });

/** The mistake of one query parameter. */
export const wrongQuery = (name: string, msg: string, type = "value_error") =>
  invalid([{ loc: ["query", name], msg, type }]);

const WRONG_FIELD =
  "Input should be a field with claims, for example names.legal, addresses or addresses[registered]";
const CURSOR_MISTAKE = "The cursor was altered, or belongs to another list";
export const invalidCursor = () => wrongQuery("cursor", CURSOR_MISTAKE, "invalid_cursor");

/** Null: a word is not allowed. */
function listOf<T extends string>(
  text: string | null | undefined,
  allowed: readonly T[],
): readonly T[] | null {
  const words = wordsOf(text ?? "");
  return words.every((word): word is T => (allowed as readonly string[]).includes(word)) ? words : null;
}

export const companyBill = (is_cached: boolean, cost_micros = 0): Bill => ({
  category: is_cached ? "company_cached" : "company",
  ok: true,
  bytes: 0,
  paid: cost_micros > 0,
  cost_micros,
});

/** The documents of an answer may be downloaded by the project that got it. Throws Fault. */
export async function grantDocuments(
  bodyGrants: BodyGrants,
  project: string,
  documents: Json,
): Promise<void> {
  for (const document of documents as readonly {
    body_url: string | null;
    sha256: string;
    content_type: string | null;
  }[]) {
    if (document.body_url === null) continue;
    const { sha256, content_type } = document;
    await bodyGrants.record(project, { sha256, content_type, body_kind: "origin" });
  }
}

/** Where a page begins: behind the item with this digest; at the number where there is no such item any more. */
interface ResourcePosition {
  readonly at: number;
  readonly after?: string;
}
const START: ResourcePosition = { at: 0 };

/** An item that was added to the front of the list since the last page is not on this one, and none is listed twice. */
export function resourcePage(
  all: readonly JsonObject[],
  { at, after }: ResourcePosition,
  limit: number,
): {
  readonly items: readonly JsonObject[];
  readonly next: { readonly at: number; readonly after: string } | null;
} {
  const last = after === undefined ? -1 : all.findIndex((item) => digestOfItem(item) === after);
  const from = last === -1 ? at : last + 1;
  const items = all.slice(from, from + limit);
  const to = from + items.length;
  return { items, next: to < all.length ? { at: to, after: digestOfItem(items.at(-1)!) } : null };
}

type RefCall = Call<{ company_ref: string }, { max_age?: number | null; refresh?: boolean }>;

const RecordQuery = Type.Object({
  max_age: MaxAge,
  refresh: Field(Refresh, null, false),
  include: Type.Optional(
    Field(Nullable(Type.String()), `With commas between: ${INCLUDES.join(", ")}`, "ownership,events"),
  ),
  sources: Type.Optional(
    Field(Nullable(Type.String()), "Names of sources, with commas between", "gleif,brreg"),
  ),
});
const HistoryQuery = Type.Object({
  field: Type.Optional(
    Field(Nullable(Type.String({ minLength: 1, maxLength: 500 })), "A field, or all below it", "names.legal"),
  ),
  limit: pageLimit(500),
  cursor: Cursor,
});

/** One algorithm: the table of the routes of one company. */
export function recordRoutes(deps: RecordRouteDeps): readonly Route[] {
  const { service, sources, cursors, bodyGrants, clock } = deps;
  const names = sources.map(({ description }) => description.name);
  const common = {
    tags: ["companies"],
    category: "fetch",
    always_begins_work: true,
    params: Ref,
    method: "GET",
  } as const;

  async function find(
    { params, caller, query, request_id }: RefCall,
    options: Pick<GetOptions, "sources" | "groups">,
  ): Promise<CompanySnapshot | Answer> {
    const reference = parseCompanyReference(params.company_ref);
    if (reference.kind === "wrong") return wrongReference(reference);
    const { max_age, refresh = false } = query;
    const wanted = { ...options, max_age_s: max_age ?? null, refresh };
    const { project, key } = caller.grant;
    const payer = { key: key.prefix, request_id };
    const found = await service.get(reference, wanted, { project: project.name, lane: "sync", payer });
    return found.company === null ? unknownCompany(found) : found;
  }

  return [
    route({
      ...common,
      path: "/v1/companies/{company_ref}",
      operationId: "getCompany",
      summary: "The record of a company",
      description:
        "Each value has its claim in `provenance`; sources that disagree are in `quality.conflicts`. Data older than its " +
        "freshness class, or than `max_age`, is fetched again first. Persons are included only with `include=people`.",
      query: RecordQuery,
      replies: { 200: { description: "The record", schema: companySchema("CompanyRecord") }, 404: NOT_FOUND },
      handle: async (call) => {
        const include = listOf(call.query.include, INCLUDES);
        if (include === null) return wrongQuery("include", `Input should be of: ${INCLUDES.join(", ")}`);
        const wanted = listOf(call.query.sources, names);
        if (wanted === null) return wrongQuery("sources", `Input should be of: ${names.join(", ")}`);
        const included = new Set<Include>(include);
        const found = await find(call, {
          sources: wanted.length === 0 ? null : wanted,
          groups: groupsFor(included),
        });
        if (!("company" in found)) return found;
        const view = recordView(found, included, { sources, now_ms: clock.now() });
        await grantDocuments(bodyGrants, call.caller.grant.project.name, view["sources"]!);
        return { ...json(200, view), bill: companyBill(found.is_cached, found.cost_micros) };
      },
    }),
    route({
      ...common,
      path: "/v1/companies/{company_ref}/history",
      operationId: "getCompanyHistory",
      summary: "The claims of a company, newest observation first",
      description:
        "Claims are never overwritten: a value that went away has `current` false and `valid_to`. `field` names a field " +
        "(`names.legal`), all below it (`names`), or one item as in `provenance` (`addresses[registered]`). Claims about persons only with `field=people` or `field=ownership`.",
      query: HistoryQuery,
      replies: {
        200: { description: "A page of claims", schema: page(companySchema("CompanyClaim")) },
        404: NOT_FOUND,
      },
      handle: async (call) => {
        const { field = null, limit, cursor = null } = call.query;
        if (field !== null && !isHistoryField(field)) return wrongQuery("field", WRONG_FIELD);
        const found = await find(
          { ...call, query: { max_age: null, refresh: false } },
          { sources: null, groups: [] },
        );
        if (!("company" in found)) return found;
        const { id } = found.company;
        const list = `history ${id} ${field ?? ""}`;
        const after =
          cursor === null ? null : ((await cursors.open(list, cursor)) as unknown as HistoryPosition | null);
        if (cursor !== null && after === null) return invalidCursor();
        const { items, next } = historyPage(found, field, after, limit, sources);
        const next_cursor = next && (await cursors.seal(list, { ...next }));
        await grantDocuments(
          bodyGrants,
          call.caller.grant.project.name,
          items.map(({ body_url, raw_sha256 }) => ({
            body_url,
            sha256: raw_sha256,
            content_type: null,
          })) as Json,
        );
        const answer = { company_id: id, items, next_cursor, refresh: refreshLines(found) };
        return { ...json(200, answer), bill: companyBill(found.is_cached, found.cost_micros) };
      },
    }),
    ...RESOURCES.map((resource) => resourceRoute(resource)),
  ];

  function resourceRoute(resource: Resource): Route {
    return route({
      ...common,
      path: `/v1/companies/{company_ref}/${resource}`,
      operationId: `getCompany${resource[0]!.toUpperCase()}${resource.slice(1)}`,
      summary: SUMMARIES[resource],
      query: Type.Object({
        max_age: MaxAge,
        refresh: Refresh,
        include_former: Type.Boolean({ default: false, description: "Of people: also those who have left" }),
        limit: pageLimit(500),
        cursor: Cursor,
      }),
      replies: { 200: { description: "A page", schema: page(ITEMS[resource]) }, 404: NOT_FOUND },
      handle: async (call) => {
        const { limit, cursor = null, include_former } = call.query;
        const found = await find(call, { sources: null, groups: groupsFor(new Set([resource])) });
        if (!("company" in found)) return found;
        const { id } = found.company;
        const list = `${resource} ${id} ${include_former}`;
        const position =
          cursor === null ? START : ((await cursors.open(list, cursor)) as typeof START | null);
        if (position === null) return invalidCursor();
        const all = resourceItems(found, resource, include_former, { sources, now_ms: clock.now() });
        const { items, next } = resourcePage(all, position, limit);
        const next_cursor = next && (await cursors.seal(list, next));
        if (resource === "sources")
          await grantDocuments(bodyGrants, call.caller.grant.project.name, items as unknown as Json);
        const answer = { company_id: id, items, next_cursor, refresh: refreshLines(found) };
        return { ...json(200, answer), bill: companyBill(found.is_cached, found.cost_micros) };
      },
    });
  }
}

export const wrongReference = ({ message }: Extract<CompanyReference, { kind: "wrong" }>): Answer =>
  invalid([{ loc: ["path", "company_ref"], msg: message, type: "value_error" }]);

const SUMMARIES: Readonly<Record<Resource, string>> = {
  events: "What happened to a company",
  people: "The persons of a company, on this request only",
  ownership: "The owners of a company: interested parties, parents, and why a parent is not reported",
  relationships: "The companies related to a company",
  filings: "The filings of a company",
  financials: "The financial figures of a company",
  sources: "The raw documents behind a company, newest first",
};

const ITEMS: Readonly<Record<Resource, TSchema>> = {
  events: companySchema("CompanyEvent"),
  people: companySchema("CompanyPerson"),
  // The rest of an item is as in the record's `ownership`.
  ownership: Type.Object({
    relation: Type.Enum(["interested_party", "direct_parent", "ultimate_parent", "exception"]),
    party: Type.Optional(companySchema("CompanyParty")),
    category: Type.Optional(Type.String({ description: "Of an exception" })),
    reason: Type.Optional(Type.String({ description: "Of an exception" })),
  }),
  relationships: companySchema("CompanyRelationship"),
  filings: companySchema("CompanyFiling"),
  financials: companySchema("CompanyFinancials"),
  sources: companySchema("CompanySourceDocument"),
};
