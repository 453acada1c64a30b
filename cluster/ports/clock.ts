/** Time for the runtime and the actors. Only adapters read Date or set timers, so tests can move time themselves. */
export interface Clock {
  /** Wall-clock time in Unix milliseconds, for what is shown or stored. */
  now(): number;
  /** Monotonic milliseconds, for durations and leases; comparable within one process only. */
  mono(): number;
  /** Calls back once, when now() has reached at_ms. Disposing the handle cancels the call. */
  at(at_ms: number, call: () => void): Disposable;
}
