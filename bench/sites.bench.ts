/**
 * node bench/sites.bench.ts [--pages 5000] [--seed 1] [--only trawl,scrapy]: a synthetic site with sitemaps, duplicates and traps (`synthetic-site.ts`),
 * crawled by the whole service as `npm start` runs it, and by Scrapy, Crawlee, Colly and Heritrix, one after the other, on one core, without a
 * delay. Each may ask for twice as many pages as the site has. The site counts what each asks for. Of Trawl also: which duplicates it tells.
 */
import { parseArgs } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";
import { answering, cpuSeconds, machine, pinned, proportionalMb, service } from "./harness.ts";
import { goSitePeer, heritrixPeer, npmSitePeer, pythonSitePeer, type Result } from "./peers.ts";
import { type SiteFigures, syntheticSite } from "./synthetic-site.ts";

const { values } = parseArgs({
  options: {
    pages: { type: "string", default: "5000" },
    seed: { type: "string", default: "1" },
    only: { type: "string", default: "trawl,scrapy,crawlee,colly,heritrix" },
  },
});
const [PAGES, SEED] = [Number(values.pages), Number(values.seed)];
const WEB_PORT = 18_361;
const WEB = `http://127.0.0.1:${WEB_PORT}`;
const ORIGIN = `http://127.8.0.1:${WEB_PORT}`;
const LIMIT = Math.min(50_000, 2 * PAGES);
/** While a peer runs, this process answers nothing, so a connection that is kept would be closed meanwhile. */
const NOT_KEPT = { connection: "close" };
const site = syntheticSite(PAGES, SEED);

/** Undefined: no page has it. */
function slotOf(url: string): number | undefined {
  const { worth, location } = site.answer(url.slice(ORIGIN.length), ORIGIN);
  // A loop of redirects leads to a folder that no page has.
  if (location !== undefined) return location.startsWith("/loop/") ? undefined : slotOf(ORIGIN + location);
  return worth.kind === "page" || worth.kind === "near_duplicate" ? worth.slot : undefined;
}

interface ListedUrl {
  readonly url: string;
  readonly state: string;
  readonly duplicate_of: string | null;
}

/** Counts pages that repeat one which was fetched before, how many of them are told, and how many others are. */
function duplicatesTold(urls: readonly ListedUrl[]) {
  const counts = { duplicates: 0, told: 0, wrongly_told: 0 };
  const fetched = new Map<number, number>();
  for (const { url, state } of urls) {
    const slot = state === "done" ? slotOf(url) : undefined;
    if (slot !== undefined) fetched.set(slot, (fetched.get(slot) ?? 0) + 1);
  }
  for (const times of fetched.values()) counts.duplicates += times - 1;
  for (const { url, duplicate_of } of urls) {
    const slot = slotOf(url);
    if (duplicate_of === null || slot === undefined) continue;
    if (slot === slotOf(duplicate_of)) counts.told++;
    else counts.wrongly_told++;
  }
  return counts;
}

async function trawl(): Promise<Result & { readonly told: object; readonly reasons: object }> {
  const served = await service(1, 18_362);
  try {
    const began = performance.now();
    const cpu = cpuSeconds(served.pid);
    const call = async <Reply>(path: string, body?: object): Promise<Reply> => {
      const reply = await fetch(`${served.url}${path}`, {
        headers: { authorization: `Bearer ${served.key}` },
        ...(body && { method: "POST", body: JSON.stringify(body) }),
      });
      if (!reply.ok) throw new Error(`Cannot ask "${path}": ${reply.status} ${await reply.text()}`);
      return (await reply.json()) as Reply;
    };
    const { job_id } = await call<{ job_id: string }>("/v1/crawl", {
      url: `${ORIGIN}/`,
      sitemap: "include",
      limit: LIMIT,
      fetch: { tiers: ["direct"] },
    });
    interface Job {
      readonly finished_at: string | null;
      readonly counts: Readonly<Record<string, number>>;
    }
    let job = await call<Job>(`/v1/jobs/${job_id}`);
    let rss_mb = 0;
    for (; job.finished_at === null; job = await call<Job>(`/v1/jobs/${job_id}`)) {
      rss_mb = Math.max(rss_mb, proportionalMb(served.pid));
      await sleep(500);
    }
    const cpu_s = cpuSeconds(served.pid) - cpu;
    const wall_s = (performance.now() - began) / 1_000;
    const urls: ListedUrl[] = [];
    const reasons: Record<string, number> = {};
    for (let from: number | null = 0; from !== null;) {
      const page: {
        readonly items: readonly (ListedUrl & { readonly reason: string | null })[];
        readonly next_cursor: number | null;
      } = await call(`/v1/jobs/${job_id}/urls?limit=1000&from=${from}`);
      urls.push(...page.items);
      for (const { state, reason } of page.items) {
        const name = `${state} ${reason ?? ""}`.trim();
        reasons[name] = (reasons[name] ?? 0) + 1;
      }
      from = page.next_cursor;
    }
    return { pages: job.counts["done"] ?? 0, cpu_s, wall_s, rss_mb, told: duplicatesTold(urls), reasons };
  } finally {
    await served.stop();
  }
}

const PEERS = {
  trawl,
  scrapy: pythonSitePeer("scrapy"),
  crawlee: npmSitePeer("crawlee"),
  colly: goSitePeer("colly"),
  heritrix: heritrixPeer(),
};

const web = pinned(0, ["bench/site-web.ts", String(WEB_PORT), String(PAGES), String(SEED)]);
await answering(`${WEB}/-/figures`);
const results: Record<string, object> = {};
for (const [name, crawl] of Object.entries(PEERS)) {
  if (!values.only.split(",").includes(name)) continue;
  await fetch(`${WEB}/-/reset`, { method: "POST", headers: NOT_KEPT });
  const result = await crawl(`${ORIGIN}/`, LIMIT);
  if (result === null) continue;
  const asked = (await (await fetch(`${WEB}/-/figures`, { headers: NOT_KEPT })).json()) as SiteFigures;
  const traps = Object.values(asked.traps).reduce((sum, each) => sum + each, 0);
  results[name] = {
    recall: asked.found / asked.real,
    requests_a_page: asked.requests / asked.found,
    trap_requests: traps,
    cpu_ms_a_page: (1_000 * result.cpu_s) / asked.found,
    cpu_ms_a_request: (1_000 * result.cpu_s) / asked.requests,
    asked,
    result,
  };
  console.error(name, JSON.stringify(results[name]));
}
await web.stop();
console.log(JSON.stringify({ machine: machine(), pages: PAGES, limit: LIMIT, results }, null, 2));
