/** Calls to actors placed by role: in one process, over the in-memory bus, and over a real NATS. */
import { describe } from "vitest";
import { memoryBlobs } from "../../cluster/adapters/blobs/blobs.memory.ts";
import { memoryBus } from "../../cluster/adapters/bus/bus.memory.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { memoryLeases } from "../../cluster/adapters/leases/leases.memory.ts";
import { memoryRoleBuses } from "../../cluster/adapters/nodes/role-bus.memory.ts";
import { natsRoleBus } from "../../cluster/adapters/nodes/role-bus.nats.ts";
import { systemClock } from "../../cluster/adapters/time/clock.system.ts";
import { systemRandom } from "../../cluster/adapters/time/random.system.ts";
import { distributed } from "../../cluster/distributed.ts";
import { embedded } from "../../cluster/embedded.ts";
import type { RoleBus } from "../../cluster/ports/role-bus.ts";
import type { RoleActor } from "../../cluster/role-actor.ts";
import { engines } from "../harness/engines.ts";
import { type Assembly, manyNodesSuite, type Member, rolesSuite } from "./roles.ts";

const clock = systemClock();
const random = systemRandom();

async function oneProcess(): Promise<Assembly> {
  const node = async (roleActors: readonly RoleActor[]): Promise<Member> =>
    embedded([], { clock, random, documents: memoryDocuments(), roleActors });
  return { node, caller: node, close: async () => {} };
}

/** Nodes of a cluster of their own; only calls by role go over the bus that is tested. */
async function nodesOver(openBus: () => Promise<RoleBus>): Promise<Assembly> {
  const blobs = memoryBlobs();
  const shared = { bus: memoryBus(clock), leases: memoryLeases(clock), documents: memoryDocuments() };
  const members: Member[] = [];
  async function node(roleActors: readonly RoleActor[]): Promise<Member> {
    const bus = await openBus();
    const name = `node-${members.length}`;
    const deps = { ...shared, clock, random, roleActors, roleNetwork: { bus, blobs } };
    const cluster = await distributed([], deps, { name, owns: false });
    const member: Member = { ...cluster, kill: () => bus.close() };
    members.push(member);
    return member;
  }
  return {
    node,
    async caller(workers) {
      if (workers.length > 0) await node(workers);
      return node([]);
    },
    close: async () => void (await Promise.all(members.map(({ stop }) => stop(0)))),
  };
}

const overMemory = (): Promise<Assembly> => {
  const { open } = memoryRoleBuses(clock);
  return nodesOver(async () => open());
};

const { bus } = await engines("bus");
let clusters = 0;
const overNats = (): Promise<Assembly> => {
  const address = `${bus!["TRAWL_BUS"]}/roles-${process.pid}-${clusters++}`;
  return nodesOver(() => natsRoleBus(address));
};

describe("calls by role in one process", () => {
  rolesSuite(oneProcess);
});
describe("calls by role, in memory", () => {
  rolesSuite(overMemory);
  manyNodesSuite(overMemory);
});
describe.skipIf(bus === null)("calls by role over NATS", () => {
  rolesSuite(overNats);
  manyNodesSuite(overNats);
});
