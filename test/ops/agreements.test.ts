/** When a node may write what an earlier version does not read (ops/agreements.ts). */
import { expect, test } from "vitest";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import { openAgreement } from "../../ops/agreements.ts";

const READER = { reads_shared_bodies: true };
const MINUTE_MS = 60_000;

test("a form of data is written while all nodes report that they read it, and only then", async () => {
  const clock = virtualClock();
  const sharing = openAgreement("reads_shared_bodies", { clock, log: silentTelemetry().log });
  let reports: () => Promise<readonly object[]> = async () => [READER, {}];
  expect(sharing.isOn()).toBe(false);
  const looking = sharing.follow(() => reports());
  await clock.advance(MINUTE_MS);
  expect(sharing.isOn()).toBe(false);
  const rounds: readonly [typeof reports, boolean][] = [
    [async () => [READER, READER], true],
    [async () => [READER, {}], false],
    [async () => [READER], true],
    [() => Promise.reject(new Fault("bus_unreachable", "The bus is away")), false],
    [async () => [], false],
  ];
  for (const [next, isOn] of rounds) {
    reports = next;
    await clock.advance(MINUTE_MS);
    expect(sharing.isOn()).toBe(isOn);
  }
  looking[Symbol.dispose]();
  reports = async () => [READER];
  await clock.advance(MINUTE_MS);
  expect(sharing.isOn()).toBe(false);
});

test("a node looks at once, not after a minute", async () => {
  const clock = virtualClock();
  const sharing = openAgreement("reads_shared_bodies", { clock, log: silentTelemetry().log });
  const looking = sharing.follow(async () => [READER]);
  await clock.advance(0);
  expect(sharing.isOn()).toBe(true);
  looking[Symbol.dispose]();
});
