/**
 * npm run bench [-- --quick] [--only KINDS] [--runs N] [--pages N] [--write] [--profile FOLDER] [--beside CHECKOUT]: what an uncached page costs with everything
 * on (grant, robots.txt, fetch, digest, extraction, body and page stored, search index, metering), beside programs that keep
 * nothing, on the same addresses, interleaved; and the latency that the service adds to undici, one request at a time.
 *
 * Every page is distinct; five pages a host, of the mixed pages one. The candidate runs on core 1, the web and the driver on core 0. CPU seconds are
 * those of the candidate's whole process tree. `--quick` takes under a minute and prints what got slower than the committed
 * ratios; its exit code is 1 then. `stored` are real pages beside peers that store body, main text and metadata, too. `--only light,stored`
 * measures these kinds. `--write` commits to the file of the mode in bench/results/. `--profile` writes a CPU
 * profile of the service's main process and prints where its time went. `--beside` measures another checkout of this project
 * in turn with this one instead of the peers, so that the load of the machine is in both; it needs its own node_modules.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { Agent, request } from "undici";
import {
  answering,
  cpuSeconds,
  fetchPage,
  machine,
  median,
  ownCpuSeconds,
  pinned,
  residentMb,
  type Service,
  service,
} from "./harness.ts";
import { mixedKind } from "./mixed-web.ts";
import { cargoPeer, goPeer, npmPeer, pythonPeer, type Peer } from "./peers.ts";
import { type ProfiledWork, profileTable } from "./profile.ts";
import { suiteVersions, writeSuite } from "./suite-report.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    quick: { type: "boolean", default: false },
    runs: { type: "string" },
    pages: { type: "string", default: "1000" },
    write: { type: "boolean", default: false },
    profile: { type: "string" },
    beside: { type: "string" },
  },
});

/** The name of another checkout in the report. */
const BESIDE = "beside";
const WEB_PORT = 18_300;
const AT_ONCE = 64;
const PAGES_A_HOST = 5;
/** Slower than this share of the committed ratio is told; interleaved runs on a busy machine differ by less. */
const TOLERANCE = 0.85;

interface Kind {
  /** As in bench/web.ts. */
  readonly path: string;
  readonly pages: number;
  /** Default: PAGES_A_HOST. */
  readonly pages_a_host?: number;
  readonly peers: readonly string[];
}

const pages = Number(values.pages);
const REAL: Kind = {
  path: "p",
  pages: 694,
  peers: ["undici", "crawlee http", "crawlee cheerio", "scrapy", "colly", "spider"],
};
const KINDS: Readonly<Record<string, Kind>> = {
  light: { path: "l", pages, peers: values.quick ? ["undici", "crawlee cheerio"] : REAL.peers },
  bytes: {
    path: "b",
    pages,
    peers: values.quick ? ["undici"] : ["undici", "crawlee http", "colly", "spider"],
  },
  ...(!values.quick && {
    real: REAL,
    mixed: { path: "m", pages, pages_a_host: 1, peers: REAL.peers },
    stored: { path: "p", pages: 100, peers: ["crawlee defuddle", "scrapy trafilatura"] },
  }),
};
const chosen = Object.entries(KINDS).filter(
  ([title]) => values.only === undefined || values.only.split(",").includes(title),
);
const RUNS = Number(values.runs ?? (values.quick ? 2 : 5));
const PEERS: Readonly<Record<string, () => Peer>> = {
  undici: () => npmPeer("undici"),
  "crawlee http": () => npmPeer("crawlee", "--http"),
  "crawlee cheerio": () => npmPeer("crawlee"),
  scrapy: () => pythonPeer("scrapy"),
  colly: () => goPeer("colly"),
  spider: () => cargoPeer("spider"),
  "crawlee defuddle": () => npmPeer("crawlee", "--store"),
  "scrapy trafilatura": () => pythonPeer("scrapy", "--store"),
};

/** Addresses of `count` pages; `block` keeps those of one measurement apart from another's. */
const addresses = (
  { path, pages: count, pages_a_host = PAGES_A_HOST }: Omit<Kind, "peers">,
  block: number,
): readonly string[] =>
  Array.from({ length: count }, (_, n) => {
    const host = Math.floor(n / pages_a_host);
    return `http://127.${block}.${1 + Math.floor(host / 250)}.${1 + (host % 250)}:${WEB_PORT}/${path}/${block * 100_000 + n}`;
  });

const agent = new Agent({ connections: AT_ONCE });

const isWall = (page: string): boolean => mixedKind(Number(/\/m\/(\d+)$/.exec(page)?.[1])) === "wall";

/** Walls of the mixed pages have no page behind them. */
const fetchOwn = (served: Service, page: string): Promise<void> =>
  fetchPage(served, agent, page, isWall(page) ? "all_tiers_failed" : null);

async function fetchAll(served: Service, pages_of: readonly string[]): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (next < pages_of.length) await fetchOwn(served, pages_of[next++]!);
    }),
  );
}

/** Operations of the stores so far, by store and operation. */
async function storeOperations({ url }: Service): Promise<ReadonlyMap<string, number>> {
  const text = await (await request(`${url}/metrics`)).body.text();
  const line = /^trawl_store_operation_duration_seconds_count\{(.*)\} (\d+)/gm;
  return new Map(
    text.matchAll(line).map(([, labels, count]) => {
      const [store, operation] = ["store", "operation"].map(
        (name) => new RegExp(`${name}="([^"]*)"`).exec(labels!)?.[1],
      );
      return [`${store} ${operation}`, Number(count)];
    }),
  );
}

interface Measured {
  readonly pages_per_cpu_s: number;
  readonly rss_mb: number;
  /** CPU milliseconds a page of the service's main process. */
  readonly main_ms?: number;
  readonly operations_a_page?: Readonly<Record<string, number>>;
}

const monotonicUs = (): number => Number(process.hrtime.bigint() / 1_000n);
/** The pages of the service that were measured last. */
let profiled: ProfiledWork = { from_us: 0, to_us: Infinity, pages: 1 };

async function measureService(served: Service, kind: Kind, block: number): Promise<Measured> {
  const count = kind.pages;
  const before = { all: cpuSeconds(served.pid), main: ownCpuSeconds(served.pid) };
  const operations = await storeOperations(served);
  const from_us = monotonicUs();
  await fetchAll(served, addresses(kind, block));
  profiled = { from_us, to_us: monotonicUs(), pages: count };
  const main_s = ownCpuSeconds(served.pid) - before.main;
  const all_s = cpuSeconds(served.pid) - before.all;
  const after = await storeOperations(served);
  const each = [...after].map(([name, total]): [string, number] => [
    name,
    Number(((total - (operations.get(name) ?? 0)) / count).toFixed(1)),
  ]);
  return {
    pages_per_cpu_s: count / all_s,
    rss_mb: residentMb(served.pid),
    main_ms: (main_s * 1_000) / count,
    operations_a_page: Object.fromEntries(each.filter(([, per_page]) => per_page > 0)),
  };
}

/** Null, and one line, when the peer did not answer every page: its rate would say nothing. */
function measurePeer(name: string, peer: Peer, kind: Kind, block: number): Measured | null {
  const { path, pages: count } = kind;
  const result = peer(addresses(kind, block));
  if (result && result.pages !== count) {
    console.error(`Not measured: ${name}. It answered ${result.pages} of ${count} pages of /${path}/`);
    return null;
  }
  return result && { pages_per_cpu_s: result.pages / result.cpu_s, rss_mb: result.rss_mb };
}

/** Milliseconds from request to answer, one at a time: undici alone, and the service. */
async function latency(served: Service, path: string): Promise<{ undici_p50: number; service_p50: number }> {
  const rounds = values.quick ? 150 : 400;
  const spent = { undici: [] as number[], service: [] as number[] };
  const timed = async (into: number[], work: () => Promise<unknown>): Promise<void> => {
    const began = performance.now();
    await work();
    into.push(performance.now() - began);
  };
  for (let n = 0; n < rounds; n++) {
    const page = `http://127.99.0.1:${WEB_PORT}/${path}/${9_000_000 + n}`;
    await timed(spent.undici, async () => (await request(page, { dispatcher: agent })).body.text());
    await timed(spent.service, () => fetchOwn(served, page));
  }
  const p50 = (numbers: readonly number[]): number => Number(median(numbers).toFixed(2));
  return { undici_p50: p50(spent.undici), service_p50: p50(spent.service) };
}

const web = pinned(0, ["bench/web.ts", String(WEB_PORT)]);
await answering(`http://127.0.0.1:${WEB_PORT}/count`);
const peers = new Map<string, Peer>();
if (!values.beside)
  for (const name of new Set(chosen.flatMap(([, kind]) => kind.peers))) peers.set(name, PEERS[name]!());

const results = new Map<string, Measured[]>();
const record = (name: string, measured: Measured | null): void => {
  if (measured) results.set(name, [...(results.get(name) ?? []), measured]);
};
const added: Record<string, object> = {};
let block = 1;

async function measureCheckout(name: string, folder: string, isLast: boolean): Promise<void> {
  const flags = values.profile ? ["--cpu-prof", `--cpu-prof-dir=${values.profile}`] : [];
  const served = await service(1, 18_301, {}, flags, folder);
  try {
    // Code that runs for the first time costs several times as much.
    await fetchAll(served, addresses({ path: "l", pages: 400 }, 90));
    for (const [title, kind] of chosen) {
      record(`${name} ${title}`, await measureService(served, kind, block));
      for (const peer of kind.peers)
        if (peers.has(peer)) record(`${peer} ${title}`, measurePeer(peer, peers.get(peer)!, kind, block));
      block++;
    }
    if (isLast)
      for (const [title, path] of [
        ["bytes", "b"],
        ["light", "l"],
      ] as const)
        added[name === "trawl" ? title : `${title} ${name}`] = await latency(served, path);
  } finally {
    await served.stop();
  }
}

const checkouts = [["trawl", "."], ...(values.beside ? [[BESIDE, values.beside]] : [])] as [string, string][];
try {
  for (let run = 0; run < RUNS; run++)
    for (const [name, folder] of run % 2 === 0 ? checkouts : checkouts.toReversed())
      await measureCheckout(name, folder, run === RUNS - 1);
} finally {
  await web.stop();
  await agent.close();
}

const summary = Object.fromEntries(
  [...results].map(([name, runs]) => {
    const { main_ms, operations_a_page } = runs.at(-1)!;
    const rates = runs.map(({ pages_per_cpu_s }) => pages_per_cpu_s);
    return [
      name,
      {
        pages_per_cpu_s: Math.round(median(rates)),
        runs: rates.map(Math.round),
        rss_mb: Math.round(median(runs.map(({ rss_mb }) => rss_mb))),
        ...(main_ms && { main_ms: Number(main_ms.toFixed(2)) }),
        ...(operations_a_page && { operations_a_page }),
      },
    ];
  }),
);
/** Ours beside each peer of the same kind: noise of the machine is in both. */
const ratios = Object.fromEntries(
  chosen.flatMap(([kind, { peers: names }]) =>
    [...names, BESIDE].flatMap((peer) => {
      const [ours, theirs] = [summary[`trawl ${kind}`], summary[`${peer} ${kind}`]];
      const ratio = ours && theirs && ours.pages_per_cpu_s / theirs.pages_per_cpu_s;
      return ratio ? [[`${kind} / ${peer}`, Number(ratio.toFixed(3))]] : [];
    }),
  ),
);
const command = `npm run bench -- ${process.argv.slice(2).join(" ")}`.trim();
const report = {
  command,
  machine: machine(),
  versions: suiteVersions(),
  summary,
  ratios,
  latency_ms: added,
};
console.log(JSON.stringify(report, null, 1));
if (values.profile) console.log(profileTable(values.profile, profiled));

const file = `bench/results/${values.quick ? "quick" : "suite"}.json`;
const committed = existsSync(file)
  ? (JSON.parse(readFileSync(file, "utf8")) as { readonly ratios: Readonly<Record<string, number>> }).ratios
  : {};
for (const [name, ratio] of Object.entries(ratios)) {
  const former = committed[name];
  if (former === undefined || ratio >= former * TOLERANCE) continue;
  console.log(`Slower: ${name} is ${ratio}, ${former} in ${file}`);
  process.exitCode = 1;
}
if (values.write && !values.beside) {
  writeFileSync(file, `${JSON.stringify(report, null, 1)}\n`);
  if (!values.quick) writeSuite(report);
}
