/** Events that the webhook of a job is sent, and the contract of the actor that sends them. Crawls and batches of pages have webhooks. */
import { type Static, type TString, Type } from "typebox";
import { Component, Field, Nullable, Timestamp } from "./common.ts";
import { ChangeField, DuplicateField } from "./crawl.ts";
import { FETCH_ERRORS, HTTP_STATUS, itemErrorCode } from "./errors.ts";
import { deliveryContract } from "./delivery.ts";
import { JobCounts, JobId } from "./jobs.ts";

const Id = (example: string): TString =>
  Field(Type.String(), "The same in every attempt, also `webhook-id` in the header", example);

const item = {
  id: Id("019ab3f2-7c1e-7a10-9d55-3e5b8f0c2a41:4"),
  job_id: JobId,
  index: Field(Type.Integer(), "The number of its item in the job", 4),
  url: Field(Type.String(), "The page", "https://example.org/about"),
};
const page = {
  final_url: Field(Nullable(Type.String()), "The address after redirects", "https://example.org/about"),
  status: Field(Nullable(Type.Integer()), "The HTTP status of the site's answer", 200),
  title: Field(Nullable(Type.String()), "The title of the page", "About us"),
  content_type: Field(Nullable(Type.String()), "What the body is", "text/html; charset=utf-8"),
  sha256: Field(Nullable(Type.String()), "Of the body: `/v1/bodies/{sha256}` has it", "9f86d08…"),
  retrieved_at: Field(Nullable(Timestamp), "When the site answered"),
  item_url: Field(
    Type.String({ format: "uri" }),
    "The item with its whole result",
    "https://trawl.example/v1/jobs/019ab3f2-7c1e-7a10-9d55-3e5b8f0c2a41?include=items&limit=1&after=3",
  ),
};
const whyNone = (kind: string, codes: readonly string[]) =>
  Field(itemErrorCode(kind, codes, [HTTP_STATUS]), "Why there is no page; null: there is one", "http_404");

export const CrawlPageEvent = Component("CrawlPageEvent", {
  ...item,
  type: Field(Type.Literal("crawl.page"), "The kind of event"),
  depth: Field(Type.Integer(), "Links from a seed to it", 1),
  error: whyNone("Crawl", [...Object.keys(FETCH_ERRORS), "out_of_scope"]),
  ...page,
  duplicate_of: Type.Optional(DuplicateField),
  change: Type.Optional(ChangeField),
});

export const BatchPageEvent = Component("BatchPageEvent", {
  ...item,
  type: Field(Type.Literal("batch.page"), "The kind of event"),
  error: whyNone("Fetch", Object.keys(FETCH_ERRORS)),
  ...page,
});

const end = {
  id: Id("019ab3f2-7c1e-7a10-9d55-3e5b8f0c2a41:end"),
  job_id: JobId,
  status: Field(Type.Enum(["completed", "cancelled"]), "How the job ended"),
  counts: Field(JobCounts, "Its items by status"),
  finished_at: Field(Timestamp, "When the last item finished"),
  job_url: Field(
    Type.String({ format: "uri" }),
    "The job",
    "https://trawl.example/v1/jobs/019ab3f2-7c1e-7a10-9d55-3e5b8f0c2a41",
  ),
};

export const CrawlCompletedEvent = Component("CrawlCompletedEvent", {
  ...end,
  type: Field(Type.Literal("crawl.completed"), "The kind of event: the last one of a crawl"),
});
export const BatchCompletedEvent = Component("BatchCompletedEvent", {
  ...end,
  type: Field(Type.Literal("batch.completed"), "The kind of event: the last one of a batch"),
});

export type PageEvent = Static<typeof CrawlPageEvent> | Static<typeof BatchPageEvent>;
export type CompletedEvent = Static<typeof CrawlCompletedEvent> | Static<typeof BatchCompletedEvent>;

/** Delivers the events of one job, one after the other; its key is the job's id. The name is of when crawls alone had events. */
export const JobEvents = deliveryContract("crawl_webhook");
