/**
 * One request from its head to the end of its answer, the same on every adapter of the HTTP port: admission,
 * collecting, the answer, what happens when something throws or the client leaves. It opens no socket and knows no
 * server: the adapter feeds it what arrives and hands it a Wire to write on.
 */
import { bodiless, type Collector, collector, type Coming, DROP_MAX_BYTES, faulty } from "./framing.ts";
import type { Admission, Admit, Body, Gone, Head, Reply, Stream } from "./http.ts";

/** What an adapter can write. Each returns at once; none throws; after `left` none is called. */
export interface Wire {
  /** The whole answer. `bytes` null: no content, of `length` were it asked for, or of no length at all. */
  readonly whole: (reply: Reply, bytes: Buffer | null, length: number | null, close: boolean) => void;
  /** The head, when the first piece of a stream is there: a source that fails before that can still be a 500. */
  readonly head: (reply: Reply, length: number | null, close: boolean) => void;
  /** True when the next piece may come, false when the client has gone. */
  readonly piece: (bytes: Buffer) => true | Promise<boolean>;
  readonly end: () => void;
  /** The connection, in the middle of an answer: the client must see that it is not whole. */
  readonly cut: () => void;
}

/** What an adapter says of the request. */
export interface Exchange {
  readonly piece: (bytes: Uint8Array, last: boolean) => void;
  readonly left: () => void;
}

const EMPTY = Buffer.alloc(0);
/** One for all: an exception of its own for each client that leaves costs a stack trace. */
const GONE = new Error("The client has gone");
const TOO_LARGE: Body = { kind: "too_large" };
const LAST_RESORT: Reply = {
  status: 500,
  headers: { "content-type": "application/json" },
  body: Buffer.from('{"detail":"internal error"}'),
};

interface Parties {
  readonly admit: Admit;
  readonly failed: (problem: unknown, head: Head) => Reply;
}

/** Nine requests of ten are over before anybody asks for the signal. */
class Departure implements Gone {
  aborted = false;
  controller: AbortController | null = null;
  get signal(): AbortSignal {
    if (this.controller === null) {
      this.controller = new AbortController();
      if (this.aborted) this.controller.abort(GONE);
    }
    return this.controller.signal;
  }
  abort(): void {
    this.aborted = true;
    this.controller?.abort(GONE);
  }
}

export function exchange(head: Head, announced: Coming, { admit, failed }: Parties, wire: Wire): Exchange {
  const gone = new Departure();
  const known_bytes = announced.kind === "known" ? announced.bytes : null;
  let received_bytes = 0;
  let arrived = announced.kind !== "known" && announced.kind !== "unknown";
  let over = false;
  /** Ready, and kept back until a body of unknown length has ended. */
  let held: Reply | null = null;
  let collecting: Collector | null = null;
  let admission: Admission | null = null;

  /** After a broken promise nothing more of the answer can be believed, not even its faultiness. */
  function fail(problem: unknown): void {
    let reply = LAST_RESORT;
    try {
      const made = failed(problem, head);
      if (faulty(made) === null && (!made.body || Buffer.isBuffer(made.body))) reply = made;
      else release(made);
    } catch {
      // The one who was to report is broken as well: the client still gets an answer.
    }
    deliver(reply);
  }

  function settle(reply: Reply): void {
    const fault = faulty(reply);
    if (fault === null) return deliver(reply);
    release(reply);
    fail(new Error(`Cannot answer ${head.method} "${head.path}": the reply has ${fault}`));
  }

  function deliver(reply: Reply): void {
    if (over) return release(reply);
    if (!arrived && announced.kind === "unknown") {
      // uWebSockets.js cannot close a connection it has answered on: the end of the body, or its limit, comes first.
      held = reply;
      return;
    }
    over = true;
    collecting = null;
    write(reply, !arrived && known_bytes! - received_bytes > DROP_MAX_BYTES);
  }

  function write(reply: Reply, close: boolean): void {
    const { status, body = EMPTY } = reply;
    const stream = Buffer.isBuffer(body) ? null : body;
    if (bodiless(status) || head.method === "HEAD") {
      const length = bodiless(status) ? null : stream ? stream.length : (body as Buffer).length;
      wire.whole(reply, null, length, close);
      release(reply);
    } else if (stream) void pour(reply, stream, close);
    else wire.whole(reply, body as Buffer, (body as Buffer).length, close);
  }

  /** Reads one piece ahead of the client, never two; the source is told to stop however this ends. */
  async function pour(reply: Reply, { length, chunks }: Stream, close: boolean): Promise<void> {
    let left_bytes = length ?? Infinity;
    let begun = false;
    let source: AsyncIterator<Buffer> | null = null;
    const stop = () => void stopped(source);
    const pull = () => {
      const next = source!.next();
      next.catch(() => {}); // Awaited below, perhaps only after the client has gone.
      return next;
    };
    gone.signal.addEventListener("abort", stop);
    try {
      source = chunks[Symbol.asyncIterator]();
      for (let next = pull(); left_bytes > 0;) {
        const { done, value } = await next;
        if (gone.aborted) return;
        if (done) break;
        const bytes = value.length > left_bytes ? value.subarray(0, left_bytes) : value;
        left_bytes -= bytes.length;
        if (left_bytes > 0) next = pull();
        if (bytes.length === 0) continue;
        if (!begun) wire.head(reply, length, close);
        begun = true;
        const ready = wire.piece(bytes);
        if (ready !== true && !(await ready)) return;
      }
      if (length !== null && left_bytes > 0) {
        const missing = `the source ended ${left_bytes} of ${length} bytes early`;
        throw new Error(`Cannot answer ${head.method} "${head.path}": ${missing}`);
      }
      if (!begun) wire.head(reply, length, close);
      wire.end();
    } catch (problem) {
      if (gone.aborted) return;
      if (begun) {
        try {
          release(failed(problem, head));
        } catch {
          // Told for the log only: the status has been sent.
        }
        wire.cut();
      } else {
        over = false;
        fail(problem);
      }
    } finally {
      gone.signal.removeEventListener("abort", stop);
      stop();
    }
  }

  function ask(body: Body): void {
    if (admission === null || "status" in admission) return;
    try {
      const answer = admission.answer(body);
      if (answer instanceof Promise) answer.then(settle, fail);
      else settle(answer);
    } catch (problem) {
      fail(problem);
    }
  }

  try {
    admission = admit(head, gone);
    if ("status" in admission) settle(admission);
    else if (announced.kind === "none") ask({ kind: "whole", bytes: EMPTY });
    else if (known_bytes !== null && known_bytes > admission.limit_bytes) ask(TOO_LARGE);
    else collecting = collector(known_bytes, admission.limit_bytes);
  } catch (problem) {
    fail(problem);
  }

  return {
    piece(bytes, last) {
      received_bytes += bytes.length;
      arrived ||= last;
      if (collecting) {
        try {
          const fits = collecting.add(bytes);
          const body: Body | null = fits
            ? last
              ? { kind: "whole", bytes: collecting.whole() }
              : null
            : TOO_LARGE;
          if (body) collecting = null;
          if (body) ask(body);
        } catch (problem) {
          collecting = null; // No memory for it.
          fail(problem);
        }
      }
      if (over || held === null) return;
      if (!arrived && received_bytes <= DROP_MAX_BYTES) return;
      over = true;
      write(held, !arrived);
    },
    left() {
      over = true;
      collecting = null;
      if (held) release(held);
      gone.abort();
    },
  };
}

async function stopped(source: AsyncIterator<Buffer> | null): Promise<void> {
  try {
    await source?.return?.();
  } catch {
    // Its end interests nobody any more.
  }
}

/** A stream that will not be sent: its source may hold something open. */
function release({ body }: Reply): void {
  if (!body || Buffer.isBuffer(body)) return;
  try {
    void stopped(body.chunks[Symbol.asyncIterator]());
  } catch {
    // Not even to be begun: then it holds nothing.
  }
}
