/** Sinks as they are stored. The document says which items are delivered, and which part is under way. */
import { collection } from "../../../cluster/collection.ts";
import type { SealedCollection, SecretPlace } from "../../../cluster/ports/secrets.ts";
import type { Sink, SinkFormat, SinkPart } from "../../../schemas/sinks.ts";
import type { ScheduledDelivery } from "../callbacks/delivery-schedule.ts";
import type { Ranges } from "./ranges.ts";

interface StoredBucket {
  readonly type: "s3";
  readonly bucket: string;
  /** Ends with a slash unless it is empty. */
  readonly prefix: string;
  /** Null: Amazon's. */
  readonly endpoint: string | null;
  readonly region: string;
  /** `SinkCredentials`, sealed. */
  readonly credentials: string;
}

interface StoredWebhook {
  readonly type: "webhook";
  /** Sealed, like `secret`. */
  readonly url: string;
  readonly secret: string;
}

/** `created_ms`, `attempts` and `next_ms` are those of the part that is under way. */
export interface StoredSink extends ScheduledDelivery {
  readonly id: string;
  readonly job_id: string;
  readonly project: string;
  /** The customer does not see what providers cost. */
  readonly external: boolean;
  readonly target: StoredBucket | StoredWebhook;
  readonly format: SinkFormat;
  readonly rows_per_part: number;
  readonly state: Sink["state"];
  /** Items that are delivered. */
  readonly delivered: Ranges;
  /** Items of the part that is under way: after a crash the next attempt delivers the same ones under the same name. */
  readonly plan: Ranges | null;
  readonly parts: readonly SinkPart[];
  /** So many parts, and that state, are in the manifest; null: there is none yet. */
  readonly manifest: { readonly parts: number; readonly state: "running" | "complete" } | null;
  /** How often items could not be read that are to be in the next part. */
  readonly unreadable: number;
  readonly last_status: string | null;
  readonly made_ms: number;
  /** When the last part was delivered, or the sink made. */
  readonly flushed_ms: number;
}

/** By id, tagged with the job. */
export const SINKS = collection<StoredSink>("job_sinks", { expires: true });

/** After it, results of the longest job are purged. */
const TTL_MS = 90 * 86_400_000;

export const sinkOptions = ({ job_id, made_ms }: StoredSink) => ({
  tag: job_id,
  expires_at_ms: made_ms + TTL_MS,
});

/** Where a text of a sink is sealed for. */
export const sinkPlace = (id: string, field: "credentials" | "url" | "secret"): SecretPlace => ({
  collection: SINKS.name,
  key: id,
  field,
});

export const sealedSinks: SealedCollection = {
  rewrite({ value }, reseal) {
    const sink = value as StoredSink;
    const { id, target } = sink;
    const again = (stored: string, field: Parameters<typeof sinkPlace>[1]) =>
      reseal(stored, sinkPlace(id, field));
    if (target.type === "s3") {
      const credentials = again(target.credentials, "credentials");
      if (credentials === null) return null;
      return { value: { ...sink, target: { ...target, credentials } }, options: sinkOptions(sink) };
    }
    const [url, secret] = [again(target.url, "url"), again(target.secret, "secret")];
    if (url === null || secret === null) return null;
    return { value: { ...sink, target: { ...target, url, secret } }, options: sinkOptions(sink) };
  },
};
