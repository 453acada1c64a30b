/**
 * node bench/browser.bench.ts [--part rate|memory] [--rounds 5] [--pages 100] [--memory-pages 550] [--beside PROGRAM]: the route browser
 * with the guard on beside a plain Playwright loop on the same Chromium, interleaved in one run, equally many pages at
 * once and the same rule for when a page is done; the loop also with the route's features switched off, which leaves
 * what the guard, interception and the passes cost; with `--beside` the route also with that browser. Then the memory of the process tree while pages
 * are open, what is shared counted once, and what is resident with no browser before and within a minute of the last page.
 *
 * The web is a process of its own and does not count. The loop loads images, the route does not: so it is meant.
 */
import { memoryBlobs } from "../cluster/adapters/blobs/blobs.memory.ts";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { chromium as playwright } from "playwright";
import { destination } from "../actors/lib/web/destination.ts";
import { browserPool } from "../actors/crawl/tiers/adapters/browser-pool.ts";
import { FEATURES_OFF } from "../actors/crawl/tiers/adapters/running-browsers.ts";
import { type Chromium, findChromium } from "../actors/crawl/tiers/adapters/chromium.ts";
import { browserTransport } from "../actors/crawl/tiers/adapters/transport.browser.ts";
import { systemClock } from "../cluster/adapters/time/clock.system.ts";
import { egressProxy } from "../cluster/adapters/egress/egress.proxy.ts";
import { transportRequest } from "../test/harness/transport-request.ts";
import { cpuSeconds, machine, median, proportionalMb, residentMb } from "./harness.ts";
import { silentTelemetry } from "../cluster/adapters/telemetry/telemetry.silent.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    pages: { type: "string", default: "100" },
    "memory-pages": { type: "string", default: "550" },
    beside: { type: "string" },
    part: { type: "string", default: "all" },
    port: { type: "string", default: "0" },
  },
});
const AT_ONCE = 4;
const MAX_QUIET_MS = 5_000;
/** As many as a browser of the route has before it is replaced. The route's own pages leave one in mid-life, idle. */
const LOOP_PAGES = 100;
/** Base, plus what counts as back at it. */
const BACK = 1.05;
const BACK_WITHIN_S = 60;
const SELF = new URL(import.meta.url).pathname;

/** A page as many are: styles, two scripts that fetch data and write the text, a few images. */
async function serve(): Promise<void> {
  const text = (n: number) =>
    `In the ${n}. year the keepers wrote down what the tide had brought ashore. `.repeat(4);
  const image = Buffer.alloc(4_096, 7);
  const answers: Record<string, readonly [type: string, body: string | Buffer]> = {
    "/": [
      "text/html; charset=utf-8",
      `<!doctype html><html><head><title>Page</title><link rel=stylesheet href=/a.css><script src=/a.js></script></head><body><nav>${"<a href=/>Home</a> ".repeat(30)}</nav><article id=a><h1>Page</h1>${Array.from({ length: 60 }, (_, n) => `<p>${text(n)}</p>`).join("")}</article>${Array.from({ length: 6 }, (_, n) => `<img src=/i${n}.png>`).join("")}<script src=/b.js></script></body></html>`,
    ],
    "/a.css": ["text/css", "body{font-family:serif} p{margin:1em} .x{color:red}".repeat(50)],
    "/a.js": ["text/javascript", "window.words = (t) => t.split(' ').length;"],
    "/b.js": [
      "text/javascript",
      "fetch('/data').then((r) => r.json()).then((all) => { for (const t of all) { const p = document.createElement('p'); p.textContent = t + words(t); a.append(p); } })",
    ],
    "/data": ["application/json", JSON.stringify(Array.from({ length: 50 }, (_, n) => text(n)))],
  };
  const server = createServer((request, response) => {
    const [type, body] = answers[request.url!.split("?", 1)[0]!] ?? ["image/png", image];
    response.setHeader("Content-Type", type);
    response.end(body);
  });
  // A parent that is killed closes the channel, and no other way.
  process.on("disconnect", () => process.exit());
  server.listen(0, "0.0.0.0");
  await once(server, "listening");
  process.send!((server.address() as { port: number }).port);
}

const folder = new URL("../node_modules/.cache/trawl-chromium", import.meta.url).pathname;
const chromium = findChromium({ path: null, folder })!;
const beside = values.beside === undefined ? null : findChromium({ path: values.beside, folder });
if (values.beside !== undefined && beside === null)
  throw new Error(`Cannot measure "${values.beside}": it is no program`);

/** So many pages, as many at once as the pool has places. */
async function all(pages: number, one: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < pages) await one(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function route(address: (n: number) => string, browser: Chromium = chromium) {
  const rule = destination({ allow: ["127.0.0.0/8"] });
  const proxy = await egressProxy({ judge: rule });
  const pool = browserPool({ chromium: browser, proxy, ...silentTelemetry(), limits: { pages: AT_ONCE } });
  const fetch = browserTransport({ pool, clock: systemClock(), destination: rule, blobs: memoryBlobs() });
  return {
    pool,
    one: async (n: number) => {
      const answer = await fetch(transportRequest(address(n)));
      if (answer.kind !== "page" || answer.body.length < 20_000)
        throw new Error(JSON.stringify(answer).slice(0, 500));
    },
    close: async () => {
      await pool.close();
      await proxy.close();
    },
  };
}

async function loop(address: (n: number) => string, args: string[] = []) {
  const { path, env } = await chromium.ready();
  const browser = await playwright.launch({ executablePath: path, env: { ...env }, args });
  return {
    one: async (n: number) => {
      const context = await browser.newContext();
      const page = await context.newPage();
      await page.goto(address(n), { waitUntil: "domcontentloaded" });
      await page.waitForLoadState("networkidle", { timeout: MAX_QUIET_MS }).catch(() => {});
      if ((await page.content()).length < 20_000) throw new Error("Cannot read the page: it is too short");
      await context.close();
    },
    close: () => browser.close(),
  };
}

interface Lap {
  readonly pages_per_min: number;
  readonly cpu_s_per_page: number;
  readonly of_node: number;
}

async function lap(pages: number, one: (n: number) => Promise<void>): Promise<Lap> {
  await all(AT_ONCE, one); // The browser is up, its caches are warm.
  const cpu_s = cpuSeconds(process.pid);
  const own = process.cpuUsage();
  const began_ms = performance.now();
  await all(pages, one);
  return {
    pages_per_min: (pages / (performance.now() - began_ms)) * 60_000,
    cpu_s_per_page: (cpuSeconds(process.pid) - cpu_s) / pages,
    of_node: ((u) => (u.user + u.system) / 1e6)(process.cpuUsage(own)) / pages,
  };
}

/** Every page is a site of its own, so that no page waits for its distance from another. */
const addressAt = (port: number) => (n: number) =>
  `http://127.0.${1 + (n >> 8)}.${1 + (n & 127)}:${port}/?${n}`;

const contenders = {
  plain: (address: (n: number) => string) => loop(address),
  lean: (address: (n: number) => string) => loop(address, [`--disable-features=${FEATURES_OFF.join(",")}`]),
  ours: (address: (n: number) => string) => route(address),
  ...(beside && { beside: (address: (n: number) => string) => route(address, beside) }),
};
type Contender = keyof typeof contenders;
const CONTENDERS = Object.keys(contenders) as Contender[];

async function memory(port: number): Promise<void> {
  const pages = Number(values["memory-pages"]);
  // Without a browser the process is alone, and what it shares with other programs of Node comes and goes with them.
  // V8 gives back a heap that it no longer fills (37 MB here) when it likes: it is made to, each time.
  const alone = () => {
    globalThis.gc!({ type: "major", execution: "sync", flavor: "last-resort" });
    return Math.round(residentMb(process.pid));
  };
  const tree = () => Math.round(proportionalMb(process.pid));
  const heldMemory = async (of: number, one: (n: number) => Promise<void>) => {
    const seen_mb: number[] = [];
    const watch = setInterval(() => seen_mb.push(tree()), 1_000);
    await all(of, one);
    clearInterval(watch);
    return { pages: of, median_mb: median(seen_mb), most_mb: Math.max(...seen_mb), at_end_mb: tree() };
  };
  const settled = async (enough: () => boolean) => {
    const began_ms = performance.now();
    const passed_s = () => Math.round((performance.now() - began_ms) / 1_000);
    while (!enough() && passed_s() < BACK_WITHIN_S) await sleep(1_000);
    return passed_s();
  };
  const { pool, one, close } = await route(addressAt(port));
  await all(20, one);
  await settled(() => pool.stats().browsers.length === 0);
  await sleep(2_000); // Its processes have gone too.
  const base_mb = alone();
  const ours = await heldMemory(pages, one);
  const back_after_s = await settled(() => alone() <= base_mb * BACK);
  const after_mb = alone();
  await close();
  const { one: plainly, close: end } = await loop(addressAt(port));
  const plain = await heldMemory(LOOP_PAGES, plainly);
  await end();
  process.send!({ base_mb, ours: { ...ours, after_mb, back_after_s }, plain });
}

/** The first message of a child; a child that ends without a message is a failure, not a wait without end. */
async function firstMessage<T>(child: ChildProcess): Promise<T> {
  const ended = once(child, "exit").then(([code, signal]: unknown[]) => {
    throw new Error(`Cannot measure: a child ended with ${String(code ?? signal)}`);
  });
  const [message] = (await Promise.race([once(child, "message"), ended])) as [T];
  ended.catch(() => {});
  return message;
}

async function rates(port: number) {
  const address = addressAt(port);
  const laps: Record<Contender, Lap[]> = { plain: [], lean: [], ours: [], beside: [] };
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const contender of round % 2 === 0 ? CONTENDERS : CONTENDERS.toReversed()) {
      const { one, close } = await contenders[contender]!(address);
      laps[contender].push(await lap(Number(values.pages), one));
      await close();
      console.error(round, contender, laps[contender].at(-1));
    }
  }
  const medianOf = (of: keyof Lap, contender: Contender) =>
    Number(median(laps[contender].map((one) => one[of])).toFixed(3));
  const each = CONTENDERS.map((contender) => [
    contender,
    {
      pages_per_min: medianOf("pages_per_min", contender),
      cpu_s_per_page: medianOf("cpu_s_per_page", contender),
      of_node: medianOf("of_node", contender),
    },
  ]);
  const rateBeside = (contender: Contender) =>
    medianOf("pages_per_min", "ours") / medianOf("pages_per_min", contender);
  return { ...Object.fromEntries(each), rate: rateBeside("plain"), rate_beside_lean: rateBeside("lean") };
}

if (values.part === "web") await serve();
else if (values.part === "memory-child") await memory(Number(values.port));
else {
  const web = fork(SELF, ["--part", "web"]);
  try {
    const port = await firstMessage<number>(web);
    const rate = values.part === "memory" ? null : await rates(port);
    const child = [
      "--part",
      "memory-child",
      "--port",
      String(port),
      "--memory-pages",
      values["memory-pages"],
    ];
    const memory_result =
      values.part === "rate"
        ? null
        : await firstMessage<object>(fork(SELF, child, { execArgv: [...process.execArgv, "--expose-gc"] }));
    console.log(
      JSON.stringify({ machine: machine(), at_once: AT_ONCE, rate, memory: memory_result }, null, 2),
    );
  } finally {
    web.kill();
  }
}
