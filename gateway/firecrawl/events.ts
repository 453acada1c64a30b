/** Bodies of their webhooks: `{success, type, id, webhookId, data, metadata}`. */
import { askedFor, documentOf, hasPage } from "./document.ts";
import { failureOf } from "./errors.ts";

interface JobEvent {
  readonly type: "crawl" | "batch_scrape";
  readonly job_id: string;
  /** Equal in every attempt. */
  readonly id: string;
  readonly metadata: Readonly<Record<string, string>>;
}

const event = ({ type, job_id, id, metadata }: JobEvent, name: string, success: boolean, more: object) => ({
  success,
  type: `${type}.${name}`,
  id: job_id,
  webhookId: id,
  data: [],
  ...more,
  metadata,
});

export const startedEvent = (about: JobEvent): object => event(about, "started", true, {});

/** `failed`: the job was cancelled. */
export const endEvent = (about: JobEvent, name: "completed" | "failed"): object =>
  event(about, name, name === "completed", name === "failed" ? { error: "The job was cancelled" } : {});

interface Page {
  readonly input: Readonly<Record<string, unknown>>;
  /** As `POST /v1/fetch` answers it; null: there is no answer. */
  readonly result: Readonly<Record<string, unknown>> | null;
  readonly error: string | null;
}

/** `base`: of this service, as its clients reach it. */
export function pageEvent(about: JobEvent, { input, result, error }: Page, base: string): object {
  if (result !== null && hasPage(error))
    return event(about, "page", true, { data: [documentOf(result, askedFor(input, base))] });
  const sentence = failureOf({ ...result, error: error ?? "result_unavailable" }).error;
  return event(about, "page", false, {
    data: [{ metadata: { sourceURL: input["url"], error: sentence } }],
    error: sentence,
  });
}
