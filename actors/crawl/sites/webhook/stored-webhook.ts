/** Webhooks of crawls as they are stored: where events go, and how far they are delivered. */
import { collection } from "../../../../cluster/collection.ts";
import type { SealedCollection, SecretPlace } from "../../../../cluster/ports/secrets.ts";
import type { CrawlEventName } from "../../../../schemas/crawl.ts";
import type { ScheduledDelivery } from "../../../work/callbacks/delivery-schedule.ts";

/** The schedule is that of the event at `cursor`. */
export interface StoredCrawlWebhook extends ScheduledDelivery {
  readonly project: string;
  /** Sealed, like `secret`. */
  readonly url: string;
  readonly secret: string;
  readonly events: readonly CrawlEventName[];
  /** Events are written as Firecrawl's API has them; undefined: as this one. */
  readonly form?: "firecrawl";
  /** With this form. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** The item whose event is next; events of items before it are delivered. -1: the event of the beginning. */
  readonly cursor: number;
  /** Of the last attempt. */
  readonly last_status: string | null;
  /** `off`: an event was given up, and nothing is delivered any more. */
  readonly state: "on" | "over" | "off";
}

/** By job id. */
export const CRAWL_WEBHOOKS = collection<StoredCrawlWebhook>("crawl_webhooks");

export const webhookPlace = (job_id: string, field: "url" | "secret"): SecretPlace => ({
  collection: CRAWL_WEBHOOKS.name,
  key: job_id,
  field,
});

/** A webhook whose secret cannot be read any more is removed: the crawl goes on without. */
export const sealedCrawlWebhooks: SealedCollection = {
  rewrite({ key, value }, reseal) {
    const webhook = value as StoredCrawlWebhook;
    const url = reseal(webhook.url, webhookPlace(key, "url"));
    const secret = reseal(webhook.secret, webhookPlace(key, "secret"));
    return url === null || secret === null ? null : { value: { ...webhook, url, secret }, options: {} };
  },
};
