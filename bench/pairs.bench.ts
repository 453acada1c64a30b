/**
 * node bench/pairs.bench.ts CHECKOUT [--only light,bytes]: CPU time of a page of this checkout beside another one. Both services live at once on core 1 and
 * fetch blocks of pages in turn, first the one and then the other; so what the machine does besides is in both.
 * node bench/pairs.bench.ts: of one service, a light page by how many are asked for at once, and a page of bytes on a new host beside five a host.
 * Options: --pages 200 a block, --rounds 12, --warm 1200 pages of each service and kind before.
 *
 * CPU time is that of the scheduler (nanoseconds of each thread), by main thread, other threads of the main process, and processes below it. A ratio is
 * the median of the ratios of neighbouring blocks to the first variant, with the interval of that median. The web and the driver run on core 0.
 */
import { readdirSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { Agent } from "undici";
import { answering, fetchPage, machine, median, pinned, type Service, service } from "./harness.ts";
import { descendants, medianInterval } from "./in-pairs.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: "string", default: "light,bytes" },
    pages: { type: "string", default: "200" },
    rounds: { type: "string", default: "12" },
    warm: { type: "string", default: "1200" },
  },
});
const [PAGES, ROUNDS, WARM] = [values.pages, values.rounds, values.warm].map(Number) as [
  number,
  number,
  number,
];
const WEB_PORT = 18_310;
const PATHS: Readonly<Record<string, string>> = { light: "l", bytes: "b", real: "p" };
const AT_ONCE = 64;
const A_HOST = 5;
const WARM_BLOCK = 300;

interface Variant {
  readonly name: string;
  readonly served: Service;
  readonly path: string;
  readonly at_once: number;
  readonly a_host: number;
}

/** CPU milliseconds. */
interface Spent {
  readonly main: number;
  readonly threads: number;
  readonly processes: number;
}
const PARTS = ["main", "threads", "processes"] as const;
const allOf = ({ main, threads, processes }: Spent): number => main + threads + processes;

/** CPU time of the threads of a process: of the first, and of the others. */
function threadsMs(pid: number): readonly [number, number] {
  let [main, others] = [0, 0];
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const ms = Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "latin1").split(" ")[0]) / 1e6;
      if (Number(thread) === pid) main += ms;
      else others += ms;
    }
  } catch {
    // The thread, or the process, has just ended.
  }
  return [main, others];
}

function spentBy({ pid }: Service): Spent {
  const [main, threads] = threadsMs(pid);
  const processes = descendants(pid).map((below) => threadsMs(below).reduce((a, b) => a + b));
  return { main, threads, processes: processes.reduce((a, b) => a + b, 0) };
}

const agent = new Agent({ connections: AT_ONCE });

let next_host = 0;

/** For one page of a block. No two blocks share a host. */
async function spentFor({ served, path, at_once, a_host }: Variant, pages: number): Promise<Spent> {
  const first_host = next_host;
  next_host += Math.ceil(pages / a_host);
  const before = spentBy(served);
  let next = 0;
  const fetchNext = async (): Promise<void> => {
    while (next < pages) {
      const n = next++;
      const host = first_host + Math.floor(n / a_host);
      const address = `127.${1 + Math.floor(host / 62_500)}.${1 + (Math.floor(host / 250) % 250)}.${1 + (host % 250)}`;
      await fetchPage(served, agent, `http://${address}:${WEB_PORT}/${path}/${first_host * A_HOST + n}`);
    }
  };
  await Promise.all(Array.from({ length: at_once }, fetchNext));
  const after = spentBy(served);
  const [main, threads, processes] = PARTS.map((part) => (after[part] - before[part]) / pages);
  return { main: main!, threads: threads!, processes: processes! };
}

/** Each variant's blocks in turn; the first variant is the one that the others are compared with. */
async function compared(variants: readonly Variant[]) {
  for (let done = 0; done < WARM; done += WARM_BLOCK)
    for (const variant of variants) await spentFor({ ...variant, at_once: AT_ONCE }, WARM_BLOCK);
  const spent = new Map<string, Spent[]>(variants.map(({ name }) => [name, []]));
  for (let round = 0; round < ROUNDS; round++)
    for (const variant of round % 2 === 0 ? variants : variants.toReversed())
      spent.get(variant.name)!.push(await spentFor(variant, PAGES));
  const base = spent.get(variants[0]!.name)!;
  const shown = (ms: readonly number[]): number => Number(median(ms).toFixed(3));
  return variants.map(({ name }) => {
    const own = spent.get(name)!;
    return {
      name,
      ms_a_page: shown(own.map(allOf)),
      ...Object.fromEntries(PARTS.map((part) => [part, shown(own.map((each) => each[part]))])),
      ratio: medianInterval(own.map((each, n) => allOf(each) / allOf(base[n]!))),
    };
  });
}

const pathOf = (kind: string): string => {
  const path = PATHS[kind];
  if (path === undefined)
    throw new Error(`Cannot measure "${kind}": one of ${Object.keys(PATHS).join(", ")}`);
  return path;
};

async function besideCheckout(checkout: string) {
  const kinds = values.only.split(",").map((kind) => [kind, pathOf(kind)] as const);
  const [there, here] = [await service(1, 18_312, {}, [], checkout), await service(1, 18_311)];
  const report: Record<string, object> = {};
  for (const [kind, path] of kinds)
    report[kind] = await compared([
      { name: checkout, served: there, path, at_once: AT_ONCE, a_host: A_HOST },
      { name: "this checkout", served: here, path, at_once: AT_ONCE, a_host: A_HOST },
    ]);
  await Promise.all([there.stop(), here.stop()]);
  return report;
}

async function byLoad() {
  const served = await service(1, 18_311);
  const loads = [AT_ONCE, 32, 8, 1].map((at_once) => ({
    name: `${at_once} at once`,
    served,
    path: pathOf("light"),
    at_once,
    a_host: A_HOST,
  }));
  const hosts = [A_HOST, 1].map((a_host) => ({
    name: `${a_host} a host`,
    served,
    path: pathOf("bytes"),
    at_once: AT_ONCE,
    a_host,
  }));
  const report = { light: await compared(loads), bytes: await compared(hosts) };
  await served.stop();
  return report;
}

const web = pinned(0, ["bench/web.ts", String(WEB_PORT)]);
await answering(`http://127.0.0.1:${WEB_PORT}/count`);
const [checkout] = positionals;
const report = checkout === undefined ? await byLoad() : await besideCheckout(checkout);
console.log(JSON.stringify({ machine: machine(), report }, null, 1));
await web.stop();
await agent.close();
