/** The account actor: counts every usage report exactly once, whatever arrives in whatever order. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { accountActor } from "../../actors/accounts/actor.ts";
import { crossings } from "../../actors/accounts/usage.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import { embedded } from "../../cluster/embedded.ts";
import { Account, type UsageReport, type Usage } from "../../schemas/accounts.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";

const NOW_MS = Date.UTC(2026, 10, 21, 12);
const used = (requests: number, cost_micros = 0): Usage => ({
  requests,
  succeeded: requests,
  bytes: 0,
  bytes_ok: 0,
  paid_bytes: 0,
  paid_bytes_ok: 0,
  cost_micros,
  cost_ok_micros: cost_micros,
});
const report = (
  gateway: string,
  sequence: number,
  requests: number,
  more: Partial<UsageReport> = {},
): UsageReport => ({
  gateway,
  sequence,
  month: "2026-11",
  keys: { sk_1234567: { fetch_own: used(requests) } },
  allowances: {},
  ...more,
});

const costs = (requests: number, cost: number) => ({ sk_1234567: { fetch_paid: used(requests, cost) } });

function project({ clock = virtualClock(NOW_MS), documents = memoryDocuments() } = {}) {
  const { ask } = embedded([accountActor()], {
    clock,
    documents,
    random: seededRandom(1),
    ...silentTelemetry(),
  });
  const total = async (month = "2026-11") =>
    (await ask(Account, "default", "usage", { month })).keys["sk_1234567"]?.fetch_own?.requests ?? 0;
  return {
    clock,
    documents,
    total,
    reportUsage: (message: UsageReport) => ask(Account, "default", "reportUsage", message),
    ask,
  };
}

describe("a project's account", () => {
  test("adds what gateways report, and answers with the month", async () => {
    const { reportUsage, total } = project();
    await reportUsage(report("a", 1, 3));
    expect((await reportUsage(report("b", 1, 4))).keys).toEqual({ sk_1234567: { fetch_own: used(7) } });
    expect(await total()).toBe(7);
  });

  test("remembers across nodes, also which reports it has counted", async () => {
    const { reportUsage, clock, documents } = project();
    await reportUsage(report("a", 1, 3));
    const other_node = project({ clock, documents });
    await other_node.reportUsage(report("a", 1, 3));
    expect(await other_node.total()).toBe(3);
  });

  test("keeps two months apart", async () => {
    const { reportUsage, total } = project();
    for (const [sequence, month] of ["2026-10", "2026-11", "2026-12"].entries())
      await reportUsage(report("a", sequence + 1, sequence + 1, { month }));
    expect([await total("2026-10"), await total("2026-11"), await total("2026-12")]).toEqual([0, 2, 3]);
  });

  test("forgets gateways that have not reported for a day", async () => {
    const { reportUsage, clock, documents } = project();
    await reportUsage(report("old", 1, 1));
    await clock.advance(25 * 3_600_000);
    await reportUsage(report("new", 1, 1));
    const snapshot = (await documents.get("account", "default"))?.value as any;
    expect(Object.keys(snapshot.gateways)).toEqual(["new"]);
  });

  test("counts each report exactly once, however often gateways repeat it", async () => {
    const stories = fc.array(
      fc.record({
        gateway: fc.constantFrom("a", "b"),
        requests: fc.integer({ min: 1, max: 9 }),
        repeats: fc.integer({ min: 0, max: 3 }),
      }),
      { maxLength: 20 },
    );
    await fc.assert(
      fc.asyncProperty(stories, async (story) => {
        const { reportUsage, total } = project();
        const sequences: Record<string, number> = { a: 0, b: 0 };
        let expected = 0;
        for (const { gateway, requests, repeats } of story) {
          sequences[gateway]!++;
          expected += requests;
          for (let again = 0; again <= repeats; again++)
            await reportUsage(report(gateway, sequences[gateway]!, requests));
        }
        expect(await total()).toBe(expected);
      }),
      { numRuns: 50 },
    );
  });

  test("records once that a threshold of an allowance is crossed", async () => {
    const { reportUsage } = project();
    const allowances = { sk_1234567: { search: null, fetch: 10, spend: 1_000 } };
    await reportUsage(report("a", 1, 0, { allowances, keys: costs(4, 100) }));
    await reportUsage(report("a", 2, 0, { allowances, keys: costs(1, 100) }));
    const { events } = await reportUsage(report("a", 3, 0, { allowances, keys: costs(6, 700) }));
    expect(events.map(({ allowance, threshold }) => [allowance, threshold])).toEqual([
      ["fetch", 50],
      ["fetch", 80],
      ["fetch", 100],
      ["spend", 50],
      ["spend", 80],
    ]);
  });

  test.each([
    [null, 0, 99, []],
    [0, 0, 1, []],
    [10, 0, 4, []],
    [10, 4, 5, [50]],
    [10, 5, 7, []],
    [10, 0, 10, [50, 80, 100]],
    [10, 10, 20, []],
    [3, 0, 2, [50]],
    [1, 0, 1, [50, 80, 100]],
  ])("of a limit of %s from %i to %i: %j", (limit, before, after, shares) => {
    expect(crossings(limit, before, after)).toEqual(shares);
  });
});
