/**
 * Writes records of WARC 1.1 (ISO 28500:2017): the head as bytes, and the block as parts that are read when they are written.
 * Pure functions: the same input gives the same bytes.
 */
import { createHash, hash } from "node:crypto";
import type { KeptExchange } from "../../../../schemas/archives.ts";

/** Bytes, or a body of the store. */
export type Part = Buffer | { readonly sha256: string; readonly bytes: number };

export interface WarcRecord {
  readonly head: Buffer;
  readonly block: readonly Part[];
  /** For an index. Absent: the record is not looked up by address. */
  readonly capture?: Capture;
}

/** Index entry of a response, a revisit or a resource. */
export interface Capture {
  readonly url: string;
  readonly date: string;
  readonly record_id: string;
  readonly mime: string;
  readonly status: number | null;
  readonly digest: string;
  /** The exchange was made for all fetches of an origin: it is no page of the archive. */
  readonly is_shared?: boolean;
}

/** An earlier record of the same file with the same payload. */
export interface Original {
  readonly record_id: string;
  readonly url: string;
  readonly date: string;
}

export type Field = readonly [name: string, value: string];

const CRLF = "\r\n";
const bytesOf = (part: Part): number => (Buffer.isBuffer(part) ? part.length : part.bytes);

/** A name that is the same for the same words: UUID version 8 (RFC 9562), of their SHA-256. */
export function recordId(...words: readonly (string | number)[]): string {
  const hex = hash("sha256", words.join(" "), "hex");
  const variant = ((Number.parseInt(hex[16]!, 16) & 0x3) | 0x8).toString(16);
  return `<urn:uuid:${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}>`;
}

export function warcRecord(fields: readonly Field[], block: readonly Part[], capture?: Capture): WarcRecord {
  const length = block.reduce((sum, part) => sum + bytesOf(part), 0);
  const isWhole = block.every((part) => Buffer.isBuffer(part));
  const all: readonly Field[] = [
    ...fields,
    // A stored body would have to be read twice.
    ...(isWhole ? [["WARC-Block-Digest", digestOf(block)] as const] : []),
    ["Content-Length", String(length)],
  ];
  const lines = all.map(([name, value]) => `${name}: ${value.replaceAll(/[\r\n]+/g, " ")}${CRLF}`);
  return { head: Buffer.from(`WARC/1.1${CRLF}${lines.join("")}${CRLF}`), block, ...(capture && { capture }) };
}

function digestOf(parts: readonly Buffer[]): string {
  const digest = createHash("sha256");
  for (const part of parts) digest.update(part);
  return `sha256:${digest.digest("hex")}`;
}

export const common = (type: string, id: string, date: string): readonly Field[] => [
  ["WARC-Type", type],
  ["WARC-Record-ID", id],
  ["WARC-Date", date],
];

/** Names and values as `application/warc-fields`. */
export const warcFields = (fields: readonly Field[]): Buffer =>
  Buffer.from(fields.map(([name, value]) => `${name}: ${value}${CRLF}`).join(""));

/** Framing and codings that the kept bytes do not have any more. */
const GONE = new Set(["content-encoding", "transfer-encoding", "content-length"]);

/**
 * The head of a message as lines of HTTP/1.1, the bytes of its values as they came. What describes other bytes than those that
 * are kept is renamed to `X-Orig-…`; `length`: of the kept body, null where the message has none.
 */
function headOf(
  start: string,
  fields: readonly (readonly [string, string])[],
  length: number | null,
): Buffer {
  const lines = fields.map(([name, value]) => {
    const lower = name.toLowerCase();
    const isRight = !GONE.has(lower) || (lower === "content-length" && value.trim() === String(length));
    return `${isRight ? "" : "X-Orig-"}${name}: ${value}${CRLF}`;
  });
  const hasLength = fields.some(
    ([name, value]) => name.toLowerCase() === "content-length" && value.trim() === String(length),
  );
  const own = length === null || hasLength ? "" : `Content-Length: ${length}${CRLF}`;
  return Buffer.from(`${start}${CRLF}${lines.join("")}${own}${CRLF}`, "latin1");
}

export interface ExchangeRecords {
  /** The response or revisit, and the request. */
  readonly records: readonly WarcRecord[];
  readonly response_id: string;
  /** Payload that a later exchange may refer to; null: this one refers to an earlier one itself, or has no payload. */
  readonly original: { readonly digest: string; readonly of: Original } | null;
}

const REVISIT = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
const NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";

/** `name`: of the exchange, unlike that of every other. `seen`: the first record of a payload in this file. */
export function exchangeRecords(
  exchange: KeptExchange,
  name: string,
  seen: (digest: string) => Original | null,
): ExchangeRecords {
  const { url, started_at: date, response } = exchange;
  const response_id = recordId(name, "response");
  const payload = payloadOf(exchange);
  const digest = payload && `sha256:${payload.sha256}`;
  const original = payload && payload.bytes > 0 ? seen(payload.sha256) : null;
  const isRevisit = original !== null || response.status === 304;
  const place: readonly Field[] = [["WARC-Target-URI", url], ...connectionOf(exchange)];
  const { status } = response;
  const hasBody = status !== 204 && status !== 304;
  const head = headOf(
    `HTTP/1.1 ${status} ${response.reason}`,
    response.fields,
    hasBody ? (payload?.bytes ?? 0) : null,
  );
  const capture: Capture = {
    url,
    date,
    record_id: response_id,
    mime: isRevisit ? "warc/revisit" : mimeOf(response.fields),
    status,
    digest: digest ?? "-",
    ...(exchange.is_shared && { is_shared: true }),
  };
  const answered = warcRecord(
    [
      ...common(isRevisit ? "revisit" : "response", response_id, date),
      ...place,
      ...(digest ? [["WARC-Payload-Digest", digest] as const] : []),
      ...(original ? referTo(original) : isRevisit ? [["WARC-Profile", NOT_MODIFIED] as const] : []),
      ...(response.truncated && !isRevisit ? [["WARC-Truncated", response.truncated] as const] : []),
      ["Content-Type", "application/http; msgtype=response"],
    ],
    isRevisit || payload === null ? [head] : [head, payload.part],
    capture,
  );
  return {
    records: [answered, requestRecord(exchange, name, response_id, place)],
    response_id,
    original:
      payload && payload.bytes > 0 && !isRevisit
        ? { digest: payload.sha256, of: { record_id: response_id, url, date } }
        : null,
  };
}

function requestRecord(
  { url, started_at, request }: KeptExchange,
  name: string,
  response_id: string,
  place: readonly Field[],
): WarcRecord {
  const { pathname, search } = new URL(url);
  return warcRecord(
    [
      ...common("request", recordId(name, "request"), started_at),
      ...place,
      ["WARC-Concurrent-To", response_id],
      ...(request.omitted_bytes > 0 ? [["WARC-Truncated", "unspecified"] as const] : []),
      ["Content-Type", "application/http; msgtype=request"],
    ],
    [headOf(`${request.method} ${pathname}${search} HTTP/1.1`, request.fields, null)],
  );
}

const referTo = ({ record_id, url, date }: Original): readonly Field[] => [
  ["WARC-Profile", REVISIT],
  ["WARC-Refers-To", record_id],
  ["WARC-Refers-To-Target-URI", url],
  ["WARC-Refers-To-Date", date],
];

function connectionOf({ address, protocol, tls }: KeptExchange): readonly Field[] {
  return [
    ...(address === null ? [] : [["WARC-IP-Address", address] as const]),
    ["WARC-Protocol", protocol],
    ...(tls === null
      ? []
      : [
          ["WARC-Protocol", tls.version.toLowerCase().replace("v", "/")] as const,
          ["WARC-Cipher-Suite", tls.cipher] as const,
        ]),
  ];
}

/** Null: nothing of the body is kept. */
export function payloadOf({
  response: { body },
}: KeptExchange): { readonly part: Part; readonly sha256: string; readonly bytes: number } | null {
  if (body === null) return null;
  if ("sha256" in body) return { part: body, ...body };
  const part = Buffer.from(body.base64, "base64");
  return { part, sha256: hash("sha256", part, "hex"), bytes: part.length };
}

/** The first field of this name, which is in lower case. */
export const fieldOf = (fields: readonly Field[], wanted: string): string | undefined =>
  fields.find(([name]) => name.toLowerCase() === wanted)?.[1];

/** By name in lower case; the values of repeated fields joined (RFC 9110 §5.3). */
export function joinedFields(fields: readonly Field[]): ReadonlyMap<string, string> {
  const joined = new Map<string, string>();
  for (const [name, value] of fields) {
    const key = name.toLowerCase();
    const before = joined.get(key);
    joined.set(key, before === undefined ? value : `${before}, ${value}`);
  }
  return joined;
}

export const mimeOf = (fields: readonly Field[]): string =>
  fieldOf(fields, "content-type")?.split(";", 1)[0]!.trim().toLowerCase() || "unk";
