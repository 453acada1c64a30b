/** Answers in gzip or zstd for clients that accept them. Stored bodies are not compressed: a download is the exact bytes. */
import { Readable } from "node:stream";
import { constants, createGzip, gzip, gzipSync, zstdCompress, zstdCompressSync } from "node:zlib";
import { promisify } from "node:util";
import type { Reply } from "./http.ts";

export type ContentCoding = "zstd" | "gzip";

/** Smaller answers fit in one packet anyway. */
const MIN_BYTES = 1_024;
/** Compressed at once; larger ones in the thread pool. */
const SYNC_MAX_BYTES = 32 * 1_024;
const GZIP = { level: 4 };
const ZSTD = { params: { [constants.ZSTD_c_compressionLevel]: 3 } };
const COMPRESSIBLE = /^(?:text\/(?!event-stream)|application\/(?:json|x-ndjson|javascript))/;
const gzipped = promisify(gzip);
const zstdCompressed = promisify(zstdCompress);

/** The coding this server prefers among those that an Accept-Encoding field allows (RFC 9110 section 12.5.3). */
export function acceptedCoding(accept: string | undefined): ContentCoding | null {
  if (accept === undefined) return null;
  const allowed = new Set<string>();
  for (const part of accept.split(",")) {
    const [coding, ...parameters] = part.split(";").map((text) => text.trim().toLowerCase());
    const isRefused = parameters.some((parameter) => /^q=0(\.0{0,3})?$/.test(parameter));
    if (!isRefused) allowed.add(coding!);
  }
  if (allowed.has("zstd")) return "zstd";
  return allowed.has("gzip") ? "gzip" : null;
}

/** The reply in this coding, where that helps; a small reply comes back as it is. */
export function compressed(reply: Reply, coding: ContentCoding): Reply | Promise<Reply> {
  const { body, headers = {}, status } = reply;
  if (!body || status === 206 || status === 304 || headers["Content-Encoding"] !== undefined) return reply;
  if (!COMPRESSIBLE.test(headers["Content-Type"] ?? "")) return reply;
  if ("chunks" in body) {
    const { chunks } = body;
    return withCoding(reply, "gzip", { length: null, chunks: gzipStream(chunks) });
  }
  if (body.length < MIN_BYTES) return reply;
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body.take());
  if (bytes.length <= SYNC_MAX_BYTES)
    return withCoding(
      reply,
      coding,
      coding === "gzip" ? gzipSync(bytes, GZIP) : zstdCompressSync(bytes, ZSTD),
    );
  return (coding === "gzip" ? gzipped(bytes, GZIP) : zstdCompressed(bytes, ZSTD)).then((packed) =>
    withCoding(reply, coding, packed),
  );
}

const withCoding = (reply: Reply, coding: ContentCoding, body: NonNullable<Reply["body"]>): Reply => ({
  ...reply,
  headers: { ...reply.headers, "Content-Encoding": coding, Vary: "Accept-Encoding" },
  body,
});

/** Each piece can be read as soon as it is sent: the answer of a running job would else wait in the buffer. */
async function* gzipStream(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const packing = createGzip({ ...GZIP, flush: constants.Z_SYNC_FLUSH });
  const source = Readable.from(chunks);
  source.once("error", (problem) => packing.destroy(problem));
  source.pipe(packing);
  try {
    for await (const piece of packing) yield piece as Buffer;
  } finally {
    source.destroy();
    packing.destroy();
  }
}
