/** The trace of a debugged request: its messages, also those that nobody waits for. */
import { expect, test } from "vitest";
import type { ActorClient } from "../../cluster/actor.ts";
import { MAX_TRACE_STEPS } from "../../cluster/contracts/trace.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import { sealed } from "../../cluster/internal/transport/wire.ts";
import { traced } from "../../cluster/traced.ts";
import { Counter } from "../harness/counter.actor.ts";

/** A client whose answers wait until they are given. */
function client() {
  const waiting: PromiseWithResolvers<unknown>[] = [];
  let now_ms = 0;
  const ask = (() => {
    const answer = Promise.withResolvers<unknown>();
    waiting.push(answer);
    return answer.promise;
  }) as unknown as ActorClient;
  const recorded = traced(ask, () => now_ms);
  return { ...recorded, waiting, pass: (ms: number) => (now_ms += ms) };
}

test("a message is a step, with its time and its fault", async () => {
  const { ask, steps, waiting, pass } = client();
  const [read, add] = [ask(Counter, "a", "read", null), ask(Counter, "b", "add", { by: 1 })];
  pass(5);
  waiting[0]!.resolve({ count: 1 });
  expect(await read).toEqual({ count: 1 });
  waiting[1]!.reject(new Fault("mailbox_full", "too many"));
  await expect(add).rejects.toMatchObject({ code: "mailbox_full" });
  expect(steps()).toEqual([
    { actor: "counter", key: "a", operation: "read", at_ms: 0, ms: 5, fault: null },
    { actor: "counter", key: "b", operation: "add", at_ms: 0, ms: 5, fault: "mailbox_full" },
  ]);
});

test("a message that ends, or is sent, after the trace has left with an answer is not broken by it", async () => {
  const { ask, steps, waiting, pass } = client();
  const early = ask(Counter, "a", "read", null);
  const sent = steps();
  sealed("a trace", { check: () => true, describeErrors: () => "" }, sent);
  pass(7);
  waiting[0]!.resolve({ count: 1 });
  expect(await early).toEqual({ count: 1 });
  const late = ask(Counter, "a", "read", null);
  waiting[1]!.resolve({ count: 2 });
  expect(await late).toEqual({ count: 2 });
  expect(sent).toMatchObject([{ ms: 0 }]);
  expect(steps()).toMatchObject([{ ms: 7 }, { ms: 0 }]);
});

test("messages beyond the limit of a trace are sent without a step", async () => {
  const { ask, steps, waiting } = client();
  const asked = Array.from({ length: MAX_TRACE_STEPS + 1 }, () => ask(Counter, "a", "read", null));
  for (const { resolve } of waiting) resolve({ count: 1 });
  expect(await Promise.all(asked)).toHaveLength(MAX_TRACE_STEPS + 1);
  expect(steps()).toHaveLength(MAX_TRACE_STEPS);
});
