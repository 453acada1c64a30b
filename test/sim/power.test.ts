/**
 * The service on one machine, from a seed: the gateway, fetches, jobs, accounts and the ledger on embedded engines whose disk loses
 * what it has not synced (disk.ts). The power is cut and the process killed again and again while clients fetch pages and submit
 * jobs. What a client was told is there afterwards, no document names a body that a power cut could take, no site is asked twice
 * within its delay, and rows and money add up.
 */
import { archiveKeeper } from "../../actors/crawl/archive/keep.ts";
import { createHash } from "node:crypto";
import { afterAll, expect, inject, test } from "vitest";
import { spending } from "../../actors/business/accounts/spend.ts";
import { findPayer } from "../../actors/business/accounts/payer.ts";
import { domainActor } from "../../actors/crawl/domain/actor.ts";
import { LEASE_MS } from "../../actors/crawl/domain/politeness.ts";
import { fetchActor } from "../../actors/crawl/fetch/actor.ts";
import { fetchItems } from "../../actors/crawl/fetch/feature/item-kind.ts";
import { fetchBatch } from "../../actors/crawl/fetch/feature/routes.ts";
import { formatsDeriver } from "../../actors/crawl/fetch/formats.ts";
import { rereader } from "../../actors/crawl/fetch/reread.ts";
import { asCachedPage } from "../../actors/crawl/fetch/freshness.ts";
import { hostProfileActor } from "../../actors/crawl/fetch/host-profile.actor.ts";
import { loadPages } from "../../actors/crawl/fetch/page-store.ts";
import { fetchPipeline } from "../../actors/crawl/fetch/pipeline.ts";
import { premiumCosts } from "../../actors/crawl/fetch/premium.ts";
import type { PipelineDeps } from "../../actors/crawl/fetch/run.ts";
import { type FetchService, fetchService } from "../../actors/crawl/fetch/service.ts";
import { jobActor } from "../../actors/work/jobs/actor.ts";
import { jobRoutes } from "../../actors/work/jobs/feature/routes.ts";
import { checkInvariants } from "../../actors/work/jobs/invariants.ts";
import { schedulerActor } from "../../actors/work/jobs/scheduler.actor.ts";
import { loadDetector } from "../../actors/reading/article/language.ts";
import { tasks } from "../../actors/reading/extract.ts";
import type { Transport } from "../../actors/lib/web/transport.ts";
import { admitted } from "../../actors/crawl/tiers/adapters/one-request.ts";
import { fakeEgress } from "../../cluster/adapters/egress/egress.fake.ts";
import type { Durability } from "../../cluster/adapters/files/durable-files.ts";
import type { ActorClient } from "../../cluster/actor.ts";
import { batchRoute } from "../../gateway/batch.ts";
import { openBodyGrants } from "../../gateway/body-access.ts";
import { PENDING_TTL_MS, recoverPending } from "../../gateway/pending-requests.ts";
import type { AccountSnapshot } from "../../actors/business/accounts/actor.ts";
import { type FetchAnswer, type PageRecord, partDigests } from "../../schemas/fetch.ts";
import type { JobRecord, StoredResult } from "../../schemas/jobs.ts";
import { type LedgerBatch, rowsOf } from "../../schemas/ledger-batch.ts";
import type { LedgerRow } from "../../schemas/ledger.ts";
import { answer, LONG } from "../harness/fetch-harness.ts";
import { gatewayHarness } from "../harness/gateway-harness.ts";
import { failed, rest } from "../harness/tier-world.ts";
import { SAME_SECRETS } from "../harness/secrets.ts";
import { diskBlobs, diskDocuments, newDisk } from "./disk.ts";
import { type Link, newLink } from "./faults.ts";
import { checker } from "./invariants.ts";
import { onSeed, seeds } from "./seeds.ts";
import { openRobots } from "./visitor.ts";
import { newWorld, traced, type World } from "./world.ts";

const SITES = 4;
const PAGES = 32;
/** Pages of several addresses are the same bytes. */
const CONTENTS = 10;
const FETCHES = 60;
const JOBS = 3;
const ITEMS_OF_A_JOB = 12;
const STEPS = 60;
const STEP_MS = 500;
const DELAY_MS = 200;
/** Some pages are larger, and files. */
const MAX_ROW_BYTES = 1_500;
const MAX_SYNC_MS = 400;
const MAX_OFF_MS = 2_000;
const PRICE_MICROS = 2_000;
const MAX_PEACE_MS = 600_000;

const urlOf = (page: number): string => `http://s${page % SITES}.example/${page}`;
const pageOf = (url: string): number => Number(new URL(url).pathname.slice(1));
/** The site lets only the premium route in. */
const isBlocked = (page: number): boolean => page % 5 === 4;
const contentOf = (page: number): string => {
  const content = page % CONTENTS;
  return `<html><head><title>Page ${content}</title></head><body><article><h1>Page ${content}</h1><p>${LONG.repeat(1 + (content % 3))}</p></article></body></html>`;
};
const digestOf = (page: number): string => createHash("sha256").update(contentOf(page)).digest("hex");

/** A port of a process: after its end nothing reaches the port, and nothing comes from it. */
function whileAlive<T extends object>(link: Link, port: T): T {
  const never = new Promise<never>(() => {});
  async function relayed(result: Promise<unknown>): Promise<unknown> {
    try {
      return await result;
    } finally {
      if (link.dead) await never;
    }
  }
  const guarded = Object.entries(port).map(([name, method]) => [
    name,
    (...given: unknown[]) => {
      if (link.dead) return never;
      const result = (method as (...given: unknown[]) => unknown)(...given);
      return result instanceof Promise ? relayed(result) : result;
    },
  ]);
  return Object.fromEntries(guarded) as T;
}

const readPage = await tasks.page();
// Modules are loaded before time moves: virtual time passes while a busy machine reads them.
await loadDetector();

interface Process {
  readonly link: Link;
  /** Resolves with null when it ends. */
  readonly ended: PromiseWithResolvers<null>;
  readonly call: Awaited<ReturnType<typeof gatewayHarness>>["call"];
  /** Recovers pending requests; each node does so every minute. */
  readonly recover: () => Promise<void>;
}

interface FetchedPage {
  readonly page: number;
  readonly request_id: string;
  readonly sha256: string;
  readonly body_url: string;
  readonly cached: boolean;
  readonly cost_micros: number;
}

async function simulate(seed: number, durability: Durability = "power") {
  const world = newWorld(seed, Date.UTC(2026, 0, 10));
  return traced(world, () => takeCourse(world, durability));
}

/** One algorithm: clients use the service while its machine fails, and everything must be there in the end. */
async function takeCourse(world: World, durability: Durability) {
  const { clock, random, chance, note, sleep } = world;
  const disk = newDisk(clock, chance, durability);
  const problems: string[] = [];
  const { onStart, check: checkStarts } = checker(DELAY_MS, {}, { clock, ttl_ms: null });

  // --- what is stored, as the disk has it -------------------------------------------------------------------------
  const blobs = diskBlobs(disk, MAX_ROW_BYTES);
  const stored = new Map<string, Map<string, unknown>>();
  const of = <T>(collection: string): Map<string, T> => {
    if (!stored.has(collection)) stored.set(collection, new Map());
    return stored.get(collection) as Map<string, T>;
  };
  /** The bodies that a document names. */
  function bodiesOf(collection: string, key: string, value: unknown): readonly (string | null)[] {
    if (collection === "body_grants") return [key.slice(0, 64)];
    const { answer: given = null, body_refs = [] } =
      collection === "job_results" ? (value as StoredResult) : {};
    const record: PageRecord | undefined =
      collection === "pages" ? asCachedPage(value)?.record : (given as FetchAnswer | null)?.record;
    return record ? [record.sha256, ...partDigests(record), ...body_refs] : body_refs;
  }
  function checkBodies(collection: string, key: string, value: unknown): void {
    for (const sha256 of bodiesOf(collection, key, value))
      if (sha256 !== null && !blobs.isDurable(sha256))
        problems.push(`${collection}/${key} names the body ${sha256}, which is not on the disk`);
  }
  const changedJobs = new Set<string>();
  const documents = diskDocuments(
    disk,
    (collection, key, value) => {
      if (value === null) of(collection).delete(key);
      else of(collection).set(key, value);
      if (collection === "job" || collection === "job_results") changedJobs.add(key.split(":")[0]!);
      if (value !== null) checkBodies(collection, key, value);
    },
    { rebuildable: ["pages"] },
  );
  function checkJobs(): void {
    for (const job_id of changedJobs) {
      const record = of<JobRecord>("job").get(job_id);
      const results = [...of<StoredResult>("job_results")].filter(([key]) => key.startsWith(`${job_id}:`));
      const byItem = new Map(results.map(([key, result]) => [Number(key.split(":")[1]), result]));
      if (record) problems.push(...checkInvariants(record, byItem).problems);
    }
    changedJobs.clear();
  }
  function check(): void {
    checkStarts([]);
    checkJobs();
    if (problems.length > 0) throw new Error([...new Set(problems)].slice(0, 3).join("; "));
  }

  // --- the origins, and the routes to them ------------------------------------------------------------------------
  let charged_micros = 0;
  const routeOf =
    (link: Link, isPremium: boolean): Transport =>
    async (request) => {
      const entry = await admitted(request, request.url);
      if (entry === null) return failed("timeout");
      if (entry.kind === "refused") return { kind: "refused", refusal: entry.refusal, ...rest };
      const granted_ms = clock.now();
      await sleep(chance(3) === 0 ? chance(600) : chance(30));
      if (link.dead) return new Promise(() => {});
      if (request.signal.aborted || !(await entry.beforeSend())) {
        entry.release({ status: null, retry_after_s: null });
        return failed("timeout");
      }
      const page = pageOf(request.url);
      onStart({ site: new URL(request.url).hostname, item: String(page), at_ms: clock.now(), granted_ms });
      entry.onSent();
      if (isPremium) {
        note(`${request.url} is fetched for money`);
        charged_micros += PRICE_MICROS;
      }
      await sleep(50 + chance(300));
      if (link.dead) return new Promise(() => {});
      const status = isBlocked(page) && !isPremium ? 403 : 200;
      entry.release({ status, retry_after_s: null });
      const result = answer(status === 200 ? contentOf(page) : "no", status);
      return result.kind === "page" ? { ...result, final_url: request.url } : result;
    };

  // --- the machine ------------------------------------------------------------------------------------------------
  const machine = {
    link: newLink(),
    process: null as Process | null,
    key: "",
    starts: 0,
    boot: null as Disposable | null,
    up: Promise.withResolvers<Process>(),
  };

  /** Until it serves. Never ends when the machine fails first. */
  async function start(): Promise<void> {
    const link = newLink();
    machine.link = link;
    const name = `p${machine.starts++}`;
    const nodeClock = world.nodeClock();
    const ownDocuments = whileAlive(link, documents);
    const ownBlobs = whileAlive(link, blobs);
    let pages: FetchService;
    /** Jobs of the process before may go on while the gateway starts. */
    const opened = Promise.withResolvers<void>();
    const ask: ActorClient = (...named) => at.ask(...named);
    const extract: PipelineDeps["extract"] = async (task) => ({
      kind: "done",
      value: await readPage(task, () => 0),
    });
    const at = await gatewayHarness({
      process: { clock: { ...clock, ...nodeClock }, random, name },
      documents: ownDocuments,
      blobs: ownBlobs,
      fetch: (...given) => pages.fetch(...given),
      cache: {
        sourceOf: (...given) => pages.sourceOf(...given),
        isCurrent: (...given) => pages.isCurrent(...given),
      },
      actors(context) {
        const { metrics, log } = context;
        const own = { documents: ownDocuments, blobs: ownBlobs, clock: nodeClock, metrics, log };
        const payer = (project: string, prefix: string | null) => findPayer(ownDocuments, project, prefix);
        const money = spending({ ...own, findPayer: payer });
        const kind = fetchItems(
          {
            fetchWith: (...given) => opened.promise.then(() => pages.fetchWith(...given)),
            bodyGrants: openBodyGrants(own),
            archives: archiveKeeper({ ...own, clock: nodeClock }),
            clock: nodeClock,
            joined: new Map(),
          },
          fetchBatch({ blobs: ownBlobs, decode: String }),
        );
        return [
          hostProfileActor(),
          openRobots(),
          domainActor({ min_delay_ms: DELAY_MS, max_concurrency: 2, lease_ms: LEASE_MS }),
          fetchActor({
            runFetch: fetchPipeline({
              ...own,
              extract,
              routes: { direct: routeOf(link, false), proxy: routeOf(link, true) },
              keepsRights: () => true,
              costs: premiumCosts({ prices: { proxy: PRICE_MICROS }, spending: money }),
            }),
            deriveFormats: formatsDeriver({ ...own, extract }),
            reread: rereader({ ...own, extract }),
            loadStored: (digest, project) => loadPages(ownDocuments, digest, project),
            now: () => nodeClock.now(),
          }),
          schedulerActor(),
          jobActor({
            ...own,
            random,
            egress: fakeEgress({}, nodeClock),
            secrets: SAME_SECRETS,
            findPayer: payer,
            spentBy: money.spentBy,
            kinds: [kind.worker],
          }),
        ];
      },
      more(context) {
        const kind = fetchBatch({ blobs: ownBlobs, decode: String });
        const names = { path: "/v1/batch/fetch", operationId: "batchFetch", summary: "", tag: "fetch" };
        return [batchRoute(context, kind, names), ...jobRoutes({ ...context, kinds: [kind] })];
      },
    });
    const { metrics, log } = at.telemetry;
    pages = fetchService({
      secrets: SAME_SECRETS,
      documents: ownDocuments,
      ask,
      clock: nodeClock,
      metrics,
      log,
      spentBy: at.money.spentBy,
    });
    opened.resolve();
    if (machine.key === "") machine.key = at.first;
    const recovery = { documents: ownDocuments, clock: nodeClock, log, spentBy: at.money.spentBy };
    await recoverPending(recovery, 0);
    note(`${name} serves`);
    machine.process = {
      link,
      ended: Promise.withResolvers(),
      call: at.call,
      recover: () => recoverPending(recovery, PENDING_TTL_MS),
    };
    machine.up.resolve(machine.process);
  }

  const begin = (): void =>
    void start().catch((problem: unknown) => problems.push(`The service does not start: ${String(problem)}`));

  function end(hasPower: boolean): void {
    machine.link.dead = true;
    machine.process?.ended.resolve(null);
    if (machine.process) machine.up = Promise.withResolvers();
    machine.process = null;
    const { unsynced, lost } = hasPower ? { unsynced: 0, lost: 0 } : disk.cutPower();
    note(hasPower ? "the process is killed" : `the power is cut: ${lost} of ${unsynced} writes are lost`);
    reached.unsynced += unsynced;
    reached.lost += lost;
    for (const collection of ["pages", "job_results", "body_grants"])
      for (const [key, value] of of(collection)) checkBodies(collection, key, value);
    checkTold();
    machine.boot?.[Symbol.dispose]();
    machine.boot = clock.at(clock.now() + chance(MAX_OFF_MS), begin);
  }

  // --- the clients ------------------------------------------------------------------------------------------------
  const told: FetchedPage[] = [];
  const jobs = new Map<string, string>();

  /** Asks until the service answers. */
  async function insist(method: string, target: string, body?: object) {
    for (;;) {
      const { call, ended } = await machine.up.promise;
      const reply = await Promise.race([
        call(method, target, { key: machine.key, ...(body && { body }) }),
        ended.promise,
      ]);
      if (reply !== null && reply.status === 500) problems.push(`${method} ${target} is answered 500`);
      if (reply !== null && reply.status !== 429 && reply.status < 500) return reply;
      await sleep(200 + chance(1_000));
    }
  }

  async function fetchPage(): Promise<void> {
    const page = chance(PAGES);
    const body = {
      url: urlOf(page),
      include_html: false,
      allow_archive: false,
      ...(chance(3) === 0 && { cache_ttl_s: 0 }),
      ...(chance(3) === 0 && { formats: ["markdown", "links"] }),
    };
    let { status, json } = await insist("POST", "/v1/fetch", body);
    // After an outage a site may have more callers than it has slots within a caller's wait.
    while (json.error === "politeness_timeout") ({ status, json } = await insist("POST", "/v1/fetch", body));
    if (status !== 200 || json.error !== null)
      return void problems.push(`A fetch is answered ${status} ${JSON.stringify(json).slice(0, 300)}`);
    const { request_id, sha256, body_url, cached, cost_usd } = json;
    if (sha256 !== digestOf(page)) problems.push(`${urlOf(page)} has the body ${sha256}`);
    told.push({
      page,
      request_id,
      sha256,
      body_url,
      cached,
      cost_micros: Math.round(Number(cost_usd) * 1e6),
    });
  }

  async function submit(name: string): Promise<void> {
    const first = name.charCodeAt(0);
    const items = Array.from({ length: ITEMS_OF_A_JOB }, (_, n) => ({ url: urlOf((first * 7 + n) % PAGES) }));
    const reply = await insist("POST", "/v1/batch/fetch", { idempotency_key: name, items });
    if (reply.status > 202) problems.push(`A job is answered ${reply.status} ${JSON.stringify(reply.json)}`);
    const { job_id } = reply.json;
    const before = jobs.get(name);
    if (before !== undefined && before !== job_id)
      problems.push(`The job ${name} is ${before} and ${job_id}`);
    jobs.set(name, job_id);
  }

  /** In a document of its own, or in that of a page. */
  const hasRight = (sha256: string): boolean =>
    of("body_grants").has(`${sha256}:default`) ||
    [...of("pages").values()].some((value) => {
      const page = asCachedPage(value);
      return page?.record.sha256 === sha256 && page.right?.project === "default";
    });

  /** Bodies, rights, rows and jobs that clients were told of must be on the disk at any time, whatever process runs. */
  function checkTold(): void {
    const rows = ledgerRows();
    for (const { request_id, sha256, cached } of told) {
      if (!blobs.isDurable(sha256)) problems.push(`The body ${sha256} of ${request_id} is lost`);
      if (!hasRight(sha256)) problems.push(`The right to the body of ${request_id} is lost`);
      if (!cached && !rows.has(request_id)) problems.push(`The row of ${request_id} is lost`);
    }
    for (const [name, job_id] of jobs) {
      const phase = of<JobRecord>("job").get(job_id)?.phase ?? "lost";
      if (phase === "lost" || phase === "creating") problems.push(`The job ${name} is ${phase}`);
    }
  }

  function ledgerRows(): Map<string, LedgerRow> {
    const rows = new Map<string, LedgerRow>();
    for (const batch of of<LedgerBatch>("ledger").values())
      for (const row of rowsOf(batch)) {
        if (rows.has(row.request_id)) problems.push(`${row.request_id} has two rows`);
        rows.set(row.request_id, row);
      }
    return rows;
  }

  // --- the course -------------------------------------------------------------------------------------------------
  begin();
  const pass = (ms: number) => clock.advance(ms, check);
  await pass(1_000);
  const clients: Promise<void>[] = [];
  for (let n = 0; n < FETCHES; n++) clients.push(sleep(chance(STEPS * STEP_MS)).then(fetchPage));
  for (let n = 0; n < JOBS; n++) {
    const name = String.fromCharCode(97 + n);
    // A client that got no answer submits again; another one may submit the same at the same moment.
    for (let copies = 1 + chance(3); copies > 0; copies--)
      clients.push(sleep(chance(STEPS * STEP_MS)).then(() => submit(name)));
  }
  for (let step = 0; step < STEPS; step++) {
    switch (chance(14)) {
      case 0:
      case 1:
      case 2:
        disk.slow_ms = 1 + chance(MAX_SYNC_MS);
        break;
      case 3:
        disk.slow_ms = 0;
        break;
      case 4:
      case 5:
        end(false);
        break;
      case 6:
        end(true);
        break;
      default:
    }
    await pass(chance(2 * STEP_MS));
  }
  disk.slow_ms = 0;
  note("nothing fails any more");
  let isAnswered = false;
  void Promise.all(clients).then(() => (isAnswered = true));
  const isOver = () =>
    isAnswered &&
    [...jobs.values()].every((job_id) => {
      const record = of<JobRecord>("job").get(job_id);
      return record?.finished_ms != null && record.ledger_batch === null && record.unrecorded.length === 0;
    });
  for (let waited_ms = 0; !isOver(); waited_ms += 1_000) {
    if (waited_ms > MAX_PEACE_MS)
      throw new Error(`Clients or jobs wait for ever: ${isAnswered}, ${[...jobs.values()].join(", ")}`);
    await pass(1_000);
  }
  // Rows of cached answers, settlements and reports follow within seconds; rows of requests that a start did not find, because the
  // wall clock was behind that of the process before, within minutes.
  await pass(PENDING_TTL_MS + 60_000);
  await world.coming(machine.process!.recover(), pass);
  checkTold();

  // --- what is there in the end -----------------------------------------------------------------------------------
  const usage = world.coming(insist("GET", "/v1/usage"), pass);
  const { totals } = (await usage).json;
  for (const { sha256, body_url } of told) {
    const { status, bytes } = await world.coming(insist("GET", body_url), pass);
    if (status !== 200 || createHash("sha256").update(bytes).digest("hex") !== sha256)
      problems.push(`${body_url} is answered ${status}`);
  }
  for (const job_id of jobs.values())
    for (let item = 0; item < ITEMS_OF_A_JOB; item++) {
      const result = of<StoredResult>("job_results").get(`${job_id}:${String(item).padStart(5, "0")}`);
      if (result?.status !== "done") problems.push(`Item ${item} of ${job_id} is ${result?.error}`);
    }
  const rows = ledgerRows();
  const spent = new Map<string, number>();
  for (const [attempt_id, { micros }] of of<{ micros: number }>("request_spend")) {
    const request_id = attempt_id.slice(0, attempt_id.indexOf("."));
    spent.set(request_id, (spent.get(request_id) ?? 0) + micros);
  }
  for (const [request_id, micros] of spent)
    if ((rows.get(request_id)?.cost_micros ?? 0) !== micros)
      problems.push(`${request_id} cost ${micros}, its row says ${rows.get(request_id)?.cost_micros}`);
  for (const { request_id, cost_micros, cached } of told)
    if (!cached && rows.get(request_id)!.cost_micros !== cost_micros)
      problems.push(`${request_id} was told to cost ${cost_micros}`);
  const billed_micros = [...rows.values()].reduce((sum, row) => sum + row.cost_micros, 0);
  if (billed_micros < charged_micros)
    problems.push(`${billed_micros} of ${charged_micros} micros are billed`);
  for (const [account, { budget }] of of<AccountSnapshot>("account")) {
    const taken =
      Object.values(budget.spent).reduce((sum, micros) => sum + micros, 0) +
      Object.values(budget.reservations).reduce((sum, { micros }) => sum + micros, 0);
    if (taken > 0 && taken < billed_micros)
      problems.push(`"${account}" has ${taken} of ${billed_micros} micros`);
  }
  check();
  return { totals, rows: rows.size, told: told.length };
}

/** Counts over all courses together. */
const reached = { unsynced: 0, lost: 0 };
afterAll(() => {
  if (reached.lost === 0) throw new Error("No power cut lost anything");
});

test.each(seeds(4))("what was acknowledged survives a power cut, with all that it names (seed %i)", (seed) =>
  onSeed(seed, async () => {
    const { totals, rows, told } = await simulate(seed);
    expect(told).toBe(FETCHES);
    expect(totals.requests).toBe(rows);
  }),
);

test("with the durability process the same is lost, and noticed", async () => {
  await expect(simulate(inject("seed"), "process")).rejects.toThrow(
    /is lost|is not on the disk|invalid API key/,
  );
});
