/** Proof that a stored body is the one that was asked for: its digest is its name. */
import { createHash } from "node:crypto";

/** Stored bytes that are not the body: torn by a power cut, or changed since. */
export class WrongContent extends Error {
  override readonly name = "WrongContent";
}

/** Whether the stored bytes themselves are at fault, and not the disk, the network or this process. */
export const isContentProblem = (problem: unknown): boolean =>
  problem instanceof WrongContent ||
  // Codes of zstd and the stream around it for bytes that they cannot read.
  /^(?:ZSTD_|Z_|ERR_BUFFER_TOO_LARGE$)/.test(String((problem as NodeJS.ErrnoException | null)?.code));

/**
 * The pieces of a whole body. Throws WrongContent before the last piece when they are not the body, so a reader never
 * gets all of a wrong one; a body of one piece is proved before any of it is sent.
 */
export async function* verified(sha256: string, pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const digest = createHash("sha256");
  let last: Buffer | null = null;
  for await (const piece of pieces) {
    digest.update(piece);
    if (last) yield last;
    last = piece;
  }
  if (digest.digest("hex") !== sha256) throw new WrongContent("The content has another digest");
  if (last) yield last;
}
