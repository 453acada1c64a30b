/** Stored data of an older format: each step, interrupted at any document, and which node may begin it. */
import { describe, expect, test } from "vitest";
import { domainActor } from "../../actors/crawl/domain/actor.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import { embedded } from "../../cluster/embedded.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import { assertDataFormat, DATA_FORMAT } from "../../ops/data-format.ts";
import { MIGRATIONS } from "../../ops/migrations.ts";
import { Domain } from "../../schemas/domain.ts";

const NOW_MS = Date.UTC(2026, 10, 23);
const alone = () => ({ assertNoneRuns: async () => {}, log: silentTelemetry().log });

/** A domain as format 2 stored it. */
const domainOfFormat2 = (failures: number, skip_until_ms = 0) => ({
  leases: [],
  last_start_ms: NOW_MS - 5_000,
  slot_ms: 120,
  crawl_delays: [],
  backoff_ms: 0,
  backed_off_at_ms: 0,
  paused_until_ms: 0,
  failures,
  failed_fetch_ids: Array.from({ length: Math.min(failures, 8) }, (_, n) => `f${n}`),
  skip_until_ms,
  nxdomains: [],
});

const DOMAINS = 450;

async function dataOfFormat2(): Promise<Documents> {
  const documents = memoryDocuments();
  await documents.put("format", "data", { format: 2 }, 0);
  for (let n = 0; n < DOMAINS; n++)
    await documents.put("domain", `d${String(n).padStart(3, "0")}.test`, domainOfFormat2(n % 5), 0);
  await documents.put("domain", "skipped.test", domainOfFormat2(4, NOW_MS + 60_000), 0);
  await documents.put("robots", "d000.test http://d000.test", { failures: 1 }, 0);
  return documents;
}

const everything = async (documents: Documents) => ({
  domains: await documents.list("domain", { limit: 1_000 }),
  robots: await documents.list("robots", { limit: 1_000 }),
});
const values = (all: Awaited<ReturnType<typeof everything>>) => all.domains.map(({ value }) => value);

describe("a step", () => {
  test("leads from every format that is migrated to this one", () => {
    expect(MIGRATIONS.map(({ from }) => from)).toEqual(
      Array.from({ length: MIGRATIONS.length }, (_, n) => DATA_FORMAT - MIGRATIONS.length + n),
    );
  });

  test("2 to 7: failures counted for all origins of a domain are forgotten, and the domain actor reads the rest", async () => {
    const documents = await dataOfFormat2();
    await assertDataFormat(documents, "here", alone());
    expect(await documents.get("format", "data")).toMatchObject({ value: { format: DATA_FORMAT } });
    const migrated = await everything(documents);
    expect(migrated.robots.map(({ value }) => value)).toEqual([{ failures: 1 }]);
    for (const value of values(migrated)) {
      expect(value).not.toHaveProperty("failures");
      expect(value).not.toHaveProperty("crawl_delays");
    }
    expect(migrated.domains[0]!.value).toMatchObject({ slot_ms: 120, failure_rows: [], slowed: [] });

    const { ask } = embedded([domainActor({ min_delay_ms: 500, max_concurrency: 2, lease_ms: 60_000 })], {
      clock: virtualClock(NOW_MS),
      random: seededRandom(1),
      documents,
    });
    expect(await ask(Domain, "skipped.test", "view", null)).toMatchObject({
      skips: [],
    });
  });

  test("6 to 7: a pause and a back-off of a domain hold for all its origins, a Crawl-delay for its own", async () => {
    const documents = memoryDocuments();
    await documents.put("format", "data", { format: 6 }, 0);
    const { failures: _f, failed_fetch_ids: _i, skip_until_ms: _s, ...before } = domainOfFormat2(0);
    const slow = {
      ...before,
      failure_rows: [],
      leases: [
        {
          fetch_id: "a",
          host: "www.slow.test",
          started_ms: NOW_MS - 5_000,
          lapses_ms: NOW_MS + 60_000,
          run_id: "1.1",
          process: "p",
        },
      ],
      crawl_delays: [{ origin: "https://www.slow.test", crawl_delay_ms: 9_000, until_ms: NOW_MS + 60_000 }],
      backoff_ms: 4_000,
      backed_off_at_ms: NOW_MS - 1_000,
      paused_until_ms: NOW_MS + 30_000,
    };
    await documents.put("domain", "slow.test", slow, 0);
    await documents.put("domain", "quick.test", { ...before, failure_rows: [] }, 0);
    await assertDataFormat(documents, "here", alone());
    const clock = virtualClock(NOW_MS);
    const { ask } = embedded([domainActor({ min_delay_ms: 500, max_concurrency: 2, lease_ms: 60_000 })], {
      clock,
      random: seededRandom(1),
      documents,
    });
    expect(await ask(Domain, "slow.test", "view", null)).toMatchObject({
      in_flight: 1,
      slowed: [
        { origin: "https://www.slow.test", delay_ms: 9_000, paused_until: expect.any(String) },
        { origin: "*", delay_ms: 4_000, paused_until: expect.any(String) },
      ],
    });
    const slot = (domain: string, origin: string) =>
      ask(Domain, domain, "acquire", {
        fetch_id: "b",
        run_id: "2.1",
        origin,
        lane: "sync",
        wait_max_ms: 15_000,
      });
    expect(await slot("slow.test", "https://other.slow.test")).toMatchObject({ error: "domain_busy" });
    const quick = slot("quick.test", "https://quick.test");
    await clock.advance(1_000);
    expect(await quick).toMatchObject({ kind: "granted" });
  });

  test("9 to 10: an identifier of several companies loses the ids without a company, and no other", async () => {
    const documents = memoryDocuments();
    await documents.put("format", "data", { format: 9 }, 0);
    await documents.put("companies", "cmp_a", { id: "cmp_a" }, 0);
    await documents.put("companies", "cmp_b", { id: "cmp_b" }, 0);
    const owners = {
      "isin:1": [["cmp_lookup", "cmp_a"], ["cmp_a"]],
      "isin:2": [
        ["cmp_a", "cmp_b"],
        ["cmp_a", "cmp_b"],
      ],
      "isin:3": [["cmp_lookup"], ["cmp_lookup"]],
      "isin:4": [
        ["cmp_lookup", "cmp_lost"],
        ["cmp_lookup", "cmp_lost"],
      ],
    };
    for (const [key, [companies]] of Object.entries(owners))
      await documents.put("company_ids", key, { companies }, 0);
    const provisional = { companies: ["cmp_lookup"], is_provisional: true };
    await documents.put("company_ids", "isin:5", provisional, 0, { expires_at_ms: NOW_MS });
    await assertDataFormat(documents, "here", alone());
    const stored = await documents.list("company_ids", { limit: 10 });
    expect(stored.map(({ key, value }) => [key, value])).toEqual([
      ...Object.entries(owners).map(([key, [, companies]]) => [key, { companies }]),
      ["isin:5", provisional],
    ]);
    expect(await documents.removeExpired("company_ids", NOW_MS + 1, 10)).toBe(1);
  });

  test("that is interrupted anywhere goes on where it was, and the data is as if it never had been", async () => {
    const whole = await dataOfFormat2();
    await assertDataFormat(whole, "here", alone());
    for (const breaks_after of [0, 1, 199, 200, 201, 300, 449]) {
      const documents = await dataOfFormat2();
      let writes = 0;
      const breaking: Documents = {
        ...documents,
        async put(...given) {
          if (given[0] === "domain" && writes++ === breaks_after)
            throw new Fault("documents_unreachable", "Gone");
          return documents.put(...given);
        },
      };
      await expect(assertDataFormat(breaking, "here", alone())).rejects.toThrow("Gone");
      expect(await documents.get("format", "data")).toMatchObject({ value: { format: 2 } });
      const read: string[] = [];
      const watched: Documents = {
        ...documents,
        async list(collection, range) {
          read.push(range.from ?? "the beginning");
          return documents.list(collection, range);
        },
      };
      await assertDataFormat(watched, "here", alone());
      expect(read[0] === "the beginning").toBe(breaks_after < 200);
      expect(values(await everything(documents))).toEqual(values(await everything(whole)));
    }
  });

  test("made by two nodes that start at once gives the same data", async () => {
    const documents = await dataOfFormat2();
    await Promise.all([assertDataFormat(documents, "a", alone()), assertDataFormat(documents, "b", alone())]);
    const once = await dataOfFormat2();
    await assertDataFormat(once, "here", alone());
    expect(values(await everything(documents))).toEqual(values(await everything(once)));
    expect(await documents.get("format", "data")).toMatchObject({ value: { format: DATA_FORMAT } });
  });
});

describe("older data", () => {
  test("is not migrated by a command beside a service, nor while nodes run, and nothing is changed", async () => {
    const documents = await dataOfFormat2();
    const before = await everything(documents);
    await expect(assertDataFormat(documents, "here")).rejects.toThrow(
      /format 2, and this version reads format \d+\. Stop the nodes/,
    );
    const assertNoneRuns = () => Promise.reject(new Error("nodes of an older version run"));
    await expect(assertDataFormat(documents, "here", { ...alone(), assertNoneRuns })).rejects.toThrow(
      "nodes of an",
    );
    expect(await everything(documents)).toEqual(before);
  });

  test("of format 1 and of newer formats is refused", async () => {
    for (const format of [1, DATA_FORMAT + 1]) {
      const documents = memoryDocuments();
      await documents.put("format", "data", { format }, 0);
      await expect(assertDataFormat(documents, "here", alone())).rejects.toThrow(
        `it has format ${format}, and this version reads format ${DATA_FORMAT}`,
      );
    }
  });
});
