/** Which nodes get calls by role, as each node hears of the others. */
import { expect, test } from "vitest";
import { memoryRoleBuses } from "../../cluster/adapters/nodes/role-bus.memory.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { roleDirectory } from "../../cluster/internal/roles/role-directory.ts";
import type { RoleActor } from "../../cluster/role-actor.ts";
import { Work, worker } from "../ports/roles.ts";

const ACTORS: ReadonlyMap<string, RoleActor> = new Map([
  [Work.placement!.role, worker(() => Promise.reject(new Error("Not called")))],
]);

async function pair() {
  const clock = virtualClock(Date.UTC(2026, 0, 1));
  const { open } = memoryRoleBuses(clock);
  const link = { deaf: false };
  const [bus, callerBus] = [open(undefined, () => link.deaf), open()];
  const node = roleDirectory({ clock, bus, nodeName: "node" }, ACTORS);
  const caller = roleDirectory({ clock, bus: callerBus, nodeName: "caller" }, new Map());
  for (const [name, directory, over] of [
    ["node", node, bus],
    ["caller", caller, callerBus],
  ] as const)
    await over.join(name, { onAnnouncement: directory.receive, onMessage() {}, onRequest: () => "" });
  await clock.advance(2_000);
  const placed = () => caller.withRole("work").map(({ node: name }) => name);
  return { clock, link, node, placed };
}

test("a node whose own announcements do not come back gets no calls, until they do", async () => {
  const { clock, link, placed } = await pair();
  expect(placed()).toEqual(["node"]);
  link.deaf = true;
  await clock.advance(4_000);
  for (let n = 0; n < 10; n++) {
    expect(placed()).toEqual([]);
    await clock.advance(1_000);
  }
  link.deaf = false;
  await clock.advance(2_500);
  expect(placed()).toEqual(["node"]);
});

test("a node that drains gets no calls, though it hears itself", async () => {
  const { clock, node, placed } = await pair();
  node.announce({ draining: true });
  await clock.advance(3_000);
  expect(placed()).toEqual([]);
});
