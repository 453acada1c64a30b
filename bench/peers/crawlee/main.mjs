// crawlee's Cheerio crawler with 64 requests at once and no retries: title and links of every address on standard input.
import { readFileSync } from "node:fs";
import { CheerioCrawler, Configuration, log, LogLevel } from "@crawlee/cheerio";
log.setLevel(LogLevel.ERROR);
const addresses = readFileSync(0, "utf8").trim().split("\n");
let done = 0;
const crawler = new CheerioCrawler(
  {
    minConcurrency: 64,
    maxConcurrency: 64,
    useSessionPool: false,
    maxRequestRetries: 0,
    autoscaledPoolOptions: { maybeRunIntervalSecs: 0.01 },
    requestHandler: ({ $ }) => {
      $("title").text();
      $("a[href]").map((_, a) => $(a).attr("href")).get();
      done++;
    },
  },
  new Configuration({ persistStorage: false }),
);
const began = performance.now();
const cpu = process.cpuUsage();
await crawler.run(addresses);
const { user, system } = process.cpuUsage(cpu);
console.log(JSON.stringify({ pages: done, cpu_s: (user + system) / 1e6, wall_s: (performance.now() - began) / 1e3, rss_mb: process.memoryUsage.rss() / 2 ** 20 }));
process.exit(0);
