/**
 * node bench/latency.bench.ts [CHECKOUT ...] [--rounds 600] [--warm 1500] [--only bytes,light] [--durability power,process]: milliseconds that a fetch adds to
 * undici alone, one request at a time, to a page of a known host. All services live at once on core 1 (this checkout and each other one, with each
 * durability) and are asked in turn, so what the machine does besides is in all of them. The web and the driver run on core 0.
 *
 * `added_p50_ms` is the median of the service less that of undici; `less_ms` the median of how much less a request took than the first service's of the
 * same round, with the interval of that median.
 */
import { parseArgs } from "node:util";
import { Agent, request } from "undici";
import { answering, fetchPage, machine, median, pinned, type Service, service } from "./harness.ts";
import { medianInterval } from "./in-pairs.ts";
import { pathOf } from "./page-pairs.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: "string", default: "bytes,light" },
    rounds: { type: "string", default: "600" },
    warm: { type: "string", default: "1500" },
    durability: { type: "string", default: "power" },
  },
});
const WEB_PORT = 18_370;
const [ROUNDS, WARM] = [Number(values.rounds), Number(values.warm)];
const agent = new Agent({ connections: 1 });
/** To the web alone: a connection of each host is kept, as the services keep theirs. */
const direct = new Agent({ connections: 1 });

interface Asked {
  readonly name: string;
  readonly served: Service;
}

let next_page = 0;
const page = (path: string, host: number): string =>
  `http://127.3.0.${1 + host}:${WEB_PORT}/${path}/${next_page++}`;

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began_ms = performance.now();
  await work();
  return performance.now() - began_ms;
}

/** Each service has a host of its own. */
async function compared(asked: readonly Asked[], path: string) {
  for (let n = 0; n < WARM; n++)
    for (const [host, { served }] of asked.entries()) await fetchPage(served, agent, page(path, host));
  const alone: number[] = [];
  const spent = asked.map((): number[] => []);
  for (let round = 0; round < ROUNDS; round++) {
    alone.push(
      await timed(async () => (await request(page(path, 200), { dispatcher: direct })).body.arrayBuffer()),
    );
    const order = [...asked.entries()];
    for (const [host, { served }] of round % 2 === 0 ? order : order.toReversed())
      spent[host]!.push(await timed(() => fetchPage(served, agent, page(path, host))));
  }
  const undici_ms = median(alone);
  const quantile = (ms: readonly number[], share: number): number =>
    Number(ms.toSorted((a, b) => a - b)[Math.floor(ms.length * share)]!.toFixed(2));
  return {
    undici_p50_ms: Number(undici_ms.toFixed(2)),
    services: asked.map(({ name }, n) => ({
      name,
      added_p50_ms: Number((median(spent[n]!) - undici_ms).toFixed(2)),
      p10_ms: quantile(spent[n]!, 0.1),
      p90_ms: quantile(spent[n]!, 0.9),
      less_ms: medianInterval(
        spent[0]!.map((ms, round) => ms - spent[n]![round]!),
        2,
      ),
    })),
  };
}

const web = pinned(0, ["bench/web.ts", String(WEB_PORT)]);
await answering(`http://127.0.0.1:${WEB_PORT}/count`);
const asked: Asked[] = [];
for (const checkout of [...positionals, "."])
  for (const durability of values.durability.split(",")) {
    const env = { TRAWL_DURABILITY: durability };
    const served = await service(1, 18_371 + asked.length, env, [], checkout);
    asked.push({ name: `${checkout} ${durability}`, served });
  }
const report: Record<string, object> = {};
for (const kind of values.only.split(",")) report[kind] = await compared(asked, pathOf(kind));
console.log(JSON.stringify({ machine: machine(), report }, null, 1));
for (const { served } of asked) await served.stop();
await web.stop();
await Promise.all([agent.close(), direct.close()]);
