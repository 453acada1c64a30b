/** A large answer in pieces, whose memory is given back when it is sent or its client has gone. */
import type { Reservation } from "../cluster/byte-budget.ts";
import type { Stream } from "./http.ts";

const PIECE_BYTES = 256 * 1024;

export function heldUntilSent(bytes: Buffer, { release }: Reservation, client: AbortSignal): Stream {
  let at = 0;
  const end = (): void => {
    client.removeEventListener("abort", end);
    release();
  };
  if (client.aborted) end();
  else client.addEventListener("abort", end, { once: true });
  // Not a generator: one that was never started does not run its `finally`.
  const pieces: AsyncIterator<Buffer> = {
    async next() {
      if (at >= bytes.length) {
        end();
        return { done: true, value: undefined };
      }
      const value = bytes.subarray(at, at + PIECE_BYTES);
      at += value.length;
      return { done: false, value };
    },
    async return() {
      end();
      return { done: true, value: undefined };
    },
  };
  return { length: bytes.length, chunks: { [Symbol.asyncIterator]: () => pieces } };
}
