/** A service that a page must not reach, on an address that stands for a private one. */
import { createSocket, type Socket as UdpSocket } from "node:dgram";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";

/** A service on 127.0.0.2, which stands for a private address: it records each client, and answers it. */
export interface Canary {
  readonly port: number;
  readonly received: string[];
  readonly close: () => Promise<void>;
}

export async function canary(): Promise<Canary> {
  const received: string[] = [];
  const sockets = new Set<Socket>();
  const tcp: Server = createServer((socket) => {
    received.push("tcp");
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      received.push(bytes.toString("latin1").split("\r\n", 1)[0]!);
      socket.end("HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\nContent-Length: 6\r\n\r\nsecret");
    });
  });
  tcp.listen(0, "127.0.0.2");
  await once(tcp, "listening");
  const { port } = tcp.address() as AddressInfo;
  const udp: UdpSocket = createSocket("udp4", () => void received.push("udp"));
  udp.bind(port, "127.0.0.2");
  await once(udp, "listening");
  return {
    port,
    received,
    async close() {
      for (const socket of sockets) socket.destroy();
      udp.close();
      tcp.close();
      await once(tcp, "close");
    },
  };
}
