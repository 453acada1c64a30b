/** The addresses that wait to be fetched: the lowest depth first, then the priority, then the order in which they were found. */

const SEGMENT = 4_096;
const NONE = -1;
const PRIORITIES = 8;

export interface Waiting {
  readonly count: () => number;
  readonly add: (ordinal: number, depth: number, priority: number) => void;
  /** The next; null: none waits. */
  readonly take: () => number | null;
  readonly bytes: () => number;
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
    take() {
      for (const rank of ranks) {
        const list = lists.get(rank)!;
        if (list.head === NONE) continue;
        const ordinal = list.head;
        list.head = next[Math.floor(ordinal / SEGMENT)]![ordinal % SEGMENT]!;
        count--;
        return ordinal;
      }
      return null;
    },
    bytes: () => next.length * SEGMENT * Int32Array.BYTES_PER_ELEMENT,
  };
}
