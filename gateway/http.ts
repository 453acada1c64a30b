/**
 * The HTTP port: bytes and heads in, bytes and heads out. An adapter owns copying, aborts, collecting, cork, HEAD,
 * 204 and 304, backpressure, header checks, refusing broken framing and drain, and nothing else.
 */

/** A request's head, copied before anything waits: nothing in it dies with the socket. */
export interface Head {
  readonly method: string;
  /** Raw and still percent-encoded, without the query. */
  readonly path: string;
  readonly query: string;
  /** Names in lower case; repeated fields joined by ", ". */
  readonly headers: ReadonlyMap<string, string>;
  /**
   * The peer's address as text, an IPv4 one always in dotted form. Asked only where it is needed: it costs more than
   * all the rest. To be asked for before the answer is given: after that, or when the client has gone, it is "".
   */
  readonly address: () => string;
}

/** Bytes only: a string would leave its encoding to the binding. */
export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | BorrowedBuffer | Stream;
}

/**
 * Bytes for what is sent again and again, little changed: a copy of its own for each answer costs more than all the
 * rest. `take` is called at most once, when they are written; what it gives is another answer's a moment later.
 */
export interface BorrowedBuffer {
  readonly length: number;
  readonly take: () => Buffer;
}

/**
 * `length` null means unknown: sent chunked. The head leaves with the first piece, so a source that fails before it is
 * still a 500; one that fails later, or gives less than its length, cuts the connection. The adapter reads one piece
 * ahead of the client and calls return() however it ends; a source that waits for long watches `gone` as well.
 */
export interface Stream {
  readonly length: number | null;
  readonly chunks: AsyncIterable<Buffer>;
}

/** Decided from the head alone, at once: a refusal, or how much body may come and who answers. */
export type Admission =
  | Reply
  | {
      /**
       * More than this is 413: the body says `too_large`, the connection stays open. One body of this size may be held
       * for each request: whoever admits counts how many.
       */
      readonly limit_bytes: number;
      /** Answered at once where the answer is there: a promise costs as much as the rest. */
      readonly answer: (body: Body) => Reply | Promise<Reply>;
    };

export type Body = { readonly kind: "whole"; readonly bytes: Buffer } | { readonly kind: "too_large" };

/** Whether the client left before its answer had been written. Most requests end without anybody asking. */
export interface ClientAbort {
  readonly aborted: boolean;
  /** Made when it is first asked for. */
  readonly signal: AbortSignal;
}

/** It does not wait and may throw: `failed` makes the answer. */
export type Admit = (head: Head, abort: ClientAbort) => Admission;

export interface Listening {
  readonly port: number;
  /** "uWebSockets.js" or "node:http". */
  readonly name: string;
  /** Refuses new connections, lets what is in flight end within the time, then cuts. */
  readonly close: (within_ms: number) => Promise<void>;
}

export interface ListenOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Several processes on one port (SO_REUSEPORT), which must be named; false fails when the port is taken. */
  readonly shared: boolean;
  /**
   * An answer that throws or cannot be written (a line break in a header): logged and turned into a 500. Told of a
   * stream that broke in the middle as well; its reply is not sent then. Its body is bytes, never a stream.
   */
  readonly failed: (problem: unknown, head: Head) => Reply;
}

export type Listen = (admit: Admit, options: ListenOptions) => Promise<Listening>;
