/**
 * Batch jobs and a crawl on a whole cluster of one virtual clock, with every fault of nemeses.ts, from a seed, while they run. The
 * invariants of the jobs and of the quota are checked after every event, those of the crawl after every step. A failure prints the line that repeats it.
 */
import { expect, test } from "vitest";
import { type AccountSnapshot, accountActor } from "../../actors/business/accounts/actor.ts";
import { reservedUnits } from "../../actors/business/accounts/quota.ts";
import { jobActor } from "../../actors/work/jobs/actor.ts";
import type { ItemKind } from "../../actors/work/jobs/kind.ts";
import { checkInvariants } from "../../actors/work/jobs/invariants.ts";
import { schedulerActor } from "../../actors/work/jobs/scheduler.actor.ts";
import { fakeEgress } from "../../cluster/adapters/egress/egress.fake.ts";
import { distributed } from "../../cluster/distributed.ts";
import { Account, monthOf } from "../../schemas/accounts.ts";
import {
  type Chunk,
  CHUNK_ITEMS,
  chunkKey,
  Job,
  type JobRecord,
  Scheduler,
  statesKey,
  type StoredResult,
} from "../../schemas/jobs.ts";
import { type LedgerBatch, rowsOf } from "../../schemas/ledger-batch.ts";
import { CHANCES } from "./scenario.ts";
import { onSeed, seeds } from "./seeds.ts";
import { frontierActor } from "../../actors/crawl/sites/frontier/frontier.actor.ts";
import { crawlProblems } from "../../actors/crawl/sites/frontier/invariants.ts";
import { Frontier } from "../../schemas/crawl.ts";
import { crawlKind, type SaysOf, storeCrawl, type WebOf } from "../harness/crawl-world.ts";
import { SAME_SECRETS } from "../harness/secrets.ts";
import { drawn, faulty, type Link, newLink } from "./faults.ts";
import { checker } from "./invariants.ts";
import { endFaults, leftOnBus, type Member, strike } from "./nemeses.ts";
import { LEASES_LAST_MS, newWorld, traced, type World } from "./world.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";

const JOBS = ["j1", "j2", "j3"] as const;
const CRAWL = "c1";
/** It may cost so much, which is not enough for all of its items. */
const CAPPED = "j2";
const MAX_COST_MICROS = 150;
const ALL_JOBS = [...JOBS, CRAWL];
const ITEMS = 150;
/** Pages of the crawl, where no page fails for good. */
const PAGES = 120;
const SITES = 10;
const IN_FLIGHT = 4 * SITES;
/** So that states of each job are stored apart, and the crawl has to wait for them. */
const FREEZE = { chunk_items: 20, open_items: 60 };
const HOOK = "http://receiver.example/hook";

/** Actors that are watched for two writers. */
const SHARD_BY = { job: Job.shard_by, account: Account.shard_by, frontier: Frontier.shard_by };

/** The key has a quota that all items together fit into, so that each item takes a unit of it. */
const QUOTA = JOBS.length * ITEMS + PAGES;
const PAYER = {
  key: { status: "active", quotas: { search: null, fetch: QUOTA } },
  customer: { status: "active" },
  spend_limits: [],
} as const;

/** Units that the key's account has settled and reserved are never more than the quota. */
const quotaProblems = ({ quotas }: AccountSnapshot): string[] =>
  Object.values(quotas).flatMap((quota) => {
    const units = quota.settled.fetch + reservedUnits(quota).fetch;
    return units <= QUOTA ? [] : [`${units} of ${QUOTA} units are settled or reserved`];
  });

const pageAt = (n: number): string => `http://s${n % SITES}.example/${n}`;
const pageOf = (url: string): number => Number.parseInt(new URL(url).pathname.slice(1), 10);
/** Each page links to the next three, which are of other sites, to one that is not of the crawl, and by nofollow to one behind them. */
const web: WebOf = (url) => {
  const n = pageOf(url);
  const next = [1, 2, 3].map((step) => n + step).filter((page) => page < PAGES);
  return [
    ...next.map(pageAt),
    `http://elsewhere.example/${n}`,
    `nofollow ${pageAt(Math.min(PAGES - 1, n + 4))}`,
  ];
};
/** Some pages lead to another address of theirs, and a few out of the crawl, to the address that they would name. */
const leadsTo = (url: string): string => {
  if (/[05]$/.test(url)) return `${url}?moved=1`;
  return leadsOut(url) ? `http://elsewhere.example/${pageOf(url)}` : url;
};
const leadsOut = (url: string): boolean => pageOf(url) % 20 === 11;
const LEADING_OUT = PAGES / 20;
/** The law of crawls: nothing is fetched outside the scope. */
const isOfCrawl = (url: string): boolean => /^s\d\.example$/.test(new URL(url).hostname);

/** Some pages have the bytes of others, some name the page before them as their own address. */
const saysOf: SaysOf = (url) => {
  const n = pageOf(url);
  const named = n % 7 === 3 ? { headers: { link: `<${pageAt(n - 1)}>; rel="canonical"` } } : {};
  return { ...named, sha256: String(n % 50).padEnd(64, "0"), bytes: 1 };
};

async function simulate(seed: number) {
  const world = newWorld(seed, Date.UTC(2026, 0, 1), LEASES_LAST_MS);
  return traced(world, () => takeCourse(world));
}

/** One algorithm: jobs are created, run while things break, and must then end. */
async function takeCourse(world: World) {
  const chances = drawn(CHANCES, world.chance);
  const { clock, random, chance, note, bus, leases, partitions, documents, store } = world;
  const egress = fakeEgress({ [HOOK]: { status: 200 } }, clock);
  const attempts: string[] = [];
  const all = new Map<string, Member["node"]>();
  const {
    watch,
    watchSending,
    check: checkOwners,
  } = checker(0, SHARD_BY, {
    clock,
    ttl_ms: leases.ttl_ms,
    partitions,
  });

  const wrong: string[] = [];
  const onRequest = (url: string): void => {
    if (!isOfCrawl(url)) wrong.push(`"${url}" was fetched, which is not of the crawl`);
  };
  const items = (link: Link): ItemKind => ({
    name: "fetch",
    lane: ({ url }) => URL.parse(String(url))!.hostname,
    async run(ask, { url }, { attempt_id, request_id }) {
      attempts.push(attempt_id);
      const reservation = { id: `${attempt_id}.proxy.${attempts.length}`, micros: 3 };
      const pays =
        !request_id.startsWith(`${CAPPED}:`) ||
        (await ask(Job, CAPPED, "reserveCost", reservation).catch(() => null))?.is_reserved === true;
      const fails = chance(20) === 0;
      await new Promise<void>((resolve) => void clock.at(clock.now() + 100 + chance(900), resolve));
      // Messages of a dead node reach no other node.
      if (link.dead) return new Promise(() => {});
      return {
        answer: String(url),
        error: fails ? "all_tiers_failed" : null,
        bill: { category: "fetch_own", ok: !fails, bytes: 1, paid: false, cost_micros: pays ? 2 : 0 },
        body_refs: [],
        retry: fails ? { reason: "transient", retry_after_s: null } : null,
      };
    },
  });

  async function join(owns: boolean): Promise<Member> {
    const name = `node-${all.size}`;
    const [link, nodeClock] = [newLink(), world.nodeClock()];
    const faultyPorts = faulty(link, clock, random, owns ? chances : { ...chances, call_failed: 0 }, store);
    const watched = watch(name, { bus, documents });
    const {
      documents: ownDocuments,
      leases: ownLeases,
      bus: ownBus,
    } = watchSending(name, {
      documents: faultyPorts.documents(watched.documents),
      bus: faultyPorts.bus(watched.bus),
      leases: faultyPorts.leases(leases),
    });
    const telemetry = silentTelemetry(),
      { metrics, log } = telemetry;
    const findPayer = async () => PAYER;
    const needs = {
      documents: ownDocuments,
      clock: nodeClock,
      random,
      metrics,
      log,
      egress,
      secrets: SAME_SECRETS,
      findPayer,
      spentBy: async () => 0,
      freeze: FREEZE,
      kinds: [items(link), crawlKind(ownDocuments, items(link), web, leadsTo, saysOf, onRequest)],
    };
    const node = await distributed(
      owns ? [accountActor(), schedulerActor(), jobActor(needs), frontierActor(needs)] : [],
      {
        clock: nodeClock,
        random,
        newPartitions: partitions,
        documents: ownDocuments,
        bus: ownBus,
        leases: ownLeases,
      },
      { name, owns },
    );
    link.calm = false;
    all.set(name, node);
    note(`${name} joins, its clock ${nodeClock.ahead_ms()} ms ahead`);
    return { name, node, link, clock: nodeClock, isOlder: false };
  }

  const recordOf = async (job_id: string) =>
    (await documents.get("job", job_id))?.value as JobRecord | undefined;
  const results = new Map<string, Map<number, StoredResult>>(ALL_JOBS.map((job_id) => [job_id, new Map()]));
  const records = new Map<string, JobRecord>();
  const frozen = new Map<string, string>();
  const changed = new Set<string>();
  let isCrawlChanged = true;
  world.onStored((collection, key, value) => {
    if (key.startsWith(CRAWL)) isCrawlChanged = true;
    const [job_id, index] = key.split(":") as [string, string?];
    // Null: a power cut took the first version.
    if (collection === "job" && value === null) records.delete(key);
    else if (collection === "job") records.set(key, value as JobRecord);
    else if (collection === "account")
      return void wrong.push(...(value === null ? [] : quotaProblems(value as AccountSnapshot)));
    else if (collection === "job_states") {
      if (value === null) frozen.delete(key);
      else frozen.set(key, (value as { readonly states: string }).states);
    } else if (collection !== "job_results") return;
    else if (value === null) results.get(job_id)!.delete(Number(index));
    else if (index !== undefined) {
      if (results.get(job_id)!.has(Number(index))) wrong.push(`The result ${key} was written twice`);
      results.get(job_id)!.set(Number(index), value as StoredResult);
    }
    changed.add(job_id);
  });

  function check(): void {
    checkOwners(all);
    for (const job_id of changed) {
      const record = records.get(job_id);
      const chunks = record?.frozen?.chunks ?? 0;
      const texts = Array.from({ length: chunks }, (_, chunk) => frozen.get(statesKey(job_id, chunk)) ?? "");
      if (record) wrong.push(...checkInvariants(record, results.get(job_id)!, texts).problems);
    }
    changed.clear();
    if (wrong.length > 0) throw new Error([...new Set(wrong)].slice(0, 3).join("; "));
  }

  const workers: Member[] = [];
  for (let n = 0; n < 3; n++) workers.push(await join(true));
  const gateway = await join(false);
  const pass = (ms: number) => clock.advance(ms, check);
  await pass(6_000);
  const insist = async <T>(ask: () => Promise<T>): Promise<T> => {
    for (;;) {
      const answer = await ask().catch(() => null);
      if (answer !== null) return answer;
      await new Promise<void>((resolve) => void clock.at(clock.now() + 1_000, resolve));
    }
  };

  async function checkCrawl(): Promise<void> {
    if (!isCrawlChanged) return;
    isCrawlChanged = false;
    const job = await recordOf(CRAWL);
    const problems = job ? await crawlProblems(documents, CRAWL, job) : [];
    if (problems.length > 0) throw new Error(problems.slice(0, 3).join("; "));
  }

  const specOf = (job_id: string) =>
    ({
      kind: job_id === CRAWL ? "crawl" : "fetch",
      customer: "c",
      project: "p",
      category: "fetch",
      key_prefix: "sk_aaaaaaa",
      idempotency_doc: `p:${job_id}`,
      callback_url: HOOK,
      created_ms: clock.now(),
      ...(job_id === CAPPED && { max_cost_micros: MAX_COST_MICROS }),
      ...(job_id === CRAWL ? { total: PAGES, grows: true } : { total: ITEMS, grows: false }),
    }) as const;

  async function create(job_id: string): Promise<void> {
    const { ask } = gateway.node;
    const spec = specOf(job_id);
    await insist(() => ask(Job, job_id, "open", spec, { timeout_ms: 5_000 }));
    const given = spec.grows ? 0 : ITEMS;
    if (spec.grows)
      await insist(() =>
        storeCrawl(documents, job_id, {
          seeds: Array.from({ length: SITES }, (_, n) => `http://s${n}.example/${n}`),
          limit: PAGES,
        }),
      );
    for (let from = 0; from < given; from += CHUNK_ITEMS) {
      const inputs = Array.from({ length: Math.min(CHUNK_ITEMS, given - from) }, (_, n) => ({
        url: `http://s${(from + n) % SITES}.example/${from + n}`,
      }));
      const chunk: Chunk = { items: inputs, chars: 1 };
      await insist(() => documents.put("job_items", chunkKey(job_id, from), chunk, 0));
    }
    const named = { job_id, kind: spec.kind, total: spec.total };
    await insist(() => documents.put("job_idempotency_keys", spec.idempotency_doc, named, 0));
    await insist(() => ask(Job, job_id, "begin", null, { timeout_ms: 5_000 }));
  }

  const created = Promise.all(ALL_JOBS.map(create));
  let cancelled: Promise<unknown> = Promise.resolve();
  const stage = world.stageOf({
    workers,
    senders: [],
    onLost() {},
    replace: async (member) =>
      void workers.splice(workers.indexOf(member), 1, await world.coming(join(true), pass)),
    pass,
  });
  for (let step = 0; step < 40; step++) {
    await strike(stage);
    if (step === 25)
      cancelled = insist(() => gateway.node.ask(Job, "j3", "cancel", null, { timeout_ms: 5_000 }));
    await clock.advance(500, check);
    await checkCrawl();
  }
  endFaults(stage);
  chances.late_ms = CHANCES.late_ms;
  const isOver = async () =>
    (await Promise.all(ALL_JOBS.map(recordOf))).every(
      (record) =>
        record?.finished_ms != null &&
        record.callback!.next_ms === null &&
        record.ledger_batch === null &&
        record.quota === null,
    );
  for (let step = 0; step < 1_200 && !(await isOver()); step++) {
    await clock.advance(500, check);
    await checkCrawl();
  }
  /** Time goes on until it is there. */
  async function coming<T>(answer: Promise<T>): Promise<T> {
    let isThere = false;
    void answer.finally(() => (isThere = true));
    for (let step = 0; step < 600 && !isThere; step++) await clock.advance(500, check);
    if (!isThere) throw new Error("Nobody answers");
    return answer;
  }
  await coming(Promise.all([created, cancelled]));
  const ends = await Promise.all(ALL_JOBS.map(recordOf));
  const ledger = await documents.list("ledger", { limit: 1_000 });
  const rows = ledger.flatMap(({ value }) =>
    rowsOf(value as LedgerBatch).map(({ request_id }) => request_id),
  );
  const quota = await coming(
    insist(() =>
      gateway.node.ask(
        Account,
        "c p sk_aaaaaaa",
        "allowances",
        { month: monthOf(clock.now()) },
        { timeout_ms: 5_000 },
      ),
    ),
  );
  // Asks of nodes that are gone wait for their deadline.
  const names = [Job, Scheduler, Account, Frontier].map(({ name }) => name);
  for (let step = 0; step < 20 && leftOnBus(stage, names).length > 0; step++) await clock.advance(10_000);
  const left = leftOnBus(stage, names);
  for (const { node } of [...workers, gateway]) await Promise.all([node.stop(100), clock.advance(2_000)]);
  const faults = world.trace.length;
  return { left, quota, ends, attempts, faults, rows, callbacks: egress.hits.length };
}

test.each(seeds(6))("jobs end whole, whatever becomes of their nodes (seed %i)", (seed) =>
  onSeed(seed, async () => {
    const { left, ends, attempts, faults, rows, callbacks, quota } = await simulate(seed);
    expect(left).toEqual([]);
    expect(ends.map((record) => record!.counts.pending + record!.counts.queued)).toEqual([0, 0, 0, 0]);
    expect(ends.slice(0, 2).map((record) => [record!.phase, record!.counts.cancelled])).toEqual([
      ["completed", 0],
      ["completed", 0],
    ]);
    const { phase, counts } = ends[3]!;
    // The seeds; a page that fails for good may hide others.
    expect([phase, counts.cancelled, counts.total > SITES]).toEqual(["completed", 0, true]);
    const all = [PAGES - LEADING_OUT, PAGES * 2 + PAGES / 5];
    expect(counts.failed > LEADING_OUT ? all : [counts.done, counts.discovered]).toEqual(all);
    const settled = ends.reduce((sum, record) => sum + record!.counts.done + record!.counts.failed, 0);
    expect([rows.length, new Set(rows).size]).toEqual([settled, settled]);
    expect([quota.settled.fetch, quota.reserved.fetch]).toEqual([settled, 0]);
    // An attempt has one id; an id that stands twice was in flight when a node or a connection broke.
    const repeated = attempts.length - new Set(attempts).size;
    expect(repeated).toBeLessThanOrEqual((faults + 1) * ALL_JOBS.length * IN_FLIGHT);
    expect(callbacks).toBeGreaterThanOrEqual(ALL_JOBS.length);
    expect(callbacks).toBeLessThanOrEqual(ends.reduce((sum, record) => sum + record!.callback!.attempts, 0));
  }),
);
