/**
 * kill -9 of everything at each step of a job, on the engines themselves: nothing is lost, no item is settled
 * or billed twice, and nothing that was known is fetched again. The step is seen in the stores within a millisecond or two.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Documents } from "../../cluster/ports/documents.ts";
import { readConfig } from "../../ops/config.ts";
import { openDocuments } from "../../ops/stores.ts";
import type { JobRecord } from "../../schemas/jobs.ts";
import { client, receiver, type Receiver } from "../harness/jobs-client.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article, type Site } from "../harness/web.ts";

const ITEMS = 12;
const SITES = 3;
const MAX_STEP_MS = 60_000;

interface Scene {
  readonly documents: Documents;
  readonly job_id: string;
  readonly made: readonly Site[];
  readonly hook: Receiver;
}

const jobOf = async ({ documents, job_id }: Scene): Promise<JobRecord | null> =>
  ((await documents.get("job", job_id))?.value as JobRecord | undefined) ?? null;
const resultsOf = async ({ documents, job_id }: Scene) =>
  documents.list("job_results", { from: `${job_id}:`, to: `${job_id};`, limit: 100 });
/** Pages of other jobs are there, too. */
const storedOf = async ({ documents, made }: Scene): Promise<boolean> =>
  (await documents.list("pages", { limit: 1_000 })).some(({ value }) =>
    made.some(({ origin }) => (value as { url: string }).url.startsWith(origin)),
  );

/** Whether the job has come so far. */
const STEPS: Record<string, (scene: Scene) => boolean | Promise<boolean>> = {
  "it was admitted": async (scene) => (await jobOf(scene)) !== null,
  "a slot was granted and a page asked for": ({ made }) => made.some((site) => site.arrivals.length > 1),
  "a body and its page were stored": storedOf,
  "a result was stored": async (scene) => (await resultsOf(scene)).length > 0,
  "an item was settled": async (scene) => ((await jobOf(scene))?.counts.done ?? 0) > 0,
  "it was completed": async (scene) => (await jobOf(scene))?.phase === "completed",
  "its callback was sent": ({ hook }) => hook.received.length > 0,
};

describe.each(SETUPS)("a job killed when", ({ setup, start }) => {
  const { sites, service } = scenario(start);
  let documents: Documents;
  beforeAll(async () => {
    documents = await openDocuments(readConfig(service.environment));
  });
  afterAll(() => documents?.close());

  const used = async (): Promise<number> =>
    (await service.call("GET", "/v1/quota")).json.project.requests.fetch.used;

  test.each(Object.entries(STEPS))(`%s, ${setup}`, { timeout: 240_000 }, async (step, isThere) => {
    const jobs = client(service);
    const page = async () => {
      await sleep(120);
      return { body: article("A page") };
    };
    const made = Array.from({ length: SITES }, () => sites.site({ "*": page }));
    const urls = Array.from({ length: ITEMS }, (_, n) => `${made[n % SITES]!.origin}/${n}`);
    const hook = await receiver(step === "its callback was sent" ? null : 204);
    const before = await used();
    const created = await jobs.create(
      urls.map((url) => ({ url })),
      { callback_url: hook.url },
    );
    const { job_id } = created.json;
    const scene = { documents, job_id, made, hook };
    for (const began = performance.now(); !(await isThere(scene)); await sleep(1))
      if (performance.now() - began > MAX_STEP_MS) throw new Error(`It never comes so far that ${step}`);
    await service.kill();
    const sent = hook.received.length;
    const settled = new Set(
      (await resultsOf(scene)).map(({ key }) => Number(key.slice(key.indexOf(":") + 1))),
    );
    hook.status = 204;
    await service.restart();

    expect((await jobs.finished(job_id, 120_000)).counts).toMatchObject({
      total: ITEMS,
      done: ITEMS,
      failed: 0,
    });
    const hits = urls.map((url, n) => made[n % SITES]!.hits(new URL(url).pathname));
    for (const [index, many] of hits.entries()) {
      expect(many).toBeGreaterThanOrEqual(1);
      // In flight at that moment, at most; what had a result is known.
      expect(many).toBeLessThanOrEqual(settled.has(index) ? 1 : 2);
    }
    expect((await service.trawl("job", "verify", job_id)).problems).toEqual([]);
    await expect.poll(used, { timeout: 30_000, interval: 200 }).toBe(before + ITEMS);

    const outcome = () => jobs.read(job_id).then(({ callback_status }) => callback_status);
    await expect.poll(outcome, { timeout: 60_000, interval: 200 }).toBe("delivered_204");
    // Once more when the node was killed before it knew that the callback had arrived.
    expect(hook.received.length).toBeGreaterThanOrEqual(step === "its callback was sent" ? 2 : 1);
    expect(hook.received.length).toBeLessThanOrEqual(sent + 1);
    for (const call of hook.received) expect(call).toEqual(hook.received[0]);
    hook.server.close();
  });
});
