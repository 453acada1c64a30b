/** Copies of robots.txt that answer fetches of the same process without a message: what they answer, and when they leave it to the actor. */
import { describe, expect, test } from "vitest";
import { domainActor } from "../../../../actors/crawl/domain/actor.ts";
import { robotsCopies } from "../../../../actors/crawl/domain/robots-copies.ts";
import type { RobotsCopy } from "../../../../actors/crawl/domain/robots-state.ts";
import { robotsActor } from "../../../../actors/crawl/domain/robots.actor.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { type FakeWeb, fakeEgress } from "../../../../cluster/adapters/egress/egress.fake.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { seededRandom } from "../../../../cluster/adapters/time/random.seeded.ts";
import { embedded } from "../../../../cluster/embedded.ts";
import { Robots, type RobotsRequest } from "../../../../schemas/domain.ts";

const START_MS = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;
const EPOCH = 7;
const KEY = "example.org https://www.example.org";
const FILE = "https://www.example.org/robots.txt";
const at = (path: string, networks?: string[]) => ({
  url: new URL(path, "https://www.example.org"),
  networks,
});

const copyOf = (more: Partial<RobotsCopy> = {}): RobotsCopy => ({
  crawler_name: "trawl",
  read_at_ms: START_MS,
  status: 200,
  rules: {
    group: "*",
    rules: [{ allow: false, pattern: "/private", line: 2 }],
    crawl_delay_ms: null,
  },
  ...more,
});

describe("a copy", () => {
  test("answers as the actor does, under its epoch, for 24 hours", () => {
    const copies = robotsCopies();
    copies.onAnswered(KEY, EPOCH, copyOf());
    const answer = (epoch: number, now_ms: number) => copies.answerFor(KEY, epoch, at("/private"), now_ms);
    expect(answer(EPOCH, START_MS)).toMatchObject({ kind: "disallowed", reason: "rules" });
    expect(answer(EPOCH, START_MS + DAY_MS - 1)).toMatchObject({ kind: "disallowed" });
    expect(answer(EPOCH, START_MS + DAY_MS)).toBeNull();
    // The key was another node's meanwhile.
    expect(answer(EPOCH + 1, START_MS)).toBeNull();
    expect(copies.answerFor(`${KEY}:8080`, EPOCH, at("/"), START_MS)).toBeNull();
  });

  test("gives way to the next one", () => {
    const copies = robotsCopies();
    copies.onAnswered(KEY, EPOCH, copyOf());
    copies.onAnswered(KEY, EPOCH, copyOf({ rules: { group: null, rules: [], crawl_delay_ms: null } }));
    expect(copies.answerFor(KEY, EPOCH, at("/private"), START_MS)).toMatchObject({ kind: "allowed" });
  });

  test("of a private network answers those that may reach it, and nobody else", () => {
    const copies = robotsCopies();
    copies.onAnswered(KEY, EPOCH, copyOf({ networks: ["10.0.0.0/8"] }));
    expect(copies.answerFor(KEY, EPOCH, at("/", ["10.0.0.0/8"]), START_MS)).toMatchObject({
      kind: "allowed",
    });
    expect(copies.answerFor(KEY, EPOCH, at("/"), START_MS)).toBeNull();
  });

  test("is forgotten when others have more rules than there is room for", () => {
    const copies = robotsCopies();
    const pattern = `/${"x".repeat(1_000)}`;
    const rules = Array.from({ length: 1_000 }, (_, line) => ({ allow: false, pattern, line }));
    const large = copyOf({ rules: { group: "*", rules, crawl_delay_ms: null } });
    const keys = Array.from({ length: 5 }, (_, n) => `${KEY}:${n + 1}`);
    for (const key of keys) copies.onAnswered(key, EPOCH, large);
    const isKept = (key: string): boolean => copies.answerFor(key, EPOCH, at("/"), START_MS) !== null;
    expect(keys.map(isKept)).toEqual([false, false, true, true, true]);
  });
});

describe("the Robots actor", () => {
  function world(web: FakeWeb) {
    const clock = virtualClock(START_MS);
    const egress = fakeEgress(web, clock);
    const copies = robotsCopies();
    const told: [string, number][] = [];
    const onAnswered: typeof copies.onAnswered = (key, epoch, copy) => {
      told.push([key, epoch]);
      copies.onAnswered(key, epoch, copy);
    };
    const { ask, stop } = embedded(
      [
        domainActor({ min_delay_ms: 0, max_concurrency: 2, lease_ms: 60_000 }),
        robotsActor({
          egress,
          clock,
          crawler_name: "trawl",
          user_agent: "trawl",
          copies: { ...copies, onAnswered },
        }),
      ],
      { clock, random: seededRandom(1), documents: memoryDocuments() },
      EPOCH,
    );
    const checked = async (path: string, more: Partial<RobotsRequest> = {}) => {
      const { url } = at(path);
      const request = { url: url.href, fetch_id: "f", lane: "sync", wait_max_ms: 15_000, ...more } as const;
      const answer = ask(Robots, KEY, "check", request);
      await clock.advance(20_000);
      return answer;
    };
    const here = (path: string) => copies.answerFor(KEY, EPOCH, at(path), clock.now());
    return { clock, egress, told, checked, here, stop };
  }

  test("gives its copy once it is stored, and then fetches have the same answers without asking", async () => {
    const { told, checked, here, stop } = world({
      [FILE]: { status: 200, body: "User-agent: *\nDisallow: /private" },
    });
    await checked("/");
    expect([told, here("/")]).toEqual([[], null]);
    await checked("/");
    expect(told).toEqual([[KEY, EPOCH]]);
    for (const path of ["/", "/private", "/private/x", "/robots.txt"])
      expect(here(path)).toEqual(await checked(path));
    await stop();
  });

  test("is asked again when the copy is a day old, and then gives the next one", async () => {
    const web: Record<string, FakeWeb[string]> = { [FILE]: { status: 404 } };
    const { clock, egress, checked, here, stop } = world(web);
    await checked("/");
    await checked("/");
    await clock.advance(DAY_MS);
    expect(here("/private")).toBeNull();
    web[FILE] = { status: 200, body: "User-agent: *\nDisallow: /private" };
    await checked("/");
    // Of the file that is not believed any more nothing is left.
    expect(here("/private")).toBeNull();
    await checked("/");
    expect(here("/private")).toMatchObject({ kind: "disallowed" });
    expect(egress.hits).toHaveLength(2);
    await stop();
  });

  test("takes its copy back when the file is read again for an archive", async () => {
    const web: Record<string, FakeWeb[string]> = { [FILE]: { status: 404 } };
    const { checked, here, stop } = world(web);
    await checked("/");
    await checked("/");
    expect(here("/private")).toMatchObject({ kind: "allowed" });
    web[FILE] = { status: 200, body: "User-agent: *\nDisallow: /private" };
    await checked("/", { archive: true });
    expect(here("/private")).toBeNull();
    await checked("/");
    expect(here("/private")).toMatchObject({ kind: "disallowed" });
    await stop();
  });

  test("gives no copy where the file could not be read", async () => {
    const { told, checked, here, stop } = world({ [FILE]: { status: 503 } });
    await checked("/");
    expect(await checked("/")).toMatchObject({ reason: "robots_unreachable" });
    expect([told, here("/")]).toEqual([[], null]);
    await stop();
  });
});
