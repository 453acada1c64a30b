/**
 * Checks of a request's and an answer's framing that both adapters of the HTTP port share. Pure functions. The order of
 * events is in exchange.ts; sockets belong to the adapters.
 */
import type { Reply } from "./http.ts";

/** A whole request head: both adapters answer 431 beyond it. */
export const HEADERS_MAX_BYTES = 16_384;
/** More fields than this are answered with 431. uWebSockets.js knows no other number. */
export const FIELDS_MAX = 100;
/**
 * An unwanted body is read and dropped up to this size, because most clients read no answer before they have sent
 * everything. Beyond it the connection is closed, and such a client sees a broken pipe instead of the answer.
 */
export const DROP_MAX_BYTES = 128 * 1024 * 1024;

/** How long a body the head announces, or why its framing is malformed. */
export type BodyFraming =
  | { readonly kind: "none" }
  | { readonly kind: "known"; readonly bytes: number }
  | { readonly kind: "unknown" }
  | { readonly kind: "broken"; readonly reason: string };

const NONE: BodyFraming = { kind: "none" };
const UNKNOWN: BodyFraming = { kind: "unknown" };
/** Fifteen digits are exact as a number, and a petabyte. */
const LENGTH = /^\d{1,15}$/;

/**
 * RFC 9112 section 6.3, without its leniencies: what two parsers could read differently is refused. A field that was
 * sent twice arrives joined by a comma, and so is no number, no coding and no host.
 */
export function readFraming(headers: ReadonlyMap<string, string>): BodyFraming {
  const length = headers.get("content-length");
  const coding = headers.get("transfer-encoding");
  if (headers.get("host")?.includes(",")) return malformed("more than one Host");
  if (coding !== undefined) {
    if (length !== undefined) return malformed("Content-Length beside Transfer-Encoding");
    return coding.toLowerCase() === "chunked" ? UNKNOWN : malformed("a Transfer-Encoding other than chunked");
  }
  if (length === undefined) return NONE;
  if (!LENGTH.test(length)) return malformed("a Content-Length that is not one number");
  return Number(length) === 0 ? NONE : { kind: "known", bytes: Number(length) };
}

const malformed = (reason: string): BodyFraming => ({ kind: "broken", reason });

/** Adds one field as it was sent: names in lower case, repeated fields joined. */
export function addField(headers: Map<string, string>, name: string, value: string): void {
  const existing = headers.get(name);
  headers.set(name, existing === undefined ? value : `${existing}, ${value}`);
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Headers that only the adapter writes: from a reply they would be duplicates or contradict what is sent. */
const OWNED = new Set([
  "content-length",
  "transfer-encoding",
  "connection",
  "keep-alive",
  "trailer",
  "upgrade",
]);

/** Why this reply must not be written, or null. A value with a line break would become a second header field. */
export function replyDefect({ status, headers, repeated_headers = [] }: Reply): string | null {
  if (!Number.isInteger(status) || status < 200 || status > 599) return `the status ${status}`;
  for (const name in headers) {
    const value = headers[name]!;
    const passed = passedValues.get(name);
    if (passed === value) continue;
    if (passed === undefined) {
      if (!TOKEN.test(name)) return `a header named ${JSON.stringify(name)}`;
      if (OWNED.has(name.toLowerCase())) return `the header ${name}, which the adapter writes`;
    }
    if (UNSENDABLE.test(value)) return `a control character in the header ${name}`;
    if (passed !== undefined || passedValues.size < MAX_PASSED_NAMES) passedValues.set(name, value);
  }
  for (const [name, value] of repeated_headers) {
    const defect = replyDefect({ status, headers: { [name]: value } });
    if (defect !== null) return defect;
  }
  return null;
}

/**
 * The value of each name that passed the check last: a program has a few dozen names, sends them with every answer, and most
 * of them with the same value.
 */
const passedValues = new Map<string, string>();
const MAX_PASSED_NAMES = 1_000;

// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const UNSENDABLE = /[\x00-\x08\x0a-\x1f\x7f]/;

/** An answer whose status allows no content, whatever the reply brings. */
export const hasNoBody = (status: number): boolean => status === 204 || status === 304;

/** Collects a body. It copies each piece at once. */
export interface Collector {
  /** The memory that the body takes with so many bytes more. */
  readonly bytesWith: (more_bytes: number) => number;
  /** False when the body is too large; its bytes are dropped. */
  readonly add: (piece: Uint8Array) => boolean;
  readonly whole: () => Buffer;
}

const FIRST_BYTES = 16 * 1024;
/** A body of known length is allocated at once up to this size. */
const AT_ONCE_BYTES = 64 * 1024;

/** Doubled as it grows, so that what is announced costs nothing and a body sent byte by byte at most twice its size. */
export function collector(known_bytes: number | null, limit_bytes: number): Collector {
  const most_bytes = Math.min(limit_bytes, known_bytes ?? Infinity);
  const first_bytes = most_bytes <= AT_ONCE_BYTES ? most_bytes : FIRST_BYTES;
  let buffer: Buffer | null = null;
  let used = 0;
  const bytesWith = (more_bytes: number): number => {
    const needed = used + more_bytes;
    const has = buffer?.length ?? 0;
    return needed <= has ? has : Math.max(needed, Math.min(most_bytes, Math.max(first_bytes, 2 * has)));
  };
  return {
    bytesWith,
    add(piece) {
      const needed = used + piece.length;
      if (needed > limit_bytes) {
        buffer = null;
        return false;
      }
      const bytes = bytesWith(piece.length);
      if (buffer === null || buffer.length < bytes) {
        // A small body of known length may use Node's pool. A growing one must not keep a pool slab alive.
        const isFinal = bytes === known_bytes && bytes <= AT_ONCE_BYTES;
        const larger = isFinal ? Buffer.allocUnsafe(bytes) : Buffer.allocUnsafeSlow(bytes);
        buffer?.copy(larger, 0, 0, used);
        buffer = larger;
      }
      buffer.set(piece, used);
      used = needed;
      return true;
    },
    whole: () => buffer?.subarray(0, used) ?? Buffer.alloc(0),
  };
}
