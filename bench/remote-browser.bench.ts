/**
 * node bench/remote-browser.bench.ts: whole fetches by the route browser, rendered on the worker's own node and on another
 * one, in turns, by two clusters that run side by side with engines of their own. Pages of three sizes, made by a script.
 */
import { clusterOf } from "../test/harness/cluster-of.ts";
import { prose, web } from "../test/harness/web.ts";
import { machine } from "./harness.ts";

const ROUNDS = Number(process.argv[2] ?? 30);
const SENTENCES = { "10 KB": 150, "150 KB": 2_200, "1 MB": 15_000 } as const;

const sites = await web();
const environment = { TRAWL_DNS_SERVERS: sites.dns, TRAWL_POLITE_DELAY_MS: "1", TRAWL_CHROMIUM_PATH: "" };
const own = ["documents", "blobs"] as const;
const local = await clusterOf(["gateway", "worker,browser"], { own, environment });
const remote = local && (await clusterOf(["gateway", "worker", "browser"], { own, environment }));

if (!local || !remote) console.log("skipped: the engines are not installed (npm run engines)");
else {
  await Promise.all([local.settled(60_000), remote.settled(60_000)]);
  const rows = [];
  for (const [size, sentences] of Object.entries(SENTENCES)) {
    const text = JSON.stringify(prose(sentences));
    const body = ({ path }: { readonly path: string }) => ({
      body: `<!doctype html><title>${path}</title><div id="app"></div><script>document.getElementById("app").innerHTML =
        "<article><h1>${path}</h1><p>" + ${text} + "</p></article>";</script>`,
    });
    const { origin } = sites.site({ "*": body, "/robots.txt": { status: 404 } });
    const walls: Record<"local" | "remote", number[]> = { local: [], remote: [] };
    let bytes = 0;
    for (let round = -2; round < ROUNDS; round++)
      for (const [where, cluster] of Object.entries({ local, remote })) {
        const began = performance.now();
        const url = `${origin}/${where}-${round}`;
        const { json } = await cluster.call("POST", "/v1/fetch", {
          url,
          tiers: ["browser"],
          include_html: false,
        });
        if (json.error !== null) throw new Error(`${url}: ${json.error} ${JSON.stringify(json.attempts)}`);
        if (round >= 0) walls[where as "local" | "remote"].push(performance.now() - began);
        bytes = json.bytes;
      }
    const at = (values: readonly number[], share: number): number =>
      Math.round(values.toSorted((a, b) => a - b)[Math.floor(share * values.length)]! * 10) / 10;
    const quartiles = (values: readonly number[]) => [0.1, 0.25, 0.5].map((share) => at(values, share));
    // Each remote render beside the local one just before it.
    const added = walls.remote.map((ms, n) => ms - walls.local[n]!);
    rows.push({
      size,
      bytes,
      local_ms: quartiles(walls.local),
      remote_ms: quartiles(walls.remote),
      added_ms: { of_medians: at(walls.remote, 0.5) - at(walls.local, 0.5), median_of_pairs: at(added, 0.5) },
    });
  }
  console.log(
    JSON.stringify({ machine: machine(), rounds: ROUNDS, percentiles: [10, 25, 50], rows }, null, 2),
  );
}
await local?.close();
await remote?.close();
await sites.close();
process.exit(0);
