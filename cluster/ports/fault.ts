/**
 * Failures of our own engines and nodes. Each code has one meaning, one value of the metric label `code`, and one entry
 * in docs/operating/runbook.md.
 */
export const FAULT_CODES = [
  "bus_unreachable",
  "documents_unreachable",
  "bodies_unreachable",
  "body_damaged",
  "document_damaged",
  "document_contended",
  "no_descriptors",
  "mailbox_full",
  "overloaded",
  "message_too_large",
  "no_answer",
  "no_workers",
  "lease_lost",
  "secret_unreadable",
] as const;
export type FaultCode = (typeof FAULT_CODES)[number];

/**
 * A failure of our own infrastructure: a store, the bus, another node. A verdict about a page is a FetchError instead,
 * and a bug is an AssertionError.
 */
export class Fault extends Error {
  override readonly name = "Fault";
  readonly code: FaultCode;

  constructor(code: FaultCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

const INFRASTRUCTURE: ReadonlySet<FaultCode> = new Set([
  "bus_unreachable",
  "documents_unreachable",
  "bodies_unreachable",
  "document_contended",
  "no_descriptors",
  "no_workers",
]);

/**
 * Whether the bus or a store did not answer, other writers were always first, this node has no file descriptor left, or no node owns the key. Nothing is wrong then with the message or with the code that handled it: the
 * message waits and is tried again, and never counts as poison. Everything else that a turn throws is a bug.
 */
export const isInfrastructureFault = (problem: unknown): problem is Fault =>
  problem instanceof Fault && INFRASTRUCTURE.has(problem.code);
