/**
 * A TCP link through this process that can be cut and slowed: between a node and an engine, without root and without
 * an effect on other programs. A cut link forwards nothing and closes nothing.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** `there`: from the node to the engine; `back`: from the engine to the node. */
export type Way = "there" | "back";

export interface Link {
  readonly port: number;
  /** Nothing passes any more, either way or only this way; open connections stay open. */
  readonly cut: (way?: Way) => void;
  /** Open connections forward again, first what waited; with `reset` they are broken, as after a long cut. */
  readonly heal: (how?: { readonly reset: boolean }) => void;
  /** Each chunk takes so much longer, either way or only this way. */
  readonly slow: (ms: number, way?: Way) => void;
  /** New connections lead to another port; open ones are broken. */
  readonly lead: (port: number) => void;
  readonly close: () => Promise<void>;
}

interface OneWay {
  open: PromiseWithResolvers<void>;
  delay_ms: number;
}

function openWay(): OneWay {
  const open = Promise.withResolvers<void>();
  open.resolve();
  return { open, delay_ms: 0 };
}

export async function linkTo(first_port: number, host = "127.0.0.1"): Promise<Link> {
  const sockets = new Set<Socket>();
  const ways = { there: openWay(), back: openWay() };
  const chosen = (way?: Way): readonly OneWay[] => (way ? [ways[way]] : [ways.there, ways.back]);
  let port = first_port;

  const server = createServer((near) => {
    const far = connect(port, host);
    for (const [from, to, way] of [
      [near, far, ways.there],
      [far, near, ways.back],
    ] as const) {
      sockets.add(from);
      from.setNoDelay(true);
      from.on("error", () => {});
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
      void carry(from, to, way);
    }
  });

  async function carry(from: Socket, to: Socket, way: OneWay): Promise<void> {
    try {
      for await (const piece of from) {
        await way.open.promise;
        if (way.delay_ms > 0) await sleep(way.delay_ms);
        if (!to.write(piece as Buffer)) await once(to, "drain");
      }
    } catch {
      // An end is gone, and the other will be.
    }
    await way.open.promise;
    to.end();
  }

  server.listen(0, host);
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    cut(way) {
      for (const each of chosen(way)) each.open = Promise.withResolvers();
    },
    heal({ reset } = { reset: false }) {
      if (reset) for (const socket of sockets) socket.destroy();
      for (const { open } of chosen()) open.resolve();
    },
    slow(ms, way) {
      for (const each of chosen(way)) each.delay_ms = ms;
    },
    lead(next_port) {
      port = next_port;
      for (const socket of sockets) socket.destroy();
    },
    async close() {
      for (const { open } of chosen()) open.resolve();
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
