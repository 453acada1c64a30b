/**
 * node bench/profiles-limit.bench.ts [requests]: mixed profile requests to two nodes of a cluster, single calls and a job at the
 * same time, over both domains of the invented profile site, through tinyproxy and a rendering service. What the site saw: the
 * most requests in hand, and the shortest time between two arrivals; and what the request audit recorded: the shortest
 * time between two requests when they left.
 */
import { execFileSync } from "node:child_process";
import { clusterOf } from "../test/harness/cluster-of.ts";
import { COMPANIES, type Companies, profileSite } from "../test/harness/profile-site.ts";
import { web } from "../test/harness/web.ts";
import { machine } from "./harness.ts";

const REQUESTS = Number(process.argv[2] ?? 200);
/** So many of the requests ask the site; the others ask for companies that were asked for before. */
const DISTINCT = 20;

const companies: Companies = {
  ...COMPANIES,
  ...Object.fromEntries(
    Array.from({ length: DISTINCT }, (_, n) => [
      `/Muster+${n}+GmbH,+Musterstadt/HRB+${100 + n}`,
      { name: `Muster ${n} GmbH`, city: "Musterstadt", entity_id: String(7_000 + n) },
    ]),
  ),
};
const sites = await web();
const site = await profileSite(sites, companies, 1_300);
if (site === null) throw new Error("Cannot measure: tinyproxy is not installed");
const cluster = await clusterOf(["gateway,worker", "gateway,worker"], {
  own: ["documents", "blobs"],
  environment: {
    ...site.environment,
    TRAWL_DNS_SERVERS: sites.dns,
    TRAWL_EGRESS_ALLOW: "127.0.0.0/8",
    TRAWL_REQUEST_AUDIT: "on",
  },
});
if (cluster === null) throw new Error("Cannot measure: an engine is not installed (npm run engines)");

const OPS = ["suggest", "profile", "graph"] as const;
const item = (n: number) => {
  const op = OPS[n % OPS.length]!;
  const which = Math.floor(n / OPS.length) % DISTINCT;
  const host = site.sites[which % 2]!.origin;
  if (op === "suggest") return { op, query: `Muster ${which}` };
  if (op === "graph") return { op, entity_id: String(7_000 + which) };
  return { op, url: `${host}/Muster+${which}+GmbH,+Musterstadt/HRB+${100 + which}`, include_graph: false };
};
const began_ms = performance.now();
const half = Math.floor(REQUESTS / 2);
const job = await cluster.call("POST", "/v1/batch/profiles", {
  idempotency_key: "limit",
  items: Array.from({ length: half }, (_, n) => item(n)),
});
const errors = new Map<string, number>();
const count = (error: string | null): void =>
  void errors.set(error ?? "none", (errors.get(error ?? "none") ?? 0) + 1);
await Promise.all(
  Array.from({ length: REQUESTS - half }, async (_, n) => {
    const { op, ...body } = item(n + 7);
    count((await cluster.insist("POST", `/v1/profiles/${op}`, body)).json.error);
  }),
);
for (;;) {
  const { json } = await cluster.call("GET", `/v1/jobs/${job.json.job_id}`);
  if (json.status === "completed") break;
  await new Promise((resolve) => setTimeout(resolve, 1_000));
}
const items = (await cluster.call("GET", `/v1/jobs/${job.json.job_id}?include=items&limit=1000`)).json.items;
for (const { error } of items) count(error);
const at = site.sites.flatMap(({ arrivals }) => arrivals.map(({ at_ms }) => at_ms)).toSorted((a, b) => a - b);
const between = at.slice(1).map((at_ms, n) => at_ms - at[n]!);
// The audit is written every few seconds.
await new Promise((resolve) => setTimeout(resolve, 10_000));
const words = ["--disable-warning=ExperimentalWarning", "ops/main.ts", "audit", "politeness", "--json"];
const { domains } = JSON.parse(
  execFileSync(process.execPath, words, { env: { ...cluster.environment, ...site.environment } }).toString(),
);
console.log(
  JSON.stringify(
    {
      machine: machine(),
      departures: domains.map(({ violations, ...domain }: any) => ({
        ...domain,
        too_short: violations.length,
      })),
      requests: REQUESTS,
      seconds: Math.round((performance.now() - began_ms) / 1_000),
      asked_of_the_site: at.length,
      most_in_hand: site.in_hand.most,
      shortest_between_arrivals_ms: Math.round(Math.min(...between)),
      closer_than_a_second: between.filter((ms) => ms < 1_000).length,
      errors: Object.fromEntries(errors),
    },
    null,
    2,
  ),
);
await cluster.close();
await site.close();
await sites.close();
