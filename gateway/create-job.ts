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
  type Chunk,
  CHUNK_ITEMS,
  chunkKey,
  type IdempotencyRecord,
  Job,
  type JobKind,
  type JobSpec,
  listedMs,
  projectJobKey,
} from "../schemas/jobs.ts";
import { type Input, inputPlace, sealedInput } from "../schemas/job-inputs.ts";
import { JOB_IDEMPOTENCY_KEYS, JOB_ITEMS, PROJECT_JOBS } from "../records/collections.ts";
import type { Caller } from "./authenticate.ts";
import { budgetExhausted, json, KEY_OF_ANOTHER_JOB, quotaExhausted } from "./http-errors.ts";
import type { Reply } from "./http.ts";
import { jobId } from "./job-id.ts";
import { secondsToReset } from "./limits.ts";
import type { Call } from "./route.ts";
import type { Mistake } from "./validate.ts";

export interface CreateJobDeps {
  readonly documents: Documents;
  readonly ask: ActorClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly secrets: Pick<Secrets, "seal">;
}

export interface JobParts {
  readonly kind: JobKind;
  /** The monthly quota that its items count towards; null: none. */
  readonly category: QuotaCategory | null;
  /** Its items; of a job that grows, the most that it may have. */
  readonly total: number;
  readonly grows?: true;
  /** It has a webhook, which `store` stores. */
  readonly has_webhook?: boolean;
  /** The most that its items may cost together; null or absent: it has no limit of its own. */
  readonly max_cost_usd?: number | null | undefined;
  /** Stores its items, or what they are found by, before it begins. Throws Fault. */
  readonly store: (job_id: string) => Promise<unknown>;
}

interface NewJob extends JobParts {
  readonly payer: { readonly customer: string; readonly project: string; readonly key_prefix: string };
  /** Scoped to the project; of a visit to its monitor. */
  readonly idempotency_key: string;
  readonly callback_url: string | null;
  readonly now_ms: number;
  /** The monitor whose visit it is. */
  readonly monitor_id?: string;
  /** Why no new job may be created, or null; a job that exists is answered all the same. Default: nothing is refused. */
  readonly refusal?: () => Promise<Reply | null>;
}

type CreatedJob =
  | { readonly kind: "job"; readonly job_id: string; readonly is_new: boolean }
  /** The idempotency key belongs to a job of another kind or length. */
  | { readonly kind: "taken" }
  | { readonly kind: "refused"; readonly refusal: Reply };

/** Time-out of an actor's answer while a job is created. */
const ASK_MS = 20_000;
/** Chunks written to the store at the same time. */
const WRITES_AT_ONCE = 16;

/** A job reserves nothing when it is created; it is refused when its key has nothing left to run an item with. */
async function allowanceRefused(
  { ask, clock }: CreateJobDeps,
  { kind, category }: Pick<JobParts, "kind" | "category">,
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

/** The job of the idempotency key, which begins in case its creator crashed before. Null: the record is all that is left of it. */
async function existingJob(
  { ask }: CreateJobDeps,
  named: IdempotencyRecord,
  { kind, total }: JobParts,
): Promise<CreatedJob | null> {
  const { job_id } = named;
  const { exists } = await ask(Job, job_id, "begin", null, { timeout_ms: ASK_MS });
  if (!exists) return null;
  return named.kind === kind && named.total === total
    ? { kind: "job", job_id, is_new: false }
    : { kind: "taken" };
}

/** Throws Fault. */
export async function createJob(deps: CreateJobDeps, job: NewJob): Promise<CreatedJob> {
  const { documents, ask, random, secrets } = deps;
  const { kind, category, payer, total, grows, has_webhook, max_cost_usd, now_ms, monitor_id } = job;
  const digest = createHash("sha256").update(job.idempotency_key).digest("hex");
  const scope = monitor_id === undefined ? payer.project : `${payer.project}:${monitor_id}`;
  const idempotency_doc = `${scope}:${digest}`;
  const existing = await JOB_IDEMPOTENCY_KEYS.read(documents, idempotency_doc);
  if (existing) {
    const created = await existingJob(deps, existing.value, job);
    if (created) return created;
    await JOB_IDEMPOTENCY_KEYS.remove(documents, idempotency_doc, existing.version);
  }
  const refusal = (await job.refusal?.()) ?? null;
  if (refusal) return { kind: "refused", refusal };

  const job_id = jobId(now_ms, random);
  const spec: JobSpec = {
    kind,
    ...payer,
    category,
    idempotency_doc,
    callback_url: job.callback_url && secrets.seal(job.callback_url, callbackPlace(job_id)),
    total,
    ...(grows && { grows }),
    created_ms: Math.floor(now_ms),
    // No more than is allowed: a part of a micro is none.
    ...(max_cost_usd != null && { max_cost_micros: Math.floor(Number((max_cost_usd * 1e6).toFixed(3))) }),
    ...(monitor_id !== undefined && { monitor_id }),
    ...(has_webhook && { webhook: true }),
  };
  await ask(Job, job_id, "open", spec, { timeout_ms: ASK_MS });
  const listing = { expires_at_ms: spec.created_ms + listedMs(spec) };
  await PROJECT_JOBS.put(documents, projectJobKey(payer.project, job_id), { kind }, 0, listing);
  await job.store(job_id);
  const record: IdempotencyRecord = { job_id, kind, total };
  if (!(await JOB_IDEMPOTENCY_KEYS.put(documents, idempotency_doc, record, 0))) {
    // Two callers at the same moment: the other one inserted first.
    await ask(Job, job_id, "abandon", null).catch(() => {});
    const winner = await JOB_IDEMPOTENCY_KEYS.get(documents, idempotency_doc);
    const created = winner ? await existingJob(deps, winner, job) : null;
    if (created) return created;
    throw new Fault("no_answer", `Cannot create a job: its idempotency key was taken and is free again`);
  }
  const { exists } = await ask(Job, job_id, "begin", null, { timeout_ms: ASK_MS });
  if (!exists) throw new Fault("no_answer", `Cannot begin job "${job_id}": it is not there`);
  return { kind: "job", job_id, is_new: true };
}

/** Why the job may have no such limit; null: it may. `place`: where the field was given. */
export function mistakeInMaxCost(
  max_cost_usd: number | null | undefined,
  { caller, now_ms }: Pick<Call, "caller" | "now_ms">,
  place: "body" | "query",
): Mistake | null {
  if (max_cost_usd == null || pricesOf(caller.grant.customer, monthOf(now_ms)) === null) return null;
  const msg =
    "Value error, it counts what providers cost, and this customer is charged by prices of its own: give its key a spend cap";
  return { loc: [place, "max_cost_usd"], msg, type: "value_error" };
}

/** A caller's job: 202 with a new one, 200 with the one that has the key already, or a refusal. Throws Fault. */
export async function createCallersJob(
  services: CreateJobDeps,
  { caller, now_ms }: Pick<Call, "caller" | "now_ms">,
  {
    idempotency_key,
    callback_url,
  }: { readonly idempotency_key: string; readonly callback_url?: string | null },
  parts: JobParts,
  /** Told of the job beside its id. Throws Fault. */
  toldOf?: (job_id: string) => Promise<object>,
): Promise<Reply> {
  const { key, project, customer } = caller.grant;
  const created = await createJob(services, {
    ...parts,
    payer: { customer: customer.name, project: project.name, key_prefix: key.prefix },
    idempotency_key,
    callback_url: callback_url ?? null,
    now_ms,
    refusal: () => allowanceRefused(services, parts, caller),
  });
  if (created.kind === "refused") return created.refusal;
  if (created.kind === "taken") return KEY_OF_ANOTHER_JOB;
  const { job_id, is_new } = created;
  return json(is_new ? 202 : 200, { job_id, created: is_new, ...(await toldOf?.(job_id)) });
}

/** Stores the items of a job in chunks; a login in one is sealed here. Throws Fault. */
export async function storeItems(
  { documents, secrets }: Pick<CreateJobDeps, "documents" | "secrets">,
  job_id: string,
  total: number,
  itemAt: (index: number) => Input,
): Promise<void> {
  let writing: Promise<boolean>[] = [];
  for (let first = 0; first < total; first += CHUNK_ITEMS) {
    const items: Input[] = [];
    for (let index = first; index < Math.min(first + CHUNK_ITEMS, total); index++)
      items.push(sealedInput(itemAt(index), (text) => secrets.seal(text, inputPlace(job_id, index))));
    const chunk: Chunk = { items, chars: JSON.stringify(items).length };
    writing.push(JOB_ITEMS.put(documents, chunkKey(job_id, first), chunk, 0));
    if (writing.length < WRITES_AT_ONCE) continue;
    await Promise.all(writing);
    writing = [];
  }
  await Promise.all(writing);
}
