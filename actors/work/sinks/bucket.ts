/** The bucket as a sink needs it: one object put into it, in one attempt. */
import type { SinkCredentials } from "../../../schemas/sinks.ts";

export interface BucketObject {
  readonly bucket: {
    readonly bucket: string;
    /** Null: Amazon's. */
    readonly endpoint: string | null;
    readonly region: string;
    readonly credentials: SinkCredentials;
  };
  readonly key: string;
  readonly content: Buffer;
  readonly content_type: string;
  /** Private ones that the project may reach. Default: those of the service itself. */
  readonly networks?: readonly string[];
  readonly signal: AbortSignal;
}

export interface PutResult {
  /** As deliveries to webhooks end: `delivered_<code>`, `http_<code>`, `blocked_destination` or `error_<class>`. */
  readonly status: string;
  readonly retry_after_s: number | null;
}

/** It never throws. */
export type PutObject = (object: BucketObject) => Promise<PutResult>;
