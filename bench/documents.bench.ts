/**
 * node bench/documents.bench.ts: documents written a page, by collection, each page anew and five a host: by one process on the embedded engines,
 * and by a gateway and one worker on engines of a cluster.
 * Options: --only process,cluster, --kind light, --pages 1500, --warm 600 pages before, --at-once 64 (process) and 32 (cluster) unless it is given.
 *
 * The counts are those of the metric trawl_documents_written_total. A document that was written again counts again, one that is removed does not.
 */
import { parseArgs } from "node:util";
import { request } from "undici";
import { setTimeout as sleep } from "node:timers/promises";
import { clusterWithout, keyOf } from "./cluster-nodes.ts";
import { answering, machine, pinned, type Service, service, unlinked } from "./harness.ts";
import { closeAgent, fetchPages, pathOf } from "./page-pairs.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "process,cluster" },
    kind: { type: "string", default: "light" },
    pages: { type: "string", default: "1500" },
    warm: { type: "string", default: "600" },
    "at-once": { type: "string" },
  },
});
const WEB_PORT = 18_340;
const A_HOST = 5;
/** Snapshots that may be stored later are stored within a second. */
const SETTLE_MS = 3_000;

interface Subject extends Pick<Service, "url" | "key"> {
  /** Addresses of the metrics of its nodes. */
  readonly metrics: readonly string[];
  readonly at_once: number;
  readonly stop: () => Promise<void>;
}

async function written({ metrics }: Subject): Promise<ReadonlyMap<string, number>> {
  const all = new Map<string, number>();
  for (const address of metrics) {
    const text = await (await request(`${address}/metrics`)).body.text();
    for (const [, name, count] of text.matchAll(
      /^trawl_documents_written_total\{.*?collection="([^"]*)".*?\} (\d+)/gm,
    ))
      all.set(name!, (all.get(name!) ?? 0) + Number(count));
  }
  return all;
}

async function fetchAll(subject: Subject, pages: number): Promise<number> {
  const began_ms = performance.now();
  const { at_once } = subject;
  const asked = { services: [subject], path: pathOf(values.kind), at_once, a_host: A_HOST };
  await fetchPages(asked, WEB_PORT, pages);
  return pages / ((performance.now() - began_ms) / 1_000);
}

async function counted(subject: Subject) {
  const pages = Number(values.pages);
  await fetchAll(subject, Number(values.warm));
  await sleep(SETTLE_MS);
  const before = await written(subject);
  const pages_a_second = await fetchAll(subject, pages);
  await sleep(SETTLE_MS);
  const more = [...(await written(subject))]
    .map(([name, count]): [string, number] => [name, (count - (before.get(name) ?? 0)) / pages])
    .filter(([, each]) => each >= 0.005)
    .toSorted(([, a], [, b]) => b - a);
  const shown = (each: number): number => Number(each.toFixed(2));
  return {
    at_once: subject.at_once,
    pages_a_second: shown(pages_a_second),
    documents_a_page: shown(more.reduce((sum, [, each]) => sum + each, 0)),
    ...Object.fromEntries(more.map(([name, each]) => [name, shown(each)])),
  };
}

const atOnce = (usual: number): number => Number(values["at-once"] ?? usual);

async function oneProcess(): Promise<Subject> {
  const { url, key, stop } = await service(1, 18_341);
  return { url, key, stop, metrics: [url], at_once: atOnce(64) };
}

async function gatewayAndWorker(): Promise<Subject> {
  const cluster = await clusterWithout();
  const gateway = await cluster.add("gateway", unlinked(cluster));
  const worker = await cluster.add("worker", unlinked(cluster));
  const key = await keyOf(cluster);
  await cluster.settled(60_000);
  const metrics = [gateway, worker].map(({ status_url }) => status_url);
  return { url: cluster.url, key, stop: cluster.close, metrics, at_once: atOnce(32) };
}

const web = pinned(0, ["bench/web.ts", String(WEB_PORT)]);
await answering(`http://127.0.0.1:${WEB_PORT}/count`);
const subjects = { process: oneProcess, cluster: gatewayAndWorker };
const report: Record<string, object> = {};
for (const [name, open] of Object.entries(subjects)) {
  if (!values.only.split(",").includes(name)) continue;
  const subject = await open();
  report[name] = await counted(subject);
  await subject.stop();
}
console.log(JSON.stringify({ machine: machine(), kind: values.kind, report }, null, 1));
await web.stop();
await closeAgent();
