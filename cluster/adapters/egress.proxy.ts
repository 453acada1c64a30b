/**
 * A forward proxy on loopback for what brings its own sockets (the browser): every connection it opens is resolved,
 * judged and pinned by connect.ts, like any other way out.
 *
 * CONNECT carries https and WebSockets, the absolute form plain http. It sees no further than that: what passes
 * through a tunnel is not read, only counted.
 */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request as ask } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { EgressError, type EgressProblem } from "../ports/egress.ts";
import { connector, type Judge } from "./connect.ts";

export interface EgressProxyOptions {
  readonly judge: Judge;
  /** Resolvers as ip[:port], asked for every name. None: the system's. */
  readonly dns_servers?: readonly string[];
  /** Told of every connection that did not come about: the browser itself only learns that there is none. */
  readonly onRefused?: (host: string, problem: EgressProblem) => void;
  readonly limits?: Partial<ProxyLimits>;
}

export interface ProxyLimits {
  /** Connections from the browser at once; one more is answered 503. */
  readonly connections: number;
  readonly connect_timeout_ms: number;
  /** Silence in both directions after which a connection is cut. Too short, and WebSockets and long polls break. */
  readonly idle_ms: number;
  /** What one connection may bring in before it is cut. */
  readonly received_bytes: number;
}

const LIMITS: ProxyLimits = {
  connections: 512,
  connect_timeout_ms: 15_000,
  idle_ms: 60_000,
  received_bytes: 256 * 2 ** 20,
};

export interface EgressProxy {
  /** What a browser is given as its proxy. */
  readonly url: string;
  readonly open: () => { readonly from_browser: number; readonly to_origins: number };
  readonly close: () => Promise<void>;
}

/** Of one connection, not of the message (RFC 9110, 7.6.1), and what the browser tells the proxy alone. */
const HOP_FIELDS = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

const STATUS_OF: Readonly<Partial<Record<EgressProblem, number>>> = {
  invalid_url: 400,
  blocked_destination: 403,
  timeout: 504,
};

export async function egressProxy(options: EgressProxyOptions): Promise<EgressProxy> {
  const limits: ProxyLimits = { ...LIMITS, ...options.limits };
  const out = connector(options.judge, options.dns_servers ?? []);
  const inner = new Set<Socket>();
  const outer = new Set<Socket>();

  /** A connection to where the browser wants to go, cut at its limits and with the browser's own. */
  async function opened(url: URL, near: Duplex): Promise<Socket> {
    const stop = new AbortController();
    const late = () => stop.abort(new EgressError("timeout", `Cannot connect to "${url.host}" in time`));
    const gone = () => stop.abort(new EgressError("aborted", "The browser has gone"));
    const timer = setTimeout(late, limits.connect_timeout_ms);
    near.once("close", gone);
    try {
      const { socket } = await out.open(url, stop.signal);
      outer.add(socket);
      socket.once("close", () => {
        outer.delete(socket);
        near.destroy();
      });
      near.once("close", () => socket.destroy());
      socket.setTimeout(limits.idle_ms, () => socket.destroy());
      return socket;
    } catch (reason) {
      const { problem } = asEgressError(reason);
      if (problem !== "aborted") options.onRefused?.(url.host, problem);
      throw reason;
    } finally {
      clearTimeout(timer);
      near.off("close", gone);
    }
  }

  const server = createServer({ requestTimeout: 0 }, (request, response) => {
    const near = request.socket;
    const url = URL.parse(request.url ?? "");
    if (url?.protocol !== "http:") {
      // A page that asks the proxy itself, or a scheme that is none of ours.
      response.writeHead(400).end();
      return;
    }
    const refuse = (reason: unknown) => {
      if (response.headersSent) near.destroy();
      else response.writeHead(STATUS_OF[asEgressError(reason).problem] ?? 502, { connection: "close" }).end();
    };
    opened(url, near).then((socket) => {
      limitReceived(socket);
      const forwarded = ask(
        {
          createConnection: () => socket,
          method: request.method,
          path: `${url.pathname}${url.search}`,
          headers: { ...passedOn(request.headers), host: url.host, connection: "close" },
        },
        (answer) => {
          response.writeHead(answer.statusCode!, passedOn(answer.headers));
          answer.pipe(response);
          answer.on("error", refuse);
        },
      );
      forwarded.on("error", refuse);
      request.pipe(forwarded);
    }, refuse);
  });

  server.on("connect", (request: IncomingMessage, near: Duplex, head: Buffer) => {
    near.on("error", () => {});
    const url = authority(request.url ?? "");
    const refuse = (reason: unknown) => {
      const status = STATUS_OF[asEgressError(reason).problem] ?? 502;
      near.end(`HTTP/1.1 ${status} Refused\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
    };
    if (!url) {
      refuse(new EgressError("invalid_url", "Cannot read the authority"));
      return;
    }
    opened(url, near).then((socket) => {
      limitReceived(socket);
      near.write("HTTP/1.1 200 Connection established\r\n\r\n");
      if (head.length > 0) socket.write(head);
      near.pipe(socket);
      socket.pipe(near);
    }, refuse);
  });

  server.on("connection", (socket) => {
    socket.on("error", () => {});
    if (inner.size >= limits.connections) {
      socket.end("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
      return;
    }
    inner.add(socket);
    socket.once("close", () => inner.delete(socket));
  });

  function limitReceived(socket: Socket): void {
    socket.on("data", () => {
      if (socket.bytesRead > limits.received_bytes) socket.destroy();
    });
  }

  // Upgrades in the absolute form: browsers use CONNECT for them, so nobody who means well asks for one.
  server.on("upgrade", (_, socket) => socket.destroy());
  server.on("clientError", (_, socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    open: () => ({ from_browser: inner.size, to_origins: outer.size }),
    async close() {
      out.close();
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
      // Tunnels are no longer the server's to wait for.
      const gone = [...inner, ...outer].map((socket) => once(socket.destroy(), "close"));
      await Promise.all([closed, ...gone]);
    },
  };
}

/** "host:port" of a CONNECT as a URL to judge. The scheme only says that the port is not 80. */
function authority(text: string): URL | null {
  return /^[^/?#@\\\s]+:\d{1,5}$/.test(text) ? URL.parse(`https://${text}/`) : null;
}

const passedOn = (headers: IncomingHttpHeaders): IncomingHttpHeaders => {
  const named = new Set((headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase()));
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !HOP_FIELDS.has(name) && !named.has(name)),
  );
};

const asEgressError = (reason: unknown): EgressError =>
  reason instanceof EgressError
    ? reason
    : new EgressError("network_reset", "The connection broke off", { cause: reason });
