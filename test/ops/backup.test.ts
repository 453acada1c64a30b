/** trawl backup and restore on stores in a folder, while another process's connection goes on writing. */
import { createHash, randomBytes } from "node:crypto";
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { sqliteBlobs } from "../../cluster/adapters/blobs/blobs.sqlite.ts";
import { sqliteDocuments } from "../../cluster/adapters/documents/documents.sqlite.ts";
import { trawl } from "../../ops/cli.ts";
import { readConfig } from "../../ops/config.ts";
import { DATA_FORMAT } from "../../ops/data-format.ts";
import { claimData, openBlobs, openDocuments } from "../../ops/stores.ts";
import { bodyFile } from "../harness/damage-body.ts";

const folder = mkdtempSync(join(tmpdir(), "trawl-backup-"));
afterAll(() => rmSync(folder, { recursive: true }));
let count = 0;
const newFolder = (): string => join(folder, String(count++));

async function run(environment: Record<string, string>, ...words: string[]) {
  const output = { out: "", err: "", code: 0 };
  output.code = await trawl([...words], {
    environment,
    config: () => readConfig(environment),
    openDocuments: (config) => openDocuments(config),
    openNodeDirectory: () => Promise.reject(new Error("There is no bus here")),
    now: () => Date.UTC(2026, 10, 23),
    out: (line) => void (output.out += `${line}\n`),
    err: (line) => void (output.err += `${line}\n`),
    starting: () => Promise.reject(new Error("not here")),
    version: "0.0.0",
  });
  return output;
}

/** A data folder with documents and with bodies of all three forms: small, compressed, large and not compressible. */
async function filled() {
  const environment = { TRAWL_DATA_DIR: newFolder(), TRAWL_DURABILITY: "process" };
  const config = readConfig(environment);
  const documents = await openDocuments(config);
  const blobs = await openBlobs(config);
  const bodies = [Buffer.from("small"), Buffer.from("a page\n".repeat(100_000)), randomBytes(1_500_000)];
  const digests = [];
  for (const body of bodies) digests.push((await blobs.put(body)).sha256);
  for (let n = 0; n < 300; n++) await documents.put("pages", `page ${n}`, { n, sha256: digests[n % 3] }, 0);
  return { environment, config, documents, blobs, digests };
}

async function backedUp() {
  const world = await filled();
  const backup = newFolder();
  await world.documents.close();
  expect((await run(world.environment, "backup", backup)).code).toBe(0);
  return { ...world, backup };
}

describe("a backup", () => {
  test("made while the service writes has one moment of the documents, and every body that they name", async () => {
    const { environment, documents, blobs, digests } = await filled();
    const backup = newFolder();
    let isOver = false;
    // Each document names a body that was stored before it, and its predecessor is stored.
    const writing = (async () => {
      for (let n = 300; !isOver; n++) {
        // Many documents share a new body: they take longer to copy.
        const { sha256 } = await blobs.put(Buffer.from(`body ${Math.floor(n / 20)}`));
        await documents.put("pages", `page ${n}`, { n, sha256 }, 0);
      }
    })();
    const { code, err } = await run(environment, "backup", backup);
    isOver = true;
    await writing;
    await documents.close();
    expect([code, err]).toEqual([0, expect.stringContaining("each proved by its digest")]);

    const restored = { ...environment, TRAWL_DATA_DIR: newFolder() };
    expect(await run(restored, "restore", backup)).toMatchObject({ code: 0 });
    const config = readConfig(restored);
    const [there, bodies] = [await openDocuments(config), await openBlobs(config)];
    const named = new Set<string>();
    let n = 0;
    for (; ; n++) {
      const page = await there.get("pages", `page ${n}`);
      if (page === null) break;
      named.add((page.value as { sha256: string }).sha256);
    }
    expect(n).toBeGreaterThanOrEqual(300);
    for (const sha256 of named) {
      const hash = createHash("sha256");
      for await (const piece of (await bodies.get(sha256))!) hash.update(piece);
      expect(hash.digest("hex")).toBe(sha256);
    }
    expect(await there.get("pages", `page ${n + 1}`)).toBeNull();
    expect(digests).toHaveLength(3);
    await there.close();
  });

  test("names a damaged body, has all others, and ends with exit code 3", async () => {
    const { environment, documents, digests } = await filled();
    await documents.close();
    truncateSync(bodyFile(join(environment.TRAWL_DATA_DIR, "bodies"), digests[2]!), 1_000_000);
    const backup = newFolder();
    const { code, err } = await run(environment, "backup", backup);
    expect([code, err]).toEqual([3, expect.stringContaining(`damaged: body ${digests[2]}`)]);
    const { bodies } = JSON.parse(readFileSync(join(backup, "backup.json"), "utf8"));
    expect(bodies.count).toBe(2);
    expect((await run({ ...environment, TRAWL_DATA_DIR: newFolder() }, "restore", backup)).code).toBe(0);
  });

  test("goes into a new or empty folder only, and needs embedded stores", async () => {
    const { environment, backup } = await backedUp();
    expect(await run(environment, "backup", backup)).toMatchObject({
      code: 1,
      err: expect.stringContaining("not empty"),
    });
    expect(await run({ TRAWL_DATA_DIR: newFolder() }, "backup", newFolder())).toMatchObject({
      code: 1,
      err: expect.stringContaining("Is TRAWL_DATA_DIR right?"),
    });
    const cluster = { ...environment, TRAWL_DOCUMENTS: "mongodb://127.0.0.1/x" };
    expect(await run(cluster, "backup", newFolder())).toMatchObject({
      code: 1,
      err: expect.stringContaining("docs/operating/backup.md says how MongoDB and S3 are backed up"),
    });
  });
});

describe("a restore", () => {
  test("gives the stores back as they were, to their owner only", async () => {
    const { environment, backup, digests } = await backedUp();
    const restored = { ...environment, TRAWL_DATA_DIR: newFolder() };
    expect((await run(restored, "restore", backup, "--json")).code).toBe(0);
    const original = sqliteDocuments(join(environment.TRAWL_DATA_DIR, "documents.sqlite"));
    const copy = await openDocuments(readConfig(restored));
    const all = { limit: 1_000 };
    expect(await copy.list("pages", all)).toEqual(await original.list("pages", all));
    expect(await copy.get("format", "data")).toMatchObject({ value: { format: DATA_FORMAT } });
    await Promise.all([copy.close(), original.close()]);
    const bodies = await openBlobs(readConfig(restored));
    for (const sha256 of digests) {
      const content = Buffer.concat(await Array.fromAsync((await bodies.get(sha256))!));
      expect(createHash("sha256").update(content).digest("hex")).toBe(sha256);
    }
    await bodies.close();
  });

  test("never overwrites data, and waits for no running service", async () => {
    const { environment, config, backup } = await backedUp();
    expect(await run(environment, "restore", backup)).toMatchObject({
      code: 1,
      err: expect.stringContaining("there is data. Move it away"),
    });
    using _service = claimData(config);
    expect(await run(environment, "restore", backup)).toMatchObject({
      code: 1,
      err: expect.stringContaining("another process uses it"),
    });
  });

  test("that was interrupted is begun again", async () => {
    const { environment, backup, digests } = await backedUp();
    const restored = { ...environment, TRAWL_DATA_DIR: newFolder() };
    // As a restore leaves it that ended among the bodies and in the middle of the documents.
    const bodies = sqliteBlobs(join(restored.TRAWL_DATA_DIR, "bodies"), { durability: "process" });
    await bodies.put(Buffer.from("small"));
    await bodies.close();
    writeFileSync(join(restored.TRAWL_DATA_DIR, "documents.sqlite.unfinished"), "half");
    expect((await run(restored, "restore", backup)).code).toBe(0);
    const documents = await openDocuments(readConfig(restored));
    expect(await documents.get("pages", "page 299")).toMatchObject({ value: { sha256: digests[2] } });
    await documents.close();
  });

  test("refuses what is not whole, damaged or of a newer version", async () => {
    const target = { TRAWL_DATA_DIR: newFolder(), TRAWL_DURABILITY: "process" };
    const refusal = async (backup: string) => {
      const { code, err } = await run(target, "restore", backup);
      expect(code).toBe(1);
      return err;
    };
    const { backup, digests } = await backedUp();
    const manifest = join(backup, "backup.json");
    const text = readFileSync(manifest, "utf8");
    rmSync(manifest);
    expect(await refusal(backup)).toContain("no whole backup");
    writeFileSync(manifest, text.replace(`"data_format": ${DATA_FORMAT}`, '"data_format": 99'));
    expect(await refusal(backup)).toContain("format 99");
    writeFileSync(manifest, text);
    const stored = bodyFile(join(backup, "bodies"), digests[1]!);
    const whole = readFileSync(stored);
    truncateSync(stored, whole.length - 10);
    expect(await refusal(backup)).toContain("2 of 3 bodies are whole");
    writeFileSync(stored, whole);
    appendFileSync(join(backup, "documents.sqlite"), "x");
    expect(await refusal(backup)).toContain("the file is damaged");
    expect(existsSync(join(target.TRAWL_DATA_DIR, "documents.sqlite"))).toBe(false);
  });
});
