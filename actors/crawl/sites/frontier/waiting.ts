/** The addresses that wait to be fetched: the lowest depth first, then the priority, then the order in which they were found. */

const SEGMENT = 4_096;
const NONE = -1;
const PRIORITIES = 8;

export interface Waiting {
  readonly count: () => number;
  readonly add: (ordinal: number, depth: number, priority: number) => void;
  /** The next of at most this depth; null: none waits. `isWaiting`: false: it was dropped. */
  readonly take: (most_depth: number, isWaiting: (ordinal: number) => boolean) => Next | null;
  /** An address that waits is not to be fetched any more. */
  readonly drop: () => void;
  readonly bytes: () => number;
}

interface Next {
  readonly ordinal: number;
  readonly depth: number;
}

/** Lists that are linked by ordinals: 4 bytes an address. */
export function waiting(): Waiting {
  const next: Int32Array[] = [];
  const lists = new Map<number, { head: number; tail: number }>();
  /** Ranks that have had an address, in order. */
  let ranks: number[] = [];
  let count = 0;

  const setNext = (ordinal: number, after: number): void => {
    const segment = Math.floor(ordinal / SEGMENT);
    while (next.length <= segment) next.push(new Int32Array(SEGMENT));
    next[segment]![ordinal % SEGMENT] = after;
  };

  return {
    count: () => count,
    add(ordinal, depth, priority) {
      const rank = depth * PRIORITIES + priority;
      setNext(ordinal, NONE);
      count++;
      const list = lists.get(rank);
      if (list === undefined) {
        lists.set(rank, { head: ordinal, tail: ordinal });
        ranks = [...ranks, rank].toSorted((a, b) => a - b);
      } else if (list.head === NONE) Object.assign(list, { head: ordinal, tail: ordinal });
      else {
        setNext(list.tail, ordinal);
        list.tail = ordinal;
      }
    },
    take(most_depth, isWaiting) {
      for (const rank of ranks) {
        const depth = Math.floor(rank / PRIORITIES);
        if (depth > most_depth) break;
        const list = lists.get(rank)!;
        while (list.head !== NONE) {
          const ordinal = list.head;
          list.head = next[Math.floor(ordinal / SEGMENT)]![ordinal % SEGMENT]!;
          if (!isWaiting(ordinal)) continue;
          count--;
          return { ordinal, depth };
        }
      }
      return null;
    },
    drop: () => void count--,
    bytes: () => next.length * SEGMENT * Int32Array.BYTES_PER_ELEMENT,
  };
}
