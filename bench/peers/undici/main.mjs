// undici alone: the addresses on standard input, the same bytes, nothing done with them.
import { readFileSync } from "node:fs";
import { Agent, request } from "undici";
const addresses = readFileSync(0, "utf8").trim().split("\n");
const pages = addresses.length;
const agent = new Agent({ connections: 2, pipelining: 1 });
const began = performance.now();
const cpu = process.cpuUsage();
let next = 0;
await Promise.all(
  Array.from({ length: 64 }, async () => {
    while (next < pages) {
      await (await request(addresses[next++], { dispatcher: agent })).body.text();
    }
  }),
);
const { user, system } = process.cpuUsage(cpu);
console.log(JSON.stringify({ pages, cpu_s: (user + system) / 1e6, wall_s: (performance.now() - began) / 1e3, rss_mb: process.memoryUsage.rss() / 2 ** 20 }));
process.exit(0);
