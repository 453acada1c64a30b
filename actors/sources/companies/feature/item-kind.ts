/** Companies as items of a batch job: get, refresh and resolve with the logic of the single endpoints. */
import { Type } from "typebox";
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { BodyGrants } from "../../../../gateway/body-access.ts";
import type { ItemKindParts } from "../../../work/jobs/feature/tokens.ts";
import { Field, Component, Nullable } from "../../../../schemas/common.ts";
import type { CompanyRefresh } from "../../../../schemas/companies.ts";
import type { RetryAdvice } from "../../../../schemas/jobs.ts";
import { OWN_THROTTLE } from "../ask-source.ts";
import type { Json } from "../claim.ts";
import { CSV_COLUMNS, readBatchCsv } from "../csv/read-batch.ts";
import { RESULT_COLUMNS, resultRow } from "../csv/result-row.ts";
import { parseCompanyReference } from "../references.ts";
import type { CompanyService } from "../service.ts";
import type { Source } from "../source.ts";
import { groupsFor, type Include, recordView } from "../view.ts";
import { companyBill, grantDocuments } from "./record-routes.ts";
import {
  AsksSources,
  Postcode,
  ResolveAnswer,
  resolveCompany,
  type ResolveQuery,
  type SearchRouteDeps,
  wrongIdentifier,
} from "./search-routes.ts";
import { reviewRoutes } from "./review-routes.ts";
import { companySchema } from "../../../../schemas/company-record.ts";

const BATCH_INCLUDES = ["people", "ownership", "filings", "financials", "events"] as const;
export const ACTIONS = ["get", "refresh", "resolve"] as const;

/** Fields that apply to every item of a job. */
export const SharedFields = Type.Object({
  action: Type.Optional(Field(Nullable(Type.Enum([...ACTIONS])), "What is done with each item; default get")),
  include: Type.Optional(
    Field(
      Nullable(Type.Array(Type.Enum([...BATCH_INCLUDES]))),
      "With get and refresh: further parts of the record",
    ),
  ),
  max_age: Type.Optional(
    Field(Nullable(Type.Integer({ minimum: 0 })), "Seconds; older data is fetched again first", 86_400),
  ),
});

export const CompanyBatchItem = Component("CompanyBatchItem", {
  ref: Type.Optional(
    Field(
      Nullable(Type.String({ minLength: 1, maxLength: 300, description: "cmp_ id or scheme:value" })),
      null,
      "lei:529900GRZ2BQY5ZM9N49",
    ),
  ),
  name: Type.Optional(
    Field(Nullable(Type.String({ minLength: 1, maxLength: 500 })), "With resolve: the name", "Puma SE"),
  ),
  country: Type.Optional(Nullable(Type.String({ pattern: "^[A-Z]{2}$" }))),
  city: Type.Optional(Nullable(Type.String({ maxLength: 200 }))),
  postcode: Type.Optional(Postcode),
  live: Type.Optional(AsksSources),
  identifiers: Type.Optional(Nullable(Type.Array(Type.String({ maxLength: 300 }), { maxItems: 50 }))),
  limit: Type.Optional(
    Field(Nullable(Type.Integer({ minimum: 1, maximum: 20 })), "With resolve: the most candidates", 5),
  ),
  sources: Type.Optional(
    Field(Nullable(Type.Array(Type.String({ maxLength: 32 }))), "Only these sources; default all", ["gleif"]),
  ),
  project_ref: Type.Optional(Nullable(Type.String({ maxLength: 200 }))),
});

/** With get and refresh. */
const FoundRecord = Component("CompanyJobRecord", {
  record: Field(Nullable(companySchema("CompanyRecord")), "The record; null: no source knows the company"),
});

/** An item as it is stored, with the job's fields. */
export interface CompanyItem extends ResolveQuery {
  readonly action?: (typeof ACTIONS)[number];
  readonly include?: readonly Include[];
  readonly max_age?: number;
  readonly ref?: string;
  readonly sources?: readonly string[];
}

interface ItemKindDeps extends Omit<SearchRouteDeps, "cursors"> {
  readonly service: CompanyService;
  readonly sources: readonly Source[];
  readonly clock: Clock;
  readonly bodyGrants: BodyGrants;
}

/** The mistake of an item that its schema cannot express. */
export function checkItem(
  item: CompanyItem,
  action: string,
  sources: readonly string[],
): { readonly field: string; readonly message: string } | null {
  const identifiers = item.identifiers ?? [];
  const unknown = item.sources?.find((name) => !sources.includes(name));
  if (unknown !== undefined)
    return {
      field: "sources",
      message: `"${unknown}" is no source: input should be of ${sources.join(", ")}`,
    };
  if (item.ref === undefined && item.name === undefined && identifiers.length === 0)
    return { field: "ref", message: "Field required: ref, name or identifiers" };
  if (action !== "resolve" && item.ref === undefined && identifiers.length === 0)
    return { field: "ref", message: `Field required by ${action}: ref or identifiers` };
  if (item.ref !== undefined) {
    const reference = parseCompanyReference(item.ref);
    if (reference.kind === "wrong") return { field: "ref", message: reference.message };
  }
  const wrong = wrongIdentifier(identifiers);
  return wrong ? { field: "identifiers", message: `${wrong.index}: ${wrong.message}` } : null;
}

const bare = (item: Readonly<Record<string, unknown>>): CompanyItem =>
  Object.fromEntries(Object.entries(item).filter(([, value]) => value !== null));

const TAG = "companies";
/** Errors of sources that would say the same when they are asked again. */
const FINAL_ERRORS: ReadonlySet<string> = new Set(["not_found", "not_configured", "paid_tier_required"]);
/** A refresh does not ask a source again sooner that failed without saying when. */
const BUSY_AGAIN_S = 60;

/** A site without a slot says nothing of the company: the item waits for its turn. */
function busyRetry(refresh: readonly CompanyRefresh[]): RetryAdvice | null {
  const busy = refresh.find(({ error }) => error === OWN_THROTTLE);
  return busy ? { reason: "busy", retry_after_s: busy.retry_after_s ?? BUSY_AGAIN_S } : null;
}

export const companyItems = (deps: ItemKindDeps): ItemKindParts => ({
  worker: {
    name: "company",
    lane: () => null,
    async run(_ask, input, { project, key, attempt_id }) {
      const item = input as CompanyItem;
      const payer = { key, request_id: attempt_id };
      const caller = { project, lane: "batch", payer } as const;
      if (item.action === "resolve")
        return resolved(await resolveItem(deps, item, { project, lane: "batch" }));
      const include = new Set<Include>(item.include ?? []);
      const options = {
        sources: item.sources ?? null,
        groups: groupsFor(include),
        max_age_s: item.max_age ?? null,
        refresh: item.action === "refresh",
      };
      let failing: number | null | undefined;
      for (const text of [item.ref ?? [], item.identifiers ?? []].flat()) {
        const reference = parseCompanyReference(text);
        if (reference.kind === "wrong") continue;
        const found = await deps.service.get(reference, options, caller);
        if (found.company === null) {
          const failed = found.refresh.find(
            ({ result, error }) => result === "failed" && !FINAL_ERRORS.has(error ?? ""),
          );
          if (failed) failing = failed.retry_after_s;
          continue;
        }
        const record = recordView(found, include, { sources: deps.sources, now_ms: deps.clock.now() });
        await grantDocuments(deps.bodyGrants, project, record["sources"]!);
        return {
          answer: { record },
          error: null,
          bill: companyBill(found.is_cached, found.cost_micros),
          body_refs: [],
          retry: busyRetry(found.refresh),
        };
      }
      const answer = { record: null };
      const failed = { answer, bill: { ...companyBill(false), ok: false }, body_refs: [] };
      return failing === undefined
        ? { ...failed, error: "not_found", retry: null }
        : { ...failed, error: "source_unavailable", retry: { reason: "transient", retry_after_s: failing } };
    },
  },
  gateway: {
    name: "company",
    item: CompanyBatchItem,
    item_example: { ref: "lei:529900GRZ2BQY5ZM9N49" },
    result: Type.Union([FoundRecord, ResolveAnswer]),
    errors: { names: ["not_found", "source_unavailable"] },
    shared: SharedFields,
    category: "fetch",
    check: (item, shared) =>
      checkItem(
        bare(item),
        (shared["action"] as string | undefined) ?? "get",
        deps.sources.map(({ description }) => description.name),
      ),
    csv_table: {
      columns: RESULT_COLUMNS,
      row: (item) => resultRow(item, redistributionOf(deps.sources)),
    },
    render: (_input, answer) => answer,
  },
  route: {
    path: "/v1/companies/batch",
    operationId: "batchCompanies",
    summary: "Get, refresh or resolve many companies as a job",
    tag: TAG,
  },
  routes: (reader) => reviewRoutes({ ...deps, reader }),
  csv: {
    upload: {
      path: "/v1/companies/batch/csv",
      csv_example: "ref\nlei:529900GRZ2BQY5ZM9N49\n",
      operationId: "batchCompaniesFromCsv",
      summary: "Get, refresh or resolve the companies of a CSV file as a job",
      tag: TAG,
      columns: CSV_COLUMNS,
      readCsv: readBatchCsv,
    },
    results: {
      path: "/v1/companies/batch/{job_id}.csv",
      operationId: "getCompanyBatchCsv",
      summary: "The results of a company batch as CSV",
      tag: TAG,
    },
  },
});

const redistributionOf = (sources: readonly Source[]) =>
  new Map(sources.map(({ description: { name, licence } }) => [name, licence.redistribution]));

async function resolveItem(
  deps: ItemKindDeps,
  item: CompanyItem,
  caller: { readonly project: string; readonly lane: "batch" },
) {
  const identifiers = [item.ref ?? [], item.identifiers ?? []].flat();
  return resolveCompany(deps, { ...item, identifiers, limit: item.limit ?? 5 }, caller);
}

/** Without a match the sources count: a row that had no slot of one waits for its turn. */
const resolved = ({ unasked_s, ...answer }: Awaited<ReturnType<typeof resolveItem>>) => ({
  answer: answer as unknown as Json,
  error: null,
  bill: companyBill(false),
  body_refs: [],
  retry:
    unasked_s === null || answer.match !== null
      ? null
      : ({ reason: "busy", retry_after_s: unasked_s } as const),
});
