/**
 * Yields to the event loop between two slices of long synchronous work, so that other callbacks of the process run (as
 * scheduler.yield() does).
 */
export type YieldToEventLoop = () => Promise<void>;
