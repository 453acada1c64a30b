/** Load on a service whose store or disk fails, and what its callers see of that. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { HttpResponse } from "./http-response.ts";
import type { Service } from "./service.ts";

/** How long an outage lasts under load: OUTAGE_S=30 for a soak, which wants a machine that does nothing else. */
const soak_s = process.env["OUTAGE_S"];
const OUTAGE_MS = 1_000 * Number(soak_s ?? 2);
/** For the test of an outage, with its start and its end on a busy machine. */
export const OUTAGE_TEST_MS = 180_000 + 4 * OUTAGE_MS;
/** Everything works again five seconds after it; a busy machine may take longer. */
const BACK_MS = soak_s === undefined ? 30_000 : 5_000;
/** A request that waits for a store is answered after three seconds; a busy machine may take longer. */
const DEADLINE_MS = soak_s === undefined ? 25_000 : 10_000;
/** Between two requests of the load. */
const PAUSE_MS = 50;

interface Answer {
  readonly status: number;
  readonly detail: string;
  readonly ms: number;
  /** Address of the acknowledged body or job; null: nothing was acknowledged. */
  readonly stored: string | null;
}

/** Facts that were seen, each once. */
export interface OutageSeen {
  /** Answer of /ready at the end of the outage: its status, and its check of the store that fails. */
  readonly ready: string;
  /** Statuses and details that were no success. */
  readonly told: readonly string[];
  /** Successes whose body or job is not there afterwards. */
  readonly lost: number;
  /** Answers that took longer than the service may wait for a store. */
  readonly late: number;
  readonly answers: number;
}

let asked = 0;

/** A fetch of a new page, and a job with it. */
async function ask(service: Service, origin: string): Promise<Answer[]> {
  const url = `${origin}/${asked++}`;
  const calls = [
    ["/v1/fetch", { url }],
    ["/v1/batch/fetch", { idempotency_key: `k${asked}`, items: [{ url }] }],
  ] as const;
  return Promise.all(
    calls.map(async ([path, body]) => {
      const began_ms = performance.now();
      const { status, json } = await service.call("POST", path, { body });
      const job = json?.job_id === undefined ? null : `/v1/jobs/${json.job_id}`;
      return {
        status,
        detail: String(json?.detail ?? json?.error ?? null),
        ms: performance.now() - began_ms,
        stored: status < 300 ? (json?.body_url ?? job) : null,
      };
    }),
  );
}

/** Whether the service is ready and answers a fetch and a job. */
export async function isBack(service: Service, origin: string): Promise<boolean> {
  const { status } = await service.call("GET", "/ready", { key: null });
  return status === 200 && (await ask(service, origin)).every((answer) => answer.status < 300);
}

/** The answer of a GET once the rate limit of the project allows it. */
async function inRate(service: Service, path: string): Promise<HttpResponse> {
  for (;;) {
    const answer = await service.call("GET", path);
    if (answer.status !== 429) return answer;
    await sleep(1_000);
  }
}

/**
 * The status of /ready and what it says of the store, as soon as it is what was expected, or else what it is after 25 s: while
 * connections break and are made again, a store is unreachable before it refuses.
 */
async function readiness(
  service: Service,
  { check, ready: expected }: { readonly check: string; readonly ready?: string },
): Promise<string> {
  for (const ends_ms = performance.now() + DEADLINE_MS; ; await sleep(PAUSE_MS)) {
    const { status, json } = await service.call("GET", "/ready", { key: null });
    const ready = `${status} ${json.checks[check]}`;
    if (expected === undefined || ready === expected || performance.now() > ends_ms) return ready;
  }
}

/**
 * Fetches new pages of a site that answers every path, and creates jobs, while the store fails; then waits until everything
 * works again.
 */
export async function duringOutage(
  service: Service,
  origin: string,
  outage: {
    readonly check: string;
    /** How /ready should tell of the outage before it ends. Absent: as it does after the load. */
    readonly ready?: string;
    readonly begin: () => void;
    readonly end: () => void;
  },
): Promise<OutageSeen> {
  outage.begin();
  const running: Promise<Answer[]>[] = [];
  for (const over_ms = performance.now() + OUTAGE_MS; performance.now() < over_ms; await sleep(PAUSE_MS))
    running.push(ask(service, origin));
  const answers = (await Promise.all(running)).flat();
  const ready = await readiness(service, outage);
  outage.end();
  const ended_ms = performance.now();
  await expect.poll(() => isBack(service, origin), { timeout: BACK_MS, interval: 100 }).toBe(true);
  const back_ms = Math.round(performance.now() - ended_ms);
  const stored = answers.flatMap(({ stored: at }) => (at === null ? [] : [at]));
  const found = await Promise.all(stored.map((path) => inRate(service, path)));
  const seen: OutageSeen = {
    ready,
    told: [
      ...new Set(
        answers.filter(({ status }) => status >= 300).map(({ status, detail }) => `${status} ${detail}`),
      ),
    ],
    lost: found.filter(({ status }) => status !== 200).length,
    late: answers.filter(({ ms }) => ms > DEADLINE_MS).length,
    answers: answers.length,
  };
  if (soak_s !== undefined) process.stdout.write(`${JSON.stringify({ ...seen, back_ms })}\n`);
  return seen;
}
