/**
 * node bench/asks.bench.ts CHECKOUT [--asks 600] [--rounds 12] [--bytes 8700]: CPU time of an ask over NATS and its answer, of this checkout's bus beside
 * another one's, in turns: of both connections, which are one process, and of the server. 32 asks at once, and one at a time with its
 * median latency. A bus has eight partitions, and the owner takes one turn for each ask: it answers, then acknowledges.
 */
import { readFileSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import type { Bus, Envelope } from "../cluster/ports/bus.ts";
import { start } from "../ops/engines/adapters/process.ts";
import { find, placeOf } from "../ops/engines/install.ts";
import { machine, median } from "./harness.ts";
import { descendants, medianInterval } from "./in-pairs.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    asks: { type: "string", default: "600" },
    rounds: { type: "string", default: "12" },
    bytes: { type: "string", default: "8700" },
  },
});
const [ASKS, ROUNDS, BYTES] = [values.asks, values.rounds, values.bytes].map(Number) as [
  number,
  number,
  number,
];
const [other] = positionals;
if (other === undefined) throw new Error("Cannot compare: give another checkout");
const PARTITIONS = 8;
const REQUEST = JSON.stringify({ key: "x".repeat(80), operation: "get", message: "y".repeat(500) });
const ANSWER = JSON.stringify({ reply: "z".repeat(BYTES) });

const found = await find(
  "bus",
  placeOf(process.env, homedir(), false, () => {}),
);
if (found.kind !== "program") throw new Error("Cannot run: npm run engines -- --install-only");
const server = await start(found.program);
const server_pids = descendants(process.pid);

const serverMs = (): number =>
  server_pids
    .flatMap((pid) => readdirSync(`/proc/${pid}/task`).map((thread) => `/proc/${pid}/task/${thread}`))
    .reduce((sum, task) => sum + Number(readFileSync(`${task}/schedstat`, "latin1").split(" ")[0]) / 1e6, 0);

async function pairOf(checkout: string, name: string) {
  const file = pathToFileURL(resolve(checkout, "cluster/adapters/bus/bus.nats.ts")).href;
  const { natsBus } = (await import(file)) as { natsBus: (address: string) => Promise<Bus> };
  const address = `${server.settings["TRAWL_BUS"]}/${name}`;
  const [caller, owner] = [await natsBus(address), await natsBus(address)];
  const waiting = new Map<string, () => void>();
  const inbox = await caller.inbox((token) => {
    waiting.get(token)?.();
    waiting.delete(token);
  });
  for (let partition = 0; partition < PARTITIONS; partition++)
    await owner.subscribe(
      partition,
      1,
      (delivery) => {
        void owner.answer(delivery.envelope.reply_to!.split("#")[1]!, ANSWER);
        void delivery.acknowledge();
      },
      () => {},
      () => true,
    );
  await owner.ping();
  let asked = 0;
  const ask = (): Promise<void> => {
    const token = String(asked++);
    const envelope: Envelope = {
      stream: "sync",
      partition: asked % PARTITIONS,
      name: "fetch",
      key: `example.org ${token}`,
      body: REQUEST,
      dedup_id: `${name}:${token}`,
      reply_to: `fetch.get#${inbox.address(token)}`,
      timeout_ms: 60_000,
    };
    return new Promise((answered, failed) => {
      waiting.set(token, answered);
      caller.send(envelope).catch(failed);
    });
  };
  return { name, ask, close: () => Promise.all([caller.close(), owner.close()]) };
}

type Pair = Awaited<ReturnType<typeof pairOf>>;

/** Microseconds an ask. */
async function spent({ ask }: Pair, at_once: number) {
  let left = ASKS;
  const took_ms: number[] = [];
  const [before, server_ms] = [process.cpuUsage(), serverMs()];
  const line = async (): Promise<void> => {
    while (left-- > 0) {
      const began = performance.now();
      await ask();
      took_ms.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: at_once }, line));
  const { user, system } = process.cpuUsage(before);
  return {
    clients: (user + system) / ASKS,
    server: (1_000 * (serverMs() - server_ms)) / ASKS,
    p50_ms: median(took_ms),
  };
}

const pairs = [await pairOf(other, "there"), await pairOf(".", "here")] as const;
const report: Record<string, object> = {};
for (const at_once of [32, 1]) {
  for (const pair of pairs) await spent(pair, 32);
  const all = pairs.map((): Awaited<ReturnType<typeof spent>>[] => []);
  for (let round = 0; round < ROUNDS; round++)
    for (const at of round % 2 === 0 ? [0, 1] : [1, 0]) all[at]!.push(await spent(pairs[at]!, at_once));
  const shown = (which: number, part: "clients" | "server" | "p50_ms"): number =>
    Number(median(all[which]!.map((each) => each[part])).toFixed(2));
  report[`${at_once} at once`] = Object.fromEntries(
    (["clients", "server", "p50_ms"] as const).map((part) => [
      part,
      {
        there: shown(0, part),
        here: shown(1, part),
        ratio: medianInterval(all[1]!.map((each, n) => each[part] / all[0]![n]![part])),
      },
    ]),
  );
}
console.log(JSON.stringify({ machine: machine(), report }, null, 1));
for (const pair of pairs) await pair.close();
await server.stop();
