/** A power cut under the whole program: what it acknowledged is there, and what the disk harmed is found and fetched anew. */
import { createHash } from "node:crypto";
import { renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { damageBody } from "../harness/damage-body.ts";
import { client } from "../harness/jobs-client.ts";
import { type PowerCut, powerCut, powerCutProblem, unavailable } from "../harness/power-cut.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article } from "../harness/web.ts";

const ITEMS = 24;
const digest = (content: Buffer): string => createHash("sha256").update(content).digest("hex");
describe.skipIf(powerCutProblem !== null)(`after a power cut${unavailable}`, () => {
  const { start } = SETUPS.find(({ setup }) => setup === "embedded")!;
  let cut: PowerCut | null = null;
  const { sites, service } = scenario(start, () => {
    cut = powerCut();
    return { ...cut.environment, TRAWL_DATA_DIR: join(cut.root, "data") };
  });
  afterAll(() => cut?.remove());

  test("pages, bodies, bills, a job and its items are as they were acknowledged", async () => {
    const jobs = client(service);
    const site = sites.site({ "*": (request) => ({ body: article(`Page ${request.path}`) }) });
    const fetched = await Promise.all(
      Array.from({ length: 6 }, (_, n) => service.fetch({ url: `${site.origin}/fetched-${n}` })),
    );
    const items = Array.from({ length: ITEMS }, (_, n) => ({ url: `${site.origin}/item-${n}` }));
    const created = await jobs.create(items, { idempotency_key: "before the cut" });
    expect(created.status).toBe(202);
    const { job_id } = created.json;
    const done = () => jobs.read(job_id).then(({ counts }) => counts.done);
    await expect.poll(done, { timeout: 20_000, interval: 5 }).toBeGreaterThan(ITEMS / 3);
    const shown = (await jobs.items(job_id)).filter(({ status }) => status === "done");
    const { used } = (await service.call("GET", "/v1/quota")).json.project.requests.fetch;
    await service.kill();

    const data = join(cut!.root, "data");
    const restored = cut!.restore();
    rmSync(data, { recursive: true });
    renameSync(join(restored, "data"), data);
    await service.restart();

    for (const { sha256, body_url } of fetched) {
      const body = await service.call("GET", body_url!);
      expect([body.status, digest(body.bytes)]).toEqual([200, sha256]);
    }
    const again = await jobs.create(items, { idempotency_key: "before the cut" });
    expect(again.json).toMatchObject({ job_id, created: false });
    const results = new Map((await jobs.items(job_id)).map((item) => [item.index, item]));
    for (const { index, result } of shown)
      expect(results.get(index)).toMatchObject({
        status: "done",
        result: { sha256: (result as { sha256: string }).sha256 },
      });
    expect((await jobs.finished(job_id)).counts).toMatchObject({ total: ITEMS, done: ITEMS });
    expect((await service.trawl("job", "verify", job_id)).problems).toEqual([]);
    const usedNow = async () => (await service.call("GET", "/v1/quota")).json.project.requests.fetch.used;
    await expect.poll(usedNow, { timeout: 10_000 }).toBeGreaterThanOrEqual(used);
  });

  test("a page whose body is torn is fetched again, and its body is whole", async () => {
    const body = article("Torn", "The keeper wrote down each ship that passed. ".repeat(6_000));
    const site = sites.site({ "/": { body, headers: { "cache-control": "max-age=86400" } } });
    const request = { url: `${site.origin}/` };
    const first = await service.fetch(request);
    expect(await service.fetch(request)).toMatchObject({ cached: true });
    await service.kill();
    for (const sha256 of [digest(Buffer.from(first.text)), first.sha256!]) {
      damageBody(join(cut!.root, "data", "bodies"), sha256, (stored) => stored.subarray(0, 100));
    }
    await service.restart();

    const again = await service.fetch(request);
    expect(again).toMatchObject({ cached: false, error: null, text: first.text });
    const stored = await service.call("GET", again.body_url!);
    expect([stored.status, digest(stored.bytes)]).toEqual([200, first.sha256]);
    expect(site.hits("/")).toBe(2);
  });
});
