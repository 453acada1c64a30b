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
  /** The peer's address as text. Asked only where it is needed: it costs more than all the rest. */
  readonly address: () => string;
}

/** Bytes only: a string would leave its encoding to the binding. */
export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | Stream;
}

/** `length` null means unknown: sent chunked. The adapter stops reading (return()) when the client has gone. */
export interface Stream {
  readonly length: number | null;
  readonly chunks: AsyncIterable<Buffer>;
}

/** Decided from the head alone, at once: a refusal, or how much body may come and who answers. */
export type Admission =
  | Reply
  | {
      /** More than this is 413: the body says `too_large`, the connection stays open. */
      readonly limit_bytes: number;
      readonly answer: (body: Body) => Promise<Reply>;
    };

export type Body = { readonly kind: "whole"; readonly bytes: Buffer } | { readonly kind: "too_large" };

/** `gone` aborts when the client leaves before its answer has been written. */
export type Admit = (head: Head, gone: AbortSignal) => Admission;

export interface Listening {
  readonly port: number;
  /** "uWebSockets.js" or "node:http". */
  readonly name: string;
  /** Refuses new connections, lets what is in flight end within the time, then cuts. */
  close(within_ms: number): Promise<void>;
}

export interface ListenOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Several processes on one port (SO_REUSEPORT); false fails when the port is taken. */
  readonly shared: boolean;
  /** An answer that throws: logged by the caller, answered with 500 by the adapter's caller. */
  readonly failed: (problem: unknown, head: Head) => Reply;
}

export type Listen = (admit: Admit, options: ListenOptions) => Promise<Listening>;
