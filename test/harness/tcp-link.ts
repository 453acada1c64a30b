/**
 * A TCP link through this process that can be cut and slowed: between a node and an engine, without root and without
 * anybody else noticing. Cut, it is a black hole: what is sent vanishes in it, and no end is told.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export interface Link {
  readonly port: number;
  /** Nothing passes any more, either way; open connections stay open. */
  readonly cut: () => void;
  /** What is open passes again what was held, or, with `reset`, is broken first, as after a long cut. */
  readonly heal: (how?: { readonly reset: boolean }) => void;
  /** Each piece takes so much longer, either way. */
  readonly slow: (ms: number) => void;
  readonly close: () => Promise<void>;
}

export async function linkTo(port: number, host = "127.0.0.1"): Promise<Link> {
  const sockets = new Set<Socket>();
  let whole = Promise.withResolvers<void>();
  whole.resolve();
  let delay_ms = 0;

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
        await whole.promise;
        if (delay_ms > 0) await sleep(delay_ms);
        if (!to.write(piece as Buffer)) await once(to, "drain");
      }
    } catch {
      // One of the two ends is gone, and the other will be.
    }
    await whole.promise;
    to.end();
  }

  server.listen(0, host);
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      whole = Promise.withResolvers();
    },
    heal({ reset } = { reset: false }) {
      if (reset) for (const socket of sockets) socket.destroy();
      whole.resolve();
    },
    slow(ms) {
      delay_ms = ms;
    },
    async close() {
      whole.resolve();
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
