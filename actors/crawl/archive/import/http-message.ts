/** HTTP messages as archives have them: the head in order and case, and the body without its transfer and content coding. Pure. */
import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync, zstdDecompressSync } from "node:zlib";
import { type Field, joinedFields } from "../warc/record.ts";

export interface HttpHead {
  readonly start: string;
  /** In their order, the bytes of values as Latin-1. */
  readonly fields: [string, string][];
  /** Where the body begins. */
  readonly end: number;
}

const MAX_HEAD_BYTES = 262_144;

/** Null: it does not begin with a head of HTTP. */
export function httpHead(message: Buffer): HttpHead | null {
  const text = message.toString("latin1", 0, MAX_HEAD_BYTES);
  const found = /\r?\n\r?\n/.exec(text);
  const head = found ? text.slice(0, found.index) : text;
  const [start = "", ...lines] = head.split(/\r?\n/);
  const fields: [string, string][] = [];
  for (const line of lines) {
    const colon = line.indexOf(":");
    const last = fields.at(-1);
    if (/^[ \t]/.test(line) && last) last[1] += ` ${line.trim()}`;
    else if (colon > 0) fields.push([line.slice(0, colon).trim(), line.slice(colon + 1).trim()]);
  }
  return {
    start,
    fields,
    end: found ? found.index + found[0].length : Math.min(message.length, text.length),
  };
}

const STATUS_LINE = /^HTTP\/\d(?:\.\d)? +(\d{3})(?: +(.*))?$/;
const REQUEST_LINE = /^([A-Z][A-Z-]{0,31}) +\S/;

/** Null: it is no status line. */
export function statusOf(start: string): { readonly status: number; readonly reason: string } | null {
  const found = STATUS_LINE.exec(start.trim());
  return found && { status: Number(found[1]), reason: found[2] ?? "" };
}

export const methodOf = (start: string): string | null => REQUEST_LINE.exec(start)?.[1] ?? null;

/** `broken`: the coding is not what the fields say, or it ends early; what could be read is in `body`. */
interface DecodedBody {
  readonly body: Buffer;
  readonly broken: boolean;
}

/** At most `max_bytes`; null: there is more. `unchunked`: with its content coding. */
export function decodedBody(
  fields: readonly Field[],
  sent: Buffer,
  max_bytes: number,
): (DecodedBody & { readonly unchunked: Buffer }) | null {
  const headers = joinedFields(fields);
  const isChunked = /\bchunked\b/i.test(headers.get("transfer-encoding") ?? "");
  const { body, broken } = isChunked ? unchunked(sent) : { body: sent, broken: false };
  const codings = (headers.get("content-encoding") ?? "")
    .split(",")
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== "" && coding !== "identity");
  const decoded = decode(body, codings, broken, max_bytes);
  return decoded && { ...decoded, unchunked: body };
}

const CODINGS: Readonly<Record<string, (body: Buffer, maxOutputLength: number) => Buffer>> = {
  gzip: (body, maxOutputLength) => gunzipSync(body, { maxOutputLength }),
  "x-gzip": (body, maxOutputLength) => gunzipSync(body, { maxOutputLength }),
  // RFC 9110 §8.4.1.2 means zlib; some servers send it without its head.
  deflate: (body, maxOutputLength) =>
    (body[0]! & 0x0f) === 8
      ? inflateSync(body, { maxOutputLength })
      : inflateRawSync(body, { maxOutputLength }),
  br: (body, maxOutputLength) => brotliDecompressSync(body, { maxOutputLength }),
  zstd: (body, maxOutputLength) => zstdDecompressSync(body, { maxOutputLength }),
};

function decode(
  body: Buffer,
  codings: readonly string[],
  isBroken: boolean,
  max_bytes: number,
): DecodedBody | null {
  let decoded = body;
  for (const coding of codings.toReversed()) {
    const read = CODINGS[coding];
    if (decoded.length === 0) break;
    if (read === undefined) return { body: decoded, broken: true };
    try {
      decoded = read(decoded, max_bytes);
    } catch (problem) {
      if ((problem as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") return null;
      // Archives of some writers have decoded bodies under the old field.
      return { body: decoded, broken: !isDecodedAlready(coding, decoded) || isBroken };
    }
  }
  return { body: decoded, broken: isBroken };
}

const isDecodedAlready = (coding: string, body: Buffer): boolean =>
  coding.endsWith("gzip") ? body[0] !== 0x1f || body[1] !== 0x8b : false;

const CHUNK_LINE = /^[0-9a-f]{1,8}[ \t]*(?:;.*)?$/i;

/** The chunks (RFC 9112 §7.1). Bytes that do not begin with a chunk were written without them: they are the body. */
function unchunked(sent: Buffer): DecodedBody {
  const chunks: Buffer[] = [];
  for (let at = 0; at < sent.length;) {
    const end = sent.indexOf("\n", at);
    const line = end < 0 ? "" : sent.toString("latin1", at, Math.min(end, at + 256)).trim();
    if (end < 0 || !CHUNK_LINE.test(line)) {
      if (chunks.length === 0) return { body: sent, broken: false };
      return { body: Buffer.concat(chunks), broken: true };
    }
    const length = Number.parseInt(line, 16);
    if (length === 0) return { body: Buffer.concat(chunks), broken: false };
    const chunk = sent.subarray(end + 1, end + 1 + length);
    chunks.push(chunk);
    at = end + 1 + length;
    if (chunk.length < length) break;
    if (sent[at] === 0x0d) at++;
    if (sent[at] === 0x0a) at++;
  }
  return { body: Buffer.concat(chunks), broken: sent.length > 0 };
}
