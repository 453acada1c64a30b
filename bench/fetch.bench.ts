/**
 * node bench/fetch.bench.ts [--runs 3] [--pages 694] [--write]: uncached direct fetches of real pages with everything
 * on (robots, slot, fetch, digest, extraction, body and cache written, metering), beside undici that reads the same
 * bytes and crawlee's Cheerio crawler that reads title and links, in one run, interleaved; and the latency the service
 * adds to undici one at a time. CPU seconds are those of the whole process tree; the web and the drivers do not count.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { Agent, request } from "undici";
import { answering, cpuSeconds, machine, median, pinned, residentMb, service } from "./harness.ts";
import { npmPeer, type Result } from "./peers.ts";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "3" },
    pages: { type: "string", default: "694" },
    write: { type: "boolean", default: false },
  },
});
const RUNS = Number(values.runs);
const PAGES = Number(values.pages);
const AT_ONCE = 64;
const HOSTS = 50;
const WEB_PORT = 18_300;
const address = (n: number, kind = "p"): string =>
  `http://127.0.1.${1 + (n % HOSTS)}:${WEB_PORT}/${kind}/${n}`;

async function ours(): Promise<Result> {
  const { pid, url, key, stop } = await service(1, 18_301);
  const ask = async (body: object) => {
    const reply = await request(`${url}/v1/fetch`, {
      method: "POST",
      dispatcher: agent,
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify(body),
    });
    const { error } = (await reply.body.json()) as { error: string | null };
    if (error !== null) throw new Error(`Cannot fetch ${JSON.stringify(body)}: ${error}`);
  };
  const agent = new Agent({ connections: AT_ONCE });
  const body = (n: number) => ({ url: address(n), cache_ttl_s: 0, include_html: false, tiers: ["direct"] });
  for (let n = 0; n < HOSTS; n++) await ask(body(n)); // robots.txt read, children started
  const before = cpuSeconds(pid);
  const began = performance.now();
  let next = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (next < PAGES) await ask(body(next++));
    }),
  );
  const result = {
    pages: PAGES,
    cpu_s: cpuSeconds(pid) - before,
    wall_s: (performance.now() - began) / 1_000,
    rss_mb: residentMb(pid),
  };
  await stop();
  await agent.close();
  return result;
}

async function latency() {
  const { url, key, stop } = await service(1, 18_302);
  const agent = new Agent({ connections: 1 });
  const ROUNDS = 400;
  const p = (numbers: number[], share: number) =>
    Number(numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length * share)]!.toFixed(2));
  async function beside(kind: "b" | "k") {
    const bare: number[] = [];
    const whole: number[] = [];
    for (let n = 0; n < ROUNDS + 50; n++) {
      const page = `http://127.0.1.1:${WEB_PORT}/${kind}/${n}`;
      let began = performance.now();
      await (await request(page, { dispatcher: agent })).body.text();
      const one = performance.now() - began;
      began = performance.now();
      const reply = await request(`${url}/v1/fetch`, {
        method: "POST",
        dispatcher: agent,
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify({ url: page, cache_ttl_s: 0, include_html: false, tiers: ["direct"] }),
      });
      await reply.body.text();
      if (n < 50) continue;
      bare.push(one);
      whole.push(performance.now() - began);
    }
    return {
      undici_ms: { p50: p(bare, 0.5), p99: p(bare, 0.99) },
      service_ms: { p50: p(whole, 0.5), p99: p(whole, 0.99) },
    };
  }
  const result = { "8 KiB of bytes": await beside("b"), "8 KiB of HTML": await beside("k") };
  await stop();
  await agent.close();
  return result;
}

const web = pinned(0, ["bench/web.ts", String(WEB_PORT)]);
await answering(`http://127.0.0.1:${WEB_PORT}/count`);
const peers = { undici: npmPeer("undici"), "crawlee cheerio": npmPeer("crawlee") };
const results: Record<string, Result[]> = { trawl: [] };
for (let run = 0; run < RUNS; run++) {
  results["trawl"]!.push(await ours());
  for (const [name, peer] of Object.entries(peers)) {
    const result = peer([PAGES, HOSTS, WEB_PORT].map(String));
    if (result) (results[name] ??= []).push(result);
  }
}
const added = await latency();
await web.stop();

const summary = Object.entries(results).map(([name, runs]) => ({
  name,
  pages_per_cpu_s: Math.round(median(runs.map(({ pages, cpu_s }) => pages / cpu_s))),
  rss_mb: Math.round(median(runs.map(({ rss_mb }) => rss_mb))),
  runs: runs.map(({ pages, cpu_s }) => Math.round(pages / cpu_s)),
}));
const report = { command: process.argv.slice(1).join(" "), machine: machine(), summary, added };
console.log(JSON.stringify(report, null, 1));
if (values.write) writeFileSync("bench/results/fetch.json", `${JSON.stringify(report, null, 1)}\n`);
