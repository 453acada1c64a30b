/** Clients that misbehave in the large: many at once, and none of them reading to the end. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Numbers } from "./server.ts";

export interface Child {
  readonly port: number;
  /** Settled: memory after garbage has been collected. */
  readonly numbers: (settled?: "settled") => Promise<Numbers>;
  readonly close: () => Promise<unknown>;
}

/**
 * glibc takes blocks from here on from the system, and gives them back when they are freed. Left to itself it raises this with the first
 * large block that is freed, up to 32 MB: then the process keeps up to 50 MB, more or less by chance, that no request holds.
 */
const MMAP_THRESHOLD = { MALLOC_MMAP_THRESHOLD_: String(128 * 1024) };

/** Starts an adapter in a process of its own: "uws" or "node". */
export async function spawn(adapter: string): Promise<Child> {
  const child = fork(new URL("server.ts", import.meta.url), [adapter], {
    execArgv: ["--expose-gc", "--disable-warning=ExperimentalWarning"],
    env: { ...process.env, ...MMAP_THRESHOLD },
  });
  const [{ port }] = (await once(child, "message")) as [{ port: number }];
  return {
    port,
    async numbers(settled) {
      child.send(settled ?? "now");
      const [counts] = (await once(child, "message")) as [Numbers];
      return counts;
    },
    close() {
      const exited = child.exitCode === null ? once(child, "exit") : Promise.resolve();
      child.send("close");
      return exited;
    },
  };
}

/** Sends and reads nothing until it is told to. */
export async function open(port: number, bytes: string): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1" });
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.write(bytes);
  return socket;
}

export const ask = (path: string, method = "GET", fields = ""): string =>
  `${method} ${path} HTTP/1.1\r\nHost: trawl.test\r\n${fields}\r\n`;

/** Until something holds, or the time is over; then the assertion that follows says what does not. */
export async function eventually(
  condition: () => boolean | Promise<boolean>,
  within_ms = 10_000,
): Promise<void> {
  for (let waited_ms = 0; waited_ms < within_ms; waited_ms += 20) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Everything it sends until it closes the connection. */
export async function everything(socket: Socket): Promise<string> {
  const pieces: Buffer[] = [];
  socket.on("data", (piece: Buffer) => pieces.push(piece));
  socket.resume();
  if (!socket.readableEnded && !socket.destroyed)
    await new Promise((resolve) => socket.once("close", resolve));
  return Buffer.concat(pieces).toString();
}

/** Reads more than so many bytes, no faster than told, and gives how many came; fewer when the connection ends. */
export async function sip(socket: Socket, bytes: number, bytes_per_s: number): Promise<number> {
  let received = 0;
  let wake: ((piece: Buffer | null) => void) | null = null;
  socket.on("data", (piece: Buffer) => {
    socket.pause();
    wake?.(piece);
  });
  socket.on("close", () => wake?.(null));
  while (received <= bytes && !socket.destroyed) {
    const piece = await new Promise<Buffer | null>((resolve) => {
      wake = resolve;
      socket.resume();
    });
    received += piece?.length ?? 0;
    if (piece) await new Promise((resolve) => setTimeout(resolve, (piece.length / bytes_per_s) * 1000));
  }
  return received;
}
