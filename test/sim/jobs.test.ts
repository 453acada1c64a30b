/**
 * Batch jobs on a whole cluster of one virtual clock, with faults from a seed: nodes are cut off, killed, drained and
 * replaced while jobs run. The job's invariants are checked after every step. A failure prints the line that
 * repeats it.
 */
import { expect, test } from "vitest";
import { type AccountSnapshot, accountActor } from "../../actors/accounts/actor.ts";
import { reservedUnits } from "../../actors/accounts/quota.ts";
import { jobActor } from "../../actors/jobs/actor.ts";
import type { ItemKind } from "../../actors/jobs/kind.ts";
import { checkInvariants } from "../../actors/jobs/invariants.ts";
import { schedulerActor } from "../../actors/jobs/scheduler.actor.ts";
import { memoryBus } from "../../cluster/adapters/bus/bus.memory.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { fakeEgress } from "../../cluster/adapters/egress/egress.fake.ts";
import { memoryLeases } from "../../cluster/adapters/leases/leases.memory.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import { distributed, type DistributedCluster } from "../../cluster/distributed.ts";
import { Account, monthOf } from "../../schemas/accounts.ts";
import {
  type Chunk,
  CHUNK_ITEMS,
  chunkKey,
  Job,
  jobRange,
  type JobRecord,
  type StoredResult,
} from "../../schemas/jobs.ts";
import { type LedgerBatch, rowsOf } from "../../schemas/ledger-batch.ts";
import { CHANCES } from "./scenario.ts";
import { onSeed, seeds } from "./seeds.ts";
import { faulty, heal, type Link, newLink } from "./faults.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";

const JOBS = ["j1", "j2", "j3"] as const;
const ITEMS = 150;
const SITES = 10;
const IN_FLIGHT = 4 * SITES;
const HOOK = "http://receiver.example/hook";

/** The key has a quota that all items together fit into, so that each item takes a unit of it. */
const QUOTA = JOBS.length * ITEMS;
const PAYER = {
  key: { status: "active", quotas: { search: null, fetch: QUOTA } },
  customer: { status: "active" },
  spend_limits: [],
} as const;

interface Member {
  readonly node: DistributedCluster;
  readonly link: Link;
}

async function simulate(seed: number) {
  const clock = virtualClock(Date.UTC(2026, 0, 1));
  const random = seededRandom(seed);
  const chance = (below: number) => Math.floor(random.next() * below);
  const [bus, leases, documents] = [memoryBus(clock), memoryLeases(clock), memoryDocuments()];
  const egress = fakeEgress({ [HOOK]: { status: 200 } }, clock);
  const attempts: string[] = [];
  let names = 0;
  let faults = 0;

  const items = (link: Link): ItemKind => ({
    name: "fetch",
    lane: ({ url }) => URL.parse(String(url))!.hostname,
    async run(_, { url }, { attempt_id }) {
      attempts.push(attempt_id);
      const fails = chance(20) === 0;
      await new Promise<void>((resolve) => void clock.at(clock.now() + 100 + chance(900), resolve));
      // What a dead node still does reaches no other node.
      if (link.dead) return new Promise(() => {});
      return {
        answer: String(url),
        error: fails ? "all_tiers_failed" : null,
        bill: { category: "fetch_own", ok: !fails, bytes: 1, paid: false, cost_micros: 2 },
        body_refs: [],
        retry: fails ? { reason: "transient", retry_after_s: null } : null,
      };
    },
  });

  async function join(owns: boolean): Promise<Member> {
    const link = newLink();
    const faultyPorts = faulty(link, clock, random, owns ? CHANCES : { ...CHANCES, call_failed: 0 });
    const ownDocuments = faultyPorts.documents(documents);
    const telemetry = silentTelemetry(),
      { metrics, log } = telemetry;
    const findPayer = async () => PAYER;
    const needs = {
      documents: ownDocuments,
      clock,
      random,
      metrics,
      log,
      egress,
      findPayer,
      kinds: [items(link)],
    };
    const node = await distributed(
      owns ? [accountActor(), schedulerActor(), jobActor(needs)] : [],
      {
        clock,
        random,
        documents: ownDocuments,
        bus: faultyPorts.bus(bus),
        leases: faultyPorts.leases(leases),
      },
      { name: `node-${names++}`, owns },
    );
    link.calm = false;
    return { node, link };
  }

  const recordOf = async (job_id: string) =>
    (await documents.get("job", job_id))?.value as JobRecord | undefined;
  async function check(): Promise<string[]> {
    const problems: string[] = [];
    for (const job_id of JOBS) {
      const now = await recordOf(job_id);
      if (!now) continue;
      const [from, to] = jobRange(job_id);
      const stored = await documents.list("job_results", { from, to, limit: 1_000 });
      if (stored.some(({ version }) => version !== 1)) problems.push("A result was written twice");
      const results = new Map(
        stored.map(({ key, value }) => [Number(key.split(":")[1]), value as StoredResult] as const),
      );
      problems.push(...checkInvariants(now, results).problems);
    }
    problems.push(...(await checkQuota()));
    return problems;
  }

  /** What the key's account has settled and reserved as it is stored: never more than the quota. */
  async function checkQuota(): Promise<string[]> {
    const account = (await documents.get("account", "c p sk_aaaaaaa"))?.value as AccountSnapshot | undefined;
    return Object.values(account?.quotas ?? {}).flatMap((quota) => {
      const all = quota.settled.fetch + reservedUnits(quota).fetch;
      return all <= QUOTA ? [] : [`${all} of ${QUOTA} units are settled or reserved`];
    });
  }

  const workers: Member[] = [];
  for (let n = 0; n < 3; n++) workers.push(await join(true));
  const gateway = await join(false);
  await clock.advance(6_000);
  const insist = async <T>(ask: () => Promise<T>): Promise<T> => {
    for (;;) {
      const answer = await ask().catch(() => null);
      if (answer !== null) return answer;
      await new Promise<void>((resolve) => void clock.at(clock.now() + 1_000, resolve));
    }
  };

  async function create(job_id: string): Promise<void> {
    const spec = {
      kind: "fetch",
      customer: "c",
      project: "p",
      category: "fetch",
      key_prefix: "sk_aaaaaaa",
      idempotency_doc: `p:${job_id}`,
      callback_url: HOOK,
      total: ITEMS,
      created_ms: clock.now(),
    } as const;
    const { ask } = gateway.node;
    await insist(() => ask(Job, job_id, "open", spec, { timeout_ms: 5_000 }));
    for (let from = 0; from < ITEMS; from += CHUNK_ITEMS) {
      const inputs = Array.from({ length: Math.min(CHUNK_ITEMS, ITEMS - from) }, (_, n) => ({
        url: `http://s${(from + n) % SITES}.example/${from + n}`,
      }));
      const chunk: Chunk = { items: inputs, chars: 1 };
      await documents.put("job_items", chunkKey(job_id, from), chunk, 0);
    }
    await documents.put(
      "job_idempotency_keys",
      spec.idempotency_doc,
      { job_id, kind: "fetch", total: ITEMS },
      0,
    );
    await insist(() => ask(Job, job_id, "begin", null, { timeout_ms: 5_000 }));
  }

  const created = Promise.all(JOBS.map(create));
  let cancelled: Promise<unknown> = Promise.resolve();
  const wrong: string[] = [];
  for (let step = 0; step < 40; step++) {
    const victim = workers[chance(workers.length)]!;
    switch (chance(12)) {
      case 0:
        faults++;
        victim.link.cut = true;
        break;
      case 1:
      case 2:
        for (const { link } of workers) heal(link);
        break;
      case 3:
        faults++;
        victim.link.dead = true;
        workers.splice(workers.indexOf(victim), 1, await join(true));
        break;
      case 4:
        faults++;
        void victim.node.stop(5_000);
        workers.splice(workers.indexOf(victim), 1, await join(true));
        break;
      default:
    }
    if (step === 25)
      cancelled = insist(() => gateway.node.ask(Job, "j3", "cancel", null, { timeout_ms: 5_000 }));
    await clock.advance(500);
    wrong.push(...(await check()));
  }
  for (const { link } of workers) heal(link);
  const isOver = async () =>
    (await Promise.all(JOBS.map(recordOf))).every(
      (record) =>
        record?.finished_ms != null &&
        record.callback!.next_ms === null &&
        record.ledger_batch === null &&
        record.quota === null,
    );
  for (let step = 0; step < 1_200 && !(await isOver()); step++) {
    await clock.advance(500);
    if (step % 10 === 0) wrong.push(...(await check()));
  }
  wrong.push(...(await check()));
  /** Time goes on until it is there. */
  async function coming<T>(answer: Promise<T>): Promise<T> {
    let isThere = false;
    void answer.finally(() => (isThere = true));
    for (let step = 0; step < 600 && !isThere; step++) await clock.advance(500);
    if (!isThere) throw new Error("Nobody answers");
    return answer;
  }
  await coming(Promise.all([created, cancelled]));
  const ends = await Promise.all(JOBS.map(recordOf));
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
  for (const { node } of [...workers, gateway]) await Promise.all([node.stop(100), clock.advance(2_000)]);
  return { quota, wrong: [...new Set(wrong)], ends, attempts, faults, rows, callbacks: egress.hits.length };
}

test.each(seeds(6))("jobs end whole, whatever becomes of their nodes (seed %i)", (seed) =>
  onSeed(seed, async () => {
    const { wrong, ends, attempts, faults, rows, callbacks, quota } = await simulate(seed);
    expect(wrong).toEqual([]);
    expect(ends.map((record) => record!.counts.pending + record!.counts.queued)).toEqual([0, 0, 0]);
    expect(ends.slice(0, 2).map((record) => [record!.phase, record!.counts.cancelled])).toEqual([
      ["completed", 0],
      ["completed", 0],
    ]);
    const settled = ends.reduce((sum, record) => sum + record!.counts.done + record!.counts.failed, 0);
    expect([rows.length, new Set(rows).size]).toEqual([settled, settled]);
    expect([quota.settled.fetch, quota.reserved.fetch]).toEqual([settled, 0]);
    // An attempt has one id; an id that stands twice was in flight when a node or a connection broke.
    const repeated = attempts.length - new Set(attempts).size;
    expect(repeated).toBeLessThanOrEqual((faults + 1) * JOBS.length * IN_FLIGHT);
    expect(callbacks).toBeGreaterThanOrEqual(JOBS.length);
    expect(callbacks).toBeLessThanOrEqual(ends.reduce((sum, record) => sum + record!.callback!.attempts, 0));
  }),
);
