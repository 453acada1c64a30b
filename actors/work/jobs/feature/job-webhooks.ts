/** Takes the webhook of a job that a request creates: judges its address, stores it sealed, and wakes the actor that delivers. */
import type { ActorClient } from "../../../../cluster/actor.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import type { Secrets } from "../../../../cluster/ports/secrets.ts";
import type { JobWebhooks } from "../../../../gateway/job-webhooks.ts";
import type { Mistake } from "../../../../gateway/validate.ts";
import { FIRECRAWL_EVENTS, JOB_EVENTS, type JobEventName } from "../../../../schemas/job-webhook.ts";
import type { Destination } from "../../../lib/web/destination.ts";
import { webhookAddress } from "../../callbacks/webhook-address.ts";
import { newWebhookSecret } from "../../callbacks/webhook-signature.ts";
import { JOB_WEBHOOKS, type StoredJobWebhook, wakeWebhook, webhookPlace } from "../webhook/stored-webhook.ts";

interface JobWebhookParts {
  readonly documents: Documents;
  readonly ask: ActorClient;
  readonly secrets: Pick<Secrets, "seal" | "open">;
  readonly destination: Pick<Destination, "url">;
}

export const jobWebhooks = ({ documents, ask, secrets, destination }: JobWebhookParts): JobWebhooks => ({
  mistakeIn(webhook) {
    if (webhook == null) return null;
    const { form = "trawl", events = [], metadata } = webhook;
    const at = events.findIndex((name) => !(JOB_EVENTS as readonly string[]).includes(name));
    if (form === "trawl" && at >= 0) return wrong(["events", at], "only the form firecrawl has this event");
    if (form === "trawl" && metadata != null)
      return wrong(["metadata"], "only the form firecrawl gives it back");
    const judged = webhookAddress(webhook.url, destination);
    return judged.kind === "right"
      ? null
      : { loc: ["body", "webhook", "url"], msg: judged.message, type: judged.type };
  },

  async store(job_id, webhook, { caller, now_ms }) {
    if (webhook == null) return;
    const { url, form = "trawl", metadata } = webhook;
    const events: readonly JobEventName[] =
      webhook.events ?? (form === "firecrawl" ? FIRECRAWL_EVENTS : JOB_EVENTS);
    const stored: StoredJobWebhook = {
      project: caller.grant.project.name,
      url: secrets.seal(new URL(url).href, webhookPlace(job_id, "url")),
      secret: secrets.seal(newWebhookSecret(), webhookPlace(job_id, "secret")),
      events,
      ...(form === "firecrawl" && { form, ...(metadata && { metadata }) }),
      cursor: events.includes("started") ? -1 : 0,
      last_status: null,
      state: "on",
      created_ms: Math.floor(now_ms),
      attempts: 0,
      next_ms: 0,
    };
    await JOB_WEBHOOKS.put(documents, job_id, stored, 0);
  },

  async begun(job_id) {
    const webhook = await JOB_WEBHOOKS.get(documents, job_id);
    if (webhook === null) return {};
    wakeWebhook(ask, job_id);
    return { webhook_secret: secrets.open(webhook.secret, webhookPlace(job_id, "secret")) };
  },
});

const wrong = (field: readonly (string | number)[], message: string): Mistake => ({
  loc: ["body", "webhook", ...field],
  msg: `Value error, ${message}`,
  type: "value_error",
});
