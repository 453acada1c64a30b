import { expect, test } from "vitest";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { byteBudget } from "../../cluster/byte-budget.ts";
import { heldUntilSent } from "../../gateway/held-body.ts";

const MB = 2 ** 20;

async function held(bytes: Buffer, client: AbortSignal) {
  const budget = byteBudget({ limit_bytes: 100 * MB, clock: virtualClock(0), ...silentTelemetry() });
  const reservation = (await budget.reserve(bytes.length))!;
  return {
    stream: heldUntilSent(bytes, reservation, client),
    reserved: () => budget.figures().reserved_bytes,
  };
}

const ANSWER = Buffer.alloc(3 * MB + 1, "answer");

test("a large answer is sent in pieces, and its memory is given back after the last", async () => {
  const { stream, reserved } = await held(ANSWER, new AbortController().signal);
  const pieces: Buffer[] = [];
  for await (const piece of stream.chunks) {
    expect(reserved()).toBe(ANSWER.length);
    pieces.push(piece);
  }
  expect(Buffer.concat(pieces).equals(ANSWER)).toBe(true);
  expect([stream.length, reserved()]).toEqual([ANSWER.length, 0]);
});

test("its memory is given back when the client goes, before or after the first piece", async () => {
  for (const begins of [false, true]) {
    const client = new AbortController();
    const { stream, reserved } = await held(ANSWER, client.signal);
    if (begins) await stream.chunks[Symbol.asyncIterator]().next();
    client.abort();
    expect(reserved()).toBe(0);
  }
  const { reserved } = await held(ANSWER, AbortSignal.abort());
  expect(reserved()).toBe(0);
});

test("its memory is given back when the adapter stops reading it", async () => {
  const { stream, reserved } = await held(ANSWER, new AbortController().signal);
  for await (const piece of stream.chunks) {
    expect(piece.length).toBeGreaterThan(0);
    break;
  }
  expect(reserved()).toBe(0);
});
