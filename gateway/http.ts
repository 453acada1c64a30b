/**
 * The HTTP port: heads and bytes in, heads and bytes out. An adapter is responsible for copying, aborts, collecting bodies,
 * corking, HEAD, 204 and 304, backpressure, header checks, refusing malformed framing and draining, and for nothing else.
 */

import type { SocketPath } from "./socket-paths.ts";

/** A request's head, copied before any wait, so that it outlives the socket. */
export interface Head {
  readonly method: string;
  /** Raw and still percent-encoded, without the query. */
  readonly path: string;
  readonly query: string;
  /** Names in lower case; repeated fields joined by ", ". */
  readonly headers: ReadonlyMap<string, string>;
  /**
   * The peer's address as text, IPv4 always in dotted form. A function, because reading it costs more than the rest of the
   * head. Read it before the answer is given: afterwards, or when the client has disconnected, it is "".
   */
  readonly address: () => string;
}

/** Bytes only: a string would leave its encoding to the binding. */
export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Fields that are sent more than once under one name. */
  readonly repeated_headers?: readonly (readonly [name: string, value: string])[];
  readonly body?: Buffer | BorrowedBuffer | Stream;
}

/**
 * A shared buffer for answers that are sent often and differ little: a copy for each answer would cost more than the rest of
 * the request. `take` is called at most once, when the bytes are written; the buffer is reused for another answer right after.
 */
export interface BorrowedBuffer {
  readonly length: number;
  readonly take: () => Buffer;
}

/**
 * `length` null means unknown: sent chunked. The head leaves with the first piece, so a source that fails before it is
 * still a 500; one that fails later, or gives less than its length, cuts the connection. The adapter reads one piece
 * ahead of the client and calls return() however it ends; a source that waits for long should watch the client's signal as well.
 */
export interface Stream {
  readonly length: number | null;
  readonly chunks: AsyncIterable<Buffer>;
}

/** Decision on a request from its head alone: a refusal, or the body's limit and the function that answers. */
export type Admission = Reply | Admitted;

export interface Admitted {
  /**
   * A larger body is passed on as `too_large` (413), and the connection stays open. Each request may hold one body of this
   * size in memory: `hasRoom` limits their bytes.
   */
  readonly limit_bytes: number;
  /** False: what has arrived is dropped, and the body is passed on as `no_room`. Default: there is room for the limit. */
  readonly hasRoom?: HasRoom;
  /** Synchronous where the answer is ready: a promise costs as much as the rest of a request. */
  readonly answer: (body: Body) => Reply | Promise<Reply>;
}

/**
 * Called before the adapter holds so many bytes of the body in memory. `onTaken` is called when the room is needed for another
 * request: the bytes are dropped then, and the body is passed on as `no_room`.
 */
export type HasRoom = (bytes: number, onTaken: () => void) => boolean;

/** The admission is not known yet. The adapter reads no more of the body until then; what came with the head needs room. */
export interface Pending {
  /** Never rejects. */
  readonly admission: Promise<Admission>;
  readonly hasRoom: HasRoom;
}

export type Body =
  | { readonly kind: "whole"; readonly bytes: Buffer }
  | { readonly kind: "too_large" }
  /** It came more slowly than a body must (upload-pace.ts). */
  | { readonly kind: "too_slow" }
  | { readonly kind: "no_room" }
  /** Its Content-Encoding says otherwise than its bytes. */
  | { readonly kind: "unreadable"; readonly coding: string };

/** Whether the client disconnected before its answer was written. Most requests end without reading this. */
export interface ClientAbort {
  readonly aborted: boolean;
  /** Created on first use. */
  readonly signal: AbortSignal;
}

/** Synchronous. If it throws, `failed` makes the answer. */
export type Admit = (head: Head, abort: ClientAbort) => Admission | Pending;

export interface Listening {
  readonly port: number;
  /** "uWebSockets.js" or "node:http". */
  readonly name: string;
  /** Refuses new connections, lets what is in flight end within the time, then cuts. */
  readonly close: (within_ms: number) => Promise<void>;
}

/** PEM. */
export interface TlsPair {
  readonly cert: string;
  readonly key: string;
}

export interface TlsSource {
  readonly current: () => TlsPair;
  /** Calls back with each later pair: new connections get it. */
  readonly onChange: (call: (pair: TlsPair) => void) => void;
}

export interface ListenOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Several processes on one port (SO_REUSEPORT), which must be named; false fails when the port is taken. */
  readonly shared: boolean;
  /** Where a WebSocket is opened and closed at once (socket-paths.ts). Default: nowhere. */
  readonly socket_paths?: readonly SocketPath[];
  /** Serves HTTPS. Absent: HTTP. Only node:http has it (choose-http.ts). */
  readonly tls?: TlsSource;
  /**
   * An answer that throws or cannot be written (a line break in a header): logged and turned into a 500. Told of a
   * stream that broke in the middle as well; its reply is not sent then. Its body is bytes, never a stream.
   */
  readonly failed: (problem: unknown, head: Head) => Reply;
}

export type Listen = (admit: Admit, options: ListenOptions) => Promise<Listening>;
