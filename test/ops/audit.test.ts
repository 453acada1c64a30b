/** The start ledger and trawl audit politeness. */
import { describe, expect, test } from "vitest";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { trawl } from "../../ops/cli.ts";
import { readConfig } from "../../ops/config.ts";
import { audit, readRequests, type AuditedRequest, openRequestAudit } from "../../ops/request-audit.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";

const NOW_MS = Date.UTC(2026, 0, 1);
const request = (domain: string, at_ms: number, node = "a"): AuditedRequest => ({
  domain,
  at_ms,
  node,
  fetch_id: "f.1",
  epoch: 7,
});

/** Ledgers over one store, told of starts when they happen. */
function world() {
  const clock = virtualClock(NOW_MS);
  const documents = memoryDocuments();
  const auditOf = (node: string) =>
    openRequestAudit({
      documents,
      clock,
      ...silentTelemetry(),
      node,
    });
  const visit = async (node: ReturnType<typeof auditOf>, after_ms: number) => {
    await clock.advance(NOW_MS + after_ms - clock.now());
    node.record({ domain: "one.test", fetch_id: "f.1", epoch: 7 });
  };
  return { clock, documents, auditOf: auditOf, visit };
}

describe("the request audit", () => {
  test("has every start of every node, under the time it left, with whose it was and in which epoch", async () => {
    const { clock, documents, auditOf, visit } = world();
    const [a, b] = [auditOf("a"), auditOf("b")];
    await visit(a, 5);
    await visit(b, 505);
    await visit(a, 1_005);
    await clock.advance(2_000);
    await a.close();
    expect(await readRequests(documents, NOW_MS, NOW_MS + 10_000)).toEqual([
      request("one.test", NOW_MS + 5),
      request("one.test", NOW_MS + 505, "b"),
      request("one.test", NOW_MS + 1_005),
    ]);
    expect(await readRequests(documents, NOW_MS + 6, NOW_MS + 1_005)).toHaveLength(1);
  });

  test("may be forgotten after seven days", async () => {
    const { clock, documents, auditOf, visit } = world();
    const a = auditOf("a");
    await visit(a, 0);
    await a.close();
    const week_ms = 7 * 24 * 60 * 60_000;
    expect(await documents.removeExpired("request_audit", clock.now() + week_ms, 10)).toBe(0);
    expect(await documents.removeExpired("request_audit", clock.now() + week_ms + 1, 10)).toBe(1);
  });
});

describe("an audit", () => {
  test.each([
    ["of delays that are long enough has no violation", [0, 500, 1_000], 500, 0],
    ["tolerates the imprecision of timers", [0, 496], 496, 0],
    ["counts two delays that are too short", [0, 494, 1_000, 1_100], 100, 2],
    ["of one request has no delay", [7], null, 0],
  ])("%s", (_, times, smallest_delay_ms, violations) => {
    const [only] = audit(
      times.map((at_ms) => request("one.test", at_ms)),
      () => 500,
    );
    expect(only).toMatchObject({ requests: times.length, smallest_delay_ms, required_delay_ms: 500 });
    expect(only!.violations).toHaveLength(violations);
  });

  test("shows the worst domain first, each with its own required delay", () => {
    const requests = [
      request("slow.test", 0),
      request("fast.test", 0),
      request("fast.test", 600),
      request("slow.test", 900),
    ];
    const domains = audit(requests, (domain) => (domain === "slow.test" ? 1_000 : 500));
    expect(domains.map(({ domain, violations }) => [domain, violations.length])).toEqual([
      ["slow.test", 1],
      ["fast.test", 0],
    ]);
  });
});

describe("trawl audit politeness", () => {
  async function run(times: readonly number[], ...words: string[]) {
    const { clock, documents, auditOf, visit } = world();
    const a = auditOf("a");
    for (const ms of times) await visit(a, ms);
    await a.close();
    await clock.advance(60_000);
    const printed = { out: "", err: "", code: 0 };
    printed.code = await trawl(["audit", "politeness", ...words], {
      environment: {},
      config: () => readConfig({}),
      openDocuments: async () => ({ ...documents, close: async () => {} }),
      openNodeDirectory: () => Promise.reject(new Error("There is no bus here")),
      now: () => clock.now(),
      out: (line) => void (printed.out += `${line}\n`),
      err: (line) => void (printed.err += `${line}\n`),
      starting: () => Promise.reject(new Error("not here")),
      version: "0",
    });
    return printed;
  }

  test("exits with 0 when all delays were long enough", async () => {
    const { code, out, err } = await run([0, 500, 1_200]);
    expect([code, err]).toEqual([0, "3 requests to 1 domains; 0 delays were too short\n"]);
    expect(out.split("\n")[1]!.split(/ {2,}/)).toEqual(["one.test", "3", "500", "500", "0"]);
  });

  test("prints each delay that was too short, and exits with 3", async () => {
    const { code, out } = await run([0, 400]);
    expect(code).toBe(3);
    expect(out).toContain(
      "one.test: 400 ms at 2026-01-01T00:00:00.400Z, f.1 by a (epoch 7) then f.1 by a (epoch 7)",
    );
    expect(JSON.parse((await run([0, 400], "--json", "--delay", "300")).out).domains[0].violations).toEqual(
      [],
    );
  });

  test.each([
    [["--since", "5s"], 1],
    [["--since", "soon"], 2],
  ])("%j ends with %i", async (words, code) => {
    expect((await run([0, 400], ...words)).code).toBe(code);
  });
});
