/**
 * Memory that several owners share without waiting: bodies of requests to the API, each owned by a project. An owner may
 * take all that is free. When there is nothing free, an owner with little gets it from the owner with most, whose youngest
 * growing reservation is taken away. So no owner can refuse another one its small reservations, however much it holds.
 */

/** A reservation of an owner. It counts what it has grown to, nothing before. */
export interface FairReservation {
  /** Whether there is room for so many bytes in all. What is held stays when there is not. */
  readonly growTo: (bytes: number) => boolean;
  /** It is no longer taken away: from here on its work ends by itself, and soon. */
  readonly settle: () => void;
  /** Gives everything back. Harmless when repeated. */
  readonly release: () => void;
}

export interface FairRoom {
  /** `onTaken` is called when the reservation is taken away for another owner; it holds nothing then and grows no more. */
  readonly open: (owner: string, onTaken: () => void) => FairReservation;
  readonly reserved_bytes: () => number;
}

/** The share of the room that one reservation counts at most, so that a single one of any size is possible and leaves room beside it. */
export const ONE_PART = 3 / 4;
/** Up to this part of the whole an owner gets what others hold, where they hold more. Above it only what is free. */
export const GUARANTEED_PART = 1 - ONE_PART;

interface Holding {
  readonly owner: string;
  readonly onTaken: () => void;
  bytes: number;
  /** Not taken away any more, or already given back. */
  isFixed: boolean;
}

/** `onChange` is called after each change of what is reserved. */
export function fairRoom(capacity_bytes: number, onChange: () => void): FairRoom {
  const most_bytes = Math.floor(capacity_bytes * ONE_PART);
  const guaranteed_bytes = capacity_bytes * GUARANTEED_PART;
  /** The growing and the fixed, in the order in which they began. */
  const reservations = new Set<Holding>();
  const byOwner = new Map<string, number>();
  let reserved_bytes = 0;

  function set(held: Holding, bytes: number): void {
    const by = bytes - held.bytes;
    held.bytes = bytes;
    reserved_bytes += by;
    const owned = (byOwner.get(held.owner) ?? 0) + by;
    if (owned === 0) byOwner.delete(held.owner);
    else byOwner.set(held.owner, owned);
  }

  /** The youngest growing reservation of the owner with most among those with more than `over_bytes`; null: there is none. */
  function victim(over_bytes: number): Holding | null {
    let found: Holding | null = null;
    for (const held of reservations) {
      if (held.isFixed || held.bytes === 0) continue;
      const owned = byOwner.get(held.owner)!;
      if (owned > over_bytes && (found === null || owned >= byOwner.get(found.owner)!)) found = held;
    }
    return found;
  }

  /** Takes from others what this owner needs to have `owned_bytes` in all. */
  function takeFromOthers(needed_bytes: number, owned_bytes: number): boolean {
    if (owned_bytes > guaranteed_bytes) return false;
    while (reserved_bytes + needed_bytes > capacity_bytes) {
      const taken = victim(owned_bytes);
      if (taken === null) return false;
      reservations.delete(taken);
      taken.isFixed = true;
      set(taken, 0);
      taken.onTaken();
    }
    return true;
  }

  return {
    open(owner, onTaken) {
      const held: Holding = { owner, onTaken, bytes: 0, isFixed: false };
      reservations.add(held);
      return {
        growTo(bytes) {
          if (!reservations.has(held)) return false;
          const next = Math.min(bytes, most_bytes);
          const needed = next - held.bytes;
          if (needed <= 0) return true;
          const owned = (byOwner.get(owner) ?? 0) + needed;
          if (reserved_bytes + needed > capacity_bytes && !takeFromOthers(needed, owned)) return false;
          set(held, next);
          onChange();
          return true;
        },
        settle: () => void (held.isFixed = true),
        release() {
          if (!reservations.delete(held)) return;
          set(held, 0);
          onChange();
        },
      };
    },
    reserved_bytes: () => reserved_bytes,
  };
}
