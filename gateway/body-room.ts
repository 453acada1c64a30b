/**
 * The memory that the body of one request to the API holds, in the node's byte budget: what has arrived, as it arrives, and
 * never what the request announces. It belongs to the caller's project, which shares the memory with the others.
 */
import type { FairRoom } from "../cluster/fair-room.ts";

/** Bodies up to this size are bounded by the number of connections. */
export const UNCOUNTED_BYTES = 64 * 1024;

export interface BodyRoom {
  /** `onTaken` is called when the memory is taken away: not once it is settled. */
  readonly hasRoom: (bytes: number, onTaken?: () => void) => boolean;
  /** The body has arrived: its memory is not taken away any more. */
  readonly settle: () => void;
  /** Gives everything back. Harmless when repeated. */
  readonly release: () => void;
}

/** `room` undefined: there is no budget. */
export function bodyRoom(room: FairRoom | undefined, owner: string): BodyRoom {
  let onTaken: (() => void) | undefined;
  const reservation = room?.open(owner, () => onTaken?.());
  return {
    hasRoom(bytes, whenTaken) {
      onTaken = whenTaken;
      return bytes <= UNCOUNTED_BYTES || !reservation || reservation.growTo(bytes);
    },
    settle: () => reservation?.settle(),
    release: () => reservation?.release(),
  };
}
