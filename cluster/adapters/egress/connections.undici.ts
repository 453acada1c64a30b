/**
 * The connections of one egress: an undici Client over each, and which of those that are idle stay open for the next exchange of
 * their route. How a connection is opened and checked stands in pinned-connect.ts, what is sent over it in egress.undici.ts.
 */
import type { Socket } from "node:net";
import { EgressError, type ExchangeRequest, type Timings } from "../../ports/egress.ts";
import { Client, ClientDestroyedError } from "../parts.undici.ts";
import type { Judge } from "./pinned-connect.ts";

export interface ConnectionLimits {
  /** Maximum idle connections; the one idle for longest is closed first. */
  readonly idle: number;
  readonly idle_per_origin: number;
  /**
   * How long a connection may be idle; an origin's Keep-Alive field shortens it. Most servers wait 5 to 75 s: one that closes
   * at the moment of reuse costs a second connection.
   */
  readonly idle_ms: number;
  /** Age from which a connection is not used again, so that a name that has moved is followed. */
  readonly reuse_ms: number;
  /** Maximum size of all header fields of a response; more is `network_protocol`. */
  readonly header_bytes: number;
}

export interface Connection {
  readonly route: string;
  /** Requests use the absolute form: the peer is a proxy. */
  readonly isAbsolute: boolean;
  /** Header fields for the proxy, sent with every request. */
  readonly fields: readonly (readonly [string, string])[];
  readonly client: Client;
  readonly socket: Socket;
  readonly address: string;
  readonly is_private: boolean;
  readonly timings: Omit<Timings, "first_byte_ms">;
  readonly opened_ms: number;
  /** An exchange has begun on it. */
  isUsed: boolean;
  isReusable: boolean;
  /** Closes it once it has been idle for too long. */
  alarm: NodeJS.Timeout | undefined;
}

/** All closed clients share this error: undici would format a stack for each, 65 µs of CPU time. */
const CLOSED = new ClientDestroyedError();

export class ConnectionPool {
  readonly #limits: ConnectionLimits;
  readonly #judge: Judge;
  readonly #open = new Set<Connection>();
  /** Oldest first, in the insertion order of Set. */
  readonly #idle = new Set<Connection>();
  /** Idle connections by route, oldest first. */
  readonly #idleByRoute = new Map<string, Set<Connection>>();
  #isClosed = false;

  constructor(limits: ConnectionLimits, judge: Judge) {
    this.#limits = limits;
    this.#judge = judge;
  }

  get open_count(): number {
    return this.#open.size;
  }

  get idle_count(): number {
    return this.#idle.size;
  }

  /** A connection that was opened for the URL and, with `via`, for this proxy. */
  add(
    url: URL,
    via: ExchangeRequest["via"],
    opened: Pick<Connection, "fields" | "socket" | "address" | "is_private" | "timings">,
  ): Connection {
    const connection: Connection = {
      ...opened,
      route: routeKey(url, via),
      isAbsolute: via !== undefined && url.protocol === "http:",
      client: clientOver(url.origin, opened.socket, this.#limits),
      opened_ms: performance.now(),
      isUsed: false,
      isReusable: true,
      alarm: undefined,
    };
    this.#open.add(connection);
    opened.socket.once("close", () => {
      // undici reports a close during an exchange; this handles a close while idle.
      this.#dropIdle(connection);
      this.#open.delete(connection);
    });
    return connection;
  }

  /** The connection that was used last, if its address is still allowed. A proxy is the operator's, whatever its address. */
  takeIdle(url: URL, { via, networks }: Pick<ExchangeRequest, "via" | "networks">): Connection | undefined {
    const connection = [...(this.#idleByRoute.get(routeKey(url, via)) ?? [])].at(-1);
    if (!connection) return undefined;
    const port = Number(url.port) || (url.protocol === "https:" ? 443 : 80);
    if (!via && this.#judge.address(connection.address, port, networks) === "blocked_destination") {
      // A request with other networks may use it.
      if (networks === undefined) this.close(connection);
      return undefined;
    }
    this.#dropIdle(connection);
    return connection;
  }

  /** Keeps a connection after a complete exchange, within the limits. */
  keepIdle(connection: Connection): void {
    const { reuse_ms, idle_ms, idle, idle_per_origin } = this.#limits;
    const isOld = performance.now() - connection.opened_ms > reuse_ms;
    if (this.#isClosed || isOld || !connection.isReusable || connection.socket.destroyed) {
      this.close(connection);
      return;
    }
    connection.alarm = setTimeout(() => this.close(connection), idle_ms).unref();
    this.#idle.add(connection);
    const same_way = this.#idleByRoute.get(connection.route) ?? new Set();
    this.#idleByRoute.set(connection.route, same_way.add(connection));
    const from = same_way.size > idle_per_origin ? same_way : this.#idle.size > idle ? this.#idle : null;
    const [surplus] = from ?? [];
    if (surplus) this.close(surplus);
  }

  close(connection: Connection): void {
    this.#dropIdle(connection);
    this.#open.delete(connection);
    // The socket is destroyed at once; nothing waits for undici.
    connection.client.destroy(CLOSED, () => {});
    connection.socket.destroy();
  }

  /** Idle connections hold descriptors that the next exchange may use. */
  closeIdle(): void {
    for (const connection of this.#idle) this.close(connection);
  }

  /** Closes all of them; none is kept from now on. */
  end(): void {
    this.#isClosed = true;
    for (const connection of this.#open) this.close(connection);
  }

  #dropIdle(connection: Connection): void {
    clearTimeout(connection.alarm);
    this.#idle.delete(connection);
    const same_way = this.#idleByRoute.get(connection.route);
    if (same_way?.delete(connection) && same_way.size === 0) this.#idleByRoute.delete(connection.route);
  }
}

/** The key of reusable connections: origin and forward proxy. */
const routeKey = ({ origin }: URL, via: ExchangeRequest["via"]): string =>
  `${origin} ${via?.proxy_url ?? ""}`;

/** An undici Client over one established connection. When the connection closes, the client is of no further use. */
function clientOver(origin: string, socket: Socket, limits: ConnectionLimits): Client {
  let isGiven = false;
  return new Client(origin, {
    connect: (_, given) => {
      const wasGiven = isGiven;
      isGiven = true;
      // Asynchronous: undici ignores a socket that it receives before its own call returns.
      queueMicrotask(() => {
        if (wasGiven) given(new EgressError("network_reset", "The connection was closed"), null);
        else given(null, socket);
      });
    },
    pipelining: 1,
    maxHeaderSize: limits.header_bytes,
    // ExchangeLifetime keeps time to the millisecond; undici's timers are coarse.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: limits.idle_ms,
    keepAliveMaxTimeout: limits.idle_ms,
    // A connection has one stream at a time. The window limits how much an origin may send ahead of a slow reader.
    h2Options: { maxConcurrentStreams: 1, pingInterval: 0, settings: { initialWindowSize: 262_144 } },
  });
}
