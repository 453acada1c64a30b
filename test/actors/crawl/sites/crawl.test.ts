/**
 * Crawls on one node without sockets, with a real Frontier and a real Job. The node is killed before and after each write: no page
 * is lost or given twice, and the laws of jobs and crawls hold in what is stored at every step.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { frontierActor } from "../../../../actors/crawl/sites/frontier/frontier.actor.ts";
import type { ActorClient } from "../../../../cluster/actor.ts";
import { silentTelemetry } from "../../../../cluster/adapters/telemetry/telemetry.silent.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { seededRandom } from "../../../../cluster/adapters/time/random.seeded.ts";
import { embedded } from "../../../../cluster/embedded.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import type { ItemKind } from "../../../../actors/work/jobs/kind.ts";
import type { FreezeSizes } from "../../../../actors/work/jobs/state.ts";
import { Fault } from "../../../../cluster/ports/fault.ts";
import { type CrawlRecord, rowsOf } from "../../../../actors/crawl/sites/frontier/record.ts";
import { crawlProblems } from "../../../../actors/crawl/sites/frontier/invariants.ts";
import { type AttemptContext, type JobRecord, jobRange } from "../../../../schemas/jobs.ts";
import {
  crawlKind,
  itemsOf,
  type LeadsTo,
  type SaysOf,
  storeCrawl,
  type WebOf,
} from "../../../harness/crawl-world.ts";
import { oneCluster } from "../../../harness/jobs-harness.ts";
import { FRONTIERS } from "../../../../actors/crawl/sites/frontier/collections.ts";
import { storedRows } from "../../../../actors/crawl/sites/frontier/load.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import { type AddressRow, type FoundLink, Frontier } from "../../../../schemas/crawl.ts";
import { EMPTY_ANSWER, EMPTY_RECORD } from "../../../../schemas/fetch.ts";
import { NO_LINKS, type PageLinks } from "../../../../actors/reading/extraction-result.ts";

const HOME = "http://site.example/";
/** A site of `count` pages, each of which links to its next three, to itself, and off the site. */
const chain =
  (count: number): WebOf =>
  (url) => {
    const n = Number(new URL(url).pathname.slice(1));
    const next = [1, 2, 3].map((step) => n + step).filter((page) => page < count);
    return [...next.map((page) => `${HOME}${page}?utm_source=${n}`), url, `http://other.example/${n}`];
  };

interface Crawled {
  readonly leadsTo?: LeadsTo;
  readonly saysOf?: SaysOf;
  /** How long the page at an address takes. */
  readonly msOf?: (url: string) => number;
  readonly freeze?: FreezeSizes;
}

function crawling(web: WebOf, { leadsTo, saysOf, msOf = () => 30, freeze }: Crawled = {}) {
  const jobs = oneCluster({
    ...(freeze && { freeze }),
    run: (url) => ({ ms: msOf(url) }),
    more: ({ documents, clock, log, items }) => ({
      kinds: [crawlKind(documents, items, web, leadsTo, saysOf)],
      actors: [frontierActor({ documents, clock, log })],
    }),
  });
  const create = async (limit: number, more: CrawlRecord["rules"] = {}): Promise<void> => {
    await storeCrawl(jobs.stored, "j", { seeds: [HOME], limit, rules: more });
    await jobs.create("j", [], { kind: "crawl", total: limit, grows: true });
  };
  /** Problems of a job that is stored. */
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

  test(
    "beyond what its record holds has its first states in documents of their own, and waits for the slowest page",
    { timeout: 60_000 },
    async () => {
      const freeze = { chunk_items: 50, open_items: 100 };
      const isSlow = (url: string): boolean => new URL(url).pathname === "/120";
      const { jobs, create, problems } = crawling(chain(700), {
        msOf: (url) => (isSlow(url) ? 60_000 : 10),
        freeze,
      });
      await create(1_000);
      await jobs.clock.advance(30_000);
      // Item 120 keeps the chunk from 100 on open, so that the job has no item behind 200.
      const held = (await jobs.stored.get("job", "j"))!.value as JobRecord;
      expect(held.frozen).toEqual({ chunks: 2, items: 100 });
      expect(held.counts.total).toBeLessThanOrEqual(200);
      jobs.kill();
      jobs.start();
      expect((await jobs.invariants("j")).problems).toEqual([]);
      const { counts, frozen, states } = await jobs.finished("j", 200_000);
      expect(counts).toMatchObject({ total: 700, done: 700 });
      expect([frozen, states]).toEqual([{ chunks: 14, items: 700 }, ""]);
      expect(new Set(pathsOf(jobs.attempts.filter(({ url }) => !isSlow(url)))).size).toBe(699);
      expect([await problems(), (await jobs.invariants("j")).problems]).toEqual([[], []]);
      await jobs.clock.advance(10_000);
      expect(await jobs.metered()).toBe(700);
    },
  );

  test.each(["before", "after"] as const)(
    "whose node is killed %s each write that moves states out of its record goes on with all of them",
    async (when) => {
      const { jobs, create, problems } = crawling(chain(250), {
        freeze: { chunk_items: 50, open_items: 100 },
      });
      const killed = new Set<string>();
      const put = jobs.stored.put.bind(jobs.stored);
      jobs.stored.put = async (...args) => {
        const [collection, key, value] = args;
        const chunks = (value as Partial<JobRecord> | null)?.frozen?.chunks;
        const point = collection === "job_states" ? key : collection === "job" && chunks ? `${chunks}` : null;
        if (point === null || killed.has(point)) return put(...args);
        killed.add(point);
        if (when === "after") await put(...args);
        jobs.kill();
        jobs.start();
        return new Promise(() => {});
      };
      await create(1_000);
      const { counts, frozen, states } = await jobs.finished("j", 600_000);
      expect(killed.size).toBe(10);
      expect(counts).toMatchObject({ total: 250, done: 250 });
      expect([frozen, states]).toEqual([{ chunks: 5, items: 250 }, ""]);
      expect([await problems(), (await jobs.invariants("j")).problems]).toEqual([[], []]);
      await jobs.clock.advance(10_000);
      expect(await jobs.metered()).toBe(250);
    },
  );

  test("fetches no more than its limit, and leaves nothing behind when it is purged", async () => {
    const { jobs, create, problems } = crawling(chain(90), { freeze: { chunk_items: 5, open_items: 15 } });
    await create(20);
    const { counts, frozen } = await jobs.finished("j");
    expect(counts).toMatchObject({ total: 20, done: 20 });
    expect(await jobs.stored.list("job_states", { limit: 10 })).toHaveLength(frozen!.chunks);
    expect(counts.discovered).toBe(counts.total + counts.excluded!);
    expect(await problems()).toEqual([]);
    await jobs.clock.advance(31 * 24 * 60 * 60_000);
    const [from, to] = jobRange("j");
    const crawl_collections = ["frontier", "crawls", "frontier_rows", "frontier_order"];
    for (const collection of [...crawl_collections, "job", "job_results", "job_states"])
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

test("addresses of another site leave room for the pages of the crawl", async () => {
  const elsewhere = Array.from({ length: 12_000 }, (_, n) => `http://other.example/${n}`);
  const own = Array.from({ length: 8 }, (_, n) => `${HOME}${n}`);
  const { jobs, create, problems } = crawling((url) => (url === HOME ? [...elsewhere, ...own] : []));
  await create(6);
  const { counts } = await jobs.finished("j");
  // 9,994 of the other site, the home page, and eight pages of which five are fetched.
  expect(counts).toMatchObject({ total: 6, done: 6, discovered: 10_000, excluded: 9_994 });
  expect(pathsOf(jobs.attempts).toSorted()).toEqual(["/", "/0", "/1", "/2", "/3", "/4"]);
  expect((await FRONTIERS.get(jobs.stored, "j"))!.unlisted).toBe(2_009);
  expect(await problems()).toEqual([]);
});

test("a link that its reader cut is no page, a seed of the same length is one", async () => {
  const of = (chars: number, filler: string): string => HOME + filler.repeat(chars - HOME.length);
  const { jobs } = crawling((url) =>
    url === HOME ? [of(2_048, "a"), of(2_047, "b"), of(100_000, "c")] : [],
  );
  await storeCrawl(jobs.stored, "j", { seeds: [HOME, of(2_048, "d")], limit: 9 });
  await jobs.create("j", [], { kind: "crawl", total: 9, grows: true });
  await jobs.finished("j");
  expect(jobs.attempts.map(({ url }) => url).toSorted()).toEqual([HOME, of(2_047, "b"), of(2_048, "d")]);
  expect(Object.values(await rowsByPath(jobs.stored)).flatMap(({ reason }) => reason ?? [])).toEqual([
    "trap_length",
    "trap_length",
  ]);
});

test("what was counted of a trap is known after the node was stopped", async () => {
  const filters = (from: number) =>
    Array.from({ length: 30 }, (_, n) => `${HOME}list?color=${from + Math.floor(n / 6)}&size=${n % 6}`);
  const web: WebOf = (url) =>
    url === HOME ? [...filters(0), `${HOME}more`] : url.endsWith("more") ? filters(5) : [];
  const { jobs, create, problems } = crawling(web, { msOf: (url) => (url.endsWith("more") ? 5_000 : 10) });
  await create(1_000);
  await jobs.clock.advance(3_000);
  expect(jobs.attempts).toHaveLength(32);
  jobs.kill();
  jobs.start();
  // The home page, "more", 15 that bring a new value of sixteen, and two combinations for each value.
  expect((await jobs.finished("j")).counts).toMatchObject({ total: 49, done: 49, excluded: 13 });
  expect(await problems()).toEqual([]);
});

/** The rows of a crawl by their paths, as they are read. */
async function rowsByPath(stored: Documents): Promise<Record<string, AddressRow>> {
  const record = (await FRONTIERS.get(stored, "j"))!;
  const rows: AddressRow[] = [];
  for await (const part of storedRows(stored, "j", record)) rows.push(...part);
  return Object.fromEntries(rows.map((row) => [new URL(row.url).pathname, row]));
}

describe("a redirect", () => {
  test("makes its target count as fetched, whenever the node is stopped", async () => {
    const numberOf = (url: string): number => Number(new URL(url).pathname.slice(2));
    // "/r7" leads to "/p7", which links to itself and to "/r8".
    const { jobs, problems } = crawling(
      (url) => [
        url,
        `${HOME}r${Math.min(399, numberOf(url) + 1)}`,
        `${HOME}r${Math.min(399, numberOf(url) + 2)}`,
      ],
      { leadsTo: (url) => url.replace("/r", "/p") },
    );
    await storeCrawl(jobs.stored, "j", { seeds: [`${HOME}r0`], limit: 1_000 });
    await jobs.create("j", [], { kind: "crawl", total: 1_000, grows: true });
    for (let n = 0; n < 4; n++) {
      await jobs.clock.advance(10_000);
      jobs.kill();
      jobs.start();
      expect(await problems()).toEqual([]);
    }
    const { counts } = await jobs.finished("j", 900_000);
    expect(counts).toMatchObject({ total: 400, done: 400, discovered: 800, excluded: 400 });
    expect(await problems()).toEqual([]);
    const rows = await rowsByPath(jobs.stored);
    for (let n = 0; n < 400; n++) {
      expect(rows[`/r${n}`]).toMatchObject({ redirected_to: `${HOME}p${n}` });
      expect(rows[`/p${n}`]).toMatchObject({ reason: "duplicate_address", found_on: `${HOME}r${n}` });
    }
    const { changes = {} } = (await FRONTIERS.get(jobs.stored, "j"))!;
    expect(Object.keys(changes).length).toBeLessThan(400);
  });

  test("that leads off the scope fails its page, and the address where it led is told", async () => {
    const pages: Record<string, readonly string[]> = {
      "/": ["/moved", "/new", "/away", "/same"],
      "/new": ["/moved", "/further", "/new"],
    };
    const web: WebOf = (url) => (pages[new URL(url).pathname] ?? []).map((path) => new URL(path, HOME).href);
    const leads: Record<string, string> = {
      "/moved": `${HOME}new`,
      "/away": "http://other.example/",
      "/same": `${HOME}same?utm_source=a`,
    };
    const { jobs, create, problems } = crawling(web, {
      leadsTo: (url) => leads[new URL(url).pathname] ?? url,
    });
    await create(100);
    const { counts } = await jobs.finished("j");
    expect(counts).toMatchObject({ total: 6, done: 5, failed: 1, discovered: 7, excluded: 1 });
    const record = (await FRONTIERS.get(jobs.stored, "j"))!;
    const rows: AddressRow[] = [];
    for await (const part of storedRows(jobs.stored, "j", record)) rows.push(...part);
    expect(rows.filter(({ redirected_to, reason }) => redirected_to ?? reason)).toEqual([
      { url: `${HOME}moved`, depth: 1, found_on: HOME, priority: 2, redirected_to: `${HOME}new` },
      { url: `${HOME}away`, depth: 1, found_on: HOME, priority: 2, redirected_to: "http://other.example/" },
      {
        url: "http://other.example/",
        depth: 1,
        found_on: `${HOME}away`,
        priority: 2,
        reason: "out_of_scope",
      },
    ]);
    expect(await problems()).toEqual([]);
  });
});

/** A page that names another as its own address, and has one of three bodies. */
const pagesOf = (canonical: readonly (number | null)[], body: readonly number[]): SaysOf => {
  return (url) => {
    const page = Number(new URL(url).pathname.slice(1)) % canonical.length;
    const to = canonical[page]!;
    const named = to === null ? {} : { headers: { link: `<${HOME}${to}>; rel="canonical"` } };
    return { ...named, sha256: String(body[page]).padEnd(64, "0"), bytes: 1 };
  };
};

describe("duplicates", () => {
  test("are fetched as other pages are, and say which page they repeat", async () => {
    const web: WebOf = (url) => (url === HOME ? [`${HOME}1`, `${HOME}2`, `${HOME}3`] : []);
    const saysOf = pagesOf([null, null, 9, 9], [0, 1, 1, 2]);
    const { jobs, create, problems } = crawling(web, {
      saysOf,
      msOf: (url) => 100 * Number(new URL(url).pathname.slice(1)),
    });
    await create(10);
    const { counts } = await jobs.finished("j");
    expect(counts).toMatchObject({ total: 4, done: 4, discovered: 5, excluded: 1 });
    const rows = await rowsByPath(jobs.stored);
    expect(rows["/1"]!.duplicate_of).toBeUndefined();
    expect(rows["/2"]).toMatchObject({ duplicate_of: 1, duplicate_by: "duplicate_address" });
    expect(rows["/3"]).toMatchObject({ duplicate_of: 1, duplicate_by: "duplicate_of_canonical" });
    expect(rows["/9"]).toMatchObject({ reason: "duplicate_of_canonical", found_on: `${HOME}2` });
    expect((await storedAnswers(jobs.stored)).map(({ duplicate_of }) => duplicate_of)).toEqual([
      undefined,
      undefined,
      { url: `${HOME}1`, reason: "duplicate_address" },
      { url: `${HOME}1`, reason: "duplicate_of_canonical" },
    ]);
    expect(await problems()).toEqual([]);
  });

  test("repeat the same page after the node was stopped", async () => {
    const web: WebOf = (url) => (url === HOME ? [1, 2, 3, 4].map((n) => `${HOME}${n}`) : []);
    const { jobs, create, problems } = crawling(web, {
      saysOf: pagesOf([null, null, null, 1, null], [0, 1, 2, 3, 2]),
      msOf: (url) => [10, 10, 10, 6_000, 6_000][Number(new URL(url).pathname.slice(1))]!,
    });
    await create(10);
    await jobs.clock.advance(3_000);
    jobs.kill();
    jobs.start();
    await jobs.finished("j");
    const rows = await rowsByPath(jobs.stored);
    expect(rows["/3"]).toMatchObject({ duplicate_of: 1, duplicate_by: "duplicate_of_canonical" });
    expect(rows["/4"]).toMatchObject({ duplicate_of: 2, duplicate_by: "duplicate_address" });
    expect(await problems()).toEqual([]);
  });
});

async function storedAnswers(stored: Documents): Promise<readonly { readonly duplicate_of?: unknown }[]> {
  const [from, to] = jobRange("j");
  const results = await stored.list("job_results", { from, to, limit: 100 });
  return results.map(({ value }) => (value as { answer: { duplicate_of?: unknown } }).answer);
}

/** Beside a link to the next page, so that paths are long; some are nofollow, some have a parameter. */
const links_of_a_page = fc.array(
  fc.tuple(fc.nat(11), fc.constantFrom("", "", "nofollow "), fc.constantFrom("", "", "?print=1")),
  { maxLength: 2 },
);
const webs = fc.array(links_of_a_page, { minLength: 12, maxLength: 12 }).map((links): WebOf => {
  return (url) => {
    const page = Number(new URL(url).pathname.slice(1));
    const more = links[page]!.map(([to, rel, query]) => `${rel}${HOME}${to}${query}`);
    return [`${HOME}${Math.min(11, page + 1)}`, ...more];
  };
});

/** Pages of a web that a crawl fetches: within the depth by plain links that no pattern excludes. */
function reachable(web: WebOf, max_depth: number): readonly string[] {
  const found = new Set(["0"]);
  for (let depth = 0, level = ["0"]; depth < max_depth; depth++) {
    const links = level.flatMap((page) => web(`${HOME}${page}`));
    const plain = links.filter((link) => !link.startsWith("nofollow ") && !link.endsWith("print=1"));
    level = [...new Set(plain.map((link) => new URL(link).pathname.slice(1)))].filter(
      (page) => !found.has(page),
    );
    for (const page of level) found.add(page);
  }
  return [...found].toSorted();
}

test("what is fetched does not depend on which page answers first", { timeout: 120_000 }, async () => {
  const times = fc.array(fc.constantFrom(10, 3_000, 20_000), { minLength: 12, maxLength: 12 });
  const canonical = fc.array(fc.option(fc.nat(13)), { minLength: 12, maxLength: 12 });
  const bodies = fc.array(fc.nat(5), { minLength: 12, maxLength: 12 });
  const says = fc.tuple(canonical, bodies).map(([names, body]) => pagesOf(names, body));
  await fc.assert(
    fc.asyncProperty(
      webs,
      fc.integer({ min: 2, max: 5 }),
      times,
      says,
      async (web, max_depth, ms, saysOf) => {
        const { jobs, problems } = crawling(web, {
          saysOf,
          msOf: (url) => ms[Number(new URL(url).pathname.slice(1))]!,
        });
        await storeCrawl(jobs.stored, "j", {
          seeds: [`${HOME}0`],
          limit: 100,
          rules: { max_depth, exclude: ["/*?print=1"], ignore_query: true },
        });
        await jobs.create("j", [], { kind: "crawl", total: 100, grows: true });
        await jobs.finished("j", 900_000);
        const fetched = pathsOf(jobs.attempts).map((path) => path.slice(1));
        expect(fetched.toSorted()).toEqual(reachable(web, max_depth));
        expect(await problems()).toEqual([]);
      },
    ),
    { numRuns: 150, seed: 7 },
  );
});

test("a page is attempted again, and the attempt does not count, while the frontier is silent", async () => {
  const documents = memoryDocuments();
  await storeCrawl(documents, "j", { seeds: [HOME], limit: 5 });
  const page = { answer: null, error: null, bill: null, body_refs: [], retry: null };
  const items = { name: "fetch", lane: () => null, run: async () => page } as unknown as ItemKind;
  const kind = crawlKind(documents, items, () => [`${HOME}a`]);
  const silent = async () => {
    throw new Fault("no_answer", "Nobody answers");
  };
  const attempt = { request_id: "j:0" } as AttemptContext;
  const run = kind.run(silent as unknown as ActorClient, { url: HOME, depth: 0, found_on: null }, attempt);
  // As when a store is not reached: this counts no attempt.
  await expect(run).rejects.toMatchObject({ code: "documents_unreachable" });
});

/** Pages run one by one against a frontier that only keeps what it is told. */
function telling(web: WebOf) {
  const documents = memoryDocuments();
  const page = { answer: null, error: null, bill: null, body_refs: [], retry: null };
  const items = { name: "fetch", lane: () => null, run: async () => page } as unknown as ItemKind;
  const kind = crawlKind(documents, items, web);
  const told: (readonly FoundLink[])[] = [];
  const frontier = { problem: null as string | null };
  const ask = async (...[, , , message]: readonly unknown[]) => {
    told.push((message as { readonly links: readonly FoundLink[] }).links);
    return { problem: frontier.problem };
  };
  return {
    frontier,
    /** The links that the frontier is told of this page. */
    linksToldOf: async (path: string, depth: number, job_id = "j") => {
      await storeCrawl(documents, job_id, { seeds: [HOME], limit: 5 });
      const attempt = { request_id: `${job_id}:0` } as AttemptContext;
      const input = { url: `${HOME}${path}`, depth, found_on: HOME };
      await kind.run(ask as unknown as ActorClient, input, attempt).catch(() => null);
      return told.splice(0).flat();
    },
  };
}

describe("a link that many pages have", () => {
  const menu = `${HOME}menu`;

  test("is told once of each crawl, and again where it is found at a lower depth or without nofollow", async () => {
    const { linksToldOf } = telling((url) =>
      url.endsWith("hinted") ? [`nofollow ${menu}-2`, menu] : [menu, menu, `${menu}-2`, `${url}/own`],
    );
    expect(await linksToldOf("hinted", 3)).toEqual([{ url: `${menu}-2`, nofollow: true }, { url: menu }]);
    expect(await linksToldOf("a", 3)).toEqual([{ url: `${menu}-2` }, { url: `${HOME}a/own` }]);
    expect(await linksToldOf("b", 4)).toEqual([{ url: `${HOME}b/own` }]);
    expect(await linksToldOf("c", 2)).toEqual([{ url: menu }, { url: `${menu}-2` }, { url: `${HOME}c/own` }]);
    expect(await linksToldOf("d", 3)).toEqual([{ url: `${HOME}d/own` }]);
    expect(await linksToldOf("d", 3, "another")).toHaveLength(3);
  });

  test("is told again while the frontier has not stored it", async () => {
    const { frontier, linksToldOf } = telling(() => [menu]);
    frontier.problem = "its addresses wait to be stored";
    expect(await linksToldOf("a", 1)).toEqual([{ url: menu }]);
    expect(await linksToldOf("b", 1)).toEqual([{ url: menu }]);
    frontier.problem = null;
    expect(await linksToldOf("a", 1)).toEqual([{ url: menu }]);
    expect(await linksToldOf("b", 1)).toEqual([]);
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

test("pages that tell their links while a record is stored share the next writes, and each is answered after its own", async () => {
  const PAGES = 200;
  const documents = memoryDocuments();
  const clock = virtualClock(0);
  await storeCrawl(documents, "j", { seeds: [HOME], limit: 1_000 });
  const put = documents.put.bind(documents);
  const gate = Promise.withResolvers<void>();
  let writes = 0;
  const held = {
    ...documents,
    put: async (...args: Parameters<typeof put>) => {
      if (args[0] === "frontier" && ++writes === 1) await gate.promise;
      return put(...args);
    },
  };
  const { ask, stop } = embedded([frontierActor({ documents: held, clock, log: silentTelemetry().log })], {
    clock,
    random: seededRandom(1),
    documents: held,
  });
  const answers: Promise<string | null>[] = [];
  for (let n = 0; n < PAGES; n++) {
    const links = Array.from({ length: 20 }, (_, link) => ({ url: `${HOME}${n}/${link}` }));
    const told = ask(Frontier, "j", "discover", { found_on: `${HOME}${n}`, depth: 1, links });
    answers.push(
      told.then(async ({ problem }) => {
        const { rows } = (await FRONTIERS.get(documents, "j"))!;
        const isThere = rows.tail.some(({ url }) => url === links[0]!.url);
        return problem ?? (isThere || rows.chunks > 0 ? null : `${n} was answered before it was stored`);
      }),
    );
  }
  await clock.advance(10);
  expect(writes).toBe(1);
  gate.resolve();
  for (let n = 0; n < 100; n++) await clock.advance(10);
  expect(new Set(await Promise.all(answers))).toEqual(new Set([null]));
  // 50 pages of 20 links a turn, and a turn for each flush of chunks.
  expect(writes).toBeLessThan(PAGES / 10);
  const record = (await FRONTIERS.get(documents, "j"))!;
  // The seed is there, too.
  expect(rowsOf(record)).toBe(PAGES * 20 + 1);
  await stop();
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

test("a page of the cache whose body is lost is fetched anew for its links, once", async () => {
  const documents = memoryDocuments();
  await storeCrawl(documents, "j", { seeds: [HOME], limit: 9 });
  const ran: unknown[] = [];
  const lost = new Fault("body_damaged", "lost");
  const page = { ...EMPTY_ANSWER, record: { ...EMPTY_RECORD, final_url: HOME, status: 200 } };
  const run = async (
    _: ActorClient,
    { cache_ttl_s }: Record<string, unknown>,
    { attempt_id }: AttemptContext,
  ) => {
    ran.push([attempt_id, cache_ttl_s]);
    return {
      answer: { ...page, cached: cache_ttl_s !== 0 },
      error: null,
      bill: null,
      body_refs: [],
      retry: null,
    };
  };
  const told: { readonly links: readonly FoundLink[] }[] = [];
  const ask = async (_: unknown, _key: string, _operation: string, message: (typeof told)[number]) => {
    told.push(message);
    return { problem: null };
  };
  const crawlOnce = (linksOf: () => Promise<PageLinks>) =>
    itemsOf(documents, { run, linksOf }).run(
      ask as unknown as ActorClient,
      { url: HOME, depth: 0, found_on: null },
      { request_id: "j:0", attempt_id: "j:0.0" } as AttemptContext,
    );
  const links = { ...NO_LINKS, links: [{ url: `${HOME}1`, rel: null }] };
  let reads = 0;
  const result = await crawlOnce(async () => {
    if (++reads === 1) throw lost;
    return links;
  });
  expect(result).toMatchObject({ error: null, answer: { cached: false } });
  expect(ran).toEqual([
    ["j:0.0", undefined],
    ["j:0.0.anew", 0],
  ]);
  expect(told.map((message) => message.links)).toEqual([[{ url: `${HOME}1` }]]);
  // A lost body of a page that was fetched just now is a fault, and the item is tried again.
  await expect(crawlOnce(() => Promise.reject(lost))).rejects.toBe(lost);
  expect(ran).toHaveLength(4);
});
