/** The answer of a route as one buffer, for a route that asks another one within. */
import type { Reply } from "./http.ts";

/** Answers are read within the memory of one request; what is longer is for clients that read it as a stream. */
const MAX_BYTES = 67_108_864;

/** Throws where the answer is longer than a request may be. */
export async function wholeReply({ body }: Reply): Promise<Buffer> {
  if (body === undefined) return Buffer.alloc(0);
  if (Buffer.isBuffer(body)) return body;
  // Copied: the buffer is used for the next answer.
  if ("take" in body) return Buffer.from(body.take());
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of body.chunks) {
    if ((bytes += piece.length) > MAX_BYTES)
      throw new Error(`Cannot read an answer within another one: it has over ${MAX_BYTES} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
