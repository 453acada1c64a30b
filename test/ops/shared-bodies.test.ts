/** When small bodies may share objects of S3 (ops/shared-bodies.ts). */
import { expect, test } from "vitest";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import { openSharing } from "../../ops/shared-bodies.ts";

const READER = { reads_shared_bodies: true };
const MINUTE_MS = 60_000;

test("bodies share objects while all nodes report that they read such bodies, and only then", async () => {
  const clock = virtualClock();
  const sharing = openSharing({ clock, log: silentTelemetry().log });
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
  const sharing = openSharing({ clock, log: silentTelemetry().log });
  const looking = sharing.follow(async () => [READER]);
  await clock.advance(0);
  expect(sharing.isOn()).toBe(true);
  looking[Symbol.dispose]();
});
