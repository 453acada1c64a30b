import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hash, ownerOf, partitionOf, PARTITIONS, siteOf } from "../../cluster/placement.ts";

describe("a key's partition", () => {
  test.each([
    ["domain", "example.org", 3948531482, 26],
    ["domain", "example.com", 597153510, 38],
    ["domain", "192.0.2.1", 4094531487, 31],
    ["domain", "münchen.example", 1727924806, 6],
    ["filing-limiter", "default", 1670267690, 42],
  ])("of %s:%s is the same for ever", (shard_by, key, number, partition) => {
    expect(hash(`${shard_by}:${key}`)).toBe(number);
    expect(partitionOf(shard_by, key)).toBe(partition);
  });

  test("of nothing is that of the empty text", () => {
    expect(hash("")).toBe(2872998923);
    expect(hash("") % PARTITIONS).toBe(11);
  });

  test("is that of its site, so that neighbours live together", () => {
    expect(siteOf("example.org https://www.example.org")).toBe("example.org");
    expect(partitionOf("domain", "example.org 5f1c a")).toBe(26);
  });

  test("spreads 200,000 hosts evenly", () => {
    const load = Array.from({ length: PARTITIONS }, () => 0);
    for (let n = 0; n < 200_000; n++) load[partitionOf("domain", `host-${n}.example`)]!++;
    expect(Math.min(...load)).toBeGreaterThan(2_800);
    expect(Math.max(...load)).toBeLessThan(3_450);
  });
});

describe("the owner of a partition by rendezvous hash", () => {
  const nodes = fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 12 });
  const all = Array.from({ length: PARTITIONS }, (_, partition) => partition);

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
