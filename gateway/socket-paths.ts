/**
 * Addresses at which a WebSocket is opened and closed at once, with the code of a good end. Some clients follow a job by a WebSocket, and by plain
 * requests once it is closed, but end their process when it is refused. A plain request to such an address is served as any other.
 */
import { createHash } from "node:crypto";

/** `:name` is any one segment of a path. */
export type SocketPath = `/${string}`;

/** RFC 6455 §1.3. */
const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
export const NORMAL_CLOSURE = 1_000;

export const socketPathMatcher = (paths: readonly SocketPath[]): ((path: string) => boolean) => {
  const patterns = paths.map((path) => new RegExp(`^${path.replaceAll(/:\w+/g, "[^/]+")}$`));
  return (path) => patterns.some((pattern) => pattern.test(path));
};

/** The first sub-protocol that the client offers, which it wants to read again; "": none. */
export const offeredProtocol = (offered: string | undefined): string => (offered ?? "").split(",")[0]!.trim();

/** The answer to an opening handshake, and the frame that closes what it opened. */
export function openedAndClosed(headers: ReadonlyMap<string, string>): Buffer {
  const accept = createHash("sha1")
    .update(`${headers.get("sec-websocket-key")}${GUID}`)
    .digest("base64");
  const protocol = offeredProtocol(headers.get("sec-websocket-protocol"));
  const head = [
    "HTTP/1.1 101 Switching Protocols",
    "Upgrade: websocket",
    "Connection: Upgrade",
    `Sec-WebSocket-Accept: ${accept}`,
    ...(protocol === "" ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]),
  ];
  const close = Buffer.from([0x88, 0x02, NORMAL_CLOSURE >> 8, NORMAL_CLOSURE & 0xff]);
  return Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), close]);
}
