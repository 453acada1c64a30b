/**
 * Connections through a forward proxy that an operator configured: a tunnel (CONNECT) for https, a plain connection and
 * the absolute form for http. The caller checks the destination beforehand; a name is resolved by the proxy and cannot
 * be pinned here. Messages never contain credentials.
 */
import { isIP, type Socket } from "node:net";
import { EgressError } from "../../ports/egress.ts";
import {
  codeOf,
  type Connector,
  hostOf,
  type Judge,
  type OpenedConnection,
  portOf,
  secure,
} from "./pinned-connect.ts";

/** Maximum size of the response head to CONNECT. */
const MAX_HEAD_BYTES = 16_384;

/**
 * A rule that allows exactly this endpoint, private or not, and nothing else, because an operator configured it. For
 * connections to one provider; never for URLs from callers.
 */
export function onlyTo(endpoint: URL): Judge {
  const port = portOf(endpoint);
  return {
    url: (text) => {
      const url = URL.parse(text);
      if (url?.hostname !== endpoint.hostname || portOf(url) !== port) return "blocked_destination";
      return isIP(hostOf(url)) === 0 ? "resolve" : "allowed";
    },
    address: (_, requested_port) => (requested_port === port ? "allowed" : "blocked_destination"),
  };
}

export interface ProxiedConnection extends OpenedConnection {
  /** Header fields for requests in absolute form; none through a tunnel. */
  readonly fields: readonly (readonly [string, string])[];
}

/** Connects to `url` through the proxy. Throws EgressErrors proxy_* and aborted. */
export async function throughProxy(
  { open }: Connector,
  proxy_url: string,
  url: URL,
  ca: readonly string[],
  signal: AbortSignal,
): Promise<ProxiedConnection> {
  const proxy = URL.parse(proxy_url);
  if (!proxy || (proxy.protocol !== "http:" && proxy.protocol !== "https:")) {
    throw new EgressError("proxy_unreachable", "Cannot reach the proxy: its address is not an http(s) URL");
  }
  const opened = await orProxyUnreachable(
    open(new URL(proxy.origin), signal, { judge: onlyTo(proxy) }),
    signal,
  );
  const { socket } =
    proxy.protocol === "https:"
      ? {
          socket: await orProxyUnreachable(
            secure(opened.socket, hostOf(proxy), { protocols: ["http/1.1"], ca }, signal),
            signal,
          ),
        }
      : opened;
  const authorization = credentialsOf(proxy);
  if (url.protocol === "http:") {
    return { ...opened, socket, fields: authorization ? [["Proxy-Authorization", authorization]] : [] };
  }
  const authority = `${url.hostname}:${portOf(url)}`;
  const lines = [`CONNECT ${authority} HTTP/1.1`, `Host: ${authority}`];
  if (authorization) lines.push(`Proxy-Authorization: ${authorization}`);
  try {
    socket.write(`${lines.join("\r\n")}\r\n\r\n`);
    assertTunnelOpen(await readHead(socket, signal), url.host);
  } catch (problem) {
    socket.destroy();
    throw problem;
  }
  return { ...opened, socket, fields: [] };
}

/** A failure to reach the proxy must not look like a failure of the page's host; only the caller's own end is none. */
async function orProxyUnreachable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await work;
  } catch (problem) {
    if (signal.aborted && !isTimeout(signal.reason)) throw signal.reason;
    const reason = problem instanceof EgressError ? problem.problem : codeOf(problem);
    if (reason === "no_descriptors") throw problem;
    throw new EgressError("proxy_unreachable", `Cannot reach the proxy: ${reason}`);
  }
}

const isTimeout = (reason: unknown): boolean => reason instanceof EgressError && reason.problem === "timeout";

function credentialsOf({ username, password }: URL): string | null {
  if (username === "" && password === "") return null;
  return `Basic ${Buffer.from(`${decodeEscapes(username)}:${decodeEscapes(password)}`).toString("base64")}`;
}

/** Invalid escapes are kept as they are: operators paste passwords. */
function decodeEscapes(text: string): string {
  return text.replaceAll(/(?:%[0-9a-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      return escapes;
    }
  });
}

/** No money, no or wrong credentials, too many requests: of this client, whatever it asks for. */
const REFUSALS_OF_CLIENT: ReadonlySet<number> = new Set([401, 402, 407, 429]);

/** Throws unless the proxy opened the tunnel. */
function assertTunnelOpen(answer: Buffer, host: string): void {
  const end = answer.indexOf("\r\n\r\n") + 4;
  const status = Number(/^HTTP\/1\.[01] (\d{3})[ \r]/.exec(answer.toString("latin1", 0, 64))?.[1] ?? 0);
  if (status === 0) {
    throw new EgressError("proxy_unreachable", "Cannot use the proxy: its answer is not valid HTTP");
  }
  if (REFUSALS_OF_CLIENT.has(status)) {
    throw new EgressError("proxy_refused", `The proxy refused to connect to "${host}": ${status}`);
  }
  if (status < 200 || status >= 300) {
    // Also 500: with it tinyproxy says that a name does not exist.
    throw new EgressError("proxy_connect_failed", `The proxy could not connect to "${host}": ${status}`);
  }
  // The origin waits for our first bytes, so these are the proxy's own.
  if (answer.length > end) {
    throw new EgressError(
      "proxy_unreachable",
      "Cannot use the proxy: it sent bytes of its own into the tunnel",
    );
  }
}

/** The bytes up to the end of the head, and any that arrived with it. */
function readHead(socket: Socket, signal: AbortSignal): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0);
    const stopListening = () => {
      signal.removeEventListener("abort", onAbort);
      socket.off("readable", onReadable).off("close", onClose).off("end", onClose);
    };
    const fail = (error: EgressError) => {
      stopListening();
      reject(error);
    };
    const onAbort = () =>
      fail(
        // It may be waiting for a destination that does not answer.
        isTimeout(signal.reason)
          ? new EgressError("proxy_connect_failed", "The proxy did not answer in time")
          : (signal.reason as EgressError),
      );
    const onClose = () =>
      fail(new EgressError("proxy_unreachable", "Cannot use the proxy: it closed the connection"));
    const onReadable = () => {
      const piece = socket.read() as Buffer | null;
      if (piece === null) return;
      received = Buffer.concat([received, piece]);
      if (received.includes("\r\n\r\n")) {
        stopListening();
        resolve(received);
      } else if (received.length > MAX_HEAD_BYTES) {
        fail(new EgressError("proxy_unreachable", "Cannot use the proxy: its answer does not end"));
      }
    };
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    else socket.on("readable", onReadable).on("close", onClose).on("end", onClose);
  });
}
