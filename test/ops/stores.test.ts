/** The service on MongoDB and S3: one process, the stores of a cluster. */
import { randomBytes } from "node:crypto";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { sqliteBlobs } from "../../cluster/adapters/blobs/blobs.sqlite.ts";
import { sqliteDocuments } from "../../cluster/adapters/documents/documents.sqlite.ts";
import { readConfig } from "../../ops/config.ts";
import { openBlobs, openDocuments } from "../../ops/stores.ts";
import { engines } from "../harness/engines.ts";
import { type Environment, type Service, SETUPS } from "../harness/service.ts";
import { article, web } from "../harness/web.ts";

const MAIN = new URL("../../ops/main.ts", import.meta.url).pathname;
const { documents, blobs } = await engines("documents", "blobs");

describe.skipIf(documents === null || blobs === null)("a service on MongoDB and S3", () => {
  test("fetches, answers from what is stored, serves bodies and knows keys made beside it, also after kill -9", async () => {
    const name = `t${randomBytes(8).toString("hex")}`;
    const folder = mkdtempSync(join(tmpdir(), "trawl-stores-"));
    const sites = await web();
    const page = article("Kept elsewhere");
    const large = randomBytes(2_500_000);
    const site = sites.site({
      "/": { body: page },
      "/large": { type: "application/octet-stream", body: large },
    });
    const environment: Environment = {
      ...documents,
      ...blobs,
      TRAWL_DOCUMENTS: documents!["TRAWL_DOCUMENTS"]!.replace(/^(\w+:\/\/[^/]+)[^?]*/, `$1/${name}`),
      TRAWL_BLOBS: `${blobs!["TRAWL_BLOBS"]}/${name}`,
      TRAWL_DNS_SERVERS: sites.dns,
      TRAWL_DATA_DIR: folder,
    };
    let service: Service | null = null;
    try {
      service = await SETUPS.find(({ setup }) => setup === "embedded")!.start(environment);
      expect(await service.fetch({ url: `${site.origin}/` })).toMatchObject({ cached: false, error: null });
      expect(await service.fetch({ url: `${site.origin}/` })).toMatchObject({ cached: true, error: null });
      const { body_url } = await service.fetch({ url: `${site.origin}/large` });
      expect((await service.call("GET", body_url!)).bytes.equals(large)).toBe(true);
      const part = await service.call("GET", body_url!, { headers: { range: "bytes=1000-1999" } });
      expect([part.status, part.bytes.equals(large.subarray(1_000, 2_000))]).toEqual([206, true]);
      expect((await service.call("GET", "/ready", { key: null })).json).toMatchObject({
        checks: { documents: "ok", object_storage: "ok" },
      });

      const { key } = await service.trawl("key", "create", "--project", "default");
      expect(await service.call("GET", "/v1/quota", { key })).toMatchObject({ status: 200 });

      // Open connections keep no process alive that could not start.
      const second = spawn(process.execPath, [MAIN, "start"], {
        env: {
          PATH: process.env["PATH"],
          ...environment,
          TRAWL_BUS: "memory",
          TRAWL_DATA_DIR: join(folder, "second"),
          TRAWL_SECRETS_KEY_FILE: join(folder, "secrets.key"),
          PORT: new URL(service.url).port,
        },
      });
      const stderr_lines = second.stderr.toArray();
      const [code] = await once(second, "exit");
      expect([code, Buffer.concat(await stderr_lines).toString()]).toEqual([
        1,
        expect.stringContaining("the address is taken"),
      ]);

      await service.kill();
      await service.restart();
      expect(await service.call("GET", "/v1/quota", { key })).toMatchObject({ status: 200 });
      expect(await service.fetch({ url: `${site.origin}/` })).toMatchObject({ cached: true, error: null });
      expect((await service.call("GET", body_url!)).bytes.equals(large)).toBe(true);

      // Documents and bodies of the cluster are not kept on this machine.
      expect(existsSync(join(folder, "documents.sqlite"))).toBe(false);
      expect(existsSync(join(folder, "bodies"))).toBe(false);
      expect(readdirSync(join(folder, "spool"))).toEqual([]);
    } finally {
      await service?.close();
      await sites.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe("stores in files", () => {
  const folder = mkdtempSync(join(tmpdir(), "trawl-stores-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  test.each([
    [
      "in the folder for data",
      { TRAWL_DATA_DIR: folder },
      join(folder, "documents.sqlite"),
      join(folder, "bodies"),
    ],
    [
      "where they are said to be",
      {
        TRAWL_DOCUMENTS: `sqlite:${join(folder, "here.sqlite")}`,
        TRAWL_BLOBS: `file:${join(folder, "there")}`,
      },
      join(folder, "here.sqlite"),
      join(folder, "there"),
    ],
  ])("are %s", async (_, environment, file, bodies_folder) => {
    const config = readConfig(environment);
    const [stored, store] = [await openDocuments(config), await openBlobs(config)];
    await stored.put("a", "b", 1, 0);
    const { sha256 } = await store.put(Buffer.from("c"));
    await stored.close();
    const again = sqliteDocuments(file);
    expect(await again.get("a", "b")).toEqual({ value: 1, version: 1 });
    await again.close();
    const bodies = sqliteBlobs(bodies_folder);
    expect(await bodies.head(sha256)).toEqual({ bytes: 1 });
    await bodies.close();
  });
});
