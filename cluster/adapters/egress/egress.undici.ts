/**
 * The way out over undici: one exchange at a time on a connection that connect.ts resolved, judged and pinned.
 *
 * Every undici Client here owns exactly one such connection and can open no other, so that nothing is sent to an
 * address that was not judged. Redirects, cookies, caches and sizes are the caller's.
 */
import { isUtf8 } from "node:buffer";
import type { Socket } from "node:net";
import { Client, type Dispatcher } from "undici";
import {
  type Egress,
  EgressError,
  type EgressProblem,
  type Exchange,
  type ExchangeRequest,
  type Timings,
} from "../../ports/egress.ts";
import { codeOf, connector, hostOf, type Judge, secure } from "./pinned-connect.ts";
import { codingsOf, decodeBody } from "./decode.ts";
import { throughProxy } from "./upstream-proxy.ts";

export interface UndiciEgressOptions {
  readonly judge: Judge;
  /** Resolvers as ip[:port], asked for every name. None: the system's. */
  readonly dns_servers?: readonly string[];
  /** Offer HTTP/2 to https origins. Default true. */
  readonly http2?: boolean;
  /** Further roots to trust, PEM. */
  readonly ca?: readonly string[];
  readonly limits?: Partial<EgressLimits>;
}

export interface EgressLimits {
  /** Exchanges at once; the next waits, and its wait counts as connecting. More needs more file descriptors. */
  readonly exchanges: number;
  /** Connections kept open without an exchange; the one idle longest is closed for the next. */
  readonly idle: number;
  readonly idle_per_origin: number;
  /** An idle connection is closed after so long. Longer, and origins close it under the next request. */
  readonly idle_ms: number;
  /** All header fields of an answer; more is `network_protocol`. */
  readonly header_bytes: number;
  readonly header_fields: number;
}

const LIMITS: EgressLimits = {
  exchanges: 512,
  idle: 256,
  idle_per_origin: 4,
  idle_ms: 4_000,
  header_bytes: 65_536,
  header_fields: 1_000,
};

const CONNECT_TIMEOUT_MS = 15_000;
const HEADERS_TIMEOUT_MS = 60_000;
const IDLE_TIMEOUT_MS = 60_000;

/** What the adapter says itself, whatever the caller's table has. */
const OWN_FIELDS = new Set([
  "host",
  "connection",
  "keep-alive",
  "accept-encoding",
  "content-length",
  "transfer-encoding",
  "upgrade",
  "expect",
  "te",
]);
const ACCEPT_ENCODING = "gzip, deflate, br, zstd";

export interface UndiciEgress extends Egress {
  /** For operators and tests: what is open right now. */
  readonly open: () => { readonly exchanges: number; readonly connections: number; readonly idle: number };
}

export function undiciEgress(options: UndiciEgressOptions): UndiciEgress {
  const limits: EgressLimits = { ...LIMITS, ...options.limits };
  const connects = connector(options.judge, options.dns_servers ?? []);
  const connections = new Set<Connection>();
  /** Oldest first, as Set keeps them: by origin, and all together. */
  const idle = new Set<Connection>();
  const waiting = new Set<() => void>();
  let exchanges = 0;
  let isClosed = false;

  /** Waits until there is room for one more exchange. */
  async function waitForSlot(life: ExchangeLifetime): Promise<void> {
    if (exchanges < limits.exchanges) {
      exchanges += 1;
      return;
    }
    await life.until<void>((resolve) => {
      waiting.add(resolve);
      return () => void waiting.delete(resolve);
    });
  }

  /** Hands the place of an ended exchange to whoever waits longest. */
  function releaseSlot(): void {
    const next = waiting.values().next().value;
    if (!next) {
      exchanges -= 1;
      return;
    }
    waiting.delete(next);
    next();
  }

  function closeConnection(connection: Connection): void {
    clearTimeout(connection.alarm);
    idle.delete(connection);
    connections.delete(connection);
    // The socket goes at once; what undici still has to say about it is heard by nobody.
    connection.client.destroy().catch(() => {});
    connection.socket.destroy();
  }

  /** Keeps a connection whose exchange came to its proper end, within the limits. */
  function keepIdle(connection: Connection): void {
    if (isClosed || !connection.isReusable || connection.socket.destroyed) {
      closeConnection(connection);
      return;
    }
    connection.alarm = setTimeout(() => closeConnection(connection), limits.idle_ms).unref();
    idle.add(connection);
    const same_way = [...idle].filter(({ route: way }) => way === connection.route);
    const surplus =
      same_way.length > limits.idle_per_origin
        ? same_way[0]
        : idle.size > limits.idle
          ? idle.values().next().value
          : undefined;
    if (surplus) closeConnection(surplus);
  }

  function takeIdle(way: string): Connection | undefined {
    const connection = [...idle].findLast((candidate) => candidate.route === way);
    if (!connection) return undefined;
    clearTimeout(connection.alarm);
    idle.delete(connection);
    return connection;
  }

  async function openConnection(
    url: URL,
    { via }: ExchangeRequest,
    life: ExchangeLifetime,
    onAccepted: () => void,
  ): Promise<Connection> {
    const ca = options.ca ?? [];
    const judged = via && options.judge.url(url.href);
    if (judged === "blocked_destination" || judged === "invalid_url") {
      throw new EgressError(judged, `Cannot ask for "${url.host}": it is not a public destination`);
    }
    const opened = via
      ? await throughProxy(connects, via.proxy_url, url, ca, life.signal)
      : { ...(await connects.open(url, life.signal)), fields: [] };
    onAccepted();
    const began = performance.now();
    const socket =
      url.protocol === "https:"
        ? await secure(
            opened.socket,
            hostOf(url),
            {
              protocols: options.http2 === false ? ["http/1.1"] : ["h2", "http/1.1"],
              ca,
            },
            life.signal,
          )
        : opened.socket;
    const connection: Connection = {
      route: routeKey(url, via),
      isAbsolute: via !== undefined && url.protocol === "http:",
      fields: opened.fields,
      client: clientOver(url.origin, socket, limits),
      socket,
      address: opened.address,
      timings: { dns_ms: opened.dns_ms, connect_ms: opened.connect_ms, tls_ms: performance.now() - began },
      isUsed: false,
      isReusable: true,
      alarm: undefined,
    };
    connections.add(connection);
    socket.once("close", () => {
      // An exchange in progress is told by undici; nobody else would notice.
      clearTimeout(connection.alarm);
      idle.delete(connection);
      connections.delete(connection);
    });
    return connection;
  }

  async function exchange(request: ExchangeRequest): Promise<Exchange> {
    const began = performance.now();
    const life = new ExchangeLifetime(request.signal);
    let isAccepted = false;
    const fail = (reason: unknown): Exchange => {
      const { problem, message } = asEgressError(reason);
      const ms = Math.round(performance.now() - began);
      return { kind: "failed", problem, connected: isAccepted, detail: message, ms };
    };
    const url = URL.parse(request.url);
    if (!url) {
      life.end();
      return fail(new EgressError("invalid_url", "Cannot read the URL: it is no absolute http(s) URL"));
    }
    if (isClosed) {
      life.end();
      return fail(new EgressError("aborted", "Cannot start an exchange: the way out is closed"));
    }
    let hasSlot = false;
    const end = () => {
      if (hasSlot) releaseSlot();
      hasSlot = false;
      life.end();
    };
    try {
      life.arm(request.connect_timeout_ms ?? CONNECT_TIMEOUT_MS, `Cannot connect to "${url.host}" in time`);
      await waitForSlot(life);
      hasSlot = true;
      // A POST is never sent twice, and a kept connection may die under it unseen: it gets a fresh one.
      const reused = request.method === "POST" ? undefined : takeIdle(routeKey(url, request.via));
      if (reused) {
        isAccepted = true;
        try {
          return await converse(request, url, reused, life, end);
        } catch (problem) {
          if (life.signal.aborted || asEgressError(problem).problem !== "network_reset") throw problem;
        }
        isAccepted = false;
        life.arm(request.connect_timeout_ms ?? CONNECT_TIMEOUT_MS, `Cannot connect to "${url.host}" in time`);
      }
      const connection = await openConnection(url, request, life, () => (isAccepted = true));
      return await converse(request, url, connection, life, end);
    } catch (problem) {
      end();
      if (problem instanceof TypeError) throw problem;
      return fail(problem);
    }
  }

  /** Sends the request and waits for the head of the answer; throws when none comes. `end` is called at the very end. */
  async function converse(
    request: ExchangeRequest,
    url: URL,
    connection: Connection,
    life: ExchangeLifetime,
    end: () => void,
  ): Promise<Exchange> {
    const timings = connection.isUsed ? { dns_ms: 0, connect_ms: 0, tls_ms: 0 } : connection.timings;
    connection.isUsed = true;
    const sent = performance.now();
    const inlet = new BodyStream(life, request.idle_timeout_ms ?? IDLE_TIMEOUT_MS);
    life.arm(request.headers_timeout_ms ?? HEADERS_TIMEOUT_MS, `"${url.host}" did not answer in time`);
    let isDone = false;
    const done = (isWhole: boolean) => {
      if (isDone) return;
      isDone = true;
      if (isWhole) keepIdle(connection);
      else closeConnection(connection);
    };
    try {
      const head = await life.until<Head>((resolve, reject) => {
        connection.client.dispatch(
          {
            path: `${connection.isAbsolute ? url.origin : ""}${url.pathname}${url.search}`,
            method: request.method,
            headers: [...fieldsOf(request), ...connection.fields.flat()],
            ...(request.body ? { body: request.body } : {}),
          },
          {
            onRequestStart: (controller) => {
              inlet.controller = controller;
              // From here on undici writes it before anything else happens: no earlier moment will do, since a process
              // may stand still for long at any other.
              if (request.beforeSend?.() === false) {
                const { host } = url;
                controller.abort(
                  new EgressError("aborted", `Cannot ask "${host}": it may not be asked any more`),
                );
                return;
              }
              if (request.onSent) process.nextTick(request.onSent);
            },
            onResponseStart: (controller, status, fields) => {
              // Early hints and their like: the answer is still to come, and its time runs on.
              if (status < 200) return;
              resolve({ status, headers: headersOf(controller.rawHeaders ?? fields) });
            },
            onResponseData: (_, chunk) => inlet.push(chunk),
            onResponseEnd: () => inlet.finish(),
            onResponseError: (_, problem) => {
              // A field or path undici will not send is the caller's mistake.
              const isOurs = codeOf(problem) === "UND_ERR_INVALID_ARG";
              reject(isOurs ? new TypeError(`Cannot send the request: ${problem.message}`) : problem);
              inlet.fail(problem);
            },
          },
        );
        return () => {};
      });
      life.disarm();
      const first_byte_ms = performance.now() - sent;
      if (fieldCount(head.headers) > limits.header_fields) {
        throw new EgressError("network_protocol", `Cannot read the answer of "${url.host}": too many fields`);
      }
      if (connection.isAbsolute && head.status === 407) {
        throw new EgressError("proxy_refused", `The proxy refused to ask "${url.host}": 407`);
      }
      connection.isReusable = !(head.headers.get("connection") ?? []).join().toLowerCase().includes("close");
      const isEmpty = request.method === "HEAD" || head.status === 204 || head.status === 304;
      const codings = isEmpty ? [] : codingsOf(head.headers.get("content-encoding") ?? []);
      const stop = () => {
        done(false);
        inlet.fail(new EgressError("aborted", "Cannot read on: the body was let go"));
        end();
      };
      inlet.onEnd = (isWhole) => {
        done(isWhole);
        end();
      };
      return {
        kind: "answered",
        status: head.status,
        headers: head.headers,
        body: readUntilEnd(decodeBody(inlet, codings), stop),
        cancel: stop,
        address: connection.address,
        timings: rounded({ ...timings, first_byte_ms }),
      };
    } catch (problem) {
      done(false);
      throw problem;
    }
  }

  return {
    exchange,
    open: () => ({ exchanges, connections: connections.size, idle: idle.size }),
    async close() {
      isClosed = true;
      connects.close();
      for (const connection of connections) closeConnection(connection);
    },
  };
}

/** What a kept connection can be used for again: an origin, and the proxy on the way to it. */
const routeKey = ({ origin }: URL, via: ExchangeRequest["via"]): string =>
  `${origin} ${via?.proxy_url ?? ""}`;

interface Connection {
  readonly route: string;
  /** Requests name the whole URL: there is a proxy at the other end. */
  readonly isAbsolute: boolean;
  /** What goes to the proxy with every request. */
  readonly fields: readonly (readonly [string, string])[];
  readonly client: Client;
  readonly socket: Socket;
  readonly address: string;
  readonly timings: Omit<Timings, "first_byte_ms">;
  isUsed: boolean;
  isReusable: boolean;
  alarm: NodeJS.Timeout | undefined;
}

interface Head {
  readonly status: number;
  readonly headers: ReadonlyMap<string, readonly string[]>;
}

/** undici over one connection that stands already. It is given once; when it is gone, so is the client. */
function clientOver(origin: string, socket: Socket, limits: EgressLimits): Client {
  let isGiven = false;
  return new Client(origin, {
    connect: (_, given) => {
      const wasGiven = isGiven;
      isGiven = true;
      // Not at once: undici takes no notice of a socket that is there before its own call returns.
      queueMicrotask(() => {
        if (wasGiven) given(new EgressError("network_reset", "The connection was closed"), null);
        else given(null, socket);
      });
    },
    pipelining: 1,
    maxHeaderSize: limits.header_bytes,
    // Time is kept by Life, to the millisecond; undici's own timers are coarse.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: limits.idle_ms,
    keepAliveMaxTimeout: limits.idle_ms,
    // One exchange at a time; the window of a stream is what a slow reader can be sent ahead.
    h2Options: { maxConcurrentStreams: 1, pingInterval: 0, settings: { initialWindowSize: 262_144 } },
  });
}

/** How long an exchange may last: the caller's signal and one timer at a time, told to everyone who waits. */
class ExchangeLifetime {
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal;
  readonly #onCallerAbort: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(caller: AbortSignal) {
    this.#caller = caller;
    this.#onCallerAbort = () => this.stop(new EgressError("aborted", "The exchange was ended by its caller"));
    caller.addEventListener("abort", this.#onCallerAbort);
    if (caller.aborted) this.#onCallerAbort();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  stop(reason: EgressError): void {
    clearTimeout(this.#timer);
    this.#controller.abort(reason);
  }

  /** Ends the exchange as `timeout` unless it is armed anew or disarmed in time. */
  arm(ms: number, message: string): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.stop(new EgressError("timeout", message)), ms);
  }

  disarm(): void {
    clearTimeout(this.#timer);
  }

  /** Nothing waits any more. */
  end(): void {
    clearTimeout(this.#timer);
    this.#caller.removeEventListener("abort", this.#onCallerAbort);
  }

  /** Waits for what `begin` settles, or for the end of this life; then what `begin` returned is called. */
  until<T>(
    begin: (resolve: (value: T) => void, reject: (problem: unknown) => void) => () => void,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.signal.aborted) {
        reject(this.signal.reason as EgressError);
        return;
      }
      const onAbort = () => {
        giveUp();
        reject(this.signal.reason as EgressError);
      };
      const giveUp = begin(
        (value) => {
          this.signal.removeEventListener("abort", onAbort);
          resolve(value);
        },
        (problem) => {
          this.signal.removeEventListener("abort", onAbort);
          reject(problem);
        },
      );
      this.signal.addEventListener("abort", onAbort, { once: true });
    });
  }
}

/** More is not held for a reader who is slow; then the origin has to wait. */
const MAX_BUFFERED_BYTES = 65_536;

/**
 * A body as it comes. What arrives together is handed out together: an origin that sends a byte a chunk would
 * otherwise cost a turn of the loop for each.
 */
class BodyStream implements AsyncIterable<Buffer> {
  readonly #life: ExchangeLifetime;
  readonly #idle_ms: number;
  #pieces: Buffer[] = [];
  #held_bytes = 0;
  #wake: (() => void) | undefined;
  #problem: unknown;
  #end: "open" | "whole" | "broken" = "open";
  controller: Dispatcher.DispatchController | undefined;
  #onEnd: ((isWhole: boolean) => void) | undefined;

  constructor(life: ExchangeLifetime, idle_ms: number) {
    this.#life = life;
    this.#idle_ms = idle_ms;
    life.signal.addEventListener("abort", () => this.fail(life.signal.reason), { once: true });
  }

  /** Called once, when nothing more will come; at once when that is so already. */
  set onEnd(call: (isWhole: boolean) => void) {
    this.#onEnd = call;
    if (this.#end !== "open") call(this.#end === "whole");
  }

  push(piece: Buffer): void {
    if (piece.length === 0 || this.#end !== "open") return;
    this.#pieces.push(piece);
    this.#held_bytes += piece.length;
    if (this.#held_bytes >= MAX_BUFFERED_BYTES) this.controller?.pause();
    this.#wake?.();
  }

  finish(): void {
    this.#close("whole");
  }

  fail(problem: unknown): void {
    if (this.#end !== "open") return;
    this.#problem = problem;
    // Ended by us: at once. Ended by the origin: after what came.
    if (problem instanceof EgressError) this.#pieces = [];
    this.#close("broken");
  }

  #close(end: "whole" | "broken"): void {
    if (this.#end !== "open") return;
    this.#end = end;
    this.#onEnd?.(end === "whole");
    this.#wake?.();
  }

  [Symbol.asyncIterator](): AsyncIterator<Buffer> {
    return { next: () => this.#next(), return: () => Promise.resolve({ done: true, value: undefined }) };
  }

  async #next(): Promise<IteratorResult<Buffer>> {
    while (true) {
      const [piece, ...more] = this.#pieces;
      if (piece) {
        this.#pieces = [];
        this.#held_bytes = 0;
        return { done: false, value: more.length > 0 ? Buffer.concat([piece, ...more]) : piece };
      }
      if (this.#end === "whole") return { done: true, value: undefined };
      if (this.#end === "broken") throw this.#problem;
      this.#life.arm(this.#idle_ms, "The body stopped coming");
      this.controller?.resume();
      if (this.#pieces.length === 0 && this.#end === "open") {
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
      this.#wake = undefined;
      this.#life.disarm();
    }
  }
}

/** Reads once, in EgressErrors; whoever stops early lets the connection go. */
function readUntilEnd(pieces: AsyncIterable<Buffer>, stop: () => void): AsyncIterable<Buffer> {
  async function* read(): AsyncGenerator<Buffer> {
    try {
      for await (const piece of pieces) yield piece;
    } catch (problem) {
      throw asEgressError(problem);
    } finally {
      stop();
    }
  }
  return read();
}

/** The caller's fields in their order, without those that are the connection's. */
function fieldsOf({ headers }: ExchangeRequest): string[] {
  const given = headers.filter(([name]) => !OWN_FIELDS.has(name.toLowerCase()));
  // Where browsers have it: before Accept-Language.
  const at = given.findIndex(([name]) => name.toLowerCase() === "accept-language");
  return given.toSpliced(at < 0 ? given.length : at, 0, ["Accept-Encoding", ACCEPT_ENCODING]).flat();
}

/** undici's raw fields: a flat list of names and values, or an object over HTTP/2. */
function headersOf(raw: object): ReadonlyMap<string, readonly string[]> {
  const headers = new Map<string, string[]>();
  const add = (name: string, value: unknown) => {
    const values = headers.get(name.toLowerCase());
    if (values) values.push(textOf(value));
    else headers.set(name.toLowerCase(), [textOf(value)]);
  };
  if (Array.isArray(raw)) {
    for (let i = 0; i + 1 < raw.length; i += 2) add(textOf(raw[i]), raw[i + 1]);
    return headers;
  }
  for (const [name, value] of Object.entries(raw)) {
    for (const entry of Array.isArray(value) ? value : [value]) add(name, entry);
  }
  return headers;
}

/** UTF-8 when the bytes are, else Latin-1: Location fields carry either. */
function textOf(value: unknown): string {
  const bytes = Buffer.isBuffer(value) ? value : Buffer.from(String(value), "latin1");
  return bytes.toString(isUtf8(bytes) ? "utf8" : "latin1");
}

const fieldCount = (headers: ReadonlyMap<string, readonly string[]>): number =>
  headers.values().reduce((count, values) => count + values.length, 0);

const rounded = (timings: Timings): Timings => ({
  dns_ms: Math.round(timings.dns_ms),
  connect_ms: Math.round(timings.connect_ms),
  tls_ms: Math.round(timings.tls_ms),
  first_byte_ms: Math.round(timings.first_byte_ms),
});

/** What undici, llhttp and node:http2 say, and what it means. The first line that fits counts. */
const PROBLEMS: readonly (readonly [EgressProblem, RegExp, string])[] = [
  // A length mismatch is two framings that contradict each other; a body cut short is the end of a socket.
  [
    "network_protocol",
    /^HPE_|^UND_ERR_(?:HEADERS_OVERFLOW|RES_CONTENT_LENGTH_MISMATCH)$|^ERR_HTTP2_ERROR$/,
    "is no valid HTTP",
  ],
  ["tls_error", /^ERR_SSL_|^ERR_TLS_|^EPROTO$/, "could not be decrypted"],
  ["timeout", /^ETIMEDOUT$/, "stopped coming"],
  ["network_reset", /(?:)/, "broke off"],
];

function asEgressError(problem: unknown): EgressError {
  if (problem instanceof EgressError) return problem;
  const code = codeOf(problem);
  // The parser's errors may have a number for a code, and one code for the end of a socket covers two more.
  const isProtocol =
    problem instanceof Error &&
    (problem.name === "HTTPParserError" || /^bad (?:response|upgrade)$/.test(problem.message));
  const [kind, , what] = isProtocol ? PROBLEMS[0]! : PROBLEMS.find(([, codes]) => codes.test(code))!;
  return new EgressError(kind, `The answer ${what}${code ? `: ${code}` : ""}`, { cause: problem });
}
