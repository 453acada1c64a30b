/** Lets everything else that waits in this process have its turn: between two slices of long work. */
export type YieldToEventLoop = () => Promise<void>;
