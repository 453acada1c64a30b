// Crawlee's Cheerio crawler crawls a site by its sitemaps and links: site.mjs ADDRESS LIMIT. It keeps to robots.txt and stores nothing. One JSON line.
import { readFileSync } from "node:fs";
import { CheerioCrawler, Configuration, log, LogLevel } from "@crawlee/cheerio";
import { RobotsTxtFile } from "@crawlee/utils";
log.setLevel(LogLevel.OFF);
const [address, limit] = [process.argv[2], Number(process.argv[3])];
let pages = 0;
const crawler = new CheerioCrawler(
  {
    minConcurrency: 64,
    maxConcurrency: 64,
    useSessionPool: false,
    maxRequestRetries: 0,
    maxRequestsPerCrawl: limit,
    respectRobotsTxtFile: true,
    autoscaledPoolOptions: { maybeRunIntervalSecs: 0.01 },
    async requestHandler({ $, enqueueLinks }) {
      $("title").text();
      pages++;
      await enqueueLinks({ strategy: "same-hostname", selector: "a[href], link[rel=alternate][href]", respectRobotsTxtFile: true });
    },
  },
  new Configuration({ persistStorage: false }),
);
const began = performance.now();
const robots = await RobotsTxtFile.find(address);
const listed = await robots.parseUrlsFromSitemaps();
await crawler.run([address, ...listed]);
const { user, system } = process.cpuUsage();
const peak_kb = Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]);
console.log(JSON.stringify({ pages, cpu_s: (user + system) / 1e6, wall_s: (performance.now() - began) / 1e3, rss_mb: peak_kb / 1024 }));
process.exit(0);
