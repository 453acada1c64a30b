/**
 * node bench/pages.bench.ts [--rounds 5] [--direct 200] [--browser 12]: CPU time of a page with one option more, through `POST /v1/fetch` of one service:
 * on the route direct with a session, with values by nine rules and with both; on the route browser with a session, with a picture, and each of these with and without
 * what `block_resources` can leave out. CPU seconds are those of the service's whole process tree, its browser and its readers included; the web is a process of its own and does not count.
 * Each round has every variant once, in turn and then the other way round; a ratio is that of one round to its plain variant. No page comes from the cache.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { parseArgs } from "node:util";
import { chromium_path } from "../test/harness/installed-browser.ts";
import { noisePng } from "../test/harness/noise-png.ts";
import { cpuSeconds, machine, median, type Service, service } from "./harness.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    direct: { type: "string", default: "200" },
    browser: { type: "string", default: "12" },
    web: { type: "boolean", default: false },
  },
});
const AT_ONCE = 4;
const IMAGES = 12;

/** A shop of 40 lamps with pictures, two style sheets and a script that writes the prices. */
async function serve(): Promise<void> {
  // About 460 KB.
  const image = noisePng(480, 320);
  const lamps = Array.from(
    { length: 40 },
    (_, n) =>
      `<li class=lamp data-sku=s${n}><h2><a href=/lamp/${n}>Lamp ${n}</a></h2><p>A lamp of the old harbour, described by ${n} travellers, none of whom agreed. </p><span class=price>${n}.50</span><time datetime=2026-01-01>New Year</time></li>`,
  );
  const images = Array.from({ length: IMAGES }, (_, n) => `<img src="/image/${n}.png" alt="">`);
  const style = ".lamp { margin: 1em; border: 1px solid } h2 { font-family: serif }\n".repeat(200);
  const html = `<!doctype html><html lang=en><head><meta charset=utf-8><title>Lamps</title><link rel=stylesheet href=/a.css><link rel=stylesheet href=/b.css></head><body><main><h1>Lamps</h1><ul>${lamps.join("")}</ul>${images.join("")}</main><script src=/a.js></script></body></html>`;
  const answers: Readonly<Record<string, readonly [type: string, body: string | Buffer]>> = {
    css: ["text/css", style],
    js: [
      "text/javascript",
      "for (const each of document.querySelectorAll('.price')) each.textContent += ' EUR';",
    ],
    png: ["image/png", image],
    txt: ["text/plain", "User-agent: *\nAllow: /\n"],
  };
  const server = createServer((request, response) => {
    const [type, body] = answers[/\.(\w+)$/.exec(request.url!)?.[1] ?? ""] ?? ["text/html", html];
    response.setHeader("Content-Type", type);
    response.end(body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  process.send!((server.address() as AddressInfo).port);
}

const RULES = {
  title: { selector: "h1" },
  lamps: {
    selector: ".lamp",
    many: true,
    fields: {
      name: { selector: "h2" },
      link: { selector: "h2 a", type: "url" },
      sku: { attribute: "data-sku" },
      price: { selector: ".price", type: "number" },
      day: { selector: "time", type: "date" },
      text: { selector: "p", type: "markdown" },
    },
  },
  links: { selector: "a", attribute: "href", many: true },
  all: { selector: "main", type: "html" },
} as const;
const ALL = ["image", "font", "media", "stylesheet", "ads"];

type Options = Readonly<Record<string, unknown>>;

async function compare(web: ChildProcess): Promise<void> {
  const [port] = (await once(web, "message")) as [number];
  const settings = chromium_path === null ? {} : { TRAWL_CHROMIUM_PATH: chromium_path };
  const ours = await service(1, 18_341, settings);
  const headers = { authorization: `Bearer ${ours.key}`, "content-type": "application/json" };
  const post = async (path: string, body: object): Promise<any> => {
    const answer = await fetch(ours.url + path, { method: "POST", headers, body: JSON.stringify(body) });
    return answer.json();
  };
  const { session_id } = await post("/v1/sessions", {});
  const extract = { fields: RULES };
  const screenshot = { formats: ["screenshot"] };
  const variants: Readonly<Record<string, Readonly<Record<string, Options>>>> = {
    direct: {
      plain: {},
      session: { session_id },
      extract: { extract },
      "session and extract": { session_id, extract },
    },
    ...(chromium_path !== null && {
      browser: {
        plain: {},
        "plain, all blocked": { block_resources: ALL },
        session: { session_id },
        screenshot,
        "screenshot, all blocked": { ...screenshot, block_resources: ALL },
        extract: { extract },
      },
    }),
  };
  let n = 0;
  const pages = async (count: number, options: object): Promise<void> => {
    let left = count;
    const ask = async (): Promise<void> => {
      while (left-- > 0) {
        const url = `http://127.0.0.1:${port}/?${n++}`;
        const page = await post("/v1/fetch", { url, include_html: false, cache_ttl_s: 0, ...options });
        if (page.error !== null)
          throw new Error(`Cannot measure ${url}: ${JSON.stringify(page).slice(0, 300)}`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, ask));
  };
  const rows = [];
  for (const [tier, options] of Object.entries(variants)) {
    const of_tier = await measure(ours, tier, options, pages);
    console.error(JSON.stringify(of_tier));
    rows.push(...of_tier);
  }
  console.log(
    JSON.stringify(
      {
        machine: machine(),
        pages: { direct: values.direct, browser: values.browser },
        rounds: values.rounds,
        rows,
      },
      null,
      2,
    ),
  );
  await ours.stop();
}

async function measure(
  { pid }: Service,
  tier: string,
  variants: Readonly<Record<string, Options>>,
  pages: (count: number, options: object) => Promise<void>,
): Promise<object[]> {
  const count = Number(tier === "direct" ? values.direct : values.browser);
  const route = { tiers: [tier], render: tier === "browser" ? "always" : "never" };
  const names = Object.keys(variants);
  // Readers and browsers are up, and code that will be hot is.
  for (const name of names) await pages(Math.max(AT_ONCE, count / 4), { ...route, ...variants[name] });
  const cpu_ms = new Map<string, number[]>(names.map((name) => [name, []]));
  for (let round = 0; round < Number(values.rounds); round++)
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const before_s = cpuSeconds(pid);
      await pages(count, { ...route, ...variants[name] });
      cpu_ms.get(name)!.push(((cpuSeconds(pid) - before_s) / count) * 1_000);
    }
  const plain = cpu_ms.get("plain")!;
  return names.map((name) => {
    const all = cpu_ms.get(name)!;
    const of_plain = all.map((each, round) => Number((each / plain[round]!).toFixed(2)));
    return {
      tier,
      variant: name,
      cpu_ms: Number(median(all).toFixed(1)),
      of_plain: median(of_plain),
      of_plain_by_round: of_plain,
    };
  });
}

if (values.web) await serve();
else {
  const web = fork(new URL(import.meta.url).pathname, ["--web"]);
  try {
    await compare(web);
  } finally {
    web.kill();
  }
}
