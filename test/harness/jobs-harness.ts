/**
 * Jobs on one node without sockets: in-memory stores that outlive the node, a virtual clock, attempts that end as the
 * test scripts them. `kill` ends the node between two writes; `start` starts another node on the same stores.
 */
import { createHash } from "node:crypto";
import { accountActor } from "../../actors/business/accounts/actor.ts";
import type { Payer as FoundPayer } from "../../actors/business/accounts/payer.ts";
import { spending } from "../../actors/business/accounts/spend.ts";
import { jobActor } from "../../actors/work/jobs/actor.ts";
import type { JobBoard } from "../../actors/work/jobs/job-board.ts";
import type { ItemKind } from "../../actors/work/jobs/kind.ts";
import type { FreezeSizes, JobServices } from "../../actors/work/jobs/state.ts";
import { frozenStates } from "../../actors/work/jobs/stored-states.ts";
import { checkInvariants } from "../../actors/work/jobs/invariants.ts";
import { jobRecorder } from "../../actors/work/jobs/figures.ts";
import { schedulerActor } from "../../actors/work/jobs/scheduler.actor.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import type { Clock } from "../../cluster/ports/clock.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import type { Log } from "../../cluster/ports/log.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { fakeEgress, type FakeWeb } from "../../cluster/adapters/egress/egress.fake.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import type { Actor } from "../../cluster/actor.ts";
import { type Cluster, embedded } from "../../cluster/embedded.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import { Account, monthOf } from "../../schemas/accounts.ts";
import {
  type RetryAdvice,
  type Chunk,
  CHUNK_ITEMS,
  chunkKey,
  type AttemptContext,
  Job,
  type JobCounts,
  jobRange,
  type JobSpec,
  type JobRecord,
  type StoredResult,
} from "../../schemas/jobs.ts";
import { type LedgerBatch, rowsOf } from "../../schemas/ledger-batch.ts";
import { SAME_SECRETS } from "./secrets.ts";
import { type Chances, faulty, type Link, newLink, NO_FAULTS } from "../sim/faults.ts";
import type { Secrets } from "../../cluster/ports/secrets.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";

export const BEGAN_MS = Date.UTC(2026, 10, 21, 12);

/** How an attempt of an item ends, and how long it takes. */
export interface ScriptedOutcome {
  readonly error?: string;
  readonly retry?: RetryAdvice;
  readonly ms?: number;
  /** Default: 5. */
  readonly cost_micros?: number;
}
export interface AttemptRecord {
  readonly url: string;
  readonly at_ms: number;
  readonly context: AttemptContext;
}
type Script = (url: string, context: AttemptContext) => ScriptedOutcome | Promise<ScriptedOutcome>;

type Payer = Awaited<ReturnType<JobServices["findPayer"]>>;

interface JobsOptions {
  readonly run?: Script;
  readonly web?: FakeWeb;
  readonly capacity?: number;
  /** Board of what jobs wait for. Default: it is not recorded. */
  readonly board?: (clock: Clock) => JobBoard;
  /** Beside those of jobs. */
  readonly actors?: readonly Actor[];
  /** Kinds and actors of a node that need its stores. Default: none. */
  readonly more?: (node: {
    readonly documents: Documents;
    readonly clock: Clock;
    readonly log: Log;
    /** The kind of the scripted items. */
    readonly items: ItemKind;
  }) => { readonly kinds: readonly ItemKind[]; readonly actors: readonly Actor[] };
  readonly secrets?: Secrets;
  /** Default: as in production. */
  readonly freeze?: FreezeSizes;
  readonly chances?: Partial<Chances>;
  readonly seed?: number;
  /** The customer pays this for an item that succeeds, within this limit a month. Default: it has no prices. */
  readonly charged?: { readonly price_micros: number; readonly limit_micros: number };
}

export function oneCluster({
  run = () => ({}),
  web = {},
  capacity,
  chances,
  seed = 1,
  board,
  actors = [],
  more = () => ({ kinds: [], actors: [] }),
  secrets = SAME_SECRETS,
  freeze,
  charged,
}: JobsOptions = {}) {
  const clock = virtualClock(BEGAN_MS);
  const stored = memoryDocuments();
  const egress = fakeEgress(web, clock);
  const attempts: AttemptRecord[] = [];
  const script = { run, costs_when_aborted: false, spent_micros: new Map<string, number>() };
  const payer: { now: Payer | null; isReadable: boolean } = { now: null, isReadable: true };
  const priced = charged && pricedPayer(charged);
  const random = seededRandom(seed);
  const jobs_board = board?.(clock);
  const recorder = jobRecorder();
  let link: Link = newLink();
  let cluster: Cluster;

  const kind = (nodeLink: Link): ItemKind => ({
    name: "fetch",
    lane: ({ url }) => URL.parse(String(url))?.hostname ?? null,
    async run(_, { url }, context) {
      // A dead node sends nothing.
      if (nodeLink.dead) return new Promise(() => {});
      attempts.push({ url: String(url), at_ms: clock.now(), context });
      const { error, retry, ms = 10, cost_micros = 5 } = await script.run(String(url), context);
      await new Promise<void>((resolve) => {
        const alarm = clock.at(clock.now() + ms, resolve);
        context.signal.addEventListener("abort", () => {
          alarm[Symbol.dispose]();
          resolve();
        });
      });
      const failure = context.signal.aborted ? "timeout" : (error ?? null);
      return {
        answer: { text: `${String(url)} by ${context.attempt_id}` },
        error: failure,
        bill: {
          category: "fetch_own",
          ok: failure === null,
          bytes: 100,
          paid: false,
          cost_micros: context.signal.aborted && !script.costs_when_aborted ? 0 : cost_micros,
        },
        // All pages of a host have the same text.
        body_refs: [
          createHash("sha256")
            .update(URL.parse(String(url))?.hostname ?? "")
            .digest("hex"),
        ],
        retry: retry ?? null,
      };
    },
  });

  function start(): void {
    link = { ...newLink(), calm: chances === undefined };
    const { documents } = faulty(link, clock, random, { ...NO_FAULTS, ...chances });
    const nodeDocuments = documents(stored);
    const telemetry = silentTelemetry();
    const { metrics, log } = telemetry;
    const items = kind(link);
    const added = more({ documents: nodeDocuments, clock, log, items });
    const kinds = [items, ...added.kinds];
    cluster = embedded(
      [
        accountActor(),
        schedulerActor(capacity),
        jobActor({
          documents: nodeDocuments,
          clock,
          random,
          metrics,
          log,
          egress,
          secrets,
          async findPayer() {
            if (!payer.isReadable) throw new Fault("documents_unreachable", "The key cannot be read");
            return priced ?? payer.now;
          },
          ...(priced && {
            charges: spending({ findPayer: async () => priced, documents: nodeDocuments, clock, log }),
          }),
          spentBy: async (request_id) => script.spent_micros.get(request_id) ?? 0,
          kinds,
          ...(freeze && { freeze }),
          ...(jobs_board && { board: jobs_board }),
          onTurn: recorder.onTurn,
        }),
        ...actors,
        ...added.actors,
      ],
      { clock, random, documents: nodeDocuments, metrics, log },
    );
  }
  start();

  const specOf = (job_id: string, total: number, given: Partial<JobSpec> = {}): JobSpec => ({
    kind: "fetch",
    customer: "default",
    project: "default",
    category: "fetch",
    key_prefix: "sk_aaaaaaa",
    idempotency_doc: `default:${job_id}`,
    callback_url: null,
    total,
    created_ms: clock.now(),
    ...given,
  });

  const record = async (job_id: string) => (await stored.get("job", job_id))?.value as JobRecord | undefined;

  async function results(job_id: string): Promise<Map<number, StoredResult>> {
    const byItem = new Map<number, StoredResult>();
    for (let [from, to] = jobRange(job_id); ;) {
      const page = await stored.list("job_results", { from, to, limit: 1_000 });
      for (const { key, value } of page) byItem.set(Number(key.split(":")[1]), value as StoredResult);
      if (page.length < 1_000) return byItem;
      from = `${page.at(-1)!.key}\0`;
    }
  }

  return {
    clock,
    stored,
    attempts,
    egress,
    script,
    payer,
    start,
    record,
    results,
    specOf,
    /** The unfinished jobs, as the operator sees them. */
    unfinished: () => recorder.list(clock.now()),
    ask: ((...words) => cluster.ask(...words)) as Cluster["ask"],
    /** Whether the node reaches the document store. */
    cutStore: (isCut: boolean) => void (link.cutStore = isCut),
    /** Like kill -9: nothing the node still does has an effect. */
    kill() {
      link.dead = true;
    },
    /** Creates a job as a gateway does, up to a step. */
    async create(
      job_id: string,
      urls: readonly string[],
      given: Partial<JobSpec> = {},
      until: "opened" | "written" | "named" | "begun" = "begun",
    ): Promise<string> {
      await cluster.ask(Job, job_id, "open", specOf(job_id, urls.length, given));
      if (until === "opened") return job_id;
      for (let from = 0; from < urls.length; from += CHUNK_ITEMS) {
        const items = urls.slice(from, from + CHUNK_ITEMS).map((url) => ({ url }));
        const chunk: Chunk = { items, chars: JSON.stringify(items).length };
        await stored.put("job_items", chunkKey(job_id, from), chunk, 0);
      }
      if (until === "written") return job_id;
      await stored.put(
        "job_idempotency_keys",
        `default:${job_id}`,
        { job_id, kind: "fetch", total: urls.length },
        0,
      );
      if (until === "named") return job_id;
      await cluster.ask(Job, job_id, "begin", null);
      return job_id;
    },
    counts: async (job_id: string): Promise<JobCounts> => (await record(job_id))!.counts,
    /** The invariants of a job as it is stored now. */
    async invariants(job_id: string) {
      const job = (await record(job_id))!;
      const frozen = await Array.fromAsync(frozenStates(stored, job_id, job));
      return checkInvariants(job, await results(job_id), frozen);
    },
    /** Units of the quota that the key's account has settled and reserved. */
    async quota() {
      const account = "default default sk_aaaaaaa";
      const { settled, reserved } = await cluster.ask(Account, account, "allowances", {
        month: monthOf(clock.now()),
      });
      return { settled: settled.fetch, reserved: reserved.fetch };
    },
    /** Charges that each account of the key, its project and its customer has settled and reserved. */
    charges: () =>
      Promise.all(
        ["default default sk_aaaaaaa", "default default", "default"].map(async (account) => {
          const month = { month: monthOf(clock.now()), basis: "charge" as const };
          const { settled, reserved } = await cluster.ask(Account, account, "allowances", month);
          return { settled: settled.spend_micros, reserved: reserved.spend_micros };
        }),
      ),
    /** The rows of the ledger. A row that is there twice fails. */
    async metered(): Promise<number> {
      const batches = await stored.list("ledger", { limit: 1_000 });
      const rows = batches.flatMap(({ value }) => rowsOf(value as LedgerBatch));
      if (new Set(rows.map(({ request_id }) => request_id)).size < rows.length)
        throw new Error("A row of the ledger was written twice");
      return rows.length;
    },
    /** Advances the clock until the job is finished. */
    async finished(job_id: string, within_ms = 3_600_000): Promise<JobRecord> {
      for (const ends_ms = clock.now() + within_ms; clock.now() < ends_ms; await clock.advance(250)) {
        const current = await record(job_id);
        if (current?.finished_ms != null) return current;
      }
      throw new Error(`The job is not finished: ${JSON.stringify((await record(job_id))?.counts)}`);
    },
  };
}

/** A key whose customer has a price for what an item is billed as; key, project and customer have the same limit. */
function pricedPayer({ price_micros, limit_micros }: NonNullable<JobsOptions["charged"]>) {
  const quotas = { search: null, fetch: null };
  const prices = [{ from: "2026-11", per_request: { fetch_paid: price_micros } }];
  return {
    key: { prefix: "sk_aaaaaaa", status: "active", quotas, spend_cap_micros: limit_micros },
    project: { name: "default", budget_micros: limit_micros },
    customer: { name: "default", status: "active", prices, budget_micros: limit_micros },
    spend_limits: [],
  } as unknown as FoundPayer;
}

/** `count` pages on `hosts` sites, in turn. */
export const pages = (count: number, hosts = 1): string[] =>
  Array.from({ length: count }, (_, n) => `http://site-${n % hosts}.example/${n}`);
