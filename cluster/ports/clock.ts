/** Time as the cluster sees it. Nothing outside an adapter reads Date or sets a timer. */
export interface Clock {
  /** Wall time in Unix milliseconds, for what is shown or stored. */
  now(): number;
  /** Milliseconds that only grow, for durations and leases; comparable within one process only. */
  mono(): number;
  /** Calls back once, no earlier than at_ms of now(). The handle cancels it. */
  at(at_ms: number, call: () => void): Disposable;
}
