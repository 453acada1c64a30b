/**
 * node bench/rolling-upgrade.ts [--from COMMIT] [--items n]: two versions side by side. A gateway and two workers of an earlier commit
 * (default: the one before this one) are replaced one by one by nodes of this checkout, on engines of their own, while callers
 * fetch pages and a batch job runs. Then no fetch may have failed, every item of the job must be done, no page may have been
 * asked for more often than once, and a page that the old nodes stored must come from the cache of the new ones. It prints what
 * callers saw and ends with exit code 1 otherwise. About a minute. A commit with another format of stored data is refused: its
 * nodes must end before the data is migrated (docs/operating/upgrades.md).
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { type ClusterOf, clusterOf, type NodeOf } from "../test/harness/cluster-of.ts";
import { article, type Site, type Web, web } from "../test/harness/web.ts";

const { values: options } = parseArgs({
  options: { from: { type: "string", default: "HEAD~1" }, items: { type: "string", default: "300" } },
});
const ROOT = new URL("..", import.meta.url).pathname;
const CALLERS = 4;
const MAX_JOB_MS = 300_000;
const FORMAT = /FORMAT = (\d+)/;

const git = (...words: string[]): string =>
  execFileSync("git", words, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();

interface Seen {
  answers: number;
  /** 503 and 504, which a client asks again. */
  repeated: number;
  readonly failed: string[];
}

const formatOf = (folder: string): string | undefined =>
  FORMAT.exec(readFileSync(join(folder, "ops/data-format.ts"), "utf8"))?.[1];

async function main(): Promise<void> {
  const commit = git("rev-parse", options.from);
  const old = mkdtempSync(join(tmpdir(), "trawl-old-"));
  git("worktree", "add", "--detach", "--force", old, commit);
  let sites: Web | null = null;
  let cluster: ClusterOf | null = null;
  try {
    // Readers may read the folder itself, and no link on the way to it.
    symlinkSync(realpathSync(join(ROOT, "node_modules")), join(old, "node_modules"));
    assert.equal(formatOf(old), formatOf(ROOT), "The two versions store data of different formats");
    sites = await web();
    cluster = await clusterOf(["gateway", "worker", "worker"], {
      own: ["documents", "blobs"],
      checkout: old,
      environment: { TRAWL_DNS_SERVERS: sites.dns, TRAWL_POLITE_DELAY_MS: "20" },
    });
    assert(cluster, "An engine is missing: npm run engines installs them");
    await cluster.settled();
    await upgrade(cluster, sites, commit);
  } finally {
    await cluster?.close();
    await sites?.close();
    git("worktree", "remove", "--force", old);
    rmSync(old, { recursive: true, force: true });
  }
}

async function upgrade(cluster: ClusterOf, sites: Web, commit: string): Promise<void> {
  const site = (): Site => sites.site({ "*": { body: article("A page") } });
  const first = site();
  const stored = await cluster.insist("POST", "/v1/fetch", { url: `${first.origin}/stored` });
  assert.equal(stored.json.error, null);

  const pages = Array.from({ length: CALLERS }, site);
  const job_sites = Array.from({ length: 10 }, site);
  const items = Array.from({ length: Number(options.items) }, (_, n) => ({
    url: `${job_sites[n % job_sites.length]!.origin}/${n}`,
  }));
  const { json: job } = await cluster.insist("POST", "/v1/batch/fetch", {
    idempotency_key: "upgrade",
    items,
  });
  const seen: Seen = { answers: 0, repeated: 0, failed: [] };
  let isOver = false;
  const callers = pages.map(async ({ origin }) => {
    for (let n = 0; !isOver; n++) {
      const { status, json, tries } = await cluster.insist("POST", "/v1/fetch", { url: `${origin}/${n}` });
      seen.answers++;
      seen.repeated += tries - 1;
      if (status !== 200 || json.error !== null) seen.failed.push(`${status} ${json.error ?? json.detail}`);
      await sleep(50);
    }
  });

  const steps: string[] = [];
  for (const node of cluster.nodes.toSorted((a, b) => Number(isGateway(a)) - Number(isGateway(b)))) {
    await cluster.add(node.roles);
    await cluster.settled();
    const code = await node.stop();
    await cluster.settled();
    steps.push(`${node.roles}: ended with ${code} after ${seen.answers} answers`);
    process.stderr.write(`${steps.at(-1)}\n`);
    assert.equal(code, 0, node.stderr());
  }

  const ends_ms = performance.now() + MAX_JOB_MS;
  let status: { readonly status: string; readonly counts: Readonly<Record<string, number>> };
  do {
    await sleep(500);
    status = (await cluster.insist("GET", `/v1/jobs/${job.job_id}`)).json;
  } while (status.status !== "completed" && performance.now() < ends_ms);
  isOver = true;
  await Promise.all(callers);

  const again = await cluster.insist("POST", "/v1/fetch", { url: `${first.origin}/stored` });
  const doubled = [...pages, ...job_sites].flatMap(({ arrivals }) => {
    const paths = arrivals.map(({ path }) => path).filter((path) => path !== "/robots.txt");
    return paths.filter((path, at) => paths.indexOf(path) !== at);
  });
  const errors = cluster.nodes.flatMap((node) =>
    node
      .stderr()
      .split("\n")
      .filter((line) => line.includes('"level":"error"')),
  );
  const result = {
    from: commit.slice(0, 12),
    to: git("rev-parse", "--short=12", "HEAD"),
    steps,
    ...seen,
    job: status.counts,
    cached: again.json.cached,
    doubled: doubled.length,
    errors,
  };
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
  assert.deepEqual(seen.failed, []);
  assert.equal(status.counts["done"], items.length);
  assert.deepEqual(doubled, []);
  assert.equal(again.json.cached, true);
}

const isGateway = ({ roles }: NodeOf): boolean => roles.includes("gateway");

await main();
