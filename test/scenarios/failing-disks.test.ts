/** Disks that are full, read-only or slow, of the service itself and of its S3, while requests come. */
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Engine } from "../../ops/engines/engine.ts";
import { ownEngine } from "../harness/engines.ts";
import { type FaultyDisk, faultyDisk } from "../harness/faulty-disk.ts";
import { duringOutage, OUTAGE_TEST_MS } from "../harness/outage.ts";
import { powerCutProblem, unavailable } from "../harness/power-cut.ts";
import { type Service, SETUPS } from "../harness/service.ts";
import { hasSmallDisks, onDisk, type SmallDisk, smallDisk } from "../harness/small-disk.ts";
import { article, type Web, web } from "../harness/web.ts";

const { start } = SETUPS.find(({ setup }) => setup === "embedded")!;
/** Larger than the pages that SQLite may still have room for. */
const SMALL = "24m";

let sites: Web;
let origin: string;
beforeAll(async () => {
  sites = await web();
  ({ origin } = sites.site({
    "*": ({ path }) => ({ body: article(`Page ${path}`) }),
    "/robots.txt": { status: 404 },
  }));
});
afterAll(() => sites?.close());

describe.skipIf(!hasSmallDisks())("a full disk (needs the right to mount)", () => {
  let disk: SmallDisk | null = null;
  let service: Service | null = null;
  let engine: Engine | null = null;
  afterEach(async () => {
    await service?.close();
    await engine?.stop();
    disk?.unmount();
    service = engine = disk = null;
  });

  test(
    "of the service is 503 with its reason, /ready names it, and everything is back within five seconds",
    async () => {
      const full = (disk = smallDisk(SMALL)!);
      service = await start({ TRAWL_DATA_DIR: full.path, TRAWL_DNS_SERVERS: sites.dns });
      const outage = { check: "documents", begin: full.fill, end: full.free };
      const { ready, told, lost, late } = await duringOutage(service, origin, outage);
      expect({ ready, lost, late }).toEqual({ ready: "503 full", lost: 0, late: 0 });
      expect(told.filter((text) => !/^503 (document|object) storage is full, try again$/.test(text))).toEqual(
        [],
      );
      expect(told.length).toBeGreaterThan(0);
    },
    OUTAGE_TEST_MS,
  );

  test(
    "of S3 is 503 as well",
    async ({ skip, annotate }) => {
      const full = (disk = smallDisk(SMALL)!);
      engine = await onDisk(full, () => ownEngine("blobs"));
      if (engine === null || !engine.title.includes("versitygw")) {
        await annotate("no S3 store that keeps its bodies in files");
        skip();
      }
      service = await start({ ...engine!.settings, TRAWL_DNS_SERVERS: sites.dns });
      const outage = { check: "object_storage", begin: full.fill, end: full.free };
      const { ready, told, lost, late } = await duringOutage(service, origin, outage);
      expect({ lost, late }).toEqual({ lost: 0, late: 0 });
      expect(ready).toMatch(/^503 (full|unavailable)$/);
      const said = /^503 object storage is (full|briefly unavailable), try again$/;
      expect(told.filter((text) => !said.test(text))).toEqual([]);
      expect(told.length).toBeGreaterThan(0);
    },
    OUTAGE_TEST_MS,
  );
});

describe.skipIf(powerCutProblem !== null)(`a disk${unavailable}`, () => {
  let disk: FaultyDisk;
  let service: Service;
  beforeAll(async () => {
    disk = faultyDisk();
    service = await start({
      ...disk.environment,
      TRAWL_DATA_DIR: join(disk.root, "data"),
      TRAWL_DNS_SERVERS: sites.dns,
      TRAWL_STATUS_PERIOD_S: "2",
    });
  });
  afterAll(async () => {
    await service?.close();
    disk?.remove();
  });

  test(
    "that turns read-only is 503 with its reason, and everything is back within five seconds after it",
    async () => {
      const outage = { check: "documents", begin: disk.turnReadOnly, end: disk.heal };
      const { ready, told, lost, late } = await duringOutage(service, origin, outage);
      expect({ ready, lost, late }).toEqual({ ready: "503 read_only", lost: 0, late: 0 });
      const said = /^503 (document|object) storage is read-only, try again$/;
      expect(told.filter((text) => !said.test(text))).toEqual([]);
      expect(told.length).toBeGreaterThan(0);
    },
    OUTAGE_TEST_MS,
  );

  test(
    "that takes 200 ms for each write is slow: what is not answered in time says so, and what was answered is stored",
    async () => {
      const outage = { check: "documents", begin: () => disk.slow(200), end: disk.heal };
      const { told, lost, answers } = await duringOutage(service, origin, outage);
      expect(lost).toBe(0);
      // 503 before the work has begun, 504 when it goes on.
      expect(told.filter((text) => !/^50[34] /.test(text))).toEqual([]);
      expect(answers).toBeGreaterThan(0);
    },
    OUTAGE_TEST_MS,
  );

  test("that takes no writes is lag and a stalled scheduler in the public status, until it takes them again", async () => {
    const answered = Promise.withResolvers<void>();
    const page = async () => (await answered.promise, { body: article("Held") });
    const items = [1, 2, 3, 4, 5, 6];
    const held = items.map(() => sites.site({ "*": page, "/robots.txt": { status: 404 } }));
    for (const [n, site] of held.entries()) {
      const body = {
        idempotency_key: `held-${n}`,
        items: items.map((item) => ({ url: `${site.origin}/${item}` })),
      };
      expect((await service.call("POST", "/v1/batch/fetch", { body })).status).toBe(202);
    }
    // Which of a job's pages comes first is chance, and a node whose pages take long lets few be loaded at a time.
    const withPage = () => held.filter(({ arrivals }) => arrivals.some(({ path }) => path !== "/robots.txt"));
    await expect.poll(() => withPage().length, { timeout: 40_000 }).toBeGreaterThanOrEqual(2);
    disk.turnReadOnly();
    // Domains and jobs cannot store what comes now.
    answered.resolve();
    const shown = async () => {
      const { components } = (await service.call("GET", "/v1/status", { key: null })).json;
      return Object.fromEntries(
        components.map(({ id, status, reasons }: any) => [id, [status, ...reasons].join(" ")]),
      );
    };
    const drawn = { timeout: 90_000, interval: 700 };
    await expect.poll(shown, drawn).toMatchObject({
      fetch: expect.stringContaining("queue_lag"),
      batch_jobs: expect.stringContaining("scheduler_stalled"),
      storage: expect.stringContaining("database_unreachable"),
    });
    disk.heal();
    await expect.poll(shown, drawn).toMatchObject({
      fetch: expect.not.stringContaining("queue_lag"),
      batch_jobs: "operational",
      storage: "operational",
    });
  }, 240_000);
});
