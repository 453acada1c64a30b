/**
 * A forward proxy on loopback for programs with sockets of their own (the browser). Each connection goes through
 * pinned-connect.ts: the name is resolved, every address is checked, and the connection goes to a checked address.
 *
 * CONNECT carries https and WebSockets, the absolute form plain http. The content of tunnels is not read, only counted
 * for the session it belongs to; but for origins of a private authority, whose certificates it verifies (private-authority.ts).
 *
 * A session is one page with all it loads. A name keeps the addresses that it had first, so that a page cannot have its own
 * name lead elsewhere (DNS rebinding). Networks that an operator allows are for the page itself: they are reached by requests
 * to the origin of a document that came from them, and by none once a document of the session came from a public address.
 */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  Agent,
  type ClientRequestArgs,
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as ask,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { EgressError, type EgressProblem } from "../../ports/egress.ts";
import type { EgressProxy, ProxySession, SessionLimits, SessionOptions } from "../../ports/egress-proxy.ts";
import { type PrivateAuthority, privateAuthority } from "./private-authority.ts";
import { codeOf, connector, type ConnectorOptions, type Judge, type Resolve } from "./pinned-connect.ts";

export interface EgressProxyOptions extends ConnectorOptions {
  /** Additional trusted roots, PEM. Default: none, and no tunnel is looked into. */
  readonly ca?: readonly string[];
  /** Called for each connection that failed. The browser itself does not learn the reason. */
  readonly onRefused?: (host: string, problem: EgressProblem) => void;
  readonly limits?: Partial<ProxyLimits>;
}

export interface ProxyLimits {
  /** Maximum connections from the browser; one more is answered 503. */
  readonly connections: number;
  readonly connect_timeout_ms: number;
  /**
   * Silence in both directions after which a connection is closed. If it is too short, WebSockets and long polls break.
   */
  readonly idle_ms: number;
  /** Maximum bytes received on one connection; then it is closed. */
  readonly received_bytes: number;
}

const LIMITS: ProxyLimits = {
  connections: 512,
  connect_timeout_ms: 15_000,
  idle_ms: 60_000,
  received_bytes: 256 * 2 ** 20,
};

const SESSION_LIMITS: SessionLimits = { connections: 128, received_bytes: 256 * 2 ** 20, requests: 4_000 };

/** Maximum names of a session; one more is refused, so that none is resolved twice. */
const MAX_NAMES = 1_000;

export interface EgressProxyServer extends EgressProxy {
  readonly open: () => { readonly from_browser: number; readonly to_origins: number };
}

/** An open session. */
interface SessionState {
  readonly limits: SessionLimits;
  readonly networks: readonly string[] | undefined;
  readonly onLimit: NonNullable<SessionOptions["onLimit"]>;
  is_closed: boolean;
  requests: number;
  /** By name: its addresses for as long as the session lives. */
  readonly addresses: Map<string, ReturnType<Resolve>>;
  /** host:port of the document that was entered last. */
  document: string | null;
  document_network: ReturnType<ProxySession["documentNetwork"]>;
  /** By host:port, of what was connected to. */
  readonly network_of: Map<string, "public" | "private">;
  /** By host:port: whether its certificate is of the operator's authority. */
  readonly of_authority: Map<string, Promise<boolean>>;
  /** Connections to allowed private addresses, with their host:port. */
  readonly private_sockets: Map<Socket, string>;
  readonly refusals: Map<string, EgressProblem>;
  /** Received on connections that are closed. */
  received_bytes: number;
  readonly origin_sockets: Set<Socket>;
  readonly browser_sockets: Set<Duplex>;
  /** Connections for plain http, reused within the session. */
  readonly agent: Agent;
}

/** Idle connections per host: as many as a browser opens. */
const MAX_FREE = 6;

/** Maximum remembered failures of a session; the oldest are forgotten first. */
const MAX_REFUSALS = 1_000;

/** Hop-by-hop fields (RFC 9110 §7.6.1), and fields that are for the proxy only. */
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

/** `host.:port` is `host:port`: pages write names both ways, and normalised URLs have no final dot. */
const withoutRootDot = (host: string): string => host.replace(/\.(?=:\d+$|$)/, "");

/** A browser sends its credentials only after this challenge. */
const CHALLENGE = { "Proxy-Authenticate": 'Basic realm="trawl"' } as const;

const STATUS_OF: Readonly<Partial<Record<EgressProblem, number>>> = {
  invalid_url: 400,
  blocked_destination: 403,
  timeout: 504,
};

/** One algorithm: one proxy server with its sessions, tunnels, plain requests and limits. */
export async function egressProxy(options: EgressProxyOptions): Promise<EgressProxyServer> {
  const limits: ProxyLimits = { ...LIMITS, ...options.limits };
  const connections = connector(options);
  const { ca = [] } = options;
  const operators_authority = ca.length === 0 ? null : privateAuthority(ca);
  const browser_sockets = new Set<Socket>();
  const origin_sockets = new Set<Socket>();
  /** By the value of Proxy-Authorization. */
  const sessions = new Map<string, SessionState>();

  function openSession({ networks, onLimit, ...overrides }: SessionOptions = {}): ProxySession {
    const [username, password] = [randomBytes(12).toString("hex"), randomBytes(24).toString("hex")];
    const key = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
    const session: SessionState = {
      limits: { ...SESSION_LIMITS, ...overrides },
      networks,
      onLimit: onLimit ?? (() => {}),
      is_closed: false,
      requests: 0,
      addresses: new Map(),
      document: null,
      document_network: "none",
      network_of: new Map(),
      of_authority: new Map(),
      private_sockets: new Map(),
      refusals: new Map(),
      received_bytes: 0,
      origin_sockets: new Set(),
      browser_sockets: new Set(),
      agent: new SessionAgent(async (url) => {
        const socket = await connectForSession(url, session);
        limitReceived(socket, session);
        return socket;
      }),
    };
    sessions.set(key, session);
    return {
      username,
      password,
      received_bytes: () => receivedBytes(session),
      requests: () => session.requests,
      documentNetwork: () => session.document_network,
      enterDocument(text) {
        session.document = endpointOf(new URL(text));
        closePrivate(session, session.document);
        // Something of this origin was loaded before, perhaps on a connection that is used again.
        const known = session.network_of.get(session.document);
        if (known) onDocumentNetwork(session, known);
      },
      failureFor: (host) => session.refusals.get(withoutRootDot(host)) ?? null,
      close() {
        sessions.delete(key);
        closeSession(session);
      },
    };
  }

  /** The session of a request. The connection is remembered as the session's. */
  function sessionOf(request: IncomingMessage, near: Duplex): SessionState | null {
    const session = sessions.get(request.headers["proxy-authorization"] ?? "");
    if (!session) return null;
    if (!session.browser_sockets.has(near)) {
      session.browser_sockets.add(near);
      near.once("close", () => session.browser_sockets.delete(near));
    }
    return session;
  }

  /**
   * A connection to the destination within the session's limits. For a tunnel, `near` is the browser's end: each end
   * closes the other.
   */
  async function connectForSession(url: URL, session: SessionState, near?: Duplex): Promise<Socket> {
    if (
      session.is_closed ||
      session.origin_sockets.size >= session.limits.connections ||
      receivedBytes(session) > session.limits.received_bytes
    ) {
      throw new EgressError(
        "network_refused",
        `Cannot connect to "${url.host}": the limits of the session are reached`,
      );
    }
    const stop = new AbortController();
    const onTimeout = () => stop.abort(new EgressError("timeout", `Cannot connect to "${url.host}" in time`));
    const onBrowserGone = () => stop.abort(new EgressError("aborted", "The browser closed its connection"));
    const timer = setTimeout(onTimeout, limits.connect_timeout_ms);
    near?.once("close", onBrowserGone);
    try {
      const { socket, is_private } = await connections.open(url, stop.signal, {
        judge: judgeFor(session, url),
        networks: session.networks,
        resolve: (name, own) => resolveOnce(session, name, own),
      });
      onConnected(session, url, socket, is_private);
      if (is_private && !mayReachPrivate(session, url)) {
        socket.destroy();
        throw new EgressError(
          "blocked_destination",
          `Cannot connect to "${url.host}": the document has changed`,
        );
      }
      origin_sockets.add(socket);
      session.origin_sockets.add(socket);
      session.refusals.delete(withoutRootDot(url.host));
      const cutSocket = () => void socket.destroy();
      socket.once("close", () => {
        origin_sockets.delete(socket);
        session.origin_sockets.delete(socket);
        session.private_sockets.delete(socket);
        session.received_bytes += socket.bytesRead;
        near?.off("close", cutSocket);
      });
      near?.once("close", cutSocket);
      socket.setTimeout(limits.idle_ms, cutSocket);
      return socket;
    } catch (reason) {
      const { problem } = asEgressError(reason);
      if (problem !== "aborted") {
        recordFailure(session, url, problem);
        options.onRefused?.(url.host, problem);
      }
      throw reason;
    } finally {
      clearTimeout(timer);
      near?.off("close", onBrowserGone);
    }
  }

  /** The rule, and what the session's documents leave of its allowances for this destination. */
  function judgeFor(session: SessionState, url: URL): Judge {
    return {
      url: options.judge.url,
      address(address, port, networks) {
        const verdict = options.judge.address(address, port, networks);
        return verdict === "private" && !mayReachPrivate(session, url) ? "blocked_destination" : verdict;
      },
    };
  }

  /** Counts a request or tunnel. False: it was one too many, and the session has ended. */
  function countRequest(session: SessionState): boolean {
    if (++session.requests <= session.limits.requests) return true;
    endByLimit(session, "requests");
    return false;
  }

  const server = createServer({ requestTimeout: 0 }, (request, response) => {
    const near = request.socket;
    const session = sessionOf(request, near);
    if (!session) {
      response.writeHead(407, CHALLENGE).end();
      return;
    }
    const url = URL.parse(request.url ?? "");
    if (url?.protocol !== "http:") {
      // A request to the proxy itself, or another scheme.
      response.writeHead(400).end();
      return;
    }
    if (!countRequest(session)) return void near.destroy();
    const refuse = (reason: unknown) => {
      const { problem } = asEgressError(reason);
      if (response.headersSent) near.destroy();
      else {
        recordFailure(session, url, problem);
        response.writeHead(STATUS_OF[problem] ?? 502, { connection: "close" }).end();
      }
    };
    const hasBody = request.headers["content-length"] !== undefined || "transfer-encoding" in request.headers;
    const forward = (isFirst: boolean): void => {
      const forwarded = ask(
        {
          agent: session.agent,
          host: url.hostname,
          port: url.port || 80,
          method: request.method,
          path: `${url.pathname}${url.search}`,
          headers: { ...forwardedHeaders(request.headers), host: url.host },
        },
        (answer) => {
          response.writeHead(answer.statusCode!, forwardedHeaders(answer.headers));
          answer.pipe(response);
          answer.on("error", refuse);
        },
      );
      forwarded.on("error", (reason) => {
        // The origin closed the idle connection at the moment of its reuse.
        const isSafe = request.method === "GET" || request.method === "HEAD";
        const isStale = forwarded.reusedSocket && isSafe && !hasBody && !response.headersSent;
        if (isStale && isFirst && !response.destroyed) forward(false);
        else refuse(reason);
      });
      response.once("close", () => {
        if (!response.writableFinished) forwarded.destroy();
      });
      if (hasBody) request.pipe(forwarded);
      else forwarded.end();
    };
    forward(true);
  });

  server.on("connect", (request: IncomingMessage, near: Duplex, head: Buffer) => {
    near.on("error", () => {});
    const session = sessionOf(request, near);
    if (!session) {
      const field = Object.entries(CHALLENGE).map((pair) => pair.join(": "));
      near.end(
        `HTTP/1.1 407 Refused\r\n${field.join("\r\n")}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`,
      );
      return;
    }
    if (!countRequest(session)) return void near.destroy();
    const url = authority(request.url ?? "");
    const refuse = (reason: unknown) => {
      const status = STATUS_OF[asEgressError(reason).problem] ?? 502;
      near.end(`HTTP/1.1 ${status} Refused\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
    };
    if (!url) {
      refuse(new EgressError("invalid_url", "Cannot read the authority"));
      return;
    }
    connectForSession(url, session, near).then((socket) => {
      near.write("HTTP/1.1 200 Connection established\r\n\r\n");
      if (operators_authority) {
        if (head.length > 0) near.unshift(head);
        void passOrJoin(operators_authority, { near, socket, url, session });
        return;
      }
      limitReceived(socket, session);
      if (head.length > 0) socket.write(head);
      pass(near, socket);
    }, refuse);
  });

  /** The browser verifies the origin, unless its authority is the operator's: then this process does. */
  async function passOrJoin(
    operators: PrivateAuthority,
    { near, socket, url, session }: { near: Duplex; socket: Socket; url: URL; session: SessionState },
  ): Promise<void> {
    const timeout = AbortSignal.timeout(limits.connect_timeout_ms);
    const stop = new AbortController();
    timeout.addEventListener("abort", () =>
      stop.abort(new EgressError("timeout", `Cannot secure the connection to "${url.host}" in time`)),
    );
    try {
      const first = await firstBytes(near);
      if (first === null) return;
      near.unshift(first);
      // The record of a TLS handshake (RFC 8446 §5.1).
      const isPrivate = first[0] === 0x16 && (await isOfAuthority(operators, url, session, stop.signal));
      if (isPrivate) limitReceived(await operators.join(near, socket, url, stop.signal), session);
      else {
        pass(near, socket);
        limitReceived(socket, session);
      }
    } catch (reason) {
      recordFailure(session, url, asEgressError(reason).problem);
      socket.destroy();
      near.destroy();
    }
  }

  /** Asked once for each origin of a session, over a connection of its own. */
  function isOfAuthority(
    operators: PrivateAuthority,
    url: URL,
    session: SessionState,
    signal: AbortSignal,
  ): Promise<boolean> {
    const endpoint = endpointOf(url);
    const known = session.of_authority.get(endpoint);
    if (known) return known;
    const asked = connectForSession(url, session).then((socket) => operators.isOriginOf(socket, url, signal));
    session.of_authority.set(endpoint, asked);
    return asked;
  }

  server.on("connection", (socket) => {
    socket.on("error", () => {});
    if (browser_sockets.size >= limits.connections) {
      socket.end("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
      return;
    }
    browser_sockets.add(socket);
    socket.once("close", () => browser_sockets.delete(socket));
  });

  function limitReceived(socket: Socket, session: SessionState): void {
    socket.on("data", () => {
      if (socket.bytesRead > limits.received_bytes) socket.destroy();
      else if (receivedBytes(session) > session.limits.received_bytes) endByLimit(session, "received_bytes");
    });
  }

  // Browsers use CONNECT for upgrades, so these are refused.
  server.on("upgrade", (_, socket) => socket.destroy());
  server.on("clientError", (_, socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spki_sha256: operators_authority?.spki_sha256 ?? null,
    openSession,
    open: () => ({ from_browser: browser_sockets.size, to_origins: origin_sockets.size }),
    async close() {
      connections.close();
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
      // The HTTP server no longer tracks tunnels.
      const sockets_closed = [...browser_sockets, ...origin_sockets].map((socket) =>
        once(socket.destroy(), "close"),
      );
      await Promise.all([closed, ...sockets_closed]);
    },
  };
}

/** Bytes received on all connections of the session, closed and open. */
const receivedBytes = ({ received_bytes, origin_sockets: outer }: SessionState): number =>
  [...outer].reduce((sum, socket) => sum + socket.bytesRead, received_bytes);

/** An http.Agent whose connections are opened by the proxy. */
class SessionAgent extends Agent {
  readonly #open: (url: URL) => Promise<Socket>;

  constructor(open: (url: URL) => Promise<Socket>) {
    super({ keepAlive: true, maxFreeSockets: MAX_FREE });
    this.#open = open;
  }

  override createConnection(
    { host, port }: ClientRequestArgs,
    done?: (problem: Error | null, socket: Duplex) => void,
  ): undefined {
    void this.#give(new URL(`http://${host}:${port}`), done!);
  }

  async #give(url: URL, done: (problem: Error | null, socket: Duplex) => void): Promise<void> {
    let socket: Socket;
    try {
      socket = await this.#open(url);
    } catch (reason) {
      done(reason as Error, undefined as never);
      return;
    }
    done(null, socket);
  }
}

function recordFailure({ refusals }: SessionState, { host }: URL, problem: EgressProblem): void {
  if (refusals.size >= MAX_REFUSALS) refusals.delete(refusals.keys().next().value!);
  refusals.set(withoutRootDot(host), problem);
}

/** Joins the two ends of a tunnel. */
function pass(near: Duplex, socket: Socket): void {
  near.pipe(socket);
  socket.pipe(near);
  // The origin's last bytes may still be on their way to the browser.
  socket.once("close", () => near.end(() => near.destroy()));
}

/** Null: it ended before. */
function firstBytes(near: Duplex): Promise<Buffer | null> {
  return new Promise((resolve) => {
    const onClose = () => resolve(null);
    near.once("close", onClose);
    near.once("data", (bytes: Buffer) => {
      near.pause();
      near.off("close", onClose);
      resolve(bytes);
    });
  });
}

/** host:port, with the port written out. */
const endpointOf = (url: URL): string =>
  `${url.hostname.replace(/\.$/, "")}:${url.port || (url.protocol === "https:" ? 443 : 80)}`;

const mayReachPrivate = ({ document, document_network }: SessionState, url: URL): boolean =>
  document_network !== "public" && document === endpointOf(url);

/** The addresses of a name as the session has them from its first resolution on. */
function resolveOnce({ addresses }: SessionState, name: string, own: Resolve): ReturnType<Resolve> {
  const known = addresses.get(name);
  if (known) return known;
  if (addresses.size >= MAX_NAMES)
    throw new EgressError(
      "network_refused",
      `Cannot resolve "${name}": the limits of the session are reached`,
    );
  const resolving = own(name).catch((problem: unknown) => {
    addresses.delete(name);
    throw problem;
  });
  addresses.set(name, resolving);
  return resolving;
}

function onConnected(session: SessionState, url: URL, socket: Socket, is_private: boolean): void {
  const endpoint = endpointOf(url);
  const network = is_private ? "private" : "public";
  session.network_of.set(endpoint, network);
  if (is_private) session.private_sockets.set(socket, endpoint);
  if (endpoint === session.document) onDocumentNetwork(session, network);
}

function onDocumentNetwork(session: SessionState, network: "public" | "private"): void {
  if (session.document_network === "public") return;
  session.document_network = network;
  if (network === "public") closePrivate(session, null);
}

/** Closes what leads to private addresses, but for connections to this host:port. */
function closePrivate({ private_sockets }: SessionState, but_to: string | null): void {
  for (const [socket, endpoint] of private_sockets) if (endpoint !== but_to) socket.destroy();
}

/** Nothing more is sent or received for the session. */
function endByLimit(session: SessionState, limit: "requests" | "received_bytes"): void {
  if (session.is_closed) return;
  session.is_closed = true;
  closeSession(session);
  session.onLimit(limit);
}

function closeSession({ browser_sockets: inner, origin_sockets: outer, agent }: SessionState): void {
  agent.destroy();
  for (const socket of [...inner, ...outer]) socket.destroy();
}

/** "host:port" of a CONNECT as a URL for the check. The scheme only says that the port is not 80. */
function authority(text: string): URL | null {
  return /^[^/?#@\\\s]+:\d{1,5}$/.test(text) ? URL.parse(`https://${text}/`) : null;
}

const forwardedHeaders = (headers: IncomingHttpHeaders): IncomingHttpHeaders => {
  const named = new Set((headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase()));
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !HOP_FIELDS.has(name) && !named.has(name)),
  );
};

/** Errors of an established connection; the parser's codes begin with HPE. */
function asEgressError(reason: unknown): EgressError {
  if (reason instanceof EgressError) return reason;
  const problem = codeOf(reason).startsWith("HPE_") ? "network_protocol" : "network_reset";
  return new EgressError(problem, "The connection broke off", { cause: reason });
}
