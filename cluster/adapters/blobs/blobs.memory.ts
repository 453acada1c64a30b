/** Blobs in a map: for tests and the simulator. */
import { createHash } from "node:crypto";
import type { Blobs, StoreMark, StoredBlob } from "../../ports/blobs.ts";

const PIECE_BYTES = 2 ** 20;

async function* pieces(whole: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < whole.length; at += PIECE_BYTES) yield whole.subarray(at, at + PIECE_BYTES);
}

/** `onStored` is called with each blob that was not there, before its `put` resolves; `undo` takes it away. Default: nothing. */
export function memoryBlobs(onStored: (blob: StoredBlob, undo: () => void) => void = () => {}): Blobs {
  const stored = new Map<string, { readonly whole: Buffer; readonly stored_ms: number }>();
  let mark: StoreMark | null = null;
  return {
    async put(content) {
      const whole = Buffer.concat(Buffer.isBuffer(content) ? [content] : await Array.fromAsync(content));
      const sha256 = createHash("sha256").update(whole).digest("hex");
      const isNew = !stored.has(sha256);
      stored.set(sha256, { whole, stored_ms: Date.now() });
      const blob = { sha256, bytes: whole.length };
      if (isNew) onStored(blob, () => void stored.delete(sha256));
      return blob;
    },
    async head(sha256) {
      const body = stored.get(sha256);
      return body ? { bytes: body.whole.length } : null;
    },
    async get(sha256, range) {
      const whole = stored.get(sha256)?.whole;
      return whole ? pieces(range ? whole.subarray(range.first, range.last + 1) : whole) : null;
    },
    remove: async (sha256, stored_before_ms = Infinity) =>
      (stored.get(sha256)?.stored_ms ?? Infinity) < stored_before_ms && stored.delete(sha256),
    async *list(prefix) {
      for (const [sha256, { stored_ms }] of stored)
        if (sha256.startsWith(prefix)) yield { sha256, stored_ms };
    },
    readMark: async () => mark,
    writeMark: async (written) => void (mark = written),
    isEmpty: async () => stored.size === 0,
    ping: async () => {},
    close: async () => {},
  };
}
