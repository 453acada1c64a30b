/** A sink as clients see it. */
import { type Secrets, shownAddress } from "../../../../cluster/ports/secrets.ts";
import type { Sink } from "../../../../schemas/sinks.ts";
import { iso } from "../../../lib/iso.ts";
import { folderOf, rowsOf } from "../part.ts";
import { sinkPlace, type StoredSink } from "../stored-sink.ts";

/** `secret`: of a webhook that is new; null: it is not shown. */
export function sinkView(secrets: Pick<Secrets, "open">, sink: StoredSink, secret: string | null): Sink {
  const { id, job_id, target, format, state, parts, last_status, attempts, made_ms } = sink;
  const isBucket = target.type === "s3";
  return {
    sink_id: id,
    job_id,
    type: target.type,
    url: isBucket
      ? `s3://${target.bucket}/${target.prefix.replace(/\/$/, "")}`
      : shownAddress(secrets, target.url, sinkPlace(id, "url")),
    format,
    state,
    rows: rowsOf(parts),
    bytes: parts.reduce((sum, { bytes }) => sum + bytes, 0),
    parts: parts.length,
    folder: isBucket ? `s3://${target.bucket}/${folderOf(sink, target.prefix)}` : null,
    last_status,
    attempts: state === "running" ? attempts : 0,
    created_at: iso(made_ms),
    ...(secret !== null && { secret }),
  };
}
