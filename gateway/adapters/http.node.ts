/**
 * The HTTP port on node:http, for machines on which uWebSockets.js does not load and for the open internet. The
 * life of a request is in exchange.ts; this file has what is particular to this server, and a time limit it lacks.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { type Exchange, exchange, type Wire } from "../exchange.ts";
import { addField, readFraming, FIELDS_MAX, HEADERS_MAX_BYTES } from "../framing.ts";
import type { Head, Listen, Listening, Reply, TlsSource } from "../http.ts";
import { normalizeIp } from "../client-ip.ts";
import { openedAndClosed, socketPathMatcher } from "../socket-paths.ts";
import { type UploadPace, uploadPace } from "../upload-pace.ts";
import { checkingUploads } from "./check-uploads.ts";
import { createServer } from "./node-http.ts";

const NAME = "node:http";
/** The time for a complete request head. */
const HEAD_MAX_MS = 10_000;
/** Longer than load balancers keep theirs (60 s at AWS): a pool never picks a connection that is being closed. */
const IDLE_MAX_MS = 75_000;
/** A client that reads nothing of its answer for this long is disconnected. */
const STALL_MAX_MS = 12_000;
/** For the client's part in closing a WebSocket. */
const CLOSING_MAX_MS = 8_000;
/** Between the last answer and the end of all connections, so that the kernel can send what it has buffered. */
const LINGER_MS = 250;

interface State {
  draining: boolean;
  /** Requests whose answer is not completely written. */
  open: number;
  /** Called when `open` becomes 0. */
  onIdle: () => void;
  readonly uploads: UploadPace;
}

export const listenNode: Listen = (admit, options) =>
  new Promise((resolve, reject) => {
    const state: State = { draining: false, open: 0, onIdle: () => {}, uploads: uploadPace() };
    const limits = {
      maxHeaderSize: HEADERS_MAX_BYTES,
      headersTimeout: HEAD_MAX_MS,
      // Bodies have a pace instead, answers may take 150 s.
      requestTimeout: 0,
      connectionsCheckingInterval: 2_000,
      keepAliveTimeout: IDLE_MAX_MS,
      noDelay: true,
    };
    const isSocketPath = socketPathMatcher(options.socket_paths ?? []);
    const onRequest = (req: IncomingMessage, res: ServerResponse): void => {
      if (isHandshake(req) && isSocketPath(pathOf(req))) openAndClose(req);
      else serve(req, res, state, { admit, failed: options.failed });
    };
    const server = options.tls ? tlsServer(options.tls, limits, onRequest) : createServer(limits, onRequest);
    const stopChecking = checkingUploads(state.uploads);
    server.once("close", stopChecking);
    server.once("error", (cause: NodeJS.ErrnoException) => {
      stopChecking();
      const why = cause.code === "EADDRINUSE" ? "the address is taken" : cause.message;
      reject(new Error(`Cannot listen on ${options.host}:${options.port}: ${why}`, { cause }));
    });
    server.listen({ host: options.host, port: options.port, reusePort: options.shared }, () =>
      resolve(listening(server, state)),
    );
  });

function tlsServer(tls: TlsSource, limits: object, onRequest: RequestListener): Server {
  const server = createTlsServer({ ...limits, ...tls.current(), minVersion: "TLSv1.2" }, onRequest);
  tls.onChange((pair) => server.setSecureContext({ ...pair, minVersion: "TLSv1.2" }));
  // A client that gave up during the handshake, or speaks no TLS.
  server.on("tlsClientError", (_, socket) => socket.destroy());
  return server;
}

function listening(server: Server, state: State): Listening {
  let closing: Promise<void> | null = null;
  const close = async (within_ms: number): Promise<void> => {
    state.draining = true;
    const closed = new Promise((resolve) => server.close(resolve));
    let timer: NodeJS.Timeout | undefined;
    const answered = new Promise<void>((resolve) => {
      state.onIdle = () => {
        clearTimeout(timer);
        timer = setTimeout(() => state.open === 0 && resolve(), Math.min(LINGER_MS, within_ms));
      };
      if (state.open === 0) state.onIdle();
    });
    let cut: NodeJS.Timeout | undefined;
    await Promise.race([closed, answered, new Promise((resolve) => (cut = setTimeout(resolve, within_ms)))]);
    clearTimeout(cut);
    clearTimeout(timer);
    server.closeAllConnections();
    await closed;
  };
  return {
    port: (server.address() as AddressInfo).port,
    name: NAME,
    close: (within_ms) => (closing ??= close(within_ms)),
  };
}

/** This server reads bytes as Latin-1; in the port they are UTF-8, as with the other adapter. */
const text = (latin1: string): string => {
  for (let at = 0; at < latin1.length; at++)
    if (latin1.charCodeAt(at) > 0x7f) return Buffer.from(latin1, "latin1").toString("utf8");
  return latin1;
};

function headOf(req: IncomingMessage): Head {
  const headers = new Map<string, string>();
  const raw = req.rawHeaders;
  for (let at = 0; at < raw.length; at += 2) addField(headers, raw[at]!.toLowerCase(), text(raw[at + 1]!));
  const target = text(req.url!);
  const mark = target.indexOf("?");
  let address: string | null = null;
  return {
    method: req.method!,
    path: mark < 0 ? target : target.slice(0, mark),
    query: mark < 0 ? "" : target.slice(mark + 1),
    headers,
    address: () => {
      const peer = req.socket.remoteAddress;
      return (address ??= peer ? normalizeIp(peer) : null) ?? "";
    },
  };
}

const pathOf = (req: IncomingMessage): string => req.url!.split("?", 1)[0]!;

const isHandshake = ({ method, headers }: IncomingMessage): boolean =>
  method === "GET" &&
  headers.upgrade?.toLowerCase() === "websocket" &&
  headers["sec-websocket-key"]?.length === 24;

/** The server has no listener for upgrades: it would be given every request that offers one, as Java's clients do, without its body. */
function openAndClose(req: IncomingMessage): void {
  const { socket } = req;
  // Bytes that the client sends from here on are no HTTP.
  socket.removeAllListeners("data");
  socket.once("data", () => socket.end());
  socket.setTimeout(CLOSING_MAX_MS, () => socket.destroy());
  socket.on("error", () => {});
  socket.write(openedAndClosed(headOf(req).headers));
}

type Parties = Parameters<typeof exchange>[2];

/** Connections that end with their current answer: bytes after its request are not read as another request. */
const ending = new WeakSet<Socket>();

function serve(req: IncomingMessage, res: ServerResponse, state: State, parties: Parties): void {
  if (ending.has(req.socket)) return;
  let isLive = true;
  let isFinished = false;
  let call: Exchange | null = null;
  let waiting: ((more: boolean) => void) | null = null;
  const { socket } = req;
  const resume = (more: boolean): void => {
    const wake = waiting;
    waiting = null;
    wake?.(more);
  };

  state.open++;
  // Emitted once for each response: after its last byte, or when the connection breaks before it.
  res.once("close", () => {
    isLive = false;
    if (!isFinished) call?.onClientAbort();
    resume(false);
    if (--state.open === 0) state.onIdle();
  });
  res.on("error", () => {}); // A write after the client disconnected; "close" reports it.
  req.on("error", () => {});
  res.on("drain", () => {
    socket.setTimeout(0); // A source may be silent for longer than a client.
    resume(true);
  });
  // Before the server's own listener, which sets the time a connection may idle.
  res.prependOnceListener("finish", () => {
    isFinished = !socket.destroyed; // Emitted for a broken connection as well.
    socket.setTimeout(0);
  });

  const begin = (reply: Reply, length: number | null, close: boolean): void => {
    const fields: string[] = [];
    // The server writes Latin-1: bytes of UTF-8 go through it one for one.
    for (const name in reply.headers)
      fields.push(name, Buffer.from(reply.headers[name]!, "utf8").toString("latin1"));
    for (const [name, value] of reply.repeated_headers ?? [])
      fields.push(name, Buffer.from(value, "utf8").toString("latin1"));
    if (length !== null) fields.push("content-length", String(length));
    if (close || state.draining) fields.push("connection", "close");
    if (close) ending.add(socket);
    res.writeHead(reply.status, fields);
  };
  const guarded = (write: () => void): void => {
    if (!isLive) return;
    try {
      write();
    } catch {
      socket.destroy();
    }
  };
  const wire: Wire = {
    copied_max_bytes: 0,
    whole: (reply, bytes, length, close) =>
      guarded(() => {
        begin(reply, length, close);
        res.end(bytes ?? undefined);
        socket.setTimeout(STALL_MAX_MS);
      }),
    head: (reply, length, close) => guarded(() => begin(reply, length, close)),
    piece(bytes) {
      let isTaken = false;
      guarded(() => (isTaken = res.write(bytes)));
      if (isTaken) return true;
      if (!isLive) return Promise.resolve(false);
      socket.setTimeout(STALL_MAX_MS);
      const { promise, resolve } = Promise.withResolvers<boolean>();
      waiting = resolve;
      return promise;
    },
    end: () =>
      guarded(() => {
        res.end();
        socket.setTimeout(STALL_MAX_MS);
      }),
    cut: () => void socket.destroy(),
    pause: () => void req.pause(),
    pauses_at_once: true,
    resume: () => void req.resume(),
  };

  const refuse = (status: number, detail: string): void => {
    const body = Buffer.from(JSON.stringify({ detail }));
    wire.whole({ status, headers: { "content-type": "application/json" }, body }, body, body.length, true);
  };
  if (req.rawHeaders.length / 2 > FIELDS_MAX) return refuse(431, "Request Header Fields Too Large");
  const head = headOf(req);
  const framing = readFraming(head.headers);
  if (framing.kind === "broken") return refuse(400, "Bad Request");
  if (framing.kind === "none") req.resume();
  else {
    req.on("data", (piece: Buffer) => call?.piece(piece, false));
    req.once("end", () => call?.piece(EMPTY, true));
    req.once("close", () => call && state.uploads.remove(call));
  }
  call = exchange(head, framing, parties, wire);
  if (framing.kind !== "none") state.uploads.add(call, performance.now());
}

const EMPTY = Buffer.alloc(0);
