/** Bodies of requests that are sent compressed: the field Content-Encoding, and reading them within a limit. */
import type { Transform } from "node:stream";
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from "node:zlib";
import { collector } from "./framing.ts";
import type { Body } from "./http.ts";

/** A frame of zstd may ask for a window of 128 MB, whatever it holds. */
const ZSTD_WINDOW_LOG_MAX = 23;
const PIECE = { chunkSize: 64 * 1024 };
const DECODERS = {
  gzip: () => createGunzip(PIECE),
  deflate: () => createInflate(PIECE),
  br: () => createBrotliDecompress(PIECE),
  zstd: () =>
    createZstdDecompress({ ...PIECE, params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX } }),
} as const satisfies Record<string, () => Transform>;

export type RequestCoding = keyof typeof DECODERS;

/** Codings that a client may send, as the field Accept-Encoding of a 415 lists them (RFC 9110 §12.5.3). */
export const REQUEST_CODINGS = Object.keys(DECODERS).join(", ");

const isCoding = (name: string): name is RequestCoding => Object.hasOwn(DECODERS, name);

/** Null: the body is as it is; `unknown`: it cannot be read. */
export function requestCoding(field: string | undefined): RequestCoding | null | "unknown" {
  const name = field?.trim().toLowerCase() ?? "";
  if (name === "" || name === "identity") return null;
  if (name === "x-gzip") return "gzip";
  return isCoding(name) ? name : "unknown";
}

/** The body that these bytes are the compressed form of. `hasRoom` is asked before it takes so much memory. */
export async function decoded(
  packed: Buffer,
  coding: RequestCoding,
  limit_bytes: number,
  hasRoom: (bytes: number) => boolean,
): Promise<Body> {
  const decoder: Transform = DECODERS[coding]();
  const collecting = collector(null, limit_bytes);
  decoder.end(packed);
  try {
    for await (const piece of decoder as AsyncIterable<Buffer>) {
      if (!hasRoom(collecting.bytesWith(piece.length))) return { kind: "no_room" };
      if (!collecting.add(piece)) return { kind: "too_large" };
    }
    return { kind: "whole", bytes: collecting.whole() };
  } catch {
    return { kind: "unreadable", coding };
  } finally {
    decoder.destroy();
  }
}
