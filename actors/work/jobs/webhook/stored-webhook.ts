/** Webhooks of jobs as they are stored: where events go, and how far they are delivered. */
import type { ActorClient } from "../../../../cluster/actor.ts";
import { collection } from "../../../../cluster/collection.ts";
import type { SealedCollection, SecretPlace } from "../../../../cluster/ports/secrets.ts";
import { JobEvents } from "../../../../schemas/job-events.ts";
import type { JobEventName } from "../../../../schemas/job-webhook.ts";
import type { ScheduledDelivery } from "../../callbacks/delivery-schedule.ts";

/** The schedule is that of the event at `cursor`. */
export interface StoredJobWebhook extends ScheduledDelivery {
  readonly project: string;
  /** Sealed, like `secret`. */
  readonly url: string;
  readonly secret: string;
  readonly events: readonly JobEventName[];
  /** Events are written as Firecrawl's API has them; undefined: as this one. */
  readonly form?: "firecrawl";
  /** With this form. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** The item whose event is next; events of items before it are delivered. -1: the event of the beginning. */
  readonly cursor: number;
  /** The status of the last attempt. */
  readonly last_status: string | null;
  /** `off`: an event was given up, and nothing is delivered any more. */
  readonly state: "on" | "over" | "off";
}

/** By job id. The name is of when crawls alone had webhooks. */
export const JOB_WEBHOOKS = collection<StoredJobWebhook>("crawl_webhooks");

export const webhookPlace = (job_id: string, field: "url" | "secret"): SecretPlace => ({
  collection: JOB_WEBHOOKS.name,
  key: job_id,
  field,
});

/** The job has a new event. The message may be lost: the actor looks by itself, too. Never throws. */
export function wakeWebhook(ask: ActorClient, job_id: string): void {
  ask(JobEvents, job_id, "deliver", null).catch(() => {});
}

/** A webhook whose secret cannot be read any more is removed: the job goes on without. */
export const sealedJobWebhooks: SealedCollection = {
  rewrite({ key, value }, reseal) {
    const webhook = value as StoredJobWebhook;
    const url = reseal(webhook.url, webhookPlace(key, "url"));
    const secret = reseal(webhook.secret, webhookPlace(key, "secret"));
    return url === null || secret === null ? null : { value: { ...webhook, url, secret }, options: {} };
  },
};
