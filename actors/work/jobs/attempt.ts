/**
 * An attempt of one item, from its input to its outcome, and what the outcome changes in the job. A result is inserted
 * once, under the item's number, before the job hears of it: after a crash the next owner finds it there, and of two
 * attempts of one item the second takes the result of the first.
 */
import { LRUCache } from "lru-cache";
import type { ActorClient } from "../../../cluster/actor.ts";
import { Fault } from "../../../cluster/ports/fault.ts";
import { type Bill, withCost } from "../../../schemas/accounts.ts";
import type { ChargedRow } from "../../../schemas/invoices.ts";
import { type LedgerRow, NO_DETAIL } from "../../../schemas/ledger.ts";
import { isQueued, progressOf } from "../../../schemas/job-states.ts";
import {
  type AttemptContext,
  type AttemptOutcome,
  type Chunk,
  CHUNK_ITEMS,
  chunkKey,
  type JobSpec,
  resultKey,
  type StoredResult,
  UNANSWERED_AS,
} from "../../../schemas/jobs.ts";
import type { Admitted } from "./frontier.ts";
import type { Input } from "../../../schemas/job-inputs.ts";
import { inBatches, storedResults } from "./results.ts";
import { openInput } from "./stored-inputs.ts";
import { advance, mayPay, nextStep, stepAfterFault } from "./retry.ts";
import { type JobServices, type JobState, RETRY_MS } from "./state.ts";
import { JOB_ITEMS } from "../../../records/collections.ts";
import { wakeWebhook } from "./webhook/stored-webhook.ts";
import { JOB_RESULTS } from "./collections.ts";

/** Inputs in memory for all jobs of a node, by the characters of their JSON. */
const MAX_INPUT_CHARS = 2 ** 20;

export const inputCache = (): JobServices["inputs"] =>
  new LRUCache({
    maxSize: MAX_INPUT_CHARS,
    maxEntrySize: MAX_INPUT_CHARS,
    sizeCalculation: ({ chars }) => chars + 1,
  });

/** The name under which a job keeps bodies alive (cluster/body-refs.ts). */
export const bodyHolder = (job_id: string): string => `job ${job_id}`;

export interface ItemAttempt {
  readonly job_id: string;
  readonly spec: JobSpec;
  readonly item: Admitted;
  /** Names this activation of the job among its activations. */
  readonly activation: string;
  /** Names this try among all of the job, and holds what is reserved for it. */
  readonly holder: string;
  /** Whether no result can exist yet, so that none is looked for. */
  readonly is_first_run: boolean;
  /** Aborts when the job is cancelled. */
  readonly signal: AbortSignal;
  /** The cost of earlier attempts of the item. */
  readonly carried_micros: number;
  /** The key has nothing left to run it with: the error it ends with. Null: it runs. */
  readonly refusal: string | null;
  /** Its customer has prices. */
  readonly is_charged: boolean;
  /** False once another node may own the job: then nothing is stored. */
  readonly ownsJob: () => boolean;
}

/** Never throws. An outcome of kind `final` is stored by then, and what its customer is charged for it is settled. */
export async function runAttempt(
  services: JobServices,
  ask: ActorClient,
  attempt: ItemAttempt,
): Promise<AttemptOutcome> {
  const outcome = await runOnce(services, ask, attempt);
  if (outcome.kind === "final" && attempt.spec.webhook) wakeWebhook(ask, attempt.job_id);
  if (!attempt.is_charged) return outcome;
  if (outcome.kind === "final" && outcome.bill) await services.charges?.settleCharge(ask, outcome.bill);
  // Reservations of another try of the item, on this node or on the next owner, are that try's to settle: this message may come late.
  else if (attempt.ownsJob()) {
    const holder = outcome.kind === "final" ? undefined : attempt.holder;
    await services.charges?.settleCharge(ask, unchargedRow(services, attempt), holder);
  }
  return outcome;
}

/** Nothing is charged for an attempt without a row. */
const unchargedRow = ({ clock }: JobServices, { job_id, spec, item }: ItemAttempt): ChargedRow => ({
  request_id: `${job_id}:${item.index}`,
  project: spec.project,
  key: spec.key_prefix,
  category: UNANSWERED_AS[spec.kind],
  ok: false,
  at_ms: clock.now(),
});

/** Settles the charges for items whose results are stored. Never throws. */
export async function settleCharges(
  { charges }: JobServices,
  ask: ActorClient,
  bills: readonly LedgerRow[],
): Promise<void> {
  if (!charges) return;
  for (const batch of inBatches(bills))
    await Promise.all(batch.map((bill) => charges.settleCharge(ask, bill)));
}

/** Null: what the item can cost its customer is reserved, or it costs nothing. `held`: it waits for other work. Throws Fault. */
async function chargeRefusal(
  { charges }: JobServices,
  ask: ActorClient,
  { job_id, spec, item, is_charged, holder }: ItemAttempt,
): Promise<"held" | "key_budget_exhausted" | null> {
  if (!is_charged || !charges) return null;
  const payer = { project: spec.project, key: spec.key_prefix };
  const work = { kind: spec.kind };
  const reply = await charges.reserveCharge(ask, payer, `${job_id}:${item.index}`, work, holder);
  if (reply === "held") return reply;
  return reply === "refused" ? "key_budget_exhausted" : null;
}

async function runOnce(
  services: JobServices,
  ask: ActorClient,
  attempt: ItemAttempt,
): Promise<AttemptOutcome> {
  const { item, signal, spec } = attempt;
  const { index } = item;
  try {
    const existing = attempt.is_first_run ? null : await storedOutcome(services, attempt);
    if (existing) return existing;
    const error = attempt.refusal ?? (await chargeRefusal(services, ask, attempt));
    if (error === "held") return failedToRun(index);
    if (error !== null) {
      const empty = { answer: null, bill: null, body_refs: [] };
      return await storeResult(services, attempt, { status: "failed", error, ...empty });
    }
    const began_ms = services.clock.mono();
    const input = await inputOf(services, attempt.job_id, index);
    if (signal.aborted) return { kind: "stopped", index };
    const { retry, ...result } = await services.kinds.get(spec.kind)!.run(ask, input, contextOf(attempt));
    // A result that cost money is stored and billed, also when the job was cancelled meanwhile.
    const isFree = result.bill.cost_micros === 0;
    if (signal.aborted && result.error !== null && isFree) return { kind: "stopped", index };
    const next = nextStep(item, retry, services.clock.now() - spec.created_ms, services.random.next());
    const { cost_micros } = result.bill;
    if (next.kind === "retry") return { ...next, index, ...(cost_micros > 0 && { cost_micros }) };
    const status = result.error === null ? "done" : "failed";
    const row = rowOf(services, attempt, input, result.bill, began_ms);
    // The node that ran an earlier attempt may have died after it had paid.
    const spent_micros = attempt.is_first_run ? 0 : await services.spentBy(row.request_id);
    const bill = withCost(row, Math.max(row.cost_micros, spent_micros));
    return await storeResult(services, attempt, { status, ...result, bill });
  } catch (problem) {
    if (signal.aborted) return { kind: "stopped", index };
    return outcomeOfFailure(services, attempt, problem);
  }
}

const contextOf = ({ job_id, spec, item, signal, activation }: ItemAttempt): AttemptContext => ({
  request_id: `${job_id}:${item.index}`,
  attempt_id: attemptId(job_id, item, activation),
  project: spec.project,
  key: spec.key_prefix,
  attempts: item.attempts,
  may_pay: mayPay(item),
  signal,
});

/**
 * The first try of an attempt has the same id after a crash, so that a fetch in flight is joined. A try after a deferral has an id
 * of its own: the actor that answered "busy" remembers this answer, and would repeat it.
 */
const attemptId = (
  job_id: string,
  { index, attempts, has_cooled, deferrals }: Admitted,
  activation: string,
): string => {
  const attempt = `${job_id}:${index}.${attempts}${has_cooled ? "c" : ""}`;
  return deferrals === 0 ? attempt : `${attempt}~${activation}.${deferrals}`;
};

/** The item's row in the ledger: written with its result, so that neither is without the other. */
const rowOf = (
  { clock }: JobServices,
  { job_id, spec, item, carried_micros }: ItemAttempt,
  input: Input,
  { category, ok, bytes, paid, cost_micros, detail }: Bill,
  began_ms: number,
): LedgerRow => ({
  request_id: `${job_id}:${item.index}`,
  at_ms: Math.floor(clock.now()),
  project: spec.project,
  key: spec.key_prefix,
  category,
  ok,
  cached: category.endsWith("_cached"),
  bytes,
  paid,
  cost_micros: cost_micros + carried_micros,
  latency_ms: Math.round(clock.mono() - began_ms),
  ...NO_DETAIL,
  ...detail,
  project_ref: typeof input["project_ref"] === "string" ? input["project_ref"] : null,
});

async function inputOf(
  { documents, inputs, secrets }: JobServices,
  job_id: string,
  index: number,
): Promise<Input> {
  const key = chunkKey(job_id, index);
  const itemIn = (chunk: Chunk | undefined): Input | undefined => chunk?.items[index % CHUNK_ITEMS];
  let item = itemIn(inputs.get(key));
  if (!item) {
    // Also a chunk that has grown since it was read.
    const chunk = (await JOB_ITEMS.get(documents, key)) ?? undefined;
    item = itemIn(chunk);
    if (!chunk || !item)
      throw new Error(`Cannot read item ${index} of job "${job_id}": its input is missing`);
    inputs.set(key, chunk);
  }
  return openInput(secrets, item, job_id, index);
}

/** Null: the item has no result yet. */
async function storedOutcome(
  { documents }: JobServices,
  { job_id, item: { index } }: ItemAttempt,
): Promise<AttemptOutcome | null> {
  const result = await JOB_RESULTS.get(documents, resultKey(job_id, index));
  return result ? outcomeOf(index, result) : null;
}

const outcomeOf = (index: number, { status, bill }: StoredResult): AttemptOutcome =>
  status === "cancelled" ? { kind: "stopped", index } : { kind: "final", index, status, bill };

/**
 * How the attempts that ran when the job was cancelled ended: by the result that is stored, or by a mark in its place, so
 * that an attempt that ends later cannot store a result which is not billed. Throws Fault.
 */
export async function sealAttempts(
  { documents }: Pick<JobServices, "documents">,
  job_id: string,
  indexes: readonly number[],
): Promise<AttemptOutcome[]> {
  const sealed = async (index: number): Promise<AttemptOutcome> => {
    const key = resultKey(job_id, index);
    if (await JOB_RESULTS.put(documents, key, CANCELLED_RESULT, 0)) return { kind: "stopped", index };
    const stored = await JOB_RESULTS.get(documents, key);
    return stored ? outcomeOf(index, stored) : { kind: "stopped", index };
  };
  const outcomes: AttemptOutcome[] = [];
  for (const batch of inBatches(indexes)) {
    // Results that an earlier call had sealed before it failed are not written again: where a store refuses some writes, a few calls are enough.
    const stored = await storedOutcomes({ documents }, job_id, batch);
    const found = new Set(stored.map(({ index }) => index));
    outcomes.push(...stored, ...(await Promise.all(batch.filter((index) => !found.has(index)).map(sealed))));
  }
  return outcomes;
}

/** The outcomes of those items that have a result. Throws Fault. */
export async function storedOutcomes(
  { documents }: Pick<JobServices, "documents">,
  job_id: string,
  indexes: readonly number[],
): Promise<AttemptOutcome[]> {
  const outcomes: AttemptOutcome[] = [];
  for await (const [index, result] of storedResults(documents, job_id, indexes))
    outcomes.push(outcomeOf(index, result));
  return outcomes;
}

const CANCELLED_RESULT: StoredResult = {
  status: "cancelled",
  error: "cancelled",
  answer: null,
  bill: null,
  body_refs: [],
};

/** The bodies first, so that none is collected before the result that needs it is stored. */
async function storeResult(
  services: JobServices,
  attempt: ItemAttempt,
  result: StoredResult,
): Promise<AttemptOutcome> {
  const { documents, bodyRefs } = services;
  const { index } = attempt.item;
  if (!attempt.ownsJob()) return failedToRun(index);
  await bodyRefs.retain(result.body_refs, bodyHolder(attempt.job_id), Infinity);
  if (await JOB_RESULTS.put(documents, resultKey(attempt.job_id, index), result, 0))
    return outcomeOf(index, result);
  return (await storedOutcome(services, attempt)) ?? failedToRun(index);
}

/** The attempt does not count: our own store was at fault, or other work holds what is left of the money. */
const failedToRun = (index: number): AttemptOutcome => ({
  kind: "retry",
  index,
  reason: "fault",
  delay_ms: RETRY_MS,
});

/** An attempt that broke is repeated; in the end the item fails with `internal_error`, so that every job ends. */
async function outcomeOfFailure(
  services: JobServices,
  attempt: ItemAttempt,
  problem: unknown,
): Promise<AttemptOutcome> {
  const { clock, log, random } = services;
  const { job_id, spec, item } = attempt;
  const { index } = item;
  const fault = problem instanceof Fault ? problem.code : null;
  // These are about this very item, which would break again: they count an attempt.
  const counts =
    fault === null || fault === "message_too_large" || fault === "no_answer" || fault === "secret_unreadable";

  log[fault === null ? "error" : "warn"]("An attempt of an item broke", {
    job_id,
    index,
    problem: fault ?? problem,
  });
  const next = stepAfterFault(item, counts, clock.now() - spec.created_ms, random.next());
  if (next.kind === "retry") return { ...next, index };
  const empty = { answer: null, bill: null, body_refs: [] };
  return storeResult(services, attempt, { status: "failed", error: "internal_error", ...empty }).catch(() =>
    failedToRun(index),
  );
}

/**
 * Changes a job by an outcome. An outcome that an earlier activation waited for changes nothing: this activation
 * found the result when it loaded, or repeats the attempt. Returns the status that is counted; null: none is.
 */
export function applyOutcome(state: JobState, outcome: AttemptOutcome, now_ms: number): string | null {
  const { frontier } = state;
  const { index } = outcome;
  if (!frontier || !isQueued(frontier.codeAt(index))) return null;
  state.is_dirty = true;
  switch (outcome.kind) {
    case "final":
      frontier.finish(index, outcome.status);
      countBill(state, index, outcome.bill);
      return outcome.status;
    case "stopped":
      frontier.cancel(index);
      return null;
    case "retry": {
      carryCost(state, index, outcome.cost_micros ?? 0);
      const at_ms = now_ms + outcome.delay_ms;
      frontier.requeue(index, at_ms, advance(progressOf(frontier.codeAt(index)), outcome.reason));
      if (outcome.reason === "busy") {
        frontier.defer(index);
        frontier.pauseLane(index, at_ms);
      }
      return `retry_${outcome.reason}`;
    }
  }
}

/** Changes a cancelled job by its seal: an item that is cancelled already has ended when its result is stored. */
export function applySealed(state: JobState, outcome: AttemptOutcome, now_ms: number): void {
  if (outcome.kind === "final" && state.frontier?.revise(outcome.index, outcome.status)) {
    state.is_dirty = true;
    countBill(state, outcome.index, outcome.bill);
  } else applyOutcome(state, outcome, now_ms);
}

function countBill(state: JobState, index: number, bill: LedgerRow | null): void {
  carryCost(state, index, null);
  if (!bill) return;
  state.bills.push(bill);
  if (state.units > 0) state.units--;
}

/** Remembers what an attempt cost that is repeated, in the turn that hears of it; null: the item's row carries it. */
function carryCost(state: JobState, index: number, cost_micros: number | null): void {
  const { record } = state;
  const { [index]: before = 0, ...others } = record?.carried_micros ?? {};
  if (!record || cost_micros === 0 || (cost_micros === null && before === 0)) return;
  const carried_micros = cost_micros === null ? others : { ...others, [index]: before + cost_micros };
  state.record = { ...record, carried_micros };
}
