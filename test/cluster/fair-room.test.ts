/** How projects share the memory for bodies of requests (cluster/fair-room.ts). */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fairRoom, type FairReservation, GUARANTEED_PART, ONE_PART } from "../../cluster/fair-room.ts";

const CAPACITY = 800;
const GUARANTEED = CAPACITY * GUARANTEED_PART;
const open = () => fairRoom(CAPACITY, () => {});
const ignore = (): void => {};

describe("memory that owners share", () => {
  test("is all there for one that is alone", () => {
    const room = open();
    const bodies = Array.from({ length: 9 }, () => room.open("a", ignore));
    expect(bodies.map((body) => body.growTo(100))).toEqual([...Array.from({ length: 8 }, () => true), false]);
    expect(room.reserved_bytes()).toBe(CAPACITY);
  });

  test("has room for one body of any size, and beside it for others", () => {
    const room = open();
    const large = room.open("a", () => expect.unreachable("nothing needs its memory"));
    for (let bytes = 100; bytes < 100 * CAPACITY; bytes *= 2) expect(large.growTo(bytes)).toBe(true);
    expect(room.reserved_bytes()).toBe(CAPACITY * ONE_PART);
    expect(room.open("a", ignore).growTo(100)).toBe(true);
    expect(room.open("b", ignore).growTo(100)).toBe(true);
    expect(room.open("b", ignore).growTo(100_000)).toBe(false);
  });

  test("is taken from the youngest body that grows of the owner with most, and what has arrived stays", () => {
    const room = open();
    const taken: string[] = [];
    const body = (owner: string, name: string, bytes: number): FairReservation => {
      const held = room.open(owner, () => taken.push(name));
      expect(held.growTo(bytes)).toBe(true);
      return held;
    };
    const arrived = body("most", "arrived", 200);
    arrived.settle();
    body("most", "older", 200);
    const younger = body("most", "younger", 200);
    body("less", "other", 200);
    const needy = room.open("none", () => taken.push("needy"));
    expect(needy.growTo(GUARANTEED)).toBe(true);
    expect(taken).toEqual(["younger"]);
    // It is gone for good, and gives nothing back twice.
    expect(younger.growTo(1)).toBe(false);
    younger.release();
    expect(room.reserved_bytes()).toBe(600 + GUARANTEED);
  });

  test("is not taken from one with less, nor for more than an owner is sure of", () => {
    const room = open();
    for (let n = 0; n < 8; n++) room.open(`owner ${n}`, ignore).growTo(100);
    expect(room.open("late", ignore).growTo(100)).toBe(false);
    expect(room.open("late", ignore).growTo(99)).toBe(true);
    const rich = open();
    rich.open("a", ignore).growTo(600);
    rich.open("a", ignore).growTo(200);
    expect(rich.open("b", ignore).growTo(GUARANTEED + 1)).toBe(false);
  });

  test("is never exceeded, all comes back, and an owner with its share of it or less is never refused", () => {
    const step = fc.record({
      owner: fc.integer({ min: 0, max: 11 }),
      body: fc.nat(3),
      bytes: fc.integer({ min: 1, max: 900 }),
      does: fc.constantFrom("grow", "grow", "grow", "release"),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const room = open();
        const live = new Map<string, { readonly held: FairReservation; bytes: number }>();
        const ownedBy = (owner: string): number =>
          [...live]
            .filter(([name]) => name.startsWith(`${owner}.`))
            .reduce((sum, [, { bytes }]) => sum + bytes, 0);
        const broken: string[] = [];
        /** The owner that needs memory in the running step. */
        let needs = { owner: "", bytes: 0 };
        const begin = (name: string) => {
          const [owner] = name.split(".") as [string];
          const onTaken = (): void => {
            if (owner === needs.owner) broken.push("taken from its own owner");
            if (ownedBy(owner) <= needs.bytes) broken.push("taken from an owner with less");
            live.delete(name);
          };
          const each = { bytes: 0, held: room.open(owner, onTaken) };
          live.set(name, each);
          return each;
        };
        const grow = (owner: string, name: string, bytes: number): void => {
          const each = live.get(name) ?? begin(name);
          const next = Math.max(each.bytes, Math.min(bytes, CAPACITY * ONE_PART));
          needs = { owner, bytes: ownedBy(owner) - each.bytes + next };
          const owners = new Set([...live.keys()].map((key) => key.split(".")[0])).size;
          const isGranted = each.held.growTo(bytes);
          if (isGranted) each.bytes = next;
          else if (needs.bytes <= Math.min(GUARANTEED, CAPACITY / owners)) broken.push("refused its share");
        };
        for (const { owner, body, bytes, does } of steps) {
          const name = `${owner}.${body}`;
          if (does === "grow") grow(String(owner), name, bytes);
          else {
            live.get(name)?.held.release();
            live.delete(name);
          }
          const sum = [...live.values()].reduce((total, { bytes: held }) => total + held, 0);
          expect([room.reserved_bytes(), sum <= CAPACITY, broken]).toEqual([sum, true, []]);
        }
        for (const { held } of live.values()) held.release();
        expect(room.reserved_bytes()).toBe(0);
      }),
      { numRuns: 300 },
    );
  });
});
