/**
 * node bench/memory.bench.ts [--pages 9000] [--only light] [--checkout FOLDER] [--flags="--a --b"] [--environment "A=1 B=2"]: what the memory of the main
 * process is made of after so many pages, 64 at once, and after a collection, with that of all processes then. The service is as `npm start` runs it, on core 1; the web and the driver
 * are on core 0. `--rest 60`: also after so many seconds without requests. `--heap FOLDER`: with a heap snapshot after the collection.
 *
 * Each part is resident memory by /proc/PID/smaps, V8's heap by its own count; so the parts sum up to the resident size. The inspector is on.
 */
import { createWriteStream, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Agent } from "undici";
import { answering, fetchPage, machine, ownResidentMb, pinned, proportionalMb, service } from "./harness.ts";
import { hostAddress, pathOf } from "./page-pairs.ts";
import { spentBy } from "./in-pairs.ts";

const { values } = parseArgs({
  options: {
    pages: { type: "string", default: "9000" },
    only: { type: "string", default: "light" },
    checkout: { type: "string", default: "." },
    flags: { type: "string", default: "" },
    environment: { type: "string", default: "" },
    rest: { type: "string", default: "0" },
    heap: { type: "string" },
    port: { type: "string", default: "18330" },
  },
});
const PORT = Number(values.port);
const [WEB_PORT, SERVICE_PORT, INSPECTOR_PORT] = [PORT, PORT + 1, PORT + 2];
const PAGES = Number(values.pages);
const AT_ONCE = 64;
const A_HOST = 5;
const LOOK_MS = 250;
const words = (text: string): string[] => text.split(" ").filter((word) => word !== "");

/** The inspector of the service. */
async function inspector() {
  const [target] = (await (await fetch(`http://127.0.0.1:${INSPECTOR_PORT}/json`)).json()) as [
    { webSocketDebuggerUrl: string },
  ];
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  await new Promise((resolve) => socket.addEventListener("open", resolve, { once: true }));
  const waiting = new Map<number, (result: any) => void>();
  const listeners: ((message: any) => void)[] = [];
  socket.addEventListener("message", ({ data }) => {
    const message = JSON.parse(String(data));
    if (message.id === undefined) for (const listener of listeners) listener(message);
    else waiting.get(message.id)?.(message.result ?? message.error);
  });
  let last = 0;
  return {
    listeners,
    post: (method: string, params: object = {}): Promise<any> =>
      new Promise((resolve) => {
        waiting.set(++last, resolve);
        socket.send(JSON.stringify({ id: last, method, params }));
      }),
    close: () => socket.close(),
  };
}
type Inspector = Awaited<ReturnType<typeof inspector>>;

const HEAP = `(() => {
  const v8 = process.getBuiltinModule("node:v8");
  return JSON.stringify({ heap: v8.getHeapStatistics(), spaces: v8.getHeapSpaceStatistics(), memory: process.memoryUsage() });
})()`;
const heapOf = async ({ post }: Inspector): Promise<any> =>
  JSON.parse((await post("Runtime.evaluate", { expression: HEAP })).result.value);

const COUNT_COLLECTIONS = `(() => {
  const { PerformanceObserver } = process.getBuiltinModule("node:perf_hooks");
  const kinds = { 1: "minor", 4: "major", 8: "incremental", 16: "weak" };
  const counted = (globalThis.countedCollections = {});
  new PerformanceObserver((list) => {
    for (const { detail, duration } of list.getEntries()) {
      const kind = (counted[kinds[detail.kind] ?? detail.kind] ??= { times: 0, ms: 0 });
      kind.times++;
      kind.ms += duration;
    }
  }).observe({ type: "gc" });
})()`;
const collectionsOf = async ({ post }: Inspector): Promise<any> =>
  JSON.parse(
    (await post("Runtime.evaluate", { expression: "JSON.stringify(countedCollections)" })).result.value,
  );

const mb = (bytes: number): number => Number((bytes / 2 ** 20).toFixed(1));

function mappings(pid: number) {
  const text = readFileSync(`/proc/${pid}/smaps`, "latin1");
  return text
    .split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m)
    .filter((part) => part !== "")
    .map((part) => {
      const [, from, to, rights, name = ""] = /^([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+ *(.*)$/m.exec(
        part,
      )!;
      const kb = (field: string): number =>
        Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(part)?.[1] ?? 0);
      return {
        from: BigInt(`0x${from}`),
        to: BigInt(`0x${to}`),
        rights: rights!,
        name,
        rss: kb("Rss") * 1024,
      };
    });
}

const ARENA = 64n * 2n ** 20n;
/** A thread's stack has a page before it that cannot be read. */
const isStack = (of: { from: bigint; to: bigint }, before?: { to: bigint; rights: string }): boolean => {
  const size = of.to - of.from;
  return (
    before?.rights === "---p" &&
    before.to === of.from &&
    size >= 2n ** 18n &&
    size <= 9n * 2n ** 20n &&
    size !== 135168n
  );
};

async function partsOf(pid: number, of: Inspector) {
  const { heap, spaces, memory } = await heapOf(of);
  const all = mappings(pid);
  const parts: Record<string, number> = {};
  const add = (name: string, bytes: number) => (parts[name] = (parts[name] ?? 0) + bytes);
  for (const [n, each] of all.entries()) {
    if (each.rss === 0) continue;
    if (each.name.startsWith("/"))
      add(each.name.endsWith("/bin/node") ? "node binary" : "libraries and files", each.rss);
    else if (each.name === "[heap]") add("allocator: main heap", each.rss);
    else if (each.name === "[stack]") add("stacks", each.rss);
    else if (each.rights === "rw-p" && each.from % ARENA === 0n)
      add("allocator: arenas of threads", each.rss);
    else if (isStack(each, all[n - 1])) add("stacks", each.rss);
    else add("anonymous", each.rss);
  }
  const v8 = Object.fromEntries(
    spaces.map((s: any) => [s.space_name, { mb: mb(s.physical_space_size), used: mb(s.space_used_size) }]),
  );
  const v8_bytes = heap.total_physical_size;
  const anonymous = parts["anonymous"]! - v8_bytes;
  delete parts["anonymous"];
  return {
    resident: Number(ownResidentMb(pid).toFixed(1)),
    v8_heap: mb(v8_bytes),
    v8_used: mb(heap.used_heap_size),
    ...Object.fromEntries(Object.entries(parts).map(([k, v]) => [k, mb(v)])),
    "other anonymous": mb(anonymous),
    malloced: mb(heap.malloced_memory),
    external: mb(heap.external_memory),
    array_buffers: mb(memory.arrayBuffers),
    spaces: v8,
  };
}

const agent = new Agent({ connections: 256 });
const web = pinned(0, ["bench/web.ts", String(WEB_PORT)]);
await answering(`http://127.0.0.1:${WEB_PORT}/count`);
const environment = Object.fromEntries(
  words(values.environment).map((word) => word.split("=") as [string, string]),
);
const flags = [`--inspect=127.0.0.1:${INSPECTOR_PORT}`, ...words(values.flags)];
const served = await service(1, SERVICE_PORT, environment, flags, values.checkout);
const inspected = await inspector();
const path = pathOf(values.only);
let next = 0;
let highest = 0;
const looks: object[] = [];
let done = false;
const looking = (async () => {
  while (!done) {
    highest = Math.max(highest, ownResidentMb(served.pid));
    await sleep(LOOK_MS);
  }
})();
const start = await partsOf(served.pid, inspected);
await inspected.post("Runtime.evaluate", { expression: COUNT_COLLECTIONS });
const before = spentBy(served);
const fetchNext = async (): Promise<void> => {
  while (next < PAGES) {
    const n = next++;
    if (n % 3_000 === 0 && n > 0) looks.push({ pages: n, resident: Math.round(ownResidentMb(served.pid)) });
    const address = hostAddress(Math.floor(n / A_HOST));
    await fetchPage(served, agent, `http://${address}:${WEB_PORT}/${path}/${n}`);
  }
};
await Promise.all(Array.from({ length: AT_ONCE }, fetchNext));
const after = spentBy(served);
const collections = await collectionsOf(inspected);
const end = await partsOf(served.pid, inspected);
done = true;
await looking;
if (Number(values.rest) > 0) await sleep(Number(values.rest) * 1000);
const rested = Number(values.rest) > 0 ? await partsOf(served.pid, inspected) : undefined;
await inspected.post("HeapProfiler.collectGarbage");
await sleep(500);
const collected = await partsOf(served.pid, inspected);
const tree = proportionalMb(served.pid);
if (values.heap) {
  mkdirSync(values.heap, { recursive: true });
  const out = createWriteStream(join(values.heap, "main.heapsnapshot"));
  inspected.listeners.push((message) => {
    if (message.method === "HeapProfiler.addHeapSnapshotChunk") out.write(message.params.chunk);
  });
  await inspected.post("HeapProfiler.enable");
  await inspected.post("HeapProfiler.takeHeapSnapshot", { reportProgress: false });
  await new Promise((resolve) => out.end(resolve));
}
const cpu = Object.fromEntries(
  (["main", "threads", "processes"] as const).map((part) => [
    part,
    Number(((after[part] - before[part]) / PAGES).toFixed(3)),
  ]),
);
console.log(
  JSON.stringify(
    {
      machine: machine(),
      cpu_ms_a_page: cpu,
      highest: Math.round(highest),
      looks,
      tree_collected: Math.round(tree),
      collections,
      start,
      end,
      rested,
      collected,
    },
    null,
    1,
  ),
);
inspected.close();
await served.stop();
await web.stop();
await agent.close();
