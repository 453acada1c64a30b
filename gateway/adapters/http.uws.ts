/**
 * The HTTP port on uWebSockets.js. The life of a request is in exchange.ts; this file has only what is particular to this server.
 * Its native objects are short-lived: a request is invalid after its callback, a response after its end or its abort,
 * and a callback that throws ends the process. Comments mark each of these traps.
 */
import type {
  HttpRequest,
  HttpResponse,
  TemplatedApp,
  us_listen_socket,
  WebSocketBehavior,
} from "uWebSockets.js";
import { type Exchange, exchange, type Wire } from "../exchange.ts";
import { addField, readFraming, HEADERS_MAX_BYTES } from "../framing.ts";
import type { Admit, Head, Listen, Listening, ListenOptions, Reply } from "../http.ts";
import { normalizeIp } from "../client-ip.ts";
import { NORMAL_CLOSURE, offeredProtocol } from "../socket-paths.ts";
import { type UploadPace, uploadPace } from "../upload-pace.ts";
import { checkingUploads } from "./check-uploads.ts";
import { STATUS_CODES } from "./node-http.ts";

const NAME = "uWebSockets.js";
/** Larger bodies are offered to the socket instead of copied into its buffer. */
const COPIED_MAX_BYTES = 64 * 1024;
/** Part of an answer of unknown length that is written at once: what the socket does not take is buffered in full. */
const WRITTEN_BYTES = 64 * 1024;
/** Between the last answer and the end of all connections, so that the kernel can send what it has buffered. */
const LINGER_MS = 250;
const BROKEN = Buffer.from('{"detail":"Bad Request"}');
const EMPTY = Buffer.alloc(0);
const JSON_TYPE = Buffer.from("application/json");

/** Parts that the package's own types leave out: the options beside a host name, and the constants as they are exported. */
interface Uws {
  readonly App: () => TemplatedApp;
  readonly LIBUS_LISTEN_EXCLUSIVE_PORT: number;
  readonly us_listen_socket_close: (socket: us_listen_socket) => void;
  readonly us_socket_local_port: (socket: us_listen_socket) => number;
}
interface Opens {
  listen(
    host: string,
    port: number,
    options: number,
    opened: (socket: us_listen_socket | false) => void,
  ): unknown;
}

/** Rejects, with the reason, where the native module does not load: another C library, another Node. */
export async function loadUws(): Promise<Listen> {
  // Read once, by the native module, while it is loaded.
  // oxlint-disable-next-line node/no-process-env
  process.env.UWS_HTTP_MAX_HEADERS_SIZE = String(HEADERS_MAX_BYTES);
  const uws = (await import("uWebSockets.js")) as unknown as Uws;
  return (admit, options) =>
    new Promise((resolve, reject) => {
      const uploads = uploadPace();
      const server = { draining: false, open: 0, onIdle: () => {}, uploads };
      const app = uws.App();
      for (const path of options.socket_paths ?? []) app.ws(path, OPENED_AND_CLOSED);
      app.any("/*", (res, req) => serve(res, req, server, { admit, failed: options.failed }));
      // Without the option a second service on the port would take half the traffic, in silence.
      const exclusive = options.shared ? 0 : uws.LIBUS_LISTEN_EXCLUSIVE_PORT;
      (app as unknown as Opens).listen(options.host, options.port, exclusive, (socket) => {
        if (socket) resolve(listening(uws, app, socket, server, checkingUploads(uploads)));
        else
          reject(
            new Error(
              `Cannot listen on ${options.host}:${options.port}: the address is taken, or it is not an address of this machine`,
            ),
          );
      });
    });
}

/** A request at such a path that is no opening handshake goes on to the next route. */
const OPENED_AND_CLOSED: WebSocketBehavior<object> = {
  maxPayloadLength: 1_024,
  idleTimeout: 8,
  upgrade(res, req, context) {
    const key = req.getHeader("sec-websocket-key");
    const protocol = offeredProtocol(req.getHeader("sec-websocket-protocol"));
    res.upgrade({}, key, protocol, "", context);
  },
  open: (socket) => socket.end(NORMAL_CLOSURE),
};

interface Server {
  draining: boolean;
  /** Requests whose answer is not completely written. */
  open: number;
  /** Called when `open` becomes 0. */
  onIdle: () => void;
  readonly uploads: UploadPace;
}

function listening(
  uws: Uws,
  app: TemplatedApp,
  socket: us_listen_socket,
  server: Server,
  stopChecking: () => void,
): Listening {
  let closing: Promise<void> | null = null;
  const close = async (within_ms: number): Promise<void> => {
    server.draining = true;
    uws.us_listen_socket_close(socket);
    let timer: NodeJS.Timeout | undefined;
    const answered = new Promise<void>((resolve) => {
      server.onIdle = () => {
        clearTimeout(timer);
        timer = setTimeout(() => server.open === 0 && resolve(), Math.min(LINGER_MS, within_ms));
      };
      if (server.open === 0) server.onIdle();
    });
    let cut: NodeJS.Timeout | undefined;
    await Promise.race([answered, new Promise((resolve) => (cut = setTimeout(resolve, within_ms)))]);
    clearTimeout(cut);
    clearTimeout(timer);
    stopChecking();
    app.close();
  };
  return {
    port: uws.us_socket_local_port(socket),
    name: NAME,
    close: (within_ms) => (closing ??= close(within_ms)),
  };
}

/** Sent as bytes: a build that takes one-byte strings for Latin-1 would spoil anything beyond ASCII. */
const statuses = new Map<number, Buffer>();
function statusLine(status: number): Buffer {
  const existing = statuses.get(status);
  if (existing) return existing;
  const line = Buffer.from(`${status} ${STATUS_CODES[status] ?? "Unknown"}`);
  statuses.set(status, line);
  return line;
}

/** Text that every build writes alike, whether it takes strings for UTF-8 or for Latin-1. */
const ASCII = /^[\t\r\n\x20-\x7e]*$/;

interface Parties extends Pick<ListenOptions, "failed"> {
  readonly admit: Admit;
}

function serve(res: HttpResponse, req: HttpRequest, server: Server, parties: Parties): void {
  const wire = new UwsWire(res, server);
  server.open++;
  // First of all: a request that is neither answered nor listened to at the end of its callback ends the process.
  res.onAborted(() => wire.aborted());
  try {
    const headers = new Map<string, string>();
    // oxlint-disable-next-line unicorn/no-array-for-each -- not an array
    req.forEach((name, value) => addField(headers, name, value));
    const framing = readFraming(headers);
    wire.hasBody = framing.kind === "none";
    wire.isLastOfConnection = framing.kind === "unknown";
    // An answer to HEAD cannot close its connection here, and no client sends it a body in chunks.
    const isHeadInChunks = wire.isLastOfConnection && req.getCaseSensitiveMethod() === "HEAD";
    if (framing.kind === "broken" || isHeadInChunks) {
      // Before anything else: this server judges the length only after the handler ran. Not at once: it would go on
      // to serve whatever came in the same packet; a request that arrives while one is pending closes the connection.
      setImmediate(() => wire.refuse());
      return;
    }
    let address: string | null = null;
    const head: Head = {
      method: req.getCaseSensitiveMethod(),
      path: req.getUrl(),
      query: req.getQuery() ?? "",
      headers,
      address: () =>
        (address ??= wire.isLive
          ? normalizeIp(Buffer.from(res.getRemoteAddressAsText()).toString())
          : null) ?? "",
    };
    if (framing.kind !== "none")
      // In this very tick, whatever is decided later, or bytes are lost.
      res.onData((piece, last) => {
        wire.isCorked = true;
        wire.hasBody = last;
        wire.call?.piece(new Uint8Array(piece), last);
        if (last && wire.call) server.uploads.remove(wire.call);
        wire.isCorked = false;
      });
    wire.isCorked = true;
    wire.call = exchange(head, framing, parties, wire);
    wire.isCorked = false;
    if (framing.kind !== "none" && wire.isLive) server.uploads.add(wire.call, performance.now());
  } catch {
    if (wire.isLive) res.close();
  }
}

/** A single object instead of a dozen closures for each request. */
class UwsWire implements Wire {
  readonly copied_max_bytes = COPIED_MAX_BYTES;
  readonly #res: HttpResponse;
  readonly #server: Server;
  call: Exchange | null = null;
  /** False from the end of the answer or from its abort: every use of `res` throws then. */
  isLive = true;
  /** The request's body, to its last byte. */
  hasBody = false;
  /** True in a callback for bytes of this connection: uWebSockets.js sends what is written there in one packet. */
  isCorked = false;
  /**
   * True when the body comes in chunks. This server's own reader takes a bare line feed for the end of a line and any two
   * bytes for the line end behind a chunk, and shows neither, so it may see the end of the body elsewhere than a proxy did. The
   * answer closes the connection, and nothing behind the body is read as a request.
   */
  isLastOfConnection = false;
  /** Continues a piece that the socket did not take whole. */
  #writable: ((offset: number) => boolean) | null = null;
  /** Resolves the wait for that piece. */
  #waiting: ((more: boolean) => void) | null = null;
  #total: number | null = null;

  constructor(res: HttpResponse, server: Server) {
    this.#res = res;
    this.#server = server;
  }

  aborted(): void {
    if (!this.isLive) return;
    this.#finish();
    this.call?.onClientAbort();
    this.#waiting?.(false);
  }

  refuse(): void {
    this.#write(() => {
      this.#res.writeStatus(statusLine(400)).writeHeader("content-type", JSON_TYPE);
      this.#res.end(BROKEN, true);
      this.#finish();
    });
  }

  whole(reply: Reply, bytes: Buffer | null, length: number | null, close: boolean): void {
    if (this.isLastOfConnection && this.isCorked) {
      // Not in the callback of its last chunk: what came in the same packet would be served next. A request that arrives while
      // this one is pending closes the connection.
      const copy = bytes && Buffer.from(bytes);
      setImmediate(() => this.whole(reply, copy, length, close));
    } else if (bytes && bytes.length > COPIED_MAX_BYTES) {
      this.head(reply, length, close);
      const taken = this.piece(bytes);
      if (this.#total !== null) return;
      if (taken === true) this.end();
      else void taken.then((isTaken) => isTaken && this.end());
    } else if (this.isCorked) {
      try {
        this.#end(reply, bytes, length, close);
      } catch {
        if (this.isLive) this.#res.close();
      }
    } else this.#write(() => this.#end(reply, bytes, length, close));
  }

  head(reply: Reply, length: number | null, close: boolean): void {
    // An answer of known length cannot close its connection here.
    this.#total = this.isLastOfConnection ? null : length;
    this.#write(() => this.#begin(reply, close || this.#server.draining));
    if (!this.isLive) return;
    this.#res.onWritable((offset) => {
      if (!this.isLive) return true;
      let isTaken = true;
      // Also where no piece waits: of what write() has taken the end may be buffered, and only the next cork sends it.
      this.#write(() => (isTaken = this.#writable?.(offset) ?? true));
      if (!isTaken || !this.#writable) return isTaken;
      this.#writable = null;
      const resume = this.#waiting;
      this.#waiting = null;
      resume?.(true);
      return true;
    });
  }

  piece(bytes: Buffer): true | Promise<boolean> {
    if (!this.isLive) return Promise.resolve(false);
    return this.#total === null
      ? this.#writeUnknownLength(bytes)
      : this.#writeKnownLength(bytes, this.#total);
  }

  end(): void {
    this.#write(() => {
      // An answer of known length has ended with its last byte.
      if (this.#total === null) this.#res.end(undefined, this.isLastOfConnection);
      else if (this.#total === 0) this.#res.end(EMPTY);
      this.#finish();
    });
  }

  cut(): void {
    if (this.isLive) this.#res.close();
  }

  /** Never after the last piece: a connection that is read on has ten seconds, which only the end of the body lifts. */
  readonly pauses_at_once = false;

  pause(): void {
    if (this.isLive) this.#res.pause();
  }

  resume(): void {
    if (this.isLive) this.#res.resume();
  }

  #finish(): void {
    this.isLive = false;
    if (this.call) this.#server.uploads.remove(this.call);
    if (--this.#server.open === 0) this.#server.onIdle();
  }

  /** All writes go through here: in one packet, and without exceptions into native code. */
  #write(write: () => void): void {
    if (!this.isLive) return;
    try {
      this.#res.cork(write);
    } catch {
      if (!this.isLive) return;
      this.#res.close();
    }
  }

  #begin({ status, headers, repeated_headers = [] }: Reply, close: boolean): void {
    const res = this.#res;
    if (status !== 200) res.writeStatus(statusLine(status));
    let first: string | null = null;
    // All fields in one call, because each call into native code is expensive. replyDefect has checked that no value breaks a line.
    let fields = "";
    for (const name in headers) {
      if (first === null) fields = headers[(first = name)]!;
      else fields += `\r\n${name}: ${headers[name]!}`;
    }
    for (const [name, value] of repeated_headers) {
      if (first === null) fields = value;
      else fields += `\r\n${name}: ${value}`;
      first ??= name;
    }
    if (first !== null) res.writeHeader(first, ASCII.test(fields) ? fields : Buffer.from(fields));
    if (close) res.writeHeader("connection", "close");
  }

  #end(reply: Reply, bytes: Buffer | null, length: number | null, close: boolean): void {
    const { draining } = this.#server;
    if (bytes || this.isLastOfConnection) {
      // A connection is only cut when no more of its request is to come, or its client would read no answer.
      const cut = close || this.isLastOfConnection || (draining && this.hasBody);
      this.#begin(reply, draining && !cut);
      this.#res.end(bytes ?? EMPTY, cut);
    } else {
      this.#begin(reply, close || draining);
      // Never with arguments: endWithoutBody(length) leaves the response pending, so the connection dies with its
      // next request, and endWithoutBody(undefined, true) sends a length of nineteen digits.
      if (length !== null) this.#res.writeHeader("content-length", String(length));
      this.#res.endWithoutBody();
    }
    this.#finish();
  }

  #writeKnownLength(bytes: Buffer, total: number): true | Promise<boolean> {
    const start = this.#res.getWriteOffset();
    const attempt = (from: number): boolean => {
      const [isTaken, isFinished] = this.#res.tryEnd(bytes.subarray(from), total);
      if (isFinished) this.#finish();
      return isTaken || isFinished;
    };
    let isTaken = false;
    this.#write(() => (isTaken = attempt(0)));
    return isTaken || this.#continueWhenWritable((offset) => attempt(offset - start));
  }

  #writeUnknownLength(bytes: Buffer): true | Promise<boolean> {
    let at = 0;
    // Bytes that write() refuses are buffered all the same: small slices, and none while the socket is full.
    const attempt = (): boolean => {
      while (at < bytes.length) {
        const slice = bytes.subarray(at, at + WRITTEN_BYTES);
        at += slice.length;
        if (!this.#res.write(slice)) return false;
      }
      return true;
    };
    let isTaken = false;
    this.#write(() => (isTaken = attempt()));
    return isTaken || this.#continueWhenWritable(attempt);
  }

  #continueWhenWritable(attempt: (offset: number) => boolean): Promise<boolean> {
    if (!this.isLive) return Promise.resolve(false);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#waiting = resolve;
    this.#writable = attempt;
    return promise;
  }
}
