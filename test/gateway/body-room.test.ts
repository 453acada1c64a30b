import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { byteBudget } from "../../cluster/byte-budget.ts";
import { UNCOUNTED_BYTES } from "../../gateway/body-room.ts";
import type { Admitted } from "../../gateway/http.ts";
import { clientAbort, gatewayHarness } from "../harness/gateway-harness.ts";

const MB = 2 ** 20;
const ignore = (): void => {};

/** A sixteenth of this limit is for bodies of requests: 24 MB. */
const budgetOf = (limit_mb = 384) =>
  byteBudget({ limit_bytes: limit_mb * MB, clock: virtualClock(0), ...silentTelemetry() });

async function gatewayWith(limit_mb?: number) {
  const budget = budgetOf(limit_mb);
  const { admit, first, call } = await gatewayHarness({ memory: budget });
  await call("GET", "/v1/quota");
  const admitted = (fields: Readonly<Record<string, string>>, client = new AbortController()) => {
    const headers = new Map([["authorization", `Bearer ${first}`], ...Object.entries(fields)]);
    const head = { method: "POST", path: "/v1/fetch", query: "", headers, address: () => "" };
    return { client, admission: admit(head, clientAbort(client.signal)) as Admitted };
  };
  const reserved = () => budget.figures().reserved_bytes;
  return { admitted, reserved };
}

const announced = (bytes: number) => ({ "content-length": String(bytes) });

describe("the memory for the body of a request", () => {
  test("is reserved as the body arrives, not as it is announced, and given back when its client leaves", async () => {
    const { admitted, reserved } = await gatewayWith();
    const bodies = Array.from({ length: 100 }, () => admitted(announced(64 * MB)));
    expect(bodies.map(({ admission }) => admission.hasRoom!(UNCOUNTED_BYTES, ignore))).not.toContain(false);
    expect(reserved()).toBe(0);
    const [one] = bodies;
    expect(one!.admission.hasRoom!(4 * MB, ignore)).toBe(true);
    expect(reserved()).toBe(4 * MB);
    one!.client.abort();
    expect(reserved()).toBe(0);
  });

  test("is what its text and values take while they are read, three times the bytes", async () => {
    const { admitted, reserved } = await gatewayWith();
    const { admission } = admitted(announced(MB));
    expect(admission.hasRoom!(MB, ignore)).toBe(true);
    const reply = admission.answer({ kind: "whole", bytes: Buffer.alloc(MB, "[") });
    expect(reserved()).toBe(3 * MB);
    expect(await reply).toMatchObject({ status: 422 });
    expect(reserved()).toBe(0);
  });

  test("is refused with 503 and its limits when there is none, and small bodies are not", async () => {
    const { admitted } = await gatewayWith(64);
    expect(admitted(announced(4 * MB)).admission.hasRoom!(4 * MB, ignore)).toBe(true);
    const next = admitted(announced(2 * MB)).admission;
    expect(next.hasRoom!(2 * MB, ignore)).toBe(false);
    expect(await next.answer({ kind: "no_room" })).toMatchObject({
      status: 503,
      headers: {
        "Retry-After": "5",
        "X-Service-Key-Role": "account_admin",
        RateLimit: expect.stringContaining('"project";r='),
      },
    });
    expect(admitted(announced(1_000)).admission.hasRoom).toBeUndefined();
  });

  test("of a compressed body grows with what comes out of it", async () => {
    const { admitted, reserved } = await gatewayWith(64);
    const fields = { ...announced(4_000), "content-encoding": "gzip" };
    const bomb = gzipSync(Buffer.alloc(8 * MB, "["));
    // The line has 4 MB, of which one body counts three at most.
    const large = admitted(announced(64 * MB));
    expect(large.admission.hasRoom!(64 * MB, ignore)).toBe(true);
    const reply = await admitted(fields).admission.answer({ kind: "whole", bytes: bomb });
    expect(reply).toMatchObject({ status: 503 });
    large.client.abort();
    expect(reserved()).toBe(0);
  });
});
