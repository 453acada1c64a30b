/** What of ours can break. Each code has one meaning, one metric label and one line in ops/runbook.md. */
export type FaultCode =
  | "bus_unreachable"
  | "documents_unreachable"
  | "bodies_unreachable"
  | "mailbox_full"
  | "message_too_large"
  | "no_answer"
  | "no_workers"
  | "lease_lost";

/**
 * Something of ours did not work: a store, the bus, a neighbour. Never a verdict about a page,
 * which is a FetchError, and never a mistake in our code, which is an AssertionError.
 */
export class Fault extends Error {
  override readonly name = "Fault";
  readonly code: FaultCode;

  constructor(code: FaultCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
