/** What the webhook of a crawl is sent, and the contract of the actor that sends it. */
import { type Static, type TString, Type } from "typebox";
import { Component, Field, Nullable, Timestamp } from "./common.ts";
import { ChangeField, DuplicateField } from "./crawl.ts";
import { FETCH_ERRORS, HTTP_STATUS, itemErrorCode } from "./errors.ts";
import { deliveryContract } from "./delivery.ts";
import { JobCounts, JobId } from "./jobs.ts";

const Id = (example: string): TString =>
  Field(Type.String(), "The same in every attempt, also `webhook-id` in the header", example);

export const CrawlPageEvent = Component("CrawlPageEvent", {
  id: Id("019ab3f2-7c1e-7a10-9d55-3e5b8f0c2a41:4"),
  type: Field(Type.Literal("crawl.page"), "The kind of event"),
  job_id: JobId,
  index: Field(Type.Integer(), "The number of its item in the job", 4),
  url: Field(Type.String(), "The page", "https://example.org/about"),
  depth: Field(Type.Integer(), "Links from a seed to it", 1),
  error: Field(
    itemErrorCode("Crawl", [...Object.keys(FETCH_ERRORS), "out_of_scope"], [HTTP_STATUS]),
    "Why there is no page; null: there is one",
    "http_404",
  ),
  final_url: Field(Nullable(Type.String()), "The address after redirects", "https://example.org/about"),
  status: Field(Nullable(Type.Integer()), "The HTTP status of the site's answer", 200),
  title: Field(Nullable(Type.String()), "The title of the page", "About us"),
  content_type: Field(Nullable(Type.String()), "What the body is", "text/html; charset=utf-8"),
  sha256: Field(Nullable(Type.String()), "Of the body: `/v1/bodies/{sha256}` has it", "9f86d08…"),
  retrieved_at: Field(Nullable(Timestamp), "When the site answered"),
  duplicate_of: Type.Optional(DuplicateField),
  change: Type.Optional(ChangeField),
  item_url: Field(
    Type.String({ format: "uri" }),
    "The item with its whole result",
    "https://trawl.example/v1/jobs/019ab3f2-7c1e-7a10-9d55-3e5b8f0c2a41?include=items&limit=1&after=3",
  ),
});
export type CrawlPageEvent = Static<typeof CrawlPageEvent>;

export const CrawlCompletedEvent = Component("CrawlCompletedEvent", {
  id: Id("019ab3f2-7c1e-7a10-9d55-3e5b8f0c2a41:end"),
  type: Field(Type.Literal("crawl.completed"), "The kind of event: the last one of a crawl"),
  job_id: JobId,
  status: Field(Type.Enum(["completed", "cancelled"]), "How the job ended"),
  counts: Field(JobCounts, "Its items by status"),
  finished_at: Field(Timestamp, "When the last item finished"),
  job_url: Field(
    Type.String({ format: "uri" }),
    "The job",
    "https://trawl.example/v1/jobs/019ab3f2-7c1e-7a10-9d55-3e5b8f0c2a41",
  ),
});
export type CrawlCompletedEvent = Static<typeof CrawlCompletedEvent>;

/** Delivers the events of one crawl, one after the other; its key is the job's id. */
export const CrawlWebhook = deliveryContract("crawl_webhook");
