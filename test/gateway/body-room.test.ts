import { describe, expect, test } from "vitest";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { byteBudget } from "../../cluster/byte-budget.ts";
import { bodyRoom, UNCOUNTED_BYTES } from "../../gateway/body-room.ts";
import { MAX_BODY_BYTES } from "../../gateway/route.ts";
import { clientAbort, gatewayHarness } from "../harness/gateway-harness.ts";

const MB = 2 ** 20;

/** Of this limit a sixteenth is for bodies of requests: 24 MB. */
const budgetOf = (limit_mb = 384) =>
  byteBudget({ limit_bytes: limit_mb * MB, clock: virtualClock(0), ...silentTelemetry() });

describe("the memory for the body of a request", () => {
  test("is reserved three times, for its bytes, its text and its values, and given back once", () => {
    const budget = budgetOf();
    const room = bodyRoom(budget.requests, MAX_BODY_BYTES);
    expect(room.hasRoom(4 * MB)).toBe(true);
    expect(room.hasRoom(4 * MB)).toBe(true);
    expect(budget.figures().reserved_bytes).toBe(12 * MB);
    room.release();
    room.release();
    expect(budget.figures().reserved_bytes).toBe(0);
  });

  test("grows with a body of unknown length, and is given back when there is no more", () => {
    const budget = budgetOf();
    const other = bodyRoom(budget.requests, MAX_BODY_BYTES);
    expect(other.hasRoom(4 * MB)).toBe(true);
    const room = bodyRoom(budget.requests, MAX_BODY_BYTES);
    expect([UNCOUNTED_BYTES, MB, 2 * MB].map(room.hasRoom)).toEqual([true, true, true]);
    expect(budget.figures().reserved_bytes).toBe((12 + 6) * MB);
    expect(room.hasRoom(5 * MB)).toBe(false);
    expect(budget.figures().reserved_bytes).toBe(12 * MB);
  });

  test("is enough for a single one of any size", () => {
    const budget = budgetOf(64);
    const room = bodyRoom(budget.requests, MAX_BODY_BYTES);
    for (let bytes = MB; bytes <= MAX_BODY_BYTES; bytes += MB) expect(room.hasRoom(bytes)).toBe(true);
    expect(bodyRoom(budget.requests, MAX_BODY_BYTES).hasRoom(MB)).toBe(false);
  });
});

test("requests whose bodies do not fit beside those under way get 503, small ones do not, and room comes back", async () => {
  const budget = budgetOf();
  const { admit, first, call } = await gatewayHarness({ memory: budget });
  await call("GET", "/v1/quota");
  const admitted = (bytes: number, client = new AbortController()) => {
    const headers = new Map([
      ["authorization", `Bearer ${first}`],
      ["content-length", String(bytes)],
    ]);
    const head = { method: "POST", path: "/v1/fetch", query: "", headers, address: () => "" };
    return { client, admission: admit(head, clientAbort(client.signal)) };
  };
  const one = admitted(5 * MB);
  expect("answer" in one.admission).toBe(true);
  expect(admitted(5 * MB).admission).toMatchObject({ status: 503, headers: { "Retry-After": "5" } });
  expect("answer" in admitted(1_000).admission).toBe(true);
  one.client.abort();
  expect(budget.figures().reserved_bytes).toBe(0);

  const next = admitted(5 * MB).admission as Extract<typeof one.admission, { answer: unknown }>;
  expect(budget.figures().reserved_bytes).toBe(15 * MB);
  expect(await next.answer({ kind: "whole", bytes: Buffer.from("{}") })).toMatchObject({ status: 422 });
  expect(budget.figures().reserved_bytes).toBe(0);
});
