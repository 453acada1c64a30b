/**
 * An adapter in a process of its own, for what must be measured from outside: memory, handles, what is left over.
 * node --expose-gc test/gateway/adapters/server.ts uws|node. It prints its port and answers messages of its parent with numbers.
 */
import { readdirSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { listenNode } from "../../../gateway/adapters/http.node.ts";
import { loadUws } from "../../../gateway/adapters/http.uws.ts";
import type { Admit, Reply } from "../../../gateway/http.ts";

export interface Numbers {
  readonly rss_mb: number;
  readonly heap_mb: number;
  readonly descriptors: number;
  readonly asked: number;
  readonly client_aborts: number;
  readonly begun: number;
  readonly stopped: number;
  readonly failed: number;
}

const PIECE = Buffer.alloc(256 * 1024, "net");
const seen = { asked: 0, client_aborts: 0, begun: 0, stopped: 0, failed: 0 };

async function* pieces(bytes: number) {
  seen.begun++;
  try {
    // Each a copy of its own, as if it were read from a disk.
    for (let left = bytes; left > 0; left -= PIECE.length)
      yield Buffer.from(PIECE.subarray(0, Math.min(left, PIECE.length)));
  } finally {
    seen.stopped++;
  }
}

const admit: Admit = ({ path, query }, { signal }) => {
  seen.asked++;
  signal.addEventListener("abort", () => seen.client_aborts++);
  const bytes = Number(query);
  const answers: Record<string, () => Reply | Promise<Reply>> = {
    "/never": () =>
      new Promise<Reply>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    "/stream": () => ({ status: 200, body: { length: bytes, chunks: pieces(bytes) } }),
    "/chunked": () => ({ status: 200, body: { length: null, chunks: pieces(bytes) } }),
    "/buffer": () => ({ status: 200, body: Buffer.alloc(bytes, "buffer") }),
    "/ready": () => ({ status: 200, body: Buffer.from("ready") }),
  };
  return { limit_bytes: 64 * 1024 * 1024, answer: async () => answers[path]!() };
};

const listen = process.argv[2] === "uws" ? await loadUws() : listenNode;
const listening = await listen(admit, {
  host: "127.0.0.1",
  port: 0,
  shared: false,
  failed: () => {
    seen.failed++;
    return { status: 500 };
  },
});

process.on("message", (word) => {
  if (word === "close") void listening.close(0).then(() => process.disconnect());
  else void numbers(word === "settled").then((counts) => process.send!(counts));
});
process.on("disconnect", () => process.exit());

/** Settled: without what only waits to be collected. */
async function numbers(settled: boolean): Promise<Numbers> {
  for (let rounds = settled ? 3 : 0; rounds > 0; rounds--) {
    global.gc!();
    await wait(20);
  }
  const { rss, heapUsed } = process.memoryUsage();
  const descriptors = readdirSync("/proc/self/fd").length;
  return { rss_mb: rss / 2 ** 20, heap_mb: heapUsed / 2 ** 20, descriptors, ...seen };
}

process.send!({ port: listening.port });
