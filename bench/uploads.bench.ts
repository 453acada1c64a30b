/**
 * node bench/uploads.bench.ts --beside CHECKOUT [--path b] [--blocks 8] [--pages 250]: uploads to S3 a page, and CPU a page and latency,
 * of this checkout and of another one in the same run: two clusters of a gateway and a worker live at once, each with engines of its own, and
 * fetch blocks of distinct pages in turn, by default of bytes without text, with 1, 8 and 64 requests at once; `--path l`: light pages. What a node puts off
 * is asked again.
 *
 * Uploads are those that the nodes count; a version that does not count them uploads each body that it stores. All processes of the
 * service share one core; the web, the engines and the driver have the other. The other checkout needs its own node_modules.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Agent, request } from "undici";
import type { ClusterOf } from "../test/harness/cluster-of.ts";
import { clusterWithout, joinedOn, keyOf, UNLIMITED } from "./cluster-nodes.ts";
import { answering, cpuSeconds, machine, median, pinned } from "./harness.ts";

const { values } = parseArgs({
  options: {
    beside: { type: "string" },
    path: { type: "string", default: "b" },
    blocks: { type: "string", default: "8" },
    pages: { type: "string", default: "250" },
  },
});
const BLOCKS = Number(values.blocks);
const PAGES = Number(values.pages);
const WARMING = 1_500;
const LOADS = [64, 8, 1];
const AGAIN_MS = 200;
const HOSTS = 50;
const WEB_PORT = 18_700;
const CORE = 1;
let pages = 0;

interface Variant {
  readonly cluster: ClusterOf;
  readonly key: string;
  readonly agent: Agent;
}

async function variantOf(checkout?: string): Promise<Variant> {
  const cluster = await clusterWithout({
    ...UNLIMITED,
    TRAWL_LOG_LEVEL: "info",
    TRAWL_S3_SMALL_BODIES: "shared",
  });
  for (const role of ["gateway", "worker"]) await joinedOn(CORE, cluster, role, checkout);
  const key = await keyOf(cluster);
  await cluster.settled(60_000);
  return { cluster, key, agent: new Agent({ connections: 64 }) };
}

async function fetchPage(variant: Variant): Promise<number> {
  const n = pages++;
  const began = performance.now();
  while (!(await isFetched(variant, n))) await sleep(AGAIN_MS);
  return performance.now() - began;
}

async function isFetched({ cluster, key, agent }: Variant, n: number): Promise<boolean> {
  const reply = await request(`${cluster.url}/v1/fetch`, {
    method: "POST",
    dispatcher: agent,
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({
      url: `http://127.0.2.${1 + (n % HOSTS)}:${WEB_PORT}/${values.path}/${n}`,
      include_html: false,
      tiers: ["direct"],
    }),
  });
  const answer = (await reply.body.json()) as { error?: string | null };
  if (answer.error === "domain_busy") return false;
  if (answer.error !== null) throw new Error(`Cannot fetch page ${n}: ${JSON.stringify(answer)}`);
  return true;
}

/** Sums of all nodes; a version that has no such series has 0. */
async function countsOf({ cluster }: Variant) {
  const counts = { stored: 0, single: 0, shared: 0, documents: 0 };
  for (const { status_url } of cluster.nodes) {
    const text = await (await request(`${status_url}/metrics`)).body.text();
    const sum = (pattern: RegExp): number =>
      [...text.matchAll(pattern)].reduce((all, [, count]) => all + Number(count), 0);
    const operation = (store: string, name: string) =>
      sum(
        new RegExp(
          `^trawl_store_operation_duration_seconds_count\\{(?=[^}]*store="${store}")(?=[^}]*operation="${name}")[^}]*\\} (\\d+)`,
          "gm",
        ),
      );
    counts.stored += operation("object_storage", "put");
    counts.documents += operation("documents", "put");
    counts.single += sum(/^trawl_object_storage_uploads_total\{kind="single"\} (\d+)/gm);
    counts.shared += sum(/^trawl_object_storage_uploads_total\{kind="shared"\} (\d+)/gm);
  }
  return counts;
}

const serviceCpu = ({ cluster }: Variant): number =>
  cluster.nodes.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0);

async function block(variant: Variant, variants: readonly Variant[], count: number, at_once: number) {
  const nodes = (): number => variants.reduce((sum, each) => sum + serviceCpu(each), 0);
  const [before, service_s, others_s] = [
    await countsOf(variant),
    serviceCpu(variant),
    cpuSeconds(process.pid) - nodes(),
  ];
  const began = performance.now();
  const took: number[] = [];
  let left = count;
  const lane = async (): Promise<void> => {
    while (left-- > 0) took.push(await fetchPage(variant));
  };
  await Promise.all(Array.from({ length: at_once }, lane));
  const wall_s = (performance.now() - began) / 1_000;
  const after = await countsOf(variant);
  const stored = after.stored - before.stored;
  const uploads = after.single + after.shared - before.single - before.shared;
  return {
    cpu_ms: (1_000 * (serviceCpu(variant) - service_s)) / count,
    engines_cpu_ms: (1_000 * (cpuSeconds(process.pid) - nodes() - others_s)) / count,
    pages_a_second: count / wall_s,
    p50_ms: median(took),
    bodies: stored / count,
    uploads: (after.single + after.shared === 0 ? stored : uploads) / count,
    document_puts: (after.documents - before.documents) / count,
  };
}

const rounded = (number: number): number => Math.round(number * 1_000) / 1_000;

const web = pinned(0, ["bench/web.ts", String(WEB_PORT)]);
await answering(`http://127.0.0.1:${WEB_PORT}/count`);
const variants: Record<string, Variant> = { this: await variantOf() };
if (values.beside !== undefined) variants["beside"] = await variantOf(values.beside);
const all = Object.values(variants);
try {
  for (const each of all) await block(each, all, WARMING, 64);
  const report: Record<string, object> = {};
  for (const at_once of LOADS) {
    const blocks = Object.fromEntries(
      Object.keys(variants).map((name) => [name, [] as Awaited<ReturnType<typeof block>>[]]),
    );
    for (let n = 0; n < BLOCKS; n++)
      for (const [name, variant] of n % 2 ? Object.entries(variants).toReversed() : Object.entries(variants))
        blocks[name]!.push(await block(variant, all, at_once === 1 ? Math.ceil(PAGES / 3) : PAGES, at_once));
    const medians = Object.fromEntries(
      Object.entries(blocks).map(([name, each]) => [
        name,
        Object.fromEntries(
          Object.keys(each[0]!).map((figure) => [
            figure,
            rounded(median(each.map((one) => one[figure as keyof typeof one]))),
          ]),
        ),
      ]),
    );
    const beside = blocks["beside"];
    const ratios = beside?.map((one, n) => blocks["this"]![n]!.cpu_ms / one.cpu_ms).toSorted((a, b) => a - b);
    report[at_once] = {
      ...medians,
      ...(ratios && { cpu_ratio: rounded(median(ratios)), cpu_ratios: ratios.map(rounded) }),
    };
    console.log(JSON.stringify({ at_once, ...report[at_once] }));
  }
  console.log(JSON.stringify({ machine: machine(), pages_a_block: PAGES, blocks: BLOCKS }));
} finally {
  for (const { cluster, agent } of all) {
    await agent.destroy();
    await cluster.close();
  }
  await web.stop();
}
