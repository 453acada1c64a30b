/** Fetches one path and prints how far the resident memory rose at its highest, in bytes. Run by memory.test.ts. */
import { destination } from "../../../../actors/lib/web/destination.ts";
import { directTransport } from "../../../../actors/crawl/tiers/adapters/transport.direct.ts";
import { systemClock } from "../../../../cluster/adapters/time/clock.system.ts";
import { undiciEgress } from "../../../../cluster/adapters/egress/egress.undici.ts";
import { transportRequest } from "../../../harness/transport-request.ts";

const [origin, max_bytes, path] = process.argv.slice(2) as [string, string, string];
const rule = destination({ allow: ["127.0.0.0/8"] });
const egress = undiciEgress({ judge: rule });
const transport = directTransport({ egress, clock: systemClock(), destination: rule });
const get = async (at: string) => {
  const limits = { max_bytes: Number(max_bytes), signal: AbortSignal.timeout(20_000) };
  const outcome = await transport(transportRequest(`${origin}${at}`, limits));
  return outcome.kind === "failed" ? outcome.reason : outcome.kind;
};
const peak = () => process.resourceUsage().maxRSS * 1_024;

// Memory of the code itself is taken before the first figure.
for (let i = 0; i < 20; i++) for (const usual of ["/fine", "/coding-twice", "/gzip-empty"]) await get(usual);
const before = peak();
const end = await get(path);
console.log(JSON.stringify({ end, rose_bytes: peak() - before }));
await egress.close();
