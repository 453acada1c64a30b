/**
 * Crawls on one node without sockets, with a real Frontier and a real Job. The node is killed before and after each write: no page
 * is lost or given twice, and the laws of jobs and crawls hold in what is stored at every step.
 */
import { describe, expect, test } from "vitest";
import { frontierActor } from "../../actors/crawl/sites/frontier/frontier.actor.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import { crawlProblems } from "../../actors/crawl/sites/frontier/invariants.ts";
import { type JobRecord, jobRange } from "../../schemas/jobs.ts";
import { crawlKind, storeCrawl, type WebOf } from "../harness/crawl-world.ts";
import { oneCluster } from "../harness/jobs-harness.ts";

const HOME = "http://site.example/";
/** A site of `count` pages, each of which links to its next three, to itself, and off the site. */
const chain =
  (count: number): WebOf =>
  (url) => {
    const n = Number(new URL(url).pathname.slice(1));
    const next = [1, 2, 3].map((step) => n + step).filter((page) => page < count);
    return [...next.map((page) => `${HOME}${page}?utm_source=${n}`), url, `http://other.example/${n}`];
  };

function crawling(web: WebOf) {
  const jobs = oneCluster({
    run: () => ({ ms: 30 }),
    more: ({ documents, clock, log, items }) => ({
      kinds: [crawlKind(documents, items, web)],
      actors: [frontierActor({ documents, clock, log })],
    }),
  });
  const create = async (limit: number, more: { readonly max_depth?: number } = {}): Promise<void> => {
    await storeCrawl(jobs.stored, "j", { seeds: [HOME], limit, rules: more });
    await jobs.create("j", [], { kind: "crawl", total: limit, grows: true });
  };
  /** Of a job that is stored. */
  const problems = async (): Promise<readonly string[]> => {
    const job = (await jobs.stored.get("job", "j"))?.value as JobRecord | undefined;
    return job ? crawlProblems(jobs.stored, "j", job) : [];
  };
  return { jobs, create, problems };
}

const pathsOf = (attempts: readonly { readonly url: string }[]): string[] =>
  attempts.map(({ url }) => new URL(url).pathname);

describe("a crawl", () => {
  test("ends when nothing waits, with each page once, the lowest depth first", async () => {
    const { jobs, create, problems } = crawling(chain(600));
    await create(1_000);
    const { counts, phase } = await jobs.finished("j");
    expect([phase, counts]).toEqual([
      "completed",
      {
        total: 600,
        pending: 0,
        queued: 0,
        done: 600,
        failed: 0,
        cancelled: 0,
        discovered: 1_200,
        excluded: 600,
      },
    ]);
    expect(new Set(pathsOf(jobs.attempts)).size).toBe(600);
    expect(jobs.attempts).toHaveLength(600);
    expect([await problems(), (await jobs.invariants("j")).problems]).toEqual([[], []]);
    await jobs.clock.advance(10_000);
    expect(await jobs.metered()).toBe(600);
    // Full chunks are documents of their own.
    expect(await jobs.stored.list("frontier_rows", { limit: 100 })).toHaveLength(4);
    expect((await jobs.stored.list("frontier_order", { limit: 100 })).length).toBeGreaterThan(0);
  });

  test("goes on where it was after its actors were put away and its node was stopped", async () => {
    const { jobs, create, problems } = crawling(chain(700));
    await create(1_000);
    for (let n = 0; n < 6; n++) {
      await jobs.clock.advance(1_500);
      jobs.kill();
      jobs.start();
      expect(await problems()).toEqual([]);
    }
    expect((await jobs.finished("j")).counts).toMatchObject({ total: 700, done: 700 });
    expect(new Set(pathsOf(jobs.attempts)).size).toBe(700);
    expect(await problems()).toEqual([]);
  });

  test("fetches no more than its limit, and leaves nothing behind when it is purged", async () => {
    const { jobs, create, problems } = crawling(chain(90));
    await create(20);
    const { counts } = await jobs.finished("j");
    expect(counts).toMatchObject({ total: 20, done: 20 });
    expect(counts.discovered).toBe(counts.total + counts.excluded!);
    expect(await problems()).toEqual([]);
    await jobs.clock.advance(31 * 24 * 60 * 60_000);
    const [from, to] = jobRange("j");
    for (const collection of ["frontier", "crawls", "frontier_rows", "frontier_order", "job", "job_results"])
      expect([collection, await jobs.stored.list(collection, { limit: 10 })]).toEqual([collection, []]);
    expect(await jobs.stored.list("job_items", { from, to, limit: 1 })).toEqual([]);
  });

  test("lists ten times its limit: however many links a page has, it ends", { timeout: 60_000 }, async () => {
    const many = Array.from({ length: 50_000 }, (_, n) => `${HOME}${n}`);
    const { jobs, create, problems } = crawling((url) => (url === HOME ? many : []));
    await create(5);
    const { counts } = await jobs.finished("j");
    expect(counts).toMatchObject({ total: 5, done: 5, discovered: 10_000, excluded: 9_995 });
    const record = (await jobs.stored.get("frontier", "j"))!.value as { readonly unlisted: number };
    expect(record.unlisted).toBe(40_001);
    expect(await problems()).toEqual([]);
  });
});

test("while the store takes no chunks, what waits in the record of a crawl has a bound", async () => {
  const long = "a".repeat(1_900);
  const many = Array.from({ length: 10_000 }, (_, n) => `${HOME}${long}${n}/?a=1&b=2&c=3`);
  const { jobs, create } = crawling((url) => (url === HOME ? many : []));
  const put = jobs.stored.put.bind(jobs.stored);
  jobs.stored.put = async (...args) => {
    if (args[0] === "frontier_rows") throw new Fault("documents_unreachable", "It takes no chunks");
    return put(...args);
  };
  await create(5_000);
  await jobs.clock.advance(5_000);
  const record = (await jobs.stored.get("frontier", "j"))!.value;
  const chars = JSON.stringify(record).length;
  expect([chars > 3_000_000, chars < 6_000_000]).toEqual([true, true]);
});

/** Kills the node before or after its n-th write; null: the crawl ended before that write. */
async function crashAt(at: number, when: "before" | "after") {
  const crawl = crawling(chain(9));
  const { jobs } = crawl;
  await crawl.create(8);
  let writes = 0;
  let is_killed = false;
  const put = jobs.stored.put.bind(jobs.stored);
  jobs.stored.put = async (...args) => {
    const isTarget = !is_killed && ++writes === at;
    const die = (): Promise<never> => {
      is_killed = true;
      jobs.kill();
      return new Promise(() => {});
    };
    if (isTarget && when === "before") return die();
    const result = await put(...args);
    return isTarget ? die() : result;
  };
  for (let n = 0; n < 100 && !is_killed; n++) {
    await jobs.clock.advance(50);
    expect([at, await crawl.problems()]).toEqual([at, []]);
  }
  if (!is_killed) return null;
  jobs.start();
  return crawl;
}

test.each(["before", "after"] as const)(
  "a node killed %s any write of a crawl loses no page and gives none twice",
  { timeout: 60_000 },
  async (when) => {
    let points = 0;
    for (let at = 1; at < 200; at++) {
      const crawl = await crashAt(at, when);
      if (crawl === null) break;
      points++;
      const { jobs, problems } = crawl;
      const { phase, counts } = await jobs.finished("j", 900_000);
      await jobs.clock.advance(20_000);
      expect([at, phase, counts.done, counts.total]).toEqual([at, "completed", 8, 8]);
      expect([at, await problems()]).toEqual([at, []]);
      expect([at, await jobs.invariants("j")]).toEqual([at, { problems: [], ahead: 0 }]);
      expect([at, await jobs.metered()]).toEqual([at, 8]);
      expect([at, new Set(pathsOf(jobs.attempts)).size]).toEqual([at, 8]);
    }
    expect(points).toBeGreaterThan(15);
  },
);
