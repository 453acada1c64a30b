/** Settings that a node must have in common with the running nodes before it joins. */
import { describe, expect, test } from "vitest";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { memoryLeases } from "../../cluster/adapters/leases/leases.memory.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { agreedSettings, agreeOnSettings, forgetSettings } from "../../ops/agreed-settings.ts";
import { readConfig } from "../../ops/config.ts";

type Environment = Readonly<Record<string, string>>;

/** A bus, a database and the nodes that run. */
function world() {
  const leases = memoryLeases(virtualClock());
  const main = memoryDocuments();
  const running: string[] = [];
  let names = 0;
  /** The identity of each database. */
  const ids = new Map<Documents, string>();
  async function join(
    environment: Environment = {},
    { documents = main, cluster = "trawl", unknown = "" } = {},
  ) {
    const node = `n${names++}`;
    if (!ids.has(documents)) ids.set(documents, node);
    const { [unknown]: _, ...settings } = agreedSettings(readConfig(environment), cluster);
    const agreement = await agreeOnSettings(settings, {
      documents,
      leases,
      nodes: async () => running.map((name) => ({ node: name })),
      newId: () => ids.get(documents)!,
    });
    return {
      async announce() {
        running.push(node);
        await agreement.confirm();
      },
    };
  }
  return { join, running, main, leases };
}

const start = async ({ join }: ReturnType<typeof world>, ...options: Parameters<typeof join>) =>
  (await join(...options)).announce();

describe("a node joins", () => {
  test("when it has the settings of the nodes that run, whatever its own addresses are", async () => {
    const all = world();
    await start(all, { TRAWL_BLOBS: "s3://bucket/prefix", S3_ENDPOINT: "http://127.0.0.1:1/" });
    await start(all, { TRAWL_BLOBS: "s3://bucket/prefix", S3_ENDPOINT: "http://127.0.0.1:2/" });
    expect(all.running).toEqual(["n0", "n1"]);
  });

  test.each<[string, Environment]>([
    ["TRAWL_POLITE_DELAY_MS", { TRAWL_POLITE_DELAY_MS: "20" }],
    ["TRAWL_POLITE_CONCURRENCY", { TRAWL_POLITE_CONCURRENCY: "9" }],
    ["TRAWL_PROFILES_HOSTS", { TRAWL_PROFILES_HOSTS: "example.org" }],
    ["TRAWL_BLOBS", { TRAWL_BLOBS: "s3://another/prefix" }],
    ["TRAWL_FILINGS_RPS", { TRAWL_FILINGS_RPS: "3" }],
  ])("not with another %s, and says which value is where", async (name, environment) => {
    const all = world();
    await start(all);
    await expect(start(all, environment)).rejects.toThrow(
      new RegExp(`whose nodes n0 run: ${name} is ".*" there and "${Object.values(environment)[0]}" here`),
    );
    expect(all.running).toEqual(["n0"]);
  });

  test("not with another database on the same bus", async () => {
    const all = world();
    await start(all);
    await expect(start(all, {}, { documents: memoryDocuments() })).rejects.toThrow(
      "TRAWL_DOCUMENTS names another database",
    );
  });

  test("not with another cluster's name on the same database, until the documents are moved", async () => {
    const all = world();
    await start(all);
    all.running.pop();
    await expect(start(all, {}, { cluster: "second" })).rejects.toThrow(
      'Cannot join the cluster "second" of TRAWL_BUS: the documents belong to the cluster "trawl"',
    );
    expect(await forgetSettings(all.main)).toBe("trawl");
    await start(all, {}, { cluster: "second" });
  });

  test("with other settings once no node runs, and then they are what others must have", async () => {
    const all = world();
    await start(all);
    all.running.pop();
    await start(all, { TRAWL_POLITE_DELAY_MS: "20" });
    await expect(start(all)).rejects.toThrow('TRAWL_POLITE_DELAY_MS is "20" there and "500" here');
    await start(all, { TRAWL_POLITE_DELAY_MS: "20" });
    expect(all.running).toEqual(["n1", "n3"]);
  });

  test("not with another database when no node runs either, until the bus is made that of the database", async () => {
    const all = world();
    await start(all);
    all.running.pop();
    const documents = memoryDocuments();
    await expect(start(all, {}, { documents })).rejects.toThrow(
      /the bus carries the id "n0", the database that TRAWL_DOCUMENTS names "n1".*trawl stores adopt/,
    );
    await all.leases.overrule("documents", "n1");
    await start(all, {}, { documents });
    expect(all.running).toEqual(["n2"]);
  });

  test("not when another with other settings started at the same moment", async () => {
    const all = world();
    const first = await all.join();
    const second = await all.join({ TRAWL_POLITE_DELAY_MS: "20" });
    await expect(first.announce()).rejects.toThrow('TRAWL_POLITE_DELAY_MS is "20" there and "500" here');
    await second.announce();
  });

  test("with a setting that only one of two versions knows", async () => {
    const all = world();
    await start(all, {}, { unknown: "TRAWL_FILINGS_RPS" });
    await start(all);
    await start(all, {}, { unknown: "TRAWL_FILINGS_RPS" });
    expect(all.running).toEqual(["n0", "n1", "n2"]);
  });
});
