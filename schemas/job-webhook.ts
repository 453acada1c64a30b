/** The field `webhook` of crawls and of batches of pages: where the events of the job are delivered, which, and in which form. */
import { type Static, Type } from "typebox";
import { Component, Field, Nullable } from "./common.ts";
import { webhookForm } from "./webhook-form.ts";

export const JOB_EVENTS = ["page", "completed"] as const;
/** Events in the form of Firecrawl's API. */
export const FIRECRAWL_EVENTS = ["started", ...JOB_EVENTS, "failed"] as const;
export type JobEventName = (typeof FIRECRAWL_EVENTS)[number];

export const JobWebhookBody = Component("JobWebhookBody", {
  url: Field(
    Type.String({ maxLength: 2_048 }),
    "An https address that events are delivered to",
    "https://client.example/hook",
  ),
  events: Type.Optional(
    Field(
      Type.Array(Type.Enum([...FIRECRAWL_EVENTS]), { minItems: 1, maxItems: FIRECRAWL_EVENTS.length }),
      "`page`: each page that was fetched or failed; `completed`: the end of the job. Only with the form `firecrawl`: `started`, and `failed`, the end of a job that was cancelled. Default: all of the form",
      ["page", "completed"],
    ),
  ),
  ...webhookForm,
});
export type JobWebhookBody = Static<typeof JobWebhookBody>;

export const jobWebhook = Type.Optional(
  Field(
    Nullable(JobWebhookBody),
    "Where each page and the end of the job are told, signed, one event after the other in the order of items; null: nowhere",
  ),
);
