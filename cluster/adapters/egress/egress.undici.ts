/**
 * Egress over undici: one exchange at a time on a connection that pinned-connect.ts resolved, checked and pinned.
 *
 * Each undici Client owns exactly one such connection and cannot open another, so nothing is sent to an unchecked
 * address. Redirects, cookies, caches and size limits belong to the caller.
 */
import { isUtf8 } from "node:buffer";
import { hash } from "node:crypto";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { Dispatcher } from "undici";
import {
  type Egress,
  EgressError,
  type EgressProblem,
  type Exchange,
  type ExchangeRequest,
  type Timings,
  type WireField,
  type WireHeads,
} from "../../ports/egress.ts";
import { Fault } from "../../ports/fault.ts";
import { type Connection, type ConnectionLimits, ConnectionPool } from "./connections.undici.ts";
import { codeOf, connector, type ConnectorOptions, hostOf, secure } from "./pinned-connect.ts";
import { codingsOf, decodeBody } from "./decode.ts";
import { LACK_OF_DESCRIPTORS } from "./descriptors.ts";
import { throughProxy } from "./upstream-proxy.ts";

export interface UndiciEgressOptions extends ConnectorOptions {
  /** Offers HTTP/2 to https origins. Default true. */
  readonly http2?: boolean;
  /** Additional trusted roots, PEM. */
  readonly ca?: readonly string[];
  readonly limits?: Partial<EgressLimits>;
  /** Called with the bytes of bodies as they travel, before they are decoded. Default: nothing hears of them. */
  readonly onBodyBytes?: (direction: "received" | "sent", bytes: number) => void;
}

export interface EgressLimits extends ConnectionLimits {
  /**
   * Maximum concurrent exchanges. One more waits, and its wait counts towards the connect time-out. Each needs a file
   * descriptor.
   */
  readonly exchanges: number;
  readonly header_fields: number;
}

const LIMITS: EgressLimits = {
  exchanges: 512,
  idle: 2_000,
  idle_per_origin: 4,
  idle_ms: 60_000,
  reuse_ms: 5 * 60_000,
  header_bytes: 65_536,
  header_fields: 1_000,
};

const CONNECT_TIMEOUT_MS = 15_000;
const HEADERS_TIMEOUT_MS = 60_000;
const IDLE_TIMEOUT_MS = 60_000;

/** Fields that the adapter sets itself and drops from the caller's. */
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
  /** Counts of what is open now, for operators and tests. */
  readonly open: () => { readonly exchanges: number; readonly connections: number; readonly idle: number };
}

export function undiciEgress(options: UndiciEgressOptions): UndiciEgress {
  const limits: EgressLimits = { ...LIMITS, ...options.limits };
  const connects = connector(options);
  const connections = new ConnectionPool(limits, options.judge);
  const waiting = new Set<() => void>();
  const parts = { connections, header_fields: limits.header_fields, onBodyBytes: options.onBodyBytes };
  let exchanges = 0;
  let isClosed = false;

  /** Waits for one of the concurrent exchanges. */
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

  /** Passes the slot of an ended exchange to the longest-waiting one. */
  function releaseSlot(): void {
    const next = waiting.values().next().value;
    if (!next) {
      exchanges -= 1;
      return;
    }
    waiting.delete(next);
    next();
  }

  async function openConnection(
    url: URL,
    { via, networks }: ExchangeRequest,
    life: ExchangeLifetime,
    onAccepted: () => void,
  ): Promise<Connection> {
    const ca = options.ca ?? [];
    const judged = via && options.judge.url(url.href, networks);
    if (judged === "blocked_destination" || judged === "invalid_url") {
      throw new EgressError(judged, `Cannot ask for "${url.host}": it is not a public destination`);
    }
    const opened = via
      ? await throughProxy(connects, via.proxy_url, url, ca, life.signal)
      : { ...(await connects.open(url, life.signal, { networks })), fields: [] };
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
    return connections.add(url, via, {
      fields: opened.fields,
      socket,
      address: opened.address,
      is_private: via === undefined && opened.is_private,
      timings: { dns_ms: opened.dns_ms, connect_ms: opened.connect_ms, tls_ms: performance.now() - began },
    });
  }

  async function exchange(request: ExchangeRequest): Promise<Exchange> {
    const began = performance.now();
    const life = new ExchangeLifetime(request.signal);
    let isAccepted = false;
    const fail = ({ problem, message }: EgressError): Exchange => {
      const ms = Math.round(performance.now() - began);
      return { kind: "failed", problem, connected: isAccepted, detail: message, ms };
    };
    const url = URL.parse(request.url);
    if (!url) {
      life.end();
      return fail(new EgressError("invalid_url", "Cannot read the URL: it is not an absolute http(s) URL"));
    }
    if (isClosed) {
      life.end();
      return fail(new EgressError("aborted", "Cannot start an exchange: egress is closed"));
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
      // A POST must not be sent twice, and an idle connection may be dead already: a POST gets a new connection.
      const reused = request.method === "POST" ? undefined : connections.takeIdle(url, request);
      if (reused) {
        isAccepted = true;
        try {
          return await converse({ ...parts, connection: reused, request, url, life, end });
        } catch (problem) {
          if (life.signal.aborted || asEgressError(problem).problem !== "network_reset") throw problem;
        }
        isAccepted = false;
        life.arm(request.connect_timeout_ms ?? CONNECT_TIMEOUT_MS, `Cannot connect to "${url.host}" in time`);
      }
      const connection = await openConnection(url, request, life, () => (isAccepted = true));
      return await converse({ ...parts, connection, request, url, life, end });
    } catch (problem) {
      end();
      if (problem instanceof TypeError) throw problem;
      const error = asEgressError(problem);
      if (error.problem === "no_descriptors") {
        connections.closeIdle();
        throw new Fault("no_descriptors", error.message, { cause: error });
      }
      return fail(error);
    }
  }

  return {
    exchange,
    open: () => ({ exchanges, connections: connections.open_count, idle: connections.idle_count }),
    async close() {
      isClosed = true;
      connects.close();
      connections.end();
    },
  };
}

/** An exchange over its connection. */
interface Conversation {
  readonly connections: Pick<ConnectionPool, "keepIdle" | "close">;
  readonly connection: Connection;
  readonly request: ExchangeRequest;
  readonly url: URL;
  readonly life: ExchangeLifetime;
  readonly header_fields: number;
  readonly onBodyBytes: UndiciEgressOptions["onBodyBytes"];
  /** Called when the exchange is over. */
  readonly end: () => void;
}

/** Sends the request and waits for the response head; throws when none comes. */
async function converse({
  connections,
  connection,
  request,
  url,
  life,
  header_fields,
  onBodyBytes,
  end,
}: Conversation): Promise<Exchange> {
  const timings = connection.isUsed ? { dns_ms: 0, connect_ms: 0, tls_ms: 0 } : connection.timings;
  connection.isUsed = true;
  const sent = performance.now();
  const inlet = new BodyStream(life, request.idle_timeout_ms ?? IDLE_TIMEOUT_MS);
  life.arm(request.headers_timeout_ms ?? HEADERS_TIMEOUT_MS, `"${url.host}" did not answer in time`);
  let isDone = false;
  const done = (isWhole: boolean) => {
    if (isDone) return;
    isDone = true;
    if (isWhole) connections.keepIdle(connection);
    else connections.close(connection);
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
            // undici writes the request immediately after this callback. An earlier check would be too early, because
            // a busy process may stall in between.
            if (request.beforeSend?.() === false) {
              const { host } = url;
              controller.abort(
                new EgressError("aborted", `Cannot ask "${host}": its permit is no longer valid`),
              );
              return;
            }
            if (request.body) onBodyBytes?.("sent", request.body.length);
            if (request.onSent) process.nextTick(request.onSent);
          },
          onResponseStart: (controller, status, fields, reason = "") => {
            // 1xx responses: the final one is still to come, and the time-out keeps running.
            if (status < 200) return;
            const raw = controller.rawHeaders ?? fields;
            resolve({ status, headers: headersOf(raw), raw, reason });
          },
          onResponseData: (_, chunk) => {
            onBodyBytes?.("received", chunk.length);
            inlet.push(chunk);
          },
          onResponseEnd: () => inlet.finish(),
          onResponseError: (_, problem) => {
            // undici refuses an invalid field or path: a bug of the caller.
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
    if (fieldCount(head.headers) > header_fields) {
      throw new EgressError("network_protocol", `Cannot read the answer of "${url.host}": too many fields`);
    }
    if (connection.isAbsolute && head.status === 407) {
      throw new EgressError("proxy_refused", `The proxy refused to ask "${url.host}": 407`);
    }
    connection.isReusable = !(head.headers.get("connection") ?? []).join().toLowerCase().includes("close");
    const isEmpty = request.method === "HEAD" || head.status === 204 || head.status === 304;
    const codings = isEmpty ? [] : codingsOf(head.headers.get("content-encoding") ?? []);
    const stop = () => {
      // Each body ends here, nearly all of them after their last byte: an error costs as much as the rest of the call.
      const isBroken = !isDone;
      done(false);
      if (isBroken) inlet.fail(new EgressError("aborted", "Cannot read on: the body was cancelled"));
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
      is_private: connection.is_private,
      timings: rounded({ ...timings, first_byte_ms }),
      wire: () => wireHeads(request, url, connection.socket, head),
    };
  } catch (problem) {
    done(false);
    throw problem;
  }
}

interface Head {
  readonly status: number;
  readonly headers: ReadonlyMap<string, readonly string[]>;
  /** As undici gives it. */
  readonly raw: object;
  readonly reason: string;
}

/** The life of an exchange: the caller's signal and one timer at a time. Its own signal ends every wait. */
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

  /** Ends the exchange as `timeout` unless it is armed again or disarmed in time. */
  arm(ms: number, message: string): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.stop(new EgressError("timeout", message)), ms);
  }

  disarm(): void {
    clearTimeout(this.#timer);
  }

  /** Removes the timer and the listener. */
  end(): void {
    clearTimeout(this.#timer);
    this.#caller.removeEventListener("abort", this.#onCallerAbort);
  }

  /**
   * Waits until `begin` calls resolve or reject, or until this life ends; then the function that `begin` returned is
   * called.
   */
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

/** Maximum bytes buffered for a slow reader; then reading from the socket pauses. */
const MAX_BUFFERED_BYTES = 65_536;

/**
 * A response body. Pieces that arrived together are delivered together: otherwise an origin that sends single bytes
 * would cost a turn of the event loop for each.
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

  /** Called once, when the body has ended; immediately if it has already. */
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
    // Our own errors drop what is buffered. After an error of the origin, the reader still gets it.
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

/** Reads once and throws EgressErrors. A reader that stops early releases the connection. */
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

/** The caller's fields in their order, without OWN_FIELDS. */
function fieldsOf({ headers }: ExchangeRequest): string[] {
  const given = headers.filter(([name]) => !OWN_FIELDS.has(name.toLowerCase()));
  // Browsers send it before Accept-Language.
  const at = given.findIndex(([name]) => name.toLowerCase() === "accept-language");
  return given.toSpliced(at < 0 ? given.length : at, 0, ["Accept-Encoding", ACCEPT_ENCODING]).flat();
}

function headersOf(raw: object): ReadonlyMap<string, readonly string[]> {
  const headers = new Map<string, string[]>();
  for (const [name, value] of rawFields(raw)) {
    const values = headers.get(textOf(name).toLowerCase());
    if (values) values.push(textOf(value));
    else headers.set(textOf(name).toLowerCase(), [textOf(value)]);
  }
  return headers;
}

/** undici's raw fields: a flat list of names and values, or an object over HTTP/2. */
function* rawFields(raw: object): Generator<readonly [name: unknown, value: unknown]> {
  if (Array.isArray(raw)) {
    for (let i = 0; i + 1 < raw.length; i += 2) yield [raw[i], raw[i + 1]];
    return;
  }
  for (const [name, value] of Object.entries(raw))
    for (const entry of Array.isArray(value) ? value : [value]) yield [name, entry];
}

/** Heads as undici writes them: Host and Connection before the fields it is given, Content-Length behind them. */
function wireHeads(request: ExchangeRequest, url: URL, socket: Socket, { raw, reason }: Head): WireHeads {
  const given = fieldsOf(request);
  const tls = socket instanceof TLSSocket ? socket : null;
  const isHttp2 = tls?.alpnProtocol === "h2";
  return {
    request: [
      ["host", url.host],
      ...(isHttp2 ? [] : [["connection", "keep-alive"] as const]),
      ...Array.from({ length: given.length / 2 }, (_, n): WireField => [given[2 * n]!, given[2 * n + 1]!]),
      ...(request.body ? [["content-length", String(request.body.length)] as const] : []),
    ],
    response: Array.from(rawFields(raw), ([name, value]): WireField => [latin1(name), latin1(value)]),
    reason: isHttp2 ? "" : reason,
    protocol: isHttp2 ? "h2" : "http/1.1",
    tls: tls && {
      version: tls.getProtocol() ?? "",
      cipher: tls.getCipher()?.standardName ?? "",
      certificate_sha256: hash("sha256", tls.getPeerCertificate().raw ?? "", "hex"),
    },
  };
}

const latin1 = (value: unknown): string =>
  Buffer.isBuffer(value) ? value.toString("latin1") : String(value);

/** UTF-8 if the bytes are valid UTF-8, else Latin-1: Location fields use either. */
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

/** Codes of undici, llhttp and node:http2, and their meaning. The first match counts. */
const PROBLEMS: readonly (readonly [EgressProblem, RegExp, string])[] = [
  // A length mismatch means two contradictory framings; a truncated body is the end of a socket.
  [
    "network_protocol",
    /^HPE_|^UND_ERR_(?:HEADERS_OVERFLOW|RES_CONTENT_LENGTH_MISMATCH)$|^ERR_HTTP2_ERROR$/,
    "is not valid HTTP",
  ],
  ["tls_error", /^ERR_SSL_|^ERR_TLS_|^EPROTO$/, "could not be decrypted"],
  // undici reads its parser from a file with the first request.
  ["no_descriptors", LACK_OF_DESCRIPTORS, "could not be read: this process has no file descriptor left"],
  ["timeout", /^ETIMEDOUT$/, "stopped coming"],
  ["network_reset", /(?:)/, "broke off"],
];

function asEgressError(problem: unknown): EgressError {
  if (problem instanceof EgressError) return problem;
  const code = codeOf(problem);
  // Parser errors may have a numeric code, and one code for a closed socket also covers two parser errors.
  const isProtocol =
    problem instanceof Error &&
    (problem.name === "HTTPParserError" || /^bad (?:response|upgrade)$/.test(problem.message));
  const [kind, , what] = isProtocol ? PROBLEMS[0]! : PROBLEMS.find(([, codes]) => codes.test(code))!;
  return new EgressError(kind, `The answer ${what}${code ? `: ${code}` : ""}`, { cause: problem });
}
