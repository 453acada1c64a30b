/**
 * The review list of a batch of companies: items of `resolve` whose best candidate is near and no certain match. What the reviewer
 * says is a decision (decisions.ts), which later requests of the project follow.
 */
import { Type } from "typebox";
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import type { Caller } from "../../../../gateway/authenticate.ts";
import { invalid, JOB_NOT_FOUND, json } from "../../../../gateway/http-errors.ts";
import { type Route, route } from "../../../../gateway/route.ts";
import { Component, Field, Nullable } from "../../../../schemas/common.ts";
import { companySchema } from "../../../../schemas/company-record.ts";
import { decodeStates, statusOf } from "../../../../schemas/job-states.ts";
import { JobId, type JobItem, type JobRecord, MAX_JOB_ITEMS } from "../../../../schemas/jobs.ts";
import type { JobFinder } from "../../../work/jobs/feature/tokens.ts";
import { textOf } from "../claim.ts";
import { COMPANY_DECISIONS, decisionKey, decisionsOf, type ReviewDecision } from "../decisions.ts";
import { foldName } from "../names/fold.ts";
import { REVIEW_THRESHOLD } from "../names/resolve.ts";
import type { JsonObject } from "../record.ts";
import type { Imports } from "../imports/imported-company.ts";
import { knownCompanyOf, parseCompanyReference } from "../references.ts";
import { type Explanation, NO_MATCH_REASONS, type Resolved } from "../search.ts";
import { ScoreExplanation } from "./search-routes.ts";

interface ReviewDeps {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly reader: JobFinder;
  readonly imports: Imports;
}

/** Items that one request reads: a page may have fewer than `limit`, also none, while `next_from` is not null. */
const MAX_LOOKED_AT = 1_000;
const READ_AT_ONCE = 10;
const MAX_PAGE = 100;
const MAX_DECISIONS = 100;

const ReviewItem = Component("CompanyReviewItem", {
  index: Field(Type.Integer(), "The item of the job", 17),
  name: Field(Type.String(), "The name that was asked for", "Puma"),
  country: Field(Nullable(Type.String()), "The country that was asked for", "DE"),
  city: Field(Nullable(Type.String()), "The city that was asked for", "Herzogenaurach"),
  reason: Field(Nullable(Type.Enum([...NO_MATCH_REASONS])), "Why there is no match"),
  candidates: Field(Type.Array(companySchema("CompanySummary")), "Best first"),
  explanations: Field(
    Type.Array(ScoreExplanation),
    "Why each candidate has its score, in the order of `candidates`",
  ),
});

const ReviewPage = Component("CompanyReviewPage", {
  items: Field(Type.Array(ReviewItem), "In the order that they were submitted"),
  next_from: Field(Nullable(Type.Integer()), "`from` of the next page; null: the list ends here", 240),
});

const Decision = Component("CompanyReviewDecision", {
  index: Field(Type.Integer({ minimum: 0, maximum: MAX_JOB_ITEMS }), "The item of the job", 17),
  company: Field(
    Nullable(Type.String({ minLength: 1, maxLength: 300 })),
    "The company that is meant: its id, or `scheme:value`. Null: none of the candidates",
    "cmp_0123456789abcdef",
  ),
});

const Decided = Component("CompanyReviewDecided", {
  decided: Field(Type.Integer(), "Decisions that were stored", 1),
});

const NOT_FOUND = {
  description: "The project has no such job, it is no batch of companies, or its retention is over",
  schema: Type.Object({ detail: Type.String() }),
};

interface Reviewed {
  readonly index: number;
  readonly name: string;
  readonly country: string | null;
  readonly city: string | null;
  readonly resolved: Resolved | null;
}

/** Null: the item asks for no name. */
function reviewed({ index, input, result }: JobItem): Reviewed | null {
  const { action, name, country, city } = input as Readonly<Record<string, unknown>>;
  if (action !== "resolve" || typeof name !== "string") return null;
  return {
    index,
    name,
    country: typeof country === "string" ? country : null,
    city: typeof city === "string" ? city : null,
    resolved: result as unknown as Resolved | null,
  };
}

/** Near, and no match. */
const isOpen = ({ resolved }: Reviewed): boolean =>
  resolved !== null &&
  resolved.match === null &&
  Number(resolved.candidates[0]?.["match_score"] ?? 0) >= REVIEW_THRESHOLD;

const idOf = (candidate: JsonObject): string => textOf(candidate["id"] ?? candidate["ref"]);

async function itemsAt(
  reader: JobFinder,
  job: JobRecord,
  job_id: string,
  caller: Caller,
  indexes: readonly number[],
  signal: AbortSignal,
): Promise<readonly Reviewed[]> {
  const states = decodeStates(job.states, job.counts.total);
  const { external } = caller.grant.customer;
  const found: Reviewed[] = [];
  for (let at = 0; at < indexes.length; at += READ_AT_ONCE) {
    const some = indexes.slice(at, at + READ_AT_ONCE);
    for await (const items of reader.items(job, job_id, external, states, some, signal))
      found.push(...items.flatMap((item) => reviewed(item) ?? []));
  }
  return found;
}

async function findJob(reader: JobFinder, job_id: string, caller: Caller): Promise<JobRecord | null> {
  const job = await reader.find(job_id, caller);
  return job?.spec.kind === "company" ? job : null;
}

/** The items that wait for a decision, from this one on. Throws Fault. */
async function openItems(
  { documents, reader }: ReviewDeps,
  job: JobRecord,
  { job_id, from, limit }: { readonly job_id: string; readonly from: number; readonly limit: number },
  caller: Caller,
  signal: AbortSignal,
) {
  const { total } = job.counts;
  const states = decodeStates(job.states, total);
  const project = caller.grant.project.name;
  const end = Math.min(total, from + MAX_LOOKED_AT);
  const items: Reviewed[] = [];
  let next = from;
  for (; next < end && items.length < limit && !signal.aborted; next += READ_AT_ONCE) {
    const indexes = Array.from({ length: Math.min(end - next, READ_AT_ONCE) }, (_, n) => next + n).filter(
      (index) => statusOf(states[index]!) === "done",
    );
    const found = (await itemsAt(reader, job, job_id, caller, indexes, signal)).filter(isOpen);
    const decisions = await decisionsOf(
      documents,
      found.map(({ name, country }) => ({ project, name, country })),
    );
    items.push(...found.filter((_, at) => decisions[at] === null));
  }
  const page = items.slice(0, limit);
  const beyond = items[limit]?.index ?? next;
  return { page, next_from: beyond < total ? beyond : null };
}

export const reviewRoutes = (deps: ReviewDeps): readonly Route[] => [
  route({
    method: "GET",
    path: "/v1/companies/batch/{job_id}/review",
    operationId: "listCompanyReview",
    summary: "The items of a batch that need a person's decision",
    description:
      `Items of \`resolve\` without a match whose best candidate has a score of at least ${REVIEW_THRESHOLD}, but for those whose name and country ` +
      "the project has decided about. A page may be shorter than `limit`, also empty, while `next_from` is not null.",
    tags: ["companies"],
    params: Type.Object({ job_id: JobId }),
    query: Type.Object({
      from: Field(
        Type.Integer({ minimum: 0, maximum: MAX_JOB_ITEMS, default: 0 }),
        "The first item: `next_from` of the page before",
        0,
      ),
      limit: Field(
        Type.Integer({ minimum: 1, maximum: MAX_PAGE, default: 20 }),
        "The most items of the page",
      ),
    }),
    replies: { 200: { description: "The items, in their order", schema: ReviewPage }, 404: NOT_FOUND },
    handle: async ({ params, query: { from, limit }, caller, signal }) => {
      const job_id = params.job_id.toLowerCase();
      const job = await findJob(deps.reader, job_id, caller);
      if (!job) return JOB_NOT_FOUND;
      const { page, next_from } = await openItems(deps, job, { job_id, from, limit }, caller, signal);
      const items = page.map(({ index, name, country, city, resolved }) => ({
        index,
        name,
        country,
        city,
        reason: resolved!.reason,
        candidates: resolved!.candidates,
        explanations: resolved!.explanations as readonly Explanation[],
      }));
      return json(200, { items, next_from });
    },
  }),
  route({
    method: "POST",
    path: "/v1/companies/batch/{job_id}/review",
    operationId: "decideCompanyReview",
    summary: "Decide which companies items of a batch mean",
    description:
      "A decision is of the name and the country of the item: later requests of the project to resolve them answer the company, or leave out the " +
      "candidates that were not meant. It changes no result of the job, and no record. A second decision takes the place of the first.",
    tags: ["companies"],
    params: Type.Object({ job_id: JobId }),
    body: Type.Object({
      decisions: Field(
        Type.Array(Decision, { minItems: 1, maxItems: MAX_DECISIONS }),
        "One for each item; all are stored, or none",
      ),
    }),
    body_example: { decisions: [{ index: 0, company: "cmp_0123456789abcdef" }] },
    replies: { 200: { description: "How many were stored", schema: Decided }, 404: NOT_FOUND },
    handle: async ({ params, body: { decisions }, caller, signal }) => {
      const { documents, reader, clock, imports } = deps;
      const job_id = params.job_id.toLowerCase();
      const job = await findJob(reader, job_id, caller);
      if (!job) return JOB_NOT_FOUND;
      const wrong = (at: number, field: "index" | "company", msg: string) =>
        invalid([{ loc: ["body", "decisions", at, field], msg, type: "value_error" }]);
      const beyond = decisions.findIndex(({ index }) => index >= job.counts.total);
      if (beyond >= 0) return wrong(beyond, "index", `Input should be less than ${job.counts.total}`);
      const indexes = decisions.map(({ index }) => index);
      const items = await itemsAt(reader, job, job_id, caller, indexes, signal);
      const byIndex = new Map(items.map((item) => [item.index, item]));
      const about = { job_id, decided_by: caller.grant.key.prefix, decided_ms: clock.now() };
      const made: { readonly key: string; readonly decision: ReviewDecision }[] = [];
      for (const [at, { index, company }] of decisions.entries()) {
        const item = byIndex.get(index);
        if (!item) return wrong(at, "index", "Input should be an item of resolve with a name");
        const problem = company === null ? null : await problemOf(documents, imports, company);
        if (problem !== null) return wrong(at, "company", problem);
        const { country, city } = item;
        const refused = company === null ? (item.resolved?.candidates ?? []).map(idOf) : [];
        const key = decisionKey({ project: caller.grant.project.name, name: item.name, country });
        const name = foldName(item.name);
        const place = { country, city: city === null ? null : foldName(city) };
        made.push({
          key,
          decision: { source: "operator", name, ...place, company, refused, index, ...about },
        });
      }
      for (const { key, decision } of made)
        await COMPANY_DECISIONS.update(documents, key, () => ({ value: decision }));
      return json(200, { decided: made.length });
    },
  }),
];

/** Why a decision cannot name this company; null: it can. Throws Fault. */
async function problemOf(documents: Documents, imports: Imports, company: string): Promise<string | null> {
  const reference = parseCompanyReference(company);
  if (reference.kind === "wrong") return reference.message;
  if (reference.kind === "identifier") return null;
  const known = await knownCompanyOf(documents, imports, reference.id);
  return known.company === null && known.imported === null ? "There is no such company" : null;
}
