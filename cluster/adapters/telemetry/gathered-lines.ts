/**
 * Log lines that are written together: a write of its own for each line, which wakes the reader of the pipe, was a third of what
 * a line of a request cost.
 */

/** A full write: containers split records of their logs at 16 KB. */
export const FULL_CHARS = 8_192;

export interface GatheredLines {
  /** Written by the next `flush`, or now where enough wait. */
  readonly add: (line: string) => void;
  /** Writes what waits. */
  readonly flush: () => void;
}

/** `later` calls back once after a moment; it is called when a line waits and none did before. */
export function gatheredLines(
  write: (lines: string) => void,
  later: (flush: () => void) => void,
): GatheredLines {
  let waiting = "";
  let isScheduled = false;

  function flush(): void {
    if (waiting === "") return;
    const lines = waiting;
    waiting = "";
    write(lines);
  }

  function onTime(): void {
    isScheduled = false;
    flush();
  }

  return {
    add(line) {
      waiting += line;
      if (waiting.length >= FULL_CHARS) return flush();
      if (isScheduled) return;
      isScheduled = true;
      later(onTime);
    },
    flush,
  };
}
