/**
 * A TCP link through this process that can be cut and slowed: between a node and an engine, without root and without
 * an effect on other programs. A cut link forwards nothing and closes nothing.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export interface Link {
  readonly port: number;
  /** Nothing passes any more, either way; open connections stay open. */
  readonly cut: () => void;
  /** Open connections forward again, first what waited; with `reset` they are broken, as after a long cut. */
  readonly heal: (how?: { readonly reset: boolean }) => void;
  /** Each chunk takes so much longer, either way. */
  readonly slow: (ms: number) => void;
  /** New connections lead to another port; open ones are broken. */
  readonly lead: (port: number) => void;
  readonly close: () => Promise<void>;
}

export async function linkTo(first_port: number, host = "127.0.0.1"): Promise<Link> {
  const sockets = new Set<Socket>();
  let connected = Promise.withResolvers<void>();
  connected.resolve();
  let delay_ms = 0;
  let port = first_port;

  const server = createServer((near) => {
    const far = connect(port, host);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.setNoDelay(true);
      from.on("error", () => {});
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
      void carry(from, to);
    }
  });

  async function carry(from: Socket, to: Socket): Promise<void> {
    try {
      for await (const piece of from) {
        await connected.promise;
        if (delay_ms > 0) await sleep(delay_ms);
        if (!to.write(piece as Buffer)) await once(to, "drain");
      }
    } catch {
      // One of the two ends is gone, and the other will be.
    }
    await connected.promise;
    to.end();
  }

  server.listen(0, host);
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      connected = Promise.withResolvers();
    },
    heal({ reset } = { reset: false }) {
      if (reset) for (const socket of sockets) socket.destroy();
      connected.resolve();
    },
    slow(ms) {
      delay_ms = ms;
    },
    lead(next_port) {
      port = next_port;
      for (const socket of sockets) socket.destroy();
    },
    async close() {
      connected.resolve();
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
