/** `trawl backup` beside a service under load, and `trawl restore`: the restored service answers the same. */
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { restore } from "../../ops/backup.ts";
import { readConfig } from "../../ops/config.ts";
import { secretsPath } from "../../ops/secrets.ts";
import { embeddedFiles } from "../../ops/stores.ts";
import { client } from "../harness/jobs-client.ts";
import { scenario } from "../harness/scenario.ts";
import { type Service, SETUPS } from "../harness/service.ts";
import { article } from "../harness/web.ts";

const { start } = SETUPS.find(({ setup }) => setup === "embedded")!;
const folder = mkdtempSync(join(tmpdir(), "trawl-backup-scenario-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("a backup of a running service", () => {
  const { sites, service } = scenario(start);

  test("is restored to one that answers the same: pages, bodies, jobs, keys, the ledger and the search", async () => {
    const large = Buffer.alloc(300_000, "All the same.\n");
    const site = sites.site({
      "/a": { body: article("The heron at the weir") },
      "/large": { type: "text/plain", body: large },
      "*": { body: article("Another page") },
    });
    const fetched = await service.fetch({ url: `${site.origin}/a` });
    const { body_url } = await service.fetch({ url: `${site.origin}/large` });
    const jobs = client(service);
    const { job_id } = (await jobs.create([{ url: `${site.origin}/a` }, { url: "nonsense" }])).json;
    const job = await jobs.finished(job_id);
    const { key } = await service.trawl("key", "create", "--project", "default", "--quota", "fetch=5");

    // Fetches that come while the backup runs may be in it or not.
    const load = { isOver: false };
    const loading = (async () => {
      for (let n = 0; !load.isOver; n++) await service.fetch({ url: `${site.origin}/load/${n}` });
    })();
    const backup = join(folder, "backup");
    const { bodies, damaged } = await service.trawl("backup", backup);
    load.isOver = true;
    await loading;
    expect(damaged).toEqual([]);
    expect(bodies.count).toBeGreaterThanOrEqual(2);
    const hits = site.hits("/a");

    const restored_to = join(folder, "restored");
    const environment = { TRAWL_DATA_DIR: restored_to, TRAWL_DNS_SERVERS: sites.dns };
    let restored: Service | null = null;
    try {
      const config = readConfig({ ...service.environment, ...environment });
      await restore(embeddedFiles(config)!, backup, secretsPath(config));
      // The key of stored secrets is no part of a backup.
      await expect(start(environment)).rejects.toThrow(
        /Cannot use the stored secrets: .*TRAWL_SECRETS_KEY_FILE/,
      );
      copyFileSync(secretsPath(readConfig(service.environment)), secretsPath(config));
      restored = await start(environment);
      const again = await restored.fetch({ url: `${site.origin}/a` });
      expect(again).toMatchObject({
        cached: true,
        text: fetched.text,
        sha256: fetched.sha256,
        title: fetched.title,
      });
      expect(site.hits("/a")).toBe(hits);
      expect((await restored.call("GET", body_url!)).bytes.equals(large)).toBe(true);
      const { updated_at: _, ...same } = job;
      expect(await client(restored).finished(job_id)).toMatchObject(same);
      expect(await client(restored).items(job_id)).toEqual(await jobs.items(job_id));
      expect((await restored.call("GET", "/v1/quota", { key })).status).toBe(200);
      const rows = (await restored.call("GET", "/v1/requests?limit=1000")).json.items as {
        request_id: string;
      }[];
      expect(rows.map(({ request_id }) => request_id)).toContain(fetched.request_id);
      const found = await restored.call("POST", "/v1/search", { body: { query: "heron weir" } });
      expect(found.json.results[0]).toMatchObject({ url: `${site.origin}/a` });
    } finally {
      await restored?.close();
    }
  });
});
