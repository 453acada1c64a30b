/**
 * node bench/pairs.bench.ts CHECKOUT [--only light,bytes]: CPU time of a page of this checkout beside another one. Both services live at once on core 1 and
 * fetch blocks of pages in turn, first the one and then the other; so what the machine does besides is in both.
 * node bench/pairs.bench.ts: of one service, a light page by how many are asked for at once, and a page of bytes on a new host beside five a host.
 * Options: --pages 200 a block, --rounds 12, --warm 1200 pages of each service and kind before, --a-host 5 pages of each host.
 *
 * CPU time is that of the scheduler (nanoseconds of each thread), by main thread, other threads of the main process, and processes below it. A ratio is
 * the median of the ratios of neighbouring blocks to the first variant, with the interval of that median. The web and the driver run on core 0.
 */
import { parseArgs } from "node:util";
import { answering, machine, pinned, type Service, service } from "./harness.ts";
import { closeAgent, compared, pathOf, type PageVariant } from "./page-pairs.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: "string", default: "light,bytes" },
    pages: { type: "string", default: "200" },
    rounds: { type: "string", default: "12" },
    warm: { type: "string", default: "1200" },
    "a-host": { type: "string", default: "5" },
  },
});
const WEB_PORT = 18_310;
const BLOCKS = {
  web_port: WEB_PORT,
  pages: Number(values.pages),
  rounds: Number(values.rounds),
  warm: Number(values.warm),
};
const AT_ONCE = 64;
const A_HOST = Number(values["a-host"]);

const variant = (
  name: string,
  served: Service,
  kind: string,
  at_once = AT_ONCE,
  a_host = A_HOST,
): PageVariant => ({ name, services: [served], pids: [served.pid], path: pathOf(kind), at_once, a_host });

async function besideCheckout(checkout: string) {
  const kinds = values.only.split(",");
  kinds.forEach(pathOf);
  const [there, here] = [await service(1, 18_312, {}, [], checkout), await service(1, 18_311)];
  const report: Record<string, object> = {};
  for (const kind of kinds)
    report[kind] = await compared(
      [variant(checkout, there, kind), variant("this checkout", here, kind)],
      BLOCKS,
    );
  await Promise.all([there.stop(), here.stop()]);
  return report;
}

async function byLoad() {
  const served = await service(1, 18_311);
  const loads = [AT_ONCE, 32, 8, 1].map((at_once) => variant(`${at_once} at once`, served, "light", at_once));
  const hosts = [A_HOST, 1].map((a_host) => variant(`${a_host} a host`, served, "bytes", AT_ONCE, a_host));
  const report = { light: await compared(loads, BLOCKS), bytes: await compared(hosts, BLOCKS) };
  await served.stop();
  return report;
}

const web = pinned(0, ["bench/web.ts", String(WEB_PORT)]);
await answering(`http://127.0.0.1:${WEB_PORT}/count`);
const [checkout] = positionals;
const report = checkout === undefined ? await byLoad() : await besideCheckout(checkout);
console.log(JSON.stringify({ machine: machine(), report }, null, 1));
await web.stop();
await closeAgent();
