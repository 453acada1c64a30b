/**
 * node bench/blocking.bench.ts [--minutes 10] [--rounds 40] [--pages 2]: CPU time that `block_resources` saves a page of the route browser, told in pairs at a busy machine.
 * A single browser serves the whole run, behind the guard, in this process. Its processes are in a control group of their own (cpuacct, as root), whose clock is the scheduler's: nanoseconds,
 * with those of renderers that have ended. A round of a comparison is base, variant, variant, base, so that a load that grows or falls evenly does not count; comparisons take turns, one of
 * them the same variant twice, which shows what the design itself cannot tell apart. Ratios are of one round; the interval is that of their median by order statistics, of any distribution.
 * The web is a process of its own and does not count.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { browserPool } from "../actors/crawl/tiers/adapters/browser-pool.ts";
import { findChromium } from "../actors/crawl/tiers/adapters/chromium.ts";
import { browserTransport } from "../actors/crawl/tiers/adapters/transport.browser.ts";
import { destination } from "../actors/lib/web/destination.ts";
import { memoryBlobs } from "../cluster/adapters/blobs/blobs.memory.ts";
import { egressProxy } from "../cluster/adapters/egress/egress.proxy.ts";
import { silentTelemetry } from "../cluster/adapters/telemetry/telemetry.silent.ts";
import { systemClock } from "../cluster/adapters/time/clock.system.ts";
import { noisePng } from "../test/harness/noise-png.ts";
import { transportRequest } from "../test/harness/transport-request.ts";
import { machine, median } from "./harness.ts";
import { controlGroup, descendants, medianInterval } from "./in-pairs.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    rounds: { type: "string", default: "40" },
    pages: { type: "string", default: "2" },
    web: { type: "boolean", default: false },
  },
});
const PAGES = Number(values.pages);
const IMAGES = 12;
/** Warms the browser up, and shows how much a page is. */
const WARM_PAGES = 6;

/** A list of 200 lamps with twelve pictures of 480 × 320 (460 KB each), four style sheets (31 KB each) and a script that writes the prices. */
async function serve(): Promise<void> {
  const image = noisePng(480, 320);
  const lamps = Array.from(
    { length: 200 },
    (_, n) =>
      `<li class="lamp l${n % 40}"><h2><a href=/lamp/${n}>Lamp ${n}</a></h2><p>A lamp of the old harbour, described by ${n} travellers, none of whom agreed. </p><span class=price>${n}.50</span></li>`,
  );
  const images = Array.from(
    { length: IMAGES },
    (_, n) => `<img src="/image/${n}.png" alt="" width=480 height=320>`,
  );
  const styles = ["a", "b", "c", "d"].map((name) => `<link rel=stylesheet href=/${name}.css>`).join("");
  const rules = Array.from(
    { length: 400 },
    (_, n) =>
      `main > ul > li.l${n % 40}:nth-child(${n}n) h2 a { margin: ${n % 7}px; color: rgb(${n % 255}, 0, 0) }`,
  ).join("\n");
  const html = `<!doctype html><html lang=en><head><meta charset=utf-8><title>Lamps</title>${styles}</head><body><main><h1>Lamps</h1><ul>${lamps.join("")}</ul>${images.join("")}</main><script src=/a.js></script></body></html>`;
  const answers: Readonly<Record<string, readonly [type: string, body: string | Buffer]>> = {
    css: ["text/css", rules],
    js: [
      "text/javascript",
      "for (const each of document.querySelectorAll('.price')) each.textContent += ' EUR';",
    ],
    png: ["image/png", image],
  };
  const server = createServer((request, response) => {
    const [type, body] = answers[/\.(\w+)$/.exec(request.url!)?.[1] ?? ""] ?? ["text/html", html];
    response.setHeader("Content-Type", type);
    response.end(body);
  });
  server.listen(0, "0.0.0.0");
  await once(server, "listening");
  process.send!((server.address() as AddressInfo).port);
}

const SCREENSHOT = { screenshot: { type: "png", full_page: false } } as const;
const VARIANTS = {
  plain: {},
  "plain without style sheets": { blocked: ["stylesheet"] },
  screenshot: SCREENSHOT,
  "screenshot without images": { ...SCREENSHOT, blocked: ["image"] },
  "screenshot without style sheets": { ...SCREENSHOT, blocked: ["stylesheet"] },
} as const;
type Variant = keyof typeof VARIANTS;
const COMPARISONS: readonly (readonly [base: Variant, variant: Variant])[] = [
  ["plain", "plain"],
  ["plain", "plain without style sheets"],
  ["screenshot", "screenshot"],
  ["screenshot", "screenshot without images"],
  ["screenshot", "screenshot without style sheets"],
];

interface Cost {
  readonly browser_ms: number;
  /** CPU time of this process: the guard, the interception, the passes. */
  readonly node_ms: number;
}

async function compare(web: ChildProcess): Promise<void> {
  const [port] = (await once(web, "message")) as [number];
  const rule = destination({ allow: ["127.0.0.0/8"] });
  const proxy = await egressProxy({ judge: rule });
  const folder = new URL("../node_modules/.cache/trawl-chromium", import.meta.url).pathname;
  const chromium = findChromium({ path: null, folder })!;
  // The limits keep the same browser for the whole run: the start of another would count.
  const limits = { pages: 1, pages_per_browser: 1e6, idle_ms: 3_600_000 };
  const pool = browserPool({ chromium, proxy, ...silentTelemetry(), limits });
  const fetch = browserTransport({ pool, clock: systemClock(), destination: rule, blobs: memoryBlobs() });
  const group = controlGroup("blocking");
  let n = 0;
  const one = async (variant: Variant): Promise<void> => {
    // Each page is a site of its own, so that none waits for its distance from another.
    const url = `http://127.0.${1 + (n >> 7)}.${1 + (n++ & 127)}:${port}/?${n}`;
    const { blocked, ...options } = { blocked: [], ...VARIANTS[variant] };
    const request = transportRequest(url, {
      ...options,
      ...(blocked.length > 0 && { blocked: [...blocked] }),
    });
    const answer = await fetch(request);
    if (answer.kind !== "page" || answer.body.length < 20_000)
      throw new Error(`Cannot measure ${url}: ${JSON.stringify(answer).slice(0, 300)}`);
  };
  const block = async (variant: Variant): Promise<Cost> => {
    const before_ms = group.cpu_ms();
    const own = process.cpuUsage();
    for (let page = 0; page < PAGES; page++) await one(variant);
    const { user, system } = process.cpuUsage(own);
    return { browser_ms: (group.cpu_ms() - before_ms) / PAGES, node_ms: (user + system) / 1e3 / PAGES };
  };
  try {
    await one("plain");
    for (const pid of descendants(process.pid, web.pid)) group.add(pid);
    for (let page = 0; page < WARM_PAGES; page++) await one(page % 2 === 0 ? "plain" : "screenshot");
    const rounds = await takeRounds(block);
    const members = group.members();
    const strays = descendants(process.pid, web.pid).filter((pid) => !members.has(pid));
    if (strays.length > 0)
      throw new Error(`Cannot measure: ${strays.length} processes of a browser were not counted`);
    const load = loadavg().map((each) => Math.round(each));
    console.log(JSON.stringify({ machine: machine(), load, pages: n, rows: rounds.map(rowOf) }, null, 2));
  } finally {
    await pool.close();
    await proxy.close();
    group.remove();
  }
}

interface Round {
  readonly base: Cost;
  readonly variant: Cost;
}

const mean = ({ browser_ms: a, node_ms: b }: Cost, { browser_ms: c, node_ms: d }: Cost): Cost => ({
  browser_ms: (a + c) / 2,
  node_ms: (b + d) / 2,
});

/** By comparison. Ends with the rounds or the minutes. */
async function takeRounds(block: (variant: Variant) => Promise<Cost>): Promise<readonly Round[][]> {
  const until_ms = performance.now() + Number(values.minutes) * 60_000;
  const rounds: Round[][] = COMPARISONS.map(() => []);
  for (let round = 0; round < Number(values.rounds) && performance.now() < until_ms; round++) {
    const order = [...COMPARISONS.entries()];
    for (const [at, [base, variant]] of round % 2 === 0 ? order : order.toReversed()) {
      const [first, second, third, fourth] = [
        await block(base),
        await block(variant),
        await block(variant),
        await block(base),
      ];
      rounds[at]!.push({ base: mean(first, fourth), variant: mean(second, third) });
    }
    console.error(`round ${round + 1}, load ${loadavg()[0]!.toFixed(1)}`);
  }
  return rounds;
}

function rowOf(rounds: readonly Round[], at: number): object {
  const [base, variant] = COMPARISONS[at]!;
  const total = ({ browser_ms, node_ms }: Cost): number => browser_ms + node_ms;
  return {
    base,
    variant,
    rounds: rounds.length,
    base_browser_ms: whole(median(rounds.map((each) => each.base.browser_ms))),
    base_node_ms: whole(median(rounds.map((each) => each.base.node_ms))),
    browser: medianInterval(rounds.map((each) => each.variant.browser_ms / each.base.browser_ms)),
    browser_and_node: medianInterval(rounds.map((each) => total(each.variant) / total(each.base))),
    saved_ms: medianInterval(
      rounds.map((each) => total(each.base) - total(each.variant)),
      0,
    ),
  };
}

const whole = (ms: number): number => Math.round(ms);

if (values.web) await serve();
else {
  const web = fork(new URL(import.meta.url).pathname, ["--web"]);
  try {
    await compare(web);
  } finally {
    web.kill();
  }
}
