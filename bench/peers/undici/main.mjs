// undici alone: the same addresses, the same bytes, nothing done with them.
import { Agent, request } from "undici";
const [pages, hosts, port] = process.argv.slice(2).map(Number);
const agent = new Agent({ connections: 2, pipelining: 1 });
const began = performance.now();
const cpu = process.cpuUsage();
let next = 0;
await Promise.all(
  Array.from({ length: 64 }, async () => {
    while (next < pages) {
      const n = next++;
      await (await request(`http://127.0.1.${1 + (n % hosts)}:${port}/p/${n}`, { dispatcher: agent })).body.text();
    }
  }),
);
const { user, system } = process.cpuUsage(cpu);
console.log(JSON.stringify({ pages, cpu_s: (user + system) / 1e6, wall_s: (performance.now() - began) / 1e3, rss_mb: process.memoryUsage.rss() / 2 ** 20 }));
process.exit(0);
