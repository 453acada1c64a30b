import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  hash,
  isPartitionCount,
  MIN_PARTITIONS,
  ownerOf,
  partitionOf,
  siteOf,
} from "../../cluster/placement.ts";

describe("a key's partition", () => {
  test.each([
    ["domain", "example.org", 3948531482, 26],
    ["domain", "example.com", 597153510, 38],
    ["domain", "192.0.2.1", 4094531487, 31],
    ["domain", "münchen.example", 1727924806, 6],
    ["filing-limiter", "default", 1670267690, 42],
  ])("of %s:%s is the same for ever", (shard_by, key, number, partition) => {
    expect(hash(`${shard_by}:${key}`)).toBe(number);
    expect(partitionOf(shard_by, key, MIN_PARTITIONS)).toBe(partition);
  });

  test("of nothing is that of the empty text", () => {
    expect(hash("")).toBe(2872998923);
    expect(hash("") % MIN_PARTITIONS).toBe(11);
  });

  test("is that of its site, so that neighbours live together", () => {
    expect(siteOf("example.org https://www.example.org")).toBe("example.org");
    expect(partitionOf("domain", "example.org 5f1c a", MIN_PARTITIONS)).toBe(26);
  });

  test("is one of those that its partition of 64 is divided into, in a cluster of more", () => {
    fc.assert(
      fc.property(fc.string(), fc.constantFrom(128, 256, 4_096), (key, count) => {
        expect(partitionOf("domain", key, count) % MIN_PARTITIONS).toBe(
          partitionOf("domain", key, MIN_PARTITIONS),
        );
      }),
    );
    expect(partitionOf("domain", "example.org", 4_096)).toBe(3948531482 % 4_096);
  });

  test.each([
    [64, true],
    [256, true],
    [4_096, true],
    [32, false],
    [100, false],
    [8_192, false],
    [NaN, false],
  ])("%d partitions in a cluster: %s", (count, expected) => {
    expect(isPartitionCount(count)).toBe(expected);
  });

  test("spreads 200,000 hosts evenly", () => {
    const load = Array.from({ length: MIN_PARTITIONS }, () => 0);
    for (let n = 0; n < 200_000; n++) load[partitionOf("domain", `host-${n}.example`, MIN_PARTITIONS)]!++;
    expect(Math.min(...load)).toBeGreaterThan(2_800);
    expect(Math.max(...load)).toBeLessThan(3_450);
  });
});

describe("the owner of a partition by rendezvous hash", () => {
  const nodes = fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 12 });
  const all = Array.from({ length: MIN_PARTITIONS }, (_, partition) => partition);

  test("is agreed on by nodes that see the same members, in whatever order", () => {
    fc.assert(
      fc.property(nodes, (present) => {
        for (const partition of all)
          expect(ownerOf(partition, present.toReversed())).toBe(ownerOf(partition, present));
      }),
    );
  });

  test("changes only for the partitions of the node that left", () => {
    fc.assert(
      fc.property(nodes, (present) => {
        const left = present.slice(1);
        const stays = all.filter((partition) => ownerOf(partition, present) !== present[0]);
        expect(stays.map((partition) => ownerOf(partition, left))).toEqual(
          stays.map((partition) => ownerOf(partition, present)),
        );
      }),
    );
  });

  test("is null without members", () => {
    expect(ownerOf(3, [])).toBeNull();
  });
});
