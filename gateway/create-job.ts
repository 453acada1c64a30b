/**
 * Creates a job: opens its actor, has its inputs stored, and inserts the document under its idempotency key, which is the commit. A
 * second request with the same key is answered with the job of the first.
 */
import { createHash } from "node:crypto";
import type { ActorClient } from "../cluster/actor.ts";
import type { Clock } from "../cluster/ports/clock.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import { Fault } from "../cluster/ports/fault.ts";
import type { Random } from "../cluster/ports/random.ts";
import type { Secrets } from "../cluster/ports/secrets.ts";
import { Account, accountKey, fromUsdUp, monthOf, type QuotaCategory } from "../schemas/accounts.ts";
import { basisOf, priceMost, pricesOf } from "../schemas/invoices.ts";
import {
  callbackPlace,
  type IdempotencyRecord,
  Job,
  type JobKind,
  type JobSpec,
  LISTED_MS,
  projectJobKey,
} from "../schemas/jobs.ts";
import { JOB_IDEMPOTENCY_KEYS, PROJECT_JOBS } from "../records/collections.ts";
import type { Caller } from "./authenticate.ts";
import { budgetExhausted, json, KEY_OF_ANOTHER_JOB, quotaExhausted } from "./http-errors.ts";
import type { Reply } from "./http.ts";
import { jobId } from "./job-id.ts";
import { secondsToReset } from "./limits.ts";
import type { Call } from "./route.ts";

export interface CreateJobDeps {
  readonly documents: Documents;
  readonly ask: ActorClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly secrets: Pick<Secrets, "seal">;
}

export interface NewJob {
  readonly kind: JobKind;
  readonly category: QuotaCategory | null;
  /** Its items; of a job that grows, the most that it may have. */
  readonly total: number;
  readonly grows?: true;
  /** Stores what the job is made of, before it begins. Throws Fault. */
  readonly store: (job_id: string) => Promise<unknown>;
}

const ASK_MS = 20_000;

/** A job reserves nothing when it is created; it is refused when its key has nothing left to run an item with. */
async function allowanceRefused(
  { ask, clock }: CreateJobDeps,
  { kind, category }: Pick<NewJob, "kind" | "category">,
  { grant: { key, project, customer, per_usd_micros } }: Caller,
): Promise<Reply | null> {
  const limit = category ? key.quotas[category] : null;
  const cap = key.spend_cap_micros;
  if (limit === null && cap === null) return null;
  const now_ms = clock.now();
  const account = accountKey(customer.name, project.name, key.prefix);
  const month = monthOf(now_ms);
  const prices = pricesOf(customer, month);
  const question = { month, basis: basisOf(customer, month) };
  const { settled } = await ask(Account, account, "allowances", question, { timeout_ms: ASK_MS });
  if (limit !== null && settled[category!] >= limit)
    return quotaExhausted(category!, limit, secondsToReset(now_ms));
  const spent = prices ? settled.spend_micros : fromUsdUp(settled.spend_micros, per_usd_micros);
  const isFree = prices !== null && priceMost(prices, kind) === 0;
  if (cap !== null && spent >= cap && !isFree)
    return budgetExhausted(cap, customer.currency, secondsToReset(now_ms));
  return null;
}

/**
 * Answers with the job of this key, and begins it in case its creator crashed before. 409 when kind or length differ; null
 * when the record is all that is left of the job.
 */
async function replyForExisting(
  { ask }: CreateJobDeps,
  { job_id, kind: named_kind, total: named_total }: IdempotencyRecord,
  { kind, total }: Pick<NewJob, "kind" | "total">,
): Promise<Reply | null> {
  const { exists } = await ask(Job, job_id, "begin", null, { timeout_ms: ASK_MS });
  if (!exists) return null;
  if (named_kind !== kind || named_total !== total) return KEY_OF_ANOTHER_JOB;
  return json(200, { job_id, created: false });
}

/** 202 with the new job, 200 with the job that has the key already, or a refusal. Throws Fault. */
export async function createJob(
  services: CreateJobDeps,
  { caller, now_ms }: Pick<Call, "caller" | "now_ms">,
  {
    idempotency_key,
    callback_url,
  }: { readonly idempotency_key: string; readonly callback_url?: string | null },
  job: NewJob,
): Promise<Reply> {
  const { documents, ask, random, secrets } = services;
  const { key, project, customer } = caller.grant;
  const digest = createHash("sha256").update(idempotency_key).digest("hex");
  const idempotency_doc = `${project.name}:${digest}`;
  const existing = await JOB_IDEMPOTENCY_KEYS.read(documents, idempotency_doc);
  if (existing) {
    const reply = await replyForExisting(services, existing.value, job);
    if (reply) return reply;
    await JOB_IDEMPOTENCY_KEYS.remove(documents, idempotency_doc, existing.version);
  }

  const refusal = await allowanceRefused(services, job, caller);
  if (refusal) return refusal;
  const job_id = jobId(now_ms, random);
  const { kind, category, total, grows } = job;
  const spec: JobSpec = {
    kind,
    customer: customer.name,
    project: project.name,
    category,
    key_prefix: key.prefix,
    idempotency_doc,
    callback_url: callback_url == null ? null : secrets.seal(callback_url, callbackPlace(job_id)),
    total,
    ...(grows && { grows }),
    created_ms: Math.floor(now_ms),
  };
  await ask(Job, job_id, "open", spec, { timeout_ms: ASK_MS });
  const listing = { expires_at_ms: spec.created_ms + LISTED_MS };
  await PROJECT_JOBS.put(documents, projectJobKey(project.name, job_id), { kind }, 0, listing);
  await job.store(job_id);
  const record: IdempotencyRecord = { job_id, kind, total };
  if (!(await JOB_IDEMPOTENCY_KEYS.put(documents, idempotency_doc, record, 0))) {
    // Two requests at the same moment: the other request inserted first.
    await ask(Job, job_id, "abandon", null).catch(() => {});
    const winner = await JOB_IDEMPOTENCY_KEYS.get(documents, idempotency_doc);
    const reply = winner ? await replyForExisting(services, winner, job) : null;
    if (reply) return reply;
    throw new Fault("no_answer", `Cannot create a job: its idempotency key was taken and is free again`);
  }
  const { exists } = await ask(Job, job_id, "begin", null, { timeout_ms: ASK_MS });
  if (!exists) throw new Fault("no_answer", `Cannot begin job "${job_id}": it is not there`);
  return json(202, { job_id, created: true });
}
