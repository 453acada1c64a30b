/**
 * The tells that waited on the bus for the new owner of a partition. They were sent before it owned the partition, and its
 * actors know what they say only once they are in their mailboxes: until then no ask goes into one.
 */
export interface Backlog {
  /** Undefined: all of them are in their mailboxes. Also resolves when the partition closes. */
  readonly unread: () => Promise<void> | undefined;
  /** `tells`: so many wait. Counted in the order of their delivery, before all others. */
  readonly open: (tells: number) => void;
  /** A tell was taken, or left for another version. */
  readonly taken: () => void;
  /** Whether some are still to come, as many as when this was asked last. */
  readonly hasStood: () => boolean;
  readonly close: () => void;
}

export function backlog(): Backlog {
  const { promise, resolve } = Promise.withResolvers<void>();
  let remaining = Infinity;
  let before = 0;
  const setRemaining = (tells: number): void => {
    remaining = tells;
    if (remaining <= 0) resolve();
  };
  return {
    unread: () => (remaining > 0 ? promise : undefined),
    open: setRemaining,
    taken: () => setRemaining(remaining - 1),
    hasStood() {
      const hasStood = remaining > 0 && remaining === before;
      before = remaining;
      return hasStood;
    },
    close: () => setRemaining(0),
  };
}
