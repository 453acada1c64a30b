/**
 * The actor of a job's webhook: it delivers the events of the job, one after the other, and stores every attempt before it makes
 * it. When it makes them: actors/work/callbacks/delivery-behaviour.ts.
 */
import { actor } from "../../../../cluster/actor.ts";
import type { Node } from "../../../../cluster/node-record.ts";
import { JobEvents } from "../../../../schemas/job-events.ts";
import {
  type DeliverySnapshot,
  type DeliveryState,
  deliveryBehaviour,
} from "../../callbacks/delivery-behaviour.ts";
import { outcomeOf } from "../../callbacks/delivery-outcome.ts";
import { afterAttempt, beginDelivery } from "../../callbacks/delivery-schedule.ts";
import { postSigned, type PostSignedDeps } from "../../callbacks/post-signed.ts";
import { firecrawlSignature } from "../../callbacks/webhook-signature.ts";
import { JOB_WEBHOOKS, type StoredJobWebhook, webhookPlace } from "./stored-webhook.ts";

export type NextEvent =
  | {
      readonly kind: "event";
      readonly id: string;
      readonly event: object;
      /** The number of its item. */
      readonly index: number;
      /** None comes after it. */
      readonly isLast: boolean;
    }
  /** The job has none yet. */
  | { readonly kind: "none" }
  /** There will be none, or the job is gone. */
  | { readonly kind: "over" };

export interface JobWebhookDeps extends PostSignedDeps, Pick<Node, "documents" | "metrics"> {
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** The event of the item at the cursor or of the first behind it that has one. Throws Fault. */
  readonly nextEvent: (
    job_id: string,
    webhook: Pick<StoredJobWebhook, "cursor" | "events" | "form" | "metadata">,
  ) => Promise<NextEvent>;
}

interface Waiting {
  readonly next_ms: number;
  readonly next: Extract<NextEvent, { kind: "event" }> | null;
}

/** While the job runs: the message that tells of a result may be lost with its node. */
const IDLE_MS = 15_000;

export function jobWebhookActor(deps: JobWebhookDeps) {
  const { clock, log } = deps;
  const behaviour = deliveryBehaviour<Waiting>({
    clock,
    listWaiting: (job_id) => listWaiting(deps, job_id),
    attempt: (job_id, { next }) => attempt(deps, job_id, next!),
    onStoreFault: (job_id, problem) =>
      log.warn("A job's webhook waits for its store", { job_id, problem: String(problem) }),
  });
  return actor(JobEvents)<DeliveryState, DeliverySnapshot>(behaviour);
}

/** The next event; without one the time to look again. Throws Fault. */
async function listWaiting(
  { documents, clock, nextEvent }: JobWebhookDeps,
  job_id: string,
): Promise<readonly Waiting[]> {
  const webhook = await JOB_WEBHOOKS.get(documents, job_id);
  if (webhook?.state !== "on") return [];
  const next = await nextEvent(job_id, webhook);
  switch (next.kind) {
    case "over":
      return [];
    case "none":
      return [{ next_ms: Math.ceil(clock.now()) + IDLE_MS, next: null }];
    case "event":
      return [{ next_ms: webhook.next_ms, next }];
  }
}

async function attempt(
  deps: JobWebhookDeps,
  job_id: string,
  { id, event, index, isLast }: Extract<NextEvent, { kind: "event" }>,
): Promise<void> {
  const { documents, clock, metrics, random } = deps;
  const stored = await JOB_WEBHOOKS.read(documents, job_id);
  // Another owner was quicker.
  if (stored?.value.state !== "on" || stored.value.cursor > index) return;
  const put = (webhook: StoredJobWebhook, version: number): Promise<boolean> =>
    JOB_WEBHOOKS.put(documents, job_id, webhook, version);
  const begun = { ...beginDelivery(stored.value, Math.floor(clock.now())), cursor: index };
  if (!(await put(begun, stored.version))) return;
  const result = await postSigned(deps, {
    project: begun.project,
    event_id: id,
    body: JSON.stringify(event),
    ...(begun.form && { headersOf: firecrawlSignature }),
    url: { stored: begun.url, place: webhookPlace(job_id, "url") },
    secret: { stored: begun.secret, place: webhookPlace(job_id, "secret") },
  });
  const outcome = outcomeOf(result);
  metrics.count("trawl_crawl_deliveries_total", { outcome });
  const after = afterAttempt(begun, result, clock.now(), random());
  const delivered = { cursor: index + 1, attempts: 0, next_ms: 0, state: isLast ? "over" : "on" } as const;
  const next: StoredJobWebhook =
    after.kind === "again"
      ? after.delivery
      : { ...begun, ...(outcome === "delivered" ? delivered : { state: "off" as const }) };
  await put({ ...next, last_status: result.status }, stored.version + 1);
}
