/** Promises of every adapter of leases (cluster/ports/leases.ts). */
import { expect, test } from "vitest";
import { linkNats } from "../../cluster/adapters/bus/connection.nats.ts";
import { bucketStream } from "../../cluster/adapters/leases/leases.nats.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import {
  type Assignment,
  ASSIGNER,
  CLOCK_READING_TTL_MS,
  EPOCHS_OF_GENERATION,
  type Leases,
  type Renewal,
} from "../../cluster/ports/leases.ts";

/** A claim in the first generation of the store as it is now. */
const create = async (leases: Leases, partition: number, node: string) => {
  const { store_id } = await leases.survey();
  return leases.create(partition, node, { store_id, generation: 1, revision: 0 });
};

function renewed(renewal: Renewal): number {
  if (renewal.kind === "lost") throw new Error("The lease was lost");
  return renewal.revision;
}

/** Deletes the stream of the table on NATS. */
export async function loseTableOf(address: string): Promise<void> {
  const link = await linkNats(address, { purpose: "test" });
  await link.jsm.streams.delete(bucketStream(link.name, "table"));
  await link.close();
}

export interface ConnectedLeases {
  readonly leases: Leases;
  /** Those of another node of the cluster. */
  readonly another: () => Promise<Leases>;
  /** Lets so much time go by as the leases see it. */
  readonly pass: (ms: number) => Promise<void>;
  /** The store loses the table of assignments, and nothing else. */
  readonly loseTable: () => Promise<void>;
}

/** Each test keeps to partitions of its own. */
export function leasesSuite(connect: () => Promise<ConnectedLeases>): void {
  const connection = connect();
  let partitions = 0;

  test("lets one of many have a partition", async () => {
    const { leases } = await connection;
    const partition = partitions++;
    const nodes = ["a", "b", "c", "d"];
    const got = await Promise.all(nodes.map((node) => create(leases, partition, node)));
    expect(got.filter((lease) => lease !== null)).toHaveLength(1);
    expect(await create(leases, partition, "e")).toBeNull();
  });

  test("keeps it while it is renewed, for longer than its time", async () => {
    const { leases, pass } = await connection;
    const partition = partitions++;
    let lease = (await create(leases, partition, "a"))!;
    for (let n = 0; n < 3; n++) {
      await pass(leases.ttl_ms * 0.6);
      const next = renewed(await leases.renew(partition, "a", lease));
      expect(next).toBeGreaterThan(lease.revision);
      lease = { ...lease, revision: next };
      expect(await create(leases, partition, "b")).toBeNull();
    }
  });

  test("forgets it when it is not renewed; the next epoch is larger, and the late owner cannot revive it", async () => {
    const { leases, pass } = await connection;
    const partition = partitions++;
    const first = (await create(leases, partition, "a"))!;
    await pass(leases.ttl_ms * 1.7);
    expect(await leases.renew(partition, "a", first)).toEqual({ kind: "lost" });
    const second = (await create(leases, partition, "b"))!;
    expect(second.epoch).toBeGreaterThan(first.epoch);
    expect(await leases.renew(partition, "a", first)).toEqual({ kind: "lost" });
    expect(await leases.renew(partition, "b", second)).toMatchObject({ kind: "renewed" });
  });

  test("accepts a renewal after one whose answer was lost", async () => {
    const { leases } = await connection;
    const partition = partitions++;
    const lease = (await create(leases, partition, "a"))!;
    await leases.renew(partition, "a", lease);
    // The answer did not arrive, so the same revision is named again.
    const revision = renewed(await leases.renew(partition, "a", lease));
    renewed(await leases.renew(partition, "a", { ...lease, revision }));
    expect(await create(leases, partition, "b")).toBeNull();
  });

  test("can be claimed at once after its owner, and only its owner, released it", async () => {
    const { leases } = await connection;
    const partition = partitions++;
    const first = (await create(leases, partition, "a"))!;
    await leases.release(partition, first);
    const second = (await create(leases, partition, "b"))!;
    expect(second.epoch).toBeGreaterThan(first.epoch);
    await leases.release(partition, first);
    expect(await create(leases, partition, "c")).toBeNull();
    expect(await leases.renew(partition, "a", first)).toEqual({ kind: "lost" });
    expect(await leases.renew(partition, "b", second)).toMatchObject({ kind: "renewed" });
  });

  test("lists the partitions that have a lease, until it is released or lapses", async () => {
    const { leases, pass } = await connection;
    const [one, two] = [partitions++, partitions++];
    const first = (await create(leases, one, "a"))!;
    const second = (await create(leases, two, "a"))!;
    const revision = renewed(await leases.renew(two, "a", second));
    const { held, revision: reached } = await leases.survey();
    expect([held.has(one), held.has(two)]).toEqual([true, true]);
    expect(reached).toBeGreaterThanOrEqual(revision);
    await leases.release(one, first);
    await leases.release(two, second);
    const { held: later } = await leases.survey();
    expect([later.has(one), later.has(two)]).toEqual([false, true]);
    await pass(leases.ttl_ms * 1.7);
    expect((await leases.survey()).held.has(two)).toBe(false);
    expect(revision).toBeGreaterThan(second.revision);
  });

  test("counts epochs on from the generation of the claim, and refuses a claim for another store", async () => {
    const { leases } = await connection;
    const [one, two] = [partitions++, partitions++];
    const { store_id } = await leases.survey();
    const before = (await leases.create(one, "a", { store_id, generation: 2, revision: 0 }))!;
    const after = (await leases.create(two, "a", { store_id, generation: 3, revision: 0 }))!;
    expect(after.epoch - after.revision - (before.epoch - before.revision)).toBe(2 ** 40);
    expect(await leases.renew(two, "a", after)).toMatchObject({ kind: "renewed" });
    const elsewhere = { store_id: "another", generation: 3, revision: 0 };
    await expect(leases.create(partitions++, "a", elsewhere)).rejects.toMatchObject({
      code: "bus_unreachable",
    });
    expect((await leases.survey()).held.has(partitions - 1)).toBe(false);
  });

  test("lists the present nodes until they withdraw or fall silent", async () => {
    const { leases, pass } = await connection;
    await leases.announcePresence("one");
    await leases.announcePresence("two");
    await leases.announcePresence("three");
    expect((await leases.members()).toSorted()).toEqual(["one", "three", "two"]);
    await leases.removePresence("two");
    expect((await leases.members()).toSorted()).toEqual(["one", "three"]);
    await pass(leases.ttl_ms * 0.4);
    await leases.announcePresence("one");
    await pass(leases.ttl_ms * 0.7);
    expect(await leases.members()).not.toContain("three");
  });

  test("compares the clocks of all nodes with one of its own, and forgets a node that is silent", async () => {
    const { leases, pass } = await connection;
    const stamp_ms = Date.UTC(2026, 0, 1);
    const first = await leases.compareClocks("a", stamp_ms);
    const second = await leases.compareClocks("b", stamp_ms + 5_000);
    expect(first.map(({ node }) => node)).toEqual(["a"]);
    const ahead = new Map(second.map(({ node, ahead_ms }) => [node, ahead_ms]));
    expect([...ahead.keys()].toSorted()).toEqual(["a", "b"]);
    // The time between both calls and the way there, on a real engine.
    expect(ahead.get("b")! - ahead.get("a")!).toBeGreaterThan(4_000);
    expect(ahead.get("b")! - ahead.get("a")!).toBeLessThanOrEqual(5_000);
    const [again] = await leases.compareClocks("a", stamp_ms);
    expect(again!.id).not.toBe(first[0]!.id);
    await pass(CLOCK_READING_TTL_MS * 1.2);
    expect((await leases.compareClocks("b", stamp_ms)).map(({ node }) => node)).toEqual(["b"]);
  });

  test("keeps the first value of a shared setting until it is overruled", async () => {
    const { leases } = await connection;
    const name = `setting-${Date.now()}`;
    expect(await leases.agreeOn(name, "64")).toBe("64");
    expect(await leases.agreeOn(name, "32")).toBe("64");
    await leases.overrule(name, "32");
    expect(await leases.agreeOn(name, "64")).toBe("32");
  });

  const termsOf = async (leases: Leases) => {
    const { store_id } = await leases.survey();
    return { store_id, generation: 1, revision: 0 };
  };

  test("lets one holder have a named lease while it is renewed, with the text of its last renewal", async () => {
    const { leases, pass } = await connection;
    const terms = await termsOf(leases);
    const got = await Promise.all(["a", "b", "c"].map((holder) => leases.hold("one", holder, terms)));
    const revision = got.find((found) => found !== null)!;
    const holder = ["a", "b", "c"][got.indexOf(revision)]!;
    expect(got.filter((found) => found !== null)).toHaveLength(1);
    expect([...(await leases.heldNames())]).toContain("one");
    expect(await leases.textOf("one")).toBe("");
    const next = (await leases.renewHeld("one", holder, "[[1,2]]", revision))!;
    expect(next).toBeGreaterThan(revision);
    // The answer of the renewal before was lost.
    const again = (await leases.renewHeld("one", holder, "[]", revision))!;
    expect(again).toBeGreaterThan(next);
    expect(await leases.textOf("one")).toBe("[]");
    await pass(leases.ttl_ms * 0.6);
    expect(await leases.renewHeld("one", holder, "", again)).not.toBeNull();
    await pass(leases.ttl_ms * 0.6);
    expect(await leases.hold("one", "another", terms)).toBeNull();
    await pass(leases.ttl_ms * 1.7);
    expect(await leases.textOf("one")).toBeNull();
    expect([...(await leases.heldNames())]).not.toContain("one");
    expect(await leases.renewHeld("one", holder, "", again)).toBeNull();
    const other = (await leases.hold("one", "another", terms))!;
    expect(await leases.renewHeld("one", holder, "", again)).toBeNull();
    expect(await leases.renewHeld("one", "another", "", other)).not.toBeNull();
  });

  test("gives a named lease back, and takes it from whoever holds it where no revision is named", async () => {
    const { leases } = await connection;
    const terms = await termsOf(leases);
    const first = (await leases.hold("two", "a", terms))!;
    await leases.releaseHeld("two", first);
    const second = (await leases.hold("two", "b", terms))!;
    await leases.releaseHeld("two", first);
    expect(await leases.hold("two", "c", terms)).toBeNull();
    await leases.releaseHeld("two");
    expect(await leases.renewHeld("two", "b", "", second)).toBeNull();
    await expect(leases.hold("two", "d", { ...terms, store_id: "another" })).rejects.toMatchObject({
      code: "bus_unreachable",
    });
    expect(await leases.hold("two", "d", terms)).not.toBeNull();
  });

  test("replaces the table by compare-and-set, and tells who listens", async () => {
    const { leases } = await connection;
    const terms = await termsOf(leases);
    const heard = Promise.withResolvers<void>();
    const listening = leases.onTable(heard.resolve);
    expect([await leases.table(), await leases.look()]).toEqual([
      null,
      { table_revision: 0, assigner_revision: 0 },
    ]);
    const table = {
      generation: 1,
      version: 1,
      assignments: [
        { lease: "n-1/1.0", epoch: EPOCHS_OF_GENERATION + 1, isLeaving: false },
        { lease: "n-2/1.0", epoch: EPOCHS_OF_GENERATION + 1, isLeaving: true },
        { lease: null, epoch: 0, isLeaving: false },
      ],
    };
    const written = await Promise.all([
      leases.writeTable(table, 0, terms),
      leases.writeTable(table, 0, terms),
    ]);
    const revision = written.find((found) => found !== null)!;
    expect(written.filter((found) => found !== null)).toHaveLength(1);
    await heard.promise;
    listening[Symbol.dispose]();
    expect(await leases.table()).toEqual({ revision, table });
    const assigner_revision = (await leases.hold(ASSIGNER, "a", terms))!;
    expect(await leases.look()).toEqual({ table_revision: revision, assigner_revision });
    const renewed_revision = (await leases.renewHeld(ASSIGNER, "a", "", assigner_revision))!;
    expect((await leases.look()).assigner_revision).toBe(renewed_revision);
    const later = { ...table, version: 2 };
    expect(await leases.writeTable(later, revision - 1, terms)).toBeNull();
    expect(await leases.writeTable(later, revision, terms)).toBeGreaterThan(revision);
    await expect(leases.writeTable(later, revision, { ...terms, store_id: "another" })).rejects.toMatchObject(
      {
        code: "bus_unreachable",
      },
    );
  });

  test("reads a table as it was written last, by nodes that have read it before and by others, whatever has changed", async () => {
    const { leases, another } = await connection;
    const terms = await termsOf(leases);
    const random = seededRandom(7);
    const assignments: Assignment[] = Array.from({ length: 4_096 }, () => ({
      lease: null,
      epoch: 0,
      isLeaving: false,
    }));
    let revision = (await leases.table())?.revision ?? 0;
    const follower = await another();
    // A table of few rows that changed, of most of them, and of few again.
    for (const [n, changes] of [3, 400, 1, 3_000, 2, 200, 200, 200, 200, 4_096, 1].entries()) {
      const version = 100 + n;
      for (let change = 0; change < changes; change++)
        assignments[Math.floor(random.next() * assignments.length)] = {
          lease: random.next() < 0.1 ? null : `n-${Math.floor(random.next() * 50)}/1.0`,
          epoch: EPOCHS_OF_GENERATION * 2 + version,
          isLeaving: random.next() < 0.3,
        };
      const table = { generation: 2, version, assignments: [...assignments] };
      // Another node was first, whose table is the one that counts.
      const writer = n % 3 === 2 ? follower : leases;
      const late = { ...table, assignments: assignments.toReversed() };
      const before = revision;
      revision = (await writer.writeTable(table, before, terms))!;
      expect(await leases.writeTable(late, before, terms)).toBeNull();
      const newcomer = await another();
      for (const reader of [leases, follower, newcomer]) {
        // A writer that was too late may have left something, which a look takes for a change until the table was read.
        await reader.look();
        expect(await reader.table()).toEqual({ revision, table });
        expect((await reader.look()).table_revision).toBe(revision);
      }
      await newcomer.close();
    }
    await follower.close();
  });

  test("answers that there is no table once it is lost, and holds the leases; the next table is a first one", async () => {
    const { leases, another, loseTable } = await connection;
    const terms = await termsOf(leases);
    const held = (await leases.hold("kept", "a", terms))!;
    await loseTable();
    const assignments = Array.from({ length: 128 }, (_, n) => ({
      lease: `n-${n}/3.0`,
      epoch: n,
      isLeaving: false,
    }));
    const table = { generation: 3, version: 1, assignments };
    const other = await another();
    expect(await other.table()).toBeNull();
    expect(await leases.table()).toBeNull();
    expect(await leases.heldNames()).toContain("kept");
    expect(await leases.renewHeld("kept", "a", "", held)).toBeGreaterThan(held);
    const revision = (await leases.writeTable(table, 0, terms))!;
    for (const reader of [leases, other]) expect(await reader.table()).toEqual({ revision, table });
    await other.close();
  });
}
