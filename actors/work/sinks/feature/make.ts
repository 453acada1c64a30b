/** A client's description of a sink, checked, and the document that follows from it. */
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { Secrets } from "../../../../cluster/ports/secrets.ts";
import type { Caller } from "../../../../gateway/authenticate.ts";
import type { Mistake } from "../../../../gateway/validate.ts";
import type { SinkBody } from "../../../../schemas/sinks.ts";
import { randomId } from "../../../lib/random-id.ts";
import type { Destination } from "../../../lib/web/destination.ts";
import { webhookAddress } from "../../callbacks/webhook-address.ts";
import { newWebhookSecret } from "../../callbacks/webhook-signature.ts";
import { sinkPlace, type StoredSink } from "../stored-sink.ts";

export interface MakeDeps {
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly destination: Pick<Destination, "url">;
}

/** `secret`: of a webhook. */
export type Made =
  | { readonly kind: "made"; readonly sink: StoredSink; readonly secret: string | null }
  | { readonly kind: "wrong"; readonly mistakes: readonly Mistake[] };

/** Amazon's rules for names of buckets, and a prefix of printable characters. */
const BUCKET_URL = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([^\s?#]{0,900}))?$/;
const ONLY_OF_S3 = ["endpoint", "region", "credentials", "format"] as const;

const wrong = (field: string, msg: string, type = "value_error"): Made => ({
  kind: "wrong",
  mistakes: [{ loc: ["body", field], msg, type }],
});

/** `networks`: private ones that the caller's project may reach. */
export function makeSink(
  { secrets, clock, destination }: MakeDeps,
  body: SinkBody,
  job_id: string,
  caller: Caller,
  networks: readonly string[] | undefined,
): Made {
  const id = randomId("snk_");
  const now_ms = Math.floor(clock.now());
  const common = {
    id,
    job_id,
    project: caller.grant.project.name,
    external: caller.grant.customer.external,
    rows_per_part: body.rows_per_part ?? 1_000,
    state: "running",
    delivered: [],
    plan: null,
    parts: [],
    manifest: null,
    unreadable: 0,
    last_status: null,
    made_ms: now_ms,
    flushed_ms: now_ms,
    created_ms: now_ms,
    attempts: 0,
    next_ms: now_ms,
  } as const;
  if (body.type === "webhook") {
    const foreign = ONLY_OF_S3.find((name) => body[name] != null && !isDefault(name, body[name]));
    if (foreign) return wrong(foreign, "Only an S3 sink has it");
    const address = webhookAddress(body.url, destination);
    if (address.kind === "wrong") return wrong("url", address.message, address.type);
    const secret = newWebhookSecret();
    const target = {
      type: "webhook",
      url: secrets.seal(address.href, sinkPlace(id, "url")),
      secret: secrets.seal(secret, sinkPlace(id, "secret")),
    } as const;
    return { kind: "made", sink: { ...common, target, format: "ndjson" }, secret };
  }
  const [, bucket, prefix = ""] = BUCKET_URL.exec(body.url) ?? [];
  if (bucket === undefined) return wrong("url", "Input should be an address as s3://bucket/prefix");
  if (body.credentials == null) return wrong("credentials", "Field required", "missing");
  const endpoint = body.endpoint ?? null;
  if (endpoint !== null) {
    const refused = mistakeInEndpoint(endpoint, destination, networks);
    if (refused !== null) return refused;
  }
  const target = {
    type: "s3",
    bucket,
    prefix: prefix === "" || prefix.endsWith("/") ? prefix : `${prefix}/`,
    endpoint,
    region: body.region ?? "us-east-1",
    credentials: secrets.seal(JSON.stringify(body.credentials), sinkPlace(id, "credentials")),
  } as const;
  return { kind: "made", sink: { ...common, target, format: body.format ?? "ndjson" }, secret: null };
}

/** Fields that are not given have their defaults. */
const isDefault = (name: (typeof ONLY_OF_S3)[number], value: unknown): boolean =>
  (name === "format" && value === "ndjson") || (name === "region" && value === "us-east-1");

function mistakeInEndpoint(
  endpoint: string,
  destination: Pick<Destination, "url">,
  networks: readonly string[] | undefined,
): Made | null {
  const url = URL.parse(endpoint);
  if (!/^https?:$/.test(url?.protocol ?? "") || url!.username !== "" || url!.search !== "")
    return wrong(
      "endpoint",
      "Input should be an http or https address without user and query",
      "url_parsing",
    );
  const judgement = destination.url(url!.href, networks);
  return judgement === "allowed" || judgement === "resolve"
    ? null
    : wrong(
        "endpoint",
        "Private, loopback, link-local and metadata addresses receive no results",
        "blocked_destination",
      );
}
