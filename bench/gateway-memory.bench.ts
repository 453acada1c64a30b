/**
 * node bench/gateway-memory.bench.ts: the memory at rest of a node that is only a gateway, with the filing system turned
 * on, and of a worker beside it. It starts engines of its own; what they do not find installed is said.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { clusterOf } from "../test/harness/cluster-of.ts";
import { machine, proportionalMb } from "./harness.ts";

const cluster = await clusterOf(["gateway", "worker"], {
  own: ["documents", "blobs"],
  environment: {
    TRAWL_FILINGS_IDENTITY: "Benches of Trawl benches@trawl.test",
    TRAWL_FILINGS_WWW_URL: "http://filings.test",
    TRAWL_FILINGS_DATA_URL: "http://filings.test",
    TRAWL_FILINGS_SEARCH_URL: "http://filings.test",
  },
});
if (!cluster) console.log("skipped: the engines are not installed (npm run engines)");
else {
  await cluster.settled(60_000);
  await sleep(15_000);
  const nodes = cluster.nodes.map(({ roles, pid }) => ({ roles, mb: Math.round(proportionalMb(pid)) }));
  console.log(JSON.stringify({ machine: machine(), nodes }, null, 2));
  await cluster.close();
}
