/**
 * node bench/two-nodes.bench.ts [CHECKOUT]: CPU time of a page fetched by a gateway and one worker, over real engines, beside one
 * process that does everything; with CHECKOUT beside the same of another checkout. All live at once on core 1 and fetch blocks of pages in turn.
 * Options: --only light,bytes, --pages 200 a block, --rounds 12, --warm 1500 pages of each before, --at-once 32.
 *
 * CPU time is that of the scheduler (nanoseconds of each thread). A ratio is the median of the ratios of neighbouring blocks to the one
 * process, with the interval of that median. Engines, the web and the driver run on core 0, and what they take is told apart.
 */
import { readdirSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { clusterWithout, joinedOn, keyOf } from "./cluster-nodes.ts";
import { answering, machine, median, pinned, service } from "./harness.ts";
import { descendants, medianInterval } from "./in-pairs.ts";
import { closeAgent, fetchPages, pathOf } from "./page-pairs.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: "string", default: "light,bytes" },
    pages: { type: "string", default: "200" },
    rounds: { type: "string", default: "12" },
    warm: { type: "string", default: "1500" },
    "at-once": { type: "string", default: "32" },
  },
});
const [PAGES, ROUNDS, WARM, AT_ONCE] = [values.pages, values.rounds, values.warm, values["at-once"]].map(
  Number,
) as [number, number, number, number];
const WEB_PORT = 18_330;
const A_HOST = 5;
const WARM_BLOCK = 300;
const CORE = 1;

/** The service that fetches: its address, and its processes by name. */
interface Subject {
  readonly name: string;
  readonly url: string;
  readonly key: string;
  readonly pids: Readonly<Record<string, number>>;
  /** Processes of its own engines. */
  readonly engines: () => readonly number[];
  readonly stop: () => Promise<void>;
}

/** A process with those below it. */
const cpuMs = (pid: number): number =>
  [pid, ...descendants(pid)].reduce((sum, each) => sum + threadsMs(each), 0);

function threadsMs(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/task`).reduce(
      (sum, thread) =>
        sum + Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "latin1").split(" ")[0]) / 1e6,
      0,
    );
  } catch {
    // It has just ended.
    return 0;
  }
}

type Spent = Readonly<Record<string, number>>;

/** CPU milliseconds a page, by the name of the process. No two blocks share a host. */
async function spentFor(subject: Subject, path: string, pages: number): Promise<Spent> {
  const look = (): Spent => ({
    ...Object.fromEntries(Object.entries(subject.pids).map(([name, pid]) => [name, cpuMs(pid)])),
    engines: subject.engines().reduce((sum, pid) => sum + threadsMs(pid), 0),
  });
  const before = look();
  const fetched = { services: [subject], path, at_once: AT_ONCE, a_host: A_HOST };
  await fetchPages(fetched, WEB_PORT, pages);
  const after = look();
  return Object.fromEntries(Object.entries(after).map(([name, ms]) => [name, (ms - before[name]!) / pages]));
}

/** The program without its engines. */
const allOf = (spent: Spent): number =>
  Object.entries(spent).reduce((sum, [name, ms]) => (name === "engines" ? sum : sum + ms), 0);

async function compared(subjects: readonly Subject[], path: string) {
  for (let done = 0; done < WARM; done += WARM_BLOCK)
    for (const subject of subjects) await spentFor(subject, path, WARM_BLOCK);
  const spent = new Map<Subject, Spent[]>(subjects.map((subject) => [subject, []]));
  for (let round = 0; round < ROUNDS; round++)
    for (const subject of round % 2 === 0 ? subjects : subjects.toReversed())
      spent.get(subject)!.push(await spentFor(subject, path, PAGES));
  const shown = (ms: readonly number[]): number => Number(median(ms).toFixed(3));
  const ratiosTo = (other: Subject, own: readonly Spent[], of = allOf) =>
    medianInterval(own.map((each, n) => of(each) / of(spent.get(other)![n]!)));
  return subjects.map((subject, at) => {
    const own = spent.get(subject)!;
    const names = [...Object.keys(subject.pids), "engines"];
    return {
      name: subject.name,
      ms_a_page: shown(own.map(allOf)),
      ...Object.fromEntries(names.map((name) => [name, shown(own.map((each) => each[name]!))])),
      ratio_to_one_process: ratiosTo(subjects[0]!, own),
      ...(at === 2 && {
        ratio_to_other_checkout: ratiosTo(subjects[1]!, own),
        ...Object.fromEntries(
          names.map((name) => [
            `${name}_to_other_checkout`,
            ratiosTo(subjects[1]!, own, (each) => each[name]!),
          ]),
        ),
      }),
    };
  });
}

async function oneProcess(): Promise<Subject> {
  const { pid, url, key, stop } = await service(CORE, 18_331, {}, [], ".", "pipe");
  return { name: "one process", url, key, pids: { process: pid }, engines: () => [], stop };
}

async function gatewayAndWorker(name: string, checkout?: string): Promise<Subject> {
  const known = new Set(descendants(process.pid));
  const cluster = await clusterWithout();
  const engines = (): readonly number[] => descendants(process.pid).filter((pid) => !known.has(pid));
  const of_engines = engines();
  const [gateway, worker] = [
    await joinedOn(CORE, cluster, "gateway", checkout),
    await joinedOn(CORE, cluster, "worker", checkout),
  ];
  const key = await keyOf(cluster);
  await cluster.settled(60_000);
  const subject = { name, url: cluster.url, key, stop: cluster.close };
  return { ...subject, pids: { gateway, worker }, engines: () => of_engines };
}

const web = pinned(0, ["bench/web.ts", String(WEB_PORT)]);
await answering(`http://127.0.0.1:${WEB_PORT}/count`);
const [checkout] = positionals;
const subjects = [await oneProcess()];
if (checkout !== undefined) subjects.push(await gatewayAndWorker(checkout, checkout));
subjects.push(await gatewayAndWorker("this checkout"));
const report: Record<string, object> = {};
for (const kind of values.only.split(",")) report[kind] = await compared(subjects, pathOf(kind));
console.log(JSON.stringify({ machine: machine(), report }, null, 1));
for (const { stop } of subjects) await stop();
await web.stop();
await closeAgent();
