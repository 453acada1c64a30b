/** A disk that is full, of the service itself and of its S3: small file systems in memory, filled to the last page. */
import { spawnSync } from "node:child_process";
import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Engine } from "../../ops/engines/engine.ts";
import { ownEngine } from "../harness/engines.ts";
import { type Service, SETUPS } from "../harness/service.ts";
import { article, type Web, web } from "../harness/web.ts";

const { start } = SETUPS.find(({ setup }) => setup === "embedded")!;
/** Time under load with a full disk: FULL_DISK_S=30 for a soak. */
const FULL_MS = 1_000 * Number(process.env["FULL_DISK_S"] ?? 4);
const BACK_MS = 5_000;

interface SmallDisk {
  readonly path: string;
  readonly fill: () => void;
  readonly free: () => void;
  readonly unmount: () => void;
}

/** Null where this process may not mount anything. */
function smallDisk(size: string): SmallDisk | null {
  const path = mkdtempSync(join(tmpdir(), "trawl-disk-"));
  const mount = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${size},mode=700`, "tmpfs", path]);
  if (mount.status !== 0) {
    rmSync(path, { recursive: true });
    return null;
  }
  const filler = join(path, "filler");
  return {
    path,
    fill() {
      const file = openSync(filler, "a");
      try {
        for (const page = Buffer.alloc(4_096, "x"); ;) writeSync(file, page);
      } catch (problem) {
        expect((problem as NodeJS.ErrnoException).code).toBe("ENOSPC");
      } finally {
        fsyncSync(file);
        closeSync(file);
      }
    },
    free: () => rmSync(filler),
    unmount() {
      spawnSync("umount", ["-l", path]);
      rmSync(path, { recursive: true, force: true });
    },
  };
}

const trial = smallDisk("1m");
trial?.unmount();

describe.skipIf(trial === null)("a full disk (needs the right to mount)", () => {
  let disk: SmallDisk | null = null;
  let sites: Web | null = null;
  let service: Service | null = null;
  let engine: Engine | null = null;
  const pages = Object.fromEntries(
    Array.from({ length: 400 }, (_, n) => [`/${n}`, { body: article(`Page ${n}`) }]),
  );
  let asked = 0;

  beforeAll(async () => {
    sites = await web();
  });
  afterAll(async () => {
    await service?.close();
    await engine?.stop();
    await sites?.close();
    disk?.unmount();
  });

  /** Fetches new pages and creates jobs until `isOver`, and gives every answer's status and detail. */
  async function load(origin: string, isOver: () => boolean) {
    const answers: { readonly status: number; readonly detail: unknown; readonly body_url: string | null }[] =
      [];
    while (!isOver()) {
      const url = `${origin}/${asked++ % 400}`;
      const [page, job] = await Promise.all([
        service!.call("POST", "/v1/fetch", { body: { url } }),
        service!.call("POST", "/v1/batch/fetch", {
          body: { idempotency_key: `k${asked}`, items: [{ url }] },
        }),
      ]);
      for (const { status, json } of [page, job])
        answers.push({
          status,
          detail: json?.detail ?? json?.error ?? null,
          body_url: json?.body_url ?? null,
        });
      await sleep(20);
    }
    return answers;
  }

  async function isBack(origin: string): Promise<boolean> {
    const { status } = await service!.call("GET", "/ready", { key: null });
    if (status !== 200) return false;
    return (await service!.fetch({ url: `${origin}/${asked++ % 400}` }).catch(() => null))?.http === 200;
  }

  /** What clients see before, while and after the disk is full, each fact once. */
  async function fillAndFree(check: string) {
    const { origin } = sites!.site(pages);
    const before = await service!.fetch({ url: `${origin}/${asked++}` });
    disk!.fill();
    const over_ms = performance.now() + FULL_MS;
    const answers = await load(origin, () => performance.now() > over_ms);
    const refused = answers.filter(({ status }) => status !== 200 && status !== 202);
    const { status, json } = await service!.call("GET", "/ready", { key: null });
    disk!.free();
    await expect.poll(() => isBack(origin), { timeout: BACK_MS }).toBe(true);
    const stored = await Promise.all(
      answers.flatMap(({ body_url }) => (body_url === null ? [] : [service!.call("GET", body_url)])),
    );
    return {
      before: before.error,
      refused: new Set(refused.map((answer) => `${answer.status} ${String(answer.detail)}`)),
      ready: `${status} ${json.checks[check]}`,
      // What was answered with 200 meanwhile is stored.
      lost: stored.filter((body) => body.status !== 200).length,
    };
  }

  test("of the service is 503 with its reason, /ready names it, and everything is back within five seconds", async () => {
    disk = smallDisk("24m")!;
    service = await start({
      TRAWL_DATA_DIR: disk.path,
      TRAWL_DNS_SERVERS: sites!.dns,
    });
    const { before, refused, ready, lost } = await fillAndFree("documents");
    expect({ before, ready, lost }).toEqual({ before: null, ready: "503 full", lost: 0 });
    expect(
      [...refused].filter((told) => !/^503 (document|object) storage is full, try again$/.test(told)),
    ).toEqual([]);
    expect(refused.size).toBeGreaterThan(0);
    await service.close();
    disk.unmount();
    service = disk = null;
  });

  test("of S3 is 503 as well", async ({ skip, annotate }) => {
    disk = smallDisk("24m")!;
    const tmp = process.env["TMPDIR"];
    process.env["TMPDIR"] = disk.path;
    try {
      engine = await ownEngine("blobs");
    } finally {
      if (tmp === undefined) delete process.env["TMPDIR"];
      else process.env["TMPDIR"] = tmp;
    }
    if (engine === null || !engine.title.includes("versitygw")) {
      await annotate("no S3 store that keeps its bodies in files");
      skip();
    }
    service = await start({ ...engine!.settings, TRAWL_DNS_SERVERS: sites!.dns });
    const { before, refused, ready, lost } = await fillAndFree("object_storage");
    expect({ before, lost }).toEqual({ before: null, lost: 0 });
    expect(ready).toMatch(/^503 (full|unavailable)$/);
    expect(
      [...refused].filter(
        (told) => !/^503 object storage is (full|briefly unavailable), try again$/.test(told),
      ),
    ).toEqual([]);
    expect(refused.size).toBeGreaterThan(0);
  });
});
