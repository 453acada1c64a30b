/** Writes that the embedded stores acknowledged are there after a power cut, and with the durability `process` they are not. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { sqliteBlobs } from "../../cluster/adapters/blobs/blobs.sqlite.ts";
import { sqliteDocuments } from "../../cluster/adapters/documents/documents.sqlite.ts";
import type { Durability } from "../../cluster/adapters/files/durable-files.ts";
import { powerCut, powerCutProblem, unavailable } from "../harness/power-cut.ts";
import { whole } from "./blobs.ts";

const CHILD = new URL("../harness/power-cut.child.ts", import.meta.url).pathname;

interface Acknowledged {
  readonly documents: ReadonlyMap<string, number>;
  readonly bodies: ReadonlyMap<string, number>;
}

/** Runs the program until it has acknowledged so many writes, and kills it in the middle of the next ones. */
async function writeUntilCut(
  durability: Durability,
  writes: number,
  { root, environment }: Pick<ReturnType<typeof powerCut>, "root" | "environment">,
): Promise<Acknowledged> {
  const [documents, bodies] = [new Map<string, number>(), new Map<string, number>()];
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", CHILD, root, durability], {
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let count = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    const told = JSON.parse(line) as { key: string; version: number } | { sha256: string; bytes: number };
    if ("key" in told) documents.set(told.key, told.version);
    else bodies.set(told.sha256, told.bytes);
    if (++count === writes) child.kill("SIGKILL");
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return { documents, bodies };
}

describe.skipIf(powerCutProblem !== null)(`after a power cut${unavailable}`, () => {
  test("every document and body that was acknowledged is there", async () => {
    const cut = powerCut();
    try {
      const acknowledged = await writeUntilCut("power", 1_500, cut);
      const folder = join(cut.restore(), "new");
      const documents = sqliteDocuments(join(folder, "documents.sqlite"));
      const blobs = sqliteBlobs(join(folder, "bodies"));
      expect(acknowledged.documents.size).toBe(9);
      for (const [key, version] of acknowledged.documents) {
        const stored = await documents.get("acknowledged", key);
        expect(stored?.version).toBeGreaterThanOrEqual(version);
        expect(stored?.value).toMatchObject({ version: stored?.version });
        if (key === "k8") continue;
        // Acknowledged before it was synced, and before the one that was.
        expect((await documents.get("ordered", key))?.version).toBeGreaterThanOrEqual(stored!.version);
      }
      expect(acknowledged.bodies.size).toBeGreaterThan(50);
      for (const [sha256, bytes] of acknowledged.bodies)
        expect((await whole(await blobs.get(sha256))).length).toBe(bytes);
      await documents.close();
    } finally {
      cut.remove();
    }
  });

  test("a sync that fails acknowledges nothing, and no later sync of the same log is believed", async () => {
    const cut = powerCut();
    try {
      const child = new URL("../harness/sync-failure.child.ts", import.meta.url).pathname;
      const { stdout } = await promisify(execFile)(
        process.execPath,
        ["--disable-warning=ExperimentalWarning", child, cut.root, cut.fail_file],
        { env: { ...process.env, ...cut.environment } },
      );
      expect(JSON.parse(stdout)).toEqual({
        "put before": "done",
        "put to a cache": "done",
        "ordered put while it fails": "done",
        "put while it fails": "documents_unreachable",
        "small body while it fails": "bodies_unreachable",
        "large body while it fails": "bodies_unreachable",
        "put after": "documents_unreachable",
        "synced after": "documents_unreachable",
        "ping after": "documents_unreachable",
        "small body after": "bodies_unreachable",
        // A large body is a file of its own: written and synced anew.
        "large body after": "done",
      });
    } finally {
      cut.remove();
    }
  });

  // Or the first test would pass whatever the stores sync.
  test("with the durability process nothing of them is there", async () => {
    const cut = powerCut();
    try {
      const acknowledged = await writeUntilCut("process", 300, cut);
      const blobs = sqliteBlobs(join(cut.restore(), "new", "bodies"));
      for (const [sha256] of acknowledged.bodies) expect(await blobs.head(sha256)).toBeNull();
    } finally {
      cut.remove();
    }
  });
});
