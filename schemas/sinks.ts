/** Sinks: where the results of a job are pushed as its items end. What clients send and get, the event of a webhook, and the actor's contract. */
import { type Static, Type } from "typebox";
import { Component, Field, Nullable, Sha256, Timestamp } from "./common.ts";
import { deliveryContract } from "./delivery.ts";
import { AnyJobItem, CallbackOutcome, JobId } from "./jobs.ts";

export const MAX_ROWS_A_PART = 10_000;
const DEFAULT_ROWS_A_PART = 1_000;

export const SINK_FORMATS = ["ndjson", "parquet"] as const;
export type SinkFormat = (typeof SINK_FORMATS)[number];

export const SINK_TYPES = ["s3", "webhook"] as const;
export const SINK_STATES = ["running", "complete", "failed"] as const;

const text = (maxLength: number) => Type.String({ minLength: 1, maxLength });

/** The access of one bucket, in words of the AWS SDK. */
export const SinkCredentials = Component("SinkCredentials", {
  access_key_id: Field(text(256), "The id of the access key", "AKIAIOSFODNN7EXAMPLE"),
  secret_access_key: Field(
    text(1_024),
    "Stored encrypted, and never shown",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
  ),
  session_token: Type.Optional(
    Field(
      Nullable(text(4_096)),
      "Of temporary credentials",
      "AQoEXAMPLEH4aoAH0gNCAPyJxz4BlCFFxWNE1OPTgk5TthT",
    ),
  ),
});
export type SinkCredentials = Static<typeof SinkCredentials>;

export const SinkBody = Component("SinkBody", {
  type: Field(Type.Enum([...SINK_TYPES]), "Where results go: objects of a bucket, or a webhook"),
  url: Field(
    text(2_048),
    "`s3://bucket/prefix` of an S3 sink; an https address of a webhook",
    "s3://results/example-org",
  ),
  endpoint: Type.Optional(
    Field(
      Nullable(text(2_048)),
      "S3 only: the http or https address of another store than Amazon's, whose buckets are parts of the path",
      "https://storage.example",
    ),
  ),
  region: Type.Optional(
    Field(Type.String({ pattern: "^[a-z0-9-]{1,64}$", default: "us-east-1" }), "S3 only: its region"),
  ),
  credentials: Type.Optional(
    Field(Nullable(SinkCredentials), "S3 only, and needed there: who may write to the bucket"),
  ),
  format: Type.Optional(
    Field(Type.Enum([...SINK_FORMATS], { default: "ndjson" }), "S3 only: what a part is"),
  ),
  rows_per_part: Type.Optional(
    Field(
      Type.Integer({ minimum: 1, maximum: MAX_ROWS_A_PART, default: DEFAULT_ROWS_A_PART }),
      "The most items of a part. A part also ends at 16 MiB of results (8 MiB of a webhook), and 30 s after the part before it",
      500,
    ),
  ),
});
export type SinkBody = Static<typeof SinkBody>;

export const Sink = Component("Sink", {
  sink_id: Field(Type.String(), "The id of the sink", "snk_wyvsfbx2x89mpyyv"),
  job_id: JobId,
  type: Field(Type.Enum([...SINK_TYPES]), "Where results go"),
  url: Field(
    Nullable(Type.String()),
    "As it was given, passwords masked; null: this node cannot read it",
    "s3://results/example-org",
  ),
  format: Field(Type.Enum([...SINK_FORMATS]), "What a part is; items of a webhook are JSON"),
  state: Field(
    Type.Enum([...SINK_STATES]),
    "`complete`: all items of a job that has ended are delivered. `failed`: it was given up, and `last_status` says why",
  ),
  rows: Field(Type.Integer(), "Items delivered", 1_500),
  bytes: Field(Type.Integer(), "Bytes of the parts", 731_204),
  parts: Field(Type.Integer(), "Parts delivered", 2),
  folder: Field(
    Nullable(Type.String()),
    "S3 only: where its parts and `manifest.json` are",
    "s3://results/example-org/019ab3f2-7c1e-7a10-9d55-3e5b8f0c2a41/snk_wyvsfbx2x89mpyyv/",
  ),
  last_status: Field(
    CallbackOutcome,
    "Of the last attempt: `delivered_<code>`, `http_<code>`, `blocked_destination` or `error_<class>`; null before it",
    "delivered_200",
  ),
  attempts: Field(Type.Integer(), "Attempts of the part that is under way", 0),
  created_at: Timestamp,
  secret: Type.Optional(
    Field(
      Type.String(),
      "Only in the answer that makes a webhook: what its deliveries are signed with",
      "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    ),
  ),
});
export type Sink = Static<typeof Sink>;

/** Body of a delivery to a webhook of a sink. */
export const JobResultsEvent = Component("JobResultsEvent", {
  id: Field(
    Type.String(),
    "The same in every attempt, also `webhook-id` in the header",
    "snk_wyvsfbx2x89mpyyv:1",
  ),
  type: Field(
    Type.Enum(["job.results", "job.results.complete"]),
    "Items that have ended, or, after all of them, that there are no more",
  ),
  job_id: JobId,
  sink_id: Field(Type.String(), "The sink", "snk_wyvsfbx2x89mpyyv"),
  part: Field(Type.Integer(), "Parts are numbered from 1", 1),
  items: Field(Type.Array(AnyJobItem), "Each item of the job is in one part"),
});
export type JobResultsEvent = Static<typeof JobResultsEvent>;

/** `manifest.json` beside the parts, replaced after each of them. */
export interface SinkManifest {
  readonly job_id: string;
  readonly sink_id: string;
  readonly format: SinkFormat;
  /** `complete`: the job has ended and no part follows. */
  readonly state: "running" | "complete";
  readonly rows: number;
  readonly parts: readonly SinkPart[];
}

export const SinkPart = Component("SinkPart", {
  name: Field(Type.String(), "The object, in the folder of the sink", "part-000001.ndjson"),
  rows: Field(Type.Integer(), "Its items", 1_000),
  bytes: Field(Type.Integer(), "Its length", 482_113),
  sha256: Field(Sha256, "Of its bytes"),
});
export type SinkPart = Static<typeof SinkPart>;

/** Pushes the results of a job to one sink; its key is the sink's id. */
export const JobSink = deliveryContract("job_sink");
