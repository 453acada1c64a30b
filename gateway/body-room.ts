/**
 * The memory that the body of one request to the API holds, in the node's byte budget. A body of known length reserves all of
 * it before the first byte; one of unknown length reserves more as it grows.
 */
import type { Reservation, Room } from "../cluster/byte-budget.ts";

/** Bodies up to this size are bounded by the number of connections. */
export const UNCOUNTED_BYTES = 64 * 1024;
/** The bytes, their text, and the values that are parsed from it. */
const COPIES = 3;

export interface BodyRoom {
  /** Whether there is memory for so many bytes of the body; asked again, for all of them together. */
  readonly hasRoom: (bytes: number) => boolean;
  /** Gives everything back. Harmless when repeated. */
  readonly release: () => void;
}

/** `room` undefined: there is no budget. */
export function bodyRoom(room: Room | undefined, limit_bytes: number): BodyRoom {
  let reserved_bytes = UNCOUNTED_BYTES;
  let reservation: Reservation | null = null;
  const release = (): void => {
    reservation?.release();
    reservation = null;
    reserved_bytes = UNCOUNTED_BYTES;
  };
  return {
    hasRoom(bytes) {
      if (!room || bytes <= reserved_bytes) return true;
      // Doubled, so that a body that comes byte by byte reserves a few times only.
      const next_bytes = reservation ? Math.min(limit_bytes, Math.max(bytes, 2 * reserved_bytes)) : bytes;
      release();
      reservation = room.tryReserve(COPIES * next_bytes);
      if (!reservation) return false;
      reserved_bytes = next_bytes;
      return true;
    },
    release,
  };
}
