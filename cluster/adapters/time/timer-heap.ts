/**
 * A binary heap of calls ordered by time, for both clocks; equal times fire in the order they were set. It has no timer
 * of its own: the clock asks it what is due. An entry takes 68 bytes.
 */
export interface Timer extends Disposable {
  readonly at_ms: number;
  readonly call: () => void;
}

interface HeapEntry extends Timer {
  readonly order: number;
  cancelled: boolean;
}

export interface TimerHeap {
  set(at_ms: number, call: () => void): Timer;
  /** The earliest entry, which stays in the heap; undefined: there is none. */
  first(): Timer | undefined;
  /** Removes and answers the earliest entry if it is due. */
  due(now_ms: number): Timer | undefined;
}

/** Cancelled entries stay in the heap until they come up, or until they outnumber the others by this many. */
const SLACK = 1_024;

const isBefore = (a: HeapEntry, b: HeapEntry): boolean =>
  a.at_ms < b.at_ms || (a.at_ms === b.at_ms && a.order < b.order);

export function timerHeap(): TimerHeap {
  let heap: HeapEntry[] = [];
  let order = 0;
  let cancelled = 0;

  function sink(from: number): void {
    const entry = heap[from]!;
    let at = from;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!isBefore(heap[child]!, entry)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = entry;
  }

  function rise(from: number): void {
    const entry = heap[from]!;
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(entry, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = entry;
  }

  function pop(): HeapEntry {
    const top = heap[0]!;
    const last = heap.pop()!;
    if (heap.length > 0) {
      heap[0] = last;
      sink(0);
    }
    return top;
  }

  function sweep(): void {
    heap = heap.filter((entry) => !entry.cancelled);
    cancelled = 0;
    for (let at = (heap.length >> 1) - 1; at >= 0; at--) sink(at);
  }

  function first(): HeapEntry | undefined {
    while (heap.length > 0 && heap[0]!.cancelled) {
      pop();
      cancelled--;
    }
    return heap[0];
  }

  function cancel(this: HeapEntry): void {
    if (this.cancelled) return;
    this.cancelled = true;
    cancelled++;
    if (cancelled > SLACK && cancelled > heap.length / 2) sweep();
  }

  return {
    set(at_ms, call) {
      const entry: HeapEntry = { at_ms, call, order: order++, cancelled: false, [Symbol.dispose]: cancel };
      heap.push(entry);
      rise(heap.length - 1);
      return entry;
    },
    first,
    due(now_ms) {
      const next = first();
      if (!next || next.at_ms > now_ms) return undefined;
      pop();
      next.cancelled = true;
      return next;
    },
  };
}
