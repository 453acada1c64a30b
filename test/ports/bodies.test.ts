import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { fileBodies } from "../../cluster/adapters/bodies.file.ts";
import { memoryBodies } from "../../cluster/adapters/bodies.memory.ts";
import type { Bodies } from "../../cluster/ports/bodies.ts";
import { bodiesSuite } from "./bodies.ts";

const folder = mkdtempSync(join(tmpdir(), "trawl-bodies-"));
afterAll(() => rmSync(folder, { recursive: true }));

const STORES: Record<string, () => Promise<Bodies>> = {
  memory: async () => memoryBodies(),
  file: async () => fileBodies(join(folder, "suite")),
};

describe.each(Object.entries(STORES))("bodies in %s", (_, open) => {
  bodiesSuite(open);
});

async function* breaking(): AsyncGenerator<Buffer> {
  yield randomBytes(200_000);
  throw new Error("The origin hung up");
}

describe("bodies in files", () => {
  test("are compressed where that helps, and only there", async () => {
    const bodies = fileBodies(join(folder, "sizes"));
    const page = Buffer.from("<p>again</p>".repeat(20_000));
    const noise = randomBytes(100_000);
    const where = ({ sha256 }: { sha256: string }) =>
      join(folder, "sizes", sha256.slice(0, 2), sha256.slice(2, 4), sha256);
    expect(statSync(`${where(await bodies.put(page))}.zst`).size).toBeLessThan(page.length / 20);
    expect(statSync(where(await bodies.put(noise))).size).toBe(noise.length);
  });

  test("leave no unfinished file behind, also when the content broke off", async () => {
    const bodies = fileBodies(join(folder, "broken"));
    await expect(bodies.put(breaking())).rejects.toThrow("hung up");
    await bodies.put(randomBytes(200_000));
    expect(readdirSync(join(folder, "broken", "unfinished"))).toEqual([]);
  });

  test("say when the folder cannot be used", async () => {
    const bodies = fileBodies(join(folder, "lost"));
    rmSync(join(folder, "lost"), { recursive: true });
    const fault = { code: "bodies_unreachable" };
    await expect(bodies.put(Buffer.from("x"))).rejects.toMatchObject(fault);
    await expect(bodies.put(randomBytes(100_000))).rejects.toMatchObject(fault);
    await expect(bodies.ping()).rejects.toMatchObject(fault);
  });
});
