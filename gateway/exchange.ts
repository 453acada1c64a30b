/**
 * A request from its head to the end of its answer, the same for every adapter of the HTTP port: admission, collecting
 * the body, the answer, exceptions and disconnects. It opens no socket: the adapter passes in what arrives and provides a
 * Wire to write on.
 */
import {
  hasNoBody,
  type Collector,
  collector,
  type BodyFraming,
  DROP_MAX_BYTES,
  replyDefect,
} from "./framing.ts";
import type {
  Admission,
  Admit,
  Admitted,
  Body,
  BorrowedBuffer,
  ClientAbort,
  HasRoom,
  Head,
  Pending,
  Reply,
  Stream,
} from "./http.ts";
import type { Upload } from "./upload-pace.ts";

/** Writes of an adapter. Each function returns at once and never throws; none is called after `onClientAbort`. */
export interface Wire {
  /** A whole answer up to this size is copied before `whole` returns, so its buffer may be reused afterwards. */
  readonly copied_max_bytes: number;
  /** The whole answer. With `bytes` null there is no content: `length` is what a GET would have, or null for no length. */
  readonly whole: (reply: Reply, bytes: Buffer | null, length: number | null, close: boolean) => void;
  /** The head, sent with the first piece of a stream: a source that fails before it can still become a 500. */
  readonly head: (reply: Reply, length: number | null, close: boolean) => void;
  /** True when the next piece may come, false when the client has gone. */
  readonly piece: (bytes: Buffer) => true | Promise<boolean>;
  readonly end: () => void;
  /** Cuts the connection in the middle of an answer, so that the client sees that it is incomplete. */
  readonly cut: () => void;
  /** Reads no more of the body, but for what has arrived already, until `resume`. */
  readonly pause: () => void;
  /** Whether it may be paused before a piece has come, so that none is held. */
  readonly pauses_at_once: boolean;
  readonly resume: () => void;
}

/** The part of a body that arrived before its request was admitted. */
interface Early {
  readonly hasRoom: HasRoom;
  readonly pieces: Buffer[];
  bytes: number;
  isDropped: boolean;
  /** The connection is not read until the admission has come. */
  isPaused: boolean;
}

const EMPTY = Buffer.alloc(0);
/** Shared: a new error for each disconnect would cost a stack trace. */
const CLIENT_ABORTED = new Error("The client has gone");
const TOO_LARGE: Body = { kind: "too_large" };
const NO_ROOM: Body = { kind: "no_room" };
const TOO_SLOW: Body = { kind: "too_slow" };
const LAST_RESORT: Reply = {
  status: 500,
  headers: { "content-type": "application/json" },
  body: Buffer.from('{"detail":"internal error"}'),
};

interface Parties {
  readonly admit: Admit;
  readonly failed: (problem: unknown, head: Head) => Reply;
}

export function exchange(head: Head, framing: BodyFraming, parties: Parties, wire: Wire): Exchange {
  const call = new Exchange(head, framing, parties, wire);
  call.begin();
  return call;
}

/** A single object instead of a dozen closures for each request: those were a tenth of a cached answer's cost. */
export class Exchange implements ClientAbort, Upload {
  readonly #head: Head;
  readonly #framing: BodyFraming;
  readonly #parties: Parties;
  readonly #wire: Wire;
  /** A field of Upload. */
  received_bytes = 0;
  #arrived: boolean;
  #over = false;
  /** A reply that waits until a body of unknown length has ended. */
  #pendingReply: Reply | null = null;
  #collecting: Collector | null = null;
  #early: Early | null = null;
  #admission: Admitted | null = null;
  #abortController: AbortController | null = null;
  /** No more of the body is awaited. */
  #isTooSlow = false;
  /** A field of ClientAbort. */
  aborted = false;

  constructor(head: Head, framing: BodyFraming, parties: Parties, wire: Wire) {
    this.#head = head;
    this.#framing = framing;
    this.#parties = parties;
    this.#wire = wire;
    this.#arrived = framing.kind !== "known" && framing.kind !== "unknown";
  }

  begin(): void {
    try {
      const admission = this.#parties.admit(this.#head, this);
      if ("admission" in admission) this.#await(admission);
      else this.#proceed(admission);
    } catch (problem) {
      this.#fail(problem);
    }
  }

  #await({ admission, hasRoom }: Pending): void {
    const isPaused = !this.#arrived && this.#wire.pauses_at_once;
    this.#early = { hasRoom, pieces: [], bytes: 0, isDropped: false, isPaused };
    if (isPaused) this.#wire.pause();
    void admission.then((admitted) => {
      const early = this.#early;
      this.#early = null;
      if (early === null) return;
      // Before the answer, behind which the rest of the body is read and dropped.
      if (early.isPaused) this.#wire.resume();
      try {
        this.#proceed(admitted);
        if (early.isDropped && this.#collecting) this.#endBody(NO_ROOM);
        for (const [at, piece] of early.pieces.entries())
          this.#take(piece, this.#arrived && at === early.pieces.length - 1);
      } catch (problem) {
        this.#fail(problem);
      }
    });
  }

  #proceed(admission: Admission): void {
    if ("status" in admission) return this.#complete(admission);
    this.#admission = admission;
    const bytes = this.#knownBytes();
    if (this.#framing.kind === "none") this.#requestAnswer({ kind: "whole", bytes: EMPTY });
    else if (bytes !== null && bytes > admission.limit_bytes) this.#requestAnswer(TOO_LARGE);
    else this.#collecting = collector(bytes, admission.limit_bytes);
  }

  /** Takes the next piece of the body from the adapter. */
  piece(bytes: Uint8Array, last: boolean): void {
    this.received_bytes += bytes.length;
    this.#arrived ||= last;
    if (this.#early) this.#keepEarly(this.#early, bytes, last);
    else this.#take(bytes, last);
    if (this.#over || this.#pendingReply === null) return;
    if (!this.#arrived && this.received_bytes <= DROP_MAX_BYTES) return;
    this.#over = true;
    this.#write(this.#pendingReply, !this.#arrived);
  }

  #keepEarly(early: Early, bytes: Uint8Array, last: boolean): void {
    if (!last && !early.isPaused) {
      early.isPaused = true;
      this.#wire.pause();
    }
    const drop = (): void => {
      early.isDropped = true;
      early.pieces.length = 0;
    };
    if (early.isDropped) return;
    early.bytes += bytes.length;
    if (early.hasRoom(early.bytes, drop)) early.pieces.push(Buffer.from(bytes));
    else drop();
  }

  #take(bytes: Uint8Array, last: boolean): void {
    const collecting = this.#collecting;
    if (!collecting) return;
    try {
      const body = this.#collect(collecting, bytes, last);
      if (body) this.#endBody(body);
    } catch (problem) {
      this.#collecting = null; // No memory for it.
      this.#fail(problem);
    }
  }

  /** Null: more is to come. */
  #collect(collecting: Collector, bytes: Uint8Array, last: boolean): Body | null {
    const hasRoom = this.#admission?.hasRoom;
    if (hasRoom && !hasRoom(collecting.bytesWith(bytes.length), () => this.#onRoomTaken())) return NO_ROOM;
    if (!collecting.add(bytes)) return TOO_LARGE;
    return last ? { kind: "whole", bytes: collecting.whole() } : null;
  }

  #endBody(body: Body): void {
    this.#collecting = null;
    this.#requestAnswer(body);
  }

  #onRoomTaken(): void {
    if (this.#collecting) this.#endBody(NO_ROOM);
  }

  /** Bytes are not awaited while the admission is pending: nothing is read then. */
  get isAwaited(): boolean {
    return this.#early === null && !this.#arrived;
  }

  /** The connection ends, after the answer. */
  onTooSlow(): void {
    this.#isTooSlow = true;
    if (this.#collecting) this.#endBody(TOO_SLOW);
    else if (this.#pendingReply) {
      this.#over = true;
      this.#write(this.#pendingReply, true);
      this.#pendingReply = null;
    } else if (this.#over) this.#wire.cut();
  }

  /** The client disconnected. The adapter calls nothing after this. */
  onClientAbort(): void {
    this.#over = true;
    this.#collecting = null;
    this.#early = null;
    if (this.#pendingReply) releaseStream(this.#pendingReply);
    this.aborted = true;
    this.#abortController?.abort(CLIENT_ABORTED);
  }

  get signal(): AbortSignal {
    if (this.#abortController === null) {
      this.#abortController = new AbortController();
      if (this.aborted) this.#abortController.abort(CLIENT_ABORTED);
    }
    return this.#abortController.signal;
  }

  #knownBytes(): number | null {
    return this.#framing.kind === "known" ? this.#framing.bytes : null;
  }

  #requestAnswer(body: Body): void {
    const admission = this.#admission;
    if (admission === null) return;
    try {
      const answer = admission.answer(body);
      if (answer instanceof Promise)
        answer.then(
          (reply) => this.#complete(reply),
          (problem: unknown) => this.#fail(problem),
        );
      else this.#complete(answer);
    } catch (problem) {
      this.#fail(problem);
    }
  }

  /** Replaces the answer by a 500; if that fails too, by LAST_RESORT. */
  #fail(problem: unknown): void {
    let reply = LAST_RESORT;
    try {
      const made = this.#parties.failed(problem, this.#head);
      if (replyDefect(made) === null && (!made.body || Buffer.isBuffer(made.body))) reply = made;
      else releaseStream(made);
    } catch {
      // `failed` threw as well; the client still gets LAST_RESORT.
    }
    this.#deliver(reply);
  }

  #complete(reply: Reply): void {
    const fault = replyDefect(reply);
    if (fault === null) return this.#deliver(reply);
    releaseStream(reply);
    const { method, path } = this.#head;
    this.#fail(new Error(`Cannot answer ${method} "${path}": the reply has ${fault}`));
  }

  #deliver(reply: Reply): void {
    if (this.#over) return releaseStream(reply);
    if (!this.#arrived && this.#framing.kind === "unknown" && !this.#isTooSlow) {
      // uWebSockets.js cannot close a connection it has answered on: the end of the body, or its limit, comes first.
      this.#pendingReply = reply;
      return;
    }
    this.#over = true;
    this.#collecting = null;
    const left_bytes = this.#arrived ? 0 : (this.#knownBytes() ?? Infinity) - this.received_bytes;
    this.#write(reply, this.#isTooSlow || left_bytes > DROP_MAX_BYTES);
  }

  #write(reply: Reply, close: boolean): void {
    const { status, body = EMPTY } = reply;
    if (hasNoBody(status) || this.#head.method === "HEAD") {
      this.#wire.whole(reply, null, hasNoBody(status) ? null : body.length, close);
      releaseStream(reply);
    } else if (Buffer.isBuffer(body)) this.#wire.whole(reply, body, body.length, close);
    else if ("take" in body) this.#writeBorrowed(reply, body, close);
    else void this.#writeStream(reply, body, close);
  }

  #writeBorrowed(reply: Reply, { length, take }: BorrowedBuffer, close: boolean): void {
    let bytes: Buffer;
    try {
      bytes = length > this.#wire.copied_max_bytes ? Buffer.from(take()) : take();
    } catch (problem) {
      this.#over = false;
      return this.#fail(problem);
    }
    this.#wire.whole(reply, bytes, bytes.length, close);
  }

  /** Reads one piece ahead of the client, never two. The source is stopped however this ends. */
  async #writeStream(reply: Reply, { length, chunks }: Stream, close: boolean): Promise<void> {
    const wire = this.#wire;
    let remaining_bytes = length ?? Infinity;
    let hasHead = false;
    let source: AsyncIterator<Buffer> | null = null;
    const stop = () => void stopSource(source);
    const pull = () => {
      const next = source!.next();
      next.catch(() => {}); // Awaited below, perhaps after the client has disconnected.
      return next;
    };
    const { signal } = this;
    signal.addEventListener("abort", stop);
    try {
      source = chunks[Symbol.asyncIterator]();
      for (let next = pull(); remaining_bytes > 0;) {
        const { done, value } = await next;
        if (this.aborted) return;
        if (done) break;
        const bytes = value.length > remaining_bytes ? value.subarray(0, remaining_bytes) : value;
        remaining_bytes -= bytes.length;
        if (remaining_bytes > 0) next = pull();
        if (bytes.length === 0) continue;
        if (!hasHead) wire.head(reply, length, close);
        hasHead = true;
        const ready = wire.piece(bytes);
        if (ready !== true && !(await ready)) return;
      }
      if (length !== null && remaining_bytes > 0) {
        const missing = `the source ended ${remaining_bytes} of ${length} bytes early`;
        const { method, path } = this.#head;
        throw new Error(`Cannot answer ${method} "${path}": ${missing}`);
      }
      if (!hasHead) wire.head(reply, length, close);
      wire.end();
    } catch (problem) {
      if (this.aborted) return;
      if (hasHead) {
        try {
          releaseStream(this.#parties.failed(problem, this.#head));
        } catch {
          // For the log only: the status has been sent.
        }
        wire.cut();
      } else {
        this.#over = false;
        this.#fail(problem);
      }
    } finally {
      signal.removeEventListener("abort", stop);
      stop();
    }
  }
}

async function stopSource(source: AsyncIterator<Buffer> | null): Promise<void> {
  try {
    await source?.return?.();
  } catch {
    // The answer is over; how its source ends does not matter.
  }
}

/** Stops a stream that will not be sent: its source may hold resources. */
export function releaseStream({ body }: Reply): void {
  if (!body || Buffer.isBuffer(body) || "take" in body) return;
  try {
    void stopSource(body.chunks[Symbol.asyncIterator]());
  } catch {
    // A source that cannot be started holds no resources.
  }
}
