/** Work of a browser that has a time: its pages run code of their own, which may never end. */

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export const LATE: unique symbol = Symbol("late");

/** What the work gives; LATE: it did not end in time. Throws what the work throws before that. */
export async function within<T>(work: Promise<T>, timeout_ms: number): Promise<T | typeof LATE> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(() => resolve(LATE), timeout_ms);
  });
  work.catch(() => {});
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
