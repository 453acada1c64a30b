/**
 * node bench/browser-cost.bench.ts [--rounds 12] [--pages 2] [--only NAME]… [--chromium PROGRAM] [--shell PROGRAM]: CPU time of a page in the browser, told in pairs at a busy machine, beside
 * Playwright alone. All contenders live at once and take blocks of pages in turn, then the other way round. The processes of each one's browser are in a control group of their
 * own, whose clock is the scheduler's: nanoseconds, with renderers that have ended. To these the time of this process is added (Playwright; of the route also the guard, the
 * interception, the passes and the reading), while a block is the contender's. A ratio is that of one round to the first contender. Browsers run as those of the service do,
 * in their sandbox where the kernel grants one. The page is that of browser.bench.ts; the web is a process of its own and does not count.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { chromium as playwright } from "playwright";
import { browserPool } from "../actors/crawl/tiers/adapters/browser-pool.ts";
import { type Chromium, findChromium } from "../actors/crawl/tiers/adapters/chromium.ts";
import { FEATURES_OFF } from "../actors/crawl/tiers/adapters/running-browsers.ts";
import { programFolder, sandboxed } from "../actors/crawl/tiers/adapters/sandbox.ts";
import { browserTransport } from "../actors/crawl/tiers/adapters/transport.browser.ts";
import { destination } from "../actors/lib/web/destination.ts";
import { memoryBlobs } from "../cluster/adapters/blobs/blobs.memory.ts";
import { egressProxy } from "../cluster/adapters/egress/egress.proxy.ts";
import { silentTelemetry } from "../cluster/adapters/telemetry/telemetry.silent.ts";
import { systemClock } from "../cluster/adapters/time/clock.system.ts";
import { transportRequest } from "../test/harness/transport-request.ts";
import { machine, median } from "./harness.ts";
import { type ControlGroup, controlGroup, descendants, medianInterval } from "./in-pairs.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "12" },
    pages: { type: "string", default: "2" },
    only: { type: "string", multiple: true },
    chromium: { type: "string" },
    shell: { type: "string" },
  },
});
const PAGES = Number(values.pages);
const WARM_PAGES = 3;
const MAX_QUIET_MS = 5_000;
const folder = programFolder(new URL("../node_modules/.cache/trawl-chromium", import.meta.url).pathname);
const rule = destination({ allow: ["127.0.0.0/8"] });

interface Contender {
  /** Gives the characters of the page's text. */
  readonly one: (url: string) => Promise<number>;
  readonly close: () => Promise<void>;
}

async function route(chromium: Chromium): Promise<Contender> {
  const proxy = await egressProxy({ judge: rule });
  // The limits keep the same browser for the whole run: the start of another would count.
  const limits = { pages: 1, pages_per_browser: 1e6, idle_ms: 3_600_000 };
  const pool = browserPool({ chromium, proxy, ...silentTelemetry(), limits });
  const fetch = browserTransport({ pool, clock: systemClock(), destination: rule, blobs: memoryBlobs() });
  return {
    async one(url) {
      const answer = await fetch(transportRequest(url));
      if (answer.kind !== "page")
        throw new Error(`Cannot measure "${url}": ${JSON.stringify(answer).slice(0, 300)}`);
      return textChars(String(answer.body));
    },
    async close() {
      await pool.close();
      await proxy.close();
    },
  };
}

/** Playwright as its documentation has it: a context and a page each, and all that the page loads. `args`: further flags. */
async function loop(chromium: Chromium, args: string[]): Promise<Contender> {
  const { path, env, sandbox = false } = await chromium.ready();
  const browser = await playwright.launch({
    executablePath: path,
    env: { ...env },
    chromiumSandbox: sandbox,
    args,
  });
  return {
    async one(url) {
      const context = await browser.newContext();
      const page = await context.newPage();
      await page.goto(url, { waitUntil: "domcontentloaded" });
      await page.waitForLoadState("networkidle", { timeout: MAX_QUIET_MS }).catch(() => {});
      const html = await page.content();
      await context.close();
      return textChars(html);
    },
    close: () => browser.close(),
  };
}

const textChars = (html: string): number =>
  html
    .replaceAll(/<(script|style)[^>]*>.*?<\/\1>/gs, "")
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll(/\s+/g, " ").length;

type Candidate = readonly [
  name: string,
  open: (chromium: Chromium) => Promise<Contender>,
  chromium: Chromium,
];

function contenders(): readonly Candidate[] {
  const lean = [`--disable-features=${FEATURES_OFF.join(",")}`];
  const withArgs =
    (args: string[]) =>
    (chromium: Chromium): Promise<Contender> =>
      loop(chromium, args);
  const windows = findChromium({ path: values.chromium ?? null, folder, archives: null });
  const shell =
    values.shell === undefined ? null : findChromium({ path: values.shell, folder, archives: null });
  const npm = findChromium({ path: null, folder, system: [] });
  const all: Candidate[] = [];
  if (windows !== null)
    all.push(
      ["loop, windows", withArgs([]), windows],
      ["loop, windows, features off", withArgs(lean), windows],
      ["route, windows", route, windows],
    );
  if (shell !== null) all.push(["loop, shell", withArgs([]), shell], ["route, shell", route, shell]);
  if (npm !== null) all.push(["loop, shell of npm", withArgs([]), npm], ["route, shell of npm", route, npm]);
  return all;
}

interface Running extends Contender {
  readonly name: string;
  readonly group: ControlGroup;
  readonly chars: number;
}

let pages = 0;
/** Each page is a site of its own, so that none waits for its distance from another. */
const nextUrl = (port: number): string =>
  `http://127.0.${1 + (pages >> 7)}.${1 + (pages++ & 127)}:${port}/?${pages}`;

async function compare(web: ChildProcess): Promise<void> {
  const [port] = (await once(web, "message")) as [number];
  const chosen = contenders().filter(([name]) => values.only?.includes(name) ?? true);
  if (chosen.length === 0) throw new Error("Cannot measure: there is no such contender");
  const opened: Running[] = [];
  const closers: (() => Promise<void>)[] = [];
  try {
    for (const [index, [name, open, of]] of chosen.entries()) {
      const chromium = sandboxed(of, { setting: "auto", folder: `${folder}-bench-${index}` });
      const group = controlGroup(String(index));
      const before = new Set(descendants(process.pid, web.pid));
      const contender = await open(chromium);
      closers.push(async () => {
        await contender.close();
        await chromium.close();
        group.remove();
      });
      const chars = await contender.one(nextUrl(port));
      for (const pid of descendants(process.pid, web.pid)) if (!before.has(pid)) group.add(pid);
      for (let page = 0; page < WARM_PAGES; page++) await contender.one(nextUrl(port));
      opened.push({ ...contender, name, group, chars });
    }
    console.log(JSON.stringify({ machine: machine(), ...(await measure(opened, port)) }, null, 2));
  } finally {
    for (const close of closers) await close();
  }
}

interface Cost {
  readonly browser_ms: number;
  readonly node_ms: number;
}

const total = ({ browser_ms, node_ms }: Cost): number => browser_ms + node_ms;

async function measure(opened: readonly Running[], port: number): Promise<object> {
  const costs = new Map<string, Cost[]>(opened.map(({ name }) => [name, []]));
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const { name, group, one } of round % 2 === 0 ? opened : opened.toReversed()) {
      const before_ms = group.cpu_ms();
      const own = process.cpuUsage();
      for (let page = 0; page < PAGES; page++) await one(nextUrl(port));
      const { user, system } = process.cpuUsage(own);
      costs.get(name)!.push({
        browser_ms: (group.cpu_ms() - before_ms) / PAGES,
        node_ms: (user + system) / 1e3 / PAGES,
      });
    }
    console.error(`round ${round + 1}, load ${loadavg()[0]!.toFixed(1)}`);
  }
  const base = costs.get(opened[0]!.name)!;
  const rows = opened.map(({ name, chars }) => {
    const all = costs.get(name)!;
    return {
      name,
      text_chars: chars,
      cpu_ms: medianInterval(all.map(total), 0),
      browser_ms: Math.round(median(all.map(({ browser_ms }) => browser_ms))),
      node_ms: Math.round(median(all.map(({ node_ms }) => node_ms))),
      of_first: medianInterval(all.map((each, round) => total(each) / total(base[round]!))),
    };
  });
  return { load: loadavg().map(Math.round), rounds: values.rounds, pages_a_block: PAGES, rows };
}

const web = fork(new URL("browser.bench.ts", import.meta.url).pathname, ["--part", "web"]);
try {
  await compare(web);
} finally {
  web.kill();
}
