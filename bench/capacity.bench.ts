/**
 * node bench/capacity.bench.ts [--only browser|direct]: how many calls at once a tier of this machine serves well. The route is
 * called by more and more callers at once; pages a second, pages a CPU second of the node and what calls wait. The sites are a process
 * of its own, which does not count. The knee is where pages a second stop growing and only the wait grows.
 */
import { memoryBlobs } from "../cluster/adapters/blobs/blobs.memory.ts";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { parseArgs } from "node:util";
import { destination } from "../actors/lib/web/destination.ts";
import type { Transport } from "../actors/lib/web/transport.ts";
import { browserPool } from "../actors/crawl/tiers/adapters/browser-pool.ts";
import { findChromium } from "../actors/crawl/tiers/adapters/chromium.ts";
import { browserTransport } from "../actors/crawl/tiers/adapters/transport.browser.ts";
import { directTransport } from "../actors/crawl/tiers/adapters/transport.direct.ts";
import { egressProxy } from "../cluster/adapters/egress/egress.proxy.ts";
import { undiciEgress } from "../cluster/adapters/egress/egress.undici.ts";
import { silentTelemetry } from "../cluster/adapters/telemetry/telemetry.silent.ts";
import { systemClock } from "../cluster/adapters/time/clock.system.ts";
import { transportRequest } from "../test/harness/transport-request.ts";
import { cpuSeconds, machine } from "./harness.ts";

const SELF = new URL(import.meta.url).pathname;
/** Time until a site answers. */
const SITE_MS = 200;
const BROWSER_STEPS = [1, 2, 4, 6, 8, 12] as const;
const DIRECT_STEPS = [8, 32, 128, 256, 512, 1_000, 2_000] as const;
const BROWSER_PAGES = 16;
const DIRECT_PAGES_A_CALLER = 6;
const MIN_DIRECT_PAGES = 1_000;

/** A page with a script that writes most of it. */
async function serve(): Promise<void> {
  const prose = "In the first year the keepers wrote down what the tide had brought ashore. ".repeat(4);
  const body = `<!doctype html><title>Page</title><article id=a>${`<p>${prose}</p>`.repeat(30)}</article>
    <script>for (let n = 0; n < 60; n++) { const p = document.createElement("p"); p.textContent = n + ${JSON.stringify(prose)}; a.append(p); }</script>`;
  const server = createServer((_, response) => {
    setTimeout(() => {
      response.setHeader("Content-Type", "text/html; charset=utf-8");
      response.end(body);
    }, SITE_MS);
  });
  server.keepAliveTimeout = 60_000;
  server.listen({ port: 0, host: "0.0.0.0", backlog: 4_096 });
  await once(server, "listening");
  process.send!((server.address() as { port: number }).port);
}

const rule = destination({ allow: ["127.0.0.0/8"] });
const clock = systemClock();

interface Step {
  readonly at_once: number;
  readonly pages: number;
  readonly pages_a_s: number;
  readonly pages_a_cpu_s: number;
  readonly p50_ms: number;
  readonly p95_ms: number;
}

async function step(
  route: Transport,
  web: ChildProcess,
  port: number,
  at_once: number,
  pages: number,
): Promise<Step> {
  const cpuOfNode = (): number => cpuSeconds(process.pid) - cpuSeconds(web.pid!);
  const walls: number[] = [];
  let next = 0;
  const [cpu_s, began] = [cpuOfNode(), performance.now()];
  const caller = async (): Promise<void> => {
    while (next < pages) {
      const n = next++;
      const started = performance.now();
      // Each page is of a site of its own.
      const result = await route(
        transportRequest(`http://127.0.${1 + (n >> 7)}.${1 + (n & 127)}:${port}/${n}`),
      );
      if (result.kind !== "page") throw new Error(`A call ended as ${JSON.stringify(result)}`);
      walls.push(performance.now() - started);
    }
  };
  await Promise.all(Array.from({ length: at_once }, caller));
  const seconds = (performance.now() - began) / 1_000;
  const sorted = walls.toSorted((a, b) => a - b);
  const measured: Step = {
    at_once,
    pages,
    pages_a_s: rounded(pages / seconds),
    pages_a_cpu_s: rounded(pages / (cpuOfNode() - cpu_s)),
    p50_ms: Math.round(sorted[Math.floor(pages * 0.5)]!),
    p95_ms: Math.round(sorted[Math.floor(pages * 0.95)]!),
  };
  console.error(JSON.stringify(measured));
  return measured;
}

const rounded = (value: number): number => Math.round(value * 100) / 100;

async function browserSteps(web: ChildProcess, port: number): Promise<readonly Step[]> {
  const chromium = findChromium({
    path: null,
    folder: new URL("../node_modules/.cache/trawl-chromium", import.meta.url).pathname,
  })!;
  const proxy = await egressProxy({ judge: rule });
  const steps: Step[] = [];
  for (const pages of BROWSER_STEPS) {
    const pool = browserPool({ chromium, proxy, ...silentTelemetry(), limits: { pages } });
    const route = browserTransport({ pool, clock, destination: rule, blobs: memoryBlobs() });
    await step(route, web, port, pages, pages);
    steps.push(await step(route, web, port, pages, BROWSER_PAGES));
    await pool.close();
  }
  await proxy.close();
  return steps;
}

async function directSteps(web: ChildProcess, port: number): Promise<readonly Step[]> {
  const egress = undiciEgress({ judge: rule });
  const route = directTransport({ egress, clock, destination: rule });
  const steps: Step[] = [];
  await step(route, web, port, 32, MIN_DIRECT_PAGES);
  for (const at_once of DIRECT_STEPS)
    steps.push(
      await step(route, web, port, at_once, Math.max(MIN_DIRECT_PAGES, DIRECT_PAGES_A_CALLER * at_once)),
    );
  await egress.close();
  return steps;
}

const { values, positionals } = parseArgs({
  options: { only: { type: "string" } },
  allowPositionals: true,
});
if (positionals[0] === "web") await serve();
else {
  const web = fork(SELF, ["web"]);
  try {
    const [port] = (await once(web, "message")) as [number];
    const browser = values.only === "direct" ? null : await browserSteps(web, port);
    const direct = values.only === "browser" ? null : await directSteps(web, port);
    console.log(JSON.stringify({ machine: machine(), site_ms: SITE_MS, browser, direct }, null, 2));
  } finally {
    web.kill();
  }
}
