/**
 * Puts objects into a customer's bucket. The AWS SDK signs and reads errors; the request itself goes through the egress guard, so
 * that an endpoint, which a customer chooses, is no way into the operator's network. Each call makes one attempt.
 */
import { PutObjectCommand, S3Client, S3ServiceException } from "@aws-sdk/client-s3";
import type { Egress, ExchangeRequest } from "../../../../cluster/ports/egress.ts";
import type { BucketObject, PutResult } from "../bucket.ts";

/** The parts of the SDK's requests that are used here. */
interface SdkRequest {
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
  readonly path: string;
  readonly method: string;
  readonly query?: Readonly<Record<string, string | string[] | null>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** Bytes read of an error's answer; an error of S3 has some hundred. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** The adapter of the egress has its own. */
const NOT_PASSED_ON = new Set(["host", "content-length", "connection"]);

class Refused extends Error {
  readonly status: string;
  constructor(status: string) {
    super(status);
    this.status = status;
  }
}

function addressOf({ protocol, hostname, port, path, query = {} }: SdkRequest): string {
  const words = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((each) => `${encodeURIComponent(name)}=${encodeURIComponent(each ?? "")}`),
  );
  return `${protocol}//${hostname}${port === undefined ? "" : `:${port}`}${path}${words.length === 0 ? "" : `?${words.join("&")}`}`;
}

/** The handler by which the SDK sends a request. */
function guardedHandler(egress: Egress, networks: readonly string[] | undefined, signal: AbortSignal) {
  async function send(
    request: SdkRequest,
  ): Promise<{ status: number; headers: Record<string, string>; body: Buffer }> {
    const exchange = await egress.exchange({
      url: addressOf(request),
      method: request.method as ExchangeRequest["method"],
      headers: Object.entries(request.headers).filter(([name]) => !NOT_PASSED_ON.has(name.toLowerCase())),
      ...(request.body instanceof Uint8Array && { body: Buffer.from(request.body) }),
      ...(networks && { networks }),
      signal,
    });
    if (exchange.kind === "failed")
      throw new Refused(
        exchange.problem === "blocked_destination"
          ? "blocked_destination"
          : `error_${exchange.problem === "aborted" ? "timeout" : exchange.problem}`,
      );
    const pieces: Buffer[] = [];
    let bytes = 0;
    for await (const piece of exchange.body) {
      bytes += piece.length;
      if (bytes > MAX_ANSWER_BYTES) break;
      pieces.push(piece);
    }
    const headers = [...exchange.headers].map(([name, values]) => [name, values.join(", ")]);
    return { status: exchange.status, headers: Object.fromEntries(headers), body: Buffer.concat(pieces) };
  }
  return {
    metadata: { handlerProtocol: "http/1.1" },
    async handle(request: SdkRequest) {
      const { status, headers, body } = await send(request);
      return { response: { statusCode: status, headers, body } };
    },
    updateHttpClientConfig: () => {},
    httpHandlerConfigs: () => ({}),
  };
}

/** As deliveries to webhooks end: `delivered_<code>`, `http_<code>`, `blocked_destination` or `error_<class>`. It never throws. */
export async function putObject(
  egress: Egress,
  {
    bucket: { bucket, endpoint, region, credentials },
    key,
    content,
    content_type,
    networks,
    signal,
  }: BucketObject,
): Promise<PutResult> {
  const client = new S3Client({
    region,
    ...(endpoint !== null && { endpoint, forcePathStyle: true }),
    credentials: {
      accessKeyId: credentials.access_key_id,
      secretAccessKey: credentials.secret_access_key,
      ...(credentials.session_token != null && { sessionToken: credentials.session_token }),
    },
    maxAttempts: 1,
    // Stores of others do not know the checksums that the SDK adds by itself.
    requestChecksumCalculation: "WHEN_REQUIRED",
    requestHandler: guardedHandler(egress, networks, signal) as never,
  });
  try {
    const command = new PutObjectCommand({
      Bucket: bucket,
      Key: key,
      Body: content,
      ContentType: content_type,
    });
    const { $metadata } = await client.send(command);
    return { status: `delivered_${$metadata.httpStatusCode ?? 200}`, retry_after_s: null };
  } catch (problem) {
    if (problem instanceof Refused) return { status: problem.status, retry_after_s: null };
    const status = problem instanceof S3ServiceException ? problem.$metadata.httpStatusCode : undefined;
    return { status: status === undefined ? "error_internal" : `http_${status}`, retry_after_s: null };
  } finally {
    client.destroy();
  }
}
