/** Webhooks of the jobs that a route creates: what it needs to take one, and the events as the API document has them. */
import type { TSchema } from "typebox";
import type { JobWebhookBody } from "../schemas/job-webhook.ts";
import { SIGNATURE_FIELDS } from "./openapi/gateway-reference.ts";
import type { Call, CallbackShape } from "./route.ts";
import type { Mistake } from "./validate.ts";

type Given = JobWebhookBody | null | undefined;

/** actors/work/jobs/feature/job-webhooks.ts */
export interface JobWebhooks {
  /** A mistake of the field `webhook` that a schema cannot find; null: nothing is wrong. */
  readonly mistakeIn: (webhook: Given) => Mistake | null;
  /** Stores it, before the job begins. Throws Fault. */
  readonly store: (job_id: string, webhook: Given, call: Pick<Call, "caller" | "now_ms">) => Promise<unknown>;
  /** Begins its deliveries. What the caller is told of it: also where the same request is repeated, as its first answer may have been lost. Throws Fault. */
  readonly begun: (job_id: string) => Promise<{ readonly webhook_secret?: string }>;
}

/** The events of a kind of job in this API's form. */
export interface JobEventShapes {
  readonly page: TSchema;
  readonly completed: TSchema;
}

export function eventCallbacks(
  job: string,
  { page, completed }: JobEventShapes,
): { readonly page: CallbackShape; readonly completed: CallbackShape } {
  const event = {
    to: "webhook/url",
    description:
      `Signed, and tried eight times within 24 hours, until the receiver answers 2xx. The events of a ${job} are delivered one after the other, in the order of ` +
      "its items; `id`, and `webhook-id` in the header, is the same in every attempt. After an event that was given up, or the answer 410, no others are delivered, and the job has `webhook.is_off`.",
    headers: SIGNATURE_FIELDS,
  } as const;
  return {
    page: { ...event, summary: `A page of a ${job} was fetched, or failed`, schema: page },
    completed: { ...event, summary: `A ${job} has ended`, schema: completed },
  };
}
